package replay

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/accesslog"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// web is an Ingress with a route for each path, each to a backend named like it.
func web(key routing.Key, paths ...string) routing.Config {
	c := routing.Config{Key: key, Listeners: []routing.Listener{{Port: 80, Protocol: routing.HTTP}}}
	owner := routing.Owner{Namespace: "shop", Name: "web"}
	for i, path := range paths {
		c.Routes = append(c.Routes, routing.Route{
			Host: "a.test", Path: routing.NewPath(routing.Prefix, path), Action: routing.To(routing.BackendID("to" + path)), Ports: []int32{80}, Owner: owner, Index: i,
			Source: diag.Source{Kind: "Ingress", Namespace: "shop", Name: "web", Field: fmt.Sprintf("paths[%d]", i)},
		})
	}
	c.Names = []routing.Name{{Host: "a.test", Owner: owner, Ports: []int32{80}}}
	return c
}

// when gives the route of a path a condition.
func when(c routing.Config, path string, conditions ...routing.Condition) routing.Config {
	for i := range c.Routes {
		if c.Routes[i].Path.Value == path && len(c.Routes[i].When) == 0 {
			c.Routes[i].When = conditions
			break
		}
	}
	return c
}

// A said is a line, as far as it differs from others.
type said struct {
	elb, url, method, agent, group, actions string
	status, target, priority, location      string
}

func (s said) String() string {
	or := func(text, usual string) string {
		if text == "" {
			return usual
		}
		return text
	}
	return fmt.Sprintf(`http 2026-01-01T00:00:00.000000Z %s 192.0.2.7:1 - 0 0 0 %s %s 1 1 "%s %s HTTP/1.1" "%s" - - %s "-" "-" "-" %s 2026-01-01T00:00:00.000000Z "%s" "%s"`,
		or(s.elb, "app/x/1"), or(s.status, "200"), or(s.target, "-"), or(s.method, "GET"), or(s.url, "http://a.test:80/"), or(s.agent, "-"), or(s.group, "-"), or(s.priority, "1"), or(s.actions, "forward"), or(s.location, "-"))
}

func run(t *testing.T, setup *Setup, lines ...said) Report {
	t.Helper()
	r := New(setup)
	for i, line := range lines {
		var l accesslog.Line
		if err := l.Parse([]byte(line.String())); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		r.Replay(&l, Place{Line: i + 1})
	}
	return Merge(setup, []*Replayer{r}, []string{"log"})
}

func alone(c routing.Config) *Setup {
	return &Setup{Balancers: []Balancer{{Table: precedence.New(c)}}}
}

// inWords are the paths of a report with their requests.
func inWords(r Report) []string {
	var out []string
	for _, p := range r.Paths {
		word := p.Source
		if word == "" {
			word = "none"
		}
		out = append(out, fmt.Sprintf("%s %d+%d", strings.TrimPrefix(word, "Ingress shop/web "), p.Requests, p.Possible))
	}
	return out
}

func TestRequestsAndErrorsAreCountedForPaths(t *testing.T) {
	got := run(t, alone(web("k", "/", "/api")),
		said{url: "http://a.test:80/x", target: "200"}, said{url: "http://A.TEST:80/x?q=1"}, said{url: "http://a.test:80/api/1", status: "502"},
		said{url: "http://a.test:80/api", status: "404", target: "404"}, said{url: "http://a.test:80/api", status: "504", target: "500"},
		said{url: "http://other.test:80/", actions: "fixed-response", status: "404"},
		said{url: "http://a.test:80/x", priority: "-1"}, said{url: "http://a.test:80/x", priority: "-"}, said{method: "-", priority: "-"}, said{url: "https://a.test:443/"},
	)
	want := []string{"paths[1] 3+0", "paths[0] 2+0", "none 1+0"}
	if diff := cmp.Diff(want, inWords(got)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Errors{Client4xx: 1, Client5xx: 2, Target4xx: 1, Target5xx: 1}, got.Paths[0].Errors); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(summary{Lines: 10, Compared: 6, NotDecided: 3, NoListener: 1}, got.Summary); diff != "" {
		t.Error(diff)
	}
}

