package routing

import (
	"cmp"
	"time"
)

// An Owner is the Ingress of a route, with the properties that decide conflicts between Ingresses.
type Owner struct {
	Namespace, Name string
	Created         time.Time // zero for objects that are not in a cluster yet
	Order           int       // the annotation fairlead.dev/order, if the class permits it
}

func (o Owner) String() string { return o.Namespace + "/" + o.Name }

// Older compares owners: by order, then age, then name. An object without a creation time is not in
// the cluster yet: it is newer than those that are, and as old as others without one.
func Older(a, b Owner) int {
	return cmp.Or(
		cmp.Compare(a.Order, b.Order),
		compareCreated(a.Created, b.Created),
		cmp.Compare(a.Namespace, b.Namespace),
		cmp.Compare(a.Name, b.Name),
	)
}

// Before compares owners where routes are in order: by order, then by name, whatever their age.
func Before(a, b Owner) int {
	return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.String(), b.String()))
}

func compareCreated(a, b time.Time) int {
	switch {
	case a.IsZero() && b.IsZero():
		return 0
	case a.IsZero():
		return 1
	case b.IsZero():
		return -1
	}
	return a.Compare(b)
}

// CompareBool orders false before true.
func CompareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
