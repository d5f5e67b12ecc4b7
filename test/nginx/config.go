package nginx

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// This file reads the controller's ConfigMap (controller/config/config.go, controller/template/configmap.go).
// Keys that change no answer are not looked at.

type configuration struct {
	sslRedirect, forceSSLRedirect, keepSlash, portInRedirects, serviceUpstream bool
	redirectCode                                                               int
	allow, deny                                                                []string // source ranges of Ingresses that name none
	blockRanges, blockAgents, blockReferers                                    []string
	hsts, hstsSubdomains, hstsPreload                                          bool
	hstsAge                                                                    string
	forwarded, proxyProtocol, realIP, fullForwardedFor, originalURI            bool
	forwardedFor, forwardedHost                                                string
	trusted                                                                    []string
	errors                                                                     []int
	noIntercept, relative                                                      bool
	noRedirect, noAuth                                                         string
	crossNamespace, snippets                                                   bool
	risk                                                                       string
	blockedWords                                                               string
	rejectHandshake, underscores, ignoreInvalid, requestID                     bool
	bodySize, cookieDomain, cookiePath, redirectFrom, redirectTo               string
	added, sent                                                                map[string]string // headers of answers and of requests
	allowedHeaders                                                             []string
	locationSnippet, serverSnippet, httpSnippet                                string
	auth                                                                       external
}

func (c *Cluster) configuration() configuration {
	d := data(c.Config)
	config := configuration{
		sslRedirect: d.flag("ssl-redirect", true), forceSSLRedirect: d.flag("force-ssl-redirect", false),
		keepSlash: d.flag("preserve-trailing-slash", false), portInRedirects: d.flag("use-port-in-redirects", false),
		serviceUpstream: d.flag("service-upstream", false), redirectCode: 308,
		allow: d.list("whitelist-source-range"), deny: d.list("denylist-source-range"),
		blockRanges: d.list("block-cidrs"), blockAgents: d.list("block-user-agents"), blockReferers: d.list("block-referers"),
		hsts: d.flag("hsts", true), hstsSubdomains: d.flag("hsts-include-subdomains", true), hstsPreload: d.flag("hsts-preload", false),
		hstsAge:   d.text("hsts-max-age", "31536000"),
		forwarded: d.flag("use-forwarded-headers", false), proxyProtocol: d.flag("use-proxy-protocol", false),
		realIP: d.flag("enable-real-ip", false), fullForwardedFor: d.flag("compute-full-forwarded-for", false),
		originalURI:  d.flag("proxy-add-original-uri-header", false),
		forwardedFor: d.text("forwarded-for-header", "X-Forwarded-For"), forwardedHost: d.text("forwarded-host-header", "X-Forwarded-Host"),
		trusted: d.list("proxy-real-ip-cidr"), noIntercept: d.flag("disable-proxy-intercept-errors", false),
		relative:   d.flag("relative-redirects", false),
		noRedirect: d.text("no-tls-redirect-locations", "/.well-known/acme-challenge"),
		noAuth:     d.text("no-auth-locations", "/.well-known/acme-challenge"), crossNamespace: d.flag("allow-cross-namespace-resources", false),
		snippets: d.flag("allow-snippet-annotations", false), risk: d.text("annotations-risk-level", "High"),
		blockedWords:    d.text("annotation-value-word-blocklist", ""),
		rejectHandshake: d.flag("ssl-reject-handshake", false), underscores: d.flag("enable-underscores-in-headers", false),
		ignoreInvalid: d.flag("ignore-invalid-headers", true), requestID: d.flag("generate-request-id", true),
		bodySize: d.text("proxy-body-size", "1m"), cookieDomain: d.text("proxy-cookie-domain", "off"),
		cookiePath: d.text("proxy-cookie-path", "off"), redirectFrom: d.text("proxy-redirect-from", "off"),
		redirectTo:     d.text("proxy-redirect-to", "off"),
		allowedHeaders: slices.DeleteFunc(d.list("global-allowed-response-headers"), func(h string) bool { return !headerName(h) }),

		locationSnippet: d.text("location-snippet", ""), serverSnippet: d.text("server-snippet", ""), httpSnippet: d.text("http-snippet", ""),
	}
	if _, set := d["proxy-real-ip-cidr"]; !set {
		config.trusted = []string{"0.0.0.0/0"}
	}
	if code := d.number("http-redirect-code", 308); slices.Contains([]int{301, 302, 307, 308}, code) {
		config.redirectCode = code
	}
	for _, code := range d.list("custom-http-errors") {
		if number, err := strconv.Atoi(code); err == nil && number > 299 && number < 600 {
			config.errors = append(config.errors, number)
		}
	}
	if headers := c.configMap(d["add-headers"]); headers != nil {
		config.added = headers.Data
	}
	if headers := c.configMap(d["proxy-set-headers"]); headers != nil {
		config.sent = headers.Data
	}
	config.auth = d.globalAuth()
	return config
}

// globalAuth is the sub-request of every location that has none of its own.
func (d data) globalAuth() external {
	auth := external{redirect: d["global-auth-request-redirect"], snippet: d["global-auth-snippet"], cacheKey: d["global-auth-cache-key"],
		alwaysCookie: d.flag("global-auth-always-set-cookie", false)}
	if address, ok := absolute(d["global-auth-url"]); ok {
		auth.url, auth.host = d["global-auth-url"], address.Hostname()
	}
	if method := d["global-auth-method"]; method == "" || isMethod(method) {
		auth.method = method
	}
	if _, ok := absolute(d["global-auth-signin"]); ok {
		auth.signIn = d["global-auth-signin"]
	}
	if parameter, set := d["global-auth-signin-redirect-param"]; set {
		if _, ok := absolute(auth.signIn + "?" + strings.TrimSpace(parameter) + "=dummy"); ok {
			auth.signInParameter = strings.TrimSpace(parameter)
		}
	}
	if _, set := d["global-auth-response-headers"]; !set {
		auth.headers = []string{""} // one without a name, which changes nothing
		return auth
	}
	auth.headers = slices.DeleteFunc(d.list("global-auth-response-headers"), func(h string) bool { return !headerName(h) })
	return auth
}

// absolute is an address with scheme and host (parser/main.go, StringToURL).
func absolute(text string) (*url.URL, bool) {
	address, err := url.Parse(text)
	if err != nil || address.Scheme == "" || address.Host == "" || strings.Contains(address.Host, "..") {
		return nil, false
	}
	return address, true
}

// data of a ConfigMap. An unreadable value leaves the default, as mapstructure does for a weakly typed field.
type data map[string]string

func (d data) text(key, otherwise string) string {
	if value, set := d[key]; set {
		return value
	}
	return otherwise
}

func (d data) flag(key string, otherwise bool) bool {
	value, set := d[key]
	if !set {
		return otherwise
	}
	if value == "" {
		return false
	}
	if parsed, err := strconv.ParseBool(value); err == nil {
		return parsed
	}
	return otherwise
}

func (d data) number(key string, otherwise int) int {
	if value, err := strconv.Atoi(d[key]); err == nil {
		return value
	}
	return otherwise
}

func (d data) list(key string) []string {
	found := strings.FieldsFunc(d[key], func(r rune) bool { return r == ',' })
	for i := range found {
		found[i] = strings.TrimSpace(found[i])
	}
	return found
}
