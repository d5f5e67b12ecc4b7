package operator

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/kube"
)

// This file is about Pods that are ready once an ALB finds them healthy, and what it costs to find
// out.

func TestAPodIsReadyOnceAWSFindsItHealthy(t *testing.T) {
	t.Parallel()
	const health = 6 * time.Second
	w := newWorld(t, simulating(t, albsim.Options{Health: health}))
	w.flags = []string{"--readiness-gates"}
	w.serve(t, "web", "10.0.0.10")
	w.ask(t, path("/", "web"))
	w.replace(t)
	kube.Eventually(t, "the Ingress is served", func() bool { return w.hostname(t, "shop") != "" })

	// One more Pod comes.
	w.proxy.forget()
	began := time.Now()
	more := w.endpoints(t, "web", w.gated(t, "web-1", "10.0.0.11"))
	more.Name = "web-1"
	more.Endpoints[0].Conditions.Ready = new(false)
	more.Endpoints[0].TargetRef = &corev1.ObjectReference{Kind: "Pod", Namespace: w.namespace, Name: "web-1"}
	w.create(t, more)
	kube.Eventually(t, "the Pod is a target", func() bool { return slices.Contains(w.targets(t, "web"), "10.0.0.11:8080") })
	w.opened(t, "web-1", v1alpha1.ReasonHealthy)
	if took := time.Since(began); took < health {
		t.Errorf("its gate was open after %s, and AWS takes %s to check a target", took, health)
	}

	asked, registered := w.proxy.times("DescribeTargetHealth"), w.proxy.times("RegisterTargets")
	if most := int(time.Since(began)/time.Second) + 2; asked > most || registered != 1 {
		t.Errorf("%d calls ask how it is, want at most %d; %d register it", asked, most, registered)
	}
	time.Sleep(2 * time.Second)
	if again := w.proxy.times("DescribeTargetHealth"); again != asked {
		t.Errorf("%d calls ask how a Pod is that waits for nobody", again-asked)
	}

	w.gated(t, "alone", "10.0.0.12")
	w.opened(t, "alone", v1alpha1.ReasonNotServed)
}

// times is how often there was a call.
func (p *proxy) times(operation string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls[operation]
}

// gated makes a Pod that declares the gate, and whose containers are ready.
func (w *world) gated(t *testing.T, name, address string) string {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
		Spec: corev1.PodSpec{
			Containers:     []corev1.Container{{Name: "echo", Image: "echo.test/echo"}},
			ReadinessGates: []corev1.PodReadinessGate{{ConditionType: v1alpha1.TargetHealthGate}},
		},
	}
	w.create(t, pod)
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: address, PodIPs: []corev1.PodIP{{IP: address}},
		Conditions: []corev1.PodCondition{{Type: corev1.ContainersReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}},
	}
	if err := w.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	return address
}

// opened waits until a Pod's gate is open, for a reason.
func (w *world) opened(t *testing.T, pod, reason string) {
	t.Helper()
	kube.Eventually(t, "the gate of "+pod+" is open", func() bool {
		stored := &corev1.Pod{}
		if err := w.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: pod}, stored); err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(stored.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == v1alpha1.TargetHealthGate })
		if at < 0 || stored.Status.Conditions[at].Status != corev1.ConditionTrue {
			return false
		}
		if got := stored.Status.Conditions[at]; got.Reason != reason {
			t.Errorf("the gate of %s is open: %s: %s; want the reason %s", pod, got.Reason, got.Message, reason)
		}
		return true
	})
}
