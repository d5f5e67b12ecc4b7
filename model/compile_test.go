package model

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/planner"
	"fairlead.dev/fairlead/model/record"
	"fairlead.dev/fairlead/model/routing"
)

func TestNothingToServeForTheMomentIsNotTheEnd(t *testing.T) {
	o := many(1, false)
	o.Ingresses[0].Annotations["fairlead.dev/listen-ports"] = `[{"HTTPS":443}]`
	o.Ingresses[0].Spec.TLS = []networkingv1.IngressTLS{{SecretName: "not-yet"}}
	built := Compile(snapshotOf(t, o), lb.Facts{}, lb.ALB())
	if len(built.LoadBalancer.Listeners) != 0 || built.LoadBalancer.Empty() {
		t.Fatalf("listeners %v, empty %v; want none and false", built.LoadBalancer.Listeners, built.LoadBalancer.Empty())
	}
	seen := &lb.Observed{Key: built.LoadBalancer.Key, Exists: true, Active: true, Digest: built.LoadBalancer.Digest}
	if todo := planner.Diff(seen, built.LoadBalancer, lb.ALB()); !todo.Empty() {
		t.Errorf("the load balancer stays, but the plan is %v", todo.Steps)
	}
}

// served is what an Ingress set is remembered by once it has been programmed.
func served(o ingress.Objects, key routing.Key) map[routing.Key]record.Record {
	members := map[string]record.Member{}
	for _, ing := range o.Ingresses {
		members[ing.Namespace+"/"+ing.Name] = record.Member{Served: true,
			LastAccepted: &record.Accepted{Annotations: ing.Annotations, Spec: *ing.Spec.DeepCopy()}}
	}
	return map[routing.Key]record.Record{key: {Members: members}}
}

func TestAtTheQuotaWhatIsServedStays(t *testing.T) {
	caps := lb.ALB()
	caps.Rules = 10
	const key = "fairlead/shop/@all/internal"
	ten, twelve := many(10, false), many(12, false)

	t.Run("of new members the newest are left out", func(t *testing.T) {
		expectRefused(t, twelve, caps, "app-00010", "app-00011")
	})
	t.Run("a new member gives way even if it is older than those that are served", func(t *testing.T) {
		o := twelve
		o.Records = served(ingress.Objects{Ingresses: twelve.Ingresses[2:]}, key)
		expectRefused(t, o, caps, "app-00000", "app-00001")
	})
	t.Run("a change that does not fit is taken back, and the member stays as it was", func(t *testing.T) {
		o := ten
		o.Records = served(ten, key)
		o.Ingresses = append([]*networkingv1.Ingress{}, ten.Ingresses...)
		grown := ten.Ingresses[3].DeepCopy()
		more := *grown.Spec.Rules[0].DeepCopy()
		more.Host = "second.example.test"
		more.HTTP.Paths = more.HTTP.Paths[:1]
		grown.Spec.Rules = append(grown.Spec.Rules, more)
		o.Ingresses[3] = grown
		built := expectRefused(t, o, caps, "app-00003")
		got := built.Table.Match(routing.Request{Port: 80, Host: "app-00003.example.test", Path: "/service/part-0"})
		if got.Action.Key() != "shop/app-00003:80" {
			t.Errorf("what was served before is answered by %s", got.Action.Key())
		}
	})
	t.Run("what only the version that stays depends on is at hand", func(t *testing.T) {
		o := ten
		o.Records = served(ten, key)
		o.Ingresses = append([]*networkingv1.Ingress{}, ten.Ingresses...)
		grown := ten.Ingresses[3].DeepCopy()
		for p := range grown.Spec.Rules[0].HTTP.Paths {
			grown.Spec.Rules[0].HTTP.Paths[p].Backend.Service.Name = "app-00004"
		}
		more := *grown.Spec.Rules[0].DeepCopy()
		more.Host = "second.example.test"
		more.HTTP.Paths = more.HTTP.Paths[:1]
		more.HTTP.Paths[0].Backend.Service.Name = "app-00005"
		grown.Spec.Rules = append(grown.Spec.Rules, more)
		o.Ingresses[3] = grown
		built := expectRefused(t, o, caps, "app-00003")
		if slices.ContainsFunc(built.Diagnostics, func(d diag.Diagnostic) bool { return d.Reason == diag.ServiceMissing }) {
			t.Errorf("the Service of what is served is missing: %v", built.Diagnostics)
		}
	})
	t.Run("a member that goes makes room", func(t *testing.T) {
		o := twelve
		o.Ingresses = twelve.Ingresses[2:]
		expectRefused(t, o, caps)
	})
}

