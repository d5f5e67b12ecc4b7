package ingress

import (
	"maps"
	"slices"
	"time"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/record"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// This file has the listeners of a load balancer while they are built, and those of one member.

// A listenerBuilder makes the listeners of a load balancer and their certificates. Members are added one by
// one, the oldest first.
type listenerBuilder struct {
	class *Class
	group string // the group across namespaces, or ""
	// why certificates in the cloud could not be listed; "" if they could
	unread    string
	inCloud   map[string][]routing.CertificateID // certificates in the cloud, by host
	discovers bool                               // whether the cloud is searched for certificates
	members   map[string]record.Member           // remembered, with refused certificates
	ports     map[int32]*listener
	secrets   map[Name]secret // read so far
	known     map[routing.CertificateID]*routing.Certificate
	// the names in certificates of Secrets, common names included
	namesIn map[routing.CertificateID][]routing.Host
	names   names
	// the names in certificates of the cloud, as it reports them
	reported map[routing.CertificateID][]string
	shown    []routing.CertificateID // certificates that listeners have
	fewer    Fewer
	certificateDisputes

	held       []routing.Certificate            // certificates that were imported from Secrets
	remembered map[string]routing.CertificateID // the certificate that each Secret held last
	room       certificateRoom
	// the certificates of the load balancer with their sources
	asked map[certificateOrigin]bool
	now   time.Time // certificates that are added must not have expired by then
}

// newListenerBuilder returns a builder with the ports of the shared group alone.
func newListenerBuilder(s *Snapshot, c Certificates) *listenerBuilder {
	d := &listenerBuilder{
		class: &s.Class, group: s.Key.SharedGroup(),
		unread: c.Unread, inCloud: c.ByHost, reported: c.Names, shown: c.Shown, fewer: s.FewerCertificates,
		discovers: s.Class.discoversCertificates(), members: s.Recorded.Members,
		ports:   map[int32]*listener{},
		secrets: map[Name]secret{},
		known:   map[routing.CertificateID]*routing.Certificate{},
		namesIn: map[routing.CertificateID][]routing.Host{},
		names:   newNames(),
		asked:   map[certificateOrigin]bool{},
		held:    c.Imported, remembered: s.Recorded.Certificates, now: c.Now,
	}
	d.room = newCertificateRoom(d, s)
	d.certificateDisputes = newCertificateDisputes(d, s)
	if d.group != "" {
		d.openSharedPorts(s.Class.ownerOf(d.group), s.Members)
	}
	return d
}

// addMember adds the ports and certificates that a member asks for. If its default backend answers
// for hosts without a rule, it counts as a rule without a host. finish serves them, once all
// members are added.
func (d *listenerBuilder) addMember(x *Index, m Member, a hostAllowance,
	rules []HostRule, forAnyHost bool) *memberListeners {
	o := &memberListeners{listenerBuilder: d, Index: x, Member: m, Allowance: a,
		covers:  newCover(hostsOf(rules, forAnyHost)),
		refused: map[routing.CertificateID]string{}, contested: map[routing.CertificateID]bool{}}
	d.openings = append(d.openings, o)
	if len(o.covers.hosts) == 0 {
		return o // it opens no port without hosts
	}
	if forAnyHost || slices.ContainsFunc(rules,
		func(r HostRule) bool { return r.Listed == "" }) {
		o.plain = o.claim(settings.PortsOf(m.Settings.Ports, v1alpha1.ProtocolHTTP),
			v1alpha1.ProtocolHTTP)
		o.chooseAttributes(o.plain)
	}
	listed := settings.PortsOf(m.Settings.Ports, v1alpha1.ProtocolHTTPS)
	if listed == nil {
		listed = []int32{443}
	} else if _, asked := m.Annotations[settings.ListenPorts]; asked {
		o.reportUncovered(rules)
	}
	o.uses = o.certificates()
	if len(o.uses) == 0 {
		return o
	}
	o.claimed = o.claim(listed, v1alpha1.ProtocolHTTPS)
	o.choosePolicy(o.claimed)
	o.chooseMutual(o.claimed)
	o.chooseAttributes(o.claimed)
	return o
}

// build returns the listeners of the ports that serve a member, and their certificates.
func (d *listenerBuilder) build(c *Class) ([]routing.Listener, []routing.Certificate) {
	var listeners []routing.Listener
	used := map[routing.CertificateID]bool{}
	for _, port := range slices.Sorted(maps.Keys(d.ports)) {
		at := d.ports[port]
		if len(at.served) == 0 {
			continue
		}
		own := c.portSettings(port)
		l := routing.Listener{Port: port, Protocol: at.protocol, Attributes: own.Attributes,
			Inbound: at.inbound}
		for _, name := range slices.Sorted(maps.Keys(at.attributes)) {
			l.Asked = append(l.Asked, at.attributes[name])
		}
		if at.protocol == v1alpha1.ProtocolHTTPS {
			if l.TLSPolicy = c.tlsPolicyOf(port); l.TLSPolicy == "" && at.policy != "" {
				l.TLSPolicy, l.Decided = at.policy, append(l.Decided, at.policyBy)
			}
			l.Mutual = (*routing.MutualAuthentication)(own.MutualAuthentication)
			if l.Mutual == nil && at.mutual != nil {
				l.Mutual, l.Decided = at.mutual, append(l.Decided, at.mutualBy)
			}
			l.Certificates = at.order
			slices.Sort(l.Certificates[1:])
		}
		for _, id := range l.Certificates {
			used[id] = true
		}
		listeners = append(listeners, l)
	}
	var certificates []routing.Certificate
	for _, id := range slices.Sorted(maps.Keys(used)) {
		certificates = append(certificates, *d.known[id])
	}
	return listeners, certificates
}

// A certificateOrigin is a certificate and the field that asks for it.
type certificateOrigin struct {
	id     routing.CertificateID
	source diag.Source
}

// A certificateUse is a certificate for a host, and the field that asks for it.
type certificateUse struct {
	id     routing.CertificateID
	source diag.Source
	beside []routing.CertificateID // more that are attached with it
}

// servedPorts are the ports on which one Ingress is served, ascending.
type servedPorts struct {
	plain  []int32
	secure map[routing.Host][]int32 // HTTP and HTTPS ports, of hosts with a certificate
	// the HTTPS ports on which rules for a host answer for hosts that spec.tls lists
	listed map[routing.Host][]int32
}

// memberListeners are the listeners that one member asks for.
type memberListeners struct {
	*listenerBuilder
	*Index
	Member
	Allowance hostAllowance
	covers    cover
	plain     []int32                         // HTTP ports on which the member is served
	claimed   []int32                         // HTTPS ports on which the member is served
	uses      map[routing.Host]certificateUse // certificates on the HTTPS ports
	// certificates for listed hosts for which the Ingress has no answer, where a dialect attaches them
	unanswered []certificateUse
	// why the member may not use a certificate; "" if it may
	refused map[routing.CertificateID]string
	// certificates of the cloud, and whether they have names for hosts of other namespaces
	contested map[routing.CertificateID]bool
	found     []diag.Diagnostic
}

// report adds a diagnostic about a field of the member.
func (o *memberListeners) report(severity diag.Severity, reason diag.Reason, field,
	message string) {
	o.found = append(o.found, diag.Diagnostic{Severity: severity, Reason: reason,
		Source: o.Source().At(field), Message: message})
}

// reportSecure adds a diagnostic about a field of the member, for the HTTPS ports that it asks for.
func (o *memberListeners) reportSecure(severity diag.Severity, reason diag.Reason, field,
	message string) {
	o.report(severity, reason, field, message)
	o.found[len(o.found)-1].Ports = diag.PortsOf(o.askedSecurePorts()...)
}

// certificateDisputes hold the certificates of namespaces that share a load balancer, and the hosts
// for which two namespaces have certificates.
type certificateDisputes struct {
	owners *HostOwners
	// the names in certificates on listeners, by namespace
	served map[string]map[routing.Host]bool
	// the oldest member of each namespace that uses a certificate
	brought map[string]map[routing.CertificateID]routing.Owner
	// certificates that Secrets of a namespace held last
	recent   map[string]map[routing.CertificateID]bool
	openings []*memberListeners
	// hosts that are not served over HTTPS because of another namespace's certificate
	overlaps []overlap
}

// An overlap is a host of one namespace, and a certificate of another namespace with its name.
type overlap struct {
	CertificateOverlap
	by Member // uses the certificate
	id routing.CertificateID
}

// A secret is the result of reading a Secret.
type secret struct {
	id     routing.CertificateID // its certificate, or the last one that was valid
	reason diag.Reason
	err    error // why it has no valid certificate
}

// A listener is a port of the load balancer.
type listener struct {
	protocol routing.Protocol
	opener   string // the member, the class or the group that decided the protocol
	inbound  []string
	// the member that decided which clients may connect; "" if the class did, or none
	narrower string
	policy   string // the TLS policy that a member asks for
	decided  string // the member that asks for the TLS policy
	policyBy diag.Source
	mutual   *routing.MutualAuthentication // that a member asks for
	verifier routing.Owner                 // the member that asks for it
	mutualBy diag.Source
	// attributes has those that members ask for, by name
	attributes map[string]routing.Attribute
	served     []Member

	by    map[routing.Host]certificateUse // the certificate of each host
	order []routing.CertificateID         // as they were attached; the default one goes first
	first *routing.Owner                  // the member that it is of
	has   map[routing.CertificateID]bool  // certificates in order
}

// names are the names in certificates, which are sorted once for each certificate.
type names struct {
	shown map[routing.CertificateID][]routing.Host // names that clients may see
	// hosts that clients accept the certificate for
	certified map[routing.CertificateID]map[routing.Host]bool
}

func newNames() names {
	return names{map[routing.CertificateID][]routing.Host{},
		map[routing.CertificateID]map[routing.Host]bool{}}
}

// forget removes the names of a certificate, so that they are sorted again with new ones.
func (n names) forget(id routing.CertificateID) {
	delete(n.shown, id)
	delete(n.certified, id)
}

// secureOf returns the HTTPS ports of a host, ascending.
func (s servedPorts) secureOf(h routing.Host) []int32 {
	return slices.DeleteFunc(slices.Clone(s.secure[h]),
		func(p int32) bool { return slices.Contains(s.plain, p) })
}

// forSignIn returns the HTTPS ports on which users of a host can sign in.
func (s servedPorts) forSignIn(h routing.Host) []int32 {
	if secure := s.secureOf(h); len(secure) > 0 {
		return secure
	}
	return s.listed[h]
}
