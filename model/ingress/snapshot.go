package ingress

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/foreign"
	"fairlead.dev/fairlead/model/memory"
	"fairlead.dev/fairlead/model/ownership"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// A Snapshot is everything that one load balancer depends on. Split makes them.
type Snapshot struct {
	Key     routing.Key
	Class   Class
	Members []Member // oldest first
	Memory  memory.LoadBalancer
	// Objects are the members' Ingresses as they are, and what they refer to.
	Objects
	// Diagnostics are what was found on the way here.
	Diagnostics []diag.Diagnostic
	// ClassLost is why the class cannot be used: what was accepted under it is frozen. "" if it can.
	ClassLost string
	// Withdrawn says that the class does not permit any more what the load balancer served of an
	// Ingress: nothing of that stays, though the load balancer may have to.
	Withdrawn bool
	// LeftOut are the Ingresses for which there is no room on the load balancer. They are no members.
	LeftOut []*networkingv1.Ingress
	// Refused are Ingresses that ask for the load balancer as they are, and are refused. They are no
	// members, or members as they were last accepted. The hosts that they name are theirs all the
	// same.
	Refused []Member

	owners    *ownership.Owners // of hosts; nil where they have none
	annotated map[*corev1.Service]*foreign.Annotations
}

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

	settings settings.Values
}

// onlyRefused reports whether all that ask for the load balancer are refused, so that there is
// none.
func (s *Snapshot) onlyRefused() bool {
	return len(s.Refused) > 0 && len(s.Members) == 0 && !s.Withdrawn
}

func newMember(ing *networkingv1.Ingress, s settings.Values) Member {
	return Member{
		Ingress:  ing,
		Owner:    routing.Owner{Namespace: ing.Namespace, Name: ing.Name, Created: ing.CreationTimestamp.Time, Order: s.Order},
		settings: s,
	}
}

// join makes an Ingress a member.
func (s *Snapshot) join(ing *networkingv1.Ingress, m Member, found []diag.Diagnostic) {
	s.Members = append(s.Members, m)
	if !m.Vanished {
		s.Ingresses = append(s.Ingresses, ing)
	}
	s.Diagnostics = append(s.Diagnostics, found...)
}

// Source is where diagnostics about a member point.
func (m Member) Source() diag.Source { return sourceOf(m.Ingress) }

// tls is spec.tls; one entry for everything where there is none, and certificates are named.
func (m Member) tls() []networkingv1.IngressTLS {
	if len(m.Spec.TLS) == 0 && len(m.settings.Certificates) > 0 {
		return []networkingv1.IngressTLS{{}}
	}
	return m.Spec.TLS
}

// AskedPorts are those on which the Ingress asks to be served, ascending.
func (m Member) AskedPorts() []int32 {
	ports := append(settings.PortsOf(m.settings.Ports, v1alpha1.ProtocolHTTP), m.askedSecurePorts()...)
	slices.Sort(ports)
	return ports
}

// askedSecurePorts are SecurePorts, and without spec.tls those that the Ingress itself lists all
// the same.
func (m Member) askedSecurePorts() []int32 {
	if _, asked := m.Annotations[settings.ListenPorts]; asked && len(m.tls()) == 0 {
		return settings.PortsOf(m.settings.Ports, v1alpha1.ProtocolHTTPS)
	}
	return m.SecurePorts()
}

// SecurePorts are those on which the Ingress asks to be served over HTTPS, whether or not there is
// a certificate.
func (m Member) SecurePorts() []int32 {
	if len(m.tls()) == 0 {
		return nil
	}
	if listed := settings.PortsOf(m.settings.Ports, v1alpha1.ProtocolHTTPS); listed != nil {
		return listed
	}
	return []int32{443}
}

func tellWithdrawn(ing *networkingv1.Ingress, key routing.Key, why string) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Error, Reason: diag.ConsentWithdrawn, Source: sourceOf(ing),
		Message: fmt.Sprintf("%s does not serve it any more as it was last accepted: %s", key, why),
	}
}

// NetworkOf is where the load balancer of a snapshot is to stand.
func NetworkOf(s Snapshot) routing.Network {
	return routing.Network{Key: s.Key, Scheme: s.Key.Scheme(), Subnets: s.Class.Subnets, SubnetTags: s.Class.SubnetTags, SecurityGroups: s.Class.SecurityGroups}
}
