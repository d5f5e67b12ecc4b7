package proof_test

import (
	"strings"
	"testing"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/proof"
	"fairlead.dev/fairlead/model/routing"
)

// This file has, for each promise of a proven plan, a plan that keeps it and the orders that do not.

// A promise is a change of a load balancer that has target groups A and B, which are healthy, and C,
// which is neither there nor wanted, apart from what alter says.
type promise struct {
	from, to []lb.Listener
	alter    func(seen *lb.Observed, want *lb.LoadBalancer)
	steps    []plan.Planned // in an order that is proven
	breaks   []breach
}

// A breach takes from a step what it waits for; without a step to wait for, the step itself.
type breach struct {
	step, waits int
	why         string // in the reason of the refusal
}

const dropped = -1

func http(def lb.Action, rules ...lb.Rule) lb.Listener {
	return lb.Listener{Port: 80, Protocol: routing.HTTP, Default: def, Rules: rules}
}

func on(path string, a lb.Action) lb.Rule {
	return lb.Rule{Action: a, Conditions: []lb.Condition{{Field: "path", Values: []string{path}}}}
}

// done returns a step behind others.
func done(s plan.Step, after ...int) plan.Planned { return plan.Planned{Step: s, After: after} }

func acl(was, is string) func(*lb.Observed, *lb.LoadBalancer) {
	return func(seen *lb.Observed, want *lb.LoadBalancer) {
		seen.Protection.WebACL, want.Protection.WebACL = was, is
	}
}

func group(id lb.GroupID) lb.TargetGroup {
	return lb.TargetGroup{ID: id, Targets: []lb.Target{{Address: "10.0.0.1", Port: 80}}}
}

func wants(ids ...lb.GroupID) func(*lb.Observed, *lb.LoadBalancer) {
	return func(_ *lb.Observed, want *lb.LoadBalancer) {
		want.TargetGroups = nil
		for _, id := range ids {
			want.TargetGroups = append(want.TargetGroups, group(id))
		}
	}
}

// signIn is forward behind a sign-in.
func signIn(id lb.GroupID) lb.Action {
	a := forward(id)
	a.Auth = &routing.Auth{}
	return a
}

// idle is forward with nothing for the second group.
func idle(ids ...lb.GroupID) lb.Action {
	a := forward(ids...)
	a.Targets[1].Weight = 0
	return a
}

// weightless is forward with the weight 0.
func weightless(id lb.GroupID) lb.Action {
	a := forward(id)
	a.Targets[0].Weight = 0
	return a
}

var (
	setACL  = plan.SetWebACL{Key: "k", WebACL: "edge"}
	dropACL = plan.SetWebACL{Key: "k", WebACL: lb.NoWebACL}
)

// verifying returns a listener on port 443 that verifies the certificates of clients, or does not.
func verifying(is bool, def lb.Action, rules ...lb.Rule) lb.Listener {
	return lb.Listener{Port: 443, Protocol: routing.HTTPS, Default: def, Rules: rules, Verifies: is, Digest: lb.DigestOf(is)}
}

func modifies(l lb.Listener) plan.Step { return plan.ModifyListener{Listener: l} }
func createTLS(priority int, r lb.Rule) plan.Step {
	return plan.CreateRule{Port: 443, Priority: priority, Rule: r}
}
func removeTLS(priority int, r lb.Rule) plan.Step {
	return plan.DeleteRule{Port: 443, Priority: priority, Rule: r}
}

// The steps about the rules of port 80.
func create(priority int, r lb.Rule) plan.Step {
	return plan.CreateRule{Port: 80, Priority: priority, Rule: r}
}
func remove(priority int, r lb.Rule) plan.Step {
	return plan.DeleteRule{Port: 80, Priority: priority, Rule: r}
}
func modify(priority int, r lb.Rule) plan.Step {
	return plan.ModifyRule{Port: 80, Priority: priority, Rule: r}
}

