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

// This file remembers what this operator has written on Ingresses: a change by another writer is
// undone, and one of its own triggers no reconcile.

// writtenStatus holds the status of each Ingress as it was last written, or found right.
type writtenStatus struct {
	mu sync.Mutex
	of map[string]mark // by namespace/name
}

// A mark is the status of an Ingress with our finalizer.
type mark struct {
	published bool
	entries   []networkingv1.IngressLoadBalancerIngress
	repaired  time.Time // when these entries were last written over those of another writer
}

// repairEvery is how often a status is written over that of another writer at most.
const repairEvery = 10 * time.Second

// hold records that an Ingress has our finalizer.
func (m *writtenStatus) hold(ing string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of == nil {
		m.of = map[string]mark{}
	}
	if _, held := m.of[ing]; !held {
		m.of[ing] = mark{}
	}
}

// publish records the status of an Ingress with our finalizer.
func (m *writtenStatus) publish(ing string, entries []networkingv1.IngressLoadBalancerIngress) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known, held := m.of[ing]
	if held && !(known.published && equality.Semantic.DeepEqual(known.entries, entries)) {
		m.of[ing] = mark{published: true, entries: entries}
	}
}

// unpublish records that the status of an Ingress is kept right no longer.
func (m *writtenStatus) unpublish(ing string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, held := m.of[ing]; held {
		m.of[ing] = mark{}
	}
}

// repair reports whether a status that was published may be written again now.
func (m *writtenStatus) repair(ing string, entries []networkingv1.IngressLoadBalancerIngress) bool {
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

// drop forgets an Ingress.
func (m *writtenStatus) drop(ing string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.of, ing)
}

// changedByOthers reports whether another writer has changed the finalizer or the status of an
// Ingress.
func (m *writtenStatus) changedByOthers(ing *networkingv1.Ingress) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	known, held := m.of[cluster.RefOf(cluster.KindIngress, ing).String()]
	return held && (!controllerutil.ContainsFinalizer(ing, finalizer) ||
		known.published && !equality.Semantic.DeepEqual(ing.Status.LoadBalancer.Ingress, known.entries))
}

// changedIngress reports whether a change of an Ingress needs a reconcile: it asks for something else,
// or another writer has changed what this operator has written.
func (r *reconciler) changedIngress(before, after client.Object) bool {
	return cluster.ChangedIngress(before, after) || r.finalizers.written.changedByOthers(after.(*networkingv1.Ingress))
}
