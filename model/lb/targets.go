package lb

import (
	"cmp"
	"net/netip"
	"slices"
)

// This file names targets as a cloud does.

const InstanceTarget = "instance" // the target type of nodes

// Targets returns the targets of a backend by their names in the cloud, sorted. A node without an
// ID cannot be a target if the cloud needs one, nor can a host name where targets are addresses.
func (c Capabilities) Targets(targetType string, targets []Target) []Target {
	if targetType != InstanceTarget {
		if c.AddressesOnly && slices.ContainsFunc(targets, IsNamed) {
			targets = slices.DeleteFunc(slices.Clone(targets), IsNamed)
		}
		return targets
	}
	var out []Target
	for _, t := range targets {
		if c.InstanceIDs {
			t.Address = t.Instance
		}
		if t.Instance = ""; t.Address != "" {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b Target) int {
		return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(a.Port, b.Port))
	})
	return out
}

// IsNamed reports whether a target is a host name and not an address.
func IsNamed(t Target) bool {
	_, err := netip.ParseAddr(t.Address)
	return err != nil
}

// ChooseTargets returns as many targets as the limits allow: first those that the group has
// already, then others in order. Elsewhere is the number of targets in the load balancer's other
// groups. If these use up the limit, one target is returned, so that the cloud refuses it.
func (c Capabilities) ChooseTargets(want, have []Target, elsewhere int) []Target {
	room := len(want)
	if most := c.TargetsPerGroup; most > 0 {
		room = min(room, most)
	}
	if most := c.TargetsPerLoadBalancer; most > 0 {
		room = min(room, max(most-elsewhere, 1))
	}
	if room == len(want) {
		return want
	}
	stays := func(t Target) bool { return slices.Contains(have, t) }
	for _, t := range want {
		if stays(t) {
			room--
		}
	}
	var out []Target
	for _, t := range want {
		if room > 0 && !stays(t) {
			room--
		} else if !stays(t) {
			continue
		}
		out = append(out, t)
	}
	return out
}
