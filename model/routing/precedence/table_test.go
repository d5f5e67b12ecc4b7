package precedence

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
)

// route is a route as a few words: "host /path" with "=" before an exact path and wildcards
// for a glob.
func route(owner routing.Owner, text, service string, index int) routing.Route {
	host, path, _ := strings.Cut(text, " ")
	r := routing.Route{Host: routing.Host(strings.TrimPrefix(host, "-")), Owner: owner, Index: index, Ports: []int32{80}, Action: routing.To(routing.BackendID(service)),
		Source: diag.Source{Kind: "Ingress", Namespace: owner.Namespace, Name: owner.Name, Field: "spec." + text}}
	r.Spelt = strings.TrimPrefix(path, "=")
	switch {
	case strings.HasPrefix(path, "="):
		r.Path = routing.NewPath(routing.Exact, r.Spelt)
	case strings.ContainsAny(path, "*?"):
		r.Path = routing.NewPath(routing.Glob, path)
	default:
		r.Path = routing.NewPath(routing.Prefix, path)
	}
	return r
}

func table(miss routing.HostMiss, routes []routing.Route, defaults ...routing.Default) *Table {
	c := routing.Config{Routes: routes, Defaults: defaults, HostMiss: miss, Listeners: []routing.Listener{{Port: 80, Protocol: "HTTP"}}}
	for _, r := range routes {
		if r.Host != routing.Any {
			c.Names = append(c.Names, routing.Name{Host: r.Host, Owner: r.Owner, Ports: r.Ports})
		}
	}
	return New(c)
}

// An example of a request that no rule's host matches is found beside the wildcards for examples.
func TestAnExampleBesideWildcardsForExamples(t *testing.T) {
	tab := table(routing.MissAnswers, []routing.Route{
		route(older, "- /a", "a", 0), route(newer, "- /a", "b", 0), route(older, "*.example /", "c", 1), route(older, "*.any.example /", "c", 2),
	})
	for _, d := range tab.Diagnostics() {
		if d.Reason == diag.Conflict && strings.Contains(d.Message, "http://any.any.any.example/a") {
			return
		}
	}
	t.Errorf("told %v", tab.Diagnostics())
}

var (
	older = routing.Owner{Namespace: "shop", Name: "z", Created: time.Unix(1, 0)}
	newer = routing.Owner{Namespace: "shop", Name: "a", Created: time.Unix(2, 0)}
	files = routing.Owner{Namespace: "shop", Name: "b"}
)

func TestPrecedenceBothWaysRound(t *testing.T) {
	cases := map[string]struct{ winner, loser, request string }{
		"a precise host before its wildcard":             {"x.test.io /", "*.test.io /", "x.test.io/"},
		"a wildcard before no host":                      {"*.test.io /", "- /", "x.test.io/"},
		"the host decides before the path does":          {"x.test.io /", "*.test.io =/a", "x.test.io/a"},
		"an exact path before a prefix":                  {"- =/a", "- /a", "any.io/a"},
		"an exact path before a glob with a longer text": {"- =/a/b", "- /a/b*", "any.io/a/b"},
		"the longer prefix":                              {"- /a/b", "- /a", "any.io/a/b/c"},
		"the glob of two texts of one length":            {"- /a*", "- /a", "any.io/a/b"},
		"a prefix before a glob with a shorter text":     {"- /a/b", "- /a*", "any.io/a/b"},
		"a glob with the longer text":                    {"- /a/b*", "- /a/*", "any.io/a/bc"},
		"the host's case and port do not matter":         {"x.test.io /", "- /", "X.Test.io:8443/"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			for _, owners := range [][2]routing.Owner{{older, newer}, {newer, older}, {older, older}} {
				w, l := route(owners[0], c.winner, "winner", 0), route(owners[1], c.loser, "loser", 1)
				for _, routes := range [][]routing.Route{{w, l}, {l, w}} {
					got := table(routing.MissAnswers, routes).Match(request(c.request))
					if over := got.Over(); got.Action.Key() != "winner" || len(over) != 1 || over[0].Action.Key() != "loser" {
						t.Errorf("%s goes to %s over %v (%s)", c.request, got.Action.Key(), over, got.Why())
					}
				}
			}
		})
	}
}

