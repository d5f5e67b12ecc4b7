package albsim

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// This file is actions that have users sign in. Their secrets are taken, kept where a caller asks
// for it, and never told.

func isAuth(a elb.ActionTypeEnum) bool {
	return a == elb.ActionTypeEnumAuthenticateOidc || a == elb.ActionTypeEnumAuthenticateCognito || a == elb.ActionTypeEnumJwtValidation
}

// checkAuth refuses what a sign-in cannot be, and fills in what holds if nothing is said.
func checkAuth(protocol elb.ProtocolEnum, a *elb.Action, last bool) error {
	switch {
	case last:
		return refuse("InvalidLoadBalancerAction", "The last action must be a forward, redirect or fixed-response action")
	case protocol != elb.ProtocolEnumHttps:
		return refuse("InvalidLoadBalancerAction", "Authentication actions are supported only on HTTPS listeners")
	}
	switch {
	case a.Type == elb.ActionTypeEnumAuthenticateOidc && a.AuthenticateOidcConfig != nil:
		c := *a.AuthenticateOidcConfig
		a.AuthenticateOidcConfig = &c
		if aws.ToString(c.ClientSecret) == "" {
			return refuse("ValidationError", "A client secret must be specified")
		}
		c.OnUnauthenticatedRequest = elb.AuthenticateOidcActionConditionalBehaviorEnum(orUsual(string(c.OnUnauthenticatedRequest), "authenticate"))
		c.Scope, c.SessionCookieName, c.SessionTimeout = usualSession(c.Scope, c.SessionCookieName, c.SessionTimeout)
		for _, url := range []*string{c.Issuer, c.AuthorizationEndpoint, c.TokenEndpoint, c.UserInfoEndpoint} {
			if !strings.HasPrefix(aws.ToString(url), "https://") {
				return refuse("InvalidLoadBalancerAction", "'%s' must be a full URL, including the HTTPS protocol", aws.ToString(url))
			}
		}
		return checkSession(aws.ToString(c.ClientId), *c.SessionTimeout, c.AuthenticationRequestExtraParams)
	case a.Type == elb.ActionTypeEnumAuthenticateCognito && a.AuthenticateCognitoConfig != nil:
		c := *a.AuthenticateCognitoConfig
		a.AuthenticateCognitoConfig = &c
		c.OnUnauthenticatedRequest = elb.AuthenticateCognitoActionConditionalBehaviorEnum(orUsual(string(c.OnUnauthenticatedRequest), "authenticate"))
		c.Scope, c.SessionCookieName, c.SessionTimeout = usualSession(c.Scope, c.SessionCookieName, c.SessionTimeout)
		if !strings.HasPrefix(aws.ToString(c.UserPoolArn), "arn:") || aws.ToString(c.UserPoolDomain) == "" {
			return refuse("InvalidLoadBalancerAction", "The user pool '%s' is not valid", aws.ToString(c.UserPoolArn))
		}
		return checkSession(aws.ToString(c.UserPoolClientId), *c.SessionTimeout, c.AuthenticationRequestExtraParams)
	case a.Type == elb.ActionTypeEnumJwtValidation && a.JwtValidationConfig != nil:
		return checkJWT(a.JwtValidationConfig)
	}
	return refuse("ValidationError", "A configuration must be specified for an action of type '%s'", a.Type)
}

func usualSession(scope, cookie *string, timeout *int64) (*string, *string, *int64) {
	if timeout == nil {
		timeout = aws.Int64(604800)
	}
	return aws.String(orUsual(aws.ToString(scope), "openid")), aws.String(orUsual(aws.ToString(cookie), "AWSELBAuthSessionCookie")), timeout
}

func checkSession(client string, timeout int64, parameters map[string]string) error {
	switch {
	case client == "":
		return refuse("ValidationError", "A client ID must be specified")
	case timeout < 1 || timeout > 604800:
		return refuse("ValidationError", "Session timeout '%d' must be between 1 and 604800 seconds", timeout)
	case len(parameters) > 10:
		return refuse("ValidationError", "There cannot be more than 10 extra parameters")
	}
	return nil
}

func checkJWT(c *elb.JwtValidationActionConfig) error {
	switch {
	case aws.ToString(c.Issuer) == "" || len(*c.Issuer) > 256:
		return refuse("ValidationError", "Issuer '%s' must be between 1 and 256 characters long", aws.ToString(c.Issuer))
	case !strings.HasPrefix(aws.ToString(c.JwksEndpoint), "https://") || len(*c.JwksEndpoint) > 256:
		return refuse("ValidationError", "'%s' must be a full URL, including the HTTPS protocol", aws.ToString(c.JwksEndpoint))
	case len(c.AdditionalClaims) > 10:
		return refuse("ValidationError", "There cannot be more than 10 additional claims")
	}
	for _, claim := range c.AdditionalClaims {
		formats := elb.JwtValidationActionAdditionalClaimFormatEnum("").Values()
		if name := aws.ToString(claim.Name); name == "" || slices.Contains([]string{"exp", "iss", "nbf", "iat"}, name) || !slices.Contains(formats, claim.Format) ||
			len(claim.Values) < 1 || len(claim.Values) > 10 {
			return refuse("ValidationError", "Additional claim '%s' is not valid", name)
		}
	}
	return nil
}

// untold are actions as they are read back.
func untold(actions []elb.Action) []elb.Action {
	out := slices.Clone(actions)
	for i, a := range out {
		if a.AuthenticateOidcConfig != nil {
			oidc := *a.AuthenticateOidcConfig
			oidc.ClientSecret = nil
			out[i].AuthenticateOidcConfig = &oidc
		}
	}
	return out
}

// keepSecrets fills in the client secret that an action asks to keep.
func keepSecrets(old, actions []elb.Action) []elb.Action {
	out := slices.Clone(actions)
	for i, a := range out {
		if a.AuthenticateOidcConfig == nil || !aws.ToBool(a.AuthenticateOidcConfig.UseExistingClientSecret) {
			continue
		}
		for _, o := range old {
			if o.AuthenticateOidcConfig != nil {
				oidc := *a.AuthenticateOidcConfig
				oidc.ClientSecret, oidc.UseExistingClientSecret = o.AuthenticateOidcConfig.ClientSecret, nil
				out[i].AuthenticateOidcConfig = &oidc
			}
		}
	}
	return out
}