var promises = map[string]promise{
	"a new rule answers behind the web ACL": {
		from:   []lb.Listener{http(fixed(404))},
		to:     []lb.Listener{http(fixed(404), on("/x", forward("A")))},
		alter:  acl(lb.NoWebACL, "edge"),
		steps:  []plan.Planned{done(setACL), done(create(1, on("/x", forward("A"))), 0)},
		breaks: []breach{{1, 0, "without the web ACL"}, {0, dropped, "the web ACL is not there"}},
	},
	"a changed action answers behind another web ACL": {
		from:   []lb.Listener{http(fixed(404), on("/x", fixed(403)))},
		to:     []lb.Listener{http(fixed(404), on("/x", forward("A")))},
		alter:  acl("other", "edge"),
		steps:  []plan.Planned{done(setACL), done(modify(1, on("/x", forward("A"))), 0)},
		breaks: []breach{{1, 0, "without the web ACL"}},
	},
	"a rule that is laid open answers behind the web ACL": {
		from:   []lb.Listener{http(fixed(404), on("/x", fixed(403)), on("/*", forward("A")))},
		to:     []lb.Listener{http(fixed(404), on("/*", forward("A")))},
		alter:  acl(lb.NoWebACL, "edge"),
		steps:  []plan.Planned{done(setACL), done(remove(1, on("/x", fixed(403))), 0)},
		breaks: []breach{{1, 0, "without the web ACL"}},
	},
	"a new rule answers clients with certificates": {
		from:   []lb.Listener{verifying(false, fixed(404))},
		to:     []lb.Listener{verifying(true, fixed(404), on("/x", forward("A")))},
		steps:  []plan.Planned{done(modifies(verifying(true, fixed(404)))), done(createTLS(1, on("/x", forward("A"))), 0)},
		breaks: []breach{{1, 0, "without a certificate of the client"}, {0, dropped, "verifies clients: false"}},
	},
	"a rule that is laid open answers clients with certificates": {
		from:   []lb.Listener{verifying(false, fixed(404), on("/x", fixed(403)), on("/*", forward("A")))},
		to:     []lb.Listener{verifying(true, fixed(404), on("/*", forward("A")))},
		steps:  []plan.Planned{done(modifies(verifying(true, fixed(404)))), done(removeTLS(1, on("/x", fixed(403))), 0)},
		breaks: []breach{{1, 0, "without a certificate of the client"}},
	},
	"a new default action answers behind the web ACL": {
		from:   []lb.Listener{http(fixed(404))},
		to:     []lb.Listener{http(forward("A"))},
		alter:  acl(lb.NoWebACL, "edge"),
		steps:  []plan.Planned{done(setACL), done(plan.ModifyListener{Listener: http(forward("A"))}, 0)},
		breaks: []breach{{1, 0, "without the web ACL"}},
	},
	"the web ACL stays until a rule behind it is gone": {
		from:   []lb.Listener{http(fixed(404), on("/x", forward("A")))},
		to:     []lb.Listener{http(fixed(404))},
		alter:  acl("edge", lb.NoWebACL),
		steps:  []plan.Planned{done(remove(1, on("/x", forward("A")))), done(dropACL, 0)},
		breaks: []breach{{1, 0, "without the web ACL"}},
	},
	"the web ACL stays until a rule takes the requests behind it": {
		from: []lb.Listener{http(fixed(404), on("/*", forward("A")))},
		to:   []lb.Listener{http(fixed(404), on("/x", fixed(403)), on("/*", forward("A")))},
		alter: func(seen *lb.Observed, want *lb.LoadBalancer) {
			acl("edge", lb.NoWebACL)(seen, want)
			seen.Listeners[0].Rules[0].Priority = 9
		},
		steps:  []plan.Planned{done(create(1, on("/x", fixed(403)))), done(dropACL, 0)},
		breaks: []breach{{1, 0, "without the web ACL"}},
	},
	"the web ACL stays until new priorities have put a rule above the one behind it": {
		from:  []lb.Listener{http(fixed(404), on("/x", forward("A")))},
		to:    []lb.Listener{http(fixed(404), on("/*", fixed(403)), on("/x", forward("A")))},
		alter: acl("edge", lb.NoWebACL),
		steps: []plan.Planned{
			done(plan.RespaceRules{Port: 80, To: map[int]int{1: 20}}), done(create(10, on("/*", fixed(403))), 0), done(dropACL, 1)},
		breaks: []breach{{1, 0, "without the web ACL"}, {2, 1, "without the web ACL"}},
	},
	"a path that needs a sign-in is never open": {
		from:   []lb.Listener{http(fixed(404))},
		to:     []lb.Listener{http(fixed(404), on("/x", signIn("A")), on("/*", forward("A")))},
		steps:  []plan.Planned{done(create(1, on("/x", signIn("A")))), done(create(2, on("/*", forward("A"))), 0)},
		breaks: []breach{{1, 0, "neither before nor after"}},
	},
	"a redirect leads to a port once its rules are there": {
		from: []lb.Listener{http(forward("A")), {Port: 443, Protocol: routing.HTTPS, Default: fixed(404)}},
		to:   []lb.Listener{http(redirectTo("443")), {Port: 443, Protocol: routing.HTTPS, Default: forward("A")}},
		steps: []plan.Planned{
			done(plan.ModifyListener{Listener: lb.Listener{Port: 443, Protocol: routing.HTTPS, Default: forward("A")}}),
			done(plan.ModifyListener{Listener: http(redirectTo("443"))}, 0)},
		breaks: []breach{{1, 0, "a redirected request"}},
	},
	"a redirect is lifted by new priorities once the port has its rules": {
		from: []lb.Listener{http(fixed(404), on("/*", forward("A"))), {Port: 443, Protocol: routing.HTTPS, Default: fixed(404)}},
		to: []lb.Listener{http(fixed(404), on("/x", redirectTo("443")), on("/*", forward("A"))),
			{Port: 443, Protocol: routing.HTTPS, Default: forward("A")}},
		steps: []plan.Planned{
			done(plan.ModifyListener{Listener: lb.Listener{Port: 443, Protocol: routing.HTTPS, Default: forward("A")}}),
			done(create(9, on("/x", redirectTo("443")))), done(plan.RespaceRules{Port: 80, To: map[int]int{1: 20}}, 0)},
		breaks: []breach{{2, 0, "a redirected request"}},
	},
	"a redirect leads to a port once new priorities have put its rules in order": {
		from: []lb.Listener{http(fixed(404)), {Port: 443, Protocol: routing.HTTPS, Default: fixed(404), Rules: []lb.Rule{on("/*", forward("A"))}}},
		to: []lb.Listener{http(fixed(404), on("/x", redirectTo("443"))),
			{Port: 443, Protocol: routing.HTTPS, Default: fixed(404), Rules: []lb.Rule{on("/x", fixed(403)), on("/*", forward("A"))}}},
		steps: []plan.Planned{
			done(plan.CreateRule{Port: 443, Priority: 9, Rule: on("/x", fixed(403))}),
			done(plan.RespaceRules{Port: 443, To: map[int]int{1: 20}}, 0), done(create(1, on("/x", redirectTo("443"))), 0, 1)},
		breaks: []breach{{2, 1, "a redirected request"}},
	},
	"a new default action follows the rules that keep its requests": {
		from:   []lb.Listener{http(forward("A"))},
		to:     []lb.Listener{http(fixed(404), on("/x", forward("A")))},
		steps:  []plan.Planned{done(create(1, on("/x", forward("A")))), done(plan.ModifyListener{Listener: http(fixed(404), on("/x", forward("A")))}, 0)},
		breaks: []breach{{1, 0, "neither before nor after"}},
	},
	"a rule goes once the default action answers its requests": {
		from:   []lb.Listener{http(fixed(404), on("/x", forward("A")))},
		to:     []lb.Listener{http(forward("A"))},
		steps:  []plan.Planned{done(plan.ModifyListener{Listener: http(forward("A"))}), done(remove(1, on("/x", forward("A"))), 0)},
		breaks: []breach{{1, 0, "neither before nor after"}},
	},
	"a target group is there, has targets, and is named while it is waited for": {
		from:  []lb.Listener{http(fixed(404), on("/x", forward("A")))},
		to:    []lb.Listener{http(fixed(404), on("/x", forward("C")))},
		alter: wants("A", "B", "C"),
		steps: []plan.Planned{
			done(plan.CreateTargetGroup{Group: group("C")}), done(plan.RegisterTargets{Group: "C"}, 0),
			done(create(9, plan.ParkingRule([]lb.GroupID{"C"}, lb.ALB())), 1), done(plan.AwaitTargets{Group: "C"}, 2),
			done(modify(1, on("/x", forward("C"))), 3), done(remove(9, plan.ParkingRule([]lb.GroupID{"C"}, lb.ALB())), 2, 4)},
		breaks: []breach{{1, 0, "target group C"}, {2, 1, "targets of C"}, {3, 2, "may wait while no rule"}, {4, 3, "healthy"}, {5, 4, "healthy"},
			{1, dropped, "no step registers"}, {0, dropped, "needs target group C"}, {3, dropped, "healthy"}},
	},
	"a target group that gets no share of the requests is not waited for": {
		from:  []lb.Listener{http(fixed(404), on("/x", forward("A")))},
		to:    []lb.Listener{http(fixed(404), on("/x", idle("A", "C")))},
		alter: wants("A", "B", "C"),
		steps: []plan.Planned{
			done(plan.CreateTargetGroup{Group: group("C")}), done(plan.RegisterTargets{Group: "C"}, 0), done(modify(1, on("/x", idle("A", "C"))), 1)},
		breaks: []breach{{2, 1, "targets of C"}},
	},
	"a target group that is checked is waited for while it is not healthy": {
		from:   []lb.Listener{http(fixed(404), on("/x", forward("A")), on("/y", forward("B")))},
		to:     []lb.Listener{http(fixed(404), on("/x", forward("B")), on("/y", forward("B")))},
		alter:  func(seen *lb.Observed, _ *lb.LoadBalancer) { seen.TargetGroup("B").Ready = false },
		steps:  []plan.Planned{done(plan.AwaitTargets{Group: "B"}), done(modify(1, on("/x", forward("B"))), 0)},
		breaks: []breach{{1, 0, "healthy"}},
	},
	"the only target group of a rule gets all requests, whatever its weight": {
		from:  []lb.Listener{http(fixed(404), on("/x", forward("A")), on("/y", forward("B")))},
		to:    []lb.Listener{http(fixed(404), on("/x", weightless("B")), on("/y", forward("B")))},
		alter: func(seen *lb.Observed, _ *lb.LoadBalancer) { seen.TargetGroup("B").Ready = false },
		steps: []plan.Planned{done(plan.AwaitTargets{Group: "B"}),
			done(modify(1, on("/x", weightless("B"))), 0)},
		breaks: []breach{{1, 0, "healthy"}},
	},
	"targets that are healthy answer, whether or not their registration was seen": {
		from: []lb.Listener{http(fixed(404), on("/x", forward("A")), on("/y", forward("B")))},
		to:   []lb.Listener{http(fixed(404), on("/x", forward("B")), on("/y", forward("B")))},
		alter: func(seen *lb.Observed, want *lb.LoadBalancer) {
			wants("B")(seen, want)
			seen.TargetGroup("A").Registered, seen.TargetGroup("B").Ready = false, false
		},
		steps: []plan.Planned{done(plan.AwaitTargets{Group: "B"}),
			done(modify(1, on("/x", forward("B"))), 0)},
		breaks: []breach{{1, 0, "healthy"}},
	},
	"a rule moves above one that targets answer once its own are healthy": {
		from: []lb.Listener{http(fixed(404), on("/x/*", forward("A")), on("/*/y", forward("B")))},
		to:   []lb.Listener{http(fixed(404), on("/*/y", forward("B")), on("/x/*", forward("A")))},
		alter: func(seen *lb.Observed, want *lb.LoadBalancer) {
			at(5, 10)(seen, want)
			seen.TargetGroup("B").Ready = false
		},
		steps: []plan.Planned{
			done(plan.AwaitTargets{Group: "B"}),
			done(plan.RespaceRules{Port: 80, To: map[int]int{10: 3}}, 0)},
		breaks: []breach{{1, 0, "healthy"}},
	},
	"a healthy target group is named all the time": {
		from:   []lb.Listener{http(fixed(404), on("/x", forward("A")), on("/y", forward("B")))},
		to:     []lb.Listener{http(fixed(404), on("/x", forward("B")))},
		steps:  []plan.Planned{done(modify(1, on("/x", forward("B")))), done(remove(2, on("/y", forward("B"))), 0)},
		breaks: []breach{{1, 0, "healthy"}},
	},
	"a target group goes once no rule names it": {
		from:   []lb.Listener{http(fixed(404), on("/x", forward("A")))},
		to:     []lb.Listener{http(fixed(404))},
		alter:  wants("B"),
		steps:  []plan.Planned{done(remove(1, on("/x", forward("A")))), done(plan.DeleteTargetGroup{Group: "A"}, 0)},
		breaks: []breach{{1, 0, "target group A"}},
	},
	"a target group goes once no default action names it": {
		from:   []lb.Listener{http(forward("A"), on("/y", forward("B")))},
		to:     []lb.Listener{http(forward("B"), on("/y", forward("B")))},
		alter:  wants("B"),
		steps:  []plan.Planned{done(plan.ModifyListener{Listener: http(forward("B"))}), done(plan.DeleteTargetGroup{Group: "A"}, 0)},
		breaks: []breach{{1, 0, "target group A"}},
	},
	"a target group goes once the port that names it is closed": {
		from: []lb.Listener{http(forward("A"))}, alter: wants("B"),
		steps:  []plan.Planned{done(plan.DeleteListener{Port: 80}), done(plan.DeleteTargetGroup{Group: "A"}, 0)},
		breaks: []breach{{1, 0, "target group A"}},
	},
	"a rule has the priority of another one once that is gone": {
		from:   []lb.Listener{http(fixed(404), on("/x", forward("A")))},
		to:     []lb.Listener{http(fixed(404), on("/y", forward("A")))},
		steps:  []plan.Planned{done(remove(1, on("/x", forward("A")))), done(create(1, on("/y", forward("A"))), 0)},
		breaks: []breach{{1, 0, "rule 80/1"}, {0, dropped, "rule 80/1"}},
	},
	"a rule goes once new priorities have put another one in its place": {
		from: []lb.Listener{http(fixed(404), on("/y/*", fixed(403)), on("/*/1", forward("B")))},
		to:   []lb.Listener{http(fixed(404), on("/y/*", fixed(403)), on("/*/1", forward("B")))},
		steps: []plan.Planned{
			done(create(50, on("/y/*", fixed(403)))), done(plan.RespaceRules{Port: 80, To: map[int]int{2: 60}}, 0),
			done(remove(1, on("/y/*", fixed(403))), 0, 1)},
		breaks: []breach{{2, 1, "neither before nor after"}},
	},
	"a port opens with rules that follow it": {
		to:     []lb.Listener{http(fixed(404), on("/x", forward("A")))},
		steps:  []plan.Planned{done(plan.CreateListener{Listener: http(fixed(404))}), done(create(1, on("/x", forward("A"))), 0)},
		breaks: []breach{{1, 0, "port 80"}, {1, dropped, "the rules that are wanted"}, {0, dropped, "port 80"}},
	},
	"a port that is not wanted is closed": {
		from:   []lb.Listener{http(fixed(404)), {Port: 443, Protocol: routing.HTTPS, Default: fixed(404)}},
		to:     []lb.Listener{http(forward("A"))},
		steps:  []plan.Planned{done(plan.DeleteListener{Port: 443}), done(plan.ModifyListener{Listener: http(forward("A"))})},
		breaks: []breach{{0, dropped, "port 443 does not have the rules"}},
	},
	"a rule goes below another one once its successor is above that": {
		from:  []lb.Listener{http(fixed(404), on("/x/*", fixed(403)), on("/*/y", forward("A")))},
		to:    []lb.Listener{http(fixed(404), on("/x/*", forward("B")), on("/*/y", forward("A")))},
		alter: at(5, 10),
		steps: []plan.Planned{
			done(create(1, on("/x/*", forward("B")))), done(plan.RespaceRules{Port: 80, To: map[int]int{5: 30}}, 0),
			done(remove(30, on("/x/*", fixed(403))), 0, 1)},
		breaks: []breach{{1, 0, "neither before nor after"}},
	},
	"a rule that has switched goes once another one does the same": {
		from:  []lb.Listener{http(fixed(404), on("/x", fixed(403)), on("/*", forward("A")))},
		to:    []lb.Listener{http(fixed(404), on("/x", fixed(410)), on("/*", forward("A")))},
		alter: at(5, 10),
		steps: []plan.Planned{
			done(modify(5, on("/x", fixed(410)))), done(create(1, on("/x", fixed(410))), 0), done(remove(5, on("/x", fixed(410))), 0, 1)},
		breaks: []breach{{2, 1, "neither before nor after"}},
	},
	"a rule goes once another one is there, which switches later": {
		from:  []lb.Listener{http(fixed(404), on("/x", fixed(403)), on("/*", forward("A")))},
		to:    []lb.Listener{http(fixed(404), on("/x", fixed(410)), on("/*", forward("A")))},
		alter: at(5, 10),
		steps: []plan.Planned{
			done(create(1, on("/x", fixed(403)))), done(modify(1, on("/x", fixed(410))), 0), done(remove(5, on("/x", fixed(403))), 0)},
		breaks: []breach{{2, 0, "neither before nor after"}},
	},
	"a rule narrows once another one answers the rest": {
		from: []lb.Listener{http(fixed(404), on("/x/*", fixed(403)), on("/*", forward("A")))},
		to:   []lb.Listener{http(fixed(404), on("/x/b", forward("B")), on("/x/a", fixed(403)), on("/*", forward("A")))},
		alter: func(seen *lb.Observed, want *lb.LoadBalancer) {
			at(5, 10)(seen, want)
			seen.Listeners[0].Rules[1].Rule = on("/*", forward("A"))
		},
		steps:  []plan.Planned{done(create(1, on("/x/b", forward("B")))), done(modify(5, on("/x/a", fixed(403))), 0)},
		breaks: []breach{{1, 0, "neither before nor after"}},
	},
	"a rule has the priority of another one once that has moved": {
		from:   []lb.Listener{http(fixed(404), on("/y", fixed(403)))},
		to:     []lb.Listener{http(fixed(404), on("/x", forward("A")), on("/y", fixed(403)))},
		steps:  []plan.Planned{done(plan.RespaceRules{Port: 80, To: map[int]int{1: 20}}), done(create(1, on("/x", forward("A"))), 0)},
		breaks: []breach{{1, 0, "rule 80/1"}},
	},
	"rules move before their port is closed": {
		from:   []lb.Listener{http(fixed(404), on("/x", fixed(404)))},
		steps:  []plan.Planned{done(plan.RespaceRules{Port: 80, To: map[int]int{1: 2}}), done(plan.DeleteListener{Port: 80}, 0)},
		breaks: []breach{{1, 0, "rule 80/2"}},
	},
	"a rule moves above one that goes once its successor is there": {
		from:  []lb.Listener{http(fixed(404), on("/x/*", fixed(403)), on("/*/y", forward("A")))},
		to:    []lb.Listener{http(fixed(404), on("/x/*", forward("B")), on("/*/y", forward("A")))},
		alter: at(5, 10),
		steps: []plan.Planned{
			done(create(1, on("/x/*", forward("B")))), done(remove(5, on("/x/*", fixed(403))), 0),
			done(plan.RespaceRules{Port: 80, To: map[int]int{10: 3}}, 0)},
		breaks: []breach{{2, 0, "neither before nor after"}},
	},
	"a rule moves above one that stays once a third one answers": {
		from:  []lb.Listener{http(fixed(404), on("/x/*", fixed(403)), on("/*/y", forward("A")))},
		to:    []lb.Listener{http(fixed(404), on("/x/y", forward("B")), on("/*/y", forward("A")), on("/x/*", fixed(403)))},
		alter: at(5, 10),
		steps: []plan.Planned{
			done(create(1, on("/x/y", forward("B")))), done(plan.RespaceRules{Port: 80, To: map[int]int{10: 3}}, 0)},
		breaks: []breach{{1, 0, "neither before nor after"}},
	},
	"a rule moves above one that switches once a third one answers": {
		from:  []lb.Listener{http(fixed(404), on("/x/*", fixed(403)), on("/*/y", forward("A")))},
		to:    []lb.Listener{http(fixed(404), on("/x/y", forward("B")), on("/*/y", forward("A")), on("/x/*", fixed(410)))},
		alter: at(5, 10),
		steps: []plan.Planned{
			done(create(1, on("/x/y", forward("B")))), done(plan.RespaceRules{Port: 80, To: map[int]int{10: 3}}, 0), done(modify(5, on("/x/*", fixed(410))), 1)},
		breaks: []breach{{1, 0, "neither before nor after"}},
	},
	"a rule goes once the one that answers then has moved up": {
		from:  []lb.Listener{http(fixed(404), on("/x/y", forward("B")), on("/*/y", forward("A")), on("/x/*", fixed(403)))},
		to:    []lb.Listener{http(fixed(404), on("/x/*", fixed(403)), on("/*/y", forward("A")))},
		alter: at(1, 5, 10),
		steps: []plan.Planned{
			done(plan.RespaceRules{Port: 80, To: map[int]int{10: 3}}), done(remove(1, on("/x/y", forward("B"))), 0)},
		breaks: []breach{{1, 0, "neither before nor after"}},
	},
	"a rule goes before its port is closed": {
		from:   []lb.Listener{http(fixed(404), on("/x", fixed(404)))},
		steps:  []plan.Planned{done(remove(1, on("/x", fixed(404)))), done(plan.DeleteListener{Port: 80}, 0)},
		breaks: []breach{{1, 0, "port 80"}},
	},
	"a port is open in the end": {
		to:     []lb.Listener{http(fixed(404)), {Port: 81, Protocol: routing.HTTP, Default: fixed(404)}},
		steps:  []plan.Planned{done(plan.CreateListener{Listener: http(fixed(404))}), done(plan.CreateListener{Listener: lb.Listener{Port: 81, Protocol: routing.HTTP, Default: fixed(404)}})},
		breaks: []breach{{0, dropped, "port 80 is closed"}},
	},
	"a port speaks what is wanted in the end": {
		from:   []lb.Listener{http(fixed(404))},
		to:     []lb.Listener{{Port: 80, Protocol: routing.HTTPS, Default: fixed(404), Rules: []lb.Rule{on("/x", forward("A"))}}},
		steps:  []plan.Planned{done(modifies(lb.Listener{Port: 80, Protocol: routing.HTTPS, Default: fixed(404)})), done(create(1, on("/x", forward("A"))))},
		breaks: []breach{{0, dropped, "port 80 speaks HTTP"}},
	},
	"a listener is made before it is changed": {
		to:     []lb.Listener{verifying(true, fixed(404))},
		steps:  []plan.Planned{done(plan.CreateListener{Listener: verifying(true, fixed(404))}), done(modifies(verifying(true, fixed(404))), 0)},
		breaks: []breach{{1, 0, "port 443"}, {0, dropped, "port 443"}},
	},
	"a load balancer is made before its web ACL and its listeners": {
		to: []lb.Listener{http(fixed(404))},
		alter: func(seen *lb.Observed, want *lb.LoadBalancer) {
			seen.Exists = false
			want.Protection.WebACL = "edge"
		},
		steps: []plan.Planned{
			done(plan.CreateLoadBalancer{LoadBalancer: lb.LoadBalancer{Key: "k"}}), done(setACL, 0), done(plan.CreateListener{Listener: http(fixed(404))}, 0, 1)},
		breaks: []breach{{1, 0, "the load balancer"}},
	},
	"a load balancer goes last": {
		from: []lb.Listener{http(forward("A"))}, alter: wants("B"),
		steps: []plan.Planned{
			done(plan.ModifyLoadBalancer{}), done(plan.DeleteLoadBalancer{Key: "k"}, 0), done(plan.DeleteTargetGroup{Group: "A"}, 1)},
		breaks: []breach{{1, 0, "the load balancer"}, {2, 1, "target group A"}},
	},
	"a target group that no rule names is there before its targets": {
		alter:  wants("A", "B", "C"),
		steps:  []plan.Planned{done(plan.CreateTargetGroup{Group: group("C")}), done(plan.RegisterTargets{Group: "C"}, 0)},
		breaks: []breach{{1, 0, "target group C"}, {1, dropped, "no step registers"}},
	},
	"a target group without targets waits for none": {
		alter: func(_ *lb.Observed, want *lb.LoadBalancer) {
			want.TargetGroups = append(want.TargetGroups, lb.TargetGroup{ID: "C"})
		},
		steps: []plan.Planned{done(plan.CreateTargetGroup{Group: lb.TargetGroup{ID: "C"}})},
	},
	"a web ACL that is not settled is not waited for": {
		from:  []lb.Listener{http(fixed(404))},
		to:    []lb.Listener{http(fixed(404), on("/x", forward("A")))},
		alter: acl(lb.NoWebACL, lb.Unsettled),
		steps: []plan.Planned{done(create(1, on("/x", forward("A"))))},
	},
	"a web ACL that is not wanted may stay": {
		from:  []lb.Listener{http(fixed(404))},
		to:    []lb.Listener{http(fixed(404), on("/x", forward("A")))},
		alter: acl("edge", lb.NoWebACL),
		steps: []plan.Planned{done(create(1, on("/x", forward("A"))))},
	},
	"a certificate is attached to a listener that is there": {
		to: []lb.Listener{serving("one", "two")},
		steps: []plan.Planned{
			done(plan.CreateListener{Listener: serving("one")}), done(plan.AttachCertificate{Port: 443, Certificate: "two"}, 0)},
		breaks: []breach{{1, 0, "port 443"}, {1, dropped, "does not serve all certificates"}},
	},
	"a certificate is attached before it is the default one": {
		from: []lb.Listener{serving("one")},
		to:   []lb.Listener{serving("two", "one")},
		steps: []plan.Planned{
			done(plan.AttachCertificate{Port: 443, Certificate: "two"}), done(modifies(serving("two", "one")), 0)},
		breaks: []breach{{1, 0, "certificate two of port 443"}, {1, dropped, "another default certificate"}},
	},
	"a certificate that is not wanted is detached": {
		from: []lb.Listener{serving("one", "two")},
		to:   []lb.Listener{serving("one")},
		steps: []plan.Planned{
			done(plan.DetachCertificate{Port: 443, Certificate: "two"}), done(plan.ModifyLoadBalancer{})},
		breaks: []breach{{0, dropped, "port 443 serves certificate two"}},
	},
}

