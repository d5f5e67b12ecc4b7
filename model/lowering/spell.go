package lowering

import (
	"regexp"
	"strings"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file writes hosts and paths as values of conditions that the cloud accepts. A host or path
// without a spelling cannot be served there.

// A spelling has the ways to write one host or path: values, a regular expression, both or neither.
type spelling struct {
	values []string // globs that together match exactly it; nil for none
	regex  string   // one alternative of a regular expression, without anchors; "" for none
	prefix bool     // an optional rest below the path follows the regular expression
	whole  bool     // the regular expression cannot share a value with others
}

func (s spelling) impossible() bool { return s.values == nil && s.regex == "" }

// A speller writes the hosts and paths of the rules of one port.
type speller struct {
	caps       lb.Capabilities
	port       int32
	hostValues *regexp.Regexp // nil: any
	// the hosts written so far, as each route needs its host
	hosts map[routing.Host]spelling
}

func newSpeller(c lb.Capabilities, port int32) *speller {
	s := &speller{caps: c, port: port, hosts: map[routing.Host]spelling{}}
	if c.HostValue != "" {
		s.hostValues = regexp.MustCompile(c.HostValue)
	}
	return s
}

// deeperNames returns the glob for names with too many labels for a wildcard, which a star that
// spans dots would match: "*.*.example.com" for "*.example.com".
func deeperNames(wildcard routing.Host) routing.Host { return "*." + wildcard }

func isDeeperNames(h routing.Host) bool { return strings.HasPrefix(string(h), "*.*.") }

// host writes a host. A wildcard whose star would span dots is a value only after a catch-all.
func (s *speller) host(h routing.Host) spelling {
	out, known := s.hosts[h]
	if !known {
		out = s.spellHost(h)
		s.hosts[h] = out
	}
	return out
}

func (s *speller) spellHost(h routing.Host) spelling {
	var out spelling
	if value := string(h); !s.portInHost() && s.fits(value) &&
		(s.hostValues == nil || s.hostValues.MatchString(value)) {
		out.values = []string{value}
	}
	if isDeeperNames(h) {
		return out
	}
	if s.caps.Regex {
		if body := lb.HostRegex(h, s.caps.Doubt.HostCase); s.fits("^" + body + s.hostEnd()) {
			out.regex = body
		}
	}
	if h.Wildcard() && !s.caps.HostStarIsLabel && out.regex != "" {
		out.values = nil
	}
	return out
}

// needsCatchAll reports whether a wildcard can only be written with a star that spans dots.
func (s *speller) needsCatchAll(h routing.Host) bool {
	return h.Wildcard() && !s.caps.HostStarIsLabel && s.host(h).regex == ""
}

// hostWildcards returns the number of wildcards that a host adds to a rule if it must be a value.
func (s *speller) hostWildcards(h routing.Host) int {
	if s.host(h).regex != "" {
		return 0
	}
	return wildcards(string(h))
}

// hostWildcardsOf returns the most wildcards that a host adds to repeated rules for any host.
func (s *speller) hostWildcardsOf(levels []*precedence.Level) int {
	most := 0
	for _, l := range levels {
		most = max(most, s.hostWildcards(l.Host))
		if s.needsCatchAll(l.Host) {
			most = max(most, s.hostWildcards(deeperNames(l.Host)))
		}
	}
	return most
}

// hostEnd returns the end of host expressions, which allows a port if it is undocumented whether
// the cloud sees one.
func (s *speller) hostEnd() string {
	if s.portInHost() {
		return `(:[0-9]+)?$`
	}
	return `$`
}

// portInHost reports whether conditions may see a port in the Host header. Clients leave out the
// default ports.
func (s *speller) portInHost() bool { return s.caps.Doubt.HostPort && !lb.UsualPort(s.port) }

// withHostWildcards returns the spelling of a path in a rule whose host has this many wildcards, as
// they share a limit.
func (s *speller) withHostWildcards(path spelling, wild int) spelling {
	for _, v := range path.values {
		if !allowsWildcards(s.caps, wild+wildcards(v)) {
			path.values = nil
		}
	}
	return path
}

// path writes a path other than the root, which needs no condition.
func (s *speller) path(p routing.Path) spelling {
	var out spelling
	literal := !strings.ContainsAny(p.Value, "*?")
	switch p.Type {
	case routing.Exact:
		if literal {
			out.values = s.pathValues(p.Value)
		}
	case routing.Prefix:
		if literal {
			out.values = s.pathValues(p.Value, p.Value+"/*")
		}
	case routing.Glob:
		out.values = s.pathValues(p.Value)
	}
	if !s.caps.Regex || !seesPath(s.caps, p) {
		return out
	}
	body, ok := s.pathRegex(p)
	longest := "^" + body + "$"
	if p.Type == routing.Prefix {
		longest = "^" + body + "(/.*)?$"
	}
	if ok && s.fits(longest) {
		out.regex, out.prefix, out.whole = body, p.Type == routing.Prefix, p.Type == routing.Regex
	}
	return out
}

// pathValues returns the values that together match a path, if all of them are accepted.
func (s *speller) pathValues(values ...string) []string {
	for _, v := range values {
		if !s.fits(v) || !s.caps.AcceptsPath(v) {
			return nil
		}
	}
	return values
}

// unsupported matches syntax of regular expressions that a cloud with a character set does not
// have.
var unsupported = regexp.MustCompile(`\\[pP]`)

// seesPath reports whether a cloud can match a path. A cloud with a character set matches visible
// ASCII only, and has no classes beyond it.
func seesPath(c lb.Capabilities, p routing.Path) bool {
	if c.PathCharacters == "" {
		return true
	}
	beyond := strings.ContainsFunc(p.Value, func(r rune) bool { return r <= ' ' || r > '~' })
	return !beyond && !(p.Type == routing.Regex && unsupported.MatchString(p.Value))
}

// encoded has the characters that are always percent-encoded in paths.
const encoded = " \"<>\\^`{|}#?[]%"

// pathRegex returns a path as a regular expression. If it is undocumented whether the cloud decodes
// paths first, the expression also matches the decoded form of characters that are always encoded.
func (s *speller) pathRegex(p routing.Path) (string, bool) {
	switch p.Type {
	case routing.Regex:
		_, err := regexp.Compile(p.Value)
		spelt, known := routing.SpellCases(p.Value)
		if s.caps.CaseFlag && known && !s.fits("^(?:"+spelt+")$") { // what is documented goes first
			spelt = p.Value
		}
		return "(?:" + spelt + ")", err == nil && known
	case routing.Glob:
		return s.allowDecoded(routing.GlobPattern(p.Value)), true
	}
	return s.allowDecoded(regexp.QuoteMeta(p.Value)), true
}

var percent = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

func (s *speller) allowDecoded(pattern string) string {
	if !s.caps.Doubt.Decoding || !strings.Contains(pattern, "%") {
		return pattern
	}
	return percent.ReplaceAllStringFunc(pattern, func(code string) string {
		c := unhex(code[1])<<4 | unhex(code[2])
		if !strings.ContainsRune(encoded, rune(c)) || c == 0 {
			return code
		}
		return "(" + code + "|" + regexp.QuoteMeta(string(rune(c))) + ")"
	})
}

func unhex(c byte) byte {
	switch {
	case c >= 'a':
		return c - 'a' + 10
	case c >= 'A':
		return c - 'A' + 10
	}
	return c - '0'
}

func (s *speller) fits(value string) bool {
	return s.caps.ValueLength == 0 || len(value) <= s.caps.ValueLength
}

func allowsWildcards(c lb.Capabilities, n int) bool {
	return c.WildcardsPerRule == 0 || n <= c.WildcardsPerRule
}

func wildcards(value string) int { return strings.Count(value, "*") + strings.Count(value, "?") }
