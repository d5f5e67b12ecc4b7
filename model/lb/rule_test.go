package lb_test

import (
	"flag"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fairlead/model/lb"
)

var seed = flag.Uint64("seed", uint64(time.Now().UnixNano()), "of random expressions")

// TestAnchored compares random expressions with whole texts, as they are, with anchors and without.
func TestAnchored(t *testing.T) {
	t.Logf("-seed %d", *seed)
	r := rand.New(rand.NewPCG(*seed, 1))
	tokens := strings.Fields(`a b | | ^ ^ $ $ ( ( ) ) (?: * ? \| \$ [a|] [^|] []a] [^]$] [[:alpha:]|] (?i) \Qa|b\E`)
	texts := strings.Fields(`a b ab ba aa | $ ] A a|b ^a a$ b|a abab`)
	plain := 0
	for range 100_000 {
		var b strings.Builder
		for range 1 + r.IntN(7) {
			b.WriteString(tokens[r.IntN(len(tokens))])
		}
		expression := b.String()
		want, err := regexp.Compile(`\A(?:` + expression + `)\z`)
		if _, alone := regexp.Compile(expression); err != nil || alone != nil {
			continue
		}
		anchored := regexp.MustCompile(lb.Anchored(expression))
		body, is := lb.Unanchored(expression)
		if is {
			plain++
		}
		without := regexp.MustCompile(`\A(?:` + body + `)\z`)
		for _, text := range append(texts, "") {
			if w, got, bare := want.MatchString(text), anchored.MatchString(text), without.MatchString(text); got != w || bare != w {
				t.Fatalf("%s matches %q: %v; as %s: %v; as %s: %v", expression, text, w, anchored, got, body, bare)
			}
		}
	}
	if plain < 1000 {
		t.Errorf("%d expressions are plain", plain)
	}
}
