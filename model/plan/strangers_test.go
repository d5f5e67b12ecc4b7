package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/lb"
)

// Small letters are rules of ours, capitals those of strangers.
func TestStrangersStayWhereTheyStand(t *testing.T) {
	c := lb.ALB()
	for name, tc := range map[string]struct{ there, want, kept string }{
		"before all":                         {there: "Xab", want: "ab", kept: "Xab"},
		"behind all":                         {there: "abX", want: "ab", kept: "abX"},
		"between, whatever comes and goes":   {there: "aXbY", want: "zabw", kept: "zaXbYw"},
		"behind one that goes":               {there: "abX", want: "a", kept: "aX"},
		"though all others are other ones":   {there: "aXb", want: "zw", kept: "Xzw"},
		"whichever of two that swap is kept": {there: "aXb", want: "ba", kept: "Xba"},
		"alone":                              {there: "X", want: "", kept: "X"},
	} {
		t.Run(name, func(t *testing.T) {
			seen, want := built(letters(tc.there), c), letters(tc.want)
			kept := Keep(want, seen, Strangers(seen, want, func(_ int32, r lb.Rule) bool { return !foreign(r) }))
			var got strings.Builder
			for _, r := range kept.Listeners[0].Rules {
				got.WriteString(strings.TrimPrefix(r.Conditions[0].Values[0], "/"))
			}
			if diff := cmp.Diff(tc.kept, got.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for _, s := range Diff(seen, kept, c).Steps {
				switch s := s.Step.(type) {
				case CreateRule:
					if foreign(s.Rule) {
						t.Errorf("%s %s makes a stranger's rule", s.Op(), s.ID())
					}
				case DeleteRule:
					if foreign(seen.Listeners[0].Rule(s.Priority).Rule) {
						t.Errorf("%s %s takes a stranger's rule away", s.Op(), s.ID())
					}
				}
			}
		})
	}
}

// letters is a load balancer with a rule for each letter.
func letters(text string) lb.LoadBalancer {
	var out []string
	for _, l := range text {
		out = append(out, string(l))
	}
	return numbered(out...)
}

// foreign reports whether a rule has a capital letter.
func foreign(r lb.Rule) bool {
	return r.Conditions[0].Values[0] != strings.ToLower(r.Conditions[0].Values[0])
}

// Whether rules that are not wanted may be left over from before shows in what is wanted and not there.
func TestLacks(t *testing.T) {
	c := lb.ALB()
	for name, tc := range map[string]struct {
		there, want string
		lacks       bool
	}{
		"all is there":      {"ab", "ab", false},
		"and more":          {"aXb", "ab", false},
		"one is not":        {"aX", "ab", true},
		"nothing is wanted": {"X", "", false},
		"in whatever order": {"bXa", "ab", false},
		"nothing is there":  {"", "a", true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Lacks(built(letters(tc.there), c), letters(tc.want)); got != tc.lacks {
				t.Errorf("%t, want %t", got, tc.lacks)
			}
		})
	}
}
