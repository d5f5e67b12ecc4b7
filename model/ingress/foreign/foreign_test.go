package foreign

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// open is how an Ingress is served that asks Fairlead for nothing, by a class that faces the
// internet.
var open = Served{Ports: []Port{{"HTTP", 80}}, Wider: true}

func TestTheTableIsInOrder(t *testing.T) {
	prefixes := map[string]string{}
	for _, c := range controllers {
		if c.name == "" || len(c.prefixes) == 0 {
			t.Errorf("%q has no name or prefix", c.name)
		}
		for _, p := range c.prefixes {
			if other, taken := prefixes[p]; taken || p != strings.ToLower(p) {
				t.Errorf("prefix %s of %s is that of %s too, or not in lower case", p, c.name, other)
			}
			prefixes[p] = c.name
		}
		for _, r := range c.rows {
			if r.name != strings.ToLower(r.name) || strings.Contains(strings.TrimSuffix(r.name, "*"), "*") {
				t.Errorf("%s of %s is not in lower case, or has a star in the middle", r.name, c.name)
			}
			if r.effect == Harmless && r.instead != nothing {
				t.Errorf("%s of %s is harmless, and something stands for it", r.name, c.name)
			}
		}
	}
}

// Values with which an annotation that restricts does so.
var restrictingValues = []string{
	"true", "shop", "exact", "path", "10.0.0.0/8", "internal", "intranet", "private", "false", "https", "edge", "disallow", "websecure", "443", "5",
	`{"type":"inner"}`, `[{"HTTPS": 443}]`, `[{"port": 443, "mode": "verify"}]`, `[{"field": "http-header"}]`,
}

// withoutValue are the names of annotations that restrict without a value, too.
var withoutValue = regexp.MustCompile(`^(router\.tls|router\.tls\..*|(allow|white|deny)list-source-range)$`)

func TestWhatRestrictsRestricts(t *testing.T) {
	for _, c := range controllers {
		for _, r := range c.rows {
			if r.effect != Restricts {
				continue
			}
			name := strings.TrimSuffix(r.name, "*")
			effects := map[Effect]bool{}
			for _, value := range append(restrictingValues, "", "none") {
				effects[effectOf(c, name, value, open)] = true
			}
			if !effects[Restricts] {
				t.Errorf("no value of %s/%s restricts", c.prefixes[0], name)
			}
			if effectOf(c, name, "", open) == Restricts && c.name != "Pomerium" && !withoutValue.MatchString(name) {
				t.Errorf("%s/%s restricts without a value", c.prefixes[0], name)
			}
		}
	}
}

func effectOf(c *controller, name, value string, as Served) Effect {
	key := c.prefixes[0] + "/" + name
	for _, s := range OnIngress(map[string]string{key: value}, as) {
		return s.Effect
	}
	return Harmless
}

