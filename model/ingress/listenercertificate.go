package ingress

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// This file finds the certificates of the entries of spec.tls: in a Secret if an entry names one,
// otherwise in the cloud.

// An entry is one of spec.tls.
type entry struct {
	*memberListeners
	*networkingv1.IngressTLS
	field string
}

// reportUnused reports listed hosts for which the Ingress has no answer.
func (e entry) reportUnused() {
	for i, listed := range e.Hosts {
		if !e.covers.serves(routing.Host(listed)) {
			e.reportSecure(diag.Warning, diag.CertificateUnused, fmt.Sprintf("%s.hosts[%d]", e.field, i),
				fmt.Sprintf("nothing of this Ingress answers for host %s", listed))
		}
	}
}

// unanswered finds the certificates of listed hosts for which the Ingress has no answer, where a dialect attaches all: its
// controller searches for them, too (computeIngressInferredTLSCertARNs in its pkg/ingress/model_build_listener.go).
func (e entry) unanswered() map[routing.Host]certificateUse {
	if !searchesUnanswered(e.class) || len(e.Settings.Certificates) > 0 {
		return nil
	}
	var found []covered
	for _, listed := range e.covers.unanswered(e.Hosts) {
		if len(e.inCloud[listed]) > 0 {
			found = append(found, covered{routing.Host(listed), listed})
		}
	}
	return e.fromCloud(found)
}

// searchesUnanswered reports whether a class has certificates of listed hosts for which an Ingress has no answer.
func searchesUnanswered(c *Class) bool {
	return frontEnds[c.Dialect].allCertificates && c.discoversCertificates()
}

// certificates chooses a certificate for each covered host that has one. before has those of entries before this one.
func (e entry) certificates(covered []covered, before map[routing.Host]certificateUse) map[routing.Host]certificateUse {
	switch {
	case e.SecretName != "":
		return e.fromSecret(covered)
	case len(e.Settings.Certificates) > 0:
		return e.fromNames(covered)
	case len(e.Hosts) == 0 && searchesUnanswered(e.class):
		return e.fromBefore(covered, before)
	}
	return e.fromCloud(covered)
}

// fromBefore uses the first certificate that was found for a listed host, for the hosts that no entry lists.
func (e entry) fromBefore(covered []covered, before map[routing.Host]certificateUse) map[routing.Host]certificateUse {
	listed := map[routing.Host]bool{}
	for _, t := range e.tlsEntries() {
		if len(t.Hosts) > 0 {
			for _, c := range e.covers.coveredBy(t.Hosts) {
				listed[c.host] = true
			}
		}
	}
	var first certificateUse
	for _, host := range slices.Backward(e.covers.hosts) {
		if use, ok := before[host]; ok {
			first = use
		}
	}
	if first.id == "" && len(e.memberListeners.unanswered) > 0 {
		first = e.memberListeners.unanswered[0]
	}
	uses := map[routing.Host]certificateUse{}
	for _, c := range covered {
		switch {
		case listed[c.host]:
		case first.id == "":
			e.reportSecure(diag.Error, diag.CertificateMissing, e.field, "no certificate was found for a host of the Ingress, so "+
				describeHost(c.host)+" is left out of HTTPS")
		default:
			uses[c.host] = certificateUse{first.id, e.Source().At(e.field), first.beside}
		}
	}
	return uses
}

// fromNames uses the certificates that the annotation names, the first of them for every host. All
// are used, or none: without one, its hosts would be served with another certificate.
func (e entry) fromNames(covered []covered) map[routing.Host]certificateUse {
	if reason, why := e.refusesNamed(); why != "" {
		e.reportSecure(diag.Error, reason,
			annotationSource(e.Ingress, settings.CertificateARN).Field,
			fmt.Sprintf("%s, so %s left out of HTTPS%s", why, e.describeHosts(covered), remedyFor(reason)))
		return nil
	}
	for _, id := range e.Settings.Certificates {
		if e.known[id] == nil {
			e.known[id] = &routing.Certificate{ID: id}
		}
	}
	uses := make(map[routing.Host]certificateUse, len(covered))
	for _, c := range covered {
		uses[c.host] = certificateUse{e.Settings.Certificates[0],
			annotationSource(e.Ingress, settings.CertificateARN), e.Settings.Certificates[1:]}
	}
	return uses
}

