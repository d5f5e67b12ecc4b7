// Package ingresses writes on Ingresses: the finalizer, which keeps an Ingress from being removed
// while the cloud has resources for it, and the addresses in its status.
package ingresses

import (
	"context"
	"fmt"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/queue"
)

// A Writer writes on Ingresses, and remembers what it has written.
type Writer struct {
	client    client.Client
	published published
}

// NewWriter returns a Writer that has written nothing.
func NewWriter(c client.Client) *Writer { return &Writer{client: c} }

// AddFinalizer adds the finalizer to an Ingress, if it is missing.
func (w *Writer) AddFinalizer(ctx context.Context, ing *networkingv1.Ingress) error {
	w.published.hold(nameOf(ing))
	if controllerutil.ContainsFinalizer(ing, v1alpha1.IngressFinalizer) {
		return nil
	}
	held := metadata{UID: ing.UID, Finalizers: []string{v1alpha1.IngressFinalizer}}
	if err := w.patchFinalizers(ctx, ing, held); err != nil {
		return fmt.Errorf("holding Ingress %s/%s: %w", ing.Namespace, ing.Name, err)
	}
	return nil
}

// RemoveFinalizer removes the finalizer from an Ingress, if it is there. An Ingress that is not
// being deleted and has changed since it was read may belong to a load balancer again: that is
// refused.
func (w *Writer) RemoveFinalizer(ctx context.Context, ing *networkingv1.Ingress) error {
	w.published.forget(nameOf(ing))
	if !controllerutil.ContainsFinalizer(ing, v1alpha1.IngressFinalizer) {
		return nil
	}
	free := metadata{UID: ing.UID, WithoutFinalizers: []string{v1alpha1.IngressFinalizer}}
	if ing.DeletionTimestamp.IsZero() {
		free.ResourceVersion = ing.ResourceVersion
	}
	if err := w.patchFinalizers(ctx, ing, free); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("letting go of Ingress %s/%s: %w", ing.Namespace, ing.Name, err)
	}
	return nil
}

// patchFinalizers adds or removes one finalizer. An Ingress that was created again under the name
// is refused by its UID, and one that is being deleted by now takes no finalizer: these are
// conflicts. Without a resource version the patch is made on the newest version, so that another
// writer that updates the Ingress all the time does not keep it from being served or deleted.
func (w *Writer) patchFinalizers(ctx context.Context, ing *networkingv1.Ingress,
	of metadata) error {
	err := w.client.Patch(ctx, named(ing), patch{Metadata: of})
	deleting, _ := apierrors.StatusCause(err, metav1.CauseTypeForbidden)
	another, _ := apierrors.StatusCause(err, metav1.CauseTypeFieldValueInvalid)
	if deleting.Field == "metadata.finalizers" || another.Field == "metadata.uid" {
		return apierrors.NewConflict(networkingv1.Resource("ingresses"), ing.Name, err)
	}
	return err
}

// Publish makes entries the status of an Ingress. Where another writer changes the status as often
// as this one, it fails.
func (w *Writer) Publish(ctx context.Context, ing *networkingv1.Ingress,
	entries []networkingv1.IngressLoadBalancerIngress) error {
	name := nameOf(ing)
	switch {
	case equality.Semantic.DeepEqual(ing.Status.LoadBalancer.Ingress, entries):
		w.published.set(name, entries)
		return nil
	case w.published.unseen(name, ing.ResourceVersion, entries):
		return nil
	case !w.published.mayRepair(name, entries):
		return fmt.Errorf("%w: the status of Ingress %s", queue.ErrDisputed, name)
	}
	w.published.set(name, entries)
	write := patch{Status: entriesOf(entries)}
	if err := w.client.Status().Patch(ctx, named(ing), write); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("writing the status of Ingress %s/%s: %w", ing.Namespace, ing.Name, err)
	}
	w.published.wrote(name, ing.ResourceVersion)
	return nil
}

// Unpublish removes the entries with some addresses from the status of an Ingress. Another
// controller may be writing there: what it has written since the Ingress was read stays, for the
// API server refuses the write then.
func (w *Writer) Unpublish(ctx context.Context, ing *networkingv1.Ingress,
	addresses []string) error {
	w.StopRepairing(nameOf(ing))
	left := WithoutAddresses(ing.Status.LoadBalancer.Ingress, addresses)
	if len(left) == len(ing.Status.LoadBalancer.Ingress) {
		return nil
	}
	to, write := named(ing), patch{
		Metadata: metadata{ResourceVersion: ing.ResourceVersion}, Status: entriesOf(left),
	}
	if err := w.client.Status().Patch(ctx, to, write); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("taking the address out of the status of Ingress %s/%s: %w", ing.Namespace,
			ing.Name, err)
	}
	ing.ResourceVersion = to.ResourceVersion // the finalizer goes next
	return nil
}

// WithoutAddresses returns the entries that have none of some addresses.
func WithoutAddresses(entries []networkingv1.IngressLoadBalancerIngress,
	addresses []string) []networkingv1.IngressLoadBalancerIngress {
	return slices.DeleteFunc(slices.Clone(entries),
		func(e networkingv1.IngressLoadBalancerIngress) bool {
			return e.Hostname != "" && slices.Contains(addresses, e.Hostname) ||
				e.Hostname == "" && e.IP != "" && slices.Contains(addresses, e.IP)
		})
}

// StopRepairing has the status of an Ingress, by namespace/name, stay as others write it.
func (w *Writer) StopRepairing(name string) { w.published.unset(name) }

// Forget forgets an Ingress, by namespace/name, that is gone.
func (w *Writer) Forget(name string) { w.published.forget(name) }

// ChangedByOthers reports whether another writer has changed the finalizer or the status of an
// Ingress since they were written.
func (w *Writer) ChangedByOthers(ing *networkingv1.Ingress) bool {
	return w.published.differs(nameOf(ing), ing)
}

func nameOf(ing *networkingv1.Ingress) string {
	return cluster.RefOf(cluster.KindIngress, ing).String()
}
