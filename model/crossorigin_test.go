package model

import (
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/record"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// This file changes Ingresses with and without enable-cors, refuses them, moves them, and looks at what their ports send.

const allowOrigin = "routing.http.response.access_control_allow_origin.header_value"

// A sharing is some Ingresses of a class for ingress-nginx in one namespace, and what is recorded of them.
type sharing struct {
	*testing.T
	records map[routing.Key]record.Record
	sent    int // ports that sent the header
	told    int // Ingresses that were told that theirs do not
}

// step compiles Ingresses, and records them as served.
func (s *sharing) step(ingresses ...*networkingv1.Ingress) {
	params := &v1alpha1.ClusterLoadBalancerClass{ObjectMeta: metav1.ObjectMeta{Name: "nginx"}}
	params.Spec.Dialect, params.Spec.Scheme = v1alpha1.DialectNGINX, v1alpha1.SchemeInternal
	class := &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "nginx"}}
	class.Spec.Controller = ingress.ControllerName
	class.Spec.Parameters = &networkingv1.IngressClassParametersReference{APIGroup: new(v1alpha1.Group),
		Kind: v1alpha1.KindClusterLoadBalancerClass, Name: "nginx"}
	snapshots, _ := ingress.Place(ingress.Objects{Ingresses: ingresses, IngressClasses: []*networkingv1.IngressClass{class},
		ClusterLoadBalancerClasses: []*v1alpha1.ClusterLoadBalancerClass{params}, Records: s.records}, ingress.ClassOptions{})
	next := maps.Clone(s.records)
	for _, one := range snapshots {
		built := Compile(one, lb.Facts{}, lb.ALB())
		for _, l := range built.LoadBalancer.Listeners {
			value, sends := l.Settings.Attributes[allowOrigin]
			for _, m := range one.Members {
				if sends && !strings.Contains(m.Annotations[settings.ListenerAttributes], allowOrigin+"="+value) {
					s.Errorf("%s: port %d sends %s with answers of %s, which is served without it", one.Key, l.Port, value, m.Owner)
				}
			}
			if sends {
				s.sent++
			}
		}
		for _, d := range built.Diagnostics {
			if d.Reason == diag.SettingConflict && strings.Contains(d.Message, "has not asked for the same") {
				s.told++
			}
		}
		recorded := one.Recorded
		if recorded.Members = maps.Clone(recorded.Members); recorded.Members == nil {
			recorded.Members = map[string]record.Member{}
		}
		for _, m := range one.Members {
			accepted, is := record.Accept(m.Ingress), recorded.Members[m.Owner.Namespace+"/"+m.Owner.Name]
			is.Served, is.LastAccepted = true, &accepted
			recorded.Members[m.Owner.Namespace+"/"+m.Owner.Name] = is
		}
		next[one.Key] = recorded
	}
	s.records = next
}

// forNGINX is an Ingress for a host of its own, with annotations.
func forNGINX(name string, annotations ...string) *networkingv1.Ingress {
	ing := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Annotations: map[string]string{}}}
	for _, a := range annotations {
		key, value, _ := strings.Cut(a, ": ")
		if !strings.Contains(key, "/") {
			key = "nginx.ingress.kubernetes.io/" + key
		}
		ing.Annotations[key] = value
	}
	ing.Spec.IngressClassName = new("nginx")
	ing.Spec.Rules = []networkingv1.IngressRule{{Host: name + ".com", IngressRuleValue: networkingv1.IngressRuleValue{
		HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{{Path: "/", PathType: new(networkingv1.PathTypePrefix),
			Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "web",
				Port: networkingv1.ServiceBackendPort{Number: 80}}}}}}}}}
	return ing
}

const (
	withCORS = "enable-cors: true"
	refused  = "auth-type: basic"
)

func TestNoNeighbourIsOpenedToOtherOrigins(t *testing.T) {
	ofOwn := "fairlead.dev/group: own"
	for name, c := range map[string]struct {
		before, after []*networkingv1.Ingress
		sent, told    int
	}{
		"a plain Ingress that is refused keeps its version": {
			[]*networkingv1.Ingress{forNGINX("b")}, []*networkingv1.Ingress{forNGINX("b", refused), forNGINX("a", withCORS)}, 0, 1},
		"one with headers that is refused, and a new plain one": {
			[]*networkingv1.Ingress{forNGINX("a", withCORS)}, []*networkingv1.Ingress{forNGINX("a", withCORS, refused), forNGINX("b")}, 1, 1},
		"one with headers joins a plain one": {
			[]*networkingv1.Ingress{forNGINX("a", withCORS), forNGINX("b", ofOwn)},
			[]*networkingv1.Ingress{forNGINX("a", withCORS, ofOwn), forNGINX("b", ofOwn)}, 2, 0},
		"the scheme of the class":        {nil, []*networkingv1.Ingress{forNGINX("a", withCORS, "fairlead.dev/scheme: internal"), forNGINX("b")}, 0, 0},
		"a name of its own":              {nil, []*networkingv1.Ingress{forNGINX("a", withCORS, "fairlead.dev/load-balancer-name: one"), forNGINX("b")}, 1, 0},
		"both":                           {nil, []*networkingv1.Ingress{forNGINX("a", withCORS), forNGINX("b", withCORS)}, 1, 0},
		"a removed one, and a plain one": {[]*networkingv1.Ingress{forNGINX("a", withCORS)}, []*networkingv1.Ingress{forNGINX("b")}, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := &sharing{T: t, records: map[routing.Key]record.Record{}}
			if c.before != nil {
				s.step(c.before...)
			}
			if s.step(c.after...); s.sent != c.sent || s.told != c.told {
				t.Errorf("%d ports sent it, and %d Ingresses were told: want %d and %d", s.sent, s.told, c.sent, c.told)
			}
		})
	}
}

// TestRandomNeighboursAreNotOpenedToOtherOrigins changes three Ingresses at random.
func TestRandomNeighboursAreNotOpenedToOtherOrigins(t *testing.T) {
	t.Logf("-seed %d", *seed)
	sent, told := 0, 0
	for n := range groups() {
		draw := rand.New(rand.NewPCG(*seed, uint64(n)))
		s := &sharing{T: t, records: map[routing.Key]record.Record{}}
		for range 6 {
			var all []*networkingv1.Ingress
			for _, name := range []string{"a", "b", "c"} {
				var said []string
				for _, some := range [][]string{{"", withCORS, withCORS}, {"", "", "cors-allow-origin: https://a.com"}, {"", "", "", refused},
					{"", "", "fairlead.dev/group: own"}, {"", "", "", "fairlead.dev/scheme: internal"}} {
					if one := some[draw.IntN(len(some))]; one != "" {
						said = append(said, one)
					}
				}
				if draw.IntN(5) > 0 {
					all = append(all, forNGINX(name, said...))
				}
			}
			s.step(all...)
		}
		sent, told = sent+s.sent, told+s.told
	}
	if sent < groups() || told == 0 {
		t.Errorf("the header was sent %d times, and Ingresses were told %d times that it is not", sent, told)
	}
}
