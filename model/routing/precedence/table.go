package precedence

import (
	"cmp"
	"maps"
	"slices"

	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/language"
)

// A Table is an ordered Config: for each port its hosts, for each host its routes by precedence and
// the default for its misses. It caches results about its paths, so it is not safe for concurrent
// use.
type Table struct {
	routing.Config
	ports map[int32]*portTable
	shut  []*routing.Name // listed hosts that are closed on a port beside
	// hosts that keep their misses, because the next levels have too many routes
	kept     []*routing.Name
	comparer *language.Comparer
}

// A portTable is the table of one port.
type portTable struct {
	protocol routing.Protocol
	inOrder  bool
	levels   map[routing.Host]*Level // the named hosts, and Any
	unsaid   map[routing.Host]bool   // named hosts that the port's rules cannot express
	passed   int                     // routes of listed hosts beside
	// routes of less specific hosts that are repeated for more specific ones; see misses.go, order.go
	repeated map[string]int
	late     []*routing.Route // the last routes of hosts that are closed; see order.go
}

// Comparer returns the comparer of the paths of the table.
func (t *Table) Comparer() *language.Comparer { return t.comparer }

func (pt *portTable) level(h routing.Host) *Level {
	level := pt.levels[h]
	if level == nil {
		level = &Level{Host: h, inOrder: pt.inOrder}
		pt.levels[h] = level
	}
	return level
}

// levelNamed returns the level of a name; nil if there is none on this port.
func (pt *portTable) levelNamed(n *routing.Name) *Level {
	switch {
	case pt == nil:
		return nil
	case n.Listed != nil:
		return pt.listedBy(n.Host, n.Owner)
	}
	return pt.levels[n.Host]
}

// Level returns one host of a port, or nil.
func (t *Table) Level(port int32, h routing.Host) *Level {
	if pt := t.ports[port]; pt != nil {
		return pt.levels[h]
	}
	return nil
}

// Levels returns the hosts of a port, in order of precedence: precise hosts by name, wildcards by
// name, then Any.
func (t *Table) Levels(port int32) []*Level {
	pt := t.ports[port]
	if pt == nil {
		return nil
	}
	return slices.SortedFunc(maps.Values(pt.levels), func(a, b *Level) int {
		return cmp.Or(a.Host.Rank()-b.Host.Rank(), cmp.Compare(a.Host, b.Host))
	})
}

// listedBy returns the level of a listed host; nil if another Ingress answers for it there.
func (pt *portTable) listedBy(h routing.Host, owner routing.Owner) *Level {
	if level := pt.levels[h]; level != nil && level.listers[owner.String()] {
		return level
	}
	return nil
}
