package preflight

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/providers/aws/listeners"
)

// This file has the trials of calls: repeated calls, changes in one call, and the lag of reads.

// tryRepeatedCreation creates an existing target group, which AWS returns if all settings are the
// same, and a rule at a used priority. A scenario creates load balancers and listeners twice.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_CreateTargetGroup.html
// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_CreateRule.html
func (t *trial) tryRepeatedCreation(ctx context.Context) outcome {
	group := t.groupAgain(ctx)
	rule := t.ruleAgain(ctx)
	detail := "a target group: " + group.detail + "; a rule: " + rule.detail
	for _, state := range []check.State{check.Wrong, check.Unknown} {
		if group.state == state || rule.state == state {
			return outcome{state, detail}
		}
	}
	return holds(detail)
}

func (t *trial) groupAgain(ctx context.Context) outcome {
	out, err := t.ELB.DescribeTargetGroups(ctx, &elbapi.DescribeTargetGroupsInput{
		LoadBalancerArn: aws.String(t.balancer),
	})
	if err != nil {
		return unknownOutcome(err)
	}
	if len(out.TargetGroups) == 0 {
		return unknownOutcome(errors.New("there is none"))
	}
	g := out.TargetGroups[0]
	tags, err := t.TagsOf(ctx, []string{aws.ToString(g.TargetGroupArn)})
	if err != nil {
		return unknownOutcome(err)
	}
	again, err := t.ELB.CreateTargetGroup(
		ctx, client.ToCreateTargetGroup(g, client.ELBTags(tags[aws.ToString(g.TargetGroupArn)])),
	)
	switch {
	case client.HasCode(err, "DuplicateTargetGroupName"):
		return holds("AWS refuses it by the code that says so: " + client.Describe(err))
	case err != nil:
		return unknownOutcome(err)
	case len(again.TargetGroups) == 0:
		return unknownOutcome(errors.New("AWS answered CreateTargetGroup without a target group"))
	case aws.ToString(again.TargetGroups[0].TargetGroupArn) != aws.ToString(g.TargetGroupArn):
		return wrong(fmt.Sprintf("AWS answers with %s, but %s exists",
			aws.ToString(again.TargetGroups[0].TargetGroupArn), aws.ToString(g.TargetGroupArn)))
	}
	return holds("AWS answers with the one that is there")
}

func (t *trial) ruleAgain(ctx context.Context) outcome {
	one, err := t.createRule(ctx, hosts("one.prove.invalid"))
	defer t.deleteRule(ctx, one)
	if err != nil {
		return unknownOutcome(err)
	}
	two, err := t.ruleAt(ctx, t.next, hosts("one.prove.invalid"))
	defer t.deleteRule(ctx, two)
	switch {
	case client.HasCode(err, "PriorityInUse"):
		return holds("refused: " + client.Describe(err))
	case err != nil:
		return unknownOutcome(err)
	}
	return wrong("AWS makes a second one at the same priority")
}

// trySwap swaps the priorities of two rules in one call, and reads them back.
func (t *trial) trySwap(ctx context.Context) outcome {
	one, err := t.createRule(ctx, hosts("one.prove.invalid"))
	defer t.deleteRule(ctx, one)
	if err != nil {
		return unknownOutcome(err)
	}
	low := t.next
	two, err := t.createRule(ctx, hosts("two.prove.invalid"))
	defer t.deleteRule(ctx, two)
	if err != nil {
		return unknownOutcome(err)
	}
	high := t.next
	_, err = t.ELB.SetRulePriorities(ctx,
		&elbapi.SetRulePrioritiesInput{RulePriorities: []elb.RulePriorityPair{
			{RuleArn: aws.String(one), Priority: aws.Int32(high)},
			{RuleArn: aws.String(two), Priority: aws.Int32(low)},
		}})
	if client.HasCode(err, "PriorityInUse") {
		return wrong("refused: " + client.Describe(err))
	}
	if err != nil {
		return unknownOutcome(err)
	}
	at := map[string]int32{}
	took, exchanged, err := t.waitUntil(ctx, func(ctx context.Context) (bool, error) {
		rules, err := listeners.ReadRules(ctx, t.ELB, t.listener)
		for _, r := range rules {
			at[aws.ToString(r.RuleArn)] = parsePriority(r.Priority)
		}
		return at[one] == high && at[two] == low, err
	})
	switch {
	case err != nil:
		return unknownOutcome(err)
	case !exchanged:
		return wrong(fmt.Sprintf("asked for %d and %d, and described as %d and %d for %s", high, low,
			at[one], at[two], took.Round(time.Second)))
	}
	return holds("taken")
}

// measureLag measures the time until a new rule and a new tag can be read.
func (t *trial) measureLag(ctx context.Context) outcome {
	arn, err := t.createRule(ctx, hosts("read.prove.invalid"))
	defer t.deleteRule(ctx, arn)
	if err != nil {
		return unknownOutcome(err)
	}
	rule, ruleTook, err := t.readRule(ctx, arn)
	if err != nil {
		return unknownOutcome(err)
	}
	const name = "fairlead.dev/prove"
	if err := t.Tag(ctx, t.balancer, map[string]string{name: "1"}); err != nil {
		return unknownOutcome(err)
	}
	tagTook, tagged, err := t.waitUntil(ctx, func(ctx context.Context) (bool, error) {
		tags, err := t.TagsOf(ctx, []string{t.balancer})
		return tags[t.balancer][name] == "1", err
	})
	if gone := t.Untag(context.WithoutCancel(ctx), t.balancer, []string{name}); err == nil {
		err = gone
	}
	if err != nil {
		return unknownOutcome(err)
	}
	detail := "a rule is " + describeWait(rule != nil, ruleTook) + ", a tag is " +
		describeWait(tagged, tagTook)
	if rule == nil || !tagged {
		return wrong(detail)
	}
	return holds(detail)
}

// describeWait returns, in words, whether and when a read succeeded.
func describeWait(seen bool, took time.Duration) string {
	if !seen {
		return fmt.Sprintf("not seen for %s", took.Round(time.Second))
	}
	return fmt.Sprintf("seen after %s", took.Round(100*time.Millisecond))
}

// measureIndexLag measures the time until a load balancer is found by its tags. Any time is
// acceptable.
func (t *trial) measureIndexLag(ctx context.Context) outcome {
	took, found, err := t.waitUntil(ctx, func(ctx context.Context) (bool, error) {
		all, err := t.Find(ctx, map[string]string{client.TagInstallation: t.Installation},
			"elasticloadbalancing:loadbalancer")
		_, found := all[t.balancer]
		return found, err
	})
	switch {
	case err != nil:
		return unknownOutcome(err)
	case !found:
		return outcome{check.Unknown, "a load balancer is " + describeWait(false, took)}
	}
	return holds("a load balancer is " + describeWait(true, took))
}
