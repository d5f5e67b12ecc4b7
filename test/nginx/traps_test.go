package nginx

import (
	"errors"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	frontend "fairlead.dev/fairlead/model/ingress/dialect/nginx"
)

// This file is what surprises in ingress-nginx, each with the requests that show it, and what becomes of their answers under
// `dialect: nginx`.

// A trap is a cluster, and what is answered.
type trap struct {
	name      string
	ingresses [][]string
	config    map[string]string
	maps      []core.ConfigMap
	fallback  string   // --default-backend-service
	asks      []string // request → answer ⇒ what becomes of it
}

func (trap *trap) cluster(t testing.TB) Cluster {
	t.Helper()
	c := Cluster{Config: trap.config}
	c.Serve("default", "web", "api", "old", "new", "errors", "empty-0")
	c.Serve("other", "web")
	c.Secrets, c.ConfigMaps, c.DefaultBackend = randomSecrets(), trap.maps, trap.fallback
	for _, lines := range trap.ingresses {
		ingress, err := ParseIngress(lines...)
		if err != nil {
			t.Fatal(err)
		}
		c.Ingresses = append(c.Ingresses, ingress)
	}
	return c
}

// ask compares answers. After the answer stand, each after a semicolon, `pod Name: value`, which the pod sees, and
// `Name: text`, which a header of the answer contains; `-` is a header that is not there.
func (trap *trap) ask(t *testing.T, o *Oracle) {
	t.Helper()
	for _, ask := range trap.asks {
		request, want, cut := strings.Cut(ask, " → ")
		want, _, _ = strings.Cut(want, " ⇒ ")
		if !cut {
			t.Fatalf("%q says no answer", ask)
		}
		r, err := ParseRequest(request)
		if err != nil {
			t.Fatal(err)
		}
		wants, got := strings.Split(want, "; "), o.Ask(r)
		if text := strings.ReplaceAll(got.String(), "default/", ""); text != wants[0] {
			t.Errorf("%s → %s, not %s", request, text, wants[0])
		}
		for _, header := range wants[1:] {
			of := got.Header
			if rest, cut := strings.CutPrefix(header, "pod "); cut && got.Pod != nil {
				of, header = got.Pod.Header, rest
			}
			name, value, _ := strings.Cut(header, ": ")
			if is := strings.Join(of.Values(name), ","); !strings.Contains(is, value) && value != "-" || value == "-" && is != "" {
				t.Errorf("%s has %s %q, not %q", request, name, is, value)
			}
		}
	}
}

func run(t *testing.T, traps []trap) { t.Helper(); askAll(t, traps, (*trap).ask, (*trap).askFairlead) }

func askNGINX(t *testing.T, traps []trap) { t.Helper(); askAll(t, traps, (*trap).ask) }

func askAll(t *testing.T, traps []trap, asks ...func(*trap, *testing.T, *Oracle)) {
	t.Helper()
	o := Idle(t)
	for i := range traps {
		t.Run(traps[i].name, func(t *testing.T) {
			if err := o.Load(traps[i].cluster(t)); err != nil {
				t.Fatal(err)
			}
			for _, ask := range asks {
				ask(&traps[i], t, o)
			}
		})
	}
}

// askFairlead compares what becomes of each answer under `dialect: nginx`. Nothing is the same answer. The words are of becomes.
func (trap *trap) askFairlead(t *testing.T, o *Oracle) {
	t.Helper()
	c := trap.cluster(t)
	for _, ask := range trap.asks {
		rest, want, _ := strings.Cut(ask, " ⇒ ")
		request, _, _ := strings.Cut(rest, " → ")
		r, err := ParseRequest(request)
		if err != nil {
			t.Fatal(err)
		}
		if got := becomes(t, &c, accepting(v1alpha1.NGINX{}), r, o.Ask(r)); got != want {
			t.Errorf("%s ⇒ %s, not %q", rest, got, want)
		}
	}
}

