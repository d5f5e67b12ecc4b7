package lb

import "slices"

// This file counts out how many targets a cloud takes.

// Within is what of the targets that a group is to have the cloud takes: those that it has first,
// for what is served stays, then the first of the others. Elsewhere are those of the load
// balancer's other groups; where they leave no room at all, it is for the cloud to refuse the first
// one.
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
