package planner

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/test/nightly"
)

// This file holds plans to their promise: after every step, in every order that dependencies
// allow, each request is answered as before or as wanted, and no limit is exceeded.

// A world is a small set of rules and requests, with which request matches which rule worked out
// once.
type world struct {
	dialect  lb.Dialect
	requests []routing.Request
	masks    map[*lb.Condition]uint64 // by the first condition of a rule
	matches  [][]lb.Condition
	actions  []lb.Action
	t        testing.TB

	announced int // plans that say that they have no safe order
}

func newWorld(t testing.TB, d lb.Dialect, actions ...lb.Action) *world {
	w := &world{t: t, dialect: d, masks: map[*lb.Condition]uint64{}, actions: actions}
	for _, host := range []string{"a.example.com", "b.example.com", "c.d.example.com", "other.org"} {
		for _, path := range []string{"/", "/x", "/x/1", "/y", "/y/1", "/z"} {
			w.requests = append(w.requests, routing.Request{Host: host, Path: path})
		}
	}
	hosts := [][]string{nil, {"a.example.com"}, {"b.example.com"}, {"a.example.com", "b.example.com"}, {"*.example.com"}, {"other.org", "c.d.example.com"}}
	paths := [][]string{nil, {"/x"}, {"/x", "/x/*"}, {"/y/*"}, {"/x", "/y"}, {"/*"}, {"/y", "/y/*", "/x"}}
	for _, h := range hosts {
		for _, p := range paths {
			var cs []lb.Condition
			if h != nil {
				cs = append(cs, lb.Condition{Field: "host", Values: h})
			}
			if p != nil {
				cs = append(cs, lb.Condition{Field: "path", Values: p})
			}
			w.matches = append(w.matches, cs)
		}
	}
	return w
}

// rule is a rule drawn at random.
func (w *world) rule(r *rand.Rand) lb.Rule {
	return lb.Rule{Conditions: w.matches[r.IntN(len(w.matches))], Action: w.actions[r.IntN(len(w.actions))]}
}

// mask is a bit for each request that fulfils some conditions.
func (w *world) mask(cs []lb.Condition) uint64 {
	if len(cs) == 0 {
		return 1<<len(w.requests) - 1
	}
	if m, ok := w.masks[&cs[0]]; ok {
		return m
	}
	var m uint64
	matcher := lb.NewMatcher(lb.Listener{Rules: []lb.Rule{{Conditions: cs}}}, w.dialect)
	for i, r := range w.requests {
		if at, _ := matcher.Match(r); at == 0 {
			m |= 1 << i
		}
	}
	w.masks[&cs[0]] = m
	return m
}

const refused = "refused"

// outcome is where a request ends that arrives on a port, redirects followed.
func (w *world) outcome(o *lb.Observed, port int32, request int) string {
	for range 4 {
		l := o.Listener(port)
		if l == nil {
			return refused
		}
		a := w.answer(l, request)
		if a.Redirect == nil {
			return a.Key()
		}
		to, err := strconv.ParseInt(a.Redirect.Port, 10, 32)
		if err != nil {
			w.t.Fatal(err)
		}
		port = int32(to)
	}
	return "loop"
}

func (w *world) answer(l *lb.ObservedListener, request int) *lb.Action {
	for i := range l.Rules {
		if w.mask(l.Rules[i].Conditions)&(1<<request) != 0 {
			return &l.Rules[i].Action
		}
	}
	return &l.Default
}

// outcomes are those of all requests on some ports.
func (w *world) outcomes(o *lb.Observed, ports []int32) []string {
	var out []string
	for _, port := range ports {
		for i := range w.requests {
			out = append(out, w.outcome(o, port, i))
		}
	}
	return out
}

// balancer is a load balancer drawn at random.
func (w *world) balancer(r *rand.Rand, ports []int32, most int) lb.LoadBalancer {
	out := lb.LoadBalancer{Key: "fairlead/shop/web/internal"}
	for _, port := range ports {
		l := lb.Listener{Port: port, Protocol: "HTTP", Default: w.actions[r.IntN(min(2, len(w.actions)))]}
		for range r.IntN(most + 1) {
			l.Rules = append(l.Rules, w.rule(r))
		}
		l.Rules = distinct(l.Rules)
		out.Listeners = append(out.Listeners, l)
	}
	return w.withGroups(out)
}

