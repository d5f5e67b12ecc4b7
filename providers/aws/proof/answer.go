package proof

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/aws/awserr"
	"fairlead.dev/fairlead/providers/aws/convert"
	"fairlead.dev/fairlead/providers/aws/errorcode"
	"fairlead.dev/fairlead/providers/aws/resource"
	"fairlead.dev/fairlead/providers/aws/retry"
)

// This file makes rules on the load balancer of a trial, and reads them back.

// rule makes a rule that no request meets, and returns its ARN.
func (t *trial) rule(ctx context.Context, conditions ...elb.RuleCondition) (string, error) {
	t.next++
	return t.ruleAt(ctx, t.next, conditions...)
}

func (t *trial) ruleAt(
	ctx context.Context, priority int32, conditions ...elb.RuleCondition,
) (string, error) {
	out, err := t.ELB.CreateRule(ctx, &elbapi.CreateRuleInput{
		ListenerArn: aws.String(t.listener), Priority: aws.Int32(priority), Conditions: conditions,
		Tags: resource.ELBTags(map[string]string{resource.TagInstallation: t.Installation}),
		Actions: []elb.Action{{Type: elb.ActionTypeEnumFixedResponse,
			FixedResponseConfig: &elb.FixedResponseActionConfig{StatusCode: aws.String("410")}}},
	})
	if err != nil {
		return "", err
	}
	made, err := awserr.Only(out.Rules, "CreateRule", "a rule")
	if err != nil {
		return "", err
	}
	return awserr.Required(made.RuleArn, "CreateRule", "an ARN")
}

// drop deletes a rule, also when the trial is told to end. What it leaves goes with the load
// balancer.
func (t *trial) drop(ctx context.Context, arn string) {
	if arn != "" {
		_, _ = t.ELB.DeleteRule(context.WithoutCancel(ctx), &elbapi.DeleteRuleInput{
			RuleArn: aws.String(arn),
		})
	}
}

// described reads a rule back, which may take until it can be read. It is nil where it is not found
// by then.
func (t *trial) described(
	ctx context.Context, arn string,
) (rule *elb.Rule, took time.Duration, err error) {
	took, _, err = t.until(ctx, func(ctx context.Context) (bool, error) {
		out, err := t.ELB.DescribeRules(ctx, &elbapi.DescribeRulesInput{RuleArns: []string{arn}})
		if errorcode.Read(err) == "RuleNotFound" {
			return false, nil
		}
		if err != nil {
			return false, awserr.Explain("reading a rule", err)
		}
		if at := slices.IndexFunc(out.Rules, func(r elb.Rule) bool {
			return aws.ToString(r.RuleArn) == arn
		}); at >= 0 {
			rule = &out.Rules[at]
		}
		return rule != nil, nil
	})
	return rule, took, err
}

// An answer is what AWS makes of a rule. One that is neither taken nor refused is described
// otherwise than it was asked for.
type answer struct {
	taken, refused bool
	detail         string
	as             string // how one that is taken is described
}

// ask makes a rule and reads it back. AWS refuses it where its answer is one of those for what a
// rule says, and names a value of the rule or has one of some words; anything else is an error, by
// which nothing is known.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_CreateRule.html
func (t *trial) ask(
	ctx context.Context, words []string, conditions ...elb.RuleCondition,
) (answer, error) {
	arn, err := t.rule(ctx, conditions...)
	defer t.drop(ctx, arn)
	asked := convert.FromConditions(conditions)
	if err != nil {
		if awserr.Is(err, "ValidationError", "Validation", "InvalidConfigurationRequest") &&
			names(err, words, asked) {
			return answer{refused: true, detail: "refused: " + awserr.Describe(err)}, nil
		}
		return answer{}, err
	}
	rule, took, err := t.described(ctx, arn)
	if err != nil {
		return answer{}, err
	}
	if rule == nil {
		return answer{
			detail: fmt.Sprintf("said to be made, and not found for %s", took.Round(time.Second)),
		}, nil
	}
	there := convert.FromConditions(rule.Conditions)
	want, got := inWords(asked, t.next), inWords(there, number32(rule.Priority))
	if !sameConditions(asked, there) || number32(rule.Priority) != t.next {
		return answer{detail: fmt.Sprintf("asked for %s, and described as %s", want, got)}, nil
	}
	return answer{taken: true, detail: "taken", as: written(there)}, nil
}

// sameConditions reports whether conditions say the same, in whatever order and case.
func sameConditions(a, b []lb.Condition) bool {
	return lb.Rule{Conditions: a}.MatchKey() == lb.Rule{Conditions: b}.MatchKey()
}

// written are conditions as they are written.
func written(conditions []lb.Condition) string {
	var parts []string
	for _, c := range conditions {
		parts = append(parts, c.String())
	}
	return strings.Join(parts, " & ")
}

// number32 is a priority; zero for the default rule.
func number32(text *string) int32 { return int32(convert.Number(aws.ToString(text))) }

// inWords describes a rule in one line.
func inWords(conditions []lb.Condition, priority int32) string {
	var parts []string
	for _, c := range conditions {
		values := slices.Sorted(slices.Values(c.Values))
		parts = append(parts, fmt.Sprintf("%s %q", c.Field, append(values, c.Regex...)))
	}
	return fmt.Sprintf("%s at %d", strings.Join(parts, " and "), priority)
}

// names reports whether a refusal names a value of some conditions, or has one of some words.
func names(err error, words []string, conditions []lb.Condition) bool {
	for _, c := range conditions {
		words = append(append(words[:len(words):len(words)], c.Values...), c.Regex...)
	}
	text := strings.ToLower(err.Error())
	return slices.ContainsFunc(words, func(word string) bool {
		return strings.Contains(text, strings.ToLower(word))
	})
}

// asItIs is the outcome of an assumption that AWS takes a rule.
func asItIs(a answer, err error) outcome {
	switch {
	case err != nil:
		return notKnown(err)
	case a.taken:
		return holds(a.detail)
	}
	return wrong(a.detail)
}

func hosts(values ...string) elb.RuleCondition {
	return elb.RuleCondition{
		Field:            aws.String("host-header"),
		HostHeaderConfig: &elb.HostHeaderConditionConfig{Values: values},
	}
}

func paths(values ...string) elb.RuleCondition {
	return elb.RuleCondition{
		Field:             aws.String("path-pattern"),
		PathPatternConfig: &elb.PathPatternConditionConfig{Values: values},
	}
}

// until looks until something is seen, for as long as reads are believed to lag, and says how long
// that took.
func (t *trial) until(ctx context.Context,
	seen func(context.Context) (bool, error)) (time.Duration, bool, error) {
	most := t.lag
	for began := time.Now(); ; {
		found, err := seen(ctx)
		took := time.Since(began)
		if err != nil || found || took > most {
			return took, found, err
		}
		if err := retry.Pause(ctx, min(time.Second, most/4)); err != nil {
			return took, found, err
		}
	}
}
