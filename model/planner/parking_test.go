package planner

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// This file asks which requests count as answered, and which groups are parked for them. A, B and
// C are target groups.

// grouped returns a load balancer with the groups that its rules name.
func grouped(b lb.LoadBalancer) lb.LoadBalancer {
	b.TargetGroups = nil
	for _, id := range []lb.GroupID{"A", "B", "C"} {
		if slices.ContainsFunc(b.Listeners, func(l lb.Listener) bool {
			return slices.Contains(l.Default.Groups(), id) || slices.ContainsFunc(l.Rules, func(r lb.Rule) bool {
				return slices.Contains(r.Action.Groups(), id)
			})
		}) {
			b.TargetGroups = append(b.TargetGroups, group(id, "10.0.0.1"))
		}
	}
	return b
}

// comparing has the listeners of both sides, and no step yet.
func comparing(seen *lb.Observed, want lb.LoadBalancer) *difference {
	c := lb.ALB()
	known := newOverlapCache(c.Dialect)
	d := &difference{seen: seen, want: want, caps: c, overlaps: known, inUse: plan.GroupsInUse(seen)}
	for _, co := range compare(seen, want, c) {
		d.changes = append(d.changes, newChange(co, known))
	}
	return d
}

// to returns a load balancer with one listener.
func to(def lb.Action, rules ...lb.Rule) lb.LoadBalancer {
	return balancer(defaulting(listener(80, rules...), def))
}

func TestRulesThatTakeServedRequests(t *testing.T) {
	served, unserved := rule("a.test", "", forward("A")), rule("b.test", "", fixed(404))
	for _, tt := range []struct {
		why      string
		from, to lb.LoadBalancer
		want     bool
	}{
		{"of a rule", to(fixed(404), served), to(fixed(404), rule("a.test", "/x", forward("B")), served), true},
		{"of the default action", to(forward("A")), to(forward("A"), rule("b.test", "", forward("B"))), true},
		{"of another host", to(fixed(404), served), to(fixed(404), rule("b.test", "", forward("B")), served), false},
		{"of another path", to(fixed(404), rule("", "/y", forward("A"))), to(fixed(404), rule("", "/x", forward("B")), rule("", "/y", forward("A"))), false},
		{"of a rule that answers itself", to(fixed(404), unserved), to(fixed(404), rule("b.test", "/x", forward("B")), unserved), false},
		{"on a port that opens", balancer(), to(fixed(404), rule("b.test", "/x", forward("B"))), false},
	} {
		d := comparing(ready(grouped(tt.from), lb.ALB()), grouped(tt.to))
		if got := d.takesServedRequests(d.changes[0], 0); got != tt.want {
			t.Errorf("%s: %t", tt.why, got)
		}
	}
}

// A group may have been deleted while a rule names it, as by a person.
func TestNothingIsForwardedToAGroupThatIsNotThere(t *testing.T) {
	d := comparing(ready(grouped(to(forward("A"))), lb.ALB()), balancer())
	if !d.forwardsToTargets(forward("A")) || d.forwardsToTargets(forward("B")) {
		t.Errorf("to A %t, to B %t", d.forwardsToTargets(forward("A")), d.forwardsToTargets(forward("B")))
	}
}

func TestDefaultsThatTakeServedRequests(t *testing.T) {
	wide := hostsOf(forward("A"), "a.test", "b.test")
	narrow, answered := rule("a.test", "", forward("A")), rule("a.test", "", fixed(200))
	for _, tt := range []struct {
		why      string
		from, to lb.LoadBalancer
		want     bool
	}{
		{"it stays", to(forward("A"), narrow), to(forward("A")), false},
		{"it forwarded", to(forward("A")), to(forward("B")), true},
		{"it did not", to(fixed(404)), to(forward("B")), false},
		{"a rule that forwards goes", to(fixed(404), narrow), to(forward("B")), true},
		{"a rule that forwards is narrowed", to(fixed(404), wide), to(forward("B"), narrow), true},
		{"a rule that forwards stays", to(fixed(404), narrow), to(forward("B"), narrow), false},
		{"a rule goes that answers itself", to(fixed(404), answered), to(forward("B")), false},
	} {
		d := comparing(ready(grouped(tt.from), lb.ALB()), grouped(tt.to))
		if got := d.defaultTakesServedRequests(d.changes[0]); got != tt.want {
			t.Errorf("%s: %t", tt.why, got)
		}
	}
}

