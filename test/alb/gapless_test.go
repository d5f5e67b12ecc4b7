package alb

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/albsim/matching"
	"fairlead.dev/fairlead/test/nightly"
)

// This file lets random objects become others while requests are sent after every single call: each
// is answered as before the change or as after it, and by nothing else.

// How many load balancers live through how many changes each. More lives see more, and -seed and
// -from repeat one:
//
//	go test ./test/alb -run '^TestNoRequest' -timeout 1h -lives 200 -seed 10
//	go test ./test/alb -run '^TestNoRequest' -lives 1 -seed 10 -from 61
//
// Without -seed, lives of a seed that is drawn are run, and some of those of the fixed seeds and of
// those that failed once; at night all of them.
var (
	lives = flag.Int("lives", 4, "how many load balancers of the seed live")
	from  = flag.Int("from", 0, "the first life of each seed")
)

const changes = 50

// A span is some lives of a seed, from one to before another.
type span struct {
	seed     uint64
	from, to int
}

// fixed are lives that are run at night, and some of them each time: some of each fixed seed, and
// those that failed once.
func fixed(from int) []span {
	const lives = 2
	var out []span
	for seed := uint64(9); seed <= 16; seed++ {
		out = append(out, span{seed, from, from + lives})
	}
	for _, failed := range []struct {
		seed uint64
		life int
	}{{10, 61}, {10, 71}, {10, 96}, {12, 134}, {13, 77}} {
		out = append(out, span{failed.seed, failed.life, failed.life + 1})
	}
	return out
}

// spans are the lives that are run.
func spans(t *testing.T) []span {
	t.Helper()
	drawn := span{drawn(t), *from, *from + *lives}
	switch {
	case *seed != 0:
		return []span{drawn}
	case testing.Short():
		return []span{{drawn.seed, *from, *from + 1}}
	}
	return append(nightly.Some(t, 3, fixed(*from)), drawn)
}

// everywhere are the requests that are sent.
var everywhere = requests([]int32{80, 443, 8080},
	[]string{"a.example.com", "b.example.com", "x.example.com", "x.y.example.com", "other.net"},
	[]string{"/", "/a", "/a/", "/a/b", "/ab", "/b/a", "/c,1/x", "/x/../a/b", "//a/"})

// An edit changes the objects somehow.
type edit struct {
	name string
	make func(*world, *rand.Rand)
}

