package conformance

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/test/kube"
)

// TestANamespaceGoesWithItsIngress is how a suite cleans up: what an Ingress needs is deleted in
// any order, nothing can be made there any more, and nobody may hold it up.
func TestANamespaceGoesWithItsIngress(t *testing.T) {
	f := newFeature(t)
	f.cluster.Deploy(t, f.namespace, "web", 1, func(pod *corev1.PodSpec) {
		pod.TerminationGracePeriodSeconds = new(int64(1)) // half of which a namespace waits before it looks again
	})
	f.cluster.AwaitReady(t, f.namespace, "web", 1)
	f.certify(t, "cert", "web.example")
	f.expose(t, `
tls: [{hosts: [web.example], secretName: cert}]
rules: [{host: web.example, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {name: http}}}}]}}]
`)
	namespaces := f.cluster.Client(t).CoreV1().Namespaces()
	if err := namespaces.Delete(t.Context(), f.namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	kube.Eventually(t, "the namespace is gone", func() bool {
		_, err := namespaces.Get(t.Context(), f.namespace, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}
