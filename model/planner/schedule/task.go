// Package schedule puts the steps of a plan into an order that keeps what each waits for and never
// exceeds a limit of the cloud.
package schedule

import (
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// This file is the steps of a plan before they have an order, and the places that they take.

// A Task is a step that has no place in a plan yet.
type Task struct {
	Step   plan.Step
	Origin []diag.Source
	After  []int // tasks that must be done before
	// Preferred are tasks that should be done before. They give way where everything would wait
	// for everything, as ports that redirect to each other can make it.
	Preferred []int
	// Optional are tasks that should be done before, too. They give way first, and to limits as well.
	Optional []int
	Places   Places
}

// Places are how many places of each limited kind a step takes, or makes where it is negative.
type Places [Kinds]int

// The kinds of limited things.
const (
	Rules = iota
	Groups
	Certificates
	Listeners
	Verifying
	Kinds
)

// Limits returns the places that there are, by kind; 0 is no limit.
func Limits(c lb.Capabilities) Places { return byKind(c.Limits()) }

// InUse returns the places that are taken.
func InUse(o *lb.Observed) Places { return byKind(o.Counts()) }

func byKind(c lb.Counts) Places {
	return Places{Rules: c.Rules, Groups: c.TargetGroups, Certificates: c.Certificates,
		Listeners: c.Listeners, Verifying: c.Verifying}
}
