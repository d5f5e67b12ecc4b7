package lb

import (
	"slices"
	"testing"

	"fairlead.dev/fairlead/model/routing"
)

func ruleOf(conditions ...Condition) Rule { return Rule{Conditions: conditions} }

func hostIs(values ...string) Condition { return Condition{Field: "host", Values: values} }
func pathIs(values ...string) Condition { return Condition{Field: "path", Values: values} }
func pathLike(regex ...string) Condition {
	return Condition{Field: "path", Regex: regex}
}

func TestOverlapAndContains(t *testing.T) {
	cases := map[string]struct {
		a, b                      Rule
		overlap, aHoldsB, bHoldsA bool
	}{
		"other hosts never meet":                   {ruleOf(hostIs("a.test")), ruleOf(hostIs("b.test")), false, false, false},
		"no condition holds everything":            {ruleOf(), ruleOf(pathIs("/a")), true, true, false},
		"one more value holds the fewer":           {ruleOf(pathIs("/a", "/b")), ruleOf(pathIs("/a")), true, true, false},
		"a prefix holds what lies below":           {ruleOf(pathIs("/a", "/a/*")), ruleOf(pathIs("/a/b", "/a/b/*")), true, true, false},
		"neighbouring elements do not meet":        {ruleOf(pathIs("/a", "/a/*")), ruleOf(pathIs("/ab", "/ab/*")), false, false, false},
		"a longer alternation holds the shorter":   {ruleOf(pathLike(`^/(a|b|c)(/.*)?$`)), ruleOf(pathLike(`^/(a|b)(/.*)?$`)), true, true, false},
		"values and expressions can be compared":   {ruleOf(pathLike(`^/(a|b)(/.*)?$`)), ruleOf(pathIs("/a", "/a/*")), true, true, false},
		"a further condition narrows":              {ruleOf(), ruleOf(Condition{Field: "method", Values: []string{"GET"}}), true, true, false},
		"two further conditions cannot be ordered": {ruleOf(Condition{Field: "method", Values: []string{"PUT"}}), ruleOf(Condition{Field: "method", Values: []string{"GET"}}), true, false, false},
		"a wildcard spans labels here":             {ruleOf(hostIs("*.a.test")), ruleOf(hostIs("x.y.a.test")), true, true, false},
	}
	d := ALB().Dialect
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Overlap(c.a, c.b, d); got != c.overlap || got != Overlap(c.b, c.a, d) {
				t.Errorf("Overlap = %v, reversed %v; want %v", got, Overlap(c.b, c.a, d), c.overlap)
			}
			if got := Contains(c.a, c.b, d); got != c.aHoldsB {
				t.Errorf("Contains(a, b) = %v", got)
			}
			if got := Contains(c.b, c.a, d); got != c.bHoldsA {
				t.Errorf("Contains(b, a) = %v", got)
			}
		})
	}
}

// TestGlobsMeetWhereTheyShareAText compares with all texts that globs as short as these could
// share.
func TestGlobsMeetWhereTheyShareAText(t *testing.T) {
	globs, texts := words("ab*?", 3), words("ab", 6)
	for _, a := range globs {
		for _, b := range globs {
			want := slices.ContainsFunc(texts, func(text string) bool { return routing.GlobMatch(a, text) && routing.GlobMatch(b, text) })
			if got := globsMeet(a, b); got != want {
				t.Errorf("globsMeet(%q, %q) = %v", a, b, got)
			}
		}
	}
}

// words are all texts of some characters that are no longer than most.
func words(characters string, most int) []string {
	out := []string{""}
	for from := 0; most > 0; most-- {
		end := len(out)
		for _, w := range out[from:end] {
			for _, c := range characters {
				out = append(out, w+string(c))
			}
		}
		from = end
	}
	return out
}

func TestHostsAreReadBackAsTheyWereSpelt(t *testing.T) {
	for _, h := range []routing.Host{"a.test", "*.test", "x-1.a_b.test", "*.a.test"} {
		for _, anyCase := range []bool{false, true} {
			for _, end := range []string{"$", "(:[0-9]+)?$"} {
				body := HostRegex(h, anyCase)
				if got := hostsOfRegex("^" + body + end); len(got) != 1 || got[0] != h {
					t.Errorf("%s is spelt %s and read as %v", h, body, got)
				}
			}
		}
	}
	if got := hostsOfRegex(`^([aA]\.b|[^.]+\.c)(:[0-9]+)?$`); len(got) != 2 || got[0] != "a.b" || got[1] != "*.c" {
		t.Errorf("two hosts are read as %v", got)
	}
	if got := hostsOfRegex(`^a.*$`); got != nil {
		t.Errorf("a pattern is read as %v", got)
	}
}

func TestARuleForSomeOfItsHosts(t *testing.T) {
	wild := func(h routing.Host) bool { return h.Wildcard() }
	for name, c := range map[string]struct {
		host, want Condition
		none       bool
	}{
		"values":           {host: Condition{Values: []string{"a.b", "*.C"}}, want: Condition{Values: []string{"*.C"}}},
		"an expression":    {host: Condition{Regex: []string{`^(a\.b|[^.]+\.c)$`}}, want: Condition{Regex: []string{`^[^.]+\.c$`}}},
		"with a port":      {host: Condition{Regex: []string{`^(a\.b|[^.]+\.c|[^.]+\.[dD])(:[0-9]+)?$`}}, want: Condition{Regex: []string{`^([^.]+\.c|[^.]+\.[dD])(:[0-9]+)?$`}}},
		"all of one":       {host: Condition{Regex: []string{`^([^.]+\.c)$`, `^a\.b$`}}, want: Condition{Regex: []string{`^([^.]+\.c)$`}}},
		"none":             {host: Condition{Values: []string{"a.b"}}, none: true},
		"other expression": {host: Condition{Regex: []string{`^([^.]+\.c|a.*)$`}}, none: true},
	} {
		path := Condition{Field: "path", Values: []string{"/p"}}
		c.host.Field, c.want.Field = "host", "host"
		before := Rule{Conditions: []Condition{c.host, path}}
		got, is := before.ForHosts(wild)
		if is == c.none || is && got.MatchKey() != (Rule{Conditions: []Condition{c.want, path}}).MatchKey() {
			t.Errorf("%s: %s becomes %s, %t", name, before, got, is)
		}
	}
	if _, is := (Rule{}).ForHosts(func(h routing.Host) bool { return h == routing.Any }); !is {
		t.Error("a rule without a host is for no host")
	}
}
