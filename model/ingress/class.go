package ingress

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/dialect"
	"fairlead.dev/fairlead/model/ingress/dialect/nginx"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// This file has an IngressClass of Fairlead with its parameters, as the Ingress API defines it:
// spec.ingressClassName of an Ingress names an IngressClass, spec.controller of the IngressClass
// names Fairlead, and spec.parameters refers to the spec of the class. The older annotation
// kubernetes.io/ingress.class takes precedence, and names an IngressClass as well. A class without
// an IngressClass exists only under Options.Literal and Options.AssumeClasses.

// ControllerName is the spec.controller of Fairlead's IngressClasses.
const ControllerName = "fairlead.dev/ingress"

// DefaultClass is the name of the IngressClass that Fairlead ships. An annotation with it means
// Fairlead, even without such a class.
const DefaultClass = "fairlead"

// ClassOptions are the operator's settings that decide which Ingresses are ours.
type ClassOptions struct {
	// WithoutClass is the IngressClass for Ingresses that name no class; "" ignores them.
	WithoutClass string
	// Literal is a name that the annotation may have without an IngressClass: it then means a class
	// without parameters. "" is none. An IngressClass of that name takes precedence, and so do
	// recorded parameters of one.
	Literal string
	// ManagedClass is the IngressClass that the operator creates; "" is none. An annotation with it
	// means Fairlead, even while the class is missing.
	ManagedClass string
	// AssumeClasses are classes of ours without parameters, if no IngressClass of that name is among
	// the objects: files often have Ingresses only.
	AssumeClasses []string
	// TakenClasses are IngressClasses of other controllers that are compiled as classes of ours without
	// parameters, or with those of From, to see what they would be.
	TakenClasses []string
	// From is a dialect. IngressClasses of its controller, or TakenClasses if there are any, are compiled as
	// classes of ours with the dialect.
	From string
	// Providers are the names of the operator's providers. The first is for classes that name none. If
	// empty, a class may name any.
	Providers []string
	// Called is what messages call a load balancer of each of them, such as "an ALB", which it also is without an entry.
	Called map[string]string
	// Room is the most bytes of the records of a load balancer's members; 0 is the limit of a
	// LoadBalancer object.
	Room int
	// Existing returns the load balancers of a tenant, as Key.Tenant names it, that exist or are about
	// to; true for those that an Ingress belongs to. If it is nil, the records are all there is.
	Existing func(tenant string) map[routing.Key]bool
	// CertificatesOf returns how many certificates of Secrets of a namespace each load balancer has.
	// If it is nil, the records are all there is.
	CertificatesOf func(namespace string) map[routing.Key]int
	// Check returns the errors that check finds in an IngressClass or parameters. It may cache them by
	// version. If it is nil, objects are checked each time.
	Check func(o metav1.Object, check func() field.ErrorList) field.ErrorList
	// NGINX remembers what was found about Ingresses of ingress-nginx; nil remembers nothing.
	NGINX nginx.Memory
	// Worlds keeps what Ingresses mean together for the next placement of the same objects; nil keeps nothing.
	Worlds *KeptWorlds
}

// called returns what messages call a load balancer of a provider.
func (o ClassOptions) called(provider string) string {
	if provider == "" && len(o.Providers) > 0 {
		provider = o.Providers[0]
	}
	return o.Called[provider]
}

// A Class is an IngressClass of ours with its parameters.
type Class struct {
	Name string
	v1alpha1.LoadBalancerClassSpec
	// Beside is what an object of the controller of the dialect says besides; nil for none.
	Beside *dialect.Parameters
}

// Grace returns how long a load balancer of the class serves an Ingress that moves away from it.
func (c *Class) Grace() time.Duration {
	if c.MoveGrace != nil {
		return c.MoveGrace.Duration
	}
	return settings.DefaultMoveGrace
}

// keptOld is the default of adoption.keepOld.
const keptOld = 7 * 24 * time.Hour

// KeepOld returns how long a load balancer that was taken over can be given back; false if the class takes none over.
func (c *Class) KeepOld() (time.Duration, bool) {
	switch {
	case c.Adoption == nil:
		return 0, false
	case c.Adoption.KeepOld == nil:
		return keptOld, true
	}
	return c.Adoption.KeepOld.Duration, true
}

