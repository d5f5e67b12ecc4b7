package replay

import (
	"strings"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// This file finds the rules of a listener that may answer a request.

// A listener is one whose rules are known, by priority. The last one is its default action, whose
// priority in logs is 0.
type listener struct {
	port  int32
	rules []rule
	parts parts
}

type rule struct {
	priority int
	action   lb.Action
	hosts    []matcher // conditions on the host
	paths    []matcher
	when     routing.Conditions
	unclear  bool // there is a condition that lines cannot decide
}

// A matcher decides one condition on the host or on the path.
type matcher = *lb.Matcher

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
				out.paths = append(out.paths, lb.NewMatcher(alone, d))
			case len(c.Regex) > 0:
				out.unclear = true
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

// forHost returns the rules whose conditions on the host hold, by their place. The host is compared
// in lower case and without its port. The rules of Fairlead are equal for other readings.
func (l *listener) forHost(host string) []int32 {
	var out []int32
	r := routing.Request{Port: l.port, Host: strings.ToLower(host)}
	for i := range l.rules {
		if all(l.rules[i].hosts, r) {
			out = append(out, int32(i))
		}
	}
	return out
}

// possible adds the places of the rules that may answer a request, of those for its host.
func (l *listener) possible(out []int32, a *asked, path string, forHost []int32) []int32 {
	request := routing.Request{Port: l.port, Path: path}
	for _, i := range forHost {
		r := &l.rules[i]
		if !all(r.paths, request) {
			continue
		}
		unknown, may := a.unknown(r.when)
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

func all(conditions []matcher, r routing.Request) bool {
	for _, c := range conditions {
		if at, _ := c.Match(r); at < 0 {
			return false
		}
	}
	return true
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
