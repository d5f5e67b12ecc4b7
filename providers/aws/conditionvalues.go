package aws

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
)

// This file finds out how many values a condition can have. The guide says three
// (https://docs.aws.amazon.com/elasticloadbalancing/latest/application/rule-condition-types.html,
// "You can specify up to three match evaluations per condition"), and what AWS answers says five,
// for all conditions of a rule together: "A rule can only have '5' condition values"
// (https://github.com/aws-cloudformation/cfn-lint/issues/3833, of a condition with six;
// https://github.com/aws/aws-cdk/issues/10065). Five are tried. Where AWS refuses more than three,
// rules are said with three from then on, which may take more of them, and a load balancer has a
// tag for it.

const (
	tagValues    = "fairlead.dev/condition-values"
	fewestValues = 3
)

// taken is what rules that AWS has taken had: then a refusal is not for that.
type taken struct {
	expressions atomic.Bool // a regular expression
	values      atomic.Bool // a condition of more than three values
}

// note learns from the conditions of a rule that is there.
func (t *taken) note(conditions []elb.RuleCondition) {
	if expressed(conditions) {
		t.expressions.Store(true)
	}
	if crowdedCondition(conditions) {
		t.values.Store(true)
	}
}

// overConditions is an error that a call with conditions met with. Where it is for how these are
// said, and not for what, they are said otherwise from now on, and the error is one after which
// that is tried at once.
func (p *Provider) overConditions(ctx context.Context, seen *lb.Observed, conditions []elb.RuleCondition, transforms bool, err error) error {
	if err == nil {
		p.took.note(conditions)
		return nil
	}
	return p.overValues(ctx, seen, conditions, p.overExpressions(ctx, seen, conditions, transforms, err))
}

// overValues is an error that a call with conditions met with, and says so where it is for more
// than three values in one.
func (p *Provider) overValues(ctx context.Context, seen *lb.Observed, conditions []elb.RuleCondition, err error) error {
	if !refusesRule(err) || !crowdedCondition(conditions) || p.took.values.Load() || !namesValues(err) {
		return err
	}
	p.fewValues.Store(true)
	unnoted := p.tag(ctx, seen.Handle, map[string]string{tagValues: fmt.Sprint(fewestValues)}) // the next operator finds out for itself
	return errors.Join(saidOtherwise(fmt.Sprintf("more than %d values in a condition are refused, and rules are said with as many from now on", fewestValues), err), unnoted)
}

// refusesRule reports whether AWS refuses a rule for what it says.
func refusesRule(err error) bool {
	return is(err, "ValidationError", "Validation", "InvalidConfigurationRequest", "InvalidParameterValue", "InvalidParameter", "InvalidRequest",
		"UnknownParameter", "UnsupportedOperation", "MalformedQueryString")
}

// namesValues reports whether a refusal is of the values of conditions.
func namesValues(err error) bool {
	said := strings.ToLower(err.Error())
	return strings.Contains(said, "value") || strings.Contains(said, "evaluation") || strings.Contains(said, "condition")
}

// crowdedCondition reports whether a condition has more values than the guide says.
func crowdedCondition(conditions []elb.RuleCondition) bool {
	return slices.ContainsFunc(conditions, func(said elb.RuleCondition) bool {
		c := fromCondition(said)
		return len(c.Values)+len(c.Regex) > fewestValues
	})
}

// saidOtherwise is a refusal that is over once rules are said otherwise.
func saidOtherwise(how string, err error) error {
	return fmt.Errorf("%s: %s: %w", how, describe(err), providers.ErrPending)
}
