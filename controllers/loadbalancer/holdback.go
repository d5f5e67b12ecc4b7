package loadbalancer

import (
	"time"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/model/plan"
)

// This file says which plans are not carried out. They are reported, and nothing is done.

// withheld is why a plan is not to be carried out, as the condition Programmed gives it; "" if it
// is.
func (r *Reconciler) withheld(o outcome) string {
	why := ""
	switch {
	case o.todo.Empty():
	case r.ReadOnly:
		why = v1alpha1.ReasonReadOnly
	case o.snap.PausedBy != "":
		why = v1alpha1.ReasonPaused
	case r.lost(o.snap, time.Now()) > 0:
		why = v1alpha1.ReasonRecordLost
	case o.dispute != nil:
		why = v1alpha1.ReasonDisputed
	case o.snap.Unserved():
		why = v1alpha1.ReasonVanished
	case plan.Suspicious(o.todo, o.seen) && !changed(o.snap):
		if r.doubts.confirm(o.todo) {
			return ""
		}
		return v1alpha1.ReasonUnconfirmed
	}
	r.doubts.forget(o.snap.Key)
	return why
}

// withholding says to people what a plan that is not carried out waits for.
func (o outcome) withholding() string {
	switch o.withheld {
	case v1alpha1.ReasonReadOnly:
		return "this operator only plans"
	case v1alpha1.ReasonRecordLost:
		return lossMessage(o.snap)
	case v1alpha1.ReasonDisputed:
		return o.dispute.String()
	case v1alpha1.ReasonVanished:
		return "an Ingress has vanished of which no version is remembered that could be served on"
	case v1alpha1.ReasonPaused:
		return o.snap.PausedBy + " says that nothing is to be changed"
	default:
		return "so much would be deleted that a second reading has to confirm it"
	}
}

// unlessRetained is a plan, or an empty one for a load balancer that nobody asks for any more and
// that is to stay as it is.
func unlessRetained(g *gather.Snapshot, p plan.Plan) plan.Plan {
	if retained(g) {
		return plan.Plan{Key: p.Key}
	}
	return p
}

// retained reports whether a load balancer that nobody asks for any more is to stay as it is. Its
// class decides, as it is now; one that is gone, as it was. What the class does not permit any more
// does not stay.
func retained(g *gather.Snapshot) bool {
	return len(g.Members) == 0 && !g.Withdrawn && g.Class.Retains()
}

// changed reports whether an Ingress came, went or asks for something else since the last plan.
func changed(g *gather.Snapshot) bool {
	return len(g.Departed) > 0 || len(g.Changes()) > 0
}
