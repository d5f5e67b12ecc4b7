package controllers_test

import (
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// byHand puts a rule before all others that answers 410, as somebody does who thinks it is urgent.
func (w *world) byHand(ingress, path string) {
	w.Helper()
	key := lb.Key(w.balancer(ingress).Spec.Key)
	seen, err := w.cloud.Cloud.Observe(w.Context(), key, false)
	if err != nil {
		w.Fatal(err)
	}
	_, err = w.cloud.Cloud.Apply(w.Context(), seen, plan.CreateRule{Port: 80, Priority: 1, Rule: lb.Rule{
		Conditions: []lb.Condition{{Field: "path", Values: []string{path}}}, Action: lb.Action{Kind: "fixed", Status: 410},
	}})
	if err != nil {
		w.Fatal(err)
	}
}

// reports waits until the report on a load balancer says something of a rule that is not ours.
func (w *world) reports(ingress, what string) {
	w.Helper()
	w.eventually(func() error {
		said := w.balancer(ingress).Status.Diagnostics
		return noError(slices.ContainsFunc(said, func(d v1alpha1.Diagnostic) bool {
			return d.Reason == "UnknownRule" && strings.Contains(d.Message, what)
		}), "the report says %v", said)
	})
}

func TestARuleOfSomebodyElseIsReportedAndRemoved(t *testing.T) {
	w := newWorld(t)
	w.serve("web", "web-1")
	w.create(w.ask("shop", "shop.example", "/", "web"))
	w.answers("shop", "http://shop.example/closed", "web-1")
	w.stop()
	w.byHand("shop", "/closed")
	w.answers("shop", "http://shop.example/closed", "410")
	w.run()
	w.reports("shop", "path = /closed → fixed 410")
	w.answers("shop", "http://shop.example/closed", "web-1")
}

// A class can have such rules stay: whatever comes and goes beside them, also while no operator
// runs.
func TestARuleOfSomebodyElseStaysIfItsClassSaysSo(t *testing.T) {
	w := newWorld(t)
	w.parameterize(w.class, &v1alpha1.LoadBalancerClassSpec{UnknownRules: v1alpha1.UnknownRulesKeep})
	w.serve("web", "web-1")
	w.serve("next", "next-1")
	shop, other := w.ask("shop", "shop.example", "/", "web"), w.ask("other", "other.example", "/", "web")
	annotate("fairlead.dev/group", "all")(shop)
	annotate("fairlead.dev/group", "all")(other)
	w.create(shop, other)
	w.answers("shop", "http://shop.example/", "web-1")
	w.answers("other", "http://other.example/", "web-1")
	w.stop()
	w.byHand("@all", "/closed")
	w.change("shop", sendTo("next"))
	if err := w.Delete(w.Context(), other); err != nil {
		t.Fatal(err)
	}
	w.run()
	w.answers("shop", "http://shop.example/", "next-1")
	w.answers("shop", "http://other.example/", "404")
	w.reports("@all", "it stays")
	w.answers("shop", "http://shop.example/closed", "410")

	late := w.ask("late", "late.example", "/", "web")
	annotate("fairlead.dev/group", "all")(late)
	w.create(late)
	w.answers("late", "http://late.example/", "web-1")
	w.remove("late")
	w.stop()
	w.run()
	w.change("shop", sendTo("web"))
	w.answers("shop", "http://shop.example/", "web-1")
	w.answers("shop", "http://shop.example/closed", "410")
}