// becomes returns what becomes of an answer of nginx: nothing if it is the same, what changes it, `refused` if the Ingress is not
// served, and `elsewhere` if it is an answer about what the front end does not model, and tells by annotation alone.
func becomes(t *testing.T, c *Cluster, class v1alpha1.LoadBalancerClassSpec, r Request, nginx Answer) string {
	t.Helper()
	w, q := worldOf(c, class, nil), questionOf(r)
	a := w.Answer(q)
	if w.Refuses(a.Of) {
		return "refused"
	}
	got := a.Result(q)
	if (got.Status == 0 || got.Status == 403) && len(a.To) > 0 && !c.hasPods(a.To[0]) {
		got = frontend.Result{Status: 503, CrossOrigin: got.CrossOrigin}
	}
	if want := resultOf(nginx, q); !got.Equal(want) {
		return "elsewhere"
	}
	table, asCompiled, errs, ports := compiled(c)
	if table != nil && !r.TLS {
		got, want := frontend.ResultOf(table, q), asCompiled.Result(q)
		if got.CrossOrigin = sentBy(ports, q.Port); !got.Equal(want) {
			t.Errorf("%+v is answered with %+v and expected %+v\n%s", q, got, want, errs)
		}
	}
	causes := w.Differences(q)
	if len(causes) == 0 {
		return ""
	}
	if !w.Tells(causes[0]) {
		t.Errorf("%+v: nothing tells that %v changes it", q, causes[0])
	}
	return strings.TrimPrefix(causes[0].Key, prefix)
}

func TestPaths(t *testing.T) {
	run(t, []trap{
		{name: "the published recipe differs", ingresses: [][]string{{"a", "a.example /something(/|$)(.*) web", "use-regex: true", "rewrite-target: /$2"}},
			asks: []string{"a.example/something → web:80 /", "a.example/something/x → web:80 /x", "a.example/SOMETHING/x → web:80 /x",
				"a.example/somethingelse → 404"}},
		{name: "no type and ImplementationSpecific are Prefix", ingresses: [][]string{{"a", "a.example /foo web", "a.example /bar ImplementationSpecific api"}},
			asks: []string{"a.example/foo → web:80 /foo", "a.example/foo/x → web:80 /foo/x", "a.example/foobar → 404", "a.example/bar/ → api:80 /bar/",
				"a.example/FOO → 404"}},
		{name: "the empty path is the root", ingresses: [][]string{{"a", `a.example "" web`}}, asks: []string{"a.example/x → web:80 /x"}},
		{name: "the greater name is first among equally old ones", ingresses: [][]string{{"a", "a.example / web"}, {"b", "a.example / api"}},
			asks: []string{"a.example/ → api:80 /"}},
		{name: "the older one is first", ingresses: [][]string{{"a@1", "a.example / web"}, {"b@2", "a.example / api"}}, asks: []string{"a.example/ → web:80 /"}},
		{name: "Exact and Prefix of one path live together", ingresses: [][]string{{"a", "a.example /foo Exact web", "a.example /foo Prefix api"}},
			asks: []string{"a.example/foo → web:80 /foo", "a.example/foo/ → api:80 /foo/", "a.example/foox → 404"}},
		{name: "a trailing slash redirects with an absolute address", ingresses: [][]string{{"a", "a.example /foo/ web"}},
			asks: []string{"a.example/foo?q → 301 http://a.example/foo/?q", "a.example/foo/ → web:80 /foo/", "https://a.example/foo → 301 https://a.example/foo/ ⇒ default certificate",
				"a.example:8080/foo → 301 http://a.example/foo/"}},
		{name: "an exact trailing slash redirects, too", ingresses: [][]string{{"a", "a.example /foo/ Exact web"}},
			asks: []string{"a.example/foo → 301 http://a.example/foo/", "a.example/foo/ → web:80 /foo/", "a.example/foo/x → 404"}},
		{name: "the decoded and merged path is matched, the original one is passed", ingresses: [][]string{{"a", "a.example /foo web"}},
			asks: []string{"a.example/%66oo/%2e%2e/foo → web:80 /%66oo/%2e%2e/foo ⇒ normal paths", "a.example//foo//x → web:80 //foo//x ⇒ normal paths", "a.example/x/../foo → web:80 /x/../foo ⇒ normal paths",
				"a.example/foo%2fx → web:80 /foo%2fx ⇒ normal paths", "a.example/foo%00 → 400 ⇒ normal paths", "a.example/../foo → 400 ⇒ normal paths"}},
	})
}

