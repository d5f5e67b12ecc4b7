package loadbalancer

import (
	"slices"

	"fairlead.dev/fairlead/controllers/expectations"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/planner"
	"fairlead.dev/fairlead/providers"
)

// This file has the result of a reconcile. Other files turn it into records, conditions and the
// status of Ingresses: record.go, conditions.go, status.go. These functions make no calls.

// An outcome is the result of a reconcile. After an error, later fields are empty.
type outcome struct {
	Snapshot     *gather.Snapshot
	Capabilities lb.Capabilities
	Built        model.Built
	Observed     *lb.Observed // after the plan
	Plan         plan.Plan
	// ForeignRules are the rules that another writer has made.
	ForeignRules []planner.ForeignRule
	// Hold has what the plan holds back, and HoldReason why.
	Hold       ingress.Hold
	HoldReason holdReason
	// Kept are the Ingresses without a version, by namespace/name, of which rules stay in the cloud.
	Kept []string
	// Forbidden is the reason of the expectations or of the proof against the plan; "" for none.
	Forbidden string
	// Withheld is the reason for which the plan was not carried out; "" if it was.
	Withheld string
	// Expectations is the verdict of the class's expectations on the plan.
	Expectations expectations.Judgement
	// Proof is the verdict of the check of the plan.
	Proof proofResult
	// Dispute is a change that another writer undoes; nil if there is none.
	Dispute *queue.Dispute
	// Unread is set if facts could not be read, and the last known ones were used.
	Unread bool
	Run    providers.Outcome
	Err    error // of the run
	// Passed is the load balancer without the steps that failed for some namespaces; nil if there are
	// none, or if a rejected version will be left out. The other namespaces have it, or wait for it.
	Passed *lb.LoadBalancer
	// Stuck is set if the other namespaces wait, as a plan without these steps is not permitted.
	Stuck bool
}

// complete reports whether the cloud has exactly the accepted load balancer.
func (o outcome) complete() bool { return o.Err == nil && o.Withheld == "" }

// served reports whether the cloud has all of the accepted load balancer. It may still have unused
// resources, which some clouds take a minute to release.
func (o outcome) served() bool {
	return o.complete() || o.Withheld == "" && queue.OnlyPending(o.Err) &&
		onlyDeletesUnused(planner.Diff(o.Observed, o.Built.LoadBalancer, o.Capabilities))
}

// servedTo returns a function that reports whether the cloud has all that a member asks for. If the
// cloud does not carry out a step of one namespace, the others are served.
func (o outcome) servedTo() func(ingress.Member) bool {
	served := o.served()
	noStep := len(o.Run.Failed) == 0 && !queue.OnlyPendingOrRejected(o.Err) // it was stopped
	if served || o.Withheld != "" || noStep {
		return func(ingress.Member) bool { return served }
	}
	left := o.left()
	return func(m ingress.Member) bool {
		return !slices.ContainsFunc(left(m.Namespace).Steps, func(s plan.Planned) bool {
			return o.concerns(s, m.Namespace, &m.Spec) &&
				!onlyDeletesUnused(plan.Plan{Steps: []plan.Planned{s}})
		})
	}
}

// left returns a function that returns the steps that are left for a namespace.
func (o outcome) left() func(namespace string) plan.Plan {
	whole := planner.Diff(o.Observed, o.Built.LoadBalancer, o.Capabilities)
	if o.Passed == nil {
		return func(string) plan.Plan { return whole }
	}
	passed := planner.Diff(o.Observed, *o.Passed, o.Capabilities)
	causes := o.failedNamespaces()
	return func(namespace string) plan.Plan {
		if slices.Contains(causes, namespace) {
			return whole
		}
		return passed
	}
}

// onlyDeletesUnused reports whether a plan only deletes resources that are not used any more.
func onlyDeletesUnused(p plan.Plan) bool {
	return !slices.ContainsFunc(p.Steps, func(s plan.Planned) bool {
		switch s.Step.(type) {
		case plan.DeleteTargetGroup, plan.DeleteCertificate, plan.DeleteFirewall:
			return false
		default:
			return true
		}
	})
}

// groups returns the target groups after the plan. A withheld plan changes none.
func (o outcome) groups() []lb.TargetGroup {
	if o.Withheld == "" {
		return o.Built.LoadBalancer.TargetGroups
	}
	labels := map[lb.GroupID]string{} // which the cloud does not have
	for _, g := range o.Built.LoadBalancer.TargetGroups {
		labels[g.ID] = g.NodeLabels
	}
	var out []lb.TargetGroup
	for _, g := range o.Observed.TargetGroups {
		g.NodeLabels = labels[g.ID]
		out = append(out, g.TargetGroup)
	}
	return out
}

// finished reports whether a load balancer is deleted, in the record and in the cloud.
func (o outcome) finished(next *records.Record) bool {
	return o.complete() && len(o.Snapshot.Members) == 0 && len(o.Snapshot.Departed) == 0 &&
		len(next.Memory.Members) == 0 && len(next.Memory.Hosts) == 0 &&
		!o.Observed.Exists && len(o.Observed.TargetGroups) == 0 && len(o.Observed.Certificates) == 0 &&
		o.Observed.Firewall == ""
}

// planUnlessRetained returns a plan, or an empty one for a load balancer that is kept without an
// Ingress.
func planUnlessRetained(g *gather.Snapshot, p plan.Plan) plan.Plan {
	if g.Retained() {
		return plan.Plan{Key: p.Key}
	}
	return p
}
