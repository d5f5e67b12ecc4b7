package planner

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
)

func TestAHealthyGroupIsNamedAllTheTime(t *testing.T) {
	a, b := group("A", "10.0.0.1"), group("B", "10.0.0.2")
	with := func(l lb.Listener) lb.LoadBalancer {
		out := balancer(l)
		out.TargetGroups = []lb.TargetGroup{a, b}
		return out
	}
	for name, c := range map[string]struct {
		reason   string
		from, to lb.LoadBalancer
		caps     func(*lb.Capabilities)
		want     []string
		told     []diag.Diagnostic
	}{
		"another host": {
			reason: "the rule that names A goes once another one names it",
			from:   with(listener(80, rule("a.example.com", "", forward("A")), rule("b.example.com", "", forward("B")))),
			to:     with(listener(80, rule("b.example.com", "", forward("B")), rule("c.example.com", "", forward("A")))),
			want: []string{
				"create rule 80/33713",
				"delete rule 80/16661 < create rule 80/33713",
			},
		},
		"in the last place": {
			reason: "where there is no room for both rules, the old one goes first: no answered request is sent to the new one",
			from:   with(listener(80, rule("a.example.com", "", forward("A")), rule("b.example.com", "", forward("B")))),
			to:     with(listener(80, rule("b.example.com", "", forward("B")), rule("c.example.com", "", forward("A")))),
			caps:   func(c *lb.Capabilities) { c.Rules = 2 },
			want: []string{
				"delete rule 80/16661",
				"create rule 80/33713 < delete rule 80/16661",
			},
		},
		"in the last place, for requests that are answered": {
			reason: "B is named by none for a while, and takes over from A, so it is told",
			from:   with(listener(80, rule("a.example.com", "", forward("A")), rule("b.example.com", "", forward("B")))),
			to:     with(listener(80, rule("a.example.com", "", forward("B")), rule("c.example.com", "/", forward("A")))),
			caps:   func(c *lb.Capabilities) { c.Rules = 2 },
			want: []string{
				"delete rule 80/33323",
				"create rule 80/24992 < delete rule 80/33323",
				"modify rule 80/16661 < create rule 80/24992",
			},
			told: []diag.Diagnostic{targetsUnchecked("fairlead/shop/web/internal")},
		},
		"in the last place, with room for a parking rule later": {
			reason: "B is named by none before it is parked, and takes over from A, so it is told",
			from:   with(defaultTo("A", rule("", "/x", forward("A")), rule("a.example.com", "/k", fixed(403)), rule("b.example.com", "/y", forward("B")))),
			to:     with(defaultTo("A", rule("a.example.com", "/k", fixed(403)), rule("b.example.com", "/x", forward("B")))),
			caps:   func(c *lb.Capabilities) { c.Rules = 3 },
			want: []string{
				"delete rule 80/37488",
				"create rule 80/31240 < delete rule 80/37488",
				"delete rule 80/12496 < create rule 80/31240",
			},
			told: []diag.Diagnostic{targetsUnchecked("fairlead/shop/web/internal")},
		},
		"in the place of another": {
			reason: "a rule whose group goes makes room, so that the old one goes last",
			from:   with(listener(80, rule("a.example.com", "", forward("A")), rule("b.example.com", "", forward("B")))),
			to:     with(listener(80, rule("c.example.com", "", forward("A")))),
			caps:   func(c *lb.Capabilities) { c.Rules = 2 },
			want: []string{
				"delete rule 80/33323",
				"create rule 80/16271 < delete rule 80/33323",
				"delete rule 80/16661 < create rule 80/16271",
			},
		},
		"an exchange": {
			reason: "a parking rule names the one that would be named by none",
			from:   with(listener(80, rule("a.example.com", "/x", forward("A")), rule("a.example.com", "", forward("B")))),
			to:     with(listener(80, rule("a.example.com", "/x", forward("B")), rule("a.example.com", "", forward("A")))),
			want: []string{
				"create rule 80/50000",
				"modify rule 80/33323 < create rule 80/50000",
				"modify rule 80/16661 < modify rule 80/33323",
				"delete rule 80/50000 < create rule 80/50000 < modify rule 80/16661",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			caps := lb.ALB()
			if c.caps != nil {
				c.caps(&caps)
			}
			p := Diff(ready(c.from, lb.ALB()), c.to, caps)
			if diff := cmp.Diff(c.want, dependencies(p)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			if diff := cmp.Diff(c.told, p.Diagnostics, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// defaultTo is a listener whose default action forwards to a target group.
func defaultTo(g lb.GroupID, rules ...lb.Rule) lb.Listener {
	l := listener(80, rules...)
	l.Default = forward(g)
	return l
}
