// Package program compiles sets of objects, and plans what each load balancer needs.
package program

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/planner"
	"fairlead.dev/fairlead/model/proof"
	"fairlead.dev/fairlead/model/routing/precedence"
	"fairlead.dev/fairlead/providers/clouds"
)

// This file drives the compiler over a set of objects.

// A Program is one load balancer with its compiled rules and its plan.
type Program struct {
	model.Built
	Provider     string // as its class names it
	Capabilities lb.Capabilities
	Plan         plan.Plan
	Known        plan.KnownSettings // settings of the load balancer before the plan
	After        *lb.Observed       // the load balancer after the plan

	before   *lb.Observed // the load balancer before the plan
	foreign  []planner.ForeignRule
	matchers map[int32]*lb.Matcher // by port, each made when it is first used
}

// ForeignRules returns the priorities, by port, of the rules of a load balancer that Fairlead did
// not create and that the class keeps.
func (p Program) ForeignRules(in *lb.Observed) map[int32][]int {
	out := map[int32][]int{}
	for _, f := range p.foreign {
		l := in.Listener(f.Port)
		if l == nil {
			continue
		}
		for _, r := range l.Rules {
			if r.Key() == f.Key() {
				out[f.Port] = append(out[f.Port], r.Priority)
			}
		}
	}
	return out
}

// Proof returns the verdict about the plan. Few commands ask for it, which takes about as long as the plan itself.
func (p Program) Proof() proof.Verdict {
	return proof.Check(p.before, p.LoadBalancer, p.Plan, p.Capabilities.Dialect)
}

// effects returns what each step of the plan changes for requests. That takes about as long as the plan itself.
func (p Program) effects() []proof.Effect {
	return proof.Effects(p.before, p.LoadBalancer, p.Plan, p.Capabilities.Dialect)
}

// Matcher returns a matcher that answers requests as the rules on a port do.
func (p Program) Matcher(l *lb.ObservedListener) *lb.Matcher {
	if p.matchers[l.Port] == nil {
		p.matchers[l.Port] = lb.NewMatcher(l.Plain(), p.Capabilities.Dialect)
	}
	return p.matchers[l.Port]
}

// TablesOf returns the routing tables of programs.
func TablesOf(programs []Program) []*precedence.Table {
	var out []*precedence.Table
	for _, p := range programs {
		out = append(out, p.Table)
	}
	return out
}

// BuildAll compiles all objects, without plans: one from nothing has no diagnostics.
func BuildAll(
	ctx context.Context, cloud clouds.Offline, objects ingress.Objects, options ingress.ClassOptions,
) ([]Program, []diag.Diagnostic, error) {
	programs, diagnostics, err := each(objects, options, func(s ingress.Snapshot) (Program, error) {
		return build(ctx, cloud, s, &lb.Observed{Key: s.Key})
	})
	return programs, diag.Sort(meant(diagnostics, objects)), err
}

// CompileAll compiles all objects, and plans from the observed load balancers. Load balancers
// without an Ingress come last, to be deleted.
func CompileAll(
	ctx context.Context, cloud clouds.Offline, objects ingress.Objects, options ingress.ClassOptions,
	seen map[lb.Key]*lb.Observed,
) ([]Program, []diag.Diagnostic, error) {
	wanted := map[lb.Key]bool{}
	programs, diagnostics, err := each(objects, options, func(s ingress.Snapshot) (Program, error) {
		wanted[s.Key] = true
		return Compile(ctx, cloud, s, seen[s.Key])
	})
	if err != nil {
		return nil, nil, err
	}
	for _, key := range slices.Sorted(maps.Keys(seen)) {
		if !wanted[key] {
			p := remove(cloud, classOf(key, objects, options), seen[key])
			programs = append(programs, p)
			diagnostics = append(diagnostics, p.Plan.Diagnostics...)
		}
	}
	return programs, diag.Sort(meant(diagnostics, objects)), nil
}

// each returns the programs of the load balancers that objects ask for, with all diagnostics.
func each(
	objects ingress.Objects, options ingress.ClassOptions, compile func(ingress.Snapshot) (Program, error),
) (programs []Program, diagnostics []diag.Diagnostic, err error) {
	snapshots, diagnostics := ingress.Place(objects, options)
	diagnostics = append(diagnostics, ingress.LeftAlone(objects, options, snapshots)...)
	for _, s := range snapshots {
		p, err := compile(s)
		if err != nil {
			return nil, nil, err
		}
		programs = append(programs, p)
		diagnostics = append(diagnostics, p.Diagnostics...)
		diagnostics = append(diagnostics, p.Plan.Diagnostics...)
	}
	return programs, diagnostics, nil
}

// Compile compiles one snapshot, and plans from the observed load balancer.
func Compile(
	ctx context.Context, cloud clouds.Offline, s ingress.Snapshot, seen *lb.Observed,
) (Program, error) {
	if seen == nil {
		seen = &lb.Observed{Key: s.Key}
	}
	p, err := build(ctx, cloud, s, seen)
	if err != nil {
		return p, err
	}
	p.Plan = planner.Diff(seen, p.LoadBalancer, p.Capabilities)
	p.Known = plan.SettingsOfRead(seen)
	p.before, p.After = seen, p.Plan.Fold(seen)
	return p, nil
}

// build compiles one snapshot, as far as it depends on the observed load balancer.
func build(ctx context.Context, cloud clouds.Offline, s ingress.Snapshot, seen *lb.Observed) (Program, error) {
	p := Program{Provider: s.Class.ProviderName, matchers: map[int32]*lb.Matcher{}}
	facts, err := cloud.Lookup(ctx, model.Ask(s))
	if err != nil {
		return p, fmt.Errorf("looking up what %s needs to know: %w", s.Key, err)
	}
	facts.AddObserved(seen)
	p.Capabilities = cloud.Capabilities(model.ClassOf(s))
	p.Built = model.Compile(s, facts, p.Capabilities)
	p.LoadBalancer = planner.KeepShape(p.LoadBalancer, seen)
	if ours := s.Recorded.Rules; s.Class.UnknownRules == v1alpha1.UnknownRulesKeep && len(ours) > 0 {
		strangers := planner.ForeignRules(seen, p.LoadBalancer, planner.HasDigest(ours))
		for _, stranger := range strangers {
			p.Diagnostics = append(p.Diagnostics, stranger.Notice(s.Key, true))
		}
		p.foreign = strangers
		p.LoadBalancer = planner.KeepForeignRules(p.LoadBalancer, seen, strangers)
	}
	return p, nil
}

// classOf returns the class of a load balancer without an Ingress. If the class is deleted, it is
// the recorded one, or else only the name in the key.
func classOf(key lb.Key, objects ingress.Objects, options ingress.ClassOptions) ingress.Class {
	if class := ingress.FindClass(objects, options, key.Class()); class != nil {
		return *class
	}
	out := ingress.Class{Name: key.Class()}
	if spec := objects.Records[key].Class; spec != nil {
		out.LoadBalancerClassSpec = *spec
	}
	return out
}

// remove plans the deletion of a load balancer, unless its class protects it.
func remove(cloud clouds.Offline, class ingress.Class, seen *lb.Observed) Program {
	s := ingress.Snapshot{Key: seen.Key, Class: class}
	p := Program{Provider: class.ProviderName, Capabilities: cloud.Capabilities(model.ClassOf(s))}
	p.LoadBalancer = model.Compile(s, lb.Facts{}, p.Capabilities).LoadBalancer
	p.Plan = planner.Diff(seen, p.LoadBalancer, p.Capabilities)
	p.before, p.After = seen, p.Plan.Fold(seen)
	return p
}
