package nginx

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// This file draws clusters and requests, edges first. Answers to them are the same each time: a canary's weight is
// nothing or everything.

// A dice draws.
type dice struct{ *rand.Rand }

func (d dice) one(of ...string) string { return of[d.IntN(len(of))] }

func (d dice) chance(percent int) bool { return d.IntN(100) < percent }

var (
	hosts     = []string{"a.example", "a.example", "a.example", "b.example", "www.a.example", "*.a.example", "x.a.example", ""}
	plainPath = []string{"/", "/", "", "/foo", "/foo", "/foo/", "/Foo", "/foo/bar", "/foo/bar/", "/foobar", "/foo.bar", "/f", "/foo-bar_baz",
		"/.well-known/acme-challenge/x", "/healthz"}
	anyPath = []string{"/foo//", "//", "/foo bar", "/a+b", "/%66oo", "/foo?x", "/foo(/|$)(.*)", "/foo(/|$)(.*)", "/(foo|bar)/(.*)", "/v[0-9]+/.*", "/.*",
		"/(.*)", "/(.+)", "/foo$", "/foo/?(.*)", "/[a-z]{3}", "/x.y", "/()(foo/.*)", "/é", "/foo(?=/bar)", "/foo\\.bar"}
	services = []string{"web", "web", "api", "old", "new", "errors", "empty-0", "none"}
)

// Annotations and their values: good, bad and odd ones. The weight of a canary is not among them.
var annotationValues = map[string][]string{
	"rewrite-target":                 {"/", "/$1", "/$2", "/bar/$1", "/foo", "/bar?", "/$1/$2?x=y", "https://x.example/$1", "http://y.example:8080/a/$2", "x", "", "/é", "/a b"},
	"use-regex":                      {"true", "true", "false", "TRUE", "yes"},
	"app-root":                       {"/start", "/start/", "start", "https://x.example/", ""},
	"ssl-redirect":                   {"true", "false", "no"},
	"force-ssl-redirect":             {"true", "true", "false", ""},
	"preserve-trailing-slash":        {"true", "false"},
	"permanent-redirect":             {"https://x.example", "https://x.example/p?q=1", "/local", "x", "", "https://x.example$request_uri"},
	"permanent-redirect-code":        {"302", "308", "307", "200", "999", "x"},
	"temporal-redirect":              {"https://t.example", "http://t.example/p", "ftp://t.example", "/local", ""},
	"temporal-redirect-code":         {"301", "303", "307", "308", "x"},
	"relative-redirects":             {"true", "false"},
	"from-to-www-redirect":           {"true", "true", "false", "x"},
	"server-alias":                   {"alias.example", "alias.example,b.example", "*.alias.example", "~^re[0-9]+\\.example$", "x.a.example", "a b"},
	"enable-cors":                    {"true", "true", "true", "false", "yes", ""},
	"cors-allow-origin":              {"*", "https://o.example", "https://O.example", "https://*.o.example,http://p.example:8080", "null", "o.example", "https://o.example, *", "a b,", ""},
	"cors-allow-headers":             {"X-One, X-Two", "X-One;", ""},
	"cors-expose-headers":            {"X-One", "*", "X;"},
	"cors-max-age":                   {"600", "-1", "x"},
	"cors-allow-methods":             {"GET, POST", "GET;", ""},
	"cors-allow-credentials":         {"false", "true"},
	"whitelist-source-range":         {"127.0.0.0/8", "127.0.0.1", "127.1.0.0/16, 127.0.0.2", "10.0.0.0/8", "here", "", "0.0.0.0/0", "::1/128,127.0.0.2/32"},
	"allowlist-source-range":         {"127.1.2.3", "10.0.0.0/8"},
	"denylist-source-range":          {"127.0.0.2", "127.1.0.0/16", "10.0.0.0/8", "x", "0.0.0.0/0"},
	"satisfy":                        {"any", "all", "some"},
	"auth-url":                       {"http://auth.example/check", "https://auth.example/$host", "auth.example", "", "http://x/\"y"},
	"auth-signin":                    {"https://auth.example/start", "https://auth.example/start?rd=/x", "https://auth.example/start?a=b"},
	"auth-response-headers":          {"X-User", "X-User, X-Group", "bad header!"},
	"auth-method":                    {"POST", "BREW"},
	"auth-always-set-cookie":         {"true", "maybe"},
	"auth-type":                      {"basic", "other"},
	"auth-secret":                    {"users", "default/users", "none", "other/users"},
	"auth-realm":                     {"here", "a \"b\""},
	"upstream-vhost":                 {"inside.example", "$host", "a b"},
	"x-forwarded-prefix":             {"/p", "/$1", "p q"},
	"backend-protocol":               {"HTTP", "https", "HTTPS", "AUTO_HTTP", "SPDY"},
	"affinity":                       {"cookie", "cookie", "ip"},
	"session-cookie-name":            {"stick", "a b"},
	"session-cookie-path":            {"/", "/foo"},
	"custom-http-errors":             {"404", "404,503", "500, 503", "600", "x", "404,,"},
	"default-backend":                {"errors", "web", "none", "empty-0", "Bad_Name"},
	"disable-proxy-intercept-errors": {"true", "false"},
	"service-upstream":               {"true", "false", "x"},
	"use-port-in-redirects":          {"true", "false"},
	"proxy-body-size":                {"8", "1m", "0", "x"},
	"proxy-redirect-from":            {"default", "http://old.example/", "off"},
	"proxy-redirect-to":              {"http://new.example/", "off"},
	"proxy-cookie-path":              {"/a /b", "off"},
	"enable-global-auth":             {"false", "true"},
	"configuration-snippet":          {"return 418;"},
	"server-snippet":                 {"# nothing"},
	"upstream-hash-by":               {"$request_uri", "a b"},
	"limit-rps":                      {"x"},
	"load-balance":                   {"ewma", "best"},
	"connection-proxy-header":        {"keep-alive", "open"},
	"client-body-buffer-size":        {"8k", "x"},
	"auth-tls-secret":                {"default/authority", "authority", "default/none"},
}

