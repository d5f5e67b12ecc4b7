package lowering

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/language"
)

// This file writes conditions of routes on the host. A rule has one condition on the host, so the
// condition of a route takes the place of its host: for any host it is written as it is, for a precise
// host it is decided, and for a wildcard only the names of both are written.

// A share is the part of the names of a host that fulfil a condition.
type share uint8

const (
	noName share = iota
	someNames
	allNames
)

// A narrower decides conditions on hosts, and keeps the results.
type narrower struct{ known map[string]share }

func newNarrower() *narrower { return &narrower{map[string]share{}} }

// onHost returns the conditions that are left to decide for requests for a host, and whether any of
// them fulfils those on the host.
func (n *narrower) onHost(when routing.Conditions, h routing.Host) (routing.Conditions, bool) {
	when, may := when.OnHost(h)
	c := when.Host()
	if !may || c == nil || h == routing.Any {
		return when, may
	}
	switch n.shareOf(c, h) {
	case noName:
		return nil, false
	case allNames:
		return besidesHost(when), true
	}
	return when, true
}

// shareOf returns which names of a wildcard fulfil a condition.
func (n *narrower) shareOf(c *routing.Condition, h routing.Host) share {
	key := string(h) + " " + routing.Conditions{*c}.Key()
	if got, known := n.known[key]; known {
		return got
	}
	out := noName
	for _, v := range c.Values {
		out = max(out, shareOfValue(v, c.Regex, h))
	}
	n.known[key] = out
	return out
}

func shareOfValue(v string, isRegex bool, h routing.Host) share {
	if labels := labelsOf(v, h); !isRegex && !isDeeperNames(h) {
		switch {
		case len(labels) == 0:
			return noName
		case slices.ContainsFunc(labels, func(l string) bool { return strings.Trim(l, "*") == "" }):
			return allNames
		}
		return someNames
	}
	value, names := languageOf(v, isRegex), language.New(wildcardPattern(h))
	if _, verdict := language.FindText([]*language.Language{possibleHosts, names, value}, nil,
		hostSteps); verdict == language.None {
		return noName
	}
	if _, verdict := language.FindText([]*language.Language{possibleHosts, names},
		[]*language.Language{value}, hostSteps); verdict == language.None {
		return allNames
	}
	return someNames
}

// hostSteps is the most steps of the comparison of a condition with a wildcard.
const hostSteps = 100_000

var possibleHosts = language.New(language.HostUniverse)

// languageOf returns the host names that match a value of a condition.
func languageOf(v string, isRegex bool) *language.Language {
	if isRegex {
		return language.New("(?i:" + v + ")")
	}
	return language.New(routing.GlobPattern(v))
}

func wildcardPattern(h routing.Host) string {
	if isDeeperNames(h) {
		return routing.GlobPattern(string(h))
	}
	return `[^.]+` + regexp.QuoteMeta(string(h[1:]))
}

// labelsOf returns the globs of the first labels of the names that match both a glob and a one-label
// wildcard.
func labelsOf(glob string, h routing.Host) []string {
	var out []string
	add := func(label, rest string) {
		if label != "" && !strings.Contains(label, ".") && !slices.Contains(out, label) &&
			routing.GlobMatch(rest, string(h[1:])) {
			out = append(out, label)
		}
	}
	for i := range len(glob) + 1 {
		add(glob[:i], glob[i:])
		if i < len(glob) && glob[i] == '*' { // its text is in both
			add(glob[:i+1], glob[i:])
		}
	}
	return out
}

// besidesHost returns conditions without those on the host.
func besidesHost(when routing.Conditions) routing.Conditions {
	if when.Host() == nil {
		return when
	}
	return slices.DeleteFunc(slices.Clone(when), func(c routing.Condition) bool {
		return c.Field == "host"
	})
}

// conditionAtoms returns a condition on the host as atoms, for any host or for a wildcard of which
// some names fulfil it. It reports whether each value has a form. The other conditions of a rule use
// some of its wildcards.
func (s *speller) conditionAtoms(c *routing.Condition, h routing.Host, of, further int) ([]atom, bool) {
	var atoms []atom
	ok := true
	for _, v := range c.Values {
		for _, said := range s.spellValue(v, c.Regex, h, further) {
			ok = ok && !said.impossible()
			atoms = append(atoms, atom{spelling: said, text: v + said.regex, of: of})
		}
	}
	slices.SortFunc(atoms, func(a, b atom) int { return strings.Compare(a.text, b.text) })
	return atoms, ok
}

// spellValue writes the names of a host that match a value; nothing if there are none.
func (s *speller) spellValue(v string, isRegex bool, h routing.Host, further int) []spelling {
	if h == routing.Any {
		return []spelling{s.spellAlone(v, isRegex, further)}
	}
	if shareOfValue(v, isRegex, h) == noName {
		return nil
	}
	if !isRegex && !isDeeperNames(h) && s.caps.Regex {
		var out []spelling
		for _, label := range labelsOf(v, h) {
			out = append(out, s.expression(s.globRegex(label, `[^.]`)+s.globRegex(string(h[1:]), "")))
		}
		return out
	}
	within := wildcardPattern(h)
	if s.needsCatchAll(h) { // names with more labels are answered before
		within = `.+` + regexp.QuoteMeta(string(h[1:]))
	}
	_, outside := language.FindText([]*language.Language{possibleHosts, languageOf(v, isRegex)},
		[]*language.Language{language.New(within)}, hostSteps)
	if outside != language.None {
		return []spelling{{}}
	}
	return []spelling{s.spellAlone(v, isRegex, further)}
}

