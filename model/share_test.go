package model

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/record"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/test/nightly"
	testobjects "fairlead.dev/fairlead/test/objects"
)

const sharedKey = routing.Key("fairlead/@public/internal")

// What is served may come to need more without a new version of an Ingress. The namespace that
// takes more than its share gives way, though its Ingress is the older one.
func TestANamespaceOverItsShareGivesWay(t *testing.T) {
	cases := map[string]func(t *testing.T, grown bool) ingress.Objects{
		"Services of Backends": sharedWorld(20, func(_ *testing.T, grown bool, i int, o *ingress.Objects, bob *networkingv1.Ingress) {
			backend := &v1alpha1.Backend{ObjectMeta: metav1.ObjectMeta{Namespace: "bob", Name: fmt.Sprintf("b%d", i)}}
			for j := range 5 {
				name := fmt.Sprintf("s%d-%d", i, j)
				o.Services = append(o.Services, portedService("bob", name))
				if j == 0 || grown {
					backend.Spec.Services = append(backend.Spec.Services, v1alpha1.WeightedService{Name: name, Port: v1alpha1.ServicePort{Number: 80}, Weight: new(int32(1))})
				}
			}
			o.Backends = append(o.Backends, backend)
			bob.Spec.Rules = append(bob.Spec.Rules, hostRule(fmt.Sprintf("b%d.test", i), networkingv1.IngressBackend{
				Resource: &corev1.TypedLocalObjectReference{APIGroup: new(v1alpha1.Group), Kind: v1alpha1.KindBackend, Name: backend.Name},
			}))
		}),
		"Secrets that come to be": sharedWorld(26, func(t *testing.T, grown bool, i int, o *ingress.Objects, bob *networkingv1.Ingress) {
			host, name := fmt.Sprintf("b%d.test", i), fmt.Sprintf("tls%d", i)
			bob.Spec.Rules = append(bob.Spec.Rules, hostRule(host, toService("web")))
			bob.Spec.TLS = append(bob.Spec.TLS, networkingv1.IngressTLS{Hosts: []string{host}, SecretName: name})
			if grown {
				o.Secrets = append(o.Secrets, certificateFor(t, "bob/"+name, host))
			}
		}),
	}
	for name, world := range cases {
		t.Run(name, func(t *testing.T) {
			before, after := world(t, false), world(t, true)
			after.Records = served(before, sharedKey)
			built := Compile(snapshotOf(t, after), lb.Facts{}, lb.ALB())
			for _, port := range []int32{80, 443} {
				if got := built.Table.Match(routing.Request{Port: port, Host: "a.test", Path: "/"}).Action.Key(); got != "alice/web:80" {
					t.Errorf("a.test on port %d goes to %s", port, got)
				}
			}
			told := map[string]bool{}
			for _, d := range built.Diagnostics {
				if d.Reason == diag.QuotaExceeded {
					told[d.Source.Namespace] = true
				}
			}
			if len(told) != 1 || !told["bob"] {
				t.Errorf("told of the quota: %v", told)
			}
		})
	}
}

// sharedWorld is a group of an older Ingress of bob with n hosts, grown or not, and a younger one
// of alice. Without that of alice, what bob has grown to just fits.
func sharedWorld(n int, grow func(t *testing.T, grown bool, i int, o *ingress.Objects, bob *networkingv1.Ingress)) func(*testing.T, bool) ingress.Objects {
	return func(t *testing.T, grown bool) ingress.Objects {
		var o ingress.Objects
		o.IngressClasses = []*networkingv1.IngressClass{{ObjectMeta: metav1.ObjectMeta{Name: "fairlead"}, Spec: networkingv1.IngressClassSpec{
			Controller: ingress.ControllerName,
			Parameters: &networkingv1.IngressClassParametersReference{APIGroup: new(v1alpha1.Group), Kind: v1alpha1.KindClusterLoadBalancerClass, Name: "shared"},
		}}}
		o.ClusterLoadBalancerClasses = []*v1alpha1.ClusterLoadBalancerClass{{
			ObjectMeta: metav1.ObjectMeta{Name: "shared"}, Spec: v1alpha1.LoadBalancerClassSpec{Groups: []v1alpha1.SharedGroup{{Name: "public"}}},
		}}
		alice, bob := member("alice", 2022), member("bob", 2021)
		alice.Spec.Rules = []networkingv1.IngressRule{hostRule("a.test", toService("web"))}
		alice.Spec.TLS = []networkingv1.IngressTLS{{Hosts: []string{"a.test"}, SecretName: "tls"}}
		o.Services = []*corev1.Service{portedService("alice", "web"), portedService("bob", "web")}
		o.Secrets = []*corev1.Secret{certificateFor(t, "alice/tls", "a.test")}
		for i := range n {
			grow(t, grown, i, &o, bob)
		}
		o.Ingresses = []*networkingv1.Ingress{alice, bob}
		return o
	}
}

func member(namespace string, year int) *networkingv1.Ingress {
	return &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "web", CreationTimestamp: metav1.NewTime(time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)),
			Annotations: map[string]string{"fairlead.dev/group": "public"},
		},
		Spec: networkingv1.IngressSpec{IngressClassName: new("fairlead")},
	}
}

