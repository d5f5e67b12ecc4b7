package lb

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/routing"
)

// Match is what a cloud that reads values as d does with a request on this listener: the index
// of the first rule that matches, or -1 for the default, and the action.
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

// Match is the first rule whose conditions all hold, or -1 and the default action.
func (m *Matcher) Match(r routing.Request) (int, Action) {
	for i, conditions := range m.rules {
		if !slices.ContainsFunc(conditions, func(holds func(routing.Request) bool) bool { return !holds(r) }) {
			return i, m.listener.Rules[i].Action
		}
	}
	return -1, m.listener.Default
}

// matcher is the condition as a function of requests.
func (c Condition) matcher(d Dialect) func(routing.Request) bool {
	switch c.Field {
	case "host":
		texts := c.texts(func(v string) string { return hostRegexp(v, d) })
		return func(r routing.Request) bool {
			host := d.host(r)
			return texts.MatchString(host)
		}
	case "path":
		texts := c.texts(func(v string) string { return pathRegexp(v, d) })
		return func(r routing.Request) bool { return texts.MatchString(d.path(r)) }
	case "source":
		return func(r routing.Request) bool {
			return slices.ContainsFunc(c.Values, func(v string) bool {
				prefix, err := netip.ParsePrefix(v)
				return err == nil && prefix.Contains(r.Source)
			})
		}
	default:
		same := routing.Conditions{{Field: c.Field, Name: c.Name, Values: c.Values}}
		return same.Hold
	}
}

// texts is all of the condition's values as one regular expression. One that does not compile
// matches nothing.
func (c Condition) texts(value func(string) string) *regexp.Regexp {
	var alternatives []string
	for _, v := range c.Values {
		alternatives = append(alternatives, value(v))
	}
	for _, r := range c.Regex {
		if _, err := regexp.Compile(r); err == nil {
			alternatives = append(alternatives, "(?:"+r+")")
		}
	}
	if len(alternatives) == 0 {
		return regexp.MustCompile(`a\A`)
	}
	return regexp.MustCompile(`(?s)\A(?:` + strings.Join(alternatives, "|") + `)\z`)
}

// host is the part of the Host header that conditions look at.
func (d Dialect) host(r routing.Request) string {
	if d.Doubt.HostPort && strings.Contains(r.Host, ":") {
		return strings.ToLower(r.Host)
	}
	return r.Hostname()
}

// path is the request's path as conditions see it.
func (d Dialect) path(r routing.Request) string { return r.Path }

// hostRegexp is a host value as a regular expression.
func hostRegexp(value string, d Dialect) string {
	star := `.*`
	if d.HostStarIsLabel {
		star = `[^.]+`
	}
	return globRegexp(strings.ToLower(value), star, false)
}

// pathRegexp is a path value as a regular expression.
func pathRegexp(value string, d Dialect) string { return globRegexp(value, `.*`, d.Escapes) }

// globRegexp spells a glob as a regular expression. With escapes, a backslash takes the
// character after it literally.
func globRegexp(glob, star string, escapes bool) string {
	var b strings.Builder
	for i := 0; i < len(glob); i++ {
		switch c := glob[i]; {
		case escapes && c == '\\' && i+1 < len(glob):
			i++
			b.WriteString(regexp.QuoteMeta(glob[i : i+1]))
		case c == '*':
			b.WriteString(star)
		case c == '?':
			b.WriteByte('.')
		default:
			b.WriteString(regexp.QuoteMeta(string(c)))
		}
	}
	return b.String()
}
