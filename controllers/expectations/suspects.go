package expectations

import (
	"slices"

	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file finds what differs in the cloud from the last accepted versions, after a restart, and
// so the namespaces that can have caused a violation.

// Suspects tells which Ingresses can have caused the violations of a plan by something that they
// refer to.
type Suspects struct {
	alone map[suspect]bool
	next  *precedence.Table
}

// A suspect is an Ingress, by namespace/name, that answers requests for a host on a port.
type suspect struct {
	ingress string
	host    routing.Host
	port    int32
}

// StandsAlone reports whether an Ingress violates the expectations at the host of an offence even
// where all Ingresses and the class are as they were last accepted: something that it refers to has
// changed.
func (s Suspects) StandsAlone(o Offence) bool { return s.alone[suspect{o.Next, o.Host, o.Port}] }

// isGivenUp reports whether the Ingress of an offence answers in place of another namespace, which
// is the cause then.
func (s Suspects) isGivenUp(o Offence) bool {
	own := cluster.RefFrom(cluster.KindIngress, o.Next).Namespace
	if o.Now != "" && cluster.RefFrom(cluster.KindIngress, o.Now).Namespace != own {
		return true
	}
	return o.Named != routing.Any && o.Giver != own &&
		!slices.ContainsFunc(s.next.Names, func(n routing.Name) bool { return n.Host == o.Named })
}

// differing returns what a plan from the cloud to the last accepted table may change: the namespaces
// whose answers change, and the hosts of rules that go. Settings of a load balancer and of its ports
// are compared as they were last accepted. The cloud may have others; the plan sets them back, and no
// namespace is the cause.
func differing(seen *lb.Observed, accepted *precedence.Table, p plan.Plan) differences {
	var d differences
	for _, step := range p.Steps {
		switch s := step.Step.(type) {
		case plan.CreateRule:
			d.namespaces = append(d.namespaces, step.Namespaces()...)
		case plan.ModifyRule:
			d.addModified(seen, step.Namespaces(), accepted, s)
		case plan.DeleteRule:
			d.addDeleted(step.Namespaces(), seen, accepted, s.Port, s.Priority, hostsOf(s.Rule))
		case plan.CreateListener:
			d.addHost(accepted, s.Listener.Port, routing.Any)
		case plan.ModifyListener:
			d.addListener(seen.Listener(s.Listener.Port), accepted, s.Listener)
		default: // it changes no answer
		}
	}
	return d
}

type differences struct {
	namespaces []string
	hosts      []routing.Host // of rules that go
}

// closed returns a table in which no less specific host answers for the hosts of rules that go, nor
// for those of the namespaces that differ: what such a rule or host covers is not served yet.
func (d differences) closed(accepted, without *precedence.Table) *precedence.Table {
	config := without.Config
	config.Names = slices.Clone(config.Names)
	for _, n := range accepted.Names {
		if slices.Contains(d.namespaces, n.Owner.Namespace) {
			config.Names = append(config.Names, routing.Name{Host: n.Host, Owner: n.Owner})
		}
	}
	for _, host := range d.hosts {
		if host != routing.Any {
			config.Names = append(config.Names, routing.Name{Host: host})
		}
	}
	return precedence.New(config)
}

// addListener adds a listener whose default action differs.
func (d *differences) addListener(seen *lb.ObservedListener, accepted *precedence.Table,
	want lb.Listener) {
	if seen != nil && !lb.SameAction(seen.Default, want.Default) {
		d.namespaces = append(d.namespaces, plan.NamespacesOf(lb.Rule{Action: seen.Default})...)
		d.addHost(accepted, want.Port, routing.Any)
	}
}

// addDeleted adds a rule that was not accepted, or hosts of one, whether it forwards or answers 404.
// It can cover later rules with its hosts: the namespaces with these are added.
func (d *differences) addDeleted(of []string, seen *lb.Observed, accepted *precedence.Table, port int32,
	priority int, hosts []string) {
	d.namespaces = append(d.namespaces, of...)
	l := seen.Listener(port)
	for _, host := range hosts {
		d.hosts = append(d.hosts, routing.Host(host))
		if routing.Host(host) == routing.Any || l == nil || slices.ContainsFunc(l.Rules,
			func(r lb.ObservedRule) bool {
				return r.Priority > priority && mayBeFor(r.Rule, routing.Host(host))
			}) {
			d.addHost(accepted, port, routing.Host(host))
		}
	}
}

// mayBeFor reports whether a rule may answer requests for a host by what is asked for this host.
func mayBeFor(r lb.Rule, host routing.Host) bool {
	c := r.Condition("host")
	return c != nil && (len(c.Regex) > 0 || slices.Contains(c.Values, string(host)))
}

// addModified adds the hosts that a rule had and is not to have.
func (d *differences) addModified(
	seen *lb.Observed, of []string, accepted *precedence.Table, s plan.ModifyRule,
) {
	var gone []string
	if l := seen.Listener(s.Port); l != nil && l.Rule(s.Priority) != nil {
		if keeps := hostsOf(s.Rule); !slices.Contains(keeps, string(routing.Any)) {
			gone = slices.DeleteFunc(slices.Clone(hostsOf(l.Rule(s.Priority).Rule)), func(h string) bool {
				return slices.Contains(keeps, h)
			})
		}
	}
	d.addDeleted(of, seen, accepted, s.Port, s.Priority, gone)
}

// hostsOf returns the hosts of a rule; Any if it has no condition on them. Those in regular
// expressions are not known.
func hostsOf(r lb.Rule) []string {
	if c := r.Condition("host"); c != nil {
		return c.Values
	}
	return []string{string(routing.Any)}
}

// addHost adds the namespaces with routes for a host.
func (d *differences) addHost(accepted *precedence.Table, port int32, host routing.Host) {
	if accepted == nil {
		return
	}
	level := accepted.Level(port, host)
	if level == nil {
		return
	}
	for _, r := range level.Routes {
		d.namespaces = append(d.namespaces, r.Owner.Namespace)
	}
	if level.Miss != nil {
		d.namespaces = append(d.namespaces, level.Miss.Owner.Namespace)
	}
}
