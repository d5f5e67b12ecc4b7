// Package bindings reconciles TargetGroupBindings, which are of the AWS Load Balancer Controller. It decides
// which are served; package targets registers the targets.
package bindings

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/events"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/controllers/targets"
	"fairlead.dev/fairlead/model/bindings"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/ingress/dialect/alb"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"
)

// This file reconciles one binding at a time.

// A Reconciler reconciles bindings.
type Reconciler struct {
	*gather.Gatherer
	Events *events.Recorder
	Book   *targets.Book
	Waits  *queue.Waits
	// Disputes are about targets that others change.
	Disputes *queue.Disputes
	Writer   client.Client
	Cloud    providers.Provider
	// Interval is how long what the cloud says of a served target group is valid.
	Interval time.Duration
	known    sync.Map // what the cloud says of target groups, by ID: a fact

	// Wake has bindings of which something is to be reported.
	Wake chan event.TypedGenericEvent[types.NamespacedName]
}

const (
	// checkAgain is how long a binding waits that another target group would be needed for.
	checkAgain = 10 * time.Minute
	// leaving is how long the targets of a binding are given to be deregistered, before it is looked
	// whether they are.
	leaving = time.Second
)

// Reconcile reconciles one binding.
func (r *Reconciler) Reconcile(ctx context.Context, name types.NamespacedName) (reconcile.Result, error) {
	b, err := cluster.Get[alb.TargetGroupBinding](ctx, r.Cache,
		cluster.RefTo(cluster.KindTargetGroupBinding, name.Namespace, name.Name))
	if err != nil {
		return reconcile.Result{}, err
	}
	if b == nil {
		r.forget(ctx, name)
		return reconcile.Result{}, nil
	}
	memory := memoryOf(b)
	if !b.DeletionTimestamp.IsZero() {
		return r.leave(ctx, b, memory)
	}
	claim, err := r.claim(ctx, b)
	switch {
	case err != nil:
		return reconcile.Result{}, err
	case claim.Others:
		return r.leave(ctx, b, memory)
	case claim.Refused == nil && memory.Group != "" &&
		(memory.Group != claim.Group || memory.Provider != claim.Class.ProviderName):
		return r.leave(ctx, b, memory) // and then comes back with the other target group
	}
	var group *lb.OthersGroup
	if claim.Refused == nil {
		asked := false
		if group, asked, err = r.look(ctx, &claim); err != nil {
			return reconcile.Result{}, err
		}
		if asked { // others may have changed its targets, too
			r.Book.Recheck(ctx, r.keyOf(&claim))
		}
	}
	if claim.Refused != nil {
		return r.refuse(ctx, b, memory, &claim)
	}
	return r.serve(ctx, b, memory, &claim, group)
}

// serve has the endpoints of a binding registered.
func (r *Reconciler) serve(ctx context.Context, b *alb.TargetGroupBinding, memory memory, claim *bindings.Claim,
	group *lb.OthersGroup) (reconcile.Result, error) {
	next := memory
	next.Group, next.Class, next.Provider = claim.Group, claim.Class.Name, claim.Class.ProviderName
	if !controllerutil.ContainsFinalizer(b, v1alpha1.BindingFinalizer) || !next.equals(memory) {
		if err := r.hold(ctx, b, next); err != nil {
			return reconcile.Result{}, err
		}
	}
	var own []lb.Target
	if b.Spec.MultiClusterTargetGroup {
		own = append([]lb.Target{}, memory.Targets...)
	}
	key := r.keyOf(claim)
	to := claim.Target(group)
	r.Book.Bind(ctx, key, claim.Class.LoadBalancerClassSpec, r.capabilities(claim.Class), to, own)
	notes := claim.Notes()
	missing, err := r.missing(ctx, claim, to)
	if err != nil {
		return reconcile.Result{}, err
	}
	notes = append(notes, missing...)
	left, crowded, failed := r.Book.Problem(key, claim.Group)
	if left != "" {
		notes = append(notes, diag.Diagnostic{Severity: diag.Warning, Reason: diag.EndpointForeign, Source: claim.Source(),
			Message: strings.TrimSpace(left)})
	}
	if d := r.Disputes.FirstToEnd(key, time.Now()); d != nil {
		notes = append(notes, diag.Diagnostic{Severity: diag.Warning, Reason: diag.BindingConflict, Source: claim.Source(),
			Message: "another writer changes its targets: " + d.String()})
	}
	if crowded {
		notes = append(notes, diag.Diagnostic{Severity: diag.Warning, Reason: diag.QuotaExceeded, Source: claim.Source(),
			Message: "there are more endpoints than a target group takes targets, or than ports are allowed"})
	}
	if failed != nil {
		notes = append([]diag.Diagnostic{{Severity: diag.Error, Reason: diag.Rejected, Source: claim.Source(),
			Message: failed.Error()}}, notes...)
	}
	if err := r.report(ctx, claim, to, notes); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: r.Interval}, nil
}