func TestActionsThatAreLaidOpen(t *testing.T) {
	path := func(p, g string) lb.Rule { return rule("a.test", p, forward(lb.GroupID(g))) }
	two, below := hostsOf(forward("A"), "a.test", "b.test"), rule("", "/*", forward("B"))
	for _, tt := range []struct {
		why      string
		from, to lb.LoadBalancer
		want     []lb.Action
	}{
		{"of the rule below one that goes", to(fixed(404), path("/x", "A"), below), to(fixed(404), below), []lb.Action{forward("B")}},
		{"of the rule below one that is narrowed", to(fixed(404), two, below), to(fixed(404), rule("a.test", "", forward("A")), below), []lb.Action{forward("B"), fixed(404)}},
		{"of no rule with other requests", to(fixed(404), path("/x", "A"), path("/y", "B"), below), to(fixed(404), path("/y", "B"), below), []lb.Action{forward("B")}},
		{"of other requests alone", to(fixed(404), path("/x", "A"), path("/y", "B")), to(fixed(404), path("/y", "B")), []lb.Action{fixed(404)}},
		{"of no rule that is new itself", to(fixed(404), path("/x", "A")), to(fixed(404), below), nil},
		{"of no rule that gets another action", to(fixed(404), path("/x", "A"), rule("", "/*", forward("C"))), to(fixed(404), below), nil},
		{"of no rule that answers as before", to(fixed(404), path("/x", "A"), rule("", "/*", forward("A"))), to(fixed(404), rule("", "/*", forward("A"))), nil},
		{"below a rule that stays", to(forward("B"), path("/x", "A")), to(forward("B"), path("/x", "A")), nil},
		{"below a rule that targets do not answer", to(forward("B"), rule("a.test", "", fixed(200))), to(forward("B")), nil},
	} {
		d := comparing(ready(grouped(tt.from), lb.ALB()), grouped(tt.to))
		if got := d.exposedActions(d.changes[0], 0); !cmp.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.why, got, tt.want)
		}
	}
}

func TestStepsWaitForWhatIsLaidOpen(t *testing.T) {
	both := rule("", "/*", lb.Action{Kind: "forward", Targets: []lb.Weighted{{Group: "B", Weight: 1}, {Group: "C", Weight: 1}}})
	gone := rule("a.test", "", forward("A"))
	d := comparing(ready(grouped(to(forward("B"), gone, both)), lb.ALB()), grouped(to(forward("B"), both)))
	for _, tt := range []struct {
		why     string
		healthy map[lb.GroupID]int
		want    []int
	}{
		{"nothing is waited for", nil, nil},
		{"once for a group that a rule and the default action name", map[lb.GroupID]int{"B": 7}, []int{7}},
		{"for both groups", map[lb.GroupID]int{"B": 7, "C": 8}, []int{7, 8}},
		{"for no other group", map[lb.GroupID]int{"A": 7}, nil},
	} {
		d.healthy = tt.healthy
		if got := d.healthOfExposed(d.changes[0], 0); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.why, got, tt.want)
		}
	}
}

// Healthy groups are parked where the listener names them, once for all listeners.
func TestHealthyGroupsAreParkedWhereTheyAreNamed(t *testing.T) {
	from := grouped(to(forward("A"), rule("b.test", "", forward("B"))))
	d := comparing(ready(from, lb.ALB()), from)
	hold := []lb.GroupID{"A", "B", "C"}
	if got := d.healthyGroupsToPark(d.changes[0], hold); !slices.Equal(got, hold[:2]) {
		t.Errorf("%v are parked on a listener that names A and B", got)
	}
	d.parkedHealthy = map[lb.GroupID]int{"A": 1}
	if got := d.healthyGroupsToPark(d.changes[0], hold); !slices.Equal(got, hold[1:2]) {
		t.Errorf("%v are parked where A is parked already", got)
	}
}

// parkingRules are the parking rules that a plan creates: their priorities and groups.
func parkingRules(p plan.Plan) (priorities []int, groups [][]lb.GroupID) {
	for _, s := range p.Steps {
		if c, is := s.Step.(plan.CreateRule); is && plan.Parked(c.Rule) {
			priorities, groups = append(priorities, c.Priority), append(groups, c.Rule.Action.Groups())
		}
	}
	return priorities, groups
}

// parked is what is there with parking rules for groups, from the last priority on.
func parked(o *lb.Observed, groups ...lb.GroupID) *lb.Observed {
	for i, g := range groups {
		plan.CreateRule{Port: 80, Priority: lb.ALB().MaxPriority - i, Rule: plan.ParkingRule([]lb.GroupID{g}, lb.ALB())}.Do(o, plan.Result{})
	}
	return o
}

