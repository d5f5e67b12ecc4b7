package adoption

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/adopt"
	"fairlead.dev/fairlead/model/ingress/dialect/alb"
	"fairlead.dev/fairlead/model/lb"
)

// This file gives load balancers back, and forgets what giving them back would need.

// Release gives one load balancer back, as far as that is possible now. members are the Ingresses that ask for it.
// Without a record, accepted says that what it had cannot be restored.
func (t *Taker) Release(ctx context.Context, found *lb.Other, key lb.Key, members []string, accepted bool) (out Outcome, err error) {
	read := t.Now()
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		out, err = t.release(ctx, found, read, key, members, accepted)
		return err
	})
	return out, err
}

// release does that once. read is when found was read.
func (t *Taker) release(
	ctx context.Context, found *lb.Other, read time.Time, key lb.Key, members []string, accepted bool,
) (Outcome, error) {
	r, err := t.recordOf(ctx, found, key)
	if err != nil {
		return Outcome{}, err
	}
	if r.State == Released && found.Key == "" {
		err := t.Clear(ctx, found, &r)
		return Outcome{State: Released, Left: LeftOf(r)}, err
	}
	r = r.unlessReleased(found, key)
	name := r.Stack
	out := Outcome{State: r.State, Lost: Lost(r)}
	if r.Finishing {
		out.Obstacles = []string{fmt.Sprintf("what giving %s back needs is being deleted, and some of it may be gone: fairlead "+
			"adopt --finish --yes --key %s deletes the rest", name, key)}
		return out, nil
	}
	if len(out.Lost) > 0 && !accepted {
		out.Obstacles = []string{fmt.Sprintf("the record of %s is gone, and what it had cannot be restored: --accept %s consents",
			name, key)}
		return out, nil
	}
	if r.State != Returned {
		out.Obstacles, err = t.returnTags(ctx, found, &r, read)
		if out.State = r.State; err != nil || len(out.Obstacles) > 0 {
			return out, err
		}
	}
	if r.Cluster == byHand { // without a record, a takeover does not know how old its reads may be
		if err := t.await(ctx, r.Since); err != nil {
			return out, err
		}
		out.State = Released
		return out, t.Records.Delete(ctx, r)
	}
	out.Left = LeftOf(r)
	if out.Switch, err = t.ofController(ctx, members, false); err != nil || len(out.Switch) > 0 {
		return out, err
	}
	// An operator that has not let go would serve the Ingresses, which leave its class, as they were accepted last.
	if out.Obstacles, err = t.unacknowledged(ctx, r.Key); err != nil || len(out.Obstacles) > 0 {
		return out, err
	}
	if err := t.restore(ctx, r, members); err != nil {
		return out, fmt.Errorf("giving %s back: %w", name, err)
	}
	r.Finalizers, r.Bindings, r.Classes = nil, nil, nil
	err = t.enter(ctx, &r, Released)
	out.State = r.State
	return out, err
}

// returnTags restores the tags of a load balancer, once no operator changes it. read is when found was read.
func (t *Taker) returnTags(ctx context.Context, found *lb.Other, r *Record, read time.Time) (obstacles []string, err error) {
	known, wrote := r.State == Taken || r.State == Releasing, r.Since
	if err := t.enter(ctx, r, Releasing); err != nil {
		return nil, err
	}
	if !known { // when the takeover was cut off
		wrote = r.Since
	}
	if obstacles, err = t.unacknowledged(ctx, r.Key); err != nil || len(obstacles) > 0 {
		return obstacles, err
	}
	if found, err = t.settled(ctx, found, r.Key, wrote, read); err != nil {
		return nil, err
	}
	for _, change := range t.Cloud.Return(found) {
		if err := t.Cloud.Retag(ctx, r.Key, change); err != nil {
			return nil, fmt.Errorf("giving %s back: %w", r.Stack, err)
		}
	}
	if r.Left, err = t.Cloud.Dismiss(ctx, found, r.Key); err != nil {
		return nil, fmt.Errorf("giving %s back: %w", r.Stack, err)
	}
	return nil, t.enter(ctx, r, Returned)
}

// LeftOf says what stays of Fairlead, and until when.
func LeftOf(r Record) []string {
	if r.Left == "" {
		return nil
	}
	return []string{fmt.Sprintf("security group %s, which lets %s connect to its targets until the controller starts and takes it away: "+
		"then the operator deletes it or, without one, fairlead release --yes --key %s", r.Left, r.Name, r.Key)}
}

// Clear deletes what a load balancer that was given back had left, once the controller has taken it away. found is nil if the
// load balancer is gone.
func (t *Taker) Clear(ctx context.Context, found *lb.Other, r *Record) error {
	if r.Left == "" {
		return nil
	}
	if found == nil {
		found = &lb.Other{Observed: lb.Observed{Handle: r.Handle}}
	}
	left, err := t.Cloud.Dismiss(ctx, found, r.Key)
	if err != nil || left == r.Left {
		return err
	}
	r.Left = left
	return t.enter(ctx, r, Released)
}

