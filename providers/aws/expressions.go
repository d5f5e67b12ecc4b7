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

// This file finds out whether regular expressions in conditions are supported. AWS supports them,
// maybe not yet in each partition; a simulator of AWS may fail with them. Then later rules have
// none, which takes more rules, and a tag of the load balancer says so, so that an operator that
// starts does not change rules in vain.

const (
	tagExpressions = "fairlead.dev/regular-expressions"
	noExpressions  = "none"
)

// adaptExpressions returns the error of a call with conditions, and adapts where regular
// expressions are not supported. An endpoint that AWS_ENDPOINT_URL names may fail with status 500.
// A partition that does not support them refuses the rule, in words that AWS does not publish: the
// expressions count as the reason where the partition is not the one in which they are documented,
// or where the refusal mentions them, as long as AWS has taken no rule with one. A rule that
// rewrites requests, too, may be refused for that.
func (s *conditionSupport) adaptExpressions(ctx context.Context, seen *lb.Observed, conditions []elb.RuleCondition, transforms bool, err error) error {
	if err == nil || !expressed(conditions) {
		return err
	}
	var answer *smithyhttp.ResponseError
	endpoint := s.elb.Options().BaseEndpoint
	fails := endpoint != nil && errors.As(err, &answer) && errorcode.Of(err) == "" &&
		answer.HTTPStatusCode() == http.StatusInternalServerError
	refuses := refusesRule(err) && !s.tookExpressions.Load() && !transforms &&
		(!commercial(seen.Handle) || namesExpressions(err))
	if !fails && !refuses {
		return err
	}
	s.noExpressions.Store(true)
	// Without the tag, the next operator finds out for itself.
	untagged := s.tag(ctx, seen.Handle, map[string]string{tagExpressions: noExpressions})
	if refuses {
		how := "regular expressions are not understood here, and rules are said without them from now on"
		return errors.Join(saidOtherwise(how, err), untagged)
	}
	return fmt.Errorf("%s does not understand regular expressions, and rules are said without them from now on: %w",
		aws.ToString(endpoint), errors.Join(err, untagged))
}

// commercial reports whether an ARN is of the partition that the documentation describes. China,
// GovCloud and isolated regions have partitions of their own: aws-cn, aws-us-gov, aws-iso and more
// (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference-arns.html).
func commercial(text string) bool {
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
