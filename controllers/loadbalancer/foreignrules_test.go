package loadbalancer

import (
	"slices"
	"strings"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/planner"
	"fairlead.dev/fairlead/model/routing"
)

// This file tests which rules are foreign, and what becomes of them.

// to is a rule for a host, which forwards to a group.
func to(host string, group lb.GroupID) lb.Rule {
	return lb.Rule{
		Conditions: []lb.Condition{{Field: "host", Values: []string{host}}}, Action: lb.Action{Kind: "forward", Targets: []lb.Weighted{{Group: group, Weight: 1}}},
	}
}

// on are the rules of port 80, in a load balancer with the group ours.
func on(rules ...lb.Rule) *lb.Observed {
	out := &lb.Observed{Key: benchKey, Exists: true, TargetGroups: []lb.ObservedTargetGroup{{TargetGroup: lb.TargetGroup{ID: "ours"}}}}
	l := lb.ObservedListener{Port: 80, Protocol: routing.HTTP}
	for i, r := range rules {
		l.Rules = append(l.Rules, lb.ObservedRule{Rule: r, Priority: i + 1})
	}
	out.Listeners = []lb.ObservedListener{l}
	return out
}

func wanted(rules ...lb.Rule) lb.LoadBalancer {
	return lb.LoadBalancer{Key: benchKey, Listeners: []lb.Listener{{Port: 80, Protocol: routing.HTTP, Rules: rules}}}
}

// A rule that is not wanted is foreign, unless the record has it, or, where the record has none and
// rules may be left over from an earlier plan, all that it forwards to is ours.
func TestWhichRulesAreForeign(t *testing.T) {
	web, mine, byHand := to("web.example", "ours"), to("old.example", "ours"), to("hand.example", "theirs")
	seen := on(web, mine, byHand)
	fresh := ingress.Member{Ingress: &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}}
	for name, c := range map[string]struct {
		recorded []string
		changes  bool
		want     lb.LoadBalancer
		foreign  []string
	}{
		"nothing is recorded":            {want: wanted(web), foreign: []string{"hand.example", "old.example"}},
		"and an Ingress is new":          {want: wanted(web), changes: true, foreign: []string{"hand.example"}},
		"and a rule is missing":          {want: wanted(web, to("new.example", "ours")), foreign: []string{"hand.example"}},
		"one is recorded":                {recorded: []string{planner.RuleDigest(80, mine)}, want: wanted(web), foreign: []string{"hand.example"}},
		"another is recorded":            {recorded: []string{planner.RuleDigest(80, byHand)}, want: wanted(web), foreign: []string{"old.example"}},
		"another, and an Ingress is new": {recorded: []string{planner.RuleDigest(80, byHand)}, changes: true, want: wanted(web), foreign: []string{"old.example"}},
		"all are wanted":                 {want: wanted(web, mine, byHand)},
	} {
		t.Run(name, func(t *testing.T) {
			g := &gather.Snapshot{Snapshot: ingress.Snapshot{Key: benchKey}}
			if g.Recorded.Rules = c.recorded; c.changes {
				g.Members = []ingress.Member{fresh}
			}
			var rules foreignRules
			found, news := rules.find(g, seen, c.want)
			if got := hostsOf(found); !slices.Equal(got, c.foreign) || !news {
				t.Errorf("foreign are %q, want %q, and they are new: %t", got, c.foreign, news)
			}
			if again, news := rules.find(g, seen, wanted()); !slices.Equal(hostsOf(again), c.foreign) || news {
				t.Errorf("the same observation has %q, and they are new: %t", hostsOf(again), news)
			}
		})
	}
}

func hostsOf(found []planner.ForeignRule) (hosts []string) {
	for _, f := range found {
		hosts = append(hosts, f.Conditions[0].Values...)
	}
	slices.Sort(hosts)
	return hosts
}

