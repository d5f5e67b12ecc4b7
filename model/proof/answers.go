package proof

import (
	"slices"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/proof/course"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/language"
	"fairlead.dev/fairlead/model/witness"
)

// This file decides whether a rule may answer a request that it must not. For one request that is
// decided exactly: a rule answers in some state if there is a least state that has it and none of
// the rules above it that match the request (Order.Reach). Requests are found by the rules that
// matter, and if one turns out well, the rules that made it so say which others do.

// A Result is what came of a check.
type Result string

// The results.
const (
	Proven    Result = "proven"
	Refuted   Result = "refuted"
	Undecided Result = "undecided" // it takes more searches than there are for it
)

// A Verdict says whether a plan is proven, and if not, why. Done are the steps after which a
// request is answered otherwise, or that cannot be carried out, in their order.
type Verdict struct {
	Result  Result
	Why     string
	Done    []int
	Request *routing.Request // nil where the plan itself fails
}

// A checker checks one plan.
type checker struct {
	*course.Course
	seen   *lb.Observed
	want   lb.LoadBalancer
	plan   plan.Plan
	finder *witness.Finder
	left   int // how many pairs of rules may be compared yet
	// protected has the steps after which requests are protected otherwise
	protected []protection
	Verdict
}

// refute notes the first thing that is wrong.
func (c *checker) refute(done []int, r *routing.Request, why string) {
	if c.Result != Refuted {
		c.Verdict = Verdict{Refuted, why, done, r}
	}
}

func (c *checker) undecided(why string) {
	if c.Result == Proven {
		c.Verdict = Verdict{Result: Undecided, Why: why}
	}
}

// early reports whether a diagnostic of the plan announces that a step comes too early.
func (c *checker) early(step int, why diag.Reason) bool {
	return step != course.Never && c.plan.Steps[step].Early == why
}

// A claim is that a rule course.Never answers wrongly.
type claim struct {
	span  *course.Span
	state course.Set // of the states that have these steps
	out   []int      // and not these
	wrong func(before, after *course.Span) bool
	why   string
	// answers is instead of wrong where redirects are followed
	answers func(claim, routing.Request) (course.Set, []*course.Span)
}

// check looks for a request that all rules of in match and none of out, and is answered wrongly.
func (c *checker) check(k claim, in, out []*course.Span) {
	if c.Result != Proven {
		return
	}
	r, verdict := c.finder.Find(k.span.Port.Number, rules(in), rules(out))
	if verdict != language.Some {
		if verdict == language.Unsure {
			c.undecided("the search for a request did not come to an end: " + k.span.Rule.String())
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
		c.refute(c.Until(append(k.state.List(), done.List()...)...), &r, k.why)
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

// near returns the rules that may match a request which a rule matches; none where as many as there
// may be are compared already.
func (c *checker) near(v *course.Span) []*course.Span {
	all := v.Port.Near(v.Rule)
	if c.left -= len(all); c.left < 0 {
		c.undecided("there are too many rules of one host to compare them all")
		return nil
	}
	return all
}

func rules(all []*course.Span) []lb.Rule {
	out := make([]lb.Rule, len(all))
	for i, s := range all {
		out[i] = s.Rule
	}
	return out
}

// answers returns the steps after which a claim fails for a request; or, if it holds, the rules
// that make it hold by matching or not.
func (c *checker) answers(k claim, r routing.Request) (done course.Set, why []*course.Span) {
	before, one := k.span.Port.First(k.span, r, false)
	after, other := k.span.Port.First(k.span, r, true)
	wrong := k.wrong(before, after)
	for at := range k.span.Priority {
		start, out, absent, early, possible := c.visible(k.span, r, at)
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

// visible says when a rule answers a request between two steps that give rules new priorities:
// after start, before any of out, and while the rules above it are absent. Early are rules that are
// announced to go early: from then on their requests get what is left.
func (c *checker) visible(v *course.Span, r routing.Request, at int) (start course.Set, out []int,
	absent, early []*course.Span, possible bool) {
	if v.Priority[at] == 0 {
		return nil, nil, nil, nil, false
	}
	start, out = make(course.Set, c.Words()), []int{v.Until}
	if v.Since != course.Never {
		start.Add(c.Order[v.Since])
	}
	if at > 0 {
		start.Add(c.Order[v.Port.Respaces[at-1]])
	}
	if at < len(v.Port.Respaces) {
		out = append(out, v.Port.Respaces[at])
	}
	for _, w := range c.near(v) {
		above := w.Priority[at] != 0 && w.Priority[at] < v.Priority[at]
		announced := c.early(w.Until, diag.DeleteFirst)
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
