package status_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/cli/status"
)

func record(key string, conditions ...metav1.Condition) v1alpha1.LoadBalancer {
	return v1alpha1.LoadBalancer{Spec: v1alpha1.LoadBalancerSpec{Key: key}, Status: v1alpha1.LoadBalancerStatus{
		Address: "lb.example", Conditions: conditions, Members: []string{"a/b"}, Rules: 3, RuleLimit: 100,
		LastPlan: &v1alpha1.PlanStatus{At: metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)), Summary: "1 to create", Done: 1, OmittedSteps: 2,
			Steps: []v1alpha1.PlanStep{{Op: "create rule", ID: "80/1", Detail: "x"}}}}}
}

func condition(kind, status string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionStatus(status), Reason: "R"}
}

// TestWhatNeedsAttentionIsFirst: by what the operator says of load balancers.
func TestWhatNeedsAttentionIsFirst(t *testing.T) {
	r := status.Of(status.Input{Records: []v1alpha1.LoadBalancer{
		record("c/ok/internal", condition("Accepted", "True"), condition("Programmed", "True"), condition("Degraded", "False")),
		record("c/refused/internal", condition("Accepted", "False"), condition("Programmed", "True")),
		record("c/late/internal", condition("Programmed", "False")),
		record("c/bad/internal", condition("Degraded", "True")),
	}})
	var got []string
	for _, l := range r.LoadBalancers {
		got = append(got, string(l.Key)+" "+l.State)
	}
	want := []string{"c/bad/internal attention", "c/late/internal attention", "c/refused/internal attention", "c/ok/internal ok"}
	for i := range want {
		if len(got) != len(want) || got[i] != want[i] {
			t.Fatalf("%v, want %v", got, want)
		}
	}
	last := r.LoadBalancers[3]
	if last.Address != "lb.example" || last.Rules.String() != "3 of 100" || len(last.Members) != 1 ||
		last.LastChange.String() != "2026-01-02 03:04:05 UTC: 1 to create; 1 of 3 steps done" || last.LastChange.Steps[0] != "create rule 80/1: x" {
		t.Errorf("%+v %+v", last, last.LastChange)
	}
	r.LoadBalancers[0].NotKnown, r.LoadBalancers[1].NotKnown = []status.NotKnown{{What: "x", Command: "y"}}, []status.NotKnown{{What: "x", Command: "y"}}
	var text strings.Builder
	if err := r.Print(&text); err != nil || strings.Count(text.String(), "y knows it") != 1 || !strings.Contains(text.String(), "\nNot known here of 2 load balancers: x; y knows it\n\n") {
		t.Errorf("%v %s", err, text.String())
	}
	if r.Summary.Attention != 3 || r.Summary.LoadBalancers != 4 {
		t.Errorf("%+v", r.Summary)
	}
}
