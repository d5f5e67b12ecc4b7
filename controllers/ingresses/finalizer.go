package ingresses

import (
	"context"
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"fairlead.dev/fairlead/api/v1alpha1"
)

// This file adds the finalizer to Ingresses and removes it.

// AddFinalizer adds the finalizer to an Ingress, if it is missing.
func (w *Writer) AddFinalizer(ctx context.Context, ing *networkingv1.Ingress) error {
	w.published.addFinalizer(nameOf(ing))
	if controllerutil.ContainsFinalizer(ing, v1alpha1.IngressFinalizer) {
		return nil
	}
	if err := w.refused.last(ing); err != nil {
		return err
	}
	held := metadata{UID: ing.UID, Finalizers: []string{v1alpha1.IngressFinalizer}}
	err := w.patchFinalizers(ctx, ing, held)
	if err != nil {
		err = fmt.Errorf("adding the finalizer to Ingress %s/%s: %w", ing.Namespace, ing.Name, err)
	}
	w.refused.note(ing, err)
	return err
}

// RemoveFinalizer removes the finalizer from an Ingress, if it is there. It fails if the Ingress is
// not being deleted and has changed since it was read: it may belong to a load balancer again.
func (w *Writer) RemoveFinalizer(ctx context.Context, ing *networkingv1.Ingress) error {
	w.Forget(nameOf(ing))
	if !controllerutil.ContainsFinalizer(ing, v1alpha1.IngressFinalizer) {
		return nil
	}
	free := metadata{UID: ing.UID, WithoutFinalizers: []string{v1alpha1.IngressFinalizer}}
	if ing.DeletionTimestamp.IsZero() {
		free.ResourceVersion = ing.ResourceVersion
	}
	if err := w.patchFinalizers(ctx, ing, free); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("removing the finalizer of Ingress %s/%s: %w", ing.Namespace, ing.Name, err)
	}
	return nil
}

// patchFinalizers adds or removes one finalizer. It returns a conflict if the Ingress was created
// again, which has another UID, or is being deleted and takes no finalizer. Without a resource
// version the newest version is patched, so that frequent updates by another writer do not block
// it.
func (w *Writer) patchFinalizers(ctx context.Context, ing *networkingv1.Ingress,
	of metadata) error {
	err := w.client.Patch(ctx, metadataOf(ing), patch{Metadata: of})
	deleting, _ := apierrors.StatusCause(err, metav1.CauseTypeForbidden)
	another, _ := apierrors.StatusCause(err, metav1.CauseTypeFieldValueInvalid)
	if deleting.Field == "metadata.finalizers" || another.Field == "metadata.uid" {
		return apierrors.NewConflict(networkingv1.Resource("ingresses"), ing.Name, err)
	}
	return err
}