// missing says of a Service or port that is not there. Endpoints come and go and are not reported.
func (r *Reconciler) missing(ctx context.Context, claim *bindings.Claim, to lb.TargetGroup) ([]diag.Diagnostic, error) {
	service, err := cluster.Get[corev1.Service](ctx, r.Cache, cluster.RefFrom(cluster.KindService, to.Service))
	if err != nil {
		return nil, err
	}
	return claim.Missing(to, service), nil
}

// refuse tells why a binding is not served. If its permission was withdrawn, its targets are deregistered.
// If another has the target group, that one removes them. Otherwise the targets of the last version stay.
func (r *Reconciler) refuse(ctx context.Context, b *alb.TargetGroupBinding, memory memory,
	claim *bindings.Claim) (reconcile.Result, error) {
	after := reconcile.Result{RequeueAfter: checkAgain}
	if err := r.report(ctx, claim, lb.TargetGroup{}, []diag.Diagnostic{*claim.Refused}); err != nil {
		return after, err
	}
	switch claim.Refused.Reason {
	case diag.TargetGroupNotAllowed, diag.BindingConflict, diag.TargetGroupMissing:
		result, err := r.leave(ctx, b, memory)
		if result.RequeueAfter == 0 {
			result = after
		}
		return result, err
	}
	return after, nil
}

