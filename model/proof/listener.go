package proof

import (
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
)

// This file has the rules of a listener, and the steps between which each exists.

// A span is a rule, or a default action, with the steps that create and delete it. Priority has one
// entry before the first step that renumbers rules and one after each; 0 where the rule is absent.
type span struct {
	Port         *port
	Rule         lb.Rule
	Matches      func(routing.Request) bool
	Priority     []int
	Since, Until int
	answer       string // the key of the action
	extent       *lb.Extent
	last, next   *span // of the same conditions, where the step changes the action alone
}

// A port is a listener during the plan. Parking rules are in live only.
type port struct {
	Number        int32
	Protocol      routing.Protocol // at the end, if it is open then
	Opens, Closes int
	Respaces      []int
	live          map[int]*span // by priority
	Served        []*span
	byHost        map[string][]*span // of served; under "" those that may be for any
	near          map[string][]*span // by host, what Near returned

	Certificates []shown
	serves       map[lb.CertificateID]*span
	standard     lb.CertificateID // the default one
	verifies     bool             // the certificates of clients, at the end
}

func (c *Course) port(number int32) *port {
	if c.Ports[number] == nil {
		c.Ports[number] = &port{Number: number, Opens: never, Closes: never, live: map[int]*span{},
			byHost: map[string][]*span{}, near: map[string][]*span{},
			serves: map[lb.CertificateID]*span{}}
	}
	return c.Ports[number]
}

// add records that a step creates a rule. Its target groups need their first targets before, unless
// the rule that it replaces forwards to them already.
func (c *Course) add(step int, number int32, priority int, r lb.Rule, before ...lb.GroupID) {
	p, s := c.port(number), c.span(r)
	s.Port, s.Since, s.Until, s.Priority = p, step, never, make([]int, len(p.Respaces)+1)
	s.Priority[len(p.Respaces)] = priority
	for i := len(p.Respaces); i > 0 && !c.MustPrecede(p.Respaces[i-1], step); i-- {
		s.Priority[i-1] = priority // it may exist before rules are renumbered
	}
	for _, g := range r.Action.Groups() {
		c.Namers[g] = append(c.Namers[g], s)
	}
	if step == never {
		c.fact(placeFact(number, priority)).there = true
	} else {
		for _, g := range r.Action.Groups() {
			if c.need(step, group(g)); !slices.Contains(before, g) {
				c.need(step, c.filledFacts(g)...)
			}
		}
		c.need(step, listener(number))
		c.setFacts(step, true, placeFact(number, priority))
	}
	if p.live[priority] = s; !plan.Parked(r) {
		p.Served = append(p.Served, s)
		for _, h := range hosts(r) {
			p.byHost[h] = append(p.byHost[h], s)
		}
	}
}

// end records that a step deletes a rule.
func (c *Course) end(step int, number int32, priority int) {
	p := c.port(number)
	if s := p.live[priority]; s != nil {
		s.Until = step
		for _, g := range s.Rule.Action.Groups() {
			c.need(step, group(g))
		}
		delete(p.live, priority)
	}
	c.need(step, listener(number))
	c.setFacts(step, false, placeFact(number, priority))
}

// replace records that a step replaces a rule.
func (c *Course) replace(step int, number int32, priority int, r lb.Rule) {
	before := c.port(number).live[priority]
	c.end(step, number, priority)
	if before == nil {
		return // that is refuted
	}
	c.add(step, number, priority, r, before.Rule.Action.Groups()...)
	if after := c.port(number).live[priority]; before.extent == after.extent {
		before.next, after.last = after, before
	}
}

// respace records that a step renumbers rules. A rule that an earlier step of the list deletes may
// still exist in another order, with its old priority. A port that closes deletes each rule.
func (c *Course) respace(step int, s plan.RespaceRules) {
	p, next := c.port(s.Port), map[int]*span{}
	for _, one := range p.Served {
		priority := 0
		if !c.MustPrecede(one.Until, step) {
			priority = one.Priority[len(one.Priority)-1]
		}
		one.Priority = append(one.Priority, priority)
	}
	for _, from := range slices.Sorted(maps.Keys(p.live)) {
		to, renumbered := s.To[from]
		if !renumbered {
			to = from
		}
		if next[to] = p.live[from]; !plan.Parked(next[to].Rule) {
			next[to].Priority[len(p.Respaces)+1] = to
		}
	}
	p.live, p.Respaces = next, append(p.Respaces, step)
	for from := range s.To {
		c.setFacts(step, false, placeFact(s.Port, from))
	}
	for _, to := range s.To {
		c.setFacts(step, true, placeFact(s.Port, to))
	}
}

