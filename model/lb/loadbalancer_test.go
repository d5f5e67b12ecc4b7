package lb

import "testing"

// Plans compare rules by their keys: a value that reads like two is not two.
func TestRulesOfOneKeyAreEqual(t *testing.T) {
	rule := func(conditions ...Condition) Rule {
		return Rule{Conditions: conditions, Action: Action{Kind: "fixed", Status: 404}}
	}
	path := func(values ...string) Condition { return Condition{Field: "path", Values: values} }
	for name, c := range map[string][2]Rule{
		"a value with a separator and two values":    {rule(path("/a | /b")), rule(path("/a", "/b"))},
		"a value with a condition and two of them":   {rule(path("/a & host = b")), rule(path("/a"), Condition{Field: "host", Values: []string{"b"}})},
		"a value with an action and one without":     {rule(path("/a → fixed 404")), rule(path("/a"))},
		"a name with a value and a value":            {rule(Condition{Field: "query", Name: "a = b", Values: []string{"c"}}), rule(Condition{Field: "query", Name: "a", Values: []string{"b = c"}})},
		"a value in quotes and one that needs them":  {rule(path(`"/a b"`)), rule(path("/a b"))},
		"a line break and its escape":                {rule(path("/a\nb")), rule(path(`/a\nb`))},
		"an expression and a value that reads alike": {rule(Condition{Field: "query", Name: "a ~ ^b$", Values: []string{"c"}}), rule(Condition{Field: "query", Name: "a", Regex: []string{"^b$ = c"}})},
	} {
		if c[0].Key() == c[1].Key() {
			t.Errorf("%s: the key of both is %s", name, c[0].Key())
		}
	}
}
