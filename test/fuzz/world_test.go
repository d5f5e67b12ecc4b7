package fuzz

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/ingress/validate"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	testobjects "fairlead.dev/fairlead/test/objects"
)

// This file is the cluster that inputs are put into: a class with a group for every namespace, and
// the namespaces alice and bob with Services that work.

const (
	class = "fairlead"
	group = "shared"
)

// A world is a cluster's objects.
type world struct {
	ingress.Objects
}

// newWorld is a cluster without Ingresses.
func newWorld(t testing.TB, change func(*v1alpha1.LoadBalancerClassSpec)) *world {
	t.Helper()
	spec := v1alpha1.LoadBalancerClassSpec{
		Groups: []v1alpha1.SharedGroup{{Name: group, NamespaceSelector: metav1.LabelSelector{}}},
	}
	if change != nil {
		change(&spec)
	}
	w := &world{Objects: ingress.Objects{PodsKnown: true}}
	w.ClusterLoadBalancerClasses = []*v1alpha1.ClusterLoadBalancerClass{{ObjectMeta: metav1.ObjectMeta{Name: class}, Spec: spec}}
	w.IngressClasses = []*networkingv1.IngressClass{{
		ObjectMeta: metav1.ObjectMeta{Name: class},
		Spec: networkingv1.IngressClassSpec{Controller: ingress.ControllerName, Parameters: &networkingv1.IngressClassParametersReference{
			APIGroup: new(v1alpha1.Group), Kind: v1alpha1.KindClusterLoadBalancerClass, Name: class,
		}},
	}}
	for i, namespace := range []string{"alice", "bob"} {
		w.Namespaces = append(w.Namespaces, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
		served, err := testobjects.Service(namespace+"/web:80", i)
		if err != nil {
			t.Fatal(err)
		}
		w.Services = append(w.Services, served.Service)
		w.EndpointSlices = append(w.EndpointSlices, served.Endpoints)
		w.Pods = append(w.Pods, served.Pod)
	}
	return w
}

// day is when an Ingress was made, in days since the first.
func day(n int) metav1.Time {
	return metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, n))
}

// newIngress is an Ingress of the class that sends host and path to the Service web of its
// namespace.
func newIngress(namespace, host, path string, pathType networkingv1.PathType) *networkingv1.Ingress {
	return &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web", CreationTimestamp: day(0)},
		Spec: networkingv1.IngressSpec{
			IngressClassName: new(class),
			Rules:            []networkingv1.IngressRule{rule(host, networkingv1.HTTPIngressPath{Path: path, PathType: new(pathType), Backend: web()})},
		},
	}
}

func rule(host string, paths ...networkingv1.HTTPIngressPath) networkingv1.IngressRule {
	return networkingv1.IngressRule{Host: host, IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{Paths: paths}}}
}

func web() networkingv1.IngressBackend {
	return networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "web", Port: networkingv1.ServiceBackendPort{Number: 80}}}
}

// A compiled load balancer.
type compiled struct {
	model.Built
	key routing.Key
}

// compile compiles all load balancers of the world.
func (w *world) compile() ([]compiled, []diag.Diagnostic) { return w.compileAs(ingress.ClassOptions{}) }

// compileAs compiles all load balancers of the world, for the capabilities of an ALB.
func (w *world) compileAs(options ingress.ClassOptions) ([]compiled, []diag.Diagnostic) {
	snapshots, diagnostics := ingress.Place(w.Objects, options)
	var out []compiled
	for _, s := range snapshots {
		capabilities := lb.ALB().Restrict(model.ClassOf(s))
		built := model.Compile(s, lb.Facts{}, capabilities)
		diagnostics = append(diagnostics, built.Diagnostics...)
		out = append(out, compiled{built, s.Key})
	}
	slices.SortFunc(out, func(a, b compiled) int { return cmp.Compare(a.key, b.key) })
	return out, diagnostics
}

// check holds a compilation to what is promised of every input: each diagnostic is short, and rules
// answer as the table does for the requests.
func check(t *testing.T, built []compiled, diagnostics []diag.Diagnostic, requests []routing.Request) {
	t.Helper()
	const longest = 4096 // an event's message is cut at 1,024 characters, and a diagnostic lists a few things
	for _, d := range diagnostics {
		if len(d.Message) > longest {
			t.Errorf("a diagnostic has %d characters: %.200s", len(d.Message), d.Message)
		}
	}
	if len(diagnostics) > 1000 {
		t.Errorf("%d diagnostics", len(diagnostics))
	}
	for _, c := range built {
		for _, l := range c.LoadBalancer.Listeners {
			m := lb.NewMatcher(l, lb.ALB().Dialect)
			for _, r := range requests {
				r.Port = l.Port
				_, action := m.Match(r)
				if want := lb.FromRouting(c.Table.Match(r).Action); want.Key() != action.Key() {
					t.Errorf("%s:%d: %v: the table says %s, the rules %s", c.key, l.Port, r, want, action)
				}
			}
		}
	}
}

// acceptable reports whether the API server stores an Ingress.
func acceptable(ing *networkingv1.Ingress) bool {
	return len(validate.Ingress(ing)) == 0 && isText(ing.Annotations)
}

// isText reports whether annotations can be sent as JSON and are no longer than the API server lets
// them be.
func isText(annotations map[string]string) bool {
	total := 0
	for k, v := range annotations {
		total += len(k) + len(v)
		if strings.ToValidUTF8(v, "") != v {
			return false
		}
	}
	return total <= 256<<10
}
