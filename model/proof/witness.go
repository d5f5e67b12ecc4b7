package proof

import (
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/language"
)

// This file finds a request that some rules match and others do not. lb.Overlap and lb.Contains
// compare two rules by host and path; this compares any number by every part of a request. The
// parts do not depend on each other, so each is searched alone.

// A finder finds requests for the rules of a cloud with one dialect. It caches results.
type finder struct {
	dialect  lb.Dialect
	left     int // searches for a part of a request
	machines map[string]*language.Language
	texts    map[string]foundText
	holds    map[string]func(routing.Request) bool // by the key of a condition
	pairs    bool                                  // of the present search: a condition is on the query without a name
}

type foundText struct {
	text    string
	verdict language.Verdict
}

// newFinder returns a Finder that searches at most this many parts of requests. After that it returns
// language.Unsure.
func newFinder(d lb.Dialect, most int) *finder {
	return &finder{dialect: d, left: most, machines: map[string]*language.Language{},
		texts: map[string]foundText{}, holds: map[string]func(routing.Request) bool{}}
}

// A part is a part of a request for conditions: a field, and the name of a header or parameter.
type part struct{ field, name string }

// claims has, for each part, conditions that must hold and conditions that must not.
type claims map[part][2][]lb.Condition

func (f *finder) add(q claims, c lb.Condition, side int) {
	p := part{c.Field, strings.ToLower(c.Name)}
	if f.pairs && c.Field == "query" {
		p.name = "" // the pairs of all parameters are one part
	}
	both := q[p]
	both[side] = append(slices.Clip(both[side]), c)
	q[p] = both
}

// Find returns a request on a port that all rules of in match, and none of out. Hosts are in lower
// case, as rules see them.
func (f *finder) Find(port int32, in, out []lb.Rule) (routing.Request, language.Verdict) {
	q := claims{{"host", ""}: {}, {"path", ""}: {}, {"method", ""}: {}, {"source", ""}: {}}
	held := map[string]bool{}
	f.pairs = slices.ContainsFunc(slices.Concat(in, out), func(r lb.Rule) bool {
		return slices.ContainsFunc(r.Conditions, func(c lb.Condition) bool {
			return c.Field == "query" && c.Name == ""
		})
	})
	for _, r := range in {
		for _, c := range r.Conditions {
			f.add(q, c, 0)
			held[c.Key()] = true
		}
	}
	return f.refute(port, q, out, held)
}

// refute finds a request for the claims. It makes the request fail a condition of the first rule of
// out that it matches, until it matches none.
func (f *finder) refute(port int32, q claims, out []lb.Rule, held map[string]bool,
) (routing.Request, language.Verdict) {
	r := routing.Request{Port: port}
	for p, both := range q {
		if f.left--; f.left < 0 {
			return r, language.Unsure
		}
		if verdict := f.part(&r, p, both[0], both[1]); verdict != language.Some {
			return r, verdict
		}
	}
	matched := slices.IndexFunc(out, func(rule lb.Rule) bool {
		return !slices.ContainsFunc(rule.Conditions, func(c lb.Condition) bool { return !f.hold(c, r) })
	})
	if matched < 0 {
		return r, language.Some
	}
	verdict := language.None
	for _, c := range out[matched].Conditions {
		if held[c.Key()] {
			continue // it cannot fail
		}
		next := maps.Clone(q)
		f.add(next, c, 1)
		found, sub := f.refute(port, next, out, held)
		if sub == language.Some {
			return found, sub
		}
		verdict = max(verdict, sub)
	}
	return r, verdict
}

// hold reports whether a condition holds for a request.
func (f *finder) hold(c lb.Condition, r routing.Request) bool {
	key := c.Key()
	if f.holds[key] == nil {
		m := lb.NewMatcher(lb.Listener{Rules: []lb.Rule{{Conditions: []lb.Condition{c}}}}, f.dialect)
		f.holds[key] = func(r routing.Request) bool {
			at, _ := m.Match(r)
			return at == 0
		}
	}
	return f.holds[key](r)
}

// part writes a value of a part for which the conditions of in hold and those of out do not.
func (f *finder) part(r *routing.Request, p part, in, out []lb.Condition) language.Verdict {
	switch p.field {
	case "host":
		universe := language.HostUniverse
		if f.dialect.Doubt.HostPort && !lb.UsualPort(r.Port) {
			universe += `(:[0-9]+)?`
		}
		return f.text(&r.Host, universe, in, out)
	case "path":
		return f.text(&r.Path, language.PathUniverse, in, out)
	case "method":
		tries := []string{"GET", "POST", "PUT", "X"}
		for _, c := range in {
			tries = append(tries, c.Values...)
		}
		return try(f, r, &r.Method, tries, in, out)
	case "source":
		return try(f, r, &r.Source, addresses(slices.Concat(in, out)), in, out)
	}
	values := map[bool]*map[string][]string{true: &r.Header, false: &r.Query}[p.field == "header"]
	universe, spaced := valueUniverse, space
	isCased := func(c lb.Condition) bool { return len(c.Regex) > 0 }
	cased := slices.ContainsFunc(in, isCased) || slices.ContainsFunc(out, isCased)
	pairs := f.pairs && p.field == "query"
	switch {
	case cased:
		universe, spaced = casedUniverse, string(language.Space)
	case pairs:
		universe = pairUniverse
	}
	for _, c := range in { // each can have a separate value
		if strings.ContainsFunc(strings.Join(c.Values, ""), func(r rune) bool {
			return r < ' ' || r > language.LastChar || cased && r == language.Space
		}) {
			return language.Unsure // automata lack the character
		}
		var value string
		if v := f.text(&value, universe, []lb.Condition{c}, out); v != language.Some {
			return v
		}
		name := p.name
		if pairs {
			name, value = routing.PairOf(value)
		}
		if *values == nil {
			*values = map[string][]string{}
		}
		(*values)[name] = append((*values)[name], strings.ReplaceAll(value, spaced, " "))
	}
	return language.Some
}

