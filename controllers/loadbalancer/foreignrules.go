package loadbalancer

import (
	"context"
	"slices"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/planner"
)

// This file finds foreign rules: rules that another writer has made, and no earlier plan. They are
// found when the load balancer is observed.

// foreignRules holds a view of the rules of each load balancer.
type foreignRules struct {
	mu    sync.Mutex
	views map[lb.Key]ruleView
}

// A ruleView has the last observation of a load balancer, the wanted load balancer, and the foreign
// rules that were found.
type ruleView struct {
	seen    *lb.Observed
	want    lb.LoadBalancer
	foreign []planner.ForeignRule
}

// applyForeignRulePolicy reports foreign rules, and adds them to the wanted load balancer if the
// class keeps them. Rules that were taken over and give the wanted answers are not foreign.
func (b *foreignRules) applyForeignRulePolicy(ctx context.Context, g *gather.Snapshot,
	seen *lb.Observed, built *model.Built) []planner.ForeignRule {
	built.LoadBalancer = planner.KeepShape(built.LoadBalancer, seen)
	foreign, news := b.find(g, seen, built.LoadBalancer)
	stay := g.Class.UnknownRules == v1alpha1.UnknownRulesKeep
	for _, s := range foreign {
		d := s.Notice(g.Key, stay)
		built.Diagnostics = append(built.Diagnostics, d)
		if news {
			log.FromContext(ctx).Info("another writer has created a rule", "what", d.Message)
		}
	}
	if stay {
		built.LoadBalancer = planner.KeepForeignRules(built.LoadBalancer, seen, foreign)
	}
	return foreign
}

// find returns the foreign rules of a load balancer, and reports whether they are new.
func (b *foreignRules) find(g *gather.Snapshot, seen *lb.Observed,
	want lb.LoadBalancer) (found []planner.ForeignRule, news bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	last, known := b.views[g.Key]
	if found = last.foreign; last.seen != seen {
		ours := planner.HasDigest(g.Recorded.Rules)
		switch {
		case known:
			ours = planner.HasDigest(ownRules(last.seen, last.want, last.foreign))
		case len(g.Recorded.Rules) > 0:
		case g.HasChanges() || planner.MissesRules(seen, want):
			// rules that are not wanted may be left over from an earlier plan
			ours = func(_ int32, r lb.Rule) bool { return ownGroups(seen, r) }
		}
		found, news = planner.ForeignRules(seen, want, ours), true
	}
	if b.views == nil {
		b.views = map[lb.Key]ruleView{}
	}
	b.views[g.Key] = ruleView{seen, want, found}
	return found, news
}

// forget drops a load balancer that was deleted.
func (b *foreignRules) forget(key lb.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.views, key)
}

// ownGroups reports whether a rule forwards only to target groups of this operator.
func ownGroups(seen *lb.Observed, r lb.Rule) bool {
	return !slices.ContainsFunc(r.Action.Groups(), func(id lb.GroupID) bool {
		return seen.TargetGroup(id) == nil
	})
}
