package planner

import (
	"slices"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
)

// This file pairs the existing and the wanted listener of each port.

// A comparison is an existing and a wanted listener, with their rules merged and numbered.
type comparison struct {
	port int32
	seen *lb.ObservedListener // nil for a port that opens
	want *lb.Listener         // nil for a port that closes

	old   []lb.ObservedRule // of seen, without parking rules
	lines []Line
	Numbering
	fits bool // whether the priorities suffice for the old and the new rules together
}

// compare pairs all listeners, by port. A listener that must be closed and opened again has two
// comparisons.
func compare(seen *lb.Observed, want lb.LoadBalancer, c lb.Capabilities) []comparison {
	var out []comparison
	reopened := portsToReopen(seen, want, c)
	for i := range seen.Listeners {
		s := &seen.Listeners[i]
		if want.Leaves(s) {
			continue
		}
		if reopened[s.Port] || !slices.ContainsFunc(want.Listeners, func(w lb.Listener) bool {
			return w.Port == s.Port
		}) {
			out = append(out, comparison{port: s.Port, seen: s, old: servingRules(s), fits: true})
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

// portsToReopen returns the ports that must close to change their protocol. If an old or new action
// needs one protocol, its rule could change neither before nor after. If HTTPS needs several
// certificates, those after the first are attached later, and meanwhile clients would see the
// first.
func portsToReopen(seen *lb.Observed, want lb.LoadBalancer, c lb.Capabilities) map[int32]bool {
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
			several := countFurther(w.Certificates) > 0
			out[w.Port] = several || slices.ContainsFunc(rules, func(r lb.Rule) bool {
				return bound(r.Action)
			})
		}
	}
	return out
}

// compareRules merges and numbers the rules of a wanted listener.
func compareRules(seen *lb.ObservedListener, want *lb.Listener, c lb.Capabilities) comparison {
	co := comparison{port: want.Port, seen: seen, want: want}
	if seen != nil {
		co.old = servingRules(seen)
	}
	old, numbers := make([]lb.Rule, 0, len(co.old)), make([]int, 0, len(co.old))
	for _, r := range co.old {
		old, numbers = append(old, r.Rule), append(numbers, r.Priority)
	}
	co.lines = Merge(old, want.Rules, c.Dialect)
	co.Numbering, co.fits = Number(co.lines, numbers, c)
	return co
}

// crowded reports whether the priorities do not suffice for the old and the new rules.
func (co comparison) crowded() bool { return !co.fits }

// servingRules returns the rules without parking rules.
func servingRules(l *lb.ObservedListener) []lb.ObservedRule {
	return slices.DeleteFunc(slices.Clone(l.Rules), func(r lb.ObservedRule) bool {
		return plan.Parked(r.Rule)
	})
}

// oldRules returns an index of lines by their old rules.
func (co comparison) oldRules(p *overlapCache) *index {
	x := newIndex(p)
	for i, l := range co.lines {
		if l.Old != absent {
			x.add(entry{i, co.old[l.Old].Rule})
		}
	}
	return &x
}

// newRules returns an index of lines by their new rules.
func (co comparison) newRules(p *overlapCache) *index {
	x := newIndex(p)
	for i, l := range co.lines {
		if l.New != absent {
			x.add(entry{i, co.want.Rules[l.New]})
		}
	}
	return &x
}

// defaultOf returns the default certificate of a listener, if it has any.
func defaultOf(ids []lb.CertificateID) []lb.CertificateID { return ids[:min(1, len(ids))] }

// countFurther returns the number of a listener's certificates besides its default one.
func countFurther(ids []lb.CertificateID) int { return max(0, len(ids)-1) }
