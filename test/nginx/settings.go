package nginx

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	networking "k8s.io/api/networking/v1"
)

// This file reads the annotations of an Ingress (internal/ingress/annotations/*/main.go, each parser under its name
// there, and annotations.go, Extract). A value that is refused has one of four ends:
//   - the default is taken,
//   - the group of annotations is ignored,
//   - the locations answer 503 (a LocationDenied error),
//   - the Ingress does not exist for the controller (a ValidationError that leaves the parser, or a risk too high).

// settings are what the annotations of one Ingress say.
type settings struct {
	aliases   []string
	rewrite   rewriting
	redirect  redirecting
	cors      crossOrigin
	allow     []string
	deny      []string
	denied    string // why every location answers 503
	basic     basic
	auth      external
	noGlobal  bool // without the sub-request of the ConfigMap
	client    clientAuth
	canary    canary
	affinity  affinity
	satisfy   string
	vhost     string
	prefix    string
	protocol  string
	close     string // the header Connection towards the pod
	errors    []int
	intact    bool   // answers of pods are not replaced
	fallback  string // the Service for errors and without endpoints
	headers   map[string]string
	proxy     proxying
	snippet   string
	server    string // snippet of the server
	clusterIP bool
	port      bool // in redirects
}

type rewriting struct {
	target, appRoot                          string
	https, forceHTTPS, keepSlash, expression bool
}

type redirecting struct {
	url           string
	code          int
	www, relative bool
}

type crossOrigin struct {
	enabled, credentials             bool
	origins                          []string
	methods, headers, expose, maxAge string
}

type basic struct {
	enabled, digest bool
	realm           string
	passwords       string
}

type external struct {
	url, host, signIn, signInParameter, method, redirect, snippet, cacheKey string
	headers                                                                 []string
	sent                                                                    map[string]string
	alwaysCookie                                                            bool
}

type clientAuth struct {
	failure                   string // why every request to the host is refused
	authority                 []byte
	verify, errorPage, common string
	depth                     int
	pass                      bool
}

type canary struct {
	enabled                        bool
	weight, total                  int
	header, value, pattern, cookie string
}

type affinity struct {
	cookie, legacy                     bool
	name, path, domain, same, maxAge   string
	expires                            string
	secure, onFailure, conditionalNone bool
}

type proxying struct {
	bodySize, cookieDomain, cookiePath, redirectFrom, redirectTo string
}

var errIgnored = errors.New("the controller ignores the Ingress")

// A reading collects what becomes of the annotations of one Ingress.
type reading struct {
	values
	cluster *Cluster
	config  configuration
	out     settings
	err     error
}

func (c *Cluster) annotations(ingress *networking.Ingress, config configuration) (settings, error) {
	r := &reading{values: values{ingress}, cluster: c, config: config}
	r.risk()
	for _, parse := range []func(){r.servers, r.rewriting, r.redirecting, r.crossOrigin, r.ranges, r.basic, r.external, r.clientAuth,
		r.canary, r.affinity, r.backend, r.responses, r.proxying, r.snippets, r.others} {
		parse()
	}
	return r.out, r.err
}

// drop makes the Ingress one that does not exist.
func (r *reading) drop(state state, key string) {
	if state == invalid && r.err == nil {
		r.err = fmt.Errorf("%w: the value of %s is refused", errIgnored, key)
	}
}

func (r *reading) deny(why string) {
	if r.out.denied == "" {
		r.out.denied = why
	}
}

// must is a text whose refusal drops the Ingress.
func (r *reading) must(valid check, key string) string {
	value, state := r.text(valid, key)
	r.drop(state, key)
	return value
}

func (r *reading) mustFlag(key string) (bool, state) {
	value, state := r.flag(key)
	r.drop(state, key)
	return value, state
}

