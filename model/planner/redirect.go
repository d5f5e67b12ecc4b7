package planner

import (
	"slices"

	"fairlead.dev/fairlead/model/lb"
)

// This file orders the changes of ports that redirect to each other. A client that follows a
// redirect sends requests to two listeners. Both must answer as before the plan, or both as after
// it. So changes of a port come before new redirects to it, and after the removal of old redirects
// to it. A port that closes answers no requests afterwards, so new redirects to it do not wait.

// orderRedirects adds these dependencies where a load balancer redirects to itself.
func (d *difference) orderRedirects() {
	if !slices.ContainsFunc(d.changes, func(ch *change) bool { return len(ch.redirects()) > 0 }) {
		return
	}
	for _, ch := range d.changes {
		for _, t := range ch.answering {
			from, to := d.answers(ch, t)
			for _, a := range to {
				if a.Redirect != nil && !onlyAnswer(from, a, d.portOpens(ch.targetPort(a))) &&
					!d.portCloses(ch.targetPort(a)) {
					for _, change := range d.landingChanges(ch, t.rule, a) {
						d.prefer(t.at, change)
					}
				}
			}
			for _, a := range from {
				if a.Redirect != nil && !onlyAnswer(to, a, d.portCloses(ch.targetPort(a))) {
					for _, change := range d.landingChanges(ch, t.rule, a) {
						d.prefer(change, t.at)
					}
				}
			}
		}
	}
}

// portCloses reports whether a port is open now and will be closed.
func (d *difference) portCloses(port int32) bool {
	return slices.ContainsFunc(d.changes, func(ch *change) bool {
		return ch.port == port && ch.want == nil
	})
}

// portOpens reports whether a port is closed now and will be open.
func (d *difference) portOpens(port int32) bool {
	return slices.ContainsFunc(d.changes, func(ch *change) bool {
		return ch.port == port && ch.seen == nil
	})
}

// onlyAnswer reports whether all actions redirect to the same place as an action. At a port that
// stays open, redirects that differ in their status alone count as equal, because they lead to the
// same answers. A port that opens or closes answers either before the change or after it, so there
// the status distinguishes the old redirect from the new one.
func onlyAnswer(all []lb.Action, a lb.Action, oneSided bool) bool {
	return len(all) > 0 && !slices.ContainsFunc(all, func(b lb.Action) bool {
		return b.Redirect == nil || b.Location != a.Location || oneSided && b.Status != a.Status
	})
}

// answers returns the actions that requests of a changed rule get before the task and after it. A
// rule that is added or widened takes requests from old rules below it. A rule that is removed or
// narrowed leaves requests to new rules below it.
func (d *difference) answers(ch *change, t answerTask) (from, to []lb.Action) {
	if t.line == absent {
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
	switch here := []lb.Action{t.rule.Action}; {
	case t.fate == Switched:
		return []lb.Action{ch.old[ch.lines[t.line].Old].Action}, here
	case t.fate == Removed || t.fate == Narrowed:
		return here, d.firstAnswers(ch.after(), t, ch.want.Default)
	case ch.seen == nil:
		return nil, here
	default:
		return d.firstAnswers(ch.before(), t, ch.seen.Default), here
	}
}

// firstAnswers returns the actions of the rules below that of a task that may answer its requests.
func (d *difference) firstAnswers(x *index, t answerTask, otherwise lb.Action) []lb.Action {
	var out []lb.Action
	for _, position := range x.candidates(t.rule) {
		e := x.entries[position]
		if e.at <= t.line || !d.overlaps.overlap(e.rule, t.rule) {
			continue
		}
		out = append(out, e.rule.Action)
		if lb.Contains(e.rule, t.rule, d.caps.Dialect) {
			return out
		}
	}
	return append(out, otherwise)
}

// landingChanges returns the tasks that change the answers to redirected requests, on the target
// port and on those of further redirects. The rule matches the redirected requests.
func (d *difference) landingChanges(from *change, r lb.Rule, a lb.Action, passed ...int32) []int {
	port := from.targetPort(a)
	if slices.Contains(passed, port) {
		return nil
	}
	var tasks []int
	there := redirectedRule(r, a)
	for _, to := range d.changes {
		if to.port != port {
			continue
		}
		tasks = append(tasks, to.answeringRules().overlapping(there)...)
		for _, next := range to.redirects() {
			if d.overlaps.overlap(next, there) {
				tasks = append(tasks, d.landingChanges(to, there, next.Action, append(passed, port)...)...)
			}
		}
	}
	return tasks
}

// redirects returns the old and new rules that redirect. Default actions are rules without
// conditions.
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

// targetPort returns the port that a redirect leads to.
func (ch *change) targetPort(a lb.Action) int32 {
	if ch.want != nil {
		return a.Redirect.Target(ch.port, ch.want.Protocol)
	}
	return a.Redirect.Target(ch.port, ch.seen.Protocol)
}

// redirectedRule returns a rule that matches the requests that clients send after a redirect by
// another rule. It has no condition on the parts of a request that the redirect changes.
func redirectedRule(r lb.Rule, a lb.Action) lb.Rule {
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
