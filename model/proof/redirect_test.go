package proof_test

import (
	"testing"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/proof"
	"fairlead.dev/fairlead/model/routing"
)

// This file has promises about redirects from one port to another, which may change requests.

// leads returns a redirect to port 443, or to another one.
func leads(r routing.Redirect) lb.Action {
	if r.Status = 302; r.Port == "" {
		r.Port = "443"
	}
	return lb.FromRouting(routing.Action{Redirect: &r})
}

// when returns a rule for requests that have a value.
func when(field, name, value string, a lb.Action) lb.Rule {
	return lb.Rule{Action: a,
		Conditions: []lb.Condition{{Field: field, Name: name, Values: []string{value}}}}
}

func port(number int32, def lb.Action, rules ...lb.Rule) lb.Listener {
	return lb.Listener{Port: number, Protocol: routing.HTTP, Default: def, Rules: rules}
}

// opened is a rule that a plan creates at the first priority of a port.
func opened(number int32, r lb.Rule) plan.Step {
	return plan.CreateRule{Port: number, Priority: 1, Rule: r}
}

// arrives is the promise that a port has a rule before another port redirects to it.
func arrives(a lb.Action, number int32, r lb.Rule) promise {
	return promise{
		from: []lb.Listener{http(fixed(404)), port(number, fixed(403))},
		to:   []lb.Listener{http(a), port(number, fixed(403), r)},
		steps: []plan.Planned{
			done(opened(number, r)), done(modifies(http(a)), 0)},
		breaks: []breach{{1, 0, "a redirected request"}},
	}
}

var toHost = leads(routing.Redirect{Host: "b.test"})

