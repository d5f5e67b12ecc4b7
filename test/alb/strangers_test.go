package alb

import (
	"slices"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/test/albsim"
)

// This file looks at what becomes of what somebody else puts into a load balancer of ours.

// stranger puts a rule before all others that sends what is asked of a path to a target group which
// another installation has made.
func (w *world) stranger(path string) (rule, group string) {
	w.Helper()
	api := elbapi.NewFromConfig(w.sim.OwnersConfig())
	made, err := api.CreateTargetGroup(w.Context(), &elbapi.CreateTargetGroupInput{
		Name: sdk.String("fl-by-hand"), Protocol: elb.ProtocolEnumHttp, Port: sdk.Int32(80), VpcId: sdk.String(albsim.VPC), TargetType: elb.TargetTypeEnumIp,
		Tags: []elb.Tag{{Key: sdk.String("fairlead.dev/installation"), Value: sdk.String("other")}},
	})
	if err != nil {
		w.Fatal(err)
	}
	group = *made.TargetGroups[0].TargetGroupArn
	put, err := api.CreateRule(w.Context(), &elbapi.CreateRuleInput{
		ListenerArn: sdk.String(w.seen.Listener(80).Handle), Priority: sdk.Int32(1),
		Conditions: []elb.RuleCondition{{Field: sdk.String("path-pattern"), PathPatternConfig: &elb.PathPatternConditionConfig{Values: []string{path}}}},
		Actions:    []elb.Action{{Type: elb.ActionTypeEnumForward, TargetGroupArn: sdk.String(group)}},
	})
	if err != nil {
		w.Fatal(err)
	}
	return *put.Rules[0].RuleArn, group
}

// A rule lies inside a listener of ours, and goes; what it forwards to does not, and stays.
func TestATargetGroupOfSomebodyElseStays(t *testing.T) {
	policy := operator().Policy
	policy.Statement = append(slices.Clone(policy.Statement), statementOf(t, "ChangeRulesOfOthers"))
	inBubble(t, albsim.Options{Authorize: policy.Allows}, func(w *world) {
		w.service("web", 1)
		w.serve("site", map[string]string{"/": "web"})
		w.settle()
		_, group := w.stranger("/by-hand")
		w.restart()
		w.settle()
		time.Sleep(5 * time.Minute)
		w.settle()
		if got := len(w.seen.Listener(80).Rules); got != 1 {
			t.Errorf("there are %d rules, want the one that is asked for", got)
		}
		w.Ingresses = nil
		w.settle()
		if _, err := elbapi.NewFromConfig(w.sim.OwnersConfig()).DescribeTargetGroups(w.Context(), &elbapi.DescribeTargetGroupsInput{TargetGroupArns: []string{group}}); err != nil {
			t.Errorf("the target group of somebody else: %v", err)
		}
	})
}
