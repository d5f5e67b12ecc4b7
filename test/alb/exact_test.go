package alb

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/albsim/matching"
	"fairlead.dev/fairlead/test/nightly"
)

// This file compares what AWS was told with what was asked for: random Ingresses are put into the
// account over the API, and the data plane, which knows nothing of the model, answers each request
// as the specification does, however AWS reads what it leaves undocumented.

// sets is how many sets of Ingresses are compared.
func sets() int {
	switch {
	case testing.Short():
		return 5
	case nightly.Is():
		return 150
	}
	return 20
}

// What random Ingresses are made of: easy and awkward hosts and paths.
var (
	manyHosts = []string{"", "a.example.com", "b.example.com", "*.example.com", "*.a.example.com", "single", "with.digit1", "x-1.example.com",
		strings.Repeat("long.", 30) + "example.com"}
	manyPaths = []string{"/", "/a", "/a/", "/a/b", "/A", "/b", "/c,1", "/p(1)", "/d.e/f", "/~u", "/star*", "/q?q", "/a/b/c/d/e/f", "/é", "/a%20b",
		"/" + strings.Repeat("l", 126), "/" + strings.Repeat("m", 140)}
	manyGlobs = []string{"/a*", "/*/b", "/*.php", "/a?c", "/*", "/img/*/thumb"}
)

// anyIngresses are some, with paths of all types and default backends.
func anyIngresses(w *world, rng *rand.Rand) {
	for i := range 1 + rng.IntN(5) {
		name := fmt.Sprintf("ingress-%d", i)
		w.serve(name, map[string]string{"/": "service-0"})
		w.change(name, func(ing *networkingv1.Ingress) {
			ing.CreationTimestamp.Time = time.Unix(int64(1_700_000_000+rng.IntN(3)), 0)
			ing.Spec.Rules = nil
			for range rng.IntN(4) {
				ing.Spec.Rules = append(ing.Spec.Rules, anyRule(rng))
			}
			if ing.Spec.Rules == nil || rng.IntN(4) == 0 {
				to := anyService(rng)
				ing.Spec.DefaultBackend = &to
			}
			switch rng.IntN(4) {
			case 0:
				ing.Annotations["fairlead.dev/listen-ports"] = `[{"HTTP":80},{"HTTP":8080}]`
			case 1:
				tls("tls", "a.example.com", "b.example.com")(ing)
			}
		})
	}
}

func anyRule(rng *rand.Rand) networkingv1.IngressRule {
	rule := networkingv1.IngressRule{Host: manyHosts[rng.IntN(len(manyHosts))]}
	if rng.IntN(10) == 0 && rule.Host != "" {
		return rule // it names the host, and nothing more
	}
	rule.HTTP = &networkingv1.HTTPIngressRuleValue{}
	for range 1 + rng.IntN(6) {
		kind := []networkingv1.PathType{networkingv1.PathTypePrefix, networkingv1.PathTypeExact, networkingv1.PathTypeImplementationSpecific}[rng.IntN(3)]
		path := manyPaths[rng.IntN(len(manyPaths))]
		if kind == networkingv1.PathTypeImplementationSpecific {
			path = manyGlobs[rng.IntN(len(manyGlobs))]
		}
		rule.HTTP.Paths = append(rule.HTTP.Paths, networkingv1.HTTPIngressPath{Path: path, PathType: &kind, Backend: anyService(rng)})
	}
	return rule
}

func anyService(rng *rand.Rand) networkingv1.IngressBackend {
	if rng.IntN(8) == 0 {
		return toResource("canary")
	}
	return networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
		Name: fmt.Sprintf("service-%d", rng.IntN(4)), Port: networkingv1.ServiceBackendPort{Number: 80},
	}}
}

// variations are requests that come near what Ingresses ask for: to their own hosts and paths, to
// those that almost match, with and without a port, in other cases.
func variations() []request {
	hosts := []string{"a.example.com", "A.Example.COM", "b.example.com", "x.example.com", "x.a.example.com", "x.y.example.com", "example.com", "single", "with.digit1", "x-1.example.com", "other.net",
		strings.Repeat("long.", 30) + "example.com"}
	var paths []string
	for _, p := range slices.Concat(manyPaths, []string{"/abc", "/axc", "/x/b", "/x/y.php", "/img/1/thumb", "/starx", "/%C3%A9"}) {
		if strings.ContainsAny(p, "?é") {
			continue // no path looks like this on the wire
		}
		paths = append(paths, p, p+"x", strings.TrimSuffix(p, "/")+"/x")
	}
	return requests([]int32{80, 443, 8080}, hosts, paths)
}