// at gives the first rules of the first listener priorities.
func at(priorities ...int) func(*lb.Observed, *lb.LoadBalancer) {
	return func(seen *lb.Observed, _ *lb.LoadBalancer) {
		for i, priority := range priorities {
			seen.Listeners[0].Rules[i].Priority = priority
		}
	}
}

// serving returns a listener on port 443 with certificates.
func serving(ids ...lb.CertificateID) lb.Listener {
	l := verifying(false, fixed(404))
	l.Certificates = ids
	return l
}

func TestEachPromiseIsKept(t *testing.T) {
	for name, p := range promises {
		t.Run(name, p.test)
	}
}

func (p promise) verdict(steps []plan.Planned) proof.Verdict {
	before := lb.LoadBalancer{Key: "k", Wanted: true, Listeners: p.from, TargetGroups: []lb.TargetGroup{group("A"), group("B")}}
	want := before
	want.Listeners = p.to
	seen := stands(before)
	if p.alter != nil {
		p.alter(seen, &want)
	}
	return proof.Check(seen, want, plan.Plan{Key: "k", Steps: steps}, lb.ALB().Dialect)
}

// A cloud that checks the health of every group needs no rule for the wait, and still the wait.
func TestHealthWithoutRule(t *testing.T) {
	before := lb.LoadBalancer{Key: "k", Wanted: true, Listeners: []lb.Listener{http(fixed(404), on("/x", forward("A")))}, TargetGroups: []lb.TargetGroup{group("A"), group("C")}}
	want := before
	want.Listeners = []lb.Listener{http(fixed(404), on("/x", forward("C")))}
	seen := stands(before)
	seen.TargetGroup("C").Ready = false
	await, modify := done(plan.AwaitTargets{Group: "C"}), plan.ModifyRule{Port: 80, Priority: 1, Rule: on("/x", forward("C"))}
	c := lb.ALB().Dialect
	for _, tt := range []struct {
		without bool
		steps   []plan.Planned
		want    proof.Result
	}{
		{true, []plan.Planned{await, done(modify, 0)}, proof.Proven},
		{true, []plan.Planned{await, done(modify)}, proof.Refuted},
		{true, []plan.Planned{done(modify)}, proof.Refuted},
		{false, []plan.Planned{await, done(modify, 0)}, proof.Refuted},
	} {
		c.HealthWithoutRule = tt.without
		if v := proof.Check(seen, want, plan.Plan{Key: "k", Steps: tt.steps}, c); v.Result != tt.want {
			t.Errorf("%v: %v: %s", tt.steps, v.Result, v.Why)
		}
	}
	seen.TargetGroup("C").Ready, c.HealthWithoutRule = true, true
	if v := proof.Check(seen, want, plan.Plan{Key: "k", Steps: []plan.Planned{done(modify)}}, c); v.Result != proof.Proven {
		t.Errorf("a healthy group that no rule names: %v: %s", v.Result, v.Why)
	}
}

