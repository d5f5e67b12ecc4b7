package lb

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file names targets the way a cloud does.

const instance = "instance" // the target type of nodes

// Targets are the targets of a backend, each under the one name that the cloud knows it by, sorted.
// A node that the cloud has no name for cannot be a target, nor can a name where targets are
// addresses.
func (c Capabilities) Targets(targetType string, targets []Target) []Target {
	if targetType != instance {
		if c.AddressesOnly && slices.ContainsFunc(targets, isNamed) {
			targets = slices.DeleteFunc(slices.Clone(targets), isNamed)
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
	slices.SortFunc(out, func(a, b Target) int { return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(a.Port, b.Port)) })
	return out
}

// isNamed reports whether a target goes by a name.
func isNamed(t Target) bool {
	_, err := netip.ParseAddr(t.Address)
	return err != nil
}

// cannotReach says why a backend of an action has targets that the cloud does not reach, or "".
// Requests for such a backend are answered 503, as for one without targets.
func (c Capabilities) cannotReach(t *precedence.Table, a routing.Action) string {
	for _, w := range a.Forward {
		if b := t.Backends[w.Backend]; c.AddressesOnly && b.TargetType != instance && slices.ContainsFunc(b.Targets, isNamed) {
			return fmt.Sprintf("Service %s is of type ExternalName, and %s sends requests to addresses only%s", b.Service, c.Name, unanswered)
		}
	}
	return ""
}
