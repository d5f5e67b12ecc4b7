package main

import (
	"context"
	"maps"
	"slices"

	"fairlead.dev/fairlead/api/provider/kit"
	v1 "fairlead.dev/fairlead/api/provider/v1"
)

// This file is the calls of the protocol (docs/reference/protocol.md), as the kit makes them.

const maxPriority = 1_000_000

// capabilities are what Caddy's load balancers can express. The operator refuses the rest by name.
var capabilities = v1.Capabilities{
	Name: "caddy", Software: "fairlead-example-caddy/1", Versions: []int{v1.Version},
	Conditions: v1.ConditionCapabilities{Fields: []string{"host", "path", "header", "method", "query", "source"}, Regex: true, HeaderRegex: true, QueryPairs: true, HostStarIsLabel: true},
	Actions:    v1.ActionCapabilities{Rewrite: true, Sticky: true},
	Limits:     v1.Limits{MinPriority: 1, MaxPriority: maxPriority},
	// the provider checks the targets of every group
	TargetGroups: v1.GroupCapabilities{Versions: []string{"HTTP1", "HTTP2", "GRPC"}, HealthWithoutRule: true},
	Calls:        v1.CallCapabilities{StepsPerApply: 100},
}

// Capabilities implements kit.Provider.
func (p *provider) Capabilities() v1.Capabilities { return capabilities }

// Lookup answers questions. Caddy has nothing that is looked up, and says so of what a class may
// ask for.
func (p *provider) Lookup(_ context.Context, asked v1.Questions) (v1.Facts, error) {
	facts := v1.Facts{Unguarded: "Caddy has no web ACLs", Unshielded: "Caddy has no shield"}
	if n := asked.Network; n != nil && len(n.Subnets)+len(n.SubnetTags)+len(n.SecurityGroups) > 0 {
		facts.Unmet = []string{"Caddy has neither subnets nor security groups"}
	}
	return facts, nil
}

// List implements kit.Provider.
func (p *provider) List(context.Context) ([]string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.state.Balancers)), nil
}

// Observe implements kit.Provider.
func (p *provider) Observe(_ context.Context, key string, _ bool) (v1.Observed, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.observed(key), nil
}

// Active implements kit.Provider.
func (p *provider) Active(_ context.Context, key string) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.observed(key).Active, nil
}

// Apply carries out steps, in one change of Caddy's configuration where that works.
func (p *provider) Apply(ctx context.Context, key string, steps []v1.Step) ([]v1.Result, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if kit.IsLate(ctx) { // the lock was that of another load balancer's change
		return nil, kit.ErrLate
	}
	return p.carryOut(key, steps), nil
}

// carryOut carries out steps together, and where Caddy refuses that, one by one, so that each gets
// its own result.
func (p *provider) carryOut(key string, steps []v1.Step) []v1.Result {
	next := p.balancer(key)
	results := make([]v1.Result, len(steps))
	for i, s := range steps {
		var problem *v1.Problem
		results[i], problem = p.step(key, next, s)
		results[i].Problem = problem
	}
	if !slices.ContainsFunc(results, func(r v1.Result) bool { return r.Problem == nil }) {
		return results // nothing has changed
	}
	err := p.commit(key, next)
	if err == nil {
		return results
	}
	if len(steps) == 1 {
		return []v1.Result{{Problem: other("%v", err)}}
	}
	for i, s := range steps {
		results[i] = p.carryOut(key, []v1.Step{s})[0]
	}
	return results
}

// Targets implements kit.Provider.
func (p *provider) Targets(_ context.Context, key, group string) ([]v1.TargetHealth, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.state.Balancers[key]
	if b == nil || b.Groups[group] == nil {
		return nil, other("there is no target group %s", group)
	}
	var out []v1.TargetHealth
	for _, t := range b.Groups[group].Targets {
		out = append(out, v1.TargetHealth{Address: t.Address, Port: t.Port, State: p.stateOf(member{key, group, t})})
	}
	return out, nil
}

// SetTargets replaces the targets of a group. Caddy finishes the requests that those have that go.
func (p *provider) SetTargets(ctx context.Context, key, group string, want []v1.Target) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if kit.IsLate(ctx) {
		return kit.ErrLate
	}
	next := p.balancer(key)
	g := next.Groups[group]
	if g == nil {
		return other("there is no target group %s", group)
	}
	g.Registered = g.Registered || len(want) > 0
	if problem := g.set(want); problem != nil {
		return problem
	}
	return p.commit(key, next)
}
