package conformance

import (
	"net/http"
	"slices"
	"testing"

	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/test/kube"
)

// The 25th scenario, and the older way to name a class, which many manifests still have.
func TestIngressClass(t *testing.T) {
	t.Run("an Ingress of a class that nobody has is not served", func(t *testing.T) {
		f := newFeature(t)
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
	t.Run("an Ingress may name its class by the older annotation", func(t *testing.T) {
		f := newFeature(t)
		f.deploy(t, "web")
		ing := &networkingv1.Ingress{
			ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: map[string]string{"kubernetes.io/ingress.class": kube.Class}},
			Spec: networkingv1.IngressSpec{DefaultBackend: &networkingv1.IngressBackend{
				Service: &networkingv1.IngressServiceBackend{Name: "web", Port: networkingv1.ServiceBackendPort{Name: "http"}},
			}},
		}
		if _, err := f.cluster.Client(t).NetworkingV1().Ingresses(f.namespace).Create(t.Context(), ing, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		f.address = f.cluster.Address(t, f.namespace, "web")
		if got := f.send(t, http.MethodGet, "http://any.example/"); got.Service != "web" {
			t.Errorf("answered %d by Service %q", got.StatusCode, got.Service)
		}
	})
}
