package planner

import (
	"slices"

	"fairlead.dev/fairlead/model/lb"
)

// This file orders the change of a load balancer's IP family.

// hasIPv6 reports whether one of some target groups has IPv6 targets.
func hasIPv6(groups []lb.TargetGroup) bool {
	return slices.ContainsFunc(groups, func(g lb.TargetGroup) bool { return g.Family == "ipv6" })
}

// orderFamilies has the first rule for IPv6 targets wait for the settings of the load balancer, which
// may give it IPv6 addresses, and the settings wait for the last such rule to go.
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
