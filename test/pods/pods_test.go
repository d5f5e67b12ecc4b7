// Package pods shows that Pods of test/kube live as real ones do: in a network namespace, with
// addresses that an API server takes for endpoints, and with the end that a kubelet gives them.
package pods

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"fairlead.dev/fairlead/test/kube"
)

func TestMain(m *testing.M) {
	kube.Main(m, kube.Options{Pods: true, Controllers: []string{"deployment-controller", "replicaset-controller", "endpointslice-controller"}})
}

const patience = time.Minute

func TestPodsServeUntilTheyAreGone(t *testing.T) {
	c := kube.Shared(t)
	client, namespace := c.Client(t), c.Namespace(t)
	deploy(t, client, namespace, 3)

	var addresses []string
	eventually(t, "three endpoints are ready", func() bool {
		addresses = endpoints(t, client, namespace, func(e discoveryv1.EndpointConditions) bool { return *e.Ready })
		return len(addresses) == 3
	})
	pods := map[string]bool{}
	for _, address := range addresses {
		answer, err := ask(t.Context(), address)
		if err != nil {
			t.Fatalf("asking %s: %s", address, err)
		}
		if answer.Path != "/a?b" || answer.Method != http.MethodGet || answer.Namespace != namespace || answer.Service != "echo" {
			t.Errorf("%s answers %+v", address, answer)
		}
		pods[answer.Pod] = true
	}
	if len(pods) != 3 {
		t.Errorf("%d different Pods answer, want 3", len(pods))
	}

	if _, err := client.AppsV1().Deployments(namespace).Patch(t.Context(), "echo", types.MergePatchType, []byte(`{"spec":{"replicas":0}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "they are said to terminate", func() bool {
		return len(endpoints(t, client, namespace, func(e discoveryv1.EndpointConditions) bool { return *e.Terminating })) == 3
	})
	if _, err := ask(t.Context(), addresses[0]); err != nil {
		t.Errorf("a Pod does not serve while its preStop hook sleeps: %s", err)
	}
	eventually(t, "they are gone", func() bool {
		list, err := client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
		return err == nil && len(list.Items) == 0
	})
	if _, err := ask(t.Context(), addresses[0]); err == nil {
		t.Error("a Pod that is gone still answers")
	}
}

// deploy makes a Service with Pods behind it, which take two seconds to leave.
func deploy(t *testing.T, client kubernetes.Interface, namespace string, replicas int32) {
	t.Helper()
	labels := map[string]string{"app": "echo"}
	if _, err := client.CoreV1().Services(namespace).Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "echo"},
		Spec:       corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.AppsV1().Deployments(namespace).Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "echo"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: "echo", Image: "echo.test/echo",
					Ports:     []corev1.ContainerPort{{ContainerPort: 80}},
					Env:       []corev1.EnvVar{{Name: "SERVICE_NAME", Value: "echo"}},
					Lifecycle: &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 2}}},
				}}},
			},
		},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// endpoints are the addresses in a state.
func endpoints(t *testing.T, client kubernetes.Interface, namespace string, in func(discoveryv1.EndpointConditions) bool) []string {
	t.Helper()
	list, err := client.DiscoveryV1().EndpointSlices(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, s := range list.Items {
		for _, e := range s.Endpoints {
			if in(e.Conditions) {
				out = append(out, e.Addresses...)
			}
		}
	}
	return out
}

func ask(ctx context.Context, address string) (answer kube.Echo, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(address, "80")+"/a?b", nil)
	if err != nil {
		return answer, err
	}
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return answer, err
	}
	defer response.Body.Close()
	return answer, json.NewDecoder(response.Body).Decode(&answer)
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	often := time.NewTicker(20 * time.Millisecond)
	defer often.Stop()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-often.C {
		if holds() {
			return
		}
	}
	t.Fatalf("waited %s until %s", patience, what)
}
