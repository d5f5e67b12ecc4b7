package replay

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/accesslog"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
	"fairlead.dev/fairlead/test/tables"
)

// This file replays lines of random requests to random tables, and compares what comes of each with
// what the specification says of the whole request, headers included.

var (
	seed  = flag.Uint64("seed", 0, "seed of random tables; 0 takes a new one")
	pairs = flag.Int("pairs", 300, "number of random pairs of tables")
)

const requestsPerPair = 100

// logOf is the line of a request that a table answers.
func logOf(r routing.Request, o precedence.Outcome) string {
	scheme := map[int32]string{80: "http", 443: "https"}[r.Port]
	host, _, _ := strings.Cut(r.Host, ":")
	uri := routing.Sendable(r.Path)
	if len(r.Query) > 0 {
		uri += "?" + url.Values(r.Query).Encode()
	}
	a := lb.FromRouting(o.Action)
	actions, status, group := "forward", 200, "arn:aws:elasticloadbalancing:eu-west-1:1:targetgroup/x/1"
	switch a.Kind {
	case "fixed":
		actions, status, group = "fixed-response", a.Status, "-"
	case "redirect":
		actions, status, group = "redirect", a.Status, "-"
	}
	if a.Auth != nil {
		actions = "authenticate," + actions
	}
	client := r.Source.String()
	if r.Source.Is6() {
		client = "[" + client + "]"
	}
	return fmt.Sprintf(`%s 2026-01-01T00:00:00.000000Z app/x/1 %s:1 - 0 0 0 %d - 1 1 "%s %s://%s:%d%s HTTP/1.1" "-" - - %s "-" "-" "-" %d 2026-01-01T00:00:00.000000Z "%s" "-"`,
		scheme, client, status, r.Method, scheme, host, r.Port, uri, group, 0, actions)
}

func one(t *testing.T, setup *Setup, line string) Report {
	t.Helper()
	r := New(setup)
	replayText(t, r, line)
	return Merge(setup, []*Replayer{r}, []string{"log"})
}

func replayText(t *testing.T, r *Replayer, line string) {
	t.Helper()
	var l accesslog.Line
	if err := l.Parse([]byte(line)); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	r.Replay(&l, Place{Line: 1})
}

// sources are the fields of Ingresses that may have answered, with "" for the 404.
func sources(paths []Path) []string {
	var out []string
	for _, p := range paths {
		out = append(out, p.Source)
	}
	return out
}

// add adds the numbers of a report.
func add(sum map[string]int64, r Report) {
	sum["lines"] += r.Summary.Lines
	sum["either"] += r.Summary.Either
	sum["changed"] += r.Change.Changed
	sum["possible"] += r.Change.Possible
	for _, p := range r.Paths {
		sum[fmt.Sprintf("%d %s", p.Port, p.Source)] += p.Requests + 1000*p.Possible
	}
	for _, a := range r.Change.Top {
		sum[fmt.Sprint(a.Port, a.Certain, a.Before, a.After)] += a.Requests
	}
}

func TestRandomRequestsAreAnsweredAsTheSpecificationSays(t *testing.T) {
	s := *seed
	if s == 0 {
		s = rand.Uint64()
	}
	t.Logf("-seed %d", s)
	g := &tables.Generator{Rand: rand.New(rand.NewPCG(s, 1))}
	counts := map[string]int{}
	for range *pairs {
		old := g.Config()
		now := g.Changed(old)
		before, after := tables.Named(old), tables.Named(now)
		setup := &Setup{Change: true, Balancers: []Balancer{{Table: before, After: after}}}
		together, apart := New(setup), map[string]int64{}
		for range requestsPerPair {
			r := g.Request(old, now)
			r.Host, _, _ = strings.Cut(r.Host, ":")
			r.Path = routing.Sendable(r.Path)
			was, is := before.Match(r), after.Match(r)
			line := logOf(r, was)
			got := one(t, setup, line)
			replayText(t, together, line)
			add(apart, got)
			if got.Summary.Disagreements > 0 || got.Summary.Compared != 1 {
				t.Fatalf("%s disagrees with %s: %+v", line, was.Why(), got)
			}
			counts["lines"]++
			if got.Summary.Either == 1 {
				counts["either"]++
			}
			if !slices.Contains(sources(got.Paths), was.Source.String()) {
				t.Fatalf("%s is answered by %+v, want %s", line, got.Paths, was.Source)
			}
			differs := was.Action.Key() != is.Action.Key()
			if !slices.ContainsFunc(after.Listeners, func(l routing.Listener) bool { return l.Port == r.Port }) {
				differs = true
			}
			switch {
			case got.Change.Changed == 1:
				counts["changed"]++
				if !differs {
					t.Fatalf("%s is changed: %+v, but the answer stays %s", line, got.Change, was.Why())
				}
			case got.Change.Possible == 1:
				counts["possible"]++
			case differs:
				t.Fatalf("%s is not changed, but was %s (%s) and is %s (%s)", line, was.Action.Key(), was.Why(), is.Action.Key(), is.Why())
			}
		}
		sum := map[string]int64{}
		add(sum, Merge(setup, []*Replayer{together}, []string{"log"}))
		if diff := cmp.Diff(apart, sum); diff != "" {
			t.Fatalf("lines alone (-) and in one go (+):%s", diff)
		}
	}
	t.Log(counts)
	if n := counts["lines"]; counts["either"] < n/200 || counts["either"] > n/2 || counts["changed"] < n/20 || counts["possible"] < n/200 || counts["possible"] > n/4 {
		t.Errorf("%v shows little", counts)
	}
}
