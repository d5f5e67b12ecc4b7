package nginx

import (
	"testing"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// This file is what ingress-nginx expects of itself: the facts of its end-to-end tests, each named after its file below
// test/e2e. Hosts and Services are ours.

func TestEndToEndPaths(t *testing.T) {
	askNGINX(t, []trap{
		{name: "ingress/pathtype_exact.go", ingresses: [][]string{{"exact@1", "a.example /exact Exact web"}, {"suffix@2", "a.example /exact api"}},
			asks: []string{"a.example/exact → web:80 /exact", "a.example/exact/suffix → api:80 /exact/suffix"}},
		{name: "ingress/pathtype_mixed.go", ingresses: [][]string{{"a@1", "a.example / Exact web"}, {"b@2", "a.example / Prefix api"}, {"c@3", "a.example /foo Exact old"}, {"d@4", "a.example /foo Prefix new"}},
			asks: []string{"a.example/ → web:80 /", "a.example/bar → api:80 /bar", "a.example/foo → old:80 /foo", "a.example/foo/bar → new:80 /foo/bar", "a.example/foobar → api:80 /foobar"}},
		{name: "ingress/pathtype_prefix.go", ingresses: [][]string{{"a", "a.example /aaa web"}},
			asks: []string{"a.example/aaa → web:80 /aaa", "a.example/aaacccc → 404", "a.example/aaa/cccc → web:80 /aaa/cccc", "a.example/aaa/ → web:80 /aaa/"}},
		{name: "ingress/pathtype_prefix.go, expressions", ingresses: [][]string{{"a", "a.example /id/[0-9]+ web", "use-regex: true"}, {"b", "b.example /id/[0-9]+$ web", "use-regex: true"},
			{"c", "c.example /id/[0-9]{3}$ web", "use-regex: true"}, {"d", "d.example /id/[0-9]+/post/[a-zA-Z]+$ web", "use-regex: true"}},
			asks: []string{"a.example/id/1 → web:80 /id/1", "a.example/id/123 → web:80 /id/123", "a.example/id/aaa → 404", "a.example/id/123a → web:80 /id/123a",
				"b.example/id/1 → web:80 /id/1", "b.example/id/aaa → 404", "b.example/id/123a → 404", "c.example/id/99 → 404", "c.example/id/123 → web:80 /id/123", "c.example/id/9999 → 404",
				"d.example/id/123/post/abc → web:80 /id/123/post/abc", "d.example/id/123/post/abc123 → 404", "d.example/id/abc/post/abc → 404"}},
		{name: "ingress/multiple_rules.go", ingresses: [][]string{{"a", "a.example / web", "b.example / api"}}, asks: []string{"a.example/exact → web:80 /exact", "b.example/exact → api:80 /exact"}},
		{name: "ingress/without_host.go", ingresses: [][]string{{"a", "* / web"}}, asks: []string{"any.example/ → web:80 /"}},
		{name: "ingress/deep_inspection.go", ingresses: [][]string{{"a", "a.example /bla{alias/var/run/secrets/;} web"}, {"b", "a.example /xpto api"}},
			asks: []string{"a.example/xpto → api:80 /xpto", "a.example/bla → 404", "a.example/abcd/ → 404"}},
		{name: "annotations/rewrite.go", ingresses: [][]string{{"a@1", "a.example /.well-known/acme/challenge web"}, {"b@2", "a.example / api", "rewrite-target: /new/backend"}},
			asks: []string{"a.example/.well-known/acme/challenge → web:80 /.well-known/acme/challenge", "a.example/x → api:80 /new/backend"}},
		{name: "annotations/rewrite.go, modifier", ingresses: [][]string{{"a@1", "a.example /foo web"}, {"b@2", "a.example /foo.+ api", "use-regex: true", "rewrite-target: /new/backend"}},
			asks: []string{"a.example/foo → web:80 /foo", "a.example/foo/bar → api:80 /new/backend"}},
		{name: "annotations/rewrite.go, not the longest match", ingresses: [][]string{{"a@1", "a.example /foo/bar/bar web"}, {"b@2", "a.example /foo/bar/[a-z]{3} api", "use-regex: true", "rewrite-target: /new/backend"}},
			asks: []string{"a.example/foo/bar/bar → api:80 /new/backend"}},
		{name: "annotations/rewrite.go, captures", ingresses: [][]string{{"a", "a.example /foo/bar/(.+) web", "use-regex: true", "rewrite-target: /new/backend/$1"}},
			asks: []string{"a.example/foo/bar/bar → web:80 /new/backend/bar"}},
		{name: "annotations/xforwardedprefix.go", ingresses: [][]string{{"a", "a.example / web", "x-forwarded-prefix: /test/value", "rewrite-target: /foo"}, {"b", "b.example / web", "x-forwarded-prefix: ", "rewrite-target: /foo"}},
			asks: []string{"a.example/ → web:80 /foo; pod X-Forwarded-Prefix: /test/value", "b.example/ → web:80 /foo; pod X-Forwarded-Prefix: -"}},
		{name: "annotations/upstreamvhost.go", ingresses: [][]string{{"a", "a.example / web", "upstream-vhost: b.example"}}, asks: []string{"a.example/ → web:80 /; pod Host: b.example"}},
		{name: "annotations/alias.go", ingresses: [][]string{{"a", "a.example /a web"}, {"b", "a.example /b web", "server-alias: bar"}, {"c", "c.example / web"}},
			asks: []string{"a.example/a → web:80 /a", "bar/a → web:80 /a; pod Host: bar", "c.example/ → web:80 /; pod Host: c.example", "foo/ → 404"}},
		{name: "servicebackend/service_backend.go", ingresses: [][]string{{"a", "a.example / none"}, {"b", "b.example / empty-0"}}, asks: []string{"a.example/ → 503", "b.example/ → 503"}},
		{name: "defaultbackend/default_backend.go", asks: []string{"foo/ → 404", "foo/path → 404", "https://foo/path → 404"}},
		{name: "defaultbackend/custom_default_backend.go", fallback: "default/errors", asks: []string{"foo/ → errors:80 /"}},
	})
}

func TestEndToEndRedirects(t *testing.T) {
	askNGINX(t, []trap{
		{name: "annotations/approot.go", ingresses: [][]string{{"a", "a.example / web", "app-root: /foo"}}, asks: []string{"a.example/ → 302 http://a.example/foo"}},
		{name: "annotations/fromtowwwredirect.go", ingresses: [][]string{{"a", "a.example / web", "from-to-www-redirect: true", "tls a.example pair"}},
			asks: []string{"www.a.example/foo → 308 http://a.example:80/foo", "https://www.a.example/ → 308 https://a.example:443", "https://a.example/ → web:80 /"}},
		{name: "annotations/forcesslredirect.go", ingresses: [][]string{{"a", "a.example / web", "force-ssl-redirect: true"}}, asks: []string{"a.example/ → 308 https://a.example"}},
		{name: "annotations/preservetrailingslash.go", ingresses: [][]string{{"a", "a.example / web", "ssl-redirect: true", "preserve-trailing-slash: true", "tls a.example"}},
			asks: []string{"a.example/ → 308 https://a.example/"}},
		{name: "annotations/redirect.go", ingresses: [][]string{{"a", "a.example /something web", "permanent-redirect: http://redirect.example.com"}, {"b", "b.example /something web", "permanent-redirect: http://redirect.example.com", "permanent-redirect-code: 302"}},
			asks: []string{"a.example/something → 301 http://redirect.example.com", "b.example/something → 302 http://redirect.example.com"}},
		{name: "annotations/relativeredirects.go", ingresses: [][]string{{"a", "a.example /x web", "permanent-redirect: /foo", "relative-redirects: false"}, {"b", "b.example /x web", "permanent-redirect: /foo", "relative-redirects: true"}},
			asks: []string{"a.example/x → 301 http://a.example/foo", "b.example/x → 301 /foo"}},
		{name: "ssl/http_redirect.go", ingresses: [][]string{{"a", "a.example / web", "tls a.example none"}}, asks: []string{"a.example/ → 308 https://a.example"}},
		{name: "settings/tls.go, redirects", config: map[string]string{"use-forwarded-headers": "true"}, ingresses: [][]string{{"a", "a.example / web", "tls a.example pair"}},
			asks: []string{"a.example/ → 308 https://a.example", "a.example/ | X-Forwarded-Host: example.com:80 → 308 https://example.com"}},
		{name: "settings/tls.go, HSTS", config: map[string]string{"hsts-max-age": "86400", "hsts-preload": "true", "hsts-include-subdomains": "false"}, ingresses: [][]string{{"a", "a.example / web", "tls a.example pair"}},
			asks: []string{"https://a.example/ → web:80 /; Strict-Transport-Security: max-age=86400; preload"}},
		{name: "settings/tls.go, HSTS with subdomains", config: map[string]string{"hsts-max-age": "86400"}, ingresses: [][]string{{"a", "a.example / web", "tls a.example pair"}},
			asks: []string{"https://a.example/ → web:80 /; Strict-Transport-Security: includeSubDomains"}},
		{name: "settings/no_tls_redirect_locations.go", config: map[string]string{"no-tls-redirect-locations": "/check"}, ingresses: [][]string{{"a", "a.example /check web", "a.example / web", "tls a.example"}},
			asks: []string{"a.example/check → web:80 /check", "a.example/ → 308 https://a.example"}},
	})
}

func TestEndToEndAccess(t *testing.T) {
	signIn := []string{"a", "a.example / web", "auth-url: http://auth.example/basic-auth/user/password", "auth-signin: http://$host/auth/start"}
	secured := []string{"a", "a.example / web", "auth-type: basic", "auth-secret: users", "auth-realm: test auth"}
	askNGINX(t, []trap{
		{name: "annotations/ipdenylist.go", config: map[string]string{"use-forwarded-headers": "true"}, ingresses: [][]string{{"a", "a.example / web", "denylist-source-range: 18.0.0.0/8, 56.0.0.1"},
			{"b", "b.example / web", "denylist-source-range: 18.1.0.0/16, 56.0.0.0/8", "whitelist-source-range: 18.0.0.0/8, 55.0.0.0/8"}},
			asks: []string{"a.example/ | X-Forwarded-For: 18.0.0.1 → 403", "a.example/ | X-Forwarded-For: 56.0.0.1 → 403", "a.example/ | X-Forwarded-For: 56.0.0.2 → web:80 /",
				"b.example/ | X-Forwarded-For: 18.1.0.1 → 403", "b.example/ | X-Forwarded-For: 10.10.10.10 → 403", "b.example/ | X-Forwarded-For: 18.4.0.1 → web:80 /", "b.example/ | X-Forwarded-For: 55.55.55.55 → web:80 /"}},
		{name: "annotations/auth.go, basic", ingresses: [][]string{secured, {"b", "b.example / web", "auth-type: basic", "auth-secret: something", "auth-realm: test auth"}, {"c", "c.example / web"}, append([]string{"d", "d.example / web", "enable-cors: true"}, secured[2:]...)},
			asks: []string{"c.example/ → web:80 /", "b.example/ → 503", "a.example/ → 401", "a.example/ | Authorization: Basic dXNlcjp3cm9uZw== → 401", "a.example/ | Authorization: Basic dXNlcjpwYXNz → web:80 /; pod Authorization: -",
				"d.example/ → 401; Access-Control-Allow-Origin: *"}},
		{name: "annotations/auth.go, external", ingresses: [][]string{append(signIn, "auth-response-headers: Foo"), {"b", "b.example / web"}},
			asks: []string{"a.example/ | X-Oracle-Auth: 200 | X-Oracle-Auth-Reply: Foo: new | Foo: old → web:80 /; pod Foo: new", "a.example/?a=b&c=d → 302 http://a.example/auth/start?rd=http://a.example%2F%3Fa%3Db%26c%3Dd", "b.example/ → web:80 /"}},
		{name: "annotations/auth.go, parameter", ingresses: [][]string{append(signIn, "auth-signin-redirect-param: orig")},
			asks: []string{"a.example/?a=b&c=d → 302 http://a.example/auth/start?orig=http://a.example%2F%3Fa%3Db%26c%3Dd"}},
		{name: "annotations/auth.go, a broken one", ingresses: [][]string{append(signIn, "auth-type: basic", "auth-secret: something", "auth-realm: test auth"), {"b", "b.example / web"}},
			asks: []string{"a.example/ | X-Oracle-Auth: 200 → 503", "b.example/ → web:80 /"}},
		{name: "annotations/auth.go, cookies", ingresses: [][]string{signIn, {"b", "b.example / web", "auth-url: http://auth.example/", "auth-always-set-cookie: true"}},
			asks: []string{"a.example/ | X-Oracle-Auth: 200 | X-Oracle-Auth-Reply: Set-Cookie: alma=armud → web:80 /; Set-Cookie: alma=armud",
				"a.example/ | X-Oracle-Auth: 200 | X-Oracle-Auth-Reply: Set-Cookie: alma=armud | X-Oracle-Answer: 503 → 503 web:80 /; Set-Cookie: -",
				"b.example/ | X-Oracle-Auth: 200 | X-Oracle-Auth-Reply: Set-Cookie: alma=armud | X-Oracle-Answer: 503 → 503 web:80 /; Set-Cookie: alma=armud"}},
		{name: "annotations/satisfy.go", ingresses: [][]string{append(append([]string{}, secured...), "auth-url: http://auth.example/", "auth-signin: http://$host/auth/start", "satisfy: any")},
			asks: []string{"a.example/ | Authorization: Basic dXNlcjpwYXNz → web:80 /", "a.example/ | X-Oracle-Auth: 200 → web:80 /", "a.example/?a=b → 302 http://a.example/auth/start?rd=http://a.example%2F%3Fa%3Db"}},
		{name: "settings/global_external_auth.go", config: map[string]string{"global-auth-url": "http://auth.example/401", "no-auth-locations": "/bar"}, ingresses: [][]string{{"a", "a.example /foo web"}, {"b", "a.example /bar web"}, {"c", "c.example / web", "enable-global-auth: false"}},
			asks: []string{"a.example/foo → 401", "a.example/bar → web:80 /bar", "c.example/ → web:80 /"}},
		{name: "settings/no_auth_locations.go", config: map[string]string{"no-auth-locations": "/noauth"}, ingresses: [][]string{append([]string{"a", "a.example / web", "a.example /noauth web"}, secured[2:]...)},
			asks: []string{"a.example/ → 401", "a.example/ | Authorization: Basic dXNlcjpwYXNz → web:80 /", "a.example/noauth → web:80 /noauth"}},
		{name: "settings/global_access_block.go", config: map[string]string{"block-cidrs": "172.16.0.0/12,192.168.0.0/16,10.0.0.0/8", "block-user-agents": "~*chrome\\/68,AlphaBot", "block-referers": "~*example\\.com,qwerty"}, ingresses: [][]string{{"a", "a.example / web"}},
			asks: []string{"10.1.1.1 > a.example/ → 403", "a.example/ | User-Agent: Mozilla/5.0 Chrome/68.0 → 403", "a.example/ | User-Agent: AlphaBot → 403", "a.example/ | User-Agent: Mozilla/5.0 (iPhone) → web:80 /",
				"a.example/ | Referer: example.com → 403", "a.example/ | Referer: qwerty → 403", "a.example/ | Referer: qwerty123 → web:80 /"}},
		{name: "settings/badannotationvalues.go", config: map[string]string{"allow-snippet-annotations": "true", "annotations-risk-level": "Critical", "annotation-value-word-blocklist": "something_forbidden,content_by_lua_block"},
			ingresses: [][]string{{"a", "a.example / web", "configuration-snippet: # something_forbidden"}, {"b", "b.example / web", "configuration-snippet: # abcde"}}, asks: []string{"a.example/ → 404", "b.example/ → web:80 /"}},
	})
}

func TestEndToEndHeaders(t *testing.T) {
	own := []core.ConfigMap{{ObjectMeta: meta.ObjectMeta{Namespace: "default", Name: "custom"}, Data: map[string]string{"My-Custom-Header": "42", "My-Custom-Header-Dollar": "$remote_addr"}}}
	sent := " | X-Forwarded-Port: 1234 | X-Forwarded-Proto: myproto | X-Forwarded-For: 1.2.3.4 | X-Forwarded-Host: myhost.com, another.host,example.net"
	askNGINX(t, []trap{
		{name: "settings/forwarded_headers.go", config: map[string]string{"use-forwarded-headers": "true"}, ingresses: [][]string{{"a", "a.example / web"}},
			asks: []string{"a.example/" + sent + " → web:80 /; pod Host: myhost.com; pod X-Forwarded-Host: myhost.com; pod X-Forwarded-Proto: myproto; pod X-Forwarded-Scheme: myproto; pod X-Forwarded-Port: 1234; pod X-Forwarded-For: 1.2.3.4"}},
		{name: "settings/forwarded_headers.go, off", ingresses: [][]string{{"a", "a.example / web"}},
			asks: []string{"a.example/" + sent + " → web:80 /; pod Host: a.example; pod X-Forwarded-Port: 80; pod X-Forwarded-Proto: http; pod X-Forwarded-Scheme: http; pod X-Original-Forwarded-For: 1.2.3.4; pod X-Original-Forwarded-Host: myhost.com; pod X-Forwarded-For: 127.0.0.1"}},
		{name: "settings/enable_real_ip.go", config: map[string]string{"enable-real-ip": "true"}, ingresses: [][]string{{"a", "a.example / web"}},
			asks: []string{"a.example/" + sent + " → web:80 /; pod X-Forwarded-Host: a.example; pod X-Forwarded-Proto: http; pod X-Forwarded-Port: 80; pod X-Forwarded-For: 1.2.3.4"}},
		{name: "settings/proxy_protocol.go", config: map[string]string{"use-proxy-protocol": "true"}, ingresses: [][]string{{"a", "a.example / web"}},
			asks: []string{"192.168.0.1 > https://a.example/ → web:80 /; pod X-Forwarded-For: 192.168.0.1; pod X-Forwarded-Proto: https; pod X-Forwarded-Port: 443", "192.168.0.1 > a.example/ → web:80 /; pod X-Forwarded-Proto: http"}},
		{name: "settings/proxy_protocol.go, not trusted", config: map[string]string{"use-proxy-protocol": "true", "use-forwarded-headers": "true", "proxy-real-ip-cidr": "0.0.0.1/32"}, ingresses: [][]string{{"a", "a.example / web"}},
			asks: []string{"192.168.0.1 > a.example/ | X-Forwarded-For: 192.168.0.111 → web:80 /; pod X-Forwarded-Proto: http"}},
		{name: "annotations/customheaders.go", maps: own, config: map[string]string{"global-allowed-response-headers": "My-Custom-Header,My-Custom-Header-Dollar"}, ingresses: [][]string{{"a", "a.example / web", "custom-headers: default/custom"}, {"b", "b.example / web", "custom-headers: default/none"}},
			asks: []string{"a.example/ → web:80 /; My-Custom-Header: 42; My-Custom-Header-Dollar: $remote_addr", "b.example/ → 503"}},
		{name: "settings/custom_header.go", maps: own, config: map[string]string{"add-headers": "default/custom"}, ingresses: [][]string{{"a", "a.example / web"}}, asks: []string{"a.example/ → web:80 /; My-Custom-Header: 42"}},
		{name: "annotations/connection.go", ingresses: [][]string{{"a", "a.example / web", "connection-proxy-header: keep-alive"}}, asks: []string{"a.example/ → web:80 /; pod Connection: keep-alive"}},
		{name: "annotations/default_backend.go", ingresses: [][]string{{"a", "a.example / none", "default-backend: errors"}},
			asks: []string{"a.example/alma/armud | X-Request-Id: unique → errors:80 /alma/armud; pod X-Code: 503; pod X-Ingress-Name: a; pod X-Service-Name: none; pod X-Request-Id: unique"}},
		{name: "annotations/disableproxyintercepterrors.go", ingresses: [][]string{{"a", "a.example / web", "custom-http-errors: 404", "disable-proxy-intercept-errors: true", "default-backend: errors"}, {"b", "b.example / web", "custom-http-errors: 404", "default-backend: errors"}},
			asks: []string{"a.example/x | X-Oracle-Answer: 404 → 404 web:80 /x", "b.example/x | X-Oracle-Answer: 404 → 404 errors:80 /; pod X-Code: 404; pod X-Original-Uri: /x; pod X-Service-Name: web"}},
		{name: "annotations/serviceupstream.go", ingresses: [][]string{{"a", "a.example / web", "service-upstream: true"}}, asks: []string{"a.example/ → web:80 /"}},
		{name: "annotations/cors.go", ingresses: [][]string{{"a", "a.example / web", "enable-cors: true"}, {"b", "b.example / web", "enable-cors: true", "cors-allow-origin: https://origin.cors.com:8080, https://*.wild.com", "cors-max-age: 200", "cors-allow-methods: POST, GET", "cors-allow-credentials: false", "cors-expose-headers: X-One, X-Two", "cors-allow-headers: DNT, User-Agent"},
			{"c", "c.example / web", "enable-cors: true", "cors-allow-origin: *, foo.bar.com"}},
			asks: []string{"a.example/ → web:80 /; Access-Control-Allow-Origin: *; Access-Control-Allow-Credentials: true; Access-Control-Max-Age: 1728000; Access-Control-Allow-Methods: GET, PUT, POST, DELETE, PATCH, OPTIONS", "OPTIONS a.example/ → 204; Access-Control-Allow-Origin: *",
				"b.example/ | Origin: https://origin.cors.com:8080 → web:80 /; Access-Control-Allow-Origin: https://origin.cors.com:8080; Access-Control-Max-Age: 200; Access-Control-Allow-Methods: POST, GET; Access-Control-Allow-Credentials: -; Access-Control-Expose-Headers: X-One, X-Two; Access-Control-Allow-Headers: DNT, User-Agent",
				"b.example/ | Origin: http://no.origin.com → web:80 /; Access-Control-Allow-Origin: -", "b.example/ | Origin: https://x.wild.com → web:80 /; Access-Control-Allow-Origin: https://x.wild.com", "b.example/ | Origin: https://x.y.wild.com → web:80 /; Access-Control-Allow-Origin: -",
				"c.example/ | Origin: http://a → web:80 /; Access-Control-Allow-Origin: *"}},
	})
}

func TestEndToEndCanaries(t *testing.T) {
	canary := func(annotations ...string) [][]string {
		return [][]string{{"a@1", "foo /info web"}, append([]string{"c@2", "foo /info api", "canary: true"}, annotations...)}
	}
	askNGINX(t, []trap{
		{name: "annotations/canary.go, header", ingresses: canary("canary-by-header: CanaryByHeader"),
			asks: []string{"foo/info → web:80 /info", "foo/info | CanaryByHeader: always → api:80 /info", "foo/info | CanaryByHeader: never → web:80 /info", "foo/info | CanaryByHeader: badheadervalue → web:80 /info"}},
		{name: "annotations/canary.go, alone", ingresses: [][]string{{"c", "foo /info api", "canary: true", "canary-by-header: CanaryByHeader"}}, asks: []string{"foo/info | CanaryByHeader: always → 404"}},
		{name: "annotations/canary.go, created before", ingresses: [][]string{{"c@1", "foo /info api", "canary: true", "canary-by-header: CanaryByHeader"}, {"a@2", "foo /info web"}},
			asks: []string{"foo/info | CanaryByHeader: never → web:80 /info", "foo/info | CanaryByHeader: always → api:80 /info"}},
		{name: "annotations/canary.go, value", ingresses: canary("canary-by-header: CanaryByHeader", "canary-by-header-value: DoCanary"),
			asks: []string{"foo/info | CanaryByHeader: DoCanary → api:80 /info", "foo/info | CanaryByHeader: always → web:80 /info", "foo/info | CanaryByHeader: never → web:80 /info", "foo/info | CanaryByHeader: otherheadervalue → web:80 /info"}},
		{name: "annotations/canary.go, pattern", ingresses: canary("canary-by-header: CanaryByHeader", "canary-by-header-pattern: ^Do[A-Z][a-z]+y$"),
			asks: []string{"foo/info | CanaryByHeader: DoCanary → api:80 /info", "foo/info | CanaryByHeader: Docanary → web:80 /info"}},
		{name: "annotations/canary.go, value over pattern", ingresses: canary("canary-by-header: CanaryByHeader", "canary-by-header-value: DoCanary", "canary-by-header-pattern: ^Do[A-Z][a-z]+y$"),
			asks: []string{"foo/info | CanaryByHeader: DoCananry → web:80 /info"}},
		{name: "annotations/canary.go, broken pattern", ingresses: canary("canary-by-header: CanaryByHeader", "canary-by-header-pattern: [][**da?$&*", "canary-by-cookie: CanaryByCookie"),
			asks: []string{"foo/info | CanaryByHeader: DoCanary | Cookie: CanaryByCookie=always → web:80 /info"}},
		{name: "annotations/canary.go, value and cookie", ingresses: canary("canary-by-header: CanaryByHeader", "canary-by-header-value: DoCanary", "canary-by-cookie: CanaryByCookie"),
			asks: []string{"foo/info | CanaryByHeader: otherheadervalue | Cookie: CanaryByCookie=always → api:80 /info"}},
		{name: "annotations/canary.go, cookie", ingresses: canary("canary-by-cookie: Canary-By-Cookie"),
			asks: []string{"foo/info | Cookie: Canary-By-Cookie=always → api:80 /info", "foo/info | Cookie: Canary-By-Cookie=never → web:80 /info", "foo/info | Cookie: Canary-By-Cookie=badcookievalue → web:80 /info"}},
		{name: "annotations/canary.go, weight 0", ingresses: canary("canary-weight: 0"), asks: []string{"foo/info → web:80 /info"}},
		{name: "annotations/canary.go, weight 100", ingresses: canary("canary-weight: 100"), asks: []string{"foo/info → api:80 /info"}},
		{name: "annotations/canary.go, weight and total", ingresses: canary("canary-weight: 1000", "canary-weight-total: 1000"), asks: []string{"foo/info → api:80 /info"}},
		{name: "annotations/affinity.go", ingresses: [][]string{{"a", "a.example /something web", "a.example /somewhereelse web", "affinity: cookie", "session-cookie-name: SERVERID", "session-cookie-max-age: 259200", "session-cookie-domain: foo.bar"}, {"b", "b.example / api"}},
			asks: []string{"a.example/something → web:80 /something; Set-Cookie: SERVERID=; Set-Cookie: Path=/something; Set-Cookie: Max-Age=259200; Set-Cookie: Domain=foo.bar", "a.example/somewhereelse → web:80 /somewhereelse; Set-Cookie: Path=/somewhereelse", "b.example/ → api:80 /; Set-Cookie: -"}},
	})
}
