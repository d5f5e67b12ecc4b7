package expect

import (
	"cmp"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/compare"
	"fairlead.dev/fairlead/model/requests"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file finds requests without a load balancer, and sets without requests.

// checkReached finds requests that must be answered and that no load balancer gets.
func (c *checker) checkReached(tables []*precedence.Table) {
	hosts := c.hosts()
	for _, t := range tables {
		if t == nil {
			continue
		}
		for i := range t.Listeners {
			hosts.addTable(t, t.Listeners[i].Port)
		}
	}
	for _, class := range hosts.classes() {
		for _, p := range c.parts {
			if p.hasHost(class.name) && p.answeredBy.empty() && !p.reachesAny(tables, class.name) {
				c.addUnreached(p, class)
			}
		}
	}
}

// reachesAny reports whether any load balancer gets requests of a part for a host.
func (p part) reachesAny(tables []*precedence.Table, host string) bool {
	return slices.ContainsFunc(tables, func(t *precedence.Table) bool {
		return t != nil && slices.ContainsFunc(t.Listeners, func(l routing.Listener) bool {
			return p.at(place{t, &l, host})
		})
	})
}

// addUnreached adds a violation by requests of a part that no load balancer gets.
func (c *checker) addUnreached(p part, class hostClass) {
	at := p.placeFor(class.name)
	found, undecided := find(c.finder, []part{p}, c.except, at)
	if undecided.Why != "" {
		c.addUndecided(at, class, undecided)
	}
	if found == nil {
		return
	}
	v := Violation{
		Port: at.listener.Port, Scheme: at.scheme(), Host: class.host,
		Request: compare.Written(at.scheme(), *found), Problems: []string{
			"must be answered by an Ingress"},
		Answer: compare.Answer{Action: "no load balancer", Why: "no load balancer gets such requests"},
	}
	v.Curl = v.Request.Curl()
	c.Violations = append(c.Violations, v)
}

// placeFor returns a place for requests of a part, on a load balancer that does not exist.
func (p part) placeFor(host string) place {
	l := routing.Listener{Protocol: routing.HTTPS, Port: 443}
	if len(p.schemes) > 0 {
		l.Protocol = routing.Protocol(strings.ToUpper(p.schemes[0]))
	} else if len(p.ports) > 0 && !slices.Contains(p.ports, 443) {
		l.Protocol = routing.HTTP
	}
	usual := map[routing.Protocol]int32{routing.HTTP: 80, routing.HTTPS: 443}[l.Protocol]
	if l.Port = usual; len(p.ports) > 0 && !slices.Contains(p.ports, usual) {
		l.Port = p.ports[0]
	}
	return place{precedence.New(routing.Config{Listeners: []routing.Listener{l}}), &l, host}
}

// find returns a request at a place that is in parts, and in none of the others.
func find(
	finder *requests.Finder, parts, except []part, at place,
) (found *routing.Request, undecided requests.Undecided) {
	all := func(p part) part { p.balancers = LoadBalancers{}; return p }
	some := func(p part) bool { return !p.balancers.all() || !p.answeredBy.empty() }
	set := make([]part, len(parts))
	for i, p := range parts {
		set[i] = all(p)
	}
	without := slices.DeleteFunc(slices.Clone(except), some)
	pairs, undecided := finder.Find([]requests.Entry{{Paths: requests.Anything, Answer: wrong}},
		entries(set, without, at), isWrongInSet)
	if len(pairs) == 0 {
		return nil, undecided
	}
	r := pairs[0].Request
	r.Port, r.Host, r.Method = at.listener.Port, at.host, cmp.Or(r.Method, "GET")
	return &r, undecided
}

// empty reports whether the set of an expectation has no request, for any load balancers.
func empty(e Expectation) bool {
	c := newChecker(e, requests.NewFinder(toRead))
	hosts := c.hosts()
	for _, class := range hosts.classes() {
		for _, at := range c.places(class.name) {
			parts := slices.DeleteFunc(slices.Clone(c.parts), func(p part) bool {
				return !p.hasHost(class.name) || !isAnyOf(p.schemes, at.scheme()) ||
					!isAnyOf(p.ports, at.listener.Port)
			})
			if len(parts) == 0 {
				continue
			}
			if found, undecided := find(c.finder, parts, c.except, at); found != nil || undecided.Why != "" {
				return false
			}
		}
	}
	return true
}

// places returns a place for each scheme and port that the expectation distinguishes.
func (c *checker) places(host string) []place {
	const other = 65535
	ports := []int32{80, 443, other}
	for _, p := range slices.Concat(c.parts, c.except) {
		ports = append(ports, p.ports...)
	}
	slices.Sort(ports)
	var out []place
	for _, port := range slices.Compact(ports) {
		for _, protocol := range []routing.Protocol{routing.HTTP, routing.HTTPS} {
			l := routing.Listener{Protocol: protocol, Port: port}
			config := routing.Config{Listeners: []routing.Listener{l}}
			out = append(out, place{precedence.New(config), &l, host})
		}
	}
	return out
}
