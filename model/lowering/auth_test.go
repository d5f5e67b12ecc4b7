package lowering

import (
	"math/rand/v2"
	"testing"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// Whatever a cloud can do, and whatever else is in a table: what is behind a sign-in is not reached
// without one.
func TestASignInIsNeverLeftOut(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for _, c := range allCapabilities() {
		for n := range 60 {
			config := randomTable(rng, 3+n%12).Config
			config.Backends = map[routing.BackendID]routing.Backend{"G": {ID: "G", Version: "GRPC"}}
			for i := range config.Routes {
				if rng.IntN(3) == 0 {
					a := routing.To([]routing.BackendID{"guarded", "G"}[rng.IntN(2)])
					a.Auth = &routing.Auth{Kind: routing.OIDC, ClientSecret: "hush", SecurePort: int32(rng.IntN(2) * 443)}
					config.Routes[i].Action = a
				}
			}
			lowered, served, _ := Lower(precedence.New(config), c)
			for _, l := range lowered.Listeners {
				m := lb.NewMatcher(l, c.Dialect)
				for _, r := range grid(l.Port, gridHosts, gridPaths) {
					want := served.Match(r)
					rule, got := m.Match(r)
					if wanted := lb.FromRouting(want.Action); got.Key() != wanted.Key() {
						t.Fatalf("%s: %s%s on %d: rule %d says %s, the specification %s (%s)%s", c.Name, r.Host, r.Path, r.Port, rule, got, wanted, want.Why(), dump(l))
					}
					for _, id := range got.Groups() {
						if (id == "guarded" || id == "G") && (got.Auth == nil || l.Protocol != "HTTPS" || !c.Auth || id == "G") {
							t.Fatalf("%s: %s%s on %d goes to %s: %s", c.Name, r.Host, r.Path, r.Port, id, got)
						}
					}
				}
			}
		}
	}
}

func TestASecretIsOneOfTheListener(t *testing.T) {
	listener := func(secret routing.Secret, more bool) lb.Listener {
		a := routing.To("A")
		a.Auth = &routing.Auth{Kind: routing.OIDC, Issuer: "https://idp.test", ClientSecret: secret}
		r := aRoute("one", "x.a.test", routing.Root, "A", 0, 443)
		r.Action = a
		routes := []routing.Route{r}
		if more {
			r.Path = routing.Path{Type: routing.Prefix, Value: "/more"}
			routes = append(routes, r)
		}
		l, _, _ := Lower(tableOf(routing.Config{Routes: routes, Listeners: []routing.Listener{{Port: 443, Protocol: "HTTPS"}}}), lb.ALB())
		return l.Listeners[0]
	}
	first, other := listener("hush", false), listener("psst", false)
	if first.Digest == other.Digest || first.Rules[0].Key() != other.Rules[0].Key() {
		t.Errorf("%s and %s: another secret has to be another listener with the same rules", first.Digest, other.Digest)
	}
	if again := listener("hush", true); again.Digest != first.Digest {
		t.Error("another route with the same secret changes the listener")
	}
}
