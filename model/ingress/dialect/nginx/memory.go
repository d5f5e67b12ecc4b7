package nginx

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"fairlead.dev/fairlead/model/routing"
)

// This file remembers the requests that show what is changed, so that a change of one Ingress costs the search of its neighbours alone.

// A Memory keeps what was found about Ingresses, and may forget it. Several Worlds may use it at a time.
type Memory interface {
	Load(ingress any) (found any, known bool)
	Store(ingress, found any)
}

// A found is what was found about an Ingress.
type found struct {
	state   digest
	hosts   []string // that were asked about it
	shows   []shown
	changed map[requestClass]bool // of which some requests are answered in another way
}

// A shown is a request that shows a cause.
type shown struct {
	Cause
	Question
}

// findingsOf returns the requests that show what is changed for an Ingress. They are searched unless all that they depend on is as it
// was.
func (w *World) findingsOf(of *member, memory Memory) found {
	if memory == nil {
		return w.search(of)
	}
	if before, is := memory.Load(of.key()); is {
		if f := before.(found); f.state == w.stateOf(of, f.hosts) {
			return f
		}
	}
	f := w.search(of)
	f.state = w.stateOf(of, f.hosts)
	memory.Store(of.key(), f)
	return f
}

// A digest stands for all that answers depend on.
type digest [sha256.Size]byte

func digestOf(parts ...any) (d digest) {
	h := sha256.New()
	if err := json.NewEncoder(h).Encode(parts); err != nil {
		panic(err)
	}
	h.Sum(d[:0])
	return d
}

// states has the digests of a World, by what they are about, once they are needed.
type states struct {
	config  digest
	members map[*member]digest
	servers map[*server]digest
	levels  map[routing.Host]digest
	hosts   map[string]digest
}

func known[K comparable](in map[K]digest, k K, compute func() digest) digest {
	d, is := in[k]
	if !is {
		d = compute()
		in[k] = d
	}
	return d
}

// stateOf returns the state of all that decides what is asked about an Ingress, and the answers: the Ingress, its servers, and the
// hosts that are asked. It is compared with a state for the same hosts.
func (w *World) stateOf(m *member, hosts []string) digest {
	if w.states.members == nil {
		w.states = states{digestOf(fmt.Sprintf("%+v %+v %s %v %v", w.Config, w.front, w.fold, w.clients, w.sent)),
			map[*member]digest{}, map[*server]digest{}, map[routing.Host]digest{}, map[string]digest{}}
	}
	parts := []any{w.states.config, w.stateOfMember(m)}
	for _, s := range m.at {
		parts = append(parts, w.stateOfServer(s))
		for _, name := range w.elsewhere() {
			if s.host == catchAll {
				parts = append(parts, name, w.servers[name].aliases)
			}
		}
	}
	for _, h := range hosts {
		parts = append(parts, known(w.states.hosts, h, func() digest { return w.stateOfHost(h) }))
	}
	return digestOf(parts...)
}

// stateOfMember returns the state of an Ingress: as it stands, and as it is read.
func (w *World) stateOfMember(m *member) digest {
	if m == nil {
		return digest{}
	}
	return known(w.states.members, m, func() digest {
		r := w.writers[m.key()]
		return digestOf(m.key(), m.CreationTimestamp, m.Annotations, m.Spec, r.out.Ingress.Annotations, r.out.Ingress.Spec, r.secure,
			r.out.Refuses())
	})
}

// stateOfServer returns the state of a server and its locations.
func (w *World) stateOfServer(s *server) digest {
	return known(w.states.servers, s, func() digest {
		parts := []any{s.host, s.aliases, s.secure, s.names, s.regex, s.broken, w.stateOfMember(s.www), w.stateOfMember(s.aliased)}
		for _, l := range s.locations {
			parts = append(parts, l.text, l.exact, l.initial, l.plain, l.field, w.stateOfMember(l.of), fmt.Sprint(l.to.backend))
			for _, other := range l.to.alternatives[:min(len(l.to.alternatives), 1)] {
				parts = append(parts, fmt.Sprint(other.backend), other.removed, other.canary != nil, w.stateOfMember(other.by))
			}
		}
		return digestOf(parts...)
	})
}

// stateOfHost returns the state of what answers requests for a host, with ingress-nginx and here.
func (w *World) stateOfHost(hostname string) digest {
	host := strings.TrimSuffix(hostname, ".")
	parts := []any{w.stateOfServer(w.serverOf(host)), w.secure(host)}
	if to, is := w.redirects[host]; is {
		parts = append(parts, w.stateOfServer(w.servers[to]))
	}
	for _, level := range routing.Levels(hostname) {
		parts = append(parts, known(w.states.levels, level, func() digest {
			var all []any
			for _, r := range w.writersAt[level] {
				all = append(all, w.stateOfMember(r.m))
			}
			return digestOf(all...)
		}))
	}
	return digestOf(parts...)
}
