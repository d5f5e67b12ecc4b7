package compare

import (
	"cmp"
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
	// Classes is how many classes of requests were compared: the routes of the first state for each
	// host on each port.
	Classes int `json:"-"`
}

// An Undecided has requests whose comparison exceeded the budget.
type Undecided struct {
	LoadBalancer routing.Key  `json:"loadBalancer"`
	Port         int32        `json:"port"`
	Host         routing.Host `json:"host"` // empty for all hosts that no rule names
	Why          string       `json:"why"`
	// Namespace is the namespace whose paths and conditions are the reason, if it is one.
	Namespace string `json:"namespace,omitempty"`
}

// Protection returns the protection of the whole change: Less if any part is less protected, else
// Unknown if any part is unknown or undecided, else More if any part is more protected.
func (r Report) Protection() Protection {
	out := Same
	if len(r.Undecided) > 0 {
		out = Unknown
	}
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

// Tables compares two states, with a table for each load balancer. Hosts with few patterns are
// compared first, so that those with many leave them undecided last.
func Tables(before, after []*precedence.Table, b requests.Budget) Report {
	report := Report{Changes: []Change{}, Exposures: []Exposure{}, Undecided: []Undecided{}}
	finder := requests.NewFinder(b)
	var all []*hostComparison
	hosts := allHosts(before)
	both := pairs(before, after)
	for _, p := range both {
		report.Exposures = append(report.Exposures, exposures(p, finder)...)
		for _, port := range p.ports() {
			classes, undecided := HostClasses(finder, port, nil, p.before, p.after)
			for _, class := range classes {
				all = append(all, newHostComparison(p, port, class))
			}
			if undecided.Why != "" {
				all[len(all)-1].leaveUndecided(undecided)
			}
		}
	}
	byPatterns := slices.SortedStableFunc(slices.Values(all), func(a, b *hostComparison) int {
		return cmp.Compare(len(a.first)+len(a.second), len(b.first)+len(b.second))
	})
	for _, h := range byPatterns {
		report.Classes += len(h.first)
		h.compare(finder)
	}
	withoutRepeats(all)
	for _, p := range both {
		all = withServed(all, servedSearch{p, before, hosts, finder})
	}
	for _, h := range all {
		report.Changes = append(report.Changes, h.changes...)
		report.Undecided = append(report.Undecided, h.undecided...)
	}
	return report
}

// withoutRepeats removes changes that classes of one host have in common, apart from one with a
// shortest path: conditions on the host divide its names, also where these make no difference.
func withoutRepeats(all []*hostComparison) {
	type group struct {
		pair
		port int32
		host routing.Host
	}
	type same struct {
		group
		before, after         *routing.Route
		missBefore, missAfter *routing.Default
	}
	classes := map[group]int{}
	for _, h := range all {
		classes[group{h.pair, h.port, h.class.Host}]++
	}
	first := map[same]*Change{}
	for _, h := range all {
		of := group{h.pair, h.port, h.class.Host}
		if classes[of] == 1 {
			continue
		}
		kept := make([]Change, 0, len(h.changes))
		for _, c := range h.changes {
			old, now := match(h.before, c.Request.Routed), match(h.after, c.Request.Routed)
			k := same{of, old.Route, now.Route, old.Miss, now.Miss}
			if known := first[k]; known != nil {
				if len(c.Request.Routed.Path) < len(known.Request.Routed.Path) {
					*known = c
				}
				continue
			}
			kept = append(kept, c)
			first[k] = &kept[len(kept)-1]
		}
		h.changes = kept
	}
}

// withServed adds the comparisons of what a pair newly serves. Their changes replace those of the
// pair with the same requests.
func withServed(all []*hostComparison, s servedSearch) []*hostComparison {
	var mine []*hostComparison
	for _, h := range all {
		if h.pair == s.pair {
			mine = append(mine, h)
		}
	}
	served := s.newlyServed(mine)
	known := map[string]bool{}
	for _, h := range served {
		for _, c := range h.changes {
			known[c.Curl] = true
		}
	}
	for _, h := range mine {
		h.changes = slices.DeleteFunc(h.changes, func(c Change) bool {
			return c.Protection == Same && known[c.Curl]
		})
	}
	return append(all, served...)
}

// A hostComparison compares the answers for a class of hosts on a port.
type hostComparison struct {
	pair
	port          int32
	class         HostClass
	old, now      []Candidate
	first, second []requests.Entry

	changes   []Change
	undecided []Undecided
}

func newHostComparison(p pair, port int32, class HostClass) *hostComparison {
	h := &hostComparison{pair: p, port: port, class: class}
	h.old, h.first = Candidates(p.before, port, class.Name)
	h.now, h.second = Candidates(p.after, port, class.Name)
	return h
}

func (h *hostComparison) compare(finder *requests.Finder) {
	found, undecided := finder.Find(h.first, h.second, requests.Unequal)
	if undecided.Why != "" {
		h.leaveUndecided(undecided)
		found = h.addSamples(finder, found)
	}
	for _, f := range found {
		d := difference{h.pair, h.port, h.class, h.old, h.now, f}
		change, confirmed := d.change()
		if !confirmed {
			h.leaveUndecided(requests.Undecided{
				Why: "a defect of Fairlead: the specification confirms no difference for " + change.Curl})
			continue
		}
		h.changes = append(h.changes, change)
	}
}

func (h *hostComparison) leaveUndecided(u requests.Undecided) {
	one := Undecided{h.key(), h.port, h.class.Host, u.Why, u.Namespace}
	if !slices.Contains(h.undecided, one) {
		h.undecided = append(h.undecided, one)
	}
}

// addSamples adds the differences of one request for each entry, in place of a search that did not
// come to its end: that a path lost its sign-in does not stay unseen beside globs of others.
func (h *hostComparison) addSamples(
	finder *requests.Finder, found []requests.Pair,
) []requests.Pair {
	known := map[[2]int]bool{}
	for _, f := range found {
		known[[2]int{f.First, f.Second}] = true
	}
	for _, e := range slices.Concat(h.first, h.second) {
		r, some := finder.Sample(e)
		if !some {
			continue
		}
		asked := r
		asked.Port, asked.Host, asked.Method = h.port, h.class.Name, methodOf(r)
		before, after := match(h.before, asked), match(h.after, asked)
		pair := [2]int{indexOf(h.old, before), indexOf(h.now, after)}
		if pair[0] < 0 || pair[1] < 0 || known[pair] || before.Action.Key() == after.Action.Key() {
			continue
		}
		known[pair] = true
		found = append(found, requests.Pair{First: pair[0], Second: pair[1], Request: r})
	}
	return found
}

// indexOf returns the candidate of an outcome; -1 if there is none.
func indexOf(all []Candidate, o precedence.Outcome) int {
	return slices.IndexFunc(all, func(c Candidate) bool {
		return c.Route == o.Route && c.Default == o.Miss && c.Owner == o.Owner
	})
}
