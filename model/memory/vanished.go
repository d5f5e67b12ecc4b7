package memory

import (
	"strings"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// This file says how long Ingresses are served that were deleted without their finalizer.

// An Absence is how many of some members have vanished.
type Absence struct{ Vanished, Members int }

// few is how many may vanish without confirmation.
const few = 3

// Grave reports whether so many have vanished that the user has to confirm it: more than a few, or
// more than a third. A single one is no sign that the API server was restored from a backup.
func (a Absence) Grave() bool {
	return a.Vanished > few || a.Vanished > 1 && 3*a.Vanished > a.Members
}

// A Vanishing is the state of an Ingress that has vanished.
type Vanishing struct {
	// For is how long ago it was first seen to be gone.
	For time.Duration
	// Unconfirmed says that it goes only once that is confirmed, because many vanished with it.
	Unconfirmed bool
	// Confirmed says that it is.
	Confirmed bool
}

// Stays reports whether it is still served: one that vanished alone is for a grace.
func (v Vanishing) Stays(grace time.Duration) bool {
	return !v.Confirmed && (v.Unconfirmed || v.For < grace)
}

// Memorable reports whether enough is remembered of an Ingress to serve it once it is gone.
func (r Member) Memorable() bool { return r.Served && r.LastAccepted != nil }

// Ingress returns what is remembered of an Ingress that has vanished.
func (r Member) Ingress(ingress string) *networkingv1.Ingress {
	namespace, name, _ := strings.Cut(ingress, "/")
	return &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, CreationTimestamp: metav1.NewTime(r.Created)}}
}
