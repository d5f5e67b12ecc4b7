package fake

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
)

// This file is the cloud's memory between runs. The state file is every lb.Observed by its key,
// as a plan is made against it. What an lb.Observed does not hold stands beside it: targets with
// their health checks in FILE.targets, private keys, readable by their owner alone, in FILE.keys.

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

// save writes what a step may have changed. What stands beside goes first, so that the state file
// never names a target group or a certificate that is not there.
func (c *Cloud) save(step plan.Step) error {
	var err error
	switch step.(type) {
	case plan.ImportCertificate, plan.DeleteCertificate:
		err = c.saveKeys()
	case plan.CreateTargetGroup, plan.ModifyTargetGroup, plan.RegisterTargets, plan.DeleteTargetGroup:
		err = c.saveTargets()
	default: // the state file says it all
	}
	return errors.Join(err, c.saveState())
}

func (c *Cloud) saveState() error {
	return c.write("", 0o644, func() any {
		state := map[lb.Key]*lb.Observed{}
		for key, r := range c.records {
			state[key] = r.live(r.observed)
		}
		return state
	})
}

func (c *Cloud) saveTargets() error {
	return c.write(".targets", 0o644, func() any {
		all := map[lb.Key]map[lb.GroupID]savedGroup{}
		for key, r := range c.records {
			all[key] = map[lb.GroupID]savedGroup{}
			for id, p := range r.pools {
				all[key][id] = savedGroup{*p.settings.Load(), p.targets()}
			}
		}
		return all
	})
}

func (c *Cloud) saveKeys() error {
	return c.write(".keys", 0o600, func() any {
		all := map[lb.Key]map[lb.CertificateID]savedPair{}
		for key, r := range c.records {
			all[key] = map[lb.CertificateID]savedPair{}
			for id, p := range r.pairs {
				all[key][id] = savedPair{string(p.Chain), string(p.Key)}
			}
		}
		return all
	})
}

// write replaces one of the files as a whole: a reader sees the old one or the new one. The content
// is everything that the cloud has, and is put together only where there is a file.
func (c *Cloud) write(suffix string, mode fs.FileMode, content func() any) error {
	if c.options.State == "" {
		return nil
	}
	name := c.options.State + suffix
	text, err := json.MarshalIndent(content(), "", "  ")
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	temporary, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	_, err = temporary.Write(append(text, '\n'))
	err = errors.Join(err, temporary.Chmod(mode), temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), name)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, errors.Join(err, os.Remove(temporary.Name())))
	}
	return nil
}

// read reads one of the files, if it is there.
func (c *Cloud) read(suffix string, into any) error {
	if c.options.State == "" {
		return nil
	}
	name := c.options.State + suffix
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("reading %s: it is not a state file, or is cut short: %w", name, err)
	}
	return nil
}

// load makes records of what the files hold.
func (c *Cloud) load() error {
	var state map[lb.Key]*lb.Observed
	var groups map[lb.Key]map[lb.GroupID]savedGroup
	var pairs map[lb.Key]map[lb.CertificateID]savedPair
	if err := errors.Join(c.read("", &state), c.read(".targets", &groups), c.read(".keys", &pairs)); err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(state)) {
		o := state[key]
		if o == nil || o.Key != key {
			return fmt.Errorf("reading %s: what stands under %s is not its load balancer", c.options.State, key)
		}
		r, err := c.restore(o, groups[key], pairs[key])
		if err != nil {
			return fmt.Errorf("reading %s.keys: %s: %w", c.options.State, key, err)
		}
		c.records[key] = r
	}
	return nil
}

// restore puts together what was kept of one load balancer.
func (c *Cloud) restore(o *lb.Observed, groups map[lb.GroupID]savedGroup, pairs map[lb.CertificateID]savedPair) (*record, error) {
	r := newRecord(o.Key)
	r.observed, r.serial = o, lastSerial(o)
	for _, seen := range o.Certificates {
		cert, saved := seen.Certificate, pairs[seen.ID]
		cert.Pair = &lb.KeyPair{Chain: []byte(saved.Chain), Key: []byte(saved.Key)}
		p, err := newPair(cert)
		if err != nil {
			return nil, fmt.Errorf("certificate %s: %w", cert.ID, err)
		}
		r.pairs[cert.ID] = p
	}
	for _, seen := range o.TargetGroups {
		group, saved := seen.TargetGroup, groups[seen.ID]
		group.Health = saved.Health
		r.pools[group.ID] = c.newPool(group)
		r.pools[group.ID].add(saved.Targets)
	}
	return r, nil
}
