package compare

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/requests"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
	"fairlead.dev/fairlead/test/nightly"
	"fairlead.dev/fairlead/test/tables"
)

// This file compares Tables with brute force, on random pairs of tables.

var (
	seed      = flag.Uint64("seed", 0, "seed of random tables; 0 takes a new one")
	pairsMade = flag.Int("tables", 250, "random pairs of tables")
	perTables = flag.Int("requests", 1000, "requests for each pair")
)

// classOf is the host of the class of a name.
func classOf(port int32, name string, some ...*precedence.Table) routing.Host {
	for _, h := range routing.Levels(name) {
		for _, t := range some {
			if t.Level(port, h) != nil {
				return h
			}
		}
	}
	return routing.Any
}

// A change as brute force knows it.
type brute struct {
	port   int32
	host   routing.Host
	before answerer
	after  answerer
}

// An answerer is what answers requests: of a route that is redirected, the redirect or what it lets through.
type answerer struct {
	source diag.Source
	part   string
}

func answererOf(o precedence.Outcome) answerer {
	if o.Route != nil {
		return answerer{o.Source, o.Route.Path.String()}
	}
	return answerer{o.Source, o.Action.Key()}
}

func (b brute) String() string {
	return fmt.Sprintf("%d %q: %v is %v", b.port, b.host, b.before, b.after)
}

// disagreement says where a report differs from what requests get, and how many changes it has.
func disagreement(g *tables.Generator, before, after routing.Config, count int) (problem string, changes int) {
	old, now := tables.Named(before), tables.Named(after)
	report := Tables([]*precedence.Table{old}, []*precedence.Table{now}, requests.OfCommand)
	if len(report.Undecided) > 0 {
		return fmt.Sprintf("undecided: %+v", report.Undecided), 0
	}
	told := map[brute]Change{}
	for _, c := range report.Changes {
		b, a := old.Match(c.Request.Routed), now.Match(c.Request.Routed)
		key := brute{c.Port, c.Host, answererOf(b), answererOf(a)}
		if b.Action.Key() == a.Action.Key() {
			return fmt.Sprintf("%s gets the same as before: %s", c.Curl, key), 0
		}
		if first, twice := told[key]; twice && (first.Details != nil || c.Details != nil) {
			// that they are newly served, and that some of them are less protected
			if len(c.Request.Routed.Path) < len(first.Request.Routed.Path) {
				told[key] = c
			}
			continue
		} else if twice {
			return fmt.Sprintf("told twice: %s: %s and %s", key, first.Curl, c.Curl), 0
		}
		told[key] = c
	}
	for range count {
		r := g.Request(before, after)
		b, a := old.Match(r), now.Match(r)
		if b.Action.Key() == a.Action.Key() {
			continue
		}
		key := brute{r.Port, classOf(r.Port, r.Hostname(), old, now), answererOf(b), answererOf(a)}
		c, known := told[key]
		if !known {
			return fmt.Sprintf("not told: %+v\n%s", r, key), 0
		}
		if len(c.Request.Routed.Path) > len(r.Path) {
			return fmt.Sprintf("%s is not the shortest: %s", c.Request.Routed.Path, r.Path), 0
		}
	}
	return "", len(report.Changes)
}

func TestTablesAgainstBruteForce(t *testing.T) {
	drawSeed(t)
	changes := 0
	for n := range *pairsMade {
		g := &tables.Generator{Rand: rand.New(rand.NewPCG(*seed, uint64(n)))}
		before := g.Config()
		problem, found := disagreement(g, before, g.Changed(before), *perTables)
		if problem != "" {
			t.Fatalf("-seed=%d, pair %d: %s", *seed, n, problem)
		}
		changes += found
	}
	if changes < *pairsMade {
		t.Errorf("%d pairs had %d changes: too few to show anything", *pairsMade, changes)
	}
	t.Logf("%d pairs, %d classes of requests changed", *pairsMade, changes)
}

// certificates are what listeners have, by one of these lists. The first certificate of a list is the default one.
var (
	certificates     = []routing.Certificate{{ID: "all", Hosts: []string{"*.a.test", "a.test", "bare"}}, {ID: "one", Hosts: []string{"x.a.test"}}, {ID: "two", Hosts: []string{"*.test"}}}
	certificateLists = [][]routing.CertificateID{{"all", "one", "two"}, {"all", "one", "two"}, {"two", "all"}, {"one"}}
)

