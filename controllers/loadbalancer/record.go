package loadbalancer

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/printable"
)

// This file makes the record of a reconcile from the outcome, the last record and the time. Equal
// outcomes lead to an equal record.

// record returns the report of a reconcile, with what the compiler reads of the last record.
func (o outcome) record(now time.Time) records.Record {
	next := *o.Snapshot.Record.DeepCopy()
	next.Members = o.Snapshot.MemberNames()
	next.MemberCount = int32(len(next.Members))
	if o.Observed.Exists {
		next.Address, next.IPs = addressOf(o.Observed.Address), o.Observed.Address.IPs
	}
	next.Listeners = nil
	for _, l := range o.Observed.Listeners {
		next.Listeners = append(next.Listeners, v1alpha1.ListenerStatus{
			Port: l.Port, Protocol: string(l.Protocol), Rules: int32(len(l.Rules)), Others: l.Others,
		})
	}
	next.Rules, next.RuleLimit = int32(o.Observed.RuleCount()), int32(o.Capabilities.Rules)
	next.Diagnostics, next.OmittedDiagnostics = nil, 0
	for _, d := range o.diagnostics() {
		next.Diagnostics = append(next.Diagnostics, reported(d))
	}
	next.LastError = ""
	if o.Err != nil {
		next.LastError = printable.Shorten(o.Err.Error())
	}
	next.LastPlan = o.lastPlan(now)
	setConditions(&next, o.conditions(), now)
	return next
}

func addressOf(a lb.Address) string {
	if a.Hostname == "" && len(a.IPs) > 0 {
		return a.IPs[0]
	}
	return a.Hostname
}

// lastPlan returns the plan that was carried out or withheld; the last one if the plan had no steps
// or the same result.
func (o outcome) lastPlan(now time.Time) *v1alpha1.PlanStatus {
	before := o.Snapshot.Record.LastPlan
	if o.Plan.Empty() {
		return before
	}
	p := &v1alpha1.PlanStatus{
		At: metav1.NewTime(now).Rfc3339Copy(), Summary: o.Plan.Counts(), Done: int32(o.Run.Done),
	}
	for _, s := range o.Plan.Print()[:min(len(o.Plan.Steps), v1alpha1.MaxSteps)] {
		p.Steps = append(p.Steps, v1alpha1.PlanStep{
			Op: s.Op, ID: printable.Line(s.ID), Detail: printable.Shorten(s.Detail),
		})
	}
	p.OmittedSteps = int32(len(o.Plan.Steps) - len(p.Steps))
	if before != nil {
		p.At = before.At
		if equality.Semantic.DeepEqual(p, before) {
			return before
		}
		p.At = metav1.NewTime(now).Rfc3339Copy()
	}
	return p
}
