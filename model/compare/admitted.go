package compare

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/requests"
	"fairlead.dev/fairlead/model/routing"
)

// This file finds requests that a Service newly gets from clients of other addresses: a condition on
// the client's address kept them from it, on another port or load balancer, and no port let them
// through. What the port's own conditions kept away is found by the comparison of its two answers.

// An admittedSearch compares the Services that a port forwards to with those before.
type admittedSearch struct {
	*servedComparison
	watched map[routing.BackendID]bool // with a condition on the client's address before
}

// compareAddresses adds the requests of which only the client's address kept Services before.
func (c *servedComparison) compareAddresses() {
	s := admittedSearch{c, c.watchedBackends()}
	if len(s.watched) == 0 {
		return
	}
	ways, kept := s.lists()
	base := append([][]requests.Entry{s.after()}, ways...)
	all := slices.Concat(base, kept)
	details := func(answers []string) []string { return admitted(answers, len(ways)) }
	wanted := func(answers []string) bool { return len(details(answers)) > 0 }
	found := map[int]bool{}
	for _, list := range kept {
		lists := append(slices.Clip(base), list)
		for _, f := range c.search(lists, wanted) {
			if found[f.First] {
				continue
			}
			found[f.First] = true
			from := bounded(details(answersTo(all, f.Request)))
			c.tell(f, verdict{Less, becauseOfAddresses, from})
		}
	}
}

// watchedBackends returns the Services that the port forwards to, and that other ports kept from
// some addresses before.
func (c *servedComparison) watchedBackends() map[routing.BackendID]bool {
	out := map[routing.BackendID]bool{}
	c.eachPort(func(p portBefore) {
		for _, old := range p.candidates {
			if p.own || !looksAtSource(old) {
				continue
			}
			for _, now := range c.now {
				for _, w := range now.Action.Forward {
					if sharesBackend(old.Action, routing.Action{Forward: []routing.Weighted{w}}) {
						out[w.Backend] = true
					}
				}
			}
		}
	})
	return out
}

func looksAtSource(c Candidate) bool {
	return c.Route != nil && len(besidesSource(c.Route.When)) < len(c.Route.When)
}

// after returns the rules of the port, each with the watched Services that it forwards to.
func (s admittedSearch) after() []requests.Entry {
	l := listenerOn(s.servedComparison.after(), s.port)
	return admittedBy(l, s.forwarding(s.now, s.second, l.Protocol))
}

// lists returns those of the Services that ports forwarded requests to before, and of those that
// only the client's address kept them from.
func (s admittedSearch) lists() (ways, kept [][]requests.Entry) {
	s.eachPort(func(p portBefore) {
		entries := s.forwarding(p.candidates, p.entries, p.listener.Protocol)
		if !p.own { // what its ranges newly admit is reported as such
			entries = admittedBy(p.listener, entries)
		}
		if slices.ContainsFunc(entries, func(e requests.Entry) bool { return e.Answer != "" }) {
			ways = withWay(ways, entries)
		}
		for _, list := range s.keptBy(p) {
			kept = withWay(kept, list)
		}
	})
	return ways, kept
}

// forwarding returns entries with the watched Services that they forward to as answers.
func (s admittedSearch) forwarding(
	all []Candidate, entries []requests.Entry, on routing.Protocol,
) []requests.Entry {
	out := slices.Clone(entries)
	for i, c := range all {
		out[i].Answer = strings.Join(s.backends(c.Action.On(on)), "\n")
	}
	return out
}

func (s admittedSearch) backends(a routing.Action) []string {
	var out []string
	for _, w := range a.Forward {
		if s.watched[w.Backend] {
			out = append(out, string(w.Backend))
		}
	}
	return out
}

// keptBy returns a list for each condition of a port on the client's address and each Service: it
// answers requests that fail the condition and nothing else.
func (s admittedSearch) keptBy(p portBefore) [][]requests.Entry {
	var out [][]requests.Entry
	seen := map[string]bool{}
	for _, c := range p.candidates {
		if p.own || !looksAtSource(c) {
			continue
		}
		for _, backend := range s.backends(c.Action) {
			source := sourceOf(c.Route.When)
			if key := backend + "\t" + source; !seen[key] {
				seen[key] = true
				out = append(out, s.keptFrom(p, backend, source))
			}
		}
	}
	return out
}

func (s admittedSearch) keptFrom(p portBefore, backend, source string) []requests.Entry {
	var out []requests.Entry
	for i, c := range p.candidates {
		entry := p.entries[i]
		entry.Answer = ""
		out = append(out, entry)
		if looksAtSource(c) && sourceOf(c.Route.When) == source &&
			slices.Contains(s.backends(c.Action), backend) {
			entry.When = besidesSource(p.entries[i].When)
			entry.Answer = fmt.Sprintf("%s\tkept before by %s port %d: %s",
				backend, p.table.Key, p.listener.Port, source)
			out = append(out, entry)
		}
	}
	return out
}

// sourceOf describes conditions on the client's address.
func sourceOf(when routing.Conditions) string {
	return slices.DeleteFunc(slices.Clone(when), func(c routing.Condition) bool {
		return c.Field != "source"
	}).String()
}

// admittedBy limits entries to the clients that may connect. Of a prefix list, all may.
func admittedBy(l *routing.Listener, entries []requests.Entry) []requests.Entry {
	list := func(text string) bool { _, err := netip.ParsePrefix(text); return err != nil }
	if len(l.Inbound) == 0 || slices.ContainsFunc(l.Inbound, list) {
		return entries
	}
	out := slices.Clone(entries)
	for i, e := range out {
		out[i].When = append(slices.Clone(e.When),
			routing.Condition{Field: "source", Values: l.Inbound})
	}
	return append(out, requests.Entry{Paths: requests.Anything})
}

// admitted returns how a request was kept from a Service that it gets to now; nothing if a way got
// it there before. The answers are those of the port, of the ways, and of what was kept.
func admitted(answers []string, ways int) []string {
	var out []string
	for backend := range strings.SplitSeq(answers[0], "\n") {
		got := func(texts string) bool { return slices.Contains(strings.Split(texts, "\n"), backend) }
		if backend == "" || slices.ContainsFunc(answers[1:1+ways], got) {
			continue
		}
		for _, texts := range answers[1+ways:] {
			for text := range strings.SplitSeq(texts, "\n") {
				if from, how, _ := strings.Cut(text, "\t"); from == backend {
					out = append(out, how)
				}
			}
		}
	}
	return out
}
