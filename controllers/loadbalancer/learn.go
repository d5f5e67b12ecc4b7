package loadbalancer

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/record"
	"fairlead.dev/fairlead/model/routing"
)

// This file records the facts that the next compilation needs.

// learn records the facts that the next compilation needs. It drops rejections by a cloud with
// other capabilities, so that these are tried again.
func (o outcome) learn(next *records.Record, now time.Time) {
	for i := range next.Memory.Members {
		m := &next.Memory.Members[i]
		m.Rejections = slices.DeleteFunc(m.Rejections, func(r v1alpha1.Rejection) bool {
			return r.Capabilities != "" && r.Capabilities != digestOf(o.Capabilities)
		})
	}
	next.Memory.Rules = nil
	if o.Snapshot.Class.UnknownRules == v1alpha1.UnknownRulesKeep {
		next.Memory.Rules = ownRules(o.Observed, o.Built.LoadBalancer, o.ForeignRules)
	}
	served := o.served()
	if served && len(o.Snapshot.Members) > 0 {
		next.Memory.Class = o.Snapshot.Class.DeepCopy()
	}
	o.learnCertificates(&next.Memory)
	o.learnCloudCertificates(&next.Memory)
	o.learnClients(&next.Memory)
	o.learnOwners(&next.Memory, now)
	o.learnClosedHosts(&next.Memory)
	refused, ended, servedTo := o.refusedMembers(), o.endedMembers(), o.servedTo()
	for _, m := range o.Snapshot.Members {
		if m.Leaving {
			continue
		}
		known := records.MemberOf(next, m.Owner.String()) // addFinalizers has added it
		o.learnRejections(m, known, now)
		served := servedTo(m)
		if served {
			// rejections that have ended were tried again, with success
			known.Rejections = o.lastingRejections(known.Rejections)
		}
		leftOut := ended[m.Source()] || refused[m.Source()] == noRoom ||
			slices.Contains(o.Hold.Ingresses, m.Owner.String())
		switch {
		case served && leftOut && !slices.ContainsFunc(o.Built.Table.Members,
			func(by routing.Owner) bool { return by.String() == m.Owner.String() }):
			known.Served, known.LastAccepted = slices.Contains(o.Kept, m.Owner.String()), nil // of rules that stay
		case !o.Observed.Exists && o.complete():
			known.Served = false // it has no load balancer
		case served && refused[m.Source()] == "" && !o.holds(m.Owner.String()):
			learnVersion(m, known, now)
		}
	}
}

// learnCertificates records which certificates of Secrets the cloud has, even after a part of the
// plan.
func (o outcome) learnCertificates(known *v1alpha1.Memory) {
	has := model.CertificatesOfSecrets(o.Built.LoadBalancer, o.Observed, o.Snapshot.Recorded.Certificates)
	known.Certificates = nil
	for _, secret := range slices.Sorted(maps.Keys(has)) {
		known.Certificates = append(known.Certificates,
			v1alpha1.SecretCertificate{Secret: secret, ID: string(has[secret])})
	}
}

// learnCloudCertificates records which certificates of the cloud were chosen for which hosts.
func (o outcome) learnCloudCertificates(known *v1alpha1.Memory) {
	shown := model.CloudCertificates(o.Built.Table, o.Observed)
	known.CloudCertificates = nil
	for _, id := range slices.Sorted(maps.Keys(shown)) {
		known.CloudCertificates = append(known.CloudCertificates,
			v1alpha1.CloudCertificate{ID: string(id), Hosts: shown[id]})
	}
}

// learnClients records the clients of Secrets that the cloud uses for sign-in.
func (o outcome) learnClients(known *v1alpha1.Memory) {
	has := model.Clients(o.Built.LoadBalancer, o.Observed, o.Snapshot.Recorded.Clients)
	known.Clients = nil
	for _, secret := range slices.Sorted(maps.Keys(has)) {
		known.Clients = append(known.Clients, v1alpha1.SecretClient{Secret: secret, ID: has[secret]})
	}
}

