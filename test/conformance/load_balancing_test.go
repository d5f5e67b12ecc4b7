package conformance

import (
	"net/http"
	"os"
	"testing"
	"time"

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
		answered := f.spread(t, requests)
		for begun := time.Now(); len(answered) != pods && time.Since(begun) < lateness(); {
			answered = f.spread(t, requests)
		}
		if len(answered) != pods {
			t.Errorf("%d Pods have answered, want %d: %v", len(answered), pods, answered)
		}
	})
}

// spread counts the answers of each Pod to some requests.
func (f *feature) spread(t *testing.T, requests int) map[string]int {
	t.Helper()
	answered := map[string]int{}
	for range requests {
		got := f.send(t, http.MethodGet, "http://any.example/")
		if got.StatusCode != http.StatusOK {
			t.Fatalf("answered %d", got.StatusCode)
		}
		answered[got.Pod]++
	}
	return answered
}

// lateness is how long Pods that are ready may get no requests. The fake cloud sends them some at
// once. Caddy checks them first, and then takes some tenths of a second for another configuration.
func lateness() time.Duration {
	if os.Getenv(command) != "" {
		return 5 * time.Second
	}
	return 0
}
