package lb

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/routing"
)

// Match returns how a cloud that reads values as d answers a request to this listener: the index of
// the first rule that matches, or -1 for the default, and the action.
func (l Listener) Match(r routing.Request, d Dialect) (int, Action) {
	return NewMatcher(l, d).Match(r)
}

// A Matcher answers many requests on one listener.
type Matcher struct {
	listener Listener
	rules    [][]func(routing.Request) bool
}

// NewMatcher prepares a listener's rules for matching.
func NewMatcher(l Listener, d Dialect) *Matcher {
	m := &Matcher{listener: l, rules: make([][]func(routing.Request) bool, len(l.Rules))}
	for i, rule := range l.Rules {
		for _, c := range rule.Conditions {
			m.rules[i] = append(m.rules[i], c.matcher(d))
		}
	}
	return m
}

// Match returns the first rule whose conditions all hold, or -1 and the default action.
func (m *Matcher) Match(r routing.Request) (int, Action) {
	for i, conditions := range m.rules {
		if !slices.ContainsFunc(conditions, func(holds func(routing.Request) bool) bool {
			return !holds(r)
		}) {
			return i, m.listener.Rules[i].Action
		}
	}
	return -1, m.listener.Default
}

// matcher returns the condition as a function of requests.
func (c Condition) matcher(d Dialect) func(routing.Request) bool {
	switch c.Field {
	case "host":
		return c.onText(d.host, func(v string) func(string) bool {
			matches := d.hostValue(strings.ToLower(v))
			return func(host string) bool { return matches(strings.ToLower(host)) }
		})
	case "path":
		return c.onText(func(r routing.Request) string {
			return r.Path
		}, func(v string) func(string) bool {
			return func(path string) bool { return routing.GlobMatch(v, path) }
		})
	case "source":
		return func(r routing.Request) bool {
			return slices.ContainsFunc(c.Values, func(v string) bool {
				prefix, err := netip.ParsePrefix(v)
				return err == nil && prefix.Contains(r.Source)
			})
		}
	default:
		same := routing.Condition{Field: c.Field, Name: c.Name, Values: c.Values}
		if len(c.Regex) > 0 {
			same.Regex, same.Values = true, c.Regex
		}
		return same.Matcher()
	}
}

// onText returns a condition on one text of a request: any value or regular expression matches all
// of it. A regular expression that does not compile matches nothing.
func (c Condition) onText(text func(routing.Request) string,
	value func(string) func(string) bool) func(routing.Request) bool {
	var ways []func(string) bool
	for _, v := range c.Values {
		ways = append(ways, value(v))
	}
	for _, expression := range c.Regex {
		if re, err := regexp.Compile(`\A(?:` + expression + `)\z`); err == nil {
			ways = append(ways, re.MatchString)
		}
	}
	return func(r routing.Request) bool {
		t := text(r)
		return slices.ContainsFunc(ways, func(matches func(string) bool) bool { return matches(t) })
	}
}

// host returns the Host header as conditions see it. AWS does not document whether they see its
// port and its case. With a Doubt, they see both here, which is harder for rules. A test also runs
// the opposite.
func (d Dialect) host(r routing.Request) string {
	host := r.Host
	if !d.Doubt.HostPort || UsualPort(r.Port) {
		host = r.Hostname()
		if at := strings.LastIndex(strings.ToLower(r.Host), host); d.Doubt.HostCase && at == 0 {
			host = r.Host[:len(host)]
		}
	}
	if !d.Doubt.HostCase {
		host = strings.ToLower(host)
	}
	return host
}

// hostValue returns a function that matches one host value.
func (d Dialect) hostValue(value string) func(string) bool {
	switch {
	case !strings.ContainsAny(value, "*?"):
		return func(host string) bool { return host == value }
	case !d.HostStarIsLabel:
		return func(host string) bool { return routing.GlobMatch(value, host) }
	}
	return func(host string) bool { return routing.Host(value).Covers(routing.Host(host)) }
}

// UsualPort reports whether clients leave a port out of the Host header.
func UsualPort(port int32) bool { return port == 80 || port == 443 }
