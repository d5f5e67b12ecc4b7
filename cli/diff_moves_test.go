package cli

import (
	"strings"
	"testing"
)

// This file tests that protection which is lost together with the identity of a load balancer is
// not lost unseen.

// protected is an Ingress with a sign-in on its only path, and all it needs.
const protected = `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  namespace: team
  name: web
  annotations: {fairlead.dev/scheme: internet-facing, fairlead.dev/listen-ports: 'HTTPS:443'}
spec:
  ingressClassName: fairlead
  tls: [{hosts: [web.example.com], secretName: tls}]
  rules:
  - host: web.example.com
    http:
      paths:
      - {path: /, pathType: Prefix, backend: {resource: {apiGroup: fairlead.dev, kind: Backend, name: web}}}
`

const protectedRest = `---
apiVersion: fairlead.dev/v1alpha1
kind: Backend
metadata: {namespace: team, name: web}
spec:
  services: [{name: web, port: {number: 80}}]
  authenticate:
    oidc:
      issuer: https://idp.example.com
      authorizationEndpoint: https://idp.example.com/authorize
      tokenEndpoint: https://idp.example.com/token
      userInfoEndpoint: https://idp.example.com/userinfo
      secretName: client
---
apiVersion: v1
kind: Secret
metadata: {namespace: team, name: client}
data: {clientID: bWU=, clientSecret: aHVzaC1odXNo}
---
apiVersion: v1
kind: Service
metadata: {namespace: team, name: web}
spec: {ports: [{port: 80}]}
---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: other}
spec: {controller: fairlead.dev/ingress}
---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: fairlead}
spec: {controller: fairlead.dev/ingress}
`

// edited replaces texts in an Ingress, in pairs. Each has to be there.
func edited(t *testing.T, text string, pairs ...string) string {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			t.Fatalf("%q is not in\n%s", pairs[i], text)
		}
		text = strings.Replace(text, pairs[i], pairs[i+1], 1)
	}
	return text
}

