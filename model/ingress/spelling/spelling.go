// Package spelling compares names that people write by hand, to find the name that a misspelt one
// was meant as.
package spelling

import (
	"strings"
	"unicode"
)

var punctuation = strings.NewReplacer("-", "", "_", "", ".", "")

// Squeeze returns a name in lower case without punctuation.
func Squeeze(name string) string { return strings.ToLower(punctuation.Replace(name)) }

// Words returns the words of a name in lower case. They are separated by punctuation, or begin with
// a capital letter, as in allowSourceRange and OIDCProvider.
func Words(name string) []string {
	var out []string
	runes := []rune(name)
	start := 0
	end := func(at int) {
		if at > start {
			out = append(out, strings.ToLower(string(runes[start:at])))
		}
		start = at
	}
	for i, r := range runes {
		switch {
		case r == '-' || r == '_' || r == '.':
			end(i)
			start = i + 1
		case i > 0 && unicode.IsUpper(r) &&
			(!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])):
			end(i)
		}
	}
	end(len(runes))
	return out
}

// Within reports whether one name becomes the other with at most so many edits. An edit inserts,
// removes or replaces a character, or swaps two neighbours. It takes time in proportion to the
// length of the names and to most.
func Within(a, b string, most int) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > most {
		return false
	}
	// The rows of the table of distances between beginnings of a and of b: the one before the last,
	// the last and the current. Cells further than most from the diagonal cannot count.
	far := most + 1
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = min(j, far)
	}
	for i := 1; i <= len(a); i++ {
		from, to := max(1, i-most), min(len(b), i+most)
		row[from-1] = far
		if from == 1 {
			row[0] = min(i, far)
		}
		nearest := row[from-1]
		for j := from; j <= to; j++ {
			above := far
			if j < i+most {
				above = last[j]
			}
			d := min(above+1, row[j-1]+1)
			if a[i-1] == b[j-1] {
				d = min(d, last[j-1])
			} else {
				d = min(d, last[j-1]+1)
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, before[j-2]+1)
			}
			row[j] = min(d, far)
			nearest = min(nearest, row[j])
		}
		if nearest > most {
			return false
		}
		before, last, row = last, row, before
	}
	return last[len(b)] <= most
}

// Resembles reports whether a name is a misspelling of another one: squeezed, they are equal or at
// most two edits apart. For short names, which resemble by chance, fewer edits count.
func Resembles(a, b string) bool {
	if a == b {
		return true
	}
	switch shorter := min(len(a), len(b)); {
	case shorter < 4:
		return false
	case shorter < 6:
		return Within(a, b, 1)
	}
	return Within(a, b, 2)
}
