package ingress

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
)

// This file refuses certificates that have names for hosts of other namespaces. A listener may send
// clients any certificate that has a name for their host, from whichever Ingress it comes, so every
// name of a certificate is checked.
//
// On a load balancer where hosts have owners, either the certificate or the host came first
// (hostownership.go). If the host came first, the certificate is refused. If the certificate came
// first, the host is not served over HTTPS. A certificate counts for all HTTPS ports. A certificate
// that two namespaces use is allowed for the hosts of both.

func newCertificateDisputes(d *listenerBuilder, s *Snapshot) certificateDisputes {
	r := certificateDisputes{owners: s.Owners, served: map[string]map[routing.Host]bool{},
		brought: map[string]map[routing.CertificateID]routing.Owner{},
		recent:  map[string]map[routing.CertificateID]bool{}}
	if s.Owners == nil {
		return r
	}
	x := newIndex(s.Objects)
	for _, m := range s.Members {
		for _, id := range d.inCloudFor(m) {
			r.recordUse(m.Owner, id)
		}
		for _, t := range m.Spec.TLS {
			if n := (Name{Namespace: m.Namespace,
				Name: t.SecretName}).String(); x.SecretsUnread[n] != "" && d.remembered[n] != "" {
				r.recordUse(m.Owner, d.remembered[n])
				put(r.recent, m.Namespace, d.remembered[n], true)
			}
			if object := x.Secrets[Name{Namespace: m.Namespace,
				Name: t.SecretName}]; object != nil && t.SecretName != "" {
				if c := x.certificateOf(object).Certificate; c != nil {
					r.recordUse(m.Owner, c.ID)
				}
				put(r.recent, m.Namespace, d.remembered[nameOfSecret(object)], true)
			}
		}
	}
	if len(s.Recorded.Hosts) == 0 {
		return r // the age of Ingresses decides about hosts and certificates
	}
	for secret, id := range d.remembered {
		if c := d.servedCertificate(id); c != nil {
			namespace, _, _ := strings.Cut(secret, "/")
			for _, n := range c.Hosts {
				put(r.served, namespace, routing.Host(n), true)
			}
		}
	}
	for _, id := range d.shown {
		for namespace, brings := range r.brought {
			if _, ok := brings[id]; ok {
				for _, n := range d.reported[id] {
					put(r.served, namespace, routing.Host(n), true)
				}
			}
		}
	}
	return r
}

// inCloudFor returns the certificates of the cloud that a member names, or that are found for its
// hosts.
func (d *listenerBuilder) inCloudFor(m Member) []routing.CertificateID {
	if len(m.Settings.Certificates) > 0 {
		return m.Settings.Certificates
	}
	var out []routing.CertificateID
	for _, t := range m.Spec.TLS {
		if t.SecretName != "" {
			continue
		}
		hosts := t.Hosts
		if len(hosts) == 0 {
			for _, r := range m.Spec.Rules {
				hosts = append(hosts, r.Host)
			}
		}
		for _, host := range hosts {
			out = append(out, d.inCloud[host]...)
		}
	}
	return out
}

func nameOfSecret(s *corev1.Secret) string {
	return Name{Namespace: s.Namespace, Name: s.Name}.String()
}

// recordUse records that a member uses a certificate.
func (r *certificateDisputes) recordUse(by routing.Owner, id routing.CertificateID) {
	if before, known := r.brought[by.Namespace][id]; !known || olderOwner(by, before) < 0 {
		put(r.brought, by.Namespace, id, by)
	}
}

// put sets a value in a map of maps.
func put[K comparable, V any](to map[string]map[K]V, namespace string, key K, value V) {
	if to[namespace] == nil {
		to[namespace] = map[K]V{}
	}
	to[namespace][key] = value
}

