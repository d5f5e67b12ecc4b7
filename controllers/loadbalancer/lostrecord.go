package loadbalancer

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/lb"
)

// This file finds existing load balancers whose LoadBalancer objects were deleted, together with
// the CRD or by a restore. A pause annotation was lost with the object. So the load balancer is not
// changed until --vanished-grace is over, or a person confirms the loss.

// noteLostRecord records when the record of an existing load balancer was lost. Every plan begins
// with a write of the record, so a load balancer without a record has lost it.
func (r *Reconciler) noteLostRecord(ctx context.Context, g *gather.Snapshot, seen *lb.Observed,
	now time.Time) error {
	known := &g.Record.Memory
	blank := g.Record.Term == "" && g.Record.Address == "" && g.Record.LastPlan == nil
	missing := r.Records.Store.Missing(g.Key, blank)
	switch {
	case r.Grace <= 0 || r.ReadOnly || !seen.Exists || blank && takenWithin(g.Adoption, r.Grace, now):
		known.LostAt = nil
	case known.LostAt == nil && missing:
		at := metav1.NewTime(now).Rfc3339Copy()
		known.LostAt = &at
	case r.lostRecordWait(g, now) > 0:
		confirmed, err := r.VanishingConfirmed(ctx, g.Key)
		if err != nil {
			return err
		}
		if !known.LostAt.After(confirmed) {
			known.LostAt = nil
		}
	default:
		known.LostAt = nil
	}
	return nil
}

// lostRecordWait returns how long a load balancer is not changed because its record was lost; zero
// for not at all.
func (r *Reconciler) lostRecordWait(g *gather.Snapshot, now time.Time) time.Duration {
	if g.Record.Memory.LostAt == nil {
		return 0
	}
	return max(0, g.Record.Memory.LostAt.Add(r.Grace).Sub(now))
}

// takenWithin reports whether a load balancer was taken over a short time ago: it has had no record before.
func takenWithin(a *records.Adoption, grace time.Duration, now time.Time) bool {
	return a != nil && a.State == v1alpha1.AdoptionTaken && now.Sub(a.Since()) < grace
}
