package operator

import (
	"slices"
	"syscall"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/test/kube"
)

// This file has a process lead, lose its lease, and lead again after another one has taken
// everything away.

// What a process knew of the account in its first term is gone in its second: the shared security
// group and the port of the nodes were deleted meanwhile, and are made again.
func TestATermUsesNothingOfTheTermBefore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulated(t))
	w.flags = []string{
		"--aws-cluster-name=" + w.name, "--leader-elect", "--leader-elect-namespace=" + w.namespace,
		"--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s",
	}
	w.serve(t, "web", "10.0.0.10")
	w.ask(t, path("/", "web"))
	w.replace(t)
	served := func() bool {
		return w.balancer(t) != nil && w.hostname(t, "shop") != "" && slices.Equal(w.targets(t, "web"), []string{"10.0.0.10:8080"})
	}
	kube.Eventually(t, "the Ingress is served", served)
	w.expectFenced(t, *w.balancer(t))

	first := w.replica
	if err := syscall.Kill(first.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(first.PID(), syscall.SIGCONT) }) // it is ended later, and does not end while it is stopped
	w.replica = nil                                                      // which would be killed
	w.delete(t, &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "shop"}})
	w.replace(t)
	kube.Eventually(t, "the second one takes all away", func() bool { return w.ingresses(t) == 0 && w.empty(t) })
	if left := w.admitted(t, w.nodes); len(left) > 0 {
		t.Fatalf("the nodes still admit %v", left)
	}

	w.replica.Kill()
	if err := syscall.Kill(first.PID(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	w.replica = first
	w.ask(t, path("/", "web"))
	kube.Eventually(t, "the first one serves it again", func() bool { return served() && len(w.admitted(t, w.nodes)) > 0 })
	w.expectFenced(t, *w.balancer(t))
	if err := syscall.Kill(first.PID(), 0); err != nil {
		t.Errorf("the first one is no more: %s", err)
	}
}
