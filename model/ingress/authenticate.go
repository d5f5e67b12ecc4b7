package ingress

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
)

// This file translates spec.authenticate of Backends. If users cannot sign in, requests are
// answered 503.

// signInBefore adds the authentication of a Backend to its action.
func (v *memberBackends) signInBefore(a routing.Action, with *v1alpha1.Authenticate,
	field string) routing.Action {
	if with == nil {
		return a
	}
	auth, err := v.auth(with)
	if err != nil {
		v.addDiagnostic(diag.Error, diag.AuthUnavailable, field, err.Error()+"; requests are answered 503")
		return routing.Status(503)
	}
	if a.Auth = auth; auth.KeepsClientSecret {
		v.addDiagnostic(diag.Warning, diag.SecretUnread, field,
			v.whySecretUnread(Name{Namespace: v.Namespace,
				Name: with.OIDC.SecretName})+"; users sign in as before")
	}
	return a
}

func (v *memberBackends) auth(with *v1alpha1.Authenticate) (*routing.Auth, error) {
	switch {
	case with.OIDC != nil:
		return v.oidc(with.OIDC)
	case with.Cognito != nil:
		c := with.Cognito
		out := session(c.Session)
		out.Kind, out.UserPool = routing.Cognito, c.UserPoolARN
		out.ClientID, out.UserPoolDomain = c.UserPoolClientID, c.UserPoolDomain
		out.Cookie = v.cookie(out)
		return out, nil
	}
	out := &routing.Auth{Kind: routing.JWT, Issuer: with.JWT.Issuer,
		KeysEndpoint: with.JWT.KeysEndpoint}
	for _, c := range with.JWT.Claims {
		out.Claims = append(out.Claims,
			routing.Claim{Name: c.Name, Format: c.Format, Values: c.Values})
	}
	return out, nil
}

func (v *memberBackends) oidc(o *v1alpha1.OIDC) (*routing.Auth, error) {
	n := Name{Namespace: v.Namespace, Name: o.SecretName}
	object := v.Secrets[n]
	switch {
	case object == nil && v.whySecretUnread(n) != "":
		return v.lastSignIn(o, n)
	case object == nil && v.SecretsWithheld != "":
		return nil, fmt.Errorf("there is no Secret %s that may be served: %s", diag.Cut(n.String()),
			v.SecretsWithheld)
	case object == nil:
		return nil, fmt.Errorf("there is no Secret %s", diag.Cut(n.String()))
	case len(object.Data[ClientIDKey]) == 0 || len(object.Data[ClientSecretKey]) == 0:
		return nil, fmt.Errorf("Secret %s does not have the keys %s and %s", n, ClientIDKey,
			ClientSecretKey)
	case len(object.Data[ClientIDKey]) > longestClient ||
		len(object.Data[ClientSecretKey]) > longestClient:
		return nil, fmt.Errorf("a value of %s or %s in Secret %s has more than %d bytes",
			ClientIDKey, ClientSecretKey, n, longestClient)
	}
	out := v.signInWith(o, strings.TrimSpace(string(object.Data[ClientIDKey])))
	out.ClientSecret = routing.Secret(strings.TrimSpace(string(object.Data[ClientSecretKey])))
	return out, nil
}

// signInWith returns the sign-in with a client, without its secret.
func (v *memberBackends) signInWith(o *v1alpha1.OIDC, client string) *routing.Auth {
	out := session(o.Session)
	out.Kind, out.Issuer, out.ClientID, out.Secret = routing.OIDC, o.Issuer, client, Name{
		Namespace: v.Namespace, Name: o.SecretName}.String()
	out.AuthorizationEndpoint, out.TokenEndpoint = o.AuthorizationEndpoint, o.TokenEndpoint
	out.UserInfoEndpoint = o.UserInfoEndpoint
	out.Cookie = v.cookie(out)
	return out
}

// longestCookie is the most characters of cookieName that are used.
const longestCookie = 200

// cookie returns the name of the session cookie. A load balancer accepts a session for each sign-in
// with the same cookie name, from any identity provider: "each listener rule with an authenticate
// action should have a unique cookie name"
// (https://docs.aws.amazon.com/elasticloadbalancing/latest/application/listener-authenticate-users.html).
// So the namespace, the identity provider and the client are in the name, and no other namespace
// can have the same one.
func (v *memberBackends) cookie(a *routing.Auth) string {
	from := sha256.Sum256([]byte(strings.Join([]string{
		v.Namespace, a.Kind, a.Issuer, a.AuthorizationEndpoint, a.TokenEndpoint, a.UserInfoEndpoint,
		a.UserPool, a.UserPoolDomain, a.ClientID,
	}, "\x00")))
	return a.Cookie[:min(len(a.Cookie), longestCookie)] + "-" + hex.EncodeToString(from[:8])
}

// session returns the session settings of a Backend.
func session(s v1alpha1.Session) *routing.Auth {
	out := &routing.Auth{OnMissing: s.OnUnauthenticatedRequest, Scope: s.Scope, Cookie: s.CookieName,
		TimeoutSeconds: s.TimeoutSeconds}
	if len(s.Parameters) > 0 {
		out.Parameters = s.Parameters
	}
	return out
}

// requireSignIn sets the port where users of a host sign in. Requests over HTTP are not redirected
// there, as a client may have sent a token without encryption.
func (v *memberBackends) requireSignIn(a routing.Action, h routing.Host, secure []int32,
	field string) routing.Action {
	if a.Auth == nil {
		return a
	}
	if len(secure) == 0 {
		v.addDiagnostic(diag.Error, diag.AuthUnavailable, field,
			describeHost(h)+" is not served over HTTPS, without which users cannot sign in; "+
				"requests are answered 503")
		return a
	}
	if a.Auth.Kind != routing.JWT {
		auth := *a.Auth
		auth.SecurePort = secure[0]
		a.Auth = &auth
	}
	return a
}

// lastSignIn returns the sign-in with the last client of a Secret, and with the client secret that
// the cloud has.
func (v *memberBackends) lastSignIn(o *v1alpha1.OIDC, n Name) (*routing.Auth, error) {
	client := v.pool.clients[n.String()]
	if client == "" {
		return nil, errors.New(v.whySecretUnread(n))
	}
	out := v.signInWith(o, client)
	out.KeepsClientSecret = true
	return out, nil
}
