package client

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/routing"
)

// This file converts the authentication of users. AWS does not return client secrets.

// toAuth converts a sign-in to the SDK. Without a client secret, AWS keeps the one that it has.
func toAuth(a routing.Auth) elb.Action {
	switch a.Kind {
	case routing.Cognito:
		return elb.Action{Type: elb.ActionTypeEnumAuthenticateCognito,
			AuthenticateCognitoConfig: &elb.AuthenticateCognitoActionConfig{
				UserPoolArn: aws.String(a.UserPool), UserPoolClientId: aws.String(a.ClientID),
				UserPoolDomain:           aws.String(a.UserPoolDomain),
				OnUnauthenticatedRequest: elb.AuthenticateCognitoActionConditionalBehaviorEnum(a.OnMissing),
				Scope:                    aws.String(a.Scope), SessionCookieName: aws.String(a.Cookie),
				SessionTimeout:                   aws.Int64(a.TimeoutSeconds),
				AuthenticationRequestExtraParams: a.Parameters,
			}}
	case routing.JWT:
		jwt := &elb.JwtValidationActionConfig{
			Issuer: aws.String(a.Issuer), JwksEndpoint: aws.String(a.KeysEndpoint),
		}
		for _, c := range a.Claims {
			jwt.AdditionalClaims = append(jwt.AdditionalClaims, elb.JwtValidationActionAdditionalClaim{
				Name: aws.String(c.Name), Format: elb.JwtValidationActionAdditionalClaimFormatEnum(c.Format),
				Values: c.Values,
			})
		}
		return elb.Action{Type: elb.ActionTypeEnumJwtValidation, JwtValidationConfig: jwt}
	}
	oidc := &elb.AuthenticateOidcActionConfig{
		Issuer: aws.String(a.Issuer), AuthorizationEndpoint: aws.String(a.AuthorizationEndpoint),
		TokenEndpoint: aws.String(a.TokenEndpoint), UserInfoEndpoint: aws.String(a.UserInfoEndpoint),
		ClientId:                 aws.String(a.ClientID),
		OnUnauthenticatedRequest: elb.AuthenticateOidcActionConditionalBehaviorEnum(a.OnMissing),
		Scope:                    aws.String(a.Scope), SessionCookieName: aws.String(a.Cookie),
		SessionTimeout:                   aws.Int64(a.TimeoutSeconds),
		AuthenticationRequestExtraParams: a.Parameters,
	}
	if a.ClientSecret == "" {
		oidc.UseExistingClientSecret = aws.Bool(true)
	} else {
		oidc.ClientSecret = aws.String(string(a.ClientSecret))
	}
	return elb.Action{Type: elb.ActionTypeEnumAuthenticateOidc, AuthenticateOidcConfig: oidc}
}

// fromAuth converts an action to a sign-in, without the client secret; nil if it is another action.
func fromAuth(a elb.Action) *routing.Auth {
	switch {
	case a.AuthenticateOidcConfig != nil:
		c := a.AuthenticateOidcConfig
		return &routing.Auth{
			Kind: routing.OIDC, Issuer: aws.ToString(c.Issuer),
			AuthorizationEndpoint: aws.ToString(c.AuthorizationEndpoint),
			TokenEndpoint:         aws.ToString(c.TokenEndpoint),
			UserInfoEndpoint:      aws.ToString(c.UserInfoEndpoint), ClientID: aws.ToString(c.ClientId),
			OnMissing: string(c.OnUnauthenticatedRequest), Scope: aws.ToString(c.Scope),
			Cookie:         aws.ToString(c.SessionCookieName),
			TimeoutSeconds: aws.ToInt64(c.SessionTimeout),
			Parameters:     nilIfEmpty(c.AuthenticationRequestExtraParams),
		}
	case a.AuthenticateCognitoConfig != nil:
		c := a.AuthenticateCognitoConfig
		return &routing.Auth{
			Kind: routing.Cognito, UserPool: aws.ToString(c.UserPoolArn),
			ClientID: aws.ToString(c.UserPoolClientId), UserPoolDomain: aws.ToString(c.UserPoolDomain),
			OnMissing: string(c.OnUnauthenticatedRequest), Scope: aws.ToString(c.Scope),
			Cookie:         aws.ToString(c.SessionCookieName),
			TimeoutSeconds: aws.ToInt64(c.SessionTimeout),
			Parameters:     nilIfEmpty(c.AuthenticationRequestExtraParams),
		}
	case a.JwtValidationConfig != nil:
		c := a.JwtValidationConfig
		out := &routing.Auth{
			Kind: routing.JWT, Issuer: aws.ToString(c.Issuer), KeysEndpoint: aws.ToString(c.JwksEndpoint),
		}
		for _, claim := range c.AdditionalClaims {
			out.Claims = append(out.Claims, routing.Claim{
				Name: aws.ToString(claim.Name), Format: string(claim.Format), Values: claim.Values,
			})
		}
		return out
	}
	return nil
}

// nilIfEmpty returns a map, or nil if it is empty.
func nilIfEmpty(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	return m
}
