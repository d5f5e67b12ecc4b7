package ingress

import (
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/record"
)

// This file handles Ingresses of other controllers: one that was Fairlead's is served for the
// moveGrace of its class, or its adoption.keepOld, and the others are ignored.

// serveDeparting serves the last accepted version of an Ingress that is no longer ours, until the
// DepartureGrace of the class is over: it may come back, and clients need time to follow it. A version
// that the class no longer permits is removed at once.
func (s *placement) serveDeparting(ing *networkingv1.Ingress, why diag.Diagnostic,
	found []diag.Diagnostic) {
	for _, membership := range s.memberships[nameOf(ing).String()] {
		class := s.classOf(membership.Key)
		if !membership.Served || membership.LastAccepted == nil || class == nil {
			continue
		}
		grace, field := class.DepartureGrace()
		if membership.Departed >= grace {
			break
		}
		member, withdrawn, ok := s.permittedVersion(ing, membership, class)
		found = append(found, withdrawn...)
		if !ok {
			continue
		}
		why.Severity = diag.Warning
		why.Message += fmt.Sprintf("; %s serves it until the %s of class %s, %s, is over, and "+
			"then lets it go", membership.Key, field, class.Name, grace)
		snapshot := s.snapshot(membership.Key, class)
		snapshot.addKept(ing)
		member.Leaving, member.Departing = true, true
		s.move(ing, member, snapshot, append(found, why))
		return
	}
	s.unplaced = append(s.unplaced, found...)
}

// LeftAlone reports for each Ingress why it is not ours, unless a snapshot has it. Only commands
// that are asked about all Ingresses report this: in a cluster, other controllers serve them.
func LeftAlone(o Objects, options ClassOptions,
	snapshots []Snapshot) []diag.Diagnostic {
	served := map[string]bool{}
	for _, s := range snapshots {
		for _, ing := range s.Ingresses {
			served[nameOf(ing).String()] = true
		}
	}
	cs, _ := NewClassLookup(o, options)
	known := record.MembershipsOf(o.Records)
	var out []diag.Diagnostic
	for _, ing := range o.Ingresses {
		name := nameOf(ing).String()
		_, remembered := known[name]
		if why := cs.Of(ing, remembered).NotOurs; why != nil && !served[name] &&
			ing.DeletionTimestamp.IsZero() {
			d := *why
			d.Message += ", so Fairlead leaves it alone"
			if d.Reason == diag.ClassUnset {
				d.Message += "; set spec.ingressClassName, or give --watch-ingress-without-class"
			}
			out = append(out, d)
		}
	}
	return out
}
