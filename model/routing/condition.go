package routing

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/printable"
)

// Conditions are conditions on a request besides host and path. All have to hold, each for one of
// its values. They are sorted by field and name, and so are their values, so that equal ones have
// equal keys.
type Conditions []Condition

// A Condition looks at one part of a request. Values of headers, queries and hosts are globs that
// ignore case.
type Condition struct {
	Field string // header, host, method, query or source
	// Name is that of the header or of the query parameter. A query without one has pairs as values: a
	// "name=value", or a value of any parameter.
	Name string
	// Regex: the values are regular expressions over the whole text. Those of hosts ignore case.
	Regex  bool
	Values []string
}

// Match reports whether a request fulfils all conditions.
func (cs Conditions) Match(r Request) bool {
	for _, c := range cs {
		if !c.Matcher()(r) {
			return false
		}
	}
	return true
}

// OnHost returns the conditions on requests for a host, and whether any request for it may fulfil
// them. Those on the host are decided if it is precise.
func (cs Conditions) OnHost(h Host) (Conditions, bool) {
	at := slices.IndexFunc(cs, func(c Condition) bool { return c.Field == "host" })
	if at < 0 || h == Any || strings.Contains(string(h), "*") {
		return cs, true
	}
	if !cs[at].Matcher()(Request{Host: string(h)}) {
		return nil, false
	}
	rest, may := slices.Concat(cs[:at], cs[at+1:]).OnHost(h)
	return rest, may
}

// Host returns the condition on the host, or nil.
func (cs Conditions) Host() *Condition {
	for i := range cs {
		if cs[i].Field == "host" {
			return &cs[i]
		}
	}
	return nil
}

// Matcher returns the condition as a function of requests.
func (c Condition) Matcher() func(Request) bool {
	switch c.Field {
	case "method":
		return func(r Request) bool { return slices.Contains(c.Values, r.Method) }
	case "source":
		return func(r Request) bool {
			return slices.ContainsFunc(c.Values, func(cidr string) bool {
				prefix, err := netip.ParsePrefix(cidr)
				return err == nil && prefix.Contains(r.Source)
			})
		}
	case "host":
		matches := c.text()
		return func(r Request) bool { return matches(r.Hostname()) }
	case "header":
		matches := c.text()
		return func(r Request) bool { return slices.ContainsFunc(valuesOf(r.Header, c.Name), matches) }
	case "query":
		if c.Name == "" {
			return func(r Request) bool { return slices.ContainsFunc(c.Values, r.hasPair) }
		}
		matches := c.text()
		return func(r Request) bool { return slices.ContainsFunc(valuesOf(r.Query, c.Name), matches) }
	}
	return func(Request) bool { return false }
}

// text returns whether a text matches a value.
func (c Condition) text() func(string) bool {
	if !c.Regex {
		return func(text string) bool {
			return slices.ContainsFunc(c.Values, func(v string) bool {
				return GlobMatch(strings.ToLower(v), strings.ToLower(text))
			})
		}
	}
	var all []*regexp.Regexp
	for _, v := range c.Values {
		if c.Field == "host" {
			v = "(?i:" + v + ")"
		}
		if re, err := regexp.Compile(`\A(?:` + v + `)\z`); err == nil { // an invalid one matches nothing
			all = append(all, re)
		}
	}
	return func(text string) bool {
		return slices.ContainsFunc(all, func(re *regexp.Regexp) bool { return re.MatchString(text) })
	}
}

// hasPair reports whether a request has a parameter as a value of a query without a name says.
func (r Request) hasPair(pair string) bool {
	name, value := PairOf(strings.ToLower(pair))
	for k, all := range r.Query {
		if GlobMatch(name, strings.ToLower(k)) && slices.ContainsFunc(all, func(v string) bool {
			return GlobMatch(value, strings.ToLower(v))
		}) {
			return true
		}
	}
	return false
}

// PairOf returns the name and the value of a pair; the name is "*" for a value of any parameter.
func PairOf(pair string) (name, value string) {
	name, value, named := strings.Cut(pair, "=")
	if !named {
		return "*", name
	}
	return name, value
}

// valuesOf returns the values of a name in any case.
func valuesOf(m map[string][]string, name string) []string {
	var out []string
	for k, v := range m {
		if strings.EqualFold(k, name) {
			out = append(out, v...)
		}
	}
	return out
}

// Key is equal for equal conditions and only for them.
func (cs Conditions) Key() string {
	var b strings.Builder
	for _, c := range cs {
		fmt.Fprintf(&b, "%s(%s)%s%q;", c.Field, c.Name, c.relation(), c.Values)
	}
	return b.String()
}

// String describes the conditions.
func (cs Conditions) String() string {
	said := make([]string, len(cs))
	for i, c := range cs {
		said[i] = c.Field
		if c.Name != "" {
			said[i] += " " + printable.Word(c.Name)
		}
		said[i] += " " + c.relation() + " " + strings.Join(printable.Words(c.Values), " | ")
	}
	return strings.Join(said, ", ")
}

func (c Condition) relation() string {
	if c.Regex {
		return "~"
	}
	return "="
}
