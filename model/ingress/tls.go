package ingress

import (
	"fmt"
	"maps"
	"slices"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
)

// This file decides on which ports each host of an Ingress is served, and with which certificate.
//
// The HTTP ports serve every host of a rule. The HTTPS ports serve the hosts that spec.tls of the
// same Ingress covers, if the certificate can be used. An entry covers the hosts that it lists,
// also those that no rule names (hostrules.go). A listed wildcard covers hosts with one more
// label. An entry without hosts covers all hosts of the Ingress, its rules without a host, and its
// default backend.

// of returns the ports that serve a rule. A host that only spec.tls lists has the HTTPS ports
// alone.
func (s servedPorts) of(r HostRule) []int32 {
	if r.Listed != "" {
		return s.secureOf(r.Host)
	}
	if ports, ok := s.secure[r.Host]; ok {
		return ports
	}
	return s.plain
}

// otherIngresses are the other Ingresses of a load balancer, as far as they could answer for a host
// that an Ingress lists.
type otherIngresses struct {
	Named map[routing.Host]bool // the hosts of all rules
	// Answering has how many Ingresses answer over HTTPS for a host of rules.
	Answering map[routing.Host]int
}

// count counts the hosts for which an Ingress answers over HTTPS.
func (n *otherIngresses) count(s servedPorts) {
	for host := range s.secure {
		if len(s.secureOf(host)) > 0 {
			n.Answering[host]++
		}
	}
}

// answer reports whether Ingresses besides the one with these ports answer for a host.
func (n *otherIngresses) answer(s servedPorts, host routing.Host) bool {
	others := n.Answering[host]
	if len(s.secureOf(host)) > 0 {
		others--
	}
	return others > 0
}

// needed returns the rules without those for listed hosts that make no difference. A listed host
// makes none if it has no certificate. It makes none either if the rules that answer for it are
// served over HTTPS for any host, and no other Ingress has rules there too, or names the host or
// its wildcard, and so could change the answers. Of a listed host below a wildcard of another
// namespace, the host without paths is kept.
func (s *servedPorts) needed(rules []HostRule, n *otherIngresses) []HostRule {
	s.listed = map[routing.Host][]int32{}
	var out []HostRule
	for _, r := range rules {
		switch {
		case r.Listed == "":
		case s.needs(r, n):
			s.listed[r.By] = s.of(r)
		case r.Below:
			r.HTTP = nil
		default:
			continue
		}
		out = append(out, r)
	}
	return out
}

// needs reports whether a rule for a listed host makes a difference.
func (s *servedPorts) needs(r HostRule, n *otherIngresses) bool {
	parent, _ := r.Host.Parent()
	contested := r.Below || n.Named[r.Host] || r.By == routing.Any && n.Named[parent] ||
		n.answer(*s, r.By)
	return len(s.of(r)) > 0 && (contested || len(s.secureOf(r.By)) == 0)
}

// finish returns the ports that serve a member, and attaches its certificates to them.
func (o *memberListeners) finish() (servedPorts, []diag.Diagnostic) {
	s := servedPorts{plain: o.plain}
	if len(o.uses) == 0 {
		for _, port := range o.claimed {
			o.ports[port].leave(o.Member)
		}
		return s, o.found
	}
	o.attach(o.claimed, o.uses)
	ports := slices.Concat(o.plain, o.claimed)
	slices.Sort(ports)
	s.secure = make(map[routing.Host][]int32, len(o.uses))
	for host := range o.uses {
		s.secure[host] = ports
	}
	return s, o.found
}

