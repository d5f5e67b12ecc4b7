package replay

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// TestLocationsOfRedirects: a redirect to another URL is a disagreement, apart from what AWS does
// not document.
func TestLocationsOfRedirects(t *testing.T) {
	https := routing.Redirect{Status: 301, Scheme: "https", Port: "443"}
	moved := routing.Redirect{Status: 301, Host: "new.test", Path: "/to/#{path}", Query: "from=#{host}"}
	const asked = "http://a.test:80/x%20y?q=1"
	for name, c := range map[string]struct {
		to       routing.Redirect
		url      string
		location string
		want     string
	}{
		"as it is":                     {https, asked, "https://a.test/x%20y?q=1", ""},
		"with the usual port":          {https, asked, "https://a.test:443/x%20y?q=1", ""},
		"with a path decoded":          {https, asked, "https://a.test:443/x y?q=1", ""},
		"without dot segments":         {https, "http://a.test:80/x/../y", "https://a.test:443/y", ""},
		"in other letters":             {https, "http://A.TEST:80/", "HTTPS://a.Test:443/", ""},
		"with an empty query":          {https, "http://a.test:80/", "https://a.test:443/?", ""},
		"without a path":               {https, "http://a.test:80/", "https://a.test:443", ""},
		"not logged":                   {https, asked, "", ""},
		"to another host":              {https, asked, "https://evil.test/x%20y?q=1", wrongLocation},
		"to another port":              {https, asked, "https://a.test:8443/x%20y?q=1", wrongLocation},
		"to another scheme":            {https, asked, "http://a.test:443/x%20y?q=1", wrongLocation},
		"to another path":              {https, asked, "https://a.test/x%20y/z?q=1", wrongLocation},
		"to a path in other letters":   {https, asked, "https://a.test/X%20y?q=1", wrongLocation},
		"without the query":            {https, asked, "https://a.test/x%20y", wrongLocation},
		"all parts":                    {moved, asked, "http://new.test:80/to/x%20y?from=a.test", ""},
		"the host as it was sent":      {moved, "http://A.test:80/", "http://new.test:80/to/?from=A.test", ""},
		"all parts, but not the query": {moved, asked, "http://new.test:80/to/x%20y?q=1", wrongLocation},
	} {
		t.Run(name, func(t *testing.T) {
			config := web("k", "/")
			config.Routes[0].Action = routing.Action{Redirect: &c.to}
			got := run(t, alone(config), said{url: c.url, status: "301", actions: "redirect", location: c.location})
			kind := ""
			for _, d := range got.Disagreements {
				kind = d.Kind
				if diff := cmp.Diff(c.location, d.Examples[0].Location); diff != "" {
					t.Errorf("the example has another location: %s", diff)
				}
			}
			if kind != c.want || got.Summary.Disagreements != int64(len(got.Disagreements)) {
				t.Errorf("%q, want %q: %+v", kind, c.want, got)
			}
		})
	}
}

// TestALocationTellsWhichPathAnswered: two paths redirect with the same status, and a header that
// lines do not have decides between them.
func TestALocationTellsWhichPathAnswered(t *testing.T) {
	config := when(web("k", "/", "/"), "/", routing.Condition{Field: "header", Name: "X-A", Values: []string{"1"}})
	for i, host := range []string{"one.test", "two.test"} {
		config.Routes[i].Action = routing.Action{Redirect: &routing.Redirect{Status: 302, Host: host}}
	}
	got := run(t, alone(config),
		said{status: "302", actions: "redirect", location: "http://two.test:80/"},
		said{status: "302", actions: "redirect", location: "http://one.test:80/"},
		said{status: "302", actions: "redirect", location: "http://two.test:80/"},
		said{status: "302", actions: "redirect", location: "http://three.test:80/"})
	if diff := cmp.Diff([]string{"paths[1] 2+0", "paths[0] 1+0"}, inWords(got)); diff != "" {
		t.Error(diff)
	}
	if got.Summary.Disagreements != 1 || len(got.Disagreements) != 1 || len(got.Disagreements[0].Expected) != 2 {
		t.Errorf("%+v", got.Disagreements)
	}
}

// TestForeignRulesAnswerForThemselves: a rule that the class keeps answers, and no Ingress path. It
// must match, and must do what it says.
func TestForeignRulesAnswerForThemselves(t *testing.T) {
	setup := alone(web("k", "/", "/api"))
	setup.Change = true
	o := observed()
	foreign := o.Listeners[0].Rules[0]
	foreign.Priority, foreign.Action.Targets = 3, nil
	foreign.Action.Kind, foreign.Action.Status = "fixed", 410
	o.Listeners[0].Rules = append(o.Listeners[0].Rules[:0:0], append([]lb.ObservedRule{foreign}, o.Listeners[0].Rules...)...)
	lines := []said{
		{url: "http://a.test:80/api", priority: "3", actions: "fixed-response", status: "410"},
		{url: "http://a.test:80/x", priority: "3", actions: "fixed-response", status: "410"},
		{url: "http://a.test:80/api", priority: "3", actions: "forward"},
		{url: "http://a.test:80/x", priority: "9"},
	}
	setup.Balancers[0].Observed = o
	if got := run(t, setup, lines...); got.Summary.Disagreements != 3 || got.Summary.Foreign != 0 {
		t.Errorf("if it is not known to be foreign: %+v", got.Summary)
	}
	setup.Balancers[0].Foreign = map[int32][]int{80: {3}, 443: {9}}
	got := run(t, setup, lines...)
	if got.Summary.Disagreements != 2 || got.Summary.Foreign != 1 || got.LoadBalancers[0].Foreign != 1 || got.Change.Changed != 3 {
		t.Errorf("%+v, %+v", got.Summary, got.Change)
	}
	if diff := cmp.Diff([]string{"paths[0] 1+0"}, inWords(got)); diff != "" {
		t.Error(diff)
	}
}
