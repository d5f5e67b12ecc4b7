package outcome

import (
	"cmp"
	"time"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/lb"
)

// This file ends the moves of Ingresses from one load balancer to another.

// EndMoves removes from the record where members came from, once clients have had the time to
// follow. It returns the load balancers that they may leave now, and how long it is until the next
// one. A member that has moved on from here may have been leaving others: these are returned, too.
func (o Outcome) EndMoves(next *records.Record,
	now time.Time) (ended []lb.Key, wait time.Duration) {
	grace := o.Snapshot.Class.Grace()
	for _, m := range o.Snapshot.Record.Memory.Members {
		if m.Previous != "" && records.MemberOf(next, m.Ingress) == nil {
			ended = append(ended, left(m)...)
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
		ended = append(ended, left(*m)...)
		m.Previous, m.Earlier = "", nil
	}
	return ended, wait
}

// UntilLetGo returns how long it is until the grace of the first member ends that is leaving the
// classes of Fairlead; zero if there is none.
func (o Outcome) UntilLetGo(next *records.Record, now time.Time) (wait time.Duration) {
	for _, m := range o.Snapshot.Members {
		if known := records.MemberOf(next, m.Owner.String()); m.Departing && known != nil &&
			known.DepartedAt != nil {
			left := known.DepartedAt.Add(o.Snapshot.Class.Grace()).Sub(now)
			wait = queue.Sooner(wait, max(left, queue.AfterConflict))
		}
	}
	return wait
}

// left returns the load balancers that a member has left for this one.
func left(m v1alpha1.MemberMemory) []lb.Key {
	out := []lb.Key{lb.Key(m.Previous)}
	for _, key := range m.Earlier {
		out = append(out, lb.Key(key))
	}
	return out
}

// UntilVanishedGo returns how long it is until the grace of the first member ends that has
// vanished; zero if none has a grace that ends by itself.
func UntilVanishedGo(r *records.Record, grace time.Duration, now time.Time) (wait time.Duration) {
	for _, m := range r.Memory.Members {
		if m.VanishedAt != nil && !m.Unconfirmed {
			wait = queue.Sooner(wait, max(m.VanishedAt.Add(grace).Sub(now), queue.AfterConflict))
		}
	}
	return wait
}
