package loadbalancer

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/expectations"
	"fairlead.dev/fairlead/controllers/outcome"
	"fairlead.dev/fairlead/controllers/proofs"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// This file decides which plans are only reported.

// judge compares a plan with the expectations of the class, and with the routes that are served
// now.
func (r *Reconciler) judge(
	ctx context.Context, o outcome.Outcome, facts lb.Facts,
) expectations.Judgement {
	j := r.gate.Judge(o.Snapshot.Expectations, expectations.Change{
		Snapshot: o.Snapshot.Snapshot, Departed: o.Snapshot.Departed, Facts: facts,
		Capabilities: o.Capabilities, Observed: o.Observed, Plan: o.Plan, Next: o.Built.Table,
	})
	for _, d := range j.Diagnostics() {
		if !o.WasReported(d) {
			log.FromContext(ctx).Info("an expectation is violated",
				"at", d.Source.String(), "message", d.Message)
		}
	}
	if j.Set.Unread != "" {
		log.FromContext(ctx).Info("the expectations of the class are unread",
			"configMap", j.Set.ConfigMap.String(), "message", j.Set.Unread)
	}
	return j
}

// prove checks the plan, and replaces it by one that is proven, if there is one.
func (r *Reconciler) prove(ctx context.Context, o *outcome.Outcome) {
	o.Plan, o.Proof = proofs.Judge(o.Observed, o.Built.LoadBalancer, o.Plan, o.Capabilities.Dialect,
		o.Snapshot.Class.LoadBalancerClassSpec)
	if o.Proof.Way == "" {
		return
	}
	r.Metrics.Proofs.WithLabelValues(o.Proof.Way).Inc()
	if o.Proof.Way != proofs.Proven {
		log.FromContext(ctx).Info("a plan is not proven", "is", o.Proof.Way, "message", o.Proof.Message(),
			"witness", o.Proof.Witness(), "done", o.Proof.Done(), "plan", o.Proof.Steps())
	}
}

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
	case r.lostRecordWait(o.Snapshot, time.Now()) > 0:
		why = v1alpha1.ReasonRecordLost
	case o.Dispute != nil:
		why = v1alpha1.ReasonDisputed
	case o.Expectations.Reason() != "":
		why = o.Expectations.Reason()
	case o.Proof.Reason() != "":
		why = o.Proof.Reason()
	case plan.Suspicious(o.Plan, o.Observed) && !o.Snapshot.HasChanges():
		if r.doubts.confirm(o.Plan) {
			return ""
		}
		return v1alpha1.ReasonUnconfirmed
	}
	r.doubts.forget(o.Snapshot.Key)
	return why
}
