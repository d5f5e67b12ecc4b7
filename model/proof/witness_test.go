package proof

import (
	"flag"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/language"
)

// Seed is also for the tests outside of the package.
var Seed = flag.Uint64("seed", rand.Uint64(), "of the random plans and rules")

func hostIs(values ...string) lb.Condition  { return lb.Condition{Field: "host", Values: values} }
func pathIs(values ...string) lb.Condition  { return lb.Condition{Field: "path", Values: values} }
func pathLike(regex ...string) lb.Condition { return lb.Condition{Field: "path", Regex: regex} }

// TestFindFindsWhatSomeRulesMatchAndOthersDoNot compares what Find finds with what single requests
// match: each request that it finds is one, and where it finds none, no request of a grid is.
func TestFindFindsWhatSomeRulesMatchAndOthersDoNot(t *testing.T) {
	t.Logf("-seed %d", *Seed)
	r := rand.New(rand.NewPCG(*Seed, 0))
	conditions := []lb.Condition{
		hostIs("a.test"), hostIs("a.test", "b.test"), hostIs("*.test"), {Field: "host", Regex: []string{`[aA]\.test(:[0-9]+)?`}},
		pathIs("/x"), pathIs("/x", "/x/*"), pathIs("/*"), pathIs("/?"), pathLike("/(x|y)(/.*)?"),
		{Field: "header", Name: "X-A", Values: []string{"Yes"}}, {Field: "header", Name: "x-a", Values: []string{"y*"}},
		{Field: "header", Name: "x-a", Values: []string{"*a b*"}}, {Field: "query", Name: "v", Values: []string{"1", "2*"}},
		{Field: "method", Values: []string{"GET"}}, {Field: "method", Values: []string{"GET", "POST"}},
		{Field: "source", Values: []string{"10.0.0.0/8"}}, {Field: "source", Values: []string{"10.1.0.0/16", "2001:db8::/32"}},
	}
	draw := func() []lb.Rule {
		var out []lb.Rule
		for range r.IntN(4) {
			var one lb.Rule
			for range 1 + r.IntN(3) {
				c := conditions[r.IntN(len(conditions))]
				if !slices.ContainsFunc(one.Conditions, func(o lb.Condition) bool { return o.Field == c.Field }) {
					one.Conditions = append(one.Conditions, c)
				}
			}
			out = append(out, one)
		}
		return out
	}
	grid := askedRequests()
	found := 0
	for _, c := range []lb.Capabilities{lb.Literal(), lb.ALB()} {
		f := newFinder(c.Dialect, 1_000_000)
		for range 400 {
			in, out := draw(), draw()
			var all []*lb.Matcher
			for _, rule := range slices.Concat(in, out) {
				all = append(all, lb.NewMatcher(lb.Listener{Rules: []lb.Rule{rule}}, c.Dialect))
			}
			is := func(q routing.Request) bool {
				for i, m := range all {
					if at, _ := m.Match(q); (at == 0) != (i < len(in)) {
						return false
					}
				}
				return true
			}
			got, verdict := f.Find(80, in, out)
			switch verdict {
			case language.Some:
				found++
				if !is(got) {
					t.Fatalf("%s: %+v is not in all of %v and in none of %v", c.Name, got, in, out)
				}
			case language.None:
				if at := slices.IndexFunc(grid, is); at >= 0 {
					t.Fatalf("%s: there is %+v in all of %v and in none of %v", c.Name, grid[at], in, out)
				}
			default:
				t.Fatalf("%s: it is unsure about %v and %v", c.Name, in, out)
			}
		}
	}
	if found < 200 {
		t.Errorf("it found %d", found)
	}
}

// askedRequests are some of each class that the conditions above tell apart.
func askedRequests() []routing.Request {
	var out []routing.Request
	for _, host := range []string{"a.test", "b.test", "c.test", "a.a.test", "other"} {
		for _, path := range []string{"/", "/x", "/x/", "/x/1", "/y", "/y/1", "/z", "/zz"} {
			for _, method := range []string{"GET", "POST", "PUT"} {
				for _, source := range []string{"10.0.0.1", "10.1.0.1", "2001:db8::1", "192.0.2.7"} {
					for _, a := range [][]string{nil, {"yes"}, {"yo"}, {"a b"}, {"yo", "ya b"}} {
						for _, v := range [][]string{nil, {"1"}, {"22"}, {"3"}} {
							out = append(out, routing.Request{Port: 80, Host: host, Path: path, Method: method, Source: netip.MustParseAddr(source),
								Header: map[string][]string{"X-a": a}, Query: map[string][]string{"v": v}})
						}
					}
				}
			}
		}
	}
	return out
}
