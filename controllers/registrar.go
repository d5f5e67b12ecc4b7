package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/controllers/waits"
	"fairlead.dev/fairlead/model/endpoints"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"

	"fairlead.dev/fairlead/controllers/disputes"
)

// This file keeps the members of target groups, in a loop of its own: pods come and go without any
// load balancer being reconciled, and go on doing so while a configuration is broken.

// A registrar makes the members of a target group what its Service says.
type registrar struct {
	cache client.Reader
	pods  cluster.PodReader
	cloud providers.Provider
	book  *targetBook
	// disputes are what others undo, and disputed is told when they have done so too often.
	disputes *disputes.Disputes
	disputed func(ctx context.Context, key lb.Key)
	// waiting is what load balancers wait for, and waits is told when they have for long.
	waiting *waits.Waits
	waits   func(ctx context.Context, key lb.Key)
	// backlog is the changes that the cloud does not have yet, and took is told how long one took.
	backlog *queue.Backlog[lb.GroupKey]
	took    func(time.Duration)
	// registered is told when a target group has got its first members, or lost its last.
	registered func(ctx context.Context, key lb.Key, group lb.GroupID, some bool)
	// crowded is told when a target group has come to have more targets than the cloud takes, or no
	// more.
	crowded func(ctx context.Context, key lb.Key)
}

// Reconcile brings one target group up to date, and measures how long its changes took.
func (r *registrar) Reconcile(ctx context.Context, k lb.GroupKey) (reconcile.Result, error) {
	r.backlog.Begin(k)
	result, err := r.update(ctx, k)
	if t, _ := r.book.look(k); err != nil || !t.waiting.IsZero() {
		return result, err
	}
	if took, worked := r.backlog.Met(k); worked {
		r.took(took)
	}
	return result, nil
}

// update brings one target group up to date. Additions are gathered while more are coming, removals
// do not wait, unless nobody is left; the provider adds before it removes.
func (r *registrar) update(ctx context.Context, k lb.GroupKey) (reconcile.Result, error) {
	t, ok := r.book.look(k)
	if !ok {
		return reconcile.Result{}, nil // deleted since
	}
	ctx = r.waiting.OfCalls(ctx, k.Key)
	found, outlook, err := r.want(ctx, t)
	if err != nil {
		return reconcile.Result{}, err
	}
	if found.Left != t.left {
		r.book.note(k, func(known *tracked) { known.left = found.Left })
		r.crowded(ctx, k.Key)
	}
	if outlook == deserted && r.book.leaves(k) {
		return reconcile.Result{RequeueAfter: mourning}, nil // it goes whole, unless it is wanted again
	}
	if !t.known {
		present, err := r.present(ctx, k)
		if err != nil {
			return reconcile.Result{}, err
		}
		if left := r.leave(ctx, k, t, present, staying(found, t.members)); left > 0 {
			return reconcile.Result{RequeueAfter: left}, nil
		}
		t.members = present
		r.book.note(k, func(known *tracked) { known.members, known.known, known.doubted = t.members, true, false })
	}
	want := staying(found, t.members)
	fits := t.caps.Within(ingress.WithinPorts(want, t.members, r.book.portsBeside(k)), t.members, r.book.elsewhere(k))
	crowded := len(fits) < len(want)
	if want = fits; crowded != t.crowded {
		r.book.note(k, func(known *tracked) { known.crowded = crowded })
		r.crowded(ctx, k.Key)
	}
	later := whenLess(crowded)
	if found.Doubted {
		later = reconcile.Result{RequeueAfter: cluster.Lag}
	}
	wait, change := due(t.members, want, outlook, t.waiting, time.Now())
	switch {
	case !change:
		r.book.note(k, func(known *tracked) { known.waiting = time.Time{} })
		return later, nil
	case wait > 0:
		r.book.note(k, func(known *tracked) {
			if known.waiting.IsZero() {
				known.waiting = time.Now()
			}
		})
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	if r.waiting.NewlyLong(k.Key) {
		r.waits(ctx, k.Key)
	}
	if err := r.cloud.SetTargets(ctx, k.Key, k.ID, want); err != nil {
		r.book.note(k, func(known *tracked) { known.known = false })
		if errors.Is(err, providers.ErrNoRoom) {
			err = fmt.Errorf("%w: %w", queue.ErrCrowded, err)
		}
		return reconcile.Result{}, fmt.Errorf("setting the targets of %s in %s: %w", k.ID, k.Key, err)
	}
	r.book.note(k, func(known *tracked) {
		known.members, known.known, known.waiting, known.set = want, true, time.Time{}, time.Now()
	})
	r.backlog.Worked(k)
	if (len(t.members) == 0) != (len(want) == 0) {
		r.registered(ctx, k.Key, k.ID, len(want) > 0)
	}
	return later, nil
}

// want is what the Service of a group has now, and what is about to become of it.
func (r *registrar) want(ctx context.Context, t tracked) (found endpoints.Found, next outlook, err error) {
	at := cluster.RefFrom(cluster.KindService, t.backend.Service)
	var now endpoints.Objects
	if now.Service, err = cluster.Get[corev1.Service](ctx, r.cache, at); err != nil {
		return found, settled, err
	}
	if now.Slices, err = cluster.EndpointsOf(ctx, r.cache, at); err != nil {
		return found, settled, err
	}
	onNodes := t.backend.TargetType == v1alpha1.TargetTypeInstance
	if onNodes {
		if now.Nodes, err = cluster.NodesIn(ctx, r.cache); err != nil {
			return found, settled, err
		}
	}
	now.PodsKnown = true
	if now.Pods, now.Awaited, err = r.pods.PodsOf(ctx, now.Slices); err != nil {
		return found, settled, err
	}
	found = endpoints.Find(&t.class.LoadBalancerClassSpec, t.backend, now)
	found.Targets = t.caps.Targets(t.backend.TargetType, found.Targets)
	found.Awaited = t.caps.Targets(t.backend.TargetType, found.Awaited)
	switch {
	case len(found.Targets)+len(found.Awaited) == 0 && now.HasNoEndpoints():
		next = deserted
	case found.Disputed:
		next = disputed
	case !onNodes && now.HasUnreadyEndpoints():
		next = more
	}
	return found, next, nil
}

// present is what the cloud has.
func (r *registrar) present(ctx context.Context, k lb.GroupKey) ([]lb.Target, error) {
	healths, err := r.cloud.Targets(ctx, k.Key, k.ID)
	if err != nil {
		return nil, fmt.Errorf("reading the targets of %s in %s: %w", k.ID, k.Key, err)
	}
	var out []lb.Target
	for _, h := range healths {
		if h.State != "draining" {
			out = append(out, h.Target)
		}
	}
	return out, nil
}

// leave is for how long the members of a target group are left as they are, which others have
// changed: they are those that are present, not those that were set. What the Service asks for anew
// is written all the same, as under a pause.
func (r *registrar) leave(ctx context.Context, k lb.GroupKey, t tracked, present, want []lb.Target) time.Duration {
	now := time.Now()
	if t.doubted && r.disputes.Left(k, now) == 0 {
		var undone []string
		if !sameTargets(t.members, present) {
			undone = []string{"the targets of " + string(k.ID)}
		}
		if r.disputes.Add(k, undone, now) {
			r.disputed(ctx, k.Key)
		}
		r.book.note(k, func(known *tracked) { known.doubted = false }) // once
	}
	if !sameTargets(t.members, want) {
		return 0
	}
	return r.disputes.Left(k, now)
}

func sameTargets(a, b []lb.Target) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(t lb.Target) bool { return !slices.Contains(b, t) })
}
