package listeners

import (
	"slices"
	"time"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/classes"
	"fairlead.dev/fairlead/model/ingress/hostrules"
	"fairlead.dev/fairlead/model/ingress/members"
	"fairlead.dev/fairlead/model/ingress/objects"
	"fairlead.dev/fairlead/model/memory"
	"fairlead.dev/fairlead/model/ownership"
	"fairlead.dev/fairlead/model/routing"
)

// This file has the state of the ports of a load balancer, and of a member that opens them.

// Builder are the ports of a load balancer with their certificates, as they are opened member by
// member.
type Builder struct {
	class *classes.Class
	group string // the group across namespaces, or ""
	// why the cloud could not be asked for all of it; "" if it could
	unread    string
	inCloud   map[string][]routing.CertificateID // what the cloud holds, by host
	discovers bool                               // whether the cloud was asked
	members   map[string]memory.Member           // which certificates of theirs it refused
	ports     map[int32]*listener
	secrets   map[objects.Name]secret // read so far
	known     map[routing.CertificateID]*routing.Certificate
	// the names in those that Secrets hold, and the common ones
	namesIn  map[routing.CertificateID][]routing.Host
	names    names
	reported map[routing.CertificateID][]string // the names in those that the cloud holds, as it says
	shown    []routing.CertificateID            // those that listeners have
	certificateDisputes

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

// ServedPorts are the ports on which one Ingress is served, ascending.
type ServedPorts struct {
	plain  []int32
	secure map[routing.Host][]int32 // the plain ports too; only for hosts that have a certificate
	// the HTTPS ports on which rules for a host answer for hosts that spec.tls lists
	listed map[routing.Host][]int32
}

// A MemberListeners is the opening of one member's ports.
type MemberListeners struct {
	*Builder
	*objects.Index
	members.Member
	Allowance hostrules.Allowance
	covers    cover
	plain     []int32                         // the HTTP ports on which it is served
	claimed   []int32                         // the HTTPS ports
	uses      map[routing.Host]certificateUse // on these
	// why it may not bring these certificates; "" where it may
	refused map[routing.CertificateID]string
	found   []diag.Diagnostic
}

func (o *MemberListeners) tell(severity diag.Severity, reason diag.Reason, field, message string) {
	o.found = append(o.found, diag.Diagnostic{Severity: severity, Reason: reason,
		Source: o.Source().At(field), Message: message})
}

// tellSecure tells what is not served over HTTPS.
func (o *MemberListeners) tellSecure(severity diag.Severity, reason diag.Reason, field,
	message string) {
	o.tell(severity, reason, field, message)
	o.found[len(o.found)-1].Ports = diag.PortsOf(o.AskedSecurePorts()...)
}

// A certificateDisputes is what is known of the certificates of namespaces that share a load
// balancer.
type certificateDisputes struct {
	owners *ownership.Owners
	// the names of certificates that are served, by namespace
	served map[string]map[routing.Host]bool
	// by the namespace and its oldest member that does
	brought  map[string]map[routing.CertificateID]routing.Owner
	recent   map[string]map[routing.CertificateID]bool // that Secrets of a namespace held last
	openings []*MemberListeners
	overlaps []overlap // that are refused
}

// An overlap is a host of one namespace that a certificate of another one has a name for.
type overlap struct {
	ownership.Overlap
	by members.Member // brings the certificate
	id routing.CertificateID
}

// A secret is what was read of one.
type secret struct {
	id     routing.CertificateID // the certificate in it, or else the last one that was
	reason diag.Reason
	err    error // there is no certificate in it, because
}

// A listener is one port.
type listener struct {
	protocol routing.Protocol
	opener   string // who has decided the protocol
	inbound  []string
	// who has decided which clients may connect; "" if it is the class, or neither it nor the owner
	// has
	narrower string
	policy   string // the TLS policy that an author asks for
	decided  string // who asked for it
	served   []members.Member

	by    map[routing.Host]certificateUse // the certificate of each host
	order []routing.CertificateID         // as they were attached
	has   map[routing.CertificateID]bool  // what is in it
}

// names are the names in the certificates of one load balancer, as far as they were asked for.
type names struct {
	shown     map[routing.CertificateID][]routing.Host        // by which clients may be shown them
	certified map[routing.CertificateID]map[routing.Host]bool // that clients trust them for
}

func newNames() names {
	return names{map[routing.CertificateID][]routing.Host{},
		map[routing.CertificateID]map[routing.Host]bool{}}
}

// forget has the names of a certificate put in order anew: more became known of it.
func (n names) forget(id routing.CertificateID) {
	delete(n.shown, id)
	delete(n.certified, id)
}

// secureOf are the HTTPS ports of a host, ascending.
func (s ServedPorts) secureOf(h routing.Host) []int32 {
	return slices.DeleteFunc(slices.Clone(s.secure[h]),
		func(p int32) bool { return slices.Contains(s.plain, p) })
}

// ForSignIn are the HTTPS ports on which users of a host can sign in.
func (s ServedPorts) ForSignIn(h routing.Host) []int32 {
	if secure := s.secureOf(h); len(secure) > 0 {
		return secure
	}
	return s.listed[h]
}
