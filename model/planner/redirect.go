package planner

import (
	"slices"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/planner/rulelist"
)

// This file orders what happens at ports that redirect to each other. A client that follows a
// redirect meets two listeners, and must find both as they were or both as they will be: what
// changes at a port comes before new redirects to it, and after the removal of redirects to it. A
// port that closes answers no requests afterwards: new redirects to it do not wait.

// redirects adds those orders, where a load balancer redirects to itself.
func (d *difference) redirects() {
	if !slices.ContainsFunc(d.changes, func(ch *change) bool { return len(ch.redirects()) > 0 }) {
		return
	}
	for _, ch := range d.changes {
		for _, m := range ch.steps {
			from, to := d.answers(ch, m)
			for _, a := range to {
				if a.Redirect != nil && !onlyAnswer(from, a, d.portOpens(ch.target(a))) &&
					!d.portCloses(ch.target(a)) {
					for _, t := range d.landing(ch, m.rule, a) {
						d.prefer(m.at, t)
					}
				}
			}
			for _, a := range from {
				if a.Redirect != nil && !onlyAnswer(to, a, d.portCloses(ch.target(a))) {
					for _, t := range d.landing(ch, m.rule, a) {
						d.prefer(t, m.at)
					}
				}
			}
		}
	}
}

// portCloses reports whether a port is open now and will not be.
func (d *difference) portCloses(port int32) bool {
	return slices.ContainsFunc(d.changes, func(ch *change) bool {
		return ch.port == port && ch.want == nil
	})
}

// portOpens reports whether a port will be open and is not yet.
func (d *difference) portOpens(port int32) bool {
	return slices.ContainsFunc(d.changes, func(ch *change) bool {
		return ch.port == port && ch.seen == nil
	})
}

// onlyAnswer reports whether all that requests get is to be sent where an action sends them. At a
// port that stays open, redirects of different statuses are one: they always lead to the same
// answers. One that opens or closes answers on one side of the change only, so the status tells of
// which side a redirect is.
func onlyAnswer(all []lb.Action, a lb.Action, oneSided bool) bool {
	return len(all) > 0 && !slices.ContainsFunc(all, func(b lb.Action) bool {
		return b.Redirect == nil || b.Location != a.Location || oneSided && b.Status != a.Status
	})
}

// answers are the actions of the requests that a move sends elsewhere, before it and after it. A
// rule that is added or widened takes requests from old rules below it, one that is removed or
// narrowed leaves them to new rules below it.
func (d *difference) answers(ch *change, m move) (from, to []lb.Action) {
	if m.line == absent {
		if ch.seen != nil {
			from = append(from, ch.seen.Default)
		}
		if ch.want != nil {
			to = append(to, ch.want.Default)
		} else {
			for _, r := range ch.old {
				from = append(from, r.Action)
			}
		}
		return from, to
	}
	switch here := []lb.Action{m.rule.Action}; {
	case m.fate == rulelist.Switched:
		return []lb.Action{ch.old[ch.lines[m.line].Old].Action}, here
	case m.fate == rulelist.Removed || m.fate == rulelist.Narrowed:
		return here, d.first(ch.after(), m, ch.want.Default)
	case ch.seen == nil:
		return nil, here
	default:
		return d.first(ch.before(), m, ch.seen.Default), here
	}
}

// first are the actions that the lines below a move may have for its requests.
func (d *difference) first(x *index, m move, otherwise lb.Action) []lb.Action {
	var out []lb.Action
	for _, position := range x.candidates(m.rule) {
		e := x.entries[position]
		if e.at <= m.line || !d.overlaps.overlap(e.rule, m.rule) {
			continue
		}
		out = append(out, e.rule.Action)
		if lb.Contains(e.rule, m.rule, d.caps.Dialect) {
			return out
		}
	}
	return append(out, otherwise)
}

// landing are the tasks that change what a redirected request meets, on the port where it lands
// and on those where it is redirected again. The rule says which requests are redirected.
func (d *difference) landing(from *change, r lb.Rule, a lb.Action, passed ...int32) []int {
	port := from.target(a)
	if slices.Contains(passed, port) {
		return nil
	}
	var tasks []int
	there := arriving(r, a)
	for _, to := range d.changes {
		if to.port != port {
			continue
		}
		tasks = append(tasks, to.moved().overlapping(there)...)
		for _, next := range to.redirects() {
			if d.overlaps.overlap(next, there) {
				tasks = append(tasks, d.landing(to, there, next.Action, append(passed, port)...)...)
			}
		}
	}
	return tasks
}

// redirects are the rules that redirect, old and new, the defaults as rules without conditions.
func (ch *change) redirects() []lb.Rule {
	var out []lb.Rule
	add := func(r lb.Rule) {
		if r.Action.Redirect != nil {
			out = append(out, r)
		}
	}
	if ch.seen != nil {
		for _, r := range ch.old {
			add(r.Rule)
		}
		add(lb.Rule{Action: ch.seen.Default})
	}
	if ch.want != nil {
		for _, r := range ch.want.Rules {
			add(r)
		}
		add(lb.Rule{Action: ch.want.Default})
	}
	return out
}

// target is the port that a redirect leads to.
func (ch *change) target(a lb.Action) int32 {
	if ch.want != nil {
		return a.Redirect.Target(ch.port, ch.want.Protocol)
	}
	return a.Redirect.Target(ch.port, ch.seen.Protocol)
}

// arriving is the rule of the requests that a redirect makes of those of another rule. Where the
// redirect changes a part of the request, the old condition on it says nothing any more.
func arriving(r lb.Rule, a lb.Action) lb.Rule {
	changed := map[string]string{"host": a.Redirect.Host, "path": a.Redirect.Path,
		"query": a.Redirect.Query}
	var out lb.Rule
	for _, c := range r.Conditions {
		if changed[c.Field] == "" {
			out.Conditions = append(out.Conditions, c)
		}
	}
	return out
}
