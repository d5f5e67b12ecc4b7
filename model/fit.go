package model

import (
	"fmt"
	"sort"
	"strings"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
)

// This file keeps a load balancer within its quotas. What is served stays: the change that does
// not fit is refused, and of several the newest member's.

// exceeded are the quotas that a load balancer breaks, in words.
func exceeded(l lb.LoadBalancer, c lb.Capabilities) []string {
	rules, certificates := 0, 0
	for _, listener := range l.Listeners {
		rules += len(listener.Rules)
		certificates += max(0, len(listener.Certificates)-1)
	}
	var out []string
	for _, q := range []struct {
		what       string
		have, most int
	}{
		{"rules", rules, c.Rules},
		{"target groups", len(l.TargetGroups), c.TargetGroups},
		{"certificates besides the default ones", certificates, c.Certificates},
		{"listeners", len(l.Listeners), c.Listeners},
	} {
		if q.most > 0 && q.have > q.most {
			out = append(out, fmt.Sprintf("%d %s, and %s allows %d", q.have, q.what, c.Name, q.most))
		}
	}
	return out
}

// fit leaves out as few of the newest changes as it takes for the rest to fit. Where what has
// long been served does not fit either, the cloud has the last word.
func fit(s ingress.Snapshot, f lb.Facts, c lb.Capabilities, whole Built) Built {
	changes := s.Changes()
	without := func(n int) Built { return compile(s.Refuse(changes[:n]), f, c) }
	n := sort.Search(len(changes), func(n int) bool {
		return len(exceeded(without(n).LoadBalancer, c)) == 0
	})
	built := without(n)
	for _, refused := range changes[:n] {
		built.Diagnostics = append(built.Diagnostics, diag.Diagnostic{
			Severity: diag.Error, Reason: diag.QuotaExceeded, Source: refused.Source(),
			Message: fmt.Sprintf("%s has no room for it: with everything that is asked for it would have %s; the newest is left out first",
				s.Key, strings.Join(exceeded(whole.LoadBalancer, c), ", and ")),
		})
	}
	built.Diagnostics = diag.Sort(built.Diagnostics)
	return built
}
