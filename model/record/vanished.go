package record

import (
	"strings"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// This file decides how long Ingresses are served that were deleted without their finalizer.

// A Vanishing is the state of an Ingress that has vanished.
type Vanishing struct {
	// For is how long ago the Ingress was first missing.
	For time.Duration
	// Unconfirmed is true if its routes are removed only after a confirmation, because several
	// namespaces have lost Ingresses.
	Unconfirmed bool
	// Confirmed is true after that confirmation.
	Confirmed bool
}

// Stays reports whether the Ingress is still served. Without a confirmation to wait for, it is
// served for a grace period.
func (v Vanishing) Stays(grace time.Duration) bool {
	return !v.Confirmed && (v.Unconfirmed || v.For < grace)
}

// CanBeServed reports whether the record of an Ingress is enough to serve it when the Ingress is gone.
func (r Member) CanBeServed() bool { return r.Served && r.LastAccepted != nil }

// Ingress returns an Ingress that has vanished, as its record has it.
func (r Member) Ingress(ingress string) *networkingv1.Ingress {
	namespace, name, _ := strings.Cut(ingress, "/")
	return &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, CreationTimestamp: metav1.NewTime(r.Created),
		},
	}
}
