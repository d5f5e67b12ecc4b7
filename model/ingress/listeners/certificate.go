package listeners

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/hostrules"
	"fairlead.dev/fairlead/model/ingress/objects"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// This file finds the certificates of the entries of spec.tls: in a Secret where an entry names
// one, otherwise among those that the cloud holds.

// An entry is one of spec.tls.
type entry struct {
	*MemberListeners
	*networkingv1.IngressTLS
	field string
}

// tellUnused tells about listed hosts for which the Ingress has no answer.
func (e entry) tellUnused() {
	for i, listed := range e.Hosts {
		if !e.covers.serves(routing.Host(listed)) {
			e.tellSecure(diag.Warning, diag.CertificateUnused, fmt.Sprintf("%s.hosts[%d]", e.field, i),
				fmt.Sprintf("nothing of this Ingress answers for host %s", listed))
		}
	}
}

// certificates are those of the covered hosts, as far as there are any.
func (e entry) certificates(covered []covered) map[routing.Host]certificateUse {
	switch {
	case e.SecretName != "":
		return e.fromSecret(covered)
	case len(e.Settings.Certificates) > 0:
		return e.named(covered)
	}
	return e.fromCloud(covered)
}

// named uses the certificates that the author names, the first of them for every host. They are
// used all together or not at all: without one of them its hosts would be served with another one.
func (e entry) named(covered []covered) map[routing.Host]certificateUse {
	if reason, why := e.refusesNamed(); why != "" {
		e.tellSecure(diag.Error, reason,
			objects.AnnotationSource(e.Ingress, settings.CertificateARN).Field,
			fmt.Sprintf("%s, so %s left out of HTTPS%s", why, e.list(covered), remedy(reason)))
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
			objects.AnnotationSource(e.Ingress, settings.CertificateARN), e.Settings.Certificates[1:]}
	}
	return uses
}

// fromSecret uses the certificate in the Secret, whatever names are in it: that is what the author
// asked for. A name that is not in it is told.
func (e entry) fromSecret(covered []covered) map[routing.Host]certificateUse {
	field := e.field + ".secretName"
	s := e.readSecret(objects.Name{Namespace: e.Namespace, Name: e.SecretName})
	if refused := e.members[e.Owner.String()].RejectionOf(string(s.id)); refused != nil &&
		e.find(s.id) == nil {
		s = secret{e.lastOf(objects.Name{Namespace: e.Namespace, Name: e.SecretName}),
			diag.CertificateRefused, errors.New(refused.Message)}
	}
	s = e.allowed(s, objects.Name{Namespace: e.Namespace, Name: e.SecretName})
	switch {
	case s.id == "":
		e.tellSecure(diag.Error, s.reason, field,
			fmt.Sprintf("%s, so %s left out of HTTPS%s", s.err, e.list(covered), remedy(s.reason)))
		return nil
	case s.err != nil:
		e.tellSecure(diag.Error, s.reason, field,
			fmt.Sprintf("%s, so %s served with the last certificate that it held, %s%s", s.err,
				e.list(covered), s.id, remedy(s.reason)))
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
		e.tell(diag.Warning, diag.CertificateInvalid, field,
			fmt.Sprintf("the certificate is for %s, not for %s: clients will not trust it there",
				hostrules.ListFirst(e.known[s.id].Hosts), hostrules.ListFirst(unnamed)))
	}
	return uses
}

// list names the covered hosts in a sentence, with its verb.
func (e entry) list(covered []covered) string {
	var hosts []string
	for _, c := range covered {
		hosts = append(hosts, hostrules.DescribeHost(c.host))
	}
	last := len(hosts) - 1
	if last == 0 {
		return hosts[0] + " is"
	}
	return strings.Join(hosts[:last], ", ") + " and " + hosts[last] + " are"
}

