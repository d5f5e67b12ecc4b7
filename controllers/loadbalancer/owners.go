package loadbalancer

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/controllers/records"
)

// This file records which namespaces own the hosts of a load balancer. A host that its owner does
// not name any more stays reserved for the grace of moves, so that no other namespace takes it
// while an Ingress is deleted and created again.

// learnOwners records the owner of each host. A host of the last record that no Ingress of its
// owner names becomes reserved, or stays so.
func (o outcome) learnOwners(known *v1alpha1.Memory, now time.Time) {
	before := known.Hosts
	known.Hosts = nil
	if !o.Snapshot.OwnsHosts() {
		return
	}
	owned := map[string]bool{}
	for _, h := range o.Snapshot.OwnedHosts() {
		if h.Named {
			host := cmp.Or(string(h.Host), records.AnyHost)
			owned[host] = true
			known.Hosts = append(known.Hosts, v1alpha1.HostOwner{Host: host, Namespace: h.Namespace})
		}
	}
	until := &metav1.Time{Time: now.Add(o.Snapshot.Class.Grace()).Truncate(time.Second)}
	for _, h := range before {
		if owned[h.Host] || records.IsFree(h, o.Snapshot.ReadAt) {
			continue
		}
		if h.Until == nil {
			h.Until = until
		}
		known.Hosts = append(known.Hosts, h)
	}
	for i := range known.Hosts {
		known.Hosts[i].Yields = o.Built.Table != nil && slices.Contains(o.Built.Table.Yielding,
			records.HostOf(known.Hosts[i]))
	}
	slices.SortFunc(known.Hosts, func(a, b v1alpha1.HostOwner) int {
		return cmp.Compare(a.Host, b.Host)
	})
}

// untilFree returns the time until the next reservation ends; zero if there is none.
func untilFree(r *records.Record, now time.Time) time.Duration {
	var wait time.Duration
	for _, h := range r.Memory.Hosts {
		if h.Until != nil {
			wait = queue.Sooner(wait, max(h.Until.Sub(now), queue.AfterConflict))
		}
	}
	return wait
}
