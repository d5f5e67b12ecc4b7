package controllers_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/dialect/alb"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
)

// This file has several bindings of a target group. What Fairlead has registered is in the record of one of them until
// it is deregistered.

// slow answers questions about target groups of others after a while, as AWS does.
type slow struct {
	providers.Provider
	looks *sync.RWMutex
}

func (s slow) Lookup(ctx context.Context, q lb.Questions) (lb.Facts, error) {
	if len(q.TargetGroups) > 0 {
		s.looks.RLock()
		time.Sleep(300 * time.Millisecond)
		s.looks.RUnlock()
	}
	return s.Provider.Lookup(ctx, q)
}

// newSlow is a world with a slow cloud, in which targets of bindings that have vanished stay for a while.
func newSlow(t *testing.T) bound {
	w := newBound(t)
	w.define()
	w.slowly()
	w.permit("arn:*")
	w.serve("web", "web-1", "web-2")
	return w
}

func (w bound) slowly() {
	w.run(func(s *settings) { s.operator.Cloud, s.operator.VanishedGrace = slow{w.cloud, w.looks}, 10*time.Second })
}

// giveAway gives a binding the label of those that the other controller made for itself.
func (w bound) giveAway(name string) {
	w.rebind(name, func(b *alb.TargetGroupBinding) { b.Labels = map[string]string{"ingress.k8s.aws/stack": "x"} })
}

// released waits until a binding has no finalizer.
func (w bound) released(name string) {
	w.Helper()
	w.eventually(func() error {
		b, err := w.binding(name)
		return cmpError(err, noError(len(b.Finalizers) == 0, "the finalizers of %s are %q", name, b.Finalizers))
	})
}

// recorded waits until a number of targets are in the records of bindings.
func (w bound) recorded(want int) {
	w.Helper()
	w.eventually(func() error {
		n := 0
		for _, r := range w.records() {
			if b := r.Status.Memory.Binding; b != nil {
				n += len(strings.Fields(b.Targets))
			}
		}
		return noError(n == want, "%d targets are recorded, want %d", n, want)
	})
}

// A binding that leaves takes its targets with it, though another one was accepted for the target group: that one has
// registered nothing, and leaves first.
func TestABindingBesideOneThatHasRegisteredNothing(t *testing.T) {
	t.Parallel()
	w := newSlow(t)
	w.bind("a", "web", blue)
	w.has(blue, 2)
	w.says("a", "Served", string(blue))
	w.bind("b", "none", blue)
	w.says("b", string(diag.BindingConflict), "came first")
	w.giveAway("a")
	w.says("b", "Served", string(blue))
	w.remove("b")
	w.remove("a")
	w.has(blue, 0)
}

// A binding of the same Service takes the targets over: they stay when the first one leaves, and go with the second.
func TestABindingTakesTargetsOver(t *testing.T) {
	t.Parallel()
	w := newSlow(t)
	w.bind("a", "web", blue)
	w.has(blue, 2)
	w.bind("b", "web", blue)
	w.says("b", string(diag.BindingConflict), "came first")
	w.giveAway("a")
	w.says("b", "Served", string(blue))
	w.released("a")
	w.recorded(2)
	w.calm()
	w.has(blue, 2)
	w.remove("b")
	w.has(blue, 0)

	// The other controller has registered them.
	w.bind("c", "web", green)
	w.has(green, 2)
	w.stop()
	w.force("c")
	for _, left := range w.records() {
		if err := w.Delete(t.Context(), &left); err != nil {
			t.Fatal(err)
		}
	}
	w.slowly()
	w.bind("d", "web", green)
	w.recorded(2)
	w.has(green, 2)
	w.remove("d")
	w.has(green, 0)
}

// force deletes a binding, and removes its finalizer by hand, before the operator has released it.
func (w bound) force(name string) {
	w.Helper()
	w.looks.Lock()
	defer w.looks.Unlock()
	if err := w.Delete(w.Context(), &alb.TargetGroupBinding{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}); err != nil {
		w.Fatal(err)
	}
	w.rebind(name, func(b *alb.TargetGroupBinding) { b.Finalizers = nil })
}

// A binding leaves nothing behind beside the record of one that has vanished, whose targets stay for a grace.
func TestABindingBesideOneThatHasVanished(t *testing.T) {
	t.Parallel()
	w := newSlow(t)
	w.serve("api", "api-1")
	w.bind("a", "web", blue)
	w.has(blue, 2)
	w.force("a")
	w.eventOf("TargetGroupBinding", "a", string(diag.Vanished))
	w.bind("b", "api", blue)
	w.has(blue, 1)
	w.says("b", "Served", string(blue))
	w.remove("b")
	w.has(blue, 0)
	w.recorded(0)
	w.eventually(func() error { return noError(len(w.records()) == 0, "%d records are left", len(w.records())) })
}

// A binding that names its target group has another one wait that has the ARN, until it is deleted.
func TestABindingWaitsForOneThatNamesTheTargetGroup(t *testing.T) {
	t.Parallel()
	w := newSlow(t)
	w.permit(string(blue))
	w.serve("api", "api-1")
	w.bind("a", "web", "", func(b *alb.TargetGroupBinding) { b.Spec.TargetGroupName = "nodes-blue" })
	w.has(blue, 2)
	w.bind("b", "api", blue)
	w.says("b", string(diag.BindingConflict), "came first")
	w.remove("a")
	w.has(blue, 1)
}
