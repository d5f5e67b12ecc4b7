package lb

import (
	"regexp"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/language"
)

// This file compares rules as sets of requests. Plans need this for the order of steps, and to
// change rules in place.

// Overlap reports whether a request can match both rules; true if this cannot be decided.
func Overlap(a, b Rule, d Dialect) bool { return ExtentOf(a, d).Overlaps(ExtentOf(b, d)) }

// An Extent is the set of requests that a rule matches, prepared for many comparisons.
type Extent struct{ host, path textSet }

// ExtentOf returns the extent of a rule.
func ExtentOf(r Rule, d Dialect) *Extent {
	return &Extent{texts(r.Condition("host"), d, hostTexts), texts(r.Condition("path"), d, pathTexts)}
}

// Listed reports whether the extent is a list of a few hosts and texts, without patterns: such an
// extent is quick to compare.
func (e *Extent) Listed() bool {
	return len(e.host.hosts) <= fewValues && len(e.host.patterns) == 0 && len(e.path.patterns) == 0
}

// Overlaps reports whether a request is in both; true if this cannot be decided.
func (e *Extent) Overlaps(o *Extent) bool { return e.host.meets(&o.host) && e.path.meets(&o.path) }

// Contains reports whether outer matches every request that inner matches; false if this cannot be
// decided.
func Contains(outer, inner Rule, d Dialect) bool {
	for _, c := range outer.Conditions {
		if c.Field != "host" && c.Field != "path" &&
			!slices.ContainsFunc(inner.Conditions, func(i Condition) bool {
				return i.Key() == c.Key()
			}) {
			return false
		}
	}
	o, i := ExtentOf(outer, d), ExtentOf(inner, d)
	return o.host.holds(&i.host) && o.path.holds(&i.path)
}

// Unserved returns the wanted rules that a listener lacks, or has behind a rule that keeps requests from
// them and is not wanted before them. Other differences of places change no answer.
func Unserved(seen, want []Rule, d Dialect) (out []Rule) {
	at := map[string]int{} // of wanted rules
	for i, r := range want {
		at[r.Key()] = i
	}
	places := make([]int, len(seen)) // among the wanted ones
	served := map[int]bool{}
	for k, r := range seen {
		i, is := at[r.Key()]
		if places[k] = i; !is {
			places[k] = len(want) // it is wanted before none
			continue
		}
		first := !served[i]
		served[i] = true
		for j, before := range seen[:k] {
			if first && places[j] > i && before.keeps(r, d) {
				out = append(out, want[i])
				break
			}
		}
	}
	for i, r := range want {
		if !served[i] {
			out = append(out, r)
		}
	}
	return out
}

// keeps reports whether a rule keeps requests from a later one that has another answer for them. One
// for a more specific host keeps none: they are not for the host of the later one.
func (r Rule) keeps(later Rule, d Dialect) bool {
	if SameAction(r.Action, later.Action) || !Overlap(r, later, d) {
		return false
	}
	hosts, covered := r.Hosts(), later.Hosts()
	return len(hosts) == 0 || len(covered) == 0 || slices.ContainsFunc(covered, func(host routing.Host) bool {
		return slices.ContainsFunc(hosts, func(h routing.Host) bool { return h.Covers(host) })
	})
}

// A textSet is the set of texts that match a condition: all, or the union of texts and patterns.
type textSet struct {
	anything bool
	hosts    []routing.Host // precise ones and one-label wildcards, if the set has no others
	plain    []string       // without wildcards
	trailing []string       // the texts before a star at the end, the only wildcard
	// values with other wildcards; a star matches any text, even where the cloud's does not
	globs    []string
	patterns []string // the globs, exactly, and all others, as regular expressions
	universe *language.Language

	compiled []*regexp.Regexp   // the patterns, compiled when needed
	whole    *language.Language // the set, made when needed

	// Sets of many values, made when needed.
	named, begun map[string]bool
	lengths      []int // of those in begun
}

// A textKind is how the values of a field are read.
type textKind struct {
	universe *language.Language
	pattern  func(value string, d Dialect) string
	lower    bool
}

var (
	hostTexts = textKind{universe: language.New(language.HostUniverse + `(:[0-9]+)?`),
		pattern: hostPattern, lower: true}
	pathTexts = textKind{universe: language.New(language.PathUniverse), pattern: pathPattern}
)

