package language

import (
	"regexp/syntax"
	"slices"
)

// This file is for texts with spaces, which automata lack.

// Space is a character that represents a space in texts. Texts that have it themselves are left out.
const Space = '`'

// WithSpace returns an expression for texts in which Space represents a space.
func WithSpace(expression string) (string, bool) {
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return "", false
	}
	replaceSpace(parsed)
	return parsed.String(), true
}

// replaceSpace replaces the space in an expression.
func replaceSpace(re *syntax.Regexp) {
	for _, sub := range re.Sub {
		replaceSpace(sub)
	}
	switch re.Op {
	case syntax.OpLiteral:
		for i, r := range re.Rune {
			if r == ' ' {
				re.Rune[i] = Space
			}
		}
	case syntax.OpCharClass:
		has := false
		var rest []rune
		for i := 0; i+1 < len(re.Rune); i += 2 {
			lo, hi := re.Rune[i], re.Rune[i+1]
			has = has || lo <= ' ' && hi >= ' '
			if lo <= Space && hi >= Space {
				if lo < Space {
					rest = append(rest, lo, Space-1)
				}
				if lo = Space + 1; lo > hi {
					continue
				}
			}
			rest = append(rest, lo, hi)
		}
		if has {
			rest = append(rest, Space, Space)
		}
		re.Rune = sorted(rest)
	}
}

// sorted returns the ranges of a class in order, without a gap between two of them that are adjacent.
func sorted(ranges []rune) []rune {
	type span struct{ lo, hi rune }
	var spans []span
	for i := 0; i+1 < len(ranges); i += 2 {
		spans = append(spans, span{ranges[i], ranges[i+1]})
	}
	slices.SortFunc(spans, func(a, b span) int { return int(a.lo - b.lo) })
	out := []rune{}
	for _, s := range spans {
		if last := len(out) - 1; last > 0 && out[last]+1 == s.lo {
			out[last] = s.hi
			continue
		}
		out = append(out, s.lo, s.hi)
	}
	return out
}
