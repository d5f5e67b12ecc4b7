package fake

import (
	"cmp"
	"crypto/tls"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// A pool is a target group at work: its members, whose turn it is, and how they are reached.
// Requests read it while steps change it.
type pool struct {
	scheme, version string // towards the targets
	settings        atomic.Pointer[routing.HealthCheck]
	every           time.Duration // between health checks; zero is as the settings say
	warmUp          time.Duration // before a member is checked for the first time, or sent requests
	drain           time.Duration // that a member has for its requests when it leaves
	checked         bool          // whether health is found out; otherwise it is taken for granted
	here            bool          // whether it is found out by this process
	changed         *atomic.Bool  // set when the health of a member is another

	members atomic.Pointer[[]*member] // replaced as a whole
	turn    atomic.Uint64
	leaving []*member         // that have requests left; the cloud's lock guards it
	others  []lb.TargetHealth // that have requests left in the process that serves; likewise
}

// newPool is a target group without members.
func (c *Cloud) newPool(g lb.TargetGroup) *pool {
	p := &pool{
		scheme: strings.ToLower(cmp.Or(g.Protocol, "HTTP")), version: g.Version,
		every: c.options.CheckEvery, warmUp: c.options.WarmUp, drain: c.options.Drain, checked: c.options.Serve, here: c.here, changed: &c.health,
	}
	p.members.Store(new([]*member))
	p.setHealth(g.Health)
	return p
}

// speaks reports whether targets of a group are spoken to as the pool does.
func (p *pool) speaks(g lb.TargetGroup) bool {
	return p.scheme == strings.ToLower(cmp.Or(g.Protocol, "HTTP")) && p.version == g.Version
}

// newTransport makes the connections to one member.
func (p *pool) newTransport() *http.Transport {
	return &http.Transport{
		DialContext:           (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		TLSClientConfig:       &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // clouds take any certificate from their targets
		Protocols:             protocols(p.scheme, p.version),
		DisableCompression:    true, // what the client and the target agree on is theirs
		MaxIdleConnsPerHost:   256,
		IdleConnTimeout:       time.Minute,
		ExpectContinueTimeout: time.Second,
	}
}

// protocols is the one version of HTTP that a target group's targets speak.
func protocols(scheme, version string) *http.Protocols {
	p := new(http.Protocols)
	two := version == "HTTP2" || version == "GRPC"
	p.SetHTTP1(!two)
	p.SetHTTP2(two && scheme == "https")
	p.SetUnencryptedHTTP2(two && scheme == "http")
	return p
}

func (p *pool) setHealth(h routing.HealthCheck) { p.settings.Store(&h) }

// pick sends an errand to the member whose turn it is among the healthy ones, or among all where
// none is: a health check that is wrong costs less than an outage. Those that it tried are left
// out, and those that are still warming up. It is nil where nobody is left.
func (p *pool) pick(e *errand) *member {
	for {
		m := p.next(e.tried)
		if m == nil || m.enter(e) {
			return m
		}
		// It has just left, so it is no longer among the members.
	}
}

func (p *pool) next(tried []*member) *member {
	members := *p.members.Load()
	for _, eligible := range []func(*member) bool{
		func(m *member) bool { return m.state() == stateHealthy && !slices.Contains(tried, m) },
		func(m *member) bool { return m.warm() && !slices.Contains(tried, m) },
	} {
		n := uint64(0)
		for _, m := range members {
			if eligible(m) {
				n++
			}
		}
		if n == 0 {
			continue
		}
		turn := (p.turn.Add(1) - 1) % n
		for _, m := range members {
			if !eligible(m) {
				continue
			}
			if turn == 0 {
				return m
			}
			turn--
		}
	}
	return nil
}

// ready reports whether a member is healthy.
func (p *pool) ready() bool {
	return slices.ContainsFunc(*p.members.Load(), func(m *member) bool { return m.state() == stateHealthy })
}

// stop ends the pool and every request to it.
func (p *pool) stop() {
	p.set(nil)
	for _, m := range p.leaving {
		m.cut()
	}
}

// canonical is targets in order, each once.
func canonical(targets []lb.Target) []lb.Target {
	out := slices.Clone(targets)
	slices.SortFunc(out, func(a, b lb.Target) int {
		return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(a.Port, b.Port))
	})
	return slices.Compact(out)
}
