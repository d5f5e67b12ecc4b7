package targets

import (
	"context"
	"slices"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
)

// This file has the target groups of TargetGroupBindings, which others made. Each has a key of its own.

// A Bound has what a binding does with its target group.
type Bound struct {
	lb.TargetGroup
	Class v1alpha1.LoadBalancerClassSpec
	Caps  lb.Capabilities
	// Own are the targets that may have been registered for the binding before this process did so.
	Own []lb.Target
	// Shared is set if others register targets in the group, too: these stay.
	Shared bool
}

// Bind sets the target group of a binding.
func (b *Book) Bind(ctx context.Context, key lb.Key, to Bound) { b.bind(ctx, key, to, false) }

// Leave has the target group of a binding lose the targets that are the binding's own.
func (b *Book) Leave(ctx context.Context, key lb.Key, group lb.GroupID, own []lb.Target) {
	b.bind(ctx, key, Bound{TargetGroup: lb.TargetGroup{ID: group}, Own: own, Shared: true}, true)
}

func (b *Book) bind(ctx context.Context, key lb.Key, to Bound, going bool) {
	b.Expect(key, nil, []lb.TargetGroup{to.TargetGroup})
	k := lb.GroupKey{Key: key, ID: to.ID}
	due := b.track(key, to.Class, to.Caps, []lb.ObservedTargetGroup{{TargetGroup: to.TargetGroup}})
	b.change(k, func(t *tracked) {
		if t.own == nil {
			t.own = append([]lb.Target{}, to.Own...)
		}
		if t.going != going || t.shared != to.Shared {
			t.going, t.shared, t.known, due = going, to.Shared, false, []lb.GroupKey{k}
		}
	})
	b.awaken(ctx, due...)
}

// HasLeft reports whether a binding that leaves has no targets in its target group any more.
func (b *Book) HasLeft(key lb.Key, group lb.GroupID) bool {
	t, there := b.groupCopy(lb.GroupKey{Key: key, ID: group})
	return there && t.going && t.known && len(t.members) == 0
}

// Unbind forgets the target group of a binding. Its targets stay.
func (b *Book) Unbind(ctx context.Context, key lb.Key) {
	b.Track(ctx, key, v1alpha1.LoadBalancerClassSpec{}, lb.Capabilities{}, nil)
	b.Forget(key)
}

// BoundKeys returns the keys of a binding that have target groups.
func (b *Book) BoundKeys(namespace, name string) (keys []lb.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for key := range b.groups {
		if of, is, bound := key.Binding(); bound && of == namespace && is == name {
			keys = append(keys, key)
		}
	}
	return keys
}

// SetDecided records whether it is known whether a binding is served.
func (b *Book) SetDecided(namespace, name string, known bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.decided[namespace+"/"+name] = true; !known {
		delete(b.decided, namespace+"/"+name)
	}
}

// IsDecided reports whether it is known whether a binding is served.
func (b *Book) IsDecided(namespace, name string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.decided[namespace+"/"+name]
}

// Bindings returns the keys of the bindings that have the endpoints of a Service.
func (b *Book) Bindings(service cluster.Ref) (keys []lb.Key) {
	for _, k := range b.groupsOf(service) {
		if _, _, bound := k.Key.Binding(); bound {
			keys = append(keys, k.Key)
		}
	}
	return keys
}

// giveUp records the targets that a binding is about to give up, and returns those that others have in its target
// group. Of bindings that have no group yet, these are the remembered ones. If two give up the same target at a
// time, neither leaves it to the other.
func (b *Book) giveUp(k lb.GroupKey, targets []lb.Target, remembered map[lb.Key][]lb.Target) (others []lb.Target) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for key, groups := range b.groups {
		t := groups[k.ID]
		switch {
		case t == nil:
			continue
		case key == k.Key:
			t.givenUp = targets
		default:
			others = append(others, without(t.own, t.givenUp)...)
		}
		delete(remembered, key)
	}
	delete(remembered, k.Key)
	for _, own := range remembered {
		others = append(others, own...)
	}
	return others
}

