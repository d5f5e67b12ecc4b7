package proof_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/planner"
	"fairlead.dev/fairlead/model/proof"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/test/nightly"
)

// This file compares the verdicts about random plans with those of a walk through their states.

// A tally counts verdicts about plans of the planner, or about changed ones.
type tally struct{ proven, refuted, undecided, announced int }

func (t *tally) add(o tally) {
	t.proven, t.refuted, t.undecided, t.announced = t.proven+o.proven, t.refuted+o.refuted, t.undecided+o.undecided, t.announced+o.announced
}

// TestVerdictsAreThoseOfAWalk draws -plans plans, and changes each. All cores take part.
func TestVerdictsAreThoseOfAWalk(t *testing.T) {
	t.Logf("-seed %d -plans %d", *seed, *plans)
	var (
		workers sync.WaitGroup
		drawn   atomic.Int64
		mu      sync.Mutex
		of      [2]tally
		said    = time.Now()
		most    = nightly.Times(*plans)
	)
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			w := newWalker()
			for n := int(drawn.Add(1)) - 1; n < most && !t.Failed(); n = int(drawn.Add(1)) - 1 {
				got, failure := w.compare(n)
				if failure != "" {
					t.Error(failure)
				}
				mu.Lock()
				of[0].add(got[0])
				of[1].add(got[1])
				if time.Since(said) > time.Minute {
					said = time.Now()
					t.Logf("%d plans; of the planner %+v, changed %+v", n, of[0], of[1])
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	t.Logf("of the planner %+v, changed %+v", of[0], of[1])
}

// A walker compares verdicts with walks.
type walker struct {
	caps     []lb.Capabilities
	requests []routing.Request
	matched  []map[string][]bool // by capabilities, and by conditions: which of the requests match
}

func newWalker() *walker {
	small := lb.ALB()
	small.MaxPriority, small.Rules, small.TargetGroups = 24, 5, 3
	w := &walker{caps: []lb.Capabilities{lb.Literal(), lb.ALB(), small}, requests: requests([]int32{80, 443})}
	for range w.caps {
		w.matched = append(w.matched, map[string][]bool{})
	}
	return w
}

// compare draws a plan of the planner and changes it, and returns a disagreement about either.
func (w *walker) compare(n int) (of [2]tally, failure string) {
	kind := n % len(w.caps)
	d := drawing{rand.New(rand.NewPCG(*seed, uint64(n))), w.caps[kind],
		[]lb.Action{fixed(404), forward("A"), forward("B"), forward("C"), forward("A", "B"), fixed(403)}}
	if n%3 == 0 {
		d.actions = append(d.actions, forward("arn:others/T"), forward("A", "arn:others/T"))
	}
	if n%4 == 0 {
		d.actions = append(d.actions, redirectTo("443"), redirectTo([]string{"443", "80"}[d.IntN(2)]))
	}
	from := d.balancer(5)
	want := d.balancer(5)
	if d.IntN(3) > 0 {
		want = d.changed(from)
	}
	seen := d.built(from)
	d.webACL(seen, &want)
	p := planner.Diff(seen, want, d.caps)
	for i := range of {
		if i == 1 && !p.Empty() {
			p = d.mutated(p)
		}
		if i == 1 && p.Empty() {
			continue // it changes nothing
		}
		b := newBrute(seen, want, p, d.caps.Dialect)
		v := proof.Check(seen, want, p, d.caps.Dialect)
		why := b.walk(d.Rand, w.classes(kind, seen, want, p), 150)
		if len(p.Diagnostics) > 0 {
			of[i].announced++
		}
		said := ""
		switch v.Result {
		case proof.Proven:
			of[i].proven++
			if why != "" {
				said = "is proven, but " + why
			}
		case proof.Refuted:
			of[i].refuted++
			if i == 0 {
				said = "is the planner's, and refuted"
			} else if !b.confirms(v.Done, v.Request) {
				said = "is refuted, which is not so"
			}
		default:
			of[i].undecided++
			if i == 0 {
				said = "is the planner's, and undecided"
			}
		}
		if said != "" && failure == "" {
			failure = fmt.Sprintf("plan %d.%d of seed %d %s (%s, %v, %+v)\n%s", n, i, *seed, said, v.Why, v.Done, v.Request, describe(seen, want, p))
		}
	}
	return of, failure
}

// classes are the requests without those that match the same rules as another one.
func (w *walker) classes(kind int, seen *lb.Observed, want lb.LoadBalancer, p plan.Plan) []routing.Request {
	var columns [][]bool
	known := map[string]bool{}
	add := func(r lb.Rule) {
		key := r.MatchKey()
		if known[key] || len(r.Conditions) == 0 {
			return
		}
		known[key] = true
		if w.matched[kind][key] == nil {
			m := lb.NewMatcher(lb.Listener{Rules: []lb.Rule{{Conditions: r.Conditions}}}, w.caps[kind].Dialect)
			column := make([]bool, len(w.requests))
			for i, asked := range w.requests {
				at, _ := m.Match(asked)
				column[i] = at == 0
			}
			w.matched[kind][key] = column
		}
		columns = append(columns, w.matched[kind][key])
	}
	for _, l := range seen.Listeners {
		for _, r := range l.Rules {
			add(r.Rule)
		}
	}
	for _, l := range want.Listeners {
		for _, r := range l.Rules {
			add(r)
		}
	}
	for _, s := range p.Steps {
		switch s := s.Step.(type) {
		case plan.CreateRule:
			add(s.Rule)
		case plan.ModifyRule:
			add(s.Rule)
		default: // It makes no rule.
		}
	}
	var out []routing.Request
	classes := map[string]bool{}
	for i, r := range w.requests {
		class := make([]byte, 0, len(columns)+1)
		class = append(class, byte(r.Port%256))
		for _, c := range columns {
			bit := byte(0)
			if c[i] {
				bit = 1
			}
			class = append(class, bit)
		}
		if !classes[string(class)] {
			classes[string(class)] = true
			out = append(out, r)
		}
	}
	return out
}

// Plans of which long runs found the verdict wrong.
func TestPlansThatWereJudgedWrongly(t *testing.T) {
	before := *seed
	t.Cleanup(func() { *seed = before })
	for _, found := range []struct {
		seed uint64
		plan int
	}{
		{26, 84168}, // a listener was deleted at any time, with the last rule that named a group
		{28, 2681},  // a parking rule was deleted before it was created, where limits are short
		{27, 47261}, // changed: a certificate is deleted that is served, and other steps were told
	} {
		*seed = found.seed
		if _, failure := newWalker().compare(found.plan); failure != "" {
			t.Error(failure)
		}
	}
}
