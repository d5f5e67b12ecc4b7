package alb

import (
	"errors"
	"maps"
	"slices"
	"time"

	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/record"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"
)

// This file remembers between reconciliations what the operator keeps in its LoadBalancer
// resources: which versions of Ingresses were served, which the cloud refused, and which
// certificates Secrets held.

// remember notes what came of a reconciliation, and reports whether something was refused that was
// not known to be.
func (w *world) remember(s ingress.Snapshot, built model.Built, o providers.Outcome, complete bool) (learned bool) {
	members := w.waiting(s)
	left := map[diag.Source]bool{}
	for _, d := range built.Diagnostics {
		if d.Reason == diag.QuotaExceeded && d.Severity == diag.Error || d.Reason == diag.Rejected || d.Reason == diag.WebACLMissing || d.Reason == diag.WebACLDiffers || d.Reason == diag.NameTaken ||
			d.Reason == diag.NetworkUnmet && d.Severity == diag.Error || d.Reason == diag.Exposed && d.Ports == "" {
			left[d.Source.At("")] = true
		}
	}
	for _, m := range s.Members {
		who := m.Owner.String()
		known, arrived := s.Recorded.Members[who]
		if m.Leaving {
			members[who] = known
			continue
		}
		if !arrived {
			known.Previous = w.homeOf(who)
		}
		for _, r := range o.Rejections {
			version := refusable(r.Step, m)
			_, created := r.Step.(plan.CreateLoadBalancer) // all need it
			if version == "" || !created && !slices.ContainsFunc(r.Origin, func(from diag.Source) bool { return from.At("") == m.Source() }) {
				continue
			}
			known.Rejections = append(slices.Clone(known.Rejections), record.Rejection{Version: version, Message: r.Err.Error()})
			learned = true
			if errors.Is(r.Err, providers.ErrNoRoom) {
				w.ends[who+" "+version] = time.Now().Add(retried)
			}
		}
		if complete && !left[m.Source()] {
			accepted := record.Accept(m.Ingress)
			known.Served, known.LastAccepted = true, &accepted
		}
		members[who] = known
	}
	w.Records = maps.Clone(w.Records)
	if w.Records == nil {
		w.Records = map[routing.Key]record.Record{}
	}
	w.Records[w.key] = record.Record{Members: members, Certificates: model.CertificatesOfSecrets(built.LoadBalancer, w.seen, s.Recorded.Certificates),
		CloudCertificates: model.CloudCertificates(built.Table, w.seen),
		Clients:           model.Clients(built.LoadBalancer, w.seen, s.Recorded.Clients)}
	return learned
}

// waiting are the Ingresses that are members of nothing, for the cloud refused them as they are.
func (w *world) waiting(s ingress.Snapshot) map[string]record.Member {
	out := map[string]record.Member{}
	for _, ing := range w.Ingresses {
		who := ing.Namespace + "/" + ing.Name
		if known := s.Recorded.Members[who]; len(known.Rejections) > 0 && !known.Served {
			out[who] = known
		}
	}
	return out
}

// refusable is what of a member can be left out, so that a step is not asked for again; "" for
// nothing.
func refusable(s plan.Step, m ingress.Member) string {
	ifDecides := func(decided []diag.Source) string {
		if slices.ContainsFunc(decided, func(from diag.Source) bool { return from.At("") == m.Source() }) {
			return record.Version(m.Ingress)
		}
		return ""
	}
	switch s := s.(type) {
	case plan.CreateLoadBalancer:
		return ifDecides(s.LoadBalancer.Decided)
	case plan.CreateListener:
		return ifDecides(s.Listener.Decided)
	case plan.ModifyListener:
		return ifDecides(s.Listener.Decided)
	case plan.ReplaceCertificate, plan.AttachCertificate:
		return ""
	case plan.ImportCertificate:
		return string(s.Certificate.ID)
	}
	return record.Version(m.Ingress)
}

// forgive forgets the refusals that have come to their end.
func (w *world) forgive() {
	for key, known := range w.Records {
		members := maps.Clone(known.Members)
		for who, r := range members {
			r.Rejections = slices.DeleteFunc(slices.Clone(r.Rejections), func(x record.Rejection) bool {
				end, ends := w.ends[who+" "+x.Version]
				return ends && !time.Now().Before(end)
			})
			members[who] = r
		}
		known.Members = members
		w.Records[key] = known
	}
}

// homeOf is the other load balancer that an Ingress is served by, or "".
func (w *world) homeOf(who string) routing.Key {
	for key, m := range w.Records {
		if key != w.key && m.Members[who].Served {
			return key
		}
	}
	return ""
}

// forget ends the moves from a load balancer: clients have had the time to follow.
func (w *world) forget() {
	from := w.key
	w.Records = maps.Clone(w.Records)
	delete(w.Records, from)
	for key, m := range w.Records {
		members := maps.Clone(m.Members)
		for who, r := range members {
			if r.Previous == from {
				r.Previous = ""
				members[who] = r
			}
		}
		m.Members = members
		w.Records[key] = m
	}
}
