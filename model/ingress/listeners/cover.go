package listeners

import (
	"maps"
	"slices"

	"fairlead.dev/fairlead/model/routing"
)

// This file says which certificates the cloud is asked for, and which hosts entries of spec.tls
// cover.

// maxCovered is how many hosts the entries of spec.tls of one Ingress may cover, each entry
// counted.
const maxCovered = 100_000

func newCover(hosts []routing.Host) cover {
	c := cover{hosts: hosts, at: make(map[routing.Host]int, len(hosts)),
		below: map[routing.Host][]int{}}
	for i, h := range hosts {
		c.at[h] = i
		if parent, ok := h.Parent(); ok && !h.Wildcard() {
			c.below[parent] = append(c.below[parent], i)
		}
	}
	return c
}

// by are the hosts that an entry covers, in the order of the Ingress's hosts.
func (c *cover) by(listed []string) []covered {
	out := make([]covered, 0, len(listed))
	if len(listed) == 0 {
		for _, h := range c.hosts {
			out = append(out, covered{h, string(h)})
		}
		return out
	}
	names := map[int]string{}
	for _, l := range slices.Compact(slices.Sorted(slices.Values(listed))) {
		for _, i := range c.below[routing.Host(l)] {
			if names[i] == "" {
				names[i] = l
			}
		}
		if i, ok := c.at[routing.Host(l)]; ok {
			names[i] = l
		}
	}
	for _, i := range slices.Sorted(maps.Keys(names)) {
		out = append(out, covered{c.hosts[i], names[i]})
	}
	return out
}

// serves reports whether a listed host is, or stands for, a host of the Ingress.
func (c *cover) serves(listed routing.Host) bool {
	_, ok := c.at[listed]
	return ok || len(c.below[listed]) > 0
}

// A cover is the hosts of an Ingress, for its entries of spec.tls to cover.
type cover struct {
	hosts []routing.Host
	at    map[routing.Host]int
	below map[routing.Host][]int // the precise hosts that a wildcard stands for
	given int                    // how many hosts the entries so far cover
}

// A covered host is one that an entry covers, and the name by which a certificate for it is known:
// the listed one, or the host itself where the entry lists none.
type covered struct {
	host   routing.Host
	listed string
}
