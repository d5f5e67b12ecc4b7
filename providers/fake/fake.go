// Package fake is a cloud in memory. Its control plane is Step.Do, with limits that refuse steps
// and hooks that fail them. Its data plane, which can be switched on, is real: listeners on
// loopback addresses that route by their rules.
package fake

import (
	"context"
	"maps"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers/fake/certificates"
	"fairlead.dev/fairlead/providers/fake/statefile"
)

// This file opens the cloud, reads it and closes it.

// Options configure a Cloud. The zero value can express every Ingress, loses its state when it is
// closed, opens no sockets and never fails.
type Options struct {
	// Capabilities limit the rules; the zero value is lb.Literal().
	Capabilities lb.Capabilities

	// Serve switches the data plane on: listeners that route, and health checks. Without it, targets
	// are healthy once they are registered.
	Serve bool
	// CheckEvery is the time between health checks; zero is the interval of each target group.
	CheckEvery time.Duration
	// WarmUp is the time in which a new target is not checked and receives no requests, as in real
	// clouds.
	WarmUp time.Duration
	// Drain is the time for requests that are under way when their target or port is removed; zero is
	// 10 seconds.
	Drain time.Duration
	// Network is the IPv4 network of this machine that load balancers get their addresses from. Their
	// listeners have their own ports there, or cannot be opened. Without it, addresses are on
	// loopback, and a listener whose port is taken gets another one.
	Network netip.Prefix

	// State is a file that outlives the cloud: every lb.Observed by its key. Targets, private keys and
	// the rest go to files beside it. Processes that name the same file share one cloud; one of them
	// has its sockets, and another one takes over when it ends.
	State string

	// Certificates holds the hosts of certificates that Ingresses can name.
	Certificates map[lb.CertificateID][]string

	// Latency is the duration of each call.
	Latency time.Duration
	// Before and After can make a step fail: Before it changes the cloud, or After, when the caller
	// cannot know that it has.
	Before, After func(lb.Key, plan.Step) error
	// Stale returns by how many steps the answer of Observe is out of date.
	Stale func(lb.Key) int
}

// A Cloud is a providers.Provider.
type Cloud struct {
	options      Options
	host         *regexp.Regexp // of the values that host conditions may have
	network      network
	certificates certificates.Authority

	mu      sync.Mutex // guards everything below, and is never held over a wait
	records map[lb.Key]*record
	files   statefile.Store
	here    bool     // whether this process has the sockets and checks targets
	sockets *os.File // locked meanwhile; nil without a state file

	health    atomic.Bool // whether the health of a target has changed
	following chan struct{}
	followed  sync.WaitGroup
	stop      sync.Once
}

// New returns a cloud with the contents of its state file, or an empty one.
func New(o Options) (*Cloud, error) {
	if o.Capabilities.Name == "" {
		o.Capabilities = lb.Literal()
	}
	if o.Drain == 0 {
		o.Drain = 10 * time.Second
	}
	c := &Cloud{
		options: o,
		host:    regexp.MustCompile(o.Capabilities.HostValue),
		records: map[lb.Key]*record{},
		files:   statefile.Store{Path: o.State},
	}
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
		c.unshare()
	})
}

// Capabilities returns those of the Options, as far as the class permits.
func (c *Cloud) Capabilities(class lb.Class) lb.Capabilities {
	caps := c.options.Capabilities.For(class)
	caps.Inbound = false // there are no security groups
	caps.WebACLs, caps.Shields = false, false
	return caps
}

// Lookup finds a certificate for every host: the cloud's own authority signs one when it is first
// used. The hosts of certificates that Ingresses name are those of the Options.
func (c *Cloud) Lookup(ctx context.Context, q lb.Questions) (lb.Facts, error) {
	if err := c.wait(ctx); err != nil {
		return lb.Facts{}, err
	}
	facts := lb.Facts{Certificates: make(map[string][]lb.CertificateID, len(q.CertificateHosts)), Names: map[lb.CertificateID][]string{}, Subnets: q.Network.Subnets, SettingsRefused: q.RefuseSettings("the fake cloud has no settings of its own")}
	for _, host := range q.CertificateHosts {
		id := certificates.OwnCertificate(host)
		facts.Certificates[host], facts.Names[id] = []lb.CertificateID{id}, []string{host}
	}
	for _, id := range q.NamedCertificates {
		if names, declared := c.options.Certificates[id]; declared {
			facts.Names[id] = names
		}
	}
	return facts, nil
}

// Observe returns the load balancer of a key. Nothing else changes the cloud, so that a deep read
// finds nothing that a digest hides.
func (c *Cloud) Observe(ctx context.Context, key lb.Key, _ bool) (*lb.Observed, error) {
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
		seen = r.live(r.ago(ago))
		return nil
	})
	return seen, err
}

// Active returns the state in seen: load balancers are active at once.
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

// wait waits for the latency of a call.
func (c *Cloud) wait(ctx context.Context) error {
	if c.options.Latency == 0 {
		return context.Cause(ctx)
	}
	timer := time.NewTimer(c.options.Latency)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
