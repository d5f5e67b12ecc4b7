package routing_test

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"fairlead.dev/fairlead/model/routing"
)

// TestCasesAreSpelt compares expressions that ignore case with those that spell both cases out, over random texts.
func TestCasesAreSpelt(t *testing.T) {
	t.Logf("-seed %d", *seed)
	rng := rand.New(rand.NewPCG(*seed, 2))
	const tried = 10_000
	pieces := strings.Fields(`a B k S / | ( ) (?: (?i) (?i: [a-c] [^B] [A-z] [0-K] [x\]k] [^a-cX-Z/] []a] \. \d \w \S \x41 . * + ? $ ^ {2} - _ ſ`)
	texts := func(r *rand.Rand) string {
		var b strings.Builder
		for range r.IntN(8) {
			b.WriteByte("aAbBcCkKsSxXzZ09/._-]^"[r.IntN(21)])
		}
		return b.String()
	}
	compared, folded := 0, 0
	for range tried {
		var b strings.Builder
		for range 1 + rng.IntN(9) {
			b.WriteString(pieces[rng.IntN(len(pieces))])
		}
		expression := b.String()
		want, err := regexp.Compile(`\A(?:` + expression + `)\z`)
		spelt, known := routing.SpellCases(expression)
		if err != nil || !known {
			continue
		}
		if strings.Contains(spelt, "(?i") {
			t.Fatalf("%s is spelt %s", expression, spelt)
		}
		got, err := regexp.Compile(`\A(?:` + spelt + `)\z`)
		if err != nil {
			t.Fatalf("%s is spelt %s: %s", expression, spelt, err)
		}
		compared++
		if spelt != expression {
			folded++
		}
		for range 20 {
			if text := texts(rng); want.MatchString(text) != got.MatchString(text) {
				t.Fatalf("%s is spelt %s, and %q tells them apart", expression, spelt, text)
			}
		}
	}
	if compared < tried/20 || folded < tried/80 {
		t.Errorf("%d compared, %d of them with the flag", compared, folded)
	}
}

func TestSpeltCases(t *testing.T) {
	for expression, want := range map[string]string{
		`/a(/|$)(.*)`:             `/a(/|$)(.*)`,
		`(?:/(?i)api(/|$)(.*)).*`: `(?:/[aA][pP][iI](/|$)(.*)).*`,
		`/(?i)[a-f0-9]+\.php`:     `/[a-f0-9A-F]+\.[pP][hH][pP]`,
		`/(?i:a)b`:                `/(?:[aA])b`,
		`(/(?i)a)b`:               `(/[aA])b`,
	} {
		if got, known := routing.SpellCases(expression); !known || got != want {
			t.Errorf("%s is spelt %s, want %s", expression, got, want)
		}
	}
	for _, expression := range []string{`/(?is)a`, `/(?i)\x41`, `/(?i)[[:lower:]]`, `/(?i)\pL`, `/(?P<x>(?i)a)`} {
		if got, known := routing.SpellCases(expression); known {
			t.Errorf("%s is spelt %s", expression, got)
		}
	}
}
