package fake

import (
	"context"
	"time"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// This file applies steps: it refuses those that the cloud cannot do, assigns names and addresses,
// and calls Step.Do for the rest.

// Apply applies one step. It reads only the key of seen: the cloud has the state itself.
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
		if err := c.refuseAll(r, step); err != nil {
			return err
		}
		if result, err = c.assign(r, step); err != nil {
			return err
		}
		r.state.Lock()
		changed := r.recordSettings(step)
		r.state.Unlock()
		switch step.(type) {
		case plan.DeleteListener, plan.DeleteLoadBalancer:
			r.settle()
		default: // no port closes
		}
		c.changeRecord(r, func() {
			step.Do(r.observed, result)
			c.storeExtras(r, step)
		})
		c.records[key] = r
		if r.isEmpty() {
			delete(c.records, key)
		}
		if changed {
			return c.save(step, c.writeSettings)
		}
		return c.save(step)
	})
	return result, err
}

// assign returns the names and addresses of new objects. Existing objects keep theirs.
func (c *Cloud) assign(r *record, step plan.Step) (plan.Result, error) {
	o := r.observed
	switch s := step.(type) {
	case plan.CreateLoadBalancer:
		if o.Exists {
			return plan.Result{Handle: o.Handle, Address: o.Address, Active: o.Active}, nil
		}
		return plan.Result{Handle: r.newHandle(), Address: c.address(o.Key), Active: true}, nil
	case plan.ImportCertificate:
		if old := o.Certificate(s.Certificate.ID); old != nil {
			return plan.Result{Handle: old.Handle}, nil
		}
		return plan.Result{Handle: r.newHandle()}, nil
	case plan.CreateTargetGroup:
		if old := o.TargetGroup(s.Group.ID); old != nil {
			return plan.Result{Handle: old.Handle}, nil
		}
		return plan.Result{Handle: r.newHandle()}, nil
	case plan.CreateListener:
		if old := o.Listener(s.Listener.Port); old != nil {
			return plan.Result{Handle: old.Handle, Port: o.Address.Ports[old.Port]}, nil
		}
		at, err := c.open(r, s.Listener.Port)
		if err != nil {
			return plan.Result{}, err
		}
		return plan.Result{Handle: r.newHandle(), Port: at}, nil
	case plan.CreateRule:
		if old := o.Listener(s.Port).Rule(s.Priority); old != nil {
			return plan.Result{Handle: old.Handle}, nil
		}
		return plan.Result{Handle: r.newHandle()}, nil
	default: // no new object
		return plan.Result{}, nil
	}
}

// storeExtras stores the parts of a step that an lb.Observed does not hold: health checks, targets
// and private keys.
func (c *Cloud) storeExtras(r *record, step plan.Step) {
	switch s := step.(type) {
	case plan.ImportCertificate:
		r.storeKey(s.Certificate)
	case plan.ReplaceCertificate:
		r.storeKey(s.New)
	case plan.DeleteCertificate:
		delete(r.pairs, s.Certificate)
	case plan.CreateTargetGroup:
		if r.pools[s.Group.ID] == nil {
			r.pools[s.Group.ID] = c.newGroup(s.Group)
		}
	case plan.ModifyTargetGroup:
		r.pools[s.Group.ID].SetHealth(s.Group.Health)
	case plan.RegisterTargets:
		r.pools[s.Group].Add(s.Targets)
	case plan.DeleteTargetGroup:
		if p := r.pools[s.Group]; p != nil {
			delete(r.pools, s.Group)
			c.retire(p)
		}
	default: // the lb.Observed holds everything
	}
}

// choiceTime limits the time between the choice of a target group and the choice of a target.
const choiceTime = time.Second

// retire stops a target group that no rule names any longer. Requests that chose it before still
// find its members.
func (c *Cloud) retire(p *group) {
	time.AfterFunc(choiceTime, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		p.Set(nil)
	})
}
