package lb

import (
	"fmt"
	"strings"
	"testing"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
)

// TestRepeatedRoutesAreBounded has a default backend that answers for many hosts, behind many routes without a host.
func TestRepeatedRoutesAreBounded(t *testing.T) {
	for _, n := range []int{100, 400} {
		config := routing.Config{HostMiss: routing.MissFallsThrough}
		for i := range n {
			config.Routes = append(config.Routes,
				aRoute("greedy", routing.Any, routing.Path{Type: routing.Exact, Value: fmt.Sprintf("/p%d", i)}, "A", i, 80),
				aRoute("greedy", routing.Host(fmt.Sprintf("h%d.a.test", i)), routing.Path{Type: routing.Prefix, Value: "/x"}, "A", n+i, 80),
				aRoute("small", routing.Host(fmt.Sprintf("s%d.a.test", i%3)), routing.Path{Type: routing.Prefix, Value: "/x"}, "B", i, 80))
		}
		for _, r := range config.Routes {
			if r.Host != routing.Any {
				config.Names = append(config.Names, routing.Name{Host: r.Host, Owner: r.Owner, Ports: r.Ports})
			}
		}
		for _, i := range []int{0, 2} {
			r := config.Routes[i]
			config.Defaults = append(config.Defaults, routing.Default{Action: r.Action, Owner: r.Owner, Source: diag.Source{Name: r.Owner.Name}})
		}
		_, served, refusals := Lower(tableOf(config), Literal())
		want := n*n > mostRepeated
		if got := len(refusals) == 1 && refusals[0].Diagnostic().Reason == diag.TooComplex && refusals[0].Source.Name == "greedy"; got != want {
			t.Errorf("%d hosts and %d routes: %v", n, n, refusals)
		}
		if want && (len(served.Defaults) != 1 || served.Defaults[0].Owner.Name != "small") {
			t.Errorf("%d default backends are left, and the small one is to", len(served.Defaults))
		}
	}
}

// TestValuesMultiplyRulesWithinBounds has conditions whose values together would be millions of rules.
func TestValuesMultiplyRulesWithinBounds(t *testing.T) {
	values := func(n int) []string {
		var out []string
		for i := range n {
			out = append(out, fmt.Sprint("v", i))
		}
		return out
	}
	c := ALB()
	header := func(name string, n int) routing.Condition {
		return routing.Condition{Field: "header", Name: name, Values: values(n)}
	}
	for _, when := range []routing.Conditions{{header("a", 601)}, {header("a", 500), header("b", 500), header("c", 500)}} {
		if why := c.cannotNarrow(when); !strings.Contains(why, "so many values") {
			t.Errorf("%d conditions: %q", len(when), why)
		}
	}
	if when := (routing.Conditions{header("a", 600)}); c.cannotNarrow(when) != "" || len(c.divided(when)) != mostParts {
		t.Errorf("600 values, three to a rule: %q, %d rules", c.cannotNarrow(when), len(c.divided(when)))
	}
}
