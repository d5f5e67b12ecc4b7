package loadbalancer

import (
	"cmp"
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
// for ever: the routes of the rejected steps stay as they are in the cloud meanwhile, and those that
// are new answer 503.

// passRejected plans again without the rejected steps, and carries that out if others wait for them.
func (r *Reconciler) passRejected(ctx context.Context, o *outcome.Outcome) {
	causes := o.RejectedNamespaces()
	if len(causes) == 0 || !queue.OnlyPendingOrRejected(o.Err) || o.LearnsRejections() {
		return
	}
	rest := *o
	rest.Built.LoadBalancer = withoutRejected(o.Built.LoadBalancer, o.Observed, o.Run.Rejections)
	rest.Plan = planner.Diff(o.Observed, rest.Built.LoadBalancer, o.Capabilities)
	if !rest.Plan.Empty() {
		left := planner.Diff(o.Observed, o.Built.LoadBalancer, o.Capabilities)
		if !concernsOthers(left, causes) {
			return
		}
		if r.prove(ctx, &rest); rest.Proof.Reason() != "" {
			return
		}
		var err error
		rest.Run, err = providers.Run(ctx, r.Cloud, o.Observed, rest.Plan, providers.Options{})
		o.Run.Done += rest.Run.Done
		o.Run.Pending = rest.Run.Pending
		if !queue.OnlyPending(err) {
			return // the next reconcile looks first
		}
	}
	o.Passed = &rest.Built.LoadBalancer
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

// withoutRejected returns the wanted load balancer without what the cloud rejects: rules that need it
// keep the action that they have in the cloud, or answer 503 if they are new.
func withoutRejected(
	wanted lb.LoadBalancer, seen *lb.Observed, rejections []providers.Rejection,
) lb.LoadBalancer {
	groups, rules := map[lb.GroupID]bool{}, map[string]bool{}
	for _, x := range rejections {
		switch s := x.Step.(type) {
		case plan.CreateTargetGroup:
			groups[s.Group.ID] = true
		case plan.CreateRule:
			rules[s.Rule.Key()] = true
		case plan.ModifyRule:
			rules[s.Rule.Key()] = true
		default: // no rule needs it
		}
	}
	needed := func(a lb.Action) bool {
		return slices.ContainsFunc(a.Targets, func(w lb.Weighted) bool { return groups[w.Group] })
	}
	wanted.TargetGroups = slices.DeleteFunc(slices.Clone(wanted.TargetGroups),
		func(g lb.TargetGroup) bool { return groups[g.ID] })
	wanted.Listeners = slices.Clone(wanted.Listeners)
	for i := range wanted.Listeners {
		l := &wanted.Listeners[i]
		there := seen.Listener(l.Port)
		if needed(l.Default) {
			l.Default = lb.Action{Kind: "fixed", Status: 503}
			if there != nil {
				l.Default = there.Default
			}
		}
		l.Rules = slices.Clone(l.Rules)
		for j := range l.Rules {
			if rule := &l.Rules[j]; needed(rule.Action) || rules[rule.Key()] {
				rule.Action = present(there, *rule)
			}
		}
	}
	keepGroups(&wanted, seen)
	return wanted
}

// present returns the action that a rule has in the cloud; 503 for one that is not there.
func present(l *lb.ObservedListener, rule lb.Rule) lb.Action {
	if l != nil {
		at := slices.IndexFunc(l.Rules, func(o lb.ObservedRule) bool {
			return o.MatchKey() == rule.MatchKey()
		})
		if at >= 0 {
			return l.Rules[at].Action
		}
	}
	return lb.Action{Kind: "fixed", Status: 503}
}

// keepGroups adds the target groups that rules use and that are in the cloud only.
func keepGroups(wanted *lb.LoadBalancer, seen *lb.Observed) {
	use := func(a lb.Action) {
		for _, w := range a.Targets {
			there := seen.TargetGroup(w.Group)
			if there != nil && !slices.ContainsFunc(wanted.TargetGroups, func(g lb.TargetGroup) bool {
				return g.ID == w.Group
			}) {
				wanted.TargetGroups = append(wanted.TargetGroups, there.TargetGroup)
			}
		}
	}
	for _, l := range wanted.Listeners {
		use(l.Default)
		for _, rule := range l.Rules {
			use(rule.Action)
		}
	}
	slices.SortFunc(wanted.TargetGroups, func(a, b lb.TargetGroup) int {
		return cmp.Compare(a.ID, b.ID)
	})
}