func texts(c *Condition, d Dialect, kind textKind) textSet {
	s := textSet{universe: kind.universe, anything: c == nil}
	if c == nil {
		return s
	}
	if kind.lower {
		s.hosts = hostsOfCondition(c, d)
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
			s.globs = append(s.globs, v)
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

func pathPattern(value string, _ Dialect) string { return routing.GlobPattern(value) }

// hostsOfCondition returns the hosts that a condition was made from, or nil if it is another one.
func hostsOfCondition(c *Condition, d Dialect) []routing.Host {
	var out []routing.Host
	for _, v := range c.Values {
		h := routing.Host(strings.ToLower(v))
		if strings.ContainsAny(v, "*?") && !(d.HostStarIsLabel && h.Wildcard()) {
			return nil
		}
		out = append(out, h)
	}
	for _, r := range c.Regex {
		hosts := hostsOfRegex(r)
		if hosts == nil {
			return nil
		}
		out = append(out, hosts...)
	}
	return out
}

// meets reports whether a text is in both sets; true if this cannot be decided.
func (s *textSet) meets(o *textSet) bool {
	if s.anything || o.anything {
		return true
	}
	if s.hosts != nil && o.hosts != nil {
		return slices.ContainsFunc(s.hosts, func(a routing.Host) bool {
			return slices.ContainsFunc(o.hosts, func(b routing.Host) bool {
				return a.Covers(b) || b.Covers(a)
			})
		})
	}
	if slices.ContainsFunc(s.plain, o.has) || slices.ContainsFunc(o.plain, s.has) {
		return true
	}
	if slices.ContainsFunc(s.trailing, o.begins) || slices.ContainsFunc(o.trailing, s.begins) {
		return true
	}
	if s.finite() || o.finite() || len(s.patterns) == 0 && len(o.patterns) == 0 {
		return false
	}
	if s.onlyGlobs() && o.onlyGlobs() {
		return s.globsMeet(o) // deciding whether a possible host or path is in both would be slow
	}
	_, verdict := language.FindText([]*language.Language{s.language(), o.language(), s.universe}, nil,
		ruleSteps)
	return verdict != language.None
}

// ruleSteps is the most steps of a comparison of two rules. Usual rules need a few thousand.
const ruleSteps = 100_000

// language returns the whole set, made once.
func (s *textSet) language() *language.Language {
	if s.whole == nil {
		s.whole = language.New(s.pattern())
	}
	return s.whole
}

// onlyGlobs reports whether the set consists of texts and globs.
func (s *textSet) onlyGlobs() bool { return len(s.globs) == len(s.patterns) }

// globsMeet reports whether a text, of a possible request or not, matches globs of both sets.
func (s *textSet) globsMeet(o *textSet) bool {
	return slices.ContainsFunc(s.wildcardValues(), func(a string) bool {
		return slices.ContainsFunc(o.wildcardValues(), func(b string) bool { return globsMeet(a, b) })
	})
}

// wildcardValues returns all values with wildcards.
func (s *textSet) wildcardValues() []string {
	out := slices.Clone(s.globs)
	for _, t := range s.trailing {
		out = append(out, t+"*")
	}
	return out
}

// globsMeet reports whether a text matches two globs. It compares every suffix of one with every
// suffix of the other, the shortest first.
func globsMeet(a, b string) bool {
	row := make([]bool, len(b)+1) // whether the suffix of a meets each suffix of b
	for i := len(a); i >= 0; i-- {
		behind := false // whether the shorter suffixes of both meet
		for j := len(b); j >= 0; j-- {
			below := row[j]
			switch {
			case i == len(a) && j == len(b):
				row[j] = true
			case i < len(a) && a[i] == '*':
				row[j] = below || j < len(b) && row[j+1]
			case j < len(b) && b[j] == '*':
				row[j] = row[j+1] || i < len(a) && below
			default:
				row[j] = i < len(a) && j < len(b) && (a[i] == b[j] || a[i] == '?' || b[j] == '?') && behind
			}
			behind = below
		}
	}
	return row[0]
}

// holds reports whether every text of inner is in the set; false if this cannot be decided.
func (s *textSet) holds(inner *textSet) bool {
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
	_, verdict := language.FindText([]*language.Language{inner.language(), s.universe},
		[]*language.Language{s.language()}, ruleSteps)
	return verdict == language.None
}

// finite reports whether the set is a list of texts.
func (s *textSet) finite() bool { return len(s.patterns) == 0 && len(s.trailing) == 0 }

func (s *textSet) has(text string) bool {
	if s.names(text) || s.begins(text) {
		return true
	}
	if s.onlyGlobs() && !slices.ContainsFunc(s.globs, func(g string) bool {
		return routing.GlobMatch(g, text)
	}) {
		return false
	}
	return slices.ContainsFunc(s.expressions(), func(re *regexp.Regexp) bool {
		return re.MatchString(text)
	})
}

// fewValues is the most values that are compared one by one. More are put into a set.
const fewValues = 16

// names reports whether a text is a value.
func (s *textSet) names(text string) bool {
	if len(s.plain) <= fewValues {
		return slices.Contains(s.plain, text)
	}
	if s.named == nil {
		s.named = setOf(s.plain)
	}
	return s.named[text]
}

// begins reports whether a text matches a value with a star at its end.
func (s *textSet) begins(text string) bool {
	if len(s.trailing) <= fewValues {
		return slices.ContainsFunc(s.trailing, func(t string) bool { return strings.HasPrefix(text, t) })
	}
	if s.begun == nil {
		s.begun = setOf(s.trailing)
		for t := range s.begun {
			s.lengths = append(s.lengths, len(t))
		}
		slices.Sort(s.lengths)
		s.lengths = slices.Compact(s.lengths)
	}
	return slices.ContainsFunc(s.lengths, func(n int) bool {
		return n <= len(text) && s.begun[text[:n]]
	})
}

func setOf(texts []string) map[string]bool {
	out := make(map[string]bool, len(texts))
	for _, t := range texts {
		out[t] = true
	}
	return out
}

// expressions returns the patterns, compiled once. One that does not compile matches nothing.
func (s *textSet) expressions() []*regexp.Regexp {
	if s.compiled == nil {
		for _, p := range s.patterns {
			if re, err := regexp.Compile(`\A(?:` + p + `)\z`); err == nil {
				s.compiled = append(s.compiled, re)
			}
		}
	}
	return s.compiled
}

// pattern returns the whole set as one regular expression.
func (s *textSet) pattern() string {
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
