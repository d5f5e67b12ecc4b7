package requests

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/language"
)

// This file finds the values of a part of a request: one for each set of conditions that a value
// can fulfil together.

// A part is a part of a request for conditions: "header" and a name, "query" and a name, "method"
// or "source". If a condition of a search is on the query without a name, all those on the query are on
// one part, the pairs of name and value.
type part struct{ field, name string }

// facts has the conditions on a part of a request, and a possible value of each class that the
// conditions distinguish.
type facts struct {
	part       part
	conditions []routing.Condition
	namespaces []string    // of the conditions
	place      map[int]int // of a condition, by its number
	values     []value     // nil until they are needed
	failed     bool        // finding them takes too many steps
}

// A value is a possible value of a part of a request, with the conditions that it fulfils.
type value struct {
	text   string
	source netip.Addr
	holds  []bool // by place
}

func (f *facts) add(number int, c routing.Condition, namespace string) {
	if f.place == nil {
		f.place = map[int]int{}
	}
	f.place[number] = len(f.conditions)
	f.conditions, f.values = append(f.conditions, c), nil
	f.namespaces = append(f.namespaces, namespace)
}

// repeated reports whether a request can have the part several times, or not at all.
func (f *facts) repeated() bool { return f.part.field == "header" || f.part.field == "query" }

// complete finds the values. It reports whether the remaining steps sufficed.
func (f *facts) complete(m *meter) bool {
	if f.values == nil && !f.failed {
		switch f.part.field {
		case "header", "query":
			f.values, f.failed = f.texts(m)
		case "method":
			f.values = methods(f.conditions)
		case "source":
			f.values = sources(f.conditions)
		default:
			f.values = []value{{holds: make([]bool, len(f.conditions))}} // no request fulfils them
		}
	}
	return !f.failed
}

func lower(text string) string { return strings.ToLower(text) }

// addValue adds a value, if no other value fulfils the same conditions.
func addValue(values []value, v value) []value {
	if slices.ContainsFunc(values, func(o value) bool { return slices.Equal(o.holds, v.holds) }) {
		return values
	}
	return append(values, v)
}

