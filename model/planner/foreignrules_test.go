package planner

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
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
			kept := KeepForeignRules(want, seen, ForeignRules(seen, want, func(_ int32, r lb.Rule) bool { return !foreign(r) }))
			var got strings.Builder
			for _, r := range kept.Listeners[0].Rules {
				got.WriteString(strings.TrimPrefix(r.Conditions[0].Values[0], "/"))
			}
			if diff := cmp.Diff(tc.kept, got.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for _, s := range Diff(seen, kept, c).Steps {
				switch s := s.Step.(type) {
				case plan.CreateRule:
					if foreign(s.Rule) {
						t.Errorf("%s %s makes a stranger's rule", s.Op(), s.ID())
					}
				case plan.DeleteRule:
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

// Whether rules that are not wanted may be left over from before shows in what is wanted and not
// there.
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
			if got := MissesRules(built(letters(tc.there), c), letters(tc.want)); got != tc.lacks {
				t.Errorf("%t, want %t", got, tc.lacks)
			}
		})
	}
}

// Which rules are strangers, port by port: those that are neither wanted there nor ours there, and
// park nothing.
func TestStrangersAreToldByPort(t *testing.T) {
	ours := rule("", "/ours", fixed(200))
	seen := built(balancer(
		listener(80, rule("", "/wanted", fixed(200)), ours, rule("", "/x", fixed(200)), plan.ParkingRule(nil, lb.ALB())),
		listener(81, rule("", "/wanted", fixed(200)), ours),
	), lb.ALB())
	want := balancer(listener(81), listener(80, rule("", "/wanted", fixed(200))))
	var got []string
	for _, s := range ForeignRules(seen, want, HasDigest([]string{RuleDigest(80, ours), "0"})) {
		got = append(got, fmt.Sprint(s.Port, s.Conditions[0].Values[0]))
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"80/x", "81/ours", "81/wanted"}, got); diff != "" {
		t.Errorf("strangers (-want +got)\n%s", diff)
	}
}

// Strangers stay on their own port, where it stays as it is, and what was wanted is left as it was
// given.
func TestStrangersStayOnTheirPort(t *testing.T) {
	x, y := rule("", "/X", fixed(200)), rule("", "/Y", fixed(200))
	seen := built(balancer(listener(80, x, y), listener(81, x)), lb.ALB())
	strangers := []ForeignRule{{80, seen.Listener(80).Rules[0]}}
	secure := listener(80)
	secure.Protocol = "HTTPS"
	for name, c := range map[string]struct {
		want lb.LoadBalancer
		kept []int // how many rules each listener has then
	}{
		"the same ports":     {balancer(listener(80), listener(81)), []int{1, 0}},
		"a port that is new": {balancer(listener(82)), []int{0}},
		"another protocol":   {balancer(secure, listener(81)), []int{0, 0}},
		"in whatever order":  {balancer(listener(82), listener(81), listener(80)), []int{0, 0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			kept := KeepForeignRules(c.want, seen, strangers)
			for i, l := range kept.Listeners {
				if len(l.Rules) != c.kept[i] || len(c.want.Listeners[i].Rules) > 0 {
					t.Errorf("port %d has %d rules, want %d; what was given has %d", l.Port, len(l.Rules), c.kept[i], len(c.want.Listeners[i].Rules))
				}
			}
		})
	}
}

func TestAStrangerIsToldWhatBecomesOfIt(t *testing.T) {
	s := ForeignRule{80, lb.ObservedRule{Priority: 7, Rule: rule("", "/x", fixed(200))}}
	for stays, says := range map[bool]string{true: "Rule 7 of port 80 (path = /x → fixed 200) was created by another writer: it stays", false: "it is removed"} {
		if got := s.Notice("k", stays).Message; !strings.Contains(got, says) {
			t.Errorf("where it stays: %t, it says %q", stays, got)
		}
	}
}
