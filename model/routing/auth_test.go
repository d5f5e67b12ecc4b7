package routing

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestASignInNeedsHTTPS(t *testing.T) {
	behind := func(port int32) Action {
		a := To("shop/web:80")
		a.Auth = &Auth{Kind: OIDC, SecurePort: port}
		return a
	}
	for name, c := range map[string]struct{ got, want Action }{
		"over HTTPS":                       {behind(0).On("HTTPS"), behind(0)},
		"over HTTP there is a way":         {behind(8443).On("HTTP"), Action{Redirect: &Redirect{Status: 302, Scheme: "https", Port: "8443"}}},
		"over HTTP there is none":          {behind(0).On("HTTP"), Status(503)},
		"what asks for nothing is let be":  {To("shop/web:80").On("HTTP"), To("shop/web:80")},
		"a protocol that nobody has heard": {behind(0).On("QUIC"), Status(503)},
	} {
		if c.got.Key() != c.want.Key() {
			t.Errorf("%s: %s, want %s", name, c.got.Key(), c.want.Key())
		}
	}
}

func TestASecretIsNeverPrinted(t *testing.T) {
	a := To("shop/web:80")
	a.Auth = &Auth{Kind: OIDC, ClientID: "me", ClientSecret: "hush-hush"}
	text, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	alone, err := json.Marshal(a.Auth.ClientSecret)
	if err != nil {
		t.Fatal(err)
	}
	for _, said := range []string{string(text), string(alone), a.Key(), a.Auth.String(), a.Auth.Key(), a.Auth.ClientSecret.Digest(),
		fmt.Sprintf("%v %+v %#v %s %q", *a.Auth, *a.Auth, *a.Auth, a.Auth.ClientSecret, a.Auth.ClientSecret)} {
		if strings.Contains(said, "hush") {
			t.Errorf("the secret is in %s", said)
		}
	}
	other := *a.Auth
	other.ClientSecret = "psst"
	if other.Key() != a.Auth.Key() || other.ClientSecret.Digest() == a.Auth.ClientSecret.Digest() {
		t.Error("another secret has to be another digest of the same sign-in")
	}
}
