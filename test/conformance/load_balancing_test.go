package conformance

import (
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestLoadBalancing(t *testing.T) {
	const pods, requests = 10, 100
	f := newFeature(t)
	f.deploy(t, "all")
	f.expose(t, `defaultBackend: {service: {name: all, port: {number: 8080}}}`)
	t.Run("every Pod gets its share, from the moment that all are ready", func(t *testing.T) {
		if _, err := f.cluster.Client(t).AppsV1().Deployments(f.namespace).Patch(t.Context(), "all",
			types.MergePatchType, []byte(`{"spec":{"replicas":10}}`), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		f.cluster.AwaitReady(t, f.namespace, "all", pods)
		answered := map[string]int{}
		for range requests {
			got := f.send(t, http.MethodGet, "http://any.example/")
			if got.StatusCode != http.StatusOK {
				t.Fatalf("answered %d", got.StatusCode)
			}
			answered[got.Pod]++
		}
		if len(answered) != pods {
			t.Errorf("%d Pods have answered, want %d: %v", len(answered), pods, answered)
		}
	})
}
