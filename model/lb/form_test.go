package lb

import "testing"

func TestRulesAreComparedByWhatTheySay(t *testing.T) {
	rule := func(c ...Condition) Rule { return Rule{Conditions: c} }
	forward := func(w ...Weighted) Rule { return Rule{Action: Action{Kind: "forward", Targets: w}} }
	for name, c := range map[string]struct {
		a, b Rule
		same bool
	}{
		"hosts in another order and case": {
			rule(Condition{Field: "host", Values: []string{"b.example.com", "a.example.com"}}),
			rule(Condition{Field: "host", Values: []string{"A.example.com", "B.EXAMPLE.com"}}), true,
		},
		"a value twice": {rule(Condition{Field: "path", Values: []string{"/a", "/a"}}), rule(Condition{Field: "path", Values: []string{"/a"}}), true},
		"another host":  {rule(Condition{Field: "host", Values: []string{"a.example.com"}}), rule(Condition{Field: "host", Values: []string{"c.example.com"}}), false},
		"fewer hosts": {
			rule(Condition{Field: "host", Values: []string{"a.example.com", "b.example.com"}}), rule(Condition{Field: "host", Values: []string{"a.example.com"}}), false,
		},
		"a path in another case":        {rule(Condition{Field: "path", Values: []string{"/a"}}), rule(Condition{Field: "path", Values: []string{"/A"}}), false},
		"a method in another case":      {rule(Condition{Field: "method", Values: []string{"GET"}}), rule(Condition{Field: "method", Values: []string{"get"}}), false},
		"an expression in another case": {rule(Condition{Field: "header", Name: "x", Regex: []string{"^a$"}}), rule(Condition{Field: "header", Name: "X", Regex: []string{"^A$"}}), false},
		"headers in another order and case": {
			rule(Condition{Field: "header", Name: "X-B", Values: []string{"One"}}, Condition{Field: "header", Name: "x-a", Values: []string{"two"}}),
			rule(Condition{Field: "header", Name: "X-A", Values: []string{"TWO"}}, Condition{Field: "header", Name: "x-b", Values: []string{"one"}}), true,
		},
		"ranges in another form": {
			rule(Condition{Field: "source", Values: []string{"2001:db8::/32", "10.0.0.0/8"}}),
			rule(Condition{Field: "source", Values: []string{"10.0.0.0/8", "2001:0DB8:0:0:0:0:0:0/32"}}), true,
		},
		"another range":                  {rule(Condition{Field: "source", Values: []string{"10.0.0.0/8"}}), rule(Condition{Field: "source", Values: []string{"10.0.0.0/9"}}), false},
		"a text and an expression":       {rule(Condition{Field: "path", Values: []string{"/a"}}), rule(Condition{Field: "path", Regex: []string{"/a"}}), false},
		"target groups in another order": {forward(Weighted{"a", 3}, Weighted{"b", 7}), forward(Weighted{"b", 7}, Weighted{"a", 3}), true},
		"their weights exchanged":        {forward(Weighted{"a", 3}, Weighted{"b", 7}), forward(Weighted{"a", 7}, Weighted{"b", 3}), false},
	} {
		before := c.a.String()
		if got := c.a.Key() == c.b.Key(); got != c.same {
			t.Errorf("%s: %s and %s are the same: %t", name, c.a, c.b, got)
		}
		if c.a.String() != before {
			t.Errorf("%s: %s has become %s", name, before, c.a)
		}
	}
}