// fromSecret uses the certificate of the Secret for all hosts. A host that the certificate does not
// name gets a warning.
func (e entry) fromSecret(covered []covered) map[routing.Host]certificateUse {
	field := e.field + ".secretName"
	s := e.readSecret(Name{Namespace: e.Namespace, Name: e.SecretName})
	if refused := e.members[e.Owner.String()].RejectionOf(string(s.id)); refused != nil &&
		e.servedCertificate(s.id) == nil {
		s = secret{e.lastOf(Name{Namespace: e.Namespace, Name: e.SecretName}),
			diag.CertificateRefused, errors.New(refused.Message)}
	}
	s = e.room.take(e.allowSecret(s, Name{Namespace: e.Namespace, Name: e.SecretName}),
		Name{Namespace: e.Namespace, Name: e.SecretName})
	switch {
	case s.id == "":
		e.reportSecure(diag.Error, s.reason, field,
			fmt.Sprintf("%s, so %s left out of HTTPS%s", s.err, e.describeHosts(covered),
				remedyFor(s.reason)))
		return nil
	case s.err != nil:
		e.reportSecure(diag.Error, s.reason, field,
			fmt.Sprintf("%s, so %s served with the last certificate that it held, %s%s", s.err,
				e.describeHosts(covered), s.id, remedyFor(s.reason)))
	}
	uses := make(map[routing.Host]certificateUse, len(covered))
	var unnamed []string
	for _, c := range covered {
		uses[c.host] = certificateUse{id: s.id, source: e.Source().At(field)}
		if c.host != routing.Any && !e.certifies(s.id, c.host) {
			unnamed = append(unnamed, string(c.host))
		}
	}
	if unnamed != nil {
		e.report(diag.Warning, diag.CertificateInvalid, field,
			fmt.Sprintf("the certificate is for %s, not for %s: clients will not trust it there",
				listFirst(e.known[s.id].Hosts), listFirst(unnamed)))
	}
	return uses
}

// describeHosts names the covered hosts in a sentence, with its verb.
func (e entry) describeHosts(covered []covered) string {
	var hosts []string
	for _, c := range covered {
		hosts = append(hosts, describeHost(c.host))
	}
	last := len(hosts) - 1
	if last == 0 {
		return hosts[0] + " is"
	}
	return strings.Join(hosts[:last], ", ") + " and " + hosts[last] + " are"
}

// fromCloud searches a certificate of the cloud for each host. Routes without a host use the first
// certificate that was found for any host of the Ingress.
func (e entry) fromCloud(covered []covered) map[routing.Host]certificateUse {
	uses := map[routing.Host]certificateUse{}
	source := e.Source().At(e.field)
	var found *certificateUse
	forAnyHost := false
	for _, c := range covered {
		host, listed := c.host, c.listed
		if host == routing.Any {
			forAnyHost = true
			continue
		}
		if len(e.inCloud[listed]) == 0 {
			holds := "the cloud holds no certificate for " + listed
			if e.listenerBuilder.unread != "" {
				holds = "none was chosen for " + listed + " before the cloud could not be asked: " +
					e.listenerBuilder.unread
			}
			if !e.discovers {
				holds = "the class does not let the cloud be searched for certificates"
			}
			e.reportSecure(diag.Error, diag.CertificateMissing, e.field,
				fmt.Sprintf("it names no Secret, and %s, so %s is left out of HTTPS", holds,
					describeHost(host)))
			continue
		}
		id, why := e.choose(listed)
		if why != "" {
			e.reportSecure(diag.Error, diag.CertificateForeign, e.field,
				fmt.Sprintf("certificate %s, which the cloud holds for %s, %s, so %s is left out of HTTPS%s",
					id, listed, why, describeHost(host), remedyForForeign))
			continue
		}
		use := certificateUse{id: id, source: source}
		if frontEnds[e.class.Dialect].allCertificates {
			var noRoom int
			if use.beside, noRoom = e.others(listed, id); noRoom > 0 {
				e.report(diag.Warning, diag.QuotaExceeded, e.field, fmt.Sprintf("the cloud has %d certificates for %s, and the load "+
					"balancer has no room for all, so %d of them are not attached: delete those without need, name one in %s, or let an "+
					"administrator raise the quota", len(use.beside)+noRoom+1, listed, noRoom, settings.CertificateARN))
			}
		}
		for _, id := range append([]routing.CertificateID{id}, use.beside...) {
			e.recordHost(id, listed)
		}
		uses[host] = use
		if found == nil {
			found = &use
		}
	}
	if forAnyHost && found != nil {
		uses[routing.Any] = *found
	} else if forAnyHost {
		e.reportSecure(diag.Error, diag.CertificateMissing, e.field,
			"it names no Secret, and there is no host to find a certificate for, so "+describeHost(
				routing.Any)+" is left out of HTTPS")
	}
	return uses
}

