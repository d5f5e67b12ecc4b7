package lowering

import (
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// A closed host that no rule can name is not closed: the table says so.
func TestAClosedHostThatNoRuleCanNameIsOpen(t *testing.T) {
	long := routing.Host(strings.Repeat("x", 60) + "." + strings.Repeat("y", 60) + ".a.test.example.com")
	table := tableOf(routing.Config{Routes: []routing.Route{aRoute("one", routing.Any, routing.Root, "A", 0, 80)},
		Closed: []routing.ClosedHost{{Host: long, Port: 80}, {Host: "x.a.test", Port: 80}}})
	lowered, served, _ := Lower(table, lb.ALB())
	for host, want := range map[routing.Host]string{long: "A", "x.a.test": "404"} {
		r := routing.Request{Port: 80, Host: string(host), Path: "/"}
		_, rule := lb.NewMatcher(lowered.Listeners[0], lb.ALB().Dialect).Match(r)
		for what, got := range map[string]string{"the table": served.Match(r).Action.Key(), "the rules": rule.Key()} {
			if !strings.HasSuffix(got, want) {
				t.Errorf("%s of %s: %s, want %s", what, host, got, want)
			}
		}
	}
	if !slices.Equal(served.Config.Closed, table.Config.Closed[1:]) {
		t.Errorf("the table has %v", served.Config.Closed)
	}
}

func TestWhatARuleCannotSayIsRefusedByName(t *testing.T) {
	path := routing.Path{Type: routing.Prefix, Value: "/a"}
	doing := func(a routing.Action) routing.Route {
		r := aRoute("one", "x.a.test", path, "A", 0, 80)
		r.Action = a
		return r
	}
	narrowed := func(field, name string, values ...string) routing.Route {
		r := aRoute("one", "x.a.test", routing.Root, "A", 0, 80)
		r.When = routing.Conditions{{Field: field, Name: name, Values: values}}
		return r
	}
	six := routing.Action{}
	for range 6 {
		six.Forward = append(six.Forward, routing.Weighted{Backend: "A", Weight: 1})
	}
	cases := map[string]struct {
		route routing.Route
		why   string // under alb; "" if it is served
	}{
		"five targets":            {doing(routing.Action{Forward: six.Forward[:5]}), ""},
		"six targets":             {doing(six), "to 6 Services, and a rule of alb to at most 5"},
		"the heaviest weight":     {doing(routing.Action{Forward: []routing.Weighted{{Backend: "A", Weight: 999}, {Backend: "B", Weight: 999}}}), ""},
		"a weight beyond it":      {doing(routing.Action{Forward: []routing.Weighted{{Backend: "A", Weight: 1000}, {Backend: "B", Weight: 1}}}), "A has a weight of 1000 in all, and alb allows 999"},
		"one that gets it all":    {doing(routing.Action{Forward: []routing.Weighted{{Backend: "A", Weight: 1998}}}), ""},
		"an answer of its own":    {doing(routing.Status(204)), ""},
		"a redirect in disguise":  {doing(routing.Status(302)), "a fixed response of alb cannot have status 302"},
		"a body of another type":  {doing(routing.Action{Fixed: &routing.Fixed{Status: 200, ContentType: "text/xml", Body: "<a/>"}}), "cannot be text/xml, but one of text/plain"},
		"a redirect of the query": {doing(routing.Action{Redirect: &routing.Redirect{Status: 301, Query: "a=b", Path: "/#{path}"}}), "only if it changes the scheme, the host, the port or the path"},
		"a redirect to itself":    {doing(routing.Action{Redirect: &routing.Redirect{Status: 301, Scheme: "http"}}), "only if it changes"},
		"a redirect to HTTPS":     {doing(routing.Action{Redirect: &routing.Redirect{Status: 301, Scheme: "https"}}), ""},
		"a body of a kilobyte":    {doing(routing.Action{Fixed: &routing.Fixed{Status: 200, ContentType: "text/plain", Body: strings.Repeat("x", 1024)}}), ""},
		"a longer body":           {doing(routing.Action{Fixed: &routing.Fixed{Status: 200, ContentType: "text/plain", Body: strings.Repeat("x", 1025)}}), "1025 bytes, and alb allows 1024"},
		"a source":                {narrowed("source", "", "192.0.2.1/32"), ""},
		"a source AWS refuses":    {narrowed("source", "", "10.0.0.0/8", "255.255.255.255/32"), "alb takes no condition on the source 255.255.255.255/32"},
		"a header":                {narrowed("header", strings.Repeat("x", 40), strings.Repeat("x", 128)), ""},
		"the name of a header":    {narrowed("header", strings.Repeat("x", 41), "1"), "longer than the 40 characters"},
		"the value of a header":   {narrowed("header", "x", strings.Repeat("x", 129)), "longer than the 128 characters"},
		"the name of a parameter": {narrowed("query", strings.Repeat("x", 129), "1"), "longer than the 128 characters"},
		"the value of one":        {narrowed("query", "x", strings.Repeat("x", 129)), "longer than the 128 characters"},
		"wildcards of a header":   {narrowed("header", "x", "*a*b*c*d*"), ""},
		"more wildcards":          {narrowed("header", "x", "*a*b*c*d*e*"), "too many wildcards"},
		"a long redirect":         {doing(routing.Action{Redirect: &routing.Redirect{Status: 301, Path: "/" + strings.Repeat("x", 128)}}), "longer than the 128 characters"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			table := tableOf(routing.Config{Routes: []routing.Route{c.route}})
			_, served, refusals := Lower(table, lb.ALB())
			if c.why == "" {
				if len(refusals) > 0 || len(served.Routes) != 1 {
					t.Errorf("refused: %v", refusals)
				}
				return
			}
			if len(refusals) != 1 || !strings.Contains(refusals[0].Diagnostic().Message, "not served on port 80: ") || !strings.Contains(refusals[0].Why, c.why) || len(served.Routes) != 0 {
				t.Errorf("told %v and serves %d routes, want %q", refusals, len(served.Routes), c.why)
			}
			if _, _, refusals := Lower(table, lb.Literal()); len(refusals) > 0 {
				t.Errorf("a cloud without limits refuses %v", refusals)
			}
		})
	}
}

