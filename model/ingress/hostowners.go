package ingress

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/memory"
	"fairlead.dev/fairlead/model/ownership"
	"fairlead.dev/fairlead/model/routing"
)

// This file finds out which namespaces own the hosts of a load balancer that namespaces share, and
// tells both sides of each claim that is refused. Package ownership has the rules.

// OwnsHosts reports whether hosts have owners on a load balancer: where namespaces share it, and
// the class does not say otherwise.
func (s *Snapshot) OwnsHosts() bool {
	return s.Key.AcrossNamespaces() && s.Class.Hosts != v1alpha1.HostsShared
}

// OwnedHosts are the hosts of the load balancer with their owners. They are to be remembered.
func (s *Snapshot) OwnedHosts() []ownership.Owned { return s.owners.Owned() }

// resolveOwners decides who owns the hosts of a snapshot. A snapshot from which members are left
// out later keeps these owners: a member for which there is no room must not lose its hosts.
func (s *Snapshot) resolveOwners(x *index, memories map[routing.Key]memory.LoadBalancer) {
	if !s.OwnsHosts() {
		return
	}
	c := claimant{key: s.Key, class: &s.Class, index: x, allowances: map[string]allowance{}, named: map[namedHost]bool{}}
	for i := range s.Members {
		c.claim(&s.Members[i], s.Memory.Members[s.Members[i].Owner.String()].LastAccepted)
	}
	for _, m := range s.Refused {
		c.claimVersion(m.Owner, m.Ingress, false)
	}
	s.owners = ownership.Resolve(c.claims, c.holdings(s.rememberedHosts(memories, c.claims), &s.Memory))
	s.Diagnostics = append(s.Diagnostics, tellDisputes(s.owners)...)
}

// A heldHost is who is remembered as the owner of a host.
type heldHost struct {
	namespace string
	from      routing.Key // where that is remembered; "" for here
}

// rememberedHosts are the owners that are remembered here, and for hosts that are not, those that
// members bring from the load balancers that they move away from.
func (s *Snapshot) rememberedHosts(memories map[routing.Key]memory.LoadBalancer, claims []ownership.Claim) map[routing.Host]heldHost {
	held := make(map[routing.Host]heldHost, len(s.Memory.Hosts))
	for host, namespace := range s.Memory.Hosts {
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
		if key := from[c.By]; !known && c.By.Namespace == memories[key].Hosts[c.Host] {
			held[c.Host] = heldHost{c.By.Namespace, key}
		}
	}
	return held
}

// A claimant collects what the members of a load balancer claim.
type claimant struct {
	key   routing.Key
	class *Class
	*index
	allowances map[string]allowance // by namespace
	claims     []ownership.Claim
	named      map[namedHost]bool // those that are among the claims
}

// A namedHost is a host that an Ingress names.
type namedHost struct {
	ingress string
	host    routing.Host
}

func (c *claimant) allowance(namespace string) allowance {
	a, known := c.allowances[namespace]
	if !known {
		a = allowanceOf(c.class, c.labels(namespace))
		c.allowances[namespace] = a
	}
	return a
}

// claim collects the hosts that a member names, as it is and as it was last accepted: that version
// is what is served where the present one does not fit.
func (c *claimant) claim(m *Member, accepted *memory.Accepted) {
	c.claimVersion(m.Owner, m.Ingress, false)
	if accepted != nil {
		c.claimVersion(m.Owner, accepted.Version(m.Ingress), true)
	}
}

