package routing

import (
	"fmt"
	"regexp"
	"strings"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/printable"
)

// PathType says how a path is compared with the path of a request.
type PathType uint8

const (
	// Exact is the whole path, case and trailing slash included.
	Exact PathType = iota
	// Prefix is the path and everything below it, element by element: "/foo" stands for "/foo"
	// and for "/foo/…", never for "/foobar". It is kept without its trailing slash, which makes
	// no difference to what it matches; the root is kept as "/".
	Prefix
	// Glob is the whole path with "*" for any text, slashes included, and "?" for one character.
	Glob
	// Regex is the whole path as a regular expression in Go's syntax.
	Regex
)

func (t PathType) String() string { return [...]string{"Exact", "Prefix", "Glob", "Regex"}[t] }

// A Path is a set of request paths. Exact and Prefix stay apart until rules are made of them,
// because they differ in precedence and not only in what they match.
type Path struct {
	Type  PathType
	Value string
}

// NewPath makes a path, dropping a Prefix's trailing slash.
func NewPath(t PathType, value string) Path {
	if t == Prefix && len(value) > 1 {
		value = strings.TrimSuffix(value, "/")
	}
	return Path{t, value}
}

// Root is the path that every request matches.
var Root = Path{Prefix, "/"}

// String is the path in words: of a long one the beginning.
func (p Path) String() string { return p.Type.String() + " " + printable.Word(diag.Cut(p.Value)) }

// Matches reports whether the path stands for a request's path.
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

// Expression returns the compiled expression of a Regex, for whole paths; nil if it is none.
func (p Path) Expression() *regexp.Regexp {
	re, err := regexp.Compile(`\A(?:` + p.Value + `)\z`)
	if err != nil {
		return nil
	}
	return re
}

// Text is the part of a path before its first wildcard. Its length ranks prefixes, globs and
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

// Ancestors are the values of the prefixes that have a path: its own, then those above it, up to
// the root.
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

// GlobMatch reports whether a text is one that a glob stands for: "*" for any text, "?" for one
// character.
func GlobMatch(glob, text string) bool {
	// The last star seen and how far it reaches so far: on a mismatch it takes one byte more.
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

// Pattern is the path as an unanchored regular expression that is meant to match whole texts.
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

// GlobPattern is a glob as a regular expression.
func GlobPattern(glob string) string {
	quoted := regexp.QuoteMeta(glob)
	return strings.NewReplacer(`\*`, `.*`, `\?`, `.`).Replace(quoted)
}

// Sendable is a path with only those bytes encoded that cannot be sent.
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
