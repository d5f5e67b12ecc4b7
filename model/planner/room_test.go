package planner

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

func reasons(p plan.Plan) []diag.Reason {
	var out []diag.Reason
	for _, d := range p.Diagnostics {
		out = append(out, d.Reason)
	}
	return out
}

func TestRoom(t *testing.T) {
	x, y := rule("a.example.com", "/x", fixed(200)), rule("b.example.com", "/y", fixed(201))
	cases := map[string]struct {
		reason   string
		from, to lb.LoadBalancer
		caps     func(*lb.Capabilities)
		want     []string
		says     []diag.Reason
	}{
		"a doomed rule that nothing needs": {
			reason: "it makes the place that its unrelated successor takes, and nobody notices",
			from:   balancer(listener(80, x)), to: balancer(listener(80, y)),
			caps: func(c *lb.Capabilities) { c.Rules = 1 },
			want: []string{"delete rule 80/24992", "create rule 80/24602 < delete rule 80/24992"},
		},
		"room to spare": {
			reason: "what comes is there before anything goes",
			from:   balancer(listener(80, x)), to: balancer(listener(80, y)),
			caps: func(c *lb.Capabilities) { c.Rules = 2 },
			want: []string{"create rule 80/24602", "delete rule 80/24992"},
		},
		"no order": {
			reason: "where each waits for the other, the old rule goes first, and that is said",
			from:   balancer(listener(80, rule("", "/x", fixed(200)))),
			to:     balancer(listener(80, rule("a.example.com", "", fixed(201)))),
			caps:   func(c *lb.Capabilities) { c.Rules = 1 },
			want:   []string{"delete rule 80/24992", "create rule 80/24992 < delete rule 80/24992"},
			says:   []diag.Reason{diag.DeleteFirst},
		},
		"over all ports": {
			reason: "a port that closes makes places for another",
			from:   balancer(listener(80, x), listener(81, y)), to: balancer(listener(80, x, y)),
			caps: func(c *lb.Capabilities) { c.Rules = 2 },
			want: []string{"delete listener 81", "create rule 80/25382 < delete listener 81"},
		},
		"a port that requests are still redirected to": {
			reason: "it has to stay until they are not, and takes the places of those rules that answer them: it closes first, and that is said",
			from:   balancer(lb.Listener{Port: 80, Protocol: "HTTP", Default: redirectTo(81)}, listener(81, y)), to: balancer(listener(80, x, y)),
			caps: func(c *lb.Capabilities) { c.Rules = 2 },
			want: []string{"delete listener 81", "create rule 80/16661 < delete listener 81", "create rule 80/33323 < delete listener 81",
				"modify listener 80 < create rule 80/16661 < create rule 80/33323"},
			says: []diag.Reason{diag.DeleteFirst},
		},
		"more than there is room for": {
			reason: "what is wanted is planned, for the cloud to refuse by name",
			from:   balancer(listener(80, x)), to: balancer(listener(80, x, y)),
			caps: func(c *lb.Capabilities) { c.Rules = 1 },
			want: []string{"create rule 80/25382"},
		},
		"target groups": {
			reason: "a group goes as soon as its rules have, to make room for another",
			from: lb.LoadBalancer{Key: "fairlead/shop/web/internal", TargetGroups: []lb.TargetGroup{group("A")},
				Listeners: []lb.Listener{listener(80, rule("a.example.com", "", forward("A")))}},
			to: lb.LoadBalancer{Key: "fairlead/shop/web/internal", TargetGroups: []lb.TargetGroup{group("B")},
				Listeners: []lb.Listener{listener(80, rule("b.example.com", "", forward("B")))}},
			caps: func(c *lb.Capabilities) { c.TargetGroups = 1 },
			want: []string{"delete rule 80/24992", "delete target group A < delete rule 80/24992",
				"create target group B < delete target group A", "create rule 80/24602 < create target group B"},
		},
		"a target group that its successor replaces": {
			reason: "a rule that uses a doomed group goes before the group of its successor can be made",
			from: lb.LoadBalancer{Key: "fairlead/shop/web/internal", TargetGroups: []lb.TargetGroup{group("A")},
				Listeners: []lb.Listener{listener(80, rule("a.example.com", "", forward("A")))}},
			to: lb.LoadBalancer{Key: "fairlead/shop/web/internal", TargetGroups: []lb.TargetGroup{group("B")},
				Listeners: []lb.Listener{listener(80, rule("a.example.com", "", forward("B")))}},
			caps: func(c *lb.Capabilities) { c.TargetGroups = 1 },
			want: []string{"delete rule 80/24992", "delete target group A < delete rule 80/24992",
				"create target group B < delete target group A", "create rule 80/24992 < create target group B"},
			says: []diag.Reason{diag.Unparked, diag.DeleteFirst},
		},
		"certificates": {
			reason: "where there is no place for its successor, a certificate that is not wanted goes first",
			from:   balancer(secure(listener(443), "A", "B")), to: balancer(secure(listener(443), "A", "C")),
			caps: func(c *lb.Capabilities) { c.Certificates = 1 },
			want: []string{"detach certificate 443 B", "attach certificate 443 C < detach certificate 443 B"},
			says: []diag.Reason{diag.DeleteFirst},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := lb.ALB()
			seen := ready(tc.from, c)
			tc.caps(&c)
			p := Diff(seen, tc.to, c)
			if diff := cmp.Diff(tc.want, dependencies(p)); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.says, reasons(p)); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
			if again := Diff(p.Fold(seen), tc.to, c); !again.Empty() {
				t.Errorf("%s: there is more to do: %v", tc.reason, named(again))
			}
		})
	}
}

