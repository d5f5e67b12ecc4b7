package loadbalancer

import (
	"slices"

	"fairlead.dev/fairlead/controllers/disputes"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
)

// This file holds what came of a reconcile, as far as it went.

// An outcome is a reconcile, as far as it went.
type outcome struct {
	snap  *gather.Snapshot
	caps  lb.Capabilities
	built model.Built
	seen  *lb.Observed // what is there now
	todo  plan.Plan
	// strangers are the rules there that are not ours
	strangers []plan.Stranger
	// withheld is why the plan was not carried out; "" if it was
	withheld string
	// dispute is what another writer undoes; nil if none does.
	dispute *disputes.Dispute
	// unread says that something that compiling needs could not be read, and was taken for what it
	// was.
	unread bool
	run    providers.Outcome
	err    error // of the run
}

// complete reports whether the cloud has all that was accepted, and nothing else.
func (o outcome) complete() bool { return o.err == nil && o.withheld == "" }

// served reports whether the cloud has all that was accepted. What nothing uses any more may be
// there still: some clouds take a minute to let go of it, and nobody is to wait for that.
func (o outcome) served() bool {
	return o.complete() || o.withheld == "" && queue.OnlyPending(o.err) && tidies(plan.Diff(o.seen, o.built.LoadBalancer, o.caps))
}

// tidies reports whether a plan only deletes what nothing uses any more.
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

// groups are the target groups that there will be: what a plan that is withheld would add or take
// away is as it was.
func (o outcome) groups() []lb.TargetGroup {
	if o.withheld == "" {
		return o.built.LoadBalancer.TargetGroups
	}
	var out []lb.TargetGroup
	for _, g := range o.seen.TargetGroups {
		out = append(out, g.TargetGroup)
	}
	return out
}

// finished reports whether there is nothing left of a load balancer, here or in the cloud.
func (o outcome) finished(next *records.Record) bool {
	return o.complete() && len(o.snap.Members) == 0 && len(o.snap.Departed) == 0 && len(next.Memory.Members) == 0 && len(next.Memory.Hosts) == 0 &&
		!o.seen.Exists && len(o.seen.TargetGroups) == 0 && len(o.seen.Certificates) == 0 && o.seen.Firewall == ""
}

// diagnostics are all that there is to say.
func (o outcome) diagnostics() []diag.Diagnostic {
	return slices.Concat(o.built.Diagnostics, o.todo.Diagnostics, o.unrelieved(), o.unparked())
}

// protected is why a load balancer stays that nobody asks for any more; nil if none does.
func (o outcome) protected() *diag.Diagnostic {
	at := slices.IndexFunc(o.todo.Diagnostics, func(d diag.Diagnostic) bool { return d.Reason == diag.Protected })
	if at < 0 {
		return nil
	}
	return &o.todo.Diagnostics[at]
}

// lacking reports whether there is something that the cloud does not have, and might have soon.
func (o outcome) lacking() bool {
	return slices.ContainsFunc(o.built.Diagnostics, func(d diag.Diagnostic) bool {
		return slices.Contains([]diag.Reason{diag.NetworkUnmet, diag.NameTaken, diag.WebACLMissing, diag.NoShield}, d.Reason)
	})
}

// planUnlessRetained returns a plan, or an empty one for a load balancer that stays as it is though
// no Ingress asks for it.
func planUnlessRetained(g *gather.Snapshot, p plan.Plan) plan.Plan {
	if g.Retained() {
		return plan.Plan{Key: p.Key}
	}
	return p
}
