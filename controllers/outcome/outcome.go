// Package outcome holds what came of a reconcile, and turns it into records, conditions and the
// status of Ingresses. Its functions call nothing.
package outcome

import (
	"slices"

	"fairlead.dev/fairlead/controllers/disputes"
	"fairlead.dev/fairlead/controllers/expectations"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/controllers/proofs"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/planner"
	"fairlead.dev/fairlead/providers"
)

// This file holds what came of a reconcile, as far as it went.

// An Outcome is what came of a reconcile, as far as it went.
type Outcome struct {
	Snapshot     *gather.Snapshot
	Capabilities lb.Capabilities
	Built        model.Built
	Observed     *lb.Observed // after the plan
	Plan         plan.Plan
	// ForeignRules are the rules that another writer has made.
	ForeignRules []planner.ForeignRule
	// Withheld is the reason for which the plan was not carried out; "" if it was.
	Withheld string
	// Expectations is the verdict of the class's expectations on the plan.
	Expectations expectations.Judgement
	// Proof is the verdict of the check of the plan.
	Proof proofs.Judgement
	// Dispute is a change that another writer undoes; nil if there is none.
	Dispute *disputes.Dispute
	// Unread says that some facts could not be read, and that the last known ones were used.
	Unread bool
	Run    providers.Outcome
	Err    error // of the run
}

// Complete reports whether the cloud has all that was accepted, and nothing else.
func (o Outcome) Complete() bool { return o.Err == nil && o.Withheld == "" }

// Served reports whether the cloud has all that was accepted. It may still have resources that are
// not used any more: some clouds take a minute to release them.
func (o Outcome) Served() bool {
	return o.Complete() || o.Withheld == "" && queue.OnlyPending(o.Err) &&
		tidies(planner.Diff(o.Observed, o.Built.LoadBalancer, o.Capabilities))
}

// tidies reports whether a plan only deletes resources that are not used any more.
func tidies(p plan.Plan) bool {
	return !slices.ContainsFunc(p.Steps, func(s plan.Planned) bool {
		switch s.Step.(type) {
		case plan.DeleteTargetGroup, plan.DeleteCertificate, plan.DeleteFirewall:
			return false
		default:
			return true
		}
	})
}

// Groups returns the target groups that there are going to be. A plan that is withheld changes
// none.
func (o Outcome) Groups() []lb.TargetGroup {
	if o.Withheld == "" {
		return o.Built.LoadBalancer.TargetGroups
	}
	var out []lb.TargetGroup
	for _, g := range o.Observed.TargetGroups {
		out = append(out, g.TargetGroup)
	}
	return out
}

// Finished reports whether nothing is left of a load balancer, in the record or in the cloud.
func (o Outcome) Finished(next *records.Record) bool {
	return o.Complete() && len(o.Snapshot.Members) == 0 && len(o.Snapshot.Departed) == 0 &&
		len(next.Memory.Members) == 0 && len(next.Memory.Hosts) == 0 &&
		!o.Observed.Exists && len(o.Observed.TargetGroups) == 0 && len(o.Observed.Certificates) == 0 &&
		o.Observed.Firewall == ""
}

// PlanUnlessRetained returns a plan, or an empty one for a load balancer that stays as it is though
// no Ingress asks for it.
func PlanUnlessRetained(g *gather.Snapshot, p plan.Plan) plan.Plan {
	if g.Retained() {
		return plan.Plan{Key: p.Key}
	}
	return p
}