// TestAPlanMayTellThatItDoesNotWaitForHealth: the limits of a cloud can leave no other way.
func TestAPlanMayTellThatItDoesNotWaitForHealth(t *testing.T) {
	before := lb.LoadBalancer{Key: "k", Listeners: []lb.Listener{http(fixed(404), on("/x", forward("A")))}, TargetGroups: []lb.TargetGroup{group("A"), group("B")}}
	want := before
	want.Listeners = []lb.Listener{http(fixed(404), on("/x", forward("B")))}
	p := plan.Plan{Key: "k", Steps: []plan.Planned{done(modify(1, on("/x", forward("B"))))}}
	for reason, result := range map[diag.Reason]proof.Result{diag.DeleteFirst: proof.Refuted, diag.Unparked: proof.Proven} {
		p.Diagnostics = []diag.Diagnostic{{Reason: reason}}
		if v := proof.Check(stands(before), want, p, lb.ALB().Dialect); v.Result != result {
			t.Errorf("a plan that tells %s is %s: %s", reason, v.Result, v.Why)
		}
	}
}

func (p promise) test(t *testing.T) {
	if v := p.verdict(p.steps); v.Result != proof.Proven {
		t.Fatalf("the plan is %s: %s, %v %+v", v.Result, v.Why, v.Done, v.Request)
	}
	for _, b := range p.breaks {
		v := p.verdict(b.broken(p.steps))
		if v.Result != proof.Refuted || !strings.Contains(v.Why, b.why) {
			t.Errorf("without what step %d waits for (%d) the plan is %s: %s", b.step, b.waits, v.Result, v.Why)
		}
	}
}

