package controllers

import (
	"time"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/routing"
)

// This file reads the hosts of a record.

// anyHost is how a record writes routing.Any.
const anyHost = "*"

// ownersOf are the owners that a record has, without the reservations that had ended by a time.
func ownersOf(known []v1alpha1.HostOwner, now time.Time) map[routing.Host]string {
	out := make(map[routing.Host]string, len(known))
	for _, h := range known {
		if free(h, now) {
			continue
		}
		out[hostOf(h)] = h.Namespace
	}
	return out
}

// yieldingOf are the hosts of a record that certificates of other namespaces were there before.
func yieldingOf(known []v1alpha1.HostOwner) map[routing.Host]bool {
	out := map[routing.Host]bool{}
	for _, h := range known {
		if h.Yields {
			out[hostOf(h)] = true
		}
	}
	return out
}

// hostOf is the host of an entry.
func hostOf(h v1alpha1.HostOwner) routing.Host {
	if h.Host == anyHost {
		return routing.Any
	}
	return routing.Host(h.Host)
}

// free reports whether a reservation has ended.
func free(h v1alpha1.HostOwner, now time.Time) bool {
	return h.Until != nil && !now.Before(h.Until.Time)
}
