package lb

import (
	"cmp"
	"net/netip"
	"slices"
)

// This file names targets the way a cloud does.

const InstanceTarget = "instance" // the target type of nodes

// Targets are the targets of a backend, each under the one name that the cloud knows it by, sorted.
// A node that the cloud has no name for cannot be a target, nor can a name where targets are
// addresses.
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

// Within returns the targets that there is room for: first those that the group has already, then
// the first of the others. Elsewhere is how many targets the load balancer's other groups have. If
// these take all room, one target is returned all the same, so that the cloud refuses it.
func (c Capabilities) Within(want, have []Target, elsewhere int) []Target {
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
