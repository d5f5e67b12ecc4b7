package planner

import (
	"math/rand/v2"
	"strings"
	"testing"

	"fairlead.dev/fairlead/model/lb"
)

// ruleList has rules of the form /a,/b=1: the paths that match, and the group that answers.
func ruleList(text string) (out []lb.Rule) {
	for _, word := range strings.Fields(text) {
		paths, group, _ := strings.Cut(word, "=")
		out = append(out, lb.Rule{
			Conditions: []lb.Condition{{Field: "path", Values: strings.Split(paths, ",")}},
			Action:     lb.Action{Kind: "forward", Targets: []lb.Weighted{{Group: lb.GroupID(group), Weight: 1}}},
		})
	}
	return out
}

// mergeText writes a merged list: a sign, and the text of each rule as it becomes.
func mergeText(old, want string) string {
	signs := map[Change]string{Kept: "=", Removed: "-", Added: "+", Widened: ">", Narrowed: "<", Switched: "~"}
	var out []string
	for _, l := range Merge(ruleList(old), ruleList(want), lb.Dialect{}) {
		if l.New == absent {
			out = append(out, signs[l.Change]+strings.Fields(old)[l.Old])
		} else {
			out = append(out, signs[l.Change]+strings.Fields(want)[l.New])
		}
	}
	return strings.Join(out, " ")
}

func TestMerge(t *testing.T) {
	for _, tt := range []struct{ why, old, want, merged string }{
		{"equal lists", "/a /b /c", "/a /b /c", "=/a =/b =/c"},
		{"an addition", "/a /c", "/a /b /c", "=/a +/b =/c"},
		{"a removal", "/a /b /c", "/a /c", "=/a -/b =/c"},
		{"additions go above removals", "/a /b /c", "/a /x /c", "=/a +/x -/b =/c"},
		{"equal rules are paired from the top", "/a /a /a", "/a /a", "=/a =/a -/a"},
		{"one equal rule is not two", "/x /a /y /a /z", "/p /a /q", "+/p -/x =/a +/q -/y -/a -/z"},
		{"the most rules stay", "/a /b /c /d", "/d /a /b /c", "+/d =/a =/b =/c -/d"},
		{"another action", "/x /a=1 /y", "/p /a=2 /q", "+/p -/x ~/a=2 +/q -/y"},
		{"wider", "/a", "/a,/b", ">/a,/b"},
		{"narrower", "/a,/b", "/a", "</a"},
		{"wider with another action", "/a=1", "/a,/b=2", "+/a,/b=2 -/a=1"},
		{"wider and narrower ones", "/x /a /b,/c /y", "/p /a,/d /b /q", "+/p -/x >/a,/d </b +/q -/y"},
		{"pairs that cross", "/a /b", "/b,/1 /a,/2", "-/a >/b,/1 +/a,/2"},
		{"the most pairs, not the first one", "/a /b /c", "/c,/1 /a,/2 /b,/3", "+/c,/1 >/a,/2 >/b,/3 -/c"},
		{"one rule could become two", "/a /c", "/a,/1 /a,/2 /c,/3", ">/a,/1 +/a,/2 >/c,/3"},
	} {
		if got := mergeText(tt.old, tt.want); got != tt.merged {
			t.Errorf("%s: %s and %s become %q, want %q", tt.why, tt.old, tt.want, got, tt.merged)
		}
	}
}

// 512 pairs are compared, and no more.
func TestPairsOfLongListsAreNotLookedFor(t *testing.T) {
	for _, tt := range []struct {
		old, want int
		change    Change
	}{{16, 32, Widened}, {19, 27, Added}} {
		others := func(n int, name string) string { return strings.Repeat(" /"+name, n-1) }
		lines := Merge(ruleList("/a"+others(tt.old, "x")), ruleList("/a,/b"+others(tt.want, "y")), lb.Dialect{})
		if lines[0].Change != tt.change {
			t.Errorf("of %d and %d rules, the first is %v, want %v", tt.old, tt.want, lines[0].Change, tt.change)
		}
	}
}

