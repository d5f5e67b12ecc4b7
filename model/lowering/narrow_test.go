package lowering

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// Tables whose routes look at more than host and path, against requests that fulfil each of the
// conditions or not.

var someConditions = []routing.Condition{
	{Field: "header", Name: "x-canary", Values: []string{"always"}},
	{Field: "header", Name: "x-canary", Values: []string{"a*", "never", "o?"}},
	{Field: "header", Name: "x-tier", Values: []string{"*gold*", "*s*lv*r*"}},
	{Field: "method", Values: []string{"DELETE", "PATCH", "POST", "PUT"}},
	{Field: "method", Values: []string{"GET"}},
	{Field: "query", Name: "v", Values: []string{"2"}},
	{Field: "query", Name: "v", Values: []string{"1", "2", "3", "4", "5", "6", "7*"}},
	{Field: "source", Values: []string{"10.0.0.0/8", "192.168.0.0/16"}},
	{Field: "source", Values: []string{"10.1.0.0/16"}},
	{Field: "header", Name: "x-canary", Regex: true, Values: []string{"^[aA]lw.*$", "never|no"}},
	{Field: "query", Values: []string{"v=2", "7?", "w*=*"}},
}

// hostConditions look at the host.
var hostConditions = []routing.Condition{
	{Field: "host", Values: []string{"*.a.test"}}, {Field: "host", Values: []string{"*.x.a.test", "a.test", "bare"}},
	{Field: "host", Values: []string{"?.a.test", "*-12.a.test"}}, {Field: "host", Values: []string{"x*.test"}}, {Field: "host", Values: []string{"*"}},
	{Field: "host", Values: []string{"q.x.a.test", "w.*.example.test", "*.*.*.*.*.test", "?????test", "n*.b1", "*.b.test", "z.a.test"}},
	{Field: "host", Values: []string{"*.very-long-name-of-a-department.example.test"}}, {Field: "host", Values: []string{"nowhere.test"}},
	{Field: "host", Regex: true, Values: []string{`^[x-z]\.a\.test$`}}, {Field: "host", Regex: true, Values: []string{`(api-\d+|Z)\.a\.(test|TEST)|^bare$`, `.+\.x\.a\.test`}},
}

// someOf are up to most conditions, at most one on each part of a request, in canonical order.
func someOf(rng *rand.Rand, most int) routing.Conditions {
	var out routing.Conditions
	for range rng.IntN(most + 1) {
		c := someConditions[rng.IntN(len(someConditions))]
		if !slices.ContainsFunc(out, func(o routing.Condition) bool { return o.Field == c.Field && o.Name == c.Name }) {
			out = append(out, c)
		}
	}
	if rng.IntN(2) == 0 {
		out = append(out, hostConditions[rng.IntN(len(hostConditions))])
	}
	slices.SortFunc(out, func(a, b routing.Condition) int {
		if a.Field != b.Field {
			return slices.Index(lb.Fields, a.Field) - slices.Index(lb.Fields, b.Field)
		}
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return out
}

// clients are requests from different clients in different ways, without host and path.
func clients() []routing.Request {
	var out []routing.Request
	for _, header := range []map[string][]string{nil, {"X-Canary": {"Always"}}, {"X-Canary": {"never"}, "X-Tier": {"all gold"}}, {"X-Tier": {"silver", "tin"}}} {
		for _, method := range []string{"GET", "POST"} {
			for _, query := range []map[string][]string{nil, {"V": {"2"}}, {"v": {"9", "77"}}} {
				for _, source := range []string{"10.1.2.3", "10.2.0.1", "8.8.8.8"} {
					out = append(out, routing.Request{Header: header, Method: method, Query: query, Source: netip.MustParseAddr(source)})
				}
			}
		}
	}
	return out
}

// narrowHosts are hosts at the edges of the conditions, with the port where clients send one.
func narrowHosts(port int32) []string {
	out := []string{"x.a.test", "Z.a.test", "q.x.a.test", "r.x.A.test", "other.test", "a.test", "bare", "api-12.a.test", "y.b.test", "num.b1", "xa.b.test", "w.very-long-name-of-a-department.example.test"}
	if !lb.UsualPort(port) {
		for i := range out {
			out[i] += fmt.Sprintf(":%d", port)
		}
	}
	return out
}

func TestNarrowedTablesAreExact(t *testing.T) {
	clients, n := clients(), tables(t, 60)
	for i, c := range allCapabilities() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(*seed, uint64(i)))
			routes, refused := 0, 0
			for n := range n {
				table := randomTable(rng, 3+n%12)
				config := table.Config
				for j := range config.Routes {
					config.Routes[j].When = someOf(rng, 3)
				}
				if n%2 == 1 {
					config = redirected(rand.New(rand.NewPCG(uint64(n), uint64(i))), precedence.New(config)).Config
				}
				lowered, served, _ := Lower(precedence.New(config), c)
				routes, refused = routes+len(config.Routes), refused+len(config.Routes)-len(served.Routes)
				for _, l := range lowered.Listeners {
					if problem := beyond(l, c); problem != "" {
						t.Fatal(problem + dump(l))
					}
					var requests []routing.Request
					for _, r := range grid(l.Port, narrowHosts(l.Port), []string{"/", "/a", "/a/b/c", "/b,c", "/bb"}) {
						for _, client := range clients {
							client.Port, client.Host, client.Path = r.Port, r.Host, r.Path
							requests = append(requests, client)
						}
					}
					if problem := specified(served, l, requests).differs(c.Dialect, false); problem != "" {
						t.Fatalf("table %d: %s", n, problem)
					}
				}
			}
			if t.Logf("%d of %d routes are refused", refused, routes); c.Regex && 2*refused > routes {
				t.Error("too few routes are served to show anything")
			}
		})
	}
}

