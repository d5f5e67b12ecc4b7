// Package readiness opens the readiness gates of Pods.
package readiness

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/events"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/controllers/targets"
	"fairlead.dev/fairlead/model/endpoints"
	"fairlead.dev/fairlead/model/ingress/dialect/alb"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
)

// This file opens the readiness gates of Pods: a Pod that declares the gate becomes ready when the
// load balancers that have it as a target find it healthy. The reconciler of targets has registered
// it before. The cloud is asked only while a Pod waits. See docs/contributing/decisions/0008.

// A Reconciler reconciles one Pod at a time, while the Pod waits.
type Reconciler struct {
	*gather.Gatherer
	Events    *events.Recorder
	Targets   *targets.Book
	Writer    client.Client
	Cloud     providers.Provider
	Limit     time.Duration // how long a Pod waits at most
	inquiries inquiries
	// since is when this replica began to lead. The waits of all Pods begin there.
	since time.Time
}

// Reconcile writes the condition of a Pod until its gate is open. An open gate stays open: then the
// load balancer checks the health.
func (g *Reconciler) Reconcile(ctx context.Context,
	name types.NamespacedName) (reconcile.Result, error) {
	pod, err := cluster.Get[corev1.Pod](ctx, g.Cache,
		cluster.RefTo(cluster.KindPod, name.Namespace, name.Name))
	if pod == nil || !atGate(pod) {
		return reconcile.Result{}, err
	}
	v, failure := g.check(ctx, pod)
	verdict := v.verdict()
	if v.needsWrite(pod, verdict) {
		if err := g.writeCondition(ctx, pod, verdict); err != nil {
			return reconcile.Result{}, err
		}
	}
	switch {
	case verdict.Reason == v1alpha1.ReasonTimedOut:
		return reconcile.Result{}, g.Events.Send(ctx, events.GateTimedOut(pod, verdict))
	case verdict.Status == corev1.ConditionTrue:
		return reconcile.Result{}, nil
	case failure != nil:
		return reconcile.Result{}, failure
	}
	return reconcile.Result{RequeueAfter: v.recheckAfter()}, nil
}

// atGate reports whether a Pod would be ready if its gate were open.
func atGate(pod *corev1.Pod) bool {
	return endpoints.WaitsForGate(pod) && !endpoints.GateIsOpen(pod)
}

// check reads the health of a Pod as a target of each group that has it, or is going to have it.
func (g *Reconciler) check(ctx context.Context, pod *corev1.Pod) (visit, error) {
	since := endpoints.WaitsForGateSince(pod)
	if since.Before(g.since) {
		since = g.since
	}
	v := visit{waited: time.Since(since), limit: g.Limit}
	services, err := g.Pods.ServicesOf(ctx, pod)
	if err != nil {
		return v, err
	}
	if v.settled, err = g.isCompiled(ctx, pod.Namespace, services); err != nil {
		return v, err
	}
	var errs []error
	for _, s := range services {
		for _, key := range slices.Concat(g.Directory.DependentsOf(s), g.Targets.Bindings(s)) {
			for _, id := range g.Targets.Expected(key, s) {
				state, err := g.healthOf(ctx, pod, lb.GroupKey{Key: key, ID: id})
				v.findings, errs = append(v.findings, finding{lb.GroupKey{Key: key, ID: id}, state}),
					append(errs, err)
			}
		}
	}
	slices.SortFunc(v.findings, func(a, b finding) int {
		return cmp.Compare(a.group.String(), b.group.String())
	})
	return v, errors.Join(errs...)
}

// isCompiled reports whether all load balancers were compiled whose Ingresses name one of the
// Services, and all target groups of others are known that have endpoints of them.
func (g *Reconciler) isCompiled(ctx context.Context, namespace string,
	services []cluster.Ref) (bool, error) {
	var list networkingv1.IngressList
	if err := g.Cache.List(ctx, &list, client.InNamespace(namespace),
		client.UnsafeDisableDeepCopy); err != nil {
		return false, fmt.Errorf("listing Ingresses of %s: %w", namespace, err)
	}
	for i := range list.Items {
		named, err := g.servicesOf(ctx, &list.Items[i])
		if err != nil {
			return false, err
		}
		for _, s := range services {
			if !named[s] {
				continue
			}
			place, err := g.PlaceOf(ctx, &list.Items[i])
			if err != nil {
				return false, err
			}
			for _, key := range place.Keys {
				if !g.Targets.Compiled(key, s) {
					return false, nil
				}
			}
		}
	}
	return g.areBound(ctx, namespace, services)
}

