package controllers

import (
	"sync"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"fairlead.dev/fairlead/controllers/cluster"
)

// This file knows what this operator has written on Ingresses: what somebody else changes there is
// written again, and what it writes itself is no news.

// marks are those on all Ingresses, as they were last written or found right.
type marks struct {
	mu sync.Mutex
	of map[string]mark // by namespace/name
}

// A mark is what an Ingress that is held has of us besides the finalizer.
type mark struct {
	published bool
	entries   []networkingv1.IngressLoadBalancerIngress
	repaired  time.Time // when these entries were last written over somebody else's
}

// repairEvery is how often a status is written over somebody else's: two who want it differently
// would go on as fast as they can.
const repairEvery = 10 * time.Second

// hold notes that an Ingress has our finalizer.
func (m *marks) hold(ing string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of == nil {
		m.of = map[string]mark{}
	}
	if _, held := m.of[ing]; !held {
		m.of[ing] = mark{}
	}
}

// publish notes the status of an Ingress that is held.
func (m *marks) publish(ing string, entries []networkingv1.IngressLoadBalancerIngress) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known, held := m.of[ing]
	if held && !(known.published && equality.Semantic.DeepEqual(known.entries, entries)) {
		m.of[ing] = mark{published: true, entries: entries}
	}
}

// unpublish notes that the status of an Ingress is not ours to keep right any more.
func (m *marks) unpublish(ing string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, held := m.of[ing]; held {
		m.of[ing] = mark{}
	}
}

// repair reports whether a status that was published may be written again now.
func (m *marks) repair(ing string, entries []networkingv1.IngressLoadBalancerIngress) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.of[ing]
	again := known.published && equality.Semantic.DeepEqual(known.entries, entries)
	if again && time.Since(known.repaired) < repairEvery {
		return false
	}
	if again {
		known.repaired = time.Now()
		m.of[ing] = known
	}
	return true
}

// letGo notes that an Ingress is not ours any more.
func (m *marks) letGo(ing string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.of, ing)
}

// defaced reports whether somebody else has changed what was written on an Ingress.
func (m *marks) defaced(ing *networkingv1.Ingress) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	known, held := m.of[cluster.RefOf(cluster.KindIngress, ing).String()]
	return held && (!controllerutil.ContainsFinalizer(ing, finalizer) ||
		known.published && !equality.Semantic.DeepEqual(ing.Status.LoadBalancer.Ingress, known.entries))
}

// asksForMore, for Ingresses, is that of all of them, and that what was written on one is not there.
func (r *reconciler) asksForMore(before, after client.Object) bool {
	return asksForMore(before, after) || r.marks.defaced(after.(*networkingv1.Ingress))
}
