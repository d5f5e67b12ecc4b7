package compare

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/requests"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
	"fairlead.dev/fairlead/test/tables"
)

// This file compares Tables with brute force, on random pairs of tables.

var (
	seed      = flag.Uint64("seed", 0, "seed of random tables; 0 takes a new one")
	pairsMade = flag.Int("tables", 1500, "random pairs of tables")
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
	before diag.Source
	after  diag.Source
}

func (b brute) String() string {
	return fmt.Sprintf("%d %q: %s is %s", b.port, b.host, b.before, b.after)
}

// disagreement says where a report differs from what requests get.
func disagreement(g *tables.Generator, before, after routing.Config, count int) string {
	old, now := tables.Named(before), tables.Named(after)
	report := Tables([]*precedence.Table{old}, []*precedence.Table{now}, requests.OfCommand)
	if len(report.Undecided) > 0 {
		return fmt.Sprintf("undecided: %+v", report.Undecided)
	}
	told := map[brute]Change{}
	for _, c := range report.Changes {
		b, a := old.Match(c.Request.Routed), now.Match(c.Request.Routed)
		key := brute{c.Port, c.Host, b.Source, a.Source}
		if b.Action.Key() == a.Action.Key() {
			return fmt.Sprintf("%s gets the same as before: %s", c.Curl, key)
		}
		if first, twice := told[key]; twice {
			return fmt.Sprintf("told twice: %s: %s and %s", key, first.Curl, c.Curl)
		}
		told[key] = c
	}
	for range count {
		r := g.Request(before, after)
		b, a := old.Match(r), now.Match(r)
		if b.Action.Key() == a.Action.Key() {
			continue
		}
		key := brute{r.Port, classOf(r.Port, r.Hostname(), old, now), b.Source, a.Source}
		c, known := told[key]
		if !known {
			return fmt.Sprintf("not told: %+v\n%s", r, key)
		}
		if len(c.Request.Routed.Path) > len(r.Path) {
			return fmt.Sprintf("%s is not the shortest: %s", c.Request.Routed.Path, r.Path)
		}
	}
	return ""
}

func TestTablesAgainstBruteForce(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	if testing.Short() {
		*pairsMade = min(*pairsMade, 300)
	}
	t.Logf("-seed=%d", *seed)
	changes := 0
	for n := range *pairsMade {
		g := &tables.Generator{Rand: rand.New(rand.NewPCG(*seed, uint64(n)))}
		before := g.Config()
		after := g.Changed(before)
		if problem := disagreement(g, before, after, *perTables); problem != "" {
			t.Fatalf("-seed=%d, pair %d: %s", *seed, n, problem)
		}
		changes += len(Tables([]*precedence.Table{tables.Named(before)}, []*precedence.Table{tables.Named(after)}, requests.OfCommand).Changes)
	}
	if changes < *pairsMade {
		t.Errorf("%d pairs had %d changes: too few to show anything", *pairsMade, changes)
	}
	t.Logf("%d pairs, %d classes of requests changed", *pairsMade, changes)
}

func FuzzTables(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, a, b uint64) {
		g := &tables.Generator{Rand: rand.New(rand.NewPCG(a, b))}
		before := g.Config()
		if problem := disagreement(g, before, g.Changed(before), 300); problem != "" {
			t.Fatal(problem)
		}
	})
}
