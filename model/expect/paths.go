package expect

import (
	"fmt"
	"regexp"
	"strings"

	"fairlead.dev/fairlead/model/routing"
)

// This file has the spellings of a path.
//
// Load balancers compare paths byte by byte: "The comparison is case sensitive", and no decoding is
// documented
// (docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_PathPatternConditionConfig.html).
// Many Services decode percent-encoding, join slashes, ignore case and resolve dot segments (RFC
// 3986, sections 2.1, 5.2.4 and 6.2.2) before they look at a path.

// pattern returns the set of paths as a routing.Path. The spellings of an exact path have a trailing
// slash and lack it, because many Services ignore it.
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
			b.WriteString(spellings(c))
		}
	}
	switch {
	case p.Type == routing.Prefix && segments[0] == "":
		b.WriteString(".*")
	case p.Type == routing.Prefix:
		b.WriteString("(" + slash + ".*)?")
	case segments[0] == "":
		b.WriteString(dot + "?")
	default:
		b.WriteString("(" + slash + between + dot + "?)?")
	}
	return routing.Path{Type: routing.Regex, Value: b.String()}
}

const (
	slash = `(/|%2[fF])`
	dot   = `(\.|%2[eE])`
	// between matches text after a slash that does not change the path. Segments that ".." removes are
	// left out: with them every path below a prefix would be a spelling of every path.
	between = "(" + slash + "|" + dot + slash + ")*"
)

// spellings returns an expression for a character in either case, and encoded.
func spellings(c byte) string {
	lower, upper := strings.ToLower(string(rune(c))), strings.ToUpper(string(rune(c)))
	out := []string{regexp.QuoteMeta(lower), encoded(lower[0])}
	if lower != upper {
		out = append(out, upper, encoded(upper[0]))
	}
	return "(" + strings.Join(out, "|") + ")"
}

// encoded returns an expression for a percent-encoded character, with digits in either case.
func encoded(c byte) string {
	hex := fmt.Sprintf("%02x", c)
	return "%" + hex[:1] + "[" + hex[1:] + strings.ToUpper(hex[1:]) + "]"
}