// settled reads a load balancer again until all of its parts are read with Fairlead's tags, or no read can be older than
// the last tag that its takeover wrote: reads lag behind writes, and a part that is read as it was before the takeover would
// keep Fairlead's tags. read is when found was read.
func (t *Taker) settled(ctx context.Context, found *lb.Other, key lb.Key, wrote, read time.Time) (*lb.Other, error) {
	for read.Before(wrote.Add(t.ReadLag)) && (found.Key != key || len(found.Behind) > 0) {
		err := pause(ctx, rereadPause)
		if read = t.Now(); err == nil {
			found, err = t.find(ctx, found.Handle)
		}
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// await waits until no read can be older than a time.
func (t *Taker) await(ctx context.Context, wrote time.Time) error {
	for t.Now().Before(wrote.Add(t.ReadLag)) {
		if err := pause(ctx, rereadPause); err != nil {
			return err
		}
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// rereadPause is the time between two of these reads.
const rereadPause = 2 * time.Second

// unacknowledged says that an operator may still change the load balancer; nothing if none does.
func (t *Taker) unacknowledged(ctx context.Context, key lb.Key) ([]string, error) {
	for end := time.Now().Add(t.Patience); ; {
		acknowledged, err := t.Records.Acknowledged(ctx, key)
		if err != nil || acknowledged {
			return nil, err
		}
		if !time.Now().Before(end) {
			return []string{"the operator has not said yet that it leaves the load balancer as it is: start it if it does not run, and " +
				"run this command again"}, nil
		}
		if err := pause(ctx, time.Second); err != nil {
			return nil, err
		}
	}
}

// Lost says what cannot be restored without the record of a load balancer that was taken over.
func Lost(r Record) []string {
	if r.State != "" {
		return nil
	}
	return []string{fmt.Sprintf("the finalizers and TargetGroupBindings of %s: the controller makes them again when it starts", r.Stack),
		fmt.Sprintf("the IngressClass of %s as it was", r.Stack)}
}

// Owned returns the record of a load balancer that is taken over, in part or whole, or was given back and has something left
// of Fairlead; with an empty key for one that is not.
// If the record is lost, it has no state.
func (t *Taker) Owned(ctx context.Context, found *lb.Other) (Record, error) {
	r, err := t.recordOf(ctx, found, found.Key)
	if r.State == Released && r.Left != "" && found.Key == "" {
		return r, err
	}
	return r.unlessReleased(found, found.Key), err
}

// Releasable returns the load balancers that can be taken over from the controller, and those of records besides: no tag
// tells of one that no controller made.
func (t *Taker) Releasable(ctx context.Context, cloud Asked) ([]lb.Other, error) {
	out, err := Others(ctx, cloud)
	if err != nil {
		return nil, err
	}
	all, err := t.Records.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range all {
		if r.State == Released || slices.ContainsFunc(out, func(o lb.Other) bool { return o.Handle == r.Handle }) {
			continue
		}
		found, err := t.Cloud.Found(ctx, r.Handle)
		if err != nil {
			return nil, err
		}
		if found != nil {
			out = append(out, adopt.WithFormerTags(*found))
		}
	}
	return out, nil
}

// Anew says which target groups the controller makes when it gets a load balancer back: those of Ingresses that ask for a
// Service or port which they did not ask for. They have no targets at first. found is as Releasable returns it.
func (t *Taker) Anew(ctx context.Context, found *lb.Other, r Record, members []string) (out []string, err error) {
	if r.Cluster == byHand {
		return nil, nil
	}
	have := map[string]bool{}
	for _, g := range found.TargetGroups {
		have[adopt.ResourceOf(found, g.Handle)] = true
	}
	for _, name := range members {
		ing, err := t.ingress(ctx, name)
		if err != nil {
			return nil, err
		}
		if ing == nil {
			continue
		}
		for _, resource := range alb.TargetGroupsOf(ing) {
			if !have[resource] {
				out = append(out, fmt.Sprintf("target group %s of Ingress %s: the controller makes one, which has no targets at first",
					strings.TrimPrefix(resource, name+"-"), name))
			}
		}
	}
	return out, nil
}

// restore restores the finalizers and the bindings, where the controller has not made them again, and removes Fairlead's
// finalizer.
func (t *Taker) restore(ctx context.Context, r Record, members []string) error {
	for _, name := range slices.Sorted(maps.Keys(r.Finalizers)) {
		if err := t.changeFinalizers(ctx, ingressNamed(name), r.Finalizers[name]); err != nil {
			return err
		}
	}
	for _, name := range members {
		if err := t.changeFinalizers(ctx, ingressNamed(name), nil); err != nil {
			return err
		}
	}
	for _, b := range r.Bindings {
		err := t.Kube.Create(ctx, b.DeepCopy())
		if apierrors.IsAlreadyExists(err) { // its removal was cut off, or another client has put it back
			err = t.changeFinalizers(ctx, b.DeepCopy(), b.GetFinalizers())
		}
		if err != nil {
			return fmt.Errorf("restoring TargetGroupBinding %s/%s: %w", b.GetNamespace(), b.GetName(), err)
		}
	}
	return nil
}

// changeFinalizers adds finalizers to an object, and removes Fairlead's.
func (t *Taker) changeFinalizers(ctx context.Context, o client.Object, add []string) error {
	err := t.Kube.Get(ctx, client.ObjectKeyFromObject(o), o)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading %s/%s: %w", o.GetNamespace(), o.GetName(), err)
	}
	want := slices.DeleteFunc(slices.Clone(o.GetFinalizers()), func(f string) bool { return f == v1alpha1.IngressFinalizer })
	for _, f := range add {
		if !slices.Contains(want, f) && o.GetDeletionTimestamp() == nil { // none can be added to one that is being deleted
			want = append(want, f)
		}
	}
	return t.setFinalizers(ctx, o, want)
}

// ingress reads an Ingress by namespace/name; nil if there is none.
func (t *Taker) ingress(ctx context.Context, name string) (*networkingv1.Ingress, error) {
	ing := ingressNamed(name)
	err := t.Kube.Get(ctx, client.ObjectKeyFromObject(ing), ing)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading Ingress %s: %w", name, err)
	}
	return ing, nil
}

// ingressNamed returns an Ingress that has a name alone: namespace/name.
func ingressNamed(name string) *networkingv1.Ingress {
	out := &networkingv1.Ingress{}
	out.Namespace, out.Name, _ = strings.Cut(name, "/")
	return out
}

// Finish deletes what giving a load balancer back would need: the former tags, target groups that no rule names, the
// security groups that it kept, and the record.
func (t *Taker) Finish(ctx context.Context, found *lb.Other, r Record) (Outcome, error) {
	out := Outcome{State: r.State}
	if r.State != Taken {
		out.Obstacles = []string{fmt.Sprintf("%s is not taken over: it is in the state %s", r.Stack, r.State)}
		return out, nil
	}
	found, err := t.settled(ctx, found, r.Key, r.Since, t.Now())
	if err != nil {
		return out, err
	}
	r.Finishing = true
	if err := t.enter(ctx, &r, Taken); err != nil {
		return out, err
	}
	if err := t.Cloud.Discard(ctx, r.Key, unnamed(found)); err != nil {
		return out, fmt.Errorf("deleting what is left of %s: %w", r.Stack, err)
	}
	return out, t.Records.Delete(ctx, r)
}

// unnamed returns the target groups that no rule names.
func unnamed(o *lb.Other) (out []string) {
	named := map[lb.GroupID]bool{}
	note := func(a lb.Action) {
		for _, id := range a.Groups() {
			named[id] = true
		}
	}
	for _, l := range o.Listeners {
		note(l.Default)
		for _, r := range l.Rules {
			note(r.Action)
		}
	}
	for _, g := range o.TargetGroups {
		if !named[g.ID] {
			out = append(out, g.Handle)
		}
	}
	return out
}

// Unowned reports whether a load balancer is neither controller's, or is about to be.
func (r Record) Unowned() bool { return r.State == Recorded || r.State == Prepared }

// NotAsked says what to do about a load balancer that is Unowned and that no Ingress asks for any more: neither controller
// deletes it.
func NotAsked(r Record) string {
	return fmt.Sprintf("no Ingress asks for %s any more, and neither controller deletes it: fairlead release --yes --key %s gives it "+
		"back to the AWS Load Balancer Controller, which deletes it only for an Ingress: delete it then", r.Name, r.Key)
}

// Status says whose the parts of a load balancer are, in the cloud and in the cluster.
func (t *Taker) Status(ctx context.Context, r Record) (holders []string, err error) {
	found, err := t.Cloud.Found(ctx, r.Handle)
	switch {
	case err != nil:
		return nil, err
	case found == nil:
		holders = append(holders, "the load balancer is gone")
	case found.Key != "":
		holders = append(holders, "the load balancer is Fairlead's")
	case adopt.ClusterOf(found) != "":
		holders = append(holders, "the load balancer is the controller's")
	default:
		holders = append(holders, "the load balancer has no owner: neither controller changes it")
	}
	holders = append(holders, LeftOf(r)...)
	if r.State == Released {
		return holders, nil
	}
	c := Candidate{Found: found}
	if found == nil {
		c.Found = &lb.Other{}
	}
	for name := range r.Finalizers {
		c.Members = append(c.Members, name)
	}
	slices.Sort(c.Members)
	their, err := t.read(ctx, r, c)
	if err != nil {
		return nil, err
	}
	of, err := t.ofController(ctx, c.Members, true)
	if err != nil {
		return holders, err
	}
	others, err := t.ofController(ctx, c.Members, false)
	if r.Unowned() && len(c.Members) > 0 && len(of)+len(others) == 0 {
		holders = append(holders, NotAsked(r))
	}
	return append(holders,
		fmt.Sprintf("of %d Ingresses, %d have a class of the controller and %d have its finalizer", len(c.Members), len(of),
			len(their.finalizers)),
		fmt.Sprintf("of %d TargetGroupBindings of the controller, %d exist", len(r.Bindings), len(their.bindings))), err
}
