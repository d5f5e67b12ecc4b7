package routing_test

import (
	"flag"
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fairlead/model/routing"
)

var seed = flag.Uint64("seed", uint64(time.Now().UnixNano()), "of random expressions")

// TestBranches compares the branches of random expressions with those that Go finds: a | divides an
// expression if both sides of it are expressions, and an anchor is what the parser takes for one.
func TestBranches(t *testing.T) {
	t.Logf("-seed %d", *seed)
	r := rand.New(rand.NewPCG(*seed, 1))
	tokens := strings.Fields(`a b / | | | ^ ^ $ $ ( ( ) ) (?: . * + ? {2} { \| \$ \^ \\ \] \[ \( [a|] [^|] []a] [^]$] [\]|^] [[:alpha:]|] [$] [:|] (?m: (?i) \Qa|b\E`)
	divided, anchored := 0, 0
	for range 200_000 {
		var b strings.Builder
		for range 1 + r.IntN(8) {
			b.WriteString(tokens[r.IntN(len(tokens))])
		}
		expression := b.String()
		if _, err := syntax.Parse(expression, syntax.Perl); err != nil {
			continue
		}
		branches, complete := routing.Branches(expression)
		if !complete {
			if flags := strings.Contains(expression, "(?") && len(branches) > 1; !flags && !strings.Contains(expression, `\Q`) {
				t.Fatalf("%s is not complete", expression)
			}
			continue
		}
		var got []string
		for _, b := range branches {
			text := b.Text
			if b.Begins {
				text = "^" + text
			}
			if b.Ends {
				text += "$"
			}
			got = append(got, text)
			if has := hasAnchor(t, b.Text); has != b.Anchored {
				t.Fatalf("%s has the branch %+v, and in its text is an anchor: %v", expression, b, has)
			}
			if b.Anchored {
				anchored++
			}
		}
		if want := divide(expression); !slices.Equal(got, want) {
			t.Fatalf("%s has the branches %q, want %q", expression, got, want)
		}
		if len(got) > 1 {
			divided++
		}
	}
	if divided < 1000 || anchored < 1000 {
		t.Errorf("%d expressions have several branches, and %d branches have anchors inside", divided, anchored)
	}
}

func divide(expression string) (out []string) {
	from := 0
	for i, c := range expression {
		if c != '|' {
			continue
		}
		if _, err := regexp.Compile(expression[:i]); err != nil {
			continue
		}
		if _, err := regexp.Compile(expression[i+1:]); err != nil {
			continue
		}
		out, from = append(out, expression[from:i]), i+1
	}
	return append(out, expression[from:])
}

func hasAnchor(t *testing.T, text string) bool {
	t.Helper()
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	var in func(*syntax.Regexp) bool
	in = func(re *syntax.Regexp) bool {
		switch re.Op {
		case syntax.OpBeginText, syntax.OpEndText, syntax.OpBeginLine, syntax.OpEndLine:
			return true
		}
		return slices.ContainsFunc(re.Sub, in)
	}
	return in(tree)
}
