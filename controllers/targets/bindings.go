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

// Bind sets the target group of a binding. Own are the targets that the binding is known to have
// registered, of a group that others use, too; nil of one that it has for itself.
func (b *Book) Bind(ctx context.Context, key lb.Key, class v1alpha1.LoadBalancerClassSpec,
	caps lb.Capabilities, group lb.TargetGroup, own []lb.Target) {
	b.bind(ctx, key, class, caps, group, own, false)
}

// Leave has the target group of a binding lose its targets: all, or those that are its own.
func (b *Book) Leave(ctx context.Context, key lb.Key, group lb.GroupID, own []lb.Target) {
	b.bind(ctx, key, v1alpha1.LoadBalancerClassSpec{}, lb.Capabilities{}, lb.TargetGroup{ID: group}, own, true)
}

func (b *Book) bind(ctx context.Context, key lb.Key, class v1alpha1.LoadBalancerClassSpec,
	caps lb.Capabilities, group lb.TargetGroup, own []lb.Target, going bool) {
	b.Expect(key, nil, []lb.TargetGroup{group})
	k := lb.GroupKey{Key: key, ID: group.ID}
	due := b.track(key, class, caps, []lb.ObservedTargetGroup{{TargetGroup: group}})
	b.change(k, func(t *tracked) {
		if own != nil && !t.shared {
			t.own = append(slices.Clone(own), t.members...)
		}
		if shared := own != nil; t.going != going || t.shared != shared {
			t.going, t.shared, t.known, due = going, shared, false, []lb.GroupKey{k}
		}
	})
	b.awaken(ctx, due...)
}

// HasLeft reports whether a target group that is left has no targets any more.
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

// IsBound reports whether a binding has a target group.
func (b *Book) IsBound(namespace, name string) bool { return len(b.BoundKeys(namespace, name)) > 0 }

// Bindings returns the keys of the bindings that have the endpoints of a Service.
func (b *Book) Bindings(service cluster.Ref) (keys []lb.Key) {
	for _, k := range b.groupsOf(service) {
		if _, _, bound := k.Key.Binding(); bound {
			keys = append(keys, k.Key)
		}
	}
	return keys
}

// ownOfOthers returns the targets that other bindings have in a target group that they share.
func (b *Book) ownOfOthers(k lb.GroupKey) (own []lb.Target) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for key, groups := range b.groups {
		if t := groups[k.ID]; key != k.Key && t != nil && t.shared && !t.going {
			own = append(own, t.own...)
		}
	}
	return own
}

// HasGroup reports whether a binding has a target group, since this process has served it.
func (b *Book) HasGroup(key lb.Key, group lb.GroupID) bool {
	_, there := b.groupCopy(lb.GroupKey{Key: key, ID: group})
	return there
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

// setOwn makes targets the members of a group. Where others use the group, too, the binding remembers
// before a call what may be its own after it, since the answer of a call can be lost.
func (r *Reconciler) setOwn(ctx context.Context, k lb.GroupKey, t tracked, want []lb.Target) error {
	if !t.shared {
		return r.set(ctx, k, t.members, want)
	}
	all := slices.Clone(t.own)
	for _, target := range want {
		if !slices.Contains(all, target) {
			all = append(all, target)
		}
	}
	if err := r.remember(ctx, k, t.own, all); err != nil {
		return err
	}
	others := r.Book.ownOfOthers(k)
	alone := slices.DeleteFunc(slices.Clone(all), func(target lb.Target) bool { return slices.Contains(others, target) })
	if err := r.set(providers.WithOwn(ctx, alone), k, t.members, want); err != nil {
		return err
	}
	return r.remember(ctx, k, all, want)
}

// remember stores the targets that are a binding's own, if they are others than before.
func (r *Reconciler) remember(ctx context.Context, k lb.GroupKey, before, own []lb.Target) error {
	if sameTargets(before, own) {
		return nil
	}
	if err := r.Remember(ctx, k, own); err != nil {
		return err
	}
	r.Book.change(k, func(known *tracked) { known.own = own })
	return nil
}