// TestWhatLinesDoNotSayIsEither: only a header decides between two paths, and a line has one header.
func TestWhatLinesDoNotSayIsEither(t *testing.T) {
	conditions := map[string]routing.Condition{
		"header": {Field: "header", Name: "X-A", Values: []string{"1"}}, "agent": {Field: "header", Name: "user-agent", Values: []string{"*bot*"}},
		"method": {Field: "method", Values: []string{"POST"}}, "query": {Field: "query", Name: "v", Values: []string{"a b"}}, "source": {Field: "source", Values: []string{"192.0.2.0/24"}},
	}
	for name, c := range map[string]struct {
		condition string
		line      said
		want      []string
	}{
		"another header":            {"header", said{}, []string{"paths[0] 0+1", "paths[1] 0+1"}},
		"no User-Agent":             {"agent", said{}, []string{"paths[0] 0+1", "paths[1] 0+1"}},
		"the User-Agent":            {"agent", said{agent: "aBot/1"}, []string{"paths[0] 1+0"}},
		"another User-Agent":        {"agent", said{agent: "curl"}, []string{"paths[1] 1+0"}},
		"one that may be cut off":   {"agent", said{agent: strings.Repeat("x", longestAgent)}, []string{"paths[0] 0+1", "paths[1] 0+1"}},
		"the method":                {"method", said{method: "POST"}, []string{"paths[0] 1+0"}},
		"another method":            {"method", said{}, []string{"paths[1] 1+0"}},
		"the query":                 {"query", said{url: `http://a.test:80/?V=A\x20b`}, []string{"paths[0] 1+0"}},
		"another query":             {"query", said{url: "http://a.test:80/?v=c"}, []string{"paths[1] 1+0"}},
		"a query that is encoded":   {"query", said{url: "http://a.test:80/?v=a%20b"}, []string{"paths[0] 0+1", "paths[1] 0+1"}},
		"another that is encoded":   {"query", said{url: "http://a.test:80/?v=a%20c"}, []string{"paths[1] 1+0"}},
		"the address of the client": {"source", said{}, []string{"paths[0] 1+0"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, alone(when(web("k", "/", "/"), "/", conditions[c.condition])), c.line)
			if diff := cmp.Diff(c.want, inWords(got)); diff != "" {
				t.Error(diff)
			}
			if want := int64(len(c.want) - 1); got.Summary.Either != want {
				t.Errorf("%d lines are either, want %d", got.Summary.Either, want)
			}
		})
	}
}

