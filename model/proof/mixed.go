package proof

import (
	"slices"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
)

// This file decides whether a request may be answered by a rule to which neither table sends it, or
// without the web ACL or the certificate of the client that is asked for.

// checkMixed searches requests that v answers although neither table sends them to v. If v exists
// before the plan, a rule above it answered them until a step removed that rule while v exists. If
// v exists after the plan, a rule above it will answer them once a step adds that rule while v
// exists.
func (c *checker) checkMixed(v *span) {
	goes, comes := []*span{nil}, []*span{nil}
	if v.Since == never {
		goes = nil
	}
	if v.Until == never {
		comes = nil
	}
	for _, w := range c.nearRules(v) {
		some, always := w.Above(v)
		if !some || w.Same(v) || !w.Overlaps(v) || always && w.Switches() {
			continue
		}
		if v.Since == never && w.Since == never && (!always || w.Until != never &&
			!c.MustPrecede(v.Until, w.Until) && !c.announcedEarly(w.Until, diag.DeleteFirst)) {
			goes = append(goes, w)
		}
		if v.Until == never && w.Until == never && (!always || w.Since != never &&
			!c.MustPrecede(w.Since, v.Since)) {
			comes = append(comes, w)
		}
	}
	k := claim{span: v, wrong: func(before, after *span) bool {
		return !v.Same(before) && !v.Same(after)
	}, why: "a request gets an answer that it gets neither before nor after the plan: " +
		v.Rule.String()}
	for _, g := range goes {
		for _, w := range comes {
			in := slices.DeleteFunc([]*span{v, g, w}, func(s *span) bool { return s == nil })
			if g == nil || w == nil || g.Overlaps(w) && !c.takesOver(v, g, w) {
				c.check(k, in, nil)
			}
		}
	}
}

// takesOver reports whether two rules always precede v, and goes is removed only after comes was
// added.
func (c *checker) takesOver(v, goes, comes *span) bool {
	_, before := goes.Above(v)
	_, after := comes.Above(v)
	return before && after && c.MustPrecede(comes.Since, goes.Until)
}

// A protection is a step that begins or ends the protection of requests.
type protection struct {
	step  int
	port  int32 // of the listener; 0 for all
	comes bool
	name  string
}

// protections returns the steps that associate or remove a web ACL, and those from which a listener
// verifies client certificates. The end of such verification is not checked.
func (c *checker) protections() (out []protection) {
	for i, s := range c.plan.Steps {
		switch s := s.Step.(type) {
		case plan.SetWebACL:
			out = append(out, protection{i, 0, c.want.Protection.HasWebACL(), "the web ACL"})
		case plan.ModifyListener:
			port := s.Listener.Port
			begins := func(p protection) bool { return p.port == port }
			seen := c.seen.Listener(port)
			if seen != nil && seen.Protocol == routing.HTTPS && !seen.Verifies && s.Listener.Verifies &&
				!slices.ContainsFunc(out, begins) {
				out = append(out, protection{i, port, true, "a certificate of the client"})
			}
		default: // it protects nothing
		}
	}
	return out
}

// checkProtections searches requests that get a new answer before a new protection begins, or an
// old answer after an old protection ended.
func (c *checker) checkProtections(v *span) {
	for _, p := range c.protected {
		if p.port != 0 && p.port != v.Port.Number {
			continue
		}
		i := p.step
		k := claim{span: v, why: "a request may be answered without " + p.name + ": " + v.Rule.String()}
		if p.comes {
			k.out, k.wrong = []int{i}, func(before, _ *span) bool { return !v.Same(before) }
		} else {
			k.state, k.wrong = c.order[i], func(_, after *span) bool { return !v.Same(after) }
		}
		withoutACL := func(begins, ends int) bool { // a new answer begins, or an old one ends, without it
			return p.comes && begins != never && begins != i && !c.MustPrecede(i, begins) ||
				!p.comes && ends != never && !c.MustPrecede(ends, i)
		}
		if withoutACL(v.Since, v.Until) {
			c.check(k, []*span{v}, nil)
			continue
		}
		for _, w := range c.nearRules(v) {
			some, always := w.Above(v)
			if some && (!always || withoutACL(w.Until, w.Since)) && w.Overlaps(v) {
				c.check(k, []*span{v, w}, nil)
			}
		}
	}
}
