package loadbalancer

import (
	"cmp"
	"context"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"fairlead.dev/fairlead/controllers/expectations"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/controllers/metrics"
	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// This file makes the plan, and checks it.

// plan compiles a load balancer and makes the steps to it. If they are not permitted, or not
// proven, hosts that were given up are closed or the namespaces that cause this are held back, and
// the plan is made again, as often as this shows further ones. If no plan is permitted, it returns
// the first one.
func (r *Reconciler) plan(ctx context.Context, snap *gather.Snapshot, facts lb.Facts,
	seen *lb.Observed) outcome {
	first := r.planWith(ctx, snap, facts, seen, ingress.Hold{})
	if first.Forbidden == "" {
		return first
	}
	c := causes{r: r, facts: facts, changed: changedIngresses(snap), changing: map[string]bool{}, named: namedHosts(snap)}
	for name := range c.changed {
		c.changing[namespaceOf(name)] = true
	}
	last, told := first, first.Expectations
	for {
		hold := c.holdMore(last)
		if hold.Equal(last.Hold) {
			return first
		}
		if last = r.planWith(ctx, snap, facts, seen, hold); last.Forbidden == "" {
			last = c.release(last, func(hold ingress.Hold) outcome {
				return r.planWith(ctx, snap, facts, seen, hold)
			})
			last.Hold.Closed = closedHosts(last.Built.Table)
			last.holdBack(first, told, c.closings(last.Hold.Closed))
			return last
		}
		told = told.With(last.Expectations)
	}
}

// planWith makes a plan with some Ingresses held back, and checks it.
func (r *Reconciler) planWith(ctx context.Context, snap *gather.Snapshot, facts lb.Facts,
	seen *lb.Observed, hold ingress.Hold) outcome {
	with := func(stays []routing.Route) outcome { return r.planKeeping(ctx, snap, facts, seen, hold, stays) }
	return with(nil).keepRules(with)
}

// planKeeping makes a plan with some Ingresses held back, and routes of the cloud that stay.
func (r *Reconciler) planKeeping(ctx context.Context, snap *gather.Snapshot, facts lb.Facts,
	seen *lb.Observed, hold ingress.Hold, stays []routing.Route) outcome {
	caps := r.Cloud.Capabilities(model.ClassOf(snap.Snapshot))
	held := snap.WithHold(hold, snap.Departed)
	held.Stays = stays
	built := r.compile(held, facts, seen, caps) // cannot fail
	if len(stays) > 0 {
		keepGroups(&built, seen)
	}
	// Rules that another writer has made.
	foreign := r.rules.applyForeignRulePolicy(ctx, snap, seen, &built)
	// The steps, in a safe order.
	todo := planUnlessRetained(snap, r.diff(seen, built.LoadBalancer, caps))
	o := outcome{
		Snapshot: snap, Capabilities: caps, Built: built, Observed: seen, Plan: todo,
		ForeignRules: foreign, Unread: unread(snap, facts), Hold: hold,
	}
	r.prove(ctx, &o) // that the order is safe
	o.Expectations = r.judgeExpectations(o, facts)
	if !o.Plan.Empty() {
		o.Forbidden = cmp.Or(o.Expectations.Reason(), o.Proof.reason())
	}
	return o
}

// prove checks the plan, and replaces it by one that is proven, if there is one.
func (r *Reconciler) prove(ctx context.Context, o *outcome) {
	o.Plan, o.Proof = checkPlan(o.Observed, o.Built.LoadBalancer, o.Plan, o.Capabilities.Dialect,
		o.Snapshot.Class.LoadBalancerClassSpec)
	if o.Proof.Way == "" {
		return
	}
	r.Metrics.Proofs.WithLabelValues(o.Proof.Way).Inc()
	if o.Proof.Way == unproven {
		r.Metrics.Defects.WithLabelValues(metrics.DefectUnprovenPlan).Inc()
	}
	if o.Proof.Way != proven {
		log.FromContext(ctx).Info("a plan is not proven", "is", o.Proof.Way, "message", o.Proof.message(),
			"witness", o.Proof.witness(), "done", o.Proof.done(), "plan", o.Proof.steps())
	}
}

// judgeExpectations compares a plan with the expectations of the class, and with the routes that are served
// now.
func (r *Reconciler) judgeExpectations(o outcome, facts lb.Facts) expectations.Judgement {
	return r.gate.Judge(o.Snapshot.Expectations, changeOf(o, facts))
}

func changeOf(o outcome, facts lb.Facts) expectations.Change {
	return expectations.Change{
		Snapshot: o.Snapshot.Snapshot, Departed: o.Snapshot.Departed, Facts: facts,
		Capabilities: o.Capabilities, Observed: o.Observed, Plan: o.Plan, Next: o.Built.Table,
	}
}

// logExpectations logs what violates an expectation, once.
func logExpectations(ctx context.Context, o outcome) {
	j := o.Expectations
	for _, d := range j.Diagnostics() {
		if !o.wasReported(d) {
			log.FromContext(ctx).Info("an expectation is violated",
				"at", d.Source.String(), "message", d.Message)
		}
	}
	if j.Set.Unread != "" {
		log.FromContext(ctx).Info("the expectations of the class are unread",
			"configMap", j.Set.ConfigMap.String(), "message", j.Set.Unread)
	}
}
