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
	dialect  Dialect
	rules    [][]func(asked) bool
}

// An asked is a request with the Host header as conditions see it: regular expressions the host,
// and values the host in lower case.
type asked struct {
	routing.Request
	host, lower string
}

// NewMatcher prepares a listener's rules for matching.
func NewMatcher(l Listener, d Dialect) *Matcher {
	m := &Matcher{listener: l, dialect: d, rules: make([][]func(asked) bool, len(l.Rules))}
	for i, rule := range l.Rules {
		for _, c := range rule.Conditions {
			m.rules[i] = append(m.rules[i], c.matcher(d))
		}
	}
	return m
}

// Match returns the first rule whose conditions all hold, or -1 and the default action.
func (m *Matcher) Match(r routing.Request) (int, Action) {
	host := m.dialect.host(r)
	q := asked{r, host, strings.ToLower(host)}
	for i, conditions := range m.rules {
		if !slices.ContainsFunc(conditions, func(holds func(asked) bool) bool { return !holds(q) }) {
			return i, m.listener.Rules[i].Action
		}
	}
	return -1, m.listener.Default
}

// matcher returns the condition as a function of requests.
func (c Condition) matcher(d Dialect) func(asked) bool {
	switch c.Field {
	case "host":
		value, regex := c.onText(func(v string) func(string) bool { return d.hostValue(strings.ToLower(v)) })
		return func(r asked) bool { return value(r.lower) || regex(r.host) }
	case "path":
		value, regex := c.onText(func(v string) func(string) bool {
			return func(path string) bool { return routing.GlobMatch(v, path) }
		})
		return func(r asked) bool { return value(r.Path) || regex(r.Path) }
	case "source":
		return func(r asked) bool {
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
		matches := same.Matcher()
		return func(r asked) bool { return matches(r.Request) }
	}
}

// onText returns a condition on one text of a request: whether any value matches all of it, and
// whether any regular expression does. A regular expression that does not compile matches nothing.
func (c Condition) onText(matcher func(string) func(string) bool) (value, regex func(string) bool) {
	var values, expressions []func(string) bool
	for _, v := range c.Values {
		values = append(values, matcher(v))
	}
	for _, expression := range c.Regex {
		if re, err := regexp.Compile(`\A(?:` + expression + `)\z`); err == nil {
			expressions = append(expressions, re.MatchString)
		}
	}
	return anyOf(values), anyOf(expressions)
}

// anyOf reports whether any of some functions holds.
func anyOf(all []func(string) bool) func(string) bool {
	return func(text string) bool {
		return slices.ContainsFunc(all, func(matches func(string) bool) bool { return matches(text) })
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
