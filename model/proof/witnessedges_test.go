package proof

import (
	"strings"
	"testing"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/language"
)

// This file has requests that few random rules ask for.

func TestFindAtTheEdges(t *testing.T) {
	alb, label := lb.ALB().Dialect, lb.Literal().Dialect
	label.HostStarIsLabel = true
	headerIs := func(values ...string) lb.Condition {
		return lb.Condition{Field: "header", Name: "X-A", Values: values}
	}
	sourceIs := func(values ...string) lb.Condition {
		return lb.Condition{Field: "source", Values: values}
	}
	with := func(conditions ...lb.Condition) lb.Rule { return lb.Rule{Conditions: conditions} }
	portInHost := with(lb.Condition{Field: "host", Regex: []string{`a\.test:8080`}})
	every := with(lb.Condition{Field: "host", Regex: []string{`(.*)`}}, pathLike(`(.*)`))
	for name, c := range map[string]struct {
		dialect lb.Dialect
		port    int32
		in, out []lb.Rule
		want    language.Verdict
	}{
		"a host with a port":                    {alb, 8080, []lb.Rule{portInHost}, nil, language.Some},
		"a host with the usual port":            {alb, 80, []lb.Rule{portInHost}, nil, language.None},
		"a host without its port":               {lb.Literal().Dialect, 8080, []lb.Rule{portInHost}, nil, language.None},
		"another method":                        {alb, 80, []lb.Rule{with(lb.Condition{Field: "method", Values: []string{"PURGE"}})}, nil, language.Some},
		"a header that automata do not know":    {alb, 80, []lb.Rule{with(headerIs("é"))}, nil, language.Unsure},
		"a header with a control character":     {alb, 80, []lb.Rule{with(headerIs("a\tb"))}, nil, language.Unsure},
		"a header with the last character":      {alb, 80, []lb.Rule{with(headerIs("a~"))}, nil, language.Some},
		"an address behind a range":             {alb, 80, []lb.Rule{with(sourceIs("10.0.0.0/8"))}, []lb.Rule{with(sourceIs("10.0.0.0/16"))}, language.Some},
		"a range that is none, and another":     {alb, 80, []lb.Rule{with(sourceIs("x", "10.0.0.0/8"))}, nil, language.Some},
		"a range that is none":                  {alb, 80, []lb.Rule{with(sourceIs("x"))}, nil, language.None},
		"any host and any path":                 {alb, 80, []lb.Rule{every}, nil, language.Some},
		"a star in a host for several labels":   {alb, 80, []lb.Rule{with(hostIs("*.test")), with(hostIs("a.b.test"))}, nil, language.Some},
		"a star in a host for one label":        {label, 80, []lb.Rule{with(hostIs("*.test")), with(hostIs("a.b.test"))}, nil, language.None},
		"a star in a path, which is no label":   {label, 80, []lb.Rule{with(pathIs("*.php")), with(pathIs("/a.b.php"))}, nil, language.Some},
		"nothing, as all requests are left out": {alb, 80, nil, []lb.Rule{with(pathIs("/*"))}, language.None},
	} {
		r, verdict := newFinder(c.dialect, 1000).Find(c.port, c.in, c.out)
		if verdict != c.want || verdict == language.Some && !strings.HasPrefix(r.Path, "/") {
			t.Errorf("%s: %v, %+v", name, verdict, r)
		}
		if verdict == language.Some && (!all(c.dialect, c.in, r) || len(c.out) > 0 && all(c.dialect, c.out, r)) {
			t.Errorf("%s: %+v is no such request", name, r)
		}
	}
}

// all reports whether a request matches all rules.
func all(d lb.Dialect, rules []lb.Rule, r routing.Request) bool {
	for _, rule := range rules {
		if at, _ := lb.NewMatcher(lb.Listener{Rules: []lb.Rule{rule}}, d).Match(r); at != 0 {
			return false
		}
	}
	return true
}

// TestFindIsUnsureOnceItsSearchesAreUsedUp: a request takes four, and each that is found at a dead
// end four more.
func TestFindIsUnsureOnceItsSearchesAreUsedUp(t *testing.T) {
	closed := []lb.Rule{{Conditions: []lb.Condition{pathIs("/*")}}}
	for _, c := range []struct {
		most int
		out  []lb.Rule
		want language.Verdict
	}{{4, nil, language.Some}, {3, nil, language.Unsure}, {4, closed, language.Unsure}, {8, closed, language.None}} {
		if _, verdict := newFinder(lb.ALB().Dialect, c.most).Find(80, nil, c.out); verdict != c.want {
			t.Errorf("of %d searches: %v, want %v", c.most, verdict, c.want)
		}
	}
}
