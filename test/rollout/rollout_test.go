// Package rollout changes what serves while it is asked: Pods are replaced and backends switched
// under constant requests, none of which may fail, and Pods that leave or are not ready are kept
// out. The operator is a process of its own, on a real API server where Deployments come alive, and
// its cloud answers on real ports.
package rollout

import (
	"slices"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"fairlead.dev/fairlead/test/kube"
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard()) // a client's, of which it says that it is missing
	kube.Main(m, kube.Alive)
}

// A scene is a namespace with an Ingress that sends everything to one Service.
type scene struct {
	*kube.Cluster
	namespace string
	address   string
}

const everything = `defaultBackend: {service: {name: web, port: {name: http}}}`

// newScene has Pods of the Service "web" at work.
func newScene(t *testing.T, pods int32, edit ...func(*corev1.PodSpec)) *scene {
	t.Helper()
	return newSceneIn(t, kube.Shared(t), pods, edit...)
}

func newSceneIn(t *testing.T, c *kube.Cluster, pods int32, edit ...func(*corev1.PodSpec)) *scene {
	t.Helper()
	s := &scene{Cluster: c, namespace: c.Namespace(t)}
	s.Deploy(t, s.namespace, "web", pods, edit...)
	s.AwaitReady(t, s.namespace, "web", int(pods))
	s.CreateIngress(t, s.namespace, "web", kube.Class, everything)
	s.address = s.Address(t, s.namespace, "web")
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.OperatorLog())
		}
	})
	return s
}

// patch changes the Deployment of a Service.
func (s *scene) patch(t *testing.T, service, change string) {
	t.Helper()
	if _, err := s.Client(t).AppsV1().Deployments(s.namespace).Patch(t.Context(), service, types.StrategicMergePatchType, []byte(change), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// lingers is a preStop hook that sleeps, for as long as it may take until nobody sends requests any
// more.
func lingers(seconds int64) func(*corev1.PodSpec) {
	return func(pod *corev1.PodSpec) {
		pod.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: seconds}}}
	}
}

func TestNoRequestFailsWhileAllPodsAreReplaced(t *testing.T) {
	for name, edit := range map[string][]func(*corev1.PodSpec){
		"they linger before they stop": {lingers(2)},
		"they are gone at once":        nil,
	} {
		t.Run(name, func(t *testing.T) {
			const pods = 10
			s := newScene(t, pods, edit...)
			load := startLoad(t, s.address)
			s.patch(t, "web", `{"spec": {"template": `+secondVersion+`}}`)
			kube.Eventually(t, "the rollout is over", func() bool { return s.rolledOut(t, pods) })
			load.end(t)
		})
	}
}

// secondVersion is what replaces all Pods.
const secondVersion = `{"spec": {"containers": [{"name": "echo", "env": [{"name": "VERSION", "value": "2"}]}]}}`

// rolledOut reports whether all Pods of "web" are new, and the old ones gone.
func (s *scene) rolledOut(t *testing.T, pods int) bool {
	t.Helper()
	list, err := s.Client(t).CoreV1().Pods(s.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=web"})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list.Items {
		if !slices.ContainsFunc(p.Spec.Containers[0].Env, func(v corev1.EnvVar) bool { return v.Name == "VERSION" }) {
			return false
		}
	}
	return len(list.Items) == pods && len(s.Endpoints(t, s.namespace, "web", kube.Ready)) == pods
}

func TestNoRequestFailsWhileTheBackendIsSwitched(t *testing.T) {
	s := newScene(t, 3)
	s.Deploy(t, s.namespace, "next", 3)
	s.AwaitReady(t, s.namespace, "next", 3)
	load := startLoad(t, s.address)
	for i := range 20 {
		service := []string{"next", "web"}[i%2]
		s.change(t, `{"spec": {"defaultBackend": {"service": {"name": "`+service+`"}}}}`)
		kube.Eventually(t, service+" serves", func() bool { return load.last() == service })
	}
	load.end(t)
}

// change changes the Ingress.
func (s *scene) change(t *testing.T, patch string) {
	t.Helper()
	ingresses := s.Client(t).NetworkingV1().Ingresses(s.namespace)
	if _, err := ingresses.Patch(t.Context(), "web", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}