// changed is a load balancer with some of its rules drawn again, moved or dropped.
func (w *world) changed(r *rand.Rand, b lb.LoadBalancer) lb.LoadBalancer {
	b.Listeners = slices.Clone(b.Listeners)
	for i := range b.Listeners {
		l := &b.Listeners[i]
		l.Rules = slices.Clone(l.Rules)
		for range 1 + r.IntN(3) {
			at := r.IntN(len(l.Rules) + 1)
			switch r.IntN(4) {
			case 0:
				l.Rules = slices.Insert(l.Rules, at, w.rule(r))
			case 1:
				l.Rules = slices.Delete(l.Rules, at, min(at+1, len(l.Rules)))
			case 2:
				if at < len(l.Rules) {
					l.Rules[at].Action = w.actions[r.IntN(len(w.actions))]
				}
			default:
				if at < len(l.Rules) {
					l.Rules[at].Conditions = w.matches[r.IntN(len(w.matches))]
				}
			}
		}
		l.Rules = distinct(l.Rules)
	}
	return w.withGroups(b)
}

func distinct(rules []lb.Rule) []lb.Rule {
	var out []lb.Rule
	for _, r := range rules {
		if !slices.ContainsFunc(out, func(o lb.Rule) bool { return o.MatchKey() == r.MatchKey() }) {
			out = append(out, r)
		}
	}
	return out
}

// withGroups lists the target groups that the rules name.
func (w *world) withGroups(b lb.LoadBalancer) lb.LoadBalancer {
	named := map[lb.GroupID]bool{}
	for _, l := range b.Listeners {
		for _, r := range append(slices.Clone(l.Rules), lb.Rule{Action: l.Default}) {
			for _, g := range r.Action.Groups() {
				named[g] = true
			}
		}
	}
	b.TargetGroups = nil
	for _, id := range []lb.GroupID{"A", "B", "C", "D"} {
		if named[id] {
			b.TargetGroups = append(b.TargetGroups, lb.TargetGroup{ID: id, Targets: []lb.Target{{Address: "10.0.0.1", Port: 80}}})
		}
	}
	return b
}

func forward(ids ...lb.GroupID) lb.Action {
	a := lb.Action{Kind: "forward"}
	for _, id := range ids {
		a.Targets = append(a.Targets, lb.Weighted{Group: id, Weight: 1})
	}
	return a
}

func fixed(status int) lb.Action { return lb.FromRouting(routing.Status(status)) }

func redirectTo(port int32) lb.Action {
	return lb.FromRouting(routing.Action{Redirect: &routing.Redirect{Status: 301, Port: fmt.Sprint(port)}})
}

// built is what is there once a load balancer has been made of nothing.
func built(b lb.LoadBalancer, c lb.Capabilities) *lb.Observed {
	o := &lb.Observed{}
	plan.CreateLoadBalancer{LoadBalancer: b}.Do(o, plan.Result{})
	for _, g := range b.TargetGroups {
		plan.CreateTargetGroup{Group: g}.Do(o, plan.Result{})
		o.TargetGroup(g.ID).Registered = len(g.Targets) > 0
	}
	for _, cert := range b.Certificates {
		plan.ImportCertificate{Certificate: cert}.Do(o, plan.Result{})
	}
	for i, l := range b.Listeners {
		plan.CreateListener{Listener: l}.Do(o, plan.Result{})
		numbers, _ := Number(Merge(nil, l.Rules, c.Dialect), nil, c)
		for j, r := range l.Rules {
			r.Origin = nil
			o.Listeners[i].Rules = append(o.Listeners[i].Rules, lb.ObservedRule{Rule: r, Priority: numbers.Priority[j]})
		}
	}
	return o
}

// exceeded reports the first limit that is exceeded.
func exceeded(o *lb.Observed, c lb.Capabilities) error {
	taken, limit := inUse(o), limits(c)
	for k := range limit {
		if limit[k] > 0 && taken[k] > limit[k] {
			return fmt.Errorf("%d of %d places of kind %d are taken", taken[k], limit[k], k)
		}
	}
	return nil
}

