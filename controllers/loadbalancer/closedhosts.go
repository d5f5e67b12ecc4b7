package loadbalancer

import (
	"maps"
	"slices"

	"fairlead.dev/fairlead/controllers/expectations"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file closes hosts. If a namespace gives up a host, and an expectation rules out the answer of
// another one's wildcard or Ingress without a host, neither waits: the host answers 404. It is closed
// as long as the first plan of a reconcile, in which it is open, is forbidden.

// mostClosed is the limit of closed hosts for each namespace that gave them up. Their rules count for
// its share of a quota only while it has Ingresses, so that without a limit they could use up the quota.
const mostClosed = 10

// closes reports whether closing its host ends an offence: another namespace's Ingress covers the
// host, which no rule names.
func (c *causes) closes(o outcome, f expectations.Offence) bool {
	return f.Next != "" && f.Host != routing.Any && !isNamed(o.Built.Table, f.Host, f.Port) &&
		!isClosed(o.Hold, closing(o, f).Host, f.Port)
}

// closing returns the offence of the host that is to be closed: if a wildcard that covered the host
// was given up, the wildcard.
func closing(o outcome, f expectations.Offence) expectations.Offence {
	if f.Named != routing.Any && !slices.ContainsFunc(o.Built.Table.Names, func(n routing.Name) bool {
		return n.Host == f.Named
	}) {
		f.Host = f.Named
	}
	return f
}

// close adds the host of an offence to the closed ones. It is false if the namespace that gave the
// host up has too many of them, and so may wait instead.
func (c *causes) close(
	hold *ingress.Hold, o outcome, f expectations.Offence, limited bool,
) bool {
	from := giver(o, f, c.changedNamers(f))
	if f = closing(o, f); isClosed(*hold, f.Host, f.Port) {
		return true
	}
	hosts := map[routing.Host]bool{}
	for _, other := range slices.Concat(o.Snapshot.Recorded.Closed, hold.Closed) {
		if other.GivenUpBy == from && !isNamed(o.Built.Table, other.Host, other.Port) {
			hosts[other.Host] = true
		}
	}
	if limited && from != "" && len(hosts) >= mostClosed && !hosts[f.Host] {
		return false
	}
	closed := routing.ClosedHost{Host: f.Host, Port: f.Port, GivenUpBy: from}
	hold.Closed = append(slices.Clip(hold.Closed), closed)
	c.closed = append(c.closed, expectations.Closing{Offence: f, GivenUpBy: from})
	return true
}

// closings returns the offences for which hosts are closed.
func (c *causes) closings(hosts []routing.ClosedHost) []expectations.Closing {
	return slices.DeleteFunc(slices.Clone(c.closed), func(closing expectations.Closing) bool {
		return !slices.ContainsFunc(hosts, func(h routing.ClosedHost) bool {
			return h.Host == closing.Host && h.Port == closing.Port
		})
	})
}

// isClosed reports whether a host is closed on a port.
func isClosed(hold ingress.Hold, host routing.Host, port int32) bool {
	return slices.ContainsFunc(hold.Closed, func(c routing.ClosedHost) bool {
		return c.Host == host && c.Port == port
	})
}

// isNamed reports whether a rule names a host on a port.
func isNamed(t *precedence.Table, host routing.Host, port int32) bool {
	return slices.ContainsFunc(t.Names, func(n routing.Name) bool {
		return n.Listed == nil && n.Host == host && slices.Contains(n.Ports, port)
	})
}

// closedHosts returns the closed hosts of a table that no rule names.
func closedHosts(t *precedence.Table) []routing.ClosedHost {
	return slices.DeleteFunc(slices.Clone(t.Config.Closed), func(c routing.ClosedHost) bool {
		return isNamed(t, c.Host, c.Port)
	})
}

// namersOf returns those of the Ingresses that named the host of an offence when they were last
// accepted, on any port, in a rule or in spec.tls. If none did, it is those that named a less specific
// host.
func (c *causes) namersOf(f expectations.Offence, is func(ingress string) bool) []string {
	for _, host := range f.Levels() {
		out := slices.DeleteFunc(slices.Clone(c.named[host]), func(name string) bool { return !is(name) })
		if len(out) > 0 {
			return out
		}
	}
	return nil
}

// namedHosts returns the Ingresses, by namespace/name, that named each host when they were last
// accepted. A default backend is for Any.
func namedHosts(snap *gather.Snapshot) map[routing.Host][]string {
	out := map[routing.Host][]string{}
	for _, name := range slices.Sorted(maps.Keys(snap.Recorded.Members)) {
		version := snap.Recorded.Members[name].LastAccepted
		if version == nil {
			continue
		}
		hosts := map[routing.Host]bool{}
		for _, rule := range version.Spec.Rules {
			hosts[routing.Host(rule.Host)] = true
		}
		if version.Spec.DefaultBackend != nil {
			hosts[routing.Any] = true
		}
		for _, t := range version.Spec.TLS {
			for _, host := range t.Hosts {
				hosts[routing.Host(host)] = true
			}
		}
		for host := range hosts {
			out[host] = append(out[host], name)
		}
	}
	return out
}

// giver returns the namespace that gave up the host of an offence; "" if it is not known.
func giver(o outcome, f expectations.Offence, by []string) string {
	closed := closing(o, f).Host
	for _, c := range o.Snapshot.Recorded.Closed {
		if c.Host == closed && c.GivenUpBy != "" {
			return c.GivenUpBy
		}
	}
	switch {
	case f.Giver != "":
		return f.Giver
	case f.Now != "":
		return namespaceOf(f.Now)
	case len(by) > 0:
		return namespaceOf(by[0])
	}
	return o.Snapshot.Recorded.Hosts[f.Host]
}
