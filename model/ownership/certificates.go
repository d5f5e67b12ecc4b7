package ownership

import (
	"cmp"
	"iter"
	"slices"

	"fairlead.dev/fairlead/model/routing"
)

// This file decides between the certificates of one namespace and the hosts of others. Clients that
// ask for a host can be shown every certificate of the port that has a name for it.

// A Certificate is one that an Ingress brings.
type Certificate struct {
	Names []routing.Host
	By    routing.Owner
	// Granted reports whether the class grants a host to the namespace by its name.
	Granted func(routing.Host) bool
	// Served says that this very certificate is served for the namespace: it was accepted beside the
	// hosts that there are.
	Served bool
	// Held reports whether a certificate of the namespace is served that has a name.
	Held func(routing.Host) bool
}

// An Overlap is a host of another namespace for which clients can be shown a certificate.
type Overlap struct {
	Name  routing.Host // in the certificate
	Host  routing.Host
	Owner string
	// Claim is where the owner names the host; nil where the host is only reserved for it.
	Claim *Claim
	// First says that the host goes before the certificate.
	First bool
}

// Overlaps are the hosts of other namespaces that a certificate has names for.
func (o *Owners) Overlaps(c Certificate) iter.Seq[Overlap] {
	return func(yield func(Overlap) bool) {
		if o == nil {
			return
		}
		for _, name := range c.Names {
			for _, host := range o.meet(c.By.Namespace, name) {
				is := o.of[host]
				if !yield(Overlap{Name: name, Host: host, Owner: is.namespace, Claim: is.claim, First: is.before(host, name, c)}) {
					return
				}
			}
		}
	}
}

// meet are the hosts of other namespaces that a name stands for, or that stand for the name. A name
// that is a host, and not only reserved, is not one of the wildcard above it, and neither is one of
// its own namespace.
func (o *Owners) meet(namespace string, name routing.Host) []routing.Host {
	var out []routing.Host
	is, owned := o.of[name]
	if owned && is.namespace != namespace {
		out = append(out, name)
	}
	if above, covered := o.above(name); covered && above.namespace != namespace && (!owned || is.namespace != namespace && is.claim == nil) {
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

// before reports whether a host goes before a certificate with a name for it.
func (is owner) before(host, name routing.Host, c Certificate) bool {
	both := host // what both stand for
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
	case c.Held(name):
		return false
	}
	return is.claim == nil || Older(is.claim.By, c.By) < 0
}

// indexBelow notes the precise hosts below each wildcard, in their order.
func (o *Owners) indexBelow() {
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