func TestGroupsToPark(t *testing.T) {
	a := rule("a.test", "", forward("A"))
	second := listener(81, a)
	unhealthy := func(o *lb.Observed, groups ...lb.GroupID) *lb.Observed {
		for _, g := range groups {
			o.TargetGroup(g).Ready = false
		}
		return o
	}
	for _, tt := range []struct {
		why  string
		seen *lb.Observed
		to   lb.LoadBalancer
		want [][]lb.GroupID
	}{
		{"a rule that is added", ready(grouped(to(fixed(404), a)), lb.ALB()), to(fixed(404), rule("a.test", "/x", forward("B")), a), [][]lb.GroupID{{"B"}}},
		{"two rules of a group", ready(grouped(to(fixed(404), rule("a.test", "/x", forward("A")), a)), lb.ALB()),
			to(fixed(404), rule("a.test", "/x", forward("B")), rule("a.test", "", forward("B"))), [][]lb.GroupID{{"B"}}},
		{"rules of a group on two ports", ready(grouped(balancer(listener(80, a), second)), lb.ALB()),
			balancer(listener(80, rule("a.test", "", forward("B"))), listener(81, rule("a.test", "", forward("B")))), [][]lb.GroupID{{"B"}}},
		{"a group that a rule names which goes", unhealthy(ready(grouped(to(fixed(404), a, rule("b.test", "", forward("B")))), lb.ALB()), "B"),
			to(fixed(404), rule("a.test", "", forward("B"))), [][]lb.GroupID{{"B"}}},
		{"a group that is parked", parked(unhealthy(ready(grouped(to(fixed(404), a, rule("b.test", "", forward("B")))), lb.ALB()), "B"), "B"),
			to(fixed(404), rule("a.test", "", forward("B"))), nil},
		{"where another group is parked", parked(unhealthy(ready(grouped(to(fixed(404), a, rule("b.test", "", forward("B")))), lb.ALB()), "B"), "A"),
			to(fixed(404), rule("a.test", "", forward("B"))), [][]lb.GroupID{{"B"}}},
		{"beside a port that opens", ready(grouped(to(fixed(404), a)), lb.ALB()),
			balancer(listener(80, rule("a.test", "", forward("B"))), listener(81, rule("a.test", "", forward("B")))), [][]lb.GroupID{{"B"}}},
		{"a group that is parked on a port which closes", parked(unhealthy(ready(grouped(balancer(listener(80, rule("b.test", "", forward("B"))), second)), lb.ALB()), "B"), "B"),
			balancer(listener(81, rule("a.test", "", forward("B")))), [][]lb.GroupID{{"B"}}},
	} {
		if _, got := parkingRules(Diff(tt.seen, grouped(tt.to), lb.ALB())); !cmp.Equal(got, tt.want) {
			t.Errorf("%s: %v are parked, want %v", tt.why, got, tt.want)
		}
	}
}

// A rule that is widened waits for its group, which it names all the time.
func TestARuleThatIsWidenedWaitsForItsGroup(t *testing.T) {
	a := rule("a.test", "", forward("A"))
	seen := ready(grouped(to(fixed(404), rule("b.test", "", forward("B")), a)), lb.ALB())
	seen.TargetGroup("B").Ready = false
	p := Diff(seen, grouped(to(fixed(404), hostsOf(forward("B"), "a.test", "b.test"), a)), lb.ALB())
	want := []string{"await targets B", "modify rule 80/16661 < await targets B"}
	if diff := cmp.Diff(want, dependencies(p)); diff != "" {
		t.Error(diff)
	}
}

// A parking rule takes the last priority that none has. Where there is none, nothing is waited for.
func TestPrioritiesOfParkingRules(t *testing.T) {
	a, b := rule("a.test", "", forward("A")), rule("a.test", "", forward("B"))
	at := func(n int) *lb.Observed {
		return parked(ready(grouped(to(fixed(404), a)), lb.ALB()), slices.Repeat([]lb.GroupID{"A"}, n)...)
	}
	for taken, want := range map[int][]int{0: {50000}, 2: {49998}, 15: {49985}, 16: nil} {
		p := Diff(at(taken), grouped(to(fixed(404), b)), lb.ALB())
		if got, _ := parkingRules(p); !slices.Equal(got, want) {
			t.Errorf("with %d of them in use: %v, want %v", taken, got, want)
		}
	}
}

func TestAPortWithAParkingRuleCloses(t *testing.T) {
	seen := parked(ready(grouped(balancer(listener(80, rule("a.test", "", forward("A"))), listener(81))), lb.ALB()), "A")
	want := []string{"delete listener 80", "delete target group A < delete listener 80"}
	if diff := cmp.Diff(want, dependencies(Diff(seen, balancer(listener(81)), lb.ALB()))); diff != "" {
		t.Error(diff)
	}
}

// Who asks for a group is told of the steps that wait for its health.
func TestTheRoutesOfAGroupAreToldOfItsParking(t *testing.T) {
	route := diag.Source{Kind: "Ingress", Namespace: "shop", Name: "web"}
	b := rule("a.test", "", forward("B"))
	b.Origin = []diag.Source{route}
	p := Diff(ready(grouped(to(fixed(404), rule("a.test", "", forward("A")))), lb.ALB()), grouped(to(fixed(404), b)), lb.ALB())
	told := 0
	for _, s := range p.Steps {
		create, _ := s.Step.(plan.CreateRule) // the rule of another step is empty
		_, awaits := s.Step.(plan.AwaitTargets)
		if !awaits && !plan.Parked(create.Rule) {
			continue
		}
		if told++; !slices.Equal(s.Origin, []diag.Source{route}) {
			t.Errorf("%s %s: %v", s.Step.Op(), s.Step.ID(), s.Origin)
		}
	}
	if told != 2 {
		t.Errorf("%d steps park the group and wait for it", told)
	}
}