// methods returns the methods of conditions, and another one. GET is the first if possible.
func methods(conditions []routing.Condition) []value {
	named := []string{}
	for _, c := range conditions {
		named = append(named, c.Values...)
	}
	var out []value
	usual := []string{"GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "X"}
	for _, m := range append(usual, named...) {
		v := value{text: m}
		for _, c := range conditions {
			v.holds = append(v.holds, slices.Contains(c.Values, m))
		}
		out = addValue(out, v)
	}
	return out
}

// sources returns an address of each set that the ranges of conditions distinguish: such a set
// begins at the first address of all, at that of a range, or after a range. Addresses for
// documentation (RFC 5737 and RFC 3849) come first, if they are in no range.
func sources(conditions []routing.Condition) []value {
	ranges := make([][]netip.Prefix, len(conditions))
	tries := []netip.Addr{netip.MustParseAddr("203.0.113.7"), netip.MustParseAddr("2001:db8::7")}
	var exact []netip.Addr
	for i, c := range conditions {
		for _, text := range c.Values {
			p, err := netip.ParsePrefix(text)
			if err != nil {
				continue // an invalid range is empty
			}
			p = p.Masked()
			ranges[i] = append(ranges[i], p)
			tries = append(tries, p.Addr().Next())
			exact = append(exact, p.Addr(), lastOf(p).Next())
		}
	}
	exact = append(exact, netip.IPv4Unspecified(), netip.IPv6Unspecified())
	var out []value
	for _, a := range append(tries, exact...) {
		if !a.IsValid() {
			continue // after the last address
		}
		v := value{source: a}
		for _, those := range ranges {
			within := func(p netip.Prefix) bool { return p.Contains(a) }
			v.holds = append(v.holds, slices.ContainsFunc(those, within))
		}
		out = addValue(out, v)
	}
	return out
}

// lastOf returns the last address of a range.
func lastOf(p netip.Prefix) netip.Addr {
	bytes := p.Addr().AsSlice()
	for bit := p.Bits(); bit < 8*len(bytes); bit++ {
		bytes[bit/8] |= 1 << (7 - bit%8)
	}
	last, _ := netip.AddrFromSlice(bytes)
	return last
}

// space represents a space in automata, which have visible characters only. No text has it: values
// are compared in lower case.
const space = 'S'

// valueCharacters has the characters of values, in lower case.
var valueCharacters = func() *alphabet {
	var a alphabet
	for c := language.FirstChar; c <= language.LastChar; c++ {
		a[c] = c < 'A' || c > 'Z' || c == space
	}
	return &a
}()

// visible has the characters of values if regular expressions are compared with them, in any case.
var visible = func() *alphabet {
	var a alphabet
	for c := language.FirstChar; c <= language.LastChar; c++ {
		a[c] = true
	}
	return &a
}()

// A textSearch finds the values of a header or of query parameters.
type textSearch struct {
	*facts
	walk
	anyCase bool // regular expressions are compared with the values
	space   rune
	pairs   bool
}

// texts returns values of a header or a query parameter, or pairs of both. It fails if this takes
// too many steps, or if a condition has characters that automata do not have.
func (f *facts) texts(m *meter) (out []value, failed bool) {
	s := &textSearch{facts: f, space: space, pairs: f.part == (part{"query", ""})}
	s.allowed, s.meter = valueCharacters, m
	s.narrow = func(cells []cell) ([]cell, bool) { return cells, true }
	if s.anyCase = slices.ContainsFunc(f.conditions, func(c routing.Condition) bool {
		return c.Regex
	}); s.anyCase {
		s.allowed, s.space = visible, language.Space
	}
	if s.pairs {
		s.addPattern("[^=]+=.*", "")
		s.narrow = func(cells []cell) ([]cell, bool) {
			return cells, len(cells) > 0 && cells[0].pattern == 0
		}
	}
	by, ok := s.addConditions()
	if !ok {
		return nil, true
	}
	var last []value // clients and servers differ in whether they send and take empty values
	if !s.pairs {
		last = []value{{holds: make([]bool, len(f.conditions))}}
	}
	seen := map[string]bool{}
	s.visit = func(text string, accepting []int32) {
		v := value{holds: make([]bool, len(f.conditions))}
		v.text = strings.ReplaceAll(text, string(s.space), " ")
		for _, n := range accepting {
			for _, i := range by[n] {
				v.holds[i] = true
			}
		}
		key := keyOf(accepting, nil)
		switch {
		case s.pairs && (len(accepting) == 0 || accepting[0] != 0), f.part.field == "header" &&
			strings.TrimSpace(v.text) != v.text:
		case s.pairs && strings.HasSuffix(text, "="):
			if !seen["="+key] {
				seen["="+key] = true
				last = append(last, v)
			}
		case text == "":
			last[0] = v
		case !seen[key]:
			seen[key] = true
			out = append(out, v)
		}
	}
	if !s.run("") {
		return nil, true
	}
	return append(out, last...), false
}

// addConditions adds the patterns of all conditions. It returns the conditions of each, and whether
// there is an automaton for all.
func (s *textSearch) addConditions() (by map[int32][]int, ok bool) {
	numbers := map[string]int32{}
	by = map[int32][]int{}
	for i, c := range s.conditions {
		for _, v := range c.Values {
			key := fmt.Sprintf("%t %s %s", c.Regex, c.Name, v)
			n, known := numbers[key]
			if !known {
				n = int32(len(s.languages))
				numbers[key] = n
				if !s.addValue(c, v, s.namespaces[i]) {
					return nil, false
				}
			}
			by[n] = append(by[n], i)
		}
	}
	return by, true
}

// addValue adds the pattern of a value. It reports whether there is an automaton for it.
func (s *textSearch) addValue(c routing.Condition, v, namespace string) bool {
	if strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r > language.LastChar }) ||
		s.anyCase && strings.ContainsRune(v, language.Space) {
		return false
	}
	if c.Regex {
		pattern, ok := language.WithSpace(v)
		return ok && s.addPattern(pattern, namespace)
	}
	v = strings.ReplaceAll(strings.ToLower(v), " ", string(s.space))
	if s.anyCase {
		return s.addPattern("(?i:"+routing.GlobPattern(v)+")", namespace)
	}
	if !s.pairs {
		return s.walk.add(v, namespace)
	}
	name, value := regexp.QuoteMeta(lower(c.Name)), v
	if c.Name == "" {
		name, value = routing.PairOf(v)
		name = strings.NewReplacer(".*", "[^=]*", `\.`, `\.`, ".", "[^=]").Replace(routing.GlobPattern(name))
	}
	return s.addPattern(name+"="+routing.GlobPattern(value), namespace)
}

// addPattern adds the automaton of a pattern of a namespace to the walk. It reports whether there is
// one.
func (w *walk) addPattern(pattern, namespace string) bool {
	automaton := language.New(pattern)
	w.languages, w.literals = append(w.languages, automaton), append(w.literals, "")
	w.payers.add(namespace, automaton)
	return automaton.Known()
}

// add adds the automaton of a glob of a namespace to the walk. It reports whether there is one.
func (w *walk) add(glob, namespace string) bool {
	if glob == "" || strings.ContainsAny(glob, "*?") {
		return w.addPattern(routing.GlobPattern(glob), namespace)
	}
	automaton, literal := language.OfPath(routing.Path{Type: routing.Exact, Value: glob}), glob
	w.languages, w.literals = append(w.languages, automaton), append(w.literals, literal)
	w.payers.add(namespace, automaton)
	return automaton.Known()
}