func request(url string) routing.Request {
	host, path, _ := strings.Cut(url, "/")
	return routing.Request{Port: 80, Host: host, Path: "/" + path}
}

func TestIdenticalClaims(t *testing.T) {
	first := routing.Owner{Namespace: "shop", Name: "ordered", Created: time.Unix(9, 0), Order: -1}
	cases := map[string]struct {
		a, b   routing.Route
		winner string
		why    string
	}{
		"between Ingresses the oldest":                     {route(newer, "- /a", "new", 0), route(older, "- /a", "old", 0), "old", "older"},
		"its age counts, not the order of listing":         {route(older, "- /a", "old", 0), route(newer, "- /a", "new", 0), "old", "older"},
		"a file is newer than what the cluster has":        {route(files, "- /a", "file", 0), route(newer, "- /a", "new", 0), "new", "older"},
		"a lower order goes before age":                    {route(older, "- /a", "old", 0), route(first, "- /a", "first", 0), "first", "order is lower"},
		"a trailing slash makes no difference to a prefix": {route(older, "- /a", "old", 0), route(newer, "- /a/", "new", 0), "old", "older"},
		"within one Ingress the longer spelling":           {route(older, "- /a", "short", 0), route(older, "- /a/", "long", 1), "long", "spelt longer"},
		"within one Ingress the earlier":                   {route(older, "- /a", "one", 0), route(older, "- /a", "two", 1), "one", "comes first"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			tab := table(routing.MissAnswers, []routing.Route{c.a, c.b})
			if got := tab.Match(request("any.io/a")); got.Action.Key() != c.winner {
				t.Errorf("goes to %s", got.Action.Key())
			}
			told := tab.Diagnostics()
			if len(told) != 1 || told[0].Reason != diag.Conflict || !strings.Contains(told[0].Message, c.why) || !strings.Contains(told[0].Message, "http://any.example/a") {
				t.Errorf("told %v", told)
			}
		})
	}
}

func TestHostMiss(t *testing.T) {
	routes := []routing.Route{route(older, "x.test.io /a", "x", 0), route(newer, "*.test.io /", "wild", 0), route(files, "- /", "any", 0)}
	own := routing.Default{Action: routing.To("own"), Owner: older, Ports: []int32{80}, Source: diag.Source{Name: "own"}}
	cases := map[string]struct {
		miss     routing.HostMiss
		routes   []routing.Route
		defaults []routing.Default
		request  string
		want     string
	}{
		"a host that is named keeps its misses":           {routing.MissAnswers, routes, nil, "x.test.io/b", "404"},
		"its own default answers them":                    {routing.MissAnswers, routes, []routing.Default{own}, "x.test.io/b", "own"},
		"a class may let them fall through":               {routing.MissFallsThrough, routes, nil, "x.test.io/b", "wild"},
		"falling through, paths come before defaults":     {routing.MissFallsThrough, routes, []routing.Default{own}, "x.test.io/b", "wild"},
		"falling through to nothing, its default answers": {routing.MissFallsThrough, routes[:1], []routing.Default{own}, "x.test.io/b", "own"},
		"no rule names the host":                          {routing.MissAnswers, routes[:2], []routing.Default{own}, "other.io/", "own"},
		"two labels are not one":                          {routing.MissAnswers, routes, nil, "y.x.test.io/a", "any"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := table(c.miss, c.routes, c.defaults...).Match(request(c.request)); got.Action.Key() != c.want {
				t.Errorf("%s goes to %s (%s)", c.request, got.Action.Key(), got.Why())
			}
		})
	}
}