// At the quota no state exceeds it, and only requests of a rule that the plan says it deletes
// first are answered by anything but the old or the new list.
func TestAtTheQuotaOnlyRulesDeletedFirstAreMissed(t *testing.T) {
	onlyRulesDeletedFirstAreMissed(t, drawn(4000, 1000))
}

func TestAtTheQuotaOnlyRulesDeletedFirstAreMissedInAFewPlans(t *testing.T) {
	onlyRulesDeletedFirstAreMissed(t, 60)
}

func onlyRulesDeletedFirstAreMissed(t *testing.T, count int) {
	t.Helper()
	t.Parallel()
	c := lb.ALB()
	w := newWorld(t, c.Dialect, fixed(404), forward("A"), forward("B"), fixed(403))
	r := rand.New(rand.NewPCG(5, 6))
	ports := []int32{80}
	plans, first := 0, 0
	for range count {
		from := w.balancer(r, ports, 6)
		want := w.balancer(r, ports, 6)
		if r.IntN(2) == 0 {
			want = w.changed(r, from)
		}
		seen := built(from, c)
		c := c
		c.Rules = max(1, len(from.Listeners[0].Rules), len(want.Listeners[0].Rules)) + r.IntN(2)
		if r.IntN(2) == 0 {
			c.TargetGroups = max(1, len(from.TargetGroups), len(want.TargetGroups))
		}
		p := Diff(seen, want, c)
		plans++
		if len(p.Diagnostics) > 0 {
			first++
		}
		missed := w.missed(seen, p)
		old, goal := w.outcomes(seen, ports), w.outcomes(built(want, c), ports)
		for _, pick := range []func(int) int{inOrder, r.IntN} {
			w.arrived(w.followed(seen, p, pick, func(o *lb.Observed, step int) {
				if err := exceeded(o, c); err != nil {
					t.Fatalf("after step %d: %v\n%s", step, err, w.describe(seen, want, p))
				}
				for i, got := range w.outcomes(o, ports) {
					if got != old[i] && got != goal[i] && missed&(1<<i) == 0 {
						t.Fatalf("after step %d a request %+v gets %s, not %s or %s\n%s", step,
							w.requests[i], got, old[i], goal[i], w.describe(seen, want, p))
					}
				}
			}), want, c)
		}
	}
	t.Logf("%d of %d plans delete a rule first", first, plans)
}

