package planner

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// ready is what is there once every target group has been found healthy.
func ready(b lb.LoadBalancer, c lb.Capabilities) *lb.Observed {
	o := built(b, c)
	for i := range o.TargetGroups {
		o.TargetGroups[i].Ready = true
	}
	return o
}

// dependencies are a plan's steps by name, each with those it waits for.
func dependencies(p plan.Plan) []string {
	name := named(p)
	var out []string
	for i, s := range p.Steps {
		text := name[i]
		for _, a := range s.After {
			text += " < " + name[a]
		}
		out = append(out, text)
	}
	return out
}

// hostsOf returns a rule for hosts.
func hostsOf(a lb.Action, hosts ...string) lb.Rule {
	return lb.Rule{Conditions: []lb.Condition{{Field: "host", Values: hosts}}, Action: a}
}

func TestPark(t *testing.T) {
	c := lb.ALB()
	with := func(b lb.LoadBalancer, groups ...lb.TargetGroup) lb.LoadBalancer {
		b.TargetGroups = groups
		return b
	}
	a, b := group("A", "10.0.0.1"), group("B", "10.0.0.2")
	cases := map[string]struct {
		reason   string
		from, to lb.LoadBalancer
		alter    func(*lb.Observed)
		caps     func(*lb.Capabilities)
		want     []string
	}{
		"laid open": {
			reason: "the path goes once what is below it is healthy, and a path of other hosts at once",
			from: with(balancer(listener(80, rule("a.example.com", "/x", forward("A")), rule("b.example.com", "/x", forward("A")),
				rule("a.example.com", "", forward("B")))), a, b),
			to:    with(balancer(listener(80, rule("a.example.com", "", forward("B")))), b),
			alter: func(o *lb.Observed) { o.TargetGroup("B").Ready = false },
			want: []string{
				"await targets B",
				"delete rule 80/24992",
				"delete rule 80/12496 < await targets B",
				"delete target group A < delete rule 80/24992 < delete rule 80/12496",
			},
		},
		"a path above stays": {
			reason: "a rule above gets no request of the one that goes",
			from: with(balancer(listener(80, rule("a.example.com", "/x", forward("B")),
				rule("a.example.com", "", forward("A")))), a, b),
			to:    with(balancer(listener(80, rule("a.example.com", "/x", forward("B")))), b),
			alter: func(o *lb.Observed) { o.TargetGroup("B").Ready = false },
			want:  []string{"delete rule 80/33323", "delete target group A < delete rule 80/33323"},
		},
		"laid open to a rule of fewer hosts": {
			reason: "the rule below stays for the host of the path, and loses another one",
			from: with(balancer(listener(80, rule("a.example.com", "/x", forward("A")),
				hostsOf(forward("B"), "a.example.com", "b.example.com"))), a, b),
			to:    with(balancer(listener(80, hostsOf(forward("B"), "a.example.com"))), b),
			alter: func(o *lb.Observed) { o.TargetGroup("B").Ready = false },
			want: []string{
				"await targets B",
				"modify rule 80/33323",
				"delete rule 80/16661 < await targets B < modify rule 80/33323",
				"delete target group A < delete rule 80/16661",
			},
		},
		"laid open to the default action": {
			reason: "the default action forwards to B, which a rule for all of the host keeps from one path",
			from:   with(balancer(defaultTo("B", rule("a.example.com", "", forward("A")), rule("b.example.com", "/x", forward("A")), rule("b.example.com", "", fixed(404)))), a, b),
			to:     with(balancer(defaultTo("B", rule("b.example.com", "", fixed(404)))), b),
			alter:  func(o *lb.Observed) { o.TargetGroup("B").Ready = false },
			want: []string{
				"await targets B",
				"delete rule 80/24992",
				"delete rule 80/12496 < await targets B",
				"delete target group A < delete rule 80/24992 < delete rule 80/12496",
			},
		},
		"taking over": {
			reason: "answered requests wait for the new group to be healthy",
			from:   with(balancer(listener(80, rule("a.example.com", "", forward("A")))), a),
			to:     with(balancer(listener(80, rule("a.example.com", "", forward("B")))), b),
			want: []string{
				"create target group B",
				"register targets B < create target group B",
				"create rule 80/50000 < register targets B",
				"await targets B < register targets B < create rule 80/50000",
				"modify rule 80/24992 < await targets B",
				"delete rule 80/50000 < await targets B < modify rule 80/24992",
				"delete target group A < modify rule 80/24992",
			},
		},
		"serving what nobody served": {
			reason: "requests that were answered 404 need not wait",
			from:   with(balancer(listener(80, rule("a.example.com", "", forward("A")))), a),
			to:     with(balancer(listener(80, rule("a.example.com", "", forward("A")), rule("b.example.com", "", forward("B")))), a, b),
			want: []string{
				"create target group B",
				"register targets B < create target group B",
				"create rule 80/25382 < register targets B",
			},
		},
		"independent work": {
			reason: "what does not need the waiting group does not wait for it",
			from:   with(balancer(listener(80, rule("a.example.com", "", forward("A")))), a),
			to:     with(balancer(listener(80, rule("a.example.com", "", forward("B")), rule("b.example.com", "", forward("B")), rule("c.example.com", "", fixed(200)))), b),
			want: []string{
				"create target group B",
				"register targets B < create target group B",
				"create rule 80/50000 < register targets B",
				"await targets B < register targets B < create rule 80/50000",
				"modify rule 80/24992 < await targets B",
				"create rule 80/25382 < register targets B",
				"create rule 80/25773",
				"delete rule 80/50000 < await targets B < modify rule 80/24992",
				"delete target group A < modify rule 80/24992",
			},
		},
		"a group without targets": {
			reason: "its pods may be about to start, and until they do the old ones answer",
			from:   with(balancer(listener(80, rule("a.example.com", "", forward("A")))), a),
			to:     with(balancer(listener(80, rule("a.example.com", "", forward("B")))), group("B")),
			want: []string{
				"create target group B",
				"create rule 80/50000 < create target group B",
				"await targets B < create target group B < create rule 80/50000",
				"modify rule 80/24992 < await targets B",
				"delete rule 80/50000 < await targets B < modify rule 80/24992",
				"delete target group A < modify rule 80/24992",
			},
		},
		"from a group that never had targets": {
			reason: "its requests are answered 503 now: whatever comes is no worse",
			from:   with(balancer(listener(80, rule("a.example.com", "", forward("A")))), group("A")),
			to:     with(balancer(listener(80, rule("a.example.com", "", forward("B")))), group("B")),
			alter:  func(o *lb.Observed) { o.TargetGroup("A").Ready = false },
			want: []string{
				"create target group B",
				"modify rule 80/24992 < create target group B",
				"delete target group A < modify rule 80/24992",
			},
		},
		"a group without targets that gets no requests": {
			reason: "nobody is sent there, so nobody waits",
			from:   with(balancer(listener(80, rule("a.example.com", "", forward("A")))), a),
			to: with(balancer(listener(80, rule("a.example.com", "", lb.Action{Kind: "forward", Targets: []lb.Weighted{{Group: "A", Weight: 1}, {Group: "B"}}}))),
				a, group("B")),
			want: []string{
				"create target group B",
				"modify rule 80/24992 < create target group B",
			},
		},
		"a group that a rule names already": {
			reason: "its health is checked where it is; it only has to be waited for",
			from:   with(balancer(listener(80, rule("a.example.com", "", forward("A")), rule("b.example.com", "", forward("B")))), a, b),
			to:     with(balancer(listener(80, rule("a.example.com", "", forward("B")), rule("b.example.com", "", forward("B")))), b),
			alter:  func(o *lb.Observed) { o.TargetGroup("B").Ready = false },
			want: []string{
				"await targets B",
				"modify rule 80/16661 < await targets B",
				"delete target group A < modify rule 80/16661",
			},
		},
		"a group that no rule names any more": {
			reason: "it was healthy when a rule last named it, and nothing has checked it since",
			from:   with(balancer(listener(80, rule("a.example.com", "", forward("A")))), a, b),
			to:     with(balancer(listener(80, rule("a.example.com", "", forward("B")))), b),
			want: []string{
				"create rule 80/50000",
				"await targets B < create rule 80/50000",
				"modify rule 80/24992 < await targets B",
				"delete rule 80/50000 < await targets B < modify rule 80/24992",
				"delete target group A < modify rule 80/24992",
			},
		},
		"a plan made again": {
			reason: "a parking rule that is there is used",
			from:   with(balancer(listener(80, rule("a.example.com", "", forward("A")))), a, b),
			to:     with(balancer(listener(80, rule("a.example.com", "", forward("B")))), b),
			alter: func(o *lb.Observed) {
				plan.CreateRule{Port: 80, Priority: 50000, Rule: plan.ParkingRule([]lb.GroupID{"B"}, lb.ALB())}.Do(o, plan.Result{})
				o.TargetGroup("B").Ready = false
			},
			want: []string{
				"await targets B",
				"modify rule 80/24992 < await targets B",
				"delete rule 80/50000 < await targets B < modify rule 80/24992",
				"delete target group A < modify rule 80/24992",
			},
		},
		"a parking rule without a purpose": {
			reason: "it goes, and its group with it",
			from:   with(balancer(listener(80, rule("a.example.com", "", forward("A")))), a, b),
			to:     with(balancer(listener(80, rule("a.example.com", "", forward("A")))), a),
			alter: func(o *lb.Observed) {
				plan.CreateRule{Port: 80, Priority: 50000, Rule: plan.ParkingRule([]lb.GroupID{"B"}, lb.ALB())}.Do(o, plan.Result{})
			},
			want: []string{
				"delete rule 80/50000",
				"delete target group B < delete rule 80/50000",
			},
		},
		"a cloud that checks the health of every group": {
			reason: "no rule is needed for the wait",
			from:   with(balancer(listener(80, rule("a.example.com", "", forward("A")))), a),
			to:     with(balancer(listener(80, rule("a.example.com", "", forward("B")))), b),
			caps:   func(c *lb.Capabilities) { c.HealthWithoutRule = true },
			want: []string{
				"create target group B",
				"register targets B < create target group B",
				"await targets B < register targets B",
				"modify rule 80/24992 < await targets B",
				"delete target group A < modify rule 80/24992",
			},
		},
		"a healthy group that no rule named, where health needs no rule": {
			reason: "it is checked all the time, and takes over at once",
			from:   with(balancer(listener(80, rule("a.example.com", "", forward("A")))), a, b),
			to:     with(balancer(listener(80, rule("a.example.com", "", forward("B")))), b),
			caps:   func(c *lb.Capabilities) { c.HealthWithoutRule = true },
			alter:  func(o *lb.Observed) { o.TargetGroup("B").Ready = true },
			want: []string{
				"modify rule 80/24992",
				"delete target group A < modify rule 80/24992",
			},
		},
		"a group that another rule takes over, where health needs no rule": {
			reason: "the old rule waits for no other one",
			from:   with(balancer(listener(80, rule("a.example.com", "", forward("A")))), a),
			to:     with(balancer(listener(80, rule("b.example.com", "", forward("A")))), a),
			caps:   func(c *lb.Capabilities) { c.HealthWithoutRule = true },
			want:   []string{"create rule 80/24602", "delete rule 80/24992"},
		},
		"a cloud that accepts no host of a parking rule": {
			reason: "the rules change without waiting",
			from:   with(balancer(listener(80, rule("a.example.com", "", forward("A")))), a),
			to:     with(balancer(listener(80, rule("a.example.com", "", forward("B")))), b),
			caps:   func(c *lb.Capabilities) { c.HostValue = "example.com$" },
			want: []string{
				"create target group B",
				"register targets B < create target group B",
				"modify rule 80/24992 < register targets B",
				"delete target group A < modify rule 80/24992",
			},
		},
		"no place for a parking rule": {
			reason: "at the limit the rules change without waiting",
			from:   with(balancer(listener(80, rule("a.example.com", "", forward("A")))), a),
			to:     with(balancer(listener(80, rule("a.example.com", "", forward("B")))), b),
			caps:   func(c *lb.Capabilities) { c.Rules = 1 },
			want: []string{
				"create target group B",
				"register targets B < create target group B",
				"modify rule 80/24992 < register targets B",
				"delete target group A < modify rule 80/24992",
			},
		},
		"a default that takes over": {
			reason: "the default waits, too",
			from:   with(balancer(lb.Listener{Port: 80, Protocol: "HTTP", Default: forward("A")}), a),
			to:     with(balancer(lb.Listener{Port: 80, Protocol: "HTTP", Default: forward("B")}), b),
			want: []string{
				"create target group B",
				"register targets B < create target group B",
				"create rule 80/50000 < register targets B",
				"await targets B < register targets B < create rule 80/50000",
				"modify listener 80 < await targets B",
				"delete rule 80/50000 < await targets B < modify listener 80",
				"delete target group A < modify listener 80",
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := c
			if tc.caps != nil {
				tc.caps(&c)
			}
			seen := ready(tc.from, c)
			if tc.alter != nil {
				tc.alter(seen)
			}
			p := Diff(seen, tc.to, c)
			if diff := cmp.Diff(tc.want, dependencies(p)); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
			// Stopped after any step and made again, the plan ends at the same place.
			for n := range len(p.Steps) + 1 {
				half := plan.Plan{Steps: p.Steps[:n]}.Fold(seen)
				rest := Diff(half, tc.to, c)
				if again := Diff(rest.Fold(half), tc.to, c); !again.Empty() {
					t.Errorf("stopped after %d steps, %v is left in the end", n, named(again))
				}
			}
		})
	}
}

func TestSeveralGroupsShareAParkingRule(t *testing.T) {
	c := lb.ALB()
	from, to := balancer(listener(80)), balancer(listener(80))
	for i := range 7 {
		host := fmt.Sprintf("host-%d.example.com", i)
		before, after := lb.GroupID(fmt.Sprintf("old-%d", i)), lb.GroupID(fmt.Sprintf("new-%d", i))
		from.Listeners[0].Rules = append(from.Listeners[0].Rules, rule(host, "", forward(before)))
		from.TargetGroups = append(from.TargetGroups, group(before, "10.0.0.1"))
		to.Listeners[0].Rules = append(to.Listeners[0].Rules, rule(host, "", forward(after)))
		to.TargetGroups = append(to.TargetGroups, group(after, "10.0.0.2"))
	}
	seen := ready(from, c)
	priorities, groups := parkingRules(Diff(seen, to, c))
	var sizes []int
	for _, g := range groups {
		sizes = append(sizes, len(g))
	}
	if !slices.Equal(sizes, []int{5, 2}) || !slices.Equal(priorities, []int{50000, 49999}) {
		t.Errorf("seven groups are parked by rules of %v, at %v", sizes, priorities)
	}
}
