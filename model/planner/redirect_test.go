package planner

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// TestARedirectOfAnotherStatus holds redirects to one place, of two statuses, to an order: each
// leads to the port as it is on its own side of the change.
func TestARedirectOfAnotherStatus(t *testing.T) {
	plain := func(status int) lb.Listener {
		to := routing.Action{Redirect: &routing.Redirect{Status: status, Scheme: "https"}}
		return listener(80, rule("a.example.com", "", lb.FromRouting(to)))
	}
	tls := func(status int) lb.Listener {
		return secure(listener(443, rule("a.example.com", "", fixed(status))), "C")
	}
	type order map[string][]string // by step, those that it waits for
	for why, c := range map[string]struct {
		from, to lb.LoadBalancer
		want     order
	}{
		"the port closes when the old redirect is gone": {
			balancer(plain(302), tls(200)), balancer(plain(301)),
			order{"modify rule 80/24992": nil, "delete listener 443": {"modify rule 80/24992"}},
		},
		"the new redirect leads to a port that is open": {
			balancer(plain(302)), balancer(plain(301), tls(200)),
			order{"create listener 443": nil, "create rule 443/24992": {"create listener 443"}, "modify rule 80/24992": {"create listener 443", "create rule 443/24992"}},
		},
		"both redirects lead to the same answers of a port that stays": {
			balancer(plain(302), tls(200)), balancer(plain(301), tls(403)),
			order{"modify rule 80/24992": nil, "modify rule 443/24992": nil},
		},
		"the same redirect goes on leading to a port that closes": {
			balancer(plain(301), tls(200)), balancer(plain(301)),
			order{"delete listener 443": nil},
		},
	} {
		t.Run(why, func(t *testing.T) {
			p := Diff(built(c.from, lb.ALB()), c.to, lb.ALB())
			got := order{}
			for i, s := range p.Steps {
				var after []string
				for _, before := range s.After {
					after = append(after, named(p)[before])
				}
				got[named(p)[i]] = after
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(p.Diagnostics) > 0 {
				t.Error(p.Diagnostics)
			}
		})
	}
}

func TestOnlyAnswer(t *testing.T) {
	to := func(location string, status int) lb.Action {
		return lb.Action{Kind: "redirect", Location: location, Status: status, Redirect: &routing.Redirect{}}
	}
	for _, tt := range []struct {
		why      string
		all      []lb.Action
		oneSided bool
		want     bool
	}{
		{"none", nil, false, false},
		{"the same", []lb.Action{to("/x", 301)}, true, true},
		{"another answer", []lb.Action{fixed(200)}, false, false},
		{"another answer of that place", []lb.Action{{Kind: "fixed", Location: "/x", Status: 301}}, false, false},
		{"another place", []lb.Action{to("/x", 301), to("/y", 301)}, false, false},
		{"another status", []lb.Action{to("/x", 302)}, false, true},
		{"another status at a port that opens", []lb.Action{to("/x", 302)}, true, false},
	} {
		if got := onlyAnswer(tt.all, to("/x", 301), tt.oneSided); got != tt.want {
			t.Errorf("%s: %t", tt.why, got)
		}
	}
}

// The requests of a rule that changes are answered by the rules below it, before or after.
func TestAnswers(t *testing.T) {
	here, twoHosts := rule("a.test", "/x*", fixed(200)), rule("", "/x*", fixed(208))
	twoHosts.Conditions = append(twoHosts.Conditions, lb.Condition{Field: "host", Values: []string{"a.test", "b.test"}})
	narrow := rule("a.test", "/x*", fixed(208))
	above, part, other, all, last := rule("", "/x0", fixed(201)), rule("", "/x1", fixed(202)), rule("b.test", "", fixed(203)), rule("a.test", "", fixed(204)), rule("a.test", "/x2", fixed(205))
	away := rule("", "/z", fixed(206))
	for _, tt := range []struct {
		why      string
		from, to lb.LoadBalancer
		line     int
		rule     lb.Rule
		was, is  []int
	}{
		{"added", balancer(listener(80, above, part, away, other, all, last)), balancer(listener(80, above, here, part, away, other, all, last)), 1, here, []int{202, 204}, []int{200}},
		{"added above the default", balancer(listener(80, part, other, last)), balancer(listener(80, here, part, other, last)), 0, here, []int{202, 205, 404}, []int{200}},
		{"added to a port that opens", balancer(listener(81)), balancer(listener(80, here), listener(81)), 0, here, nil, []int{200}},
		{"removed", balancer(listener(80, above, here, part, other, all, last)), balancer(listener(80, above, part, other, all, last)), 1, here, []int{200}, []int{202, 204}},
		{"narrowed", balancer(listener(80, above, twoHosts)), balancer(listener(80, above, narrow)), 1, twoHosts, []int{208}, []int{404}},
		{"switched", balancer(listener(80, here)), balancer(listener(80, rule("a.test", "/x*", fixed(210)))), 0, rule("a.test", "/x*", fixed(210)), []int{200}, []int{210}},
		{"the default action", balancer(listener(80, here)), balancer(defaulting(listener(80, here), fixed(410))), absent, lb.Rule{}, []int{404}, []int{410}},
		{"a port that closes", balancer(listener(80, here)), balancer(), absent, lb.Rule{}, []int{404, 200}, nil},
	} {
		c := lb.ALB()
		d := &difference{caps: c, overlaps: newOverlapCache(c.Dialect)}
		ch := newChange(compare(built(tt.from, c), tt.to, c)[0], d.overlaps)
		task := answerTask{entry{rule: tt.rule}, tt.line, Kept}
		if tt.line != absent {
			task.fate = ch.lines[tt.line].Change
		}
		statuses := func(all []lb.Action) (out []int) {
			for _, a := range all {
				out = append(out, a.Status)
			}
			return out
		}
		was, is := d.answers(ch, task)
		if !slices.Equal(statuses(was), tt.was) || !slices.Equal(statuses(is), tt.is) {
			t.Errorf("%s: from %v to %v, want %v to %v", tt.why, statuses(was), statuses(is), tt.was, tt.is)
		}
	}
}

func TestArriving(t *testing.T) {
	r := rule("a.test", "/x", fixed(200))
	for _, tt := range []struct {
		redirect routing.Redirect
		want     []string
	}{{routing.Redirect{Host: "b.test"}, []string{"path"}}, {routing.Redirect{Path: "/y"}, []string{"host"}}, {routing.Redirect{}, []string{"host", "path"}}} {
		var fields []string
		for _, c := range redirectedRule(r, lb.Action{Redirect: &tt.redirect}).Conditions {
			fields = append(fields, c.Field)
		}
		if !slices.Equal(fields, tt.want) {
			t.Errorf("behind %+v, conditions on %v stay, want %v", tt.redirect, fields, tt.want)
		}
	}
}

func TestPortsThatOpenAndClose(t *testing.T) {
	d := &difference{}
	for _, co := range compare(built(balancer(listener(80), listener(81)), lb.ALB()), balancer(listener(81), listener(82)), lb.ALB()) {
		d.changes = append(d.changes, newChange(co, nil))
	}
	for port, want := range map[int32][2]bool{80: {false, true}, 81: {false, false}, 82: {true, false}, 83: {false, false}} {
		if got := [2]bool{d.portOpens(port), d.portCloses(port)}; got != want {
			t.Errorf("port %d: %v, want %v", port, got, want)
		}
	}
}
