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
	scheme    string // towards the targets
	transport *http.Transport
	settings  atomic.Pointer[routing.HealthCheck]
	every     time.Duration // between health checks; zero is as the settings say
	checked   bool          // whether health is found out; otherwise it is taken for granted

	members atomic.Pointer[[]*member] // replaced as a whole
	turn    atomic.Uint64
}

// newPool is a target group without members.
func (c *Cloud) newPool(g lb.TargetGroup) *pool {
	p := &pool{scheme: strings.ToLower(cmp.Or(g.Protocol, "HTTP")), every: c.options.CheckEvery, checked: c.options.Serve}
	p.transport = &http.Transport{
		DialContext:         (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		TLSClientConfig:     &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // clouds take any certificate from their targets
		Protocols:           protocols(p.scheme, g.Version),
		DisableCompression:  true, // what the client and the target agree on is theirs
		MaxIdleConnsPerHost: 32,
		IdleConnTimeout:     time.Minute,
	}
	p.members.Store(new([]*member))
	p.setHealth(g.Health)
	return p
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

// pick is the member whose turn it is among the healthy ones, or among all where none is: a
// health check that is wrong costs less than an outage. It is nil where there are no members.
func (p *pool) pick() *member {
	candidates := *p.members.Load()
	if healthy := healthy(candidates); len(healthy) > 0 {
		candidates = healthy
	}
	if len(candidates) == 0 {
		return nil
	}
	return candidates[(p.turn.Add(1)-1)%uint64(len(candidates))]
}

// ready reports whether requests can be sent: a member is healthy, or there are none to wait for.
func (p *pool) ready() bool {
	members := *p.members.Load()
	return len(members) == 0 || len(healthy(members)) > 0
}

func healthy(members []*member) []*member {
	var out []*member
	for _, m := range members {
		if m.state() == stateHealthy {
			out = append(out, m)
		}
	}
	return out
}

func (p *pool) close() {
	p.set(nil)
	p.transport.CloseIdleConnections()
}

// canonical is targets in order, each once.
func canonical(targets []lb.Target) []lb.Target {
	out := slices.Clone(targets)
	slices.SortFunc(out, func(a, b lb.Target) int {
		return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(a.Port, b.Port))
	})
	return slices.Compact(out)
}
