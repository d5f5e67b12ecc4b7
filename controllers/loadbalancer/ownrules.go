package loadbalancer

import (
	"slices"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/planner"
)

// This file finds the rules of a load balancer that this operator has made.

// ownRules returns the digests of the rules that exist or are wanted, without foreign ones.
func ownRules(seen *lb.Observed, want lb.LoadBalancer, foreign []planner.ForeignRule) []string {
	var out []string
	add := func(port int32, r lb.Rule) {
		if !slices.ContainsFunc(foreign, func(s planner.ForeignRule) bool {
			return s.Port == port && s.Key() == r.Key()
		}) {
			out = append(out, planner.RuleDigest(port, r))
		}
	}
	for _, there := range seen.Listeners {
		if there.Others {
			continue
		}
		for _, r := range there.Rules {
			add(there.Port, r.Rule)
		}
	}
	for _, wanted := range want.Listeners {
		for _, r := range wanted.Rules {
			add(wanted.Port, r)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
