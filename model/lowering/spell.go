package lowering

import (
	"regexp"
	"strings"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file spells hosts and paths as the values of conditions, within what a cloud accepts. A
// host or path that has no spelling cannot be served there.

// A spelling is the ways to say one host or one path. It has values, a regular expression, both
// or neither.
type spelling struct {
	values []string // globs that together are exactly it; nil: there are none
	regex  string   // one alternative of a regular expression, without anchors; "": there is none
	prefix bool     // the regular expression goes on with an optional rest below it
	whole  bool     // the regular expression shares no value with others
}

func (s spelling) impossible() bool { return s.values == nil && s.regex == "" }

// speller spells for the rules of one port.
type speller struct {
	caps       lb.Capabilities
	port       int32
	hostValues *regexp.Regexp // nil: any
	// those spelt so far: a host is asked for by each of its routes
	hosts map[routing.Host]spelling
}

func newSpeller(c lb.Capabilities, port int32) *speller {
	s := &speller{caps: c, port: port, hosts: map[routing.Host]spelling{}}
	if c.HostValue != "" {
		s.hostValues = regexp.MustCompile(c.HostValue)
	}
	return s
}

// deeperNames is the glob that stands for names too long for a wildcard, which a star that spans
// dots would let in: "*.*.example.com" for "*.example.com".
func deeperNames(wildcard routing.Host) routing.Host { return "*." + wildcard }

func isDeeperNames(h routing.Host) bool { return strings.HasPrefix(string(h), "*.*.") }

// host spells a host. A wildcard whose star would span dots is a value only behind a catch-all.
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

// needsCatchAll reports whether a wildcard can only be said with a star that spans dots.
func (s *speller) needsCatchAll(h routing.Host) bool {
	return h.Wildcard() && !s.caps.HostStarIsLabel && s.host(h).regex == ""
}

// hostWildcards are how many wildcards a host brings into a rule where only a value says it.
func (s *speller) hostWildcards(h routing.Host) int {
	if s.host(h).regex != "" {
		return 0
	}
	return wildcards(string(h))
}

// hostWildcardsOf are the most wildcards that hosts bring into rules that repeat there what is for
// any host.
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

// hostEnd allows a port where the cloud may see one and does not say so.
func (s *speller) hostEnd() string {
	if s.portInHost() {
		return `(:[0-9]+)?$`
	}
	return `$`
}

// portInHost reports whether the Host header carries a port that may take part in matching.
// Clients leave out the usual ports.
func (s *speller) portInHost() bool { return s.caps.Doubt.HostPort && !lb.UsualPort(s.port) }

// beside is the spelling of a path in a rule whose host has some wildcards: they share a limit.
func (s *speller) beside(path spelling, wild int) spelling {
	for _, v := range path.values {
		if !allowsWildcards(s.caps, wild+wildcards(v)) {
			path.values = nil
		}
	}
	return path
}

// path spells a path. The root needs no condition and is not asked for.
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

// pathValues are values that together say a path, if all of them are accepted.
func (s *speller) pathValues(values ...string) []string {
	for _, v := range values {
		if !s.fits(v) || !s.caps.AcceptsPath(v) {
			return nil
		}
	}
	return values
}

// unsupported matches what a cloud with a character set does not know in regular expressions.
var unsupported = regexp.MustCompile(`\\[pP]`)

// seesPath reports whether a cloud could find a path in a request: one that names the characters
// of paths looks at visible ASCII only, and knows no classes beyond it.
func seesPath(c lb.Capabilities, p routing.Path) bool {
	if c.PathCharacters == "" {
		return true
	}
	beyond := strings.ContainsFunc(p.Value, func(r rune) bool { return r <= ' ' || r > '~' })
	return !beyond && !(p.Type == routing.Regex && unsupported.MatchString(p.Value))
}

// encoded are the characters that a path can only carry percent-encoded.
const encoded = " \"<>\\^`{|}#?[]%"

// pathRegex is a path as a regular expression. Where the cloud does not say whether it decodes
// paths first, an encoded character that could not stand there raw is allowed to be decoded.
func (s *speller) pathRegex(p routing.Path) (string, bool) {
	switch p.Type {
	case routing.Regex:
		_, err := regexp.Compile(p.Value)
		return "(?:" + p.Value + ")", err == nil
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
