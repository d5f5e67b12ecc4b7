package client

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// This file converts rules and health checks. A conversion to the SDK and back changes nothing.

// fields has AWS's names of the fields of conditions.
var fields = map[string]string{
	"host": "host-header", "path": "path-pattern", "header": "http-header",
	"method": "http-request-method", "query": "query-string", "source": "source-ip",
}

// ToConditions converts the conditions of a rule to the SDK.
func ToConditions(conditions []lb.Condition) []elb.RuleCondition {
	var out []elb.RuleCondition
	for _, c := range conditions {
		said := elb.RuleCondition{Field: aws.String(fields[c.Field])}
		switch c.Field {
		case "host":
			said.HostHeaderConfig = &elb.HostHeaderConditionConfig{Values: c.Values, RegexValues: c.Regex}
		case "path":
			said.PathPatternConfig = &elb.PathPatternConditionConfig{Values: c.Values, RegexValues: c.Regex}
		case "header":
			said.HttpHeaderConfig = &elb.HttpHeaderConditionConfig{
				HttpHeaderName: aws.String(c.Name), Values: c.Values, RegexValues: c.Regex,
			}
		case "method":
			said.HttpRequestMethodConfig = &elb.HttpRequestMethodConditionConfig{Values: c.Values}
		case "query":
			said.QueryStringConfig = &elb.QueryStringConditionConfig{}
			for _, v := range c.Values {
				pair := elb.QueryStringKeyValuePair{Value: aws.String(v)}
				if name, value, named := strings.Cut(v, "="); c.Name == "" && named {
					pair = elb.QueryStringKeyValuePair{Key: aws.String(name), Value: aws.String(value)}
				} else if c.Name != "" {
					pair.Key = aws.String(c.Name)
				}
				said.QueryStringConfig.Values = append(said.QueryStringConfig.Values, pair)
			}
		case "source":
			said.SourceIpConfig = &elb.SourceIpConditionConfig{Values: c.Values}
		}
		out = append(out, said)
	}
	return out
}

// FromConditions converts the conditions of a rule from the SDK, in canonical order. A field that
// Fairlead does not use keeps AWS's name, so that it equals no wanted rule.
func FromConditions(conditions []elb.RuleCondition) []lb.Condition {
	var out []lb.Condition
	for _, said := range conditions {
		out = append(out, FromCondition(said))
	}
	slices.SortStableFunc(out, func(a, b lb.Condition) int {
		return cmp.Or(slices.Index(lb.Fields, a.Field)-slices.Index(lb.Fields, b.Field),
			strings.Compare(a.Name, b.Name))
	})
	return out
}

func FromCondition(said elb.RuleCondition) lb.Condition {
	c := lb.Condition{Field: aws.ToString(said.Field), Values: said.Values, Regex: said.RegexValues}
	for field, name := range fields {
		if name == aws.ToString(said.Field) {
			c.Field = field
		}
	}
	switch {
	case said.HostHeaderConfig != nil:
		c.Values, c.Regex = said.HostHeaderConfig.Values, said.HostHeaderConfig.RegexValues
	case said.PathPatternConfig != nil:
		c.Values, c.Regex = said.PathPatternConfig.Values, said.PathPatternConfig.RegexValues
	case said.HttpHeaderConfig != nil:
		c.Name, c.Values, c.Regex = aws.ToString(said.HttpHeaderConfig.HttpHeaderName),
			said.HttpHeaderConfig.Values, said.HttpHeaderConfig.RegexValues
	case said.HttpRequestMethodConfig != nil:
		c.Values = said.HttpRequestMethodConfig.Values
	case said.QueryStringConfig != nil:
		c = fromQuery(c, said.QueryStringConfig.Values)
	case said.SourceIpConfig != nil:
		c.Values = said.SourceIpConfig.Values
	}
	if len(c.Values) == 0 {
		c.Values = nil
	}
	if len(c.Regex) == 0 {
		c.Regex = nil
	}
	return c
}

// fromQuery converts pairs of query parameters. Those of one parameter are a condition with its name,
// as in lb.ConditionOf.
func fromQuery(c lb.Condition, pairs []elb.QueryStringKeyValuePair) lb.Condition {
	one := len(pairs) > 0 && !strings.ContainsAny(aws.ToString(pairs[0].Key), "*?")
	for _, pair := range pairs {
		one = one && strings.EqualFold(aws.ToString(pair.Key), aws.ToString(pairs[0].Key))
	}
	for _, pair := range pairs {
		key, value := aws.ToString(pair.Key), aws.ToString(pair.Value)
		switch {
		case one && key != "":
			c.Name = key
		case strings.Contains(key+value, "="): // Fairlead makes none, and could not tell where it ends
			c.Field = fields["query"]
		case key != "":
			value = key + "=" + value
		}
		c.Values = append(c.Values, value)
	}
	return c
}

// ARNs finds the ARN of a target group by its ID, and IDs the ID by the ARN.
type (
	ARNs func(lb.GroupID) (string, error)
	IDs  func(arn string) lb.GroupID
)

