package controllertest

import (
	"cmp"
	"context"
	"testing"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers/fake"
)

// This file is the cloud.

// A Cloud is a fake cloud whose refusals and lists a test sets. It counts observations.
type Cloud struct {
	*fake.Cloud
	Refuses      func(plan.Step) error // before a step is done
	Lists        func() ([]lb.Key, error)
	Shields      bool // can protect load balancers by Shield
	Inbound      bool // can limit which clients connect
	Rules        int  // how many a load balancer may have, if it is not 0
	Observations int
}

// NewCloud returns an empty cloud.
func NewCloud(t *testing.T) *Cloud {
	t.Helper()
	cloud, err := fake.New(fake.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cloud.Close)
	return &Cloud{Cloud: cloud}
}

// Capabilities returns those of the fake cloud.
func (c *Cloud) Capabilities(class lb.Class) lb.Capabilities {
	out := c.Cloud.Capabilities(class)
	out.Shields = c.Shields
	out.Inbound = out.Inbound || c.Inbound
	out.Rules = cmp.Or(c.Rules, out.Rules)
	return out
}

// List lists load balancers.
func (c *Cloud) List(ctx context.Context) ([]lb.Key, error) {
	if c.Lists != nil {
		return c.Lists()
	}
	return c.Cloud.List(ctx)
}

// Observe observes a load balancer, and counts the observation.
func (c *Cloud) Observe(ctx context.Context, key lb.Key, deep bool) (*lb.Observed, error) {
	c.Observations++
	return c.Cloud.Observe(ctx, key, deep)
}

// Apply carries out a step, unless it is refused.
func (c *Cloud) Apply(ctx context.Context, seen *lb.Observed, step plan.Step) (plan.Result, error) {
	if c.Refuses != nil {
		if err := c.Refuses(step); err != nil {
			return plan.Result{}, err
		}
	}
	return c.Cloud.Apply(ctx, seen, step)
}
