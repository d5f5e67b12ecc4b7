package controllers

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/model/routing"
)

// This file remembers which namespaces own the hosts of a load balancer. A host that its owner does not
// name any more stays reserved for the grace of moves, so that no other namespace takes it while an
// Ingress is deleted and created again.

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

// learnOwners notes who owns which host. A host that was remembered when the snapshot was read and that
// no Ingress of its owner names becomes reserved, or stays so.
func (o outcome) learnOwners(known *v1alpha1.Memory, now time.Time) {
	before := known.Hosts
	known.Hosts = nil
	if !o.snap.OwnsHosts() {
		return
	}
	owned := map[string]bool{}
	for _, h := range o.snap.OwnedHosts() {
		if h.Named {
			host := cmp.Or(string(h.Host), anyHost)
			owned[host] = true
			known.Hosts = append(known.Hosts, v1alpha1.HostOwner{Host: host, Namespace: h.Namespace})
		}
	}
	until := &metav1.Time{Time: now.Add(o.snap.Class.Grace()).Truncate(time.Second)}
	for _, h := range before {
		if owned[h.Host] || free(h, o.snap.at) {
			continue
		}
		if h.Until == nil {
			h.Until = until
		}
		known.Hosts = append(known.Hosts, h)
	}
	for i := range known.Hosts {
		known.Hosts[i].Yields = o.built.Table != nil && slices.Contains(o.built.Table.Yielding, hostOf(known.Hosts[i]))
	}
	slices.SortFunc(known.Hosts, func(a, b v1alpha1.HostOwner) int { return cmp.Compare(a.Host, b.Host) })
}

// untilFree is how long it is until the next reservation ends; zero if there is none.
func untilFree(r *record, now time.Time) time.Duration {
	var wait time.Duration
	for _, h := range r.Memory.Hosts {
		if h.Until != nil {
			wait = queue.Sooner(wait, max(h.Until.Sub(now), queue.AfterConflict))
		}
	}
	return wait
}