// risks are the annotations of more than low risk.
var risks = map[string]string{
	"critical": "configuration-snippet server-snippet stream-snippet auth-snippet modsecurity-snippet",
	"high": "server-alias auth-url auth-signin auth-tls-error-page auth-tls-match-cn mirror-target mirror-host " +
		"modsecurity-transaction-id upstream-hash-by proxy-ssl-name",
	"medium": "auth-secret auth-realm affinity-mode session-cookie-name session-cookie-expires session-cookie-max-age " +
		"session-cookie-path session-cookie-domain x-forwarded-prefix fastcgi-index fastcgi-params-configmap denylist-source-range " +
		"opentelemetry-operation-name proxy-ssl-secret proxy-ssl-ciphers canary-by-header canary-by-header-value " +
		"canary-by-header-pattern canary-by-cookie allowlist-source-range whitelist-source-range auth-signin-redirect-param " +
		"auth-cache-key auth-cache-duration auth-response-headers auth-proxy-set-headers auth-request-redirect auth-tls-secret " +
		"auth-tls-verify-client cors-allow-origin cors-allow-headers cors-allow-methods cors-expose-headers proxy-cookie-path " +
		"proxy-cookie-domain proxy-body-size proxy-next-upstream proxy-redirect-from proxy-redirect-to rewrite-target " +
		"preserve-trailing-slash force-ssl-redirect app-root custom-headers temporal-redirect permanent-redirect",
}

// risk drops an Ingress with an annotation that the ConfigMap holds for too dangerous, or with a word that it bars.
func (r *reading) risk() {
	for _, level := range []string{"critical", "high", "medium"} {
		if strings.EqualFold(r.config.risk, level) {
			break
		}
		for key := range strings.FieldsSeq(risks[level]) {
			if _, there := r.ingress.Annotations[prefix+key]; there {
				r.drop(invalid, key)
			}
		}
	}
	if r.config.blockedWords == "" {
		return
	}
	for _, word := range strings.Split(strings.TrimSpace(r.config.blockedWords), ",") {
		for key, value := range r.ingress.Annotations {
			if strings.HasPrefix(key, prefix) && strings.Contains(value, word) {
				r.drop(invalid, key)
			}
		}
	}
}

func (r *reading) servers() {
	aliases, state := r.text(serverNames, "server-alias")
	r.drop(state, "server-alias")
	for _, alias := range strings.Split(aliases, ",") {
		if alias = strings.TrimSpace(alias); alias != "" {
			r.out.aliases = append(r.out.aliases, alias)
		}
	}
	slices.Sort(r.out.aliases)
	r.out.aliases = slices.Compact(r.out.aliases)
}

func (r *reading) rewriting() {
	r.out.rewrite = rewriting{
		target: r.or("", captures, "rewrite-target"), https: r.flagOr(r.config.sslRedirect, "ssl-redirect"),
		keepSlash:  r.flagOr(r.config.keepSlash, "preserve-trailing-slash"),
		forceHTTPS: r.flagOr(r.config.forceSSLRedirect, "force-ssl-redirect"), expression: r.flagOr(false, "use-regex"),
		appRoot: r.or("", captures, "app-root"),
	}
	if root, err := url.ParseRequestURI(r.out.rewrite.appRoot); err != nil || root.IsAbs() {
		r.out.rewrite.appRoot = ""
	}
}

// redirecting: one broken value, even an empty one, takes the whole group away.
func (r *reading) redirecting() {
	www, s1 := r.mustFlag("from-to-www-redirect")
	if s1 == empty {
		return
	}
	relative, s2 := r.mustFlag("relative-redirects")
	if s2 == empty {
		return
	}
	temporal, state := r.text(address, "temporal-redirect")
	r.drop(state, "temporal-redirect")
	if state == empty {
		return
	}
	found := redirecting{url: temporal, www: www, relative: relative}
	if temporal != "" {
		code, state := r.number("temporal-redirect-code")
		r.drop(state, "temporal-redirect-code")
		target, err := url.Parse(temporal)
		if state == empty || err != nil || !strings.HasPrefix(target.Scheme, "http") {
			return
		}
		if found.code = code; code < 300 || code > 307 {
			found.code = http.StatusFound
		}
		r.out.redirect = found
		return
	}
	permanent, state := r.text(address, "permanent-redirect")
	r.drop(state, "permanent-redirect")
	if state == empty {
		return
	}
	code, s3 := r.number("permanent-redirect-code")
	r.drop(s3, "permanent-redirect-code")
	if s3 == empty {
		return
	}
	if found.url, found.code = permanent, code; code < 300 || code > 308 {
		found.code = http.StatusMovedPermanently
	}
	r.out.redirect = found
}

