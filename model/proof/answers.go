package proof

import (
	"slices"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/language"
)

// This file decides whether a rule may answer a request that it must not. For one request the
// answer is exact: a rule answers in some state if there is a least state that has it and none of
// the rules above it that match the request (order.Reach). Requests are searched by the rules that
// they match. If a request is answered correctly, the rules that cause this decide which requests
// are searched next.

// A Result is the result of a check.
type Result string

// The results.
const (
	Proven    Result = "proven"
	Refuted   Result = "refuted"
	Undecided Result = "undecided" // the check exceeds its limits
)

// A Verdict holds the result of a check, and the reason if the plan is not proven. Done has, in
// order, the steps after which a request is answered wrongly, or that cannot be carried out.
type Verdict struct {
	Result  Result
	Why     string
	Done    []int
	Request *routing.Request // nil where the plan itself fails
}

// A checker checks one plan.
type checker struct {
	*Course
	seen   *lb.Observed
	want   lb.LoadBalancer
	plan   plan.Plan
	finder *finder
	// unruled: the cloud checks the health of target groups also while no rule names them
	unruled bool
	left    int // number of pairs of rules that may still be compared
	// protected has the steps that begin or end the protection of requests
	protected []protection
	Verdict
}

// refute records the first fault.
func (c *checker) refute(done []int, r *routing.Request, why string) {
	if c.Result != Refuted {
		c.Verdict = Verdict{Refuted, why, done, r}
	}
}

func (c *checker) leaveUndecided(why string) {
	if c.Result == Proven {
		c.Verdict = Verdict{Result: Undecided, Why: why}
	}
}

// announcedEarly reports whether a diagnostic of the plan announces that a step comes too early.
func (c *checker) announcedEarly(step int, why diag.Reason) bool {
	return step != never && c.plan.Steps[step].Early == why
}

// A claim says that a rule never gives a wrong answer.
type claim struct {
	span  *span
	state set   // holds in states that have these steps
	out   []int // and none of these
	wrong func(before, after *span) bool
	why   string
	// answers replaces wrong where redirects are followed
	answers func(claim, routing.Request) (set, []*span)
}

// check searches a request that all rules of in match, that no rule of out matches, and that gets a
// wrong answer.
func (c *checker) check(k claim, in, out []*span) {
	if c.Result != Proven {
		return
	}
	r, verdict := c.finder.Find(k.span.Port.Number, rules(in), rules(out))
	if verdict != language.Some {
		if verdict == language.Unsure {
			c.leaveUndecided("the search for a request did not come to an end: " + k.span.Rule.String())
		}
		return
	}
	answers := c.answers
	if k.answers != nil {
		answers = k.answers
	}
	done, why := answers(k, r)
	if c.Result != Proven {
		return
	}
	if why == nil {
		c.refute(c.WithPredecessors(append(k.state.Steps(), done.Steps()...)...), &r, k.why)
	}
	for _, s := range why {
		switch {
		case slices.Contains(in, s) || slices.Contains(out, s):
		case s.Matches(r):
			c.check(k, in, append(slices.Clip(out), s))
			in = append(slices.Clip(in), s)
		default:
			c.check(k, append(slices.Clip(in), s), out)
			out = append(slices.Clip(out), s)
		}
	}
}

// nearRules returns the rules that may match a request which v matches; none if too many pairs of
// rules were compared.
func (c *checker) nearRules(v *span) []*span {
	all := v.Port.Near(v.Rule)
	if c.left -= len(all); c.left < 0 {
		c.leaveUndecided("there are too many rules of one host to compare them all")
		return nil
	}
	return all
}

func rules(all []*span) []lb.Rule {
	out := make([]lb.Rule, len(all))
	for i, s := range all {
		out[i] = s.Rule
	}
	return out
}

// answers returns the steps after which a claim fails for a request; or, if it holds, the rules
// that make it hold by matching or not.
func (c *checker) answers(k claim, r routing.Request) (done set, why []*span) {
	before, one := k.span.Port.First(k.span, r, false)
	after, other := k.span.Port.First(k.span, r, true)
	wrong := k.wrong(before, after)
	for at := range k.span.Priority {
		start, out, absent, early, possible := c.whenVisible(k.span, r, at)
		if !possible {
			continue
		}
		start.Add(k.state)
		done, used, ok := c.Reach(start, append(out, k.out...), absent)
		if ok && wrong {
			return done, nil
		}
		if why = slices.Concat(why, early, used); ok {
			why = slices.Concat(why, one, other)
		}
	}
	return nil, append(why, k.span)
}

// whenVisible returns when a rule answers a request between two steps that give rules new
// priorities: after the steps of start, before those of out, and while the rules of absent, which
// are above it, are absent. Early has the rules whose early deletion the plan announces: from then
// on, any answer to their requests is accepted.
func (c *checker) whenVisible(v *span, r routing.Request, at int) (start set,
	out []int, absent, early []*span, possible bool) {
	if v.Priority[at] == 0 {
		return nil, nil, nil, nil, false
	}
	start, out = make(set, c.SetLength()), []int{v.Until}
	if v.Since != never {
		start.Add(c.order[v.Since])
	}
	if at > 0 {
		start.Add(c.order[v.Port.Respaces[at-1]])
	}
	if at < len(v.Port.Respaces) {
		out = append(out, v.Port.Respaces[at])
	}
	for _, w := range c.nearRules(v) {
		above := w.Priority[at] != 0 && w.Priority[at] < v.Priority[at]
		announced := c.announcedEarly(w.Until, diag.DeleteFirst)
		if !announced && !above || !w.Matches(r) {
			continue
		}
		if announced {
			out, early = append(out, w.Until), append(early, w)
		}
		if above {
			absent = append(absent, w)
		}
	}
	return start, out, absent, early, true
}
