// Package fake is a cloud in memory. Its control plane is Step.Do, with limits that refuse steps
// and hooks that fail them. Its optional data plane is real: listeners on loopback addresses that
// route by their rules, target groups that check health and hold requests, and certificates of an
// authority of their own. Several processes can share one cloud, by a file.
package fake

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"time"

	"fairlead.dev/fairlead/model/lb"
)

// This file opens the cloud, reads it and closes it.

// New returns a cloud with the contents of its state file, or an empty one.
func New(o Options) (*Cloud, error) {
	if o.Capabilities.Name == "" {
		o.Capabilities = lb.Literal()
		o.Capabilities.Name = "the fake cloud"
	}
	if o.Drain == 0 {
		o.Drain = 10 * time.Second
	}
	c := &Cloud{
		options: o,
		host:    regexp.MustCompile(o.Capabilities.HostValue),
		records: map[lb.Key]*record{},
		files:   stateFile{Path: o.State},
	}
	c.makeOthers()
	err := c.setNetwork()
	if err == nil {
		err = c.share()
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Close stops the data plane. The state file stays.
func (c *Cloud) Close() {
	c.stop.Do(func() {
		c.stopFollowing()
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, r := range c.records {
			r.close()
		}
		for _, p := range c.others {
			p.Stop()
		}
		c.unshare()
	})
}

// Capabilities returns those of the Options, as far as the class permits.
func (c *Cloud) Capabilities(class lb.Class) lb.Capabilities {
	caps := c.options.Capabilities.Restrict(class)
	caps.Inbound = false // there are no security groups
	caps.OtherTargetGroups = caps.OtherTargetGroups && len(c.options.TargetGroups) > 0
	caps.WebACLs, caps.Shields = false, false
	return caps
}

// Lookup returns a certificate for every host: the cloud's own authority signs one at its first
// use. Certificates that Ingresses name have the hosts in the Options.
func (c *Cloud) Lookup(ctx context.Context, q lb.Questions) (lb.Facts, error) {
	if err := c.wait(ctx); err != nil {
		return lb.Facts{}, err
	}
	facts := lb.Facts{
		Certificates:    make(map[string][]lb.CertificateID, len(q.CertificateHosts)),
		Names:           map[lb.CertificateID][]string{},
		Subnets:         q.Network.Subnets,
		SettingsRefused: q.RefuseSettings("the fake cloud has no settings of its own"),
	}
	for _, host := range q.CertificateHosts {
		id := ownCertificate(host)
		facts.Certificates[host], facts.Names[id] = []lb.CertificateID{id}, []string{host}
	}
	if len(q.TargetGroups) > 0 {
		facts.TargetGroups = map[lb.GroupID]lb.OthersGroup{}
	}
	for _, id := range q.TargetGroups {
		if _, made := c.options.TargetGroups[id]; made {
			facts.TargetGroups[id] = lb.OthersGroup{TargetType: "ip", Protocol: "HTTP", Family: "ipv4"}
		}
	}
	for _, id := range q.NamedCertificates {
		if names, declared := c.options.Certificates[id]; declared {
			facts.Names[id] = names
		}
	}
	return facts, nil
}

// Observe returns the load balancer of a key. Only steps change the cloud, so a deep read finds no
// other settings than the digests. It returns the settings, too.
func (c *Cloud) Observe(ctx context.Context, key lb.Key, deep bool) (*lb.Observed, error) {
	if err := c.wait(ctx); err != nil {
		return nil, err
	}
	var seen *lb.Observed
	err := c.look(func() error {
		r := c.records[key]
		if r == nil {
			seen = &lb.Observed{Key: key}
			return nil
		}
		ago := 0
		if c.options.Stale != nil {
			ago = c.options.Stale(key)
		}
		seen = r.copyState(r.stateBefore(ago))
		if deep {
			seen.Read = r.readSettings()
		}
		return nil
	})
	return seen, err
}

// Active returns the state in seen. Load balancers are active at once.
func (c *Cloud) Active(_ context.Context, seen *lb.Observed) (bool, error) {
	return seen.Active, nil
}

// List returns every key that has objects, sorted.
func (c *Cloud) List(ctx context.Context) ([]lb.Key, error) {
	if err := c.wait(ctx); err != nil {
		return nil, err
	}
	var keys []lb.Key
	err := c.look(func() error {
		keys = slices.Sorted(maps.Keys(c.records))
		return nil
	})
	return keys, err
}
