package precedence

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/language"
)

// This file builds a table: it places names, routes and default backends at their hosts.

// New returns the Table of a Config.
func New(c routing.Config) *Table { return NewWith(c, language.NewCache()) }

// NewWith returns the Table of a Config, with a cache for its paths. Its members get a new budget.
func NewWith(c routing.Config, l *language.Cache) *Table {
	if c.Precedence == routing.InOrder {
		c.HostMiss = routing.MissFallsThrough
	}
	t := &Table{Config: c, ports: make(map[int32]*portTable, len(c.Listeners)),
		comparer: language.NewComparer(l, c.Members)}
	for _, l := range c.Listeners {
		pt := &portTable{protocol: l.Protocol, inOrder: c.Precedence == routing.InOrder,
			levels: map[routing.Host]*Level{}, unsaid: map[routing.Host]bool{},
			repeated: map[string]int{}}
		pt.level(routing.Any)
		t.ports[l.Port] = pt
	}
	t.nameHosts()
	t.nameListed()
	t.closeHosts()
	t.placeRoutes()
	t.placeDefaults()
	t.passWildcards()
	t.linkMisses()
	t.repeatEarlier()
	for _, pt := range t.ports {
		for _, level := range pt.levels {
			level.comparer = t.comparer
		}
	}
	return t
}

// nameHosts makes a level of every named host on every port, open if an owner is served there.
func (t *Table) nameHosts() {
	for _, n := range t.Names {
		if n.Listed != nil {
			continue
		}
		for port, pt := range t.ports {
			if slices.Contains(n.Unsaid, port) {
				pt.unsaid[n.Host] = true
				continue
			}
			if pt.levels[n.Host] == nil {
				level := pt.level(n.Host)
				level.Closed, level.namespace = true, n.Owner.Namespace
			}
			level := pt.levels[n.Host]
			if slices.Contains(n.Ports, port) || t.opensNames() {
				level.Closed = false
			}
		}
	}
}

// noNamespace is the namespace of the levels of closed hosts: they belong to none. A namespace cannot
// have this name.
const noNamespace = "-"

// closeHosts closes hosts that no rule names on the port.
func (t *Table) closeHosts() {
	for _, c := range t.Config.Closed {
		pt := t.ports[c.Port]
		if pt == nil {
			continue
		}
		if level := pt.levels[c.Host]; level == nil || level.listers != nil ||
			!level.Closed && !t.names(c.Host, c.Port) {
			pt.levels[c.Host] = &Level{Host: c.Host, Closed: true, namespace: noNamespace}
		}
	}
}

// names reports whether a rule names a host on a port.
func (t *Table) names(host routing.Host, port int32) bool {
	return slices.ContainsFunc(t.Names, func(n routing.Name) bool {
		return n.Listed == nil && n.Host == host && slices.Contains(n.Ports, port)
	})
}

// placeRoutes sorts the routes into their levels by precedence.
func (t *Table) placeRoutes() {
	type ranked struct {
		route *routing.Route
		rank  rank
	}
	sorted := make([]ranked, len(t.Routes))
	for i := range t.Routes {
		sorted[i] = ranked{&t.Routes[i], rankOf(&t.Routes[i])}
	}
	slices.SortStableFunc(sorted, func(a, b ranked) int {
		if t.Precedence == routing.InOrder {
			return inOrder(a.route, b.route)
		}
		return cmp.Or(a.rank.compare(b.rank), settle(a.route, b.route))
	})
	for _, r := range sorted {
		on := t.splitter(r.route)
		for _, port := range r.route.Ports {
			if level := t.ports[port].levelOf(r.route); level != nil {
				level.Routes = append(level.Routes, on(t.ports[port].protocol)...)
				level.setNamespace(r.route.Owner)
			}
		}
	}
}

// levelOf returns the level of a route; nil if it is not served on this port. A route also names
// the host of its rule.
func (pt *portTable) levelOf(r *routing.Route) *Level {
	if pt == nil {
		return nil
	}
	if r.Listed != nil {
		return pt.listedBy(r.Host, r.Owner)
	}
	return pt.level(r.Host)
}

// has reports whether a default may answer on the port.
func (pt *portTable) has(d *routing.Default) bool { return !d.Plain || pt.protocol == routing.HTTP }

// placeDefaults gives each level the oldest default backend that applies to it.
func (t *Table) placeDefaults() {
	byOwner := make(map[string]*routing.Default, len(t.Defaults))
	for i := range t.Defaults {
		d := &t.Defaults[i]
		byOwner[d.Owner.String()] = d
		for _, port := range d.Ports {
			if pt := t.ports[port]; pt != nil {
				pt.levels[routing.Any].offer(d, d.Ports)
				pt.levels[routing.Any].setNamespace(d.Owner)
			}
		}
	}
	if len(byOwner) == 0 {
		return
	}
	for _, n := range t.Names {
		d := byOwner[n.Owner.String()]
		if d == nil || t.Precedence == routing.InOrder && (!d.Plain || len(d.Ports) > 0) {
			continue
		}
		for _, port := range n.Ports {
			if level := t.ports[port].levelNamed(&n); level != nil && t.ports[port].has(d) {
				level.offer(d, n.Ports)
			}
		}
	}
	for _, pt := range t.ports {
		for _, level := range pt.levels {
			level.splitMiss(pt.protocol)
		}
	}
}
