package ingress

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/memory"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// This file decides on which ports each host of an Ingress is served, and with which certificate.
//
// Every host of a rule is served on the HTTP ports. On the HTTPS ports an Ingress is served for the
// hosts that its own spec.tls covers with a certificate that can be used: an entry covers the hosts
// that it lists, whether or not a rule names them (listed.go), a wildcard among them the hosts of
// one more label, and an entry that lists none covers all hosts of the Ingress, its rules without a
// host, and its default backend.

// doors are the ports of a load balancer with their certificates, as they are opened member by
// member.
type doors struct {
	class     *Class
	group     string                             // the group across namespaces, or ""
	unread    string                             // why the cloud could not be asked for all of it; "" if it could
	inCloud   map[string][]routing.CertificateID // what the cloud holds, by host
	discovers bool                               // whether the cloud was asked
	members   map[string]memory.Member           // which certificates of theirs it refused
	ports     map[int32]*door
	secrets   map[name]secret // read so far
	known     map[routing.CertificateID]*routing.Certificate
	namesIn   map[routing.CertificateID][]routing.Host // the names in those that Secrets hold, and the common ones
	names     names
	reported  map[routing.CertificateID][]string // the names in those that the cloud holds, as it says
	shown     []routing.CertificateID            // those that listeners have
	rivalry

	held       []routing.Certificate            // what Secrets have brought to this load balancer
	remembered map[string]routing.CertificateID // which of it each Secret held last
	asked      map[certificateOrigin]bool       // what is among the origins of certificates
	now        time.Time                        // when what is new must not have expired
}

// A certificateOrigin is a certificate and where it is asked for.
type certificateOrigin struct {
	id     routing.CertificateID
	source diag.Source
}

// A certificateUse is a certificate for a host, and where it is asked for.
type certificateUse struct {
	id     routing.CertificateID
	source diag.Source
	beside []routing.CertificateID // more that are attached with it
}

func newDoors(s *Snapshot, c Certificates) *doors {
	d := &doors{
		class: &s.Class, group: s.Key.SharedGroup(),
		unread: c.Unread, inCloud: c.ByHost, reported: c.Names, shown: c.Shown, discovers: s.Class.discovers(), members: s.Memory.Members,
		ports:   map[int32]*door{},
		secrets: map[name]secret{},
		known:   map[routing.CertificateID]*routing.Certificate{},
		namesIn: map[routing.CertificateID][]routing.Host{},
		names:   newNames(),
		asked:   map[certificateOrigin]bool{},
		held:    c.Held, remembered: s.Memory.Certificates, now: c.Now,
	}
	d.rivalry = newRivalry(d, s)
	if d.group != "" {
		d.share(s.Class.ownerOf(d.group), s.Members)
	}
	return d
}

// served are the ports on which one Ingress is served, ascending.
type served struct {
	plain  []int32
	secure map[routing.Host][]int32 // the plain ports too; only for hosts that have a certificate
	listed map[routing.Host][]int32 // the HTTPS ports on which rules for a host answer for hosts that spec.tls lists
}

// of are the ports of a rule. A listed host has the HTTPS ports only.
func (s served) of(r rule) []int32 {
	if r.listed != "" {
		return s.secureOf(r.host)
	}
	if ports, ok := s.secure[r.host]; ok {
		return ports
	}
	return s.plain
}

// needed are the rules without those for listed hosts that make no difference: the host has no
// certificate, or the rules that answer for it are served over HTTPS whatever the host is, and
// nothing of another Ingress names the host or its wildcard, which could close or take it on these
// ports. Of a listed host below a wildcard of another namespace, the name stays.
func (s *served) needed(rules []rule, named map[routing.Host]bool) []rule {
	s.listed = map[routing.Host][]int32{}
	var out []rule
	for _, r := range rules {
		switch {
		case r.listed == "":
		case s.needs(r, named):
			s.listed[r.by] = s.of(r)
		case r.below:
			r.http = nil
		default:
			continue
		}
		out = append(out, r)
	}
	return out
}

