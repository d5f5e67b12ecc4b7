package proof

import (
	"maps"
	"slices"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/proof/course"
	"fairlead.dev/fairlead/model/routing"
)

// This file decides whether clients of a host may be shown a certificate that is not for it, though
// there is one before the plan and one after it.

// fitting looks for states without any certificate for a host, on a port that stays open.
func (c *checker) fitting(p *course.Port) {
	if p.Closes != course.Never {
		return
	}
	var early []int
	for i := range c.Order {
		if c.early(i, diag.DeleteFirst) {
			early = append(early, i)
		}
	}
	for _, host := range hostsOf(p.Certificates) {
		var fit []*course.Span
		for _, s := range p.Certificates {
			if fits(s, host) {
				fit = append(fit, s.Span)
			}
		}
		before := func(s *course.Span) bool { return s.Since == course.Never }
		after := func(s *course.Span) bool { return s.Until == course.Never }
		if !slices.ContainsFunc(fit, before) || !slices.ContainsFunc(fit, after) {
			continue
		}
		if done, _, ok := c.Reach(make(course.Set, c.Words()), early, fit); ok {
			c.refute(done.List(), &routing.Request{Port: p.Number, Host: host, Path: "/", Method: "GET"},
				"a client may be shown a certificate that is not for "+host)
		}
	}
}

// hostsOf are hosts, one of each kind that certificates tell apart.
func hostsOf(all []course.Shown) []string {
	hosts := map[string]bool{}
	for _, s := range all {
		for _, h := range s.Hosts {
			if routing.Host(h).Wildcard() {
				h = "any" + h[1:]
			}
			hosts[h] = true
		}
	}
	return slices.Sorted(maps.Keys(hosts))
}

func fits(s course.Shown, host string) bool {
	return slices.ContainsFunc(s.Hosts, func(h string) bool {
		return routing.Host(h).Covers(routing.Host(host))
	})
}
