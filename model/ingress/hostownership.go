package ingress

import (
	"cmp"
	"maps"
	"slices"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
)

// This file decides which namespace a host belongs to on a load balancer that several
// namespaces share. Without it the older Ingress wins identical routes only, and a namespace could
// take a host from another one with a more specific path, a condition or a default backend.
//
// # The rules
//
//  1. A host belongs to the namespace that named it first. A wildcard host belongs to the namespace
//     that named this wildcard first. "Any host" (rules without a host, and default backends) is
//     owned like a host. An Ingress that is refused names its hosts like any other: a typing
//     mistake in an annotation must not give them to the next namespace that claims them.
//  2. A precise host below a wildcard of another namespace is refused, unless the precise host was
//     named before the wildcard, or the class grants this very host to its namespace. A wildcard
//     above precise hosts of other namespaces is permitted: precise hosts go before it.
//  3. "First" is what is remembered; then the age of the Ingress, and its name. Ownership that is
//     remembered stays: an Ingress that is edited keeps its age, so that age alone would let an old
//     Ingress take a host that another namespace has had for years. A host that comes with a member
//     from another load balancer is remembered here where it is free: neither it, nor a wildcard
//     above it, is remembered for another namespace.
//  4. Of two namespaces, the one that the class grants the host by its name goes before the one
//     that may serve it because of a wildcard.
//  5. A certificate of one namespace has no name for a host of another one. Of a host and a
//     certificate the first stays: the one that the class grants the host by its name; a
//     certificate that is served; a host that was remembered when the certificate came; a
//     certificate in the place of one that was served with the name when the host was named; then
//     the older Ingress. So no namespace can have another one's certificate refused by naming a
//     host below it.

// A HostClaim is a host that an Ingress names and the class lets its namespace serve.
type HostClaim struct {
	Host routing.Host // Any for rules without a host and for default backends
	By   routing.Owner
	// Granted is true if the class grants this exact host to the namespace, and not only a wildcard.
	Granted bool
	// Former is true if the Ingress names the host only in the version that was last accepted.
	Former bool
	// Source is the place where the Ingress names the host.
	Source diag.Source
}

// A HostHolding is a host that a namespace is remembered to own and may still serve.
type HostHolding struct {
	Host      routing.Host
	Namespace string
	Granted   bool // as of a HostClaim
	// Settled is true if no certificate of another namespace had a name for the host when it was
	// claimed. Then the host came before such certificates.
	Settled bool
	// From is the load balancer where the host is remembered. It is not this one if a member moves
	// here with the host; "" for this one.
	From routing.Key
}

// HostOwners holds the namespaces that own the hosts of one load balancer. A nil *HostOwners refuses no
// claim.
type HostOwners struct {
	claims []HostClaim
	of     map[routing.Host]owner
	// the precise hosts that are owned, by the wildcards above them
	below map[routing.Host][]routing.Host
}

// An owner is the namespace that a host belongs to.
type owner struct {
	candidate
	namespace string
}

// A candidate holds the facts about one namespace that decide whether it owns a host.
type candidate struct {
	granted bool
	held    bool // the namespace is remembered to own the host
	settled bool // as of a HostHolding
	from    routing.Key
	claim   *HostClaim // of its oldest Ingress that names the host; nil if none does any more
}

// ResolveOwners returns the owners of the hosts. A host that is remembered for a namespace without a
// present claim is reserved for that namespace.
func ResolveOwners(claims []HostClaim, held []HostHolding) *HostOwners {
	o := &HostOwners{claims: claims, of: map[routing.Host]owner{}}
	candidates := candidatesOf(claims, held)
	// Wildcards come first, because they decide about the precise hosts below them.
	for _, precise := range []bool{false, true} {
		for host, among := range candidates {
			if precise == (host != routing.Any && !host.Wildcard()) {
				o.decide(host, among)
			}
		}
	}
	o.indexBelow()
	return o
}

// candidatesOf returns the candidates for each host, by namespace.
func candidatesOf(claims []HostClaim, held []HostHolding) map[routing.Host]map[string]candidate {
	all := map[routing.Host]map[string]candidate{}
	of := func(h routing.Host) map[string]candidate {
		if all[h] == nil {
			all[h] = map[string]candidate{}
		}
		return all[h]
	}
	for _, h := range held {
		of(h.Host)[h.Namespace] = candidate{
			granted: h.Granted, held: true, settled: h.Settled, from: h.From,
		}
	}
	for i := range claims {
		claim := &claims[i]
		c := of(claim.Host)[claim.By.Namespace]
		c.granted = claim.Granted
		if c.claim == nil || olderOwner(claim.By, c.claim.By) < 0 {
			c.claim = claim
		}
		of(claim.Host)[claim.By.Namespace] = c
	}
	return all
}

