package operator

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/kube"
)

// This file has the leader paused in the middle of a plan, as a node that is overloaded or a
// machine that is moved does, for longer than its lease lasts.

// A leader that is paused changes nothing when it goes on. The one that took over has changed the
// routes meanwhile: what was under way in the old one would lead hosts to other Services.
func TestAPausedLeaderChangesNothingWhenItGoesOn(t *testing.T) {
	t.Parallel()
	const n = 10
	w := newWorld(t, simulating(t, albsim.Options{Linger: time.Second, Health: time.Second}))
	w.flags = []string{
		"--leader-elect", "--leader-elect-namespace=" + w.namespace, "--aws-rates=modify=1/1",
		"--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s",
	}
	w.begin(t)
	w.siteBySite(t, n)
	kube.Eventually(t, "all are served", func() bool { return w.served(t, n, n) && w.proxy.quiet() > rest })
	host := w.hostname(t, site(0))

	// Each Ingress goes to the Service of the next one, and a rule a second is changed.
	w.proxy.forget()
	for i := range n {
		w.point(t, site(i), backend((i+1)%n))
	}
	modified := func() int { return w.proxy.count("ModifyRule") }
	kube.Eventually(t, "the leader is at work", func() bool { return modified() >= 2 })
	old := w.replica.PID()
	if err := syscall.Kill(old, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(old, syscall.SIGCONT) }) // it is ended later, and does not end while it is stopped
	if modified() >= n {
		t.Fatal("the plan was done before the leader was paused")
	}

	// Another one takes over, and the routes go back to where they were.
	paused := w.proxy
	w.proxy = newProxy(t, w.account.url)
	w.flags = w.flags[:2:2]
	w.flags = append(w.flags, "--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s")
	for i := range n {
		w.point(t, site(i), backend(i))
	}
	w.replica = nil // which would be killed
	w.replace(t)
	right := func() (wrong []string) {
		l := w.listening(t, host)
		for i := range n {
			r := request{port: 80, host: site(i) + ".example.com", path: "/api"}
			if got := l.answer(r); !strings.HasPrefix(got, fmt.Sprintf("10.0.%d.", 110+i)) {
				wrong = append(wrong, fmt.Sprintf("%s is answered by %s", r.host, got))
			}
		}
		return wrong
	}
	kube.Eventually(t, "the one that took over has made all right", func() bool { return len(right()) == 0 && w.proxy.quiet() > rest })

	paused.forget()
	if err := syscall.Kill(old, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	time.Sleep(8 * time.Second) // longer than it takes to find out that the lease is lost
	if _, writes, which := paused.cost(); writes > 0 {
		t.Errorf("the one that was paused has made %d changes: %s", writes, which)
	}
	if wrong := right(); len(wrong) > 0 {
		t.Errorf("after that %s", strings.Join(wrong, ", "))
	}
}