func TestValues(t *testing.T) {
	const alb, nginx = "alb.ingress.kubernetes.io/", "nginx.ingress.kubernetes.io/"
	const traefik = "traefik.ingress.kubernetes.io/"
	const strict = "arn:aws:wafv2:eu-west-1:123456789012:regional/webacl/strict/1a2b"
	inside := Served{Internal: true, Ports: []Port{{"HTTPS", 443}}, Inbound: []string{"10.1.0.0/16"}, WebACL: "strict", SecurityGroups: []string{"sg-1"}}
	both := Served{Ports: []Port{{"HTTP", 80}, {"HTTPS", 443}}}
	cases := []struct {
		annotations map[string]string
		as          Served
		want        string // the effects, by key in order
	}{
		{map[string]string{alb + "auth-type": "none", alb + "auth-idp-oidc": "{}"}, open, ""},
		{map[string]string{alb + "auth-type": "oidc", alb + "auth-idp-oidc": "{}"}, open, "restricts restricts"},
		{map[string]string{alb + "auth-idp-oidc": "{}"}, open, "restricts"},
		{map[string]string{alb + "scheme": "internal"}, open, "restricts"},
		{map[string]string{alb + "scheme": "internal"}, inside, ""},
		{map[string]string{alb + "scheme": "internet-facing"}, open, ""},
		{map[string]string{alb + "scheme": "internet-facing"}, inside, "changes"},
		{map[string]string{alb + "inbound-cidrs": "0.0.0.0/0"}, open, ""},
		{map[string]string{alb + "inbound-cidrs": "0.0.0.0/0, ::/0"}, Served{DualStack: true}, ""},
		{map[string]string{alb + "inbound-cidrs": "0.0.0.0/0"}, Served{DualStack: true}, "restricts"},
		{map[string]string{alb + "inbound-cidrs": "10.0.0.0/8"}, open, "restricts"},
		{map[string]string{alb + "inbound-cidrs": "10.0.0.0/8"}, inside, ""},
		{map[string]string{alb + "inbound-cidrs": "10.1.2.0/24"}, inside, "restricts"},
		{map[string]string{alb + "inbound-cidrs": "10.1.0.0/17", alb + "security-group-prefix-lists": "pl-1"}, Served{Inbound: []string{"10.1.0.0/17", "pl-1"}}, ""},
		{map[string]string{nginx + "whitelist-source-range": "10.1.2.3"}, Served{Inbound: []string{"10.1.2.3/32"}}, ""},
		{map[string]string{alb + "security-groups": "sg-1"}, open, "restricts"},
		{map[string]string{alb + "security-groups": "sg-1"}, inside, ""},
		{map[string]string{alb + "security-groups": "sg-2, sg-1"}, inside, ""},
		{map[string]string{alb + "security-groups": "sg-2"}, inside, "restricts"},
		{map[string]string{alb + "security-groups": "sg-1"}, Served{SecurityGroups: []string{"sg-1", "sg-2"}}, "restricts"},
		{map[string]string{"ingress.alb.yc.io/security-groups": "other"}, inside, "restricts"},
		{map[string]string{alb + "wafv2-acl-arn": "arn"}, open, "restricts"},
		{map[string]string{alb + "wafv2-acl-arn": strict}, inside, ""},
		{map[string]string{alb + "wafv2-acl-arn": strict}, Served{WebACL: strict}, ""},
		{map[string]string{alb + "wafv2-acl-arn": strict}, Served{WebACL: strict + "0"}, "restricts"},
		{map[string]string{alb + "wafv2-acl-arn": strict}, Served{WebACL: "weak"}, "restricts"},
		{map[string]string{alb + "wafv2-acl-arn": "arn"}, Served{WebACL: "weak"}, "restricts"},
		{map[string]string{alb + "wafv2-acl-name": "strict"}, Served{WebACL: strict}, ""},
		{map[string]string{alb + "wafv2-acl-name": "strict"}, inside, ""},
		{map[string]string{alb + "wafv2-acl-name": "strict"}, Served{WebACL: "weak"}, "restricts"},
		{map[string]string{alb + "waf-acl-id": "1a2b"}, Served{WebACL: strict}, ""},
		{map[string]string{alb + "web-acl-id": "1a2c"}, Served{WebACL: strict}, "restricts"},
		{map[string]string{nginx + "enable-modsecurity": "true"}, inside, ""},
		{map[string]string{nginx + "modsecurity-snippet": "SecRule"}, inside, "restricts"},
		{map[string]string{"appgw.ingress.kubernetes.io/waf-policy-for-path": "/subscriptions/0"}, inside, "restricts"},
		{map[string]string{"openappsec.io/policy": "strict"}, inside, "restricts"},
		{map[string]string{alb + "wafv2-acl-arn": "none"}, open, ""},
		{map[string]string{alb + "mutual-authentication": `[{"port": 443, "mode": "off"}]`}, open, ""},
		{map[string]string{alb + "mutual-authentication": `[{"port": 443, "mode": "passthrough"}]`}, open, "restricts"},
		{map[string]string{alb + "mutual-authentication": `[{"port": 443,`}, open, "restricts"},
		{map[string]string{alb + "listen-ports": `[{"HTTPS":443}]`}, open, "restricts"},
		{map[string]string{alb + "listen-ports": `[{"HTTPS":443}]`}, inside, ""},
		{map[string]string{alb + "listen-ports": `[{"HTTPS":443}, {"HTTP":80}]`}, open, "changes"},
		{map[string]string{alb + "listen-ports": `[{"HTTPS":443}, {"HTTP":80}]`}, both, ""},
		{map[string]string{alb + "listen-ports": `[{"HTTPS":443}, {"HTTP":80}]`}, Served{Ports: []Port{{"HTTP", 80}}, TLS: true}, ""},
		{map[string]string{alb + "listen-ports": `[{"HTTP":8080}]`}, open, "restricts"},
		{map[string]string{alb + "listen-ports": `HTTPS:443`}, open, "restricts"},
		{map[string]string{alb + "certificate-arn": "arn"}, open, "restricts"},
		{map[string]string{alb + "certificate-arn": "arn"}, inside, "changes"},
		{map[string]string{alb + "certificate-arn": "arn", alb + "listen-ports": `[{"HTTP":80},{"HTTPS":443}]`}, open, "changes changes"},
		{map[string]string{alb + "actions.deny": `{"type":"fixed-response"}`}, open, "changes"},
		{map[string]string{alb + "actions.slow": `[{"type":"TrafficLimit"}]`}, open, "restricts"},
		{map[string]string{alb + "conditions.web": "[]"}, open, ""},
		{map[string]string{alb + "conditions.web": `[{"field":"source-ip"}]`}, open, "restricts"},
		{map[string]string{alb + "healthcheck-path": "/"}, open, "changes"},
		{map[string]string{alb + "healthcheck-path": "/"}, Served{Annotations: map[string]string{"fairlead.dev/health-check-path": "/"}}, ""},
		{map[string]string{alb + "dry-run-plan": "{}"}, open, ""},
		{map[string]string{alb + "target-type": "ip"}, Served{TargetType: "ip"}, ""},
		{map[string]string{alb + "target-type": "instance"}, Served{TargetType: "ip"}, "changes"},

		{map[string]string{nginx + "ssl-redirect": "false", nginx + "force-ssl-redirect": "true"}, open, "restricts"},
		{map[string]string{nginx + "ssl-redirect": "false", alb + "ssl-redirect": ""}, open, ""},
		{map[string]string{nginx + "ssl-redirect": "true"}, Served{Ports: []Port{{"HTTPS", 443}}}, "changes"},
		{map[string]string{nginx + "ssl-redirect": "true"}, Served{Ports: []Port{{"HTTP", 80}}, ForwardsNothing: true}, "changes"},
		{map[string]string{"kubernetes.io/ingress.allow-http": "false"}, Served{Ports: []Port{{"HTTP", 80}}, ForwardsNothing: true}, ""},
		{map[string]string{alb + "ssl-redirect": "443", alb + "listen-ports": `[{"HTTP":80},{"HTTPS":443}]`}, both, "restricts"},
		{map[string]string{alb + "ssl-redirect": "443"}, Served{Ports: []Port{{"HTTP", 80}}, TLS: true, Redirected: true}, "changes"},
		{map[string]string{alb + "ssl-redirect": "443"}, Served{Ports: []Port{{"HTTP", 80}}, TLS: true, Redirected: true, Annotations: map[string]string{"fairlead.dev/ssl-redirect": "443"}}, ""},
		{map[string]string{alb + "ssl-redirect": "443"}, Served{Ports: []Port{{"HTTP", 80}}, TLS: true, Annotations: map[string]string{"fairlead.dev/ssl-redirect": "443"}}, "restricts"},
		{map[string]string{alb + "create-acm-cert": "true"}, open, "restricts"},
		{map[string]string{"networking.gke.io/managed-certificates": "shop"}, open, "restricts"},
		{map[string]string{"networking.gke.io/managed-certificates": "shop"}, inside, "changes"},
		{map[string]string{nginx + "ssl-passthrough": "true", "nginx.org/redirect-to-https": "true"}, open, "restricts restricts"},
		{map[string]string{traefik + "redirect-entry-point": "https"}, open, "restricts"},
		{map[string]string{"konghq.com/force-https": "true"}, open, "restricts"},
		{map[string]string{"konghq.com/force-https": "true"}, inside, "changes"},
		{map[string]string{"konghq.com/force-https": "false"}, open, ""},
		{map[string]string{"nginx.ingress.kubernetes.io/ssl-redirct": "true"}, open, "restricts"},
		{map[string]string{"nginx.ingress.kubernetes.io/ssl-redirct": "false"}, open, "changes"},
		{map[string]string{nginx + "enable-modsecurity": "false", nginx + "enable-global-auth": "false", nginx + "limit-rps": "0"}, open, ""},
		{map[string]string{nginx + "auth-tls-secret": "a/b", nginx + "auth-tls-verify-client": "off"}, open, ""},
		{map[string]string{nginx + "auth-tls-secret": "a/b"}, open, "restricts"},
		{map[string]string{nginx + "auth-tls-secret": "a/b", nginx + "auth-tls-verify-client": ""}, open, "restricts"},
		{map[string]string{nginx + "auth-tls-secret": "a/b", nginx + "auth-tls-verify-client": "false"}, open, "restricts"},
		{map[string]string{nginx + "auth-tls-secret": "a/b", nginx + "auth-tls-verify-client": "no"}, open, "restricts"},
		{map[string]string{nginx + "auth-tls-secret": "a/b", nginx + "auth-tls-verify-client": "0"}, open, "restricts"},
		{map[string]string{nginx + "auth-tls-secret": "a/b", nginx + "auth-tls-verify-client": "Disabled"}, open, "restricts"},
		{map[string]string{nginx + "auth-tls-secret": "a/b", nginx + "auth-tls-verify-client": "optional"}, open, "restricts restricts"},
		{map[string]string{nginx + "auth-tls-secret": "a/b", nginx + "auth-tls-verify-client": "optional_no_ca"}, open, "restricts restricts"},
		{map[string]string{nginx + "auth-tls-verify-client": "off"}, open, ""},
		{map[string]string{nginx + "auth-type": "none"}, open, "restricts"},
		{map[string]string{nginx + "auth-type": "off"}, open, "restricts"},
		{map[string]string{nginx + "auth-url": "none"}, open, "restricts"},
		{map[string]string{nginx + "denylist-source-range": "none"}, open, "restricts"},
		{map[string]string{nginx + "whitelist-source-range": ","}, open, "restricts"},
		{map[string]string{nginx + "whitelist-source-range": ""}, open, "restricts"},
		{map[string]string{nginx + "denylist-source-range": " "}, open, "restricts"},
		{map[string]string{"haproxy.org/allow-list": ""}, open, ""},
		{map[string]string{"higress.io/whitelist-source-range": ""}, open, "restricts"},
		{map[string]string{nginx + "auth-keepalive": "0", nginx + "auth-always-set-cookie": "false", nginx + "limit-rpm": "0"}, open, ""},
		{map[string]string{alb + "auth-type": "off"}, open, "restricts"},
		{map[string]string{"ingress.kubernetes.io/auth-type": "none"}, open, "restricts"},
		{map[string]string{"foo.ingress.kubernetes.io/auth-type": "off"}, open, "restricts"},
		{map[string]string{"haproxy.org/auth-type": "none"}, open, "restricts"},
		{map[string]string{"haproxy.org/allow-list": "patterns/office"}, open, "restricts"},
		{map[string]string{"haproxy-ingress.github.io/auth-secret": "none"}, open, "restricts"},
		{map[string]string{"haproxy-ingress.github.io/auth-tls-secret": "ca", "haproxy-ingress.github.io/auth-tls-verify-client": "off"}, open, "restricts"},
		{map[string]string{"haproxy-ingress.github.io/auth-tls-secret": "ca", "haproxy-ingress.github.io/auth-tls-verify-client": "no"}, open, "restricts"},
		{map[string]string{"konghq.com/plugins": "none"}, open, "restricts"},
		{map[string]string{"nginx.org/policies": "off"}, open, "restricts"},
		{map[string]string{"haproxy.router.openshift.io/rate-limit-connections": "false"}, open, ""},
		{map[string]string{nginx + "canary": "true", nginx + "canary-weight": "10"}, open, "changes changes"},
		{map[string]string{nginx + "canary": "true", nginx + "canary-by-header": "X-Canary"}, open, "changes restricts"},
		{map[string]string{nginx + "enable-access-log": "false"}, open, ""},

		{map[string]string{"kubernetes.io/ingress.allow-http": "false"}, open, "restricts"},
		{map[string]string{"kubernetes.io/ingress.allow-http": "false"}, inside, ""},
		{map[string]string{"kubernetes.io/ingress.allow-http": "FALSE"}, open, "restricts"},
		{map[string]string{"kubernetes.io/ingress.allow-http": "0"}, open, "restricts"},
		{map[string]string{"kubernetes.io/ingress.allow-http": "f"}, open, "restricts"},
		{map[string]string{"kubernetes.io/ingress.allow-http": "F"}, open, "restricts"},
		{map[string]string{"kubernetes.io/ingress.allow-http": "1"}, open, ""},
		{map[string]string{"ingress.kubernetes.io/allow-http": "0"}, open, "restricts"},
		{map[string]string{"virtual-server.f5.com/allow-http": "f"}, open, "restricts"},
		{map[string]string{"traefik.ingress.kubernetes.io/router.tls": "1"}, open, "restricts"},
		{map[string]string{"traefik.ingress.kubernetes.io/router.tls": "T"}, open, "restricts"},
		{map[string]string{"traefik.ingress.kubernetes.io/router.tls": "0"}, open, ""},
		{map[string]string{"traefik.ingress.kubernetes.io/router.tls": ""}, open, "restricts"},
		{map[string]string{"traefik.ingress.kubernetes.io/router.tls": "TRUE"}, open, "restricts"},
		{map[string]string{"traefik.ingress.kubernetes.io/router.tls": ""}, inside, ""},
		{map[string]string{"traefik.ingress.kubernetes.io/router.tls.certresolver": ""}, open, "restricts"},
		{map[string]string{"traefik.ingress.kubernetes.io/router.middlewares": "none"}, open, "restricts"},
		{map[string]string{"traefik.ingress.kubernetes.io/router.tls.options": "off"}, open, "restricts"},
		{map[string]string{"traefik.ingress.kubernetes.io/router.entrypoints": "websecure,"}, open, "restricts"},
		{map[string]string{"traefik.ingress.kubernetes.io/router.entrypoints": ""}, open, ""},
		{map[string]string{"appgw.ingress.kubernetes.io/use-private-ip": "1"}, open, "restricts"},
		{map[string]string{nginx + "whitelist-source-range": "0.0.0.0/0,!203.0.113.0/24"}, open, "restricts"},
		{map[string]string{nginx + "whitelist-source-range": "10.1.0.0/16,office"}, inside, "restricts"},
		{map[string]string{nginx + "whitelist-source-range": "0.0.0.0/0, 10.1.2.3"}, open, ""},
		{map[string]string{alb + "inbound-cidrs": "0.0.0.0/0", alb + "security-group-prefix-lists": "pl-1"}, open, ""},
		{map[string]string{"kubernetes.io/ingress.allow-http": "true", "kubernetes.io/tls-acme": "true", "kubernetes.io/ingress.class": "x", "kubernetes.io/description": "auth"}, open, ""},
		{map[string]string{"kubernetes.io/elb.acl-id": "x", "kubernetes.io/elb.acl-status": "off", "kubernetes.io/elb.id": "y"}, open, "restricts changes"},
		{map[string]string{"kubernetes.io/ingress.subnetId": "x"}, open, "restricts"},
		{map[string]string{"traefik.ingress.kubernetes.io/router.entrypoints": "web,websecure"}, open, ""},
		{map[string]string{"traefik.ingress.kubernetes.io/router.entrypoints": "websecure"}, open, "restricts"},
		{map[string]string{"traefik.ingress.kubernetes.io/router.entrypoints": "web-internal"}, open, "restricts"},
		{map[string]string{"traefik.ingress.kubernetes.io/router.entrypoints": "vpn"}, open, "restricts"},
		{map[string]string{"traefik.ingress.kubernetes.io/router.entrypoints": "vpn"}, Served{Ports: []Port{{"HTTPS", 443}}}, "restricts"},
		{map[string]string{"traefik.ingress.kubernetes.io/router.entrypoints": "vpn"}, inside, "changes"},
		{map[string]string{"traefik.ingress.kubernetes.io/router.entrypoints": "web,vpn"}, open, "changes"},
		{map[string]string{"traefik.ingress.kubernetes.io/router.entrypoints": "websecure"}, inside, ""},
		{map[string]string{"zalando.org/aws-load-balancer-scheme": "internal"}, open, "restricts"},
		{map[string]string{"konghq.com/protocols": "https,grpc"}, open, "restricts"},
		{map[string]string{"konghq.com/protocols": "grpc,grpcs"}, open, ""},
		{map[string]string{"traefik.ingress.kubernetes.io/router.tls": "true"}, inside, ""},
		{map[string]string{alb + "inbound-cidr": "10.0.0.0/8"}, open, "restricts"},
		{map[string]string{"foo.ingress.kubernetes.io/inbound-cidrs": "10.0.0.0/8"}, open, "restricts"},
		{map[string]string{"kubernetes.io/ingress.inbound-cidrs": "10.0.0.0/8"}, open, "restricts"},
		{map[string]string{"kubernetes.io/ingress.inbound-cidrs": "0.0.0.0/0"}, open, ""},
		{map[string]string{"konghq.com/protocols": "https"}, open, "restricts"},
		{map[string]string{"konghq.com/protocols": "http, https"}, open, ""},
		{map[string]string{"konghq.com/headers.x-user": "7"}, open, "restricts"},
		{map[string]string{"networking.gke.io/v1beta1.FrontendConfig": "x"}, open, "restricts"},
		{map[string]string{"networking.gke.io/v1beta1.FrontendConfig": "x"}, inside, "changes"},
		{map[string]string{"appgw.ingress.kubernetes.io/use-private-ip": "true"}, open, "restricts"},
		{map[string]string{"appgw.ingress.kubernetes.io/use-private-ip": "false"}, inside, ""},
		{map[string]string{"ingress.pomerium.io/timeout": "5s"}, open, "restricts"},
		{map[string]string{"ingress.pomerium.io/timeout": "5s", "ingress.pomerium.io/allow_public_unauthenticated_access": "true"}, open, "changes"},
		{map[string]string{"ingress.kubernetes.io/whitelist": "10.0.0.0/8"}, open, "restricts"},
		{map[string]string{"ingress.kubernetes.io/backends": "{}", "ingress.kubernetes.io/url-map": "x"}, open, ""},
		{map[string]string{"service.beta.kubernetes.io/aws-load-balancer-internal": "true"}, open, "restricts"},
		{map[string]string{"service.beta.kubernetes.io/aws-load-balancer-type": "nlb"}, open, "changes"},
		{map[string]string{nginx + "wallarm-mode": "monitoring"}, open, ""},
		{map[string]string{nginx + "wallarm-mode": "off"}, open, ""},
		{map[string]string{nginx + "wallarm-mode": "safe_blocking"}, open, "restricts"},
		{map[string]string{nginx + "wallarm-mode": "block"}, inside, ""},
		{map[string]string{"tailscale.com/funnel": "false"}, open, "restricts"},
		{map[string]string{traefik + "frontend-entry-points": "https"}, open, "restricts"},
		{map[string]string{traefik + "frontend-entry-points": "http,https"}, open, ""},
		{map[string]string{"ingress.kubernetes.io/frontend-entry-points": "https"}, open, "restricts"},
		{map[string]string{"ingress.kubernetes.io/frontend-entry-points": "https"}, inside, ""},
		{map[string]string{traefik + "router.pathmatcher": "Path"}, open, "restricts"},
		{map[string]string{traefik + "router.pathmatcher": "Path"}, inside, ""},
		{map[string]string{traefik + "router.pathmatcher": "PathRegexp"}, open, "changes"},
		{map[string]string{traefik + "rule-type": "PathStrip"}, open, "restricts"},
		{map[string]string{traefik + "rule-type": "PathPrefixStrip"}, open, "changes"},
		{map[string]string{"haproxy-ingress.github.io/path-type": "exact"}, open, "restricts"},
		{map[string]string{"haproxy-ingress.github.io/path-type": "exact"}, inside, ""},
		{map[string]string{"haproxy-ingress.github.io/path-type": "begin"}, open, "changes"},
		{map[string]string{"nginx.org/path-regex": "exact"}, open, "restricts"},
		{map[string]string{"nginx.org/path-regex": "case_sensitive"}, open, "changes"},
		{map[string]string{"nginx.org/listen-ports": "8080"}, open, "restricts"},
		{map[string]string{"nginx.org/listen-ports": "80,8080"}, open, "changes"},
		{map[string]string{"nginx.org/listen-ports": "80"}, open, ""},
		{map[string]string{"nginx.org/listen-ports-ssl": "8443"}, open, "changes"},
		{map[string]string{"nginx.org/listen-ports": "8080"}, inside, "changes"},
		{map[string]string{"nginx.org/proxy-hide-headers": "X-Secret"}, open, "restricts"},
		{map[string]string{"ingress.vke.volcengine.com/loadbalancer-network-type": "private"}, open, "restricts"},
		{map[string]string{"ingress.vke.volcengine.com/loadbalancer-network-type": "private"}, inside, "changes"},
		{map[string]string{"ingress.vke.volcengine.com/loadbalancer-network-type": "public"}, open, "changes"},
		{map[string]string{alb + "load-balancer-scheme": "internal"}, open, "restricts"},
		{map[string]string{alb + "load-balancer-scheme": "internal"}, inside, "changes"},
		{map[string]string{alb + "load-balancer-scheme": "internet-facing"}, open, "changes"},
		{map[string]string{"service.beta.kubernetes.io/foo-private": "true"}, open, "restricts"},
		{map[string]string{"service.beta.kubernetes.io/foo-private": "true"}, inside, "changes"},
		{map[string]string{"custom.nginx.org/rate-limiting": "off"}, open, "changes"},
		{map[string]string{"tailscale.com/funnel": "false"}, inside, ""},
		{map[string]string{"ingress.citrix.com/insecure-termination": "redirect"}, open, "restricts"},
		{map[string]string{"ingress.citrix.com/insecure-termination": "allow"}, open, ""},
		{map[string]string{"kubernetes.io/elb.autocreate": `{"type":"inner"}`}, open, "restricts"},
		{map[string]string{"kubernetes.io/elb.autocreate": `{"type":"inner"}`}, inside, ""},
		{map[string]string{"kubernetes.io/elb.autocreate": `{"type":"public"}`}, open, "changes"},
		{map[string]string{"kubernetes.io/elb.listen-ports": `[{"HTTPS":443}]`}, open, "restricts"},
		{map[string]string{"tailscale.com/funnel": "true"}, open, ""},
		{map[string]string{"bunkerweb.io/USE_ANTIBOT": "no"}, open, ""},
		{map[string]string{"external-dns.alpha.kubernetes.io/hostname": "a", "cert-manager.io/issuer": "b", "argocd.argoproj.io/sync-wave": "1", "auth": "x"}, open, ""},
	}
	for _, c := range cases {
		var got []string
		for _, s := range OnIngress(c.annotations, c.as) {
			got = append(got, s.Effect.String())
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%v: %v, and not %q", c.annotations, got, c.want)
		}
	}
}