// leave deregisters the targets of a binding that is not served any longer, and removes the finalizer.
func (r *Reconciler) leave(ctx context.Context, b *alb.TargetGroupBinding, memory memory) (reconcile.Result, error) {
	name := client.ObjectKeyFromObject(b)
	if memory.Group == "" {
		r.forget(ctx, name)
		return reconcile.Result{}, r.release(ctx, b)
	}
	key := routing.NewBindingKey(b.Namespace, b.Name, memory.Provider)
	stays, err := r.isForeign(ctx, b, key, memory)
	if err != nil {
		return reconcile.Result{}, err
	}
	all, err := r.all(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	if !stays {
		if stays, err = r.keepsTargets(ctx, b, memory, all); err != nil {
			return reconcile.Result{}, err
		}
	}
	if !stays {
		var own []lb.Target
		if b.Spec.MultiClusterTargetGroup {
			own = ownAlone(b, memory, all)
		}
		r.Book.Leave(ctx, key, memory.Group, own)
		if !r.Book.HasLeft(key, memory.Group) {
			return reconcile.Result{RequeueAfter: leaving}, r.tellLeft(ctx, b, key, memory.Group)
		}
	}
	r.forget(ctx, name)
	return reconcile.Result{}, r.release(ctx, b)
}

// isForeign reports, and says in an event, whether the target group that a binding remembers is nothing to
// touch: this process has not served the binding there, and no class lets its namespace have endpoints there.
// The memory is an annotation, which the authors of a binding can write.
func (r *Reconciler) isForeign(ctx context.Context, b *alb.TargetGroupBinding, key lb.Key, memory memory) (bool, error) {
	if r.Book.HasGroup(key, memory.Group) {
		return false, nil
	}
	classes, err := r.usable(ctx)
	if err != nil {
		return false, err
	}
	namespace, err := r.namespaceOf(ctx, b)
	if err != nil || bindings.MayHold(memory.Group, memory.Provider, classes, namespace.Labels) {
		return false, err
	}
	return true, r.Events.Send(ctx, events.OfBinding(b, diag.Diagnostic{Severity: diag.Warning, Reason: diag.TargetGroupNotAllowed,
		Message: "no class lets its namespace have endpoints in target group " + diag.Cut(string(memory.Group)) +
			", which it remembers: if targets of it are there, deregister them"}))
}

// ownAlone returns the targets that a binding remembers, without those of other bindings of the target group.
func ownAlone(b *alb.TargetGroupBinding, m memory, all []*alb.TargetGroupBinding) []lb.Target {
	own := append([]lb.Target{}, m.Targets...)
	for _, other := range all {
		if beside := memoryOf(other); other.UID != b.UID && beside.Group == m.Group {
			own = slices.DeleteFunc(own, func(t lb.Target) bool {
				return slices.ContainsFunc(beside.Targets, func(o lb.Target) bool {
					return o.Address == t.Address && o.Port == t.Port
				})
			})
		}
	}
	return own
}

// tellLeft tells why targets cannot be deregistered.
func (r *Reconciler) tellLeft(ctx context.Context, b *alb.TargetGroupBinding, key lb.Key, group lb.GroupID) error {
	_, _, failed := r.Book.Problem(key, group)
	if failed == nil {
		return nil
	}
	return r.Events.Send(ctx, events.OfBinding(b, diag.Diagnostic{Severity: diag.Error, Reason: diag.Rejected,
		Message: "its targets cannot be deregistered: " + failed.Error()}))
}

// keepsTargets reports whether nothing is to be deregistered: the target group is gone, or it has the
// targets of another binding, which removes all others.
func (r *Reconciler) keepsTargets(ctx context.Context, b *alb.TargetGroupBinding, memory memory,
	all []*alb.TargetGroupBinding) (bool, error) {
	facts, err := r.Cloud.Lookup(ctx, lb.Questions{Provider: memory.Provider, TargetGroups: []lb.GroupID{memory.Group}})
	if err != nil {
		return false, fmt.Errorf("reading target group %s: %w", memory.Group, err)
	}
	if found, there := facts.TargetGroups[memory.Group]; !there || found.Kept != "" {
		return true, nil
	}
	if b.Spec.MultiClusterTargetGroup {
		return false, nil
	}
	return slices.ContainsFunc(all, func(other *alb.TargetGroupBinding) bool {
		return other.UID != b.UID && memoryOf(other).Group == memory.Group && isOf(other, memory.Group)
	}), nil
}

// claim returns the claim of a binding beside those of others on the same target group.
func (r *Reconciler) claim(ctx context.Context, b *alb.TargetGroupBinding) (bindings.Claim, error) {
	classes, err := r.usable(ctx)
	if err != nil {
		return bindings.Claim{}, err
	}
	claim, err := r.claimOf(ctx, b, classes)
	if err != nil || claim.Others || claim.Refused != nil {
		return claim, err
	}
	if !r.capabilities(claim.Class).OtherTargetGroups {
		claim.RefuseProvider()
		return claim, nil
	}
	all, err := r.all(ctx)
	if err != nil {
		return claim, err
	}
	claims := []*bindings.Claim{&claim}
	for _, other := range all {
		if other.UID == b.UID || !isOf(other, claim.Group) || !other.DeletionTimestamp.IsZero() && memoryOf(other).Group == "" {
			continue
		}
		rival, err := r.claimOf(ctx, other, classes)
		if err != nil {
			return claim, err
		}
		if rival.Group == claim.Group {
			claims = append(claims, &rival)
		}
	}
	bindings.Settle(claims)
	return claim, nil
}

// claimOf returns the claim of a binding alone.
func (r *Reconciler) claimOf(ctx context.Context, b *alb.TargetGroupBinding, classes []*ingress.Class) (bindings.Claim, error) {
	namespace, err := r.namespaceOf(ctx, b)
	if err != nil {
		return bindings.Claim{}, err
	}
	memory := memoryOf(b)
	claim := bindings.NewClaim(b, classes, namespace.Labels, memory.Class)
	claim.Held = memory.Group != "" && memory.Group == claim.Group
	return claim, nil
}

// usable returns the classes that can be used.
func (r *Reconciler) usable(ctx context.Context) ([]*ingress.Class, error) {
	objects, err := r.Classes(ctx)
	if err != nil {
		return nil, err
	}
	lookup, _ := ingress.NewClassLookup(objects, r.Options)
	return lookup.Usable(), nil
}

// namespaceOf returns the namespace of a binding.
func (r *Reconciler) namespaceOf(ctx context.Context, b *alb.TargetGroupBinding) (*corev1.Namespace, error) {
	namespace, err := cluster.Get[corev1.Namespace](ctx, r.Cache, cluster.RefTo(cluster.KindNamespace, "", b.Namespace))
	if err == nil && namespace == nil {
		err = fmt.Errorf("namespace %s is not known yet: %w", b.Namespace, providers.ErrPending)
	}
	return namespace, err
}

// isOf reports whether a binding can be of a target group.
func isOf(b *alb.TargetGroupBinding, group lb.GroupID) bool {
	return b.Spec.TargetGroupARN == string(group) || b.Spec.TargetGroupARN == "" &&
		len(alb.ARNsOf([]string{string(group)}, b.Spec.TargetGroupName)) > 0
}

// all returns all bindings. They are not to be changed.
func (r *Reconciler) all(ctx context.Context) ([]*alb.TargetGroupBinding, error) {
	var list alb.TargetGroupBindingList
	if err := r.Cache.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing TargetGroupBindings: %w", err)
	}
	return cluster.Pointers(list.Items), nil
}