// ToActions converts the action of a rule to the SDK: the sign-in, if there is one, and the final
// action.
func ToActions(a lb.Action, find ARNs) ([]elb.Action, error) {
	last, err := toFinalAction(a, find)
	if err != nil || a.Auth == nil {
		return []elb.Action{last}, err
	}
	first := toAuth(*a.Auth)
	first.Order, last.Order = aws.Int32(1), aws.Int32(2)
	return []elb.Action{first, last}, nil
}

// toFinalAction converts an action without its sign-in: forward, redirect or fixed response.
func toFinalAction(a lb.Action, find ARNs) (elb.Action, error) {
	switch a.Kind {
	case "fixed":
		fixed := &elb.FixedResponseActionConfig{StatusCode: aws.String(strconv.Itoa(a.Status))}
		if a.ContentType != "" {
			fixed.ContentType = aws.String(a.ContentType)
		}
		if a.Body != "" {
			fixed.MessageBody = aws.String(a.Body)
		}
		return elb.Action{Type: elb.ActionTypeEnumFixedResponse, FixedResponseConfig: fixed}, nil
	case "redirect":
		return elb.Action{Type: elb.ActionTypeEnumRedirect, RedirectConfig: toRedirect(*a.Redirect)}, nil
	}
	forward := &elb.ForwardActionConfig{}
	for _, t := range a.Targets {
		arn, err := find(t.Group)
		if err != nil {
			return elb.Action{}, err
		}
		forward.TargetGroups = append(forward.TargetGroups, elb.TargetGroupTuple{
			TargetGroupArn: aws.String(arn), Weight: aws.Int32(t.Weight),
		})
	}
	if a.StickySeconds > 0 {
		forward.TargetGroupStickinessConfig = &elb.TargetGroupStickinessConfig{
			Enabled: aws.Bool(true), DurationSeconds: aws.Int32(a.StickySeconds),
		}
	}
	return elb.Action{Type: elb.ActionTypeEnumForward, ForwardConfig: forward}, nil
}

// ToTransforms converts the rewrite of a rule to the SDK.
func ToTransforms(r *routing.Rewrite) []elb.RuleTransform {
	var out []elb.RuleTransform
	if r == nil {
		return nil
	}
	if r.Host != "" {
		out = append(out, elb.RuleTransform{Type: elb.TransformTypeEnumHostHeaderRewrite,
			HostHeaderRewriteConfig: &elb.HostHeaderRewriteConfig{
				Rewrites: []elb.RewriteConfig{{Regex: aws.String(r.Host),
					Replace: aws.String(r.HostReplacement)}},
			}})
	}
	if r.URL != "" {
		out = append(out, elb.RuleTransform{Type: elb.TransformTypeEnumUrlRewrite,
			UrlRewriteConfig: &elb.UrlRewriteConfig{
				Rewrites: []elb.RewriteConfig{{Regex: aws.String(r.URL),
					Replace: aws.String(r.URLReplacement)}},
			}})
	}
	return out
}

// fromTransforms returns the rewrite of a rule's transforms; nil if there are none.
func fromTransforms(transforms []elb.RuleTransform) *routing.Rewrite {
	var out *routing.Rewrite
	for _, t := range transforms {
		if out == nil {
			out = &routing.Rewrite{}
		}
		if c := t.HostHeaderRewriteConfig; c != nil && len(c.Rewrites) > 0 {
			out.Host, out.HostReplacement = aws.ToString(c.Rewrites[0].Regex),
				aws.ToString(c.Rewrites[0].Replace)
		}
		if c := t.UrlRewriteConfig; c != nil && len(c.Rewrites) > 0 {
			out.URL, out.URLReplacement = aws.ToString(c.Rewrites[0].Regex),
				aws.ToString(c.Rewrites[0].Replace)
		}
	}
	return out
}

// FromRule converts a rule from the SDK.
func FromRule(r elb.Rule, find IDs) lb.Rule {
	out := lb.Rule{Conditions: FromConditions(r.Conditions), Action: FromActions(r.Actions, find)}
	out.Action.Rewrite = fromTransforms(r.Transforms)
	return out
}

// FromActions converts the actions of a rule from the SDK. Actions that Fairlead does not use have
// a kind of their own.
func FromActions(actions []elb.Action, find IDs) lb.Action {
	if ordered := sortActions(actions); len(ordered) == 2 {
		if auth := fromAuth(ordered[0]); auth != nil {
			out := FromActions(ordered[1:], find)
			out.Auth = auth
			return out
		}
	}
	if len(actions) != 1 {
		return lb.Action{Kind: fmt.Sprintf("%d actions", len(actions))}
	}
	switch a := actions[0]; {
	case a.FixedResponseConfig != nil:
		return fromFixed(*a.FixedResponseConfig)
	case a.RedirectConfig != nil:
		r := fromRedirect(*a.RedirectConfig)
		return lb.FromRouting(routing.Action{Redirect: &r})
	case a.ForwardConfig != nil || a.TargetGroupArn != nil:
		return fromForward(a, find)
	default:
		return lb.Action{Kind: string(a.Type)}
	}
}

