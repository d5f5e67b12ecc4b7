// Package bindings reconciles TargetGroupBindings, which are of the AWS Load Balancer Controller. It decides
// which are served; package targets registers the targets.
//
// The record of a binding has the targets that Fairlead has registered in target groups of others, until they are
// deregistered. A target is recorded before it is registered, or where it is found registered. A binding that leaves
// deregisters all targets of its record that no other record has, and its record is dropped after that.
package bindings

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	Events   *events.Recorder
	Book     *targets.Book
	Memories *Memories
	Waits    *queue.Waits
	// Disputes are about targets that others change.
	Disputes *queue.Disputes
	Writer   client.Client
	Cloud    providers.Provider
	// Interval is how long what the cloud says of a served target group is valid.
	Interval time.Duration
	facts    facts
	gone     sync.Map // when a binding was found to be gone with its record still there, by name
	released sync.Map // the bindings whose records were dropped: the cache may still show the finalizer
	failures sync.Map // the last failure that was told of a binding, by name

	// Wake has bindings of which something is to be reported.
	Wake chan event.TypedGenericEvent[types.NamespacedName]
}

// leaving is how long the targets of a binding are given to be deregistered, before it is looked whether they are.
const leaving = time.Second

// Reconcile reconciles one binding.
func (r *Reconciler) Reconcile(ctx context.Context, name types.NamespacedName) (reconcile.Result, error) {
	if err := r.Memories.ready(ctx); err != nil {
		return reconcile.Result{}, err
	}
	if name == begin {
		for _, remembered := range r.Memories.names() {
			r.wake(ctx, remembered)
		}
		return reconcile.Result{}, nil
	}
	b, err := r.read(ctx, name)
	switch memory := r.Memories.of(name); {
	case err != nil:
		return reconcile.Result{}, err
	case b == nil && memory == nil:
		r.forget(ctx, name)
		r.released.Delete(name)
		r.failures.Delete(name)
		r.Book.SetDecided(name.Namespace, name.Name, false)
		return reconcile.Result{}, nil
	case b == nil:
		return r.vanish(ctx, name, memory)
	case !b.DeletionTimestamp.IsZero():
		return r.leave(ctx, b, memory)
	default:
		r.gone.Delete(name)
		result, err := r.decide(ctx, b, memory)
		if err == nil {
			r.Book.SetDecided(name.Namespace, name.Name, true)
		}
		return result, err
	}
}

// begin is the name of no binding. It has all bindings reconciled that have a record: some may be gone.
var begin types.NamespacedName

// read reads a binding; nil if there is none.
func (r *Reconciler) read(ctx context.Context, name types.NamespacedName) (*alb.TargetGroupBinding, error) {
	if !r.Optional.Has(cluster.KindTargetGroupBinding) {
		return nil, nil
	}
	return cluster.Get[alb.TargetGroupBinding](ctx, r.Cache, refTo(name))
}

func refTo(name types.NamespacedName) cluster.Ref {
	return cluster.RefTo(cluster.KindTargetGroupBinding, name.Namespace, name.Name)
}

// decide decides what becomes of a binding.
func (r *Reconciler) decide(ctx context.Context, b *alb.TargetGroupBinding, memory *memory) (reconcile.Result, error) {
	claim, group, err := r.claim(ctx, b, memory)
	switch {
	case err != nil:
		return reconcile.Result{}, err
	case claim.Others:
		return r.leave(ctx, b, memory)
	case claim.Refused != nil:
		return r.refuse(ctx, b, memory, &claim)
	case memory != nil && (memory.Group != claim.Group || memory.Class.ProviderName != claim.Class.ProviderName):
		result, err := r.leave(ctx, b, memory)
		if result.RequeueAfter == 0 {
			result.RequeueAfter = leaving // and then it comes to the other target group
		}
		return result, err
	}
	return r.serve(ctx, b, memory, &claim, group)
}

// serve has the endpoints of a binding registered.
func (r *Reconciler) serve(ctx context.Context, b *alb.TargetGroupBinding, before *memory, claim *bindings.Claim,
	group *lb.OthersGroup) (reconcile.Result, error) {
	notes := claim.Notes()
	if claim.Instead != nil {
		notes = append([]diag.Diagnostic{*claim.Instead}, notes...)
	}
	r.failures.Delete(client.ObjectKeyFromObject(b))
	if claim.Spec.MultiClusterTargetGroup && r.isForgotten(b, before) {
		notes = append(notes, forgotten)
	}
	if err := r.accept(ctx, b, claim); err != nil {
		return reconcile.Result{}, err
	}
	var own []lb.Target
	if now := r.Memories.of(client.ObjectKeyFromObject(b)); now != nil {
		own = now.Targets
	}
	key := r.keyOf(claim)
	to := claim.Target(group)
	r.Book.Bind(ctx, key, targets.Bound{TargetGroup: to, Class: claim.Class.LoadBalancerClassSpec,
		Caps: r.capabilities(claim.Class), Own: own, Shared: claim.Spec.MultiClusterTargetGroup})
	missing, err := r.missing(ctx, claim, to)
	if err != nil {
		return reconcile.Result{}, err
	}
	notes = append(notes, missing...)
	if err := r.report(ctx, b, claim, to, r.addProblems(notes, claim, key)); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: r.Interval}, nil
}