func hostRule(host string, to networkingv1.IngressBackend) networkingv1.IngressRule {
	return networkingv1.IngressRule{Host: host, IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
		Paths: []networkingv1.HTTPIngressPath{{Path: "/", PathType: new(networkingv1.PathTypePrefix), Backend: to}},
	}}}
}

func toService(name string) networkingv1.IngressBackend {
	return networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: name, Port: networkingv1.ServiceBackendPort{Number: 80}}}
}

func portedService(namespace, name string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: corev1.ServiceSpec{ClusterIP: "10.96.0.1", Ports: []corev1.ServicePort{{Port: 80}}}}
}

func certificateFor(t *testing.T, name, host string) *corev1.Secret {
	t.Helper()
	secret, err := testobjects.Secret(name, []string{host})
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// What a namespace asks for within its share is served, however much another one asks for, or is
// served. What is beyond a share is lent: it goes, the newest first. What is within one stays.
func TestTheShareOfANamespaceIsKept(t *testing.T) {
	const alice, bob = "alice", "bob"
	for name, c := range map[string]struct {
		served, asks map[string][]int // rules of each Ingress, the oldest first; the first ones are served
		want         map[string][]int // indices of those that are served as they are asked for
	}{
		"a new one, beside more new ones": {
			asks: map[string][]int{alice: {1}, bob: {3, 3, 3, 3}},
			want: map[string][]int{alice: {0}, bob: {0, 1, 2}},
		},
		"a new one, beside what is served": {
			served: map[string][]int{bob: {2, 2, 2, 2, 2}},
			asks:   map[string][]int{alice: {1}, bob: {2, 2, 2, 2, 2, 2}},
			want:   map[string][]int{alice: {0}, bob: {0, 1, 2, 3}},
		},
		"a change, beside what is served": {
			served: map[string][]int{alice: {1, 1}, bob: {2, 2, 2, 2}},
			asks:   map[string][]int{alice: {4, 1}, bob: {2, 2, 2, 2}},
			want:   map[string][]int{alice: {0, 1}, bob: {0, 1}},
		},
		"more than the share, beside what is served": {
			served: map[string][]int{bob: {2, 2, 2, 2, 2}},
			asks:   map[string][]int{alice: {2, 2, 2, 2}, bob: {2, 2, 2, 2, 2}},
			want:   map[string][]int{alice: {0, 1}, bob: {0, 1, 2}},
		},
		"a large one, and one within the share": {
			served: map[string][]int{bob: {2, 2, 2, 2, 2}},
			asks:   map[string][]int{alice: {6, 1}, bob: {2, 2, 2, 2, 2}},
			want:   map[string][]int{alice: {1}, bob: {0, 1, 2, 3}},
		},
		"a new one, beside what is within the share": {
			served: map[string][]int{alice: {5}, bob: {5}},
			asks:   map[string][]int{alice: {5, 1}, bob: {5}},
			want:   map[string][]int{alice: {0}, bob: {0}},
		},
		"a change of what fills the share": {
			served: map[string][]int{alice: {2, 3}, bob: {5}},
			asks:   map[string][]int{alice: {3, 3}, bob: {5}},
			want:   map[string][]int{alice: {1}, bob: {0}},
		},
		"a new one, of a namespace that is served more than its share": {
			served: map[string][]int{alice: {6}, bob: {4}},
			asks:   map[string][]int{alice: {6, 1}, bob: {4}},
			want:   map[string][]int{alice: {0}, bob: {0}},
		},
		"one that gives something up for what is new": {
			served: map[string][]int{alice: {3, 2}, bob: {5}},
			asks:   map[string][]int{alice: {1, 2, 2}, bob: {5, 1}},
			want:   map[string][]int{alice: {0, 1, 2}, bob: {0}},
		},
		"more than the share, where another one leaves room": {
			served: map[string][]int{bob: {2, 2, 2}},
			asks:   map[string][]int{alice: {1}, bob: {2, 2, 2, 2}},
			want:   map[string][]int{alice: {0}, bob: {0, 1, 2, 3}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			built := compileShared(t, 10, c.served, c.asks)
			told := map[string]bool{}
			for _, d := range built.Diagnostics {
				if d.Reason == diag.QuotaExceeded {
					told[d.Source.Object()] = true
				}
			}
			for _, namespace := range []string{alice, bob} {
				var got []int
				for i, n := range c.asks[namespace] {
					to := func(rule int) string {
						return built.Table.Match(routing.Request{Port: 80, Host: hostIn(namespace, i, rule), Path: "/"}).Action.Key()
					}
					service := func(rule int) string { return fmt.Sprintf("%s/s%d-%d:80", namespace, i, rule) }
					is := to(n-1) == service(n-1) && to(n) != service(n)
					if is {
						got = append(got, i)
					}
					if ing := fmt.Sprintf("%s/web%d", namespace, i); is == told[ing] {
						t.Errorf("%s is served: %t, and its author is told: %t", ing, is, told[ing])
					}
				}
				if !slices.Equal(got, c.want[namespace]) {
					t.Errorf("of %s are served %v, want %v", namespace, got, c.want[namespace])
				}
			}
		})
	}
}

// Of a quota that is not exceeded there are no shares: bob asks for more than half of the target
// groups, and is served, though his Ingress is the newest.
func TestThereAreSharesOfExceededQuotasOnly(t *testing.T) {
	o := sharedWorld(5, func(t *testing.T, grown bool, i int, o *ingress.Objects, bob *networkingv1.Ingress) {
		name, backend := fmt.Sprintf("s%d", i), &v1alpha1.Backend{ObjectMeta: metav1.ObjectMeta{Namespace: "bob", Name: "all"}}
		if i == 0 {
			o.Backends = append(o.Backends, backend)
			bob.Spec.Rules = append(bob.Spec.Rules, hostRule("b.test", networkingv1.IngressBackend{
				Resource: &corev1.TypedLocalObjectReference{APIGroup: new(v1alpha1.Group), Kind: v1alpha1.KindBackend, Name: "all"},
			}))
		}
		o.Services = append(o.Services, portedService("bob", name))
		o.Backends[0].Spec.Services = append(o.Backends[0].Spec.Services, v1alpha1.WeightedService{Name: name, Port: v1alpha1.ServicePort{Number: 80}, Weight: new(int32(1))})
	})(t, true)
	o.Ingresses[0].Spec.TLS = nil
	o.Ingresses[1].CreationTimestamp.Time = o.Ingresses[1].CreationTimestamp.AddDate(10, 0, 0)
	o.Records = served(ingress.Objects{Ingresses: o.Ingresses[:1]}, sharedKey)
	alice := member("alice", 2023)
	alice.Name = "more"
	for i := range 3 {
		o.Services = append(o.Services, portedService("alice", fmt.Sprintf("s%d", i)))
		alice.Spec.Rules = append(alice.Spec.Rules, hostRule(fmt.Sprintf("a%d.test", i), toService(fmt.Sprintf("s%d", i))))
	}
	o.Ingresses = append(o.Ingresses, alice)
	c := lb.ALB()
	c.Rules, c.TargetGroups = 4, 9
	built := Compile(snapshotOf(t, o), lb.Facts{}, c)
	if got := built.Table.Match(routing.Request{Port: 80, Host: "b.test", Path: "/"}).Action.Key(); !strings.Contains(got, "bob/s0") {
		t.Errorf("b.test goes to %s", got)
	}
	if got := built.Table.Match(routing.Request{Port: 80, Host: "a0.test", Path: "/"}).Action.Key(); strings.Contains(got, "alice") {
		t.Errorf("a0.test goes to %s", got)
	}
}

// What is told of a quota is the same when others ask for more, so that it is told once.
func TestAQuotaIsToldOnce(t *testing.T) {
	told := func(bob ...int) string {
		for _, d := range compileShared(t, 10, nil, map[string][]int{"alice": {1}, "bob": bob}).Diagnostics {
			if d.Source.Object() == "bob/web3" {
				return d.Message
			}
		}
		return ""
	}
	first, more := told(3, 3, 3, 3), told(3, 3, 3, 3, 3)
	if first == "" || first != more || !strings.Contains(first, "more rules than the 10") {
		t.Errorf("of the quota is reported %q, and then %q", first, more)
	}
}

func hostIn(namespace string, ingress, rule int) string {
	return fmt.Sprintf("h%d.web%d.%s.test", rule, ingress, namespace)
}

// compileShared compiles a load balancer of two namespaces with a quota of rules. Each Ingress has
// some, and is older than the next one of its namespace.
func compileShared(t *testing.T, quota int, before, now map[string][]int) Built {
	t.Helper()
	world := func(asked map[string][]int) ingress.Objects {
		o := sharedWorld(0, nil)(t, false)
		o.Ingresses = nil
		for _, namespace := range []string{"alice", "bob"} {
			for i, rules := range asked[namespace] {
				ing := member(namespace, 2000+i)
				ing.Name = fmt.Sprintf("web%d", i)
				for rule := range rules {
					name := fmt.Sprintf("s%d-%d", i, rule)
					o.Services = append(o.Services, portedService(namespace, name))
					ing.Spec.Rules = append(ing.Spec.Rules, hostRule(hostIn(namespace, i, rule), toService(name)))
				}
				o.Ingresses = append(o.Ingresses, ing)
			}
		}
		return o
	}
	o := world(now)
	o.Records = served(world(before), sharedKey)
	c := lb.ALB()
	c.Rules = quota
	return Compile(snapshotOf(t, o), lb.Facts{}, c)
}

// A wish is an Ingress with routes as host/path. Those of one path go to one Service.
type wish struct {
	name   string
	routes []string
}

func (a wish) ingress(year int) *networkingv1.Ingress {
	namespace, name, _ := strings.Cut(a.name, "/")
	ing := member(namespace, year)
	ing.Name = name
	for _, route := range a.routes {
		host, path, _ := strings.Cut(route, "/")
		rule := hostRule(host, toService(serviceOf(route)))
		rule.HTTP.Paths[0].Path = "/" + path
		ing.Spec.Rules = append(ing.Spec.Rules, rule)
	}
	return ing
}

// serviceOf returns the Service of a route.
func serviceOf(route string) string {
	_, path, _ := strings.Cut(route, "/")
	return "s-" + path
}

// sharedObjects has a shared class with these Ingresses, and their Services.
func sharedObjects(t *testing.T, hostMiss string, ingresses ...*networkingv1.Ingress) ingress.Objects {
	o := sharedWorld(0, nil)(t, false)
	o.ClusterLoadBalancerClasses[0].Spec.HostMiss = hostMiss
	o.Ingresses, o.Services, o.Secrets = ingresses, nil, nil
	known := map[string]bool{}
	needs := func(namespace string, b *networkingv1.IngressBackend) {
		if name := namespace + "/" + b.Service.Name; !known[name] {
			known[name] = true
			o.Services = append(o.Services, portedService(namespace, b.Service.Name))
		}
	}
	for _, ing := range ingresses {
		if b := ing.Spec.DefaultBackend; b != nil {
			needs(ing.Namespace, b)
		}
		for _, rule := range ing.Spec.Rules {
			if rule.HTTP != nil {
				needs(ing.Namespace, &rule.HTTP.Paths[0].Backend)
			}
		}
	}
	return o
}

// compileWithin compiles the only load balancer of some objects with a quota of rules.
func compileWithin(t *testing.T, c lb.Capabilities, quota int, o ingress.Objects) Built {
	t.Helper()
	c.Rules = quota
	return Compile(snapshotOf(t, o), lb.Facts{}, c)
}

// refusedOf returns the Ingresses that are told of a quota.
func refusedOf(b Built) (out []string) {
	for _, d := range b.Diagnostics {
		if d.Reason == diag.QuotaExceeded && d.Severity == diag.Error && !slices.Contains(out, d.Source.Object()) {
			out = append(out, d.Source.Object())
		}
	}
	return out
}

// A wildcard of a neighbour makes paths for any host repeat for each rule of hosts below it. These
// rules count for none, so who is served within a share stays served.
func TestAWildcardOfANeighbourTakesNoShare(t *testing.T) {
	for _, c := range []struct {
		hosts, quota, bobs int
		cloud              lb.Capabilities
	}{{24, 22, 12, lb.Literal()}, {60, 100, 16, lb.ALB()}, {68, 100, 4, lb.ALB()}} {
		t.Run(fmt.Sprintf("%d hosts and %d rules", c.hosts, c.quota), func(t *testing.T) {
			anyHost, web := wish{name: "alice/any"}, wish{name: "alice/web"}
			for i := range 8 {
				anyHost.routes = append(anyHost.routes, fmt.Sprintf("/p%d", i))
			}
			for i := range c.hosts {
				web.routes = append(web.routes, fmt.Sprintf("h%d.example.com/own", i))
			}
			all := []*networkingv1.Ingress{anyHost.ingress(2001), web.ingress(2002)}
			accepted, asked := slices.Clone(all), len(all)
			for i := range c.bobs {
				bob := wish{fmt.Sprintf("bob/web%d", i), []string{fmt.Sprintf("b%d.test/own", i)}}
				if i == 0 {
					bob.routes = []string{"*.example.com/shop"}
				}
				if all = append(all, bob.ingress(2010+i)); i > 0 && i%4 != 3 {
					continue // the next ones come at the same time
				}
				o := sharedObjects(t, "LessSpecific", all...)
				o.Records = served(ingress.Objects{Ingresses: accepted}, sharedKey)
				built := compileWithin(t, c.cloud, c.quota, o)
				refused := refusedOf(built)
				for _, name := range []string{anyHost.name, web.name} {
					if slices.Contains(refused, name) {
						t.Fatalf("beside %d Ingresses of bob, of which one has a wildcard, %s is refused", i+1, name)
					}
				}
				for i := range c.hosts {
					for path, want := range map[string]string{"/own": "alice/s-own:80", "/p3": "alice/s-p3:80"} {
						if got := built.Table.Match(routing.Request{Port: 80, Host: fmt.Sprintf("h%d.example.com", i), Path: path}).Action.Key(); got != want {
							t.Fatalf("h%d.example.com%s goes to %s, want %s", i, path, got, want)
						}
					}
				}
				for ; len(all) > asked; asked++ {
					if !slices.Contains(refused, "bob/"+all[asked].Name) {
						accepted = append(accepted, all[asked])
					}
				}
			}
			if len(accepted) < 4 {
				t.Errorf("%d Ingresses are accepted: too few to take the room", len(accepted))
			}
		})
	}
}

// The 404s for hosts, which belong to no Ingress in particular, count for the namespace: bob is served
// 19 rules alone, of which 8 are such. His newest gives way to 6 of alice.
func TestRulesOfNoIngressCountForTheirNamespace(t *testing.T) {
	hosts := func(name string, from, to int) (w wish) {
		for i := from; i < to; i++ {
			w.routes = append(w.routes, fmt.Sprintf("h%d.example.com/own", i))
		}
		w.name = name
		return w
	}
	accepted := []*networkingv1.Ingress{wish{"bob/any", []string{"/x"}}.ingress(2001), hosts("bob/b", 0, 40).ingress(2002), hosts("bob/c", 40, 80).ingress(2003)}
	alice := wish{name: "alice/web"}
	for i := range 6 {
		alice.routes = append(alice.routes, fmt.Sprintf("a.test/p%d", i))
	}
	o := sharedObjects(t, "", append(slices.Clone(accepted), alice.ingress(2004))...)
	o.Records = served(ingress.Objects{Ingresses: accepted}, sharedKey)
	if got := refusedOf(compileWithin(t, lb.ALB(), 24, o)); !slices.Equal(got, []string{"bob/c"}) {
		t.Errorf("%v are refused", got)
	}
}

// Without the Ingress of alice that answers everything for her hosts, her paths for any host have to
// be repeated below the wildcard of bob, so there are more rules. Refusing what she asks for beyond
// her share is found to be enough all the same, and what bob is served stays.
func TestWhatIsBeyondASharePushesNothingOut(t *testing.T) {
	anyHost, bob := wish{name: "alice/any"}, wish{"bob/web", []string{"*.example.com/shop"}}
	for i := range 10 {
		if bob.routes = append(bob.routes, fmt.Sprintf("b.test/p%d", i)); i < 8 {
			anyHost.routes = append(anyHost.routes, fmt.Sprintf("/p%d", i))
		}
	}
	hosts := func(name, path string) (w wish) {
		for i := range 4 {
			w.routes = append(w.routes, fmt.Sprintf("h%d.example.com/%s", i, path))
		}
		w.name = name
		return w
	}
	accepted := []*networkingv1.Ingress{anyHost.ingress(2001), hosts("alice/own", "own").ingress(2002), bob.ingress(2003), hosts("alice/all", "all").ingress(2004)}
	for i := range 4 {
		accepted[3].Spec.Rules[i].HTTP.Paths[0].Path = "/"
	}
	accepted[3].Spec.Rules = append(accepted[3].Spec.Rules, hostRule("*.alice.test", toService("s-all")))
	count := func(of []*networkingv1.Ingress) int {
		return compileWithin(t, lb.Literal(), 0, sharedObjects(t, "LessSpecific", of...)).LoadBalancer.Counts().Rules
	}
	if less, all := count(accepted[:3]), count(accepted); less <= all {
		t.Fatalf("with one Ingress less there are %d rules, and %d with it", less, all)
	}
	o := sharedObjects(t, "LessSpecific", append(slices.Clone(accepted), wish{"alice/new", []string{"/y"}}.ingress(2005))...)
	o.Records = served(ingress.Objects{Ingresses: accepted}, sharedKey)
	if got := refusedOf(compileWithin(t, lb.Literal(), count(accepted), o)); !slices.Equal(got, []string{"alice/new"}) {
		t.Errorf("%v are refused", got)
	}
}

// What is served can come to need more without a change of an Ingress. A Secret opens HTTPS for the
// paths of bob for any host, which takes a 404 for each ten hosts of alice. His Ingress for any host
// gives way, not hers, though it is the older one.
func TestWhatIsServedForItsHostsStays(t *testing.T) {
	alice, bob := wish{name: "alice/web"}, wish{name: "bob/web"}
	for i := range 100 {
		if alice.routes = append(alice.routes, fmt.Sprintf("h%d.example.com/own", i)); i < 12 {
			bob.routes = append(bob.routes, fmt.Sprintf("b.test/p%d", i))
		}
	}
	ingresses := []*networkingv1.Ingress{wish{"bob/any", []string{"/x"}}.ingress(2001), bob.ingress(2002), alice.ingress(2003)}
	for _, i := range []int{0, 2} {
		ingresses[i].Annotations["fairlead.dev/listen-ports"] = `[{"HTTPS":443}]`
		ingresses[i].Spec.TLS = []networkingv1.IngressTLS{{SecretName: "tls"}}
	}
	o := sharedObjects(t, "", ingresses...)
	o.Secrets = []*corev1.Secret{certificateFor(t, "alice/tls", "*.example.com")}
	o.Records = served(ingress.Objects{Ingresses: ingresses}, sharedKey)
	if got := refusedOf(compileWithin(t, lb.ALB(), 30, o)); len(got) > 0 {
		t.Errorf("before, %v are refused", got)
	}
	o.Secrets = append(o.Secrets, certificateFor(t, "bob/tls", "bob.test"))
	if got := refusedOf(compileWithin(t, lb.ALB(), 30, o)); !slices.Equal(got, []string{"bob/any"}) {
		t.Errorf("%v are refused", got)
	}
}

// A fight is a load balancer that namespaces share, over time.
type fight struct {
	*testing.T
	cloud           lb.Capabilities
	quota           int
	hostMiss        string
	present, record map[string]*networkingv1.Ingress // all Ingresses, and as they were last accepted
	hosts           map[routing.Host]string          // the owners, which are in the record as well
	history         []string
}

// objects has the Ingresses of a map, those of one namespace or all.
func (f *fight) objects(of map[string]*networkingv1.Ingress, namespace string) ingress.Objects {
	var some []*networkingv1.Ingress
	for _, name := range slices.Sorted(maps.Keys(of)) {
		if strings.HasPrefix(name, namespace) {
			some = append(some, of[name])
		}
	}
	return sharedObjects(f.T, f.hostMiss, some...)
}

// needs returns the number of rules of what is accepted, of one namespace or all.
func (f *fight) needs(namespace string) int {
	o := f.objects(f.record, namespace)
	if len(o.Ingresses) == 0 {
		return 0
	}
	o.Records = map[routing.Key]record.Record{sharedKey: {Hosts: f.hosts}}
	return compileWithin(f.T, f.cloud, 0, o).LoadBalancer.Counts().Rules
}

// asks has an Ingress created, edited or deleted.
func (f *fight) asks(w wish, year int, goes bool) {
	if known := f.present[w.name]; known != nil {
		year = known.CreationTimestamp.Year()
	}
	if f.history = append(f.history, fmt.Sprint(w.name, " ", w.routes)); goes {
		f.history = append(f.history, w.name+" goes")
		delete(f.present, w.name)
		delete(f.record, w.name)
	} else {
		f.present[w.name] = w.ingress(year)
	}
}

func (f *fight) compile() (Built, []string) {
	o := f.objects(f.present, "")
	o.Services = append(o.Services, f.objects(f.record, "").Services...)
	known := served(f.objects(f.record, ""), sharedKey)[sharedKey]
	known.Hosts = f.hosts
	o.Records = map[routing.Key]record.Record{sharedKey: known}
	built := compileWithin(f.T, f.cloud, f.quota, o)
	f.hosts = map[routing.Host]string{}
	s := snapshotOf(f.T, o)
	for _, owned := range s.OwnedHosts() {
		if owned.Named {
			f.hosts[owned.Host] = owned.Namespace
		}
	}
	refused := refusedOf(built)
	f.history = append(f.history, fmt.Sprintf("  %d rules; refused: %v", built.LoadBalancer.Counts().Rules, refused))
	return built, refused
}

// learn records what is served.
func (f *fight) learn(b Built, refused []string) {
	for name, ing := range f.present {
		if !slices.Contains(refused, name) {
			f.record[name] = ing
		} else if !serves(b, name) {
			delete(f.record, name)
		}
	}
}

func serves(b Built, name string) bool {
	return b.Table != nil && slices.ContainsFunc(b.Table.Members, func(m routing.Owner) bool { return m.String() == name })
}

// What a namespace is served, and takes no more than its share alone, is not left out, whatever
// others ask for anew. What it is served for hosts of its own is not left out either if what is
// served has grown without a change. In each step a namespace creates, edits or deletes an Ingress.
func TestWhatIsServedWithinAShareStays(t *testing.T) {
	t.Logf("-seed %d -groups %d", *seed, *random)
	checked, all, grown := 0, 0, 0
	for group := range groups() {
		draw := rand.New(rand.NewPCG(*seed, uint64(group)))
		namespaces := []string{"alice", "bob", "carol"}[:2+draw.IntN(2)]
		f := &fight{T: t, cloud: []lb.Capabilities{lb.Literal(), lb.ALB()}[draw.IntN(2)], quota: 9 + draw.IntN(14),
			hostMiss: []string{"", "LessSpecific"}[draw.IntN(2)],
			present:  map[string]*networkingv1.Ingress{}, record: map[string]*networkingv1.Ingress{}}
		var now Built
		for step := range 15 {
			before := now
			w := randomWish(draw, namespaces[draw.IntN(len(namespaces))])
			if f.asks(w, 2000+step, draw.IntN(3) == 0); len(f.present) == 0 {
				continue
			}
			var refused []string
			now, refused = f.compile()
			all += len(refused)
			fits := f.needs("") <= f.quota
			if !fits {
				grown++ // what is served needs more than before, as when a host is given up
			}
			for _, namespace := range namespaces {
				if f.needs(namespace+"/") > f.quota/len(namespaces) {
					continue
				}
				for name, ing := range f.record {
					forOthers := slices.ContainsFunc(ing.Spec.Rules, func(r networkingv1.IngressRule) bool {
						return r.Host == "" || routing.Host(r.Host).Wildcard()
					})
					if strings.HasPrefix(name, namespace+"/") && serves(before, name) && (fits || !forOthers) {
						if checked++; !serves(now, name) {
							t.Fatalf("group %d, with %d rules, and %q: %s is left out after\n%s",
								group, f.quota, f.hostMiss, name, strings.Join(f.history, "\n"))
						}
					}
				}
			}
			f.learn(now, refused)
		}
	}
	t.Logf("%d times something is served within a share, %d changes are refused, and %d times what is served has grown", checked, all, grown)
	if checked < 10*groups() || all < groups()/3 || grown > groups() {
		t.Error("the random groups are of another kind")
	}
}

// randomWish is an Ingress of a namespace: paths for any host, or many hosts, both mostly of alice, or
// a wildcard, or a host with a few paths.
func randomWish(draw *rand.Rand, namespace string) wish {
	w := wish{name: fmt.Sprintf("%s/web%d", namespace, draw.IntN(5))}
	routes := func(n int, host func() string, paths int) {
		for range n {
			w.routes = append(w.routes, fmt.Sprintf("%s/p%d", host(), draw.IntN(paths)))
		}
	}
	below := func() string { return fmt.Sprintf("%s%d.example.com", namespace, draw.IntN(30)) }
	own := fmt.Sprintf("h%d.%s.test", draw.IntN(30), namespace)
	kinds := []int{0, 0, 1, 1, 1, 2, 3, 4}
	if namespace != "alice" {
		kinds = []int{0, 1, 2, 3, 3, 4, 4, 4}
	}
	switch kinds[draw.IntN(len(kinds))] {
	case 0:
		routes(1+draw.IntN(9), func() string { return "" }, 9)
	case 1:
		routes(1+draw.IntN(30), below, 1)
	case 2:
		routes(1+draw.IntN(9), below, 5)
	case 3:
		routes(1+draw.IntN(3), func() string { return "*.example.com" }, 9)
	default:
		routes(1+draw.IntN(3), func() string { return own }, 3)
	}
	slices.Sort(w.routes)
	w.routes = slices.Compact(w.routes)
	return w
}

// Hosts that bob gave up and that are closed count for him, not for alice, whose Ingress without a host
// makes rules of them: she is served what is within her share, and asks for the rest of it.
func TestClosedHostsCountForTheirGiver(t *testing.T) {
	for name, c := range map[string]struct {
		alices, served int // her hosts beside what is for any host, and the served ones of these
		bobs, has      int // his hosts, and the served ones
		givers         []string
		want           []string
	}{
		"what she is served":         {5, 5, 6, 5, []string{"bob"}, []string{"bob/b5"}},
		"what she asks for":          {5, 1, 6, 6, []string{"bob"}, []string{"bob/b5"}},
		"beside those of another":    {4, 4, 6, 6, []string{"bob", "carol"}, []string{"bob/b5"}},
		"what he asks for, no giver": {5, 5, 6, 5, []string{""}, []string{"bob/b5"}},
		"her own":                    {5, 5, 6, 5, []string{"alice"}, []string{"alice/a4"}},
	} {
		t.Run(name, func(t *testing.T) {
			all := []*networkingv1.Ingress{wish{"alice/any", []string{"/a"}}.ingress(2001)}
			accepted := slices.Clone(all)
			add := func(namespace string, n, served, year int) {
				for i := range n {
					ing := wish{fmt.Sprintf("%s/%s%d", namespace, namespace[:1], i), []string{fmt.Sprintf("h%d.%s.else/%d", i, namespace, i)}}.ingress(year + i)
					ing.Spec.Rules[0].HTTP.Paths[0].Path = "/" // no request misses it, so it takes one rule
					if all = append(all, ing); i < served {
						accepted = append(accepted, ing)
					}
				}
			}
			add("alice", c.alices, c.served, 2020)
			add("bob", c.bobs, c.has, 2010)
			o := sharedObjects(t, "", all...)
			o.Records = served(ingress.Objects{Ingresses: accepted}, sharedKey)
			s, alb := snapshotOf(t, o), lb.ALB()
			alb.Rules = 12
			for i, giver := range c.givers {
				for j := range 10 {
					s.Closed = append(s.Closed, routing.ClosedHost{Host: routing.Host(fmt.Sprintf("g%d-%d.example", i, j)), Port: 80, GivenUpBy: giver})
				}
			}
			if got := refusedOf(Compile(s, lb.Facts{}, alb)); !slices.Equal(got, c.want) {
				t.Errorf("%v are refused, want %v", got, c.want)
			}
		})
	}
}

// What a change gives up of target groups and certificates makes room for what it asks for, beside
// what other Ingresses of its namespace share with it. Alice stays within her share of five, and bob
// asks for a sixth.
func TestAChangeReplacesItsGroupsAndCertificates(t *testing.T) {
	for _, year := range []int{2010, 2014} { // of the newest Ingress of bob: those of alice are of 2012 and 2013
		for _, of := range []string{"groups", "certificates"} {
			for name, c := range map[string]struct {
				before, now [][]string // of her Ingresses
				want        []string
			}{
				"one for each of two":    {[][]string{{"a0", "a1"}, {"a2", "a3"}}, [][]string{{"a0", "n1"}, {"a2", "n3"}, {"a4"}, {"a5"}}, []string{"alice/web3"}},
				"all of one":             {[][]string{{"a0", "a1", "a2", "a3", "a4"}}, [][]string{{"n0", "n1", "n2", "n3", "n4"}, {"a5"}}, []string{"alice/web1"}},
				"one that another keeps": {[][]string{{"a0", "a1", "a2"}, {"a2", "a3"}}, [][]string{{"a0", "a1", "n2"}, {"a2", "a3"}, {"a4"}}, []string{"alice/web2"}},
				"one that both give up":  {[][]string{{"a0", "a1", "a2"}, {"a2", "a3"}}, [][]string{{"a0", "a1", "n2"}, {"n2", "a3"}, {"a4"}}, nil},
			} {
				t.Run(fmt.Sprint(of, " ", name, " ", year), func(t *testing.T) {
					o := sharedObjects(t, "")
					known := map[string]bool{}
					ask := func(namespace, name string, year int, resources []string) *networkingv1.Ingress {
						ing := member(namespace, year)
						ing.Name = name
						for i, id := range resources {
							host, service := fmt.Sprintf("h%d-%s.%s.test", i, name, namespace), id
							if of == "certificates" {
								service = "web"
								ing.Spec.TLS = append(ing.Spec.TLS, networkingv1.IngressTLS{Hosts: []string{host}, SecretName: id})
								if !known[id] {
									o.Secrets = append(o.Secrets, certificateFor(t, namespace+"/"+id, "*."+namespace+".test"))
								}
							}
							ing.Spec.Rules = append(ing.Spec.Rules, hostRule(host, toService(service)))
							if known[id] = true; !known[namespace+"/"+service] {
								known[namespace+"/"+service] = true
								o.Services = append(o.Services, portedService(namespace, service))
							}
						}
						return ing
					}
					bob := ask("bob", "web0", 2001, []string{"b0", "b1", "b2", "b3", "b4"})
					before, now := []*networkingv1.Ingress{bob}, []*networkingv1.Ingress{bob, ask("bob", "web1", year, []string{"b5"})}
					if of == "certificates" {
						first := ask("alice", "default", 2000, []string{"d"}) // does not count
						before, now = append(before, first), append(now, first)
					}
					for i := range c.now {
						years := []int{2001, 2002, 2012, 2013}
						if name == "all of one" {
							years[1] = 2012
						}
						if i < len(c.before) {
							before = append(before, ask("alice", fmt.Sprintf("web%d", i), years[i], c.before[i]))
						}
						now = append(now, ask("alice", fmt.Sprintf("web%d", i), years[i], c.now[i]))
					}
					o.Ingresses = now
					o.Records = served(ingress.Objects{Ingresses: before}, sharedKey)
					alb := lb.ALB()
					alb.TargetGroups, alb.Certificates = 10, 0
					if of == "certificates" {
						alb.TargetGroups, alb.Certificates = 0, 10
					}
					built := Compile(snapshotOf(t, o), lb.Facts{}, alb)
					got := refusedOf(built)
					slices.Sort(got)
					if want := append(slices.Clone(c.want), "bob/web1"); !slices.Equal(got, want) {
						t.Errorf("%v are refused, want %v", got, want)
					}
				})
			}
		}
	}
}

// With precedence: Order, paths of less specific hosts that come before those of a host are repeated for
// it. Bob uses up his own bound of 10,000 only: alice is served her wildcard above a host, and of what is
// too much is told the one that asks for it, with what to change.
func TestRepeatedPathsOfANeighbourTakeNoRoom(t *testing.T) {
	paths := func(name, host string, n int) *networkingv1.Ingress {
		w := wish{name: name}
		for i := range n {
			w.routes = append(w.routes, fmt.Sprintf("%s/p%d", host, i))
		}
		ing := w.ingress(2000)
		for i := range n {
			ing.Spec.Rules[i].HTTP.Paths[0].Backend = toService("before")
		}
		return ing
	}
	hosts := func(namespace string, n int) *networkingv1.Ingress {
		w := wish{name: namespace + "/own"}
		for i := range n {
			w.routes = append(w.routes, fmt.Sprintf("h%d.%s.test/own", i, namespace))
		}
		return w.ingress(2001)
	}
	for name, c := range nightly.Cases(t, map[string]struct {
		alices, bobs int // their hosts, with 210 and 100 paths before them
		first        string
		want         []string
	}{
		"both are within":            {1, 98, "bob", nil},
		"she was served first":       {1, 98, "alice", nil},
		"each has nearly all":        {47, 99, "bob", nil},
		"he has too much":            {1, 101, "alice", []string{"bob/any"}},
		"she has too much":           {48, 98, "bob", []string{"alice/above"}},
		"both have, and both change": {48, 101, "", []string{"alice/above", "bob/any"}},
	}) {
		t.Run(name, func(t *testing.T) {
			all := []*networkingv1.Ingress{paths("alice/above", "*.alice.test", 210), hosts("alice", c.alices),
				paths("bob/any", "", 100), hosts("bob", c.bobs)}
			o := sharedObjects(t, "", all...)
			o.ClusterLoadBalancerClasses[0].Spec.Precedence = v1alpha1.PrecedenceOrder
			var accepted []*networkingv1.Ingress
			for _, ing := range all {
				if ing.Namespace == c.first {
					accepted = append(accepted, ing)
				}
			}
			o.Records = served(ingress.Objects{Ingresses: accepted}, sharedKey)
			built := compileWithin(t, lb.ALB(), 1000, o)
			var told []string
			for _, d := range built.Diagnostics {
				if d.Severity == diag.Error {
					if told = append(told, d.Source.Object()); d.Reason != diag.TooComplex || !strings.Contains(d.Message, "of one namespace") || !strings.Contains(d.Message, "a higher order") {
						t.Errorf("%v", d)
					}
				}
			}
			slices.Sort(told)
			if !slices.Equal(told, c.want) {
				t.Errorf("told are %v, want %v", told, c.want)
			}
			for url, of := range map[string]string{"h0.alice.test/own": "", "h0.bob.test/own": "", "h0.alice.test/p3": "alice/above", "h0.bob.test/p3": "bob/any"} {
				host, path, _ := strings.Cut(url, "/")
				namespace := strings.Split(host, ".")[1]
				want := namespace + map[string]string{"own": "/s-own:80", "p3": "/before:80"}[path]
				if slices.Contains(c.want, of) {
					want = "404"
				}
				if got := built.Table.Match(routing.Request{Port: 80, Host: host, Path: "/" + path}).Action.Key(); got != want {
					t.Errorf("%s goes to %s, want %s", url, got, want)
				}
			}
		})
	}
}
