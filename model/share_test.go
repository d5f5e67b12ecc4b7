package model

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/classes"
	"fairlead.dev/fairlead/model/ingress/objects"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	testobjects "fairlead.dev/fairlead/test/objects"
)

// What is served may come to need more without a new version of an Ingress. The namespace that
// takes more than its share gives way, though its Ingress is the older one.
func TestANamespaceOverItsShareGivesWay(t *testing.T) {
	const key = routing.Key("fairlead/@public/internal")
	cases := map[string]func(t *testing.T, grown bool) objects.Objects{
		"Services of Backends": sharedWorld(20, func(_ *testing.T, grown bool, i int, o *objects.Objects, bob *networkingv1.Ingress) {
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
		"Secrets that come to be": sharedWorld(26, func(t *testing.T, grown bool, i int, o *objects.Objects, bob *networkingv1.Ingress) {
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
			after.Memories = served(before, key)
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
func sharedWorld(n int, grow func(t *testing.T, grown bool, i int, o *objects.Objects, bob *networkingv1.Ingress)) func(*testing.T, bool) objects.Objects {
	return func(t *testing.T, grown bool) objects.Objects {
		var o objects.Objects
		o.IngressClasses = []*networkingv1.IngressClass{{ObjectMeta: metav1.ObjectMeta{Name: "fairlead"}, Spec: networkingv1.IngressClassSpec{
			Controller: classes.Controller,
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
