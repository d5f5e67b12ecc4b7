package ingress

import (
	"maps"
	"slices"

	"fairlead.dev/fairlead/model/routing"
)

// This file finds the hosts that entries of spec.tls cover.

// maxCovered is the most hosts that all entries of spec.tls of an Ingress may cover in total.
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

// coveredBy returns the hosts that an entry covers, in the order of the Ingress's hosts.
func (c *cover) coveredBy(listed []string) []covered {
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

// serves reports whether a listed host covers a host of the Ingress.
func (c *cover) serves(listed routing.Host) bool {
	_, ok := c.at[listed]
	return ok || len(c.below[listed]) > 0
}

// unanswered returns the listed hosts that cover no host of the Ingress.
func (c *cover) unanswered(listed []string) (out []string) {
	for _, l := range listed {
		if !c.serves(routing.Host(l)) {
			out = append(out, l)
		}
	}
	return out
}

// A cover holds the hosts of an Ingress that its entries of spec.tls may cover.
type cover struct {
	hosts []routing.Host
	at    map[routing.Host]int
	below map[routing.Host][]int // the precise hosts that a wildcard covers
	given int                    // number of hosts that the entries so far cover
}

// A covered is a host that an entry covers, and the name to search its certificate by: the listed
// one, or the host itself if the entry lists none.
type covered struct {
	host   routing.Host
	listed string
}