// TestPathsThatAreReadInSeveralWaysAreEither, since what is normalised is not documented.
func TestPathsThatAreReadInSeveralWaysAreEither(t *testing.T) {
	for path, want := range map[string][]string{
		"/x/../api": {"paths[0] 0+1", "paths[1] 0+1"}, "//api": {"paths[0] 0+1", "paths[1] 0+1"}, "/%61pi": {"paths[0] 0+1", "paths[1] 0+1"},
		"/x/%2e%2e//api/": {"paths[0] 0+1", "paths[1] 0+1"}, "/api/..": {"paths[0] 0+1", "paths[1] 0+1"}, "/x/./y": {"paths[0] 1+0"}, "/api/%zz/.": {"paths[1] 1+0"},
	} {
		if diff := cmp.Diff(want, inWords(run(t, alone(web("k", "/", "/api")), said{url: "http://a.test:80" + path}))); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
}

// observed is the load balancer of web("k", "/", "/api") in a cloud.
func observed() *lb.Observed {
	to := func(id lb.GroupID) lb.Action {
		return lb.Action{Kind: "forward", Targets: []lb.Weighted{{Group: id, Weight: 1}}}
	}
	rule := func(priority int, action lb.Action, path ...string) lb.ObservedRule {
		return lb.ObservedRule{Priority: priority, Handle: "arn:rule", Rule: lb.Rule{Action: action, Conditions: []lb.Condition{{Field: "host", Values: []string{"a.test"}}, {Field: "path", Values: path}}}}
	}
	group := func(id lb.GroupID, arn string) lb.ObservedTargetGroup {
		return lb.ObservedTargetGroup{TargetGroup: lb.TargetGroup{ID: id}, Handle: arn}
	}
	return &lb.Observed{
		Key: "k", Exists: true, Handle: "arn:aws:elasticloadbalancing:eu-west-1:1:loadbalancer/app/x/1",
		Listeners: []lb.ObservedListener{{Port: 80, Protocol: routing.HTTP, Handle: "arn:listener", Default: lb.Action{Kind: "fixed", Status: 404},
			Rules: []lb.ObservedRule{rule(5, to("to/api"), "/api", "/api/*"), rule(9, to("to/"), "/*")}}},
		TargetGroups: []lb.ObservedTargetGroup{group("to/", "arn:root"), group("to/api", "arn:api")},
	}
}

func TestVerdicts(t *testing.T) {
	known, manifests := alone(web("k", "/", "/api")), alone(web("k", "/", "/api"))
	known.Balancers[0].Observed = observed()
	planned := alone(web("k", "/", "/api"))
	planned.Balancers[0].Observed = observed()
	planned.Balancers[0].Observed.Listeners[0].Rules[1].Handle = ""
	told := alone(web("k", "/", "/api"))
	told.Balancers[0].Observed = observed()
	told.Balancers[0].Observed.Handle, told.Balancers[0].Observed.Listeners[0].Rules[1].Handle = "", ""
	doubtful := &Setup{Balancers: slices.Clone(told.Balancers)}
	told.Balancers[0].Assumed = true
	guarded := web("k", "/", "/api")
	guarded.Listeners[0].Protocol = routing.HTTPS
	guarded.Routes[0].Action.Auth = &routing.Auth{Kind: routing.OIDC, Issuer: "https://id.test"}
	optional := web("k", "/")
	optional.Listeners[0].Protocol = routing.HTTPS
	optional.Routes[0].Action.Auth = &routing.Auth{Kind: routing.OIDC, OnMissing: "allow"}
	redirects := web("k", "/")
	redirects.Routes[0].Action = routing.Action{Redirect: &routing.Redirect{Status: 301, Scheme: "https"}}
	const over = "https://a.test:80/"
	for name, c := range map[string]struct {
		setup *Setup
		line  said
		want  string
	}{
		"the rule and its target group":                            {known, said{url: "http://a.test:80/api/1", priority: "5", group: "arn:api"}, ""},
		"another rule":                                             {known, said{url: "http://a.test:80/api/1", priority: "9", group: "arn:root"}, "rule, not [5]"},
		"the default action":                                       {known, said{url: "http://a.test:80/api/1", priority: "0", actions: "fixed-response", status: "404"}, "rule, not [5]"},
		"the default action, which it is":                          {known, said{url: "http://b.test:80/", priority: "0", actions: "fixed-response", status: "404"}, ""},
		"a rule in place of the default action":                    {known, said{url: "http://b.test:80/", priority: "9", group: "arn:root"}, "rule, not [0]"},
		"a rule that is not there":                                 {known, said{url: "http://a.test:80/api/1", priority: "6", group: "arn:api"}, "rule, not [5]"},
		"the target group of another rule":                         {known, said{url: "http://a.test:80/api/1", priority: "5", group: "arn:root"}, "answer, not [5]"},
		"a target group that is not known":                         {known, said{url: "http://a.test:80/api/1", priority: "5", group: "arn:other"}, "answer, not [5]"},
		"no target group":                                          {known, said{url: "http://a.test:80/api/1", priority: "5"}, ""},
		"a redirect in place of a forward":                         {known, said{url: "http://a.test:80/api/1", priority: "5", actions: "redirect", status: "301"}, "answer, not [5]"},
		"refused by a firewall":                                    {known, said{url: "http://a.test:80/api/1", priority: "5", actions: "waf", status: "403"}, ""},
		"another rule than one of a plan that is said to be there": {told, said{url: "http://a.test:80/api/1", priority: "9", group: "arn:api"}, "rule, not [5]"},
		"another rule than one of a plan":                          {doubtful, said{url: "http://a.test:80/api/1", priority: "9", group: "arn:api"}, ""},
		"another rule than one that is planned":                    {planned, said{url: "http://a.test:80/api/1", priority: "9", group: "arn:api"}, ""},
		"another target group, for planned rules":                  {planned, said{url: "http://a.test:80/api/1", priority: "9", group: "arn:root"}, "answer, not []"},
		"any rule, if none is known":                               {manifests, said{url: "http://a.test:80/api/1", priority: "9", group: "arn:root"}, ""},
		"a fixed response, if no rule is known":                    {manifests, said{url: "http://a.test:80/api/1", actions: "fixed-response", status: "404"}, "answer, not []"},
		"a forward of what nothing matches":                        {manifests, said{url: "http://b.test:80/"}, "answer, not []"},
		"another status":                                           {alone(redirects), said{actions: "redirect", status: "302"}, "answer, not []"},
		"its status":                                               {alone(redirects), said{actions: "redirect", status: "301"}, ""},
		"a sign-in":                                                {alone(guarded), said{url: over, actions: "authenticate"}, ""},
		"a forward after signing in":                               {alone(guarded), said{url: over, actions: "waf,authenticate,forward"}, ""},
		"a forward without signing in":                             {alone(guarded), said{url: over}, "answer, not []"},
		"a sign-in that nothing asks for":                          {alone(guarded), said{url: over + "api", actions: "authenticate,forward"}, "answer, not []"},
		"a forward where sign-in is optional":                      {alone(optional), said{url: over}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, c.setup, c.line)
			said := ""
			for _, d := range got.Disagreements {
				said = fmt.Sprintf("%s, not %v", d.Kind, d.Priorities)
			}
			if said != c.want || got.Summary.Compared != 1 || (c.want == "") != (got.Summary.Disagreements == 0) || (c.want == "") != (len(got.Paths) > 0) {
				t.Errorf("%q, want %q: %+v", said, c.want, got)
			}
		})
	}
}

