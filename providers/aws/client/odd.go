package client

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/lb"
)

// This file finds what the conversions of rules and other resources leave out, in those that others made.

// LeftOut returns the fields of a structure of the SDK that are set, besides some, as texts.
func LeftOut(of any, besides ...string) (out []string) {
	v := reflect.ValueOf(of)
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.IsExported() && !slices.Contains(besides, f.Name) && pruned(v.Field(i).Interface()) != nil {
			out = append(out, fmt.Sprintf("%s is %s", f.Name, textOf(v.Field(i).Interface())))
		}
	}
	return out
}

// OddInRule returns what FromRule leaves out of a rule, as texts: what a conversion back does not return.
func OddInRule(r elb.Rule) []string {
	out := LeftOut(r, "Actions", "Conditions", "IsDefault", "Priority", "RuleArn", "Transforms")
	for _, said := range r.Conditions {
		c := FromCondition(said)
		if !slices.Contains(lb.Fields, c.Field) {
			continue // which says it
		}
		said = plainCondition(said)
		if back := plainCondition(ToConditions([]lb.Condition{c})[0]); !same(said, back) {
			out = append(out, "the condition "+textOf(said))
		}
	}
	if rewrite := fromTransforms(r.Transforms); !same(inOrder(r.Transforms), inOrder(ToTransforms(rewrite))) {
		out = append(out, "the transforms "+textOf(r.Transforms))
	}
	return append(out, OddInActions(r.Actions)...)
}

// inOrder returns the transforms of a rule by their type.
func inOrder(all []elb.RuleTransform) []elb.RuleTransform {
	return slices.SortedStableFunc(slices.Values(all), func(a, b elb.RuleTransform) int {
		return strings.Compare(string(a.Type), string(b.Type))
	})
}

// OddInActions returns what FromActions leaves out of actions, as texts.
func OddInActions(actions []elb.Action) []string {
	a := FromActions(actions, func(arn string) lb.GroupID { return lb.GroupID(arn) })
	if a.Kind != "forward" && a.Kind != "fixed" && a.Kind != "redirect" {
		return nil // the kind says it
	}
	back, err := ToActions(a, func(id lb.GroupID) (string, error) { return string(id), nil })
	if err != nil || !same(plainActions(actions), plainActions(back)) {
		return []string{"the actions " + textOf(plainActions(actions))}
	}
	return nil
}

// plainCondition returns a condition without the values that AWS repeats outside of the configuration of its field, and in
// lower case where case does not matter.
func plainCondition(c elb.RuleCondition) elb.RuleCondition {
	repeats := func(values, regexes []string) {
		if slices.Equal(c.Values, values) {
			c.Values = nil
		}
		if slices.Equal(c.RegexValues, regexes) {
			c.RegexValues = nil
		}
	}
	switch {
	case c.HostHeaderConfig != nil:
		repeats(c.HostHeaderConfig.Values, c.HostHeaderConfig.RegexValues)
	case c.PathPatternConfig != nil:
		repeats(c.PathPatternConfig.Values, c.PathPatternConfig.RegexValues)
	case c.HttpHeaderConfig != nil:
		repeats(c.HttpHeaderConfig.Values, c.HttpHeaderConfig.RegexValues)
	case c.HttpRequestMethodConfig != nil:
		repeats(c.HttpRequestMethodConfig.Values, nil)
	case c.SourceIpConfig != nil:
		repeats(c.SourceIpConfig.Values, nil)
	case c.QueryStringConfig != nil:
		query := elb.QueryStringConditionConfig{}
		for _, p := range c.QueryStringConfig.Values {
			p.Key = aws.String(strings.ToLower(aws.ToString(p.Key)))
			query.Values = append(query.Values, p)
		}
		c.QueryStringConfig = &query
	case aws.ToString(c.Field) == fields["host"]:
		c.HostHeaderConfig = &elb.HostHeaderConditionConfig{Values: c.Values, RegexValues: c.RegexValues}
		c.Values, c.RegexValues = nil, nil
	case aws.ToString(c.Field) == fields["path"]:
		c.PathPatternConfig = &elb.PathPatternConditionConfig{Values: c.Values, RegexValues: c.RegexValues}
		c.Values, c.RegexValues = nil, nil
	}
	return c
}

// plainActions returns actions in their order, without what has no effect or the default.
func plainActions(actions []elb.Action) []elb.Action {
	out := sortActions(actions)
	for i := range out {
		a := &out[i]
		a.Order = nil
		switch {
		case a.ForwardConfig != nil || a.TargetGroupArn != nil:
			a.ForwardConfig, a.TargetGroupArn = plainForward(*a), nil
		case a.FixedResponseConfig != nil:
			c := *a.FixedResponseConfig
			if aws.ToString(c.MessageBody) == "" {
				c.ContentType = nil
			}
			a.FixedResponseConfig = &c
		case a.RedirectConfig != nil && (a.RedirectConfig.Query == nil || *a.RedirectConfig.Query != ""):
			a.RedirectConfig = toRedirect(fromRedirect(*a.RedirectConfig))
		case a.RedirectConfig != nil: // it takes the query away, which no Ingress asks for
			c := *a.RedirectConfig
			c.Query = aws.String(`""`)
			a.RedirectConfig = &c
		case a.AuthenticateOidcConfig != nil:
			c := *a.AuthenticateOidcConfig
			c.ClientSecret, c.UseExistingClientSecret = nil, nil
			a.AuthenticateOidcConfig = &c
		}
	}
	return out
}

// plainForward returns where an action forwards to.
func plainForward(a elb.Action) *elb.ForwardActionConfig {
	if a.ForwardConfig == nil {
		return &elb.ForwardActionConfig{TargetGroups: []elb.TargetGroupTuple{
			{TargetGroupArn: a.TargetGroupArn, Weight: aws.Int32(1)},
		}}
	}
	c := *a.ForwardConfig
	c.TargetGroups = slices.Clone(c.TargetGroups)
	for i := range c.TargetGroups {
		if w := c.TargetGroups[i].Weight; w == nil || len(c.TargetGroups) == 1 && *w > 0 {
			c.TargetGroups[i].Weight = aws.Int32(1)
		}
	}
	if s := c.TargetGroupStickinessConfig; s != nil && !aws.ToBool(s.Enabled) {
		c.TargetGroupStickinessConfig = nil
	}
	return &c
}

func same(a, b any) bool { return reflect.DeepEqual(pruned(a), pruned(b)) }

func textOf(v any) string {
	text, err := json.Marshal(pruned(v))
	if err != nil {
		return fmt.Sprint(v) // plain data always marshals
	}
	return string(text)
}

// pruned returns plain data without empty parts; nil if nothing is left.
func pruned(v any) any {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	var out any
	_ = json.Unmarshal(text, &out)
	return prune(out)
}

func prune(v any) any {
	switch v := v.(type) {
	case string:
		if v == "" {
			return nil
		}
	case map[string]any:
		for k, part := range v {
			if v[k] = prune(part); v[k] == nil {
				delete(v, k)
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		if len(v) == 0 {
			return nil
		}
		for i := range v {
			v[i] = prune(v[i])
		}
	}
	return v
}
