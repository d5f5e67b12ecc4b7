package replay

import (
	"regexp"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// This file finds the rules of a listener that may answer a request.

// A listener has known rules, by priority. The last one is its default action, whose priority in
// logs is 0.
type listener struct {
	port  int32
	rules []rule
	parts parts
}

type rule struct {
	priority int
	action   lb.Action
	hosts    []*lb.Matcher // one for each condition on the host
	paths    []pathValues  // one for each condition on the path
	when     routing.Conditions
	foreign  bool // Fairlead did not create it
	unclear  bool // there is a condition that lines cannot decide
}

// pathValues has the values of a condition on the path, of which one has to match. It is a faster
// lb.Matcher.
type pathValues struct {
	globs   []pathGlob
	regexes []*regexp.Regexp
}

// A pathGlob is a value with the text before its first wildcard.
type pathGlob struct{ text, glob string }

func pathValuesOf(c lb.Condition) pathValues {
	var out pathValues
	for _, v := range c.Values {
		text := v
		if at := strings.IndexAny(v, "*?"); at >= 0 {
			text = v[:at]
		}
		out.globs = append(out.globs, pathGlob{text, v})
	}
	for _, expression := range c.Regex {
		if re := (routing.Path{Type: routing.Regex, Value: expression}).Expression(); re != nil {
			out.regexes = append(out.regexes, re)
		}
	}
	return out
}

func (v *pathValues) match(path string) bool {
	for i := range v.globs {
		g := &v.globs[i]
		if strings.HasPrefix(path, g.text) && routing.GlobMatch(g.glob, path) {
			return true
		}
	}
	return slices.ContainsFunc(v.regexes, func(re *regexp.Regexp) bool {
		return re.MatchString(path)
	})
}

func newListener(o *lb.ObservedListener, d lb.Dialect) *listener {
	d.Doubt = lb.Doubt{}
	l := &listener{port: o.Port}
	for _, r := range o.Rules {
		out := rule{priority: r.Priority, action: r.Action}
		for _, c := range r.Conditions {
			alone := lb.Listener{Port: o.Port, Rules: []lb.Rule{{Conditions: []lb.Condition{c}}}}
			switch {
			case c.Field == "host":
				out.hosts = append(out.hosts, lb.NewMatcher(alone, d))
			case c.Field == "path":
				out.paths = append(out.paths, pathValuesOf(c))
			case len(c.Regex) > 0 && c.Field != "header":
				out.unclear = true
			case len(c.Regex) > 0:
				out.when = append(out.when,
					routing.Condition{Field: c.Field, Name: c.Name, Regex: true, Values: c.Regex})
			default:
				out.when = append(out.when,
					routing.Condition{Field: c.Field, Name: c.Name, Values: c.Values})
			}
		}
		l.parts.add(out.when)
		l.rules = append(l.rules, out)
	}
	l.rules = append(l.rules, rule{action: o.Default})
	return l
}

// markForeign marks the foreign rules.
func (l *listener) markForeign(priorities []int) {
	for i := range l.rules {
		l.rules[i].foreign = slices.Contains(priorities, l.rules[i].priority)
	}
}

// forHost returns the indices of the rules whose conditions on the host hold. The host is compared
// in lower case and without its port. Fairlead's rules are right for other readings, too.
func (l *listener) forHost(host string) []int32 {
	var out []int32
	r := routing.Request{Port: l.port, Host: strings.ToLower(host)}
	matches := func(m *lb.Matcher) bool {
		at, _ := m.Match(r)
		return at == 0
	}
	for i := range l.rules {
		if holdsForAll(l.rules[i].hosts, matches) {
			out = append(out, int32(i))
		}
	}
	return out
}

// possible adds the indices of the rules for the host that may answer a request.
func (l *listener) possible(out []int32, a *loggedRequest, path string, forHost []int32) []int32 {
	matches := func(v pathValues) bool { return v.match(path) }
	for _, i := range forHost {
		r := &l.rules[i]
		if !holdsForAll(r.paths, matches) {
			continue
		}
		unknown, may := a.undecidedBits(r.when)
		if !may {
			continue
		}
		out = append(out, i)
		if unknown == 0 && !r.unclear {
			break
		}
	}
	return out
}

func holdsForAll[C any](conditions []C, holds func(C) bool) bool {
	return !slices.ContainsFunc(conditions, func(c C) bool { return !holds(c) })
}

// at returns the rule with a priority, or nil.
func (l *listener) at(priority int) *rule {
	for i := range l.rules {
		if l.rules[i].priority == priority {
			return &l.rules[i]
		}
	}
	return nil
}
