package nginx_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/ingress/dialect"
	"fairlead.dev/fairlead/model/ingress/dialect/nginx"
	"fairlead.dev/fairlead/test/page"
)

// This file writes the reference page of the dialect from what it makes of an example of each annotation.

//go:generate go test . -run ^TestReference$ -update

// examples are values of annotations, for an Ingress whose host has a certificate and whose path is /shop(/|$)(.*).
var examples = map[string]string{
	"rewrite-target": "/$2", "app-root": "/start", "permanent-redirect": "https://example.com/", "permanent-redirect-code": "308",
	"temporal-redirect": "https://example.com/", "temporal-redirect-code": "307", "whitelist-source-range": "10.0.0.0/8",
	"allowlist-source-range": "10.0.0.0/8", "denylist-source-range": "192.0.2.0/24", "server-alias": "shop.example.org",
	"canary-weight": "10", "canary-weight-total": "200", "canary-by-header": "X-Canary", "canary-by-header-value": "yes",
	"canary-by-header-pattern": "^y", "canary-by-cookie": "canary", "upstream-vhost": "inside.example", "backend-protocol": "HTTPS",
	"affinity": "cookie", "default-backend": "errors", "load-balance": "ewma", "auth-type": "basic", "auth-url": "https://auth.example/",
	"connection-proxy-header": "close", "custom-http-errors": "404", "client-body-buffer-size": "8k", "proxy-ssl-verify": "on",
	"limit-rps": "10", "limit-rpm": "10", "limit-connections": "10", "limit-allowlist": "10.0.0.0/8", "limit-whitelist": "10.0.0.0/8",
	"upstream-hash-by": "$request_uri", "upstream-hash-by-subset-size": "3", "ssl-ciphers": "HIGH", "proxy-body-size": "8m",
	"cors-allow-origin": "https://app.example", "cors-allow-headers": "Authorization", "cors-allow-methods": "GET, POST",
	"cors-expose-headers": "X-Page", "cors-max-age": "600",
	"x-forwarded-prefix": "/shop", "auth-tls-secret": "shop/authority", "proxy-ssl-secret": "shop/authority",
}

func TestReference(t *testing.T) {
	page.Check(t, "../../../../docs/reference/dialect-nginx.md", dialectPage())
}

func dialectPage() string {
	var b strings.Builder
	b.WriteString(`<!-- Generated from model/ingress/dialect/nginx -->
# Annotations of ingress-nginx

A class with ` + "`dialect: nginx`" + ` reads these annotations, which all begin with ` + "`nginx.ingress.kubernetes.io/`" + `, in place of
Fairlead's own. ` + "`same`" + `: requests are answered as by the other controller. ` + "`changed`" + `: some are not. ` + "`dropped`" + `: it has no
effect, and opens nothing. ` + "`refused`" + `: an Ingress with it is not served, and what another Ingress would answer in its
place is answered 503. An annotation that is not in the list is refused if its name reads like a restriction, and dropped
otherwise. With ` + "`enable-cors`" + ` for all origins or one, the ports of an ALB send the headers; all Ingresses of a load balancer need
the same then, and those that ask for others are refused. What becomes of one depends on its value and on other Ingresses: ` + "`fairlead migrate --from nginx`" + ` says what
becomes of yours.

| Annotation, with an example | |
|---|---|
`)
	for _, name := range nginx.Annotations() {
		value := examples[name]
		if value == "" {
			value = "true"
		}
		v := verdictOf(name, value)
		result := "`" + string(v.Outcome) + "`"
		if v.Message != "" {
			result += ": " + v.Message
		}
		fmt.Fprintf(&b, "| `%s`<br>`%s` | %s |\n", name, strings.ReplaceAll(value, "|", "\\|"), result)
	}
	return b.String()
}

// verdictOf returns what becomes of an annotation.
func verdictOf(name, value string) dialect.Verdict {
	kind := networkingv1.PathTypeImplementationSpecific
	ing := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Annotations: map[string]string{nginx.Prefix + name: value}},
		Spec: networkingv1.IngressSpec{TLS: []networkingv1.IngressTLS{{Hosts: []string{"shop.example"}, SecretName: "tls"}},
			Rules: []networkingv1.IngressRule{{Host: "shop.example", IngressRuleValue: networkingv1.IngressRuleValue{
				HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{{Path: "/shop(/|$)(.*)", PathType: &kind,
					Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "web",
						Port: networkingv1.ServiceBackendPort{Number: 80}}}}}}}}}}}
	all := []*networkingv1.Ingress{ing}
	if strings.HasPrefix(name, "canary") {
		canary := ing.DeepCopy()
		canary.Name, canary.Annotations[nginx.Prefix+"canary"] = "canary", "true"
		canary.Spec.Rules[0].HTTP.Paths[0].Backend.Service.Name = "canary"
		if name != "canary-by-header" && strings.HasPrefix(name, "canary-by-header") {
			canary.Annotations[nginx.Prefix+"canary-by-header"] = "X-Canary"
		}
		ing.Annotations = nil
		all = append(all, canary)
		ing = canary
	}
	for _, of := range []string{"auth-url", "auth-type"} { // which others say more about
		if strings.HasPrefix(name, "auth-") && !strings.HasPrefix(name, "auth-tls-") && name != of {
			ing.Annotations[nginx.Prefix+of] = examples[of]
		}
	}
	if strings.HasPrefix(name, "cors-") {
		ing.Annotations[nginx.Prefix+"enable-cors"] = "true"
	}
	if strings.HasSuffix(name, "-code") {
		ing.Annotations[nginx.Prefix+strings.TrimSuffix(name, "-code")] = "https://example.com/"
	}
	w := nginx.NewWorld(all, nginx.DefaultConfig(), &v1alpha1.LoadBalancerClassSpec{}, func(_, _ string, hosts []string) []string { return hosts },
		nil, nil)
	out := w.Read(dialect.Input{Ingress: ing})
	at := slices.IndexFunc(out.Verdicts, func(v dialect.Verdict) bool { return v.Key == nginx.Prefix+name })
	return out.Verdicts[at]
}
