package ingresses

import (
	"sync"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"fairlead.dev/fairlead/api/v1alpha1"
)

// This file remembers the writes of this operator on Ingresses, so that it finds changes by another
// writer, and so that its own writes trigger no reconcile.

// published holds the last status of each Ingress with the finalizer that was written or found
// right.
type published struct {
	mu       sync.Mutex
	statuses map[string]status // by namespace/name
}

// A status is the published status of an Ingress with the finalizer.
type status struct {
	known    bool // it was published
	entries  []networkingv1.IngressLoadBalancerIngress
	repaired time.Time // when these entries were last written over those of another writer
	over     string    // the version of the Ingress that they were last written over
}

// repairEvery is the least time between two writes over the status of another writer.
const repairEvery = 10 * time.Second

// addFinalizer records that an Ingress has the finalizer.
func (p *published) addFinalizer(ing string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.statuses == nil {
		p.statuses = map[string]status{}
	}
	if _, held := p.statuses[ing]; !held {
		p.statuses[ing] = status{}
	}
}

// setStatus records the status of an Ingress with the finalizer.
func (p *published) setStatus(ing string, entries []networkingv1.IngressLoadBalancerIngress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before, held := p.statuses[ing]
	if held && !(before.known && equality.Semantic.DeepEqual(before.entries, entries)) {
		p.statuses[ing] = status{known: true, entries: entries}
	}
}

// dropStatus records that the status of an Ingress is no longer repaired.
func (p *published) dropStatus(ing string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, held := p.statuses[ing]; held {
		p.statuses[ing] = status{}
	}
}

// noteWrite records that the entries of an Ingress were written over a version of it.
func (p *published) noteWrite(ing, over string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if before, held := p.statuses[ing]; held {
		before.over = over
		p.statuses[ing] = before
	}
}

// isUnseen reports whether entries were written over this version of an Ingress: the cache does not
// have the write yet.
func (p *published) isUnseen(
	ing, read string, entries []networkingv1.IngressLoadBalancerIngress,
) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.statuses[ing]
	same := equality.Semantic.DeepEqual(before.entries, entries)
	return same && before.over != "" && before.over == read
}

// mayRepair reports whether a status that was published may be written again now.
func (p *published) mayRepair(ing string, entries []networkingv1.IngressLoadBalancerIngress) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.statuses[ing]
	again := before.known && equality.Semantic.DeepEqual(before.entries, entries)
	if again && time.Since(before.repaired) < repairEvery {
		return false
	}
	if again {
		before.repaired = time.Now()
		p.statuses[ing] = before
	}
	return true
}

// forget forgets an Ingress.
func (p *published) forget(ing string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.statuses, ing)
}

// differs reports whether an Ingress has lost the finalizer, or has another status than published.
func (p *published) differs(name string, ing *networkingv1.Ingress) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	before, held := p.statuses[name]
	return held && (!controllerutil.ContainsFinalizer(ing, v1alpha1.IngressFinalizer) ||
		before.known && !equality.Semantic.DeepEqual(ing.Status.LoadBalancer.Ingress, before.entries))
}