func TestNamesThatAreNotInTheTable(t *testing.T) {
	cases := map[string]struct {
		key    string
		effect Effect
		meant  string
	}{
		"made up":                             {"nginx.ingress.kubernetes.io/made-up", Changes, ""},
		"misspelt":                            {"nginx.ingress.kubernetes.io/auth-tpye", Restricts, "auth-type"},
		"underscores":                         {"nginx.ingress.kubernetes.io/auth_url", Restricts, "auth-url"},
		"another case":                        {"nginx.ingress.kubernetes.io/Auth-URL", Restricts, ""},
		"a prefix in another case":            {"NGINX.ingress.kubernetes.io/auth-url", Restricts, ""},
		"others, in another case":             {"Kubernetes.io/Ingress.SubnetId", Restricts, ""},
		"a word says that it restricts":       {"konghq.com/oidc-provider", Restricts, ""},
		"a word that only begins like it":     {"konghq.com/author-name", Changes, ""},
		"under a prefix that many use":        {"kubernetes.io/auth-tpye", Harmless, ""},
		"a range":                             {"nginx.ingress.kubernetes.io/source-range", Restricts, ""},
		"an unknown prefix":                   {"foo.ingress.kubernetes.io/auth-url", Restricts, ""},
		"an unknown prefix, a pattern":        {"foo.ingress.kubernetes.io/conditions.web", Restricts, ""},
		"an unknown prefix, misspelt":         {"foo.ingress.kubernetes.io/auth-tpye", Restricts, ""},
		"an unknown prefix, a word":           {"foo.ingress.kubernetes.io/my-jwt", Restricts, ""},
		"an unknown prefix, made up":          {"foo.ingress.kubernetes.io/made-up", Changes, ""},
		"swapped":                             {"ingress.nginx.kubernetes.io/whitelist-source-range", Restricts, ""},
		"haproxy":                             {"haproxy.ingress.kubernetes.io/whitelist-source-range", Restricts, ""},
		"cut off":                             {"nginx.ingress.kubernetes/auth-url", Restricts, ""},
		"as GKE writes it":                    {"kubernetes.io/ingress.auth-url", Restricts, ""},
		"as GKE writes it, made up":           {"kubernetes.io/ingress.made-up", Changes, ""},
		"under a prefix of no controller":     {"example.com/auth-type", Restricts, ""},
		"the same, a name of many":            {"example.com/policy", Harmless, ""},
		"a prefix with ingress in it":         {"ingress.example.com/whitelist-source-range", Restricts, ""},
		"the same, a pattern":                 {"my-ingress.example.com/conditions.web", Restricts, ""},
		"the same, made up":                   {"ingress.example.com/team", Harmless, ""},
		"another domain":                      {"nginx.ingress.k8s.io/auth-url", Restricts, ""},
		"meant as Fairlead's":                 {"fairlaed.dev/auth-url", Harmless, ""},
		"a dot for the slash":                 {"nginx.ingress.kubernetes.io.auth-url", Restricts, ""},
		"a hyphen for the slash":              {"nginx.ingress.kubernetes.io-auth-url", Restricts, ""},
		"a dot for the slash, made up":        {"nginx.ingress.kubernetes.io.made-up", Changes, ""},
		"Kong, without a slash":               {"plugins.konghq.com", Restricts, ""},
		"a KongIngress, without a slash":      {"configuration.konghq.com", Restricts, ""},
		"a KongIngress":                       {"konghq.com/override", Restricts, ""},
		"Wallarm":                             {"nginx.ingress.kubernetes.io/wallarm-mode", Restricts, ""},
		"countries":                           {"nginx.ingress.kubernetes.io/geoip-allow-countries", Restricts, ""},
		"a restriction":                       {"konghq.com/ip-restriction", Restricts, ""},
		"open-appsec":                         {"openappsec.io/policy", Restricts, ""},
		"BunkerWeb":                           {"bunkerweb.io/USE_AUTH_BASIC", Restricts, ""},
		"BunkerWeb, harmless":                 {"bunkerweb.io/NAMESPACE", Harmless, ""},
		"Tailscale":                           {"tailscale.com/tags", Restricts, ""},
		"words in camelCase":                  {"foo.ingress.kubernetes.io/allowOfficeRange", Restricts, ""},
		"two words in camelCase":              {"foo.ingress.kubernetes.io/ipWhitelist", Restricts, ""},
		"a word behind a capital":             {"nginx.ingress.kubernetes.io/basicAuth", Restricts, ""},
		"a word of capitals":                  {"konghq.com/OIDCProvider", Restricts, ""},
		"a word cut in two":                   {"konghq.com/requestMTLS", Restricts, ""},
		"a word cut in two by case":           {"konghq.com/ipWhiteList", Restricts, ""},
		"a word cut in two by a dash":         {"konghq.com/deny-list", Restricts, ""},
		"a word with a number":                {"konghq.com/auth2", Restricts, ""},
		"camelCase, made up":                  {"foo.ingress.kubernetes.io/authorName", Changes, ""},
		"below a known prefix":                {"custom.nginx.org/rate-limiting", Restricts, ""},
		"below it, a limit of rates":          {"custom.nginx.org/rate-limiting-rate", Restricts, ""},
		"below it, ranges":                    {"custom.nginx.org/allowed-ips", Restricts, ""},
		"below it, in the table":              {"custom.nginx.org/basic-auth-secret", Restricts, ""},
		"below it, made up":                   {"custom.nginx.org/rewrite-with-host", Changes, ""},
		"two labels below it":                 {"a.b.konghq.com/made-up", Changes, ""},
		"below Kubernetes' domain":            {"foo.service.beta.kubernetes.io/made-up", Harmless, ""},
		"Tyk":                                 {"tyk.io/template", Restricts, ""},
		"Gravitee":                            {"gravitee.io/template", Restricts, ""},
		"Linode":                              {"service.beta.kubernetes.io/linode-loadbalancer-firewall-acl", Restricts, ""},
		"Digital Ocean":                       {"service.beta.kubernetes.io/do-loadbalancer-allow-rules", Restricts, ""},
		"of all others, a word":               {"service.beta.kubernetes.io/foo-allowed-ranges", Restricts, ""},
		"of all others, made up":              {"service.beta.kubernetes.io/foo-size", Changes, ""},
		"a pattern, misspelt":                 {"alb.ingress.kubernetes.io/condition.web", Restricts, "conditions.*"},
		"one of three words, misspelt":        {"traefik.ingress.kubernetes.io/router.tls.domain.0.main", Restricts, "router.tls.domains.*"},
		"of all of Huawei's, misspelt":        {"kubernetes.io/elb.alc-id", Restricts, "elb.acl-*"},
		"of all of Huawei's, a pattern":       {"kubernetes.io/elb.condition.web", Restricts, "elb.conditions.*"},
		"of all of Huawei's, made up":         {"kubernetes.io/elb.size", Changes, ""},
		"resembles a pattern that changes":    {"alb.ingress.kubernetes.io/action.web", Changes, ""},
		"Cloud Armor":                         {"ingress.kubernetes.io/cloud-armor-policy", Restricts, ""},
		"Identity-Aware Proxy":                {"foo.ingress.kubernetes.io/iap-client", Restricts, ""},
		"what is denied":                      {"konghq.com/denied-countries", Restricts, ""},
		"what is blocked":                     {"konghq.com/block-bots", Restricts, ""},
		"security":                            {"konghq.com/security-profile", Restricts, ""},
		"internal":                            {"konghq.com/internal-balancer", Restricts, ""},
		"a guard word under a table's prefix": {"nginx.ingress.kubernetes.io/foo-snippet", Restricts, ""},
		"a limit under a table's prefix":      {"nginx.org/limit-conn", Restricts, ""},
		"a plugin under a table's prefix":     {"alb.ingress.kubernetes.io/plugin", Restricts, ""},
		"clients that are verified":           {"pipy.ingress.kubernetes.io/tls-verify-client", Restricts, ""},
		"Traefik Hub":                         {"hub.traefik.io/access-control-policy", Restricts, ""},
		"NetScaler":                           {"ingress.netscaler.com/ratelimit_crd", Restricts, ""},
		"STACKIT":                             {"alb.stackit.cloud/internal-alb", Restricts, ""},
		"resembles what only changes":         {"nginx.ingress.kubernetes.io/rewrite-taget", Changes, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var got Setting
			for _, s := range OnIngress(map[string]string{c.key: "x"}, open) {
				got = s
			}
			if got.Effect != c.effect || got.Meant != c.meant {
				t.Errorf("%s %s, meant as %q", c.key, got.Effect, got.Meant)
			}
			if Matters(c.key) != (c.effect != Harmless) {
				t.Errorf("whether %s matters is not whether it has an effect", c.key)
			}
		})
	}
}

