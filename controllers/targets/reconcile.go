// Package targets reconciles the targets of target groups with the endpoints of Services.
package targets

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
	"fairlead.dev/fairlead/controllers/disputes"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/controllers/waits"
	"fairlead.dev/fairlead/model/endpoints"
	"fairlead.dev/fairlead/model/ingress/backends"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
)

// This file reconciles target groups. Their targets come and go without a plan for the load
// balancer, and do so while a configuration is broken.

// A Reconciler makes the targets of a group those that its Service has.
type Reconciler struct {
	Cache    client.Reader
	Pods     cluster.PodReader
	Cloud    providers.Provider
	Book     *Book
	Disputes *disputes.Disputes
	Waiting  *waits.Waits
	// Backlog is the changes that the cloud does not have yet.
	Backlog *queue.Backlog[lb.GroupKey]
	// ObserveTook observes how long a change took.
	ObserveTook func(time.Duration)
	// SetRegistered is called when a target group gets its first targets, or loses its last.
	SetRegistered func(ctx context.Context, key lb.Key, group lb.GroupID, some bool)
	// ReconcileLater has a load balancer reconciled, for there is something to report: its targets
	// are disputed, there are more than the cloud takes, or no longer, or calls wait for long.
	ReconcileLater func(ctx context.Context, key lb.Key)
}

// Reconcile reconciles one target group, and measures how long its changes took.
func (r *Reconciler) Reconcile(ctx context.Context, k lb.GroupKey) (reconcile.Result, error) {
	r.Backlog.Begin(k)
	result, err := r.update(ctx, k)
	if t, _ := r.Book.look(k); err != nil || !t.waiting.IsZero() {
		return result, err
	}
	if took, worked := r.Backlog.Met(k); worked {
		r.ObserveTook(took)
	}
	return result, nil
}

