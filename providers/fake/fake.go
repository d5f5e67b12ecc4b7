// Package fake is a cloud in memory. Its control plane is the meaning of the steps themselves,
// Step.Do, behind limits that refuse and hooks that fail; its data plane, where it is switched on,
// is real: listeners on loopback addresses that route by the rules they were given.
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
)

// Options are how a Cloud behaves. The zero value is a cloud that speaks Ingress, forgets
// everything when it is closed, opens no sockets and never fails.
type Options struct {
	// Capabilities are what rules may say and how much of it; the zero value is lb.Literal().
	Capabilities lb.Capabilities

	// Serve switches the data plane on: listeners that route, and health checks. Without it
	// targets are healthy as soon as they are registered.
	Serve bool
	// CheckEvery is the time between health checks; zero is what each target group asks for.
	CheckEvery time.Duration
	// WarmUp is how long a new target is neither checked nor sent requests: clouds need time to get
	// to know one.
	WarmUp time.Duration
	// Drain is how long requests may go on that are under way at a target, or at a port, when it
	// is taken away; zero is 10 seconds.
	Drain time.Duration
	// Network is the IPv4 network, local to this machine, that load balancers get their addresses
	// from. Their listeners have their own ports there, or cannot be opened. Without it, addresses
	// are on loopback, and a listener whose port is taken gets another.
	Network netip.Prefix

	// State is a file that outlives the cloud: every lb.Observed by its key. Targets, private keys
	// and what else there is go to files beside it. Processes that name the same file share one
	// cloud; one of them has its sockets, and another takes over when it ends.
	State string

	// Certificates are the names in certificates that Ingresses name.
	Certificates map[lb.CertificateID][]string

	// Latency is how long each call takes.
	Latency time.Duration
	// Before and After can make a step fail: Before it is carried out, or After, when the cloud
	// has changed but the caller cannot know.
	Before, After func(lb.Key, plan.Step) error
	// Stale is how many steps ago Observe reads.
	Stale func(lb.Key) int
}

// A Cloud is a providers.Provider.
type Cloud struct {
	options      Options
	host         *regexp.Regexp // the values that conditions may have
	network      network
	certificates authority

	mu      sync.Mutex // guards everything below, and is never held over a wait
	records map[lb.Key]*record
	files   store
	here    bool     // whether this process has the sockets and checks targets
	sockets *os.File // locked while it does; nil if there is nothing to share

	health    atomic.Bool // whether that of a target has changed
	following chan struct{}
	followed  sync.WaitGroup
	stop      sync.Once
}

// New is a cloud as its state file left it, or an empty one.
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
		files:   store{path: o.State},
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

// Close stops the data plane. What the state file holds stays.
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

// Capabilities are those of the Options, as far as the class leaves them.
func (c *Cloud) Capabilities(class lb.Class) lb.Capabilities {
	caps := c.options.Capabilities.For(class)
	caps.Inbound = false // whoever reaches its addresses may connect
	caps.WebACLs, caps.Shields = false, false
	return caps
}

// Lookup finds a certificate for every host: the cloud's own authority signs one when it is used.
// Of certificates that Ingresses name it knows the names that the Options declare.
func (c *Cloud) Lookup(ctx context.Context, q lb.Questions) (lb.Facts, error) {
	if err := c.wait(ctx); err != nil {
		return lb.Facts{}, err
	}
	facts := lb.Facts{Certificates: make(map[string][]lb.CertificateID, len(q.CertificateHosts)), Names: map[lb.CertificateID][]string{}, Subnets: q.Network.Subnets, SettingsRefused: q.RefuseSettings("the fake cloud has no settings of its own")}
	for _, host := range q.CertificateHosts {
		id := ownCertificate(host)
		facts.Certificates[host], facts.Names[id] = []lb.CertificateID{id}, []string{host}
	}
	for _, id := range q.NamedCertificates {
		if names, declared := c.options.Certificates[id]; declared {
			facts.Names[id] = names
		}
	}
	return facts, nil
}

// Observe returns what is under a key. Nothing changes behind the cloud's back, so the digests are
// the settings' own and a deep look finds nothing else.
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

// Active is what was seen: load balancers are set up at once.
func (c *Cloud) Active(_ context.Context, seen *lb.Observed) (bool, error) { return seen.Active, nil }

// List returns every key that anything is kept under, sorted.
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

// wait is the latency of a call.
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
