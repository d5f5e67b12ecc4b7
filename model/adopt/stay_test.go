package adopt_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/model/adopt"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/planner"
	"fairlead.dev/fairlead/model/requests"
	"fairlead.dev/fairlead/test/tables"
)

// extra adds a listener of others, with a target group of its own and one of the wanted ones, and an odd rule.
func extra(f *lb.Other, port int32) {
	own := lb.ObservedTargetGroup{TargetGroup: lb.TargetGroup{ID: "arn:own", TargetType: "instance", Protocol: "HTTPS"}, Handle: "arn:own"}
	f.TargetGroups = append(f.TargetGroups, own)
	l := lb.ObservedListener{Port: port, Protocol: "HTTP", Handle: "arn:extra", Default: lb.Action{Kind: "forward", Targets: []lb.Weighted{{Group: "arn:own", Weight: 1}}},
		Rules: []lb.ObservedRule{{Priority: 1, Handle: "arn:extra-rule", Rule: lb.Rule{Conditions: []lb.Condition{{Field: "jwt"}}, Action: lb.Action{Kind: "odd"}}}}}
	for _, g := range f.TargetGroups[:1] {
		l.Rules = append(l.Rules, lb.ObservedRule{Priority: 2, Handle: "arn:extra-rule2", Rule: lb.Rule{Conditions: []lb.Condition{{Field: "path", Values: []string{"/x"}}},
			Action: lb.Action{Kind: "forward", Targets: []lb.Weighted{{Group: g.ID, Weight: 1}}}}})
	}
	f.Listeners, f.Key = append(f.Listeners, l), ""
	f.Oddities = append(f.Oddities, lb.Oddity{Handle: "arn:extra", What: "Odd x"}, lb.Oddity{Handle: "arn:own", What: "Odd y"})
}

// TestListenersThatNoIngressAsksForStay: they are no difference, whatever they have, and nothing of them is taken. With the
// class field, they are a difference, as they are deleted.
func TestListenersThatNoIngressAsksForStay(t *testing.T) {
	s := draw(t)
	for n := range *rounds {
		g := &tables.Generator{Rand: rand.New(rand.NewPCG(s, uint64(n)))}
		c := []lb.Capabilities{lb.Literal(), lb.ALB(), lb.ALBGlob()}[n%3]
		w := wanted(g.Config(), c)
		f := found(w, g.Rand)
		f.Name = w.LoadBalancer.Key.Name()
		extra(f, 8080)
		got := adopt.Compare(f, w, requests.OfCommand)
		if got.NeedsConsent() || len(got.Stay) != 1 || got.Stay[0].Port != 8080 {
			t.Fatalf("table %d: %+v, and these stay: %+v", n, got.Report, got.Stay)
		}
		for _, r := range got.Resources {
			if r.Stays != strings.HasPrefix(r.Handle, "arn:extra") {
				t.Errorf("table %d: %s stays: %t", n, r.Handle, r.Stays)
			}
		}
		take := got.Takeover(f, w)
		if len(take.Stay) != 1 || !take.Stay["arn:extra"] || take.Groups["arn:own"] != "" || take.Shapes[8080] != "" {
			t.Fatalf("table %d: %+v", n, take)
		}
		if !strings.Contains(got.Left["arn:own"], "it stays, for port 8080") {
			t.Fatalf("table %d: %v", n, got.Left)
		}
		seen := taken(f, take)
		if p := planner.Diff(seen, planner.KeepShape(w.LoadBalancer, seen), c); len(p.Steps) > 0 {
			t.Fatalf("table %d: %+v", n, p.Steps[0].Step)
		}
		if changed := adopt.Changed(seen, nil, false); slices.ContainsFunc(changed, func(text string) bool { return strings.Contains(text, "8080") }) {
			t.Fatalf("table %d: %q", n, changed)
		}
		w.LoadBalancer.RemoveOthers = true
		if got := adopt.Compare(f, w, requests.OfCommand); !got.NeedsConsent() || len(got.Stay) > 0 || len(got.Takeover(f, w).Stay) > 0 {
			t.Fatalf("table %d: where the class says Remove: %+v", n, got.Stay)
		}
	}
}

// TestListenersOfFairleadDoNotStay: in a load balancer that is taken over, those count that others still have.
func TestListenersOfFairleadDoNotStay(t *testing.T) {
	w := wanted((&tables.Generator{Rand: rand.New(rand.NewPCG(1, 1))}).Config(), lb.ALB())
	f := found(w, rand.New(rand.NewPCG(1, 1)))
	extra(f, 8080)
	f.Key = w.LoadBalancer.Key
	if got := adopt.Compare(f, w, requests.OfCommand); len(got.Stay) > 0 {
		t.Errorf("one of Fairlead's stays: %+v", got.Stay)
	}
	f.Listeners[len(f.Listeners)-1].Others = true
	if got := adopt.Compare(f, w, requests.OfCommand); len(got.Stay) != 1 {
		t.Error("one of others does not stay")
	}
}

// TestPortsThatStayAreNotShut: where the operator would put its own security group in the place of the present ones.
func TestPortsThatStayAreNotShut(t *testing.T) {
	for name, c := range map[string]struct {
		extra, theirs, named bool
		shut                 bool
	}{
		"one of the controller":     {extra: true, theirs: true},
		"one that the class names":  {extra: true, named: true},
		"another one":               {extra: true, shut: true},
		"another one, and no ports": {},
	} {
		w := wanted((&tables.Generator{Rand: rand.New(rand.NewPCG(1, 1))}).Config(), lb.ALB())
		f := found(w, rand.New(rand.NewPCG(1, 1)))
		f.Name = w.LoadBalancer.Key.Name()
		if c.extra {
			extra(f, 8080)
		}
		if !c.theirs {
			f.Tags["sg-1"] = nil
		}
		if c.named {
			w.LoadBalancer.Settings.SecurityGroups = []string{"sg-1"}
		}
		got := adopt.Compare(f, w, requests.OfCommand)
		if in := strings.Join(got.Obstacles(f, w), "; "); strings.Contains(in, "could no longer connect to port 8080") != c.shut {
			t.Errorf("%s: in the way: %q", name, in)
		}
	}
}
