// Package proof checks plans without the planner. A plan is proven if, in each order that its steps
// allow, each step can be done, and after each step every request is answered as before the plan or
// as wanted, apart from what the plan announces. The definition is in
// docs/contributing/decisions/0034-plans-carry-their-proof.md.
package proof

import (
	"maps"
	"slices"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// mostSearches is the most parts of requests that a check searches.
const mostSearches = 100_000

// mostCompared is the most pairs of rules that a check compares: those of a host with 2,000 rules.
// More would take seconds, and tenants decide the number of rules.
const mostCompared = 4_000_000

// mostSteps is the most steps of a plan that is checked: the order takes a bit for each pair of
// steps, and tenants decide the number of paths. About 4,000 rules have as many steps.
const mostSteps = 12_000

// Check checks a plan that changes the load balancer seen to the one wanted. A plan without steps
// is proven.
func Check(seen *lb.Observed, want lb.LoadBalancer, p plan.Plan, d lb.Dialect) Verdict {
	if len(p.Steps) == 0 {
		return Verdict{Result: Proven}
	}
	if len(p.Steps) > mostSteps {
		return Verdict{Result: Undecided, Why: "the plan has too many steps to be checked"}
	}
	if seen == nil {
		seen = &lb.Observed{Key: p.Key}
	}
	c := &checker{Course: follow(seen, want, p, d), seen: seen, want: want, plan: p,
		unruled: d.HealthWithoutRule,
		finder:  newFinder(d, mostSearches), left: mostCompared, Verdict: Verdict{Result: Proven}}
	if c.Fault != nil {
		return Verdict{Result: Refuted, Why: c.Fault.Why, Done: c.Fault.Steps}
	}
	c.protected = c.protections()
	for _, number := range slices.Sorted(maps.Keys(c.Ports)) {
		port := c.Ports[number]
		c.checkCertificates(port)
		for _, v := range port.Served {
			if c.Result != Proven {
				break
			}
			opening := v.Since != never && v.Since == port.Opens // its rules follow
			if !opening && !c.announcedEarly(v.Since, diag.DeleteFirst) {
				c.checkMixed(v)
			}
			c.checkRedirects(v)
			c.checkProtections(v)
		}
	}
	c.checkHealth()
	return c.Verdict
}
