package proof

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/proof/course"
	"fairlead.dev/fairlead/model/routing"
)

// This file follows redirects from one port of the load balancer to another. A client has to find
// both ports as they were, or both as they will be. A redirect to a port that is closed
// before or after the plan is broken anyway.

// mostHops is how many redirects are followed.
const mostHops = 4

// refused is the answer of a closed port.
const refused = "refused"

// target is the port that a rule redirects to; nil if the load balancer has no such port.
func (c *checker) target(v *course.Span) *course.Port {
	if v.Rule.Action.Redirect == nil {
		return nil
	}
	return c.Ports[v.Rule.Action.Redirect.Target(v.Port.Number, v.Port.Protocol)]
}

// arriving is a request once it has followed a redirect.
func arriving(r routing.Request, v *course.Span, to *course.Port) routing.Request {
	next, d := r, v.Rule.Action.Redirect
	fill := strings.NewReplacer("#{host}", r.Hostname(), "#{path}", strings.TrimPrefix(r.Path, "/"),
		"#{port}", fmt.Sprint(r.Port), "#{protocol}", strings.ToLower(string(v.Port.Protocol)))
	if next.Port, next.Host = to.Number, r.Hostname(); d.Host != "" {
		next.Host = fill.Replace(d.Host)
	}
	if !lb.UsualPort(next.Port) {
		next.Host += fmt.Sprintf(":%d", next.Port)
	}
	if d.Path != "" {
		next.Path = fill.Replace(d.Path)
	}
	if d.Query != "" {
		kept := url.Values(r.Query).Encode()
		set := strings.ReplaceAll(d.Query, "#{query}", kept)
		next.Query, _ = url.ParseQuery(set) // a part that cannot be read matches no condition
	}
	return next
}

// keeps reports whether conditions say the same of a request once it has followed a redirect.
func keeps(v *course.Span, to *course.Port) bool {
	d := v.Rule.Action.Redirect
	return d.Host == "" && d.Path == "" && d.Query == "" && lb.UsualPort(v.Port.Number) &&
		lb.UsualPort(to.Number)
}

// landing are the rules that a redirected request may meet.
func (c *checker) landing(v *course.Span, to *course.Port, passed ...*course.Port) []*course.Span {
	near, same := to.Served, keeps(v, to)
	if same {
		near = to.Near(v.Rule)
	}
	var out []*course.Span
	for _, u := range near {
		if same && !u.Overlaps(v) {
			continue
		}
		out = append(out, u)
		if next := c.target(u); next != nil && next != to && !slices.Contains(passed, next) {
			out = append(out, c.landing(u, next, append(passed, to)...)...)
		}
	}
	return out
}

// changesOf are the steps that begin or end some rules, or put one above another one.
func changesOf(rules []*course.Span) []int {
	var out []int
	for _, u := range rules {
		out = append(out, u.Since, u.Until)
		if len(u.Port.Respaces) > 0 && slices.ContainsFunc(rules, func(w *course.Span) bool {
			if w.Port != u.Port {
				return false
			}
			some, always := w.Above(u)
			return some && !always
		}) {
			out = append(out, u.Port.Respaces...)
		}
	}
	return out
}

// redirected looks for requests that a rule redirects before one of the ports has changed, and that
// arrive after the other one has.
func (c *checker) redirected(v *course.Span) {
	to := c.target(v)
	stays := c.seen.Listener(v.Port.Number) != nil &&
		slices.ContainsFunc(c.want.Listeners, func(l lb.Listener) bool { return l.Port == v.Port.Number })
	if to == nil || !stays { // there is one answer, before or after
		return
	}
	k := claim{span: v, answers: c.followed, why: "a redirected request may arrive at a port " +
		"that has changed already, or has yet to change: " + v.Rule.String()}
	for i := range c.Order {
		if c.early(i, diag.RedirectOrder) {
			k.out = append(k.out, i)
		}
	}
	changes := changesOf(c.landing(v, to))
	mixes := func(leads, ends int) bool { // it redirects after the one step and before the other
		return slices.ContainsFunc(changes, func(s int) bool {
			return s != course.Never && (leads != course.Never && !c.Must(s, leads) ||
				ends != course.Never && !c.Must(ends, s))
		})
	}
	if mixes(v.Since, v.Until) {
		c.check(k, []*course.Span{v}, nil)
	}
	if v.Since != course.Never || v.Until != course.Never {
		return
	}
	for _, w := range c.near(v) {
		some, always := w.Above(v)
		if some && w.Overlaps(v) && (!always || mixes(w.Until, w.Since)) {
			c.check(k, []*course.Span{v, w}, nil)
		}
	}
}

