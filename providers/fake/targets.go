package fake

import (
	"context"
	"fmt"
	"slices"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
)

// This file reads and sets the members of target groups. A plan registers targets only until a
// group has had its first ones. Later changes come here.

// Targets returns a target group's members and their health.
func (c *Cloud) Targets(
	ctx context.Context, key lb.Key, group lb.GroupID,
) ([]lb.TargetHealth, error) {
	if err := c.wait(ctx); err != nil {
		return nil, err
	}
	var healths []lb.TargetHealth
	err := c.look(func() error {
		p, err := c.pool(key, group)
		if err == nil {
			healths = p.Health()
		}
		return err
	})
	return healths, err
}

// SetTargets makes want the members of a target group. Members that stay keep their health.
func (c *Cloud) SetTargets(
	ctx context.Context, key lb.Key, group lb.GroupID, want []lb.Target,
) error {
	if err := c.wait(ctx); err != nil {
		return err
	}
	return c.change(func() error {
		p, err := c.pool(key, group)
		if err != nil {
			return err
		}
		if _, _, bound := key.Binding(); bound {
			p.Set(withOthers(ctx, p.Targets(), want))
			return nil
		}
		p.Set(want)
		r := c.records[key]
		if len(want) == 0 || r.observed.TargetGroup(group).Registered {
			return c.files.Commit(c.writeTargets)
		}
		c.changeRecord(r, func() { r.observed.TargetGroup(group).Registered = true })
		return c.save(plan.RegisterTargets{Group: group})
	})
}

// withOthers adds to the wanted targets those that have to stay: others have registered them.
func withOthers(ctx context.Context, have, want []lb.Target) []lb.Target {
	want = slices.Clone(want)
	for _, t := range have {
		if !slices.Contains(want, t) && !providers.MayRemove(ctx, t) {
			want = append(want, t)
		}
	}
	return want
}

func (c *Cloud) pool(key lb.Key, group lb.GroupID) (*group, error) {
	if _, _, bound := key.Binding(); bound && c.others[group] != nil {
		return c.others[group], nil
	}
	if r := c.records[key]; r != nil {
		if p := r.pools[group]; p != nil {
			return p, nil
		}
	}
	return nil, fmt.Errorf("no target group %s of %s", group, key)
}