// accept remembers the version of a binding that is served, and then adds the finalizer. Where the version is the
// one that was accepted last, with a class that is missing or with a mistake, nothing is new to remember.
func (r *Reconciler) accept(ctx context.Context, b *alb.TargetGroupBinding, claim *bindings.Claim) error {
	err := r.Memories.change(ctx, client.ObjectKeyFromObject(b), func(before *memory) (*memory, error) {
		next := &memory{Last: bindings.Last{Spec: claim.Spec, Group: claim.Group, Class: &ingress.Class{
			Name: claim.Class.Name, LoadBalancerClassSpec: claim.Class.LoadBalancerClassSpec}}}
		next.Class.TargetGroupBindings = nil // which are not what permits it later
		if before != nil {
			next.Targets = before.Targets
		}
		return next, nil
	})
	if err != nil {
		return err
	}
	return r.addFinalizer(ctx, b)
}

// addProblems adds what is wrong with the targets of a binding.
func (r *Reconciler) addProblems(notes []diag.Diagnostic, claim *bindings.Claim, key lb.Key) []diag.Diagnostic {
	tell := func(reason diag.Reason, text string) {
		notes = append(notes, diag.Diagnostic{Severity: diag.Warning, Reason: reason, Source: claim.Source(), Message: text})
	}
	left, crowded, failed := r.Book.Problem(key, claim.Group)
	if left != "" {
		tell(diag.EndpointForeign, strings.TrimSpace(left))
	}
	if d := r.Disputes.FirstToEnd(key, time.Now()); d != nil {
		tell(diag.BindingConflict, "another writer changes its targets: "+d.String())
	}
	if crowded {
		tell(diag.QuotaExceeded, "there are more endpoints than a target group takes targets, or than ports are allowed")
	}
	if failed != nil {
		notes = append([]diag.Diagnostic{{Severity: diag.Error, Reason: diag.Rejected, Source: claim.Source(),
			Message: failed.Error()}}, notes...)
	}
	return notes
}

// forgotten says what may be left of a binding of which nothing is remembered.
var forgotten = diag.Diagnostic{Severity: diag.Warning, Reason: diag.BindingForgotten,
	Message: "the LoadBalancer that remembers its targets was deleted: those that were registered before, and are no " +
		"endpoints of its Service any more, stay until you deregister them"}

// isForgotten reports whether a binding has a finalizer, and its record is lost.
func (r *Reconciler) isForgotten(b *alb.TargetGroupBinding, memory *memory) bool {
	_, released := r.released.Load(client.ObjectKeyFromObject(b))
	return memory == nil && !released && controllerutil.ContainsFinalizer(b, v1alpha1.BindingFinalizer)
}

// missing says of a Service or port that is not there. Endpoints come and go and are not reported.
func (r *Reconciler) missing(ctx context.Context, claim *bindings.Claim, to lb.TargetGroup) ([]diag.Diagnostic, error) {
	service, err := cluster.Get[corev1.Service](ctx, r.Cache, cluster.RefFrom(cluster.KindService, to.Service))
	if err != nil {
		return nil, err
	}
	return claim.Missing(to, service), nil
}

// refuse tells why a binding is not served. If its permission was withdrawn, or another has the target group, its
// targets are deregistered. Otherwise they stay.
func (r *Reconciler) refuse(ctx context.Context, b *alb.TargetGroupBinding, memory *memory,
	claim *bindings.Claim) (reconcile.Result, error) {
	leaves := slices.Contains([]diag.Reason{diag.TargetGroupNotAllowed, diag.BindingConflict, diag.TargetGroupMissing},
		claim.Refused.Reason)
	found := []diag.Diagnostic{*claim.Refused}
	switch {
	case r.isForgotten(b, memory):
		found = append(found, forgotten)
	case memory != nil && !leaves:
		found[0].Message += "; its targets stay as they are in target group " + string(memory.Group)
	}
	if err := r.report(ctx, b, claim, lb.TargetGroup{}, found); err != nil || !leaves {
		return reconcile.Result{RequeueAfter: checkAgain}, err
	}
	result, err := r.leave(ctx, b, memory)
	if result.RequeueAfter == 0 {
		result.RequeueAfter = checkAgain
	}
	return result, err
}

