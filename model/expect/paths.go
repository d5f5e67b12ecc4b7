package expect

import (
	"fmt"
	"regexp"
	"strings"

	"fairlead.dev/fairlead/model/routing"
)

// This file has the spellings of a path.
//
// Load balancers compare paths byte by byte: "The comparison is case sensitive", and nothing is
// said to be decoded or resolved
// (docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_PathPatternConditionConfig.html).
// Many Services decode percent-encoding, join slashes, ignore case and resolve dot
// segments (RFC 3986, sections 2.1, 5.2.4 and 6.2.2) before they look at a path.

// pattern is the set of paths as routing has it.
func (p Path) pattern() routing.Path {
	if !p.Decoded {
		return p.Path
	}
	var b strings.Builder
	b.WriteString("/" + between)
	segments := strings.Split(strings.Trim(p.Value, "/"), "/")
	for i, segment := range segments {
		if i > 0 {
			b.WriteString(slash + between)
		}
		for _, c := range []byte(segment) {
			b.WriteString(spelt(c))
		}
	}
	switch {
	case p.Type == routing.Prefix && segments[0] == "":
		b.WriteString(".*")
	case p.Type == routing.Prefix:
		b.WriteString("(" + slash + ".*)?")
	case strings.HasSuffix(p.Value, "/") && p.Value != "/":
		b.WriteString(slash + "+")
	}
	return routing.Path{Type: routing.Regex, Value: b.String()}
}

const (
	slash = `(/|%2[fF])`
	dot   = `(\.|%2[eE])`
	// between is what may stand behind a slash without leading elsewhere. Segments that ".." takes
	// back are left out: with them every path below a prefix would be a spelling of every path.
	between = "(" + slash + "|" + dot + slash + ")*"
)

// spelt is a character of a path in either case, and encoded.
func spelt(c byte) string {
	lower, upper := strings.ToLower(string(rune(c))), strings.ToUpper(string(rune(c)))
	out := []string{regexp.QuoteMeta(lower), encoded(lower[0])}
	if lower != upper {
		out = append(out, upper, encoded(upper[0]))
	}
	return "(" + strings.Join(out, "|") + ")"
}

// encoded is a character in percent-encoding, whose digits have either case.
func encoded(c byte) string {
	hex := fmt.Sprintf("%02x", c)
	return "%" + hex[:1] + "[" + hex[1:] + strings.ToUpper(hex[1:]) + "]"
}