// missed are the requests of the rules that a plan says it deletes first.
func (w *world) missed(seen *lb.Observed, p plan.Plan) uint64 {
	var m uint64
	for _, s := range p.Steps {
		if l, ok := s.Step.(plan.ModifyListener); ok && l.Listener.Default.Status == 503 {
			m = 1<<len(w.requests) - 1
		}
		d, ok := s.Step.(plan.DeleteRule)
		if ok && slices.ContainsFunc(p.Diagnostics, func(g diag.Diagnostic) bool { return strings.Contains(g.Message, " "+d.ID()+" ") }) {
			m |= w.mask(d.Rule.Conditions)
		}
	}
	return m
}

// A rule is deleted first only where no order would do without that.
func TestARuleIsDeletedFirstOnlyWhereItMust(t *testing.T) {
	rulesAreDeletedFirstWhereTheyMust(t, drawn(3000, 800))
}

func TestARuleIsDeletedFirstOnlyWhereItMustInAFewPlans(t *testing.T) {
	rulesAreDeletedFirstWhereTheyMust(t, 60)
}

func rulesAreDeletedFirstWhereTheyMust(t *testing.T, count int) {
	t.Helper()
	t.Parallel()
	c := lb.ALB()
	w := newWorld(t, c.Dialect, fixed(404), fixed(200), fixed(403))
	r := rand.New(rand.NewPCG(7, 8))
	ports := []int32{80}
	stuck, needless := 0, 0
	for range count {
		from, want := w.balancer(r, ports, 5), w.balancer(r, ports, 5)
		seen := built(from, c)
		c := c
		c.Rules = max(1, len(from.Listeners[0].Rules), len(want.Listeners[0].Rules)) + r.IntN(2)
		if len(Diff(seen, want, c).Diagnostics) == 0 {
			continue
		}
		stuck++
		unlimited := c
		unlimited.Rules = 0
		if orderExists(Diff(seen, want, unlimited), c.Rules-seen.RuleCount(), 0, map[uint64]bool{}) {
			needless++
		}
	}
	if needless > 0 {
		t.Errorf("%d of %d plans delete a rule first without need", needless, stuck)
	}
}

// A list full of regular expressions is replaced without deleting anything first.
func TestAFullListOfUnrelatedRulesIsReplacedInOrder(t *testing.T) {
	c := lb.ALB()
	full := func(tag string) lb.LoadBalancer {
		l := listener(80)
		for i := range c.Rules {
			host := lb.Condition{Field: "host", Regex: []string{fmt.Sprintf(`^[aA]-%s-%d\.example\.com$`, tag, i)}}
			l.Rules = append(l.Rules, lb.Rule{Conditions: []lb.Condition{host}, Action: fixed(200)})
		}
		return balancer(l)
	}
	p := Diff(built(full("old"), c), full("new"), c)
	if len(p.Diagnostics) > 0 || len(p.Steps) != 2*c.Rules {
		t.Errorf("%d steps, of which %d are said to delete first", len(p.Steps), len(p.Diagnostics))
	}
}

// orderExists reports whether the steps not yet done can be done with so many free places.
func orderExists(p plan.Plan, free int, done uint64, seen map[uint64]bool) bool {
	if done == 1<<len(p.Steps)-1 {
		return true
	}
	if seen[done] {
		return false
	}
	seen[done] = true
	for i, s := range p.Steps {
		if done&(1<<i) != 0 || slices.ContainsFunc(s.After, func(a int) bool { return done&(1<<a) == 0 }) {
			continue
		}
		left := free
		switch s.Step.(type) {
		case plan.CreateRule:
			left--
		case plan.DeleteRule:
			left++
		}
		if left >= 0 && orderExists(p, left, done|1<<i, seen) {
			return true
		}
	}
	return false
}