func TestExpressions(t *testing.T) {
	run(t, []trap{
		{name: "one rewrite turns all locations of a host into expressions",
			ingresses: [][]string{{"a@1", "a.example /foo Exact web"}, {"b@2", "a.example /bar Prefix api", "rewrite-target: /x"}, {"c@3", "b.example /foo Exact web"}},
			asks:      []string{"a.example/FOObar → web:80 /FOObar", "a.example/Bar/y → api:80 /x", "b.example/foobar → 404"}},
		{name: "a rewrite to its own path is none", ingresses: [][]string{{"a", "a.example / web", "rewrite-target: /"}, {"b", "a.example /foo Exact api"}},
			asks: []string{"a.example/x → web:80 /x", "a.example/foobar → web:80 /foobar", "a.example/foo → api:80 /foo"}},
		{name: "a rewrite to its own path is one for the twin with a slash", ingresses: [][]string{{"a", "a.example /foo web", "rewrite-target: /foo"}},
			asks: []string{"a.example/foo/bar → web:80 /foo", "a.example/FOOx → web:80 /FOOx"}},
		{name: "the longer text is first, then the greater", ingresses: [][]string{{"a", "a.example /[a-z]{3} web", "a.example /abcd api", "a.example /abce old", "use-regex: true"}},
			asks: []string{"a.example/abcd → web:80 /abcd", "a.example/ABC → web:80 /ABC", "a.example/ab → 404"}},
		{name: "the slash of a prefix of another Ingress is no longer asked for", ingresses: [][]string{{"a@1", "a.example /foo Prefix web"}, {"b@2", "a.example /x.y api", "use-regex: true"}},
			asks: []string{"a.example/foobar → web:80 /foobar", "a.example/xzy → api:80 /xzy", "a.example/foo/ → web:80 /foo/"}},
		{name: "captures, and the query is kept unless the target ends in a question mark",
			ingresses: [][]string{{"a", "a.example /old/(.*)/(.*) web", "rewrite-target: /$2/$1"}},
			asks:      []string{"a.example/old/a/b?q=1 → web:80 /b/a?q=1", "a.example/old/a%20b/c → web:80 /c/a%20b", "a.example/old/a → 404"}},
		{name: "the target replaces the whole path, and is not anchored at the end", ingresses: [][]string{{"a", "a.example /foo web", "rewrite-target: /bar"}},
			asks: []string{"a.example/foo/x/y?z → web:80 /bar?z"}},
		{name: "a target without a slash is passed as it is", ingresses: [][]string{{"a", "a.example /foo web", "rewrite-target: x"}}, asks: []string{"a.example/foo → web:80 x ⇒ refused", "a.example/ → 400 ⇒ refused"}},
		{name: "a redirect with groups keeps the escapes that a URL needs, and those behind a question mark",
			ingresses: [][]string{{"a", "a.example /a/(.*) web", "rewrite-target: https://x.example/$1"}},
			asks: []string{"a.example/a/%C3%A9%20%25%26%7B → 302 https://x.example/%C3%A9%20%25&{ ⇒ normal paths", "a.example/a/x%3F%26%C3%A9?c=d → 302 https://x.example/x?%26%C3%A9?c=d ⇒ normal paths",
				"a.example/a/é\" → 302 https://x.example/é\"", "a.example/a/é+ → 302 https://x.example/%C3%A9+ ⇒ normal paths"}},
		{name: "x-forwarded-prefix stands beside a rewrite only", ingresses: [][]string{{"a", "a.example /foo web", "x-forwarded-prefix: /p"}},
			asks: []string{"a.example/foo → web:80 /foo"}},
	})
}