// outcome is what a request gets that follows redirects, before the plan or after it. A port that
// closes and opens again refuses requests in any case.
func (c *checker) outcome(p *course.Port, r routing.Request, after bool) string {
	for range mostHops {
		if p.Opens != course.Never && p.Closes != course.Never {
			return refused
		}
		v := course.Answering(p.Served, r, after)
		if v == nil {
			return refused
		}
		to := c.target(v)
		if to == nil {
			return v.Rule.Action.Key()
		}
		p, r = to, arriving(r, v, to)
	}
	return "a loop"
}

// A walk is a request on its way along redirects, in the states that allow that.
type walk struct {
	request routing.Request
	state   course.Set
	out     []int
	absent  []*course.Span
	hops    int
}

// chain looks for a state in which a rule answers a request, and what it gets in the end is wrong.
func (c *checker) chain(v *course.Span, w walk, wrong func(string) bool) (course.Set, bool) {
	for at := range v.Priority {
		start, out, absent, _, possible := c.visible(v, w.request, at)
		if !possible {
			continue
		}
		start.Add(w.state)
		next := walk{w.request, start, slices.Concat(w.out, out), slices.Concat(w.absent, absent), w.hops}
		if done, is := c.arrives(v, next, wrong); is {
			return done, true
		}
	}
	return nil, false
}

// arrives is chain for states in which the rule answers.
func (c *checker) arrives(v *course.Span, w walk, wrong func(string) bool) (course.Set, bool) {
	done, _, ok := c.Reach(w.state, w.out, w.absent)
	to := c.target(v)
	switch {
	case !ok, c.early(v.Since, diag.DeleteFirst):
		return nil, false
	case to == nil:
		return done, wrong(v.Rule.Action.Key())
	case w.hops == mostHops:
		return done, wrong("a loop")
	}
	w.request, w.hops = arriving(w.request, v, to), w.hops+1
	meets := slices.DeleteFunc(slices.Clone(to.Served), func(u *course.Span) bool {
		return !u.Matches(w.request)
	})
	for _, u := range meets {
		if done, is := c.chain(u, w, wrong); is {
			return done, true
		}
	}
	if c.early(to.Closes, diag.DeleteFirst) {
		w.out = append(slices.Clip(w.out), to.Closes) // that is announced, for redirected requests too
	}
	done, _, ok = c.Reach(w.state, w.out, slices.Concat(w.absent, meets))
	return done, ok && wrong(refused)
}

// followed is answers for requests that follow redirects.
func (c *checker) followed(k claim, r routing.Request) (done course.Set, why []*course.Span) {
	p := k.span.Port
	before, after := c.outcome(p, r, false), c.outcome(p, r, true)
	done, is := c.chain(k.span, walk{request: r, out: k.out, hops: 1}, func(end string) bool {
		return before != refused && after != refused && end != before && end != after
	})
	if is {
		return done, nil
	}
	old, one := p.First(k.span, r, false)
	next, other := p.First(k.span, r, true)
	if old != nil && next != nil && c.target(old) != nil &&
		old.Rule.Action.Location == next.Rule.Action.Location {
		return nil, slices.Concat(one, other, []*course.Span{k.span})
	}
	why = []*course.Span{k.span}
	for _, s := range slices.Concat(p.Near(k.span.Rule), c.landing(k.span, c.target(k.span))) {
		if to := c.target(s); to != nil && !keeps(s, to) {
			c.undecided("redirects that change requests: " + k.span.Rule.String())
		}
		if s.Overlaps(k.span) {
			why = append(why, s)
		}
	}
	return nil, why
}
