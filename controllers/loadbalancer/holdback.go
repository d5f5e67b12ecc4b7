package loadbalancer

import (
	"slices"
	"sync"
	"time"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/outcome"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// This file says which plans are not carried out. These are reported only.

// withheld returns the reason of the condition Programmed for which a plan is not carried out; ""
// if it is carried out.
func (r *Reconciler) withheld(o outcome.Outcome) string {
	why := ""
	switch {
	case o.Plan.Empty():
	case r.ReadOnly:
		why = v1alpha1.ReasonReadOnly
	case o.Snapshot.PausedBy != "":
		why = v1alpha1.ReasonPaused
	case r.lost(o.Snapshot, time.Now()) > 0:
		why = v1alpha1.ReasonRecordLost
	case o.Dispute != nil:
		why = v1alpha1.ReasonDisputed
	case o.Snapshot.Unserved():
		why = v1alpha1.ReasonVanished
	case plan.Suspicious(o.Plan, o.Observed) && !o.Snapshot.HasChanges():
		if r.doubts.confirm(o.Plan) {
			return ""
		}
		return v1alpha1.ReasonUnconfirmed
	}
	r.doubts.forget(o.Snapshot.Key)
	return why
}

// doubts holds plans that delete much although no Ingress changed: a read that came back short
// leads to such a plan. They are carried out once a second reading leads to the same plan.
type doubts struct {
	mu    sync.Mutex
	plans map[lb.Key][]plan.Printed
}

// confirm stores a plan, and reports whether it is the one that was stored before.
func (d *doubts) confirm(p plan.Plan) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	printed := p.Print()
	if slices.Equal(d.plans[p.Key], printed) {
		delete(d.plans, p.Key)
		return true
	}
	if d.plans == nil {
		d.plans = map[lb.Key][]plan.Printed{}
	}
	d.plans[p.Key] = printed
	return false
}

// about reports whether the last plan of a load balancer waits to be confirmed.
func (d *doubts) about(key lb.Key) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.plans[key] != nil
}

// forget drops the plan of a load balancer.
func (d *doubts) forget(key lb.Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.plans, key)
}