// span returns a new span of a rule. Rules with the same conditions share their matcher.
func (c *Course) span(r lb.Rule) *span {
	key := r.MatchKey()
	if c.known[key] == nil {
		m := lb.NewMatcher(lb.Listener{Rules: []lb.Rule{r}}, c.dialect)
		c.known[key] = &span{extent: lb.ExtentOf(r, c.dialect), Matches: func(r routing.Request) bool {
			at, _ := m.Match(r)
			return at == 0
		}}
	}
	s := *c.known[key]
	s.Rule, s.answer = r, r.Action.Key()
	return &s
}

// hosts returns the hosts of a rule; "" if it may match any.
func hosts(r lb.Rule) []string {
	one := r.Condition("host")
	if one == nil || len(one.Regex) > 0 || strings.ContainsAny(strings.Join(one.Values, ""), "*?") {
		return []string{""}
	}
	return strings.Split(strings.ToLower(strings.Join(one.Values, " ")), " ")
}

// Near returns the rules that may match a request which r matches. All steps must have been
// followed.
func (p *port) Near(r lb.Rule) []*span {
	names := hosts(r)
	if names[0] == "" {
		return p.Served
	}
	if len(names) == 1 {
		if p.near[names[0]] == nil {
			p.near[names[0]] = slices.Concat(p.byHost[""], p.byHost[names[0]])
		}
		return p.near[names[0]]
	}
	out := slices.Clone(p.byHost[""])
	for _, h := range names {
		for _, s := range p.byHost[h] {
			if !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
	}
	return out
}

// Above reports whether s precedes o while both exist: at some time, and always.
func (s *span) Above(o *span) (some, always bool) {
	always = true
	for i := range s.Priority {
		if s.Priority[i] != 0 && o.Priority[i] != 0 {
			some, always = some || s.Priority[i] < o.Priority[i], always && s.Priority[i] < o.Priority[i]
		}
	}
	return some, always
}

// Overlaps reports whether a request may match both rules.
func (s *span) Overlaps(o *span) bool { return s.extent.Overlaps(o.extent) }

// Switches reports whether a rule exists before and after the plan, with different actions.
func (s *span) Switches() bool {
	return s.Since == never && s.next != nil && s.next.Until == never ||
		s.Until == never && s.last != nil && s.last.Since == never
}

// priorityOf returns the priority of a rule before or after the plan; 0 if it does not exist then.
func (s *span) priorityOf(after bool) int {
	switch {
	case !after && s.Since == never:
		return s.Priority[0]
	case after && s.Until == never:
		return s.Priority[len(s.Priority)-1]
	}
	return 0
}

// firstAnswering returns the rule that answers a request before or after the plan; nil for none.
func firstAnswering(all []*span, r routing.Request, after bool) (found *span) {
	for _, s := range all {
		at := s.priorityOf(after)
		if at != 0 && (found == nil || at < found.priorityOf(after)) && s.Matches(r) {
			found = s
		}
	}
	return found
}

// First returns the rule that answers a request of v before or after the plan, and the rules that
// decide this by matching or not.
func (p *port) First(v *span, r routing.Request, after bool) (found *span, decide []*span) {
	near := p.Near(v.Rule)
	found = firstAnswering(near, r, after)
	for _, s := range near {
		at := s.priorityOf(after)
		if at != 0 && (found == nil || at <= found.priorityOf(after)) && s.Overlaps(v) {
			decide = append(decide, s)
		}
	}
	return found, decide
}

// Same reports whether two rules have the same action; false if o is nil.
func (s *span) Same(o *span) bool { return o != nil && s.answer == o.answer }

// Reach returns the least state that has the steps of start and none of the rules of absent: it
// deletes those that it has created. Ok is false if this state has a step of out, or a rule is
// never deleted. Used has the rules that were deleted.
func (o order) Reach(start set, out []int, absent []*span) (done set, used []*span, ok bool) {
	done = append(set(nil), start...)
	for again := true; again; {
		again = false
		for _, w := range absent {
			if w.Since != never && !done.Has(w.Since) || done.Has(w.Until) {
				continue
			}
			used = append(used, w)
			if w.Until == never {
				return done, used, false
			}
			done.Add(o[w.Until])
			again = true
		}
	}
	for _, step := range out {
		if done.Has(step) {
			return done, used, false
		}
	}
	return done, used, true
}
