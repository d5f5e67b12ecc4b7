package aws

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers/aws/awserr"
)

// This file has users sign in, in AWS's words, and keeps the secrets that AWS takes and does not
// tell.

// toAuth is a sign-in. A secret that is not known here is the one that AWS has.
func toAuth(a routing.Auth) elb.Action {
	switch a.Kind {
	case routing.Cognito:
		return elb.Action{Type: elb.ActionTypeEnumAuthenticateCognito, AuthenticateCognitoConfig: &elb.AuthenticateCognitoActionConfig{
			UserPoolArn: aws.String(a.UserPool), UserPoolClientId: aws.String(a.ClientID), UserPoolDomain: aws.String(a.UserPoolDomain),
			OnUnauthenticatedRequest: elb.AuthenticateCognitoActionConditionalBehaviorEnum(a.OnMissing),
			Scope:                    aws.String(a.Scope), SessionCookieName: aws.String(a.Cookie), SessionTimeout: aws.Int64(a.TimeoutSeconds),
			AuthenticationRequestExtraParams: a.Parameters,
		}}
	case routing.JWT:
		jwt := &elb.JwtValidationActionConfig{Issuer: aws.String(a.Issuer), JwksEndpoint: aws.String(a.KeysEndpoint)}
		for _, c := range a.Claims {
			jwt.AdditionalClaims = append(jwt.AdditionalClaims, elb.JwtValidationActionAdditionalClaim{
				Name: aws.String(c.Name), Format: elb.JwtValidationActionAdditionalClaimFormatEnum(c.Format), Values: c.Values,
			})
		}
		return elb.Action{Type: elb.ActionTypeEnumJwtValidation, JwtValidationConfig: jwt}
	}
	oidc := &elb.AuthenticateOidcActionConfig{
		Issuer: aws.String(a.Issuer), AuthorizationEndpoint: aws.String(a.AuthorizationEndpoint),
		TokenEndpoint: aws.String(a.TokenEndpoint), UserInfoEndpoint: aws.String(a.UserInfoEndpoint), ClientId: aws.String(a.ClientID),
		OnUnauthenticatedRequest: elb.AuthenticateOidcActionConditionalBehaviorEnum(a.OnMissing),
		Scope:                    aws.String(a.Scope), SessionCookieName: aws.String(a.Cookie), SessionTimeout: aws.Int64(a.TimeoutSeconds),
		AuthenticationRequestExtraParams: a.Parameters,
	}
	if a.ClientSecret == "" {
		oidc.UseExistingClientSecret = aws.Bool(true)
	} else {
		oidc.ClientSecret = aws.String(string(a.ClientSecret))
	}
	return elb.Action{Type: elb.ActionTypeEnumAuthenticateOidc, AuthenticateOidcConfig: oidc}
}

// fromAuth is the sign-in that an action is, without its secret; nil if it is none.
func fromAuth(a elb.Action) *routing.Auth {
	switch {
	case a.AuthenticateOidcConfig != nil:
		c := a.AuthenticateOidcConfig
		return &routing.Auth{
			Kind: routing.OIDC, Issuer: aws.ToString(c.Issuer), AuthorizationEndpoint: aws.ToString(c.AuthorizationEndpoint),
			TokenEndpoint: aws.ToString(c.TokenEndpoint), UserInfoEndpoint: aws.ToString(c.UserInfoEndpoint), ClientID: aws.ToString(c.ClientId),
			OnMissing: string(c.OnUnauthenticatedRequest), Scope: aws.ToString(c.Scope), Cookie: aws.ToString(c.SessionCookieName),
			TimeoutSeconds: aws.ToInt64(c.SessionTimeout), Parameters: some(c.AuthenticationRequestExtraParams),
		}
	case a.AuthenticateCognitoConfig != nil:
		c := a.AuthenticateCognitoConfig
		return &routing.Auth{
			Kind: routing.Cognito, UserPool: aws.ToString(c.UserPoolArn), ClientID: aws.ToString(c.UserPoolClientId), UserPoolDomain: aws.ToString(c.UserPoolDomain),
			OnMissing: string(c.OnUnauthenticatedRequest), Scope: aws.ToString(c.Scope), Cookie: aws.ToString(c.SessionCookieName),
			TimeoutSeconds: aws.ToInt64(c.SessionTimeout), Parameters: some(c.AuthenticationRequestExtraParams),
		}
	case a.JwtValidationConfig != nil:
		c := a.JwtValidationConfig
		out := &routing.Auth{Kind: routing.JWT, Issuer: aws.ToString(c.Issuer), KeysEndpoint: aws.ToString(c.JwksEndpoint)}
		for _, claim := range c.AdditionalClaims {
			out.Claims = append(out.Claims, routing.Claim{Name: aws.ToString(claim.Name), Format: string(claim.Format), Values: claim.Values})
		}
		return out
	}
	return nil
}

// some is a map, or nil if nothing is in it.
func some(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	return m
}

// writeSecrets gives the rules of a listener that stay as they are the secrets of those that are
// wanted. Nobody can tell which of them AWS has already.
func (p *Provider) writeSecrets(ctx context.Context, seen *lb.Observed, l *lb.ObservedListener, want lb.Listener) error {
	given := map[string]lb.Rule{}
	for _, r := range want.Rules {
		if r.Action.Auth != nil && r.Action.Auth.ClientSecret != "" {
			given[r.Key()] = r
		}
	}
	for _, r := range l.Rules {
		with, ok := given[r.Key()]
		if !ok {
			continue
		}
		actions, err := toActions(with.Action, p.targetGroups.lookUp(ctx, seen.Key))
		if err != nil {
			return err
		}
		if _, err := p.elb.ModifyRule(ctx, &elbapi.ModifyRuleInput{RuleArn: aws.String(r.Handle), Actions: actions}); err != nil {
			return awserr.Explain(fmt.Sprintf("changing the client secret of rule %d/%d", l.Port, r.Priority), err)
		}
	}
	return nil
}