func TestServers(t *testing.T) {
	run(t, []trap{
		{name: "the root of a host takes the annotations and the default of the first Ingress",
			ingresses: [][]string{{"a@1", "a.example /foo web", "default api", "permanent-redirect: https://x.example"}, {"b@2", "a.example /bar old", "default new"}},
			asks:      []string{"a.example/ → 301 https://x.example", "a.example/bar → old:80 /bar", "a.example/zzz → 301 https://x.example"}},
		{name: "a default backend serves the root of the hosts of its Ingress", ingresses: [][]string{{"a", "a.example /foo web", "default api"}},
			asks: []string{"a.example/ → api:80 /", "b.example/ → 404"}},
		{name: "rules without a host and Ingresses without rules are the catch-all", ingresses: [][]string{{"a", "* /foo web"}, {"b", "default api", "permanent-redirect: https://x.example"}},
			asks: []string{"any.example/foo → web:80 /foo", "any.example/ → api:80 /", "any.example/healthz → 200 ⇒ status pages", "any.example/healthzzz → 200 ⇒ status pages"}},
		{name: "a wildcard is one label, and a precise host beats it", ingresses: [][]string{{"a", "*.a.example / web"}, {"b", "x.a.example /foo api"}},
			asks: []string{"y.a.example/ → web:80 /", "x.a.example/foo → api:80 /foo", "x.a.example/ → 404", "z.y.a.example/ → 404", "a.example/ → 404",
				"y_1.a.example/ → web:80 /", "Y.A.EXAMPLE:81/ → web:80 /"}},
		{name: "an alias is the server's, unless another server has the name",
			ingresses: [][]string{{"a@1", "a.example / web", "server-alias: b.example, c.example,*.d.example"}, {"b@2", "b.example / api"}, {"c@3", "a.example /x api", "server-alias: e.example"}},
			asks:      []string{"b.example/ → api:80 /", "c.example/ → web:80 /", "x.y.d.example/ → web:80 / ⇒ server-alias", "e.example/ → 404"}},
		{name: "from-to-www leads from the other name, with port and without one trailing slash", ingresses: [][]string{{"a", "a.example / web", "from-to-www-redirect: true"}},
			asks: []string{"www.a.example/x/?y → 308 http://a.example:80/x/?y ⇒ from-to-www-redirect", "www.a.example/x/ → 308 http://a.example:80/x ⇒ from-to-www-redirect", "https://www.a.example/ → 308 https://a.example:443 ⇒ default certificate"}},
		{name: "from-to-www yields to a host", ingresses: [][]string{{"a", "www.a.example / web", "from-to-www-redirect: true"}, {"b", "a.example / api"}},
			asks: []string{"a.example/ → api:80 /", "www.a.example/ → web:80 /"}},
		{name: "without pods it is 503, without a Service, too", ingresses: [][]string{{"a", "a.example /a empty-0", "a.example /b none", "a.example /c web:99"}},
			asks: []string{"a.example/a → 503", "a.example/b → 503", "a.example/c → 503"}},
		{name: "default-backend serves in the place of no pods", ingresses: [][]string{{"a", "a.example / empty-0", "default-backend: errors"}},
			asks: []string{"a.example/x → errors:80 /x ⇒ elsewhere"}},
	})
}