// learnClosedHosts records the closed hosts. It may have those that were closed before until it has
// what an Ingress asks for that names them, or all of a plan.
func (o outcome) learnClosedHosts(known *v1alpha1.Memory) {
	before := known.ClosedHosts
	known.ClosedHosts = nil
	served, servedTo := o.served(), o.servedTo()
	for _, c := range o.Hold.Closed {
		known.ClosedHosts = append(known.ClosedHosts, v1alpha1.ClosedHost{Host: string(c.Host),
			Port: c.Port, GivenUpBy: c.GivenUpBy})
	}
	for _, c := range before {
		if !served && !o.opens(c, servedTo) && !slices.ContainsFunc(known.ClosedHosts, func(k v1alpha1.ClosedHost) bool {
			return k.Host == c.Host && k.Port == c.Port
		}) {
			known.ClosedHosts = append(known.ClosedHosts, c)
		}
	}
	slices.SortFunc(known.ClosedHosts, func(a, b v1alpha1.ClosedHost) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Port, b.Port))
	})
}

// opens reports whether the cloud has the rules of an Ingress that names a closed host.
func (o outcome) opens(c v1alpha1.ClosedHost, servedTo func(ingress.Member) bool) bool {
	return slices.ContainsFunc(o.Built.Table.Names, func(n routing.Name) bool {
		return n.Listed == nil && string(n.Host) == c.Host && slices.Contains(n.Ports, c.Port) &&
			slices.ContainsFunc(o.Snapshot.Members, func(m ingress.Member) bool {
				return m.Owner.String() == n.Owner.String() && servedTo(m)
			})
	})
}

// learnVersion records that the current version of a member is served.
func learnVersion(m ingress.Member, known *v1alpha1.MemberMemory, now time.Time) {
	known.Served = true
	version := record.Accept(m.Ingress)
	if known.LastAccepted == nil ||
		!equality.Semantic.DeepEqual(record.Accepted{
			Annotations: known.LastAccepted.Annotations, Spec: known.LastAccepted.Spec,
		}, version) {
		known.LastAccepted = &v1alpha1.AcceptedVersion{
			At: metav1.NewTime(now).Rfc3339Copy(), Created: m.CreationTimestamp,
			Annotations: version.Annotations, Spec: version.Spec,
		}
		known.Forgotten = false
	}
}

// The kinds of refusals. What has no room and is not served any more is like new: when there is
// room again, nothing that is served gives way to it.
const (
	noRoom = "no room"
	other  = "other"
)

// refusedMembers returns the members whose current version was left out, with the kind of refusal.
func (o outcome) refusedMembers() map[diag.Source]string {
	out := map[diag.Source]string{}
	for _, d := range o.Built.Diagnostics {
		at := d.Source.At("")
		switch d.Reason {
		case diag.QuotaExceeded:
			if d.Severity == diag.Error { // otherwise it is served, by fewer targets than the Service has
				out[at] = noRoom
			}
		case diag.TooComplex:
			if d.Severity == diag.Error && d.Source == at { // otherwise only a part of it is left out
				out[at] = noRoom
			}
		case diag.Rejected, diag.WebACLMissing, diag.WebACLDiffers, diag.NameTaken, diag.SettingsRefused:
			out[at] = cmp.Or(out[at], other)
		case diag.AnnotationForeign, diag.AnnotationMisplaced, diag.NodesUnread, diag.NetworkUnmet:
			if d.Severity == diag.Error {
				out[at] = cmp.Or(out[at], other)
			}
		case diag.Exposed:
			if d.Ports == "" { // otherwise it is served on other ports
				out[at] = cmp.Or(out[at], other)
			}
		}
	}
	return out
}

// endedMembers returns the members whose served settings the class does not permit any more.
func (o outcome) endedMembers() map[diag.Source]bool {
	out := map[diag.Source]bool{}
	for _, d := range o.Built.Diagnostics {
		if d.Reason == diag.ConsentWithdrawn && d.Severity == diag.Error {
			out[d.Source.At("")] = true
		}
	}
	return out
}
