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

// Suspects tells which namespaces can have caused the violations of a plan.
type Suspects struct {
	Differences
	alone map[string]bool // Ingresses, by namespace/name
}

// StandsAlone reports whether an Ingress violates the expectations even where all Ingresses and the
// class are as they were last accepted: something that it refers to has changed.
func (s Suspects) StandsAlone(ingress string) bool {
	return s.alone[ingress] && s.Include(cluster.RefFrom(cluster.KindIngress, ingress).Namespace)
}

// Differences are what the cloud serves otherwise than was last accepted. The zero value has none.
type Differences struct {
	namespaces []string // whose answers differ
	ports      []int32  // whose answers are unknown, or which clients they admit
	whole      bool     // this is unknown for all ports
}

// Include reports whether a namespace can have caused a violation. Where something of a port is
// unknown, only one whose answers differ can have: what others violate, they may have violated
// before.
func (d Differences) Include(namespace string) bool {
	return len(d.ports) == 0 && !d.whole || slices.Contains(d.namespaces, namespace)
}

// differences returns what a plan from the cloud to the last accepted table may change. Rules of no
// namespace answer 404.
func differences(seen *lb.Observed, accepted *precedence.Table, p plan.Plan) (d Differences) {
	for _, step := range p.Steps {
		switch s := step.Step.(type) {
		case plan.CreateTargetGroup, plan.ModifyTargetGroup, plan.RegisterTargets,
			plan.AwaitTargets, plan.DeleteTargetGroup, plan.ImportCertificate,
			plan.ModifyCertificate, plan.DeleteCertificate, plan.DeleteFirewall, plan.RespaceRules:
		case plan.CreateRule, plan.ModifyRule:
			d.namespaces = append(d.namespaces, step.Namespaces()...)
		case plan.DeleteRule:
			d.addDeleted(step.Namespaces(), accepted, s)
		case plan.CreateListener:
			d.ports = append(d.ports, s.Listener.Port)
			d.addHost(accepted, s.Listener.Port, routing.Any)
		case plan.ModifyListener:
			d.addListener(seen.Listener(s.Listener.Port), accepted, s.Listener)
		case plan.DeleteListener:
			d.ports = append(d.ports, s.Port)
		case plan.AttachCertificate:
			d.ports = append(d.ports, s.Port)
		case plan.DetachCertificate:
			d.ports = append(d.ports, s.Port)
		default:
			d.whole = true
		}
	}
	return d
}

var notFound = lb.FromRouting(routing.NotFound())

// addListener adds a listener whose default action or settings differ.
func (d *Differences) addListener(seen *lb.ObservedListener, accepted *precedence.Table,
	want lb.Listener) {
	if seen == nil || seen.Protocol != want.Protocol || seen.Digest != want.Digest ||
		!slices.Equal(seen.Certificates, want.Certificates) {
		d.ports = append(d.ports, want.Port)
	}
	if seen != nil && !lb.SameAction(seen.Default, want.Default) {
		d.namespaces = append(d.namespaces, plan.NamespacesOf(lb.Rule{Action: seen.Default})...)
		d.addHost(accepted, want.Port, routing.Any)
	}
}

// addDeleted adds a rule that was not accepted. If it has no target group, its namespace is not
// known, nor what it covers: the namespaces with its hosts are added.
func (d *Differences) addDeleted(of []string, accepted *precedence.Table, s plan.DeleteRule) {
	d.namespaces = append(d.namespaces, of...)
	if len(of) > 0 || s.Rule.Action.Key() == notFound.Key() {
		return
	}
	d.ports = append(d.ports, s.Port)
	hosts := []string{string(routing.Any)}
	for _, c := range s.Rule.Conditions {
		if c.Field == "host" {
			hosts = c.Values
		}
	}
	for _, host := range hosts {
		d.addHost(accepted, s.Port, routing.Host(host))
	}
}

// addHost adds the namespaces with routes for a host.
func (d *Differences) addHost(accepted *precedence.Table, port int32, host routing.Host) {
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

// withoutPorts returns a table without the ports of which something is unknown.
func (d Differences) withoutPorts(t *precedence.Table) *precedence.Table {
	if len(d.ports) == 0 || t == nil {
		return t
	}
	c := t.Config
	c.Listeners = slices.DeleteFunc(slices.Clone(c.Listeners), func(l routing.Listener) bool {
		return slices.Contains(d.ports, l.Port)
	})
	return precedence.New(c)
}
