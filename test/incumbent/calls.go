package incumbent

import (
	"cmp"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// This file has rules as AWS's calls have them (pkg/deploy/elbv2/listener_utils.go), and says when two are the same
// (pkg/equality/elbv2).

// actions returns the actions of a rule, with target groups by resource.
func (r rule) actions(arns map[string]string) (out []elb.Action) {
	if in := r.signIn; in != nil {
		out = append(out, in.action())
	}
	out = append(out, r.action.call(arns))
	for i := range out {
		out[i].Order = aws.Int32(int32(i + 1))
	}
	return out
}

func (a action) call(arns map[string]string) elb.Action {
	switch a.Type {
	case "fixed-response":
		f := a.FixedResponseConfig
		return elb.Action{Type: elb.ActionTypeEnumFixedResponse,
			FixedResponseConfig: &elb.FixedResponseActionConfig{ContentType: f.ContentType, MessageBody: f.MessageBody, StatusCode: &f.StatusCode}}
	case "redirect":
		to := a.RedirectConfig
		return elb.Action{Type: elb.ActionTypeEnumRedirect, RedirectConfig: &elb.RedirectActionConfig{Host: to.Host, Path: to.Path, Port: to.Port,
			Protocol: to.Protocol, Query: to.Query, StatusCode: elb.RedirectActionStatusCodeEnum(to.StatusCode)}}
	}
	c := &elb.ForwardActionConfig{}
	for _, t := range a.ForwardConfig.TargetGroups {
		arn := t.name
		if t.group != nil {
			arn = arns[t.group.resource]
		}
		c.TargetGroups = append(c.TargetGroups, elb.TargetGroupTuple{TargetGroupArn: &arn, Weight: t.Weight})
	}
	if sticky := a.ForwardConfig.TargetGroupStickinessConfig; sticky != nil {
		c.TargetGroupStickinessConfig = &elb.TargetGroupStickinessConfig{Enabled: sticky.Enabled, DurationSeconds: sticky.DurationSeconds}
	}
	return elb.Action{Type: elb.ActionTypeEnumForward, ForwardConfig: c}
}

func (in *signIn) action() elb.Action {
	switch {
	case in.token != nil:
		c := &elb.JwtValidationActionConfig{JwksEndpoint: &in.token.JwksEndpoint, Issuer: &in.token.Issuer}
		for _, claim := range in.token.AdditionalClaims {
			c.AdditionalClaims = append(c.AdditionalClaims, elb.JwtValidationActionAdditionalClaim{
				Format: elb.JwtValidationActionAdditionalClaimFormatEnum(claim.Format), Name: &claim.Name, Values: claim.Values})
		}
		return elb.Action{Type: elb.ActionTypeEnumJwtValidation, JwtValidationConfig: c}
	case in.oidc != nil:
		return elb.Action{Type: elb.ActionTypeEnumAuthenticateOidc, AuthenticateOidcConfig: &elb.AuthenticateOidcActionConfig{
			Issuer: &in.oidc.Issuer, AuthorizationEndpoint: &in.oidc.AuthorizationEndpoint, TokenEndpoint: &in.oidc.TokenEndpoint,
			UserInfoEndpoint: &in.oidc.UserInfoEndpoint, ClientId: &in.clientID, ClientSecret: &in.clientSecret,
			AuthenticationRequestExtraParams: in.oidc.AuthenticationRequestExtraParams, Scope: &in.scope, SessionCookieName: &in.cookie,
			SessionTimeout: &in.timeout, OnUnauthenticatedRequest: elb.AuthenticateOidcActionConditionalBehaviorEnum(in.on),
		}}
	}
	return elb.Action{Type: elb.ActionTypeEnumAuthenticateCognito, AuthenticateCognitoConfig: &elb.AuthenticateCognitoActionConfig{
		UserPoolArn: &in.cognito.UserPoolARN, UserPoolClientId: &in.cognito.UserPoolClientID, UserPoolDomain: &in.cognito.UserPoolDomain,
		AuthenticationRequestExtraParams: in.cognito.AuthenticationRequestExtraParams, Scope: &in.scope, SessionCookieName: &in.cookie,
		SessionTimeout: &in.timeout, OnUnauthenticatedRequest: elb.AuthenticateCognitoActionConditionalBehaviorEnum(in.on),
	}}
}

// conditionsOf returns the conditions of a rule in the order in which they are built.
func (r rule) conditionsOf() (out []elb.RuleCondition) {
	for _, c := range r.conditions {
		call := elb.RuleCondition{Field: aws.String(c.Field)}
		switch c.Field {
		case "host-header":
			call.HostHeaderConfig = &elb.HostHeaderConditionConfig{Values: c.globs, RegexValues: c.regexes}
		case "path-pattern":
			call.PathPatternConfig = &elb.PathPatternConditionConfig{Values: c.globs, RegexValues: c.regexes}
		case "http-header":
			call.HttpHeaderConfig = &elb.HttpHeaderConditionConfig{HttpHeaderName: aws.String(c.name), Values: c.globs, RegexValues: c.regexes}
		case "http-request-method":
			call.HttpRequestMethodConfig = &elb.HttpRequestMethodConditionConfig{Values: c.globs}
		case "source-ip":
			call.SourceIpConfig = &elb.SourceIpConditionConfig{Values: c.globs}
		case "query-string":
			call.QueryStringConfig = &elb.QueryStringConditionConfig{}
			for _, p := range c.pairs {
				call.QueryStringConfig.Values = append(call.QueryStringConfig.Values, elb.QueryStringKeyValuePair{Key: p.Key, Value: aws.String(p.Value)})
			}
		}
		out = append(out, call)
	}
	return out
}

func (r rule) transformsOf() (out []elb.RuleTransform) {
	for _, t := range r.transforms {
		var rewrites []elb.RewriteConfig
		for _, one := range t.rewrites() {
			rewrites = append(rewrites, elb.RewriteConfig{Regex: aws.String(one.Regex), Replace: aws.String(one.Replace)})
		}
		if t.Type == "host-header-rewrite" {
			out = append(out, elb.RuleTransform{Type: elb.TransformTypeEnumHostHeaderRewrite, HostHeaderRewriteConfig: &elb.HostHeaderRewriteConfig{Rewrites: rewrites}})
		} else {
			out = append(out, elb.RuleTransform{Type: elb.TransformTypeEnumUrlRewrite, UrlRewriteConfig: &elb.UrlRewriteConfig{Rewrites: rewrites}})
		}
	}
	return out
}

// same compares all fields, the order of values too.
func same(a, b any) bool {
	everything := gocmp.FilterPath(func(p gocmp.Path) bool { return p.Last().String() == ".noSmithyDocumentSerde" }, gocmp.Ignore())
	return gocmp.Equal(a, b, everything, cmpopts.EquateEmpty())
}

// sameActions compares actions of a rule in their order. The weight of a single target group does not count, nor does the
// order of several; a stickiness that is not wanted does not count, and parts of redirects have defaults. AWS does not tell
// the secret of a client, so that no action with one is the same as it was.
func sameActions(want, have []elb.Action) bool {
	normal := func(actions []elb.Action, stickiness []bool) (out []elb.Action) {
		actions = slices.Clone(actions)
		slices.SortStableFunc(actions, func(a, b elb.Action) int { return cmp.Compare(aws.ToInt32(a.Order), aws.ToInt32(b.Order)) })
		for i, a := range actions {
			a.Order, a.TargetGroupArn = nil, nil
			if f := a.ForwardConfig; f != nil {
				c := *f
				c.TargetGroups = slices.Clone(c.TargetGroups)
				slices.SortStableFunc(c.TargetGroups, func(a, b elb.TargetGroupTuple) int { return cmp.Compare(*a.TargetGroupArn, *b.TargetGroupArn) })
				if len(c.TargetGroups) == 1 {
					c.TargetGroups[0].Weight = nil
				}
				if i < len(stickiness) && !stickiness[i] {
					c.TargetGroupStickinessConfig = nil
				}
				a.ForwardConfig = &c
			}
			if r := a.RedirectConfig; r != nil {
				c := *r
				for into, usual := range map[**string]string{&c.Host: "#{host}", &c.Path: "/#{path}", &c.Port: "#{port}", &c.Protocol: "#{protocol}", &c.Query: "#{query}"} {
					if *into == nil {
						*into = &usual
					}
				}
				a.RedirectConfig = &c
			}
			out = append(out, a)
		}
		return out
	}
	want = normal(want, nil)
	var stickiness []bool
	for _, a := range want {
		stickiness = append(stickiness, a.ForwardConfig != nil && a.ForwardConfig.TargetGroupStickinessConfig != nil)
	}
	return same(want, normal(have, stickiness))
}

// sameConditions compares conditions by field; those of one field in their order.
func sameConditions(want, have []elb.RuleCondition) bool {
	normal := func(conditions []elb.RuleCondition) []elb.RuleCondition {
		conditions = slices.Clone(conditions)
		slices.SortStableFunc(conditions, func(a, b elb.RuleCondition) int { return cmp.Compare(*a.Field, *b.Field) })
		for i := range conditions {
			conditions[i].Values, conditions[i].RegexValues = nil, nil
		}
		return conditions
	}
	return same(normal(want), normal(have))
}

func sameTransforms(want, have []elb.RuleTransform) bool {
	normal := func(transforms []elb.RuleTransform) []elb.RuleTransform {
		return slices.SortedStableFunc(slices.Values(transforms), func(a, b elb.RuleTransform) int { return cmp.Compare(a.Type, b.Type) })
	}
	return same(normal(want), normal(have))
}
