package replay

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/accesslog"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// This file predicts the answers to a request.

// A prediction is what may answer a request.
type prediction struct {
	before     []possible
	readings   []reading // of its path
	listener   *listener // nil if its rules are not known
	priorities []int     // that may be logged, ascending
	outcomes   []outcome // of the lines so far
}

// A reading is what may answer if the path is read in one way.
type reading struct{ before, after []possible }

// A host is what is known about requests for a host at a port.
type host struct {
	port        int32 // of the listener; 0 if there is none
	class       *class
	after       *class // nil if there is no such load balancer or port after the change
	listener    *listener
	rules       []int32
	parts       parts
	predictions map[string]*prediction
}

// gone is the answer where a load balancer or a port is no more.
var gone = []possible{{answer: &answer{key: "gone", action: lb.Action{Kind: "no listener"}}}}

func (b *balancer) newHost(r accesslog.Request) *host {
	protocol := routing.HTTP
	if r.Scheme == "https" {
		protocol = routing.HTTPS
	}
	h := &host{predictions: map[string]*prediction{}, port: b.table.portFor(r.Port, protocol)}
	if h.port == 0 {
		return h
	}
	name := strings.ToLower(string(r.Host))
	h.class = b.table.classOf(h.port, name)
	h.parts = h.class.parts
	if b.after != nil && b.after.protocol(h.port) == protocol {
		h.after = b.after.classOf(h.port, name)
		h.parts = h.parts.or(h.after.parts)
	}
	if l := b.listeners[h.port]; l != nil {
		h.listener, h.rules = l, l.forHost(name)
		h.parts = h.parts.or(l.parts)
	}
	return h
}

func (p parts) or(o parts) parts {
	return parts{p.method || o.method, p.query || o.query, p.agent || o.agent, p.source || o.source}
}

// keyOf appends what the prediction of a request depends on.
func (p parts) keyOf(key []byte, r accesslog.Request, l *accesslog.Line) []byte {
	key = append(key, r.Path...)
	add := func(part []byte) {
		key = append(binary.BigEndian.AppendUint32(key, uint32(len(part))), part...)
	}
	if p.method {
		add([]byte(r.Method))
	}
	if p.query {
		add(r.Query)
	}
	if p.source {
		client := l.Raw(accesslog.Client)
		add(client[:max(0, bytes.LastIndexByte(client, ':'))])
	}
	if p.agent {
		add(l.Raw(accesslog.UserAgent))
	}
	return key
}

// predict returns what may answer a request.
func (h *host) predict(r accesslog.Request, l *accesslog.Line) *prediction {
	a := &asked{method: r.Method, query: string(r.Query), source: l.ClientAddress()}
	if agent := l.Text(accesslog.UserAgent); len(agent) < longestAgent {
		a.agent = agent
	}
	p := &prediction{listener: h.listener}
	for _, path := range readings(string(r.Path)) {
		one := reading{h.class.possible(a, path), gone}
		if h.after != nil {
			one.after = h.after.possible(a, path)
		}
		p.readings = append(p.readings, one)
		p.before = union(p.before, one.before)
		if h.listener != nil {
			for _, i := range h.listener.possible(nil, a, path, h.rules) {
				p.priorities = append(p.priorities, h.listener.rules[i].priority)
			}
		}
	}
	slices.Sort(p.priorities)
	p.priorities = slices.Compact(p.priorities)
	return p
}

// union adds answers that are not there yet.
func union(all, more []possible) []possible {
	for _, p := range more {
		if !slices.ContainsFunc(all, func(o possible) bool { return o.answer == p.answer }) {
			all = append(all, p)
		}
	}
	return all
}
