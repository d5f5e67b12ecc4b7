package precedence

import (
	"fmt"
	"strings"
	"testing"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
)

// TestOpenRoutesToAnAuthenticatedServiceAreTold gives each case routes in the words of route: "!"
// in front asks for a sign-in, and the Service follows behind " > ".
func TestOpenRoutesToAnAuthenticatedServiceAreTold(t *testing.T) {
	for name, c := range map[string]struct {
		routes   []string
		fallback string // default backend: a Service, behind "!" after signing in
		want     []string
	}{
		"a prefix below an open one":             {routes: []string{"!a.io /admin > web", "a.io / > web"}, want: []string{"http://a.io/%61dmin"}},
		"another Service":                        {routes: []string{"!a.io /admin > web", "a.io / > other"}},
		"nothing is open":                        {routes: []string{"!a.io /admin > web", "!a.io / > web"}},
		"a root without letters":                 {routes: []string{"!a.io / > web"}},
		"an open prefix below":                   {routes: []string{"!a.io / > web", "a.io /css > web"}, want: []string{"--path-as-is http://a.io/css/../"}},
		"an open path below":                     {routes: []string{"!a.io / > web", "a.io =/css > web"}},
		"an open glob below":                     {routes: []string{"!a.io / > web", "a.io /css* > web"}, want: []string{"--path-as-is http://a.io/css/../"}},
		"an Exact path, whose letter is encoded": {routes: []string{"!a.io =/admin > web", "a.io / > web"}, want: []string{"http://a.io/%61dmin"}},
		"digits only":                            {routes: []string{"!a.io /1 > web", "a.io / > web"}, want: []string{"http://a.io//1"}},
		"another host":                           {routes: []string{"!a.io / > web", "b.io / > web"}, want: []string{"http://b.io/"}},
		"any other host":                         {routes: []string{"!a.io /x > web", "- /x > web"}, want: []string{"http://any.example/x"}},
		"another host that does not serve it":    {routes: []string{"!a.io /x > web", "b.io /y > web"}, want: []string{"--path-as-is http://b.io/y/../x"}},
		"an open default backend":                {routes: []string{"!a.io /admin > web"}, fallback: "web", want: []string{"http://a.io/%61dmin"}},
		"an authenticated default backend":       {routes: []string{"a.io /css > web"}, fallback: "!web", want: []string{"--path-as-is http://a.io/css/../"}},
		"one that is told of two open routes":    {routes: []string{"!a.io / > web", "a.io /css > web", "a.io /js > web"}, want: []string{"--path-as-is http://a.io/css/../", "--path-as-is http://a.io/js/../"}},
		"an open route that another answers for": {routes: []string{"!a.io / > web", "a.io /css > web", "!a.io /css/../ > web"}},
		"a path that no request has":             {routes: []string{"!a.io =/x?y > web", "a.io / > web"}},
	} {
		t.Run(name, func(t *testing.T) {
			var routes []routing.Route
			backends := map[routing.BackendID]routing.Backend{}
			to := func(service string, signIn bool) routing.Action {
				backends[routing.BackendID(service)] = routing.Backend{Service: "shop/" + service, Port: "80"}
				a := routing.To(routing.BackendID(service))
				if signIn {
					a.Auth = &routing.Auth{Kind: routing.OIDC}
				}
				return a
			}
			for i, text := range c.routes {
				text, service, _ := strings.Cut(text, " > ")
				path, signIn := strings.CutPrefix(text, "!")
				r := route(older, path, service, i)
				r.Action, r.Ports = to(service, signIn), []int32{80}
				routes = append(routes, r)
			}
			config := routing.Config{Routes: routes, Backends: backends, Listeners: []routing.Listener{{Port: 80, Protocol: "HTTPS"}}}
			for _, r := range routes {
				if r.Host != routing.Any {
					config.Names = append(config.Names, routing.Name{Host: r.Host, Owner: r.Owner, Ports: r.Ports})
				}
			}
			if service, signIn := strings.CutPrefix(c.fallback, "!"); c.fallback != "" {
				config.Defaults = []routing.Default{{Action: to(service, signIn), Ports: []int32{80}, Owner: older, Source: diag.Source{Name: "default"}}}
			}
			var got []string
			for _, d := range New(config).Diagnostics() {
				if _, try, found := strings.Cut(d.Message, ": try "); d.Reason == diag.OpenRoute && found {
					got = append(got, strings.ReplaceAll(strings.Replace(try, "https://", "http://", 1), ":80/", "/"))
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("told %q, want %q", got, c.want)
			}
		})
	}
}

// Conditions narrow an authenticated route: whoever does not fulfil them gets to the open one.
func TestAnOpenRouteBesideConditionsIsTold(t *testing.T) {
	backends := map[routing.BackendID]routing.Backend{"web": {Service: "shop/web", Port: "80"}}
	closed, open := route(older, "a.io /", "web", 0), route(older, "a.io /", "web", 1)
	closed.Action.Auth, open.Source.Name = &routing.Auth{Kind: routing.OIDC}, "open"
	closed.When = routing.Conditions{{Field: "header", Name: "X", Values: []string{"y"}}}
	told := New(routing.Config{Routes: []routing.Route{closed, open}, Backends: backends, Listeners: []routing.Listener{{Port: 80, Protocol: "HTTPS"}}}).Diagnostics()
	if len(told) != 1 || told[0].Reason != diag.OpenRoute || told[0].Source != closed.Source || !strings.HasSuffix(told[0].Message, "try https://a.io:80/") {
		t.Errorf("told %v", told)
	}
}

// TestOpenRoutesAreBounded has thousands of pairs.
func TestOpenRoutesAreBounded(t *testing.T) {
	backends := map[routing.BackendID]routing.Backend{"web": {Service: "shop/web", Port: "80"}}
	var routes []routing.Route
	for i := range 2000 {
		r := route(older, fmt.Sprintf("h%d.io /p%d", i%40, i), "web", i)
		if i%2 == 0 {
			r.Action.Auth = &routing.Auth{Kind: routing.OIDC}
		}
		routes = append(routes, r)
	}
	table := New(routing.Config{Routes: routes, Backends: backends, Listeners: []routing.Listener{{Port: 80, Protocol: "HTTPS"}, {Port: 443, Protocol: "HTTPS"}}})
	told := map[diag.Diagnostic]bool{}
	table.reportOpen(told)
	if len(told) != mostOpenNotes {
		t.Errorf("%d notes, want %d", len(told), mostOpenNotes)
	}
	for d := range told {
		if !strings.Contains(d.Message, ": try ") {
			t.Errorf("told %v", d)
		}
	}
}
