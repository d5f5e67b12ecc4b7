package ingress

import (
	"cmp"
	"iter"
	"slices"

	"fairlead.dev/fairlead/model/routing"
)

// This file compares the certificates of one namespace with the hosts of others. A port may send
// clients any of its certificates that has a name for their host.

// A CertificateClaim is a certificate that an Ingress uses.
type CertificateClaim struct {
	Names []routing.Host
	By    routing.Owner
	// Granted reports whether the class grants a host to the namespace by its exact name.
	Granted func(routing.Host) bool
	// Served is true if this same certificate is served for the namespace already. Then it was
	// accepted with the present hosts.
	Served bool
	// Covered reports whether a served certificate of the namespace has a name.
	Covered func(routing.Host) bool
}

// A CertificateOverlap is a host of another namespace that a certificate has a name for.
type CertificateOverlap struct {
	Name  routing.Host // in the certificate
	Host  routing.Host
	Owner string
	// Claim is the claim of the owner; nil if the host is only reserved for it.
	Claim *HostClaim
	// First is true if the host came before the certificate.
	First bool
}

// overlaps yields the hosts of other namespaces that a certificate has names for.
func (o *HostOwners) overlaps(c CertificateClaim) iter.Seq[CertificateOverlap] {
	return func(yield func(CertificateOverlap) bool) {
		if o == nil {
			return
		}
		for _, name := range c.Names {
			for _, host := range o.meet(c.By.Namespace, name) {
				is := o.of[host]
				if !yield(CertificateOverlap{Name: name, Host: host, Owner: is.namespace, Claim: is.claim,
					First: is.before(host, name, c)}) {
					return
				}
			}
		}
	}
}

// meet returns the hosts of other namespaces that a name matches, or that match the name. A
// wildcard above a name does not count if the name is a host that an Ingress claims, or one of the
// namespace itself.
func (o *HostOwners) meet(namespace string, name routing.Host) []routing.Host {
	var out []routing.Host
	is, owned := o.of[name]
	if owned && is.namespace != namespace {
		out = append(out, name)
	}
	if above, covered := o.above(name); covered && above.namespace != namespace &&
		(!owned || is.namespace != namespace && is.claim == nil) {
		parent, _ := name.Parent()
		out = append(out, parent)
	}
	for _, host := range o.below[name] {
		if o.of[host].namespace != namespace {
			out = append(out, host)
		}
	}
	return out
}

// before reports whether a host came before a certificate with a name for it.
func (is owner) before(host, name routing.Host, c CertificateClaim) bool {
	both := host // the hosts that both match
	if host.Wildcard() {
		both = name
	}
	granted := is.granted && both == host
	switch certified := c.Granted(both); {
	case granted != certified:
		return granted
	case c.Served:
		return false
	case is.settled:
		return true
	case c.Covered(name):
		return false
	}
	return is.claim == nil || olderOwner(is.claim.By, c.By) < 0
}

// indexBelow lists the precise hosts below each wildcard, sorted.
func (o *HostOwners) indexBelow() {
	o.below = map[routing.Host][]routing.Host{}
	for host := range o.of {
		if parent, ok := host.Parent(); ok && !host.Wildcard() {
			o.below[parent] = append(o.below[parent], host)
		}
	}
	for _, hosts := range o.below {
		slices.SortFunc(hosts, cmp.Compare)
	}
}
