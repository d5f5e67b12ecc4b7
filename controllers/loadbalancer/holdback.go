package loadbalancer

import (
	"time"

	"fairlead.dev/fairlead/api/v1alpha1"
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
	case plan.Suspicious(o.todo, o.seen) && !o.snap.HasChanges():
		if r.doubts.confirm(o.todo) {
			return ""
		}
		return v1alpha1.ReasonUnconfirmed
	}
	r.doubts.forget(o.snap.Key)
	return why
}