// fromCloud looks for a certificate by each name. What is for no host in particular takes the first
// that is found for a host of the Ingress.
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
			if e.Builder.unread != "" {
				holds = "none was chosen for " + listed + " before the cloud could not be asked: " +
					e.Builder.unread
			}
			if !e.discovers {
				holds = "the class does not let the cloud be searched for certificates"
			}
			e.tellSecure(diag.Error, diag.CertificateMissing, e.field,
				fmt.Sprintf("it names no Secret, and %s, so %s is left out of HTTPS", holds,
					hostrules.DescribeHost(host)))
			continue
		}
		id, why := e.choose(listed)
		if why != "" {
			e.tellSecure(diag.Error, diag.CertificateForeign, e.field,
				fmt.Sprintf("certificate %s, which the cloud holds for %s, %s, so %s is left out of HTTPS%s",
					id, listed, why, hostrules.DescribeHost(host), ofItsOwn))
			continue
		}
		use := certificateUse{id: id, source: source}
		e.learn(use.id, listed)
		uses[host] = use
		if found == nil {
			found = &use
		}
	}
	if forAnyHost && found != nil {
		uses[routing.Any] = *found
	} else if forAnyHost {
		e.tellSecure(diag.Error, diag.CertificateMissing, e.field,
			"it names no Secret, and there is no host to find a certificate for, so "+hostrules.DescribeHost(
				routing.Any)+" is left out of HTTPS")
	}
	return uses
}

// learn notes that the cloud holds a certificate for a host.
func (d *Builder) learn(id routing.CertificateID, host string) {
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

// remedy advises the author of a certificate that is refused, behind the reason.
func remedy(reason diag.Reason) string {
	if reason != diag.CertificateForeign {
		return ""
	}
	return ofItsOwn
}

// readSecret reads a Secret once.
func (o *MemberListeners) readSecret(n objects.Name) secret {
	s, read := o.Builder.secrets[n]
	if !read {
		s = o.Builder.parseSecret(n, o.Index)
		o.Builder.secrets[n] = s
	}
	return s
}

func (d *Builder) parseSecret(n objects.Name, among *objects.Index) secret {
	object := among.Secrets[n]
	if why := among.WhySecretUnread(n); object == nil && why != "" {
		return secret{d.lastOf(n), diag.SecretUnread, errors.New(why)}
	}
	if object == nil && among.SecretsWithheld != "" {
		return secret{reason: diag.CertificateMissing,
			err: fmt.Errorf("there is no Secret %s that may be served: %s", n, among.SecretsWithheld)}
	}
	if object == nil {
		return secret{reason: diag.CertificateMissing, err: fmt.Errorf("there is no Secret %s", n)}
	}
	judged := among.CertificateOf(object)
	c, until, err := judged.Certificate, judged.Until, judged.Err
	if err != nil {
		return secret{d.lastOf(n), diag.CertificateInvalid,
			fmt.Errorf("Secret %s holds no certificate with its key: %w", n, err)}
	}
	if until.Before(d.now) && d.find(c.ID) == nil { // what is served already stays
		return secret{d.lastOf(n), diag.CertificateInvalid,
			fmt.Errorf("the certificate in Secret %s expired on %s", n, until.Format(time.DateTime))}
	}
	d.bring(judged.WithKey(object), n)
	d.namesIn[c.ID] = judged.Hosts
	return secret{id: c.ID}
}

// lastOf is the certificate that a Secret held last, if the load balancer still has it; else "".
func (d *Builder) lastOf(n objects.Name) routing.CertificateID {
	last := d.find(d.remembered[n.String()])
	if last == nil {
		return ""
	}
	d.bring(*last, n)
	return last.ID
}

// find is a certificate that a Secret has brought to the load balancer, or nil.
func (d *Builder) find(id routing.CertificateID) *routing.Certificate {
	at := slices.IndexFunc(d.held, func(c routing.Certificate) bool { return c.ID == id })
	if at < 0 {
		return nil
	}
	return &d.held[at]
}

// bring notes a certificate that a Secret holds, or held last: then it comes without its key.
func (d *Builder) bring(c routing.Certificate, from objects.Name) {
	known := d.known[c.ID]
	if known == nil {
		known = &c
		d.known[c.ID] = known
		d.names.forget(c.ID)
	}
	known.Pair = cmp.Or(known.Pair, c.Pair)
	known.Secrets = append(known.Secrets, from.String())
}
