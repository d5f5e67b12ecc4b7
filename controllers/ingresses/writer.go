// Package ingresses writes on Ingresses: the finalizer, which keeps an Ingress from being removed
// while the cloud has resources for it, and the addresses in its status.
package ingresses

import (
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/controllers/cluster"
)

// A Writer writes on Ingresses, and remembers its writes.
type Writer struct {
	client    client.Client
	published published
	// writes that the API server has refused: of finalizers, and of statuses
	refused, unpublished refusals
}

// NewWriter returns a Writer that has written nothing.
func NewWriter(c client.Client) *Writer { return &Writer{client: c} }

// StopRepairing ends the repair of the status of an Ingress, by namespace/name.
func (w *Writer) StopRepairing(name string) { w.published.dropStatus(name) }

// Forget drops a deleted Ingress, by namespace/name.
func (w *Writer) Forget(name string) {
	w.published.forget(name)
	w.refused.forget(name)
	w.unpublished.forget(name)
}

// ChangedByOthers reports whether another writer has changed the finalizer or the status of an
// Ingress since they were written.
func (w *Writer) ChangedByOthers(ing *networkingv1.Ingress) bool {
	return w.published.differs(nameOf(ing), ing)
}

func nameOf(ing *networkingv1.Ingress) string {
	return cluster.RefOf(cluster.KindIngress, ing).String()
}