var (
	originList = pattern(`^((((([a-z]+://)?(\*\.)?[A-Za-z0-9\-.]*(:\d+)?,?)|null)+)|\*)?$`)
	origin     = pattern(`^([a-z]+://(\*\.)?[A-Za-z0-9\-.]*(:\d+)?|\*|null)?$`)
	methods    = pattern(`^([A-Za-z]+,?\s?)+$`)
	exposed    = pattern(`^(([A-Za-z0-9\-_]+|\*),?\s?)+$`)
)

func (r *reading) crossOrigin() {
	cors := crossOrigin{
		enabled: r.flagOr(false, "enable-cors"), credentials: r.flagOr(true, "cors-allow-credentials"),
		headers: r.or("DNT,Keep-Alive,User-Agent,X-Requested-With,If-Modified-Since,Cache-Control,Content-Type,Range,Authorization",
			names.unspaced(), "cors-allow-headers"),
		methods: r.or("GET, PUT, POST, DELETE, PATCH, OPTIONS", methods.unspaced(), "cors-allow-methods"),
		expose:  r.or("", exposed.unspaced(), "cors-expose-headers"),
		maxAge:  strconv.Itoa(r.numberOr(1728000, "cors-max-age")), origins: []string{"*"},
	}
	if !methods(cors.methods) {
		cors.methods = "GET, PUT, POST, DELETE, PATCH, OPTIONS"
	}
	if cors.expose != "" && !exposed(cors.expose) {
		cors.expose = ""
	}
	if list, state := r.text(originList.unspaced(), "cors-allow-origin"); state == given {
		cors.origins = nil
		for _, one := range strings.Split(list, ",") {
			one = strings.TrimSpace(one)
			if one == "*" {
				cors.origins = []string{"*"}
				break
			}
			if one != "" && origin(one) {
				cors.origins = append(cors.origins, one)
			}
		}
	}
	r.out.cors = cors
}

func (r *reading) ranges() {
	r.out.allow = r.sources(r.config.allow, "allowlist-source-range", "whitelist-source-range")
	r.out.deny = r.sources(r.config.deny, "denylist-source-range")
}

func (r *reading) sources(otherwise []string, keys ...string) []string {
	list, state := r.text(isRanges, keys...)
	if state == given {
		found, err := ranges(list)
		if err == nil {
			return found
		}
		state = invalid
	}
	if state != absent {
		r.deny(keys[0])
	}
	return slices.Sorted(slices.Values(otherwise))
}

// own is the name of an object of an annotation, in the Ingress's namespace unless the ConfigMap permits others.
func (r *reading) own(name string) (string, bool) {
	parts := strings.Split(name, "/")
	switch {
	case len(parts) == 1, len(parts) == 2 && parts[0] == "":
		return r.ingress.Namespace + "/" + parts[len(parts)-1], true
	case len(parts) == 2 && (r.config.crossNamespace || parts[0] == r.ingress.Namespace):
		return name, true
	}
	return "", false
}

func (r *reading) basic() {
	kind, state := r.text(pattern(`basic|digest`).unspaced(), "auth-type")
	r.drop(state, "auth-type")
	if state != given {
		return
	}
	format, state := r.text(pattern(`auth-file|auth-map`).unspaced(), "auth-secret-type")
	r.drop(state, "auth-secret-type")
	if state != given {
		format = "auth-file"
	}
	name, state := r.text(plain.unspaced(), "auth-secret")
	key, ok := r.own(name)
	secret := r.cluster.secret(key)
	if state != given || !ok || secret == nil {
		r.deny("auth-secret")
		return
	}
	realm := r.must(spaced, "auth-realm")
	r.out.basic = basic{enabled: true, digest: kind != "basic", realm: realm}
	switch {
	case format == "auth-map":
		for user, password := range secret.Data {
			r.out.basic.passwords += user + ":" + string(password) + "\n"
		}
	case format != "auth-file" || secret.Data["auth"] == nil:
		r.out.basic = basic{}
		r.deny("auth-secret")
	default:
		r.out.basic.passwords = string(secret.Data["auth"])
	}
}