// allowSecret returns the certificate of a Secret if the namespace may serve every name in it.
// Otherwise it returns an error, with the previous certificate of the Secret if the namespace may
// serve that.
func (o *memberListeners) allowSecret(s secret, n Name) secret {
	if s.id == "" {
		return s
	}
	why := o.whyForeign(s.id)
	if why == "" {
		return s
	}
	refused := secret{reason: diag.CertificateForeign,
		err: fmt.Errorf("the certificate in Secret %s %s", n, why)}
	if last := o.lastOf(n); last != s.id && last != "" && o.whyForeign(last) == "" {
		refused.id = last
	}
	return refused
}

// remedyForForeign ends messages about refused certificates with the remedy.
const remedyForForeign = ": use a certificate that has no other names than the hosts of its " +
	"namespace"

// refusesNamed returns why a member may not use the certificates that it names; "" if it may.
func (o *memberListeners) refusesNamed() (diag.Reason, string) {
	if o.Allowance.Everything && o.owners == nil {
		return "", ""
	}
	for _, id := range o.Settings.Certificates {
		if _, known := o.reported[id]; !known {
			return diag.CertificateMissing, fmt.Sprintf(
				"certificate %s is not there, or is none whose names the cloud tells, and without them it "+
					"cannot be compared with the hosts that namespace %s may serve here", id, o.Namespace)
		}
		if why := o.whyForeign(id); why != "" {
			return diag.CertificateForeign, fmt.Sprintf("certificate %s %s", id, why)
		}
	}
	return "", ""
}

// Fewer says which certificates of a host are attached besides the best one, where a dialect attaches all.
type Fewer int

// All certificates, those alone that listeners have, or none.
const (
	AllCertificates Fewer = iota
	PresentCertificates
	BestCertificate
)

// FewestCertificates says how few certificates of a host can be attached.
func (s *Snapshot) FewestCertificates() Fewer {
	if frontEnds[s.Class.Dialect].allCertificates {
		return BestCertificate
	}
	return AllCertificates // the best one is all
}

// others returns the certificates of the cloud for a name that are attached besides the best one. They have no names
// for hosts of other namespaces. NoRoom is the number of those for which there is no room.
func (o *memberListeners) others(listed string, best routing.CertificateID) (others []routing.CertificateID, noRoom int) {
	for _, id := range o.inCloud[listed] {
		switch {
		case id == best || o.isContested(id):
		case o.fewer == BestCertificate || o.fewer == PresentCertificates && !slices.Contains(o.shown, id):
			noRoom++
		default:
			others = append(others, id)
		}
	}
	return others, noRoom
}

// isContested reports whether a certificate of the cloud has names for hosts of other namespaces. It keeps the answer,
// because many hosts may have the same certificates.
func (o *memberListeners) isContested(id routing.CertificateID) bool {
	is, known := o.contested[id]
	if !known {
		is = o.rival(id, o.namesOf(id)) != nil
		o.contested[id] = is
	}
	return is
}

// choose returns the best certificate of the cloud for a name that has no names for hosts of other
// namespaces. If all have such names, it returns the best one, and why it is not served. The class
// decides whether the cloud is searched, so the hosts that it allows to namespaces do not matter
// here.
func (o *memberListeners) choose(listed string) (id routing.CertificateID, why string) {
	for _, candidate := range o.inCloud[listed] {
		if !o.isContested(candidate) {
			return candidate, ""
		}
	}
	best := o.inCloud[listed][0]
	return best, o.describeRival(best, o.namesOf(best))
}

// whyForeign returns why a member may not use a certificate; "" if it may. It keeps the answer,
// because many entries of spec.tls may name the same Secret.
func (o *memberListeners) whyForeign(id routing.CertificateID) string {
	why, known := o.refused[id]
	if !known {
		why = o.findForeign(id)
		o.refused[id] = why
	}
	return why
}

