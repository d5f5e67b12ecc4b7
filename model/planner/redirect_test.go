package planner

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// TestARedirectOfAnotherStatus holds redirects to one place, of two statuses, to an order: each
// leads to the port as it is on its own side of the change.
func TestARedirectOfAnotherStatus(t *testing.T) {
	plain := func(status int) lb.Listener {
		to := routing.Action{Redirect: &routing.Redirect{Status: status, Scheme: "https"}}
		return listener(80, rule("a.example.com", "", lb.FromRouting(to)))
	}
	tls := func(status int) lb.Listener {
		return secure(listener(443, rule("a.example.com", "", fixed(status))), "C")
	}
	type order map[string][]string // by step, those that it waits for
	for why, c := range map[string]struct {
		from, to lb.LoadBalancer
		want     order
	}{
		"the port closes when the old redirect is gone": {
			balancer(plain(302), tls(200)), balancer(plain(301)),
			order{"modify rule 80/24992": nil, "delete listener 443": {"modify rule 80/24992"}},
		},
		"the new redirect leads to a port that is open": {
			balancer(plain(302)), balancer(plain(301), tls(200)),
			order{"create listener 443": nil, "create rule 443/24992": {"create listener 443"}, "modify rule 80/24992": {"create listener 443", "create rule 443/24992"}},
		},
		"both redirects lead to the same answers of a port that stays": {
			balancer(plain(302), tls(200)), balancer(plain(301), tls(403)),
			order{"modify rule 80/24992": nil, "modify rule 443/24992": nil},
		},
		"the same redirect goes on leading to a port that closes": {
			balancer(plain(301), tls(200)), balancer(plain(301)),
			order{"delete listener 443": nil},
		},
	} {
		t.Run(why, func(t *testing.T) {
			p := Diff(built(c.from, lb.ALB()), c.to, lb.ALB())
			got := order{}
			for i, s := range p.Steps {
				var after []string
				for _, before := range s.After {
					after = append(after, named(p)[before])
				}
				got[named(p)[i]] = after
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(p.Diagnostics) > 0 {
				t.Error(p.Diagnostics)
			}
		})
	}
}
