package program

import (
	"testing"

	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/proof"
	"fairlead.dev/fairlead/model/routing"
)

func TestReportsHaveTheVerdictOfEachPlanWithSteps(t *testing.T) {
	steps := []plan.Planned{{Step: plan.DeleteListener{Port: 80}}}
	kept := lb.Observed{Key: "b", Exists: true, Listeners: []lb.ObservedListener{{Port: 80, Protocol: routing.HTTP}}}
	wanted := model.Built{LoadBalancer: lb.LoadBalancer{Key: "b", Listeners: []lb.Listener{{Port: 80, Protocol: routing.HTTP}}}}
	got := Report([]Program{
		{Plan: plan.Plan{Key: "a"}, before: &lb.Observed{Key: "a"}, After: &lb.Observed{Key: "a"}},
		{Plan: plan.Plan{Key: "b", Steps: steps}, Built: wanted, before: &kept, After: &lb.Observed{Key: "b"}},
	}, nil, nil).Proofs
	if len(got) != 1 || got[0].LoadBalancer != "b" || got[0].Result != proof.Refuted || got[0].Why == "" {
		t.Errorf("the verdicts are %+v", got)
	}
}
