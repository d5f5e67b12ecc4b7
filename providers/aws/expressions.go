package aws

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/aws/errorcode"
)

// This file finds out whether regular expressions are understood. AWS does, but for partitions that
// may be behind; those who imitate it may fall over them. Then rules are said without, which takes
// more of them, and a load balancer has a tag for it, so that an operator that starts does not
// change rules in vain.

const (
	tagExpressions = "fairlead.dev/regular-expressions"
	noExpressions  = "none"
)

// overExpressions is an error that a call with conditions met with, and says so where it is their
// regular expressions that the other side does not understand. An endpoint that somebody has named
// may fall over them. A partition that does not know them refuses the rule, in words that AWS does
// not publish: it is believed to be for the expressions where the partition is not the one in which
// they are documented, or where the refusal names them, as long as no rule with one has been taken.
// One that rewrites requests, too, may be refused for that.
func (p *Provider) overExpressions(ctx context.Context, seen *lb.Observed, conditions []elb.RuleCondition, transforms bool, err error) error {
	if err == nil || !expressed(conditions) {
		return err
	}
	var answer *smithyhttp.ResponseError
	falls := p.elb.Options().BaseEndpoint != nil && errors.As(err, &answer) && errorcode.Of(err) == "" && answer.HTTPStatusCode() == http.StatusInternalServerError
	behind := refusesRule(err) && !p.took.expressions.Load() && !transforms && (!commercial(seen.Handle) || namesExpressions(err))
	if !falls && !behind {
		return err
	}
	p.globsOnly.Store(true)
	unnoted := p.tag(ctx, seen.Handle, map[string]string{tagExpressions: noExpressions}) // the next operator finds out for itself
	if behind {
		return errors.Join(saidOtherwise("regular expressions are not understood here, and rules are said without them from now on", err), unnoted)
	}
	return fmt.Errorf("%s does not understand regular expressions, and rules are said without them from now on: %w",
		aws.ToString(p.elb.Options().BaseEndpoint), errors.Join(err, unnoted))
}

// commercial reports whether an ARN is of the partition that has all that is documented. China,
// GovCloud and isolated regions have partitions of their own: aws-cn, aws-us-gov, aws-iso and more
// (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference-arns.html).
func commercial(text string) bool {
	parsed, err := arn.Parse(text)
	return err != nil || parsed.Partition == "aws"
}

// namesExpressions reports whether a refusal names the field that regular expressions are in, or
// says that such are not supported.
func namesExpressions(err error) bool {
	said := strings.ToLower(err.Error())
	return strings.Contains(said, "regexvalues") || strings.Contains(said, "not supported") && strings.Contains(said, "regular expression")
}

// expressed reports whether conditions have regular expressions.
func expressed(conditions []elb.RuleCondition) bool {
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
