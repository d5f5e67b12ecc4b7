package providers_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/planner"
	"fairlead.dev/fairlead/providers"
)

// unparking is a cloud that answers parking rules with an error, and finds no target healthy.
type unparking struct {
	providers.Provider
	answer error
}

func (u unparking) Apply(_ context.Context, _ *lb.Observed, step plan.Step) (plan.Result, error) {
	switch s := step.(type) {
	case plan.CreateRule:
		if plan.Parked(s.Rule) {
			return plan.Result{}, u.answer
		}
	case plan.DeleteRule:
		if plan.Parked(s.Rule) {
			return plan.Result{}, errors.New("this rule is not there")
		}
	case plan.AwaitTargets:
		return plan.Result{}, providers.ErrPending
	}
	return plan.Result{Handle: step.ID()}, nil
}

// leading is a load balancer with one path, which leads to a target group.
func leading(to lb.GroupID) lb.LoadBalancer {
	rule := lb.Rule{
		Conditions: []lb.Condition{{Field: "path", Values: []string{"/"}}}, Origin: []diag.Source{{Kind: "Ingress", Name: "web"}},
		Action: lb.Action{Kind: "forward", Targets: []lb.Weighted{{Group: to, Weight: 1}}},
	}
	return lb.LoadBalancer{
		Key: "fairlead/shop/web", TargetGroups: []lb.TargetGroup{{ID: to, Targets: []lb.Target{{Address: "10.0.0.1", Port: 80}}}},
		Listeners: []lb.Listener{{Port: 80, Protocol: "HTTP", Default: lb.Action{Kind: "fixed", Status: 404}, Rules: []lb.Rule{rule}}},
	}
}

func TestAPlanGoesOnWithoutAParkingRuleThatIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		answer error
		goesOn bool
	}{
		"refused for what it says":   {fmt.Errorf("this source cannot be specified: %w", providers.ErrRejected), true},
		"refused for want of room":   {fmt.Errorf("101 rules: %w", providers.ErrNoRoom), true},
		"not refused, only too soon": {fmt.Errorf("the listener is new: %w", providers.ErrPending), false},
		"failed":                     {errors.New("connection reset"), false},
	} {
		t.Run(name, func(t *testing.T) {
			seen := &lb.Observed{Key: "fairlead/shop/web"}
			if _, err := providers.Run(t.Context(), unparking{}, seen, planner.Diff(seen, leading("old"), lb.ALB()), providers.Options{}); err != nil {
				t.Fatal(err)
			}
			seen.TargetGroups[0].Ready = true
			todo := planner.Diff(seen, leading("new"), lb.ALB())
			got, err := providers.Run(t.Context(), unparking{answer: c.answer}, seen, todo, providers.Options{})
			if len(got.Rejections) > 0 {
				t.Errorf("it is held against %v", got.Rejections)
			}
			if !c.goesOn {
				if err == nil || len(got.Unparked) > 0 {
					t.Errorf("it goes on without the rule: %v", got.Unparked)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Unparked) != 1 || !strings.Contains(got.Unparked[0].Err.Error(), c.answer.Error()) || len(got.Unparked[0].Origin) == 0 {
				t.Errorf("it says %v", got.Unparked)
			}
			if left := planner.Diff(seen, leading("new"), lb.ALB()); !left.Empty() {
				t.Errorf("it leaves %v to do", left.Print())
			}
		})
	}
}

// Only what belongs to the parking rule is left out: rules with its priority elsewhere, or beside
// it, are deleted all the same, and another rule that is refused is.
func TestWithoutAParkingRuleTheRestIsDone(t *testing.T) {
	var parked plan.CreateRule
	seen := &lb.Observed{Key: "fairlead/shop/web"}
	if _, err := providers.Run(t.Context(), unparking{}, seen, planner.Diff(seen, leading("old"), lb.ALB()), providers.Options{}); err != nil {
		t.Fatal(err)
	}
	seen.TargetGroups[0].Ready = true
	for _, s := range planner.Diff(seen, leading("new"), lb.ALB()).Steps {
		if create, ok := s.Step.(plan.CreateRule); ok && plan.Parked(create.Rule) {
			parked = create
		}
	}
	if parked.Port == 0 {
		t.Fatal("no parking rule is planned")
	}
	deleted := func(port int32, priority int) plan.Step { return plan.DeleteRule{Port: port, Priority: priority} }
	refused := errors.New("only the parking rule is refused")
	var done []string
	cloud := &scripted{apply: func(_ context.Context, _ *lb.Observed, id string) error {
		if id == parked.ID() {
			return fmt.Errorf("%w: %w", providers.ErrRejected, refused)
		}
		done = append(done, id)
		return nil
	}}
	p := plan.Plan{Steps: []plan.Planned{
		{Step: parked},
		{Step: deleted(parked.Port, parked.Priority), After: []int{0}},
		{Step: deleted(parked.Port+1, parked.Priority), After: []int{1}},
		{Step: deleted(parked.Port, parked.Priority+1), After: []int{2}},
	}}
	got, err := providers.Run(t.Context(), cloud, &lb.Observed{}, p, providers.Options{})
	if want := []string{p.Steps[2].Step.ID(), p.Steps[3].Step.ID()}; err != nil || !slices.Equal(done, want) || len(got.Unparked) != 1 {
		t.Errorf("%v are done, want %v; %d parking rules were refused; the error is %v", done, want, len(got.Unparked), err)
	}

	own := parked
	own.Rule = leading("new").Listeners[0].Rules[0]
	p = plan.Plan{Steps: []plan.Planned{{Step: own}}}
	got, err = providers.Run(t.Context(), cloud, &lb.Observed{}, p, providers.Options{})
	if !errors.Is(err, refused) || len(got.Unparked) > 0 || len(got.Rejections) != 1 {
		t.Errorf("where another rule is refused, the outcome is %+v, and the error %v", got, err)
	}
}