var (
	isMethod   = pattern(`^(GET|HEAD|POST|PUT|PATCH|DELETE|CONNECT|OPTIONS|TRACE)$`)
	headerName = pattern(`^[a-zA-Z\d\-_]+$`)
)

// external is the sub-request of auth-url. A few broken values beside it take it away without a refusal, and so open
// the location: those of auth-request-redirect, auth-always-set-cookie and auth-cache-duration.
func (r *reading) external() {
	r.out.noGlobal = !r.flagOr(true, "enable-global-auth")
	target, state := r.text(variable.unspaced(), "auth-url")
	r.drop(state, "auth-url")
	if state != given {
		return
	}
	parsed, ok := absolute(target)
	if !ok {
		r.deny("auth-url")
		return
	}
	auth := external{url: target, host: parsed.Hostname(), signIn: r.or("", variable.unspaced(), "auth-signin"),
		signInParameter: r.or("", address.unspaced(), "auth-signin-redirect-param"), snippet: r.or("", nil, "auth-snippet"),
		cacheKey: r.or("", variables.unspaced(), "auth-cache-key")}
	if auth.method, state = r.text(isMethod.unspaced(), "auth-method"); state == invalid {
		r.deny("auth-method")
		return
	}
	duration, state := r.text(listed, "auth-cache-duration")
	if state == invalid {
		return
	}
	if !durations(duration) {
		r.deny("auth-cache-duration")
		return
	}
	list, state := r.text(names.unspaced(), "auth-response-headers")
	if state == invalid {
		r.deny("auth-response-headers")
		return
	}
	for _, header := range strings.Split(list, ",") {
		if header = strings.TrimSpace(header); header != "" {
			if !headerName(header) {
				r.deny("auth-response-headers")
				return
			}
			auth.headers = append(auth.headers, header)
		}
	}
	if !r.sent(&auth) {
		r.deny("auth-proxy-set-headers")
		return
	}
	if auth.redirect, state = r.text(address.unspaced(), "auth-request-redirect"); state == invalid {
		return
	}
	if auth.alwaysCookie, state = r.flag("auth-always-set-cookie"); state == invalid {
		return
	}
	r.out.auth = auth
}

// sent are headers of a ConfigMap for the sub-request, which is named with its namespace.
func (r *reading) sent(auth *external) bool {
	name := r.or("", plain.unspaced(), "auth-proxy-set-headers")
	if name == "" {
		return true
	}
	if _, ok := r.own(name); !ok {
		return false
	}
	contents := r.cluster.configMap(name)
	if contents == nil {
		return false
	}
	for header := range contents.Data {
		if !headerName(header) {
			return false
		}
	}
	auth.sent = contents.Data
	return true
}

var (
	code     = regexp.MustCompile(`^\d{3}$`)
	duration = regexp.MustCompile(`^\d+(ms|s|m|h|d|w|M|y)$`)
)

func durations(list string) bool {
	for _, one := range strings.Split(list, ",") {
		fields, timed := strings.Fields(one), false
		for _, field := range fields {
			if code.MatchString(field) && timed {
				return false
			}
			timed = timed || duration.MatchString(field)
		}
		if len(fields) > 0 && !timed {
			return false
		}
	}
	return true
}

var (
	verification = pattern(`^(on|off|optional|optional_no_ca)$`)
	errorPage    = pattern(`^(@[A-Za-z0-9_-]+|((https?://)?[A-Za-z0-9\-.]+(:\d+)?)?(/[A-Za-z0-9\-_.]+)*/?)$`)
)

func commonName(value string) bool {
	expression, ok := strings.CutPrefix(value, "CN=")
	_, err := regexp.Compile(expression)
	return ok && err == nil
}

