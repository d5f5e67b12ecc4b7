package lowering

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// TestRepeatedRoutesAreBounded has a default backend that answers for many hosts, behind many
// routes without a host.
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
		_, served, refusals := Lower(tableOf(config), lb.Literal())
		want := n*n > mostRepeated
		if got := len(refusals) == 1 && refusals[0].Diagnostic().Reason == diag.TooComplex && refusals[0].Source.Name == "greedy"; got != want {
			t.Errorf("%d hosts and %d routes: %v", n, n, refusals)
		}
		if want && (len(served.Defaults) != 1 || served.Defaults[0].Owner.Name != "small") {
			t.Errorf("%d default backends are left, and the small one is to", len(served.Defaults))
		}
	}
}

// TestValuesMultiplyRulesWithinBounds has conditions whose values together would be millions of
// rules.
func TestValuesMultiplyRulesWithinBounds(t *testing.T) {
	values := func(n int) []string {
		var out []string
		for i := range n {
			out = append(out, fmt.Sprint("v", i))
		}
		return out
	}
	c := lb.ALB()
	header := func(name string, n int) routing.Condition {
		return routing.Condition{Field: "header", Name: name, Values: values(n)}
	}
	for _, when := range []routing.Conditions{{header("a", 601)}, {header("a", 500), header("b", 500), header("c", 500)}} {
		if why := whyNotSplit(c, when); !strings.Contains(why, "so many values") {
			t.Errorf("%d conditions: %q", len(when), why)
		}
	}
	if when := (routing.Conditions{header("a", 600)}); whyNotSplit(c, when) != "" || len(splitConditions(c, when)) != mostParts {
		t.Errorf("600 values, three to a rule: %q, %d rules", whyNotSplit(c, when), len(splitConditions(c, when)))
	}
}

// TestARouteThatIsRepeatedForItsOwnHostEnds has routes of one Ingress with equal conditions under a
// host and for any host, and one of another Ingress between them. What is for any host is repeated
// for the host.
func TestARouteThatIsRepeatedForItsOwnHostEnds(t *testing.T) {
	get := routing.Conditions{{Field: "method", Values: []string{"GET"}}}
	put := routing.Conditions{{Field: "method", Values: []string{"PUT"}}}
	path := routing.Path{Type: routing.Prefix, Value: "/a"}
	config := routing.Config{HostMiss: routing.MissFallsThrough, Routes: []routing.Route{
		aRoute("one", "x.a.test", path, "A", 0, 80), aRoute("two", "x.a.test", path, "B", 1, 80), aRoute("one", routing.Any, path, "A", 2, 80),
	}}
	for i, when := range []routing.Conditions{get, put, get} {
		config.Routes[i].When = when
	}
	config.Defaults = []routing.Default{{Action: routing.To("D"), Owner: config.Routes[0].Owner, Ports: []int32{80}}}
	lowered := make(chan lb.LoadBalancer, 1)
	go func() {
		made, _, _ := Lower(tableOf(config), lb.ALB())
		lowered <- made
	}()
	select {
	case made := <-lowered:
		for method, want := range map[string]string{"GET": "A", "PUT": "B", "POST": "D"} {
			_, got := made.Listeners[0].Match(routing.Request{Port: 80, Host: "x.a.test", Path: "/a", Method: method}, lb.ALB().Dialect)
			if want := lb.FromRouting(routing.To(routing.BackendID(want))); got.Key() != want.Key() {
				t.Errorf("%s goes to %s, want %s", method, got, want)
			}
		}
		if rules := made.Listeners[0].Rules; len(rules) != 4 {
			t.Errorf("the rules are%s", dump(made.Listeners[0]))
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the rules are not made in 10 seconds")
	}
}
