package fake

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
)

// This file is what the cloud's files hold. The state file is every lb.Observed by its key, as a
// plan is made against it. What an lb.Observed does not hold stands beside it: targets with their
// health checks in FILE.targets; private keys, readable by their owner alone, in FILE.keys.

// savedGroup is what the cloud knows of a target group besides.
type savedGroup struct {
	Health  routing.HealthCheck `json:"health"`
	Targets []lb.Target         `json:"targets"`
}

// savedPair is a key pair in the clear, which an lb.KeyPair takes care never to be.
type savedPair struct {
	Chain string `json:"chain"`
	Key   string `json:"key"`
}

// save writes what a step may have changed. The state file must never name a target group or a
// certificate that is not there: what stands beside is written before it is named, and again, where
// something was deleted, only when it no longer is.
func (c *Cloud) save(step plan.Step) error {
	return c.files.commit(func() error {
		switch step.(type) {
		case plan.ImportCertificate:
			return inOrder(c.writeKeys, c.writeState)
		case plan.ReplaceCertificate: // both keys are there while the state changes its mind
			return inOrder(c.writeKeys, c.writeState, c.dropKeys, c.writeKeys)
		case plan.DeleteCertificate:
			return inOrder(c.writeState, c.writeKeys)
		case plan.CreateTargetGroup, plan.ModifyTargetGroup, plan.RegisterTargets:
			return inOrder(c.writeTargets, c.writeState)
		case plan.DeleteTargetGroup:
			return inOrder(c.writeState, c.writeTargets)
		default:
			return c.writeState()
		}
	})
}

func inOrder(writes ...func() error) error {
	for _, write := range writes {
		if err := write(); err != nil {
			return err
		}
	}
	return nil
}

// dropKeys forgets the keys of certificates that are no more.
func (c *Cloud) dropKeys() error {
	for _, r := range c.records {
		maps.DeleteFunc(r.pairs, func(id lb.CertificateID, _ pair) bool { return r.observed.Certificate(id) == nil })
	}
	return nil
}

func (c *Cloud) writeState() error {
	state := map[lb.Key]*lb.Observed{}
	for key, r := range c.records {
		state[key] = r.live(r.observed)
	}
	return c.files.write("", 0o644, state)
}

func (c *Cloud) writeTargets() error {
	all := map[lb.Key]map[lb.GroupID]savedGroup{}
	for key, r := range c.records {
		all[key] = map[lb.GroupID]savedGroup{}
		for id, p := range r.pools {
			all[key][id] = savedGroup{*p.settings.Load(), p.targets()}
		}
	}
	return c.files.write(".targets", 0o644, all)
}

func (c *Cloud) writeKeys() error {
	all := map[lb.Key]map[lb.CertificateID]savedPair{}
	for key, r := range c.records {
		all[key] = map[lb.CertificateID]savedPair{}
		for id, p := range r.pairs {
			all[key][id] = savedPair{string(p.Chain), string(p.Key)}
		}
	}
	return c.files.write(".keys", 0o600, all)
}

// load makes the records what the files hold. Those that are there already are changed and go on
// working.
func (c *Cloud) load() error {
	var state map[lb.Key]*lb.Observed
	var groups map[lb.Key]map[lb.GroupID]savedGroup
	var pairs map[lb.Key]map[lb.CertificateID]savedPair
	if err := errors.Join(c.files.read("", &state), c.files.read(".targets", &groups), c.files.read(".keys", &pairs)); err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(state)) {
		o := state[key]
		if o == nil || o.Key != key {
			return fmt.Errorf("reading %s: what stands under %s is not its load balancer", c.files.path, key)
		}
		if err := c.adopt(o, groups[key], pairs[key]); err != nil {
			return fmt.Errorf("reading %s.keys: %s: %w", c.files.path, key, err)
		}
	}
	for key, r := range c.records {
		if state[key] == nil {
			c.become(r, &lb.Observed{Key: key}, nil, nil)
		}
	}
	return nil
}

// adopt makes a record what was kept of it.
func (c *Cloud) adopt(o *lb.Observed, groups map[lb.GroupID]savedGroup, saved map[lb.CertificateID]savedPair) error {
	r := c.records[o.Key]
	if r == nil {
		r = newRecord(o.Key)
	}
	pairs := map[lb.CertificateID]pair{}
	for _, seen := range o.Certificates {
		cert, text := seen.Certificate, saved[seen.ID]
		cert.Pair = &lb.KeyPair{Chain: []byte(text.Chain), Key: []byte(text.Key)}
		p, err := newPair(cert)
		if err != nil {
			return fmt.Errorf("certificate %s: %w", cert.ID, err)
		}
		pairs[cert.ID] = p
	}
	c.become(r, o, groups, pairs)
	return nil
}

// become makes a record, and the data plane where it is here, what somebody else has made of it.
func (c *Cloud) become(r *record, o *lb.Observed, groups map[lb.GroupID]savedGroup, pairs map[lb.CertificateID]pair) {
	c.replace(r, o)
	r.serial, r.pairs = max(r.serial, lastSerial(o)), pairs
	for id, p := range r.pools {
		if g := o.TargetGroup(id); g == nil || !p.speaks(g.TargetGroup) {
			p.set(nil)
			delete(r.pools, id)
		}
	}
	for _, seen := range o.TargetGroups {
		group := seen.TargetGroup
		group.Health = groups[group.ID].Health
		if r.pools[group.ID] == nil {
			r.pools[group.ID] = c.newPool(group)
		}
		r.pools[group.ID].setHealth(group.Health)
		r.pools[group.ID].set(groups[group.ID].Targets)
	}
	c.records[o.Key] = r
	if r.empty() {
		delete(c.records, o.Key)
	}
	c.serve(r)
}