// areBound reports whether it is known of all TargetGroupBindings of the Services whether they are served.
func (g *Reconciler) areBound(ctx context.Context, namespace string, services []cluster.Ref) (bool, error) {
	if !g.Optional.Has(cluster.KindTargetGroupBinding) {
		return true, nil
	}
	var list alb.TargetGroupBindingList
	if err := g.Cache.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return false, fmt.Errorf("listing TargetGroupBindings of %s: %w", namespace, err)
	}
	for i := range list.Items {
		b := &list.Items[i]
		of := cluster.RefTo(cluster.KindService, namespace, b.Spec.ServiceRef.Name)
		held := controllerutil.ContainsFinalizer(b, v1alpha1.BindingFinalizer) && b.DeletionTimestamp.IsZero()
		if held && slices.Contains(services, of) && !g.Targets.IsDecided(namespace, b.Name) {
			return false, nil
		}
	}
	return true, nil
}

// servicesOf returns the Services to which an Ingress sends requests, by itself or by a Backend.
func (g *Reconciler) servicesOf(ctx context.Context,
	ing *networkingv1.Ingress) (map[cluster.Ref]bool, error) {
	named := gather.References{}
	named.Add(ing.Namespace, ing.Annotations, &ing.Spec)
	backends, err := cluster.GetAll[v1alpha1.Backend](ctx, g.Cache, named[cluster.KindBackend], nil)
	if err != nil {
		return nil, err
	}
	for _, b := range backends {
		named.AddBackend(b)
	}
	return named[cluster.KindService], nil
}

// healthOf returns the health of a Pod as a target of a group. The cloud is asked only about
// registered targets.
func (g *Reconciler) healthOf(ctx context.Context, pod *corev1.Pod, k lb.GroupKey) (string, error) {
	registered, exists := g.Targets.TargetsOf(k)
	if !exists {
		return stateMissing, nil
	}
	if !slices.ContainsFunc(registered, func(m lb.Target) bool { return hasAddress(pod, m.Address) }) {
		return stateUnregistered, nil
	}
	said, err := g.inquiries.answer(ctx, g.Cloud, k)
	if err != nil {
		return stateUnknown, fmt.Errorf("reading the health of the targets of %s: %w", k, err)
	}
	state := stateOf(pod, said)
	if state == stateUnregistered {
		g.Targets.RecheckOne(ctx, k) // another writer has deregistered it
	}
	return state, nil
}

// writeCondition writes the condition of a Pod.
func (g *Reconciler) writeCondition(
	ctx context.Context, pod *corev1.Pod, c corev1.PodCondition,
) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID}, // another Pod may have the name by now
		"status":   map[string]any{"conditions": []corev1.PodCondition{c}},
	})
	if err != nil {
		return fmt.Errorf("writing the condition of Pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	to := &metav1.PartialObjectMetadata{} // the answer has only the metadata
	to.Namespace, to.Name = pod.Namespace, pod.Name
	to.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(cluster.KindPod))
	if err := g.Writer.Status().Patch(ctx, to,
		client.RawPatch(types.StrategicMergePatchType, patch)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("writing the condition of Pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return nil
}

// Sources returns the watches of the reconciler.
func (g *Reconciler) Sources(from cache.Cache) []source.TypedSource[types.NamespacedName] {
	return []source.TypedSource[types.NamespacedName]{
		source.TypedFunc[types.NamespacedName](func(context.Context,
			queue.Queue[types.NamespacedName]) error {
			g.since = time.Now()
			return nil
		}),
		queue.Watch[client.Object](from, &corev1.Pod{}, func(before, _ client.Object) bool {
			return !atGate(cluster.PodIn(before))
		}, func(_ context.Context, pod client.Object) []types.NamespacedName {
			if !atGate(cluster.PodIn(pod)) {
				return nil
			}
			return []types.NamespacedName{client.ObjectKeyFromObject(pod)}
		}),
	}
}