// A member that goes can leave the others with more rules than there were: what it claimed before
// them is theirs now. Whatever comes and goes, everything fits, who is left out is told, and nobody
// is who would fit.
func TestAtTheQuotaEverybodyIsServedOrTold(t *testing.T) {
	const key = "fairlead/shop/@all/internal"
	rng := rand.New(rand.NewPCG(8, 8))
	hosts, paths := []string{"a.example.test", "b.example.test", "c.example.test"}, []string{"/", "/a", "/a/b", "/c"}
	gone := 0 // plans in which what was served does not fit
	for range 300 {
		o := many(7, false)
		for _, ing := range o.Ingresses {
			for r := range ing.Spec.Rules {
				rule := &ing.Spec.Rules[r]
				rule.Host = hosts[rng.IntN(len(hosts))]
				for p := range rule.HTTP.Paths {
					rule.HTTP.Paths[p].Path = paths[rng.IntN(len(paths))]
				}
			}
		}
		before := o
		before.Ingresses = o.Ingresses[:5]
		caps := lb.ALB()
		caps.Rules = Compile(snapshotOf(t, before), lb.Facts{}, lb.ALB()).LoadBalancer.Counts().Rules // full
		o.Records = served(before, key)
		o.Ingresses = slices.Delete(slices.Clone(o.Ingresses), 0, 1+rng.IntN(2))
		built := Compile(snapshotOf(t, o), lb.Facts{}, caps)
		if over := brokenQuotas(built.LoadBalancer, caps, lb.Counts{}); len(over) > 0 {
			t.Fatalf("it has %v", over)
		}
		refused := map[string]bool{}
		for _, d := range built.Diagnostics {
			if d.Reason == diag.QuotaExceeded {
				refused[d.Source.Name] = true
				gone += strings.Count("app-00000 app-00001 app-00002 app-00003 app-00004", d.Source.Name)
			}
		}
		for name := range refused {
			others := o
			others.Ingresses = slices.DeleteFunc(slices.Clone(o.Ingresses), func(i *networkingv1.Ingress) bool { return refused[i.Name] && i.Name != name })
			if !slices.ContainsFunc(Compile(snapshotOf(t, others), lb.Facts{}, caps).Diagnostics, func(d diag.Diagnostic) bool { return d.Reason == diag.QuotaExceeded }) {
				t.Fatalf("%s is left out, and would fit beside the others that are", name)
			}
		}
		for _, ing := range o.Ingresses {
			left := !slices.ContainsFunc(built.Table.Names, func(n routing.Name) bool { return n.Owner.Name == ing.Name })
			if left != refused[ing.Name] {
				t.Fatalf("%s: left out %v, told so %v", ing.Name, left, refused[ing.Name])
			}
		}
	}
	if gone == 0 {
		t.Error("what was served fits every time, which shows nothing")
	}
}

// What a limit is lowered to costs nobody who is served.
func TestALimitThatIsLoweredTakesNothingAway(t *testing.T) {
	const key = "fairlead/shop/@all/internal"
	o := many(10, false)
	o.Records = served(o, key)
	caps := lb.ALB()
	caps.Rules = 4
	whole := Compile(snapshotOf(t, o), lb.Facts{}, lb.ALB())
	built := Compile(snapshotOf(t, o), lb.Facts{InUse: whole.LoadBalancer.Counts()}, caps)
	if got, want := built.LoadBalancer.Counts(), whole.LoadBalancer.Counts(); got != want {
		t.Errorf("%+v are left of %+v", got, want)
	}
	o.Ingresses = many(11, false).Ingresses
	if built := Compile(snapshotOf(t, o), lb.Facts{InUse: whole.LoadBalancer.Counts()}, caps); built.LoadBalancer.Counts() != whole.LoadBalancer.Counts() {
		t.Errorf("with one more it has %+v", built.LoadBalancer.Counts())
	}
}

