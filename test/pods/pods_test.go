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

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/fairlead/test/kube"
)

func TestMain(m *testing.M) {
	kube.Main(m, kube.Options{Pods: true, Controllers: []string{"deployment-controller", "replicaset-controller", "endpointslice-controller"}})
}

func TestPodsServeUntilTheyAreGone(t *testing.T) {
	c := kube.Shared(t)
	client, namespace := c.Client(t), c.Namespace(t)
	c.Deploy(t, namespace, "echo", 3, func(pod *corev1.PodSpec) {
		pod.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 2}}}
	})

	c.AwaitReady(t, namespace, "echo", 3)
	addresses := c.Endpoints(t, namespace, "echo", kube.Ready)
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
	kube.Eventually(t, "they are said to terminate", func() bool {
		return len(c.Endpoints(t, namespace, "echo", kube.Terminating)) == 3
	})
	if _, err := ask(t.Context(), addresses[0]); err != nil {
		t.Errorf("a Pod does not serve while its preStop hook sleeps: %s", err)
	}
	kube.Eventually(t, "they are gone", func() bool {
		list, err := client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
		return err == nil && len(list.Items) == 0
	})
	if _, err := ask(t.Context(), addresses[0]); err == nil {
		t.Error("a Pod that is gone still answers")
	}
}

func ask(ctx context.Context, address string) (answer kube.Echo, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(address, "3000")+"/a?b", nil)
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