func TestConditionsAreDividedAmongRules(t *testing.T) {
	sources := make([]string, 10)
	for i := range sources {
		sources[i] = fmt.Sprintf("10.%d.0.0/16", i)
	}
	post := routing.Condition{Field: "method", Values: []string{"POST"}}
	header := func(values ...string) routing.Condition {
		return routing.Condition{Field: "header", Name: "x", Values: values}
	}
	prefix := routing.Path{Type: routing.Prefix, Value: "/a"}
	cases := map[string]struct {
		caps  lb.Capabilities
		host  routing.Host
		path  routing.Path
		when  routing.Conditions
		rules int // 0: it is refused
	}{
		"no limit, no division":                      {lb.Literal(), "x.a.test", prefix, routing.Conditions{{Field: "source", Values: sources}}, 1},
		"three values beside host and path":          {lb.ALB(), "x.a.test", prefix, routing.Conditions{{Field: "source", Values: sources}}, 4},
		"no more where there is no path":             {lb.ALB(), "x.a.test", routing.Root, routing.Conditions{{Field: "source", Values: sources}}, 4},
		"what is left goes where it saves most":      {lb.ALB(), "x.a.test", prefix, routing.Conditions{post, {Field: "source", Values: sources}}, 5},
		"as many values as fit are not divided":      {lb.ALB(), "x.a.test", prefix, routing.Conditions{post, header("a", "b")}, 1},
		"three conditions fit":                       {lb.ALB(), "x.a.test", prefix, routing.Conditions{header("a"), post, {Field: "source", Values: sources[:1]}}, 1},
		"four do not":                                {lb.ALB(), "x.a.test", prefix, routing.Conditions{header("a"), {Field: "header", Name: "y", Values: []string{"b"}}, post, {Field: "source", Values: sources[:1]}}, 0},
		"a class can have fewer values a condition":  {lb.ALB().Restrict(lb.Class{ValuesPerCondition: 2}), "x.a.test", prefix, routing.Conditions{{Field: "source", Values: sources}}, 5},
		"wildcards leave room for a path's":          {lb.ALBGlob(), "x.a.test", prefix, routing.Conditions{header("*a*b*")}, 1},
		"too many wildcards beside a path's":         {lb.ALBGlob(), "x.a.test", prefix, routing.Conditions{header("*a*b*c*d*")}, 0},
		"a regular expression has none":              {lb.ALB(), "x.a.test", prefix, routing.Conditions{header("*a*b*c*d*")}, 1},
		"more wildcards than a rule may have at all": {lb.ALB(), "x.a.test", prefix, routing.Conditions{header("*a*b*c*d*e*")}, 0},
		"a name longer than a header's may be":       {lb.ALB(), "x.a.test", prefix, routing.Conditions{{Field: "header", Name: "x-a-name-that-is-much-too-long-for-a-header", Values: []string{"a"}}}, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := aRoute("one", c.host, c.path, "A", 0, 80)
			r.When = c.when
			lowered, _, refusals := Lower(tableOf(routing.Config{Routes: []routing.Route{r}}), c.caps)
			n := 0
			for _, rule := range lowered.Listeners[0].Rules {
				if rule.Action.Kind == "forward" {
					n++
				}
			}
			if n != c.rules || (n == 0) != (len(refusals) > 0) {
				t.Errorf("%d rules, want %d; refused: %v%s", n, c.rules, refusals, dump(lowered.Listeners[0]))
			}
		})
	}
}

