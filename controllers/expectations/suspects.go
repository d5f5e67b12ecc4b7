package expectations

import (
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file finds what differs in the cloud from the last accepted versions, after a restart, and
// so the namespaces that can have caused a violation.

// Suspects tells which namespaces can have caused the violations of a plan.
type Suspects struct {
	alone map[string]bool // Ingresses, by namespace/name
}

// StandsAlone reports whether an Ingress violates the expectations even where all Ingresses and the
// class are as they were last accepted: something that it refers to has changed.
func (s Suspects) StandsAlone(ingress string) bool { return s.alone[ingress] }

// differing returns the namespaces whose answers a plan from the cloud to the last accepted table may
// change. Settings of a load balancer and of its ports count as they were last accepted, whoever
// changed them in the cloud: the plan makes them so again, and no namespace is the cause. Rules of no
// namespace answer 404.
func differing(seen *lb.Observed, accepted *precedence.Table, p plan.Plan) []string {
	var d differences
	for _, step := range p.Steps {
		switch s := step.Step.(type) {
		case plan.CreateRule, plan.ModifyRule:
			d.namespaces = append(d.namespaces, step.Namespaces()...)
		case plan.DeleteRule:
			d.addDeleted(step.Namespaces(), accepted, s)
		case plan.CreateListener:
			d.addHost(accepted, s.Listener.Port, routing.Any)
		case plan.ModifyListener:
			d.addListener(seen.Listener(s.Listener.Port), accepted, s.Listener)
		default: // it changes no answer
		}
	}
	return d.namespaces
}

type differences struct{ namespaces []string }

var notFound = lb.FromRouting(routing.NotFound())

// addListener adds a listener whose default action differs.
func (d *differences) addListener(seen *lb.ObservedListener, accepted *precedence.Table,
	want lb.Listener) {
	if seen != nil && !lb.SameAction(seen.Default, want.Default) {
		d.namespaces = append(d.namespaces, plan.NamespacesOf(lb.Rule{Action: seen.Default})...)
		d.addHost(accepted, want.Port, routing.Any)
	}
}

// addDeleted adds a rule that was not accepted. If it has no target group, its namespace is not
// known, nor what it covers: the namespaces with its hosts are added.
func (d *differences) addDeleted(of []string, accepted *precedence.Table, s plan.DeleteRule) {
	d.namespaces = append(d.namespaces, of...)
	if len(of) > 0 || s.Rule.Action.Key() == notFound.Key() {
		return
	}
	hosts := []string{string(routing.Any)}
	if c := s.Rule.Condition("host"); c != nil {
		hosts = c.Values
	}
	for _, host := range hosts {
		d.addHost(accepted, s.Port, routing.Host(host))
	}
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
