package planner

import (
	"strings"
	"testing"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

func TestCoversAnother(t *testing.T) {
	a, x, other := rule("a.test", "", fixed(200)), rule("", "/x", fixed(403)), rule("b.test", "", fixed(403))
	same := rule("", "/x", fixed(200))
	for _, tt := range []struct {
		why   string
		rules []lb.Rule
		want  bool
	}{
		{"it is the last one", []lb.Rule{a}, false},
		{"another answer for its requests", []lb.Rule{a, other, x}, true},
		{"the same answer", []lb.Rule{a, same}, false},
		{"another answer for other requests", []lb.Rule{a, other}, false},
	} {
		var list []lb.ObservedRule
		for _, r := range tt.rules {
			list = append(list, lb.ObservedRule{Rule: r})
		}
		if got := coversAnother(list, lb.Dialect{}); got != tt.want {
			t.Errorf("%s: %t", tt.why, got)
		}
	}
}

func TestEarlyRules(t *testing.T) {
	a, x, b := rule("a.test", "", fixed(200)), rule("", "/x", fixed(403)), rule("b.test", "", fixed(500))
	to := func(host string, g lb.GroupID) lb.Rule { return rule(host, "", forward(g)) }
	with := func(b lb.LoadBalancer, groups ...lb.GroupID) lb.LoadBalancer {
		for _, g := range groups {
			b.TargetGroups = append(b.TargetGroups, group(g, "10.0.0.1"))
		}
		return b
	}
	c := lb.ALB()
	for _, tt := range []struct {
		why      string
		from, to lb.LoadBalancer
		ofGroup  bool
		want     string
	}{
		{"one that leaves no request to another rule", balancer(listener(80, rule("b.test", "", fixed(403)), a, x)), balancer(listener(80, x)), false, "delete rule 80/12496"},
		{"the last one, if each does", balancer(listener(80, a, rule("b.test", "", fixed(200)), x)), balancer(listener(80, x)), false, "delete rule 80/24992"},
		{"one of a port that stays", balancer(listener(80, a), listener(81, b)), balancer(listener(80)), false, "delete rule 80/24992"},
		{"a port that closes with rules", balancer(listener(80), listener(81), listener(82, b)), balancer(listener(80)), false, "delete listener 82"},
		{"a rule rather than a port that closes", balancer(listener(80, a, x), listener(81, b)), balancer(listener(80, x)), false, "delete rule 80/16661"},
		{"the first port", balancer(listener(80, b), listener(81)), balancer(listener(81)), false, "delete listener 80"},
		{"none", balancer(listener(80, a), listener(81)), balancer(listener(80, a)), false, ""},
		{"the group of the fewest rules, last", with(balancer(listener(80, to("a.test", "A"), to("b.test", "A"), to("c.test", "B"))), "A", "B"), with(balancer(listener(80, to("a.test", "C")), listener(81)), "C"), true, "delete rule 80/37488"},
		{"the group of the fewest rules, first", with(balancer(listener(80, to("a.test", "A"), to("b.test", "B"), to("c.test", "B"))), "A", "B"), with(balancer(listener(80, to("a.test", "C"))), "C"), true, "delete rule 80/12496"},
		{"the first of equal groups", with(balancer(listener(80, to("a.test", "A"), to("b.test", "B"))), "A", "B"), with(balancer(listener(80, to("a.test", "C"))), "C"), true, "delete rule 80/16661"},
		{"no group that is wanted", with(balancer(listener(80, to("a.test", "A"), to("b.test", "B"))), "A", "B"), with(balancer(listener(80, to("a.test", "A"))), "A"), true, "delete rule 80/33323"},
		{"no group that no rule names", with(balancer(listener(80, a)), "A"), balancer(listener(80, a)), true, ""},
	} {
		seen := built(tt.from, c)
		all := compare(seen, tt.to, c)
		found, ok := earlyRule(all, tt.to.Key, c)
		if tt.ofGroup {
			found, ok = earlyRuleOfGroup(all, seen, tt.to, c)
		}
		got := ""
		if found.step != nil {
			got = found.step.Op() + " " + found.step.ID()
		}
		if got != tt.want || ok != (tt.want != "") {
			t.Errorf("%s: %q, want %q", tt.why, got, tt.want)
		}
	}
}

// A default action that goes early leaves the port as it is: with its protocol and certificates.
func TestADefaultThatGoesEarly(t *testing.T) {
	for _, tt := range []struct {
		why           string
		seen, want    lb.Listener
		https, verify bool
	}{
		{"a port that gets HTTPS", listener(443), mutual(443, true), false, false},
		{"a port that begins to verify", mutual(443, false), mutual(443, true), true, true},
		{"a port that does not", mutual(443, true), mutual(443, false), true, false},
	} {
		seen := built(balancer(tt.seen), lb.ALB())
		m, is := deleteDefaultEarly("k", comparison{port: 443, seen: &seen.Listeners[0], want: &tt.want}, "Full").step.(plan.ModifyListener)
		l := m.Listener
		if !is || l.Default.Status != 503 || (l.Protocol == "HTTPS") != tt.https || len(l.Certificates) > 0 != tt.https || l.Verifies != tt.verify {
			t.Errorf("%s: %+v", tt.why, l)
		}
	}
	if d := deleteDefaultEarly("k", comparison{port: 80}, "Full"); d.step.Op() != "delete listener" || !strings.Contains(d.diagnostic.Message, "port 80 closes first") {
		t.Errorf("a port that closes: %+v", d)
	}
}