// Values of headers and parameters are compared in lower case, so a capital letter can represent a
// space, which automata lack.
const (
	space         = "S"
	valueUniverse = `([!-@\[-~]([!-@\[-~S]*[!-@\[-~])?)?`
	pairUniverse  = `[!-<>-@\[-~]+=[!-@\[-~]*`
	casedUniverse = "([!-_a-~]([!-~]*[!-_a-~])?)?" // where regular expressions are compared, too
)

// try writes the first value for which the conditions hold as they should.
func try[T any](f *finder, r *routing.Request, at *T, values []T, in, out []lb.Condition,
) language.Verdict {
	hold := func(c lb.Condition) bool { return f.hold(c, *r) }
	for _, *at = range values {
		if !slices.ContainsFunc(out, hold) &&
			!slices.ContainsFunc(in, func(c lb.Condition) bool { return !hold(c) }) {
			return language.Some
		}
	}
	return language.None
}

// addresses returns one of each set that ranges distinguish: such a set begins at the first address
// of all, at that of a range, or after a range. Those of RFC 5737 and RFC 3849 come first.
func addresses(conditions []lb.Condition) []netip.Addr {
	out := []netip.Addr{netip.MustParseAddr("203.0.113.7"), netip.MustParseAddr("2001:db8::7"),
		netip.IPv4Unspecified(), netip.IPv6Unspecified()}
	for _, c := range conditions {
		for _, text := range c.Values {
			p, err := netip.ParsePrefix(text)
			if err != nil {
				continue // an invalid range is empty
			}
			last := p.Masked().Addr().AsSlice()
			for bit := p.Bits(); bit < 8*len(last); bit++ {
				last[bit/8] |= 1 << (7 - bit%8)
			}
			end, _ := netip.AddrFromSlice(last)
			out = append(out, p.Masked().Addr(), end.Next())
		}
	}
	return slices.DeleteFunc(out, func(a netip.Addr) bool { return !a.IsValid() })
}

// text writes a text of a universe for which the conditions of in hold and those of out do not.
func (f *finder) text(at *string, universe string, in, out []lb.Condition) language.Verdict {
	var key strings.Builder
	key.WriteString(universe)
	sets := [2][]*language.Language{{f.machine(universe)}}
	for side, conditions := range [][]lb.Condition{in, out} {
		for _, c := range conditions {
			pattern := f.pattern(c, universe)
			sets[side] = append(sets[side], f.machine(pattern))
			key.WriteString("\n" + pattern)
		}
		key.WriteString("\n")
	}
	known, is := f.texts[key.String()]
	if !is {
		known.text, known.verdict = language.FindText(sets[0], sets[1], searchSteps)
		f.texts[key.String()] = known
	}
	*at = known.text
	return known.verdict
}

func (f *finder) machine(pattern string) *language.Language {
	if f.machines[pattern] == nil {
		f.machines[pattern] = language.New(pattern)
	}
	return f.machines[pattern]
}

// searchSteps is the most steps of a search for one text. Usual rules need a few thousand.
const searchSteps = 100_000

// pattern returns one regular expression for the texts for which a condition holds. lb.Matcher
// reads values in the same way.
func (f *finder) pattern(c lb.Condition, universe string) string {
	all := make([]string, 0, len(c.Values)+len(c.Regex))
	for _, v := range c.Values {
		switch universe {
		case casedUniverse:
			all = append(all, "(?i:"+routing.GlobPattern(strings.ReplaceAll(v, " ", string(language.Space)))+")")
			continue
		case pairUniverse:
			all = append(all, pairPattern(strings.ToLower(c.Name), strings.ToLower(v)))
			continue
		}
		if c.Field != "path" {
			v = strings.ReplaceAll(strings.ToLower(v), " ", space)
		}
		if c.Field == "host" && f.dialect.HostStarIsLabel && routing.Host(v).Wildcard() {
			all = append(all, `[^.]+`+regexp.QuoteMeta(v[1:]))
			continue
		}
		all = append(all, routing.GlobPattern(v))
	}
	for _, r := range c.Regex {
		if universe == casedUniverse {
			r, _ = language.WithSpace(r) // the cloud refuses one that does not parse
		}
		all = append(all, "(?:"+r+")")
	}
	return strings.Join(all, "|")
}

// pairPattern returns a regular expression for the pairs of name and value that fulfil a condition on
// the query with a name, or without one.
func pairPattern(name, value string) string {
	if name != "" {
		return regexp.QuoteMeta(name) + "=" + routing.GlobPattern(value)
	}
	name, value = routing.PairOf(value)
	inName := strings.NewReplacer(".*", "[^=]*", `\.`, `\.`, ".", "[^=]")
	return inName.Replace(routing.GlobPattern(name)) + "=" + routing.GlobPattern(value)
}
