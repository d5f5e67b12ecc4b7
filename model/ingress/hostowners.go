package ingress

import (
	"fmt"
	"maps"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/record"
	"fairlead.dev/fairlead/model/routing"
)

// This file finds the namespaces that own the hosts of a shared load balancer. Package ownership
// has the rules.

// OwnsHosts reports whether hosts have owners on a load balancer: namespaces share it, and the
// class does not switch this off.
func (s *Snapshot) OwnsHosts() bool {
	return s.Key.AcrossNamespaces() && s.Class.Hosts != v1alpha1.HostsShared
}

// OwnedHosts returns the hosts of the load balancer with their owners, for the record.
func (s *Snapshot) OwnedHosts() []Owned { return s.Owners.owned() }

// resolveOwners finds the namespaces that own the hosts of a snapshot. If members are left out
// later, the owners stay: a member without room must not lose its hosts.
func (s *Snapshot) resolveOwners(x *Index, records map[routing.Key]record.Record) {
	if !s.OwnsHosts() {
		return
	}
	c := claimant{key: s.Key, class: &s.Class, Index: x, allowances: map[string]hostAllowance{},
		named: map[namedHost]bool{}}
	for i := range s.Members {
		c.claim(&s.Members[i], s.Recorded.Members[s.Members[i].Owner.String()].LastAccepted)
	}
	for _, m := range s.Refused {
		c.claimVersion(m.Owner, m.Ingress, false)
	}
	s.Owners = ResolveOwners(c.claims,
		c.heldHosts(s.rememberedHosts(records, c.claims), &s.Recorded))
	s.Diagnostics = append(s.Diagnostics, reportDisputes(s.Owners)...)
}

// A heldHost is the recorded owner of a host.
type heldHost struct {
	namespace string
	from      routing.Key // the load balancer with the record; "" for this one
}

// rememberedHosts returns the owners that are recorded here, and for other hosts, those that moving
// members owned on their former load balancers.
func (s *Snapshot) rememberedHosts(records map[routing.Key]record.Record,
	claims []HostClaim) map[routing.Host]heldHost {
	held := make(map[routing.Host]heldHost, len(s.Recorded.Hosts))
	for host, namespace := range s.Recorded.Hosts {
		held[host] = heldHost{namespace: namespace}
	}
	from := map[routing.Owner]routing.Key{}
	for _, m := range s.Members {
		if m.From != "" {
			from[m.Owner] = m.From
		}
	}
	for _, c := range claims {
		_, known := held[c.Host]
		if key := from[c.By]; !known && c.By.Namespace == records[key].Hosts[c.Host] {
			held[c.Host] = heldHost{c.By.Namespace, key}
		}
	}
	return held
}

// A claimant collects the claims of the members of a load balancer.
type claimant struct {
	key   routing.Key
	class *Class
	*Index
	allowances map[string]hostAllowance // by namespace
	claims     []HostClaim
	named      map[namedHost]bool // the hosts that were claimed already
}

// A namedHost is a host that an Ingress names.
type namedHost struct {
	ingress string
	host    routing.Host
}

func (c *claimant) allowance(namespace string) hostAllowance {
	a, known := c.allowances[namespace]
	if !known {
		a = allowanceOf(c.class, c.namespaceLabels(namespace))
		c.allowances[namespace] = a
	}
	return a
}

// claim collects the hosts that the present and the last accepted version of a member name: the
// latter is served if the former does not fit.
func (c *claimant) claim(m *Member, accepted *record.Accepted) {
	c.claimVersion(m.Owner, m.Ingress, false)
	if accepted != nil {
		c.claimVersion(m.Owner, accepted.Version(m.Ingress), true)
	}
}

// claimVersion collects the hosts of rules, those of spec.tls, and Any for a rule without a host or
// a default backend, unless they are claimed already.
func (c *claimant) claimVersion(by routing.Owner, ing *networkingv1.Ingress, former bool) {
	allowance := c.allowance(by.Namespace)
	claim := func(host routing.Host, field string) {
		if named := (namedHost{by.String(), host}); !c.named[named] && allowance.permits(host) {
			c.named[named] = true
			c.claims = append(c.claims, HostClaim{
				Host: host, By: by, Granted: allowance.grants(host), Former: former,
				Source: sourceOfIngress(ing).At(field),
			})
		}
	}
	for i, r := range ing.Spec.Rules {
		claim(routing.Host(r.Host), fmt.Sprintf("spec.rules[%d].host", i))
	}
	for i, t := range ing.Spec.TLS {
		for j, host := range t.Hosts {
			claim(routing.Host(host), fmt.Sprintf("spec.tls[%d].hosts[%d]", i, j))
		}
	}
	if ing.Spec.DefaultBackend != nil {
		claim(routing.Any, defaultBackendField)
	}
}

// heldHosts returns the recorded owners that may still serve their hosts. A missing namespace,
// which may be created again, has no known labels and keeps its hosts. A host that comes with a
// moving member is newer than the certificates that are served here.
func (c *claimant) heldHosts(held map[routing.Host]heldHost,
	here *record.Record) []HostHolding {
	var out []HostHolding
	for _, host := range slices.Sorted(maps.Keys(held)) {
		owner, from := held[host].namespace, held[host].from
		if c.Namespaces[Name{Name: owner}] != nil &&
			c.class.excludes(c.key, owner, c.namespaceLabels(owner)) != "" {
			continue
		}
		if a := c.allowance(owner); a.permits(host) {
			out = append(out, HostHolding{Host: host, Namespace: owner, Granted: a.grants(host),
				Settled: from == "" && !here.Yielding[host], From: from})
		}
	}
	return out
}

// ownedRules returns the rules for hosts that the namespace of a member owns. The others were
// reported already.
func (s *Snapshot) ownedRules(m Member, rules []HostRule) []HostRule {
	if s.Owners == nil {
		return rules
	}
	out := slices.DeleteFunc(slices.Clone(rules),
		func(r HostRule) bool { return s.Owners.refuses(m.Namespace, r.Host) != nil })
	for i, r := range out {
		out[i].Below = r.Listed != "" && s.Owners.Below(m.Namespace, r.Host)
	}
	return out
}

// The limits of diagnostics about refused hosts.
const (
	mostListedHosts = 20 // hosts of one Ingress, one by one

)

// namedHosts returns the hosts that rules of members name and their namespaces may serve.
func (s Snapshot) namedHosts() map[routing.Host]bool {
	out := map[routing.Host]bool{}
	for _, m := range s.Members {
		for _, r := range m.Spec.Rules {
			if host := routing.Host(r.Host); host != routing.Any &&
				s.Owners.refuses(m.Namespace, host) == nil {
				out[host] = true
			}
		}
	}
	return out
}