// several draws load balancers before, and after with moves between them.
func several(g *tables.Generator) (before, after []routing.Config) {
	protected := func(c routing.Config) routing.Config {
		c.Key = routing.Key(fmt.Sprintf("fairlead/test/%c/internal", 'a'+g.IntN(4)))
		if c.Settings.Scheme = "internal"; g.IntN(2) == 0 {
			c.Settings.Scheme = "internet-facing"
		}
		if g.IntN(2) == 0 {
			c.Protection.WebACL = "acl"
		}
		c.Listeners = slices.Clone(c.Listeners)
		for i := range c.Listeners {
			l := &c.Listeners[i]
			if l.Inbound = nil; g.IntN(2) == 0 {
				l.Inbound = []string{"10.0.0.0/8"}
			}
			if l.TLSPolicy, l.Certificates = "", nil; l.Protocol == routing.HTTPS {
				l.TLSPolicy = []string{"", "", "", "strict"}[g.IntN(4)]
				l.Certificates = certificateLists[g.IntN(len(certificateLists))]
			}
		}
		c.Certificates = certificates
		return c
	}
	first := protected(g.Config())
	second := protected(g.Config())
	before = []routing.Config{first, second}
	for i, c := range before {
		switch g.IntN(4) {
		case 0: // as it was
			after = append(after, c)
		case 1: // renamed, or moved to the other's key
			after = append(after, protected(c))
		case 2:
			after = append(after, protected(g.Changed(c)))
		default: // a part moves to the other
			other := before[1-i]
			other.Routes = append(slices.Clone(other.Routes), c.Routes[:1+g.IntN(len(c.Routes))]...)
			after = append(after, other)
		}
	}
	return distinct(before), distinct(after)
}

// distinct returns the first configuration of each key.
func distinct(all []routing.Config) []routing.Config {
	if all[0].Key == all[1].Key {
		return all[:1]
	}
	return all
}

// asked is what a port asks for before a Service answers a request; false if none does.
func asked(t *precedence.Table, l routing.Listener, r routing.Request) (asks []string, served bool) {
	r.Port = l.Port
	a := t.Match(r).Action
	policy, certified := "", false
	if l.Protocol == routing.HTTPS {
		policy = "policy " + l.TLSPolicy
	}
	for _, id := range l.Certificates {
		certified = certified || slices.ContainsFunc(namesIn(t, id), func(name string) bool {
			return name == r.Hostname() || routing.Host(name).Covers(routing.Host(r.Hostname()))
		})
	}
	for _, yes := range []bool{a.Auth != nil, l.Protocol == routing.HTTPS, t.Settings.Scheme == "internal",
		t.Protection.WebACL != "", len(l.Inbound) > 0, certified} {
		asks = append(asks, map[bool]string{true: "yes"}[yes])
	}
	return append(asks, policy), len(a.Forward) > 0
}

// lostSince reports whether each port that forwarded a request to a Service before asked for more than a port that does
// now, or for something else. Of a Service that is new to the request, all ports count that served it.
func lostSince(before []*precedence.Table, own, now *precedence.Table, l routing.Listener, r routing.Request) bool {
	asks, _ := asked(now, l, r)
	asksLess := func(counts func(routing.Action) bool) (lost, some bool) {
		lost = true
		for _, t := range before {
			for _, o := range t.Listeners {
				old, served := asked(t, o, r)
				at := r
				at.Port = o.Port
				if !served || !counts(t.Match(at).Action) {
					continue
				}
				some = true
				more := false
				for i := range old {
					more = more || old[i] != "" && old[i] != asks[i]
				}
				lost = lost && more && (t != own || o.Port != l.Port)
			}
		}
		return lost, some
	}
	r.Port = l.Port
	return slices.ContainsFunc(now.Match(r).Action.Forward, func(w routing.Weighted) bool {
		one := routing.Action{Forward: []routing.Weighted{w}}
		lost, some := asksLess(func(a routing.Action) bool { return sharesBackend(a, one) })
		if !some {
			lost, some = asksLess(func(routing.Action) bool { return true })
		}
		return lost && some
	})
}

