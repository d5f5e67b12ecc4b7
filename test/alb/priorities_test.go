package alb

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/test/albsim"
)

// TestPrioritiesAreTheOnesThatAWSLists renumbers rules where AWS answers with success, and has not
// done all of it. The order of rules decides where requests go.
func TestPrioritiesAreTheOnesThatAWSLists(t *testing.T) {
	for name, spoil := range map[string]func(sim *albsim.Sim){
		"AWS renumbers one rule of two": func(sim *albsim.Sim) {
			sim.Misread(func(in any) {
				if call, ok := in.(*elbapi.SetRulePrioritiesInput); ok {
					call.RulePriorities = call.RulePriorities[:1]
				}
			})
		},
		"AWS gives a rule another priority": func(sim *albsim.Sim) {
			sim.Misread(func(in any) {
				if call, ok := in.(*elbapi.SetRulePrioritiesInput); ok {
					call.RulePriorities[1].Priority = aws.Int32(aws.ToInt32(call.RulePriorities[1].Priority) + 1)
				}
			})
		},
		"AWS lists another rule": func(sim *albsim.Sim) {
			sim.Amend(func(_, out any) error {
				if answer, ok := out.(*elbapi.SetRulePrioritiesOutput); ok {
					answer.Rules = []elb.Rule{answer.Rules[1], answer.Rules[1]}
				}
				return nil
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, albsim.Options{}, func(w *world) {
				w.service("web", 1)
				w.serve("site", map[string]string{"/": "web"})
				w.serve("more", map[string]string{"/": "web"})
				w.finish()
				spoil(w.sim)
				rules := w.seen.Listener(80).Rules
				if len(rules) != 2 {
					w.Fatalf("there are %d rules, want two", len(rules))
				}
				step := plan.RespaceRules{Port: 80, To: map[int]int{}}
				for i, r := range rules {
					step.To[r.Priority] = 700 + 10*i
				}
				_, err := providers.Run(w.Context(), w.cloud, w.seen, plan.Plan{Steps: []plan.Planned{{Step: step}}}, providers.Options{})
				if err == nil || !strings.Contains(err.Error(), "AWS answered SetRulePriorities without rule") {
					w.Errorf("the step ends with %v", err)
				}
				for _, at := range step.To {
					if w.seen.Listener(80).Rule(at) != nil {
						w.Errorf("a rule is taken to have the priority %d", at)
					}
				}
				w.sim.Misread(nil)
				w.sim.Amend(nil)
				if w.seen, err = w.cloud.Observe(w.Context(), w.key, false); err != nil {
					w.Fatal(err)
				}
				w.finish()
				w.leadsTo("web")
			})
		})
	}
}