// needs reports whether a rule for a listed host makes a difference.
func (s *served) needs(r rule, named map[routing.Host]bool) bool {
	parent, _ := r.host.Parent()
	contested := r.below || named[r.host] || r.by == routing.Any && named[parent]
	return len(s.of(r)) > 0 && (contested || len(s.secureOf(r.by)) == 0)
}

// open has a member ask for its ports and certificates. Its default backend counts as one of its
// rules without a host if it answers for hosts that nobody names. What is asked for is served by
// finish, once all members have asked.
func (d *doors) open(x *index, m Member, a allowance, rules []rule, forAnyHost bool) *opening {
	o := &opening{doors: d, index: x, Member: m, allowance: a, covers: newCover(hostsOf(rules, forAnyHost)), refused: map[routing.CertificateID]string{}}
	d.openings = append(d.openings, o)
	if len(o.covers.hosts) == 0 {
		return o // it opens no port for nothing
	}
	if forAnyHost || slices.ContainsFunc(rules, func(r rule) bool { return r.listed == "" }) {
		o.plain = o.claim(settings.PortsOf(m.settings.Ports, v1alpha1.ProtocolHTTP), v1alpha1.ProtocolHTTP)
	}
	listed := settings.PortsOf(m.settings.Ports, v1alpha1.ProtocolHTTPS)
	if listed == nil {
		listed = []int32{443}
	} else if _, asked := m.Annotations[settings.ListenPorts]; asked {
		o.tellUncovered(rules)
	}
	o.uses = o.certificates()
	if len(o.uses) == 0 {
		return o
	}
	o.claimed = o.claim(listed, v1alpha1.ProtocolHTTPS)
	o.choosePolicy(o.claimed)
	return o
}

// finish has a member served on the ports that it was given, with its certificates.
func (o *opening) finish() (served, []diag.Diagnostic) {
	s := served{plain: o.plain}
	if len(o.uses) == 0 {
		for _, port := range o.claimed {
			o.ports[port].leave(o.Member)
		}
		return s, o.found
	}
	o.attach(o.claimed, o.uses)
	ports := slices.Concat(o.plain, o.claimed)
	slices.Sort(ports)
	s.secure = make(map[routing.Host][]int32, len(o.uses))
	for host := range o.uses {
		s.secure[host] = ports
	}
	return s, o.found
}

// hostsOf are the hosts of rules, each once, with Any among them if there is more for any host.
func hostsOf(rules []rule, forAnyHost bool) []routing.Host {
	var hosts []routing.Host
	seen := map[routing.Host]bool{}
	for _, r := range rules {
		if !seen[r.host] {
			seen[r.host] = true
			hosts = append(hosts, r.host)
		}
	}
	if forAnyHost && !seen[routing.Any] {
		hosts = append(hosts, routing.Any)
	}
	return hosts
}

// An opening is the opening of one member's ports.
type opening struct {
	*doors
	*index
	Member
	allowance allowance
	covers    cover
	plain     []int32                          // the HTTP ports on which it is served
	claimed   []int32                          // the HTTPS ports
	uses      map[routing.Host]certificateUse  // on these
	refused   map[routing.CertificateID]string // why it may not bring these certificates; "" where it may
	found     []diag.Diagnostic
}

func (o *opening) tell(severity diag.Severity, reason diag.Reason, field, message string) {
	o.found = append(o.found, diag.Diagnostic{Severity: severity, Reason: reason, Source: o.Source().At(field), Message: message})
}

// tellSecure tells what is not served over HTTPS.
func (o *opening) tellSecure(severity diag.Severity, reason diag.Reason, field, message string) {
	o.tell(severity, reason, field, message)
	o.found[len(o.found)-1].Ports = diag.PortsOf(o.askedSecurePorts()...)
}

