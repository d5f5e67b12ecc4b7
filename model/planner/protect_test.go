package planner

import (
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// This file tests why a load balancer stays that nobody asks for, and what protects one.

func TestWhyALoadBalancerStays(t *testing.T) {
	c := lb.Capabilities{DeletionProtection: "deletion_protection.enabled"}
	asked := lb.LoadBalancer{Listeners: []lb.Listener{{Port: 80}}}
	for name, x := range map[string]struct {
		protectedBy string
		gone        bool
		want        lb.LoadBalancer
		says        string // "" if it goes
	}{
		"nobody protects it":                    {},
		"its class did, and does not any more":  {protectedBy: lb.ByClass},
		"its class would, and it is not":        {want: lb.LoadBalancer{Protected: true}},
		"its class does":                        {protectedBy: lb.ByClass, want: lb.LoadBalancer{Protected: true}, says: "its class says deletion_protection.enabled, so it stays as it is"},
		"its class does, and takes routes away": {protectedBy: lb.ByClass, want: lb.LoadBalancer{Protected: true, Withdrawn: true}, says: "so it stays, and answers nothing that its class does not permit"},
		"others do":                             {protectedBy: lb.ByOthers, says: "another writer has protected it from deletion, so it stays as it is"},
		"others do, and it is gone":             {protectedBy: lb.ByOthers, gone: true},
		"others do, and somebody asks for it":   {protectedBy: lb.ByOthers, want: asked},
	} {
		t.Run(name, func(t *testing.T) {
			got, stays := keptByProtection(&lb.Observed{Key: "k", Exists: !x.gone, Protected: x.protectedBy}, x.want, c)
			if stays != (x.says != "") || !strings.Contains(got.Message, x.says) {
				t.Errorf("it stays: %t, and says %q, want %q", stays, got.Message, x.says)
			}
		})
	}
}

// A web ACL that it is not known how to put up keeps what is there. A new load balancer does not
// begin without one.
func TestAnUnsettledWebACLChangesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		there bool
		has   string
		want  string
		steps []string
	}{
		"it is new":            {want: lb.Unsettled, steps: []string{lb.Unsettled}},
		"it has none":          {there: true, has: lb.NoWebACL, want: lb.Unsettled},
		"it has another one":   {there: true, has: "other", want: lb.Unsettled},
		"it is to have one":    {there: true, has: lb.NoWebACL, want: "edge", steps: []string{"edge"}},
		"it has it":            {there: true, has: "edge", want: "edge"},
		"it is to have none":   {there: true, has: "edge", want: lb.NoWebACL, steps: []string{lb.NoWebACL}},
		"it has none, rightly": {there: true, has: lb.NoWebACL, want: lb.NoWebACL},
	} {
		t.Run(name, func(t *testing.T) {
			want := balancer(listener(80, rule("", "/x", fixed(200))))
			seen := &lb.Observed{Key: want.Key}
			if c.there {
				seen = built(want, lb.ALB())
				seen.Protection.WebACL = c.has
			}
			want.Protection.WebACL = c.want
			var got []string
			for _, s := range Diff(seen, want, lb.ALB()).Steps {
				if set, ok := s.Step.(plan.SetWebACL); ok {
					got = append(got, set.WebACL)
				}
			}
			if !slices.Equal(got, c.steps) {
				t.Errorf("the steps put up %v, want %v", got, c.steps)
			}
		})
	}
}

// A web ACL goes once all has changed that was behind it.
func TestAWebACLGoesLast(t *testing.T) {
	seen := built(balancer(listener(80, rule("", "/x", fixed(200)), rule("", "/y", fixed(201)))), lb.ALB())
	seen.Protection.WebACL = "edge"
	want := balancer(listener(80, rule("", "/x", fixed(204)), rule("", "/y", fixed(205))))
	want.Protection.WebACL = lb.NoWebACL
	p := Diff(seen, want, lb.ALB())
	for i, s := range p.Steps {
		if _, sets := s.Step.(plan.SetWebACL); sets && (len(p.Steps) != 3 || len(s.After) < 2) {
			t.Errorf("step %d, behind %v: %v", i, s.After, named(p))
		}
	}
}

// A rule that goes lays open what answers its requests then, which is behind the web ACL that is
// asked for.
func TestARuleGoesOnceTheWebACLIsThere(t *testing.T) {
	seen := built(balancer(listener(80, rule("", "/x", fixed(403)), rule("", "/*", fixed(200)))), lb.ALB())
	want := balancer(listener(80, rule("", "/*", fixed(200))))
	want.Protection.WebACL = "edge"
	if got := dependencies(Diff(seen, want, lb.ALB())); !slices.Equal(got, []string{
		"set web ACL of fairlead/shop/web/internal", "delete rule 80/16661 < set web ACL of fairlead/shop/web/internal"}) {
		t.Errorf("the steps are %q", got)
	}
}
