package aws

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"fairlead.dev/fairlead/model/lb"
)

// This file finds out whether regular expressions are understood. AWS does; those who imitate it may fall
// over them. Then rules are said without, which takes more of them, and a load balancer has a tag for it, so
// that an operator that starts does not change rules in vain.

const (
	tagExpressions = "fairlead.dev/regular-expressions"
	noExpressions  = "none"
)

// overExpressions is an error that a call with conditions met with, and says so where it is their regular
// expressions that the other side fell over. AWS itself never does: it is only believed of an endpoint that
// somebody has named, which answers what AWS does not.
func (p *Provider) overExpressions(ctx context.Context, seen *lb.Observed, conditions []elb.RuleCondition, err error) error {
	var answer *smithyhttp.ResponseError
	if err == nil || p.elb.Options().BaseEndpoint == nil || !errors.As(err, &answer) {
		return err
	}
	if codeOf(err) != "" || answer.HTTPStatusCode() != http.StatusInternalServerError || !expressed(conditions) {
		return err
	}
	p.globsOnly.Store(true)
	if unnoted := p.tag(ctx, seen.Handle, map[string]string{tagExpressions: noExpressions}); unnoted != nil {
		err = errors.Join(err, unnoted) // the next operator finds out for itself
	}
	return fmt.Errorf("%s does not understand regular expressions, and rules are said without them from now on: %w",
		aws.ToString(p.elb.Options().BaseEndpoint), err)
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
