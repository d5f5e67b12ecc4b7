package loadbalancer

import (
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/planner"
	"fairlead.dev/fairlead/providers"
)

// This file tests what is done where another writer undoes what this operator writes.

// The operator makes a rule again that another writer deleted. When the rule is deleted a second
// time in a row, the operator leaves it for a while, and the LoadBalancer says so.
func TestARuleThatIsUndoneTwiceIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, ask("shop.example", "www.example"), service())
		b.place()
		b.settle()
		rules := b.rules()
		for round, want := range []struct {
			rules  int
			reason string
		}{
			{rules, v1alpha1.ReasonAsExpected},
			{rules - 1, v1alpha1.ReasonDisputed},
		} {
			b.undo()
			b.later()
			b.reconciles()
			if n := b.rules(); n != want.rules {
				t.Errorf("after round %d there are %d rules, want %d", round, n, want.rules)
			}
			b.says(v1alpha1.ConditionDegraded, want.reason)
		}
		b.says(v1alpha1.ConditionProgrammed, v1alpha1.ReasonDisputed)

		b.later() // a look finds what the last one found, which is no news
		b.reconciles()
		if n := b.rules(); n != rules-1 {
			t.Errorf("meanwhile there are %d rules, want %d", n, rules-1)
		}
		time.Sleep(10 * time.Minute)
		b.reconciles()
		if n := b.rules(); n != rules {
			t.Errorf("after the wait there are %d rules, want %d", n, rules)
		}
		b.undo()
		b.later()
		b.reconciles()
		if left := b.Disputes.TimeLeft(lb.GroupKey{Key: benchKey}, time.Now()); left < 15*time.Minute {
			t.Errorf("the second wait is %s, want 20m", left)
		}
	})
}

// Two operators that repair each other's writes at each look, which come faster than reads may lag,
// end that all the same.
func TestADisputeIsFoundWhereLooksAreFrequent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, ask("shop.example", "www.example"), service())
		b.every = 2 * time.Second
		b.place()
		b.settle()
		rules := b.rules()
		for began := time.Now(); time.Since(began) < 7*time.Minute; time.Sleep(2 * time.Second) {
			b.reconciles()
			if b.Disputes.FirstToEnd(benchKey, time.Now()) != nil {
				b.says(v1alpha1.ConditionDegraded, v1alpha1.ReasonDisputed)
				return
			}
			if b.rules() == rules {
				b.undo()
			}
		}
		t.Error("after seven minutes nothing is disputed")
	})
}

// A look with which nothing can be compared, as after a plan that failed, neither counts nor ends
// what was undone before it.
func TestALookThatHasNothingBeforeItEndsNoDispute(t *testing.T) {
	b := newBench(t, ask("shop.example", "www.example"), service())
	b.place()
	b.settle()
	b.undo()
	b.later()
	b.reconciles()
	b.says(v1alpha1.ConditionDegraded, v1alpha1.ReasonAsExpected)
	b.undo()
	b.forget(benchKey)
	b.reconciles()
	b.says(v1alpha1.ConditionDegraded, v1alpha1.ReasonAsExpected)
	b.undo()
	b.later()
	b.reconciles()
	b.says(v1alpha1.ConditionDegraded, v1alpha1.ReasonDisputed)
}

// An Ingress that changes to and fro undoes nothing: no dispute begins.
func TestAChangeToAndFroIsNoDispute(t *testing.T) {
	b := newBench(t, ask("shop.example"), service())
	b.place()
	b.settle()
	for range 4 {
		for _, path := range []string{"/ready", "/healthy"} {
			ing := b.ingress()
			ing.Annotations = map[string]string{"fairlead.dev/health-check-path": path}
			if err := b.Update(t.Context(), ing); err != nil {
				t.Fatal(err)
			}
			b.later()
			b.reconciles()
			b.says(v1alpha1.ConditionDegraded, v1alpha1.ReasonAsExpected)
		}
	}
}

// What a look does not find yet, because it was written a moment before, is not undone.
func TestALateReadIsNoDispute(t *testing.T) {
	b := newBench(t, ask("shop.example"), service())
	b.place()
	b.settle()
	for range 4 {
		b.undo()
		written := maps.Clone(b.writes.byKey[benchKey])
		b.later()
		b.writes.byKey = map[lb.Key]map[string]time.Time{benchKey: written}
		b.reconciles()
		b.says(v1alpha1.ConditionDegraded, v1alpha1.ReasonAsExpected)
	}
}

