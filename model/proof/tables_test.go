package proof_test

import (
	"math/rand/v2"
	"testing"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/lowering"
	"fairlead.dev/fairlead/model/planner"
	"fairlead.dev/fairlead/model/proof"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
	"fairlead.dev/fairlead/test/nightly"
	"fairlead.dev/fairlead/test/tables"
)

// TestPlansBetweenTablesAreProven has rules as they are made of routes: with globs, regular
// expressions, redirects, sign-in and conditions.
func TestPlansBetweenTablesAreProven(t *testing.T) {
	t.Logf("-seed %d -plans %d", *seed, *plans)
	for n := range nightly.Times(*plans / 5) {
		g := &tables.Generator{Rand: rand.New(rand.NewPCG(*seed, uint64(n)))}
		c := []lb.Capabilities{lb.Literal(), lb.ALB(), lb.ALBGlob()}[n%3]
		lower := func(config routing.Config) lb.LoadBalancer {
			config.Listeners = []routing.Listener{{Port: 80, Protocol: routing.HTTP}, {Port: 443, Protocol: routing.HTTPS, Certificates: []routing.CertificateID{"c"}}}
			config.Backends = map[routing.BackendID]routing.Backend{}
			for _, id := range []routing.BackendID{"A", "B", "C"} {
				config.Backends[id] = routing.Backend{ID: id}
			}
			out, _, _ := lowering.Lower(precedence.New(config), c)
			for i := range out.TargetGroups {
				out.TargetGroups[i].Targets = []lb.Target{{Address: "10.0.0.1", Port: 80}}
			}
			return out
		}
		config := g.Config()
		from, want := lower(config), lower(g.Changed(config))
		start := &lb.Observed{Key: from.Key}
		first := planner.Diff(start, from, c)
		seen := first.Fold(start)
		for i := range seen.TargetGroups {
			seen.TargetGroups[i].Ready = g.IntN(4) > 0
		}
		if v := proof.Check(start, from, first, c.Dialect); v.Result != proof.Proven {
			t.Fatalf("plan %d, new: %+v %+v\n%s", n, v, v.Request, describe(start, from, first))
		}
		p := planner.Diff(seen, want, c)
		if v := proof.Check(seen, want, p, c.Dialect); v.Result != proof.Proven {
			t.Fatalf("plan %d: %+v %+v\n%s", n, v, v.Request, describe(seen, want, p))
		}
	}
}
