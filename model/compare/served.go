package compare

import (
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/requests"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file compares the requests that a port newly serves with all ports that served them before,
// also those of other load balancers: the protection of an Ingress that moves, or that gets a second
// one beside it, is not lost unseen. A request that no port served before is new.

// mostWays is the number of ports with different rules that are compared for a host.
const mostWays = 8

// own stands for the port itself, if it served a request before: the comparison of its two answers
// decides about it.
const own = "own"

// A servedSearch compares a load balancer with all those before.
type servedSearch struct {
	pair
	all    []*precedence.Table // before
	hosts  []routing.Host      // of all
	finder *requests.Finder
}

// newlyServed returns the comparisons that found requests which a pair newly serves with less
// protection than before.
func (s servedSearch) newlyServed(mine []*hostComparison) []*hostComparison {
	differs := func(h *hostComparison) bool { return len(h.changes)+len(h.undecided) > 0 }
	if s.after == nil || !slices.ContainsFunc(mine, differs) {
		return nil
	}
	var out []*hostComparison
	for _, l := range s.after.Listeners {
		classes, undecided := hostClasses(s.finder, s.conditions(), l.Port, s.covered(l.Port), s.before,
			s.after)
		for _, class := range classes {
			c := servedComparison{hostComparison: newHostComparison(s.pair, l.Port, class),
				servedSearch: s, admissions: map[string]admission{}}
			c.compare()
			out = append(out, c.hostComparison)
		}
		if undecided.Why != "" {
			out[len(out)-1].leaveUndecided(undecided)
		}
	}
	return out
}

// conditions returns those on the host of all ports before.
func (s servedSearch) conditions() *HostSets {
	out := NewHostSets()
	for _, t := range s.all {
		if t == nil {
			continue
		}
		for _, l := range t.Listeners {
			out.AddConditions(t, l.Port)
		}
	}
	return out
}

// covered returns the hosts before that a host of a port stands for now.
func (s servedSearch) covered(port int32) []routing.Host {
	on := protocolOn(s.after, port)
	others, _ := Candidates(s.after, port, "")
	if slices.ContainsFunc(others, func(c Candidate) bool { return Reaches(c.Action, on) }) {
		return s.hosts
	}
	var out []routing.Host
	for _, h := range s.hosts {
		if parent, has := h.Parent(); has && s.after.Level(port, parent) != nil {
			out = append(out, h)
		}
	}
	return out
}

// allHosts returns the hosts of all ports of load balancers, and those of their certificates.
func allHosts(tables []*precedence.Table) []routing.Host {
	var out []routing.Host
	for _, t := range byKey(tables) {
		for _, c := range t.Certificates {
			for _, name := range c.Hosts {
				out = append(out, routing.Host(name))
			}
		}
		for _, l := range t.Listeners {
			for _, level := range t.Levels(l.Port) {
				out = append(out, level.Host)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// A servedComparison compares the requests for a class of hosts on a port.
type servedComparison struct {
	*hostComparison
	servedSearch
	admissions map[string]admission // by answer
}

func (c *servedComparison) compare() {
	c.compareAddresses()
	c.compareAdmissions()
}

// compareAdmissions adds the requests that a port asks for less than those before.
func (c *servedComparison) compareAdmissions() {
	listener := listenerOn(c.after(), c.port)
	lists := [][]requests.Entry{c.second}
	for i, candidate := range c.now {
		c.second[i].Answer = c.answer("a", c.after(), listener, candidate.Action)
	}
	if len(c.admissions) == 0 {
		return
	}
	lists = append(lists, c.ways()...)
	if !c.mayLose() {
		return
	}
	found := map[int]bool{}
	for _, wanted := range []Protection{Less, Unknown} {
		for _, f := range c.search(lists, func(answers []string) bool {
			return c.verdict(answers).Protection == wanted
		}) {
			if !found[f.First] {
				found[f.First] = true
				c.tell(f, c.verdict(answersTo(lists, f.Request)))
			}
		}
	}
}

// search returns requests that lists answer as wanted: those of the port, and of the ways before.
// Where it does not come to its end, it tries one request for each entry.
func (c *servedComparison) search(
	lists [][]requests.Entry, wanted requests.Wanted,
) []requests.FoundEntry {
	if len(lists) > 1+mostWays {
		c.leaveUndecided(requests.Undecided{Why: fmt.Sprintf("more than %d ports with different "+
			"rules served this host before, so only one request for each rule was compared", mostWays)})
		return c.samples(lists, wanted)
	}
	found, undecided := c.finder.FindAmong(lists, wanted)
	if undecided.Why != "" {
		c.leaveUndecided(undecided)
		found = append(found, c.samples(lists, wanted)...)
	}
	return found
}

func (c *servedComparison) before() *precedence.Table { return c.hostComparison.before }
func (c *servedComparison) after() *precedence.Table  { return c.hostComparison.after }

// answer returns a text that stands for an admission and the Services behind it, "" if an action reaches
// no Service.
func (c *servedComparison) answer(
	side string, t *precedence.Table, l *routing.Listener, a routing.Action,
) string {
	if !Reaches(a, l.Protocol) {
		return ""
	}
	g := admission{table: t, listener: l, shown: shownCertificate(t, l, c.class.Name)}
	key := fmt.Sprintf("%s %s %d", side, t.Key, l.Port)
	if SignsIn(a) {
		g.auth = a.Auth
		key += " " + a.Auth.Key()
	}
	c.admissions[key] = g
	for _, w := range a.On(l.Protocol).Forward {
		key += "\t" + string(w.Backend)
	}
	return key
}

// mayLose reports whether an admission before asks for more than one after.
func (c *servedComparison) mayLose() bool {
	for before, b := range c.admissions {
		for after, a := range c.admissions {
			if before[0] == 'b' && after[0] == 'a' && len(losses(b, a)) > 0 {
				return true
			}
		}
	}
	return false
}

// ways returns a list for each way by which requests for the host got to Services before. Ports with
// the same paths and conditions share one, with the answers of all.
func (c *servedComparison) ways() [][]requests.Entry {
	var out [][]requests.Entry
	c.eachPort(func(p portBefore) {
		reaches := false
		for i, candidate := range p.candidates {
			answer := c.answer("b", p.table, p.listener, candidate.Action)
			if answer != "" {
				reaches = true
				if _, backends, _ := strings.Cut(answer, "\t"); p.own {
					answer = own + "\t" + backends
				}
			}
			p.entries[i].Answer = answer
		}
		if reaches {
			out = withWay(out, p.entries)
		}
	})
	return out
}

// A portBefore is a port before, with its rules for the host.
type portBefore struct {
	table      *precedence.Table
	listener   *routing.Listener
	own        bool // it is the port that is compared
	candidates []Candidate
	entries    []requests.Entry
}

func (c *servedComparison) eachPort(do func(portBefore)) {
	for _, t := range c.all {
		if t == nil {
			continue
		}
		for i := range t.Listeners {
			l := &t.Listeners[i]
			candidates, entries := Candidates(t, l.Port, c.class.Name)
			own := t == c.before() && l.Port == c.port
			do(portBefore{t, l, own, candidates, entries})
		}
	}
}

// withWay adds a list, or its answers to a list with the same rules.
func withWay(all [][]requests.Entry, entries []requests.Entry) [][]requests.Entry {
	same := func(a, b requests.Entry) bool {
		return slices.Equal(a.Paths, b.Paths) && a.When.Key() == b.When.Key()
	}
	for _, w := range all {
		if slices.EqualFunc(w, entries, same) {
			for i, e := range entries {
				w[i].Answer = strings.Trim(w[i].Answer+"\n"+e.Answer, "\n")
			}
			return all
		}
	}
	return append(all, entries)
}

// answersTo returns the answers of lists to a request.
func answersTo(lists [][]requests.Entry, r routing.Request) []string {
	out := make([]string, len(lists))
	for i, l := range lists {
		at := slices.IndexFunc(l, func(e requests.Entry) bool {
			return e.When.Match(r) && slices.ContainsFunc(e.Paths,
				func(p routing.Path) bool { return p.Matches(r.Path) })
		})
		if at >= 0 {
			out[i] = l[at].Answer
		}
	}
	return out
}

// samples returns, of one request for each entry, those that lists answer as wanted.
func (c *servedComparison) samples(
	lists [][]requests.Entry, wanted requests.Wanted,
) []requests.FoundEntry {
	var out []requests.FoundEntry
	for _, e := range slices.Concat(lists...) {
		r, some := c.finder.Sample(e)
		r.Method = methodOf(r)
		if !some || !wanted(answersTo(lists, r)) {
			continue
		}
		asked := r
		asked.Port, asked.Host = c.port, c.class.Name
		if at := indexOf(c.now, match(c.after(), asked)); at >= 0 {
			out = append(out, requests.FoundEntry{First: at, Request: r})
		}
	}
	return out
}

// tell adds a request that is less protected.
func (c *servedComparison) tell(f requests.FoundEntry, v verdict) {
	r := f.Request
	r.Port, r.Host, r.Method = c.port, c.class.Name, methodOf(r)
	d := difference{c.hostComparison.pair, c.port, c.class, c.old, c.now, requests.Pair{
		First: indexOf(c.old, match(c.before(), r)), Second: f.First, Request: f.Request}}
	if d.found.First < 0 {
		c.leaveUndecided(requests.Undecided{Why: "a defect of Fairlead: no answer before"})
		return
	}
	change, confirmed := d.change()
	if !confirmed || v.Protection == Same {
		c.leaveUndecided(requests.Undecided{
			Why: "a defect of Fairlead: the specification confirms no difference for " + change.Curl})
		return
	}
	change.Protection, change.Because, change.Details = v.Protection, v.because, v.details
	c.changes = append(c.changes, change)
}
