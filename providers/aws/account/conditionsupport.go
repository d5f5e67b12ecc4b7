package account

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/client"
)

// This file finds out which conditions AWS accepts here: how many values one can have, and whether
// regular expressions are supported. The guide says three values
// (https://docs.aws.amazon.com/elasticloadbalancing/latest/application/rule-condition-types.html,
// "You can specify up to three match evaluations per condition"), and AWS's error message says
// five, for all conditions of a rule together: "A rule can only have '5' condition values"
// (https://github.com/aws-cloudformation/cfn-lint/issues/3833, of a condition with six;
// https://github.com/aws/aws-cdk/issues/10065). Fairlead tries five. If AWS refuses more than
// three, later rules have at most three values a condition, which may take more rules, and a tag of
// the load balancer records it. Regular expressions are tried in the same way.

// Tags of a load balancer for which AWS refused conditions: more than three values in one, or
// regular expressions, which some partitions and simulators of AWS may not support. With them, an
// operator that starts does not try such rules again.
const (
	tagValues      = "fairlead.dev/condition-values"
	tagExpressions = "fairlead.dev/regular-expressions"
	noExpressions  = "none"
)

// FewestValues is the number of values that AWS accepts in every condition.
const FewestValues = 3

// ConditionSupport holds which forms of conditions AWS has accepted and refused here. A form that
// AWS has accepted once is not the reason of a later refusal.
type ConditionSupport struct {
	client.API
	tookExpressions atomic.Bool // a rule with a regular expression exists
	tookValues      atomic.Bool // a rule with a condition of more than three values exists
	noExpressions   atomic.Bool // regular expressions are refused
	fewValues       atomic.Bool // more than three values in a condition are refused
}

// NewConditionSupport returns a ConditionSupport without state.
func NewConditionSupport(api client.API) *ConditionSupport { return &ConditionSupport{API: api} }

// Limit lowers the limits of a class, and of a cloud, to those that AWS has here.
func (s *ConditionSupport) Limit(class *lb.Class, c *lb.Capabilities) {
	class.NoRegularExpressions = class.NoRegularExpressions || s.noExpressions.Load()
	if s.fewValues.Load() {
		c.ValuesPerCondition = FewestValues
		class.ValuesPerCondition = min(class.ValuesPerCondition, FewestValues)
	}
}

// Learn records the support that the tags of a load balancer, and its rules, show.
func (s *ConditionSupport) Learn(tags map[string]string, rules map[string][]elb.Rule) {
	if tags[tagExpressions] == noExpressions {
		s.noExpressions.Store(true)
	}
	if tags[tagValues] != "" {
		s.fewValues.Store(true)
	}
	for _, ofListener := range rules {
		for _, r := range ofListener {
			s.recordSupported(r.Conditions)
		}
	}
}

// recordSupported records that AWS has accepted the conditions of a rule.
func (s *ConditionSupport) recordSupported(conditions []elb.RuleCondition) {
	if hasExpressions(conditions) {
		s.tookExpressions.Store(true)
	}
	if hasCrowdedCondition(conditions) {
		s.tookValues.Store(true)
	}
}

// Adapt returns the error of a call with conditions. If AWS refuses the form of the conditions, and
// not their meaning, later rules use another form, and Adapt returns ErrPending: the next
// reconciliation tries that at once.
func (s *ConditionSupport) Adapt(
	ctx context.Context, seen *lb.Observed, conditions []elb.RuleCondition, transforms bool, err error,
) error {
	if err == nil {
		s.recordSupported(conditions)
		return nil
	}
	return s.adaptValues(
		ctx, seen, conditions, s.adaptExpressions(ctx, seen, conditions, transforms, err),
	)
}

// adaptValues returns the error of a call with conditions. If AWS refuses more than three values in
// one, later conditions have fewer.
func (s *ConditionSupport) adaptValues(
	ctx context.Context, seen *lb.Observed, conditions []elb.RuleCondition, err error,
) error {
	if !refusesRule(err) || !hasCrowdedCondition(conditions) || s.tookValues.Load() ||
		!namesValues(err) {
		return err
	}
	s.fewValues.Store(true)
	how := fmt.Sprintf("more than %d values in a condition are refused; later rules have at most as "+
		"many", FewestValues)
	// Without the tag, the next operator finds out for itself.
	untagged := s.Tag(ctx, seen.Handle, map[string]string{tagValues: fmt.Sprint(FewestValues)})
	return errors.Join(retryInOtherForm(how, err), untagged)
}