// followed runs a plan in an order drawn by pick, and checks every state.
func (w *world) followed(seen *lb.Observed, p plan.Plan, pick func(n int) int, check func(o *lb.Observed, step int)) *lb.Observed {
	o := seen.Clone()
	left := make([]int, len(p.Steps))
	for i := range left {
		left[i] = i
	}
	done := make([]bool, len(p.Steps))
	for len(left) > 0 {
		var ready []int
		for at, i := range left {
			if !slices.ContainsFunc(p.Steps[i].After, func(a int) bool { return !done[a] }) {
				ready = append(ready, at)
			}
		}
		at := ready[pick(len(ready))]
		i := left[at]
		p.Steps[i].Step.Do(o, plan.Result{})
		done[i] = true
		left = slices.Delete(left, at, at+1)
		check(o, i)
	}
	return o
}

func (w *world) describe(seen *lb.Observed, want lb.LoadBalancer, p plan.Plan) string {
	out := ""
	for _, l := range seen.Listeners {
		out += fmt.Sprintf("old %d: default %s\n", l.Port, l.Default)
		for _, r := range l.Rules {
			out += fmt.Sprintf("  %d %s\n", r.Priority, r.Key())
		}
	}
	for _, l := range want.Listeners {
		out += fmt.Sprintf("new %d: default %s\n", l.Port, l.Default)
		for _, r := range l.Rules {
			out += fmt.Sprintf("  %s\n", r.Key())
		}
	}
	for i, s := range p.Steps {
		out += fmt.Sprintf("%d %s %s %s after %v\n", i, s.Step.Op(), s.Step.ID(), s.Step.Detail(), s.After)
	}
	return out
}

func inOrder(int) int { return 0 }

// drawn is how many plans are drawn, and how many with -short.
func drawn(all, short int) int {
	switch {
	case testing.Short():
		return short
	case nightly.Is():
		return all
	}
	return all / 3
}

func TestEveryStateOfAPlanIsSafe(t *testing.T) { statesAreSafe(t, drawn(10000, 500)) }

func TestEveryStateOfAPlanIsSafeInAFewPlans(t *testing.T) { statesAreSafe(t, 60) }

func statesAreSafe(t *testing.T, count int) {
	t.Helper()
	for _, c := range []lb.Capabilities{lb.Literal(), lb.ALB()} {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c.Dialect, fixed(404), forward("A"), forward("B"), forward("C"), forward("arn:others/T"), fixed(403))
			w.pairs(count, c, []int32{80}, 6)
		})
	}
}

// A rule that got another place may be there twice, also where the cloud refused to delete one of them.
func TestEveryStateOfAPlanIsSafeWithCopies(t *testing.T) {
	c := lb.ALB()
	w := newWorld(t, c.Dialect, fixed(404), forward("A"), forward("B"), forward("C"), fixed(403))
	r := rand.New(rand.NewPCG(3, 4))
	for range drawn(10000, 500) {
		from := w.balancer(r, []int32{80}, 5)
		want := w.changed(r, from)
		if r.IntN(4) == 0 {
			want = w.balancer(r, []int32{80}, 5)
		}
		seen := built(from, c)
		copyRules(r, &seen.Listeners[0])
		w.pair(r, seen, want, c, []int32{80})
	}
}

// copyRules adds copies of rules, with the actions of others, in any place.
func copyRules(r *rand.Rand, l *lb.ObservedListener) {
	for range r.IntN(min(3, len(l.Rules)+1)) {
		of := l.Rules[r.IntN(len(l.Rules))]
		of.Action = l.Rules[r.IntN(len(l.Rules))].Action
		l.Rules = slices.Insert(l.Rules, r.IntN(len(l.Rules)+1), of)
	}
	for i := range l.Rules {
		l.Rules[i].Priority = 1000 * (i + 1)
	}
}

func TestEveryStateOfAPlanIsSafeAcrossRedirects(t *testing.T) {
	statesAreSafeAcrossRedirects(t, drawn(4000, 400))
}

func TestEveryStateOfAPlanIsSafeAcrossRedirectsInAFewPlans(t *testing.T) {
	statesAreSafeAcrossRedirects(t, 60)
}