// vanish has the targets of a binding deregistered that is gone, and was not released: its finalizer was removed by
// others, or the API server was restored from an older state. They stay for a grace.
func (r *Reconciler) vanish(ctx context.Context, name types.NamespacedName, memory *memory) (reconcile.Result, error) {
	there, err := cluster.Get[alb.TargetGroupBinding](ctx, r.Server, refTo(name))
	switch {
	case there != nil: // and the cache lacks it
		return reconcile.Result{RequeueAfter: leaving}, nil
	case err != nil && !meta.IsNoMatchError(err):
		return reconcile.Result{}, err
	}
	b := &alb.TargetGroupBinding{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}}
	since, told := r.gone.LoadOrStore(name, time.Now())
	if !told {
		if err := r.Events.Send(ctx, events.OfBinding(b, diag.Diagnostic{Severity: diag.Warning, Reason: diag.Vanished,
			Message: fmt.Sprintf("it is gone, and Fairlead has not released it: the targets that were registered for it are "+
				"deregistered from target group %s after %s, unless it is created again", memory.Group, r.Grace)})); err != nil {
			r.gone.Delete(name) // it is told with the next attempt
			return reconcile.Result{}, err
		}
	}
	if left := r.Grace - time.Since(since.(time.Time)); left > 0 {
		return reconcile.Result{RequeueAfter: left}, nil
	}
	result, err := r.leave(ctx, b, memory)
	if result.RequeueAfter == 0 && err == nil {
		r.gone.Delete(name)
	}
	return result, err
}

// leave deregisters the targets of a binding that is not served any longer, and removes the finalizer.
func (r *Reconciler) leave(ctx context.Context, b *alb.TargetGroupBinding, memory *memory) (reconcile.Result, error) {
	name := client.ObjectKeyFromObject(b)
	if memory == nil {
		if !b.DeletionTimestamp.IsZero() && r.isForgotten(b, memory) {
			if err := r.Events.Send(ctx, events.OfBinding(b, forgotten)); err != nil {
				return reconcile.Result{}, err
			}
		}
		r.forget(ctx, name)
		return reconcile.Result{}, r.release(ctx, b)
	}
	key := routing.NewBindingKey(b.Namespace, b.Name, memory.Class.ProviderName)
	stay, why, err := r.mayStay(ctx, b, key, memory)
	if err != nil {
		return reconcile.Result{}, err
	}
	if why != "" {
		if err := r.Events.Send(ctx, events.OfBinding(b, diag.Diagnostic{Severity: diag.Warning, Reason: diag.BindingConflict,
			Message: fmt.Sprintf("its targets stay in target group %s: %s", memory.Group, why)})); err != nil {
			return reconcile.Result{}, err
		}
	}
	if !stay {
		r.Book.Leave(ctx, key, memory.Group, memory.Targets)
		if !r.Book.HasLeft(key, memory.Group) {
			return reconcile.Result{RequeueAfter: leaving}, r.tellLeft(ctx, b, key, memory.Group)
		}
	}
	r.forget(ctx, name)
	return reconcile.Result{}, r.release(ctx, b)
}

// tellLeft tells why targets cannot be deregistered.
func (r *Reconciler) tellLeft(ctx context.Context, b *alb.TargetGroupBinding, key lb.Key, group lb.GroupID) error {
	_, _, failed := r.Book.Problem(key, group)
	if failed == nil {
		return nil
	}
	return r.tellFailed(ctx, b, "its targets cannot be deregistered: "+failed.Error())
}

// tellFailed tells of a failure, once.
func (r *Reconciler) tellFailed(ctx context.Context, b *alb.TargetGroupBinding, message string) error {
	if last, told := r.failures.Swap(client.ObjectKeyFromObject(b), message); told && queue.SameFailure(last.(string), message) {
		return nil
	}
	return r.Events.Send(ctx, events.OfBinding(b, diag.Diagnostic{Severity: diag.Error, Reason: diag.Rejected, Message: message}))
}

// mayStay reports whether the targets of a binding that leaves may stay registered, and why, if that is to be told:
// their target group is gone, or is not for bindings any more.
func (r *Reconciler) mayStay(ctx context.Context, b *alb.TargetGroupBinding, key lb.Key,
	memory *memory) (stay bool, why string, err error) {
	fact, _ := r.ask(ctx, key, memory.Group, true)
	switch {
	case fact.failed != nil:
		return false, "", errors.Join(fact.failed, r.tellFailed(ctx, b, "its targets cannot be deregistered: "+fact.failed.Error()))
	case !fact.answered:
		return true, "the provider of class " + memory.Class.Name + " knows no target groups of others any more", nil
	default:
		return !fact.there || fact.Kept != "", fact.Kept, nil
	}
}