var edits = []edit{
	{"other routes", reroute}, {"other routes", reroute}, {"other routes", reroute}, // more often than the others
	{"an Ingress more", func(w *world, rng *rand.Rand) {
		if len(w.Ingresses) < 5 {
			w.serial++
			w.serve(fmt.Sprintf("ingress-%d", w.serial), map[string]string{"/": "service-0"})
			reroute(w, rng)
		}
	}},
	{"an Ingress less", func(w *world, rng *rand.Rand) {
		if len(w.Ingresses) > 1 {
			w.remove(picked(w, rng))
		}
	}},
	{"TLS on or off", func(w *world, rng *rand.Rand) {
		w.change(picked(w, rng), func(ing *networkingv1.Ingress) {
			if ing.Spec.TLS != nil {
				ing.Spec.TLS = nil
				return
			}
			for _, rule := range ing.Spec.Rules {
				if rule.Host != "" {
					tls("tls-"+secretOf[rule.Host], rule.Host)(ing)
				}
			}
		})
	}},
	{"a certificate is renewed", func(w *world, rng *rand.Rand) {
		w.serial++
		hosts := []string{"a.example.com", "b.example.com", "*.example.com"}
		host := hosts[rng.IntN(len(hosts))]
		w.secret("tls-"+secretOf[host], w.serial%3, host)
	}},
	{"other ports", func(w *world, rng *rand.Rand) {
		ports := []string{`[{"HTTP":80}]`, `[{"HTTP":80},{"HTTP":8080}]`, `[{"HTTP":8080},{"HTTPS":443}]`}
		w.change(picked(w, rng), func(ing *networkingv1.Ingress) {
			ing.Annotations["fairlead.dev/listen-ports"] = ports[rng.IntN(len(ports))]
		})
	}},
	{"a redirect to HTTPS instead of routes", func(w *world, rng *rand.Rand) {
		w.change(picked(w, rng), func(ing *networkingv1.Ingress) {
			ing.Annotations["fairlead.dev/listen-ports"] = `[{"HTTP":80}]`
			ing.Spec.TLS = nil
			for r := range ing.Spec.Rules {
				ing.Spec.Rules[r].HTTP.Paths = []networkingv1.HTTPIngressPath{prefix("/", toResource("to-https"))}
			}
		})
	}},
	{"other weights, or clients stay with who they got", special},
	{"users sign in or show a token, or requests are rewritten, or not any more", special},
	{"a route is for some only, or for all", func(w *world, rng *rand.Rand) {
		conditions := []string{"", "", `"header": {"X-Canary": ["always"]}`, `"source": ["203.0.113.0/24"]`, `"method": ["POST"]`}
		of, backends := conditions[rng.IntN(len(conditions))], []string{"canary", "service-0", "service-1", "service-2"}
		if of != "" {
			of = fmt.Sprintf(`[{"backend": %q, %s}]`, backends[rng.IntN(len(backends))], of)
		}
		w.ask(picked(w, rng), "conditions", of)
	}},
	{"others may connect", func(w *world, rng *rand.Rand) {
		w.ask(picked(w, rng), "inbound", []string{"", "", "203.0.113.0/24", "203.0.113.0/24, 10.0.0.0/8", "10.0.0.0/8"}[rng.IntN(5)])
	}},
	{"another web ACL", func(w *world, rng *rand.Rand) {
		w.ask(picked(w, rng), "wafv2-acl", []string{"", "", "edge", "other", "none"}[rng.IntN(5)])
	}},
	{"a Service scales", func(w *world, rng *rand.Rand) { w.service(fmt.Sprintf("service-%d", rng.IntN(6)), 1+rng.IntN(4)) }},
	{"a Service is made anew", func(w *world, rng *rand.Rand) {
		name := fmt.Sprintf("service-%d", rng.IntN(6))
		w.drop(name)
		w.service(name, 2)
	}},
	{"other targets", func(w *world, rng *rand.Rand) {
		w.change(picked(w, rng), func(ing *networkingv1.Ingress) {
			ing.Annotations["fairlead.dev/target-type"] = []string{"ip", "instance"}[rng.IntN(2)]
		})
	}},
	{"another health check", func(w *world, rng *rand.Rand) {
		w.change(picked(w, rng), func(ing *networkingv1.Ingress) {
			ing.Annotations["fairlead.dev/health-check-path"] = fmt.Sprintf("/health/%d", rng.IntN(2))
		})
	}},
}

// special makes the Backend named canary something else: other weights, and whether clients stay
// with who they got, users sign in or show a token, and requests are rewritten.
func special(w *world, rng *rand.Rand) {
	spec := weighted("service-0", int32(rng.IntN(3)), "service-1", int32(1+rng.IntN(3)))
	if rng.IntN(3) == 0 {
		spec.Stickiness = &v1alpha1.Stickiness{DurationSeconds: int32(60 * (1 + rng.IntN(2)))}
	}
	switch rng.IntN(9) {
	case 0, 1, 2:
		spec.Authenticate = oidc(fmt.Sprintf("https://idp.example.com/token/%d", rng.IntN(2)))
	case 3:
		spec.Authenticate = cognito(fmt.Sprintf("client-%d", rng.IntN(2)))
	case 4:
		spec.Authenticate = jwt(fmt.Sprintf("issuer-%d", rng.IntN(2)))
	}
	switch rng.IntN(4) {
	case 0:
		spec.Rewrite = &v1alpha1.Rewrite{URL: &v1alpha1.Replacement{Pattern: "^/(.*)$", Replacement: "/old/$1"}}
	case 1:
		spec.Rewrite = &v1alpha1.Rewrite{Host: &v1alpha1.Replacement{Pattern: `^[^.]*\.`, Replacement: "inside."}}
	}
	w.backendNamed("canary", spec)
}

