package chaos

import (
	"sync"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/test/albsim"
)

// This file pauses a replica in the middle of a plan, and looks at what it does when it goes on.

// An aim pauses the replica that makes a certain write.
type aim struct {
	mu     sync.Mutex
	left   int            // writes until then; 0 aims at none
	pids   map[string]int // by access key
	hit    string         // the access key of the replica that was paused
	writes map[string]int // by access key
}

// at aims at the n-th write from now on.
func (a *aim) at(n int, pids map[string]int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.left, a.pids, a.hit = n, pids, ""
}

// note counts a write. Its caller is stopped before it is answered, if it is the one aimed at.
func (a *aim) note(c albsim.Call) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.writes == nil {
		a.writes = map[string]int{}
	}
	a.writes[c.By]++
	pid, ours := a.pids[c.By]
	if a.left == 0 || !ours {
		return
	}
	if a.left--; a.left == 0 && syscall.Kill(pid, syscall.SIGSTOP) == nil {
		a.hit = c.By
	}
}

// paused is the access key of the replica that was paused, or "".
func (a *aim) paused() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.hit
}

// written is how many writes a replica has made.
func (a *aim) written(key string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.writes[key]
}

// pauseInPlan changes all Ingresses, pauses the replica that carries that out before it is done,
// and changes them again.
func pauseInPlan(t *testing.T, w *world, _ *replica) {
	t.Helper()
	pids := map[string]int{}
	for _, r := range w.replicas {
		if r.process != nil && !r.paused {
			pids[r.key()] = r.process.PID()
		}
	}
	terms := w.terms(t)
	w.aim.at(1+w.rng.IntN(3), pids)
	w.rerouteAll(t)
	for until := time.Now().Add(3 * time.Second); w.aim.paused() == "" && time.Now().Before(until); {
		time.Sleep(10 * time.Millisecond)
	}
	hit := w.aim.paused()
	w.aim.at(0, nil)
	for _, r := range w.replicas {
		if r.key() == hit && r.process != nil {
			w.note("replica %s is paused in a plan", r.name)
			r.paused, r.term = true, terms
		}
	}
	w.rerouteAll(t)
}

// rerouteAll leads all Ingresses elsewhere.
func (w *world) rerouteAll(t *testing.T) {
	t.Helper()
	for _, name := range w.present() {
		s := w.history.now()[name]
		s.routes = w.drawRoutes()
		w.update(t, name, s)
	}
}

// terms is how often the lease has changed hands.
func (w *world) terms(t *testing.T) (n int) {
	t.Helper()
	var list coordinationv1.LeaseList
	if err := w.List(t.Context(), &list, client.InNamespace(w.namespace)); err != nil {
		t.Fatal(err)
	}
	for _, l := range list.Items {
		if l.Spec.LeaseTransitions != nil {
			n += int(*l.Spec.LeaseTransitions)
		}
	}
	return n
}

// goOn has replicas that are paused go on. Of those that another one has taken the lease of, it
// returns a check that they have changed nothing since.
func (w *world) goOn(t *testing.T) (after func()) {
	t.Helper()
	now := w.terms(t)
	before := map[*replica]int{}
	for _, r := range w.replicas {
		if r.paused {
			w.note("replica %s goes on", r.name)
			if now > r.term {
				before[r] = w.aim.written(r.key())
			}
			r.resume(t)
		}
	}
	return func() {
		t.Helper()
		if w.terms(t) != now {
			return // the lease has changed hands again
		}
		for r, n := range before {
			if more := w.aim.written(r.key()) - n; more > 0 {
				t.Errorf("replica %s had lost the lease while it was paused, and has made %d writes when it went on", r.name, more)
			}
		}
	}
}
