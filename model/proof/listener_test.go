package proof

import (
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
)

// This file asks for the rules of one listener through small plans.

func fixed(status int) lb.Action { return lb.FromRouting(routing.Status(status)) }

// on returns a rule for a host and a path; for any of these where it is empty.
func on(host, path string, status int) lb.Rule {
	r := lb.Rule{Action: fixed(status)}
	if host != "" {
		r.Conditions = append(r.Conditions, lb.Condition{Field: "host", Values: []string{host}})
	}
	if path != "" {
		r.Conditions = append(r.Conditions, lb.Condition{Field: "path", Values: []string{path}})
	}
	return r
}

// standing is a load balancer with port 80, and rules with the priorities 1, 2 and so on.
func standing(rules ...lb.Rule) *lb.Observed {
	o := &lb.Observed{Exists: true}
	l := lb.ObservedListener{Port: 80, Protocol: routing.HTTP, Default: fixed(404)}
	for i, r := range rules {
		l.Rules = append(l.Rules, lb.ObservedRule{Rule: r, Priority: i + 1})
	}
	o.Listeners = append(o.Listeners, l)
	return o
}

// wanted has port 80 with some rules.
func wanted(rules ...lb.Rule) lb.LoadBalancer {
	return lb.LoadBalancer{Listeners: []lb.Listener{{Port: 80, Protocol: routing.HTTP, Default: fixed(404), Rules: rules}}}
}

func steps(all ...plan.Planned) plan.Plan { return plan.Plan{Steps: all} }

func does(s plan.Step, after ...int) plan.Planned { return plan.Planned{Step: s, After: after} }

// course follows a plan that has no fault.
func course(t *testing.T, seen *lb.Observed, want lb.LoadBalancer, p plan.Plan) *Course {
	t.Helper()
	c := follow(seen, want, p, lb.ALB().Dialect)
	if c.Fault != nil {
		t.Fatal(c.Fault.Why)
	}
	return c
}

// spans are the rules of port 80 with an action, without the default action.
func spans(c *Course, status int) (out []*span) {
	for _, s := range c.Ports[80].Served {
		if len(s.Rule.Conditions) > 0 && s.Rule.Action.Key() == fixed(status).Key() {
			out = append(out, s)
		}
	}
	return out
}

// A rule has a priority between two steps that give rules new ones where it may be there then.
func TestPrioritiesOfARuleBetweenNewNumbers(t *testing.T) {
	stays, moves := on("a.test", "", 200), on("b.test", "", 201)
	respace := plan.RespaceRules{Port: 80, To: map[int]int{1: 10}}
	create := plan.CreateRule{Port: 80, Priority: 5, Rule: moves}
	remove := plan.DeleteRule{Port: 80, Priority: 2, Rule: moves}
	both := []lb.Rule{stays, moves}
	for _, tt := range []struct {
		why  string
		seen *lb.Observed
		want lb.LoadBalancer
		plan plan.Plan
		is   []int // the priorities of the rule that comes or goes
	}{
		{"it comes after them", standing(stays), wanted(moves, stays), steps(does(respace), does(create, 0)), []int{0, 5}},
		{"it may come before them", standing(stays), wanted(moves, stays), steps(does(respace), does(create)), []int{5, 5}},
		{"it goes before them", standing(both...), wanted(stays), steps(does(remove), does(respace, 0)), []int{2, 0}},
		{"it may go after them", standing(both...), wanted(stays), steps(does(remove), does(respace)), []int{2, 2}},
		{"it stays", standing(both...), wanted(moves, stays), steps(does(respace)), []int{2, 2}},
	} {
		c := course(t, tt.seen, tt.want, tt.plan)
		if got := spans(c, 201)[0].Priority; !slices.Equal(got, tt.is) {
			t.Errorf("%s: %v, want %v", tt.why, got, tt.is)
		}
	}
}

func TestAbove(t *testing.T) {
	for _, tt := range []struct {
		why          string
		s, o         []int
		some, always bool
	}{
		{"above", []int{1}, []int{2}, true, true},
		{"below", []int{2}, []int{1}, false, false},
		{"itself", []int{1}, []int{1}, false, false},
		{"above at first", []int{1, 3}, []int{2, 2}, true, false},
		{"above at last", []int{3, 1}, []int{2, 2}, true, false},
		{"gone before the other comes", []int{1, 0}, []int{0, 2}, false, true},
		{"above while both are there", []int{1, 0}, []int{2, 2}, true, true},
		{"above once the other is there", []int{1, 1}, []int{0, 2}, true, true},
		{"below while both are there", []int{3, 0}, []int{2, 2}, false, false},
		{"below once the other is there", []int{3, 3}, []int{0, 2}, false, false},
	} {
		some, always := (&span{Priority: tt.s}).Above(&span{Priority: tt.o})
		if some != tt.some || always != tt.always {
			t.Errorf("%s: at some time %t, always %t", tt.why, some, always)
		}
	}
}

