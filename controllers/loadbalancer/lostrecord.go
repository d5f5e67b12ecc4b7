package loadbalancer

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/model/lb"
)

// This file finds load balancers that exist and whose LoadBalancer objects do not: they were
// deleted, together with the CRD or by a restore. The annotation that pauses a load balancer was
// lost with the object. So nothing of the load balancer is changed until --vanished-grace is over,
// or a person confirms the loss.

// noteLostRecord records when the record of a load balancer that exists was lost. Every plan begins
// with a write of the record, so a load balancer without a record was not created with this one.
func (r *Reconciler) noteLostRecord(ctx context.Context, g *gather.Snapshot, seen *lb.Observed,
	now time.Time) error {
	known := &g.Record.Memory
	missing := r.Memories.Keeper.Missing(g.Key, g.Record.Term == "" && g.Record.Address == "" &&
		g.Record.LastPlan == nil)
	switch {
	case r.Grace <= 0 || r.ReadOnly || !seen.Exists:
		known.LostAt = nil
	case known.LostAt == nil && missing:
		at := metav1.NewTime(now).Rfc3339Copy()
		known.LostAt = &at
	case r.lost(g, now) > 0:
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

// lost returns for how long a load balancer is left as it is because its record was lost; zero if
// it is not.
func (r *Reconciler) lost(g *gather.Snapshot, now time.Time) time.Duration {
	if g.Record.Memory.LostAt == nil {
		return 0
	}
	return max(0, g.Record.Memory.LostAt.Add(r.Grace).Sub(now))
}
