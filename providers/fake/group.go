package fake

import (
	"cmp"
	"context"
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

// This file picks the target whose turn it is.

// A group is a target group that serves: its members, the one whose turn it is, and the connections
// to them. Requests read it while steps change it.
type group struct {
	checker

	members atomic.Pointer[[]*member] // replaced as a whole
	turn    atomic.Uint64
	leaving []*member         // with requests left; the cloud's lock guards it
	others  []lb.TargetHealth // with requests left in the process that serves; likewise
}

// newGroup returns a target group without members.
func newGroup(g lb.TargetGroup, o groupOptions) *group {
	scheme := strings.ToLower(string(cmp.Or(g.Protocol, routing.HTTP)))
	p := &group{checker: checker{Scheme: scheme, version: g.Version, groupOptions: o}}
	p.members.Store(new([]*member))
	p.SetHealth(g.Health)
	return p
}

// UsesProtocol reports whether the group uses the protocol of a target group.
func (p *group) UsesProtocol(g lb.TargetGroup) bool {
	return p.Scheme == strings.ToLower(string(cmp.Or(g.Protocol, routing.HTTP))) &&
		p.version == g.Version
}

// newTransport returns the connections to one member.
func (p *group) newTransport() *http.Transport {
	return &http.Transport{
		DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		//nolint:gosec // clouds take any certificate from their targets
		TLSClientConfig:       &tls.Config{InsecureSkipVerify: true},
		Protocols:             protocols(p.Scheme, p.version),
		DisableCompression:    true, // clients and targets agree on it
		MaxIdleConnsPerHost:   256,
		IdleConnTimeout:       time.Minute,
		ExpectContinueTimeout: time.Second,
	}
}

// protocols returns the one version of HTTP for the targets.
func protocols(scheme string, version routing.Version) *http.Protocols {
	p := new(http.Protocols)
	two := version == routing.VersionHTTP2 || version == routing.VersionGRPC
	p.SetHTTP1(!two)
	p.SetHTTP2(two && scheme == "https")
	p.SetUnencryptedHTTP2(two && scheme == "http")
	return p
}

func (p *group) SetHealth(h routing.HealthCheck) { p.Settings.Store(&h) }

// pick returns the healthy member whose turn it is, or any member if none is healthy: a wrong
// health check costs less than an outage. It skips members that were tried, and those that still
// warm up. It returns nil if none is left.
func (p *group) pick(tried []*member, cancel *context.CancelFunc) *member {
	for {
		m := p.next(tried)
		if m == nil || m.enter(cancel) {
			return m
		}
		// It has left, and is no longer among the members.
	}
}

func (p *group) next(tried []*member) *member {
	members := *p.members.Load()
	for _, eligible := range []func(*member) bool{
		func(m *member) bool { return m.state() == lb.HealthHealthy && !slices.Contains(tried, m) },
		func(m *member) bool { return m.isWarm() && !slices.Contains(tried, m) },
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

// Ready reports whether a member is healthy.
func (p *group) Ready() bool {
	return slices.ContainsFunc(*p.members.Load(), func(m *member) bool {
		return m.state() == lb.HealthHealthy
	})
}

// Stop ends all requests to the group.
func (p *group) Stop() {
	p.Set(nil)
	for _, m := range p.leaving {
		m.cancelAll()
	}
}

// canonical returns targets in order, each once.
func canonical(targets []lb.Target) []lb.Target {
	out := slices.Clone(targets)
	slices.SortFunc(out, func(a, b lb.Target) int {
		return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(a.Port, b.Port))
	})
	return slices.Compact(out)
}

// Add registers targets beside the present ones.
func (p *group) Add(targets []lb.Target) {
	want := slices.Clone(targets)
	for _, m := range *p.members.Load() {
		if !slices.Contains(want, m.Target) {
			want = append(want, m.Target)
		}
	}
	p.Set(want)
}

// Set makes the targets the members.
func (p *group) Set(targets []lb.Target) {
	old := *p.members.Load()
	var next []*member
	for _, t := range canonical(targets) {
		at := slices.IndexFunc(old, func(m *member) bool { return m.Target == t })
		if at >= 0 {
			next = append(next, old[at])
			continue
		}
		next = append(next, p.join(t))
	}
	p.members.Store(&next)
	for _, m := range old {
		if !slices.Contains(next, m) {
			m.leave(p.Drain)
			p.leaving = append(p.leaving, m)
		}
	}
	p.leaving = slices.DeleteFunc(p.leaving, (*member).isDone)
	p.Changed.Store(true)
}

// Health returns the members with their states, and after them those that have left and still have
// requests.
func (p *group) Health() []lb.TargetHealth {
	var out []lb.TargetHealth
	for _, m := range *p.members.Load() {
		out = append(out, lb.TargetHealth{Target: m.Target, State: m.state()})
	}
	present := p.Targets()
	for _, m := range p.leaving {
		if !m.isDone() && !slices.Contains(present, m.Target) {
			out = append(out, lb.TargetHealth{Target: m.Target, State: lb.HealthDraining})
		}
	}
	for _, o := range p.others {
		if !slices.Contains(present, o.Target) {
			out = append(out, o)
		}
	}
	return out
}

// SetStates sets the states that the serving process has written. Members without a state are
// initial.
func (p *group) SetStates(read []lb.TargetHealth) {
	states := map[lb.Target]lb.HealthState{}
	p.others = nil
	for _, t := range read {
		states[t.Target] = t.State
		if t.State == lb.HealthDraining {
			p.others = append(p.others, t)
		}
	}
	for _, m := range *p.members.Load() {
		if state := states[m.Target]; state == lb.HealthHealthy || state == lb.HealthUnhealthy {
			m.health.Store(state)
		} else {
			m.health.Store(lb.HealthInitial)
		}
	}
}

// TakeOver starts to check the members. Requests to members that have left ended with the other
// process.
func (p *group) TakeOver() {
	p.Here, p.others = true, nil
	for _, m := range *p.members.Load() {
		p.check(m)
	}
}

// Draining reports whether members that have left still have requests.
func (p *group) Draining() bool { return len(p.leaving) > 0 }

// Targets returns the members.
func (p *group) Targets() []lb.Target {
	var out []lb.Target
	for _, m := range *p.members.Load() {
		out = append(out, m.Target)
	}
	return out
}

// join returns a new member, and starts to check it.
func (p *group) join(t lb.Target) *member {
	m := &member{
		Target: t, newTransport: p.newTransport, unwatch: func() {},
		busy: map[*context.CancelFunc]bool{}, warmAt: time.Now().Add(p.WarmUp),
	}
	m.health.Store(lb.HealthHealthy)
	if p.Checked {
		m.health.Store(lb.HealthInitial)
	}
	if p.Here {
		p.check(m)
	}
	return m
}

// check checks a member until it leaves.
func (p *group) check(m *member) {
	watched, unwatch := context.WithCancel(context.Background())
	m.unwatch = unwatch
	go p.watch(watched, m)
}
