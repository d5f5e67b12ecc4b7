package targets

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/event"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/lb"
)

var seed = flag.Uint64("seed", 0, "the `seed` of random target groups; 0 draws one")

// Whatever becomes of groups, the counts are those of looking at each of them.
func TestTalliesAreThoseOfLookingAtAllGroups(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-seed %d", *seed)
	r := rand.New(rand.NewPCG(*seed, 1))
	b := NewBook(t.Context().Done())
	b.wake = make(chan event.TypedGenericEvent[lb.GroupKey], 1<<16)
	asked := map[lb.Key][]lb.TargetGroup{}
	keys := []lb.Key{"a", "b"}
	for range 2000 {
		key := keys[r.IntN(len(keys))]
		switch r.IntN(6) {
		case 0:
			b.Track(t.Context(), key, v1alpha1.LoadBalancerClassSpec{}, lb.Capabilities{}, randomGroups(r))
		case 1:
			var wanted []lb.TargetGroup
			for _, g := range randomGroups(r) {
				wanted = append(wanted, g.TargetGroup)
			}
			b.Expect(key, nil, wanted)
			asked[key] = wanted
		case 2:
			b.Forget(key)
			delete(asked, key)
		default:
			k := lb.GroupKey{Key: key, ID: lb.GroupID(strconv.Itoa(r.IntN(6)))}
			b.change(k, func(known *tracked) { known.members = randomTargets(r) })
		}
		for _, key := range keys {
			for id := range 7 { // the last never exists
				check(t, b, asked[key], lb.GroupKey{Key: key, ID: lb.GroupID(strconv.Itoa(id))})
			}
		}
		if t.Failed() {
			return
		}
	}
	for _, key := range keys {
		b.Track(t.Context(), key, v1alpha1.LoadBalancerClassSpec{}, lb.Capabilities{}, nil)
	}
	if len(b.tallies) > 0 {
		t.Errorf("load balancers without groups have tallies: %v", b.tallies)
	}
}

// A tally holds no ports without targets.
func TestPortsWithoutTargetsAreForgotten(t *testing.T) {
	b := NewBook(t.Context().Done())
	b.Track(t.Context(), key, v1alpha1.LoadBalancerClassSpec{}, lb.Capabilities{}, observed(groupOf("a", "web", "")))
	for _, ports := range [][]int32{{80, 81}, {81}, {}} {
		b.change(lb.GroupKey{Key: key, ID: "a"}, func(known *tracked) {
			known.members = nil
			for _, port := range ports {
				known.members = append(known.members, lb.Target{Address: "10.0.0.1", Port: port})
			}
		})
		y := b.tallies[key]
		if got := y.ports["shop"]; y.targets != len(ports) || len(got) != len(ports) || (got == nil) != (len(ports) == 0) {
			t.Errorf("with targets on %v there are %d, on the ports %v", ports, y.targets, y.ports)
		}
	}
}

// check compares the tally beside one group with what all groups say.
func check(t *testing.T, b *Book, asked []lb.TargetGroup, k lb.GroupKey) {
	t.Helper()
	targets, ports := 0, map[int32]bool{}
	own := b.group(k)
	for id, other := range b.groups[k.Key] {
		if id == k.ID {
			continue
		}
		targets += len(other.members)
		for _, m := range other.members {
			if own != nil && namespaceOf(other.backend.Service) == namespaceOf(own.backend.Service) {
				ports[m.Port] = true
			}
		}
	}
	for _, g := range asked {
		port, err := strconv.ParseInt(g.Health.Port, 10, 32)
		if err == nil && own != nil && namespaceOf(g.Service) == namespaceOf(own.backend.Service) {
			ports[int32(port)] = true
		}
	}
	if got := b.otherTargets(k); got != targets {
		t.Errorf("%s: %d targets elsewhere, want %d", k, got, targets)
	}
	if got := b.otherPorts(k); !maps.Equal(got, ports) {
		t.Errorf("%s: ports %v beside, want %v", k, got, ports)
	}
}

// randomGroups returns some of six groups; a group may change its Service.
func randomGroups(r *rand.Rand) (out []lb.ObservedTargetGroup) {
	for id := range 6 {
		if r.IntN(3) == 0 {
			continue
		}
		var g lb.ObservedTargetGroup
		g.ID, g.Service = lb.GroupID(strconv.Itoa(id)), fmt.Sprintf("%c/web-%d", 'm'+r.IntN(2), id)
		g.Health.Port = []string{"traffic-port", "9000", "9001"}[r.IntN(3)]
		out = append(out, g)
	}
	return out
}

func randomTargets(r *rand.Rand) (out []lb.Target) {
	for n := range r.IntN(4) {
		out = append(out, lb.Target{Address: fmt.Sprintf("10.0.0.%d", n), Port: int32(8080 + r.IntN(3))})
	}
	return out
}

// The time for all groups of a load balancer grows as their number does: with a look at all others
// for each, ten times as many would take a hundred times as long.
func BenchmarkPortsBeside(bench *testing.B) {
	for _, n := range []int{500, 5000} {
		bench.Run(strconv.Itoa(n), func(bench *testing.B) {
			b := NewBook(bench.Context().Done())
			b.wake = make(chan event.TypedGenericEvent[lb.GroupKey], n)
			groups := make([]lb.ObservedTargetGroup, n)
			for i := range groups {
				groups[i].ID, groups[i].Service = lb.GroupID(strconv.Itoa(i)), fmt.Sprintf("shop/web-%d", i)
			}
			b.Track(bench.Context(), "a", v1alpha1.LoadBalancerClassSpec{}, lb.Capabilities{}, groups)
			for _, g := range groups {
				b.change(lb.GroupKey{Key: "a", ID: g.ID}, func(t *tracked) { t.members = []lb.Target{{Port: 8080}} })
			}
			for bench.Loop() {
				for _, g := range groups {
					b.otherPorts(lb.GroupKey{Key: "a", ID: g.ID})
				}
			}
		})
	}
}
