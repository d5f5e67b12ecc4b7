package members

import (
	"slices"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/objects"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// This file has the Ingress of a load balancer, with its settings and the ports that it asks for.

// Among reports whether an Ingress is that of one of some members.
func Among(m Member, members []Member) bool {
	return slices.ContainsFunc(members, func(o Member) bool { return o.Ingress == m.Ingress })
}

// AskedListeners are the ports that a member asks to be served on, whether or not there are
// certificates.
func (m Member) AskedListeners() []v1alpha1.ListenPort {
	var out []v1alpha1.ListenPort
	for _, port := range settings.PortsOf(m.Settings.Ports, v1alpha1.ProtocolHTTP) {
		out = append(out, v1alpha1.ListenPort{Protocol: v1alpha1.ProtocolHTTP, Port: port})
	}
	for _, port := range m.SecurePorts() {
		out = append(out, v1alpha1.ListenPort{Protocol: v1alpha1.ProtocolHTTPS, Port: port})
	}
	return out
}

// DecidesAboutShield reports whether a member says that the load balancer is to be shielded, or
// that it is not.
func (m Member) DecidesAboutShield() bool { return m.Settings.Shield != "" }

// DecidesAboutWebACL reports whether a member says which web ACL is to stand before the load
// balancer.
func (m Member) DecidesAboutWebACL() bool { return m.Settings.WebACL != "" }

// A Member is an Ingress of a load balancer.
type Member struct {
	*networkingv1.Ingress // the version to compile: as it is, or as it was last accepted
	Owner                 routing.Owner
	// Leaving says that the Ingress belongs to another load balancer now, or to none, but that this
	// one serves it too until clients have had the time to follow.
	Leaving bool
	// Departing says of one that is Leaving that it names no class of ours any more.
	Departing bool
	// Vanished says that the Ingress is gone without having been let go of. It is not among the
	// objects.
	Vanished bool
	// Unserved says that nothing of it is served, and that only its settings of the whole load
	// balancer count.
	Unserved bool
	// From is the load balancer that the Ingress comes from, until it has left that, and Move the
	// number of the move. Earlier are others that it was leaving for this one when it went from here.
	From    routing.Key
	Earlier []routing.Key
	Move    int32

	Settings settings.Values
}

func New(ing *networkingv1.Ingress, s settings.Values) Member {
	return Member{
		Ingress: ing,
		Owner: routing.Owner{Namespace: ing.Namespace, Name: ing.Name,
			Created: ing.CreationTimestamp.Time, Order: s.Order},
		Settings: s,
	}
}

// Source is where diagnostics about a member point.
func (m Member) Source() diag.Source { return objects.SourceOf(m.Ingress) }

// TLSEntries is spec.tls; one entry for everything where there is none, and certificates are named.
func (m Member) TLSEntries() []networkingv1.IngressTLS {
	if len(m.Spec.TLS) == 0 && len(m.Settings.Certificates) > 0 {
		return []networkingv1.IngressTLS{{}}
	}
	return m.Spec.TLS
}

// AskedPorts are those on which the Ingress asks to be served, ascending.
func (m Member) AskedPorts() []int32 {
	ports := append(settings.PortsOf(m.Settings.Ports, v1alpha1.ProtocolHTTP), m.AskedSecurePorts()...)
	slices.Sort(ports)
	return ports
}

// AskedSecurePorts are SecurePorts, and without spec.tls those that the Ingress itself lists all
// the same.
func (m Member) AskedSecurePorts() []int32 {
	if _, asked := m.Annotations[settings.ListenPorts]; asked && len(m.TLSEntries()) == 0 {
		return settings.PortsOf(m.Settings.Ports, v1alpha1.ProtocolHTTPS)
	}
	return m.SecurePorts()
}

// SecurePorts are those on which the Ingress asks to be served over HTTPS, whether or not there is
// a certificate.
func (m Member) SecurePorts() []int32 {
	if len(m.TLSEntries()) == 0 {
		return nil
	}
	if listed := settings.PortsOf(m.Settings.Ports, v1alpha1.ProtocolHTTPS); listed != nil {
		return listed
	}
	return []int32{443}
}
