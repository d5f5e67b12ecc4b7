package model

import (
	"fmt"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
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
	if todo := plan.Diff(seen, built.LoadBalancer, lb.ALB()); !todo.Empty() {
		t.Errorf("the load balancer stays, but the plan is %v", todo.Steps)
	}
}

// served is what an Ingress set is remembered by once it has been programmed.
func served(o ingress.Objects, key routing.Key) map[routing.Key]ingress.Memory {
	members := map[string]ingress.Remembered{}
	for _, ing := range o.Ingresses {
		members[ing.Namespace+"/"+ing.Name] = ingress.Remembered{Served: true,
			LastAccepted: &ingress.Accepted{Annotations: ing.Annotations, Spec: *ing.Spec.DeepCopy()}}
	}
	return map[routing.Key]ingress.Memory{key: {Members: members}}
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
		o.Memories = served(ingress.Objects{Ingresses: twelve.Ingresses[2:]}, key)
		expectRefused(t, o, caps, "app-00000", "app-00001")
	})
	t.Run("a change that does not fit is taken back, and the member stays as it was", func(t *testing.T) {
		o := ten
		o.Memories = served(ten, key)
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
	t.Run("a member that goes makes room", func(t *testing.T) {
		o := twelve
		o.Ingresses = twelve.Ingresses[2:]
		expectRefused(t, o, caps)
	})
}

// expectRefused compiles and compares who is told that there is no room.
func expectRefused(t *testing.T, o ingress.Objects, c lb.Capabilities, want ...string) Built {
	t.Helper()
	built := Compile(snapshotOf(t, o), lb.Facts{}, c)
	if over := exceeded(built.LoadBalancer, c); len(over) > 0 {
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
