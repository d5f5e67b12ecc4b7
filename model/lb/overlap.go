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
	hosts    []routing.Host // precise ones and one-label wildcards, if that is all there is
	plain    []string       // without wildcards
	trailing []string       // what comes before a star at the end, the only wildcard
	patterns []string       // everything else, as regular expressions
	ends     []string       // of the globs among them, the text behind the last wildcard
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
	if kind.lower {
		s.hosts = unspelt(c, d)
	}
	for _, v := range c.Values {
		if kind.lower {
			v = strings.ToLower(v)
		}
		body, star := strings.CutSuffix(v, "*")
		switch {
		case !strings.ContainsAny(v, `*?`):
			s.plain = append(s.plain, v)
		case star && !strings.ContainsAny(body, `*?`) && !kind.lower:
			s.trailing = append(s.trailing, body)
		default:
			s.patterns = append(s.patterns, kind.pattern(v, d))
			s.ends = append(s.ends, v[strings.LastIndexAny(v, `*?`)+1:])
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

func pathPattern(value string, _ Dialect) string { return routing.GlobPattern(value) }

// unspelt are the hosts that a condition was spelt from, or nil if it says anything else.
func unspelt(c *Condition, d Dialect) []routing.Host {
	var out []routing.Host
	for _, v := range c.Values {
		h := routing.Host(strings.ToLower(v))
		if strings.ContainsAny(v, "*?") && !(d.HostStarIsLabel && h.Wildcard()) {
			return nil
		}
		out = append(out, h)
	}
	for _, r := range c.Regex {
		hosts := unspeltRegex(r)
		if hosts == nil {
			return nil
		}
		out = append(out, hosts...)
	}
	return out
}

// meets reports whether some text is in both sets; true when it cannot tell.
func (s textSet) meets(o textSet) bool {
	if s.anything || o.anything {
		return true
	}
	if s.hosts != nil && o.hosts != nil {
		return slices.ContainsFunc(s.hosts, func(a routing.Host) bool {
			return slices.ContainsFunc(o.hosts, func(b routing.Host) bool { return a.Covers(b) || b.Covers(a) })
		})
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
	if s.finite() || o.finite() || len(s.patterns) == 0 && len(o.patterns) == 0 {
		return false
	}
	if s.onlyGlobs() && o.onlyGlobs() {
		// Globs for hosts begin with a star, so that only their ends can keep them apart.
		return slices.ContainsFunc(s.ends, func(a string) bool {
			return slices.ContainsFunc(o.ends, func(b string) bool { return strings.HasSuffix(a, b) || strings.HasSuffix(b, a) })
		})
	}
	_, verdict := routing.Find([]string{s.pattern(), o.pattern(), s.universe}, nil)
	return verdict != routing.None
}

// onlyGlobs reports whether there is nothing but texts and globs for hosts.
func (s textSet) onlyGlobs() bool {
	return s.universe == hostTexts.universe && len(s.ends) == len(s.patterns)
}

// holds reports whether every text of inner is in the set; false when it cannot tell.
func (s textSet) holds(inner textSet) bool {
	if s.anything {
		return true
	}
	if inner.anything {
		return false
	}
	if s.hosts != nil && inner.hosts != nil {
		return !slices.ContainsFunc(inner.hosts, func(h routing.Host) bool {
			return !slices.ContainsFunc(s.hosts, func(outer routing.Host) bool { return outer.Covers(h) })
		})
	}
	if inner.finite() {
		return !slices.ContainsFunc(inner.plain, func(text string) bool { return !s.has(text) })
	}
	_, verdict := routing.Find([]string{inner.pattern(), s.universe}, []string{s.pattern()})
	return verdict == routing.None
}

// finite reports whether the set is a list of texts.
func (s textSet) finite() bool { return len(s.patterns) == 0 && len(s.trailing) == 0 }

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