var configValues = map[string][]string{
	"ssl-redirect":                    {"false", "true", "x"},
	"force-ssl-redirect":              {"true"},
	"http-redirect-code":              {"301", "302", "303", "x"},
	"preserve-trailing-slash":         {"true"},
	"use-forwarded-headers":           {"true", "true"},
	"compute-full-forwarded-for":      {"true"},
	"enable-real-ip":                  {"true"},
	"forwarded-for-header":            {"X-Client"},
	"proxy-real-ip-cidr":              {"127.0.0.1", "127.0.0.0/8,10.0.0.0/8"},
	"whitelist-source-range":          {"127.0.0.0/8", "127.0.0.1,127.1.2.3"},
	"denylist-source-range":           {"127.0.0.2"},
	"block-cidrs":                     {"127.1.2.3"},
	"block-user-agents":               {"bad", "~*evil,bad"},
	"block-referers":                  {"~*spam"},
	"custom-http-errors":              {"404", "500,503"},
	"disable-proxy-intercept-errors":  {"true"},
	"relative-redirects":              {"true"},
	"hsts":                            {"false"},
	"hsts-max-age":                    {"10"},
	"hsts-preload":                    {"true"},
	"no-tls-redirect-locations":       {"/foo"},
	"no-auth-locations":               {"/foo, /bar"},
	"global-auth-url":                 {"http://auth.example/global", "x"},
	"allow-snippet-annotations":       {"true"},
	"annotations-risk-level":          {"Critical", "Medium", "Low", "odd"},
	"service-upstream":                {"true"},
	"proxy-body-size":                 {"16"},
	"ssl-reject-handshake":            {"true"},
	"enable-underscores-in-headers":   {"true"},
	"proxy-add-original-uri-header":   {"true"},
	"use-port-in-redirects":           {"true"},
	"annotation-value-word-blocklist": {"x.example,418"},
}

// randomSecrets are named by annotations and TLS.
var randomSecrets = sync.OnceValue(func() []core.Secret {
	secret := func(name string, data map[string][]byte) core.Secret {
		return core.Secret{ObjectMeta: meta.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}, Data: data}
	}
	pair := func(name, host string) core.Secret {
		certificate, key := newPair(host)
		return secret(name, map[string][]byte{core.TLSCertKey: certificate, core.TLSPrivateKeyKey: key})
	}
	authority, _ := newPair("authority")
	return []core.Secret{pair("pair", "a.example"), pair("star", "*.a.example"),
		secret("broken", map[string][]byte{core.TLSCertKey: []byte("x"), core.TLSPrivateKeyKey: []byte("y")}),
		secret("users", map[string][]byte{"auth": []byte("user:{PLAIN}pass\n")}), secret("authority", map[string][]byte{"ca.crt": authority})}
})

