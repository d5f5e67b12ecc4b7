package outcome

import (
	"fmt"
	"time"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/gather"
)

// This file describes why a plan is withheld.

// withholding describes why a plan is withheld.
func (o Outcome) withholding() string {
	switch o.Withheld {
	case v1alpha1.ReasonReadOnly:
		return "this operator only plans"
	case v1alpha1.ReasonRecordLost:
		return lossMessage(o.Snapshot)
	case v1alpha1.ReasonDisputed:
		return o.Dispute.String()
	case v1alpha1.ReasonExpectation, v1alpha1.ReasonExpectations:
		return o.Expectations.Message()
	case v1alpha1.ReasonPlanUnproven:
		return o.Proof.Message()
	case v1alpha1.ReasonPaused:
		return o.Snapshot.PausedBy + " pauses the load balancer"
	default:
		return "so much would be deleted that a second reading has to confirm it"
	}
}

// lossMessage describes the loss of a record, and until when the load balancer is not changed.
func lossMessage(g *gather.Snapshot) string {
	at := g.Record.Memory.LostAt.UTC().Format(time.RFC3339)
	return fmt.Sprintf("the LoadBalancer was gone while the load balancer existed, and a pause with "+
		"it: nothing is changed for --vanished-grace, "+
		"or until the annotation %s=%s, or a later time that is over, confirms it",
		v1alpha1.ConfirmVanishedAnnotation, at)
}
