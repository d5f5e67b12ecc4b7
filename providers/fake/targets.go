package fake

import (
	"context"
	"fmt"
	"slices"

	"fairlead.dev/fairlead/model/lb"
)

// This file is the membership of target groups, which is kept apart from plans.

// Targets returns a target group's members and what their health checks say.
func (c *Cloud) Targets(ctx context.Context, key lb.Key, group lb.GroupID) ([]lb.TargetHealth, error) {
	if err := c.wait(ctx); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p, err := c.pool(key, group)
	if err != nil {
		return nil, err
	}
	return p.health(), nil
}

// SetTargets makes want the members of a target group. Those that stay keep their health.
func (c *Cloud) SetTargets(ctx context.Context, key lb.Key, group lb.GroupID, want []lb.Target) error {
	if err := c.wait(ctx); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p, err := c.pool(key, group)
	if err != nil {
		return err
	}
	p.set(want)
	r := c.records[key]
	if len(want) > 0 && !r.observed.TargetGroup(group).Registered {
		next := r.observed.Clone()
		next.TargetGroup(group).Registered = true
		c.replace(r, next)
		if err := c.saveState(); err != nil {
			return err
		}
	}
	return c.saveTargets()
}

func (c *Cloud) pool(key lb.Key, group lb.GroupID) (*pool, error) {
	if r := c.records[key]; r != nil {
		if p := r.pools[group]; p != nil {
			return p, nil
		}
	}
	return nil, fmt.Errorf("no target group %s of %s", group, key)
}

// add registers targets beside those that are there.
func (p *pool) add(targets []lb.Target) {
	want := slices.Clone(targets)
	for _, m := range *p.members.Load() {
		if !slices.Contains(want, m.Target) {
			want = append(want, m.Target)
		}
	}
	p.set(want)
}

// set makes the targets the members, in an order of their own.
func (p *pool) set(targets []lb.Target) {
	old := *p.members.Load()
	var next []*member
	for _, t := range canonical(targets) {
		at := slices.IndexFunc(old, func(m *member) bool { return m.Target == t })
		if at >= 0 {
			next = append(next, old[at])
			continue
		}
		next = append(next, p.join(t))
	}
	p.members.Store(&next)
	for _, m := range old {
		if !slices.Contains(next, m) {
			m.leave(p.drain)
			p.leaving = append(p.leaving, m)
		}
	}
	p.leaving = slices.DeleteFunc(p.leaving, (*member).gone)
}

// health is the members and their states, and behind them those that have left and still have
// requests.
func (p *pool) health() []lb.TargetHealth {
	var out []lb.TargetHealth
	for _, m := range *p.members.Load() {
		out = append(out, lb.TargetHealth{Target: m.Target, State: m.state()})
	}
	for _, m := range p.leaving {
		if !m.gone() && !slices.Contains(p.targets(), m.Target) {
			out = append(out, lb.TargetHealth{Target: m.Target, State: stateDraining})
		}
	}
	return out
}

// targets are the members alone.
func (p *pool) targets() []lb.Target {
	var out []lb.Target
	for _, m := range *p.members.Load() {
		out = append(out, m.Target)
	}
	return out
}
