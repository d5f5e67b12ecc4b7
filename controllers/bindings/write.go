package bindings

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/events"
	"fairlead.dev/fairlead/model/bindings"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/dialect/alb"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/printable"
	"fairlead.dev/fairlead/providers"
)

// This file writes to bindings: a finalizer, and a condition. Patches carry no field of the spec, which may have
// fields that this version does not know.

// addFinalizer adds the finalizer, before there are targets to leave.
func (r *Reconciler) addFinalizer(ctx context.Context, b *alb.TargetGroupBinding) error {
	if controllerutil.ContainsFinalizer(b, v1alpha1.BindingFinalizer) {
		return nil
	}
	return r.patch(ctx, b, append(slices.Clone(b.Finalizers), v1alpha1.BindingFinalizer))
}

// release forgets a binding, and removes the finalizer.
func (r *Reconciler) release(ctx context.Context, b *alb.TargetGroupBinding) error {
	name := client.ObjectKeyFromObject(b)
	if err := r.Memories.change(ctx, name, func(*memory) (*memory, error) { return nil, nil }); err != nil {
		return err
	}
	r.released.Store(name, true)
	if !controllerutil.ContainsFinalizer(b, v1alpha1.BindingFinalizer) {
		return nil
	}
	finalizers := slices.DeleteFunc(slices.Clone(b.Finalizers), func(f string) bool { return f == v1alpha1.BindingFinalizer })
	return client.IgnoreNotFound(r.patch(ctx, b, finalizers))
}

// Remember stores the targets that may be a binding's own.
func (r *Reconciler) Remember(ctx context.Context, k lb.GroupKey, own []lb.Target) error {
	namespace, name, _ := k.Key.Binding()
	of := types.NamespacedName{Namespace: namespace, Name: name}
	return r.Memories.change(ctx, of, func(before *memory) (*memory, error) {
		if before == nil || before.Group != k.ID || before.Class.ProviderName != k.Key.Provider() {
			return nil, fmt.Errorf("it has no targets in %s any more: %w", k.ID, providers.ErrPending)
		}
		next := *before
		next.Targets = own
		return &next, nil
	})
}

// patch writes the finalizers of a binding as it was read.
func (r *Reconciler) patch(ctx context.Context, b *alb.TargetGroupBinding, finalizers []string) error {
	return r.send(ctx, b, map[string]any{"metadata": map[string]any{"uid": b.UID, "resourceVersion": b.ResourceVersion,
		"finalizers": append([]string{}, finalizers...)}}, false)
}

// send sends a JSON merge patch (RFC 7386) of a binding, or of its status.
func (r *Reconciler) send(ctx context.Context, b *alb.TargetGroupBinding, patch map[string]any, status bool) error {
	data, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("writing TargetGroupBinding %s/%s: %w", b.Namespace, b.Name, err)
	}
	to := &metav1.PartialObjectMetadata{}
	to.Namespace, to.Name = b.Namespace, b.Name
	to.SetGroupVersionKind(alb.ParamsVersion.WithKind(alb.BindingKind))
	of := client.RawPatch(types.MergePatchType, data)
	if status {
		err = r.Writer.Status().Patch(ctx, to, of)
	} else {
		err = r.Writer.Patch(ctx, to, of)
	}
	if err != nil {
		return fmt.Errorf("writing TargetGroupBinding %s/%s: %w", b.Namespace, b.Name, err)
	}
	b.ResourceVersion = to.ResourceVersion // for the next patch
	return nil
}

// report writes the condition of a binding, and sends an event for each problem.
func (r *Reconciler) report(ctx context.Context, b *alb.TargetGroupBinding, claim *bindings.Claim, to lb.TargetGroup,
	found []diag.Diagnostic) error {
	for _, d := range found {
		if err := r.Events.Send(ctx, events.OfBinding(b, d)); err != nil {
			return err
		}
	}
	said := metav1.Condition{Type: v1alpha1.ConditionServed, Status: metav1.ConditionTrue, Reason: "Served",
		ObservedGeneration: b.Generation, Message: fmt.Sprintf("class %s permits it; the endpoints of Service %s, port %s, "+
			"are registered in target group %s", nameOf(claim), to.Service, to.Port, claim.Group)}
	for i, d := range found {
		if d.Severity == diag.Error && i == 0 {
			said.Status, said.Reason, said.Message = metav1.ConditionFalse, string(d.Reason), d.Message
			continue
		}
		said.Message += "; " + d.Message
	}
	said.Message = printable.Shorten(said.Message)
	conditions := slices.Clone(b.Status.Conditions)
	meta.SetStatusCondition(&conditions, said)
	if b.Status.ObservedGeneration != nil && *b.Status.ObservedGeneration == b.Generation &&
		equality.Semantic.DeepEqual(conditions, b.Status.Conditions) {
		return nil
	}
	return client.IgnoreNotFound(r.send(ctx, b, map[string]any{
		"metadata": map[string]any{"uid": b.UID, "resourceVersion": b.ResourceVersion},
		"status":   map[string]any{"observedGeneration": b.Generation, "conditions": conditions}}, true))
}

func nameOf(claim *bindings.Claim) string {
	if claim.Class == nil {
		return ""
	}
	return claim.Class.Name
}
