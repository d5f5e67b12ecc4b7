package proof

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// This file follows redirects from one port of the load balancer to another. A client has to find
// both ports as they were, or both as they will be. A redirect to a port that is closed
// before or after the plan is broken anyway.

// mostHops is the most redirects that are followed.
const mostHops = 4

// refused is the answer of a closed port.
const refused = "refused"

// targetPort returns the port that a rule redirects to; nil if the load balancer has no such port.
func (c *checker) targetPort(v *span) *port {
	if v.Rule.Action.Redirect == nil {
		return nil
	}
	return c.Ports[v.Rule.Action.Redirect.Target(v.Port.Number, v.Port.Protocol)]
}

// redirectedRequest returns the request after a redirect.
func redirectedRequest(r routing.Request, v *span, to *port) routing.Request {
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

// keepsRequest reports whether a redirect keeps everything of a request that conditions look at.
func keepsRequest(v *span, to *port) bool {
	d := v.Rule.Action.Redirect
	return d.Host == "" && d.Path == "" && d.Query == "" && lb.UsualPort(v.Port.Number) &&
		lb.UsualPort(to.Number)
}

// landingRules returns the rules that may match a redirected request.
func (c *checker) landingRules(v *span, to *port,
	passed ...*port) []*span {
	near, same := to.Served, keepsRequest(v, to)
	if same {
		near = to.Near(v.Rule)
	}
	var out []*span
	for _, u := range near {
		if same && !u.Overlaps(v) {
			continue
		}
		out = append(out, u)
		if next := c.targetPort(u); next != nil && next != to && !slices.Contains(passed, next) {
			out = append(out, c.landingRules(u, next, append(passed, to)...)...)
		}
	}
	return out
}

// changesOf returns the steps that add or remove some rules, or change their order.
func changesOf(rules []*span) []int {
	var out []int
	for _, u := range rules {
		out = append(out, u.Since, u.Until)
		if len(u.Port.Respaces) > 0 && slices.ContainsFunc(rules, func(w *span) bool {
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

// checkRedirects searches requests that a rule redirects before a change of one port, and that
// reach the target port after a change there.
func (c *checker) checkRedirects(v *span) {
	to := c.targetPort(v)
	stays := c.seen.Listener(v.Port.Number) != nil &&
		slices.ContainsFunc(c.want.Listeners, func(l lb.Listener) bool { return l.Port == v.Port.Number })
	if to == nil || !stays { // a request has one answer only, before or after
		return
	}
	k := claim{span: v, answers: c.answersRedirected, why: "a redirected request may arrive at a " +
		"port that has changed already, or has yet to change: " + v.Rule.String()}
	for i := range c.order {
		if c.announcedEarly(i, diag.RedirectOrder) {
			k.out = append(k.out, i)
		}
	}
	changes := changesOf(c.landingRules(v, to))
	mixes := func(leads, ends int) bool { // it redirects after the one step and before the other
		return slices.ContainsFunc(changes, func(s int) bool {
			return s != never && (leads != never && !c.MustPrecede(s, leads) ||
				ends != never && !c.MustPrecede(ends, s))
		})
	}
	if mixes(v.Since, v.Until) {
		c.check(k, []*span{v}, nil)
	}
	if v.Since != never || v.Until != never {
		return
	}
	for _, w := range c.nearRules(v) {
		some, always := w.Above(v)
		if some && w.Overlaps(v) && (!always || mixes(w.Until, w.Since)) {
			c.check(k, []*span{v, w}, nil)
		}
	}
}

// outcome returns the last answer to a request, after redirects, before or after the plan. A port
// that closes and opens again counts as refusing requests.
func (c *checker) outcome(p *port, r routing.Request, after bool) string {
	for range mostHops {
		if p.Opens != never && p.Closes != never {
			return refused
		}
		v := firstAnswering(p.Served, r, after)
		if v == nil {
			return refused
		}
		to := c.targetPort(v)
		if to == nil {
			return v.Rule.Action.Key()
		}
		p, r = to, redirectedRequest(r, v, to)
	}
	return "a loop"
}

// A walk is a request that follows redirects, with the states in which it can.
type walk struct {
	request routing.Request
	state   set
	out     []int
	absent  []*span
	hops    int
}

// findWrongEnd searches a state in which v answers the request and the last answer, after
// redirects, is wrong.
func (c *checker) findWrongEnd(v *span, w walk, wrong func(string) bool) (set, bool) {
	for at := range v.Priority {
		start, out, absent, _, possible := c.whenVisible(v, w.request, at)
		if !possible {
			continue
		}
		start.Add(w.state)
		next := walk{w.request, start, slices.Concat(w.out, out), slices.Concat(w.absent, absent), w.hops}
		if done, is := c.followFrom(v, next, wrong); is {
			return done, true
		}
	}
	return nil, false
}

// followFrom continues findWrongEnd in the states in which v answers w.request.
func (c *checker) followFrom(v *span, w walk, wrong func(string) bool) (set, bool) {
	done, _, ok := c.Reach(w.state, w.out, w.absent)
	to := c.targetPort(v)
	switch {
	case !ok, c.announcedEarly(v.Since, diag.DeleteFirst):
		return nil, false
	case to == nil:
		return done, wrong(v.Rule.Action.Key())
	case w.hops == mostHops:
		return done, wrong("a loop")
	}
	w.request, w.hops = redirectedRequest(w.request, v, to), w.hops+1
	meets := slices.DeleteFunc(slices.Clone(to.Served), func(u *span) bool {
		return !u.Matches(w.request)
	})
	for _, u := range meets {
		if done, is := c.findWrongEnd(u, w, wrong); is {
			return done, true
		}
	}
	if c.announcedEarly(to.Closes, diag.DeleteFirst) {
		// The plan already reports that this port closes early (DeleteFirst).
		w.out = append(slices.Clip(w.out), to.Closes)
	}
	done, _, ok = c.Reach(w.state, w.out, slices.Concat(w.absent, meets))
	return done, ok && wrong(refused)
}

// answersRedirected is used as claim.answers for rules that redirect.
func (c *checker) answersRedirected(k claim, r routing.Request) (done set,
	why []*span) {
	p := k.span.Port
	before, after := c.outcome(p, r, false), c.outcome(p, r, true)
	done, is := c.findWrongEnd(k.span, walk{request: r, out: k.out, hops: 1}, func(end string) bool {
		return before != refused && after != refused && end != before && end != after
	})
	if is {
		return done, nil
	}
	old, one := p.First(k.span, r, false)
	next, other := p.First(k.span, r, true)
	if old != nil && next != nil && c.targetPort(old) != nil &&
		old.Rule.Action.Location == next.Rule.Action.Location {
		return nil, slices.Concat(one, other, []*span{k.span})
	}
	why = []*span{k.span}
	landing := c.landingRules(k.span, c.targetPort(k.span))
	for _, s := range slices.Concat(p.Near(k.span.Rule), landing) {
		if to := c.targetPort(s); to != nil && !keepsRequest(s, to) {
			c.leaveUndecided("redirects that change requests: " + k.span.Rule.String())
		}
		if s.Overlaps(k.span) {
			why = append(why, s)
		}
	}
	return nil, why
}