// TestTheRuleThatWasLoggedSaysWhichPathAnswered, though lines do not have the header.
func TestTheRuleThatWasLoggedSaysWhichPathAnswered(t *testing.T) {
	c := when(web("k", "/", "/"), "/", routing.Condition{Field: "header", Name: "X-A", Values: []string{"1"}})
	c.Routes[0].Action = routing.To("canary")
	setup := alone(c)
	setup.Balancers[0].Observed = observed()
	rules := setup.Balancers[0].Observed.Listeners[0].Rules
	rules[0].Action.Targets[0].Group = "canary"
	rules[0].Conditions = append(slices.Clone(rules[1].Conditions), lb.Condition{Field: "header", Name: "X-A", Values: []string{"1"}})
	got := run(t, setup, said{priority: "5"}, said{priority: "9"}, said{priority: "9"}, said{priority: "0", actions: "fixed-response", status: "404"})
	if diff := cmp.Diff([]string{"paths[1] 2+0", "paths[0] 1+0"}, inWords(got)); diff != "" {
		t.Error(diff)
	}
	if len(got.Disagreements) != 1 || !slices.Equal(got.Disagreements[0].Priorities, []int{5, 9}) {
		t.Errorf("%+v", got.Disagreements)
	}
}

// TestPathsMatchAsInLb compares the values of conditions on paths with lb.Matcher.
func TestPathsMatchAsInLb(t *testing.T) {
	conditions := []lb.Condition{{Values: []string{"/a", "/a/*"}}, {Values: []string{"/*b"}}, {Values: []string{"*"}}, {Values: []string{"/a?c", "/x"}}, {Regex: []string{"/a(/.*)?", "/[x-z]"}}, {Regex: []string{"("}}, {Values: []string{"/A*"}}}
	for _, c := range conditions {
		c.Field = "path"
		values, matcher := pathValuesOf(c), lb.NewMatcher(lb.Listener{Rules: []lb.Rule{{Conditions: []lb.Condition{c}}}}, lb.Dialect{})
		for _, path := range []string{"", "/", "/a", "/a/", "/ab", "/a/b", "/abc", "/a/c", "/b", "/x", "/y", "/xy", "/A", "/Ab", "*"} {
			want, _ := matcher.Match(routing.Request{Path: path})
			if got := values.match(path); got != (want == 0) {
				t.Errorf("%s with %s: %v", path, c, got)
			}
		}
	}
}

