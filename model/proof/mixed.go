package proof

import (
	"slices"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/proof/course"
	"fairlead.dev/fairlead/model/routing"
)

// This file decides whether a request may be answered by a rule to which neither table sends it, or
// without the web ACL or the certificate of the client that is asked for.

// mixed looks for requests that a rule answers and neither table sends to it. If the rule was there
// before the plan, another rule above it has to answer them, and go while it is there. If it is
// there after the plan, another rule above it has to answer them, and come while it is there.
func (c *checker) mixed(v *course.Span) {
	goes, comes := []*course.Span{nil}, []*course.Span{nil}
	if v.Since == course.Never {
		goes = nil
	}
	if v.Until == course.Never {
		comes = nil
	}
	for _, w := range c.near(v) {
		some, always := w.Above(v)
		if !some || w.Same(v) || !w.Overlaps(v) || always && w.Switches() {
			continue
		}
		if v.Since == course.Never && w.Since == course.Never && (!always || w.Until != course.Never &&
			!c.Must(v.Until, w.Until) && !c.early(w.Until, diag.DeleteFirst)) {
			goes = append(goes, w)
		}
		if v.Until == course.Never && w.Until == course.Never && (!always || w.Since != course.Never &&
			!c.Must(w.Since, v.Since)) {
			comes = append(comes, w)
		}
	}
	k := claim{span: v, wrong: func(before, after *course.Span) bool {
		return !v.Same(before) && !v.Same(after)
	}, why: "a request gets an answer that it gets neither before nor after the plan: " +
		v.Rule.String()}
	for _, g := range goes {
		for _, w := range comes {
			in := slices.DeleteFunc([]*course.Span{v, g, w}, func(s *course.Span) bool { return s == nil })
			if g == nil || w == nil || g.Overlaps(w) && !c.relieved(v, g, w) {
				c.check(k, in, nil)
			}
		}
	}
}

// relieved reports whether of two rules that are above v as long as they are there, one goes after
// the other has come.
func (c *checker) relieved(v, goes, comes *course.Span) bool {
	_, before := goes.Above(v)
	_, after := comes.Above(v)
	return before && after && c.Must(comes.Since, goes.Until)
}

// A protection is a step after which requests are protected that were not before, or no more.
type protection struct {
	step  int
	port  int32 // of the listener; 0 for all
	comes bool
	name  string
}

// protections returns the steps that have a web ACL come or go, and those from which on a listener
// verifies the certificates of clients. Of one that ends to verify them, the settings are not
// decided.
func (c *checker) protections() (out []protection) {
	for i, s := range c.plan.Steps {
		switch s := s.Step.(type) {
		case plan.GuardLoadBalancer:
			out = append(out, protection{i, 0, c.want.Protection.Guarded(), "the web ACL"})
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

// guarded looks for requests that are answered in a new way before a protection that is asked for
// is there, or in an old way after one that is not asked for any more is gone.
func (c *checker) guarded(v *course.Span) {
	for _, p := range c.protected {
		if p.port != 0 && p.port != v.Port.Number {
			continue
		}
		i := p.step
		k := claim{span: v, why: "a request may be answered without " + p.name + ": " + v.Rule.String()}
		if p.comes {
			k.out, k.wrong = []int{i}, func(before, _ *course.Span) bool { return !v.Same(before) }
		} else {
			k.state, k.wrong = c.Order[i], func(_, after *course.Span) bool { return !v.Same(after) }
		}
		unguarded := func(begins, ends int) bool { // a new answer begins, or an old one ends, without it
			return p.comes && begins != course.Never && begins != i && !c.Must(i, begins) ||
				!p.comes && ends != course.Never && !c.Must(ends, i)
		}
		if unguarded(v.Since, v.Until) {
			c.check(k, []*course.Span{v}, nil)
			continue
		}
		for _, w := range c.near(v) {
			some, always := w.Above(v)
			if some && (!always || unguarded(w.Until, w.Since)) && w.Overlaps(v) {
				c.check(k, []*course.Span{v, w}, nil)
			}
		}
	}
}
