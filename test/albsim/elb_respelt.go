package albsim

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// This file is rules that are described otherwise than they were sent: lists in another order, in a
// case of AWS's own where it compares without regard to case, and ranges of addresses in another
// spelling. AWS returns values in an order of its own
// (https://github.com/go-to-k/cdk-real-drift/pull/330), and documents nothing about it.

// respelt is a rule as it is described; what was sent stays as it is.
func (s *Sim) respelt(r elb.Rule) elb.Rule {
	if !s.options.Respelt {
		return r
	}
	r.Conditions = reversed(r.Conditions, respeltCondition)
	r.Actions = s.respeltActions(r.Actions)
	return r
}

// respeltActions are actions as they are described: the order in which they are done stays, as each
// says its own.
func (s *Sim) respeltActions(actions []elb.Action) []elb.Action {
	if !s.options.Respelt {
		return actions
	}
	return reversed(actions, func(a elb.Action) elb.Action {
		if a.ForwardConfig != nil {
			forward := *a.ForwardConfig
			forward.TargetGroups = reversed(forward.TargetGroups, same[elb.TargetGroupTuple])
			a.ForwardConfig = &forward
		}
		return a
	})
}

func respeltCondition(c elb.RuleCondition) elb.RuleCondition {
	c.Values, c.RegexValues = reversed(c.Values, same[string]), reversed(c.RegexValues, same[string])
	if h := c.HostHeaderConfig; h != nil {
		c.HostHeaderConfig = &elb.HostHeaderConditionConfig{Values: reversed(h.Values, strings.ToUpper), RegexValues: reversed(h.RegexValues, same[string])}
	}
	if p := c.PathPatternConfig; p != nil {
		c.PathPatternConfig = &elb.PathPatternConditionConfig{Values: reversed(p.Values, same[string]), RegexValues: reversed(p.RegexValues, same[string])}
	}
	if h := c.HttpHeaderConfig; h != nil {
		c.HttpHeaderConfig = &elb.HttpHeaderConditionConfig{
			HttpHeaderName: upper(h.HttpHeaderName), Values: reversed(h.Values, strings.ToUpper), RegexValues: reversed(h.RegexValues, same[string]),
		}
	}
	if m := c.HttpRequestMethodConfig; m != nil {
		c.HttpRequestMethodConfig = &elb.HttpRequestMethodConditionConfig{Values: reversed(m.Values, same[string])}
	}
	if q := c.QueryStringConfig; q != nil {
		c.QueryStringConfig = &elb.QueryStringConditionConfig{Values: reversed(q.Values, func(p elb.QueryStringKeyValuePair) elb.QueryStringKeyValuePair {
			return elb.QueryStringKeyValuePair{Key: upper(p.Key), Value: upper(p.Value)}
		})}
	}
	if i := c.SourceIpConfig; i != nil {
		c.SourceIpConfig = &elb.SourceIpConditionConfig{Values: reversed(i.Values, longRange)}
	}
	return c
}

// longRange is a range with all digits of its address.
func longRange(cidr string) string {
	p, err := netip.ParsePrefix(cidr)
	if err != nil {
		return cidr
	}
	return strings.ToUpper(p.Addr().StringExpanded()) + cidr[strings.LastIndex(cidr, "/"):]
}

func upper(text *string) *string {
	if text == nil {
		return nil
	}
	return aws.String(strings.ToUpper(*text))
}

func same[T any](t T) T { return t }

// reversed is a list from behind, each of its elements changed; nil where there is none.
func reversed[T any](list []T, change func(T) T) []T {
	if list == nil {
		return nil
	}
	out := make([]T, 0, len(list))
	for _, t := range slices.Backward(list) {
		out = append(out, change(t))
	}
	return out
}