// crooked are paths that AWS may normalise before it looks at rules, each with what it is then:
// where dot segments are resolved, where slashes are merged, where both is done, and where the path
// is decoded before.
var crooked = []struct{ sent, resolved, merged, both, decoded string }{
	{"/a/../b", "/b", "/a/../b", "/b", "/b"},
	{"/a/b/..", "/a/", "/a/b/..", "/a/", "/a/"},
	{"/./a", "/a", "/./a", "/a", "/a"},
	{"/b/../../a/b", "/a/b", "/b/../../a/b", "/a/b", "/a/b"},
	{"//a", "//a", "/a", "/a", "/a"},
	{"/a//b", "/a//b", "/a/b", "/a/b", "/a/b"},
	{"/img//thumb", "/img//thumb", "/img/thumb", "/img/thumb", "/img/thumb"},
	{"/b//../a", "/b/a", "/b/../a", "/a", "/a"},
	{"/b/%2e%2e/a", "/b/%2e%2e/a", "/b/%2e%2e/a", "/b/%2e%2e/a", "/a"},
	{"/b%2f..%2fa", "/b%2f..%2fa", "/b%2f..%2fa", "/b%2f..%2fa", "/a"},
	{"/%61", "/%61", "/%61", "/%61", "/a"},
}

// A request with a crooked path is answered as one with the path that AWS makes of it: by the same
// host, and by no other rule than those for it.
func TestCrookedPathsAreAnsweredAsWhatAWSMakesOfThem(t *testing.T) {
	hosts := []string{"a.example.com", "b.example.com", "x.example.com", "x.a.example.com", "other.net"}
	differ := 0
	for set := range max(5, sets()/3) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(5, uint64(set)))
			w := newWorld(t, albsim.Options{})
			for i := range 4 {
				w.service(fmt.Sprintf("service-%d", i), 1)
			}
			w.backendNamed("canary", weighted("service-0", 1, "service-1", 3))
			w.secret("tls", 0, "a.example.com", "b.example.com")
			anyIngresses(w, rng)
			w.settle()
			s := w.snapshot()
			table := model.Compile(s, lb.Facts{}, w.caps(s)).Table
			for _, how := range []matching.Reading{{}, {Resolved: true}, {Merged: true}, {Resolved: true, Merged: true}, {Decoded: true, Resolved: true, Merged: true}} {
				j := &judge{world: w, address: w.seen.Address.Hostname, how: how}
				for _, p := range crooked {
					path := p.sent
					switch {
					case how.Decoded:
						path = p.decoded
					case how.Resolved && how.Merged:
						path = p.both
					case how.Resolved:
						path = p.resolved
					case how.Merged:
						path = p.merged
					}
					for _, r := range requests([]int32{80, 443}, hosts, []string{p.sent}) {
						if !slices.ContainsFunc(table.Listeners, func(l routing.Listener) bool { return l.Port == r.port }) {
							continue
						}
						sent := routing.Request{Port: r.port, Host: r.header(), Path: r.path}
						seen := sent
						seen.Path = path
						want := wanted(table.Match(seen).Action, sent)
						if want != wanted(table.Match(sent).Action, sent) {
							differ++
						}
						if said := got(j.send(r)); said != want {
							t.Fatalf("set %d, reading %+v: %s is answered with %s, not with %s", set, how, r, said, want)
						}
					}
				}
			}
		})
		if t.Failed() {
			return
		}
	}
	if differ < 100 {
		t.Errorf("%d answers differ by how AWS reads: that shows little", differ)
	}
}

func TestRulesInAWSAreTheSpecification(t *testing.T) {
	asked := variations()
	base, forwarded := drawn(t), 0
	for set := range sets() {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(base, uint64(set)))
			w := newWorld(t, albsim.Options{Limits: albsim.Limits{ValuesPerCondition: []int{5, 3}[set%2]}})
			for i := range 4 {
				w.service(fmt.Sprintf("service-%d", i), 1)
			}
			w.backendNamed("canary", weighted("service-0", 1, "service-1", 3))
			w.secret("tls", 0, "a.example.com", "b.example.com")
			anyIngresses(w, rng)
			w.settle()
			s := w.snapshot()
			table := model.Compile(s, lb.Facts{}, w.caps(s)).Table
			for _, how := range []matching.Reading{{}, {HostWithPort: true}, {HostAsSent: true}, {Decoded: true}, {HostWithPort: true, HostAsSent: true, Decoded: true}} {
				j := &judge{world: w, address: w.seen.Address.Hostname, how: how}
				for _, r := range asked {
					want := "refused"
					if slices.ContainsFunc(table.Listeners, func(l routing.Listener) bool { return l.Port == r.port }) {
						sent := routing.Request{Port: r.port, Host: r.header(), Path: r.path}
						want = wanted(table.Match(sent).Action, sent)
					}
					if said := got(j.send(r)); said != want {
						t.Fatalf("set %d, reading %+v: %s is answered with %s, not with %s", set, how, r, said, want)
					} else if strings.HasPrefix(said, "forward") {
						forwarded++
					}
				}
			}
		})
		if t.Failed() {
			return
		}
	}
	if n := sets(); forwarded < 10_000*n/150 {
		t.Errorf("%d answers of %d were forwarded: that shows little", forwarded, 5*n*len(asked))
	}
}