var redirectPromises = map[string]promise{
	"a redirect to a host": arrives(toHost, 443, when("host", "", "b.test", forward("A"))),
	"a redirect to a path": arrives(leads(routing.Redirect{Path: "/b"}), 443,
		on("/b", forward("A"))),
	"a redirect that keeps the query": arrives(redirectTo("443"), 443,
		when("query", "q", "1", forward("A"))),
	"a rule of one host redirects to another": {
		from: []lb.Listener{http(fixed(404)), port(443, fixed(403))},
		to: []lb.Listener{http(fixed(404), when("host", "", "a.test", toHost)),
			port(443, fixed(403), when("host", "", "b.test", forward("A")))},
		steps: []plan.Planned{
			done(opened(443, when("host", "", "b.test", forward("A")))),
			done(opened(80, when("host", "", "a.test", toHost)), 0)},
		breaks: []breach{{1, 0, "a redirected request"}},
	},
	"a redirect leads to a second one": {
		from: []lb.Listener{http(fixed(403)), port(81, redirectTo("82")), port(82, fixed(404))},
		to:   []lb.Listener{http(redirectTo("81")), port(81, redirectTo("82")), port(82, forward("A"))},
		steps: []plan.Planned{
			done(modifies(port(82, forward("A")))), done(modifies(http(redirectTo("81"))), 0)},
		breaks: []breach{{1, 0, "a redirected request"}},
	},
	"a redirect goes before the port that it leads to has changed": {
		from: []lb.Listener{http(redirectTo("443")), port(443, forward("A"))},
		to:   []lb.Listener{http(forward("A")), port(443, fixed(404))},
		steps: []plan.Planned{
			done(modifies(http(forward("A")))), done(modifies(port(443, fixed(404))), 0)},
		breaks: []breach{{1, 0, "a redirected request"}},
	},
	"a redirect that changes the host goes before the port has changed": {
		from: []lb.Listener{http(toHost), port(443, forward("A"))},
		to:   []lb.Listener{http(forward("A")), port(443, fixed(404))},
		steps: []plan.Planned{
			done(modifies(http(forward("A")))), done(modifies(port(443, fixed(404))), 0)},
		breaks: []breach{{1, 0, "a redirected request"}},
	},
	"a redirect of a port that opens is there at any time": {
		from: []lb.Listener{port(443, fixed(403))},
		to:   []lb.Listener{http(toHost), port(443, fixed(403), on("/x", forward("A")))},
		steps: []plan.Planned{
			done(opened(443, on("/x", forward("A")))), done(plan.CreateListener{Listener: http(toHost)})},
	},
	"a redirect of a port that closes is there at any time": {
		from: []lb.Listener{http(toHost), port(443, fixed(403))},
		to:   []lb.Listener{port(443, fixed(403), on("/x", forward("A")))},
		steps: []plan.Planned{
			done(opened(443, on("/x", forward("A")))), done(plan.DeleteListener{Port: 80})},
	},
	"a redirect meets no rule for other paths": {
		from: []lb.Listener{http(fixed(404)), port(82, fixed(404)), port(443, fixed(403))},
		to: []lb.Listener{http(fixed(404), on("/x", redirectTo("443"))), port(82, fixed(404)),
			port(443, fixed(403), on("/y", leads(routing.Redirect{Port: "82"})))},
		steps: []plan.Planned{
			done(opened(443, on("/y", leads(routing.Redirect{Port: "82"})))),
			done(opened(80, on("/x", redirectTo("443"))))},
	},
	"a new redirect waits for the port, and new priorities do not": {
		from: []lb.Listener{http(fixed(404), on("/*/y", fixed(410))), port(443, fixed(403))},
		to: []lb.Listener{http(fixed(404), on("/x/*", toHost), on("/*/y", fixed(410))),
			port(443, fixed(403), on("/x/y", forward("A")))},
		steps: []plan.Planned{
			done(opened(443, on("/x/y", forward("A")))), done(create(9, on("/x/*", toHost)), 0),
			done(plan.RespaceRules{Port: 80, To: map[int]int{1: 20}})},
	},
	"the port waits until a redirect goes, and new priorities do not": {
		from: []lb.Listener{http(fixed(404), on("/x/*", toHost), on("/*/y", fixed(410))),
			port(443, fixed(403), on("/x/y", forward("A")))},
		to:    []lb.Listener{http(fixed(404), on("/*/y", fixed(410))), port(443, fixed(403))},
		alter: at(5, 10),
		steps: []plan.Planned{
			done(remove(5, on("/x/*", toHost))), done(removeTLS(1, on("/x/y", forward("A"))), 0),
			done(plan.RespaceRules{Port: 80, To: map[int]int{10: 3}})},
	},
	"new priorities of ports that change no order are no change": {
		from: []lb.Listener{http(fixed(404)), port(81, fixed(404), on("/x", redirectTo("82"))),
			port(82, fixed(403), on("/x", forward("A")))},
		to: []lb.Listener{http(redirectTo("81")), port(81, fixed(404), on("/x", redirectTo("82"))),
			port(82, fixed(403), on("/x", forward("A")))},
		steps: []plan.Planned{
			done(plan.RespaceRules{Port: 81, To: map[int]int{1: 5}}),
			done(plan.RespaceRules{Port: 82, To: map[int]int{1: 5}}),
			done(plan.RespaceRules{Port: 82, To: map[int]int{5: 7}}, 1),
			done(modifies(http(redirectTo("81"))))},
	},
	"a redirect that stays below a rule that stays waits for no port": {
		from: []lb.Listener{http(fixed(404), on("/x/y", fixed(410)), on("/x/*", toHost)),
			port(443, fixed(403))},
		to: []lb.Listener{http(fixed(404), on("/x/y", fixed(410)), on("/x/*", toHost)),
			port(443, fixed(403), on("/z", forward("A")))},
		steps: []plan.Planned{done(opened(443, on("/z", forward("A"))))},
	},
	"a redirect moves above a rule once the port has changed": {
		from: []lb.Listener{http(fixed(404), on("/*/y", forward("A")), on("/x/*", redirectTo("443"))),
			port(443, fixed(404))},
		to: []lb.Listener{http(fixed(404), on("/x/*", redirectTo("443")), on("/*/y", forward("A"))),
			port(443, forward("B"))},
		alter: at(5, 10),
		steps: []plan.Planned{
			done(modifies(port(443, forward("B")))),
			done(plan.RespaceRules{Port: 80, To: map[int]int{10: 3}}, 0)},
		breaks: []breach{{1, 0, "a redirected request"}},
	},
	"a rule above a redirect goes once the port has changed": {
		from: []lb.Listener{http(fixed(404), on("/x/y", forward("A")), on("/x/*", redirectTo("443"))),
			port(443, fixed(404))},
		to: []lb.Listener{http(fixed(404), on("/x/*", redirectTo("443"))), port(443, forward("B"))},
		steps: []plan.Planned{
			done(modifies(port(443, forward("B")))), done(remove(1, on("/x/y", forward("A"))), 0)},
		breaks: []breach{{1, 0, "a redirected request"}},
	},
	"a redirect leads to a port once that is open": {
		from: []lb.Listener{http(fixed(404))},
		to:   []lb.Listener{http(redirectTo("443")), port(443, forward("A"))},
		steps: []plan.Planned{
			done(plan.CreateListener{Listener: port(443, forward("A"))}),
			done(modifies(http(redirectTo("443"))), 0)},
		breaks: []breach{{1, 0, "a redirected request"}},
	},
	"a port closes once no redirect leads to it": {
		from: []lb.Listener{http(redirectTo("443")), port(443, forward("A"))},
		to:   []lb.Listener{http(forward("A"))},
		steps: []plan.Planned{
			done(modifies(http(forward("A")))), done(plan.DeleteListener{Port: 443}, 0)},
		breaks: []breach{{1, 0, "a redirected request"}},
	},
	"a redirect goes before a rule of some of its requests has changed": {
		from: []lb.Listener{http(redirectTo("443")), port(443, forward("A"), on("/y", fixed(403)))},
		to:   []lb.Listener{http(forward("A")), port(443, forward("A"), on("/y", forward("B")))},
		steps: []plan.Planned{
			done(modifies(http(forward("A")))),
			done(plan.ModifyRule{Port: 443, Priority: 1, Rule: on("/y", forward("B"))}, 0)},
		breaks: []breach{{1, 0, "a redirected request"}},
	},
	"a redirect may lead to a port that is announced to close early": {
		from: []lb.Listener{http(redirectTo("443")), port(443, forward("A"))},
		to:   []lb.Listener{http(forward("A"))},
		steps: []plan.Planned{
			done(modifies(http(forward("A")))),
			{Step: plan.DeleteListener{Port: 443}, Early: diag.DeleteFirst}},
	},
	"a redirect may lead to a rule that is announced to come early": {
		from: []lb.Listener{http(redirectTo("443")), port(443, forward("A"))},
		to:   []lb.Listener{http(forward("A")), port(443, forward("A"), on("/x", fixed(404)))},
		steps: []plan.Planned{
			done(modifies(http(forward("A")))),
			{Step: opened(443, on("/x", fixed(404))), Early: diag.DeleteFirst}},
	},
}

