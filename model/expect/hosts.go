package expect

import (
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/compare"
	"fairlead.dev/fairlead/model/requests"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file divides host names into classes that neither a table nor an expectation distinguishes.

// A Host is a set of host names: a name, "*.example.com" for one label in place of the star, as in
// an Ingress, "**.example.com" for one or more, and "*" for all.
type Host string

const (
	anyHost = "*"
	oneMore = "**."
)

// has reports whether a name is in the set.
func (h Host) has(name string) bool {
	if domain, deep := strings.CutPrefix(string(h), oneMore); deep {
		front, below := strings.CutSuffix(name, "."+domain)
		return below && front != ""
	}
	return h == anyHost || routing.Host(h).Covers(routing.Host(name))
}

// Named returns the host of an Ingress with the same names; Any for other sets.
func (h Host) Named() routing.Host {
	if h == anyHost || strings.HasPrefix(string(h), oneMore) {
		return routing.Any
	}
	return routing.Host(h)
}

// A hostClass is a set of host names, and one of them.
type hostClass struct {
	host Host // "" for names that no table or expectation has
	name string
}

// hostNames has the hosts that tables and expectations name.
type hostNames struct {
	exact map[string]bool
	below map[string]bool // domains: names with one more label
	under map[string]bool // domains: names with several more labels
}

func newHostNames() *hostNames {
	return &hostNames{map[string]bool{}, map[string]bool{}, map[string]bool{}}
}

// add adds hosts of an expectation.
func (n *hostNames) add(hosts []Host) {
	for _, h := range hosts {
		domain, deep := strings.CutPrefix(string(h), oneMore)
		switch {
		case deep:
			n.below[domain], n.under[domain] = true, true
		case h != anyHost:
			n.addHost(routing.Host(h))
		}
	}
}

// addTable adds the hosts of a table on a port.
func (n *hostNames) addTable(t *precedence.Table, port int32) {
	for _, level := range t.Levels(port) {
		n.addHost(level.Host)
	}
}

// addCertificates adds the hosts of certificates.
func (n *hostNames) addCertificates(t *precedence.Table) {
	for _, c := range t.Certificates {
		for _, name := range c.Hosts {
			n.addHost(routing.Host(name))
		}
	}
}

func (n *hostNames) addHost(h routing.Host) {
	domain, wildcard := strings.CutPrefix(string(h), "*.")
	switch {
	case wildcard:
		n.below[domain] = true
	case h != routing.Any:
		n.exact[string(h)] = true
	}
}

// classes divides all host names into classes with at least one name.
func (n *hostNames) classes() []hostClass {
	var out []hostClass
	for _, name := range slices.Sorted(maps.Keys(n.exact)) {
		out = append(out, hostClass{Host(name), name})
	}
	for _, domain := range slices.Sorted(maps.Keys(n.below)) {
		out = append(out, hostClass{Host("*." + domain), n.unusedName("", "."+domain)})
	}
	for _, domain := range slices.Sorted(maps.Keys(n.under)) {
		out = append(out, hostClass{Host(oneMore + domain), n.unusedName("any.", "."+domain)})
	}
	domain := "example"
	for n.below[domain] {
		domain += "s"
	}
	return append(out, hostClass{"", n.unusedName("", "."+domain)})
}

// classesOf divides the classes by conditions on the host, too. Undecided is the reason why there may
// be more; zero if these are all.
func (n *hostNames) classesOf(sets *compare.HostSets, f *requests.Finder) (
	[]hostClass, requests.Undecided,
) {
	out := n.classes()
	if !sets.Conditional() {
		return out, requests.Undecided{}
	}
	for name := range n.exact {
		sets.AddHost(routing.Host(name))
	}
	for domain := range n.below {
		sets.AddHost(routing.Host("*." + domain))
	}
	for domain := range n.under {
		sets.AddDomain(domain)
	}
	seen := map[string]bool{}
	isNew := func(c hostClass) bool {
		key := string(c.host) + " " + sets.Fulfilled(c.name)
		known := seen[key]
		seen[key] = true
		return !known
	}
	for _, c := range out {
		isNew(c)
	}
	names, undecided := sets.Names(f)
	for _, name := range names {
		if c := (hostClass{n.hostOf(name), name}); isNew(c) {
			out = append(out, c)
		}
	}
	return out, undecided
}

// hostOf returns the host of the class of a name.
func (n *hostNames) hostOf(name string) Host {
	if n.exact[name] {
		return Host(name)
	}
	_, domain, _ := strings.Cut(name, ".")
	if n.below[domain] {
		return Host("*." + domain)
	}
	for domain != "" {
		if n.under[domain] {
			return Host(oneMore + domain)
		}
		_, domain, _ = strings.Cut(domain, ".")
	}
	return ""
}

// unusedName returns a name of a class: front, one label and domain. It is not a host of the
// tables. If front is a label, no wildcard covers it either.
func (n *hostNames) unusedName(front, domain string) string {
	for label := "any"; ; label += "y" {
		name := front + label + domain
		if !n.exact[name] && (front == "" || !n.below[label+domain]) {
			return name
		}
	}
}
