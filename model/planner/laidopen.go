package planner

import (
	"slices"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/planner/rulelist"
)

// This file finds the rules that answer once another one is gone. Where that one forwards to
// targets, it goes once theirs are healthy: a path may be handed over by adding the next one below
// it first, and deleting it then.

// laidOpen are the actions of what stays and can get the requests of a line that is removed or
// narrowed, where targets answer these.
func (d *difference) laidOpen(ch *change, i int) []lb.Action {
	l := ch.lines[i]
	if l.Change != rulelist.Removed && l.Change != rulelist.Narrowed {
		return nil
	}
	gone := ch.old[l.Old].Rule
	if !d.forwardsToTargets(gone.Action) {
		return nil
	}
	var out []lb.Action
	x := ch.after()
	for _, position := range x.candidates(gone) {
		at, next := x.entries[position].at, x.entries[position].rule
		if !d.overlaps.overlap(gone, next) {
			continue
		}
		fate := ch.lines[at].Change
		if at > i && (fate == rulelist.Kept || fate == rulelist.Narrowed) &&
			!lb.SameAction(gone.Action, next.Action) {
			out = append(out, next.Action)
		}
		if lb.Contains(next, gone, d.caps.Dialect) {
			return out
		}
	}
	if rest := ch.want.Default; lb.SameAction(ch.seen.Default, rest) {
		out = append(out, rest)
	}
	return out
}

// healthOfLaidOpen are the tasks after which the groups are healthy that a line lays open, where
// the plan waits for any.
func (d *difference) healthOfLaidOpen(ch *change, i int) []int {
	if len(d.healthy) == 0 {
		return nil
	}
	var tasks []int
	for _, a := range d.laidOpen(ch, i) {
		for _, g := range a.Groups() {
			if t, waits := d.healthy[g]; waits && !slices.Contains(tasks, t) {
				tasks = append(tasks, t)
			}
		}
	}
	return tasks
}
