package conformance

import (
	"slices"
	"testing"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/test/kube"
)

func TestIngressClass(t *testing.T) {
	f := newFeature(t)
	t.Run("an Ingress of a class that nobody has is not served", func(t *testing.T) {
		f.deploy(t, "web")
		f.cluster.CreateIngress(t, f.namespace, "web", "nobodys", `rules: [{host: class.example, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 8080}}}}]}}]`)
		client := f.cluster.Client(t)
		kube.Eventually(t, "its owner is told", func() bool {
			events, err := client.EventsV1().Events(f.namespace).List(t.Context(), metav1.ListOptions{})
			return err == nil && slices.ContainsFunc(events.Items, func(e eventsv1.Event) bool {
				return e.Reason == "ClassMissing" && e.Regarding.Name == "web"
			})
		})
		stored, err := client.NetworkingV1().Ingresses(f.namespace).Get(t.Context(), "web", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if entries := stored.Status.LoadBalancer.Ingress; len(entries) > 0 {
			t.Errorf("it has the address %v", entries)
		}
		if len(stored.Finalizers) > 0 {
			t.Errorf("it is held by %v", stored.Finalizers)
		}
	})
}