func TestPhases(t *testing.T) {
	run(t, []trap{
		{name: "HTTPS is asked for where the host has a certificate, even a missing one", ingresses: [][]string{{"a", "a.example /foo web", "tls a.example none"}, {"b", "b.example / web"}},
			asks: []string{"a.example/foo → 308 https://a.example/foo ⇒ ssl-redirect", "a.example/foo/ → 308 https://a.example/foo ⇒ ssl-redirect", "a.example/foo?q=/ → 308 https://a.example/foo?q= ⇒ ssl-redirect",
				"a.example:8080/foo → 308 https://a.example/foo ⇒ ssl-redirect", "https://a.example/foo → web:80 /foo", "b.example/ → web:80 /"}},
		{name: "preserve-trailing-slash", ingresses: [][]string{{"a", "a.example /foo web", "tls a.example", "preserve-trailing-slash: true"}},
			asks: []string{"a.example/foo/ → 308 https://a.example/foo/ ⇒ ssl-redirect"}},
		{name: "force-ssl-redirect needs no certificate, ssl-redirect turns it off", ingresses: [][]string{{"a", "a.example / web", "force-ssl-redirect: true"}, {"b", "b.example / web", "tls b.example", "ssl-redirect: false"}},
			asks: []string{"a.example/ → 308 https://a.example ⇒ force-ssl-redirect", "b.example/ → web:80 /"}},
		{name: "ACME's challenge is asked for without HTTPS", ingresses: [][]string{{"a", "a.example /.well-known/acme-challenge/x web", "a.example / api", "tls a.example"}},
			asks: []string{"a.example/.well-known/acme-challenge/x → web:80 /.well-known/acme-challenge/x", "a.example/.well-known/acme-challenge/y → 308 https://a.example/.well-known/acme-challenge/y ⇒ ssl-redirect"}},
		{name: "redirects come before HTTPS and source ranges", ingresses: [][]string{{"a", "a.example / web", "tls a.example", "permanent-redirect: https://x.example", "allowlist-source-range: 192.0.2.0/24"}},
			asks: []string{"10.0.0.1 > a.example/ → 301 https://x.example"}},
		{name: "HTTPS comes before source ranges", ingresses: [][]string{{"a", "a.example / web", "tls a.example", "allowlist-source-range: 192.0.2.0/24,2001:db8::/32"}},
			asks: []string{"10.0.0.1 > a.example/ → 308 https://a.example ⇒ ssl-redirect", "10.0.0.1 > https://a.example/ → 403", "192.0.2.9 > https://a.example/ → web:80 /",
				"2001:db8::1 > https://a.example/ → web:80 /"}},
		{name: "a preflight is answered to everyone", ingresses: [][]string{{"a", "a.example / web", "enable-cors: true", "cors-allow-origin: https://*.x.example", "allowlist-source-range: 192.0.2.0/24"}},
			asks: []string{"10.0.0.1 > OPTIONS a.example/ | Origin: https://y.x.example → 204 ⇒ refused", "10.0.0.1 > OPTIONS a.example/ | Origin: https://z.example → 403 ⇒ refused"}},
		{name: "no pods come before source ranges", ingresses: [][]string{{"a", "a.example / empty-0", "denylist-source-range: 10.0.0.0/8"}}, asks: []string{"10.0.0.1 > a.example/ → 503"}},
		{name: "a denied range is refused before an allowed one", ingresses: [][]string{{"a", "a.example / web", "denylist-source-range: 10.0.0.1", "allowlist-source-range: 10.0.0.0/8"}},
			asks: []string{"10.0.0.1 > a.example/ → 403", "10.0.0.2 > a.example/ → web:80 /", "11.0.0.1 > a.example/ → 403"}},
		{name: "app-root is the host's, whichever Ingress has it", ingresses: [][]string{{"a@1", "a.example / web"}, {"b@2", "a.example /foo api", "app-root: /start"}},
			asks: []string{"a.example/ → 302 http://a.example/start", "https://a.example/?x → 302 https://a.example/start ⇒ default certificate", "a.example/x → web:80 /x"}},
		{name: "temporal-redirect wins", ingresses: [][]string{{"a", "a.example / web", "permanent-redirect: https://p.example", "temporal-redirect: https://t.example", "temporal-redirect-code: 307"}},
			asks: []string{"a.example/x → 307 https://t.example ⇒ temporal-redirect"}},
		{name: "auth-url is asked after source ranges", ingresses: [][]string{{"a", "a.example / web", "auth-url: https://auth.example/check", "auth-signin: https://auth.example/start", "denylist-source-range: 10.0.0.1"}},
			asks: []string{"a.example/x | X-Oracle-Auth: 200 → web:80 /x ⇒ refused", "a.example/x?y | X-Oracle-Auth: 401 → 302 https://auth.example/start?rd=http://a.example%2Fx%3Fy ⇒ refused",
				"a.example/x | X-Oracle-Auth: 403 → 403 ⇒ refused", "a.example/x | X-Oracle-Auth: 500 → 500 ⇒ refused", "10.0.0.1 > a.example/ | X-Oracle-Auth: 200 → 403 ⇒ refused"}},
		{name: "use-forwarded-headers believes in the scheme, the port and the host", config: map[string]string{"use-forwarded-headers": "true"},
			ingresses: [][]string{{"a", "a.example / web", "tls a.example", "denylist-source-range: 10.0.0.1"}},
			asks: []string{"a.example/ | X-Forwarded-Proto: https → web:80 / ⇒ forwarded", "https://a.example/ | X-Forwarded-Proto: http | X-Forwarded-Host: b.example, c.example → 308 https://b.example ⇒ forwarded",
				"a.example/x | X-Forwarded-Host:  → 308 https://nil/x ⇒ elsewhere", "https://a.example/ | X-Forwarded-For: 10.0.0.1, 10.0.0.2 → 403 ⇒ forwarded", "https://a.example/ | X-Forwarded-For: 10.0.0.3, 10.0.0.1 → web:80 /"}},
		{name: "global settings", config: map[string]string{"ssl-redirect": "false", "whitelist-source-range": "10.0.0.0/8", "block-user-agents": "bad,~*evil", "http-redirect-code": "301", "force-ssl-redirect": "false"},
			ingresses: [][]string{{"a", "a.example / web", "tls a.example"}, {"b", "b.example / web", "force-ssl-redirect: true", "allowlist-source-range: 0.0.0.0/0"}},
			asks:      []string{"10.0.0.1 > a.example/ → web:80 / ⇒ refused", "a.example/ → 403 ⇒ refused", "b.example/ → 301 https://b.example ⇒ refused", "10.0.0.1 > a.example/ | User-Agent: EVIL one → 403 ⇒ refused", "10.0.0.1 > a.example/ | User-Agent: bad one → web:80 / ⇒ refused"}},
		{name: "error pages come from a Service", ingresses: [][]string{{"a", "a.example / web", "custom-http-errors: 404,503", "default-backend: errors"}, {"b", "b.example / web", "custom-http-errors: 404"}},
			asks: []string{"a.example/x | X-Oracle-Answer: 404 → 404 errors:80 / ⇒ elsewhere", "a.example/x | X-Oracle-Answer: 500 → 500 web:80 /x", "b.example/x | X-Oracle-Answer: 404 → 404 ⇒ elsewhere"}},
		{name: "a page for 404 that no Service has is a 500", config: map[string]string{"custom-http-errors": "404"}, ingresses: [][]string{{"a", "a.example /foo web"}}, asks: []string{"a.example/ → 500 ⇒ elsewhere", "a.example/foo | X-Oracle-Answer: 404 → 500 ⇒ elsewhere"}},
		{name: "pods are asked by their protocol", ingresses: [][]string{{"a", "a.example / web", "backend-protocol: HTTPS"}, {"b", "b.example / web", "backend-protocol: GRPC", "rewrite-target: /x"}, {"c", "c.example / web", "backend-protocol: GRPCS"}, {"d", "d.example / web", "backend-protocol: AUTO_HTTP"}},
			asks: []string{"a.example/ → web:80 /", "POST b.example/y → web:80 /x; pod Host: b.example", "POST c.example/y → web:80 /y; pod X-Real-Ip: 127.0.0.1", "https://d.example/ → web:80 / ⇒ refused"}},
		{name: "a body larger than a mebibyte is refused", ingresses: [][]string{{"a", "a.example / web"}, {"b", "b.example / web", "proxy-body-size: 2m"}},
			asks: []string{"POST a.example/ | Content-Length: 1048577 → 413 ⇒ elsewhere"}},
	})
}