func TestRedirectsFindPortsAsTheyWereOrWillBe(t *testing.T) {
	for name, p := range redirectPromises {
		t.Run(name, p.test)
	}
}

// TestRedirectsThatChangeRequestsAreUndecided where the port that they lead to changes meanwhile: a
// request that arrives there may match other rules than the one that was redirected.
func TestRedirectsThatChangeRequestsAreUndecided(t *testing.T) {
	for name, c := range map[string]struct {
		from, to int32
		action   lb.Action
		result   proof.Result
	}{
		"no change":       {80, 443, redirectTo("443"), proof.Refuted},
		"the host":        {80, 443, toHost, proof.Undecided},
		"the path":        {80, 443, leads(routing.Redirect{Path: "/b"}), proof.Undecided},
		"the query":       {80, 443, leads(routing.Redirect{Query: "q=1"}), proof.Undecided},
		"a port before":   {81, 443, redirectTo("443"), proof.Undecided},
		"a port to go to": {80, 81, redirectTo("81"), proof.Undecided},
	} {
		t.Run(name, func(t *testing.T) {
			r := when("host", "", "c.test", forward("A"))
			p := promise{
				from:  []lb.Listener{port(c.from, fixed(404)), port(c.to, fixed(403))},
				to:    []lb.Listener{port(c.from, c.action), port(c.to, fixed(403), r)},
				steps: []plan.Planned{done(opened(c.to, r)), done(modifies(port(c.from, c.action)))},
			}
			if v := p.verdict(p.steps); v.Result != c.result {
				t.Errorf("the plan is %s: %s", v.Result, v.Why)
			}
		})
	}
}

