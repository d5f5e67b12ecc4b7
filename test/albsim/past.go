package albsim

import (
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	ec2 "github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// This file is reads of an earlier state. A read of an eventually consistent service may show what
// was before a change, or before a deletion, and the next one what is after it, and the one after
// that what was before it again: "the result […] might not immediately be visible to all subsequent
// commands" (https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html). What is
// said there of EC2 is assumed of every service here.

// A past is what the account was before each change of late.
type past struct {
	rng    *rand.Rand
	states []state // by age, the oldest first
}

// A state is the account until a moment.
type state struct {
	until time.Time
	sim   *Sim
}

// newPast draws, from a seed, which reads are of which earlier state.
func newPast(seed uint64) *past {
	return &past{rng: rand.New(rand.NewPCG(seed, 17))} //nolint:gosec // nothing is guarded by it
}

// keep keeps the account as it is before a call that may change it.
func (s *Sim) keep() {
	if s.past == nil {
		return
	}
	oldest := s.now().Add(-s.options.Lag)
	s.past.states = slices.DeleteFunc(s.past.states, func(was state) bool { return was.until.Before(oldest) })
	s.past.states = append(s.past.states, state{s.now(), s.clone()})
}

// seen is the account as a read sees it: half of the reads see what it was at a moment within the
// Lag. The index of tags has a lag of its own.
func (s *Sim) seen(c Call) *Sim {
	if s.past == nil || c.Service == "tagging" || c.Service == "sts" || c.Service == "iam" ||
		c.By == ownersKey || s.past.rng.IntN(2) == 0 {
		return s
	}
	then := s.now().Add(-time.Duration(s.past.rng.Int64N(int64(s.options.Lag) + 1)))
	for _, was := range s.past.states {
		if was.until.After(then) {
			was.sim.caller = s.caller
			was.sim.options.Amend, was.sim.options.Refuse = s.options.Amend, s.options.Refuse
			was.sim.madeAt = s.madeAt
			return was.sim
		}
	}
	return s
}

// clones copies things, and what each of them holds and is changed in its place.
func clones[V any](of map[string]*V, inside func(*V)) map[string]*V {
	out := make(map[string]*V, len(of))
	for key, thing := range of {
		copied := *thing
		if inside != nil {
			inside(&copied)
		}
		out[key] = &copied
	}
	return out
}

// clone copies the account, as far as reads show it.
func (s *Sim) clone() *Sim {
	tags := make(map[string]map[string]string, len(s.tags))
	for id, of := range s.tags {
		tags[id] = maps.Clone(of)
	}
	n := s.net
	n.tables = slices.Clone(n.tables)
	n.subnets, n.instances = clones(n.subnets, nil), clones(n.instances, nil)
	n.interfaces = clones(n.interfaces, nil)
	n.groups = clones(n.groups, func(g *ec2.SecurityGroup) { g.IpPermissions = slices.Clone(g.IpPermissions) })
	return &Sim{
		options: s.options, services: s.services, tags: tags, net: n, lingering: maps.Clone(s.lingering),
		loadBalancers: clones(s.loadBalancers, func(b *loadBalancer) { b.attributes = maps.Clone(b.attributes) }),
		listeners: clones(s.listeners, func(l *listener) {
			l.attributes, l.others = maps.Clone(l.attributes), slices.Clone(l.others)
		}),
		rules: clones(s.rules, nil),
		targetGroups: clones(s.targetGroups, func(g *targetGroup) {
			g.attributes, g.targets = maps.Clone(g.attributes), clones(g.targets, nil)
		}),
		certificates: clones(s.certificates, nil), acls: slices.Clone(s.acls), webACLs: maps.Clone(s.webACLs),
		protections: maps.Clone(s.protections), unsubscribed: s.unsubscribed,
		trustStores: maps.Clone(s.trustStores), roleMissing: s.roleMissing,
	}
}