// RandomCluster draws a cluster.
func RandomCluster(random *rand.Rand) Cluster {
	d := dice{random}
	c := Cluster{Config: map[string]string{}}
	c.Serve("default", "web", "api", "old", "new", "errors", "empty-0")
	c.Serve("other", "web", "api")
	c.Secrets = randomSecrets()
	if d.chance(35) {
		for range 1 + d.IntN(3) {
			key := d.key(configValues)
			c.Config[key] = d.one(configValues[key]...)
		}
	}
	if d.chance(20) {
		c.DefaultBackend = d.one("default/errors", "default/none", "default/empty-0")
	}
	for i := range 1 + d.IntN(6) {
		ingress := d.ingress(i, c.Config["allow-snippet-annotations"] == "true")
		if i > 0 && d.chance(20) {
			d.canary(&ingress, c.Ingresses[d.IntN(i)])
		}
		c.Ingresses = append(c.Ingresses, ingress)
	}
	if d.chance(15) {
		d.allowOrigins(c.Ingresses)
	}
	return c
}

// allowOrigins has all Ingresses allow the same to other origins.
func (d dice) allowOrigins(all []networking.Ingress) {
	same := map[string]string{prefix + "enable-cors": "true"}
	for _, key := range []string{"cors-allow-origin", "cors-allow-methods", "cors-allow-credentials", "cors-allow-headers", "cors-expose-headers", "cors-max-age"} {
		if d.chance(40) {
			same[prefix+key] = d.one(annotationValues[key]...)
		}
	}
	for i := range all {
		for key := range all[i].Annotations {
			if strings.HasPrefix(key, prefix+"cors-") {
				delete(all[i].Annotations, key)
			}
		}
		maps.Copy(all[i].Annotations, same)
	}
}

func (d dice) key(of map[string][]string) string {
	keys := make([]string, 0, len(of))
	for key := range of {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return d.one(keys...)
}

func (d dice) ingress(number int, snippets bool) networking.Ingress {
	out := networking.Ingress{ObjectMeta: meta.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("i%d", number), UID: "u",
		CreationTimestamp: meta.NewTime(time.Unix(1_700_000_000+d.Int64N(3), 0)), Annotations: map[string]string{}}}
	if d.chance(10) {
		out.Namespace = "other"
	}
	for d.chance(60) && len(out.Annotations) < 5 {
		d.annotate(out.Annotations, snippets)
	}
	if d.chance(10) {
		out.Spec.DefaultBackend = &networking.IngressBackend{Service: backendOf(d.one(services...))}
	}
	for range d.IntN(4) {
		out.Spec.Rules = append(out.Spec.Rules, d.rule(d.one(hosts...)))
	}
	if len(out.Spec.Rules) == 0 && out.Spec.DefaultBackend == nil {
		out.Spec.Rules = append(out.Spec.Rules, d.rule("a.example"))
	}
	if d.chance(35) {
		entry := networking.IngressTLS{SecretName: d.one("", "pair", "broken", "none", "star")}
		for _, rule := range out.Spec.Rules {
			if rule.Host != "" && d.chance(80) {
				entry.Hosts = append(entry.Hosts, rule.Host)
			}
		}
		out.Spec.TLS = []networking.IngressTLS{entry}
	}
	return out
}

func (d dice) annotate(annotations map[string]string, snippets bool) {
	common := []string{"rewrite-target", "use-regex", "ssl-redirect", "force-ssl-redirect", "permanent-redirect", "whitelist-source-range", "enable-cors",
		"server-alias", "custom-http-errors", "default-backend", "from-to-www-redirect", "app-root", "auth-url"}
	key := d.one(common...)
	if d.chance(50) {
		key = d.key(annotationValues)
	}
	if strings.HasSuffix(key, "-snippet") && !snippets && d.chance(80) {
		return
	}
	annotations[prefix+key] = d.one(annotationValues[key]...)
	switch key {
	case "auth-type":
		annotations[prefix+"auth-secret"] = d.one(annotationValues["auth-secret"]...)
	case "affinity":
		annotations[prefix+"session-cookie-name"] = "stick"
	}
}

func (d dice) rule(host string) networking.IngressRule {
	rule := networking.IngressRule{Host: host, IngressRuleValue: networking.IngressRuleValue{HTTP: &networking.HTTPIngressRuleValue{}}}
	for range 1 + d.IntN(3) {
		kind := networking.PathType(d.one("Prefix", "Prefix", "Exact", "ImplementationSpecific"))
		path := networking.HTTPIngressPath{Path: d.one(plainPath...), PathType: &kind,
			Backend: networking.IngressBackend{Service: backendOf(d.one(services...))}}
		if kind == networking.PathTypeImplementationSpecific && d.chance(70) {
			path.Path = d.one(anyPath...)
		}
		if path.Path == "" && kind != networking.PathTypeImplementationSpecific {
			path.Path = "/"
		}
		rule.HTTP.Paths = append(rule.HTTP.Paths, path)
	}
	return rule
}

