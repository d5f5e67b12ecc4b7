package snapshots

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/classes"
	"fairlead.dev/fairlead/model/ingress/foreign"
	"fairlead.dev/fairlead/model/ingress/members"
	"fairlead.dev/fairlead/model/ingress/objects"
	"fairlead.dev/fairlead/model/memory"
	"fairlead.dev/fairlead/model/ownership"
	"fairlead.dev/fairlead/model/routing"
)

// This file has everything that one load balancer depends on.

// A Snapshot is everything that one load balancer depends on. Split makes them.
type Snapshot struct {
	Key     routing.Key
	Class   classes.Class
	Members []members.Member // oldest first
	Memory  memory.LoadBalancer
	// Objects are the members' Ingresses as they are, and what they refer to.
	objects.Objects
	// Diagnostics are those of the stages before.
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
	Refused []members.Member

	Owners             *ownership.Owners // of hosts; nil where they have none
	ServiceAnnotations map[*corev1.Service]*foreign.Annotations
}

// HasOnlyRefused reports whether all that ask for the load balancer are refused, so that there is
// none.
func (s *Snapshot) HasOnlyRefused() bool {
	return len(s.Refused) > 0 && len(s.Members) == 0 && !s.Withdrawn
}

// Add makes an Ingress a member.
func (s *Snapshot) Add(ing *networkingv1.Ingress, m members.Member, found []diag.Diagnostic) {
	s.Members = append(s.Members, m)
	if !m.Vanished {
		s.Ingresses = append(s.Ingresses, ing)
	}
	s.Diagnostics = append(s.Diagnostics, found...)
}

func TellWithdrawn(ing *networkingv1.Ingress, key routing.Key, why string) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Error, Reason: diag.ConsentWithdrawn, Source: objects.SourceOf(ing),
		Message: fmt.Sprintf("%s does not serve it any more as it was last accepted: %s", key, why),
	}
}

// NetworkOf is where the load balancer of a snapshot is to stand.
func NetworkOf(s Snapshot) routing.Network {
	return routing.Network{Key: s.Key, Scheme: s.Key.Scheme(), Subnets: s.Class.Subnets,
		SubnetTags: s.Class.SubnetTags, SecurityGroups: s.Class.SecurityGroups}
}

// Routes is how many routes the rules of all members are on all of their ports.
func (s Snapshot) Routes() int {
	n := 0
	for _, m := range s.Members {
		n += members.RoutesOf(m.Ingress) * max(1, len(m.Settings.Ports))
	}
	return n
}

// WithAnnotationCache returns the snapshot with a cache of what the annotations of its Services
// mean, for snapshots that are compiled several times.
func (s Snapshot) WithAnnotationCache() Snapshot {
	s.ServiceAnnotations = map[*corev1.Service]*foreign.Annotations{}
	return s
}

// ProviderSettings are what the class of a snapshot says to the provider alone, and what the
// Backends beside its Ingresses do, each once.
func ProviderSettings(s Snapshot) (class string, groups []string) {
	for _, b := range s.Backends {
		if text := classes.ProviderSettingsText(b.Spec.Provider); text != "" && len(b.Spec.Services) > 0 {
			groups = append(groups, text)
		}
	}
	slices.Sort(groups)
	return classes.ProviderSettingsText(s.Class.Provider), slices.Compact(groups)
}

// RoutesPerPort is the number of routes of all members on one port.
func (s Snapshot) RoutesPerPort() int {
	n := 0
	for _, m := range s.Members {
		n += members.RoutesOf(m.Ingress)
	}
	return n
}