// TestARedirectedRequestIsAnother on the port that it arrives at: a rule there with the conditions
// of the rule that redirects does not match it, and what that rule does is not said of it.
func TestARedirectedRequestIsAnother(t *testing.T) {
	query := leads(routing.Redirect{Query: "p=1"})
	for name, c := range map[string]struct{ from, to lb.Rule }{
		"its host has the port": {when("host", "", "c.test", redirectTo("81")),
			when("host", "", "c.test", forward("A"))},
		"it has another query": {when("query", "q", "1", query), when("query", "q", "1", forward("A"))},
	} {
		t.Run(name, func(t *testing.T) {
			number := c.from.Action.Redirect.Target(80, routing.HTTP)
			p := promise{
				from: []lb.Listener{http(fixed(404)), port(number, fixed(403))},
				to:   []lb.Listener{http(fixed(404), c.from), port(number, fixed(403), c.to)},
			}
			p.steps = []plan.Planned{done(opened(80, c.from)), done(opened(number, c.to), 0)}
			if v := p.verdict(p.steps); v.Result != proof.Undecided {
				t.Errorf("the plan is %s: %s", v.Result, v.Why)
			}
		})
	}
}

// TestARedirectSetsTheQuery that rules of the port look at which it leads to: the default action there
// answers none of these requests, so its change is not seen by them.
func TestARedirectSetsTheQuery(t *testing.T) {
	for query, result := range map[string]proof.Result{
		"p=1": proof.Undecided, "q=2&p=1": proof.Undecided, "#{query}&p=1": proof.Undecided, "p=2": proof.Refuted,
	} {
		to, there := on("/", leads(routing.Redirect{Query: query})), when("query", "p", "1", forward("A"))
		p := promise{
			from:  []lb.Listener{http(fixed(404)), port(443, fixed(403), there)},
			to:    []lb.Listener{http(fixed(404), to), port(443, fixed(402), there)},
			steps: []plan.Planned{done(opened(80, to)), done(modifies(port(443, fixed(402), there)), 0)},
		}
		if v := p.verdict(p.steps); v.Result != result {
			t.Errorf("with query %s the plan is %s: %s", query, v.Result, v.Why)
		}
	}
}

// TestARedirectWithinAPortIsFollowedNoFurther: a limit of the check. The rule for /b changes at any
// time, so that requests for /x of port 80 may get 410, as neither before the plan nor after it.
func TestARedirectWithinAPortIsFollowedNoFurther(t *testing.T) {
	within := on("/x", leads(routing.Redirect{Path: "/b"}))
	to := on("/x", redirectTo("443"))
	p := promise{
		from: []lb.Listener{http(fixed(404)), port(443, fixed(403), within, on("/b", fixed(410)))},
		to:   []lb.Listener{http(fixed(404), to), port(443, fixed(403), within, on("/b", forward("A")))},
		steps: []plan.Planned{done(opened(80, to)),
			done(plan.ModifyRule{Port: 443, Priority: 2, Rule: on("/b", forward("A"))})},
	}
	if v := p.verdict(p.steps); v.Result != proof.Proven {
		t.Errorf("the limit that decision 0034 tells is gone: the plan is %s: %s", v.Result, v.Why)
	}
}
