package ingress

import (
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/model/routing"
)

// A load balancer takes a session for that of each sign-in whose cookie has the same name. So no
// two sign-ins of different namespaces, identity providers or clients have one, whatever name they
// ask for.
func TestASessionIsGoodForOneSignInOnly(t *testing.T) {
	usual := routing.Auth{
		Kind: routing.OIDC, Cookie: "AWSELBAuthSessionCookie", Issuer: "https://idp.test", AuthorizationEndpoint: "https://idp.test/a",
		TokenEndpoint: "https://idp.test/t", UserInfoEndpoint: "https://idp.test/u", ClientID: "me",
	}
	cookie := func(namespace string, edit func(*routing.Auth)) string {
		a := usual
		edit(&a)
		v := &memberBackends{Member: Member{Ingress: &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}}}}
		return v.cookie(&a)
	}
	same := func(*routing.Auth) {}
	first := cookie("shop", same)
	if again := cookie("shop", func(a *routing.Auth) { a.Scope, a.TimeoutSeconds, a.OnMissing = "email", 60, "deny" }); again != first {
		t.Errorf("one sign-in has the cookies %s and %s", first, again)
	}
	seen := map[string]string{first: "the first one"}
	for name, other := range map[string]string{
		"another namespace":               cookie("pay", same),
		"another issuer":                  cookie("shop", func(a *routing.Auth) { a.Issuer = "https://idp.evil" }),
		"another token endpoint":          cookie("shop", func(a *routing.Auth) { a.TokenEndpoint = "https://idp.evil/t" }),
		"another authorization endpoint":  cookie("shop", func(a *routing.Auth) { a.AuthorizationEndpoint = "https://idp.evil/a" }),
		"another endpoint of users":       cookie("shop", func(a *routing.Auth) { a.UserInfoEndpoint = "https://idp.evil/u" }),
		"another client":                  cookie("shop", func(a *routing.Auth) { a.ClientID = "you" }),
		"a user pool":                     cookie("shop", func(a *routing.Auth) { a.Kind, a.Issuer, a.UserPool = routing.Cognito, "", "arn:pool" }),
		"a name that ends like the first": cookie("pay", func(a *routing.Auth) { a.Cookie = first }),
	} {
		if taken, known := seen[other]; known {
			t.Errorf("%s has the cookie of %s: %s", name, taken, other)
		}
		seen[other] = name
	}
	if long := cookie("shop", func(a *routing.Auth) { a.Cookie = strings.Repeat("c", 255) }); len(long) > 255 || !strings.HasSuffix(long, first[len(first)-16:]) {
		t.Errorf("a long name becomes %s", long)
	}
}
