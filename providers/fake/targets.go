package fake

import (
	"context"
	"fmt"
	"slices"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// This file is the membership of target groups, which is kept apart from plans.

// Targets returns a target group's members and what their health checks say.
func (c *Cloud) Targets(ctx context.Context, key lb.Key, group lb.GroupID) ([]lb.TargetHealth, error) {
	if err := c.wait(ctx); err != nil {
		return nil, err
	}
	var healths []lb.TargetHealth
	err := c.look(func() error {
		p, err := c.pool(key, group)
		if err == nil {
			healths = p.health()
		}
		return err
	})
	return healths, err
}

// SetTargets makes want the members of a target group. Those that stay keep their health.
func (c *Cloud) SetTargets(ctx context.Context, key lb.Key, group lb.GroupID, want []lb.Target) error {
	if err := c.wait(ctx); err != nil {
		return err
	}
	return c.change(func() error {
		p, err := c.pool(key, group)
		if err != nil {
			return err
		}
		p.set(want)
		r := c.records[key]
		if len(want) == 0 || r.observed.TargetGroup(group).Registered {
			return c.files.commit(c.writeTargets)
		}
		next := r.observed.Clone()
		next.TargetGroup(group).Registered = true
		c.replace(r, next)
		return c.save(plan.RegisterTargets{Group: group})
	})
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
	p.changed.Store(true)
}

// health is the members and their states, and behind them those that have left and still have
// requests.
func (p *pool) health() []lb.TargetHealth {
	var out []lb.TargetHealth
	for _, m := range *p.members.Load() {
		out = append(out, lb.TargetHealth{Target: m.Target, State: m.state()})
	}
	present := p.targets()
	for _, m := range p.leaving {
		if !m.gone() && !slices.Contains(present, m.Target) {
			out = append(out, lb.TargetHealth{Target: m.Target, State: stateDraining})
		}
	}
	for _, o := range p.others {
		if !slices.Contains(present, o.Target) {
			out = append(out, o)
		}
	}
	return out
}

// hear takes the word of the process that serves for how targets are. Of those that it has not
// come to yet nothing is known.
func (p *pool) hear(told []lb.TargetHealth) {
	states := map[lb.Target]string{}
	p.others = nil
	for _, t := range told {
		states[t.Target] = t.State
		if t.State == stateDraining {
			p.others = append(p.others, t)
		}
	}
	for _, m := range *p.members.Load() {
		if state := states[m.Target]; state == stateHealthy || state == stateUnhealthy {
			m.health.Store(state)
		} else {
			m.health.Store(stateInitial)
		}
	}
}

// takeOver checks the members from now on. Requests to those that have left ended with the process
// that had them.
func (p *pool) takeOver() {
	p.here, p.others = true, nil
	for _, m := range *p.members.Load() {
		p.check(m)
	}
}

// targets are the members alone.
func (p *pool) targets() []lb.Target {
	var out []lb.Target
	for _, m := range *p.members.Load() {
		out = append(out, m.Target)
	}
	return out
}
