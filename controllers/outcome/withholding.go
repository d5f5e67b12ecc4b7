package outcome

import (
	"fmt"
	"time"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/gather"
)

// This file says for what a plan waits that is not carried out.

// withholding says for what a plan waits that is not carried out.
func (o Outcome) withholding() string {
	switch o.Withheld {
	case v1alpha1.ReasonReadOnly:
		return "this operator only plans"
	case v1alpha1.ReasonRecordLost:
		return lossMessage(o.Snapshot)
	case v1alpha1.ReasonDisputed:
		return o.Dispute.String()
	case v1alpha1.ReasonVanished:
		return "an Ingress has vanished of which no version is remembered that could be served on"
	case v1alpha1.ReasonExpectation, v1alpha1.ReasonExpectations:
		return o.Expectations.Message()
	case v1alpha1.ReasonPlanUnproven:
		return o.Proof.Message()
	case v1alpha1.ReasonPaused:
		return o.Snapshot.PausedBy + " says that nothing is to be changed"
	default:
		return "so much would be deleted that a second reading has to confirm it"
	}
}

// lossMessage says that nothing is changed, and until when.
func lossMessage(g *gather.Snapshot) string {
	at := g.Record.Memory.LostAt.UTC().Format(time.RFC3339)
	return fmt.Sprintf("the LoadBalancer was gone while the load balancer existed, and a pause with "+
		"it: nothing is changed for --vanished-grace, "+
		"or until the annotation %s=%s, or a later time that is over, confirms it",
		v1alpha1.ConfirmVanishedAnnotation, at)
}