// look compares a claim with its target group, and reports whether the cloud was asked.
func (r *Reconciler) look(ctx context.Context, claim *bindings.Claim) (group *lb.OthersGroup, asked bool, err error) {
	if known, is := r.known.Load(claim.Group); is && time.Since(known.(fact).at) < min(checkAgain, r.Interval) {
		group := known.(fact).group
		claim.Compare(&group)
		return &group, false, nil
	}
	facts, err := r.Cloud.Lookup(providers.WithKey(ctx, r.keyOf(claim)),
		lb.Questions{Provider: claim.Class.ProviderName, TargetGroups: []lb.GroupID{claim.Group}})
	if err != nil {
		return nil, true, fmt.Errorf("reading target group %s: %w", claim.Group, err)
	}
	found, there := facts.TargetGroups[claim.Group]
	if !there {
		claim.Compare(nil)
		return nil, true, nil
	}
	if claim.Compare(&found); claim.Refused == nil {
		r.known.Store(claim.Group, fact{found, time.Now()})
	}
	return &found, true, nil
}

// A fact is what the cloud has said of a target group.
type fact struct {
	group lb.OthersGroup
	at    time.Time
}

func (r *Reconciler) keyOf(claim *bindings.Claim) lb.Key {
	return routing.NewBindingKey(claim.Namespace, claim.Name, claim.Class.ProviderName)
}

func (r *Reconciler) capabilities(c *ingress.Class) lb.Capabilities {
	return r.Cloud.Capabilities(lb.Class{Provider: c.ProviderName})
}

// forget forgets the target groups of a binding.
func (r *Reconciler) forget(ctx context.Context, name types.NamespacedName) {
	for _, key := range r.Book.BoundKeys(name.Namespace, name.Name) {
		r.Book.Unbind(ctx, key)
		r.Waits.Forget(key)
		r.Disputes.Forget(key)
	}
}

// Report has a binding reported.
func (r *Reconciler) Report(ctx context.Context, key lb.Key) {
	namespace, name, _ := key.Binding()
	select {
	case r.Wake <- event.TypedGenericEvent[types.NamespacedName]{Object: types.NamespacedName{Namespace: namespace, Name: name}}:
	case <-ctx.Done():
	}
}
