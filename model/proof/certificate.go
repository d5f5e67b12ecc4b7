package proof

import (
	"maps"
	"slices"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
)

// This file decides whether clients of a host may be shown a certificate that is not for it, though
// there is one before the plan and one after it.

// checkCertificates searches states in which a port that stays open has no certificate for a host.
func (c *checker) checkCertificates(p *port) {
	if p.Closes != never {
		return
	}
	var early []int
	for i := range c.order {
		if c.announcedEarly(i, diag.DeleteFirst) {
			early = append(early, i)
		}
	}
	for _, host := range hostsOf(p.Certificates) {
		var fit []*span
		for _, s := range p.Certificates {
			if fits(s, host) {
				fit = append(fit, s.span)
			}
		}
		before := func(s *span) bool { return s.Since == never }
		after := func(s *span) bool { return s.Until == never }
		if !slices.ContainsFunc(fit, before) || !slices.ContainsFunc(fit, after) {
			continue
		}
		if done, _, ok := c.Reach(make(set, c.SetLength()), early, fit); ok {
			c.refute(done.Steps(), &routing.Request{Port: p.Number, Host: host, Path: "/", Method: "GET"},
				"a client may be shown a certificate that is not for "+host)
		}
	}
}

// hostsOf returns a host for each set of certificates that can cover one.
func hostsOf(all []shown) []string {
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

func fits(s shown, host string) bool {
	return slices.ContainsFunc(s.Hosts, func(h string) bool {
		return routing.Host(h).Covers(routing.Host(host))
	})
}
