package preflight

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
	"fairlead.dev/fairlead/providers/aws/client"
)

// This file creates rules on the load balancer of a trial, and reads them back.

// createRule creates a rule that no request matches, and returns its ARN.
func (t *trial) createRule(ctx context.Context, conditions ...elb.RuleCondition) (string, error) {
	t.next++
	return t.ruleAt(ctx, t.next, conditions...)
}

func (t *trial) ruleAt(
	ctx context.Context, priority int32, conditions ...elb.RuleCondition,
) (string, error) {
	actions := t.actions
	if len(actions) == 0 {
		actions = []elb.Action{{Type: elb.ActionTypeEnumFixedResponse,
			FixedResponseConfig: &elb.FixedResponseActionConfig{StatusCode: aws.String("410")}}}
	}
	out, err := t.ELB.CreateRule(ctx, &elbapi.CreateRuleInput{
		ListenerArn: aws.String(t.listener), Priority: aws.Int32(priority), Conditions: conditions,
		Tags:    client.ELBTags(map[string]string{client.TagInstallation: t.Installation}),
		Actions: actions, Transforms: t.transforms,
	})
	if err != nil {
		return "", err
	}
	made, err := client.RequireOne(out.Rules, "CreateRule", "a rule")
	if err != nil {
		return "", err
	}
	return client.RequireID(made.RuleArn, "CreateRule", "an ARN")
}

// deleteRule deletes a rule, also if the context has ended. A rule that it leaves is deleted with
// the load balancer.
func (t *trial) deleteRule(ctx context.Context, arn string) {
	if arn != "" {
		_, _ = t.ELB.DeleteRule(context.WithoutCancel(ctx), &elbapi.DeleteRuleInput{
			RuleArn: aws.String(arn),
		})
	}
}

// readRule reads a rule. It repeats the call until AWS finds the rule, and returns nil if AWS does
// not find it in time.
func (t *trial) readRule(
	ctx context.Context, arn string,
) (rule *elb.Rule, took time.Duration, err error) {
	took, _, err = t.waitUntil(ctx, func(ctx context.Context) (bool, error) {
		out, err := t.ELB.DescribeRules(ctx, &elbapi.DescribeRulesInput{RuleArns: []string{arn}})
		if client.ErrorCode(err) == "RuleNotFound" {
			return false, nil
		}
		if err != nil {
			return false, client.Explain("reading a rule", err)
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

// An answer is AWS's reaction to a rule. A rule that is neither taken nor refused is described
// differently from the request.
type answer struct {
	taken, refused bool
	detail         string
	as             string // the description of a rule that is taken
}

// tryRule creates a rule and reads it back. The rule is refused if the error has a code for invalid
// rules, and its message has a value of the rule or one of some words; any other error is no
// evidence.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_CreateRule.html
func (t *trial) tryRule(
	ctx context.Context, words []string, conditions ...elb.RuleCondition,
) (answer, error) {
	arn, err := t.createRule(ctx, conditions...)
	defer t.deleteRule(ctx, arn)
	asked := client.FromConditions(conditions)
	if err != nil {
		if client.HasCode(err, "ValidationError", "Validation", "InvalidConfigurationRequest") &&
			namesValue(err, words, asked) {
			return answer{refused: true, detail: "refused: " + client.Describe(err)}, nil
		}
		return answer{}, err
	}
	rule, took, err := t.readRule(ctx, arn)
	if err != nil {
		return answer{}, err
	}
	if rule == nil {
		return answer{
			detail: fmt.Sprintf("created, and not found for %s", took.Round(time.Second)),
		}, nil
	}
	there := client.FromConditions(rule.Conditions)
	want, got := describeRule(asked, t.next), describeRule(there, parsePriority(rule.Priority))
	if !sameConditions(asked, there) || parsePriority(rule.Priority) != t.next {
		return answer{detail: fmt.Sprintf("asked for %s, and described as %s", want, got)}, nil
	}
	if len(rule.Transforms) != len(t.transforms) {
		return answer{detail: fmt.Sprintf("asked for with %d transforms, and described with %d", len(t.transforms),
			len(rule.Transforms))}, nil
	}
	return answer{taken: true, detail: "taken", as: formatConditions(there)}, nil
}

// sameConditions reports whether conditions are the same in another order or case.
func sameConditions(a, b []lb.Condition) bool {
	return lb.Rule{Conditions: a}.MatchKey() == lb.Rule{Conditions: b}.MatchKey()
}

// formatConditions returns conditions as text.
func formatConditions(conditions []lb.Condition) string {
	var parts []string
	for _, c := range conditions {
		parts = append(parts, c.String())
	}
	return strings.Join(parts, " & ")
}

// parsePriority parses a priority; 0 for the default rule.
func parsePriority(text *string) int32 { return int32(client.ParseNumber(aws.ToString(text))) }

// describeRule returns a rule as text in one line.
func describeRule(conditions []lb.Condition, priority int32) string {
	var parts []string
	for _, c := range conditions {
		values := slices.Sorted(slices.Values(c.Values))
		parts = append(parts, fmt.Sprintf("%s %q", c.Field, append(values, c.Regex...)))
	}
	return fmt.Sprintf("%s at %d", strings.Join(parts, " and "), priority)
}

// namesValue reports whether the message of a refusal has a value of the conditions, or one of the
// words.
func namesValue(err error, words []string, conditions []lb.Condition) bool {
	for _, c := range conditions {
		words = append(append(words[:len(words):len(words)], c.Values...), c.Regex...)
	}
	text := strings.ToLower(err.Error())
	return slices.ContainsFunc(words, func(word string) bool {
		return strings.Contains(text, strings.ToLower(word))
	})
}

// acceptedOutcome returns the outcome of the assumption that AWS accepts a rule.
func acceptedOutcome(a answer, err error) outcome {
	switch {
	case err != nil:
		return unknownOutcome(err)
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

// waitUntil repeats a read until it succeeds, at most for the lag of reads, and returns the time
// that it took.
func (t *trial) waitUntil(ctx context.Context,
	seen func(context.Context) (bool, error)) (time.Duration, bool, error) {
	most := t.lag
	for began := time.Now(); ; {
		found, err := seen(ctx)
		took := time.Since(began)
		if err != nil || found || took > most {
			return took, found, err
		}
		if err := client.Pause(ctx, min(time.Second, most/4)); err != nil {
			return took, found, err
		}
	}
}