// TestPathsOfSeveralRulesAreToldApart, though one route answers them.
func TestPathsOfSeveralRulesAreToldApart(t *testing.T) {
	setup := alone(web("k", "/"))
	o := observed()
	o.Listeners[0].Rules[0].Action = o.Listeners[0].Rules[1].Action
	setup.Balancers[0].Observed = o
	lines := []said{{url: "http://a.test:80/api", priority: "5"}, {url: "http://a.test:80/x", priority: "9"}, {url: "http://a.test:80/api/1", priority: "5"}}
	if got := run(t, setup, lines...); got.Summary.Disagreements != 0 || got.Paths[0].Requests != 3 {
		t.Errorf("%+v", got)
	}
}

func TestEffects(t *testing.T) {
	header := routing.Condition{Field: "header", Name: "X-A", Values: []string{"1"}}
	canary := func(to string, conditions ...routing.Condition) routing.Config {
		c := when(web("k", "/", "/"), "/", conditions...)
		c.Routes[0].Action = routing.To(routing.BackendID(to))
		return c
	}
	ported := web("k", "/")
	ported.Listeners[0].Port, ported.Routes[0].Ports, ported.Names[0].Ports = 81, []int32{81}, []int32{81}
	moved := canary("canary", header)
	moved.Routes[0].Action, moved.Routes[1].Action = routing.Action{Redirect: &routing.Redirect{Status: 302, Host: "id.test"}}, routing.To("moved")
	both := canary("canary", header, routing.Condition{Field: "header", Name: "X-B", Values: []string{"1"}})
	both.Routes[0].Action = moved.Routes[0].Action
	signIn := canary("canary", header)
	signIn.Routes[0].Action = routing.Action{Redirect: &routing.Redirect{Status: 302, Host: "id.test"}}
	for name, c := range map[string]struct {
		before, after routing.Config
		line          said
		want          string // changed, possible
	}{
		"the same":                               {web("k", "/"), web("k", "/"), said{}, "0 0"},
		"a path more, of another request":        {web("k", "/"), web("k", "/", "/api"), said{}, "0 0"},
		"a path more":                            {web("k", "/"), web("k", "/", "/api"), said{url: "http://a.test:80/api"}, "1 0"},
		"a path more, as the path may be read":   {web("k", "/"), web("k", "/", "/api"), said{url: "http://a.test:80/x/../api"}, "0 1"},
		"a path more, however the path is read":  {web("k", "/"), web("k", "/", "/api"), said{url: "http://a.test:80/api//x"}, "1 0"},
		"another port":                           {web("k", "/"), ported, said{}, "1 0"},
		"a canary":                               {web("k", "/"), canary("canary", header), said{}, "0 1"},
		"the same canary":                        {canary("canary", header), canary("canary", header), said{}, "0 0"},
		"a canary to where all go":               {web("k", "/"), canary("to/", header), said{}, "0 0"},
		"a canary for all":                       {canary("canary", header), canary("canary"), said{}, "0 1"},
		"no canary":                              {signIn, web("k", "/"), said{actions: "redirect", status: "302"}, "1 0"},
		"no canary, for those who were not":      {signIn, web("k", "/"), said{}, "0 0"},
		"another canary":                         {signIn, canary("other", header), said{actions: "redirect", status: "302"}, "1 0"},
		"another canary, for those who were not": {signIn, canary("other", header), said{}, "0 0"},
		"the same canary, with others elsewhere": {signIn, moved, said{actions: "redirect", status: "302"}, "0 0"},
		"others elsewhere, with the same canary": {signIn, moved, said{}, "1 0"},
		"one condition of two that did not hold": {both, canary("other", header), said{}, "0 1"},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, &Setup{Change: true, Balancers: []Balancer{{Table: precedence.New(c.before), After: precedence.New(c.after)}}}, c.line)
			if said := fmt.Sprintf("%d %d", got.Change.Changed, got.Change.Possible); said != c.want || got.Summary.Disagreements > 0 {
				t.Errorf("changed and possibly changed: %s, want %s: %+v", said, c.want, got.Change)
			}
			if want := c.want != "0 0"; want != (len(got.Change.Top) == 1) {
				t.Errorf("%+v", got.Change.Top)
			}
		})
	}
	gone := run(t, &Setup{Change: true, Balancers: []Balancer{{Table: precedence.New(web("k", "/"))}}}, said{}, said{url: "http://b.test:80/", actions: "fixed-response", status: "404"})
	if gone.Change.Changed != 2 || gone.Change.Top[0].After[0].Action != "no listener" {
		t.Errorf("%+v", gone.Change)
	}
}