// sortActions returns actions in the order in which AWS performs them.
func sortActions(actions []elb.Action) []elb.Action {
	return slices.SortedStableFunc(slices.Values(actions), func(a, b elb.Action) int {
		return cmp.Compare(aws.ToInt32(a.Order), aws.ToInt32(b.Order))
	})
}

func fromFixed(c elb.FixedResponseActionConfig) lb.Action {
	out := lb.Action{
		Kind: "fixed", Status: ParseNumber(aws.ToString(c.StatusCode)), Body: aws.ToString(c.MessageBody),
	}
	if out.Body != "" {
		out.ContentType = aws.ToString(c.ContentType)
	}
	return out
}

func fromForward(a elb.Action, find IDs) lb.Action {
	groups := []elb.TargetGroupTuple{{TargetGroupArn: a.TargetGroupArn}}
	if a.ForwardConfig != nil {
		groups = a.ForwardConfig.TargetGroups
	}
	out := lb.Action{Kind: "forward"}
	if a.ForwardConfig != nil && a.ForwardConfig.TargetGroupStickinessConfig != nil &&
		aws.ToBool(a.ForwardConfig.TargetGroupStickinessConfig.Enabled) {
		out.StickySeconds = aws.ToInt32(a.ForwardConfig.TargetGroupStickinessConfig.DurationSeconds)
	}
	for _, g := range groups {
		weight := int32(1)
		if g.Weight != nil && (len(groups) > 1 || *g.Weight == 0) {
			weight = *g.Weight
		}
		out.Targets = append(out.Targets, lb.Weighted{
			Group: find(aws.ToString(g.TargetGroupArn)), Weight: weight,
		})
	}
	return out
}

// ParseNumber parses a number; it returns 0 if the text is not a number.
func ParseNumber(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}

func toRedirect(r routing.Redirect) *elb.RedirectActionConfig {
	out := &elb.RedirectActionConfig{
		StatusCode: elb.RedirectActionStatusCodeEnum(fmt.Sprintf("HTTP_%d", r.Status)),
	}
	set := func(to **string, value string) {
		if value != "" {
			*to = aws.String(value)
		}
	}
	set(&out.Protocol, strings.ToUpper(r.Scheme))
	set(&out.Host, r.Host)
	set(&out.Port, r.Port)
	set(&out.Path, r.Path)
	set(&out.Query, r.Query)
	return out
}

func fromRedirect(c elb.RedirectActionConfig) routing.Redirect {
	unless := func(value *string, usual string) string {
		if aws.ToString(value) == usual {
			return ""
		}
		return aws.ToString(value)
	}
	return routing.Redirect{
		Status: ParseNumber(strings.TrimPrefix(string(c.StatusCode), "HTTP_")),
		Scheme: strings.ToLower(unless(c.Protocol, "#{protocol}")), Host: unless(c.Host, "#{host}"),
		Port: unless(c.Port, "#{port}"), Path: unless(c.Path, "/#{path}"),
		Query: unless(c.Query, "#{query}"),
	}
}

// toMatcher returns the codes of healthy answers in the form of the SDK.
func toMatcher(g lb.TargetGroup) *elb.Matcher {
	if g.Version == routing.VersionGRPC {
		return &elb.Matcher{GrpcCode: aws.String(g.Health.SuccessCodes)}
	}
	return &elb.Matcher{HttpCode: aws.String(cmp.Or(g.Health.SuccessCodes, "200"))}
}

// ToHealth returns a target group of the SDK with only the health check of a target group.
func ToHealth(g lb.TargetGroup) elb.TargetGroup {
	h := g.Health
	return elb.TargetGroup{
		HealthCheckPath: aws.String(h.Path), HealthCheckPort: aws.String(h.Port),
		HealthCheckProtocol:        elb.ProtocolEnum(h.Protocol),
		HealthCheckIntervalSeconds: aws.Int32(int32(h.IntervalSeconds)),
		HealthCheckTimeoutSeconds:  aws.Int32(int32(h.TimeoutSeconds)),
		HealthyThresholdCount:      aws.Int32(int32(h.HealthyThreshold)),
		UnhealthyThresholdCount:    aws.Int32(int32(h.UnhealthyThreshold)),
		Matcher:                    toMatcher(g),
	}
}

// FromHealth returns the health check of a target group of the SDK.
func FromHealth(g elb.TargetGroup) routing.HealthCheck {
	codes := ""
	if g.Matcher != nil {
		codes = aws.ToString(g.Matcher.HttpCode) + aws.ToString(g.Matcher.GrpcCode)
	}
	return routing.HealthCheck{
		Path: aws.ToString(g.HealthCheckPath), Port: aws.ToString(g.HealthCheckPort),
		Protocol:           string(g.HealthCheckProtocol),
		IntervalSeconds:    int(aws.ToInt32(g.HealthCheckIntervalSeconds)),
		TimeoutSeconds:     int(aws.ToInt32(g.HealthCheckTimeoutSeconds)),
		HealthyThreshold:   int(aws.ToInt32(g.HealthyThresholdCount)),
		UnhealthyThreshold: int(aws.ToInt32(g.UnhealthyThresholdCount)),
		SuccessCodes:       codes,
	}
}