// A rule switches whose action alone changes, once.
func TestSwitches(t *testing.T) {
	r, next, last := on("a.test", "", 200), on("a.test", "", 201), on("a.test", "", 202)
	other := on("b.test", "", 201)
	change := func(r lb.Rule) plan.Step { return plan.ModifyRule{Port: 80, Priority: 1, Rule: r} }
	for _, tt := range []struct {
		why      string
		seen     *lb.Observed
		want     lb.LoadBalancer
		plan     plan.Plan
		switches []int // the actions of the rules that switch
	}{
		{"it stays", standing(r), wanted(r), steps(), nil},
		{"its action changes", standing(r), wanted(next), steps(does(change(next))), []int{200, 201}},
		{"its action changes twice", standing(r), wanted(last), steps(does(change(next)), does(change(last), 0)), nil},
		{"its conditions change", standing(r), wanted(other), steps(does(change(other))), nil},
		{"it goes with another action", standing(r), wanted(), steps(does(change(next)), does(plan.DeleteRule{Port: 80, Priority: 1, Rule: next}, 0)), nil},
		{"it comes with another action", standing(), wanted(next), steps(does(plan.CreateRule{Port: 80, Priority: 1, Rule: r}), does(change(next), 0)), nil},
	} {
		c := course(t, tt.seen, tt.want, tt.plan)
		for _, status := range []int{200, 201, 202} {
			for _, s := range spans(c, status) {
				if got := s.Switches(); got != slices.Contains(tt.switches, status) {
					t.Errorf("%s: of %d %t", tt.why, status, got)
				}
			}
		}
	}
}

func TestHostsOfRules(t *testing.T) {
	both := on("a.test", "", 200)
	both.Conditions[0].Regex = []string{"^b"}
	several := on("A.test", "", 200)
	several.Conditions[0].Values = append(several.Conditions[0].Values, "b.test")
	for _, tt := range []struct {
		rule lb.Rule
		want string
	}{
		{on("", "/x", 200), ""}, {on("a.test", "", 200), "a.test"}, {several, "a.test b.test"},
		{on("*.test", "", 200), ""}, {on("?.test", "", 200), ""}, {both, ""},
	} {
		if got := strings.Join(hosts(tt.rule), " "); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.rule, got, tt.want)
		}
	}
}

// The rules that decide which one answers: those that are there, not below it, and that a request
// may match.
func TestRulesThatDecideWhichAnswers(t *testing.T) {
	x, y, all := on("a.test", "/x", 201), on("a.test", "/y", 202), on("a.test", "", 200)
	below, comes := on("a.test", "/x/y", 203), on("a.test", "/x*", 204)
	seen := standing(y, x, all, below)
	c := course(t, seen, wanted(comes, y, x, all, below), steps(
		does(plan.RespaceRules{Port: 80, To: map[int]int{1: 11, 2: 12, 3: 13, 4: 14}}), does(plan.CreateRule{Port: 80, Priority: 1, Rule: comes}, 0)))
	of := func(status int) *span { return spans(c, status)[0] }
	asked := routing.Request{Port: 80, Host: "a.test", Path: "/x", Method: "GET"}
	for _, tt := range []struct {
		why    string
		after  bool
		path   string
		found  *span
		decide []*span
	}{
		{"before the plan", false, "/x", of(201), []*span{of(201)}},
		{"after the plan", true, "/x", of(204), []*span{of(204)}},
		{"of requests that the rule itself does not match", false, "/z", of(200), []*span{of(201), of(200)}},
	} {
		asked.Path = tt.path
		found, decide := c.Ports[80].First(of(201), asked, tt.after)
		if found != tt.found || !slices.Equal(decide, tt.decide) {
			t.Errorf("%s: %v answers, and %d rules decide it, want %v and %d", tt.why, found.Rule, len(decide), tt.found.Rule, len(tt.decide))
		}
	}
	asked.Host = "b.test"
	c = course(t, standing(x), wanted(x), steps())
	c.Ports[80].Served[0].Priority[0] = 0 // as where the default action is not there yet
	if found, decide := c.Ports[80].First(of(201), asked, false); found != nil || len(decide) != 1 {
		t.Errorf("where none answers, %v does, and %d rules decide it", found, len(decide))
	}
}

// A listener that speaks HTTP serves no certificates and verifies no clients, whatever it lists.
func TestAListenerThatSpeaksHTTPHasNoCertificates(t *testing.T) {
	seen := standing()
	l := &seen.Listeners[0]
	l.Protocol, l.Certificates, l.Verifies = routing.HTTPS, []lb.CertificateID{"a"}, true
	want := wanted()
	plain := &want.Listeners[0]
	plain.Certificates, plain.Verifies = l.Certificates, false
	c := course(t, seen, want, steps(does(plan.ModifyListener{Listener: *plain})))
	if got := c.Ports[80].Certificates[0].Until; got != 0 {
		t.Errorf("it serves the certificate until step %d", got)
	}
	plain.Verifies = true
	course(t, standing(), want, steps())
}

// A certificate that is attached does not become the default one, even if it was that before.
func TestTheDefaultCertificateDoesNotComeBack(t *testing.T) {
	seen := standing()
	l := &seen.Listeners[0]
	l.Protocol, l.Certificates = routing.HTTPS, []lb.CertificateID{"a"}
	want := wanted()
	secure := &want.Listeners[0]
	secure.Protocol = routing.HTTPS
	bare := *secure
	secure.Certificates = l.Certificates
	c := follow(seen, want, steps(does(plan.ModifyListener{Listener: bare}), does(plan.AttachCertificate{Port: 80, Certificate: "a"}, 0)), lb.ALB().Dialect)
	if c.Fault == nil || !strings.Contains(c.Fault.Why, "another default certificate") {
		t.Errorf("the fault is %v", c.Fault)
	}
}
