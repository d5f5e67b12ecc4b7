package model

import (
	"flag"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing/language"
	"fairlead.dev/fairlead/test/nightly"
)

var (
	seed   = flag.Uint64("seed", rand.Uint64(), "of random groups beyond their quotas")
	random = flag.Int("groups", 75, "how many random groups beyond their quotas are compiled; ten times as many at night")
)

// groups is how many random groups a test compiles.
func groups() int {
	if nightly.Is() {
		return 10 * *random
	}
	return nightly.Times(*random)
}

// acls are the web ACLs of the cloud, which facts has, too.
var (
	acls = []string{
		"arn:aws:wafv2:eu-west-1:123456789012:regional/webacl/a/11111111-1111-1111-1111-111111111111",
		"arn:aws:wafv2:eu-west-1:123456789012:regional/webacl/b/22222222-2222-2222-2222-222222222222",
	}
	facts = lb.Facts{WebACLs: map[string]string{acls[0]: acls[0], acls[1]: acls[1]}}
)

// crowd returns a random group: members that share hosts or do not, of which some are served
// already, some have changed since, some have default backends, wildcards or rules for any host,
// and some differ about the whole load balancer.
func crowd(rng *rand.Rand) ingress.Objects {
	const key = "fairlead/shop/@all/internal"
	o := many(3+rng.IntN(8), false)
	own, odd := rng.IntN(4), rng.IntN(4)
	hosts := []string{"a.test", "b.test", "c.test", "*.test", "x.a.test", "*.a.test", ""}
	host := func(name string) string {
		if rng.IntN(4) < own {
			return name + ".test"
		}
		return hosts[rng.IntN(len(hosts)-2*(odd&1)-rng.IntN(3))]
	}
	write := func(ing *networkingv1.Ingress) { rewrite(rng, ing, host, odd) }
	for _, ing := range o.Ingresses {
		write(ing)
	}
	known := served(ingress.Objects{Ingresses: o.Ingresses[:rng.IntN(len(o.Ingresses)+1)]}, key)
	for _, ing := range o.Ingresses {
		if rng.IntN(3*len(o.Ingresses)) == 0 {
			write(ing)
		}
	}
	o.Records = known
	parameters := &networkingv1.IngressClassParametersReference{APIGroup: new(v1alpha1.Group),
		Kind: v1alpha1.KindClusterLoadBalancerClass, Name: "p"}
	class := &v1alpha1.ClusterLoadBalancerClass{}
	class.Name = "p"
	class.Spec.HostMiss = []string{"", "LessSpecific"}[rng.IntN(2)]
	o.IngressClasses[0].Spec.Parameters = parameters
	o.ClusterLoadBalancerClasses = []*v1alpha1.ClusterLoadBalancerClass{class}
	return o
}

// rewrite gives an Ingress random rules and, where odd is 2, annotations about the whole load
// balancer, and where odd is 3, a default backend.
func rewrite(rng *rand.Rand, ing *networkingv1.Ingress, host func(name string) string, odd int) {
	first := ing.Spec.Rules[0]
	ing.Spec.Rules = nil
	for range 1 + rng.IntN(2) {
		rule := *first.DeepCopy()
		rule.Host = host(ing.Name)
		for p := range rule.HTTP.Paths {
			path := &rule.HTTP.Paths[p]
			path.Path = []string{"/", "/a", "/a/b", "/c", "/d/*/e", "/" + ing.Name}[rng.IntN(6)]
			path.PathType = new([]networkingv1.PathType{networkingv1.PathTypePrefix,
				networkingv1.PathTypeExact, networkingv1.PathTypeImplementationSpecific}[rng.IntN(3)])
			if rng.IntN(3) == 0 {
				path.Backend.Service.Name = "app-00000"
			}
		}
		ing.Spec.Rules = append(ing.Spec.Rules, rule)
	}
	if odd == 3 && rng.IntN(4) == 0 {
		ing.Spec.DefaultBackend = toServicePointer(ing.Name)
	}
	ing.Annotations = maps.Clone(ing.Annotations)
	if rng.IntN(8) == 0 {
		ing.Spec.TLS = []networkingv1.IngressTLS{{}}
	}
	if odd == 2 { // about the whole load balancer
		switch rng.IntN(6) {
		case 0:
			ing.Annotations["fairlead.dev/inbound"] = []string{"10.0.0.0/8", "10.1.0.0/16"}[rng.IntN(2)]
		case 1:
			ports := []string{"HTTP:80", "HTTP:80,HTTP:81"}
			ing.Annotations["fairlead.dev/listen-ports"] = ports[rng.IntN(2)]
		case 2, 3, 4:
			ing.Annotations["fairlead.dev/wafv2-acl"] = acls[rng.IntN(2)]
		}
	}
}

