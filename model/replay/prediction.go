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

// A prediction has the possible answers to a request.
type prediction struct {
	before     []possible
	readings   []reading // one for each reading of its path
	listener   *listener // nil if its rules are not known
	priorities []int     // that may be logged, ascending
	outcomes   []outcome // of the lines so far
}

// A reading has the possible answers for one reading of the path.
type reading struct{ before, after []possible }

// A host caches predictions of requests for a host at a port.
type host struct {
	port        int32 // of the listener; 0 if there is none
	class       *class
	after       *class // nil without the load balancer or the port after the change
	listener    *listener
	rules       []int32
	parts       parts
	predictions map[string]*prediction // by matches
	known       map[string]*prediction // by request, if finding matches is slow
}

// noListener is the answer of a deleted load balancer or port.
var noListener = []possible{{answer: &answer{key: "gone", action: lb.Action{Kind: "no listener"}}}}

func (b *balancer) newHost(r accesslog.Request) *host {
	protocol := routing.HTTP
	if r.Scheme == "https" {
		protocol = routing.HTTPS
	}
	h := &host{predictions: map[string]*prediction{}, known: map[string]*prediction{},
		port: b.table.portFor(r.Port, protocol)}
	if h.port == 0 {
		return h
	}
	name := strings.ToLower(string(r.Host))
	h.class = b.table.classOf(h.port, name)
	h.parts = h.class.parts
	if b.after != nil && b.after.protocol(h.port) == protocol {
		h.after = b.after.classOf(h.port, name)
		h.parts = h.parts.union(h.after.parts)
	}
	if l := b.listeners[h.port]; l != nil {
		h.listener, h.rules = l, l.forHost(name)
		h.parts = h.parts.union(l.parts)
	}
	return h
}

func (p parts) union(o parts) parts {
	return parts{p.method || o.method, p.query || o.query, p.agent || o.agent, p.source || o.source,
		p.host || o.host}
}

// keyOf appends the parts that the prediction of a request for a host depends on.
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

// askedBy returns the parts of a request in a line that conditions look at.
func (p parts) askedBy(r accesslog.Request, l *accesslog.Line) loggedRequest {
	a := loggedRequest{method: r.Method}
	if p.host {
		a.host = string(r.Host)
	}
	if p.query {
		a.query = string(r.Query)
	}
	if p.source {
		a.source = l.ClientAddress()
	}
	if p.agent {
		if agent := l.Text(accesslog.UserAgent); len(agent) < longestAgent {
			a.agent = agent
		}
	}
	return a
}

// found has the matches of a request for each reading of its path.
type found struct {
	before, after []match
	rules         []int32
}

// find finds the matches of a path.
func (h *host) find(out *found, a *loggedRequest, path string) {
	out.before = h.class.find(out.before[:0], a, path)
	if out.after = out.after[:0]; h.after != nil {
		out.after = h.after.find(out.after, a, path)
	}
	if out.rules = out.rules[:0]; h.listener != nil {
		out.rules = h.listener.possible(out.rules, a, path, h.rules)
	}
}

// keyOf appends a key that is equal only for equal matches.
func (f *found) keyOf(key []byte) []byte {
	order := binary.BigEndian
	for _, matches := range [][]match{f.before, f.after} {
		key = order.AppendUint32(key, uint32(len(matches)))
		for _, m := range matches {
			key = order.AppendUint32(order.AppendUint32(key, uint32(m.candidate)), m.unknown)
		}
	}
	key = order.AppendUint32(key, uint32(len(f.rules)))
	for _, i := range f.rules {
		key = order.AppendUint32(key, uint32(i))
	}
	return key
}

// predict returns the prediction for a request whose path has these readings.
func (h *host) predict(a *loggedRequest, paths []string) *prediction {
	p := &prediction{listener: h.listener}
	var f found
	for _, path := range paths {
		h.find(&f, a, path)
		one := reading{h.class.possible(f.before), noListener}
		if h.after != nil {
			one.after = h.after.possible(f.after)
		}
		p.readings = append(p.readings, one)
		p.before = union(p.before, one.before)
		for _, i := range f.rules {
			p.priorities = append(p.priorities, h.listener.rules[i].priority)
		}
	}
	slices.Sort(p.priorities)
	p.priorities = slices.Compact(p.priorities)
	return p
}

// isCostly reports whether finding the matches of a path is slow, so that they are cached.
func (h *host) isCostly() bool {
	return h.listener != nil || len(h.class.patterns) > 0 ||
		h.after != nil && len(h.after.patterns) > 0
}

// union adds answers that are missing in a list.
func union(all, more []possible) []possible {
	for _, p := range more {
		if !slices.ContainsFunc(all, func(o possible) bool { return o.answer == p.answer }) {
			all = append(all, p)
		}
	}
	return all
}
