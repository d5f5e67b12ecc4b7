package proof

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/aws/account"
	"fairlead.dev/fairlead/providers/aws/awserr"
	"fairlead.dev/fairlead/providers/aws/convert"
)

// This file has the trials of rules and of the limits of an account.

// values tries how many values a condition takes. The guide says three a condition, the quotas five
// a rule:
// https://docs.aws.amazon.com/elasticloadbalancing/latest/application/rule-condition-types.html
func (t *trial) values(ctx context.Context) outcome {
	try := func(n int) (answer, error) {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf("v%d.prove.invalid", i))
		}
		return t.ask(ctx, []string{"condition value", "values in a", "evaluation"}, hosts(all...))
	}
	five, err := try(5)
	if !five.refused {
		return asItIs(five, err)
	}
	three, err := try(account.FewestValues)
	if err != nil {
		three.detail = "not known: " + awserr.Describe(err)
	}
	return wrong(fmt.Sprintf("five are %s; three are %s", five.detail, three.detail))
}

// readBack tries whether a rule is described as it was sent. Where it is not, and says the same,
// nothing is written anew. https://github.com/go-to-k/cdk-real-drift/pull/330
func (t *trial) readBack(ctx context.Context) outcome {
	asked := []elb.RuleCondition{
		hosts("z.Prove.invalid", "a.prove.invalid"),
		{Field: aws.String("http-header"),
			HttpHeaderConfig: &elb.HttpHeaderConditionConfig{
				HttpHeaderName: aws.String("X-Prove"), Values: []string{"Two"},
			}},
		{Field: aws.String("source-ip"), SourceIpConfig: &elb.SourceIpConditionConfig{
			Values: []string{"2001:db8::/32", "192.0.2.1/32"},
		}},
	}
	got, err := t.ask(ctx, nil, asked...)
	out := asItIs(got, err)
	switch sent := written(convert.FromConditions(asked)); {
	case out.state != check.OK:
	case got.as == sent:
		out.detail = "described as it was sent"
	default:
		out.detail = fmt.Sprintf("sent as %s, and described as %s, which says the same", sent, got.as)
	}
	return out
}

// wildcards tries whether a rule takes as many wildcards as AWS says.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-limits.html
func (t *trial) wildcards(ctx context.Context) outcome {
	most := t.account.Capabilities(lb.Class{}).WildcardsPerRule
	out := asItIs(t.ask(ctx, []string{"wildcard"}, paths("/"+strings.Repeat("*a/", most))))
	out.detail = fmt.Sprintf("a rule with %d wildcards: %s", most, out.detail)
	return out
}

// expressions tries whether regular expressions are understood: not every partition has them, and
// rules are said without them there.
func (t *trial) expressions(ctx context.Context) outcome {
	got, err := t.ask(ctx, []string{"regex", "regular expression"}, elb.RuleCondition{
		Field:             aws.String("path-pattern"),
		PathPatternConfig: &elb.PathPatternConditionConfig{RegexValues: []string{"^/prove/[0-9]+$"}},
	})
	return expressionsIn(t.balancer, got, err)
}

// expressionsIn is the outcome in the partition of a load balancer. One other than that of the
// documentation may have none, which is no fault.
func expressionsIn(balancer string, got answer, err error) outcome {
	if got.refused && !account.Commercial(balancer) {
		return outcome{check.Unknown, "absent in this partition, so rules are said without them, which " +
			"takes more of them: " + got.detail}
	}
	return asItIs(got, err)
}

// source tries the address that parking rules have, and, to tell, the one that AWS documents as
// forbidden.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/application/rule-condition-types.html
func (t *trial) source(ctx context.Context) outcome {
	try := func(cidr string) (answer, error) {
		return t.ask(ctx, []string{"source-ip", "source ip", "sourceip"}, hosts("warm.invalid"),
			elb.RuleCondition{
				Field:          aws.String("source-ip"),
				SourceIpConfig: &elb.SourceIpConditionConfig{Values: []string{cidr}},
			})
	}
	out := asItIs(try("192.0.2.1/32"))
	const forbidden = "255.255.255.255/32"
	other, err := try(forbidden)
	if err != nil {
		other.detail = "not known: " + awserr.Describe(err)
	}
	out.detail += fmt.Sprintf("; %s, which AWS documents as forbidden: %s", forbidden, other.detail)
	return out
}