func TestOtherOrigins(t *testing.T) {
	const from, other, all = "Origin: https://o.example", "Origin: https://p.example", "Access-Control-Allow-Origin: *"
	run(t, []trap{
		{name: "all are allowed, with an origin and without", ingresses: [][]string{{"a", "a.example / web", "enable-cors: true"}},
			asks: []string{"a.example/ → web:80 /; " + all, "a.example/ | " + from + " → web:80 /; " + all, "OPTIONS a.example/ → 204; " + all,
				"OPTIONS a.example/ | " + from + " → 204; " + all, "b.example/ → 404; Access-Control-Allow-Origin: - ⇒ headers", "https://a.example/none → web:80 /none ⇒ default certificate"}},
		{name: "one is allowed by its own name, and the others are told another one", ingresses: [][]string{{"a", "a.example / web", "enable-cors: true", "cors-allow-origin: https://O.example"}},
			asks: []string{"a.example/ | " + from + " → web:80 /; Access-Control-Allow-Origin: https://o.example",
				"a.example/ | " + other + " → web:80 /; Access-Control-Allow-Origin: - ⇒ cors-allow-origin", "a.example/ → web:80 /; Access-Control-Allow-Origin: - ⇒ cors-allow-origin",
				"OPTIONS a.example/ | " + from + " → 204; Access-Control-Allow-Origin: https://o.example",
				"OPTIONS a.example/ | Origin: xHTTPS://o.example → 204; Access-Control-Allow-Origin: xHTTPS://o.example ⇒ cors-allow-origin", "OPTIONS a.example/ | " + other + " → web:80 / ⇒ cors-allow-origin"}},
		{name: "none is allowed by an origin without a scheme", ingresses: [][]string{{"a", "a.example / web", "enable-cors: true", "cors-allow-origin: o.example"}},
			asks: []string{"a.example/ | " + from + " → web:80 /; Access-Control-Allow-Origin: -", "OPTIONS a.example/ | " + from + " → web:80 /"}},
		{name: "a list with a star is for all", ingresses: [][]string{{"a", "a.example / web", "enable-cors: true", "cors-allow-origin: https://o.example, *"}},
			asks: []string{"a.example/ | " + other + " → web:80 /; " + all}},
		{name: "a list is refused", ingresses: [][]string{{"a", "a.example / web", "enable-cors: true", "cors-allow-origin: https://o.example, https://p.example"}},
			asks: []string{"a.example/ | " + other + " → web:80 /; Access-Control-Allow-Origin: https://p.example ⇒ refused"}},
		{name: "a preflight is answered before HTTPS, ranges, redirects and canaries", ingresses: [][]string{
			{"a", "a.example / web", "enable-cors: true", "force-ssl-redirect: true", "allowlist-source-range: 192.0.2.0/24"}, {"b", "b.example / api", "enable-cors: true", "permanent-redirect: https://x.example"},
			{"c", "c.example / old", "enable-cors: true", "allowlist-source-range: 127.0.0.0/8"}, {"d", "c.example / new", "canary: true", "canary-by-header: X-Try"}},
			asks: []string{"OPTIONS a.example/ → 204; " + all, "OPTIONS b.example/ → 204; " + all, "b.example/ → 301 https://x.example; " + all, "OPTIONS c.example/ | X-Try: always → 204; " + all,
				"192.0.2.9 > c.example/ → 403; " + all, "c.example/ | X-Try: always → new:80 /; " + all}},
		{name: "a preflight that is redirected to HTTPS is told", ingresses: [][]string{{"a", "a.example / web", "enable-cors: true", "tls a.example"}},
			asks: []string{"OPTIONS a.example/ → 204; " + all + " ⇒ enable-cors", "OPTIONS https://a.example/ → 204; " + all}},
		{name: "what is behind a location goes before it", ingresses: [][]string{{"a", "a.example /x/ web", "enable-cors: true"}, {"b", "b.example / web", "enable-cors: true", "app-root: /y"}},
			asks: []string{"OPTIONS a.example/x → 301 http://a.example/x/; Access-Control-Allow-Origin: - ⇒ headers", "OPTIONS b.example/ → 302 http://b.example/y; Access-Control-Allow-Origin: - ⇒ headers"}},
		{name: "the root of a host has those of the first Ingress", ingresses: [][]string{{"a", "a.example /x web", "enable-cors: true"}},
			asks: []string{"a.example/ → 404; " + all, "OPTIONS a.example/y → 204; " + all}},
		{name: "an Ingress that wants none has none, and the others are not served", ingresses: [][]string{{"a@1", "a.example / web", "enable-cors: true"}, {"b@2", "b.example / api"}},
			asks: []string{"a.example/ → web:80 /; " + all + " ⇒ refused", "b.example/ | " + from + " → api:80 /; Access-Control-Allow-Origin: -"}},
		{name: "of two that want other ones, the older is served", ingresses: [][]string{{"a@1", "a.example / web", "enable-cors: true"}, {"b@2", "b.example / api", "enable-cors: true", "cors-max-age: 5"}},
			asks: []string{"a.example/ → web:80 /; " + all, "b.example/ → api:80 /; Access-Control-Max-Age: 5 ⇒ refused"}},
		{name: "a canary has those of its Ingress", ingresses: [][]string{{"a", "a.example / web"}, {"b", "a.example / api", "canary: true", "canary-by-header: X-Try", "enable-cors: true"}},
			asks: []string{"a.example/ | X-Try: always → api:80 /; Access-Control-Allow-Origin: -", "OPTIONS a.example/ → web:80 /"}},
		{name: "a value that ingress-nginx ignores is ignored", ingresses: [][]string{{"a", "a.example / web", "enable-cors: yes"}, {"b", "b.example / web", "enable-cors: true", "cors-allow-methods: GET;", "cors-allow-credentials: false"}},
			asks: []string{"OPTIONS a.example/ → web:80 /", "b.example/ → web:80 /; Access-Control-Allow-Methods: PATCH; Access-Control-Allow-Credentials: - ⇒ refused"}},
	})
}