// DepartureGrace returns how long a load balancer of the class serves an Ingress that gets a class of another controller,
// and the field that says so. One that was taken over is given back by a command, so that a former IngressClass that comes
// back, as by GitOps, is taken for an accident for as long as it can be given back.
func (c *Class) DepartureGrace() (grace time.Duration, field string) {
	if keep, adopts := c.KeepOld(); adopts && keep > c.Grace() {
		return keep, "adoption.keepOld"
	}
	return c.Grace(), "moveGrace"
}

// Retains reports whether load balancers of the class are kept after their last Ingress.
func (c *Class) Retains() bool { return c.DeletionPolicy == v1alpha1.DeletionPolicyRetain }

// mostRetained is the bound of a class that keeps load balancers and sets none. A kept load
// balancer costs money until a person deletes it, so there has to be a bound. An account can have
// 50 Application Load Balancers in a region by default, and ten are a fifth of them:
// https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-limits.html
const mostRetained = 10

// RemovesListeners reports whether listeners go that others made and no Ingress asks for.
func (c *Class) RemovesListeners() bool { return c.UnknownListeners == v1alpha1.UnknownListenersRemove }

// MostLoadBalancers returns how many load balancers of the class a namespace may have; 0 for no
// bound.
func (c *Class) MostLoadBalancers() int {
	if n := c.LoadBalancers.PerNamespace; n > 0 || !c.Retains() {
		return n
	}
	return mostRetained
}

// mostCertificates is the bound of a class that sets none. An account can have 2,500 imported
// certificates in a region by default, and can import 5,000 within a year:
// https://docs.aws.amazon.com/acm/latest/userguide/acm-limits.html
const mostCertificates = 100

// MostCertificates returns how many certificates of Secrets a namespace may have in the cloud.
func (c *Class) MostCertificates() int {
	return cmp.Or(c.LoadBalancers.CertificatesPerNamespace, mostCertificates)
}

// Source returns the class as the source of diagnostics.
func (c *Class) Source() diag.Source { return diag.Source{Kind: "IngressClass", Name: c.Name} }

// HostMissMeaning returns where requests go that match no path of their host.
func (c *Class) HostMissMeaning() routing.HostMiss {
	if c.HostMiss == v1alpha1.HostMissLessSpecific || c.Precedence == v1alpha1.PrecedenceOrder {
		return routing.MissFallsThrough
	}
	return routing.MissAnswers
}

// routePrecedence returns which of several routes answers a request that they match.
func (c *Class) routePrecedence() routing.Precedence {
	if c.Precedence == v1alpha1.PrecedenceOrder {
		return routing.InOrder
	}
	return routing.BySpecificity
}

// loadBalancerSettings returns the class's settings of a whole load balancer. The scheme is part of
// its key.
func (c *Class) loadBalancerSettings(scheme string) routing.Settings {
	return routing.Settings{Scheme: scheme, IPFamily: c.IPFamily, Attributes: c.Attributes,
		Tags: c.Tags, Provider: providerSettingsText(c.Provider)}
}

// portSettings returns the settings of the class for one port.
func (c *Class) portSettings(number int32) v1alpha1.PortSettings {
	at := slices.IndexFunc(c.Ports, func(p v1alpha1.PortSettings) bool { return p.Port == number })
	if at < 0 {
		return v1alpha1.PortSettings{}
	}
	return c.Ports[at]
}

// discoversCertificates reports whether certificates are searched for in the cloud.
func (c *Class) discoversCertificates() bool {
	return c.CertificateDiscovery == nil || *c.CertificateDiscovery
}

// servesForeignRestrictions reports whether Ingresses are served although they have restricting
// annotations of other controllers.
func (c *Class) servesForeignRestrictions() bool {
	return c.ForeignAnnotations == v1alpha1.ForeignWarn ||
		c.ForeignAnnotations == v1alpha1.ForeignIgnore
}

// tlsPolicyOf returns the TLS policy of the class for a port, or "".
func (c *Class) tlsPolicyOf(port int32) string {
	return cmp.Or(c.portSettings(port).TLSPolicy, c.TLSPolicy)
}