// TestCertificatesThatAreNotThere are served by no plan: one that was replaced, and one that no step
// imports.
func TestCertificatesThatAreNotThere(t *testing.T) {
	one := lb.Certificate{ID: "one", Hosts: []string{"a.test"}}
	second := serving("two")
	second.Port = 444
	before := lb.LoadBalancer{Key: "k", Listeners: []lb.Listener{serving("one"), second}}
	want := before
	want.Listeners = []lb.Listener{serving("three"), second}
	want.Listeners[1].Certificates = []lb.CertificateID{"two", "one"}
	seen := stands(before)
	seen.Certificates = []lb.ObservedCertificate{{Certificate: one}}
	replaced := []plan.Planned{done(plan.ReplaceCertificate{Old: "one", New: lb.Certificate{ID: "three", Hosts: one.Hosts}}),
		done(plan.AttachCertificate{Port: 444, Certificate: "one"}, 0)}
	v := proof.Check(seen, want, plan.Plan{Key: "k", Steps: replaced}, lb.ALB().Dialect)
	if v.Result != proof.Refuted || !strings.HasPrefix(v.Why, "step 2 (attach certificate") {
		t.Errorf("of one that was replaced the plan is %s: %s", v.Result, v.Why)
	}

	want = before
	want.Certificates = []lb.Certificate{one}
	v = proof.Check(stands(before), want, plan.Plan{Key: "k", Steps: []plan.Planned{done(plan.ModifyLoadBalancer{})}}, lb.ALB().Dialect)
	if v.Result != proof.Refuted || !strings.Contains(v.Why, "serves certificate one, which is not there") {
		t.Errorf("of one that is not imported the plan is %s: %s", v.Result, v.Why)
	}
}

