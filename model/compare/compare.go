package compare

import (
	"slices"

	"fairlead.dev/fairlead/model/requests"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file compares two states.

// A Report has all differences between two states. It is complete except for Undecided.
type Report struct {
	Changes   []Change    `json:"changes"`
	Exposures []Exposure  `json:"exposures"`
	Undecided []Undecided `json:"undecided"`
}

// An Undecided has requests whose comparison exceeded the budget.
type Undecided struct {
	LoadBalancer routing.Key  `json:"loadBalancer"`
	Port         int32        `json:"port"`
	Host         routing.Host `json:"host"` // empty for all hosts that no rule names
	Why          string       `json:"why"`
}

// Protection returns the protection of the whole change: Less if any part is less protected, else
// Unknown if any part is unknown, else More if any part is more protected.
func (r Report) Protection() Protection {
	out := Same
	for _, order := range []Protection{More, Unknown, Less} {
		if slices.ContainsFunc(r.Changes, func(c Change) bool { return c.Protection == order }) ||
			slices.ContainsFunc(r.Exposures, func(e Exposure) bool { return e.Protection == order }) {
			out = order
		}
	}
	return out
}

// Empty reports whether there is certainly no difference.
func (r Report) Empty() bool { return len(r.Changes)+len(r.Exposures)+len(r.Undecided) == 0 }

// Tables compares two states, with a table for each load balancer, within a budget of steps.
func Tables(before, after []*precedence.Table, steps int) Report {
	c := comparison{
		finder: requests.NewFinder(steps),
		Report: Report{Changes: []Change{}, Exposures: []Exposure{}, Undecided: []Undecided{}},
	}
	for _, p := range pairs(before, after) {
		c.Exposures = append(c.Exposures, exposures(p)...)
		for _, port := range p.ports() {
			for _, class := range HostClasses(port, nil, p.before, p.after) {
				c.compareHost(p, port, class)
			}
		}
	}
	return c.Report
}

// A comparison builds a Report.
type comparison struct {
	finder *requests.Finder
	Report
}

// compareHost compares the answers for a class of hosts on a port.
func (c *comparison) compareHost(p pair, port int32, class HostClass) {
	old, first := Candidates(p.before, port, class.Name)
	now, second := Candidates(p.after, port, class.Name)
	undecided := func(why string) {
		c.Undecided = append(c.Undecided, Undecided{p.key(), port, class.Host, why})
	}
	found, why := c.finder.Find(first, second, requests.Unequal)
	if why != "" {
		undecided(why)
	}
	for _, f := range found {
		d := difference{p, port, class, old, now, f}
		change, confirmed := d.change()
		if !confirmed {
			undecided("a defect of Fairlead: the specification confirms no difference for " + change.Curl)
			continue
		}
		c.Changes = append(c.Changes, change)
	}
}