func TestDiffSeesWhatAMoveLoses(t *testing.T) {
	const (
		signIn  = "{resource: {apiGroup: fairlead.dev, kind: Backend, name: web}}"
		plain   = "{service: {name: web, port: {number: 80}}}"
		facing  = "fairlead.dev/scheme: internet-facing"
		ranges  = facing + ", fairlead.dev/inbound: 10.0.0.0/8"
		acl     = facing + ", fairlead.dev/wafv2-acl: shop-edge"
		office  = facing + `, fairlead.dev/conditions: '[{"path": "/", "source": ["10.0.0.0/8"]}]'`
		policy  = facing + ", fairlead.dev/tls-policy: ELBSecurityPolicy-TLS13-1-3-2021-06"
		only443 = ", fairlead.dev/listen-ports: 'HTTPS:443'"
	)
	edit := func(text string, pairs ...string) string { return edited(t, text, pairs...) }
	open := edit(protected, signIn, plain)
	second := edit(open, "name: web", "name: second")
	inside := edit(open, facing, "fairlead.dev/scheme: internal", only443, "", "  tls: [{hosts: [web.example.com], secretName: tls}]\n", "")
	outside := edit(inside, "name: web", "name: second", "scheme: internal", "scheme: internet-facing")
	group := func(text, name string) string { return edit(text, facing, facing+", fairlead.dev/group: "+name) }
	for name, c := range map[string]struct {
		before, after string
		code          int
		has           []string
	}{
		"a sign-in":                       {protected, open, exitLess, []string{"less protected", "no longer have to sign in"}},
		"a sign-in, and another name":     {protected, second, exitLess, []string{"no longer have to sign in", "served before by fairlead/team/web/internet-facing port 443"}},
		"a sign-in, and a group":          {protected, group(open, "z"), exitLess, []string{"no longer have to sign in", "curl https://web.example.com/"}},
		"a sign-in, and another class":    {protected, edit(open, "ingressClassName: fairlead", "ingressClassName: other"), exitLess, []string{"no longer have to sign in"}},
		"a sign-in, by a second Ingress":  {protected, protected + "---\n" + second, exitLess, []string{"no longer have to sign in"}},
		"a sign-in, by a second, on HTTP": {protected, protected + "---\n" + edit(second, only443, "", "  tls: [{hosts: [web.example.com], secretName: tls}]\n", ""), exitLess, []string{"no longer have to sign in", "protocol: HTTPS, now HTTP"}},

		"ranges, by a move":            {group(edit(open, facing, ranges), "g1"), group(open, "g2"), exitLess, []string{"inbound ranges: 10.0.0.0/8, now everybody"}},
		"ranges, and another name":     {edit(open, facing, ranges), second, exitLess, []string{"inbound ranges: 10.0.0.0/8, now everybody"}},
		"ranges, by a second Ingress":  {edit(open, facing, ranges), edit(open, facing, ranges) + "---\n" + second, exitLess, []string{"inbound ranges: 10.0.0.0/8, now everybody"}},
		"a web ACL, by a move":         {group(edit(open, facing, acl), "g1"), group(open, "g2"), exitLess, []string{"web ACL: shop-edge, now none"}},
		"a web ACL, by another":        {edit(open, facing, acl), edit(open, facing, acl) + "---\n" + second, exitLess, []string{"web ACL: shop-edge, now none"}},
		"being internal, by wildcard":  {inside, inside + "---\n" + edit(outside, "host: web.example.com", `host: "*.example.com"`), exitLess, []string{"scheme: internal, now internet-facing", "curl http://web.example.com/"}},
		"being internal, by no host":   {inside, edit(outside, "  - host: web.example.com\n    http:", "  - http:"), exitLess, []string{"scheme: internal, now internet-facing", "curl http://web.example.com/"}},
		"being internal, by its name":  {inside, inside + "---\n" + outside, exitLess, []string{"scheme: internal, now internet-facing"}},
		"addresses, by a move":         {group(edit(open, facing, office), "g1"), group(open, "g2"), exitLess, []string{"clients with other addresses get to the Service, too", "kept before by fairlead/team/@g1/internet-facing port 443: source = 10.0.0.0/8"}},
		"addresses, by a second one":   {edit(open, facing, office), edit(open, facing, office) + "---\n" + second, exitLess, []string{"clients with other addresses get to the Service, too"}},
		"addresses, by any host":       {edit(open, facing, office), edit(open, facing, office) + "---\n" + edit(outside, "  - host: web.example.com\n    http:", "  - http:"), exitLess, []string{"clients with other addresses get to the Service, too", "curl http://web.example.com/"}},
		"a TLS policy, by a move":      {group(edit(open, facing, policy), "g1"), group(open, "g2"), exitLess, []string{"possibly less protected", "TLS policy: ELBSecurityPolicy-TLS13-1-3-2021-06, now the cloud's own"}},
		"nothing of addresses":         {edit(open, facing, office), group(edit(open, facing, office), "z"), exitToDo, nil},
		"nothing of addresses, ranges": {edit(open, facing, office), group(edit(open, facing, ranges), "z"), exitToDo, nil},
		"nothing of a TLS policy":      {edit(open, facing, policy), group(edit(open, facing, policy), "z"), exitToDo, nil},
		"nothing, and another name":    {protected, edit(protected, "name: web", "name: second"), exitToDo, nil},
		"nothing, and a group":         {edit(protected, facing, ranges), group(edit(protected, facing, ranges), "z"), exitToDo, nil},
		"nothing of a host of its own": {protected, protected + "---\n" + edit(second, "hosts: [web", "hosts: [new", "host: web", "host: new"), exitToDo, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := diffOf(t, c.before+protectedRest, c.after+protectedRest, "--provider", "aws")
			if got.code != c.code || strings.Contains(got.out, "less protected") != (c.code == exitLess) {
				t.Errorf("exit code %d, want %d:\n%s%s", got.code, c.code, got.out, got.err)
			}
			for _, text := range c.has {
				if !strings.Contains(got.out, text) {
					t.Errorf("%q is missing in\n%s%s", text, got.out, got.err)
				}
			}
		})
	}
}

