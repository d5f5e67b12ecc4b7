package alb

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/test/albsim"
)

// This file has users sign in, changes how, and takes away what that needs: nobody is ever let through
// who should have signed in.

// tlsSecret adds a Secret with a certificate for a host.
func (w *world) tlsSecret(name, host string) {
	w.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		w.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{host},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(365 * 24 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		w.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		w.Fatal(err)
	}
	w.secret(name, map[string][]byte{
		corev1.TLSCertKey:       pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		corev1.TLSPrivateKeyKey: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}),
	})
}

// secret makes a Secret what it is to be; nil removes it.
func (w *world) secret(name string, data map[string][]byte) {
	w.Secrets = slices.DeleteFunc(w.Secrets, func(s *corev1.Secret) bool { return s.Name == name })
	if data != nil {
		w.Secrets = append(w.Secrets, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Data: data})
	}
}

func oidc(tokens string) *v1alpha1.Authenticate {
	return &v1alpha1.Authenticate{OIDC: &v1alpha1.OIDC{
		Issuer: "https://idp.example.com", AuthorizationEndpoint: "https://idp.example.com/authorize",
		TokenEndpoint: tokens, UserInfoEndpoint: "https://idp.example.com/user", SecretName: "client",
	}}
}

func TestNobodyIsLetThroughUnasked(t *testing.T) {
	client := func(secret string) map[string][]byte {
		return map[string][]byte{"clientID": []byte("me"), "clientSecret": []byte(secret)}
	}
	const tokens = "https://idp.example.com/token"
	const oidcAction, hush, psst = "authenticate-oidc", "hush-hush", "psst-psst"
	stages := []struct {
		name   string
		asks   *v1alpha1.Authenticate
		client map[string][]byte

		auth, secret string // what is asked for over HTTPS, and with what secret
		plain        int    // what is answered over HTTP
		rules        int    // that are written
	}{
		{"at first", oidc(tokens), client(hush), oidcAction, hush, 302, 4},
		{"nothing changed", oidc(tokens), client(hush), oidcAction, hush, 302, 0},
		{"another secret", oidc(tokens), client(psst), oidcAction, psst, 302, 1},
		{"another endpoint", oidc("https://idp.example.com/tokens"), client(psst), oidcAction, psst, 302, -1},
		{"both", oidc(tokens), client(hush), oidcAction, hush, 302, -1},
		{"the secret is gone", oidc(tokens), nil, "", "", 503, -1},
		{"the secret is back", oidc(tokens), client(hush), oidcAction, hush, 302, -1},
		{"a user pool instead", &v1alpha1.Authenticate{Cognito: &v1alpha1.Cognito{
			UserPoolARN: "arn:aws:cognito-idp:eu-west-1:111122223333:userpool/eu-west-1_abc", UserPoolClientID: "me", UserPoolDomain: "shop",
			Session: v1alpha1.Session{OnUnauthenticatedRequest: "deny", Parameters: map[string]string{"lang": "de"}},
		}}, nil, "authenticate-cognito", "", 302, -1},
		{"a token instead", &v1alpha1.Authenticate{JWT: &v1alpha1.JWT{Issuer: "idp", KeysEndpoint: "https://idp.example.com/keys",
			Claims: []v1alpha1.Claim{{Name: "group", Values: []string{"admins"}}}}}, nil, "jwt-validation", "", 503, -1},
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, albsim.Options{})
		w.service("web", 1)
		w.service("admin", 1)
		w.tlsSecret("tls", "guarded.example.com")
		ing := w.serve("guarded", map[string]string{"/": "web", "/admin": "admin"})
		ing.Spec.TLS = []networkingv1.IngressTLS{{Hosts: []string{"guarded.example.com"}, SecretName: "tls"}}
		ing.Spec.Rules[0].HTTP.Paths[1].Backend = networkingv1.IngressBackend{
			Resource: &corev1.TypedLocalObjectReference{APIGroup: new(v1alpha1.Group), Kind: v1alpha1.KindBackend, Name: "special"},
		}
		guarded := func(port int32) albsim.Answer {
			return w.sim.Ask(w.seen.Address.Hostname, albsim.Request{Port: port, TLS: port == 443, SNI: "guarded.example.com",
				Host: "guarded.example.com", Path: "/admin", Source: "8.8.8.8"}, albsim.Reading{})
		}
		for _, stage := range stages {
			w.backend(v1alpha1.BackendSpec{
				Services:     []v1alpha1.WeightedService{{Name: "admin", Port: v1alpha1.ServicePort{Number: 80}}},
				Authenticate: stage.asks,
			})
			w.secret("client", stage.client)
			rules := 0
			w.sim.Watch(func(c albsim.Call) {
				if strings.HasSuffix(c.Action, "Rule") {
					rules++
				}
				if w.seen == nil {
					return
				}
				for _, port := range []int32{80, 443} {
					if a := guarded(port); len(a.Forward) > 0 && a.Auth == "" {
						t.Errorf("%s: after %s, port %d lets everybody through to %v", stage.name, c, port, a.Forward)
					}
				}
			})
			w.settle()
			w.sim.Watch(nil)
			time.Sleep(time.Minute)
			if stage.rules >= 0 && rules != stage.rules {
				t.Errorf("%s: %d rules are written, want %d", stage.name, rules, stage.rules)
			}
			if a := guarded(443); a.Auth != stage.auth || a.Secret != stage.secret || stage.auth == "" && a.Status != 503 {
				t.Errorf("%s: over HTTPS the answer is %+v", stage.name, a)
			}
			if a := guarded(80); a.Status != stage.plain || len(a.Forward) > 0 {
				t.Errorf("%s: over HTTP the answer is %+v", stage.name, a)
			}
			w.restart()
			if todo, _, err := w.reconcile(); err != nil || !todo.Empty() {
				t.Errorf("%s: what is read back is not what was written: %v, %d steps", stage.name, err, len(todo.Steps))
			}
		}
	})
}