// ownSecret is a certificate that an annotation names with its namespace.
func (r *reading) ownSecret(name string) (*certificate, bool) {
	if strings.Count(name, "/") != 1 {
		return nil, false
	}
	key, ok := r.own(name)
	if !ok {
		return nil, false
	}
	found, err := r.cluster.certificate(key)
	return found, err == nil
}

func (r *reading) clientAuth() {
	name, state := r.text(plain.unspaced(), "auth-tls-secret")
	r.drop(state, "auth-tls-secret")
	if state != given {
		return
	}
	found, ok := r.ownSecret(name)
	if !ok {
		r.deny("auth-tls-secret")
		r.out.client.failure = "auth-tls-secret"
		return
	}
	r.out.client = clientAuth{authority: found.authority, verify: r.or("on", verification.unspaced(), "auth-tls-verify-client"),
		depth: r.numberOr(1, "auth-tls-verify-depth"), errorPage: r.must(errorPage.unspaced(), "auth-tls-error-page"),
		common: r.must(commonName, "auth-tls-match-cn")}
	r.out.client.pass, _ = r.mustFlag("auth-tls-pass-certificate-to-upstream")
	if !verification(r.out.client.verify) {
		r.out.client.verify = "on"
	}
	if r.out.client.depth == 0 {
		r.out.client.depth = 1
	}
}

func (r *reading) canary() {
	found := canary{
		enabled: r.flagOr(false, "canary"), weight: r.numberOr(0, "canary-weight"), total: r.numberOr(100, "canary-weight-total"),
		header: r.or("", plain.unspaced(), "canary-by-header"), value: r.or("", plain.unspaced(), "canary-by-header-value"),
		pattern: r.or("", patterned, "canary-by-header-pattern"), cookie: r.or("", plain.unspaced(), "canary-by-cookie"),
	}
	if found.enabled {
		r.out.canary = found
	}
}

var seconds = pattern(`(^0|-?[1-9]\d*$)`)

func (r *reading) affinity() {
	if r.or("", oneOf(false, "cookie"), "affinity") != "cookie" {
		r.out.affinity.legacy = r.or("", oneOf(false, "sticky", "legacy"), "affinity-canary-behavior") == "legacy"
		return
	}
	r.out.affinity = affinity{
		cookie: true, legacy: r.or("", oneOf(false, "sticky", "legacy"), "affinity-canary-behavior") == "legacy",
		name: r.or("INGRESSCOOKIE", plain.unspaced(), "session-cookie-name"), path: r.or("", address.unspaced(), "session-cookie-path"),
		domain: r.or("", plain.unspaced(), "session-cookie-domain"), maxAge: r.or("", seconds, "session-cookie-max-age"),
		expires: r.or("", seconds.unspaced(), "session-cookie-expires"),
		same:    r.or("", oneOf(true, "none", "lax", "strict"), "session-cookie-samesite"),
		secure:  r.flagOr(false, "session-cookie-secure"), onFailure: r.flagOr(false, "session-cookie-change-on-failure"),
		conditionalNone: r.flagOr(false, "session-cookie-conditional-samesite-none"),
	}
}

func (r *reading) backend() {
	r.out.vhost = r.must(serverName, "upstream-vhost")
	r.out.prefix = r.must(captures.unspaced(), "x-forwarded-prefix")
	r.out.protocol = strings.ToUpper(r.or("HTTP", oneOf(true, "auto_http", "http", "https", "grpc", "grpcs", "fcgi"), "backend-protocol"))
	r.out.close = r.must(pattern(`^(close|keep-alive)$`).unspaced(), "connection-proxy-header")
	r.out.satisfy = r.or("", oneOf(false, "any", "all"), "satisfy")
	if _, state := r.text(nil, "service-upstream"); state == absent {
		r.out.clusterIP = r.config.serviceUpstream
	} else {
		r.out.clusterIP = r.flagOr(false, "service-upstream")
	}
	r.out.port = r.flagOr(r.config.portInRedirects, "use-port-in-redirects")
}

var (
	errorCodes  = pattern(`^(?:[4,5]\d{2},?)*$`)
	headerValue = pattern("^[a-zA-Z\\d_ :;.,\\\\/\"'?!(){}\\[\\]@<>=\\-+*#$&`|~^%]+$")
)

