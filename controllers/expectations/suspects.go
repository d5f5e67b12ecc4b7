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

// differing returns what the cloud does not serve of what was last accepted. Settings of a load balancer
// and of its ports are compared as they were last accepted. The cloud may have others; a plan sets them
// back, and nothing of a namespace is the cause. So do other places of rules that change no answer. Forgotten
// are the namespaces of Ingresses without a version.
func differing(seen *lb.Observed, accepted model.Built, c lb.Dialect, forgotten []string) differences {
	d := differences{unserved: map[diag.Source]bool{}, table: accepted.Table, forgotten: forgotten}
	for _, l := range accepted.LoadBalancer.Listeners {
		d.port, d.ruled = l.Port, map[diag.Source]bool{}
		for _, r := range l.Rules {
			for _, source := range r.Origin {
				d.ruled[source] = true
			}
		}
		at := seen.Listener(l.Port)
		if at == nil {
			at = &lb.ObservedListener{}
		}
		if !lb.SameAction(at.Default, l.Default) {
			d.addUnruled(routing.Any)
		}
		d.addRules(at.Plain().Rules, l.Rules, c)
	}
	return d
}

// differences are what the cloud does not serve of what was accepted.
type differences struct {
	unserved map[diag.Source]bool // routes and default backends
	gone     []routing.Route      // with the requests of rules that go

	forgotten []string
	table     *precedence.Table // the last accepted one
	port      int32             // whose rules are compared
	ruled     map[diag.Source]bool
}

// served returns the table of what is served. What is not served yet, and the requests of rules that go,
// are answered by no Ingress, and no less specific host answers for a host that only such rules have.
func (d differences) served(accepted *precedence.Table) *precedence.Table {
	if len(d.unserved)+len(d.gone) == 0 {
		return accepted
	}
	config := accepted.Config
	config.Routes, config.Defaults = slices.Clone(config.Routes), slices.Clone(config.Defaults)
	for i := range config.Routes {
		if r := &config.Routes[i]; d.unserved[r.Source] {
			r.Action, r.Owner.Namespace, r.Owner.Name = routing.NotFound(), "", "" // nothing of its Ingress answers
		}
	}
	for i := range config.Defaults {
		if miss := &config.Defaults[i]; d.unserved[miss.Source] {
			miss.Action, miss.Owner.Namespace, miss.Owner.Name = routing.NotFound(), "", ""
		}
	}
	config.Routes, config.Names = append(config.Routes, d.gone...), slices.Clone(config.Names)
	for _, r := range d.gone {
		if r.Host != routing.Any {
			config.Names = append(config.Names, routing.Name{Host: r.Host, Ports: r.Ports})
		}
	}
	return precedence.New(config)
}

// addForgotten adds the routes of some Ingresses on lost ports, and their default backends.
func (d *differences) addForgotten(lost []int32, is func(routing.Owner) bool) {
	onLost := func(ports []int32) bool {
		return slices.ContainsFunc(ports, func(p int32) bool { return slices.Contains(lost, p) })
	}
	for _, r := range d.table.Routes {
		if onLost(r.Ports) && is(r.Owner) {
			d.unserved[r.Source] = true
		}
	}
	for _, miss := range d.table.Defaults {
		if onLost(miss.Ports) && is(miss.Owner) {
			d.unserved[miss.Source] = true
		}
	}
}

// addRules adds the accepted rules of a listener that the cloud does not have, or has behind another one of
// them that keeps requests from them, and the rules that were not accepted.
func (d *differences) addRules(seen, accepted []lb.Rule, c lb.Dialect) {
	is := map[string]bool{}
	for _, r := range accepted {
		is[r.Key()] = true
	}
	var there []lb.Rule
	for _, r := range seen {
		if is[r.Key()] {
			there = append(there, r)
		} else {
			d.addGone(r)
		}
	}
	for _, r := range lb.Unserved(there, accepted, c) {
		for _, source := range r.Origin {
			d.unserved[source] = true
		}
	}
}

// addGone adds a rule that was not accepted, whether it forwards or answers 404. Routes without a rule
// of their own, because a less specific one of their Ingress has the same answer, may be behind it. It has
// its action only where a version of its Ingress may be forgotten, so that it can stay.
func (d *differences) addGone(r lb.Rule) {
	mayStay := len(d.forgotten) > 0 && !slices.ContainsFunc(plan.NamespacesOf(r), func(namespace string) bool {
		return !slices.Contains(d.forgotten, namespace)
	})
	for _, route := range RoutesOf(r, d.port) {
		if !isMiss(r) {
			d.addUnruled(route.Host)
		}
		if !mayStay {
			route.Action = routing.NotFound()
		}
		d.gone = append(d.gone, route)
	}
}

// addUnruled adds the routes for a host that no rule is made of, and its default backend.
func (d *differences) addUnruled(host routing.Host) {
	level := d.table.Level(d.port, host)
	if level == nil {
		return
	}
	live, _ := level.Reachable()
	for _, r := range live {
		if !d.ruled[r.Source] {
			d.unserved[r.Source] = true
		}
	}
	if level.Miss != nil && !d.ruled[level.Miss.Source] {
		d.unserved[level.Miss.Source] = true
	}
}
