package routing

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"fairlead.dev/fairlead/model/diag"
)

// A Table is a Config in order: for each port the hosts that decide, for each host its routes by
// precedence and the default that answers its misses. It keeps what it finds out about its paths,
// so it is asked by one at a time.
type Table struct {
	Config
	ports    map[int32]*portTable
	shut     []*Name // listed hosts that are closed on a port beside
	kept     []*Name // hosts that keep their misses, because what these go on to has too many routes
	comparer *Comparer
}

// portTable is what one port knows.
type portTable struct {
	protocol Protocol
	levels   map[Host]*Level // the named hosts, and Any
	unsaid   map[Host]bool   // hosts that are named, but that the port's rules cannot say
	passed   int             // routes of listed hosts beside
	repeated int             // routes for any host that hosts below a wildcard of another namespace go on to
}

// A Level is one host of one port: the first one that stands for a request's host decides.
type Level struct {
	Host   Host
	Routes []*Route // by precedence, the losers of identical claims included
	Miss   *Default // answers what no route matches; nil: 404
	// Closed says that the host is named, but by no Ingress that is served on this port. It
	// answers 404, whatever HostMiss says: a host never speaks through a port that its owner
	// did not open.
	Closed bool
	// listers are the Ingresses that list the host in spec.tls, where no rule decides for it; see
	// listed.go. It is nil where rules name the host.
	listers map[string]bool
	// beside says that no rule names the host and that no wildcard answers for it here; see listed.go.
	beside bool
	// Next are the levels that a request goes on to which no route here matches, in order; Stops says
	// that it meets no others below. See misses.go.
	Next  []*Level
	Stops bool

	namespace string // of what was placed here first
	counted   bool   // among the routes that are repeated

	comparer *Comparer // that of its table
	live     []*Route  // what Reach says, once it was asked
	hidden   []Hidden
	split    bool
}

// New orders a Config.
func New(c Config) *Table { return NewWith(c, NewLanguages()) }