// A route with conditions has a rule of its own before one for the same path, also where a glob behind both has its action.
func TestConditionsBeforeTheSameExactPath(t *testing.T) {
	narrow := aRoute("web", "a.test", routing.Path{Type: routing.Exact, Value: "/a/b"}, "a", 0, 80)
	narrow.When = routing.Conditions{{Field: "method", Values: []string{"GET"}}}
	table := tableOf(routing.Config{Routes: []routing.Route{narrow,
		aRoute("web", "a.test", routing.Path{Type: routing.Exact, Value: "/a/b"}, "b", 1, 80),
		aRoute("web", "a.test", routing.Path{Type: routing.Glob, Value: "/*b"}, "a", 2, 80)}})
	lowered, _, refusals := Lower(table, lb.Literal())
	request := routing.Request{Port: 80, Host: "a.test", Path: "/a/b", Method: "GET"}
	_, got := lowered.Listeners[0].Match(request, lb.Literal().Dialect)
	if want := lb.FromRouting(table.Match(request).Action).Key(); got.Key() != want || len(refusals) > 0 {
		t.Errorf("%s is answered, want %s: %v", got.Key(), want, lowered.Listeners[0].Rules)
	}
}

// Where a port redirects, a redirect needs a rule only before what another Ingress answers, also if a neighbour redirects
// some of the same requests.
func TestRedirectsOfNeighbours(t *testing.T) {
	redirect := routing.SSLRedirect{Port: 443, Challenges: true}
	first := aRoute("one", "a.test", routing.Path{Type: routing.Exact, Value: "/a"}, "A", 0, 80)
	some := aRoute("two", "a.test", routing.Path{Type: routing.Prefix, Value: "/a"}, "A", 0, 80)
	some.When = routing.Conditions{{Field: "method", Values: []string{"GET"}}}
	first.Action.SSLRedirect, some.Action.SSLRedirect = &redirect, &redirect
	all := routing.Default{Owner: first.Owner, Plain: true, Ports: []int32{80}, Action: redirect.Redirect()}
	behind := aRoute("three", "a.test", routing.Path{Type: routing.Glob, Value: "/*"}, "B", 0, 80)
	for name, c := range map[string]struct {
		behind []routing.Route
		rules  int
	}{"an Ingress that answers": {[]routing.Route{behind}, 3}, "none": {nil, 0}} {
		table := tableOf(routing.Config{Routes: append([]routing.Route{first, some}, c.behind...), Defaults: []routing.Default{all}})
		lowered, _, refusals := Lower(table, lb.Literal())
		if got := len(lowered.Listeners[0].Rules); got != c.rules || len(refusals) > 0 {
			t.Errorf("%s: there are %d rules, want %d: %v", name, got, c.rules, lowered.Listeners[0].Rules)
		}
		for _, method := range []string{"GET", "POST"} {
			request := routing.Request{Port: 80, Host: "a.test", Path: "/a", Method: method}
			_, got := lowered.Listeners[0].Match(request, lb.Literal().Dialect)
			if want := lb.FromRouting(table.Match(request).Action).Key(); got.Key() != want {
				t.Errorf("%s: %s is answered %s, want %s", name, method, got.Key(), want)
			}
		}
	}
}