// A Service with more targets than a cloud takes is served by some of them, and whoever asks for it
// is reported.
func TestTooManyTargetsAreSaid(t *testing.T) {
	caps := lb.ALB()
	o := many(2, false)
	port, tcp, ready := int32(8080), corev1.ProtocolTCP, true
	for i, service := range o.Services {
		slice := &discoveryv1.EndpointSlice{
			ObjectMeta:  metav1.ObjectMeta{Namespace: "shop", Name: service.Name, Labels: map[string]string{discoveryv1.LabelServiceName: service.Name}},
			AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Port: &port, Protocol: &tcp}},
		}
		for j := range 3 {
			slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
				Addresses: []string{fmt.Sprintf("10.0.%d.%d", i, j)}, Conditions: discoveryv1.EndpointConditions{Ready: &ready},
				TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: fmt.Sprintf("pod-%d-%d", i, j)},
			})
		}
		o.EndpointSlices = append(o.EndpointSlices, slice)
	}
	each := len(Compile(snapshotOf(t, o), lb.Facts{}, caps).LoadBalancer.TargetGroups[0].Targets)
	for name, c := range map[string]struct {
		limit func()
		want  string
	}{
		"in a target group":  {func() { caps.TargetsPerGroup = each - 1 }, fmt.Sprintf("has %d targets, and a target group of alb takes %d (quota L-A0D0B863)", each, each-1)},
		"in a load balancer": {func() { caps.TargetsPerLoadBalancer = 2*each - 1 }, fmt.Sprintf("has %d targets in all, and alb takes %d (quota L-7E6692B2)", 2*each, 2*each-1)},
	} {
		t.Run(name, func(t *testing.T) {
			caps = lb.ALB()
			c.limit()
			told := 0
			for _, d := range Compile(snapshotOf(t, o), lb.Facts{}, caps).Diagnostics {
				if d.Reason == diag.QuotaExceeded && d.Severity == diag.Warning && strings.Contains(d.Message, c.want) {
					told++
				}
			}
			if told != 2 {
				t.Errorf("%d Ingresses are told %q, want both", told, c.want)
			}
		})
	}
}

// expectRefused compiles and compares who is told that there is no room.
func expectRefused(t *testing.T, o ingress.Objects, c lb.Capabilities, want ...string) Built {
	t.Helper()
	built := Compile(snapshotOf(t, o), lb.Facts{}, c)
	if over := brokenQuotas(built.LoadBalancer, c, lb.Counts{}); len(over) > 0 {
		t.Errorf("still has %v", over)
	}
	var refused []string
	for _, d := range built.Diagnostics {
		if d.Reason == diag.QuotaExceeded {
			refused = append(refused, d.Source.Name)
			if !strings.Contains(d.Message, "rules") {
				t.Errorf("%q does not name the quota", d.Message)
			}
		}
	}
	if fmt.Sprint(refused) != fmt.Sprint(want) {
		t.Errorf("refused %v, want %v", refused, want)
	}
	return built
}

func TestWhatTheNetworkLacksIsSaidOfTheClass(t *testing.T) {
	built := Compile(snapshotOf(t, many(1, false)), lb.Facts{Unmet: []string{"there is no subnet web-a"}}, lb.ALB())
	for _, d := range built.Diagnostics {
		if d.Reason == diag.NetworkUnmet && d.Source.Kind == "IngressClass" && d.Message == "there is no subnet web-a" {
			return
		}
	}
	t.Errorf("the class is not told: %v", built.Diagnostics)
}
