package fake

import (
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"slices"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
)

// This file converts the cloud to files and back. The state file is every lb.Observed by its key,
// as plans use it. Targets with their health checks are in FILE.targets, settings in FILE.settings,
// private keys, readable by their owner alone, in FILE.keys.

// savedGroup is the part of a target group that an lb.Observed does not hold.
type savedGroup struct {
	Health  routing.HealthCheck `json:"health"`
	Targets []lb.Target         `json:"targets"`
}

// save writes the files that a step can have changed. The state file never names a target group or
// a certificate that is missing from the files beside it: these are written before it and, after a
// deletion, again after it. What is to be written before all of them is passed.
func (c *Cloud) save(step plan.Step, before ...func() error) error {
	return c.files.Commit(func() error {
		if err := inOrder(before...); err != nil {
			return err
		}
		switch step.(type) {
		case plan.ImportCertificate:
			return inOrder(c.writeKeys, c.writeState)
		case plan.ReplaceCertificate: // both keys are there while the state file changes
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

// dropKeys deletes the keys of deleted certificates.
func (c *Cloud) dropKeys() error {
	for _, r := range c.records {
		r.state.Lock()
		maps.DeleteFunc(r.pairs, func(id lb.CertificateID, _ pair) bool {
			return r.observed.Certificate(id) == nil
		})
		r.state.Unlock()
	}
	return nil
}

func (c *Cloud) writeState() error {
	state := map[lb.Key]*lb.Observed{}
	for key, r := range c.records {
		state[key] = r.copyState(r.observed)
	}
	return c.files.Write("", 0o644, state)
}

func (c *Cloud) writeTargets() error {
	all := map[lb.Key]map[lb.GroupID]savedGroup{}
	for key, r := range c.records {
		all[key] = map[lb.GroupID]savedGroup{}
		for id, p := range r.pools {
			all[key][id] = savedGroup{*p.Settings.Load(), p.Targets()}
		}
	}
	return c.files.Write(".targets", 0o644, all)
}

func (c *Cloud) writeKeys() error {
	all := map[lb.Key]map[lb.CertificateID]savedPair{}
	for key, r := range c.records {
		all[key] = map[lb.CertificateID]savedPair{}
		for id, p := range r.pairs {
			all[key][id] = savedPair{Chain: string(p.Chain), Key: string(p.Key)}
		}
	}
	return c.files.Write(".keys", 0o600, all)
}

// load updates the records from the files. Existing records go on serving.
func (c *Cloud) load() error {
	var state map[lb.Key]*lb.Observed
	var groups map[lb.Key]map[lb.GroupID]savedGroup
	var pairs map[lb.Key]map[lb.CertificateID]savedPair
	var settings map[lb.Key]*lb.ReadSettings
	if err := errors.Join(c.files.Read("", &state), c.files.Read(".targets", &groups),
		c.files.Read(".keys", &pairs), c.files.Read(".settings", &settings)); err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(state)) {
		o := state[key]
		if o == nil || o.Key != key {
			return fmt.Errorf("reading %s: the entry of %s is not its load balancer", c.files.Path, key)
		}
		if err := c.adopt(o, groups[key], pairs[key]); err != nil {
			return fmt.Errorf("reading %s.keys: %s: %w", c.files.Path, key, err)
		}
		if r := c.records[key]; r != nil {
			r.state.Lock() // listeners send headers of the settings
			r.settings = withMaps(settings[key])
			r.state.Unlock()
		}
	}
	for key, r := range c.records {
		if state[key] == nil {
			c.adoptState(r, &lb.Observed{Key: key}, nil, nil)
		}
	}
	return nil
}

// adopt updates a record from its saved form.
func (c *Cloud) adopt(
	o *lb.Observed, groups map[lb.GroupID]savedGroup,
	saved map[lb.CertificateID]savedPair,
) error {
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
	c.adoptState(r, o, groups, pairs)
	return nil
}

// adoptState updates a record, and its ports if this process serves, to the state of another
// process.
func (c *Cloud) adoptState(
	r *record, o *lb.Observed, groups map[lb.GroupID]savedGroup,
	pairs map[lb.CertificateID]pair,
) {
	r.settle()
	c.changeRecord(r, func() {
		r.observed, r.pairs = o, pairs
		c.adoptGroups(r, groups)
	})
	r.serial = max(r.serial, lastSerial(o))
	c.records[o.Key] = r
	if r.isEmpty() {
		delete(c.records, o.Key)
	}
}

// adoptGroups updates the target groups of a record to its state.
func (c *Cloud) adoptGroups(r *record, groups map[lb.GroupID]savedGroup) {
	o := r.observed
	for id, p := range r.pools {
		if g := o.TargetGroup(id); g == nil || !p.UsesProtocol(g.TargetGroup) {
			p.Set(nil)
			delete(r.pools, id)
		}
	}
	for _, seen := range o.TargetGroups {
		group := seen.TargetGroup
		group.Health = groups[group.ID].Health
		if r.pools[group.ID] == nil {
			r.pools[group.ID] = c.newGroup(group)
		}
		r.pools[group.ID].SetHealth(group.Health)
		r.pools[group.ID].Set(groups[group.ID].Targets)
	}
}

// Roots returns the root certificate of the cloud's own authority, for clients to trust.
func (c *Cloud) Roots() (*x509.CertPool, error) { return c.certificates.Roots() }
