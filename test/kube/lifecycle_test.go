package kube

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestDeploymentsComeAliveAndOutliveTheServer starts controllers, and takes their API server away.
func TestDeploymentsComeAliveAndOutliveTheServer(t *testing.T) {
	c := Start(t, Options{Controllers: []string{"deployment-controller", "replicaset-controller", "endpointslice-controller"}})
	client, namespace := c.Client(t), c.Namespace(t)
	labels := map[string]string{"app": "echo"}
	deployments := client.AppsV1().Deployments(namespace)
	deployment, err := deployments.Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "echo"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(2)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "echo", Image: "echo.test/echo"}}},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Services(namespace).Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "echo"},
		Spec:       corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pods := func() int {
		list, err := client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=echo"})
		if err != nil {
			return -1
		}
		return len(list.Items)
	}
	Eventually(t, "the Deployment has Pods", func() bool { return pods() == 2 })
	Eventually(t, "the Service has an EndpointSlice", func() bool {
		list, err := client.DiscoveryV1().EndpointSlices(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=echo"})
		return err == nil && len(list.Items) == 1
	})

	c.StopServer()
	if got := pods(); got != -1 {
		t.Errorf("%d Pods are listed by an API server that has been stopped", got)
	}
	c.StartServer(t)
	if got := pods(); got != 2 {
		t.Errorf("%d Pods after the API server came back, want 2", got)
	}
	deployment.Spec.Replicas = new(int32(3))
	deployment.ResourceVersion = ""
	if _, err := deployments.Update(t.Context(), deployment, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	Eventually(t, "the controllers are back as well", func() bool { return pods() == 3 })
}

func TestAProcessDiesWithTheTest(t *testing.T) {
	p, err := startProcess("/bin/sleep", filepath.Join(t.TempDir(), "log"), nil, []string{"600"})
	if err != nil {
		t.Fatal(err)
	}
	defer p.stop()
	if err := p.leash.Close(); err != nil { // as the system does for a test that dies
		t.Fatal(err)
	}
	select {
	case <-p.done:
	case <-time.After(patience):
		t.Error("nobody has ended it")
	}
}

func TestACommandFindsItsCluster(t *testing.T) {
	skipShort(t)
	for command, want := range map[string]int{
		`grep -q "server: https://127.0.0.1:" "$KUBECONFIG"`: 0,
		`exit 3`: 3,
	} {
		if code, err := Run(Options{}, "sh", "-c", command); err != nil || code != want {
			t.Errorf("%s: ends with %d, %v, want %d", command, code, err, want)
		}
	}
}

func TestAFailureIsExplained(t *testing.T) {
	skipShort(t)
	_, err := start(Options{Flags: []string{"--no-such-flag"}})
	if err == nil || !strings.Contains(err.Error(), "unknown flag: --no-such-flag") {
		t.Errorf("an API server that cannot start: %v, want what it says itself", err)
	}
}

func TestCommandsAreFoundOrNamed(t *testing.T) {
	root, usual := t.TempDir(), t.TempDir()
	built, nested := filepath.Join(root, ".cache", "controlplane"), filepath.Join(root, "test", "nested")
	for _, dir := range []string{built, nested} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{filepath.Join(root, "go.mod"), filepath.Join(root, "main.go"), filepath.Join(nested, "go.mod"), filepath.Join(usual, etcd), filepath.Join(usual, server), filepath.Join(built, server), filepath.Join(built, manager)} {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(nested) // a module of its own
	t.Setenv(assets, usual)
	found, err := findCommands([]string{etcd, server, manager})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{etcd: filepath.Join(usual, etcd), server: filepath.Join(usual, server), manager: filepath.Join(built, manager)}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}

	t.Setenv(assets, "")
	if _, err := start(Options{}); err == nil || !strings.Contains(err.Error(), "`make setup` builds it") {
		t.Errorf("started without etcd: %v, want what to do about it", err)
	}
}