// TestDiffSeesWhomASignInAdmits changes the conditions of a sign-in, which print alike.
func TestDiffSeesWhomASignInAdmits(t *testing.T) {
	const claims = "      claims: [{name: role, values: [admin]}]\n"
	rest := edited(t, protectedRest, protectedRest[strings.Index(protectedRest, "    oidc:"):strings.Index(protectedRest, "---\napiVersion: v1\nkind: Secret")],
		"    jwt:\n      issuer: https://idp.example.com\n      keysEndpoint: https://idp.example.com/keys\n"+claims)
	cognito := edited(t, protectedRest, protectedRest[strings.Index(protectedRest, "    oidc:"):strings.Index(protectedRest, "---\napiVersion: v1\nkind: Secret")],
		"    cognito: {userPoolARN: 'arn:aws:cognito-idp:eu-west-1:123456789012:userpool/one', userPoolDomain: one, userPoolClientID: me}\n")
	for name, c := range map[string]struct {
		before, old, now string
		code             int
		has              []string
	}{
		"no claims":         {rest, claims, "", exitLess, []string{"less protected", "claim role: single-string admin, now none"}},
		"wider claims":      {rest, "[admin]", "[admin, user]", exitLess, []string{"less protected", "claim role: single-string admin, now single-string admin, user"}},
		"narrower claims":   {edited(t, rest, "[admin]", "[admin, user]"), "[admin, user]", "[admin]", exitToDo, []string{"more protected"}},
		"other keys":        {rest, "com/keys", "com/others", exitLess, []string{"possibly less protected", "keysEndpoint: https://idp.example.com/keys, now https://idp.example.com/others"}},
		"another issuer":    {rest, "issuer: https://idp", "issuer: https://evil", exitLess, []string{"possibly less protected", "issuer: https://idp.example.com, now https://evil.example.com"}},
		"an OIDC issuer":    {protectedRest, "issuer: https://idp", "issuer: https://evil", exitLess, []string{"possibly less protected", "issuer: "}},
		"an OIDC token":     {protectedRest, "com/token", "com/tok", exitLess, []string{"possibly less protected", "tokenEndpoint: "}},
		"OIDC, authorizing": {protectedRest, "com/authorize", "com/auth", exitLess, []string{"possibly less protected", "authorizationEndpoint: "}},
		"OIDC, user info":   {protectedRest, "com/userinfo", "com/info", exitLess, []string{"possibly less protected", "userInfoEndpoint: "}},
		"an OIDC client":    {protectedRest, "clientID: bWU=", "clientID: eW91", exitLess, []string{"possibly less protected", "clientID: me, now you"}},
		"a Cognito pool":    {cognito, "userpool/one", "userpool/two", exitLess, []string{"possibly less protected", "userPool: "}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, form := range [][]string{nil, {"-o", "json"}, {"-o", "markdown"}} {
				got := diffOf(t, protected+c.before, protected+edited(t, c.before, c.old, c.now), append(form, "--provider", "aws")...)
				if got.code != c.code {
					t.Errorf("exit code %d, want %d:\n%s%s", got.code, c.code, got.out, got.err)
				}
				for i, text := range c.has {
					if len(form) > 0 && (i == 0 || form[1] == "markdown") {
						text, _, _ = strings.Cut(text, ":")
						text = strings.TrimPrefix(text, "possibly ")
						if form[1] == "json" {
							text = `"protection"`
						}
					}
					if !strings.Contains(got.out, text) {
						t.Errorf("%q is missing in\n%s%s", text, got.out, got.err)
					}
				}
			}
		})
	}
}

// TestDiffSaysWhichAnnotationsAreNotFollowed: an Ingress that was refused, since an annotation of
// another controller restricts it, becomes served by its class.
func TestDiffSaysWhichAnnotationsAreNotFollowed(t *testing.T) {
	class := func(how string) string {
		return `---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: fairlead}
spec: {controller: fairlead.dev/ingress, parameters: {apiGroup: fairlead.dev, kind: LoadBalancerClass, name: main, scope: Namespace, namespace: shop}}
---
apiVersion: fairlead.dev/v1alpha1
kind: LoadBalancerClass
metadata: {name: main, namespace: shop}
spec: {foreignAnnotations: ` + how + `}
`
	}
	plain := ingressYAML("web", "a.example.com", "/")
	restricted := strings.Replace(plain, "namespace: shop", "namespace: shop, annotations: {nginx.ingress.kubernetes.io/auth-url: 'https://id.example.com'}", 1)
	ranges := strings.Replace(plain, "namespace: shop", "namespace: shop, annotations: {nginx.ingress.kubernetes.io/whitelist-source-range: 10.0.0.0/8}", 1)
	for name, c := range map[string]struct {
		before, after string
		code          int
	}{
		"ignored now":    {restricted + class("Refuse"), restricted + class("Ignore"), exitLess},
		"a warning now":  {restricted + class("Refuse"), restricted + class("Warn"), exitLess},
		"always ignored": {restricted + class("Ignore"), restricted + class("Ignore"), exitDone},
		"no annotation":  {restricted + class("Refuse"), plain + class("Refuse"), exitToDo},
		"another controller's before": {strings.Replace(restricted, "ingressClassName: fairlead", "ingressClassName: nginx", 1) + class("Ignore") + `---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: nginx}
spec: {controller: k8s.io/ingress-nginx}
`, restricted + class("Ignore"), exitLess},
		"followed by Fairlead's own": {ranges + class("Refuse"), strings.Replace(ranges, "annotations: {", "annotations: {fairlead.dev/inbound: 10.0.0.0/8, ", 1) + class("Refuse"), exitToDo},
		"a new one":                  {strings.NewReplacer("name: web", "name: other", "a.example", "b.example").Replace(plain) + class("Ignore"), restricted + class("Ignore"), exitToDo},
		"refused as ever":            {restricted + class("Refuse"), restricted + class("Refuse"), exitFail}, // no Ingress is served
	} {
		got := diffOf(t, c.before, c.after, "--provider", "aws")
		if got.code != c.code || strings.Contains(got.out, "not followed: nginx.ingress.kubernetes.io/auth-url") != (c.code == exitLess) {
			t.Errorf("%s: exit code %d, want %d\n%s%s", name, got.code, c.code, got.out, got.err)
		}
	}
}

