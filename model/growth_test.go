package model

import (
	"runtime"
	"testing"

	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/planner"
	"fairlead.dev/fairlead/test/nightly"
)

// This file holds that ten times as many Ingresses cost about ten times as much, in numbers that do
// not depend on the machine.

// costs are what it takes to compile objects into a load balancer, and to plan it from nothing.
type costs struct{ allocations, bytes, steps float64 }

func costsOf(t *testing.T, o ingress.Objects, c lb.Capabilities) costs {
	t.Helper()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	built := Compile(snapshotOf(t, o), lb.Facts{}, c)
	plan := planner.Diff(&lb.Observed{Key: built.LoadBalancer.Key}, built.LoadBalancer, c)
	runtime.ReadMemStats(&after)
	return costs{
		float64(after.Mallocs - before.Mallocs), float64(after.TotalAlloc - before.TotalAlloc), float64(len(plan.Steps)),
	}
}

// TestGrowthIsLinear compiles 200 and 2,000 Ingresses of one group. Ten times as many may take 11
// times the allocations and the steps. The bytes may be 12 times as many, because slices and tables
// double as they grow.
func TestGrowthIsLinear(t *testing.T) {
	for _, oneHost := range []bool{false, true} {
		for _, c := range nightly.Some(t, len(capabilitySets), capabilitySets) {
			costsOf(t, many(20, oneHost), c) // what is made once
			few, lots := costsOf(t, many(200, oneHost), c), costsOf(t, many(2000, oneHost), c)
			t.Logf("%s, one host %t: %.0f allocations of %.0f bytes for %.0f steps, then %.0f of %.0f for %.0f",
				c.Name, oneHost, few.allocations, few.bytes, few.steps, lots.allocations, lots.bytes, lots.steps)
			for what, grown := range map[string]struct{ few, lots, most float64 }{
				"allocations": {few.allocations, lots.allocations, 11},
				"steps":       {few.steps, lots.steps, 11},
				"bytes":       {few.bytes, lots.bytes, 12},
			} {
				if times := grown.lots / grown.few; times > grown.most {
					t.Errorf("%s, one host %t: ten times as many Ingresses take %.1f times the %s", c.Name, oneHost, times, what)
				}
			}
			if few.steps < 200 {
				t.Errorf("%s: a plan for 200 Ingresses has %.0f steps", c.Name, few.steps)
			}
		}
	}
}