// claimVersion collects the hosts of rules, those of spec.tls, and any host for a rule without one
// or a default backend, unless they are named already.
func (c *claimant) claimVersion(by routing.Owner, ing *networkingv1.Ingress, former bool) {
	allowance := c.allowance(by.Namespace)
	claim := func(host routing.Host, field string) {
		if named := (namedHost{by.String(), host}); !c.named[named] && allowance.permits(host) {
			c.named[named] = true
			c.claims = append(c.claims, ownership.Claim{
				Host: host, By: by, Granted: allowance.grants(host), Former: former, Source: sourceOf(ing).At(field),
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

// holdings are the remembered owners that may still serve their hosts. A namespace that is being
// made again is not there, so that its labels are not known: it keeps what it holds. A host that is
// not remembered here, but comes with a member that moves, is new beside the certificates that are
// served here.
func (c *claimant) holdings(held map[routing.Host]heldHost, here *memory.LoadBalancer) []ownership.Holding {
	var out []ownership.Holding
	for _, host := range slices.Sorted(maps.Keys(held)) {
		owner, from := held[host].namespace, held[host].from
		if c.namespaces[name{name: owner}] != nil && c.class.excludes(c.key, owner, c.labels(owner)) != "" {
			continue
		}
		if a := c.allowance(owner); a.permits(host) {
			out = append(out, ownership.Holding{Host: host, Namespace: owner, Granted: a.grants(host), Settled: from == "" && !here.Yielding[host], From: from})
		}
	}
	return out
}

// owned are the rules for hosts that the namespace of a member owns. The others are told already.
func (s *Snapshot) owned(m Member, rules []rule) []rule {
	if s.owners == nil {
		return rules
	}
	out := slices.DeleteFunc(slices.Clone(rules), func(r rule) bool { return s.owners.Refuses(m.Namespace, r.host) != nil })
	for i, r := range out {
		out[i].below = r.listed != "" && s.owners.Below(m.Namespace, r.host)
	}
	return out
}

// The bounds of what is told of refused hosts.
const (
	mostTold   = 20 // hosts of one Ingress, one by one
	mostListed = 3  // hosts in one sentence to an owner
)

// tellDisputes tells both sides: the Ingress that names a host of another namespace, once for each
// host, and the owner, once for all that one namespace asks of one Ingress. The number of hosts
// that a namespace asks for does not raise the number of sentences to its neighbours.
func tellDisputes(owners *ownership.Owners) []diag.Diagnostic {
	var out []diag.Diagnostic
	disputes, told := owners.Disputes(), map[routing.Owner]int{}
	for _, d := range disputes {
		if told[d.By]++; told[d.By] <= mostTold {
			out = append(out, tellClaimant(d))
		}
	}
	for _, d := range disputes {
		if n := told[d.By]; n > mostTold {
			out = append(out, diag.Diagnostic{Severity: diag.Error, Reason: diag.HostTaken, Source: d.Source.At("spec"),
				Message: fmt.Sprintf("%d more of its hosts belong to other namespaces and are not served here", n-mostTold)})
			told[d.By] = 0
		}
	}
	return append(out, tellOwners(disputes)...)
}

// tellClaimant tells the Ingress whose claim is refused. A default backend of an Ingress that has
// hosts of its own answers there.
func tellClaimant(d ownership.Dispute) diag.Diagnostic {
	told := diag.Diagnostic{Severity: diag.Error, Reason: diag.HostTaken, Source: d.Source}
	const remedy = ": use another host, or ask the owner of the class for `allowedHosts` or `hosts: Shared`"
	switch {
	case d.Host == routing.Any && d.Source.Field == defaultBackendField && d.HasHosts:
		told.Severity = diag.Warning
		told.Message = fmt.Sprintf("requests for hosts that no rule names belong to namespace %s, so this default backend answers on this Ingress's own hosts only", d.Owner)
	case d.Host == routing.Any:
		told.Message = fmt.Sprintf("requests for hosts that no rule names belong to namespace %s, so what is for any host is not served here%s", d.Owner, remedy)
	case d.Host == d.Taken:
		told.Message = fmt.Sprintf("host %s belongs to namespace %s, so it is not served here%s", d.Host, d.Owner, remedy)
	default:
		told.Message = fmt.Sprintf("host %s is below %s, which belongs to namespace %s, so it is not served here%s", d.Host, d.Taken, d.Owner, remedy)
	}
	return told
}

// tellOwners tells the Ingresses that name the hosts which are refused to others.
func tellOwners(disputes []ownership.Dispute) []diag.Diagnostic {
	type pair struct{ owner, claimant string }
	hosts, at := map[pair]*nameList{}, map[pair]diag.Source{}
	var pairs []pair
	for _, d := range disputes {
		if d.Against == nil {
			continue
		}
		p := pair{d.Against.By.String(), d.By.Namespace}
		if hosts[p] == nil {
			hosts[p], pairs, at[p] = &nameList{}, append(pairs, p), d.Against.Source
		}
		hosts[p].add(describeClaim(d.Host))
	}
	var out []diag.Diagnostic
	for _, p := range pairs {
		out = append(out, diag.Diagnostic{Severity: diag.Info, Reason: diag.HostTaken, Source: at[p],
			Message: fmt.Sprintf("namespace %s also asks for %s, and is refused: that belongs to this namespace", p.claimant, listed(hosts[p].list))})
	}
	return out
}

// A nameList is names, each once, in the order in which they were added.
type nameList struct {
	list []string
	has  map[string]bool
}

func (n *nameList) add(name string) {
	if n.has[name] {
		return
	}
	if n.has == nil {
		n.has = map[string]bool{}
	}
	n.has[name], n.list = true, append(n.list, name)
}

func describeClaim(h routing.Host) string {
	if h == routing.Any {
		return "hosts that no rule names"
	}
	return string(h)
}

// listed are the first names of a list, and how many more there are.
func listed(names []string) string {
	if more := len(names) - mostListed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:mostListed], ", "), more)
	}
	return strings.Join(names, ", ")
}