func (o *memberListeners) findForeign(id routing.CertificateID) string {
	names := o.namesOf(id)
	if !o.Allowance.Everything || o.owners != nil {
		for _, n := range names {
			if !plainName(n) {
				return fmt.Sprintf("has the name %s, which cannot be compared with hosts",
					diag.Quote(string(n)))
			}
		}
	}
	for _, n := range names {
		if !o.Allowance.permits(n) {
			return fmt.Sprintf("has the name %s, which the class does not let namespace %s serve", n,
				o.Namespace)
		}
	}
	return o.describeRival(id, names)
}

// describeRival returns in words which host of another namespace came before a certificate of a
// member; "" if none did.
func (o *memberListeners) describeRival(id routing.CertificateID, names []routing.Host) string {
	first := o.rival(id, names)
	if first == nil {
		return ""
	}
	o.overlaps = append(o.overlaps, *first)
	return fmt.Sprintf("has the name %s, and %s belongs to namespace %s", first.Name,
		describeHost(first.Host), first.Owner)
}

// rival returns a host of another namespace that came before a certificate of a member, or nil.
func (o *memberListeners) rival(id routing.CertificateID, names []routing.Host) *overlap {
	for overlap := range o.overlapping(id, names) {
		// While copies of a certificate are renewed, some Secrets hold the new one and others the
		// previous one.
		if overlap.First && !o.recent[overlap.Owner][id] {
			return &overlap
		}
	}
	return nil
}

// plainName reports whether a name is a host or a wildcard for one label, in ASCII. Clouds and
// clients may read other names in different ways, so they cannot be compared with hosts.
func plainName(n routing.Host) bool {
	for label := range strings.SplitSeq(strings.TrimPrefix(string(n), "*."), ".") {
		if label == "" || strings.ContainsFunc(label, func(r rune) bool {
			return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z')
		}) {
			return false
		}
	}
	return true
}

// overlapping yields the hosts of other namespaces that a certificate of a member has names for. It
// leaves out namespaces that use the same certificate.
func (o *memberListeners) overlapping(id routing.CertificateID,
	names []routing.Host) iter.Seq[overlap] {
	served := o.certificateDisputes.served[o.Namespace]
	by := o.Owner
	if oldest, known := o.brought[o.Namespace][id]; known {
		by = oldest
	}
	of := CertificateClaim{Names: names, By: by, Served: o.serves(id),
		Granted: o.Allowance.grants, Covered: func(n routing.Host) bool { return served[n] }}
	return func(yield func(overlap) bool) {
		for found := range o.owners.overlaps(of) {
			if _, same := o.brought[found.Owner][id]; !same && !yield(overlap{found, o.Member, id}) {
				return
			}
		}
	}
}

// serves reports whether a certificate is known to be served for the namespace of a member. It is
// not known where no owners of hosts are remembered.
func (o *memberListeners) serves(id routing.CertificateID) bool {
	_, brings := o.brought[o.Namespace][id]
	return len(o.certificateDisputes.served) > 0 &&
		(o.recent[o.Namespace][id] && o.servedCertificate(id) != nil ||
			brings && slices.Contains(o.shown, id))
}

// yielding removes hosts from HTTPS if a certificate of another namespace that came first has a
// name for them. It returns all such hosts, also those whose Ingresses do not ask for HTTPS.
func (d *listenerBuilder) yielding() []routing.Host {
	if d.owners == nil {
		return nil
	}
	first := map[routing.Host]overlap{}
	type bringer struct {
		namespace string
		id        routing.CertificateID
	}
	done := map[bringer]bool{}
	for _, o := range d.openings {
		if len(o.claimed) == 0 {
			continue
		}
		for _, id := range o.inUse() {
			if done[bringer{o.Namespace, id}] {
				continue
			}
			done[bringer{o.Namespace, id}] = true
			for found := range o.overlapping(id, o.namesOf(id)) {
				if _, known := first[found.Host]; !known {
					first[found.Host] = found
				}
			}
		}
	}
	kept := map[routing.Host]bool{}
	for _, o := range d.openings {
		o.yieldTo(first, kept)
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(first)),
		func(h routing.Host) bool { return kept[h] })
}

