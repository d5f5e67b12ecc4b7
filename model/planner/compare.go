package planner

import (
	"slices"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/planner/rulelist"
	"fairlead.dev/fairlead/model/routing"
)

// This file sets listeners side by side: what is there and what is wanted on one port.

// A comparison is a listener on both sides, with its rules merged and numbered.
type comparison struct {
	port int32
	seen *lb.ObservedListener // nil for a port that opens
	want *lb.Listener         // nil for a port that closes

	old   []lb.ObservedRule // of seen, without parking rules
	lines []rulelist.Line
	rulelist.Numbering
	fits bool // whether the range of priorities holds the old and the new rules side by side
}

// compare compares all listeners of both sides, by port. One that has to be made anew is there
// twice: as it closes, and as it opens.
func compare(seen *lb.Observed, want lb.LoadBalancer, c lb.Capabilities) []comparison {
	var out []comparison
	reopened := reopens(seen, want, c)
	for i := range seen.Listeners {
		s := &seen.Listeners[i]
		if reopened[s.Port] || !slices.ContainsFunc(want.Listeners, func(w lb.Listener) bool {
			return w.Port == s.Port
		}) {
			out = append(out, comparison{port: s.Port, seen: s, old: served(s), fits: true})
		}
	}
	for i := range want.Listeners {
		w := &want.Listeners[i]
		if reopened[w.Port] {
			out = append(out, compareRules(nil, w, c))
		} else {
			out = append(out, compareRules(seen.Listener(w.Port), w, c))
		}
	}
	slices.SortStableFunc(out, func(a, b comparison) int { return int(a.port - b.port) })
	return out
}

// reopens are the ports that get another protocol and cannot change to it: where some of what they
// do, or did, is done over one protocol only, no rule could be changed before or after that; where
// they are to have several certificates, all but the first can only follow, and clients would be
// shown that one meanwhile. They close before they open.
func reopens(seen *lb.Observed, want lb.LoadBalancer, c lb.Capabilities) map[int32]bool {
	versions := map[lb.GroupID]routing.Version{}
	for _, g := range seen.TargetGroups {
		versions[g.ID] = g.Version
	}
	for _, g := range want.TargetGroups {
		versions[g.ID] = g.Version
	}
	bound := func(a lb.Action) bool {
		return c.NeedsProtocol(a) || slices.ContainsFunc(a.Groups(), func(id lb.GroupID) bool {
			return c.NeedsTLS(versions[id])
		})
	}
	out := map[int32]bool{}
	for _, w := range want.Listeners {
		if s := seen.Listener(w.Port); s != nil && s.Protocol != w.Protocol {
			rules := slices.Concat(s.Plain().Rules, w.Rules,
				[]lb.Rule{{Action: s.Default}, {Action: w.Default}})
			out[w.Port] = further(w.Certificates) > 0 || slices.ContainsFunc(rules, func(r lb.Rule) bool {
				return bound(r.Action)
			})
		}
	}
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
	co.lines = rulelist.Merge(old, want.Rules, c.Dialect)
	co.Numbering, co.fits = rulelist.Number(co.lines, numbers, c)
	return co
}

// crowded reports whether the priorities do not suffice for the old and the new rules.
func (co comparison) crowded() bool { return !co.fits }

// served are the rules that answer requests, which parking rules do not.
func served(l *lb.ObservedListener) []lb.ObservedRule {
	return slices.DeleteFunc(slices.Clone(l.Rules), func(r lb.ObservedRule) bool {
		return plan.Parked(r.Rule)
	})
}

// oldRules finds lines by their old rules.
func (co comparison) oldRules(p *overlapCache) *index {
	x := newIndex(p)
	for i, l := range co.lines {
		if l.Old != absent {
			x.add(entry{i, co.old[l.Old].Rule})
		}
	}
	return &x
}

// newRules finds lines by their new rules.
func (co comparison) newRules(p *overlapCache) *index {
	x := newIndex(p)
	for i, l := range co.lines {
		if l.New != absent {
			x.add(entry{i, co.want.Rules[l.New]})
		}
	}
	return &x
}

// standard is the default certificate of a listener's certificates, if there are any.
func standard(ids []lb.CertificateID) []lb.CertificateID { return ids[:min(1, len(ids))] }

// further is the number of a listener's certificates besides its default one.
func further(ids []lb.CertificateID) int { return max(0, len(ids)-1) }