// canary makes an Ingress the canary of another, mostly.
func (d dice) canary(out *networking.Ingress, of networking.Ingress) {
	out.Namespace, out.Spec.Rules, out.Spec.DefaultBackend = of.Namespace, nil, nil
	for _, rule := range of.Spec.Rules {
		copied := *rule.DeepCopy()
		for i := range copied.HTTP.Paths {
			copied.HTTP.Paths[i].Backend.Service = backendOf(d.one("new", "api", "old", "web", "empty-0"))
		}
		out.Spec.Rules = append(out.Spec.Rules, copied)
	}
	if len(out.Spec.Rules) == 0 {
		out.Spec.DefaultBackend = &networking.IngressBackend{Service: backendOf("new")}
	}
	a := out.Annotations
	a[prefix+"canary"] = d.one("true", "true", "true", "true", "false", "x")
	for range 1 + d.IntN(3) {
		switch d.IntN(5) {
		case 0:
			a[prefix+"canary-by-header"] = d.one("X-Try", "x-try", "Try")
		case 1:
			a[prefix+"canary-by-header"], a[prefix+"canary-by-header-value"] = "X-Try", d.one("Yes", "yes", "always")
		case 2:
			a[prefix+"canary-by-header"], a[prefix+"canary-by-header-pattern"] = "X-Try", d.one("ye", "^y.s$", "(", "[0-9]+")
		case 3:
			a[prefix+"canary-by-cookie"] = d.one("try", "Try", "try-2")
		case 4:
			a[prefix+"canary-weight"] = d.one("0", "100", "-1", "x")
		}
	}
}

// RandomRequest draws a request that a cluster may make something of.
func RandomRequest(random *rand.Rand, c *Cluster) Request {
	d := dice{random}
	host, path := "a.example", d.one("/", "/foo", "/nothing")
	if len(c.Ingresses) > 0 && d.chance(95) {
		ingress := c.Ingresses[d.IntN(len(c.Ingresses))]
		if rules := ingress.Spec.Rules; len(rules) > 0 {
			rule := rules[d.IntN(len(rules))]
			host, path = rule.Host, d.sample(rule.HTTP.Paths[d.IntN(len(rule.HTTP.Paths))].Path)
		}
		if alias := ingress.Annotations[prefix+"server-alias"]; alias != "" && d.chance(30) {
			host = d.one("alias.example", "x.alias.example", "re12.example", "alias.example.")
		}
	}
	r := Request{TLS: d.chance(40), Method: d.one("GET", "GET", "GET", "GET", "HEAD", "POST", "DELETE"), Host: d.host(host), Target: d.target(path)}
	if d.chance(10) {
		r.Method = "OPTIONS"
	}
	if d.chance(30) {
		r.From = netip.MustParseAddr(d.one("127.0.0.2", "127.1.2.3", "127.0.0.1"))
	}
	d.headers(&r)
	d.oddities(&r, host)
	return r
}

func (d dice) host(host string) string {
	switch {
	case strings.HasPrefix(host, "*."):
		host = d.one("x", "y", "y-z", "y_z", "y.x") + host[1:]
	case host == "":
		host = d.one("unknown.example", "127.0.0.1", "localhost")
	}
	switch d.IntN(14) {
	case 0:
		return strings.ToUpper(host)
	case 1:
		return host + d.one(":80", ":443", ":8080", ":")
	case 2:
		return host + "."
	case 3:
		return d.one("www."+host, "x."+host, strings.TrimPrefix(host, "www."), "unknown.example", "example", "a_b.example")
	}
	return host
}

// sample is a path that an expression may match.
func (d dice) sample(path string) string {
	if !strings.ContainsAny(path, "()[]{}*+?$|\\") {
		return path
	}
	parsed, err := syntax.Parse(path, syntax.Perl)
	if err != nil {
		return strings.NewReplacer("(", "", ")", "").Replace(path)
	}
	var out strings.Builder
	d.expand(&out, parsed)
	return out.String()
}

