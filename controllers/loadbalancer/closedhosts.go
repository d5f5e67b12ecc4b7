package loadbalancer

import (
	"maps"
	"slices"

	"fairlead.dev/fairlead/controllers/expectations"
	"fairlead.dev/fairlead/controllers/outcome"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file closes hosts. If a namespace gives up a host, and an expectation rules out the answer of
// another one's wildcard or Ingress without a host, neither waits: the host answers 404. It is closed
// as long as the first plan of a reconcile, in which it is open, is forbidden.

// mostClosed is the limit of closed hosts for each namespace that gave them up. Their rules count
// for no namespace, so that without a limit one could use up a quota of all.
const mostClosed = 10

// closes reports whether closing its host ends an offence: another namespace's Ingress covers the
// host, which no rule names. A host that the namespace of that Ingress gave up itself is closed
// only if holding the namespace back does not help. By are the Ingresses that gave the host up.
func (c *causes) closes(o outcome.Outcome, f expectations.Offence, by []string) bool {
	next := namespaceOf(f.Next)
	if f.Next == "" || f.Host == routing.Any || isNamed(o.Built.Table, f.Host) || isClosed(o.Hold, f) {
		return false
	}
	own := func(name string) bool { return namespaceOf(name) == next }
	return slices.Contains(o.Hold.Namespaces, next) || !own(f.Now) && !slices.ContainsFunc(by, own)
}

// close adds the host of an offence to the closed ones. It is false if the namespace that gave the
// host up has too many of them. Before is the record of those that are closed already.
func (c *causes) close(
	hold *ingress.Hold, f expectations.Offence, by string, before []routing.ClosedHost,
) bool {
	if isClosed(*hold, f) {
		return true
	}
	hosts := map[routing.Host]bool{}
	for _, other := range slices.Concat(before, hold.Closed) {
		if other.GivenUpBy == by {
			hosts[other.Host] = true
		}
	}
	if len(hosts) >= mostClosed && !hosts[f.Host] {
		return false
	}
	closed := routing.ClosedHost{Host: f.Host, Port: f.Port, GivenUpBy: by}
	hold.Closed = append(slices.Clip(hold.Closed), closed)
	c.closed = append(c.closed, expectations.Closing{Offence: f, GivenUpBy: by})
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

// isClosed reports whether the host of an offence is closed on its port.
func isClosed(hold ingress.Hold, f expectations.Offence) bool {
	return slices.ContainsFunc(hold.Closed, func(c routing.ClosedHost) bool {
		return c.Host == f.Host && c.Port == f.Port
	})
}

// isNamed reports whether a rule names a host.
func isNamed(t *precedence.Table, host routing.Host) bool {
	return slices.ContainsFunc(t.Names, func(n routing.Name) bool {
		return n.Listed == nil && n.Host == host
	})
}

// closedHosts returns the closed hosts of a table that no rule names.
func closedHosts(t *precedence.Table) []routing.ClosedHost {
	return slices.DeleteFunc(slices.Clone(t.Config.Closed), func(c routing.ClosedHost) bool {
		return isNamed(t, c.Host)
	})
}

// namersOf returns the changed Ingresses that named the host of an offence when they were last
// accepted.
func (c *causes) namersOf(o outcome.Outcome, f expectations.Offence) (out []string) {
	if f.Host == routing.Any {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(c.changed)) {
		version := o.Snapshot.Recorded.Members[name].LastAccepted
		if version == nil {
			continue
		}
		for _, rule := range version.Spec.Rules {
			if routing.Host(rule.Host) == f.Host {
				out = append(out, name)
				break
			}
		}
	}
	return out
}

// giver returns the namespace that gave up the host of an offence; "" if it is not known.
func giver(o outcome.Outcome, f expectations.Offence, by []string) string {
	for _, c := range o.Snapshot.Recorded.Closed {
		if c.Host == f.Host && c.GivenUpBy != "" {
			return c.GivenUpBy
		}
	}
	switch {
	case f.Now != "":
		return namespaceOf(f.Now)
	case len(by) > 0:
		return namespaceOf(by[0])
	}
	return o.Snapshot.Recorded.Hosts[f.Host]
}
