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
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/model/endpoints"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
)

// This file reconciles target groups. Their targets come and go without a plan for the load
// balancer, and do so while a configuration is broken.

// A Reconciler registers the endpoints of a Service as the targets of its group.
type Reconciler struct {
	Cache    client.Reader
	Pods     cluster.PodReader
	Cloud    providers.Provider
	Book     *Book
	Disputes *queue.Disputes
	Waiting  *queue.Waits
	// Backlog has the changes that the cloud does not have yet.
	Backlog *queue.Backlog[lb.GroupKey]
	// ObserveTook observes how long a change took.
	ObserveTook func(time.Duration)
	// SetRegistered is called when a target group gets its first targets, or loses its last.
	SetRegistered func(ctx context.Context, key lb.Key, group lb.GroupID, some bool)
	// Remember stores which targets may be a binding's own, and Remembered returns what is stored of all bindings of
	// a target group.
	Remember   func(ctx context.Context, k lb.GroupKey, own []lb.Target) error
	Remembered func(group lb.GroupID) map[lb.Key][]lb.Target
	// ReconcileLater enqueues a load balancer for a report: its targets are disputed, are too many for
	// the cloud, or no longer are, or calls wait long.
	ReconcileLater func(ctx context.Context, key lb.Key)
}

// Reconcile reconciles one target group, and measures how long its changes took.
func (r *Reconciler) Reconcile(ctx context.Context, k lb.GroupKey) (reconcile.Result, error) {
	r.Backlog.Begin(k)
	result, err := r.update(ctx, k)
	r.noteFailure(ctx, k, err)
	if t, _ := r.Book.groupCopy(k); err != nil || !t.waiting.IsZero() {
		return result, err
	}
	if took, worked := r.Backlog.End(k); worked {
		r.ObserveTook(took)
	}
	return result, nil
}

// update reconciles one target group. Additions wait while more are coming. Removals do not wait,
// unless they are the last targets. The provider adds before it removes.
func (r *Reconciler) update(ctx context.Context, k lb.GroupKey) (reconcile.Result, error) {
	t, ok := r.Book.groupCopy(k)
	if !ok {
		return reconcile.Result{}, nil // it was deleted
	}
	if !lb.OthersMade(k.ID) && endpoints.ChoosesNodes(t.backend.ID) && t.backend.NodeLabels == "" {
		// A former operator made it, and it is leaving: the labels are known only of wanted groups.
		return reconcile.Result{}, nil
	}
	ctx = r.Waiting.WithCalls(ctx, k.Key)
	found, outlook, err := r.want(ctx, t)
	if err != nil {
		return reconcile.Result{}, err
	}
	if found.Left != t.leftOut {
		r.Book.change(k, func(known *tracked) { known.leftOut = found.Left })
		r.ReconcileLater(ctx, k.Key)
	}
	if outlook == deserted && r.Book.isLeaving(k) {
		// the group is deleted as a whole, unless it is wanted again
		return reconcile.Result{RequeueAfter: lastTargetsStay}, nil
	}
	if !t.known {
		left, err := r.readMembers(ctx, k, &t, found)
		if err != nil || left > 0 {
			return reconcile.Result{RequeueAfter: left}, err
		}
	}
	want := addStaying(found, t.members)
	within := ingress.WithinPorts(want, t.members, r.Book.otherPorts(k))
	fits := t.caps.ChooseTargets(within, t.members, r.Book.otherTargets(k))
	crowded := len(fits) < len(want)
	if want = fits; crowded != t.crowded {
		r.Book.change(k, func(known *tracked) { known.crowded = crowded })
		r.ReconcileLater(ctx, k.Key)
	}
	later := retryCrowded(crowded)
	if found.Doubted {
		later = reconcile.Result{RequeueAfter: cluster.Lag}
	}
	wait, change := dueIn(t.members, want, outlook, t.waiting, time.Now())
	switch {
	case !change:
		r.Book.change(k, func(known *tracked) { known.waiting = time.Time{} })
		some, err := r.takeOver(ctx, k, t, want)
		if some && err == nil { // their former owner may have removed them since they were read
			r.Book.RecheckOne(ctx, k)
		}
		return later, err
	case wait > 0:
		r.Book.change(k, func(known *tracked) {
			if known.waiting.IsZero() {
				known.waiting = time.Now()
			}
		})
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	if r.Waiting.NewlyLong(k.Key) {
		r.ReconcileLater(ctx, k.Key)
	}
	if err := r.setOwn(ctx, k, t, want); err != nil {
		return reconcile.Result{}, err
	}
	return later, nil
}

// readMembers reads the members of a group from the cloud, and returns how long the changes of
// another writer are left in place.
func (r *Reconciler) readMembers(ctx context.Context, k lb.GroupKey, t *tracked,
	found endpoints.Found) (time.Duration, error) {
	present, err := r.present(ctx, k)
	if err != nil {
		return 0, err
	}
	if t.shared {
		present = slices.DeleteFunc(present, func(h lb.Target) bool { return !slices.Contains(t.own, h) })
	}
	if left := r.leaveFor(ctx, k, *t, present, addStaying(found, t.members)); left > 0 {
		return left, nil
	}
	t.members = present
	r.Book.change(k, func(known *tracked) {
		known.members, known.known, known.doubted = present, true, false
	})
	return 0, nil
}

// set makes targets the members of a group.
func (r *Reconciler) set(ctx context.Context, k lb.GroupKey, members, want []lb.Target) error {
	if err := r.Cloud.SetTargets(ctx, k.Key, k.ID, want); err != nil {
		r.Book.change(k, func(known *tracked) { known.known = false })
		if errors.Is(err, providers.ErrNoRoom) {
			err = fmt.Errorf("%w: %w", queue.ErrCrowded, err)
		}
		return fmt.Errorf("setting the targets of %s in %s: %w", k.ID, k.Key, err)
	}
	r.Book.change(k, func(known *tracked) {
		known.members, known.known, known.waiting, known.set = want, true, time.Time{}, time.Now()
	})
	r.Backlog.NoteWork(k)
	if (len(members) == 0) != (len(want) == 0) {
		r.SetRegistered(ctx, k.Key, k.ID, len(want) > 0)
	}
	return nil
}

// want returns the current targets of the Service of a group, and their outlook.
func (r *Reconciler) want(ctx context.Context,
	t tracked) (found endpoints.Found, next outlook, err error) {
	if t.going {
		return found, settled, nil
	}
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

// leaveFor returns how long the present targets of a group, which another writer has set, are left
// in place. New targets of the Service are still registered, as under a pause.
func (r *Reconciler) leaveFor(ctx context.Context, k lb.GroupKey, t tracked, present,
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
		r.Book.change(k, func(known *tracked) { known.doubted = false }) // once
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
