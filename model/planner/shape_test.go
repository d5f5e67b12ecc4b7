package planner

import (
	"testing"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
)

// Rules that were taken over stay while they and the wanted ones are as they were. A rule that parks target groups is
// neither.
func TestRulesThatWereTakenOverStay(t *testing.T) {
	c := lb.ALB()
	there := []lb.Rule{rule("", "/a", fixed(200)), rule("", "/b", fixed(200)), rule("", "/b/*", fixed(200))}
	wanted := listener(80, rule("", "/b*", fixed(200)), rule("", "/a", fixed(200)))
	for name, tc := range map[string]struct {
		change func(seen *lb.ObservedListener, want *lb.Listener)
		steps  bool
	}{
		"nothing changes": {func(*lb.ObservedListener, *lb.Listener) {}, false},
		"a group is parked": {func(seen *lb.ObservedListener, _ *lb.Listener) {
			seen.Rules = append(seen.Rules, lb.ObservedRule{Priority: 40000, Rule: plan.ParkingRule(nil, c)})
		}, true}, // the parking rule goes, and the others stay
		"another rule is wanted": {func(_ *lb.ObservedListener, want *lb.Listener) { want.Rules[1] = rule("", "/c", fixed(200)) }, true},
		"another order is wanted": {func(_ *lb.ObservedListener, want *lb.Listener) {
			want.Rules[0], want.Rules[1] = want.Rules[1], want.Rules[0]
		}, true},
		"another default":         {func(_ *lb.ObservedListener, want *lb.Listener) { want.Default = fixed(503) }, true},
		"a rule of it is changed": {func(seen *lb.ObservedListener, _ *lb.Listener) { seen.Rules[0].Action = fixed(201) }, true},
		"a rule of it is deleted": {func(seen *lb.ObservedListener, _ *lb.Listener) { seen.Rules = seen.Rules[1:] }, true},
		"its default is changed":  {func(seen *lb.ObservedListener, _ *lb.Listener) { seen.Default = fixed(500) }, true},
		"it was not taken over":   {func(seen *lb.ObservedListener, _ *lb.Listener) { seen.Shape = "" }, true},
		"other numbers":           {func(seen *lb.ObservedListener, _ *lb.Listener) { seen.Rules[2].Priority = 9 }, false},
	} {
		t.Run(name, func(t *testing.T) {
			seen, want := built(balancer(listener(80, there...)), c), balancer(listener(80, wanted.Rules...))
			l := &seen.Listeners[0]
			l.Shape = ShapeOf(*l, want.Listeners[0])
			tc.change(l, &want.Listeners[0])
			steps := Diff(seen, KeepShape(want, seen), c).Steps
			if len(steps) > 0 != tc.steps {
				t.Errorf("the steps are %v", steps)
			}
			if name == "a group is parked" && len(steps) != 1 {
				t.Errorf("the steps are %v, and one is wanted", steps)
			}
		})
	}
}

// A change of the client secret reaches rules that stay: a cloud does not return it.
func TestRulesThatStayHaveTheWantedSecrets(t *testing.T) {
	signIn := func(secret routing.Secret) lb.Action {
		a := fixed(200)
		a.Auth = &routing.Auth{Kind: routing.OIDC, Issuer: "https://id.test", ClientID: "shop", ClientSecret: secret}
		return a
	}
	c := lb.ALB()
	seen, want := built(balancer(listener(443, rule("", "/a", signIn("")), rule("", "/b", signIn("")))), c),
		balancer(listener(443, rule("", "/*", signIn("new"))))
	l := &seen.Listeners[0]
	l.Shape = ShapeOf(*l, want.Listeners[0])
	kept := KeepShape(want, seen).Listeners[0].Rules
	if len(kept) != 2 || kept[0].Action.Auth.ClientSecret != "new" || kept[1].Action.Auth.ClientSecret != "new" {
		t.Errorf("the rules are %v", kept)
	}
	if want.Listeners[0].Rules[0].Conditions[0].Values[0] != "/*" || seen.Listeners[0].Rules[0].Action.Auth.ClientSecret != "" {
		t.Error("what was given has changed")
	}
}
