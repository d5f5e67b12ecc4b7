package rollout

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/test/kube"
)

// This file replaces Pods behind a load balancer that takes its time to get to know a new target:
// for warmUp it sends none any requests. Kubernetes knows nothing of that, unless the Pods have a
// gate.

const warmUp = 4 * time.Second

// slow are the flags of an operator whose load balancers are. It runs beside the one that tests
// share.
func slow(more ...string) []string {
	return append([]string{
		"--provider=fake", "--fake-addresses=10.244.254.0/24", "--fake-warm-up=" + warmUp.String(), "--readiness-gates",
		"--metrics-bind-address=0", "--health-probe-bind-address=0",
	}, more...)
}

// gated has Pods ready once load balancers find them healthy.
func gated(pod *corev1.PodSpec) {
	pod.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: v1alpha1.TargetHealthGate}}
}

// allAtOnce replaces Pods as quickly as it goes: all new ones come, and once they are ready all old
// ones go.
const allAtOnce = `"strategy": {"rollingUpdate": {"maxSurge": "100%", "maxUnavailable": 0}}`

func TestARolloutWaitsForALoadBalancerThatIsSlow(t *testing.T) {
	t.Parallel()
	c := kube.Start(t, kube.Options{Pods: true, Controllers: kube.Alive.Controllers, Operator: slow()})
	cases := map[string]struct {
		edit     []func(*corev1.PodSpec)
		strategy string
		fails    bool
	}{
		"without a gate it fails requests, so that this shows something": {nil, allAtOnce, true},
		"all at once": {[]func(*corev1.PodSpec){gated}, allAtOnce, false},
		"as Deployments do unless they are told otherwise": {[]func(*corev1.PodSpec){gated}, `"paused": false`, false},
	}
	for name, rollout := range cases {
		t.Run(name, func(t *testing.T) {
			const pods = 4
			s := newSceneIn(t, c, pods, rollout.edit...)
			s.warm(t)
			load := startLoad(t, s.address)
			began := time.Now()
			s.patch(t, "web", `{"spec": {`+rollout.strategy+`, "template": `+secondVersion+`}}`)
			kube.Eventually(t, "the rollout is over", func() bool { return s.rolledOut(t, pods) })
			t.Logf("the rollout took %s", time.Since(began).Round(time.Millisecond))
			if !rollout.fails {
				load.end(t)
				return
			}
			kube.Eventually(t, "the new Pods serve", func() bool { return load.last() != "" })
			load.stop()
			if len(load.wrong) == 0 {
				t.Error("no request failed: then the gate is of no use here")
			}
			t.Logf("%d requests of %d failed", len(load.wrong), load.asked)
		})
	}
}

func TestARolloutGoesOnWhereTheOperatorDied(t *testing.T) {
	t.Parallel()
	c := kube.Start(t, kube.Options{Pods: true, Controllers: kube.Alive.Controllers})
	flags := slow("--fake-state=" + t.TempDir() + "/cloud.json")
	operator := c.StartReplica(t, flags...)
	const pods = 2
	s := newSceneIn(t, c, pods, gated)
	s.warm(t)
	before := s.pods(t)
	s.patch(t, "web", `{"spec": {`+allAtOnce+`, "template": `+secondVersion+`}}`)
	kube.Eventually(t, "the new Pods are there", func() bool { return len(s.pods(t)) == 2*pods })
	operator.Kill()

	// Nobody finds the new Pods healthy, so the old ones stay.
	time.Sleep(2 * warmUp)
	now := s.pods(t)
	for _, old := range before {
		if !slices.Contains(now, old) {
			t.Errorf("%s is gone, and nobody has taken its place", old)
		}
	}
	c.StartReplica(t, flags...)
	kube.Eventually(t, "the rollout is over", func() bool { return s.rolledOut(t, pods) })
	for _, p := range s.pods(t) {
		if got := s.gate(t, p); got.Status != corev1.ConditionTrue || got.Reason != v1alpha1.ReasonHealthy {
			t.Errorf("%s became ready for another reason: %+v", p, got)
		}
	}
}

// TestTheGuideIsRight applies the example of docs/how-to/rollouts.md.
func TestTheGuideIsRight(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/how-to/rollouts.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\n```yaml\n")
	example, _, _ := strings.Cut(rest, "\n```\n")
	c := kube.Start(t, kube.Options{Pods: true, Controllers: kube.Alive.Controllers, Operator: slow()})
	s := &scene{Cluster: c, namespace: c.Namespace(t)}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.OperatorLog())
		}
	})
	api, err := client.New(c.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for part := range strings.SplitSeq(example, "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict([]byte(part), &o.Object); err != nil {
			t.Fatal(err)
		}
		o.SetNamespace(s.namespace)
		if err := api.Create(t.Context(), o, client.FieldValidation(metav1.FieldValidationStrict)); err != nil {
			t.Fatalf("creating %s %s: %s", o.GetKind(), o.GetName(), err)
		}
	}
	s.address = s.Address(t, s.namespace, "shop")
	s.warm(t)
	s.AwaitReady(t, s.namespace, "shop", 3)
	for _, p := range s.pods(t) {
		if got := s.gate(t, p); got.Reason != v1alpha1.ReasonHealthy {
			t.Errorf("%s became ready for another reason: %+v", p, got)
		}
	}
}

// warm waits until the load balancer knows a Pod.
func (s *scene) warm(t *testing.T) {
	t.Helper()
	kube.Eventually(t, "requests are answered", func() bool {
		_, err := get(&http.Transport{DisableKeepAlives: true}, "http://"+s.address+"/")
		return err == nil
	})
}

// gate is what is said of a Pod's gate.
func (s *scene) gate(t *testing.T, pod string) corev1.PodCondition {
	t.Helper()
	stored, err := s.Client(t).CoreV1().Pods(s.namespace).Get(t.Context(), pod, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range stored.Status.Conditions {
		if c.Type == v1alpha1.TargetHealthGate {
			return c
		}
	}
	return corev1.PodCondition{}
}
