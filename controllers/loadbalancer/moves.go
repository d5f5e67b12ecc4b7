package loadbalancer

import (
	"cmp"
	"time"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/lb"
)

// This file ends the moves of Ingresses from one load balancer to another.

// endMoves removes from the record the load balancers that members came from, after clients have
// had the time to follow. It returns the load balancers that the members may leave now, also of
// members that have moved on from here, and the time until the next one.
func (o outcome) endMoves(next *records.Record,
	now time.Time) (ended []lb.Key, wait time.Duration) {
	grace := o.Snapshot.Class.Grace()
	for _, m := range o.Snapshot.Record.Memory.Members {
		if m.Previous != "" && records.MemberOf(next, m.Ingress) == nil {
			ended = append(ended, leftLoadBalancers(m)...)
		}
	}
	for i := range next.Memory.Members {
		m := &next.Memory.Members[i]
		if m.Previous == "" || m.PublishedAt == nil {
			continue
		}
		if left := m.PublishedAt.Add(grace).Sub(now); left > 0 {
			wait = min(left, cmp.Or(wait, left))
			continue
		}
		ended = append(ended, leftLoadBalancers(*m)...)
		m.Previous, m.Earlier = "", nil
	}
	return ended, wait
}

// untilDeparted returns the time until the first grace of a member ends that is leaving the classes
// of Fairlead; zero if there is none.
func (o outcome) untilDeparted(next *records.Record, now time.Time) (wait time.Duration) {
	grace, _ := o.Snapshot.Class.DepartureGrace()
	for _, m := range o.Snapshot.Members {
		if known := records.MemberOf(next, m.Owner.String()); m.Departing && known != nil &&
			known.DepartedAt != nil {
			left := known.DepartedAt.Add(grace).Sub(now)
			wait = queue.Sooner(wait, max(left, queue.AfterConflict))
		}
	}
	return wait
}

// leftLoadBalancers returns the load balancers that a member has left for this one.
func leftLoadBalancers(m v1alpha1.MemberMemory) []lb.Key {
	out := []lb.Key{lb.Key(m.Previous)}
	for _, key := range m.Earlier {
		out = append(out, lb.Key(key))
	}
	return out
}

// untilVanishedEnd returns the time until the first grace of a vanished member ends; zero if no
// grace ends by itself. One that is held back stays after its grace.
func (o outcome) untilVanishedEnd(
	r *records.Record, grace time.Duration, now time.Time,
) (wait time.Duration) {
	for _, m := range r.Memory.Members {
		if m.VanishedAt != nil && !m.Unconfirmed && !o.keeps(m.Ingress) {
			wait = queue.Sooner(wait, max(m.VanishedAt.Add(grace).Sub(now), queue.AfterConflict))
		}
	}
	return wait
}
