package model

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/lowering"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/planner"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// The whole way from one table to another: both are lowered, and after every step of the plan
// between them each request is answered as one of the tables says. The plan's own tests draw
// rules; here they are what Lower makes of routes, under each capability set.

var (
	drawnHosts = []routing.Host{"a.test.io", "b.test.io", "*.test.io", "bare", routing.Any}
	drawnPaths = []routing.Path{
		{Type: routing.Exact, Value: "/x"}, {Type: routing.Exact, Value: "/x/"}, routing.Root,
		{Type: routing.Prefix, Value: "/x"}, {Type: routing.Prefix, Value: "/x/y"}, {Type: routing.Prefix, Value: "/y"},
		{Type: routing.Prefix, Value: "/z,1"}, {Type: routing.Glob, Value: "/x*"}, {Type: routing.Glob, Value: "/*/y"},
	}
	askedHosts = []string{"a.test.io", "b.test.io", "c.test.io", "a.a.test.io", "bare", "other.io"}
	askedPaths = []string{"/", "/x", "/x/", "/x/y", "/x/y/z", "/xy", "/y", "/y/y", "/z,1", "/z,1/2", "/q/y"}
)

// drawRoutes draws the routes of a few Ingresses.
func drawRoutes(rng *rand.Rand) []routing.Route {
	var out []routing.Route
	for i := range 1 + rng.IntN(12) {
		p := drawnPaths[rng.IntN(len(drawnPaths))]
		ports := [][]int32{{80}, {443}, {80, 443}}[rng.IntN(3)]
		out = append(out, routing.Route{
			Host: drawnHosts[rng.IntN(len(drawnHosts))], Path: p, Spelt: p.Value, Index: i, Ports: ports,
			Owner:  routing.Owner{Namespace: "shop", Name: fmt.Sprint("ingress-", rng.IntN(3))},
			Action: routing.To(routing.BackendID(fmt.Sprintf("shop/%c:80", 'a'+rng.IntN(3)))),
		})
	}
	return out
}

// edited are routes with a few changed.
func edited(rng *rand.Rand, routes []routing.Route) []routing.Route {
	routes = slices.Clone(routes)
	for range 1 + rng.IntN(3) {
		at, fresh := rng.IntN(len(routes)), drawRoutes(rng)[0]
		switch rng.IntN(4) {
		case 0:
			routes = append(routes, fresh)
		case 1:
			if len(routes) > 1 {
				routes = slices.Delete(routes, at, at+1)
			}
		case 2:
			routes[at].Action = fresh.Action
		default:
			routes[at].Path, routes[at].Spelt = fresh.Path, fresh.Spelt
		}
	}
	return routes
}

func lowered(routes []routing.Route, c lb.Capabilities) lb.LoadBalancer {
	config := routing.Config{Key: "fairlead/shop/@all/internal", Routes: routes, Backends: map[routing.BackendID]routing.Backend{},
		Listeners: []routing.Listener{{Port: 80, Protocol: "HTTP"}, {Port: 443, Protocol: "HTTPS", Certificates: []routing.CertificateID{"c"}}}}
	for _, r := range routes {
		if r.Host != routing.Any {
			config.Names = append(config.Names, routing.Name{Host: r.Host, Owner: r.Owner, Ports: r.Ports})
		}
		for _, w := range r.Action.Forward {
			config.Backends[w.Backend] = routing.Backend{ID: w.Backend}
		}
	}
	out, _, _ := lowering.Lower(precedence.New(config), c)
	return out
}

// A judge answers the grid of requests, with each condition looked at once.
type judge struct {
	dialect  lb.Dialect
	requests []routing.Request
	known    map[string][]bool
}

func newJudge(d lb.Dialect) *judge {
	j := &judge{dialect: d, known: map[string][]bool{}}
	for _, port := range []int32{80, 443} {
		for _, h := range askedHosts {
			for _, p := range askedPaths {
				j.requests = append(j.requests, routing.Request{Port: port, Host: h, Path: p})
			}
		}
	}
	return j
}

func (j *judge) matches(r lb.Rule) []bool {
	key := r.MatchKey()
	if m, ok := j.known[key]; ok {
		return m
	}
	m := make([]bool, len(j.requests))
	matcher := lb.NewMatcher(lb.Listener{Rules: []lb.Rule{r}}, j.dialect)
	for i, q := range j.requests {
		at, _ := matcher.Match(q)
		m[i] = at == 0
	}
	j.known[key] = m
	return m
}

// outcomes are the answers to all requests.
func (j *judge) outcomes(o *lb.Observed) []string {
	out := make([]string, len(j.requests))
	for i := range out {
		out[i] = "refused"
	}
	for _, l := range o.Listeners {
		otherwise := l.Default.Key()
		for i, q := range j.requests {
			if q.Port == l.Port {
				out[i] = otherwise
			}
		}
		for _, r := range slices.Backward(l.Rules) { // the first one that matches answers
			action := r.Action.Key()
			for i, matches := range j.matches(r.Rule) {
				if matches && j.requests[i].Port == l.Port {
					out[i] = action
				}
			}
		}
	}
	return out
}

func contentOf(o *lb.Observed) string {
	var b strings.Builder
	for _, l := range o.Listeners {
		fmt.Fprintf(&b, "%d %s\n", l.Port, l.Default)
		for _, r := range l.Rules {
			fmt.Fprintln(&b, r.Key())
		}
	}
	return b.String()
}

func TestEveryStateBetweenTwoTablesIsSafe(t *testing.T) {
	pairs := 1500
	if testing.Short() {
		pairs = 150
	}
	for n, c := range []lb.Capabilities{lb.Literal(), lb.ALB(), lb.ALBGlob()} {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(3, uint64(n)))
			j := newJudge(c.Dialect)
			for i := range pairs {
				from := drawRoutes(rng)
				to := edited(rng, from)
				if i%3 == 0 {
					to = drawRoutes(rng)
				}
				want := lowered(to, c)
				start := &lb.Observed{Key: want.Key}
				seen := planner.Diff(start, lowered(from, c), c).Fold(start)
				goal := contentOf(planner.Diff(start, want, c).Fold(start))
				if problem := j.walk(rng, seen, want, c, goal); problem != "" {
					t.Fatalf("pair %d: %s", i, problem)
				}
			}
		})
	}
}

// walk takes the plan step by step, and once more from a step at which it was stopped.
func (j *judge) walk(rng *rand.Rand, seen *lb.Observed, want lb.LoadBalancer, c lb.Capabilities, goal string) string {
	todo := planner.Diff(seen, want, c)
	before, after := j.outcomes(seen), j.outcomes(todo.Fold(seen))
	state, stop := seen.Clone(), rng.IntN(len(todo.Steps)+1)
	for i, s := range todo.Steps {
		if i == stop {
			if got := contentOf(planner.Diff(state, want, c).Fold(state)); got != goal {
				return fmt.Sprintf("stopped before step %d and made again it ends at\n%s, want\n%s", i, got, goal)
			}
		}
		s.Step.Do(state, plan.Result{})
		for q, got := range j.outcomes(state) {
			if got != before[q] && got != after[q] {
				return fmt.Sprintf("after step %d (%s %s %s) %+v is answered by %s, not by %s or %s",
					i, s.Step.Op(), s.Step.ID(), s.Step.Detail(), j.requests[q], got, before[q], after[q])
			}
		}
	}
	if got := contentOf(state); got != goal {
		return fmt.Sprintf("ends at\n%s, want\n%s", got, goal)
	}
	return ""
}
