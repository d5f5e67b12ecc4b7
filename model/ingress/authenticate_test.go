package ingress

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/routing"
)

func TestAuthenticate(t *testing.T) {
	const at = " Ingress shop/web spec.rules[0].http.paths[0].backend"
	const of = "error Invalid Backend shop/b spec.authenticate"
	oidc := func(edit func(*v1alpha1.OIDC)) *v1alpha1.Authenticate {
		o := &v1alpha1.OIDC{
			Issuer: "https://idp.test", AuthorizationEndpoint: "https://idp.test/a", TokenEndpoint: "https://idp.test/t", UserInfoEndpoint: "https://idp.test/u",
			SecretName: "client",
		}
		if edit != nil {
			edit(o)
		}
		return &v1alpha1.Authenticate{OIDC: o}
	}
	cognito := func(pool string) *v1alpha1.Authenticate {
		return &v1alpha1.Authenticate{Cognito: &v1alpha1.Cognito{UserPoolARN: pool, UserPoolClientID: "me", UserPoolDomain: "shop",
			Session: v1alpha1.Session{OnUnauthenticatedRequest: "deny", Scope: "email", CookieName: "c", TimeoutSeconds: 60, Parameters: map[string]string{"a": "b"}}}}
	}
	jwt := func(claims ...v1alpha1.Claim) *v1alpha1.Authenticate {
		return &v1alpha1.Authenticate{JWT: &v1alpha1.JWT{Issuer: "idp", KeysEndpoint: "https://idp.test/k", Claims: claims}}
	}
	secret := map[string][]byte{"clientID": []byte("me\n"), "clientSecret": []byte("hush\n")}
	signedIn := &routing.Auth{
		Kind: routing.OIDC, Issuer: "https://idp.test", AuthorizationEndpoint: "https://idp.test/a", TokenEndpoint: "https://idp.test/t", UserInfoEndpoint: "https://idp.test/u",
		ClientID: "me", OnMissing: "authenticate", Scope: "openid", Cookie: "AWSELBAuthSessionCookie-6038124a1e825301", TimeoutSeconds: 604800, Secret: "shop/client", ClientSecret: "hush",
	}
	http := []string{"error AuthUnavailable" + at}
	cases := map[string]struct {
		asks   *v1alpha1.Authenticate
		secret map[string][]byte
		want   *routing.Auth // nil: 503
		told   []string
	}{
		"a provider, and all that is not said":  {oidc(nil), secret, signedIn, http},
		"a user pool, and all that can be said": {cognito("arn:aws:cognito-idp:pool"), nil, &routing.Auth{Kind: routing.Cognito, UserPool: "arn:aws:cognito-idp:pool", ClientID: "me", UserPoolDomain: "shop", OnMissing: "deny", Scope: "email", Cookie: "c-b6f2fd587a8355c5", TimeoutSeconds: 60, Parameters: map[string]string{"a": "b"}}, http},
		"a token": {jwt(v1alpha1.Claim{Name: "g", Values: []string{"a"}}), nil, &routing.Auth{Kind: routing.JWT, Issuer: "idp", KeysEndpoint: "https://idp.test/k",
			Claims: []routing.Claim{{Name: "g", Format: "single-string", Values: []string{"a"}}}}, http},

		"no Secret":                      {oidc(nil), nil, nil, []string{"error AuthUnavailable" + at + ".resource"}},
		"a Secret without a secret":      {oidc(nil), map[string][]byte{"clientID": []byte("me")}, nil, []string{"error AuthUnavailable" + at + ".resource"}},
		"nothing":                        {&v1alpha1.Authenticate{}, nil, nil, []string{of, "error Invalid" + at + ".resource"}},
		"two things":                     {&v1alpha1.Authenticate{OIDC: oidc(nil).OIDC, JWT: jwt().JWT}, nil, nil, []string{of, "error Invalid" + at + ".resource"}},
		"an endpoint in the clear":       {oidc(func(o *v1alpha1.OIDC) { o.TokenEndpoint = "http://idp.test" }), secret, nil, []string{of + ".oidc.tokenEndpoint", "error Invalid" + at + ".resource"}},
		"no issuer":                      {oidc(func(o *v1alpha1.OIDC) { o.Issuer = "" }), secret, nil, []string{of + ".oidc.issuer", "error Invalid" + at + ".resource"}},
		"something else for who is not":  {oidc(func(o *v1alpha1.OIDC) { o.OnUnauthenticatedRequest = "ignore" }), secret, nil, []string{of + ".oidc.onUnauthenticatedRequest", "error Invalid" + at + ".resource"}},
		"a session of more than a week":  {oidc(func(o *v1alpha1.OIDC) { o.TimeoutSeconds = 604801 }), secret, nil, []string{of + ".oidc.timeoutSeconds", "error Invalid" + at + ".resource"}},
		"a user pool without its name":   {cognito("pool"), nil, nil, []string{of + ".cognito.userPoolARN", "error Invalid" + at + ".resource"}},
		"a claim that is checked anyway": {jwt(v1alpha1.Claim{Name: "exp", Values: []string{"1"}}), nil, nil, []string{of + ".jwt.claims[0].name", "error Invalid" + at + ".resource"}},
		"a claim without values":         {jwt(v1alpha1.Claim{Name: "g"}), nil, nil, []string{of + ".jwt.claims[0].values", "error Invalid" + at + ".resource"}},
		"a claim of no known format":     {jwt(v1alpha1.Claim{Name: "g", Format: "list", Values: []string{"1"}}), nil, nil, []string{of + ".jwt.claims[0].format", "error Invalid" + at + ".resource"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			objects := []any{
				aBackend("shop/b", v1alpha1.BackendSpec{FixedResponse: &v1alpha1.FixedResponse{StatusCode: 200}, Authenticate: c.asks}),
				anIngress("shop/web", ruled("a.test", path(byPrefix, "/", toResource("fairlead.dev/Backend/b")))),
			}
			if c.secret != nil {
				objects = append(objects, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "client"}, Data: c.secret})
			}
			config, found := translated(t, nil, objects...)
			want := routing.Status(503)
			if c.want != nil {
				want = routing.Status(200)
				want.Auth = c.want
			}
			compare(t, "action", config.Routes[0].Action, want)
			compare(t, "told", told(found), c.told)
		})
	}
}

func TestUsersSignInWhereTheirHostIsSecure(t *testing.T) {
	asks := &v1alpha1.Authenticate{Cognito: &v1alpha1.Cognito{UserPoolARN: "arn:pool", UserPoolClientID: "me", UserPoolDomain: "shop"}}
	config, found := translated(t, nil, aBackend("shop/b", v1alpha1.BackendSpec{FixedResponse: &v1alpha1.FixedResponse{StatusCode: 200}, Authenticate: asks}),
		aSecret(t, "shop/tls", "a.test"),
		anIngress("shop/web", annotated("listen-ports", "HTTP:80,HTTPS:8443,HTTPS:9443"), secured("tls", "a.test"),
			ruled("a.test", path(byPrefix, "/", toResource("fairlead.dev/Backend/b"))),
			ruled("b.test", path(byPrefix, "/", toResource("fairlead.dev/Backend/b")))))
	for i, want := range []int32{8443, 0} {
		if got := config.Routes[i].Action.Auth.SecurePort; got != want {
			t.Errorf("%s: users sign in on port %d, want %d", config.Routes[i].Host, got, want)
		}
	}
	if !hasError(found) {
		t.Error("the owner of b.test is not told that nobody can sign in")
	}
}