// NewWith orders a Config, and remembers what is found out about its paths. The budget of its
// members is new.
func NewWith(c Config, l *Languages) *Table {
	t := &Table{Config: c, ports: make(map[int32]*portTable, len(c.Listeners)), comparer: newComparer(l, c.Members)}
	for _, l := range c.Listeners {
		t.ports[l.Port] = &portTable{protocol: l.Protocol, levels: map[Host]*Level{Any: {Host: Any}}, unsaid: map[Host]bool{}}
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

// Comparer answers questions about the paths of the table.
func (t *Table) Comparer() *Comparer { return t.comparer }

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
		route *Route
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
func (pt *portTable) levelOf(r *Route) *Level {
	if pt == nil {
		return nil
	}
	if r.Listed != nil {
		return pt.listedBy(r.Host, r.Owner)
	}
	return pt.level(r.Host)
}

func (pt *portTable) level(h Host) *Level {
	level := pt.levels[h]
	if level == nil {
		level = &Level{Host: h}
		pt.levels[h] = level
	}
	return level
}

// placeDefaults gives each level the oldest default backend that stands for it.
func (t *Table) placeDefaults() {
	byOwner := make(map[string]*Default, len(t.Defaults))
	for i := range t.Defaults {
		d := &t.Defaults[i]
		byOwner[d.Owner.String()] = d
		for _, port := range d.Ports {
			if pt := t.ports[port]; pt != nil {
				pt.levels[Any].offer(d)
				pt.levels[Any].belongs(d.Owner)
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

// levelNamed is the level that a name speaks of; nil if there is none on this port.
func (pt *portTable) levelNamed(n *Name) *Level {
	switch {
	case pt == nil:
		return nil
	case n.Listed != nil:
		return pt.listedBy(n.Host, n.Owner)
	}
	return pt.levels[n.Host]
}

func (l *Level) offer(d *Default) {
	if l.Miss == nil || Older(d.Owner, l.Miss.Owner) < 0 {
		l.Miss = d
	}
}

// Level is one host of a port, or nil.
func (t *Table) Level(port int32, h Host) *Level {
	if pt := t.ports[port]; pt != nil {
		return pt.levels[h]
	}
	return nil
}

// Levels are the hosts of a port, in the order in which they decide: precise hosts by name,
// wildcards by name, then Any.
func (t *Table) Levels(port int32) []*Level {
	pt := t.ports[port]
	if pt == nil {
		return nil
	}
	return slices.SortedFunc(maps.Values(pt.levels), func(a, b *Level) int {
		return cmp.Or(a.Host.kind()-b.Host.kind(), cmp.Compare(a.Host, b.Host))
	})
}

// kind ranks hosts by how specific they are.
func (h Host) kind() int {
	switch {
	case h == Any:
		return 2
	case h.Wildcard():
		return 1
	}
	return 0
}

// An Outcome is what becomes of a request, and why.
type Outcome struct {
	Action Action
	Owner  Owner       // of what answers; zero for the 404 that nobody asked for
	Source diag.Source // likewise
	Host   Host        // the level that decided
	Route  *Route      // nil where a default answers, or nobody
	Over   []*Route    // routes that match the request too and lost, the best first
	Why    string
}

// Match is the specification: what a load balancer for this Config does with a request.
func (t *Table) Match(r Request) Outcome {
	pt := t.ports[r.Port]
	if pt == nil {
		return Outcome{Action: NotFound(), Why: fmt.Sprintf("no Ingress asks for port %d", r.Port)}
	}
	var chain []*Level
	for _, h := range Levels(r.Hostname()) {
		if level := pt.levels[h]; level != nil {
			chain = append(chain, level)
		}
	}
	outcome := t.decide(chain, r)
	outcome.Action = outcome.Action.On(pt.protocol)
	if h := Levels(r.Hostname())[0]; pt.unsaid[h] {
		outcome.Why = fmt.Sprintf("the rules of port %d cannot say host %s; %s", r.Port, h, outcome.Why)
	}
	for _, level := range chain {
		for _, route := range level.Routes {
			if route != outcome.Route && t.matches(route, r) {
				outcome.Over = append(outcome.Over, route)
			}
		}
	}
	return outcome
}

// decide looks at the levels that stand for a request's host, most specific first.
func (t *Table) decide(chain []*Level, r Request) Outcome {
	if chain[0].Closed {
		return Outcome{Action: NotFound(), Host: chain[0].Host,
			Why: fmt.Sprintf("host %s is named, but not served on port %d", chain[0].Host, r.Port)}
	}
	reach := append([]*Level{chain[0]}, chain[0].Next...)
	for i, level := range reach {
		for _, route := range level.Routes {
			if t.matches(route, r) {
				return Outcome{Action: route.Action, Owner: route.Owner, Source: route.Source, Host: level.Host,
					Route: route, Why: arrival(reach, i) + ", " + route.describe()}
			}
		}
	}
	for i, level := range reach {
		if level.Miss != nil {
			return Outcome{Action: level.Miss.Action, Owner: level.Miss.Owner, Source: level.Miss.Source, Host: level.Host,
				Why: arrival(reach, i) + ", no path there matches, and the oldest default backend answers"}
		}
	}
	return Outcome{Action: NotFound(), Host: chain[0].Host,
		Why: chain[0].describe() + ", no path there matches, and there is no default backend"}
}

// arrival says how a request came to one of the levels that stand for its host.
func arrival(chain []*Level, at int) string {
	if at == 0 {
		return chain[0].describe()
	}
	missed := "no path of " + chain[0].describe() + " matches, next "
	if chain[at].Host == Any {
		return missed + "are the rules without a host"
	}
	return missed + "is " + chain[at].describe()
}

func (l *Level) describe() string {
	switch {
	case l.listers != nil:
		return l.Host.describe() + " of spec.tls"
	case l.beside:
		return Any.describe()
	}
	return l.Host.describe()
}

func (t *Table) matches(r *Route, q Request) bool {
	return t.comparer.matches(r.Path, q.Path) && r.When.Hold(q)
}

func (h Host) describe() string {
	switch {
	case h == Any:
		return "no rule names the host"
	case h.Wildcard():
		return "wildcard host " + string(h)
	}
	return "host " + string(h)
}

func (r *Route) describe() string {
	if len(r.When) == 0 {
		return r.Path.describe()
	}
	return r.Path.describe() + " with " + r.When.String()
}

func (p Path) describe() string {
	if p.Type == Exact {
		return p.String()
	}
	return "longest match " + p.String()
}