func TestCanaries(t *testing.T) {
	run(t, []trap{
		{name: "header, then cookie, then weight", ingresses: [][]string{{"a", "a.example / web"}, {"b", "a.example / api", "canary: true", "canary-by-header: X-Try", "canary-by-cookie: try", "canary-weight: 100"}},
			asks: []string{"a.example/ | X-Try: never → web:80 /", "a.example/ | X-Try: always | Cookie: try=never → api:80 /", "a.example/ | X-Try: other | Cookie: try=never → web:80 /", "a.example/ → api:80 /"}},
		{name: "a value is compared exactly, a pattern is searched for", ingresses: [][]string{{"a", "a.example / web"}, {"b", "a.example / api", "canary: true", "canary-by-header: x-try", "canary-by-header-value: Yes"},
			{"c", "b.example / old"}, {"d", "b.example / new", "canary: true", "canary-by-header: x-try", "canary-by-header-pattern: ye"}},
			asks: []string{"a.example/ | X-Try: Yes → api:80 /", "a.example/ | X-Try: yes → web:80 /", "a.example/ | X-Try: always → web:80 /", "b.example/ | X-Try: oh yes → new:80 /", "b.example/ | X-Try: YES → old:80 /"}},
		{name: "it hangs on the upstream, and so on other hosts and paths", ingresses: [][]string{{"a", "a.example / web"}, {"b", "b.example /x web"}, {"c", "a.example / api", "canary: true", "canary-weight: 100"}},
			asks: []string{"b.example/x → api:80 /x", "a.example/y → api:80 /y"}},
		{name: "the first one counts", ingresses: [][]string{{"a@1", "a.example / web"}, {"b@2", "a.example / api", "canary: true", "canary-weight: 100"}, {"c@3", "a.example / old", "canary: true", "canary-by-header: X-Old"}},
			asks: []string{"a.example/ | X-Old: always → api:80 /"}},
		{name: "one that is older than an Ingress with its Service takes that Ingress away", ingresses: [][]string{{"a@1", "a.example / web"}, {"b@2", "a.example /x api", "canary: true", "canary-weight: 100"}, {"c@3", "c.example / api"}},
			asks: []string{"a.example/x → web:80 /x", "c.example/ → 404"}},
		{name: "a Service that is somebody's already makes a canary an Ingress", ingresses: [][]string{{"a@1", "a.example / web"}, {"b@2", "b.example / api"}, {"c@3", "a.example /x api", "canary: true", "canary-weight: 100"}},
			asks: []string{"a.example/x → api:80 /x"}},
	})
}

