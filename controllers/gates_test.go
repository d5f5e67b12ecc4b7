package controllers_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/test/kube"
)

// This file is about Pods that are ready once load balancers find them healthy. What kubelet and
// the controllers of Kubernetes do with the condition, test/rollout shows.

// withGates has an operator keep gates, for as long as a test likes.
func withGates(timeout time.Duration) func(*settings) {
	return func(s *settings) { s.operator.ReadinessGates, s.operator.ReadinessTimeout = true, timeout }
}

// gated starts a Pod that declares the gate, whose containers are ready, and its endpoint, which is
// not.
func (w *world) gated(service, name string) *discoveryv1.EndpointSlice {
	w.Helper()
	slice := w.endpoint(service, name)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name, Labels: map[string]string{"app": service}},
		Spec: corev1.PodSpec{
			Containers:     []corev1.Container{{Name: "echo", Image: "echo.test/echo"}},
			ReadinessGates: []corev1.PodReadinessGate{{ConditionType: v1alpha1.TargetHealthGate}},
		},
	}
	w.create(pod)
	ip := slice.Endpoints[0].Addresses[0]
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}},
		Conditions: []corev1.PodCondition{{Type: corev1.ContainersReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}},
	}
	if err := w.Status().Update(w.Context(), pod); err != nil {
		w.Fatal(err)
	}
	slice.Endpoints[0].Conditions.Ready = new(false)
	slice.Endpoints[0].TargetRef = &corev1.ObjectReference{Kind: "Pod", Namespace: w.namespace, Name: name, UID: pod.UID}
	w.create(slice)
	return slice
}

// gateOf is what is said of a Pod's gate; empty if nothing is.
func (w *world) gateOf(pod string) corev1.PodCondition {
	w.Helper()
	p := &corev1.Pod{}
	if err := w.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: pod}, p); err != nil {
		w.Fatal(err)
	}
	if at := slices.IndexFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == v1alpha1.TargetHealthGate }); at >= 0 {
		return p.Status.Conditions[at]
	}
	return corev1.PodCondition{}
}

// opened waits until a Pod's gate is open, for a reason.
func (w *world) opened(pod, reason string) {
	w.Helper()
	w.eventually(func() error {
		c := w.gateOf(pod)
		if c.Status == corev1.ConditionTrue && c.Reason != reason {
			w.Fatalf("the gate of %s is open: %s: %s", pod, c.Reason, c.Message)
		}
		return noError(c.Status == corev1.ConditionTrue, "the gate of %s is %q: %s", pod, c.Status, c.Message)
	})
}

// staysShut checks that a Pod's gate is not opened for so long.
func (w *world) staysShut(pod string, long time.Duration) {
	w.Helper()
	for end := time.Now().Add(long); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if c := w.gateOf(pod); c.Status == corev1.ConditionTrue {
			w.Fatalf("the gate of %s is open: %s: %s", pod, c.Reason, c.Message)
		}
	}
}

// says has the cloud say that the targets of load balancers with such a name are in a state.
func (m *meter) says(of, state string) {
	m.sick.Store(new(func(key lb.Key, healths []lb.TargetHealth) {
		for i := range healths {
			if strings.Contains(string(key), of) {
				healths[i].State = lb.HealthState(state)
			}
		}
	}))
}

func TestAPodIsReadyOnceItIsHealthyWhereverItIsATarget(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, kube.Shared(t))
	w.run(withGates(0))
	w.cloud.says("", "initial")
	w.serve("web")
	slice := w.gated("web", "web-1")
	w.create(w.ask("one", "one.example", "/", "web"), w.ask("two", "two.example", "/", "web"))
	w.answers("one", "http://one.example/", "web-1") // it is a target, though it is not ready
	w.answers("two", "http://two.example/", "web-1")
	w.staysShut("web-1", time.Second)
	w.cloud.says("two", "unused")
	w.staysShut("web-1", 2*time.Second)
	w.eventually(func() error {
		said := w.gateOf("web-1")
		return noError(strings.HasSuffix(said.Message, "/two/internal: unused"), "what it waits for is said to be %q", said.Message)
	})
	w.cloud.sick.Store(nil)
	w.opened("web-1", v1alpha1.ReasonHealthy)

	// Nobody asks any more, whatever becomes of it; and that its endpoint follows changes nothing.
	w.calm()
	asked, writes := w.cloud.asked.Load(), w.cloud.writes.Load()
	w.cloud.says("", "unhealthy")
	slice.Endpoints[0].Conditions.Ready = new(true)
	if err := w.Update(t.Context(), slice); err != nil {
		t.Fatal(err)
	}
	w.calm()
	if c := w.gateOf("web-1"); c.Status != corev1.ConditionTrue {
		t.Errorf("the gate was shut again: %+v", c)
	}
	if more := w.cloud.asked.Load() - asked; more > 0 {
		t.Errorf("the cloud was asked %d times how a Pod is that waits for nobody", more)
	}
	if more := w.cloud.writes.Load() - writes; more > 0 {
		t.Errorf("%d writes to the cloud, where nothing had changed", more)
	}
}

