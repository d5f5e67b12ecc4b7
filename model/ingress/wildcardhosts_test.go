package ingress

import (
	"slices"
	"testing"

	"fairlead.dev/fairlead/model/routing"
)

// Values of a condition on the host below a wildcard match the names that both match, of any number of labels.
func TestConditionsBelowAWildcard(t *testing.T) {
	names := []string{"a.test", "x.a.test", "y.x.a.test", "x-1.a.test", "a.b.test", "xa.test", "x.other", "other"}
	globs := []string{"*", "*.test", "*a.test", "*.a.test", "x.a.test", "x*.a.test", "?.x.a.test", "*.x.a.test", "*.b.test", "a.test", "*st", "x*t", "*.x.*"}
	refused := 0
	for _, one := range globs {
		for _, other := range globs {
			c := routing.Condition{Field: "host", Values: []string{one, other}}
			both, ok := below(&c, "*.a.test")
			if !ok {
				refused++
				continue
			}
			narrowed := routing.Condition{Field: "host", Values: both}
			for _, name := range names {
				r := routing.Request{Host: name}
				want := c.Matcher()(r) && routing.GlobMatch("*.a.test", name)
				if got := narrowed.Matcher()(r); got != want {
					t.Errorf("%v becomes %v: %s %v, want %v", c.Values, both, name, got, want)
				}
			}
		}
	}
	if refused == 0 || 2*refused > len(globs)*len(globs) {
		t.Errorf("%d are refused: that shows little", refused)
	}
	if _, ok := below(&routing.Condition{Field: "host", Regex: true, Values: []string{".*"}}, "*.a.test"); ok {
		t.Error("an expression is no glob")
	}
	if both, ok := below(&routing.Condition{Field: "host", Values: []string{"b.test"}}, "*.a.test"); !ok || !slices.Equal(both, nil) {
		t.Errorf("b.test becomes %v", both)
	}
}
