package targets

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/model/lb"
)

// This file changes objects that decide about targets.

// A watcher takes the groups that the watches of a reconciler enqueue.
type watcher struct {
	t    *testing.T
	from *informertest.FakeInformers
	q    queue.Queue[lb.GroupKey]
}

// watching starts the watches of a reconciler.
func watching(t *testing.T, r *Reconciler) watcher {
	t.Helper()
	w := watcher{t, &informertest.FakeInformers{}, workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[lb.GroupKey]())}
	t.Cleanup(w.q.ShutDown)
	for _, s := range r.Sources(w.from) {
		if err := s.Start(t.Context(), w.q); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // the informers have no lock
	}
	return w
}

// enqueued returns the groups that wait.
func (w watcher) enqueued() string {
	synctest.Wait()
	var out []lb.GroupKey
	for w.q.Len() > 0 {
		k, _ := w.q.Get()
		w.q.Done(k)
		out = append(out, k)
	}
	return named(out)
}

// updates tells a watch of a change, and returns the groups that wait then.
func (w watcher) updates(before, after client.Object) string {
	w.t.Helper()
	informer, err := w.from.FakeInformerFor(w.t.Context(), before)
	if err != nil {
		w.t.Fatal(err)
	}
	informer.Update(before, after)
	return w.enqueued()
}

// A change of an EndpointSlice, of a Service or of a Pod has the groups of its Service reconciled,
// and their changes measured. A group that is new is reconciled, too.
func TestAChangeReconcilesItsGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTrial(t, interceptor.Funcs{})
		c.pods([]int{1}, nil)
		w := watching(t, c.Reconciler)
		c.Book.Track(t.Context(), key, v1alpha1.LoadBalancerClassSpec{}, lb.Capabilities{}, observed(
			groupOf("a", "web", v1alpha1.TargetTypeIP), groupOf("b", "web", v1alpha1.TargetTypeIP), groupOf("c", "api", v1alpha1.TargetTypeIP)))
		if got := w.enqueued(); got != "a b c" {
			t.Errorf("new are %q", got)
		}
		meta := metav1.ObjectMeta{Namespace: "shop", Name: "web", ResourceVersion: "1", Generation: 1}
		slice := &discoveryv1.EndpointSlice{ObjectMeta: *meta.DeepCopy()}
		slice.Labels = map[string]string{discoveryv1.LabelServiceName: "web"}
		next := slice.DeepCopy()
		next.ResourceVersion = "2"
		if got := w.updates(slice, next); got != "a b" {
			t.Errorf("a change of an EndpointSlice reconciles %q", got)
		}
		service := &corev1.Service{ObjectMeta: *meta.DeepCopy()}
		changed := service.DeepCopy()
		changed.Spec.Type = corev1.ServiceTypeNodePort
		changed.Generation, changed.ResourceVersion = 2, "2"
		if got := w.updates(service, changed); got != "a b" {
			t.Errorf("a change of a Service reconciles %q", got)
		}
		time.Sleep(time.Second)
		if got := c.Backlog.Oldest(); got != time.Second {
			t.Errorf("the oldest change is %s old", got)
		}
	})
}

// A change of a Pod matters where it may be another target: by its address, its readiness gate, its
// end, or as another Pod of the same name.
func TestChangesOfPodsThatMatter(t *testing.T) {
	gated := func(p *corev1.Pod) {
		p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: v1alpha1.TargetHealthGate}}
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.ContainersReady, Status: corev1.ConditionTrue}}
	}
	synctest.Test(t, func(t *testing.T) {
		c := newTrial(t, interceptor.Funcs{})
		c.pods([]int{1}, nil)
		w := watching(t, c.Reconciler)
		c.track(lb.Capabilities{}, v1alpha1.TargetTypeIP)
		w.enqueued()
		for name, c := range map[string]struct {
			change  func(*corev1.Pod)
			matters bool
		}{
			"its labels":        {func(p *corev1.Pod) { p.Labels = map[string]string{"a": "b"} }, false},
			"its address":       {func(p *corev1.Pod) { p.Status.PodIPs = []corev1.PodIP{{IP: "10.0.0.2"}} }, true},
			"another address":   {func(p *corev1.Pod) { p.Status.PodIPs = append(p.Status.PodIPs, corev1.PodIP{IP: "fd00::1"}) }, true},
			"its end":           {func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, true},
			"it is another one": {func(p *corev1.Pod) { p.UID = "2" }, true},
			"its gate":          {gated, true},
		} {
			before := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1-1", UID: "1"}}
			before.Status.PodIPs = []corev1.PodIP{{IP: "10.0.0.1"}}
			after := before.DeepCopy()
			c.change(after)
			if got := w.updates(before, after); (got != "") != c.matters {
				t.Errorf("a change of %s reconciles %q", name, got)
			}
		}
	})
}

// A Pod whose Services cannot be read reconciles nothing: the cache has ended.
func TestAPodWithoutACacheReconcilesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTrial(t, interceptor.Funcs{List: failing(errors.New("the cache has ended"))})
		w := watching(t, c.Reconciler)
		c.track(lb.Capabilities{}, v1alpha1.TargetTypeIP)
		w.enqueued()
		if got := w.updates(&corev1.Pod{}, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "2"}}); got != "" {
			t.Errorf("it reconciles %q", got)
		}
	})
}

// Nodes are watched once a group has them for targets. A change of an address or of a label
// reconciles these groups.
func TestNodesAreWatchedOnceTheyAreTargets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTrial(t, interceptor.Funcs{})
		w := watching(t, c.Reconciler)
		before := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}
		after := before.DeepCopy()
		after.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.1"}}
		if got := w.updates(before, after); got != "" {
			t.Errorf("without groups it reconciles %q", got)
		}
		c.Book.Track(t.Context(), key, v1alpha1.LoadBalancerClassSpec{}, lb.Capabilities{}, observed(
			groupOf("a", "web", v1alpha1.TargetTypeInstance), groupOf("b", "web", v1alpha1.TargetTypeIP)))
		if got := w.enqueued(); got != "a b" {
			t.Errorf("new are %q", got)
		}
		if got := w.updates(before, after); got != "a" {
			t.Errorf("a change of a Node reconciles %q", got)
		}
		labelled := after.DeepCopy()
		labelled.Labels = map[string]string{"pool": "web"}
		if got := w.updates(after, labelled); got != "a" {
			t.Errorf("a label of a Node reconciles %q", got)
		}
		alive := labelled.DeepCopy()
		alive.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeDiskPressure}}
		if got := w.updates(labelled, alive); got != "" {
			t.Errorf("a sign of life of a Node reconciles %q", got)
		}
	})
}
