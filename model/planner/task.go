package planner

import (
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// This file has the steps of a plan without order, and the places that they take.

// A Task is a step that is not yet in a plan.
type Task struct {
	Step   plan.Step
	Origin []diag.Source
	After  []int // tasks that must be done before
	// Preferred are tasks that should run before. The task does not wait for them if tasks would
	// otherwise wait for each other, as with ports that redirect to each other.
	Preferred []int
	// Optional are tasks that should run before, too. The task does not wait for them if a limit would
	// be exceeded, and they are given up before the preferred ones.
	Optional []int
	Places   Places
}

// Places counts the places of each limited kind that a step takes. Negative counts are places that
// it frees.
type Places [Kinds]int

// The kinds of resources that a cloud limits.
const (
	Rules = iota
	Groups
	Certificates
	Listeners
	Verifying
	Kinds
)

// Limits returns the limits of a cloud by kind; 0 is no limit.
func Limits(c lb.Capabilities) Places { return byKind(c.Limits()) }

// InUse returns the places that a load balancer takes now.
func InUse(o *lb.Observed) Places { return byKind(o.Counts()) }

func byKind(c lb.Counts) Places {
	return Places{Rules: c.Rules, Groups: c.TargetGroups, Certificates: c.Certificates,
		Listeners: c.Listeners, Verifying: c.Verifying}
}
