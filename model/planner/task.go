package planner

import (
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// This file has the steps of a plan without order, and the places that they take.

// A task is a step that is not yet in a plan.
type task struct {
	Step   plan.Step
	Origin []diag.Source
	After  []int // tasks that must be done before
	// Preferred are tasks that should run before. The task does not wait for them if tasks would
	// otherwise wait for each other, as with ports that redirect to each other.
	Preferred []int
	// Optional are tasks that should run before, too. The task does not wait for them if a limit would
	// be exceeded, and they are given up before the preferred ones.
	Optional []int
	Places   places
}

// places counts the places of each limited kind that a step takes. Negative counts are places that
// it frees.
type places [kinds]int

// The kinds of resources that a cloud limits.
const (
	rules = iota
	groups
	certificates
	listeners
	verifying
	kinds
)

// limits returns the limits of a cloud by kind; 0 is no limit.
func limits(c lb.Capabilities) places { return byKind(c.Limits()) }

// inUse returns the places that a load balancer takes now.
func inUse(o *lb.Observed) places { return byKind(o.Counts()) }

func byKind(c lb.Counts) places {
	return places{rules: c.Rules, groups: c.TargetGroups, certificates: c.Certificates,
		listeners: c.Listeners, verifying: c.Verifying}
}