// recordHost records that the cloud has a certificate for a host.
func (d *listenerBuilder) recordHost(id routing.CertificateID, host string) {
	c := d.known[id]
	if c == nil {
		c = &routing.Certificate{ID: id}
		d.known[id] = c
	}
	if at, found := slices.BinarySearch(c.Hosts, host); !found {
		c.Hosts = slices.Insert(c.Hosts, at, host)
		d.names.forget(id)
	}
}

// remedyFor returns advice for the owner of a refused certificate, to follow the reason.
func remedyFor(reason diag.Reason) string {
	if reason != diag.CertificateForeign {
		return ""
	}
	return remedyForForeign
}

// readSecret reads a Secret once.
func (o *memberListeners) readSecret(n Name) secret {
	s, read := o.listenerBuilder.secrets[n]
	if !read {
		s = o.listenerBuilder.parseSecret(n, o.Index)
		o.listenerBuilder.secrets[n] = s
	}
	return s
}

func (d *listenerBuilder) parseSecret(n Name, among *Index) secret {
	object := among.Secrets[n]
	if why := among.whySecretUnread(n); object == nil && why != "" {
		return secret{d.lastOf(n), diag.SecretUnread, errors.New(why)}
	}
	if object == nil && among.SecretsWithheld != "" {
		return secret{reason: diag.CertificateMissing,
			err: fmt.Errorf("there is no Secret %s that may be served: %s", n, among.SecretsWithheld)}
	}
	if object == nil {
		return secret{reason: diag.CertificateMissing, err: fmt.Errorf("there is no Secret %s", n)}
	}
	judged := among.certificateOf(object)
	c, until, err := judged.Certificate, judged.Until, judged.Err
	if err != nil {
		return secret{d.lastOf(n), diag.CertificateInvalid,
			fmt.Errorf("Secret %s holds no certificate with its key: %w", n, err)}
	}
	if until.Before(d.now) && d.servedCertificate(c.ID) == nil { // a served certificate stays
		return secret{d.lastOf(n), diag.CertificateInvalid,
			fmt.Errorf("the certificate in Secret %s expired on %s", n, until.Format(time.DateTime))}
	}
	d.addFromSecret(judged.withKey(object), n)
	d.namesIn[c.ID] = judged.Hosts
	return secret{id: c.ID}
}

// lastOf returns the last certificate of a Secret, if the load balancer still has it; else "".
func (d *listenerBuilder) lastOf(n Name) routing.CertificateID {
	last := d.servedCertificate(d.remembered[n.String()])
	if last == nil {
		return ""
	}
	d.addFromSecret(*last, n)
	return last.ID
}

// servedCertificate returns a certificate that was imported from a Secret for the load balancer, or
// nil.
func (d *listenerBuilder) servedCertificate(id routing.CertificateID) *routing.Certificate {
	at := slices.IndexFunc(d.held, func(c routing.Certificate) bool { return c.ID == id })
	if at < 0 {
		return nil
	}
	return &d.held[at]
}

// addFromSecret records a certificate of a Secret. If the Secret held it only earlier, its key is
// missing.
func (d *listenerBuilder) addFromSecret(c routing.Certificate, from Name) {
	known := d.known[c.ID]
	if known == nil {
		known = &c
		d.known[c.ID] = known
		d.names.forget(c.ID)
	}
	known.Pair = cmp.Or(known.Pair, c.Pair)
	known.Secrets = append(known.Secrets, from.String())
}
