package plan

import (
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
)

// This file is the steps of a plan before they have an order, and the places that they take.

// A task is a step that has no place in a plan yet.
type task struct {
	step   Step
	origin []diag.Source
	after  []int // tasks that must be done before
	// rather are tasks that should be done before. They give way where everything would wait
	// for everything, as ports that redirect to each other can make it.
	rather []int
	// gently are tasks that should be done before, too. They give way first, and to limits as well.
	gently []int
	use    use
}

// A use is how many places of each limited kind a step takes, or makes where it is negative.
type use [kinds]int

// The kinds of limited things.
const (
	rules = iota
	groups
	certificates
	listeners
	verifying
	kinds
)

// limits are the places that there are, by kind; 0 is no limit.
func limits(c lb.Capabilities) use { return byKind(c.Limits()) }

// inUse are the places that are taken.
func inUse(o *lb.Observed) use { return byKind(o.Counts()) }

func byKind(c lb.Counts) use {
	return use{rules: c.Rules, groups: c.TargetGroups, certificates: c.Certificates, listeners: c.Listeners, verifying: c.Verifying}
}