// TestDiffSeesARedirectThatGoesAway: requests that were redirected to HTTPS are forwarded in the clear.
func TestDiffSeesARedirectThatGoesAway(t *testing.T) {
	const class = `---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: fairlead}
spec: {controller: fairlead.dev/ingress, parameters: {apiGroup: fairlead.dev, kind: LoadBalancerClass, name: main, scope: Namespace, namespace: shop}}
---
apiVersion: fairlead.dev/v1alpha1
kind: LoadBalancerClass
metadata: {name: main, namespace: shop}
`
	open := strings.Replace(ingressYAML("web", "a.example.com", "/"), "ingressClassName: fairlead", "ingressClassName: fairlead\n  tls: [{hosts: [a.example.com], secretName: web-tls}]", 1)
	with := func(annotations string) string {
		return strings.Replace(open, "namespace: shop", "namespace: shop, annotations: {"+annotations+"}", 1)
	}
	redirected := with(`fairlead.dev/ssl-redirect: "443"`)
	both := "fairlead.dev/listen-ports: 'HTTP:80,HTTPS:443,HTTPS:8443', fairlead.dev/ssl-redirect: "
	gone := "clients are no longer sent to HTTPS"
	byBackend := with("fairlead.dev/group: shop, fairlead.dev/listen-ports: 'HTTPS:443'") + "---\n" + strings.NewReplacer(
		"namespace: shop", "namespace: shop, annotations: {fairlead.dev/group: shop}",
		"service: {name: web, port: {number: 80}}", "resource: {apiGroup: fairlead.dev, kind: Backend, name: https}",
	).Replace(ingressYAML("http", "a.example.com", "/")) + `---
apiVersion: fairlead.dev/v1alpha1
kind: Backend
metadata: {name: https, namespace: shop}
spec: {redirect: {scheme: https, statusCode: 301}}
`
	for name, c := range map[string]struct {
		before, after string
		code          int
		because       string
	}{
		"an annotation is removed":              {redirected, open, exitLess, gone},
		"an annotation is added":                {open, redirected, exitToDo, "clients are sent to HTTPS"},
		"the field of the class":                {open + class + "spec: {sslRedirect: '443'}\n", open + class, exitLess, gone},
		"the class takes over":                  {redirected + class, open + class + "spec: {sslRedirect: '443'}\n", exitDone, ""},
		"a host is not covered any more":        {redirected, strings.Replace(redirected, "hosts: [a.example.com]", "hosts: [b.example.com]", 1), exitLess, gone},
		"another port":                          {with(both + `"443"`), with(both + `"8443"`), exitToDo, ""},
		"challenges, which a Backend redirects": {byBackend, with(`fairlead.dev/ssl-redirect: "443", fairlead.dev/group: shop`), exitLess, gone},
	} {
		got := diffOf(t, c.before, c.after, "--provider", "aws")
		if got.code != c.code || !strings.Contains(got.out, c.because) {
			t.Errorf("%s: exit code %d, want %d and %q\n%s%s", name, got.code, c.code, c.because, got.out, got.err)
		}
	}
}
