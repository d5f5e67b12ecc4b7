package planner

import (
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/planner/schedule"
)

// This file puts what protects a load balancer before it. What asks for a web ACL comes behind it,
// and goes before it does. Nothing waits for a shield. A load balancer that is protected from being
// deleted stays as it is, with all that is in it, unless its class has withdrawn its consent to
// that.

// protected says why a load balancer stays that nobody asks for any more, if it does. What its
// class alone protects goes once the class does not any more.
func protected(seen *lb.Observed, want lb.LoadBalancer, c lb.Capabilities) (diag.Diagnostic, bool) {
	said := diag.Diagnostic{Severity: diag.Warning, Reason: diag.Protected, Source: plan.SourceOf(seen.Key)}
	stays := ", so it stays as it is"
	if want.Withdrawn {
		stays = ", so it stays, and answers nothing that its class does not permit any more"
	}
	switch {
	case !want.Empty() || !seen.Exists:
		return said, false
	case seen.Protected == lb.ByOthers:
		said.Message = "nobody asks for it any more, but somebody has the cloud refuse to delete it" + stays
		return said, true
	case seen.Protected == lb.ByClass && want.Protected:
		said.Message = "nobody asks for it any more, but its class says " + c.DeletionProtection + stays
		return said, true
	}
	return said, false
}

// protect puts up what is wanted.
func (d *difference) protect() {
	seen, want := d.seen.Protection, d.want.Protection
	if want.Shield != seen.Shield && want.Shield != lb.Unsettled {
		d.add(plan.ShieldLoadBalancer{Key: d.want.Key, Shield: want.Shield}, schedule.Places{}, d.balancer)
	}
	settled := want.WebACL != lb.Unsettled || !d.seen.Exists // a new load balancer has nothing that could stay
	if want.Guarded() && want.WebACL != seen.WebACL && settled {
		d.guarded = d.add(plan.GuardLoadBalancer{Key: d.want.Key, WebACL: want.WebACL}, schedule.Places{}, d.balancer)
	}
}

// expose takes away a web ACL that nobody asks for any more, once what changes for it has changed.
func (d *difference) expose() {
	if want := d.want.Protection; want.Guarded() || want.WebACL == d.seen.Protection.WebACL {
		return
	}
	after := []int{d.balancer}
	for _, ch := range d.changes {
		for _, m := range ch.steps {
			after = append(after, m.at)
		}
	}
	d.add(plan.GuardLoadBalancer{Key: d.want.Key, WebACL: d.want.Protection.WebACL}, schedule.Places{}, after...)
}
