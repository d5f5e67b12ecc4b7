package compare

import (
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/requests"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file compares the clients that can connect, and the certificates that they get.

// An Exposure is a setting that differs.
type Exposure struct {
	LoadBalancer routing.Key  `json:"loadBalancer"`
	Port         int32        `json:"port,omitempty"` // 0 for the whole load balancer
	Host         routing.Host `json:"host,omitempty"` // of a certificate
	Setting      string       `json:"setting"`
	Before       string       `json:"before"`
	After        string       `json:"after"`
	Protection   Protection   `json:"protection"`
}

// internetFacing is the scheme of load balancers that clients on the internet reach.
const internetFacing = "internet-facing"

// everybody is the word for no limit of address ranges.
const everybody = "everybody"

// exposures compares two load balancers, and their ports.
func exposures(p pair, f *requests.Finder) []Exposure {
	var out []Exposure
	tell := func(setting, before, after string, protection Protection) {
		out = append(out,
			Exposure{p.key(), 0, "", setting, before, after, protection})
	}
	switch {
	case p.before == nil:
		tell("load balancer", "none", schemeOf(p.after), Same)
		return out
	case p.after == nil:
		tell("load balancer", schemeOf(p.before), "none", Same)
		return out
	}
	if before, after := schemeOf(p.before), schemeOf(p.after); before != after {
		tell("scheme", before, after, lessIf(after == internetFacing))
	}
	out = append(out, wholeExposures(p.before, p.after)...)
	for _, port := range p.ports() {
		out = append(out, portExposures(p, f, port)...)
	}
	return out
}

// wholeExposures compares the settings of two load balancers besides their schemes.
func wholeExposures(old, now *precedence.Table) []Exposure {
	var out []Exposure
	tell := func(setting, before, after string, protection Protection) {
		out = append(out, Exposure{now.Key, 0, "", setting, before, after, protection})
	}
	if before, after := old.Protection, now.Protection; before.WebACL != after.WebACL {
		tell("web ACL", textOrNone(before.WebACL), textOrNone(after.WebACL),
			compareWebACL(before.HasWebACL(), after.HasWebACL()))
	}
	if before, after := old.Protection.Shield, now.Protection.Shield; before != after {
		tell("shield", textOrNone(before), textOrNone(after),
			compareWebACL(before == routing.ShieldOn, after == routing.ShieldOn))
	}
	before, after := old.Settings.SecurityGroups, now.Settings.SecurityGroups
	if !slices.Equal(before, after) {
		const own = "the operator's own"
		tell("security groups", listed(before, own), listed(after, own), Unknown)
	}
	return out
}

// schemeOf returns the scheme of a load balancer.
func schemeOf(t *precedence.Table) string {
	if t.Settings.Scheme != "" {
		return t.Settings.Scheme
	}
	return t.Key.Scheme()
}

// lessIf returns Less if open is true, else More.
func lessIf(open bool) Protection {
	if open {
		return Less
	}
	return More
}

// compareWebACL compares whether there is a web ACL. Of two, the stricter one is not known.
func compareWebACL(before, after bool) Protection {
	switch {
	case before && after:
		return Unknown
	case before:
		return Less
	case after:
		return More
	}
	return Same
}

func textOrNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

func listed(values []string, none string) string {
	if len(values) == 0 {
		return none
	}
	return strings.Join(values, ", ")
}

// portExposures compares a port.
func portExposures(p pair, f *requests.Finder, port int32) []Exposure {
	var out []Exposure
	before, after := listenerOn(p.before, port), listenerOn(p.after, port)
	tell := func(setting, old, now string, protection Protection) {
		out = append(out, Exposure{LoadBalancer: p.key(), Port: port,
			Setting: setting, Before: old, After: now, Protection: protection})
	}
	switch {
	case before == nil:
		protection := Less
		if after.Protocol == routing.HTTPS && openOverHTTP(p.before, after.Inbound) {
			protection = Same
		}
		tell("port", "closed", describePort(after), protection)
		return out
	case after == nil:
		tell("port", describePort(before), "closed", More)
		return out
	}
	if before.Protocol != after.Protocol {
		tell("protocol", string(before.Protocol), string(after.Protocol),
			lessIf(after.Protocol == routing.HTTP))
	}
	if !slices.Equal(before.Inbound, after.Inbound) {
		if protection := inbound(before.Inbound, after.Inbound); protection != Same {
			tell("inbound ranges", listed(before.Inbound, everybody),
				listed(after.Inbound, everybody), protection)
		}
	}
	if old, now := mutualOf(before.Mutual), mutualOf(after.Mutual); old != now {
		tell("mutual TLS", old, now, compareMutual(before.Mutual, after.Mutual))
	}
	if before.TLSPolicy != after.TLSPolicy {
		tell("TLS policy", orDefault(before.TLSPolicy), orDefault(after.TLSPolicy), Unknown)
	}
	return append(out, certificateExposures(p, f, before, after)...)
}

func orDefault(text string) string {
	if text == "" {
		return "the cloud's own"
	}
	return text
}

// describePort describes an open port.
func describePort(l *routing.Listener) string {
	return fmt.Sprintf("%s for %s", l.Protocol, listed(l.Inbound, everybody))
}

// openOverHTTP reports whether the clients who may connect could connect before, without
// encryption.
func openOverHTTP(t *precedence.Table, who []string) bool {
	return slices.ContainsFunc(t.Listeners, func(l routing.Listener) bool {
		return l.Protocol == routing.HTTP && !admitsMore(l.Inbound, who)
	})
}

// mutualOf describes the handling of client certificates.
func mutualOf(m *routing.MutualAuthentication) string {
	if m == nil {
		return "off"
	}
	out := m.Mode
	if m.TrustStore != "" {
		out += " with trust store " + m.TrustStore
	}
	if m.IgnoreExpiry {
		out += ", expired ones too"
	}
	return out
}

// compareMutual compares the clients that are admitted by their certificates.
func compareMutual(before, after *routing.MutualAuthentication) Protection {
	if p := compareWebACL(before.Verifies(), after.Verifies()); p != Unknown {
		return p
	}
	if before.TrustStore == after.TrustStore && before.IgnoreExpiry != after.IgnoreExpiry {
		return lessIf(after.IgnoreExpiry)
	}
	return Unknown
}

// certificateExposures compares the certificate of each host of a port.
func certificateExposures(p pair, f *requests.Finder, before, after *routing.Listener) []Exposure {
	if before.Protocol != routing.HTTPS || after.Protocol != routing.HTTPS ||
		slices.Equal(before.Certificates, after.Certificates) {
		return nil
	}
	var out []Exposure
	classes, _ := HostClasses(f, before.Port, nil, p.before, p.after) // what lacks is told of routes
	for _, class := range classes {
		old := shownCertificate(p.before, before, class.Name)
		now := shownCertificate(p.after, after, class.Name)
		if old.id == now.id {
			continue
		}
		protection := compareCertificate(old, now)
		if protection == More && !servesHost(p.before, before.Port, class.Name) {
			protection = Same // the host is new
		}
		if protection == Less && !servesHost(p.after, before.Port, class.Name) {
			protection = Same // no Ingress answers for the host any more
		}
		e := Exposure{
			LoadBalancer: p.key(), Port: before.Port, Host: class.Host, Setting: "certificate",
			Before: old.String(), After: now.String(), Protection: protection,
		}
		if !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	return out
}

// servesHost reports whether an Ingress answers requests for a host name on a port.
func servesHost(t *precedence.Table, port int32, name string) bool {
	all, _ := Candidates(t, port, name)
	return slices.ContainsFunc(all, func(c Candidate) bool { return c.Owner.Name != "" })
}

// compareCertificate is like compareWebACL, but two certificates for a host protect it equally, and
// one whose names are not known may be for it.
func compareCertificate(before, after certificate) Protection {
	switch {
	case before.valid == after.valid:
		return Same
	case before.valid && after.nameless():
		return Unknown
	case before.nameless():
		return Same
	}
	return compareWebACL(before.valid, after.valid)
}
