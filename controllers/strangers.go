package controllers

import (
	"context"
	"slices"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// This file tells rules that somebody else has put into a load balancer from those that are not wanted any
// more. Only a fresh look can come across them: in between, nothing is read.

// A rulebook knows of each load balancer which rules are ours.
type rulebook struct {
	mu     sync.Mutex
	leaves map[lb.Key]leaf
}

// A leaf is a look at a load balancer, kept true since, what was wanted of it last, and what the look came
// across.
type leaf struct {
	seen      *lb.Observed
	want      lb.LoadBalancer
	strangers []plan.Stranger
}

// suffer reports strangers, and makes those something that is wanted which are to stay.
func (r *reconciler) suffer(ctx context.Context, g *gathering, seen *lb.Observed, built *model.Built) []plan.Stranger {
	strangers, news := r.rules.strangers(g, seen, built.LoadBalancer)
	stay := g.Class.UnknownRules == v1alpha1.UnknownRulesKeep
	for _, s := range strangers {
		d := s.Notice(g.Key, stay)
		built.Diagnostics = append(built.Diagnostics, d)
		if news {
			log.FromContext(ctx).Info("somebody else has made a rule", "what", d.Message)
		}
	}
	if stay {
		built.LoadBalancer = plan.Keep(built.LoadBalancer, seen, strangers)
	}
	return strangers
}

// strangers are those of a load balancer, and whether they were found just now.
func (b *rulebook) strangers(g *gathering, seen *lb.Observed, want lb.LoadBalancer) (found []plan.Stranger, news bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	last, known := b.leaves[g.Key]
	if found = last.strangers; last.seen != seen {
		ours := plan.Among(g.Memory.Rules)
		switch {
		case known:
			ours = plan.Among(last.ours())
		case len(g.Memory.Rules) > 0:
		case g.changed() || plan.Lacks(seen, want): // what is not wanted may be left over from before
			ours = func(_ int32, r lb.Rule) bool { return ownGroups(seen, r) }
		}
		found, news = plan.Strangers(seen, want, ours), true
	}
	if b.leaves == nil {
		b.leaves = map[lb.Key]leaf{}
	}
	b.leaves[g.Key] = leaf{seen, want, found}
	return found, news
}

// forget forgets a load balancer that is no more.
func (b *rulebook) forget(key lb.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.leaves, key)
}

// ours are the rules that are there, or were about to be, without those of strangers.
func (l leaf) ours() []string {
	var out []string
	note := func(port int32, r lb.Rule) {
		if !slices.ContainsFunc(l.strangers, func(s plan.Stranger) bool { return s.Port == port && s.Key() == r.Key() }) {
			out = append(out, plan.RuleDigest(port, r))
		}
	}
	for _, there := range l.seen.Listeners {
		for _, r := range there.Rules {
			note(there.Port, r.Rule)
		}
	}
	for _, wanted := range l.want.Listeners {
		for _, r := range wanted.Rules {
			note(wanted.Port, r)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// ownGroups reports whether all that a rule forwards to is ours.
func ownGroups(seen *lb.Observed, r lb.Rule) bool {
	return !slices.ContainsFunc(r.Action.Groups(), func(id lb.GroupID) bool { return seen.TargetGroup(id) == nil })
}