func TestPodsThatWaitTogetherShareAnAnswer(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, kube.Shared(t))
	w.run(withGates(0))
	w.cloud.says("", "initial")
	w.serve("web")
	w.create(w.ask("shop", "shop.example", "/", "web"))
	pods := []string{"web-1", "web-2", "web-3", "web-4", "web-5", "web-6"}
	for _, p := range pods {
		w.gated("web", p)
	}
	w.answers("shop", "http://shop.example/", "web-1")
	w.calm()
	asked, since := w.cloud.asked.Load(), time.Now()
	for _, p := range pods {
		w.staysShut(p, 500*time.Millisecond)
	}
	if n, most := w.cloud.asked.Load()-asked, int32(time.Since(since)/time.Second)+1; n > most {
		t.Errorf("the cloud was asked %d times, where %d would do for all", n, most)
	}
	w.cloud.sick.Store(nil)
	for _, p := range pods {
		w.opened(p, v1alpha1.ReasonHealthy)
	}
}

func TestAPodThatNobodyServesDoesNotWait(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, kube.Shared(t))
	w.run(withGates(0))
	w.serve("alone") // which no Ingress names
	w.gated("alone", "alone-1")
	w.create(&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "nodes"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 80}}},
	})
	byNodes := w.ask("nodes", "nodes.example", "/", "nodes")
	byNodes.Annotations["fairlead.dev/target-type"] = "instance"
	w.create(byNodes)
	w.gated("nodes", "nodes-1")
	bad := w.ask("bad", "bad.example", "/", "bad") // which is refused
	bad.Annotations["fairlead.dev/health-check-path"] = "not a path"
	w.serve("bad")
	w.create(bad)
	w.gated("bad", "bad-1")
	for _, pod := range []string{"alone-1", "nodes-1", "bad-1"} {
		w.opened(pod, v1alpha1.ReasonNotServed)
	}
}

func TestAPodDoesNotWaitForEver(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, kube.Shared(t))
	w.run(withGates(4 * time.Second))
	w.cloud.says("", "unhealthy")
	w.serve("web")
	w.create(w.ask("shop", "shop.example", "/", "web"))
	w.gated("web", "web-1")
	w.staysShut("web-1", 2*time.Second)
	w.opened("web-1", v1alpha1.ReasonTimedOut)
	told := w.eventOf("Pod", "web-1", v1alpha1.ReasonTimedOut)
	if told.Type != corev1.EventTypeWarning || !strings.Contains(told.Note, "/shop/internal: unhealthy") {
		t.Errorf("its owner is told %s: %s", told.Type, told.Note)
	}
}

func TestAGateOutlivesTheOperator(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, kube.Shared(t))
	w.run(withGates(0))
	w.cloud.says("", "initial")
	w.serve("web")
	w.create(w.ask("shop", "shop.example", "/", "web"))
	w.gated("web", "web-1")
	w.answers("shop", "http://shop.example/", "web-1")

	// While nobody looks after it, a Pod waits.
	w.stop()
	w.gated("web", "web-2")
	w.staysShut("web-1", time.Second)

	// The next operator knows nothing of load balancers before the cloud has answered.
	w.cloud.mute.Store(new(errors.New("timeout")))
	w.run(withGates(0))
	w.staysShut("web-1", 5*time.Second)
	w.staysShut("web-2", time.Second)
	w.cloud.mute.Store(nil)
	w.answers("shop", "http://shop.example/", "web-2")
	w.staysShut("web-2", time.Second)
	w.cloud.sick.Store(nil)
	w.opened("web-1", v1alpha1.ReasonHealthy)
	w.opened("web-2", v1alpha1.ReasonHealthy)
}

func TestAPodWhoseContainersFailLeavesBeforeItIsReady(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, kube.Shared(t))
	w.run(withGates(0))
	w.cloud.says("", "initial")
	w.serve("web", "web-0")
	w.create(w.ask("shop", "shop.example", "/", "web"))
	w.gated("web", "web-1")
	w.answers("shop", "http://shop.example/", "web-1")
	pod := &corev1.Pod{}
	if err := w.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "web-1"}, pod); err != nil {
		t.Fatal(err)
	}
	pod.Status.Conditions[0].Status = corev1.ConditionFalse
	if err := w.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	at := w.address("shop")
	w.eventually(func() error {
		for range 10 {
			if err := w.request(at, "http://shop.example/", "web-0"); err != nil {
				return err
			}
		}
		return nil
	})
}

func TestWithoutGatesAPodIsNoTargetBeforeItIsReady(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, kube.Shared(t))
	w.run()
	w.serve("web", "web-0")
	w.create(w.ask("shop", "shop.example", "/", "web"))
	w.gated("web", "web-1")
	w.answers("shop", "http://shop.example/", "web-0")
	w.calm()
	w.answers("shop", "http://shop.example/", "web-0")
	w.answers("shop", "http://shop.example/", "web-0")
	w.staysShut("web-1", time.Second)
}
