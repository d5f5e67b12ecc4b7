package loadbalancer

import (
	"time"

	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/controllers/records"
)

// This file says when the grace of Ingresses ends that have vanished.

// untilVanishedGo is when the grace of the first member ends that has vanished; 0 if there is none
// that has one.
func (r *Reconciler) untilVanishedGo(next *records.Record, now time.Time) (wait time.Duration) {
	for _, m := range next.Memory.Members {
		if m.VanishedAt != nil && !m.Unconfirmed {
			wait = queue.Sooner(wait, max(m.VanishedAt.Add(r.Grace).Sub(now), queue.AfterConflict))
		}
	}
	return wait
}
