package alb

import (
	"maps"
	"slices"

	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"
)

// This file remembers between reconciliations what the operator keeps in its LoadBalancer resources:
// which versions of Ingresses were served, which the cloud refused, and which certificates Secrets held.

// remember notes what came of a reconciliation, and reports whether something was refused that was not
// known to be.
func (w *world) remember(s ingress.Snapshot, built model.Built, o providers.Outcome, complete bool) (learned bool) {
	members := map[string]ingress.Remembered{}
	left := map[diag.Source]bool{}
	for _, d := range built.Diagnostics {
		if d.Reason == diag.QuotaExceeded && d.Severity == diag.Error || d.Reason == diag.Rejected || d.Reason == diag.WebACLMissing || d.Reason == diag.NameTaken {
			left[d.Source.At("")] = true
		}
	}
	for _, m := range s.Members {
		who := m.Owner.String()
		known, arrived := s.Memory.Members[who]
		if m.Leaving {
			members[who] = known
			continue
		}
		if !arrived {
			known.Previous = w.homeOf(who)
		}
		for _, r := range o.Rejections {
			if slices.ContainsFunc(r.Origin, func(from diag.Source) bool { return from.At("") == m.Source() }) {
				known.Rejections = append(slices.Clone(known.Rejections), ingress.Rejection{Version: ingress.Version(m.Ingress), Message: r.Err.Error()})
				learned = true
			}
		}
		if complete && !left[m.Source()] {
			accepted := ingress.Accept(m.Ingress)
			known.Served, known.LastAccepted = true, &accepted
		}
		members[who] = known
	}
	w.Memories = maps.Clone(w.Memories)
	if w.Memories == nil {
		w.Memories = map[routing.Key]ingress.Memory{}
	}
	w.Memories[w.key] = ingress.Memory{Members: members, Certificates: model.Held(built.LoadBalancer, w.seen, s.Memory.Certificates)}
	return learned
}

// homeOf is the other load balancer that an Ingress is served by, or "".
func (w *world) homeOf(who string) routing.Key {
	for key, m := range w.Memories {
		if key != w.key && m.Members[who].Served {
			return key
		}
	}
	return ""
}

// forget ends the moves from a load balancer: clients have had the time to follow.
func (w *world) forget() {
	from := w.key
	w.Memories = maps.Clone(w.Memories)
	delete(w.Memories, from)
	for key, m := range w.Memories {
		members := maps.Clone(m.Members)
		for who, r := range members {
			if r.Previous == from {
				r.Previous = ""
				members[who] = r
			}
		}
		m.Members = members
		w.Memories[key] = m
	}
}
