package precedence

import (
	"fmt"
	"slices"

	"fairlead.dev/fairlead/model/routing"
)

// This file finds the next levels for misses of a host: the requests that match none of its routes.
//
//   - With MissAnswers they stay.
//   - With MissFallsThrough they go on to the wildcard that stands for the host, then to what is
//     for any host. A wildcard that is closed on the port ends that.
//   - Where hosts have owners, what belongs to another namespace than the host is passed over, be
//     it open or closed. No request for a host is answered by another namespace, and none changes
//     because of one.

// linkMisses sets the next levels of each level.
func (t *Table) linkMisses() {
	for _, l := range t.Listeners {
		pt := t.ports[l.Port]
		for _, level := range pt.levels {
			below := pt.levelsBelow(level.Host)
			switch {
			case len(below) == 0 || level.Closed:
			case t.HostMiss == routing.MissAnswers || level.beside:
				level.Stops = true
			default:
				level.Stops = t.isForeign(level, below[0])
				level.Next = t.nextLevels(level, below)
			}
		}
	}
	if t.HostMiss == routing.MissFallsThrough && t.HostsOwned {
		t.boundMisses()
	}
}

// levelsBelow returns the other levels that match the requests of a host, the more specific first.
func (pt *portTable) levelsBelow(h routing.Host) []*Level {
	var out []*Level
	if parent, ok := h.Parent(); ok && !h.Wildcard() && pt.levels[parent] != nil {
		out = append(out, pt.levels[parent])
	}
	if h != routing.Any {
		out = append(out, pt.levels[routing.Any])
	}
	return out
}

// isForeign reports whether a level below belongs to another namespace, which must not answer for
// the host.
func (t *Table) isForeign(level, below *Level) bool {
	return t.HostsOwned && below.namespace != "" && below.namespace != level.namespace
}

// nextLevels returns the levels below that answer the misses of a level.
func (t *Table) nextLevels(level *Level, below []*Level) []*Level {
	var out []*Level
	for _, b := range below {
		switch {
		case t.isForeign(level, b):
		case b.Closed:
			return out
		default:
			out = append(out, b)
		}
	}
	return out
}

// mostPassedOver is the most routes that are repeated on a port: those for any host for hosts below
// wildcards of other namespaces, before the wildcard, and with InOrder those of less specific hosts.
// It is also the most routes in the levels of listed hosts with Beside.
const mostPassedOver = 10_000

// repeat counts routes that are repeated in a level, and reports whether they are too many. Where
// hosts have owners, only routes of one's own namespace are repeated, so each has its own count: it
// is not used up by others.
func (t *Table) repeat(pt *portTable, level *Level, routes int) (tooMany bool) {
	namespace := ""
	if t.HostsOwned {
		namespace = level.namespace
	}
	pt.repeated[namespace] += routes
	return pt.repeated[namespace] > mostPassedOver
}

// Repeated returns how many routes are repeated for more specific hosts.
func (t *Table) Repeated() int {
	n := 0
	for _, pt := range t.ports {
		for _, repeated := range pt.repeated {
			n += repeated
		}
	}
	return n
}

// boundMisses makes hosts keep their misses if too many routes would be repeated. Such a table has
// an Excess, and is used only if no change can be refused instead.
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
			repeated := 0
			for _, b := range level.Next {
				repeated += len(b.Routes)
			}
			if t.repeat(pt, level, repeated) {
				level.Next = nil
				t.kept = append(t.kept, n)
			}
		}
	}
}

// Excess describes the limit that a table exceeds because wildcards cover hosts of other
// namespaces; "" for none. In such a table, hosts lack wanted routes, so it must not be used while
// a table without the newest changes is possible.
func (t *Table) Excess() string {
	for _, pt := range t.ports {
		if len(pt.late) > 0 {
			return t.tooMuchBefore() + "; " + giveHigherOrder
		}
	}
	if len(t.kept) == 0 && len(t.shut) == 0 {
		return ""
	}
	return fmt.Sprintf(
		"more than %d paths of rules without a host that have to be said again for hosts below "+
			"wildcards of other namespaces", mostPassedOver)
}

// skippedLevels returns the other levels that match the requests of a level, but not its misses. If
// misses first go to a wildcard, only that is checked.
func (t *Table) skippedLevels(port int32, level *Level) []*Level {
	if !level.Stops {
		return nil
	}
	return slices.DeleteFunc(t.ports[port].levelsBelow(level.Host), func(below *Level) bool {
		return slices.Contains(level.Next, below)
	})
}