// certificates finds a certificate for each host that an entry covers: the first that can be used.
func (o *memberListeners) certificates() map[routing.Host]certificateUse {
	uses := map[routing.Host]certificateUse{}
	for i, t := range o.Member.tlsEntries() {
		e := entry{o, &t, fmt.Sprintf("spec.tls[%d]", i)}
		e.reportUnused()
		covered, unanswered := o.covers.coveredBy(t.Hosts), e.unanswered()
		for _, host := range slices.Sorted(maps.Keys(unanswered)) {
			o.unanswered = append(o.unanswered, unanswered[host])
		}
		if len(covered) == 0 {
			continue
		}
		if o.covers.given += len(covered); o.covers.given > maxCovered {
			o.reportSecure(diag.Error, diag.TooComplex, e.field,
				fmt.Sprintf("the entries up to this one cover more than %d hosts, those counted twice that "+
					"two of them cover: this one and those behind it are left out; list the hosts of each, or "+
					"have fewer entries", maxCovered))
			break
		}
		found := e.certificates(covered, uses)
		for _, c := range covered {
			use, ok := found[c.host]
			if !ok {
				continue
			}
			if before, twice := uses[c.host]; !twice {
				uses[c.host] = use
			} else if before.id != use.id {
				o.reportSecond(c.host, use, before)
			}
		}
	}
	return uses
}

// attach adds certificates to ports. If an older Ingress has a certificate for a host, that one is
// kept for the host, unless a dialect attaches all.
func (o *memberListeners) attach(ports []int32, uses map[routing.Host]certificateUse) {
	for _, port := range ports {
		at := o.ports[port]
		var own []routing.CertificateID
		for _, host := range o.covers.hosts {
			use, ok := uses[host]
			if !ok {
				continue
			}
			before, taken := at.by[host]
			switch {
			case !taken:
				at.by[host] = use
			case before.id != use.id && !frontEnds[o.class.Dialect].allCertificates:
				o.reportSecond(host, use, before)
				continue
			}
			own = o.bring(own, use)
		}
		for _, use := range o.unanswered {
			own = o.bring(own, use)
		}
		o.take(at, own)
	}
}

// bring adds the certificates of a use to those that a member brings, and records who asked for the first one.
func (o *memberListeners) bring(own []routing.CertificateID, use certificateUse) []routing.CertificateID {
	if from := (certificateOrigin{use.id, use.source}); !o.asked[from] {
		c := o.known[use.id]
		o.asked[from], c.Origin = true, append(c.Origin, use.source)
	}
	return append(append(own, use.id), use.beside...)
}

// take attaches certificates of a member to a port. The first one of the first member is the default certificate. Where
// routes are in order, so are members; and of all that are found, the one that sorts first is the first, as in the
// dialect's controller (Discover in its pkg/certs/cert_discovery.go, mergeListenPortConfigs in its pkg/ingress/model_builder.go).
func (o *memberListeners) take(at *listener, own []routing.CertificateID) {
	if len(own) == 0 {
		return
	}
	if frontEnds[o.class.Dialect].allCertificates && len(o.Settings.Certificates) == 0 {
		slices.Sort(own)
	}
	first := at.first == nil || o.class.routePrecedence() == routing.InOrder && routing.Before(o.Owner, *at.first) < 0
	for _, id := range own {
		if !at.has[id] {
			at.has[id], at.order = true, append(at.order, id)
		}
	}
	if first {
		at.first = &o.Owner
		at.order = slices.Insert(slices.DeleteFunc(at.order, func(id routing.CertificateID) bool { return id == own[0] }), 0, own[0])
	}
}

func (o *memberListeners) reportSecond(host routing.Host, second, first certificateUse) {
	o.found = append(o.found, diag.Diagnostic{
		Severity: diag.Warning, Reason: diag.SettingConflict, Source: second.source,
		Message: fmt.Sprintf("%s has the certificate of %s already, which is kept",
			describeHost(host), first.source),
	})
}

// reportUncovered adds diagnostics about hosts that are not served on the HTTPS ports that the
// annotation lists.
func (o *memberListeners) reportUncovered(rules []HostRule) {
	covered := map[routing.Host]bool{}
	for _, t := range o.Member.tlsEntries() {
		for _, c := range o.covers.coveredBy(t.Hosts) {
			covered[c.host] = true
		}
	}
	for _, r := range rules {
		if r.Listed != "" && covered[r.Host] {
			covered[r.By] = true // for the listed hosts, as its author asks
		}
	}
	for _, r := range rules {
		if !covered[r.Host] {
			o.reportSecure(diag.Warning, diag.HostNotCovered, r.Field()+".host",
				fmt.Sprintf("no entry of spec.tls covers %s, so it is not served over HTTPS",
					describeHost(r.Host)))
		}
	}
}