// secretOf names the Secret of a host.
var secretOf = map[string]string{"a.example.com": "a", "b.example.com": "b", "*.example.com": "wild"}

// picked is one of the Ingresses.
func picked(w *world, rng *rand.Rand) string { return w.Ingresses[rng.IntN(len(w.Ingresses))].Name }

// prefix is a path of an Ingress.
func prefix(path string, to networkingv1.IngressBackend) networkingv1.HTTPIngressPath {
	kind := networkingv1.PathTypePrefix
	return networkingv1.HTTPIngressPath{Path: path, PathType: &kind, Backend: to}
}

// reroute gives an Ingress other hosts and paths.
func reroute(w *world, rng *rand.Rand) {
	hosts := []string{"a.example.com", "b.example.com", "*.example.com", ""}
	paths := []string{"/", "/a", "/a/b", "/b", "/c,1"}
	kinds := []networkingv1.PathType{networkingv1.PathTypePrefix, networkingv1.PathTypeExact}
	w.change(picked(w, rng), func(ing *networkingv1.Ingress) {
		ing.Spec.Rules, ing.Spec.TLS = nil, nil
		for range 1 + rng.IntN(2) {
			var http networkingv1.HTTPIngressRuleValue
			for range 1 + rng.IntN(4) {
				to := networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
					Name: fmt.Sprintf("service-%d", rng.IntN(6)), Port: networkingv1.ServiceBackendPort{Number: 80},
				}}
				if rng.IntN(6) == 0 {
					to = toResource("canary")
				}
				http.Paths = append(http.Paths, networkingv1.HTTPIngressPath{Path: paths[rng.IntN(len(paths))], PathType: &kinds[rng.IntN(2)], Backend: to})
			}
			ing.Spec.Rules = append(ing.Spec.Rules, networkingv1.IngressRule{Host: hosts[rng.IntN(len(hosts))], IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &http}})
		}
	})
}

// born is a world in which everything that edits refer to exists. AWS takes its time there, and
// reads what it leaves undocumented, in ways that differ from life to life; in every third the
// account has little room.
func born(t *testing.T, life int, rng *rand.Rand) *judge {
	o := albsim.Options{
		Propagation: time.Duration(rng.IntN(4)) * 5 * time.Second, Linger: time.Duration(rng.IntN(2)) * 8 * time.Second, Health: 20 * time.Second,
	}
	if littleRoom(life) {
		o.Limits = albsim.Limits{RulesPerLoadBalancer: 8, TargetGroupsPerLoadBalancer: 6}
	}
	return bornIn(t, life, rng, o)
}

// bornIn is such a world in an account.
func bornIn(t *testing.T, life int, rng *rand.Rand, o albsim.Options) *judge {
	w := newWorld(t, o)
	w.nodes(2)
	for i := range 6 {
		w.service(fmt.Sprintf("service-%d", i), 1+i%2)
	}
	for host, secret := range secretOf {
		w.secret("tls-"+secret, 0, host)
	}
	w.backendNamed("canary", weighted("service-0", 1, "service-1", 3))
	w.backendNamed("to-https", v1alpha1.BackendSpec{Redirect: &v1alpha1.Redirect{Scheme: "https", StatusCode: 301}})
	w.client(map[string][]byte{"clientID": []byte("me"), "clientSecret": []byte("hush")})
	w.webACLs = map[string]string{"edge": w.sim.AddWebACL("edge"), "other": w.sim.AddWebACL("other")}
	w.serve("first", map[string]string{"/": "service-0"})
	w.settle()
	time.Sleep(time.Minute)
	how := matching.Reading{HostWithPort: life%2 == 0, HostAsSent: life/2%2 == 0, Decoded: life/4%2 == 0, Resolved: life/3%2 == 0, Merged: life/5%2 == 0}
	w.normalised = how.Normalised
	return &judge{world: w, asks: everywhere, address: w.seen.Address.Hostname, how: how}
}

