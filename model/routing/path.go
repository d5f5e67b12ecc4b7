package routing

import (
	"fmt"
	"regexp"
	"strings"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/printable"
)

// A PathType is how a path is compared with the path of a request.
type PathType uint8

const (
	// Exact matches the whole path, including case and trailing slash.
	Exact PathType = iota
	// Prefix matches the path and all paths below it, element by element: "/foo" matches "/foo" and
	// "/foo/…", but not "/foobar". It has no trailing slash, which would not change its meaning; the
	// root is "/".
	Prefix
	// Glob matches the whole path with "*" for any text, including slashes, and "?" for one character.
	Glob
	// Regex matches the whole path by a regular expression in Go's syntax.
	Regex
)

func (t PathType) String() string { return [...]string{"Exact", "Prefix", "Glob", "Regex"}[t] }

// A Path is a set of request paths. Exact and Prefix stay distinct until rules are made, because
// they also differ in precedence.
type Path struct {
	Type  PathType
	Value string
}

// NewPath returns a path, without the trailing slash of a Prefix.
func NewPath(t PathType, value string) Path {
	if t == Prefix && len(value) > 1 {
		value = strings.TrimSuffix(value, "/")
	}
	return Path{t, value}
}

// Root is the path that every request matches.
var Root = Path{Prefix, "/"}

// String describes the path, shortened if it is long.
func (p Path) String() string { return p.Type.String() + " " + printable.Word(diag.Cut(p.Value)) }

// Matches reports whether the path matches a request's path.
func (p Path) Matches(path string) bool {
	switch p.Type {
	case Exact:
		return path == p.Value
	case Prefix:
		if p == Root {
			return true
		}
		rest, ok := strings.CutPrefix(path, p.Value)
		return ok && (rest == "" || rest[0] == '/')
	case Glob:
		return GlobMatch(p.Value, path)
	default:
		re := p.Expression()
		return re != nil && re.MatchString(path)
	}
}

// Expression returns the compiled expression of a Regex, for whole paths; nil if it is invalid.
func (p Path) Expression() *regexp.Regexp {
	re, err := regexp.Compile(`\A(?:` + p.Value + `)\z`)
	if err != nil {
		return nil
	}
	return re
}

// Text returns the part of a path before its first wildcard. Its length ranks prefixes, globs and
// regular expressions of one host.
func (p Path) Text() string {
	switch p.Type {
	case Glob:
		if star := strings.IndexAny(p.Value, "*?"); star >= 0 {
			return p.Value[:star]
		}
	case Regex:
		if re, err := regexp.Compile(p.Value); err == nil {
			text, _ := re.LiteralPrefix()
			return text
		}
	}
	return p.Value
}

// Ancestors yields the prefixes that match a path: the path itself, then its parents up to the
// root.
func Ancestors(path string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for len(path) > 1 {
			if !yield(path) {
				return
			}
			path = path[:max(strings.LastIndexByte(path, '/'), 0)]
		}
		yield("/")
	}
}

// GlobMatch reports whether a glob matches a text: "*" is any text, "?" one character.
func GlobMatch(glob, text string) bool {
	// The last star and how far it reaches: on a mismatch it takes one byte more.
	star, reach := -1, 0
	g, t := 0, 0
	for t < len(text) {
		switch {
		case g < len(glob) && glob[g] == '*':
			star, reach = g, t
			g++
		case g < len(glob) && (glob[g] == '?' || glob[g] == text[t]):
			g++
			t++
		case star >= 0:
			reach++
			g, t = star+1, reach
		default:
			return false
		}
	}
	return strings.Trim(glob[g:], "*") == ""
}

// Pattern returns the path as a regular expression for whole texts, without anchors.
func (p Path) Pattern() string {
	switch p.Type {
	case Exact:
		return regexp.QuoteMeta(p.Value)
	case Prefix:
		if p == Root {
			return `/.*`
		}
		return regexp.QuoteMeta(p.Value) + `(/.*)?`
	case Glob:
		return GlobPattern(p.Value)
	default:
		return p.Value
	}
}

// GlobPattern returns a glob as a regular expression.
func GlobPattern(glob string) string {
	quoted := regexp.QuoteMeta(glob)
	return strings.NewReplacer(`\*`, `.*`, `\?`, `.`).Replace(quoted)
}

// Sendable returns a path in which the bytes that cannot be sent are encoded.
func Sendable(path string) string {
	var b strings.Builder
	for _, c := range []byte(path) {
		if c <= ' ' || c >= 0x7f {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
