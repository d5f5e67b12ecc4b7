package ingresses

import (
	"sync"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/fairlead/controllers/queue"
)

// This file bounds how often a finalizer or a status is written that the API server refuses. A load
// balancer is reconciled for each of its Ingresses, and one that is too large for one more write stays
// so until its author changes it.

// refusals are the refused writes of one kind, by the name of the Ingress.
type refusals struct {
	mu sync.Mutex
	of map[string]refusal
}

// A refusal is the last refused write for a version of an Ingress.
type refusal struct {
	uid     types.UID
	version string
	err     error
	wait    time.Duration
	until   time.Time
}

func (r refusal) isAbout(ing *networkingv1.Ingress) bool {
	return r.uid == ing.UID && r.version == ing.ResourceVersion
}

// last returns the error of the last write if it is too early for the next one.
func (r *refusals) last(ing *networkingv1.Ingress) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.of[nameOf(ing)]; known.isAbout(ing) && time.Now().Before(known.until) {
		return known.err
	}
	return nil
}

// note notes the result of a write. After a conflict another version comes, so it counts for nothing.
func (r *refusals) note(ing *networkingv1.Ingress, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	name := nameOf(ing)
	if err == nil || apierrors.IsConflict(err) {
		delete(r.of, name)
		return
	}
	next := refusal{uid: ing.UID, version: ing.ResourceVersion, err: err, wait: queue.FirstRetry}
	if known := r.of[name]; known.isAbout(ing) {
		next.wait = min(2*known.wait, queue.LastRetry)
	}
	next.until = time.Now().Add(next.wait)
	if r.of == nil {
		r.of = map[string]refusal{}
	}
	r.of[name] = next
}

func (r *refusals) forget(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.of, name)
}
