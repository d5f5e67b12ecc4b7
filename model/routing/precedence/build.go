package precedence

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/language"
)

// This file makes a table: it places names, routes and default backends at the hosts that they are
// for.

// New orders a Config.
func New(c routing.Config) *Table { return NewWith(c, language.NewCache()) }

// NewWith orders a Config, and remembers what is found out about its paths. The budget of its
// members is new.
func NewWith(c routing.Config, l *language.Cache) *Table {
	t := &Table{Config: c, ports: make(map[int32]*portTable, len(c.Listeners)),
		comparer: language.NewComparer(l, c.Members)}
	for _, l := range c.Listeners {
		t.ports[l.Port] = &portTable{protocol: l.Protocol,
			levels: map[routing.Host]*Level{routing.Any: {Host: routing.Any}},
			unsaid: map[routing.Host]bool{}}
	}
	t.nameHosts()
	t.nameListed()
	t.placeRoutes()
	t.placeDefaults()
	t.passWildcards()
	t.linkMisses()
	for _, pt := range t.ports {
		for _, level := range pt.levels {
			level.comparer = t.comparer
		}
	}
	return t
}

// nameHosts makes a level of every named host on every port, open where an owner is served.
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
			level := pt.levels[n.Host]
			if level == nil {
				level = &Level{Host: n.Host, Closed: true, namespace: n.Owner.Namespace}
				pt.levels[n.Host] = level
			}
			if slices.Contains(n.Ports, port) {
				level.Closed = false
			}
		}
	}
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
		return cmp.Or(a.rank.compare(b.rank), settle(a.route, b.route))
	})
	for _, r := range sorted {
		for _, port := range r.route.Ports {
			if level := t.ports[port].levelOf(r.route); level != nil {
				level.Routes = append(level.Routes, r.route)
				level.belongs(r.route.Owner)
			}
		}
	}
}

// levelOf is the level where a route belongs; nil if it is not served on this port. A route names
// the host of its rule by being there.
func (pt *portTable) levelOf(r *routing.Route) *Level {
	if pt == nil {
		return nil
	}
	if r.Listed != nil {
		return pt.listedBy(r.Host, r.Owner)
	}
	return pt.level(r.Host)
}

// placeDefaults gives each level the oldest default backend that stands for it.
func (t *Table) placeDefaults() {
	byOwner := make(map[string]*routing.Default, len(t.Defaults))
	for i := range t.Defaults {
		d := &t.Defaults[i]
		byOwner[d.Owner.String()] = d
		for _, port := range d.Ports {
			if pt := t.ports[port]; pt != nil {
				pt.levels[routing.Any].offer(d)
				pt.levels[routing.Any].belongs(d.Owner)
			}
		}
	}
	if len(byOwner) == 0 {
		return
	}
	for _, n := range t.Names {
		d := byOwner[n.Owner.String()]
		if d == nil {
			continue
		}
		for _, port := range n.Ports {
			if level := t.ports[port].levelNamed(&n); level != nil {
				level.offer(d)
			}
		}
	}
}