// claim returns the claim of a binding beside those of others on the same target group, and what the cloud says of
// that. If it cannot be served as it is, the claim is that of the version that was accepted last, as far as that can.
func (r *Reconciler) claim(ctx context.Context, b *alb.TargetGroupBinding, memory *memory) (bindings.Claim, *lb.OthersGroup, error) {
	classes, err := r.usable(ctx)
	if err != nil {
		return bindings.Claim{}, nil, err
	}
	claim, labels, err := r.claimOf(ctx, b, classes)
	if err != nil {
		return claim, nil, err
	}
	group, err := r.settle(ctx, &claim, classes)
	if err != nil || claim.Refused == nil || memory == nil {
		return claim, group, err
	}
	before := claim.OrLast(classes, labels, &memory.Last)
	before.HasEndpoints = before.Group == memory.Group
	group, err = r.settle(ctx, &before, classes)
	if err != nil || before.Refused == nil {
		return before, group, err
	}
	return claim, nil, nil
}

// settle refuses a claim that cannot be served beside those of others, or in its target group.
func (r *Reconciler) settle(ctx context.Context, claim *bindings.Claim, classes []*ingress.Class) (*lb.OthersGroup, error) {
	if claim.Others || claim.Refused != nil {
		return nil, nil
	}
	if !r.capabilities(claim.Class).OtherTargetGroups {
		claim.RefuseProvider()
		return nil, nil
	}
	all, err := r.all(ctx)
	if err != nil {
		return nil, err
	}
	claims := []*bindings.Claim{claim}
	for _, other := range all {
		memory := r.Memories.of(client.ObjectKeyFromObject(other))
		held := memory != nil && memory.Group == claim.Group
		if other.UID == claim.UID || !held && (!mayName(other, claim.Group) || !other.DeletionTimestamp.IsZero()) {
			continue
		}
		rival, _, err := r.claimOf(ctx, other, classes)
		if err != nil {
			return nil, err
		}
		if rival.Group == claim.Group {
			claims = append(claims, &rival)
		}
	}
	if bindings.Settle(claims); claim.Refused != nil {
		return nil, nil
	}
	return r.look(ctx, claim)
}

// claimOf returns the claim of a binding alone, and the labels of its namespace.
func (r *Reconciler) claimOf(ctx context.Context, b *alb.TargetGroupBinding,
	classes []*ingress.Class) (bindings.Claim, map[string]string, error) {
	namespace, err := r.namespaceOf(ctx, b)
	if err != nil {
		return bindings.Claim{}, nil, err
	}
	memory := r.Memories.of(client.ObjectKeyFromObject(b))
	if memory == nil {
		return bindings.NewClaim(b, classes, namespace.Labels, nil), namespace.Labels, nil
	}
	claim := bindings.NewClaim(b, classes, namespace.Labels, &memory.Last)
	claim.HasEndpoints = memory.Group == claim.Group
	return claim, namespace.Labels, nil
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

// mayName reports whether a binding may name a target group, by its ARN or by its name.
func mayName(b *alb.TargetGroupBinding, group lb.GroupID) bool {
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

// look compares a claim with its target group.
func (r *Reconciler) look(ctx context.Context, claim *bindings.Claim) (*lb.OthersGroup, error) {
	fact, asked := r.ask(ctx, r.keyOf(claim), claim.Group, false)
	switch {
	case fact.failed != nil:
		return nil, errors.Join(fact.failed, r.tellFailed(ctx, claim.TargetGroupBinding, fact.failed.Error()))
	case asked: // others may have changed its targets, too
		r.Book.RecheckBindings(ctx, claim.Group)
	}
	switch {
	case !fact.answered:
		claim.RefuseProvider()
		return nil, nil
	case !fact.there:
		claim.Compare(nil)
		return nil, nil
	}
	claim.Compare(&fact.OthersGroup)
	return &fact.OthersGroup, nil
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

// Report has the binding of a key reconciled, so that its status and events are written.
func (r *Reconciler) Report(ctx context.Context, key lb.Key) {
	namespace, name, _ := key.Binding()
	r.wake(ctx, types.NamespacedName{Namespace: namespace, Name: name})
}

// wake has a binding reconciled.
func (r *Reconciler) wake(ctx context.Context, name types.NamespacedName) {
	select {
	case r.Wake <- event.TypedGenericEvent[types.NamespacedName]{Object: name}:
	case <-ctx.Done():
	}
}