func TestServices(t *testing.T) {
	annotations := map[string]string{
		"alb.ingress.kubernetes.io/auth-type": "oidc", "alb.ingress.kubernetes.io/scheme": "internal", "alb.ingress.kubernetes.io/healthcheck-path": "/",
		"cloud.google.com/backend-config": `{"default": "iap"}`, "cloud.google.com/neg": "{}", "cloud.google.com/load-balancer-type": "Internal",
		"konghq.com/plugins": "jwt", "nginx.ingress.kubernetes.io/auth-url": "x", "service.beta.kubernetes.io/aws-load-balancer-internal": "true",
		"kubernetes.io/ingress.allow-http": "false", "kubernetes.io/ingress.auth-url": "x", "kubernetes.io/ingress.class": "x", "kubernetes.io/elb.acl-id": "x",
		"getambassador.io/config": "x", "haproxy.org/route-acl": "x", "haproxy-ingress.github.io/oauth": "oauth2_proxy",
	}
	var got []string
	for _, s := range OfService(annotations).Settings(open) {
		got = append(got, fmt.Sprint(s.Name, " ", s.Effect))
	}
	want := []string{"auth-type restricts", "healthcheck-path changes", "backend-config restricts", "config restricts", "oauth restricts", "route-acl restricts", "plugins restricts", "ingress.allow-http restricts", "ingress.auth-url restricts"}
	if !slices.Equal(got, want) {
		t.Errorf("of a Service: %q", got)
	}
}

func TestRestrictingIsWhateverIsServed(t *testing.T) {
	cases := map[string]bool{
		"alb.ingress.kubernetes.io/scheme=internal":            true,
		"alb.ingress.kubernetes.io/scheme=internet-facing":     false,
		"alb.ingress.kubernetes.io/healthcheck-path=/":         false,
		"nginx.ingress.kubernetes.io/auth-url=x":               true,
		"nginx.ingress.kubernetes.io/whitelist-source-range=":  true,
		"external-dns.alpha.kubernetes.io/hostname=auth.a.com": false,
	}
	for annotation, want := range cases {
		key, value, _ := strings.Cut(annotation, "=")
		if got := Restricting(key, map[string]string{key: value}); got != want {
			t.Errorf("%s restricts: %v", annotation, got)
		}
	}
}
