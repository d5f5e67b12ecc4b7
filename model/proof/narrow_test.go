package proof_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/planner"
	"fairlead.dev/fairlead/model/proof"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/test/nightly"
)

// This file draws plans of the planner that are rare among others: where redirects lead to
// redirects, and where limits are short. Without a walk, many are checked within seconds.

// narrowPlans is how many of each kind are checked.
const narrowPlans = 3000

func TestPlansOfRedirectsAreNotRefuted(t *testing.T) {
	t.Logf("-seed %d", *seed)
	proven := 0
	for n := range nightly.Times(narrowPlans) {
		d := drawing{rand.New(rand.NewPCG(*seed, uint64(n))), lb.ALB(),
			[]lb.Action{fixed(404), fixed(403), forward("A")}}
		seen, want := d.stands(d.redirecting()), d.redirecting()
		p := planner.Diff(seen, want, d.caps)
		if p.Empty() {
			continue
		}
		switch v := proof.Check(seen, want, p, d.caps.Dialect); v.Result {
		case proof.Refuted:
			t.Fatalf("plan %d of seed %d is %s: %s, %v %+v\n%s", n, *seed, v.Result, v.Why, v.Done,
				v.Request, describe(seen, want, p))
		case proof.Proven:
			proven++
		default: // redirects to ports that open or close may be undecided
		}
	}
	if proven < nightly.Times(narrowPlans)/4 {
		t.Errorf("%d plans of %d are proven", proven, nightly.Times(narrowPlans))
	}
}

// found is redirectTo with another status.
func found(port string) lb.Action {
	return lb.FromRouting(routing.Action{Redirect: &routing.Redirect{Status: 302, Port: port}})
}

// redirecting is a load balancer of up to three ports, each of which redirects to later ones. Where
// they redirect in a circle, the plan announces a wrong order.
func (d drawing) redirecting() lb.LoadBalancer {
	out := lb.LoadBalancer{Key: "k", Wanted: true}
	for _, port := range []int32{80, 81, 82} {
		if d.IntN(6) == 0 {
			continue
		}
		all := slices.Clone(d.actions)
		if port < 82 {
			all = append(all, redirectTo("82"), found("82"))
		}
		if port < 81 {
			all = append(all, redirectTo("81"), redirectTo("81"), found("81"))
		}
		one := func() lb.Action { return all[d.IntN(len(all))] }
		l := lb.Listener{Port: port, Protocol: routing.HTTP, Default: one()}
		for range d.IntN(3) {
			l.Rules = append(l.Rules, on(paths[2+d.IntN(3)][0], one()))
		}
		l.Rules = distinct(l.Rules)
		out.Listeners = append(out.Listeners, l)
	}
	return d.withGroups(out)
}

func TestPlansAtLimitsAreProven(t *testing.T) {
	t.Logf("-seed %d", *seed)
	early := 0
	for n := range nightly.Times(narrowPlans) {
		d := drawing{rand.New(rand.NewPCG(*seed, uint64(n))), lb.ALB(), []lb.Action{fixed(404),
			forward("A"), forward("B"), forward("C"), forward("A", "B"), fixed(403)}}
		d.caps.MaxPriority, d.caps.Rules, d.caps.TargetGroups = 12+d.IntN(12), 3+d.IntN(3), 1+d.IntN(3)
		from := d.balancer(4)
		want := d.balancer(4)
		if d.IntN(2) > 0 {
			want = d.changed(from)
		}
		seen := d.built(from)
		p := planner.Diff(seen, want, d.caps)
		for _, s := range p.Steps {
			if s.Early != "" {
				early++
			}
		}
		if p.Empty() {
			continue
		}
		if v := proof.Check(seen, want, p, d.caps.Dialect); v.Result != proof.Proven {
			t.Fatalf("plan %d of seed %d is %s: %s, %v %+v\n%s", n, *seed, v.Result, v.Why, v.Done,
				v.Request, describe(seen, want, p))
		}
	}
	if early < nightly.Times(100) {
		t.Errorf("%d steps come early", early)
	}
}
