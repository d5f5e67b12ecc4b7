package fake

import (
	"context"
	"time"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// This file carries out steps: refuse what the cloud could not do, assign what only a cloud can,
// and let the step do the rest.

// Apply carries out one step. Of seen it reads the key alone, for it has a memory of its own.
func (c *Cloud) Apply(ctx context.Context, seen *lb.Observed, step plan.Step) (plan.Result, error) {
	if err := c.wait(ctx); err != nil {
		return plan.Result{}, err
	}
	if c.options.Before != nil {
		if err := c.options.Before(seen.Key, step); err != nil {
			return plan.Result{}, err
		}
	}
	result, err := c.apply(seen.Key, step)
	if err == nil && c.options.After != nil {
		err = c.options.After(seen.Key, step)
	}
	return result, err
}

func (c *Cloud) apply(key lb.Key, step plan.Step) (result plan.Result, err error) {
	err = c.change(func() error {
		r := c.records[key]
		if r == nil {
			r = newRecord(key)
		}
		if err := c.refuse(r, step); err != nil {
			return err
		}
		if result, err = c.assign(r, step); err != nil {
			return err
		}
		next := r.observed.Clone()
		step.Do(next, result)
		c.keepBeside(r, step)
		c.replace(r, next)
		c.serve(r)
		c.records[key] = r
		if r.empty() {
			delete(c.records, key)
		}
		return c.save(step)
	})
	return result, err
}

// assign is what the cloud answers to a step: the names of new things, where they are reached.
// What is there already keeps its own.
func (c *Cloud) assign(r *record, step plan.Step) (plan.Result, error) {
	o := r.observed
	switch s := step.(type) {
	case plan.CreateLoadBalancer:
		if o.Exists {
			return plan.Result{Handle: o.Handle, Address: o.Address, Active: o.Active}, nil
		}
		return plan.Result{Handle: r.handle(), Address: c.address(o.Key), Active: true}, nil
	case plan.ImportCertificate:
		if old := o.Certificate(s.Certificate.ID); old != nil {
			return plan.Result{Handle: old.Handle}, nil
		}
		return plan.Result{Handle: r.handle()}, nil
	case plan.CreateTargetGroup:
		if old := o.TargetGroup(s.Group.ID); old != nil {
			return plan.Result{Handle: old.Handle}, nil
		}
		return plan.Result{Handle: r.handle()}, nil
	case plan.CreateListener:
		if old := o.Listener(s.Listener.Port); old != nil {
			return plan.Result{Handle: old.Handle, Port: o.Address.Ports[old.Port]}, nil
		}
		at, err := c.open(r, s.Listener.Port)
		if err != nil {
			return plan.Result{}, err
		}
		return plan.Result{Handle: r.handle(), Port: at}, nil
	case plan.CreateRule:
		if old := o.Listener(s.Port).Rule(s.Priority); old != nil {
			return plan.Result{Handle: old.Handle}, nil
		}
		return plan.Result{Handle: r.handle()}, nil
	default: // nothing new
		return plan.Result{}, nil
	}
}

// keepBeside keeps what a step brings that an lb.Observed does not hold: health checks, targets
// and private keys.
func (c *Cloud) keepBeside(r *record, step plan.Step) {
	switch s := step.(type) {
	case plan.ImportCertificate:
		r.keep(s.Certificate)
	case plan.ReplaceCertificate:
		r.keep(s.New)
	case plan.DeleteCertificate:
		delete(r.pairs, s.Certificate)
	case plan.CreateTargetGroup:
		if r.pools[s.Group.ID] == nil {
			r.pools[s.Group.ID] = c.newPool(s.Group)
		}
	case plan.ModifyTargetGroup:
		r.pools[s.Group.ID].setHealth(s.Group.Health)
	case plan.RegisterTargets:
		r.pools[s.Group].add(s.Targets)
	case plan.DeleteTargetGroup:
		if p := r.pools[s.Group]; p != nil {
			delete(r.pools, s.Group)
			c.retire(p)
		}
	default: // all that it brings is in the lb.Observed
	}
}

// late is how long a request may take from the choice of a target group to that of a target.
const late = time.Second

// retire lets the members of a target group go that no rule names any more. Requests that were on
// their way to it when it was deleted still find them.
func (c *Cloud) retire(p *pool) {
	time.AfterFunc(late, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		p.set(nil)
	})
}