// What was there or wanted at the last observation is ours at the next, but for what was foreign.
// Of a load balancer that was deleted nothing is known.
func TestForeignRulesOfTheNextObservation(t *testing.T) {
	web, byHand, again := to("web.example", "ours"), to("hand.example", "ours"), to("again.example", "ours")
	g := &gather.Snapshot{Snapshot: ingress.Snapshot{Key: benchKey}}
	var rules foreignRules
	rules.find(g, on(web, byHand), wanted(web))
	g.Recorded.Rules = []string{planner.RuleDigest(80, byHand), planner.RuleDigest(80, again)} // is older than what was observed
	found, news := rules.find(g, on(web, byHand, again), wanted())
	if got := hostsOf(found); !slices.Equal(got, []string{"again.example", "hand.example"}) || !news {
		t.Errorf("foreign are %q, and they are new: %t", got, news)
	}
	rules.forget(benchKey)
	if found, _ := rules.find(g, on(web, byHand, again), wanted()); !slices.Equal(hostsOf(found), []string{"web.example"}) {
		t.Errorf("of one that was deleted, foreign are %q", hostsOf(found))
	}
}

// Foreign rules are reported, and stay where the class keeps them.
func TestWhatBecomesOfForeignRules(t *testing.T) {
	web, byHand := to("web.example", "ours"), to("hand.example", "theirs")
	for policy, stays := range map[string]bool{"": false, v1alpha1.UnknownRulesKeep: true} {
		g := &gather.Snapshot{Snapshot: ingress.Snapshot{Key: benchKey, Class: ingress.Class{LoadBalancerClassSpec: v1alpha1.LoadBalancerClassSpec{UnknownRules: policy}}}}
		var rules foreignRules
		built := model.Built{LoadBalancer: wanted(web)}
		found := rules.applyForeignRulePolicy(t.Context(), g, on(web, byHand), &built)
		if kept := len(built.LoadBalancer.Listeners[0].Rules) == 2; kept != stays || !slices.Equal(hostsOf(found), []string{"hand.example"}) {
			t.Errorf("%q: foreign are %q, and they stay: %t", policy, hostsOf(found), kept)
		}
		if len(built.Diagnostics) != 1 || strings.Contains(built.Diagnostics[0].Message, "it stays") != stays {
			t.Errorf("%q: reported is %v", policy, built.Diagnostics)
		}
	}
}

// The rules of a listener of others that no Ingress asks for are neither foreign, nor ours once an Ingress asks for its
// port, and the status names the listener.
func TestRulesInAListenerOfOthers(t *testing.T) {
	web, theirs := to("web.example", "ours"), to("hand.example", "ours")
	seen := on(web)
	seen.Listeners = append(seen.Listeners, lb.ObservedListener{Port: 8080, Protocol: routing.HTTP, Others: true, Rules: []lb.ObservedRule{{Rule: theirs, Priority: 1}}})
	g := &gather.Snapshot{Snapshot: ingress.Snapshot{Key: benchKey}}
	var rules foreignRules
	built := model.Built{LoadBalancer: wanted(web)}
	if found := rules.applyForeignRulePolicy(t.Context(), g, seen, &built); len(found) > 0 {
		t.Errorf("foreign are %q", hostsOf(found))
	}
	asks := wanted(web)
	asks.Listeners = append(asks.Listeners, lb.Listener{Port: 8080, Protocol: routing.HTTP, Rules: []lb.Rule{web}})
	again := *seen // it was read again
	if found, _ := rules.find(g, &again, asks); !slices.Equal(hostsOf(found), []string{"hand.example"}) {
		t.Errorf("once an Ingress asks for its port, foreign are %q", hostsOf(found))
	}
	next := outcome{Snapshot: g, Observed: seen, Built: model.Built{LoadBalancer: wanted(web)}}.record(time.Now())
	if l := next.Listeners; len(l) != 2 || l[0].Others || !l[1].Others {
		t.Errorf("the status has %+v", l)
	}
}
