package ingress

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/dialect"
	"fairlead.dev/fairlead/model/ingress/foreign"
	"fairlead.dev/fairlead/model/record"
	"fairlead.dev/fairlead/model/routing"
)

// This file has the snapshot of a load balancer.

// A Snapshot is everything that one load balancer depends on. Place makes them.
type Snapshot struct {
	Key      routing.Key
	Class    Class
	Members  []Member // oldest first
	Recorded record.Record
	// Objects has the members' present Ingresses, and the objects that they refer to.
	Objects
	// Diagnostics has the diagnostics of earlier stages.
	Diagnostics []diag.Diagnostic
	// ClassLost is the reason why the class cannot be used, so that accepted versions stay unchanged;
	// "" if it can.
	ClassLost string
	// Withdrawn: the class no longer permits an Ingress that the load balancer served. Its routes are
	// removed even if the load balancer must stay.
	Withdrawn bool
	// LeftOut has the Ingresses for which the load balancer has no room. They are not members.
	LeftOut []*networkingv1.Ingress
	// Refused has refused Ingresses that ask for the load balancer. They are not members, except their
	// last accepted versions. They still claim the hosts that they name.
	Refused []Member

	// Closed has the hosts that are closed: they were given up, and an expectation rules out the
	// answer of the Ingress that covers them.
	Closed []routing.ClosedHost

	// Stays are routes that the cloud has, and that stay though no member asks for them.
	Stays []routing.Route

	// CertificatesBeside counts the certificates of Secrets that other load balancers have, by
	// namespace.
	CertificatesBeside map[string]int

	// FewerCertificates says how many certificates of a host there is room for, of those that the cloud has.
	FewerCertificates Fewer

	// Readings are those of members whose class has a dialect.
	Readings map[Name]*dialect.Reading

	Owners             *HostOwners // of hosts; nil where they have none
	ServiceAnnotations map[*corev1.Service]*foreign.Annotations
}

// hasOnlyRefused reports whether all Ingresses of the load balancer are refused, so that it is not
// needed.
func (s *Snapshot) hasOnlyRefused() bool {
	return len(s.Refused) > 0 && len(s.Members) == 0 && !s.Withdrawn
}

// Add makes an Ingress a member.
func (s *Snapshot) Add(ing *networkingv1.Ingress, m Member, found []diag.Diagnostic) {
	s.Members = append(s.Members, m)
	if !m.Vanished {
		s.Ingresses = append(s.Ingresses, ing)
	}
	s.Diagnostics = append(s.Diagnostics, found...)
}

func tellWithdrawn(ing *networkingv1.Ingress, key routing.Key, why string) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Error, Reason: diag.ConsentWithdrawn, Source: sourceOfIngress(ing),
		Message: fmt.Sprintf("%s does not serve it any more as it was last accepted: %s", key, why),
	}
}

// Routes returns the number of routes of all members on all of their ports.
func (s Snapshot) Routes() int {
	n := 0
	for _, m := range s.Members {
		n += routesOf(m.Ingress) * max(1, len(m.Settings.Ports))
	}
	return n
}

// WithAnnotationCache returns the snapshot with a cache of its Services' annotations, for several
// compiles.
func (s Snapshot) WithAnnotationCache() Snapshot {
	s.ServiceAnnotations = map[*corev1.Service]*foreign.Annotations{}
	return s
}

// ProviderSettings returns the spec.provider of the class and of the Backends of a snapshot,
// without duplicates.
func ProviderSettings(s Snapshot) (class string, groups []string) {
	add := func(spec *v1alpha1.BackendSpec) {
		if text := providerSettingsText(spec.Provider); text != "" && len(spec.Services) > 0 {
			groups = append(groups, text)
		}
	}
	for _, b := range s.Backends {
		add(&b.Spec)
	}
	for _, m := range s.Members {
		for _, own := range m.Settings.Backends {
			add(own)
		}
	}
	slices.Sort(groups)
	return providerSettingsText(s.Class.Provider), slices.Compact(groups)
}

// routesPerPort returns the number of routes of all members on one port.
func (s Snapshot) routesPerPort() int {
	n := 0
	for _, m := range s.Members {
		n += routesOf(m.Ingress)
	}
	return n
}
