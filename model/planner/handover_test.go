package planner

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

func TestAHealthyGroupIsNamedAllTheTime(t *testing.T) {
	a, b := group("A", "10.0.0.1"), group("B", "10.0.0.2")
	with := func(l lb.Listener) lb.LoadBalancer {
		out := balancer(l)
		out.TargetGroups = []lb.TargetGroup{a, b}
		return out
	}
	for name, c := range map[string]struct {
		reason   string
		from, to lb.LoadBalancer
		caps     func(*lb.Capabilities)
		want     []string
		told     []diag.Diagnostic
	}{
		"another host": {
			reason: "the rule that names A goes once another one names it",
			from:   with(listener(80, rule("a.example.com", "", forward("A")), rule("b.example.com", "", forward("B")))),
			to:     with(listener(80, rule("b.example.com", "", forward("B")), rule("c.example.com", "", forward("A")))),
			want: []string{
				"create rule 80/33713",
				"delete rule 80/16661 < create rule 80/33713",
			},
		},
		"another host, while a third one keeps it": {
			reason: "A is named all the time, so that nothing waits",
			from:   with(listener(80, rule("a.example.com", "", forward("A")), rule("b.example.com", "", forward("A")), rule("b.example.com", "/x", forward("B")))),
			to:     with(listener(80, rule("b.example.com", "", forward("A")), rule("c.example.com", "", forward("A")), rule("b.example.com", "/x", forward("B")))),
			want:   []string{"create rule 80/31240", "delete rule 80/12496"},
		},
		"in the last place": {
			reason: "where there is no room for both rules, the old one goes first: no answered request is sent to the new one",
			from:   with(listener(80, rule("a.example.com", "", forward("A")), rule("b.example.com", "", forward("B")))),
			to:     with(listener(80, rule("b.example.com", "", forward("B")), rule("c.example.com", "", forward("A")))),
			caps:   func(c *lb.Capabilities) { c.Rules = 2 },
			want: []string{
				"delete rule 80/16661",
				"create rule 80/33713 < delete rule 80/16661",
			},
		},
		"in the last place, for requests that are answered": {
			reason: "B is named by none for a while, and takes over from A, so it is told",
			from:   with(listener(80, rule("a.example.com", "", forward("A")), rule("b.example.com", "", forward("B")))),
			to:     with(listener(80, rule("a.example.com", "", forward("B")), rule("c.example.com", "/", forward("A")))),
			caps:   func(c *lb.Capabilities) { c.Rules = 2 },
			want: []string{
				"delete rule 80/33323",
				"create rule 80/24992 < delete rule 80/33323",
				"modify rule 80/16661 < create rule 80/24992",
			},
			told: []diag.Diagnostic{targetsUnchecked("fairlead/shop/web/internal")},
		},
		"in the last place, with room for a parking rule later": {
			reason: "B is named by none before it is parked, and takes over from A, so it is told",
			from:   with(defaultTo("A", rule("", "/x", forward("A")), rule("a.example.com", "/k", fixed(403)), rule("b.example.com", "/y", forward("B")))),
			to:     with(defaultTo("A", rule("a.example.com", "/k", fixed(403)), rule("b.example.com", "/x", forward("B")))),
			caps:   func(c *lb.Capabilities) { c.Rules = 3 },
			want: []string{
				"delete rule 80/37488",
				"create rule 80/31240 < delete rule 80/37488",
				"delete rule 80/12496 < create rule 80/31240",
			},
			told: []diag.Diagnostic{targetsUnchecked("fairlead/shop/web/internal")},
		},
		"in the place of another": {
			reason: "a rule whose group goes makes room, so that the old one goes last",
			from:   with(listener(80, rule("a.example.com", "", forward("A")), rule("b.example.com", "", forward("B")))),
			to:     with(listener(80, rule("c.example.com", "", forward("A")))),
			caps:   func(c *lb.Capabilities) { c.Rules = 2 },
			want: []string{
				"delete rule 80/33323",
				"create rule 80/16271 < delete rule 80/33323",
				"delete rule 80/16661 < create rule 80/16271",
			},
		},
		"an exchange": {
			reason: "a parking rule names the one that would be named by none",
			from:   with(listener(80, rule("a.example.com", "/x", forward("A")), rule("a.example.com", "", forward("B")))),
			to:     with(listener(80, rule("a.example.com", "/x", forward("B")), rule("a.example.com", "", forward("A")))),
			want: []string{
				"create rule 80/50000",
				"modify rule 80/33323 < create rule 80/50000",
				"modify rule 80/16661 < modify rule 80/33323",
				"delete rule 80/50000 < create rule 80/50000 < modify rule 80/16661",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			caps := lb.ALB()
			if c.caps != nil {
				c.caps(&caps)
			}
			p := Diff(ready(c.from, lb.ALB()), c.to, caps)
			if diff := cmp.Diff(c.want, dependencies(p)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			if diff := cmp.Diff(c.told, p.Diagnostics, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// defaultTo is a listener whose default action forwards to a target group.
func defaultTo(g lb.GroupID, rules ...lb.Rule) lb.Listener {
	l := listener(80, rules...)
	l.Default = forward(g)
	return l
}

func TestGaps(t *testing.T) {
	for _, tt := range []struct {
		first, last int
		want        bool
	}{{0, 1, false}, {1, 1, true}, {2, 1, true}, {absent, 1, true}} {
		if got := (handover{first: tt.first, last: tt.last}).leavesGap(); got != tt.want {
			t.Errorf("first named by step %d, and last by step %d: %t", tt.first, tt.last, got)
		}
	}
}

func TestPredecessors(t *testing.T) {
	d := &difference{}
	for _, after := range [][]int{nil, {0}, {1}, nil} {
		d.add(plan.DeleteListener{}, places{}, after...)
	}
	before := d.predecessors(2)
	if !before(2) || !before(1) || !before(0) || before(3) {
		t.Errorf("it waits for itself: %t, 1: %t, 0: %t, 3: %t", before(2), before(1), before(0), before(3))
	}
}

func TestRulesThatUnpark(t *testing.T) {
	parking := plan.ParkingRule([]lb.GroupID{"G"}, lb.ALB())
	seen := built(balancer(listener(80, rule("a.test", "", fixed(200)))), lb.ALB())
	seen.Listeners[0].Rules = append(seen.Listeners[0].Rules, lb.ObservedRule{Priority: 49999, Rule: parking})
	for _, tt := range []struct {
		why  string
		step plan.Step
		want bool
	}{
		{"a parking rule that the plan creates", plan.DeleteRule{Port: 80, Priority: 50000, Rule: parking}, true},
		{"on a port that it opens", plan.DeleteRule{Port: 81, Priority: 50000, Rule: parking}, true},
		{"one that is there", plan.DeleteRule{Port: 80, Priority: 49999, Rule: parking}, false},
		{"another rule", plan.DeleteRule{Port: 80, Priority: 7, Rule: rule("a.test", "", fixed(200))}, false},
		{"another step", plan.CreateRule{Port: 80, Priority: 50000, Rule: parking}, false},
	} {
		d := &difference{seen: seen}
		if got := d.deletesNewParkingRule(d.add(tt.step, places{})); got != tt.want {
			t.Errorf("%s: %t", tt.why, got)
		}
	}
}

// A group takes over where a rule or a default action names it that gets requests which targets
// answer now.
func TestGroupsThatTakeOver(t *testing.T) {
	c := lb.ALB()
	grouped := func(b lb.LoadBalancer) lb.LoadBalancer {
		b.TargetGroups = []lb.TargetGroup{group("F", "10.0.0.1"), group("G", "10.0.0.2")}
		return b
	}
	served, hosts := rule("a.test", "", forward("F")), rule("b.test", "", forward("G"))
	wide := hosts
	wide.Conditions = []lb.Condition{{Field: "host", Values: []string{"a.test", "b.test"}}}
	for _, tt := range []struct {
		why      string
		from, to lb.LoadBalancer
		want     bool
	}{
		{"a rule that gets another action", balancer(listener(80, served)), balancer(listener(80, rule("a.test", "", forward("G")))), true},
		{"a rule that is added", balancer(listener(80, served)), balancer(listener(80, rule("a.test", "/x", forward("G")), served)), true},
		{"a rule that is widened", balancer(listener(80, hosts, served)), balancer(listener(80, wide, served)), true},
		{"a rule of other requests", balancer(listener(80, served)), balancer(listener(80, served, hosts)), false},
		{"a rule of another group", balancer(listener(80, rule("a.test", "", forward("G")))), balancer(listener(80, served)), false},
		{"a default action", balancer(defaulting(listener(80), forward("F"))), balancer(defaulting(listener(80), forward("G"))), true},
		{"a default action that it has", balancer(defaulting(listener(80, served), forward("G"))), balancer(defaulting(listener(80), forward("G"))), false},
		{"a default action of another group", balancer(defaulting(listener(80), forward("G"))), balancer(defaulting(listener(80), forward("F"))), false},
		{"ports that open and close", balancer(listener(80, served)), balancer(listener(81, hosts)), false},
		{"a port that opens with a default action", balancer(listener(80, served)), balancer(defaulting(listener(81), forward("G"))), false},
	} {
		d := comparing(built(grouped(tt.from), c), grouped(tt.to))
		if got := d.takesOver("G"); got != tt.want {
			t.Errorf("%s: %t", tt.why, got)
		}
	}
}

// All steps that stop naming a healthy group wait for one that begins to, or for its parking rule.
func TestStepsThatStopNamingAGroupWait(t *testing.T) {
	b := balancer()
	b.TargetGroups = []lb.TargetGroup{group("G")}
	seen := ready(b, lb.ALB())
	for _, tt := range []struct {
		why    string
		take   []int
		parked map[lb.GroupID]int
		want   [][]int // for which steps each of the two waits that stop naming it
	}{
		{"for the first that begins to", []int{2, 3}, nil, [][]int{{2}, {2}}},
		{"for one that does not wait for them", []int{4, 3}, nil, [][]int{{3}, {3}}},
		{"for none that waits for them", []int{4}, nil, [][]int{nil, nil}},
		{"for no other step", []int{1}, nil, [][]int{nil, nil}},
		{"for the parking rule", []int{2, 3}, map[lb.GroupID]int{"G": 5}, [][]int{{5}, {5}}},
	} {
		d := &difference{seen: seen, want: b, parkedHealthy: tt.parked,
			stopNaming: map[lb.GroupID][]int{"G": {0, 1}}, startNaming: map[lb.GroupID][]int{"G": tt.take}}
		for _, after := range [][]int{nil, nil, nil, nil, {1}, nil} {
			d.add(plan.DeleteListener{}, places{}, after...)
		}
		d.handOver()
		if got := [][]int{d.tasks[0].Optional, d.tasks[1].Optional}; !cmp.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.why, got, tt.want)
		}
	}
}

// What comes in the right order stays in it, though a place at a limit alone has put it there.
func TestTheOrderOfAHandoverIsKept(t *testing.T) {
	b := balancer()
	b.TargetGroups = []lb.TargetGroup{group("G")}
	seen := ready(b, lb.ALB())
	for _, tt := range []struct {
		why         string
		leave, take int // the places of the steps
		after, want []int
	}{
		{"it waits for neither", 2, 0, nil, []int{0}},
		{"it waits for another step", 2, 0, []int{1}, []int{0, 1}},
		{"it waits for it already", 2, 0, []int{0, 1}, []int{0, 1}},
		{"the group is named by none for a while", 2, 3, []int{1}, []int{1}},
	} {
		d := &difference{seen: seen, want: b, stopNaming: map[lb.GroupID][]int{"G": {0}}, startNaming: map[lb.GroupID][]int{"G": {1}}}
		d.add(plan.DeleteListener{}, places{})
		d.add(plan.CreateListener{}, places{})
		by := Sequence{Index: []int{tt.leave, tt.take}, Steps: make([]plan.Planned, 4)}
		by.Steps[tt.leave].After = tt.after
		d.keepNamed(by)
		if got := by.Steps[tt.leave].After; !slices.Equal(got, tt.want) {
			t.Errorf("%s: it waits for %v, want %v", tt.why, got, tt.want)
		}
	}
}

func TestHandoversOfAPartOfAPlan(t *testing.T) {
	b := balancer()
	b.TargetGroups = []lb.TargetGroup{group("G")}
	seen := built(b, lb.ALB())
	seen.TargetGroups[0].Ready = true
	for _, tt := range []struct {
		why   string
		index []int // the place of the step that stops to name the group, and of the one that begins
		want  []handover
	}{
		{"both", []int{1, 0}, []handover{{"G", 1, 0}}},
		{"none begins to name it", []int{0, absent}, []handover{{"G", 0, absent}}},
		{"it is named yet", []int{absent, 0}, nil},
	} {
		d := &difference{seen: seen, want: b, stopNaming: map[lb.GroupID][]int{"G": {0}}, startNaming: map[lb.GroupID][]int{"G": {1}}}
		d.add(plan.DeleteListener{}, places{})
		d.add(plan.CreateListener{}, places{})
		if got := d.handovers(Sequence{Index: tt.index}); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.why, got, tt.want)
		}
	}
}