// crowdSnapshot is the snapshot of a random group, whatever is said of its members.
func crowdSnapshot(t *testing.T, rng *rand.Rand) ingress.Snapshot {
	t.Helper()
	all, found := ingress.Place(crowd(rng), ingress.ClassOptions{})
	if len(all) != 1 {
		t.Fatalf("%d load balancers: %v", len(all), found)
	}
	return all[0]
}

func toServicePointer(name string) *networkingv1.IngressBackend {
	to := toService(name)
	return &to
}

// TestRefusalsAreThoseOfTheObviousWay compiles random groups that exceed their quotas, and compares
// the result with that of compiling once for each concession that might be given back.
func TestRefusalsAreThoseOfTheObviousWay(t *testing.T) {
	t.Logf("-seed %d", *seed)
	compiled, spared, refusing := 0, 0, 0
	for i := range groups() {
		rng := rand.New(rand.NewPCG(*seed, uint64(i)))
		s := crowdSnapshot(t, rng)
		c := lb.ALB()
		whole := compile(s, facts, unlimited(c), language.NewCache())
		has := whole.LoadBalancer.Counts()
		c.Rules, c.TargetGroups = 1+rng.IntN(max(1, has.Rules)), 1+rng.IntN(has.TargetGroups+2)
		whole = compile(s, facts, c, language.NewCache())
		if len(whole.brokenLimits(c, lb.Counts{})) == 0 {
			continue
		}
		refusing++
		tries := func(suffice func([]int) bool, count *int) func([]int) bool {
			return func(made []int) bool { *count++; return suffice(made) }
		}
		got := fit(s, facts, c, whole, language.NewCache(),
			func(possible []concession, _ effort, known *needs, suffice func([]int) bool) []int {
				return least(possible, effort{1000, inTurns}, known, tries(suffice, &compiled))
			})
		want := fit(s, facts, c, whole, language.NewCache(),
			func(possible []concession, _ effort, _ *needs, suffice func([]int) bool) []int {
				return leastOneByOne(possible, tries(suffice, &spared))
			})
		if d := cmp.Diff(want.LoadBalancer, got.LoadBalancer); d != "" {
			t.Fatalf("group %d: the load balancer differs (-obvious +got):\n%s", i, d)
		}
		if d := cmp.Diff(want.Diagnostics, got.Diagnostics); d != "" {
			t.Fatalf("group %d: the diagnostics differ (-obvious +got):\n%s", i, d)
		}
	}
	t.Logf("%d of %d groups have no room for some member: compiled %d times, and %d the obvious way",
		refusing, groups(), compiled, spared)
	if compiled > spared*3/4 {
		t.Errorf("needs spare little: compiled %d times, and the obvious way %d times", compiled, spared)
	}
}

// TestNeedsAreNeverMoreThanThereIs compiles random members of random groups, and compares what they
// have with what they are said to need at least.
func TestNeedsAreNeverMoreThanThereIs(t *testing.T) {
	t.Logf("-seed %d", *seed)
	needed, had := 0, 0
	for i := range groups() {
		rng := rand.New(rand.NewPCG(*seed, uint64(i)))
		s := crowdSnapshot(t, rng)
		c := unlimited(lb.ALB())
		whole := compile(s, facts, c, language.NewCache())
		kept := s.Refuse(s.Changes()).Members
		var possible []concession
		for _, m := range s.Members {
			possible = append(possible, concession{Member: m, all: true})
		}
		known := newNeeds(s, kept, whole, c, lb.Counts{}, possible)
		if known == nil {
			continue
		}
		var out []ingress.Member
		var back []int
		for at, m := range s.Members {
			switch rng.IntN(3) {
			case 0:
				out = append(out, m)
				known.concede(at)
			case 1: // first left out, and then given back
				out = append(out, m)
				known.concede(at)
				back = append(back, at)
			}
		}
		some := compile(s.Without(out), facts, c, language.NewCache())
		known.note(some.LoadBalancer)
		for at := range possible { // what is given back is served again
			if slices.Contains(back, at) {
				out = slices.DeleteFunc(out, func(m ingress.Member) bool {
					return m.Ingress == possible[at].Ingress
				})
			}
		}
		more := compile(s.Without(out), facts, c, language.NewCache()).LoadBalancer.Counts()
		known.limits = lb.Counts{Rules: max(1, more.Rules), TargetGroups: max(1, more.TargetGroups)}
		if known.exceeded(back...) {
			t.Fatalf("group %d: members have %+v, and are said to need more", i, more)
		}
		known.serve(back...)
		needed, had = needed+known.rules, had+more.Rules
	}
	t.Logf("members are said to need %d of the %d rules that they have", needed, had)
	if needed < had/4 {
		t.Errorf("members are said to need no more than %d of the %d rules that they have", needed, had)
	}
}
