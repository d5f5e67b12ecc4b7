package proof_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/planner"
	"fairlead.dev/fairlead/model/proof"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/test/nightly"
)

// TestEffectsAreThoseOfAWalk walks through random plans step by step. A request that gets another answer by a step has the step
// have an effect; the request of an effect gets the answers that it says; and there are as many classes as pairs of rules that
// requests find, or more.
func TestEffectsAreThoseOfAWalk(t *testing.T) {
	t.Logf("-seed %d -plans %d", *seed, *plans)
	with, most, respaced := 0, 0, 0
	small := lb.ALB()
	small.MaxPriority = 24 // so that rules are renumbered
	for n := range nightly.Times(*plans / 4) {
		d := drawing{Rand: rand.New(rand.NewPCG(*seed, uint64(n))), caps: []lb.Capabilities{lb.Literal(), lb.ALB(), small}[n%3],
			actions: []lb.Action{fixed(404), fixed(503), forward("A"), forward("B"), forward("C")}}
		from := d.withGroups(d.balancer(5))
		want := d.changed(from)
		if d.IntN(6) == 0 {
			want = lb.LoadBalancer{Key: from.Key}
		}
		seen := d.built(from)
		if d.IntN(6) == 0 {
			seen = &lb.Observed{Key: from.Key}
		}
		p := planner.Diff(seen, want, d.caps)
		effects := proof.Effects(seen, want, p, d.caps.Dialect)
		b, state := newBrute(seen, want, p, d.caps.Dialect), seen.Clone()
		asked := requests([]int32{80, 443})
		for i, s := range p.Steps {
			before := state.Clone()
			s.Step.Do(state, plan.Result{})
			if _, is := s.Step.(plan.RespaceRules); is && i+1 < len(p.Steps) {
				respaced++
			}
			e := effects[i]
			found := map[[2]string]bool{}
			for j := range asked {
				old, _ := b.answer(before, &asked[j])
				now, _ := b.answer(state, &asked[j])
				if !same(old, now) {
					found[[2]string{b.ruleOf(before, &asked[j]), b.ruleOf(state, &asked[j])}] = true
				}
			}
			if e.Unsure || e.Classes < len(found) {
				t.Fatalf("plan %d, step %d: %d classes, and requests find %v\n%s", n, i, e.Classes, found, describe(seen, want, p))
			}
			most = max(most, e.Classes)
			if e.Classes == 0 {
				continue
			}
			with++
			old, _ := b.answer(before, &e.Request)
			now, _ := b.answer(state, &e.Request)
			if same(old, now) || !same(old, e.Before) || !same(now, e.After) {
				t.Fatalf("plan %d, step %d: %+v gets %v and %v, not %v and %v\n%s", n, i, e.Request, old, now, e.Before, e.After, describe(seen, want, p))
			}
		}
	}
	if with == 0 || most < 2 || respaced == 0 {
		t.Errorf("%d steps have an effect, with at most %d classes, and %d renumber rules", with, most, respaced)
	}
}

// ruleOf names the rule that answers a request.
func (b *brute) ruleOf(o *lb.Observed, r *routing.Request) string {
	l := o.Listener(r.Port)
	if l == nil {
		return "closed"
	}
	at := slices.IndexFunc(l.Rules, func(rule lb.ObservedRule) bool { return b.matches(rule.Rule, r) })
	if at < 0 {
		return "default"
	}
	return l.Rules[at].Key()
}

// TestAStepWaitsForTheLastOnes: what they wait for themselves is left out.
func TestAStepWaitsForTheLastOnes(t *testing.T) {
	steps := []plan.Planned{
		done(plan.CreateTargetGroup{Group: group("A")}),
		done(plan.RegisterTargets{Group: "A"}, 0),
		done(plan.CreateTargetGroup{Group: group("B")}),
		done(plan.CreateRule{Port: 80, Priority: 1, Rule: on("/a", forward("A"))}, 0, 1, 2),
	}
	all := proof.Effects(nil, lb.LoadBalancer{}, plan.Plan{Steps: steps}, lb.ALB().Dialect)
	if got := all[3].WaitsFor; !slices.Equal(got, []int{1, 2}) || all[0].WaitsFor != nil {
		t.Errorf("it waits for %v", got)
	}
}
