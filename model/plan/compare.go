package plan

import (
	"slices"

	"fairlead.dev/fairlead/model/lb"
)

// This file sets listeners side by side: what is there and what is wanted on one port.

// A comparison is a listener on both sides, with its rules merged and numbered.
type comparison struct {
	port int32
	seen *lb.ObservedListener // nil for a port that opens
	want *lb.Listener         // nil for a port that closes

	old   []lb.ObservedRule // of seen, without parking rules
	lines []line
	numbering
	fits bool // whether the range of priorities holds the old and the new rules side by side
}

// compare compares all listeners of both sides, by port.
func compare(seen *lb.Observed, want lb.LoadBalancer, c lb.Capabilities) []comparison {
	var out []comparison
	for i := range want.Listeners {
		w := &want.Listeners[i]
		out = append(out, compareRules(seen.Listener(w.Port), w, c))
	}
	for i := range seen.Listeners {
		s := &seen.Listeners[i]
		if !slices.ContainsFunc(want.Listeners, func(w lb.Listener) bool { return w.Port == s.Port }) {
			out = append(out, comparison{port: s.Port, seen: s, old: served(s), fits: true})
		}
	}
	slices.SortFunc(out, func(a, b comparison) int { return int(a.port - b.port) })
	return out
}

// compareRules merges and numbers the rules of a listener that is wanted.
func compareRules(seen *lb.ObservedListener, want *lb.Listener, c lb.Capabilities) comparison {
	co := comparison{port: want.Port, seen: seen, want: want}
	if seen != nil {
		co.old = served(seen)
	}
	old, numbers := make([]lb.Rule, 0, len(co.old)), make([]int, 0, len(co.old))
	for _, r := range co.old {
		old, numbers = append(old, r.Rule), append(numbers, r.Priority)
	}
	co.lines = merge(old, want.Rules, c.Dialect)
	co.numbering, co.fits = number(co.lines, numbers, c)
	return co
}

// crowded reports whether the priorities do not suffice for the old and the new rules.
func (co comparison) crowded() bool { return !co.fits }

// served are the rules that answer requests, which parking rules do not.
func served(l *lb.ObservedListener) []lb.ObservedRule {
	return slices.DeleteFunc(slices.Clone(l.Rules), func(r lb.ObservedRule) bool { return Parked(r.Rule) })
}

// oldRules finds lines by their old rules.
func (co comparison) oldRules(p *pairs) *index {
	x := newIndex(p)
	for i, l := range co.lines {
		if l.old != absent {
			x.add(entry{i, co.old[l.old].Rule})
		}
	}
	return &x
}

// newRules finds lines by their new rules.
func (co comparison) newRules(p *pairs) *index {
	x := newIndex(p)
	for i, l := range co.lines {
		if l.new != absent {
			x.add(entry{i, co.want.Rules[l.new]})
		}
	}
	return &x
}