func statesAreSafeAcrossRedirects(t *testing.T, count int) {
	t.Helper()
	t.Parallel()
	c := lb.ALB()
	w := newWorld(t, c.Dialect, fixed(404), forward("A"), forward("B"), redirectTo(443))
	w.pairs(count, c, []int32{80, 443}, 4)
	// Some drawn tables change each other's redirects in a circle, which no order keeps apart.
	if w.announced > count/20 {
		t.Errorf("%d of %d plans say that they have no safe order", w.announced, count)
	}
}

// pairs checks pairs of load balancers drawn at random.
func (w *world) pairs(count int, c lb.Capabilities, ports []int32, most int) {
	r := rand.New(rand.NewPCG(1, 2))
	secure := *w
	secure.actions = slices.DeleteFunc(slices.Clone(w.actions), func(a lb.Action) bool { return a.Redirect != nil })
	draw := func() lb.LoadBalancer {
		out := w.balancer(r, ports[:1], most)
		if len(ports) > 1 {
			out.Listeners = append(out.Listeners, secure.balancer(r, ports[1:], most).Listeners...)
		}
		return w.withGroups(out)
	}
	for range count {
		from := draw()
		want := draw()
		if r.IntN(2) == 0 {
			want = w.changed(r, from)
		}
		for i := range want.Listeners {
			if i > 0 {
				for j := range want.Listeners[i].Rules {
					if want.Listeners[i].Rules[j].Action.Redirect != nil {
						want.Listeners[i].Rules[j].Action = fixed(403)
					}
				}
			}
		}
		w.pair(r, built(from, c), want, c, ports)
	}
}

// pair checks one plan: in list order, in a drawn order, and stopped and made again.
func (w *world) pair(r *rand.Rand, seen *lb.Observed, want lb.LoadBalancer, c lb.Capabilities, ports []int32) {
	p := Diff(seen, want, c)
	if len(p.Diagnostics) > 0 {
		w.announced++
		if len(ports) == 1 {
			w.t.Fatalf("%v\n%s", p.Diagnostics, w.describe(seen, want, p))
		}
	}
	old, goal := w.outcomes(seen, ports), w.outcomes(built(want, c), ports)
	checked := func(p plan.Plan) func(*lb.Observed, int) {
		announced := len(p.Diagnostics) > 0
		return func(o *lb.Observed, step int) {
			if err := exceeded(o, c); err != nil {
				w.t.Fatalf("after step %d: %v\n%s", step, err, w.describe(seen, want, p))
			}
			for i, got := range w.outcomes(o, ports) {
				if got != old[i] && got != goal[i] && !announced {
					w.t.Fatalf("after step %d a request %+v on %d gets %s, not %s or %s\n%s", step,
						w.requests[i%len(w.requests)], ports[i/len(w.requests)], got, old[i], goal[i], w.describe(seen, want, p))
				}
			}
		}
	}
	w.arrived(w.followed(seen, p, inOrder, checked(p)), want, c)
	w.arrived(w.followed(seen, p, r.IntN, checked(p)), want, c)
	if len(p.Steps) > 1 {
		half := plan.Plan{Steps: p.Steps[:1+r.IntN(len(p.Steps)-1)]}.Fold(seen)
		again := Diff(half, want, c)
		again.Diagnostics = append(again.Diagnostics, p.Diagnostics...)
		w.arrived(w.followed(half, again, r.IntN, checked(again)), want, c)
	}
}

// arrived checks that a load balancer is the one that was wanted.
func (w *world) arrived(o *lb.Observed, want lb.LoadBalancer, c lb.Capabilities) {
	if again := Diff(o, want, c); !again.Empty() {
		w.t.Fatalf("there is more to do:\n%s", w.describe(o, want, again))
	}
	for _, l := range want.Listeners {
		got := o.Listener(l.Port).Plain()
		if !slices.EqualFunc(got.Rules, l.Rules, lb.SameRule) || !lb.SameAction(got.Default, l.Default) {
			w.t.Fatalf("port %d has %v, not %v", l.Port, got.Rules, l.Rules)
		}
	}
}