func TestAnOutcomeSaysHowARequestCameToItsHost(t *testing.T) {
	routes := []routing.Route{route(older, "x.test.io /a", "x", 0), route(newer, "*.test.io /w", "wild", 0), route(files, "- /n", "any", 0)}
	tab := table(routing.MissFallsThrough, routes)
	for url, want := range map[string]string{
		"x.test.io/a": "host x.test.io, longest match Prefix /a",
		"x.test.io/w": "no path of host x.test.io matches, next is wildcard host *.test.io, longest match Prefix /w",
		"x.test.io/n": "no path of host x.test.io matches, next are the rules without a host, longest match Prefix /n",
		"y.test.io/n": "no path of wildcard host *.test.io matches, next are the rules without a host, longest match Prefix /n",
		"other.io/n":  "no rule names the host, longest match Prefix /n",
	} {
		if got := tab.Match(request(url)); got.Why() != want {
			t.Errorf("%s: %s\nwant %s", url, got.Why(), want)
		}
	}
}

func TestAHostThatIsNotServedOnAPortAnswers404There(t *testing.T) {
	secure := route(newer, "- /", "any", 0)
	secure.Ports = []int32{443}
	plain := route(older, "x.test.io /", "x", 0)
	tab := New(routing.Config{
		Routes:    []routing.Route{plain, secure},
		Names:     []routing.Name{{Host: "x.test.io", Owner: older, Ports: []int32{80}}},
		Listeners: []routing.Listener{{Port: 80, Protocol: "HTTP"}, {Port: 443, Protocol: "HTTPS"}},
	})
	for url, want := range map[string]string{"x.test.io": "404", "y.test.io": "any"} {
		if got := tab.Match(routing.Request{Port: 443, Host: url, Path: "/"}); got.Action.Key() != want {
			t.Errorf("https://%s goes to %s (%s)", url, got.Action.Key(), got.Why())
		}
	}
}

func TestUnreachableRoutesAreNamed(t *testing.T) {
	told := table(routing.MissAnswers, []routing.Route{
		route(older, "- =/a", "exact", 0), route(older, "- /a?*", "glob", 1), route(newer, "- /a", "hidden", 0),
	}).Diagnostics()
	if len(told) != 1 || told[0].Reason != diag.Unreachable || told[0].Source.Field != "spec.- /a" {
		t.Errorf("told %v", told)
	}
}

func TestAPathIsWithinOthersByItsText(t *testing.T) {
	taken := map[routing.Path]bool{{Type: routing.Prefix, Value: "/a"}: true, {Type: routing.Exact, Value: "/e"}: true, {Type: routing.Glob, Value: "/g*"}: true}
	for _, c := range []struct {
		path routing.Path
		want bool
	}{
		{routing.Path{Type: routing.Prefix, Value: "/a"}, true},
		{routing.Path{Type: routing.Prefix, Value: "/a/b/c"}, true},
		{routing.Path{Type: routing.Exact, Value: "/a"}, true},
		{routing.Path{Type: routing.Exact, Value: "/a/"}, true},
		{routing.Path{Type: routing.Prefix, Value: "/ab"}, false},
		{routing.Path{Type: routing.Exact, Value: "/e"}, true},
		{routing.Path{Type: routing.Prefix, Value: "/e"}, false},
		{routing.Path{Type: routing.Glob, Value: "/g*"}, true},
		{routing.Path{Type: routing.Glob, Value: "/a/*"}, false}, // it is, but only an automaton can tell
		{routing.Root, false},
	} {
		if got := coveredByText(c.path, taken); got != c.want {
			t.Errorf("%s is within: %v", c.path, got)
		}
	}
}

func BenchmarkDiagnostics(b *testing.B) {
	var routes []routing.Route
	for _, host := range []string{"x.test.io", "*.test.io", "-"} {
		for i := range 1000 {
			routes = append(routes, route(older, fmt.Sprintf("%s /part-%d", host, i), "x", i))
		}
	}
	t := table(routing.MissAnswers, routes)
	b.ReportAllocs()
	for b.Loop() {
		t.Diagnostics()
	}
}
