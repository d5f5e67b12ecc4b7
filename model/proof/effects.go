package proof

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/language"
)

// This file says what each step of a plan changes for requests, if the steps are done in the order of the list. A class
// of requests is those that one rule answers before a step, and another one with another action after it.

// An Effect is what a step waits for, and what it changes for requests.
type Effect struct {
	// WaitsFor are the steps that have to be done before, without those for which these wait.
	WaitsFor []int
	// Classes is how many classes of requests get another answer.
	Classes int
	// Unsure: the search exceeded its budget, and there may be more classes.
	Unsure bool
	// Request is a shortest request of the first class; Protocol is that of its port. An answer is nil where the port is
	// closed.
	Request       routing.Request
	Protocol      routing.Protocol
	Before, After *lb.Action
}

// Effects returns the effect of each step of a plan that changes the load balancer seen to the one wanted.
func Effects(seen *lb.Observed, want lb.LoadBalancer, p plan.Plan, d lb.Dialect) []Effect {
	out := make([]Effect, len(p.Steps))
	if len(p.Steps) > mostSteps {
		for i := range out {
			out[i] = Effect{WaitsFor: p.Steps[i].After, Unsure: true}
		}
		return out
	}
	if seen == nil {
		seen = &lb.Observed{Key: p.Key}
	}
	e := &effects{Course: follow(seen, want, p, d), finder: newFinder(d, mostSearches), left: mostCompared}
	changed := make([][]*span, len(p.Steps))
	for _, number := range slices.Sorted(maps.Keys(e.Ports)) {
		for _, s := range e.Ports[number].Served {
			for _, step := range []int{s.Since, s.Until} {
				if step != never {
					changed[step] = append(changed[step], s)
				}
			}
		}
	}
	for i, s := range p.Steps {
		out[i] = e.of(i, changed[i])
		out[i].WaitsFor = e.direct(s.After)
	}
	return out
}

// effects searches the requests whose answers a step changes.
type effects struct {
	*Course
	finder *finder
	left   int // number of pairs of rules that may still be compared
}

// direct returns steps without those that another one of them waits for.
func (o order) direct(steps []int) []int {
	var out []int
	covered := make(set, o.SetLength())
	for _, s := range slices.Backward(steps) {
		if !covered.Has(s) {
			out = append(out, s)
			covered.Add(o[s])
		}
	}
	slices.Reverse(out)
	return out
}

// of returns the effect of a step that creates or deletes these rules.
func (e *effects) of(step int, changed []*span) Effect {
	var out Effect
	known := map[[2]*span]bool{}
	for _, s := range changed {
		near := slices.DeleteFunc(slices.Clone(s.Port.Near(s.Rule)), func(o *span) bool { return !o.Overlaps(s) })
		if e.left -= len(s.Port.Near(s.Rule)); e.left < 0 {
			out.Unsure = true
			break
		}
		before, after := stateOf(near, step-1), stateOf(near, step)
		for _, pair := range pairsWith(s, step, before, after) {
			if known[pair] || pair[0] != nil && pair[0].Same(pair[1]) {
				continue
			}
			known[pair] = true
			e.add(&out, s.Port, pair, append(precedingIn(before, pair[0]), precedingIn(after, pair[1])...))
		}
	}
	return out
}

// pairsWith returns the pairs of a rule before a step and one after it of which one is the rule that the step creates or
// deletes. Nil stands for a port that is closed.
func pairsWith(s *span, step int, before, after []*span) (out [][2]*span) {
	orClosed := func(all []*span) []*span {
		if len(all) == 0 {
			return []*span{nil}
		}
		return all
	}
	if s.Until == step {
		for _, o := range orClosed(after) {
			out = append(out, [2]*span{s, o})
		}
	}
	if s.Since == step {
		for _, o := range orClosed(before) {
			out = append(out, [2]*span{o, s})
		}
	}
	return out
}

// add searches a request that a pair of rules answers, and that none of the rules above them matches.
func (e *effects) add(to *Effect, p *port, pair [2]*span, above []*span) {
	in := slices.DeleteFunc(slices.Clone(pair[:]), func(s *span) bool { return s == nil })
	if slices.ContainsFunc(in, func(s *span) bool { return slices.Contains(above, s) }) {
		return
	}
	r, verdict := e.finder.Find(p.Number, rules(in), rules(above))
	switch verdict {
	case language.Some:
		asksSource := func(s *span) bool { return s.Rule.Condition("source") != nil }
		if !slices.ContainsFunc(slices.Concat(in, above), asksSource) {
			r.Source = netip.Addr{} // it makes no difference
		}
		if to.Classes++; to.Classes == 1 {
			to.Request, to.Protocol, to.Before, to.After = r, p.Protocol, actionOf(pair[0]), actionOf(pair[1])
		}
	case language.Unsure:
		to.Unsure = true
	default: // there is none
	}
}

func actionOf(s *span) *lb.Action {
	if s == nil {
		return nil
	}
	return &s.Rule.Action
}

// stateOf returns those of the rules of a port that exist once a step of the list is done, in the order in which they answer.
func stateOf(all []*span, step int) []*span {
	var out []*span
	at := 0
	for _, s := range all {
		if s.Since <= step && (s.Until == never || s.Until > step) {
			out = append(out, s)
		}
	}
	if len(out) > 0 {
		at, _ = slices.BinarySearch(out[0].Port.Respaces, step+1) // how many steps that renumber are done
	}
	slices.SortFunc(out, func(a, b *span) int { return cmp.Compare(a.Priority[at], b.Priority[at]) })
	return out
}

// precedingIn returns the rules that precede one.
func precedingIn(all []*span, s *span) []*span {
	return slices.Clone(all[:max(0, slices.Index(all, s))])
}
