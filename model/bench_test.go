package model

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/planner"
)

// many is n Ingresses of one group, each with its own Service and four Prefix paths. With one
// host for all, each has a path of its own.
func many(n int, oneHost bool) ingress.Objects {
	var o ingress.Objects
	class := "fairlead"
	prefix := networkingv1.PathTypePrefix
	for i := range n {
		name, host, root := fmt.Sprintf("app-%05d", i), fmt.Sprintf("app-%05d.example.test", i), "/service"
		if oneHost {
			host, root = "www.example.test", "/"+name
		}
		rule := networkingv1.IngressRule{Host: host, IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{}}}
		for j := range 4 {
			rule.HTTP.Paths = append(rule.HTTP.Paths, networkingv1.HTTPIngressPath{
				Path: fmt.Sprintf("%s/part-%d", root, j), PathType: &prefix,
				Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: name, Port: networkingv1.ServiceBackendPort{Number: 80}}},
			})
		}
		meta := metav1.ObjectMeta{Namespace: "shop", Name: name, CreationTimestamp: metav1.NewTime(time.Unix(int64(1000+i), 0)),
			Annotations: map[string]string{"fairlead.dev/group": "all"}}
		o.Ingresses = append(o.Ingresses, &networkingv1.Ingress{ObjectMeta: meta,
			Spec: networkingv1.IngressSpec{IngressClassName: &class, Rules: []networkingv1.IngressRule{rule}}})
		o.Services = append(o.Services, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
			Spec: corev1.ServiceSpec{ClusterIP: "10.0.0.1", Ports: []corev1.ServicePort{{Port: 80}}}})
	}
	o.IngressClasses = []*networkingv1.IngressClass{{ObjectMeta: metav1.ObjectMeta{Name: class}, Spec: networkingv1.IngressClassSpec{Controller: ingress.ControllerName}}}
	return o
}

// unlimited lifts the quotas that these sizes are far beyond.
func unlimited(c lb.Capabilities) lb.Capabilities {
	c.Rules, c.TargetGroups, c.MaxPriority = 0, 0, 1<<30
	return c
}

func snapshotOf(tb testing.TB, o ingress.Objects) ingress.Snapshot {
	tb.Helper()
	snapshots, found := ingress.Place(o, ingress.ClassOptions{})
	if len(snapshots) != 1 || len(found) > 0 {
		tb.Fatalf("%d load balancers, %v", len(snapshots), found)
	}
	return snapshots[0]
}

var capabilitySets = []lb.Capabilities{unlimited(lb.Literal()), unlimited(lb.ALB()), unlimited(lb.ALBGlob())}

func BenchmarkCompile(b *testing.B) {
	for _, shape := range []string{"own-host", "one-host"} {
		for _, n := range []int{1000, 10000} {
			s := snapshotOf(b, many(n, shape == "one-host"))
			for _, c := range capabilitySets {
				b.Run(fmt.Sprintf("%s/%s/%d-routes", c.Name, shape, 4*n), func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						Compile(s, lb.Facts{}, c)
					}
				})
			}
		}
	}
}

func BenchmarkDiffOfOneChange(b *testing.B) {
	for _, c := range capabilitySets {
		b.Run(c.Name, func(b *testing.B) {
			seen, want := oneChange(b, c)
			b.ReportAllocs()
			for b.Loop() {
				planner.Diff(seen, want, c)
			}
		})
	}
}

// oneChange is 4,000 routes as they are served, by pods that are healthy, and the same with one
// path more.
func oneChange(tb testing.TB, c lb.Capabilities) (*lb.Observed, lb.LoadBalancer) {
	o := many(1000, false)
	before := Compile(snapshotOf(tb, o), lb.Facts{}, c).LoadBalancer
	seen := planner.Diff(&lb.Observed{Key: before.Key}, before, c).Fold(&lb.Observed{Key: before.Key})
	for i := range seen.TargetGroups {
		seen.TargetGroups[i].Ready = true
	}
	changed := o.Ingresses[500].DeepCopy()
	paths := &changed.Spec.Rules[0].HTTP.Paths
	more := (*paths)[0]
	more.Path = "/service/part-4"
	*paths = append(*paths, more)
	o.Ingresses = slices.Clone(o.Ingresses)
	o.Ingresses[500] = changed
	return seen, Compile(snapshotOf(tb, o), lb.Facts{}, c).LoadBalancer
}

func TestOneChangedPathIsOneRuleStep(t *testing.T) {
	for _, c := range capabilitySets {
		t.Run(c.Name, func(t *testing.T) {
			seen, want := oneChange(t, c)
			todo := planner.Diff(seen, want, c)
			if len(todo.Steps) != 1 {
				t.Errorf("%d steps, want 1: %v", len(todo.Steps), todo.Steps)
			}
		})
	}
}
