package classes

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// This file has an IngressClass of Fairlead with its parameters, as the Ingress API defines it:
// spec.ingressClassName of an Ingress names an IngressClass, spec.controller of the IngressClass
// names Fairlead, and spec.parameters refers to the spec of the class. The older annotation
// kubernetes.io/ingress.class takes precedence, and names an IngressClass as well. A class without
// an IngressClass exists only under Options.Literal and Options.AssumeClass.

// Controller is the spec.controller of Fairlead's IngressClasses.
const Controller = "fairlead.dev/ingress"

// DefaultClass is what the IngressClass is called that Fairlead ships. An annotation that says so
// means Fairlead, even where no such class exists.
const DefaultClass = "fairlead"

// Options are the operator's settings that decide which Ingresses are ours.
type Options struct {
	// WithoutClass is the IngressClass, with its parameters, under which Ingresses are served that
	// name no class; "" leaves them alone.
	WithoutClass string
	// Literal is a name that the annotation may have though no IngressClass has it: it then stands for
	// a class without parameters. "" is none. Any IngressClass of that name decides over it, and so do
	// the parameters of one that are remembered.
	Literal string
	// ManagedClass is the IngressClass that the operator creates; "" is none. An annotation that names
	// it means Fairlead, even while the class is missing.
	ManagedClass string
	// AssumeClass is taken for a class of ours, without parameters, where no IngressClass of
	// that name is among the objects: files often hold Ingresses only.
	AssumeClass string
	// Providers are the names of the operator's providers, of which the first makes the load balancers
	// of classes that name none. Where none are given, a class may name any.
	Providers []string
	// Room is how many bytes what is remembered of the members of a load balancer may be; 0 is as many
	// as a LoadBalancer holds.
	Room int
	// Check returns what check finds in an IngressClass or parameters. It may remember what it found
	// in this version of it. Where it is nil, each is checked each time.
	Check func(o metav1.Object, check func() field.ErrorList) field.ErrorList
}

// A Class is an IngressClass of ours with its parameters.
type Class struct {
	Name string
	v1alpha1.LoadBalancerClassSpec
}

// Grace returns how long a load balancer of the class serves an Ingress that moves away from it.
func (c *Class) Grace() time.Duration {
	if c.MoveGrace != nil {
		return c.MoveGrace.Duration
	}
	return settings.DefaultMoveGrace
}

// Retains reports whether load balancers of the class are kept when no Ingress asks for them any
// more.
func (c *Class) Retains() bool { return c.DeletionPolicy == v1alpha1.DeletionPolicyRetain }

// Source returns the class as the source of diagnostics.
func (c *Class) Source() diag.Source { return diag.Source{Kind: "IngressClass", Name: c.Name} }

// HostMissMeaning returns which route answers if no path of a host matches.
func (c *Class) HostMissMeaning() routing.HostMiss {
	if c.HostMiss == v1alpha1.HostMissLessSpecific {
		return routing.MissFallsThrough
	}
	return routing.MissAnswers
}

// LoadBalancerSettings returns the class's settings of a whole load balancer. The scheme is part of
// its key.
func (c *Class) LoadBalancerSettings(scheme string) routing.Settings {
	return routing.Settings{Scheme: scheme, IPFamily: c.IPFamily, Attributes: c.Attributes,
		Tags: c.Tags, Provider: ProviderSettingsText(c.Provider)}
}

// PortSettings returns the settings of the class for one port.
func (c *Class) PortSettings(number int32) v1alpha1.PortSettings {
	at := slices.IndexFunc(c.Ports, func(p v1alpha1.PortSettings) bool { return p.Port == number })
	if at < 0 {
		return v1alpha1.PortSettings{}
	}
	return c.Ports[at]
}

// DiscoversCertificates reports whether certificates are searched for in the cloud.
func (c *Class) DiscoversCertificates() bool {
	return c.CertificateDiscovery == nil || *c.CertificateDiscovery
}

// ServesForeignRestrictions reports whether annotations of other controllers that restrict are let
// pass.
func (c *Class) ServesForeignRestrictions() bool {
	return c.ForeignAnnotations == v1alpha1.ForeignWarn ||
		c.ForeignAnnotations == v1alpha1.ForeignIgnore
}

// TLSPolicyOf is the TLS policy that the class has for a port, or "".
func (c *Class) TLSPolicyOf(port int32) string {
	return cmp.Or(c.PortSettings(port).TLSPolicy, c.TLSPolicy)
}
