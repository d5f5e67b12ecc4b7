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
