package cluster

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/model/settings"
)

// A change matters if Fairlead reads what changed.
func TestWhichChangesMatter(t *testing.T) {
	type change struct {
		ingress func(*networkingv1.Ingress)
		service func(*corev1.Service)
	}
	annotate := func(key, value string) change {
		return change{
			func(i *networkingv1.Ingress) { i.Annotations[key] = value },
			func(s *corev1.Service) { s.Annotations[key] = value },
		}
	}
	for name, c := range map[string]struct {
		change
		matters bool
	}{
		"nothing":  {change{func(*networkingv1.Ingress) {}, func(*corev1.Service) {}}, false},
		"the spec": {change{func(i *networkingv1.Ingress) { i.Generation++ }, func(s *corev1.Service) { s.Spec.ExternalName = "a" }}, true},
		"the status": {change{func(i *networkingv1.Ingress) {
			i.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{}}
		}, func(s *corev1.Service) { s.Status.Conditions = []metav1.Condition{{}} }}, false},
		"it is deleted":              {change{ingress: func(i *networkingv1.Ingress) { i.DeletionTimestamp = new(metav1.Now()) }}, true},
		"an annotation that is read": {annotate(settings.Group, "other"), true},
		"an annotation of others":    {annotate("example.com/note", "other"), false},
	} {
		t.Run(name, func(t *testing.T) {
			if c.ingress != nil {
				before := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Generation: 1, Annotations: map[string]string{settings.Group: "shop", "example.com/note": "a"}}}
				after := before.DeepCopy()
				if c.ingress(after); ChangedIngress(before, after) != c.matters {
					t.Errorf("of an Ingress it matters: %t, want %t", !c.matters, c.matters)
				}
			}
			if c.service != nil {
				before := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{settings.Group: "shop", "example.com/note": "a"}}}
				after := before.DeepCopy()
				if c.service(after); ChangedService(before, after) != c.matters {
					t.Errorf("of a Service it matters: %t, want %t", !c.matters, c.matters)
				}
			}
		})
	}
}