func (r *reading) responses() {
	for _, code := range strings.Split(r.must(errorCodes.unspaced(), "custom-http-errors"), ",") {
		if code = strings.TrimSpace(code); code == "" {
			continue
		}
		number, err := strconv.Atoi(code)
		if err != nil {
			r.out.errors = nil
			break
		}
		r.out.errors = append(r.out.errors, number)
	}
	r.out.intact = r.flagOr(false, "disable-proxy-intercept-errors")
	if name := r.must(label, "default-backend"); name != "" && r.cluster.service(r.ingress.Namespace+"/"+name) != nil {
		r.out.fallback = r.ingress.Namespace + "/" + name
	}
	name := r.or("", plain.unspaced(), "custom-headers")
	if name == "" {
		return
	}
	contents := r.cluster.configMap(name)
	if contents == nil {
		r.deny("custom-headers")
		return
	}
	for header, value := range contents.Data {
		if !headerName(header) || !headerValue(value) || !slices.Contains(r.config.allowedHeaders, header) {
			r.deny("custom-headers")
			return
		}
	}
	r.out.headers = contents.Data
}

func (r *reading) proxying() {
	r.out.proxy = proxying{
		bodySize:     r.or(r.config.bodySize, sized.unspaced(), "proxy-body-size"),
		cookieDomain: r.or(r.config.cookieDomain, pattern(`^(off|[a-zA-Z0-9\-._~*]+\s+[a-zA-Z0-9\-._~*]+)$`), "proxy-cookie-domain"),
		cookiePath:   r.or(r.config.cookiePath, address.unspaced(), "proxy-cookie-path"),
		redirectFrom: r.or(r.config.redirectFrom, address.unspaced(), "proxy-redirect-from"),
		redirectTo:   r.or(r.config.redirectTo, address.unspaced(), "proxy-redirect-to"),
	}
}

func (r *reading) snippets() {
	if !r.config.snippets {
		r.out.auth.snippet = ""
		return
	}
	r.out.snippet, r.out.server = r.or("", nil, "configuration-snippet"), r.or("", nil, "server-snippet")
}

// others change no answer here, and drop the Ingress if they are refused.
func (r *reading) others() {
	r.must(sized.unspaced(), "client-body-buffer-size")
	r.must(pattern(`^[A-Za-z0-9.\-_]+$`).unspaced(), "fastcgi-index")
	if name := r.must(plain.unspaced(), "fastcgi-params-configmap"); name != "" {
		if key, ok := r.own(name); ok && r.cluster.configMap(key) == nil || strings.Count(name, "/") > 1 {
			r.deny("fastcgi-params-configmap")
		}
	}
	if name := r.must(plain.unspaced(), "proxy-ssl-secret"); name != "" {
		if _, ok := r.ownSecret(name); !ok {
			r.deny("proxy-ssl-secret")
		}
	}
	r.must(oneOf(false, "round_robin", "chash", "chashsubset", "sticky_balanced", "sticky_persistent", "ewma"), "load-balance")
	r.must(pattern(`^(?:(?:[A-Za-z0-9!:+\-_])*(?:@STRENGTH)*(?:@SECLEVEL=[0-5])*(?:@STRENGTH)*)*$`).unspaced(), "ssl-ciphers")
	r.must(pattern(`^[A-Za-z0-9\-_${}]*$`).unspaced(), "upstream-hash-by")
	for _, key := range []string{"http2-push-preload", "ssl-passthrough", "upstream-hash-by-subset"} {
		r.mustFlag(key)
	}
	for _, key := range []string{"limit-rpm", "limit-rps", "limit-connections", "upstream-hash-by-subset-size"} {
		_, state := r.number(key)
		r.drop(state, key)
	}
	if _, state := r.text(isRanges, "limit-allowlist", "limit-whitelist"); state == invalid {
		r.drop(state, "limit-allowlist")
	}
	if enabled, state := r.flag("enable-opentelemetry"); enabled && state == given {
		r.must(pattern(`^[A-Za-z0-9_\-]*$`).unspaced(), "opentelemetry-operation-name")
	}
}
