package routing

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/printable"
)

// Conditions are conditions on a request besides host and path. All have to hold, each for one of
// its values. They are sorted by field and name, and so are their values, so that equal ones have
// equal keys.
type Conditions []Condition

// A Condition looks at one part of a request. Header and query values are globs that ignore case.
type Condition struct {
	Field  string // header, method, query or source
	Name   string // of the header or the query parameter
	Values []string
}

// Hold reports whether a request fulfils all conditions.
func (cs Conditions) Hold(r Request) bool {
	for _, c := range cs {
		if !c.holds(r) {
			return false
		}
	}
	return true
}

func (c Condition) holds(r Request) bool {
	switch c.Field {
	case "method":
		return slices.Contains(c.Values, r.Method)
	case "source":
		return slices.ContainsFunc(c.Values, func(cidr string) bool {
			prefix, err := netip.ParsePrefix(cidr)
			return err == nil && prefix.Contains(r.Source)
		})
	case "header":
		return c.anyMatches(valuesOf(r.Header, c.Name))
	case "query":
		return c.anyMatches(valuesOf(r.Query, c.Name))
	}
	return false
}

func (c Condition) anyMatches(have []string) bool {
	return slices.ContainsFunc(have, func(h string) bool {
		return slices.ContainsFunc(c.Values, func(v string) bool {
			return GlobMatch(strings.ToLower(v), strings.ToLower(h))
		})
	})
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
		fmt.Fprintf(&b, "%s(%s)=%q;", c.Field, c.Name, c.Values)
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
		said[i] += " = " + strings.Join(printable.Words(c.Values), " | ")
	}
	return strings.Join(said, ", ")
}