// refusesRule reports whether AWS refuses a rule for its content.
func refusesRule(err error) bool {
	return client.HasCode(err, "ValidationError", "Validation", "InvalidConfigurationRequest",
		"InvalidRequest",
		"InvalidParameterValue", "InvalidParameter", "UnknownParameter", "UnsupportedOperation",
		"MalformedQueryString")
}

// namesValues reports whether a refusal mentions the values of conditions.
func namesValues(err error) bool {
	text := strings.ToLower(err.Error())
	return strings.Contains(text, "value") || strings.Contains(text, "evaluation") ||
		strings.Contains(text, "condition")
}

// hasCrowdedCondition reports whether a condition has more values than the guide permits.
func hasCrowdedCondition(conditions []elb.RuleCondition) bool {
	return slices.ContainsFunc(conditions, func(condition elb.RuleCondition) bool {
		c := client.FromCondition(condition)
		return len(c.Values)+len(c.Regex) > FewestValues
	})
}

// retryInOtherForm returns a refusal as ErrPending, because later rules have another form.
func retryInOtherForm(how string, err error) error {
	return fmt.Errorf("%s: %s: %w", how, client.Describe(err), providers.ErrPending)
}

// adaptExpressions returns the error of a call with conditions. If regular expressions are not
// supported, later rules have none. An endpoint that AWS_ENDPOINT_URL names may fail with status
// 500. A partition that does not support them refuses the rule with a message that AWS does not
// document: the expressions count as the reason outside of the partition in which they are
// documented, or if the refusal mentions them, unless AWS has accepted a rule with one. They do not
// count for a rule that also rewrites requests.
func (s *ConditionSupport) adaptExpressions(
	ctx context.Context, seen *lb.Observed, conditions []elb.RuleCondition, transforms bool, err error,
) error {
	if !hasExpressions(conditions) {
		return err
	}
	var answer *smithyhttp.ResponseError
	endpoint := s.ELB.Options().BaseEndpoint
	fails := endpoint != nil && errors.As(err, &answer) && client.ErrorCode(err) == "" &&
		answer.HTTPStatusCode() == http.StatusInternalServerError
	refuses := refusesRule(err) && !s.tookExpressions.Load() && !transforms &&
		(!Commercial(seen.Handle) || namesExpressions(err))
	if !fails && !refuses {
		return err
	}
	s.noExpressions.Store(true)
	// Without the tag, the next operator finds out for itself.
	untagged := s.Tag(ctx, seen.Handle, map[string]string{tagExpressions: noExpressions})
	if refuses {
		how := "regular expressions are not supported here; later rules have none"
		return errors.Join(retryInOtherForm(how, err), untagged)
	}
	return fmt.Errorf("%s does not support regular expressions; later rules have none: %w",
		aws.ToString(endpoint), errors.Join(err, untagged))
}

// Commercial reports whether an ARN is in the partition that the documentation describes. China,
// GovCloud and isolated regions have partitions of their own: aws-cn, aws-us-gov, aws-iso and more
// (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference-arns.html).
func Commercial(text string) bool {
	parsed, err := arn.Parse(text)
	return err != nil || parsed.Partition == "aws"
}

// namesExpressions reports whether a refusal names the field of regular expressions, or says that
// they are not supported.
func namesExpressions(err error) bool {
	text := strings.ToLower(err.Error())
	return strings.Contains(text, "regexvalues") ||
		strings.Contains(text, "not supported") && strings.Contains(text, "regular expression")
}

// hasExpressions reports whether conditions have regular expressions.
func hasExpressions(conditions []elb.RuleCondition) bool {
	for _, c := range conditions {
		switch {
		case c.HostHeaderConfig != nil && len(c.HostHeaderConfig.RegexValues) > 0,
			c.PathPatternConfig != nil && len(c.PathPatternConfig.RegexValues) > 0,
			c.HttpHeaderConfig != nil && len(c.HttpHeaderConfig.RegexValues) > 0:
			return true
		}
	}
	return false
}