func TestNobodyIsSentFromHTTPSToHTTP(t *testing.T) {
	down := aRoute("one", "x.a.test", routing.Root, "A", 0, 80, 443)
	down.Action = routing.Action{Redirect: &routing.Redirect{Status: 302, Scheme: "http", Host: "b.test", Port: "80"}}
	config := routing.Config{Routes: []routing.Route{down}, Listeners: []routing.Listener{{Port: 80, Protocol: "HTTP"}, {Port: 443, Protocol: "HTTPS"}}}
	_, served, refusals := Lower(tableOf(config), lb.ALB())
	if len(refusals) != 1 || !slices.Equal(refusals[0].Ports, []int32{443}) || !slices.Equal(served.Routes[0].Ports, []int32{80}) {
		t.Errorf("refused: %v", refusals)
	}
}

// A target group that keeps clients with a target shares requests with others only where these are
// kept with a group, too: AWS refuses it otherwise. The requests go on, and who asked for the
// attribute is reported.
func TestASharedGroupKeepsNoClients(t *testing.T) {
	alone := aRoute("one", "x.a.test", routing.Root, "A", 0, 80)
	sharing := func(host routing.Host, seconds int32) routing.Route {
		r := aRoute("two", host, routing.Root, "A", 1, 80)
		r.Action = routing.Action{Forward: []routing.Weighted{{Backend: "A", Weight: 1}, {Backend: "B", Weight: 0}}, StickySeconds: seconds}
		return r
	}
	asked := routing.Attribute{Name: "stickiness.enabled", Value: "true", Owner: alone.Owner, Source: alone.Source}
	for name, c := range map[string]struct {
		routes []routing.Route
		sticks bool
	}{
		"nobody shares it":               {[]routing.Route{alone}, true},
		"it is shared":                   {[]routing.Route{alone, sharing("y.a.test", 0)}, false},
		"it is shared by kept clients":   {[]routing.Route{alone, sharing("y.a.test", 60)}, true},
		"it is shared by some, not kept": {[]routing.Route{sharing("y.a.test", 60), sharing("z.a.test", 0)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			table := tableOf(routing.Config{Routes: c.routes, Backends: map[routing.BackendID]routing.Backend{
				"A": {ID: "A", Service: "shop/a", Attributes: []routing.Attribute{asked}}, "B": {ID: "B"},
			}})
			lowered, served, refusals := Lower(table, lb.ALB())
			if len(served.Routes) != len(table.Routes) || lb.ALB().Sticks(lowered.TargetGroups[0]) != c.sticks {
				t.Errorf("%d of %d routes are served, by %v", len(served.Routes), len(table.Routes), lowered.TargetGroups)
			}
			if told := len(refusals) == 1 && refusals[0].Source == asked.Source && strings.Contains(refusals[0].Why, "shares requests between it and others"); told == c.sticks || len(refusals) > 1 {
				t.Errorf("told: %v", refusals)
			}
		})
	}
}
