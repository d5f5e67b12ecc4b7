package preflight

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers/aws/account"
	"fairlead.dev/fairlead/providers/aws/client"
)

// This file has the trials of rules and of the limits of an account.

// tryValues tests the number of values that a condition can have. The guide says three a condition,
// the quotas say five a rule:
// https://docs.aws.amazon.com/elasticloadbalancing/latest/application/rule-condition-types.html
func (t *trial) tryValues(ctx context.Context) outcome {
	try := func(n int) (answer, error) {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf("v%d.prove.invalid", i))
		}
		return t.tryRule(ctx, []string{"condition value", "values in a", "evaluation"}, hosts(all...))
	}
	five, err := try(5)
	if !five.refused {
		return acceptedOutcome(five, err)
	}
	three, err := try(account.FewestValues)
	if err != nil {
		three.detail = "not known: " + client.Describe(err)
	}
	return wrong(fmt.Sprintf("five are %s; three are %s", five.detail, three.detail))
}

// tryReadBack tests whether AWS describes a rule as it was sent. If it describes the same
// conditions differently, the rule is not written again.
// https://github.com/go-to-k/cdk-real-drift/pull/330
func (t *trial) tryReadBack(ctx context.Context) outcome {
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
	got, err := t.tryRule(ctx, nil, asked...)
	out := acceptedOutcome(got, err)
	switch sent := formatConditions(client.FromConditions(asked)); {
	case out.state != check.OK:
	case got.as == sent:
		out.detail = "described as it was sent"
	default:
		out.detail = fmt.Sprintf("sent as %s, and described as %s, which says the same", sent, got.as)
	}
	return out
}

// tryWildcards tests whether a rule can have as many wildcards as AWS documents.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-limits.html
func (t *trial) tryWildcards(ctx context.Context) outcome {
	most := t.account.Capabilities(lb.Class{}).WildcardsPerRule
	path := "/" + strings.Repeat("*a/", most)
	out := acceptedOutcome(t.tryRule(ctx, []string{"wildcard"}, paths(path)))
	out.detail = fmt.Sprintf("a rule with %d wildcards: %s", most, out.detail)
	return out
}

// tryExpressions tests whether regular expressions are supported: not every partition has them, and
// rules have none there.
func (t *trial) tryExpressions(ctx context.Context) outcome {
	got, err := t.tryRule(ctx, []string{"regex", "regular expression"}, elb.RuleCondition{
		Field:             aws.String("path-pattern"),
		PathPatternConfig: &elb.PathPatternConditionConfig{RegexValues: []string{"^/prove/[0-9]+$"}},
	})
	return expressionsOutcome(t.balancer, got, err)
}

// tryCaseFlag tests whether an expression can have the flag for case. Whether it ignores case then takes requests.
func (t *trial) tryCaseFlag(ctx context.Context) outcome {
	return acceptedOutcome(t.tryRule(ctx, []string{"regex", "regular expression"}, elb.RuleCondition{
		Field:             aws.String("path-pattern"),
		PathPatternConfig: &elb.PathPatternConditionConfig{RegexValues: []string{"^(?:/(?i)prove)$"}},
	}))
}

// tryRewrittenRedirect tests whether a rule can have a rewrite in front of a redirect. Where the redirect leads takes requests.
// docs/guide/gateway/l7gateway.md of kubernetes-sigs/aws-load-balancer-controller, "ReplacePrefixMatch Behavior".
func (t *trial) tryRewrittenRedirect(ctx context.Context) outcome {
	redirecting := *t
	redirecting.actions = []elb.Action{{Type: elb.ActionTypeEnumRedirect, RedirectConfig: &elb.RedirectActionConfig{
		Host: aws.String("elsewhere.prove.invalid"), StatusCode: elb.RedirectActionStatusCodeEnumHttp302}}}
	redirecting.transforms = client.ToTransforms(&routing.Rewrite{URL: "^/old/([^?]*)", URLReplacement: "/new/$1"})
	got, err := redirecting.tryRule(ctx, []string{"transform", "redirect", "rewrite"}, hosts("rewritten.prove.invalid"))
	t.next = redirecting.next
	return acceptedOutcome(got, err)
}

// expressionsOutcome returns the outcome in the partition of a load balancer. Partitions other than
// that of the documentation may lack regular expressions.
func expressionsOutcome(balancer string, got answer, err error) outcome {
	if got.refused && !account.Commercial(balancer) {
		return outcome{check.Unknown, "absent in this partition, so rules have none, which " +
			"takes more of them: " + got.detail}
	}
	return acceptedOutcome(got, err)
}

// trySourceAddress tests the source address of parking rules. It also reports the answer for the
// address that AWS documents as forbidden.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/application/rule-condition-types.html
func (t *trial) trySourceAddress(ctx context.Context) outcome {
	try := func(cidr string) (answer, error) {
		return t.tryRule(ctx, []string{"source-ip", "source ip", "sourceip"}, hosts("warm.invalid"),
			elb.RuleCondition{
				Field:          aws.String("source-ip"),
				SourceIpConfig: &elb.SourceIpConditionConfig{Values: []string{cidr}},
			})
	}
	out := acceptedOutcome(try("192.0.2.1/32"))
	const forbidden = "255.255.255.255/32"
	other, err := try(forbidden)
	if err != nil {
		other.detail = "not known: " + client.Describe(err)
	}
	out.detail += fmt.Sprintf("; %s, which AWS documents as forbidden: %s", forbidden, other.detail)
	return out
}