// TestAffinityOverCanaries sends the cookie of affinity back: it wins over everything that a canary asks for.
func TestAffinityOverCanaries(t *testing.T) {
	trap := trap{ingresses: [][]string{{"a", "a.example / web", "affinity: cookie", "session-cookie-name: stick"},
		{"b", "a.example / api", "canary: true", "canary-by-header: X-Try"}}}
	o := New(t, trap.cluster(t))
	cookie := func(header string) string {
		r, err := ParseRequest("a.example/ | " + header)
		if err != nil {
			t.Fatal(err)
		}
		value, _, _ := strings.Cut(o.Ask(r).Header.Get("Set-Cookie"), ";")
		return value
	}
	primary, canary := cookie("X-Try: never"), cookie("X-Try: always")
	if !strings.HasPrefix(primary, "stick=") || !strings.HasPrefix(canary, "stick=") {
		t.Fatalf("cookies are %q and %q", primary, canary)
	}
	trap.asks = []string{"a.example/ | X-Try: always | Cookie: " + primary + " → web:80 /", "a.example/ | X-Try: never | Cookie: " + canary + " → api:80 /"}
	trap.ask(t, o)
}

// TestRefusedValues shows the four ends of a refused value.
func TestRefusedValues(t *testing.T) {
	run(t, []trap{
		{name: "the default is taken", ingresses: [][]string{{"a", "a.example / web", "ssl-redirect: maybe", "tls a.example"}}, asks: []string{"a.example/ → 308 https://a.example ⇒ ssl-redirect"}},
		{name: "the locations answer 503", ingresses: [][]string{{"a", "a.example / web", "allowlist-source-range: here"}, {"b", "b.example / web", "auth-url: nowhere"}, {"c", "c.example / web", "auth-type: basic"}},
			asks: []string{"a.example/ → 503", "b.example/ → 503 ⇒ refused", "c.example/ → 503 ⇒ refused"}},
		{name: "the Ingress does not exist", ingresses: [][]string{{"a", "a.example / web", "permanent-redirect: https://x.example$request_uri"}, {"b", "b.example / web", "configuration-snippet: return 200;"},
			{"c", "c.example / web", "upstream-vhost: a b"}, {"d", "d.example / web", "auth-url: http://x/\"y"}},
			asks: []string{"a.example/ → 404", "b.example/ → 404", "c.example/ → 404", "d.example/ → 404"}},
		{name: "an empty redirect hides a broken code", ingresses: [][]string{{"a", "a.example / web", "permanent-redirect: ", "permanent-redirect-code: x"}}, asks: []string{"a.example/ → web:80 /"}},
		{name: "the group is ignored, and authentication with it", ingresses: [][]string{{"a", "a.example / web", "auth-url: http://auth.example/", "auth-always-set-cookie: maybe"}},
			asks: []string{"a.example/ → web:80 / ⇒ refused"}},
	})
}

// TestTwiceTheSameLocation: nginx refuses what ingress-nginx writes for Exact, Prefix and Prefix again.
func TestTwiceTheSameLocation(t *testing.T) {
	trap := trap{ingresses: [][]string{{"a@1", "a.example /foo Exact web"}, {"b@2", "a.example /foo Prefix web"}, {"c@3", "a.example /foo Prefix api"}}}
	if err := Idle(t).Load(trap.cluster(t)); !errors.Is(err, ErrConfiguration) || !strings.Contains(err.Error(), "duplicate location") {
		t.Errorf("it says %v", err)
	}
}