// A step that a look finds undone is certain to be so two minutes after it was carried out first.
// What is carried out once more since no look finds it does not begin the two minutes anew, and
// what is asked for anew does.
func TestFromWhenAStepIsCertainToBeUndone(t *testing.T) {
	const rule, group = "create rule 80/1", "delete target group web"
	type write struct {
		at           time.Duration
		steps, again []string
	}
	for name, c := range map[string]struct {
		writes []write
		looks  map[time.Duration][]string // what they find undone
		at     time.Duration              // of the last look
		want   []string
		kept   int
	}{
		"nothing was written":    {at: time.Second, want: []string{rule}},
		"a moment ago":           {writes: []write{{0, []string{rule}, nil}}, at: time.Second, kept: 1},
		"two minutes ago":        {writes: []write{{0, []string{rule}, nil}}, at: providers.ReadLag, want: []string{rule}, kept: 1},
		"once more":              {writes: []write{{0, []string{rule}, nil}, {time.Minute, []string{rule}, []string{rule}}}, at: providers.ReadLag, want: []string{rule}, kept: 1},
		"asked for anew":         {writes: []write{{0, []string{rule}, nil}, {time.Minute, []string{rule}, nil}}, at: providers.ReadLag, kept: 1},
		"another step waits":     {writes: []write{{0, []string{rule, group}, nil}, {time.Minute, []string{group}, nil}}, at: providers.ReadLag, want: []string{rule}, kept: 2},
		"found at once":          {writes: []write{{0, []string{rule}, nil}}, looks: map[time.Duration][]string{time.Minute: nil}, at: providers.ReadLag, want: []string{rule}, kept: 1},
		"found, and asked anew":  {writes: []write{{0, []string{rule}, nil}, {3 * time.Minute, []string{rule}, []string{rule}}}, looks: map[time.Duration][]string{providers.ReadLag: nil}, at: 4 * time.Minute, kept: 1},
		"found, and undone then": {writes: []write{{0, []string{rule}, nil}}, looks: map[time.Duration][]string{providers.ReadLag: nil}, at: 3 * time.Minute, want: []string{rule}},
	} {
		t.Run(name, func(t *testing.T) {
			var d writes
			began := time.Unix(0, 0)
			for at := time.Duration(0); at < c.at; at += time.Second {
				for _, w := range c.writes {
					if w.at == at {
						d.add(benchKey, w.steps, w.again, began.Add(at))
					}
				}
				if found, looked := c.looks[at]; looked {
					d.findable(benchKey, found, began.Add(at))
				}
			}
			if got := d.findable(benchKey, []string{rule}, began.Add(c.at)); !slices.Equal(got, c.want) || len(d.byKey[benchKey]) != c.kept {
				t.Errorf("certain to be undone is %q, want %q; %d writes are kept, want %d", got, c.want, len(d.byKey[benchKey]), c.kept)
			}
			if _, kept := d.byKey[benchKey]; kept != (c.kept > 0) {
				t.Errorf("of the load balancer is kept %v", d.byKey)
			}
			d.forget(benchKey)
			if len(d.byKey) > 0 {
				t.Error("what is gone is kept")
			}
		})
	}
}

// A look counts for or against a dispute if there was one before it, and if what it finds undone is
// certain to be so. While a dispute lasts, none counts.
func TestWhichLooksCount(t *testing.T) {
	const rule = "create rule 80/1"
	type look struct {
		undone   []string
		late     bool // the rule was written a moment ago
		compared bool
	}
	found, undone, first := look{compared: true}, look{[]string{rule}, false, true}, look{nil, false, false}
	late, uncompared := look{[]string{rule}, true, true}, look{[]string{rule}, false, false}
	for name, c := range map[string]struct {
		looks []look
		want  bool // a dispute
	}{
		"undone twice":                    {[]look{undone, undone}, true},
		"found between":                   {[]look{undone, found, undone}, false},
		"not known to be found between":   {[]look{undone, first, undone}, true},
		"late between":                    {[]look{undone, late, undone}, true},
		"late twice":                      {[]look{late, late}, false},
		"nothing to compare with":         {[]look{uncompared, uncompared}, false},
		"found while the dispute goes on": {[]look{undone, undone, found}, true},
	} {
		t.Run(name, func(t *testing.T) {
			var w writes
			var d queue.Disputes
			var got *queue.Dispute
			for _, l := range c.looks {
				w.forget(benchKey)
				if l.late {
					w.add(benchKey, []string{rule}, nil, time.Now())
				}
				got = w.disputeOf(&d, l.compared, benchKey, l.undone)
			}
			if (got != nil) != c.want {
				t.Errorf("the dispute is %v", got)
			}
		})
	}
}

// What the first look finds is no news, whatever the plan does.
func TestAFirstLookFindsNothingUndone(t *testing.T) {
	key := benchKey
	seen := &lb.Observed{Key: key, Exists: true}
	o := outcome{Snapshot: &gather.Snapshot{}, Observed: seen, Built: model.Built{LoadBalancer: lb.LoadBalancer{Key: key}}}
	o.Plan = planner.Diff(seen, o.Built.LoadBalancer, o.Capabilities)
	if o.Plan.Empty() {
		t.Fatal("there is nothing to do")
	}
	if got := undoneSince(nil, o); len(got) > 0 {
		t.Errorf("%q are undone", got)
	}
	if got := undoneSince(&lb.Observed{Key: key}, o); !slices.Equal(got, stepsOf(o.Plan)) {
		t.Errorf("of a load balancer that was not there, %q are undone", got)
	}
}

// undo deletes the first rule there, as another writer does.
func (b *bench) undo() {
	b.Helper()
	seen, err := b.cloud.Cloud.Observe(b.Context(), benchKey, false)
	if err != nil {
		b.Fatal(err)
	}
	l := seen.Listener(80)
	if l == nil || len(l.Rules) == 0 {
		b.Fatal("there is no rule")
	}
	if _, err := b.cloud.Cloud.Apply(b.Context(), seen, plan.DeleteRule{Port: 80, Priority: l.Rules[0].Priority, Rule: l.Rules[0].Rule}); err != nil {
		b.Fatal(err)
	}
}

// later has the next look be a new one, which finds all that was written.
func (b *bench) later() {
	s := b.kept[benchKey]
	s.until, s.early = time.Time{}, false
	b.kept[benchKey] = s
	b.quiet[benchKey] = time.Time{}
	clear(b.writes.byKey)
}

func (b *bench) reconciles() {
	b.Helper()
	if _, err := b.reconcile(); err != nil {
		b.Fatal(err)
	}
}

// says checks the reason of a condition.
func (b *bench) says(kind, reason string) {
	b.Helper()
	c := meta.FindStatusCondition(b.Records.Get(benchKey).Conditions, kind)
	if c == nil || c.Reason != reason {
		b.Errorf("%s is %+v, want the reason %s", kind, c, reason)
	}
}