// update reconciles one target group. Additions wait while more are coming. Removals do not wait,
// unless they are the last targets. The provider adds before it removes.
func (r *Reconciler) update(ctx context.Context, k lb.GroupKey) (reconcile.Result, error) {
	t, ok := r.Book.look(k)
	if !ok {
		return reconcile.Result{}, nil // it was deleted meanwhile
	}
	ctx = r.Waiting.OfCalls(ctx, k.Key)
	found, outlook, err := r.want(ctx, t)
	if err != nil {
		return reconcile.Result{}, err
	}
	if found.Left != t.left {
		r.Book.note(k, func(known *tracked) { known.left = found.Left })
		r.ReconcileLater(ctx, k.Key)
	}
	if outlook == deserted && r.Book.leaves(k) {
		// the group is deleted as a whole, unless it is wanted again
		return reconcile.Result{RequeueAfter: mourning}, nil
	}
	if !t.known {
		left, err := r.readMembers(ctx, k, &t, found)
		if err != nil || left > 0 {
			return reconcile.Result{RequeueAfter: left}, err
		}
	}
	want := staying(found, t.members)
	within := backends.WithinPorts(want, t.members, r.Book.portsBeside(k))
	fits := t.caps.ChooseTargets(within, t.members, r.Book.elsewhere(k))
	crowded := len(fits) < len(want)
	if want = fits; crowded != t.crowded {
		r.Book.note(k, func(known *tracked) { known.crowded = crowded })
		r.ReconcileLater(ctx, k.Key)
	}
	later := whenLess(crowded)
	if found.Doubted {
		later = reconcile.Result{RequeueAfter: cluster.Lag}
	}
	wait, change := due(t.members, want, outlook, t.waiting, time.Now())
	switch {
	case !change:
		r.Book.note(k, func(known *tracked) { known.waiting = time.Time{} })
		return later, nil
	case wait > 0:
		r.Book.note(k, func(known *tracked) {
			if known.waiting.IsZero() {
				known.waiting = time.Now()
			}
		})
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	if r.Waiting.NewlyLong(k.Key) {
		r.ReconcileLater(ctx, k.Key)
	}
	if err := r.set(ctx, k, t.members, want); err != nil {
		return reconcile.Result{}, err
	}
	return later, nil
}

// readMembers reads the members of a group from the cloud, and returns for how long they stay as
// another writer has made them.
func (r *Reconciler) readMembers(ctx context.Context, k lb.GroupKey, t *tracked,
	found endpoints.Found) (time.Duration, error) {
	present, err := r.present(ctx, k)
	if err != nil {
		return 0, err
	}
	if left := r.leave(ctx, k, *t, present, staying(found, t.members)); left > 0 {
		return left, nil
	}
	t.members = present
	r.Book.note(k, func(known *tracked) {
		known.members, known.known, known.doubted = present, true, false
	})
	return 0, nil
}

// set makes targets the members of a group.
func (r *Reconciler) set(ctx context.Context, k lb.GroupKey, members, want []lb.Target) error {
	if err := r.Cloud.SetTargets(ctx, k.Key, k.ID, want); err != nil {
		r.Book.note(k, func(known *tracked) { known.known = false })
		if errors.Is(err, providers.ErrNoRoom) {
			err = fmt.Errorf("%w: %w", queue.ErrCrowded, err)
		}
		return fmt.Errorf("setting the targets of %s in %s: %w", k.ID, k.Key, err)
	}
	r.Book.note(k, func(known *tracked) {
		known.members, known.known, known.waiting, known.set = want, true, time.Time{}, time.Now()
	})
	r.Backlog.Worked(k)
	if (len(members) == 0) != (len(want) == 0) {
		r.SetRegistered(ctx, k.Key, k.ID, len(want) > 0)
	}
	return nil
}

// want returns the targets that the Service of a group has now, and how they are about to change.
func (r *Reconciler) want(ctx context.Context,
	t tracked) (found endpoints.Found, next outlook, err error) {
	at := cluster.RefFrom(cluster.KindService, t.backend.Service)
	var now endpoints.Objects
	if now.Service, err = cluster.Get[corev1.Service](ctx, r.Cache, at); err != nil {
		return found, settled, err
	}
	if now.Slices, err = cluster.EndpointsOf(ctx, r.Cache, at); err != nil {
		return found, settled, err
	}
	onNodes := t.backend.TargetType == v1alpha1.TargetTypeInstance
	if onNodes {
		if now.Nodes, err = cluster.NodesIn(ctx, r.Cache); err != nil {
			return found, settled, err
		}
	}
	now.PodsKnown = true
	if now.Pods, now.Awaited, err = r.Pods.PodsOf(ctx, now.Slices); err != nil {
		return found, settled, err
	}
	found = endpoints.Find(&t.class, t.backend, now)
	found.Targets = t.caps.Targets(t.backend.TargetType, found.Targets)
	switch {
	case len(found.Targets) == 0 && now.HasNoEndpoints():
		next = deserted
	case found.Disputed:
		next = disputed
	case !onNodes && now.HasUnreadyEndpoints():
		next = more
	}
	return found, next, nil
}

// present returns the targets that the cloud has.
func (r *Reconciler) present(ctx context.Context, k lb.GroupKey) ([]lb.Target, error) {
	healths, err := r.Cloud.Targets(ctx, k.Key, k.ID)
	if err != nil {
		return nil, fmt.Errorf("reading the targets of %s in %s: %w", k.ID, k.Key, err)
	}
	var out []lb.Target
	for _, h := range healths {
		if h.State != lb.HealthDraining {
			out = append(out, h.Target)
		}
	}
	return out, nil
}

// leave returns for how long the targets of a group stay as another writer has made them: present,
// in place of those that were set. Targets that the Service newly has are registered all the same,
// as under a pause.
func (r *Reconciler) leave(ctx context.Context, k lb.GroupKey, t tracked, present,
	want []lb.Target) time.Duration {
	now := time.Now()
	if t.doubted && r.Disputes.TimeLeft(k, now) == 0 {
		var undone []string
		if !sameTargets(t.members, present) {
			undone = []string{"the targets of " + string(k.ID)}
		}
		if r.Disputes.Add(k, undone, now) {
			r.ReconcileLater(ctx, k.Key)
		}
		r.Book.note(k, func(known *tracked) { known.doubted = false }) // once
	}
	if !sameTargets(t.members, want) {
		return 0
	}
	return r.Disputes.TimeLeft(k, now)
}

func sameTargets(a, b []lb.Target) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(t lb.Target) bool {
		return !slices.Contains(b, t)
	})
}