// recheckOthers compares the target group of other bindings with the cloud that have taken over targets while a
// binding removed these.
func (b *Book) recheckOthers(ctx context.Context, k lb.GroupKey, removed []lb.Target) {
	for _, other := range b.bindingsIn(k.ID) {
		t, _ := b.groupCopy(other)
		if other != k && len(without(t.own, removed)) < len(t.own) {
			b.RecheckOne(ctx, other)
		}
	}
}

// RecheckBindings enqueues a target group for a comparison with the cloud, for each binding that has it.
func (b *Book) RecheckBindings(ctx context.Context, group lb.GroupID) {
	for _, k := range b.bindingsIn(group) {
		b.Recheck(ctx, k.Key)
	}
}

// bindingsIn returns what bindings have a target group.
func (b *Book) bindingsIn(group lb.GroupID) (out []lb.GroupKey) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for key, groups := range b.groups {
		if _, _, bound := key.Binding(); bound && groups[group] != nil {
			out = append(out, lb.GroupKey{Key: key, ID: group})
		}
	}
	return out
}

// without returns the targets that are not among others.
func without(targets, others []lb.Target) []lb.Target {
	return slices.DeleteFunc(slices.Clone(targets), func(t lb.Target) bool { return slices.Contains(others, t) })
}

// Problem returns what is wrong with the targets of a binding: the endpoints that are left out, whether there
// are too many, and the error of the last call.
func (b *Book) Problem(key lb.Key, group lb.GroupID) (leftOut string, crowded bool, failed error) {
	t, _ := b.groupCopy(lb.GroupKey{Key: key, ID: group})
	return t.leftOut, t.crowded, t.failed
}

// noteFailure records the error of a reconcile of a binding's target group, and has it reported if it is
// another one than before.
func (r *Reconciler) noteFailure(ctx context.Context, k lb.GroupKey, err error) {
	t, there := r.Book.groupCopy(k)
	if _, _, bound := k.Key.Binding(); !bound || !there || err == nil && t.failed == nil ||
		err != nil && (ctx.Err() != nil || t.failed != nil && queue.SameFailure(t.failed.Error(), err.Error())) {
		return
	}
	r.Book.change(k, func(known *tracked) { known.failed = err })
	r.ReconcileLater(ctx, k.Key)
}

// setOwn makes targets the members of a group. A binding remembers before a call what may be its own after it,
// since the answer of a call can be lost. Where it has the group for itself, it forgets what is gone with the
// next targets.
func (r *Reconciler) setOwn(ctx context.Context, k lb.GroupKey, t tracked, want []lb.Target) error {
	if _, _, bound := k.Key.Binding(); !bound {
		return r.set(ctx, k, t.members, want)
	}
	if !t.shared {
		if _, err := r.takeOver(ctx, k, t, want); err != nil {
			return err
		}
		return r.set(ctx, k, t.members, want)
	}
	all := union(t.own, want)
	if err := r.remember(ctx, k, t.own, all); err != nil {
		return err
	}
	others := r.Book.giveUp(k, without(all, want), r.Remembered(k.ID))
	err := r.set(providers.WithOwn(ctx, without(all, others)), k, t.members, want)
	r.Book.recheckOthers(ctx, k, without(all, union(want, others)))
	if err != nil {
		return err
	}
	return r.remember(ctx, k, all, want)
}

// takeOver remembers the targets of a binding that has its target group for itself, before they are registered or if
// they are there already, and reports whether some were not its own before.
func (r *Reconciler) takeOver(ctx context.Context, k lb.GroupKey, t tracked, want []lb.Target) (some bool, err error) {
	if _, _, bound := k.Key.Binding(); !bound || len(without(want, t.own)) == 0 {
		return false, nil
	}
	gone := without(t.own, t.members)
	return true, r.remember(ctx, k, t.own, union(without(t.own, gone), want))
}

// union returns the targets, and those of others that are not among them.
func union(targets, others []lb.Target) []lb.Target {
	return append(slices.Clip(targets), without(others, targets)...)
}

// remember stores the targets that are a binding's own, if they are others than before.
func (r *Reconciler) remember(ctx context.Context, k lb.GroupKey, before, own []lb.Target) error {
	if sameTargets(before, own) {
		return nil
	}
	if err := r.Remember(ctx, k, own); err != nil {
		return err
	}
	r.Book.change(k, func(known *tracked) { known.own = append([]lb.Target{}, own...) })
	return nil
}
