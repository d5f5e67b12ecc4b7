package ingresses

import (
	"context"
	"fmt"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/controllers/queue"
)

// This file writes the status of Ingresses.

// Publish makes entries the status of an Ingress. It fails if another writer has just changed them
// again.
func (w *Writer) Publish(ctx context.Context, ing *networkingv1.Ingress,
	entries []networkingv1.IngressLoadBalancerIngress) error {
	name := nameOf(ing)
	switch {
	case equality.Semantic.DeepEqual(ing.Status.LoadBalancer.Ingress, entries):
		w.published.setStatus(name, entries)
		return nil
	case w.published.isUnseen(name, ing.ResourceVersion, entries):
		return nil
	case !w.published.mayRepair(name, entries):
		return fmt.Errorf("%w: the status of Ingress %s", queue.ErrDisputed, name)
	}
	if err := w.unpublished.last(ing); err != nil {
		return err
	}
	w.published.setStatus(name, entries)
	write := patch{Status: entriesOf(entries)}
	err := client.IgnoreNotFound(w.client.Status().Patch(ctx, metadataOf(ing), write))
	if err != nil {
		err = fmt.Errorf("writing the status of Ingress %s/%s: %w", ing.Namespace, ing.Name, err)
		w.published.dropStatus(name) // else the status would count as changed by another writer
	}
	if w.unpublished.note(ing, err); err != nil {
		return err
	}
	w.published.noteWrite(name, ing.ResourceVersion)
	return nil
}

// Unpublish removes the entries with these addresses from the status of an Ingress. The API server
// refuses the write if another controller has changed the Ingress since it was read.
func (w *Writer) Unpublish(ctx context.Context, ing *networkingv1.Ingress,
	addresses []string) error {
	w.StopRepairing(nameOf(ing))
	left := WithoutAddresses(ing.Status.LoadBalancer.Ingress, addresses)
	if len(left) == len(ing.Status.LoadBalancer.Ingress) {
		return nil
	}
	to, write := metadataOf(ing), patch{
		Metadata: metadata{ResourceVersion: ing.ResourceVersion}, Status: entriesOf(left),
	}
	if err := w.client.Status().Patch(ctx, to, write); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("removing the address from the status of Ingress %s/%s: %w", ing.Namespace,
			ing.Name, err)
	}
	ing.ResourceVersion = to.ResourceVersion // for the removal of the finalizer
	return nil
}

// WithoutAddresses returns the entries that have none of the addresses.
func WithoutAddresses(entries []networkingv1.IngressLoadBalancerIngress,
	addresses []string) []networkingv1.IngressLoadBalancerIngress {
	return slices.DeleteFunc(slices.Clone(entries),
		func(e networkingv1.IngressLoadBalancerIngress) bool {
			return e.Hostname != "" && slices.Contains(addresses, e.Hostname) ||
				e.Hostname == "" && e.IP != "" && slices.Contains(addresses, e.IP)
		})
}