// admittedSince reports whether a port forwards a request to a Service that no port before forwarded it to, and that one
// of another load balancer or port kept from it by a condition on the client's address.
func admittedSince(before []*precedence.Table, own, now *precedence.Table, l routing.Listener, r routing.Request) bool {
	admits := func(l routing.Listener) bool {
		return len(l.Inbound) == 0 || routing.Conditions{{Field: "source", Values: l.Inbound}}.Match(r)
	}
	if r.Port = l.Port; !admits(l) {
		return false
	}
	action := now.Match(r).Action
	return slices.ContainsFunc(action.Forward, func(w routing.Weighted) bool {
		one := routing.Action{Forward: []routing.Weighted{w}}
		kept := false
		for _, t := range before {
			for _, o := range t.Listeners {
				r := r
				r.Port = o.Port
				outcome := t.Match(r)
				isOwn := t == own && o.Port == l.Port
				if (isOwn || admits(o)) && sharesBackend(outcome.Action, one) {
					return false
				}
				all, _ := Candidates(t, o.Port, r.Hostname())
				at := indexOf(all, outcome)
				kept = kept || !isOwn && withheldFrom(all, at, one, r)
			}
		}
		return kept
	})
}

// unseenLoss says which request is less protected on another load balancer than the report tells.
func unseenLoss(g *tables.Generator, before, after []routing.Config, count int) (problem string, losses int) {
	lost := func(before []*precedence.Table, own, now *precedence.Table, l routing.Listener, r routing.Request) bool {
		return lostSince(before, own, now, l, r) || admittedSince(before, own, now, l, r)
	}
	var old, now []*precedence.Table
	for _, c := range before {
		old = append(old, tables.Named(c))
	}
	for _, c := range after {
		now = append(now, tables.Named(c))
	}
	report := Tables(old, now, requests.OfCommand)
	if len(report.Undecided) > 0 {
		return fmt.Sprintf("undecided: %+v", report.Undecided), 0
	}
	told := map[string]bool{}
	for _, p := range pairs(old, now) {
		if p.after == nil {
			continue
		}
		for _, l := range p.after.Listeners {
			for _, c := range report.Changes {
				if c.Details == nil || c.LoadBalancer != p.key() || c.Port != l.Port {
					continue
				}
				if told[fmt.Sprint(p.key(), l.Port, p.after.Match(c.Request.Routed).Source)] = true; !lost(old, p.before, p.after, l, c.Request.Routed) {
					return fmt.Sprintf("nothing is lost: %s: %s: %q", c.Curl, c.Because, c.Details), 0
				}
				losses++
			}
			for range count {
				r := g.Request(append(slices.Clone(before), after...)...)
				r.Port = l.Port
				if lost(old, p.before, p.after, l, r) && !told[fmt.Sprint(p.key(), l.Port, p.after.Match(r).Source)] {
					return fmt.Sprintf("not told: %+v on %s", r, p.key()), 0
				}
			}
		}
	}
	return "", losses
}

// TestMovesAgainstBruteForce has several load balancers, between which routes move.
func TestMovesAgainstBruteForce(t *testing.T) {
	drawSeed(t)
	losses := 0
	for n := range *pairsMade {
		g := &tables.Generator{Rand: rand.New(rand.NewPCG(*seed, uint64(n)))}
		before, after := several(g)
		problem, some := unseenLoss(g, before, after, *perTables/4)
		if problem != "" {
			t.Fatalf("-seed=%d, pair %d: %s", *seed, n, problem)
		}
		losses += some
	}
	if losses < *pairsMade/2 {
		t.Errorf("%d pairs had %d losses: too few to show anything", *pairsMade, losses)
	}
	t.Logf("%d pairs, %d classes of requests lost protection", *pairsMade, losses)
}

func drawSeed(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	switch {
	case testing.Short():
		*pairsMade = min(*pairsMade, 50)
	case nightly.Is():
		*pairsMade = max(*pairsMade, 5000)
	}
	t.Logf("-seed=%d", *seed)
}

func FuzzTables(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, a, b uint64) {
		g := &tables.Generator{Rand: rand.New(rand.NewPCG(a, b))}
		before := g.Config()
		if problem, _ := disagreement(g, before, g.Changed(before), 300); problem != "" {
			t.Fatal(problem)
		}
	})
}
