package loadbalancer

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/printable"
)

// This file makes the conditions of a LoadBalancer.

// conditions returns the conditions Accepted, Programmed and Degraded.
func (o outcome) conditions() []metav1.Condition {
	accepted := condition(v1alpha1.ConditionAccepted, true, v1alpha1.ReasonAccepted, "")
	for _, d := range o.diagnostics() {
		if d.Severity == diag.Error {
			accepted = condition(v1alpha1.ConditionAccepted, false,
				v1alpha1.ReasonMembersRefused, d.String())
			break
		}
	}
	rest := conditionsAfter(o.Err)
	if lost := o.Snapshot.ClassLost; lost != "" {
		lost += "; the load balancer is not changed until the class is back"
		accepted = condition(v1alpha1.ConditionAccepted, false, v1alpha1.ReasonClassMissing, lost)
		if rest[1].Status == metav1.ConditionFalse {
			rest[1] = condition(v1alpha1.ConditionDegraded, true, v1alpha1.ReasonClassMissing, lost)
		}
	}
	if o.Dispute != nil && rest[1].Status == metav1.ConditionFalse {
		rest[1] = condition(v1alpha1.ConditionDegraded, true, v1alpha1.ReasonDisputed, o.Dispute.String())
	}
	reason, told := o.Expectations.Trouble()
	if reason != "" && rest[1].Status == metav1.ConditionFalse {
		rest[1] = condition(v1alpha1.ConditionDegraded, true, reason, told)
	}
	if rest[1].Status == metav1.ConditionFalse {
		switch v1alpha1.ReasonPlanUnproven {
		case o.Withheld:
			rest[1] = condition(v1alpha1.ConditionDegraded, true, o.Withheld, o.Proof.message())
		case o.HoldReason.Reason:
			rest[1] = condition(v1alpha1.ConditionDegraded, true, o.HoldReason.Reason, o.holdMessage())
		}
	}
	if told := o.Snapshot.VanishedMessage(); told != "" && rest[1].Status == metav1.ConditionFalse {
		rest[1] = condition(v1alpha1.ConditionDegraded, true, v1alpha1.ReasonVanished, told)
	}
	if o.Withheld != "" {
		rest[0] = condition(v1alpha1.ConditionProgrammed, false, o.Withheld,
			o.Plan.Counts()+": "+o.withholding())
	}
	if o.HoldReason.Reason != "" && rest[0].Status == metav1.ConditionTrue {
		rest[0] = condition(v1alpha1.ConditionProgrammed, false, o.HoldReason.Reason, o.holdMessage())
	}
	if d := o.protected(); d != nil {
		rest[0] = condition(v1alpha1.ConditionProgrammed, false, v1alpha1.ReasonProtected, d.Message)
	}
	return append([]metav1.Condition{accepted}, rest...)
}

func setConditions(r *records.Record, conditions []metav1.Condition, now time.Time) {
	for _, c := range conditions {
		c.LastTransitionTime = metav1.NewTime(now).Rfc3339Copy()
		meta.SetStatusCondition(&r.Conditions, c)
	}
}

// conditionsAfter returns the conditions Programmed and Degraded after an answer of the cloud.
func conditionsAfter(err error) []metav1.Condition {
	programmed := condition(v1alpha1.ConditionProgrammed, true, v1alpha1.ReasonProgrammed, "")
	degraded := condition(v1alpha1.ConditionDegraded, false, v1alpha1.ReasonAsExpected, "")
	if err != nil {
		reason := reasonOf(err)
		programmed = condition(v1alpha1.ConditionProgrammed, false, reason, err.Error())
		if reason != v1alpha1.ReasonPending && reason != v1alpha1.ReasonProgramming {
			degraded = condition(v1alpha1.ConditionDegraded, true, reason, err.Error())
		}
	}
	return []metav1.Condition{programmed, degraded}
}

func condition(kind string, holds bool, reason, message string) metav1.Condition {
	status := metav1.ConditionFalse
	if holds {
		status = metav1.ConditionTrue
	}
	return metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: printable.Shorten(message),
	}
}

// reasonOf returns the reason of the worst error.
func reasonOf(err error) string {
	worst := v1alpha1.ReasonPending
	for _, e := range queue.JoinedErrors(err) {
		switch queue.RetryDelay(e) {
		case 0:
			return v1alpha1.ReasonProviderFailed
		case queue.AfterDenied:
			worst = v1alpha1.ReasonProviderDenied
		case queue.AfterRejected:
			if worst == v1alpha1.ReasonPending {
				worst = v1alpha1.ReasonProviderRefused
			}
		case queue.AfterConflict: // the reconcile was cancelled
			if worst == v1alpha1.ReasonPending {
				worst = v1alpha1.ReasonProgramming
			}
		}
	}
	return worst
}