// spellAlone writes a value as it is: a glob as a value if the cloud accepts it, else as a regular
// expression.
func (s *speller) spellAlone(v string, isRegex bool, further int) spelling {
	if isRegex {
		expression, ok := s.hostExpression(v)
		if !ok {
			return spelling{}
		}
		out := s.expression(expression)
		out.whole = true
		return out
	}
	wild := wildcards(v)
	if !s.portInHost() && s.fits(v) && (wild == 0 || !s.caps.HostStarIsLabel) &&
		allowsWildcards(s.caps, wild+further) && (s.hostValues == nil || s.hostValues.MatchString(v)) {
		return spelling{values: []string{v}}
	}
	one := "."
	if s.portInHost() {
		one = "[^:]"
	}
	return s.expression(s.globRegex(v, one))
}

// expression returns a regular expression of hosts as a spelling, if the cloud has them.
func (s *speller) expression(body string) spelling {
	if !s.caps.Regex || !s.fits("^("+body+")"+s.hostEnd()) {
		return spelling{}
	}
	return spelling{regex: body}
}

// globRegex writes a glob of hosts as a regular expression, in any case. A "?" is one of these.
func (s *speller) globRegex(glob, one string) string {
	var b strings.Builder
	for _, part := range splitAtWildcards(glob) {
		switch part {
		case "*":
			b.WriteString(one + "*")
		case "?":
			b.WriteString(one)
		default:
			b.WriteString(lb.HostRegex(routing.Host(part), s.caps.Doubt.HostCase))
		}
	}
	return b.String()
}

func splitAtWildcards(glob string) []string {
	var out []string
	from := 0
	for i, c := range glob {
		if c != '*' && c != '?' {
			continue
		}
		if i > from {
			out = append(out, glob[from:i])
		}
		out, from = append(out, string(c)), i+1
	}
	if from < len(glob) {
		out = append(out, glob[from:])
	}
	return out
}

// hostExpression returns a regular expression of a route for a rule: for both cases of each letter,
// without anchors, and without a port. There is none for syntax whose meaning this would change.
func (s *speller) hostExpression(v string) (string, bool) {
	v, plain := lb.Unanchored(v)
	if !plain {
		return "", false
	}
	var b strings.Builder
	class := false
	for i := 0; i < len(v); i++ {
		c := v[i]
		next := byte(0)
		if i+1 < len(v) {
			next = v[i+1]
		}
		switch {
		case c == '\\':
			if strings.IndexByte("dwDWS.-\\+*?()[]{}|/:_", next) < 0 || next == 0 ||
				class && strings.IndexByte("DWS", next) >= 0 ||
				s.portInHost() && strings.IndexByte("DWS", next) >= 0 {
				return "", false
			}
			b.WriteString(v[i : i+2])
			i++
		case class && c == '[', c == '(' && next == '?' && !strings.HasPrefix(v[i:], "(?:"):
			return "", false
		case c == '[':
			class = true
			b.WriteByte(c)
			if next == '^' {
				b.WriteByte(next)
				i++
				if s.portInHost() {
					b.WriteByte(':')
				}
			}
			if i+1 < len(v) && v[i+1] == ']' {
				return "", false
			}
		case c == ']':
			class = false
			b.WriteByte(c)
		case class && next == '-' && i+2 < len(v) && v[i+2] != ']':
			last := v[i+2]
			if unicode.IsLetter(rune(c)) != unicode.IsLetter(rune(last)) || last == '\\' ||
				unicode.IsUpper(rune(c)) != unicode.IsUpper(rune(last)) {
				return "", false
			}
			both := v[i : i+3]
			if b.WriteString(strings.ToLower(both)); strings.ToUpper(both) != strings.ToLower(both) {
				b.WriteString(strings.ToUpper(both))
			}
			i += 2
		case unicode.IsLetter(rune(c)):
			pair := strings.ToLower(string(c)) + strings.ToUpper(string(c))
			if !class {
				pair = "[" + pair + "]"
			}
			b.WriteString(pair)
		case c == '.' && !class && s.portInHost():
			b.WriteString("[^:]")
		default:
			b.WriteByte(c)
		}
	}
	_, err := regexp.Compile(b.String())
	return b.String(), err == nil
}

// whyNoHostCondition returns why a condition of a route on the host can have no rule, or "". Levels
// has those for which the route may be repeated.
func (s *speller) whyNoHostCondition(c *routing.Condition, hosts []routing.Host, further int) string {
	for _, h := range hosts {
		if _, ok := s.conditionAtoms(c, h, 0, further); ok {
			continue
		}
		beside := ""
		if h != routing.Any {
			beside = " beside host " + string(h)
		}
		return "its condition on the host has no form that a rule of " + s.caps.Name + " accepts" + beside +
			": " + s.limits()
	}
	return ""
}

// wildcardsOfAtoms returns the most wildcards that one of the atoms adds to a rule.
func wildcardsOfAtoms(atoms []atom) int {
	most := 0
	for _, a := range atoms {
		for _, v := range a.values {
			most = max(most, wildcards(v))
		}
	}
	return most
}
