package planner

import (
	"slices"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// This file associates a web ACL and adds Shield Advanced. All rules change, and are deleted, after
// the wanted web ACL is associated, so that it covers the next answers to their requests. They
// change before an unwanted web ACL is disassociated. No step waits for Shield. A load balancer
// with deletion protection stays unchanged, unless its class no longer permits what it serves.

// keptByProtection reports whether a load balancer without Ingresses is kept because of deletion
// protection, with the diagnostic. One that only its class protects is deleted once the class no
// longer protects it.
func keptByProtection(seen *lb.Observed, want lb.LoadBalancer, c lb.Capabilities) (diag.Diagnostic,
	bool) {
	said := diag.Diagnostic{Severity: diag.Warning, Reason: diag.Protected,
		Source: plan.SourceOf(seen.Key)}
	stays := ", so it stays as it is"
	if want.Withdrawn {
		stays = ", so it stays, and answers nothing that its class does not permit any more"
	}
	switch {
	case !want.Empty() || !seen.Exists:
		return said, false
	case seen.Protected == lb.ByOthers:
		said.Message = "no Ingress asks for it any more, but another writer has protected it " +
			"from deletion" +
			stays
		return said, true
	case seen.Protected == lb.ByClass && want.Protected:
		said.Message = "no Ingress asks for it any more, but its class says " +
			c.DeletionProtection + stays
		return said, true
	}
	return said, false
}

// addProtection adds the wanted web ACL and Shield.
func (d *difference) addProtection() {
	seen, want := d.seen.Protection, d.want.Protection
	if want.Shield != seen.Shield && want.Shield != lb.Unsettled {
		d.add(plan.ShieldLoadBalancer{Key: d.want.Key, Shield: want.Shield}, places{},
			d.loadBalancerReady)
	}
	// a new load balancer has no protection that could stay
	settled := want.WebACL != lb.Unsettled || !d.seen.Exists
	if want.HasWebACL() && want.WebACL != seen.WebACL && settled {
		d.webACLReady = d.add(plan.SetWebACL{Key: d.want.Key, WebACL: want.WebACL},
			places{}, d.loadBalancerReady)
	}
}

// removeWebACL disassociates a web ACL that no Ingress wants, after all changes of rules.
func (d *difference) removeWebACL() {
	if want := d.want.Protection; want.HasWebACL() || want.WebACL == d.seen.Protection.WebACL {
		return
	}
	after := []int{d.loadBalancerReady}
	for _, ch := range d.changes {
		for _, t := range ch.answering {
			after = append(after, t.at)
		}
	}
	d.add(plan.SetWebACL{Key: d.want.Key, WebACL: d.want.Protection.WebACL}, places{},
		after...)
}

// hasIPv6 reports whether one of some target groups has IPv6 targets.
func hasIPv6(groups []lb.TargetGroup) bool {
	return slices.ContainsFunc(groups, func(g lb.TargetGroup) bool { return g.Family == "ipv6" })
}

// orderFamilies has the first rule for IPv6 targets wait for the settings of the load balancer,
// which may give it IPv6 addresses, and the settings wait for the last such rule to go.
func (d *difference) orderFamilies() {
	settings := d.firewallUnused
	if !d.caps.IPv6NeedsDualStack || settings == absent || !d.seen.Exists {
		return
	}
	var seen []lb.TargetGroup
	for _, g := range d.seen.TargetGroups {
		seen = append(seen, g.TargetGroup)
	}
	before, after := hasIPv6(seen), hasIPv6(d.want.TargetGroups)
	switch {
	case !before && after:
		for _, g := range d.want.TargetGroups {
			for _, t := range d.startNaming[g.ID] {
				if g.Family == "ipv6" {
					d.tasks[t].After = append(d.tasks[t].After, settings)
				}
			}
		}
	case before && !after && d.seen.Digest != "": // ports wait for settings that were never finished
		for _, g := range seen {
			if g.Family == "ipv6" {
				d.tasks[settings].After = append(d.tasks[settings].After, d.stopNaming[g.ID]...)
			}
		}
	}
}
