package alb

import (
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
	"fairlead.dev/fairlead/test/albsim/matching"
)

// This file has users sign in, changes how, and takes away what that needs: nobody is ever let
// through who should have signed in.

// client makes the Secret of the client what it is to be; nil removes it.
func (w *world) client(data map[string][]byte) {
	w.Secrets = slices.DeleteFunc(slices.Clone(w.Secrets), func(s *corev1.Secret) bool { return s.Name == "client" })
	if data != nil {
		w.Secrets = append(w.Secrets, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "client"}, Data: data})
	}
}

func oidc(tokens string) *v1alpha1.Authenticate {
	return &v1alpha1.Authenticate{OIDC: &v1alpha1.OIDC{
		Issuer: "https://idp.example.com", AuthorizationEndpoint: "https://idp.example.com/authorize",
		TokenEndpoint: tokens, UserInfoEndpoint: "https://idp.example.com/user", SecretName: "client",
	}}
}

func cognito(client string) *v1alpha1.Authenticate {
	return &v1alpha1.Authenticate{Cognito: &v1alpha1.Cognito{
		UserPoolARN: "arn:aws:cognito-idp:eu-west-1:111122223333:userpool/eu-west-1_abc", UserPoolClientID: client, UserPoolDomain: "shop",
	}}
}

func jwt(issuer string) *v1alpha1.Authenticate {
	return &v1alpha1.Authenticate{JWT: &v1alpha1.JWT{Issuer: issuer, KeysEndpoint: "https://idp.example.com/keys"}}
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
		unread bool // the Secret is there, and cannot be read

		auth, secret string // what is asked for over HTTPS, and with what secret
		plain        int    // what is answered over HTTP
		rules        int    // that are written
	}{
		{"at first", oidc(tokens), client(hush), false, oidcAction, hush, 302, 4},
		{"nothing changed", oidc(tokens), client(hush), false, oidcAction, hush, 302, 0},
		{"another secret", oidc(tokens), client(psst), false, oidcAction, psst, 302, 1},
		{"the secret cannot be read", oidc(tokens), nil, true, oidcAction, psst, 302, 0},
		{"the secret can be read again", oidc(tokens), client(psst), false, oidcAction, psst, 302, 0},
		{"another endpoint", oidc("https://idp.example.com/tokens"), client(psst), false, oidcAction, psst, 302, -1},
		{"both", oidc(tokens), client(hush), false, oidcAction, hush, 302, -1},
		{"the secret is gone", oidc(tokens), nil, false, "", "", 503, -1},
		{"the secret is back", oidc(tokens), client(hush), false, oidcAction, hush, 302, -1},
		{"a user pool instead", &v1alpha1.Authenticate{Cognito: &v1alpha1.Cognito{
			UserPoolARN: "arn:aws:cognito-idp:eu-west-1:111122223333:userpool/eu-west-1_abc", UserPoolClientID: "me", UserPoolDomain: "shop",
			Session: v1alpha1.Session{OnUnauthenticatedRequest: "deny", Parameters: map[string]string{"lang": "de"}},
		}}, nil, false, "authenticate-cognito", "", 302, -1},
		{"a token instead", &v1alpha1.Authenticate{JWT: &v1alpha1.JWT{Issuer: "idp", KeysEndpoint: "https://idp.example.com/keys",
			Claims: []v1alpha1.Claim{{Name: "group", Values: []string{"admins"}}}}}, nil, false, "jwt-validation", "", 503, -1},
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, albsim.Options{})
		w.service("web", 1)
		w.service("admin", 1)
		w.secret("tls", 1, "guarded.example.com")
		ing := w.serve("guarded", map[string]string{"/": "web", "/admin": "admin"})
		tls("tls", "guarded.example.com")(ing)
		ing.Spec.Rules[0].HTTP.Paths[1].Backend = toResource("special")
		guarded := func(port int32) albsim.Answer {
			return w.sim.Ask(w.seen.Address.Hostname, matching.Request{Port: port, TLS: port == 443, SNI: "guarded.example.com",
				Host: "guarded.example.com", Path: "/admin", Source: "8.8.8.8"}, matching.Reading{})
		}
		for _, stage := range stages {
			w.backendNamed("special", v1alpha1.BackendSpec{
				Services:     []v1alpha1.WeightedService{{Name: "admin", Port: v1alpha1.ServicePort{Number: 80}}},
				Authenticate: stage.asks,
			})
			w.client(stage.client)
			w.SecretsUnread = nil
			if stage.unread {
				w.SecretsUnread = map[string]string{"shop/client": "the API server cannot decrypt it"}
			}
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

// While Secrets cannot be read, users sign in with the clients that these held last. Where that is
// not known, requests are answered 503.
func TestUsersSignInWithWhatSecretsHeldLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, albsim.Options{})
		w.service("web", 1)
		w.secret("tls", 1, "guarded.example.com")
		ing := w.serve("guarded", map[string]string{"/one": "web", "/two": "web", "/open": "web"})
		tls("tls", "guarded.example.com")(ing)
		for i, name := range []string{"one", "two"} {
			paths := ing.Spec.Rules[0].HTTP.Paths
			paths[slices.IndexFunc(paths, func(p networkingv1.HTTPIngressPath) bool { return p.Path == "/"+name })].Backend = toResource(name)
			asks := oidc("https://idp.example.com/token")
			asks.OIDC.SecretName = "client-" + name
			w.backendNamed(name, v1alpha1.BackendSpec{
				Services:     []v1alpha1.WeightedService{{Name: "web", Port: v1alpha1.ServicePort{Number: 80}}},
				Authenticate: asks,
			})
			w.Secrets = append(w.Secrets, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "client-" + name},
				Data: map[string][]byte{"clientID": {byte('a' + i)}, "clientSecret": []byte("secret of " + name)}})
		}
		answers := func(one, two albsim.Answer) {
			t.Helper()
			w.settle()
			for path, want := range map[string]albsim.Answer{"/one": one, "/two": two, "/open": {}} {
				a := w.sim.Ask(w.seen.Address.Hostname, matching.Request{Port: 443, TLS: true, SNI: "guarded.example.com", Host: "guarded.example.com", Path: path,
					Source: "8.8.8.8"}, matching.Reading{})
				if a.Auth != want.Auth || a.Secret != want.Secret || want.Status != 0 && a.Status != want.Status || want.Status == 0 && len(a.Forward) == 0 {
					t.Errorf("%s is answered %+v, want %+v", path, a, want)
				}
			}
		}
		one, two := albsim.Answer{Auth: "authenticate-oidc", Secret: "secret of one"}, albsim.Answer{Auth: "authenticate-oidc", Secret: "secret of two"}
		answers(one, two)
		w.SecretsUnread = map[string]string{}
		for _, name := range []string{"one", "two"} {
			w.Secrets = slices.DeleteFunc(slices.Clone(w.Secrets), func(s *corev1.Secret) bool { return s.Name == "client-"+name })
			w.SecretsUnread["shop/client-"+name] = "the API server cannot decrypt it"
			w.restart()
			answers(one, two)
		}
		w.Records = nil
		answers(albsim.Answer{Status: 503}, albsim.Answer{Status: 503})
	})
}

