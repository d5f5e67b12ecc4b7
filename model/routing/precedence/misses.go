package precedence

import (
	"fmt"
	"slices"

	"fairlead.dev/fairlead/model/routing"
)

// This file finds out where the misses of a host go: the requests that none of its routes match.
//
//   - With MissAnswers they stay.
//   - With MissFallsThrough they go on to the wildcard that stands for the host, then to what is
//     for any host. A wildcard that is closed on the port ends that.
//   - Where hosts have owners, what belongs to another namespace than the host is passed over, be
//     it open or closed. No request for a host is answered by another namespace, and none changes
//     because of one.

// linkMisses sets where the misses of each level go.
func (t *Table) linkMisses() {
	for _, l := range t.Listeners {
		pt := t.ports[l.Port]
		for _, level := range pt.levels {
			below := pt.below(level.Host)
			switch {
			case len(below) == 0 || level.Closed:
			case t.HostMiss == routing.MissAnswers || level.beside:
				level.Stops = true
			default:
				level.Stops = t.foreign(level, below[0])
				level.Next = t.next(level, below)
			}
		}
	}
	if t.HostMiss == routing.MissFallsThrough && t.HostsOwned {
		t.boundMisses()
	}
}

// below are the levels that stand for the requests of a host besides its own, the more specific
// first.
func (pt *portTable) below(h routing.Host) []*Level {
	var out []*Level
	if parent, ok := h.Parent(); ok && !h.Wildcard() && pt.levels[parent] != nil {
		out = append(out, pt.levels[parent])
	}
	if h != routing.Any {
		out = append(out, pt.levels[routing.Any])
	}
	return out
}

// foreign reports whether a level below belongs to another namespace, which must not answer for the
// host.
func (t *Table) foreign(level, below *Level) bool {
	return t.HostsOwned && below.namespace != "" && below.namespace != level.namespace
}

// next are those of the levels below that answer the misses of a level.
func (t *Table) next(level *Level, below []*Level) []*Level {
	var out []*Level
	for _, b := range below {
		switch {
		case t.foreign(level, b):
		case b.Closed:
			return out
		default:
			out = append(out, b)
		}
	}
	return out
}

// mostPassedOver is how many routes for any host the hosts below wildcards of other namespaces may
// go on to on a port, and as many that the levels of listed hosts beside may have. These are said
// again for each of the hosts, in front of the wildcard.
const mostPassedOver = 10_000

// boundMisses has hosts keep their misses where what these go on to would be said again too often.
// That is a stopgap: such a table is excessive, and is used only where no change can be taken back.
func (t *Table) boundMisses() {
	for i := range t.Names {
		n := &t.Names[i]
		for _, l := range t.Listeners {
			pt := t.ports[l.Port]
			level := pt.levels[n.Host]
			if level == nil || level.counted || !level.Stops || len(level.Next) == 0 {
				continue
			}
			level.counted = true
			for _, b := range level.Next {
				pt.repeated += len(b.Routes)
			}
			if pt.repeated > mostPassedOver {
				level.Next = nil
				t.kept = append(t.kept, n)
			}
		}
	}
}

// Excess says what a table has too much of because wildcards stand above hosts of other namespaces;
// "" for nothing. Hosts get less than their owners ask for in such a table, so it is not to be used
// while one without the newest changes can be had.
func (t *Table) Excess() string {
	if len(t.kept) == 0 && len(t.shut) == 0 {
		return ""
	}
	return fmt.Sprintf(
		"more than %d paths of rules without a host that have to be said again for hosts below "+
			"wildcards of other namespaces", mostPassedOver)
}

// passedOver are the levels that stand for the requests of a level as well, and that its misses do
// not go on to. Where misses go on to a wildcard first, it is the wildcard's affair.
func (t *Table) passedOver(port int32, level *Level) []*Level {
	if !level.Stops {
		return nil
	}
	return slices.DeleteFunc(t.ports[port].below(level.Host), func(below *Level) bool {
		return slices.Contains(level.Next, below)
	})
}