func TestATargetGroupThatARuleNamesStays(t *testing.T) {
	want := lb.LoadBalancer{Key: "k", Wanted: true, Listeners: []lb.Listener{http(fixed(404), on("/x", forward("A")))}}
	v := proof.Check(stands(lb.LoadBalancer{Key: "k", Listeners: want.Listeners, TargetGroups: []lb.TargetGroup{group("A")}}), want,
		plan.Plan{Key: "k", Steps: []plan.Planned{done(plan.DeleteTargetGroup{Group: "A"})}}, lb.ALB().Dialect)
	if v.Result != proof.Refuted || !strings.Contains(v.Why, "which is not there") {
		t.Errorf("the plan is %s: %s", v.Result, v.Why)
	}
}

// broken returns steps without one, or without one wait for another.
func (b breach) broken(steps []plan.Planned) []plan.Planned {
	var out []plan.Planned
	for i, s := range steps {
		if b.waits == dropped && i == b.step {
			continue
		}
		var after []int
		for _, a := range s.After {
			switch {
			case b.waits == dropped && a == b.step:
				after = append(after, steps[a].After...) // it precedes all that the others name
			case b.waits == dropped && a > b.step:
				after = append(after, a-1)
			case b.waits == dropped || i != b.step || a != b.waits:
				after = append(after, a)
			default: // This is the wait that is taken away; what went before that stays.
				after = append(after, steps[a].After...)
			}
		}
		out = append(out, plan.Planned{Step: s.Step, After: after})
	}
	return out
}

// stands is what is there once a load balancer has been made, with the first rule at priority 1.
func stands(b lb.LoadBalancer) *lb.Observed {
	o := &lb.Observed{Key: b.Key}
	plan.CreateLoadBalancer{LoadBalancer: b}.Do(o, plan.Result{})
	for _, g := range b.TargetGroups {
		plan.CreateTargetGroup{Group: g}.Do(o, plan.Result{})
		o.TargetGroup(g.ID).Registered, o.TargetGroup(g.ID).Ready = true, true
	}
	for i, l := range b.Listeners {
		plan.CreateListener{Listener: l}.Do(o, plan.Result{})
		for j, r := range l.Rules {
			o.Listeners[i].Rules = append(o.Listeners[i].Rules, lb.ObservedRule{Rule: r, Priority: j + 1})
		}
	}
	return o
}
