package ingresses

import (
	"sync"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"fairlead.dev/fairlead/api/v1alpha1"
)

// This file remembers what this operator has written on Ingresses, so that it finds changes by
// another writer, and so that a write of its own triggers no reconcile.

// published holds the status of each Ingress with the finalizer, as it was last written, or found
// right.
type published struct {
	mu sync.Mutex
	of map[string]status // by namespace/name
}

// A status is that of an Ingress with the finalizer.
type status struct {
	known    bool // it was published
	entries  []networkingv1.IngressLoadBalancerIngress
	repaired time.Time // when these entries were last written over those of another writer
	over     string    // the version of the Ingress, as it was read, that they were written over last
}

// repairEvery is how often a status is written over that of another writer at most.
const repairEvery = 10 * time.Second

// hold records that an Ingress has the finalizer.
func (p *published) hold(ing string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == nil {
		p.of = map[string]status{}
	}
	if _, held := p.of[ing]; !held {
		p.of[ing] = status{}
	}
}

// set records the status of an Ingress with the finalizer.
func (p *published) set(ing string, entries []networkingv1.IngressLoadBalancerIngress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before, held := p.of[ing]
	if held && !(before.known && equality.Semantic.DeepEqual(before.entries, entries)) {
		p.of[ing] = status{known: true, entries: entries}
	}
}

// unset records that the status of an Ingress is kept right no longer.
func (p *published) unset(ing string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, held := p.of[ing]; held {
		p.of[ing] = status{}
	}
}

// wrote records that the entries of an Ingress were written over a version of it.
func (p *published) wrote(ing, over string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if before, held := p.of[ing]; held {
		before.over = over
		p.of[ing] = before
	}
}

// unseen reports whether entries were written over the version of an Ingress that is read: the
// cache does not have the write yet.
func (p *published) unseen(
	ing, read string, entries []networkingv1.IngressLoadBalancerIngress,
) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.of[ing]
	same := equality.Semantic.DeepEqual(before.entries, entries)
	return same && before.over != "" && before.over == read
}

// mayRepair reports whether a status that was published may be written again now.
func (p *published) mayRepair(ing string, entries []networkingv1.IngressLoadBalancerIngress) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.of[ing]
	again := before.known && equality.Semantic.DeepEqual(before.entries, entries)
	if again && time.Since(before.repaired) < repairEvery {
		return false
	}
	if again {
		before.repaired = time.Now()
		p.of[ing] = before
	}
	return true
}

// forget forgets an Ingress.
func (p *published) forget(ing string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.of, ing)
}

// differs reports whether the finalizer of an Ingress is gone that was added, or its status is not
// the one that was published.
func (p *published) differs(name string, ing *networkingv1.Ingress) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	before, held := p.of[name]
	return held && (!controllerutil.ContainsFinalizer(ing, v1alpha1.IngressFinalizer) ||
		before.known && !equality.Semantic.DeepEqual(ing.Status.LoadBalancer.Ingress, before.entries))
}