// TestLinesThatDifferInOnePartAreTold apart, whatever was remembered before.
func TestLinesThatDifferInOnePartAreToldApart(t *testing.T) {
	agent := routing.Condition{Field: "header", Name: "User-Agent", Values: []string{"bot"}}
	for name, c := range map[string]struct {
		condition routing.Condition
		line      said
	}{
		"method": {routing.Condition{Field: "method", Values: []string{"POST"}}, said{method: "POST"}},
		"query":  {routing.Condition{Field: "query", Name: "v", Values: []string{"1"}}, said{url: "http://a.test:80/?v=1"}},
		"agent":  {agent, said{agent: "bot"}},
	} {
		t.Run(name, func(t *testing.T) {
			config := when(web("k", "/", "/"), "/", c.condition)
			config.Routes[0].Path = routing.Path{Type: routing.Glob, Value: "/*"} // which takes long to match, and is remembered
			other := c.line
			other.method, other.agent, other.url = "GET", "curl", "http://a.test:80/"
			got := run(t, alone(config), c.line, other, c.line, other, c.line)
			if diff := cmp.Diff([]string{"paths[0] 3+0", "paths[1] 2+0"}, inWords(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
	header := routing.Condition{Field: "header", Name: "X-A", Values: []string{"1"}}
	before, after := when(web("k", "/", "/"), "/", header, agent), when(web("k", "/", "/"), "/", header)
	before.Routes[0].Action, after.Routes[0].Action = routing.Status(403), routing.To("other")
	setup := &Setup{Change: true, Balancers: []Balancer{{Table: precedence.New(before), After: precedence.New(after)}}}
	for _, lines := range [][]said{{{agent: "bot"}, {}}, {{}, {agent: "bot"}}} {
		if got := run(t, setup, lines...); got.Change.Possible != 1 || got.Change.Changed != 0 {
			t.Errorf("that the bot has no X-A is known of the bot alone: %+v", got.Change)
		}
	}
}

func TestLinesFindTheirLoadBalancer(t *testing.T) {
	table := func(key routing.Key) *precedence.Table { return precedence.New(web(key, "/")) }
	one := &Setup{Balancers: []Balancer{{Table: table("c/shop/web/internal")}}}
	begun := &Setup{Balancers: []Balancer{{Table: table("c/shop/web/internal"), Names: []string{"k8s-*", "a"}},
		{Table: table("c/shop/api/internal"), Names: []string{"k8s-shop-*"}}, {Table: table("c/shop/x/internal"), Names: []string{"k8s-shop-x"}}}}
	for name, want := range map[string]int{"app/k8s-b/1": 0, "app/k8s-shop-b/1": 1, "app/k8s-shop-x/1": 2, "app/other/1": -1} {
		if got := begun.balancerNamed(name); got != want {
			t.Errorf("%s is the name of %d, want %d", name, got, want)
		}
	}
	told := &Setup{Balancers: []Balancer{{Table: table("c/shop/web/internal"), Names: []string{"x"}}}}
	there := &Setup{Balancers: []Balancer{{Table: table("c/shop/web/internal"), Observed: observed()}}}
	two := &Setup{Balancers: []Balancer{{Table: table("c/shop/web/internal=mine")}, {Table: table("c/shop/api/internal"), Names: []string{"app/y/2"}}, {Table: table("c/shop/x/internal"), Observed: &lb.Observed{}}}}
	for _, c := range []struct {
		setup *Setup
		name  string
		want  int
	}{
		{one, "app/any/1", 0}, {told, "app/x/9", 0}, {told, "app/y/9", -1}, {there, "app/x/1", 0}, {there, "app/x/2", -1},
		{two, "app/mine/7", 0}, {two, "app/y/2", 1}, {two, "app/y/3", -1}, {two, "app/web/3", -1},
	} {
		if got := c.setup.balancerNamed(c.name); got != c.want {
			t.Errorf("%s is %d, want %d", c.name, got, c.want)
		}
	}
	got := run(t, two, said{elb: "app/mine/7"}, said{elb: "app/other/1"}, said{elb: "app/other/1"})
	if diff := cmp.Diff([]other{{"app/other/1", 2}}, got.Others); diff != "" || got.Summary.Others != 2 || got.LoadBalancers[0].Lines != 1 {
		t.Errorf("%s%+v", diff, got)
	}
}

// TestSeveralReplayersAddUp to what one finds, with the first lines as examples.
func TestSeveralReplayersAddUp(t *testing.T) {
	setup := &Setup{Change: true, Balancers: []Balancer{{Table: precedence.New(web("k", "/", "/api")), After: precedence.New(web("k", "/"))}}}
	all, some := New(setup), []*Replayer{New(setup), New(setup), New(setup)}
	for i := range 600 {
		line := said{url: fmt.Sprintf("http://a.test:80/%s/%d", []string{"api", "x"}[i%2], i), elb: fmt.Sprintf("app/x/%d", i%3)}
		if i%5 == 0 {
			line.actions = "redirect"
		}
		var l accesslog.Line
		if err := l.Parse([]byte(line.String())); err != nil {
			t.Fatal(err)
		}
		at := Place{File: i % 2, Line: 1 + i}
		all.Replay(&l, at)
		some[(i*7)%3].Replay(&l, at)
	}
	slices.Reverse(some)
	files := []string{"one", "two"}
	want, got := Merge(setup, []*Replayer{all}, files), Merge(setup, some, files)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(want.Disagreements) != 2 || want.Disagreements[0].Lines != 60 || want.Disagreements[1].Examples[0] != (Example{File: "two", Line: 6, Request: "GET http://a.test:80/x/5"}) || want.Change.Changed != 300 {
		t.Errorf("%+v", want)
	}
}

// TestMemoryIsBounded where each line is for another host and another path.
func TestMemoryIsBounded(t *testing.T) {
	setup := alone(web("k", "/", "/api"))
	r := New(setup)
	for i := range mostKept + 100 {
		var l accesslog.Line
		line := said{url: fmt.Sprintf("http://h%d.test:80/%d", i/3, i), elb: fmt.Sprintf("app/x/%d", i), actions: "fixed-response", status: "404"}
		if err := l.Parse([]byte(line.String())); err != nil {
			t.Fatal(err)
		}
		r.Replay(&l, Place{Line: i})
		kept := len(r.balancers[0].hosts)
		if i%1000 == 0 || i == mostKept+99 {
			for _, h := range r.balancers[0].hosts {
				kept += len(h.predictions) + len(h.known)
			}
		}
		if kept > mostKept || len(r.names) > mostNames {
			t.Fatalf("%d hosts and predictions, %d names after %d lines", kept, len(r.names), i)
		}
	}
	if got := Merge(setup, []*Replayer{r}, []string{"log"}); got.Summary.Compared != mostKept+100 || got.Summary.Disagreements != 0 {
		t.Errorf("%+v", got.Summary)
	}
	g := groups{known: map[string]*group{}}
	for i := range mostGroups + 5 {
		g.of(fmt.Sprint(i), func() *group { return &group{} }).lines++
	}
	if len(g.known) != mostGroups || g.rest.lines != 5 {
		t.Errorf("%d groups, %d lines of others", len(g.known), g.rest.lines)
	}
}

// BenchmarkReplay replays lines of a thousand paths, of which each has its own Ingress path.
func BenchmarkReplay(b *testing.B) {
	var paths []string
	for i := range 1000 {
		paths = append(paths, fmt.Sprintf("/p%d", i))
	}
	setup := &Setup{Change: true, Balancers: []Balancer{{Table: precedence.New(web("k", paths...)), After: precedence.New(web("k", paths[:900]...))}}}
	for name, repeated := range map[string]bool{"paths that are seen again": true, "paths that are all new": false} {
		b.Run(name, func(b *testing.B) {
			r := New(setup)
			var l accesslog.Line
			i := 0
			for b.Loop() {
				i++
				url := fmt.Sprintf("http://a.test:80/p%d/%d", i%1000, i)
				if repeated {
					url = fmt.Sprintf("http://a.test:80/p%d/%d", i%1000, i%5000)
				}
				if err := l.Parse([]byte(said{url: url}.String())); err != nil {
					b.Fatal(err)
				}
				r.Replay(&l, Place{Line: i})
			}
		})
	}
}
