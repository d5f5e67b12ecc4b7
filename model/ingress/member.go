package ingress

import (
	"slices"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// This file has an Ingress of a load balancer, with its settings and ports.

// among reports whether a list of members has the Ingress of m.
func among(m Member, members []Member) bool {
	return slices.ContainsFunc(members, func(o Member) bool { return o.Ingress == m.Ingress })
}

// askedListeners returns the ports that a member asks for, with or without certificates.
func (m Member) askedListeners() []v1alpha1.ListenPort {
	var out []v1alpha1.ListenPort
	for _, port := range settings.PortsOf(m.Settings.Ports, v1alpha1.ProtocolHTTP) {
		out = append(out, v1alpha1.ListenPort{Protocol: v1alpha1.ProtocolHTTP, Port: port})
	}
	for _, port := range m.securePorts() {
		out = append(out, v1alpha1.ListenPort{Protocol: v1alpha1.ProtocolHTTPS, Port: port})
	}
	return out
}

// DecidesAboutShield reports whether a member turns Shield Advanced on or off.
func (m Member) DecidesAboutShield() bool { return m.Settings.Shield != "" }

// DecidesAboutWebACL reports whether a member sets the web ACL of the load balancer.
func (m Member) DecidesAboutWebACL() bool { return m.Settings.WebACL != "" }

// A Member is an Ingress of a load balancer.
type Member struct {
	*networkingv1.Ingress // the version to compile: the present or the last accepted one
	Owner                 routing.Owner
	// Leaving: the Ingress belongs to another load balancer now, or to none, but this one also serves
	// it until clients have had the time to follow.
	Leaving bool
	// Departing: a Leaving one no longer names a class of ours.
	Departing bool
	// Vanished: the Ingress disappeared although its finalizer was not removed by the operator. It is
	// not among the objects.
	Vanished bool
	// Unserved: it has no routes, and only its settings of the whole load balancer count.
	Unserved bool
	// From is the load balancer that the Ingress is leaving for this one, and Move the number of the
	// move. Earlier has others that it had not yet left when that move began.
	From    routing.Key
	Earlier []routing.Key
	Move    int32

	Settings settings.Values
}

func NewMember(ing *networkingv1.Ingress, s settings.Values) Member {
	return Member{
		Ingress: ing,
		Owner: routing.Owner{Namespace: ing.Namespace, Name: ing.Name,
			Created: ing.CreationTimestamp.Time, Order: s.Order},
		Settings: s,
	}
}

// Source returns the source of diagnostics about a member.
func (m Member) Source() diag.Source { return sourceOfIngress(m.Ingress) }

// tlsEntries returns spec.tls, or one entry for all hosts if there is none and certificates are
// named.
func (m Member) tlsEntries() []networkingv1.IngressTLS {
	if len(m.Spec.TLS) == 0 && len(m.Settings.Certificates) > 0 {
		return []networkingv1.IngressTLS{{}}
	}
	return m.Spec.TLS
}

// AskedPorts returns the ports that the Ingress asks for, ascending.
func (m Member) AskedPorts() []int32 {
	ports := append(settings.PortsOf(m.Settings.Ports, v1alpha1.ProtocolHTTP), m.askedSecurePorts()...)
	slices.Sort(ports)
	return ports
}

// askedSecurePorts returns securePorts, or without spec.tls the HTTPS ports that the Ingress lists.
func (m Member) askedSecurePorts() []int32 {
	if _, asked := m.Annotations[settings.ListenPorts]; asked && len(m.tlsEntries()) == 0 {
		return settings.PortsOf(m.Settings.Ports, v1alpha1.ProtocolHTTPS)
	}
	return m.securePorts()
}

// securePorts returns the HTTPS ports that the Ingress asks for, with or without a certificate.
func (m Member) securePorts() []int32 {
	if len(m.tlsEntries()) == 0 {
		return nil
	}
	if listed := settings.PortsOf(m.Settings.Ports, v1alpha1.ProtocolHTTPS); listed != nil {
		return listed
	}
	return []int32{443}
}