// A port that users sign in on becomes one that is not secure, and secure again: on the way there
// and back nobody is let through, and AWS refuses nothing.
func TestAPortThatIsNotSecureLetsNobodyThrough(t *testing.T) {
	for name, c := range map[string]struct {
		asks  *v1alpha1.Authenticate
		plain int // what is answered over HTTP
	}{
		"users sign in":    {oidc("https://idp.example.com/token"), 302},
		"a token is asked": {jwt("idp"), 503},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, albsim.Options{})
				w.service("web", 1)
				w.service("admin", 1)
				w.secret("tls", 1, "guarded.example.com")
				w.client(map[string][]byte{"clientID": []byte("me"), "clientSecret": []byte("hush-hush")})
				w.backendNamed("special", v1alpha1.BackendSpec{
					Services: []v1alpha1.WeightedService{{Name: "admin", Port: v1alpha1.ServicePort{Number: 80}}}, Authenticate: c.asks,
				})
				ing := w.serve("guarded", map[string]string{"/": "web", "/admin": "admin"})
				tls("tls", "guarded.example.com")(ing)
				ing.Spec.Rules[0].HTTP.Paths[1].Backend = toResource("special")
				guarded := func(secure bool) albsim.Answer {
					return w.sim.Ask(w.seen.Address.Hostname, matching.Request{Port: 9000, TLS: secure, SNI: "guarded.example.com",
						Host: "guarded.example.com:9000", Path: "/admin", Source: "8.8.8.8"}, matching.Reading{})
				}
				w.sim.Watch(func(call albsim.Call) {
					if strings.HasPrefix(call.Error, "Invalid") {
						t.Errorf("AWS refuses %s: %s", call, call.Error)
					}
					if w.seen == nil {
						return
					}
					for _, secure := range []bool{true, false} {
						if a := guarded(secure); len(a.Forward) > 0 && a.Auth == "" {
							t.Errorf("after %s, everybody gets through to %v", call, a.Forward)
						}
					}
				})
				for _, ports := range []string{`[{"HTTPS":9000}]`, `[{"HTTP":9000}]`, `[{"HTTPS":9000}]`} {
					w.change("guarded", func(ing *networkingv1.Ingress) { ing.Annotations["fairlead.dev/listen-ports"] = ports })
					w.settle()
					secure := strings.Contains(ports, "HTTPS")
					if a := guarded(secure); secure && a.Auth == "" || !secure && (a.Status != c.plain || len(a.Forward) > 0) {
						t.Errorf("on %s the answer is %+v", ports, a)
					}
				}
			})
		})
	}
}