// littleRoom reports whether an account has little room in a life.
func littleRoom(life int) bool { return life%3 == 2 }

// A tally is what happened in all lives together: a test in which little happens shows little.
type tally struct {
	changes  atomic.Int64 // after which something was written
	excused  atomic.Int64 // of these, those whose plan says that some requests may go astray
	asked    atomic.Int64
	secure   atomic.Int64 // requests that TLS was spoken for, and that were forwarded
	followed atomic.Int64 // redirects to a port that came or went
}

func TestNoRequestEverGoesAstray(t *testing.T) {
	var all tally
	var n int64
	t.Run("lives", func(t *testing.T) {
		for _, s := range spans(t) {
			for life := s.from; life < s.to; life++ {
				n++
				t.Run(fmt.Sprintf("-seed %d -from %d", s.seed, life), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) { live(t, s.seed, life, &all) })
				})
			}
		}
	})
	t.Logf("%d changes, of which %d were excused; %d requests, of which %d were forwarded from TLS; %d redirects followed",
		all.changes.Load(), all.excused.Load(), all.asked.Load(), all.secure.Load(), all.followed.Load())
	if n < 20 {
		return // a few lives may be quiet ones
	}
	if all.changes.Load() < n*changes || all.excused.Load() > all.changes.Load()/20 || all.secure.Load() < 100*n || all.followed.Load() < 10*n {
		t.Error("that is too little to show anything")
	}
}

// live lets a load balancer live.
func live(t *testing.T, seed uint64, life int, all *tally) {
	rng := rand.New(rand.NewPCG(seed, uint64(life)))
	j := born(t, life, rng)
	j.tally = all
	j.live(life, changes, rng)
}

// live makes some changes, and sends requests after every call.
func (j *judge) live(life, changes int, rng *rand.Rand) {
	j.planned = func(p plan.Plan) {
		if warns(p, diag.DeleteFirst) && !littleRoom(life) {
			j.Errorf("%v, though there is room", p.Diagnostics)
		}
		j.unparked = j.unparked || warns(p, diag.Unparked)
		if j.unparked && !littleRoom(life) {
			j.Errorf("%v, though there is room", p.Diagnostics)
		}
		if littleRoom(life) {
			j.nextStage()
		}
		before := len(j.excuses)
		if j.hear(p); before == 0 && len(j.excuses) > 0 {
			j.tally.excused.Add(1)
		}
	}
	for n := 0; n < changes; {
		j.begin()
		j.ask(fmt.Sprintf("life %d, change %d, at rest", life, n))
		edit := edits[rng.IntN(len(edits))]
		edit.make(j.world, rng)
		j.after = j.verdict(j.asks)
		var asks atomic.Int64
		j.sim.Watch(func(c albsim.Call) {
			if c.Write {
				when := fmt.Sprintf("life %d, change %d, %s, after %s", life, n, edit.name, c)
				j.ask(when)
				time.Sleep(time.Duration(asks.Add(1)%4) * time.Second)
				j.ask(when + " and some time")
			}
		})
		err := j.rest()
		j.sim.Watch(nil)
		switch {
		case err != nil:
			j.Fatal(err)
		case asks.Load() > 0:
			n++
			j.tally.changes.Add(1)
		}
		time.Sleep(time.Minute)
		if j.astray {
			return
		}
	}
}

// warns reports whether a plan says something of itself.
func warns(p plan.Plan, what diag.Reason) bool {
	return slices.ContainsFunc(p.Diagnostics, func(d diag.Diagnostic) bool { return d.Reason == what })
}