// decide gives a host to the first candidate that the wildcard above it does not exclude.
func (o *HostOwners) decide(host routing.Host, among map[string]candidate) {
	var all []owner
	for namespace, c := range among {
		all = append(all, owner{c, namespace})
	}
	slices.SortFunc(all, func(a, b owner) int {
		return cmp.Or(routing.CompareBool(b.granted, a.granted), compareAge(a.candidate, b.candidate))
	})
	above, covered := o.above(host)
	for _, c := range all {
		if !covered || above.namespace == c.namespace || c.granted || c.precedes(above.candidate) {
			o.of[host] = c
			return
		}
	}
}

// above returns the owner of the wildcard that covers a precise host.
func (o *HostOwners) above(host routing.Host) (owner, bool) {
	parent, ok := host.Parent()
	if !ok || host.Wildcard() {
		return owner{}, false
	}
	above, ok := o.of[parent]
	return above, ok
}

// precedes reports whether a precise host was claimed before the wildcard above it. If one load
// balancer remembers both, the precise host was accepted there with the wildcard. A host that comes
// from another load balancer was not accepted with a wildcard that is remembered here.
func (c candidate) precedes(wildcard candidate) bool {
	switch {
	case !c.held || !wildcard.held:
		return compareAge(c, wildcard) < 0
	case c.from == wildcard.from || c.from == "":
		return true
	case wildcard.from == "":
		return false
	}
	return olderOwner(c.claim.By, wildcard.claim.By) < 0
}

// compareAge orders candidates by the time of their claims. Remembered hosts come before hosts that
// are not remembered.
func compareAge(a, b candidate) int {
	switch {
	case a.held != b.held:
		return routing.CompareBool(b.held, a.held)
	case a.held:
		return 0 // a host is remembered for one namespace only
	}
	return olderOwner(a.claim.By, b.claim.By)
}

// olderOwner compares Ingresses by age and name. The order annotation does not affect ownership.
func olderOwner(a, b routing.Owner) int {
	a.Order, b.Order = 0, 0
	return routing.Older(a, b)
}

// A HostRefusal is the reason why a namespace may not serve a host.
type HostRefusal struct {
	// Owner is the namespace that owns Taken: the host itself, or the wildcard that covers it.
	Owner string
	Taken routing.Host
}

// refuses returns why a namespace may not serve a host; nil if it may.
func (o *HostOwners) refuses(namespace string, host routing.Host) *HostRefusal {
	if o == nil {
		return nil
	}
	if is, ok := o.of[host]; ok {
		return refusalBy(is, namespace, host)
	}
	if above, ok := o.above(host); ok {
		parent, _ := host.Parent()
		return refusalBy(above, namespace, parent)
	}
	return nil
}

// owns reports whether a host belongs to a namespace, which is so for all where hosts have no owners.
func (o *HostOwners) owns(namespace string, host routing.Host) bool {
	return o == nil || o.of[host].namespace == namespace
}

// Below reports whether a wildcard of another namespace covers a host.
func (o *HostOwners) Below(namespace string, host routing.Host) bool {
	if o == nil {
		return false
	}
	above, ok := o.above(host)
	return ok && above.namespace != namespace
}

func refusalBy(by owner, namespace string, host routing.Host) *HostRefusal {
	if by.namespace == namespace {
		return nil
	}
	return &HostRefusal{by.namespace, host}
}

// A HostDispute is a claim that is refused, and the claim of the owner.
type HostDispute struct {
	HostClaim
	HostRefusal
	// Against is the claim of the owner; nil if the host is only reserved for it.
	Against *HostClaim
	// HasHosts is true if the Ingress names a host that its namespace owns, apart from "any host".
	HasHosts bool
}

// disputes returns the refused claims, in their given order. Claims of former versions are left
// out, because the Ingress no longer has a field for a diagnostic.
func (o *HostOwners) disputes() []HostDispute {
	if o == nil {
		return nil
	}
	var out []HostDispute
	hasHosts := map[routing.Owner]bool{}
	for _, c := range o.claims {
		switch r := o.refuses(c.By.Namespace, c.Host); {
		case c.Former:
		case r != nil:
			out = append(out, HostDispute{HostClaim: c, HostRefusal: *r, Against: o.of[r.Taken].claim})
		case c.Host != routing.Any:
			hasHosts[c.By] = true
		}
	}
	for i := range out {
		out[i].HasHosts = hasHosts[out[i].By]
	}
	return out
}

// owned returns the hosts, sorted, each with its namespace.
func (o *HostOwners) owned() []Owned {
	if o == nil {
		return nil
	}
	out := make([]Owned, 0, len(o.of))
	for _, host := range slices.Sorted(maps.Keys(o.of)) {
		out = append(out, Owned{host, o.of[host].namespace, o.of[host].claim != nil})
	}
	return out
}

// An Owned is a host with its owner.
type Owned struct {
	Host      routing.Host
	Namespace string
	Named     bool // an Ingress of the namespace names the host now; else it is reserved
}
