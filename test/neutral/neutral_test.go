package neutral

import (
	"flag"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/providers/aws"
	"fairlead.dev/fairlead/providers/fake"
	"fairlead.dev/fairlead/test/albsim"
)

var (
	seed     = flag.Uint64("seed", 0, "the `SEED` of random Ingresses and requests; 0 is two that are fixed, and a new one")
	requests = flag.Int("requests", 3000, "`HOW MANY` requests are compared for each seed")
)

// perSet is how many requests are made to one set of Ingresses.
const perSet = 500

// seeds are those of a test.
func seeds() []uint64 {
	if *seed != 0 {
		return []uint64{*seed}
	}
	return []uint64{1, 2, rand.Uint64()}
}

// TestIngressesMeanTheSameEverywhere has the same Ingresses served by the fake, by the simulator of
// AWS and by Caddy. Each answers every request as the Ingresses say. Where these say something else
// with one provider than with another, because its capabilities leave something out, that is
// refused by name.
func TestIngressesMeanTheSameEverywhere(t *testing.T) {
	for _, seed := range seeds() {
		t.Logf("-seed %d", seed)
		compare(t, seed)
		if t.Failed() {
			return
		}
	}
}

// compare makes random Ingresses of a seed, and requests to them.
func compare(t *testing.T, seed uint64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 0))
	begun, all, cluster := time.Now(), threeProviders(t), newCluster(t)
	tally := map[string]int{}
	for set := 0; set*perSet < *requests; set++ {
		randomise(&cluster, rng)
		for _, b := range all {
			b.settle(t, cluster)
		}
		for range perSet {
			r := anyRequest(rng)
			same := all[0].asks(t, r, tally)
			for _, b := range all[1:] {
				if said := b.asks(t, r, nil); said != same {
					tally["not the same everywhere"]++
					if !refusedByName(cluster.Ingresses, r, all[0], b) {
						t.Errorf("%s is %s with %s and %s with %s, and nothing of it is refused by name", r, said, b.name, same, all[0].name)
					}
				}
			}
			tally["requests"]++
			if t.Failed() {
				t.Fatalf("-seed %d, set %d", seed, set)
			}
		}
		for _, b := range all {
			if s, ok := b.plane.(*served); ok {
				s.hangUp()
			}
		}
	}
	if tally["forwarded"] < *requests/10 {
		t.Error("that shows little")
	}
	t.Logf("%v in %v", tally, time.Since(begun).Round(time.Second))
}

// asks asks a load balancer, compares the answer with what the Ingresses say, and returns it.
func (b *balancer) asks(t *testing.T, r request, tally map[string]int) string {
	t.Helper()
	want, times := b.wanted(r)
	said, err := b.plane.ask(b, r, times)
	if err != nil || said != want {
		t.Errorf("%s: %s is answered with %s (%v), not with %s", b.name, r, said, err, want)
	}
	if tally != nil {
		tally[kindOf(said)]++
	}
	return said
}

// refusedByName reports whether an Ingress that is about a request's host has something refused by
// one provider and not by another.
func refusedByName(ingresses []*networkingv1.Ingress, r request, a, b *balancer) bool {
	refused := map[string]bool{}
	for _, pair := range [][2]*balancer{{a, b}, {b, a}} {
		for what, object := range pair[0].refusals() {
			if _, too := pair[1].refusals()[what]; !too {
				refused[object] = true
			}
		}
	}
	host := r.sent().Hostname()
	_, parent, _ := strings.Cut(host, ".")
	return slices.ContainsFunc(ingresses, func(ing *networkingv1.Ingress) bool {
		return refused[ing.Namespace+"/"+ing.Name] && (ing.Spec.DefaultBackend != nil ||
			slices.ContainsFunc(ing.Spec.Rules, func(rule networkingv1.IngressRule) bool {
				return slices.Contains([]string{"", host, "*." + parent}, rule.Host)
			}))
	})
}

// kindOf is what sort of answer one is.
func kindOf(said string) string {
	switch {
	case said == refused:
		return refused
	case said[0] >= '2' && said[0] <= '5' && said[3:5] == " \"":
		return "fixed"
	case said[0] == '3' && said[3:6] == " to":
		return "redirected"
	}
	return "forwarded"
}

// threeProviders are the fake, the simulator of AWS, and Caddy, each with a load balancer that is
// not there yet.
func threeProviders(t *testing.T) []*balancer {
	t.Helper()
	cloud, err := fake.New(fake.Options{Serve: true, CheckEvery: 10 * time.Millisecond, Drain: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cloud.Close)
	sim, targets := albsim.New(albsim.Options{}), backends(t)
	amazon := aws.New(aws.Options{Config: sim.Config(), Installation: "test", VPC: albsim.VPC, Settle: time.Millisecond})
	return []*balancer{
		{name: "fake", provider: cloud, plane: &served{map[string]*wire{}}, real: targets},
		{name: "AWS", provider: amazon, plane: simulated{sim}},
		{name: "Caddy", provider: caddy(t, "--shutdown-delay", "1ms"), plane: &served{map[string]*wire{}}, real: targets},
	}
}