// inUse returns the certificates that a member uses, sorted.
func (o *memberListeners) inUse() []routing.CertificateID {
	ids := map[routing.CertificateID]bool{}
	for _, use := range o.uses {
		ids[use.id] = true
		for _, id := range use.beside {
			ids[id] = true
		}
	}
	return slices.Sorted(maps.Keys(ids))
}

// yieldTo removes hosts of a member from HTTPS if a certificate of another namespace came first. A
// host that was served with this same certificate keeps it.
func (o *memberListeners) yieldTo(first map[routing.Host]overlap, kept map[routing.Host]bool) {
	for _, host := range slices.Sorted(maps.Keys(o.uses)) {
		found, yields := first[host]
		if !yields || found.by.Namespace == o.Namespace {
			continue
		}
		source := o.uses[host].source
		o.overlaps = append(o.overlaps, found)
		if o.reuse(found.id) {
			o.uses[host] = certificateUse{id: found.id, source: source}
			kept[host] = true
			o.reportSecure(diag.Error, diag.CertificateForeign, source.Field, fmt.Sprintf(
				"namespace %s holds certificate %s too, which has the name %s, so %s stays with it: ask the "+
					"owner of the class to grant the host in `allowedHosts`",
				found.by.Namespace, found.id, found.Name, describeHost(host)))
			continue
		}
		delete(o.uses, host)
		o.reportSecure(diag.Error, diag.CertificateForeign, source.Field, fmt.Sprintf(
			"a certificate of namespace %s has the name %s and was there before %s, which is left out of "+
				"HTTPS: ask the owner of the class to grant it in `allowedHosts`",
			found.by.Namespace, found.Name, describeHost(host)))
	}
}

// reuse makes Secrets of a member use their last certificate again, and reports whether there are
// any.
func (o *memberListeners) reuse(id routing.CertificateID) bool {
	keeps := false
	for _, t := range o.Spec.TLS {
		n := Name{Namespace: o.Namespace, Name: t.SecretName}
		if last := o.servedCertificate(id); last != nil && t.SecretName != "" &&
			o.remembered[n.String()] == id && o.listenerBuilder.secrets[n].id != "" {
			keeps = true
			if !slices.Contains(o.known[id].Secrets, n.String()) {
				o.addFromSecret(*last, n)
			}
		}
	}
	return keeps
}

// ownerDiagnostics returns diagnostics for the other Ingress of each refusal: the one whose host is named
// by a refused certificate, and the one whose certificate removes a host from HTTPS. There is one
// diagnostic for each namespace.
func (d *listenerBuilder) ownerDiagnostics() []diag.Diagnostic {
	type toOwner struct {
		source    diag.Source
		namespace string
		first     bool
	}
	hosts := map[toOwner]*nameList{}
	for _, o := range d.overlaps {
		to := toOwner{o.by.Source().At(tlsField), o.Owner, false}
		if o.First {
			if o.Claim == nil {
				continue
			}
			to = toOwner{o.Claim.Source, o.by.Namespace, true}
		}
		if hosts[to] == nil {
			hosts[to] = &nameList{}
		}
		hosts[to].Add(describeClaim(o.Host))
	}
	var out []diag.Diagnostic
	for to, of := range hosts {
		message := fmt.Sprintf("namespace %s asks for HTTPS for %s, and is refused: a certificate of "+
			"this Ingress has names for that and was there first", to.namespace,
			listFirst(of.List))
		if to.first {
			message = fmt.Sprintf("namespace %s brings a certificate with names for %s, which is refused: "+
				"that belongs to this namespace", to.namespace, listFirst(of.List))
		}
		out = append(out, diag.Diagnostic{Severity: diag.Info, Reason: diag.CertificateForeign,
			Source: to.source, Message: message})
	}
	return out
}
