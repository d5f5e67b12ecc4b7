package loadbalancer

import (
	"context"
	"maps"
	"slices"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/planner"
	"fairlead.dev/fairlead/providers"
)

// This file carries out for other namespaces what waits for a step of one namespace that the cloud
// does not carry out: it rejects or denies it, is not ready for it, or fails. A rejected version of
// an Ingress is left out, by the record. Otherwise the plan is made again without the step, once in
// each reconcile, and judged as the first one was. Errors that concern all are no reason for it: then
// the steps of all namespaces fail, or one that belongs to none.

// mostPasses is how often a plan is made again without the steps that failed alone: others of the same
// namespaces may fail after them, one after the other. Then it is made without all that these ask for.
const mostPasses = 3

// mostPlans is how often a plan is made, and not carried out, to find what it asks for instead of what is
// left out.
const mostPlans = 10

// passFailed plans again without the steps that failed for some namespaces, and carries that out if
// others wait for them.
func (r *Reconciler) passFailed(ctx context.Context, o *outcome, facts lb.Facts) {
	rest, leftOut := *o, []string(nil)
	for pass := 0; ; pass++ {
		causes := o.failedNamespaces()
		whole := pass >= mostPasses || o.learnsRejections() // the next plan is without what was rejected
		if !hasOthers(*o, causes) || ctx.Err() != nil || o.Withheld != "" || whole && slices.Equal(causes, leftOut) {
			return
		}
		left := planner.Diff(o.Observed, o.Built.LoadBalancer, o.Capabilities)
		concerned := concernsOthers(left, causes) || keepsFromOthers(*o, causes) || takesFromOthers(*o, left, causes)
		if whole {
			leftOut = causes
		}
		if !r.planWithoutFailed(ctx, &rest, o, facts, leftOut) {
			o.Stuck = concerned
			return
		}
		if !rest.Plan.Empty() && !concerned && !concernsOthers(rest.Plan, causes) {
			return
		}
		rest.Run, rest.Err = providers.Run(ctx, r.Cloud, o.Observed, rest.Plan, providers.Options{})
		o.Passed = &rest.Built.LoadBalancer
		if more := o.addRun(rest.Run, rest.Err); more {
			continue
		}
		if o.Snapshot.Expectations != nil && rest.served() {
			r.gate.Served(o.Snapshot.Key, rest.Built.Table)
		}
		return
	}
}

// hasOthers reports whether some namespaces, but not all of a load balancer, are causes.
func hasOthers(o outcome, causes []string) bool {
	names := slices.Concat(o.Snapshot.MemberNames(), slices.Collect(maps.Keys(o.Snapshot.Departed)))
	return len(causes) > 0 && slices.ContainsFunc(names, func(name string) bool {
		return !slices.Contains(causes, namespaceOf(name))
	})
}

// planWithoutFailed makes the plan without the steps that failed, and without all that some namespaces
// ask for. It reports whether the plan is permitted and proven.
func (r *Reconciler) planWithoutFailed(
	ctx context.Context, rest, o *outcome, facts lb.Facts, leftOut []string,
) bool {
	without := slices.Clip(o.Run.Failed)
	for range mostPlans {
		if !r.planWithout(ctx, rest, o, facts, without) {
			return false
		}
		before := len(without)
		for _, s := range rest.Plan.Steps {
			isTheirs := len(leftOut) > 0 && !concernsOthers(plan.Plan{Steps: []plan.Planned{s}}, leftOut)
			if isTheirs && !slices.ContainsFunc(without, func(x providers.Rejection) bool {
				return sameStep(x.Step, s.Step)
			}) {
				without = append(without, providers.Rejection{Step: s.Step, Origin: s.Origin})
			}
		}
		if len(without) == before {
			break
		}
	}
	return true // a further step of theirs is tried
}

// planWithout makes the plan without some steps, and reports whether it is permitted and proven. Routes
// that would violate an expectation without a rule that failed, and that covered them, keep the action
// that they have in the cloud. If they would violate it with that, too, they answer 503.
func (r *Reconciler) planWithout(
	ctx context.Context, rest, o *outcome, facts lb.Facts, failed []providers.Rejection,
) bool {
	held, closed := map[string]bool{}, map[string]bool{}
	for {
		w := newWithout(o, failed, held, closed)
		rest.Built = w.built
		rest.Plan = planner.Diff(o.Observed, rest.Built.LoadBalancer, o.Capabilities)
		rest.Expectations = r.judgeExpectations(*rest, facts)
		if rest.Plan.Empty() || rest.Expectations.Reason() == "" {
			r.prove(ctx, rest)
			return rest.Proof.reason() == ""
		}
		o.Expectations = o.Expectations.With(rest.Expectations) // its author is told
		known := len(held) + len(closed)
		for _, f := range rest.Expectations.Offences {
			switch {
			case w.kept[f.Next]:
				closed[f.Next] = true
			case f.Next != "":
				held[f.Next] = true
			}
		}
		if len(held)+len(closed) == known {
			return false
		}
	}
}

// keepsFromOthers reports whether rules of the cloud keep requests from wanted ones that only some
// namespaces do not ask for, as they are to be elsewhere, or to go, after a step that failed.
func keepsFromOthers(o outcome, namespaces []string) bool {
	for _, l := range o.Built.LoadBalancer.Listeners {
		at := o.Observed.Listener(l.Port)
		if at == nil {
			continue
		}
		for _, r := range lb.Unserved(at.Plain().Rules, l.Rules, o.Capabilities.Dialect) {
			if !slices.ContainsFunc(r.Origin, func(at diag.Source) bool {
				return slices.Contains(namespaces, at.Namespace)
			}) {
				return true
			}
		}
	}
	return false
}

// takesFromOthers reports whether a plan changes rules that others than some namespaces have given up.
func takesFromOthers(o outcome, p plan.Plan, namespaces []string) bool {
	return slices.ContainsFunc(p.Steps, func(s plan.Planned) bool {
		m, is := s.Step.(plan.ModifyRule)
		if !is {
			return false
		}
		there := o.Observed.Listener(m.Port).Rule(m.Priority)
		return there != nil && slices.ContainsFunc(plan.NamespacesOf(there.Rule), func(namespace string) bool {
			return !slices.Contains(namespaces, namespace)
		})
	})
}

// concernsOthers reports whether a plan has steps that only some namespaces do not ask for.
func concernsOthers(p plan.Plan, namespaces []string) bool {
	return slices.ContainsFunc(p.Steps, func(s plan.Planned) bool {
		of := s.Namespaces()
		return len(of) == 0 || slices.ContainsFunc(of, func(namespace string) bool {
			return !slices.Contains(namespaces, namespace)
		})
	})
}
