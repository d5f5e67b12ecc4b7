package conformance

import (
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/fairlead/test/kube"
)

// TestTheOperatorLeavesItsPortsToOthers has the operator's own ports, of other addresses, be those
// of a load balancer and of the Pods behind it.
func TestTheOperatorLeavesItsPortsToOthers(t *testing.T) {
	f := newFeature(t)
	f.cluster.Deploy(t, f.namespace, "web", 1, func(p *corev1.PodSpec) {
		p.Containers[0].Ports[0].ContainerPort = 8080
		p.Containers[0].Ports = append(p.Containers[0].Ports, corev1.ContainerPort{Name: "other", ContainerPort: 8081})
	})
	f.cluster.AwaitReady(t, f.namespace, "web", 1)
	f.expose(t, `{rules: [{host: ports.test, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {name: http}}}}]}}]}`)
	asks := []byte(`{"metadata": {"annotations": {"fairlead.dev/listen-ports": "HTTP:8080,HTTP:8081"}}}`)
	if _, err := f.cluster.Client(t).NetworkingV1().Ingresses(f.namespace).Patch(t.Context(), "web", types.MergePatchType, asks, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, port := range []string{"8080", "8081"} {
		kube.Eventually(t, "the load balancer answers on port "+port, func() bool {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+f.address+":"+port, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			r.Host = "ports.test"
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				return false
			}
			defer answer.Body.Close()
			return answer.StatusCode == http.StatusOK
		})
	}
}
