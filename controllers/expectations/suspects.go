package expectations

import (
	"slices"

	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/diag"
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

// differing returns what differs in the cloud from what was last accepted: the namespaces whose answers
// the cloud does not have, or of which it has others, and the hosts of rules that go. Settings of a
// load balancer and of its ports are compared as they were last accepted. The cloud may have others;
// a plan sets them back, and no namespace is the cause. So do other places of rules that change no
// answer.
func differing(seen *lb.Observed, accepted model.Built, c lb.Dialect) differences {
	var d differences
	for _, l := range accepted.LoadBalancer.Listeners {
		d.table, d.port, d.ruled = accepted.Table, l.Port, map[diag.Source]bool{}
		for _, r := range l.Rules {
			for _, source := range r.Origin {
				d.ruled[source] = true
			}
		}
		var rules []lb.Rule
		if at := seen.Listener(l.Port); at == nil {
			d.addUnruled(routing.Any)
		} else {
			rules = at.Plain().Rules
			d.addDefault(at.Default, l.Default)
		}
		d.addRules(rules, l.Rules, c)
	}
	return d
}

type differences struct {
	namespaces []string
	hosts      []routing.Host // of rules that go

	table *precedence.Table // the last accepted one
	port  int32             // whose rules are compared
	ruled map[diag.Source]bool
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

// addDefault adds the default action of a listener, if it differs.
func (d *differences) addDefault(seen, accepted lb.Action) {
	if !lb.SameAction(seen, accepted) {
		d.namespaces = append(d.namespaces, plan.NamespacesOf(lb.Rule{Action: seen})...)
		d.addUnruled(routing.Any)
	}
}

// addRules adds the accepted rules of a listener that the cloud does not have, or has behind one that
// keeps requests from them, and the rules that were not accepted.
func (d *differences) addRules(seen, accepted []lb.Rule, c lb.Dialect) {
	is := map[string]bool{}
	for _, r := range accepted {
		is[r.Key()] = true
	}
	for _, r := range seen {
		if !is[r.Key()] {
			d.addGone(r)
		}
	}
	for _, r := range lb.Unserved(seen, accepted, c) {
		d.addOrigin(r)
	}
}

// addGone adds a rule that was not accepted, whether it forwards or answers 404. Routes without a rule
// of their own, because a less specific one of their Ingress has the same answer, may be behind it.
func (d *differences) addGone(r lb.Rule) {
	d.namespaces = append(d.namespaces, plan.NamespacesOf(r)...)
	d.hosts = append(d.hosts, r.Hosts()...)
	if len(r.Conditions) == 1 && r.Condition("host") != nil &&
		lb.SameAction(r.Action, lb.FromRouting(routing.NotFound())) {
		return // it is behind all routes of its hosts
	}
	for _, host := range r.Hosts() {
		d.addUnruled(host)
	}
}

// addOrigin adds the namespaces of a rule.
func (d *differences) addOrigin(r lb.Rule) {
	for _, source := range r.Origin {
		d.namespaces = append(d.namespaces, source.Namespace)
	}
}

// addUnruled adds the namespaces with routes for a host that no rule is made of, or with its default
// backend.
func (d *differences) addUnruled(host routing.Host) {
	level := d.table.Level(d.port, host)
	if level == nil {
		return
	}
	live, _ := level.Reachable()
	for _, r := range live {
		if !d.ruled[r.Source] {
			d.namespaces = append(d.namespaces, r.Owner.Namespace)
		}
	}
	if level.Miss != nil && !d.ruled[level.Miss.Source] {
		d.namespaces = append(d.namespaces, level.Miss.Owner.Namespace)
	}
}
