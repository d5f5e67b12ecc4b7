package lb

import (
	"cmp"
	"slices"
)

// This file names targets the way a cloud does.

const instance = "instance" // the target type of nodes

// Targets are the targets of a backend, each under the one name that the cloud knows it by, sorted.
// A node that the cloud has no name for cannot be a target.
func (c Capabilities) Targets(targetType string, targets []Target) []Target {
	if targetType != instance {
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
