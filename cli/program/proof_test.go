package program

import (
	"testing"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/proof"
)

func TestReportsHaveTheVerdictOfEachPlanWithSteps(t *testing.T) {
	steps := []plan.Planned{{Step: plan.DeleteListener{Port: 80}}}
	got := Report([]Program{
		{Plan: plan.Plan{Key: "a"}, Proof: proof.Verdict{Result: proof.Proven}, After: &lb.Observed{Key: "a"}},
		{Plan: plan.Plan{Key: "b", Steps: steps}, Proof: proof.Verdict{Result: proof.Refuted, Why: "step 1"}, After: &lb.Observed{Key: "b"}},
	}, nil, nil).Proofs
	if len(got) != 1 || got[0] != (proofReport{"b", proof.Refuted, "step 1"}) {
		t.Errorf("the verdicts are %+v", got)
	}
}