func (d dice) expand(out *strings.Builder, e *syntax.Regexp) {
	repeat := func(least, most int) {
		for range least + d.IntN(most-least+1) {
			d.expand(out, e.Sub[0])
		}
	}
	switch e.Op {
	case syntax.OpLiteral:
		out.WriteString(string(e.Rune))
	case syntax.OpCharClass:
		r := e.Rune[0]
		if unicode.IsPrint(r) && r < unicode.MaxASCII {
			out.WriteRune(r)
		} else {
			out.WriteByte('z')
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		out.WriteString(d.one("x", "/", "y", "1", "b"))
	case syntax.OpStar:
		repeat(0, 4)
	case syntax.OpPlus:
		repeat(1, 4)
	case syntax.OpQuest:
		repeat(0, 1)
	case syntax.OpRepeat:
		repeat(e.Min, e.Min)
	case syntax.OpAlternate:
		d.expand(out, e.Sub[d.IntN(len(e.Sub))])
	default:
		for _, sub := range e.Sub {
			d.expand(out, sub)
		}
	}
}

// target bends a path, up to three times.
func (d dice) target(path string) string {
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	path = strings.NewReplacer(" ", "%20", "?", "%3F", "é", "%C3%A9").Replace(path)
	for range d.IntN(4) {
		at := 1 + d.IntN(len(path))
		switch d.IntN(12) {
		case 0:
			path += "/"
		case 1:
			path = "/" + strings.TrimPrefix(strings.TrimSuffix(path, "/"), "/")
		case 2:
			path += d.one("/x", "x", "/bar", ".html", "/x/y/", "%20", "/%C3%A9", "/a+b", "/~u", "/;p=1", "/x%2Fy", "//")
		case 3:
			path = strings.ToUpper(path)
		case 4:
			path = strings.Replace(path, "o", d.one("%6f", "%6F", "O"), 1)
		case 5:
			path = path[:at] + "/" + path[at:]
		case 6:
			path = d.one("/.", "/x/..", "/./x/../", "//") + path
		case 7:
			path += d.one("/.", "/..", "/x/..", "/../..", "/%2e%2e/")
		case 8:
			path = strings.Replace(path, "/", "%2F", 1)
			if !strings.HasPrefix(path, "/") {
				path = "/" + path
			}
		case 9:
			path = path[:at]
		}
	}
	return path + d.one("", "", "", "", "?q=1", "?", "?q=/", "?a=b&c=%2F/")
}

// oddities are requests that few clients send.
func (d dice) oddities(r *Request, host string) {
	switch d.IntN(100) {
	case 0:
		r.Version = "HTTP/1.0"
	case 1:
		r.Version, r.Host = "HTTP/1.0", "-"
	case 2:
		r.Host = d.one("", "-", "a b", "_", "[::1]", "a.example/x", "A.EXAMPLE.:80", "a..example", "127.0.0.1:80")
	case 3:
		r.Target = d.one("http://", "https://", "HTTP://") + strings.TrimPrefix(host, "*.") + r.Target
	case 4:
		r.Target = d.one("*", "/?", "/#x", "/%", "/%zz", "/a%00b", "/\\x", "/x?a b", "/..", "/%2e%2e/%2e%2e", "/\xff", "/foo%0d%0aX:y", "//"+host+"/")
	case 5:
		r.Headers = append(r.Headers, d.one("X-Forwarded-Host: ", "X-Forwarded-Proto: ", "X_Forwarded_Proto: https", "X-Forwarded-Port: ", "Expect: 100-continue", "Upgrade: websocket"))
	}
}

func (d dice) headers(r *Request) {
	add := func(percent int, name string, values ...string) {
		if d.chance(percent) {
			r.Headers = append(r.Headers, name+": "+d.one(values...))
		}
	}
	add(20, d.one("X-Try", "x-try", "Try"), "always", "never", "Yes", "yes", "12", "Always")
	add(15, "Cookie", "try=always", "try=never", "Try=always", "a=b; try=always", "try-2=always", "stick=abc|def")
	add(15, "Origin", "https://o.example", "https://x.o.example", "http://p.example:8080", "null", "http://evil.example")
	add(10, "X-Forwarded-Proto", "https", "http", "wss")
	add(5, "X-Forwarded-Host", "f.example", "f.example, g.example", "f.example:8080")
	add(10, "X-Forwarded-For", "127.0.0.2", "10.0.0.1, 127.1.2.3", "127.1.2.3, 10.0.0.1")
	add(3, "X-Client", "127.0.0.2")
	add(3, "X-Forwarded-Port", "8443")
	add(10, "User-Agent", "bad", "an EVIL one", "good")
	add(3, "Referer", "http://spam.example/", "http://a.example/")
	add(10, "X-Oracle-Answer", "404", "500", "503", "302")
	add(5, "X-Oracle-Reply", "Location: http://old.example/x", "Set-Cookie: a=b; Path=/a")
	add(40, "X-Oracle-Auth", "200", "200", "401", "403", "500", "302")
	add(10, "Authorization", "Basic dXNlcjpwYXNz", "Basic dXNlcjp3cm9uZw==")
	if r.Method == http.MethodPost && d.chance(50) {
		r.Body = d.one("x", "a body of more than eight", "")
	}
}
