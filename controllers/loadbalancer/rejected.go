package loadbalancer

import (
	"context"
	"slices"

	"fairlead.dev/fairlead/controllers/outcome"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/planner"
	"fairlead.dev/fairlead/providers"
)

// This file carries out for other namespaces what waits for a step that the cloud rejects. A
// rejected version of an Ingress is left out, by the record. Where that does not help, as a Backend
// or a Service has changed and no Ingress has, the steps that depend on the rejected one would wait
// for ever: the plan is made again without it. Such a plan is judged as the first one was.

// mostPasses is how often a plan is made again without what the cloud rejects: it may reject more.
const mostPasses = 3

// passRejected plans again without the rejected steps, and carries that out if others wait for them.
func (r *Reconciler) passRejected(ctx context.Context, o *outcome.Outcome, facts lb.Facts) {
	rest := *o
	for range mostPasses {
		causes := o.RejectedNamespaces()
		if len(causes) == 0 || !queue.OnlyPendingOrRejected(rest.Err) || o.LearnsRejections() {
			return
		}
		left := planner.Diff(o.Observed, o.Built.LoadBalancer, o.Capabilities)
		if !r.planWithoutRejected(ctx, &rest, o, facts) ||
			!rest.Plan.Empty() && !concernsOthers(left, causes) {
			return
		}
		rest.Run, rest.Err = providers.Run(ctx, r.Cloud, o.Observed, rest.Plan, providers.Options{})
		o.Run.Done += rest.Run.Done
		o.Run.Pending = rest.Run.Pending
		o.Run.Rejections = append(slices.Clip(o.Run.Rejections), rest.Run.Rejections...)
		if queue.OnlyPending(rest.Err) {
			o.Passed = &rest.Built.LoadBalancer
			if o.Snapshot.Expectations != nil && rest.Served() {
				r.gate.Served(o.Snapshot.Key, rest.Built.Table)
			}
			return
		}
	}
}

// planWithoutRejected makes the plan without what the cloud rejects, and reports whether it is
// permitted and proven. Routes that would violate an expectation with the action that they have in
// the cloud answer 503.
func (r *Reconciler) planWithoutRejected(
	ctx context.Context, rest, o *outcome.Outcome, facts lb.Facts,
) bool {
	closed := map[string]bool{}
	for {
		w := newWithout(o, closed)
		rest.Built = w.built
		rest.Plan = planner.Diff(o.Observed, rest.Built.LoadBalancer, o.Capabilities)
		rest.Expectations = r.judge(ctx, *rest, facts)
		if rest.Plan.Empty() || rest.Expectations.Reason() == "" {
			r.prove(ctx, rest)
			return rest.Proof.Reason() == ""
		}
		o.Expectations = o.Expectations.With(rest.Expectations) // its author is told
		known := len(closed)
		for _, f := range rest.Expectations.Offences {
			if w.kept[f.Next] {
				closed[f.Next] = true
			}
		}
		if len(closed) == known {
			return false
		}
	}
}

// concernsOthers reports whether a plan has steps that only some namespaces do not ask for.
func concernsOthers(p plan.Plan, namespaces []string) bool {
	return slices.ContainsFunc(p.Steps, func(s plan.Planned) bool {
		for _, at := range s.Origin {
			if !slices.Contains(namespaces, at.Namespace) {
				return true
			}
		}
		return len(s.Origin) == 0
	})
}
