package lb

import (
	"regexp"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/routing"
)

// This file compares rules as sets of requests, for the plan: which steps may be taken in any
// order, and which rule may become which in place.

// Overlap reports whether a request can match both rules. It says true when it cannot tell.
func Overlap(a, b Rule, d Dialect) bool {
	return texts(a.Condition("host"), d, hostTexts).meets(texts(b.Condition("host"), d, hostTexts)) &&
		texts(a.Condition("path"), d, pathTexts).meets(texts(b.Condition("path"), d, pathTexts))
}

// Contains reports whether outer matches every request that inner matches. It says false when it
// cannot tell.
func Contains(outer, inner Rule, d Dialect) bool {
	for _, c := range outer.Conditions {
		if c.Field != "host" && c.Field != "path" && !slices.ContainsFunc(inner.Conditions, func(i Condition) bool { return i.String() == c.String() }) {
			return false
		}
	}
	return texts(outer.Condition("host"), d, hostTexts).holds(texts(inner.Condition("host"), d, hostTexts)) &&
		texts(outer.Condition("path"), d, pathTexts).holds(texts(inner.Condition("path"), d, pathTexts))
}

// textSet is what a condition on a text lets through: anything, or the union of some texts and
// some patterns.
type textSet struct {
	anything bool
	plain    []string // without wildcards
	trailing []string // what comes before a star at the end, the only wildcard
	patterns []string // everything else, as regular expressions
	universe string
}

// textKind is how the values of a field are read.
type textKind struct {
	universe string
	pattern  func(value string, d Dialect) string
	lower    bool
}

var (
	hostTexts = textKind{universe: routing.HostUniverse + `(:[0-9]+)?`, pattern: hostPattern, lower: true}
	pathTexts = textKind{universe: routing.PathUniverse, pattern: pathPattern}
)

func texts(c *Condition, d Dialect, kind textKind) textSet {
	s := textSet{universe: kind.universe, anything: c == nil}
	if c == nil {
		return s
	}
	for _, v := range c.Values {
		if kind.lower {
			v = strings.ToLower(v)
		}
		body, star := strings.CutSuffix(v, "*")
		switch {
		case !strings.ContainsAny(v, `*?\`):
			s.plain = append(s.plain, v)
		case star && !strings.ContainsAny(body, `*?\`) && !kind.lower:
			s.trailing = append(s.trailing, body)
		default:
			s.patterns = append(s.patterns, kind.pattern(v, d))
		}
	}
	s.patterns = append(s.patterns, c.Regex...)
	return s
}

func hostPattern(value string, d Dialect) string {
	if d.HostStarIsLabel && routing.Host(value).Wildcard() {
		return `[^.]+` + regexp.QuoteMeta(value[1:])
	}
	return routing.GlobPattern(value)
}

func pathPattern(value string, d Dialect) string {
	if d.Escapes {
		return unescapedGlob(value)
	}
	return routing.GlobPattern(value)
}

// meets reports whether some text is in both sets; true when it cannot tell.
func (s textSet) meets(o textSet) bool {
	if s.anything || o.anything {
		return true
	}
	if slices.ContainsFunc(s.plain, o.has) || slices.ContainsFunc(o.plain, s.has) {
		return true
	}
	for _, a := range s.trailing {
		for _, b := range o.trailing {
			if strings.HasPrefix(a, b) || strings.HasPrefix(b, a) {
				return true
			}
		}
	}
	if len(s.patterns) == 0 && len(o.patterns) == 0 {
		return false
	}
	_, verdict := routing.Find([]string{s.pattern(), o.pattern(), s.universe}, nil)
	return verdict != routing.None
}

// holds reports whether every text of inner is in the set; false when it cannot tell.
func (s textSet) holds(inner textSet) bool {
	if s.anything {
		return true
	}
	if inner.anything {
		return false
	}
	if len(inner.patterns) == 0 && len(inner.trailing) == 0 {
		return !slices.ContainsFunc(inner.plain, func(text string) bool { return !s.has(text) })
	}
	_, verdict := routing.Find([]string{inner.pattern(), s.universe}, []string{s.pattern()})
	return verdict == routing.None
}

func (s textSet) has(text string) bool {
	if slices.Contains(s.plain, text) || slices.ContainsFunc(s.trailing, func(t string) bool { return strings.HasPrefix(text, t) }) {
		return true
	}
	return slices.ContainsFunc(s.patterns, func(p string) bool {
		re, err := regexp.Compile(`\A(?:` + p + `)\z`)
		return err == nil && re.MatchString(text)
	})
}

// pattern is the whole set as one regular expression.
func (s textSet) pattern() string {
	var all []string
	for _, p := range s.plain {
		all = append(all, regexp.QuoteMeta(p))
	}
	for _, t := range s.trailing {
		all = append(all, regexp.QuoteMeta(t)+".*")
	}
	for _, p := range s.patterns {
		all = append(all, "(?:"+p+")")
	}
	if len(all) == 0 {
		return `[^\x00-\x{10FFFF}]` // nothing
	}
	return strings.Join(all, "|")
}
