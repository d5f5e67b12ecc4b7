package alb

import (
	"slices"

	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"
)

// This file remembers between reconciliations what the operator keeps in its LoadBalancer resources:
// which versions of Ingresses were served, and which the cloud refused.

// remember notes what came of a reconciliation, and reports whether something was refused that was not
// known to be.
func (w *world) remember(s ingress.Snapshot, built model.Built, o providers.Outcome, complete bool) (learned bool) {
	members := map[string]ingress.Remembered{}
	left := map[diag.Source]bool{}
	for _, d := range built.Diagnostics {
		if d.Reason == diag.QuotaExceeded || d.Reason == diag.Rejected {
			left[d.Source.At("")] = true
		}
	}
	for _, m := range s.Members {
		who := m.Owner.String()
		known := s.Memory.Members[who]
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
	w.Memories = map[routing.Key]ingress.Memory{w.key: {Members: members}}
	return learned
}