// certificates finds a certificate for each host that an entry covers: the first that can be used.
func (o *opening) certificates() map[routing.Host]certificateUse {
	uses := map[routing.Host]certificateUse{}
	for i, t := range o.Member.tls() {
		e := entry{o, &t, fmt.Sprintf("spec.tls[%d]", i)}
		e.tellUnused()
		covered := o.covers.by(t.Hosts)
		if len(covered) == 0 {
			continue
		}
		if o.covers.given += len(covered); o.covers.given > maxCovered {
			o.tellSecure(diag.Error, diag.TooComplex, e.field, fmt.Sprintf("the entries up to this one cover more than %d hosts, those counted twice that two of them cover: this one and those behind it are left out; list the hosts of each, or have fewer entries", maxCovered))
			break
		}
		found := e.certificates(covered)
		for _, c := range covered {
			use, ok := found[c.host]
			if !ok {
				continue
			}
			if before, twice := uses[c.host]; !twice {
				uses[c.host] = use
			} else if before.id != use.id {
				o.tellSecond(c.host, use, before)
			}
		}
	}
	return uses
}

// tls is spec.tls; one entry for everything where there is none, and certificates are named.
func (m Member) tls() []networkingv1.IngressTLS {
	if len(m.Spec.TLS) == 0 && len(m.settings.Certificates) > 0 {
		return []networkingv1.IngressTLS{{}}
	}
	return m.Spec.TLS
}

// attach puts certificates on ports. Where an older Ingress has brought another one for a host,
// that stays, for all of them.
func (o *opening) attach(ports []int32, uses map[routing.Host]certificateUse) {
	for _, port := range ports {
		at := o.ports[port]
		for _, host := range o.covers.hosts {
			use, ok := uses[host]
			if !ok {
				continue
			}
			before, taken := at.by[host]
			switch {
			case !taken:
				at.by[host] = use
				for _, id := range append([]routing.CertificateID{use.id}, use.beside...) {
					if !at.has[id] {
						at.has[id], at.order = true, append(at.order, id)
					}
				}
			case before.id != use.id:
				o.tellSecond(host, use, before)
				continue
			}
			if from := (certificateOrigin{use.id, use.source}); !o.asked[from] {
				c := o.known[use.id]
				o.asked[from], c.Origin = true, append(c.Origin, use.source)
			}
		}
	}
}

func (o *opening) tellSecond(host routing.Host, second, first certificateUse) {
	o.found = append(o.found, diag.Diagnostic{
		Severity: diag.Warning, Reason: diag.SettingConflict, Source: second.source,
		Message: fmt.Sprintf("%s has the certificate of %s already, which is kept", describeHost(host), first.source),
	})
}

// tellUncovered tells the author of HTTPS ports which hosts are not served on them.
func (o *opening) tellUncovered(rules []rule) {
	covered := map[routing.Host]bool{}
	for _, t := range o.Member.tls() {
		for _, c := range o.covers.by(t.Hosts) {
			covered[c.host] = true
		}
	}
	for _, r := range rules {
		if r.listed != "" && covered[r.host] {
			covered[r.by] = true // for those hosts that are listed, which is what its author asks for
		}
	}
	for _, r := range rules {
		if !covered[r.host] {
			o.tellSecure(diag.Warning, diag.HostNotCovered, r.field()+".host",
				fmt.Sprintf("no entry of spec.tls covers %s, so it is not served over HTTPS", describeHost(r.host)))
		}
	}
}

func describeHost(h routing.Host) string {
	if h == routing.Any {
		return "what is for no host in particular"
	}
	return "host " + string(h)
}

// listeners are the ports that were opened, and the certificates that they serve.
func (d *doors) listeners(c *Class) ([]routing.Listener, []routing.Certificate) {
	var listeners []routing.Listener
	used := map[routing.CertificateID]bool{}
	for _, port := range slices.Sorted(maps.Keys(d.ports)) {
		at := d.ports[port]
		if len(at.served) == 0 {
			continue
		}
		own := c.port(port)
		l := routing.Listener{Port: port, Protocol: at.protocol, Attributes: own.Attributes, Inbound: at.inbound}
		if at.protocol == v1alpha1.ProtocolHTTPS {
			l.TLSPolicy = cmp.Or(c.policyOf(port), at.policy)
			l.Mutual = (*routing.MutualAuthentication)(own.MutualAuthentication)
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