// most is the most pairs that ascend in both lists, of those that a function permits.
func most(old, want []lb.Rule, pair func(o, n lb.Rule) bool) int {
	if len(old) == 0 || len(want) == 0 {
		return 0
	}
	best := max(most(old[1:], want, pair), most(old, want[1:], pair))
	if pair(old[0], want[0]) {
		best = max(best, 1+most(old[1:], want[1:], pair))
	}
	return best
}

// Rules that only get wider or narrower: as many as can be do so in place.
func TestTheMostRulesAreReshaped(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	old := strings.Fields("/a /b /c /a,/b /b,/c /a,/1,/2 /b,/1,/2 /c,/1,/2")
	want := strings.Fields("/a,/1 /b,/1 /c,/1 /a,/2 /a,/b,/1 /a,/b,/c,/1")
	for range 2000 {
		list := func(of []string) []lb.Rule {
			var out []string
			for _, at := range r.Perm(len(of))[:r.IntN(len(of))] {
				out = append(out, of[at])
			}
			return ruleList(strings.Join(out, " "))
		}
		a, b := list(old), list(want)
		reshaped := 0
		for _, l := range Merge(a, b, lb.Dialect{}) {
			if l.Change == Widened || l.Change == Narrowed {
				reshaped++
			}
		}
		if best := most(a, b, func(o, n lb.Rule) bool { return lb.Contains(n, o, lb.Dialect{}) || lb.Contains(o, n, lb.Dialect{}) }); reshaped != best {
			t.Fatalf("of %v and %v, %d rules are reshaped, want %d", a, b, reshaped, best)
		}
	}
}

// Each rule of both lists is there once and in order, changed as its line says, and no list has more
// lines that stay.
func TestAMergedListKeepsBoth(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	paths := strings.Fields("/a /b /c /d /e /f /a,/b /b,/c /a,/b,/c")
	for range 2000 {
		list := func() string {
			var out []string
			for _, at := range r.Perm(len(paths))[:r.IntN(7)] {
				out = append(out, paths[at]+"="+[]string{"1", "2"}[r.IntN(2)])
			}
			return strings.Join(out, " ")
		}
		a, b := list(), list()
		old, want := ruleList(a), ruleList(b)
		var kept, nextOld, nextNew int
		for _, l := range Merge(old, want, lb.Dialect{}) {
			if l.Old != absent && l.Old != nextOld || l.New != absent && l.New != nextNew {
				t.Fatalf("%s and %s become %s, which is not both in order", a, b, mergeText(a, b))
			}
			holds := false
			switch {
			case l.New == absent:
				holds = l.Change == Removed
			case l.Old == absent:
				holds = l.Change == Added
			case l.Change == Kept:
				kept++
				holds = lb.SameRule(old[l.Old], want[l.New])
			case l.Change == Switched:
				holds = lb.SameConditions(old[l.Old], want[l.New]) && !lb.SameAction(old[l.Old].Action, want[l.New].Action)
			case l.Change == Widened:
				holds = lb.SameAction(old[l.Old].Action, want[l.New].Action) && lb.Contains(want[l.New], old[l.Old], lb.Dialect{})
			case l.Change == Narrowed:
				holds = lb.SameAction(old[l.Old].Action, want[l.New].Action) && lb.Contains(old[l.Old], want[l.New], lb.Dialect{})
			}
			if !holds {
				t.Fatalf("%s and %s become %s, in which %v is not so", a, b, mergeText(a, b), l)
			}
			if l.Old != absent {
				nextOld++
			}
			if l.New != absent {
				nextNew++
			}
		}
		if nextOld < len(old) || nextNew < len(want) || kept < most(old, want, lb.SameRule) {
			t.Fatalf("%s and %s become %s, in which rules are missing or do not stay", a, b, mergeText(a, b))
		}
	}
}
