package proof

import (
	"maps"
	"slices"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// This file decides whether requests that targets answer may reach a target group without a
// healthy target, or past a web ACL.

func (c *checker) checkHealth() {
	awaits := map[lb.GroupID][]int{}
	for i, s := range c.plan.Steps {
		s, is := s.Step.(plan.AwaitTargets)
		if !is {
			continue
		}
		awaits[s.Group] = append(awaits[s.Group], i)
		if c.unruled {
			continue
		}
		before := slices.Clone(c.order[i])
		before[i/64] &^= 1 << (i % 64)
		if done, _, ok := c.Reach(before, []int{i}, c.Namers[s.Group]); ok {
			c.refute(append(done.Steps(), i), nil,
				c.Name(i)+" may wait while no rule has its targets checked")
		}
	}
	if slices.ContainsFunc(c.plan.Diagnostics, func(d diag.Diagnostic) bool {
		return d.Reason == diag.Unparked
	}) {
		return
	}
	for _, g := range slices.Sorted(maps.Keys(c.Namers)) {
		if lb.OthersMade(g) { // its health is theirs, and not waited for
			continue
		}
		for _, state := range c.uncheckedStates(g, awaits[g]) {
			waits := slices.DeleteFunc(slices.Clone(awaits[g]), state.Has)
			for _, v := range c.Namers[g] {
				if !plan.Parked(v.Rule) && shares(v, g) && !state.Has(v.Since) &&
					!slices.ContainsFunc(waits, func(a int) bool { return c.MustPrecede(a, v.Since) }) {
					c.checkUnhealthy(claim{span: v, state: state, out: waits, why: "a request that targets " +
						"answer may get to " + string(g) + " before a target there is known to be healthy"})
				}
			}
		}
	}
}

// uncheckedStates returns the least states in which a target group is not known to be healthy: the
// first state, and states in which no rule names it, before or after a wait for it, unless the
// cloud checks its health without a rule.
func (c *checker) uncheckedStates(g lb.GroupID, awaits []int) []set {
	var out []set
	none := make(set, c.SetLength())
	seen := c.seen.TargetGroup(g)
	if seen == nil || !seen.Ready {
		out = append(out, none)
	} else if c.unruled {
		return nil
	} else if state, _, ok := c.Reach(none, nil, c.Namers[g]); ok {
		out = append(out, state)
	}
	if c.unruled {
		return out
	}
	for _, a := range awaits {
		if state, _, ok := c.Reach(c.order[a], nil, c.Namers[g]); ok {
			out = append(out, state)
		}
	}
	return out
}

// checkUnhealthy searches requests that targets answer before the plan, and k.span answers during
// it. The target groups of the rule that answers before exist: otherwise the plan has a fault. Those
// that others made may have targets.
func (c *checker) checkUnhealthy(k claim) {
	served := func(s *span) bool {
		return !s.Same(k.span) && slices.ContainsFunc(s.Rule.Action.Groups(),
			func(g lb.GroupID) bool {
				if lb.OthersMade(g) {
					return true
				}
				seen := c.seen.TargetGroup(g)
				return seen.Registered || seen.Ready
			})
	}
	k.wrong = func(before, _ *span) bool { return served(before) }
	if closes := k.span.Port.Closes; closes != never {
		k.out = append(slices.Clip(k.out), closes) // a port that opens again has other requests
	}
	for _, u := range c.nearRules(k.span) {
		some, always := u.Above(k.span)
		stays := k.span.Since == never && (!some || always && (u.Until == never ||
			slices.ContainsFunc(k.out, func(a int) bool { return c.MustPrecede(a, u.Until) })))
		if u.Since == never && !stays && served(u) && u.Overlaps(k.span) {
			c.check(k, []*span{k.span, u}, nil)
		}
	}
}

// shares reports whether a rule sends requests to a target group.
func shares(s *span, g lb.GroupID) bool {
	all := s.Rule.Action.Targets
	return len(all) == 1 || slices.ContainsFunc(all, func(w lb.Weighted) bool {
		return w.Group == g && w.Weight > 0
	})
}
