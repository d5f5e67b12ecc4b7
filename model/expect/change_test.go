package expect

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"fairlead.dev/fairlead/model/requests"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
	"fairlead.dev/fairlead/test/tables"
)

// This file compares CheckChange with brute force, on random pairs of a table now and one to come.

// changed is a configuration that differs in routes, and sometimes in what is exposed.
func (g *generator) changed(now routing.Config) routing.Config {
	next := g.Changed(now)
	next.Listeners = slices.Clone(next.Listeners)
	if g.sometimes() {
		next = g.expose(next)
	}
	return next
}

// wrongNow reports whether a request is answered as it must not be by a table, on a listener with a
// protocol.
func wrongNow(e Expectation, t *precedence.Table, r routing.Request, on routing.Protocol) bool {
	arrived, connects := arrive(t, r)
	return connects && arrived.listener.Protocol == on && (plain{e, t, arrived}).wrong()
}

// changeDisagreement says where CheckChange differs from what requests get.
func changeDisagreement(
	g *generator, now, next routing.Config, e Expectation, count int,
) (problem string, violated, kept bool) {
	old, table := tables.Named(now), tables.Named(next)
	result := CheckChange(e, old, table, requests.NewFinder(requests.OfCommand))
	if len(result.Undecided) > 0 {
		return fmt.Sprintf("undecided: %+v", result.Undecided), false, false
	}
	for _, v := range result.Violations {
		r, connects := arrive(table, v.Request.Routed)
		if !connects || !(plain{e, table, r}).wrong() {
			return fmt.Sprintf("%s is not wrong: %+v", v.Curl, v), true, kept
		}
		if wrongNow(e, old, v.Request.Routed, r.listener.Protocol) {
			return fmt.Sprintf("%s is wrong already: %+v", v.Curl, v), true, kept
		}
	}
	for range count {
		from := []routing.Config{now, next}[g.IntN(2)]
		r, connects := arrive(table, g.request(from, e))
		if !connects || !(plain{e, table, r}).wrong() {
			continue
		}
		if wrongNow(e, old, r.Request, r.listener.Protocol) {
			kept = true
			continue
		}
		class, source := classOf(e, r.Port, r.Hostname(), table, old), ""
		if r.outcome.Owner.Name != "" {
			source = r.outcome.Source.String()
		}
		if !slices.ContainsFunc(result.Violations, func(v Violation) bool {
			return v.Port == r.Port && v.Host == class && v.Answer.Source == source && len(v.Request.Routed.Path) <= len(r.Path)
		}) {
			return fmt.Sprintf("not told: %+v\nof %q, answered by %q", r.Request, class, source), true, kept
		}
	}
	return "", len(result.Violations) > 0, kept
}

func TestCheckChangeAgainstBruteForce(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	if testing.Short() {
		*pairsMade = min(*pairsMade, 200)
	}
	t.Logf("-seed=%d", *seed)
	worse, left := 0, 0
	for n := range *pairsMade {
		g := newGenerator(*seed, uint64(n))
		now, e := g.exposed(), g.expectation()
		problem, violated, kept := changeDisagreement(g, now, g.changed(now), e, *perPair)
		if problem != "" {
			t.Fatalf("-seed=%d, pair %d: %+v\n%s", *seed, n, e, problem)
		}
		if violated {
			worse++
		}
		if kept {
			left++
		}
	}
	if worse < *pairsMade/20 || left < *pairsMade/5 {
		t.Errorf("of %d pairs %d get worse and %d stay wrong: too few to show anything", *pairsMade, worse, left)
	}
	t.Logf("%d pairs, %d of them get worse, %d stay wrong", *pairsMade, worse, left)
}

func FuzzCheckChange(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, a, b uint64) {
		g := newGenerator(a, b)
		now, e := g.exposed(), g.expectation()
		if problem, _, _ := changeDisagreement(g, now, g.changed(now), e, 100); problem != "" {
			t.Fatalf("%+v\n%s", e, problem)
		}
	})
}

// A request over HTTPS is another one than over HTTP, for which the port was before.
func TestAPortThatChangesItsProtocolHasOtherRequests(t *testing.T) {
	owner := routing.Owner{Namespace: "shop", Name: "web"}
	table := func(protocol routing.Protocol) *precedence.Table {
		return tables.Named(routing.Config{
			Key: "fairlead/shop/web/internal", Listeners: []routing.Listener{{Port: 8080, Protocol: protocol}},
			Routes: []routing.Route{{Host: "shop.example", Ports: []int32{8080}, Owner: owner, Path: routing.Root,
				Action: routing.Action{Forward: []routing.Weighted{{Backend: "A", Weight: 1}}}}},
		})
	}
	never := false
	e := Expectation{Name: "never", Must: Must{Forwarded: &never}}
	for protocol, want := range map[routing.Protocol]Verdict{routing.HTTP: Holds, routing.HTTPS: Violated} {
		if got := CheckChange(e, table(routing.HTTP), table(protocol), requests.NewFinder(requests.OfCommand)); got.Verdict != want {
			t.Errorf("from HTTP to %s: it is %s, want %s", protocol, got.Verdict, want)
		}
	}
}
