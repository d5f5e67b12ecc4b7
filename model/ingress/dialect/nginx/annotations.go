package nginx

import (
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model/ingress/dialect"
	"fairlead.dev/fairlead/model/ingress/foreign"
)

// This file reads the annotations of an Ingress, as the packages below internal/ingress/annotations do. A value that fails the
// validator of its annotation is ignored by some of them, and has the whole Ingress ignored by others.

// Prefix is the beginning of the controller's annotations.
const Prefix = "nginx.ingress.kubernetes.io/"

// settings is what the annotations of one Ingress say.
type settings struct {
	rewrite            string
	regex              bool
	sslRedirect, force bool
	keepSlash          bool
	portInRedirect     bool
	appRoot            string
	redirect           *redirect
	www                bool
	relative           bool
	allow, deny        []netip.Prefix
	denied             string // the annotation for which every request is answered 503; "" for none
	aliases            []string
	canary             *canary
	host               string // for the Pods; "" for the client's
	protocol           string // of the Pods, in upper case
	sticky             bool
	stickySeconds      int
	passthrough        bool
	cors               crossOrigin
	defaultBackend     string
	ignored            string // the annotation for which the controller ignores the Ingress; "" for none
	verdicts           []dialect.Verdict
	own                map[string]string // annotations of Fairlead
	origins            map[string]string
	refused            bool
}

// A redirect answers each request.
type redirect struct {
	url, key string
	code     int
}

// A canary says which requests of another Ingress's Service its own Services get.
type canary struct {
	header, value, pattern, cookie string
	weight, total                  int
}

// An annotated reads the annotations of an Ingress.
type annotated struct {
	*networkingv1.Ingress
	config *Config
	out    *settings
	told   map[string]bool
}

// readAnnotations reads the annotations of an Ingress.
func readAnnotations(ing *networkingv1.Ingress, c *Config) *settings {
	s := &settings{sslRedirect: c.SSLRedirect, force: c.ForceSSLRedirect, keepSlash: c.PreserveTrailingSlash,
		portInRedirect: c.UsePortInRedirects, relative: c.RelativeRedirects, allow: c.Allow, deny: c.Deny, protocol: "HTTP",
		own: map[string]string{}, origins: map[string]string{}}
	a := annotated{ing, c, s, map[string]bool{}}
	for _, row := range rows {
		row.read(&a)
	}
	for _, key := range slices.Sorted(maps.Keys(ing.Annotations)) {
		name, theirs := strings.CutPrefix(key, Prefix)
		if theirs && riskOf(name) > c.risk {
			s.ignored = name
			a.say(name, dialect.Refused, "the controller's `annotations-risk-level` forbids it, and ingress-nginx ignores the Ingress: "+
				"remove it")
			continue
		}
		if theirs && !a.told[name] {
			a.others(name, ing.Annotations[key])
		}
	}
	slices.SortStableFunc(s.verdicts, func(a, b dialect.Verdict) int { return strings.Compare(a.Key, b.Key) })
	for _, v := range s.verdicts {
		s.refused = s.refused || v.Outcome == dialect.Refused
	}
	return s
}

// A row reads annotations that belong together.
type row struct {
	names string
	read  func(*annotated)
}

// Annotations returns the names of all annotations of the controller, sorted.
func Annotations() (all []string) {
	for _, r := range rows {
		all = append(all, strings.Fields(r.names)...)
	}
	for _, t := range alone {
		all = append(all, strings.Fields(t.names)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// say says what becomes of an annotation.
func (a *annotated) say(name string, o dialect.Outcome, format string, args ...any) {
	message := ""
	if format != "" {
		message = fmt.Sprintf(a.config.worded(format), args...)
	}
	a.tell(name, said{o, message})
}

func (a *annotated) tell(name string, what said) {
	a.told[name] = true
	a.out.verdicts = append(a.out.verdicts, dialect.Verdict{Key: Prefix + name, Outcome: what.outcome, Message: what.message})
}

// text returns the value of an annotation, without spaces around its lines (annotations/parser/main.go). An empty one counts as
// none.
func (a *annotated) text(name string, valid func(string) bool) (value string, state state) {
	text, is := a.Annotations[Prefix+name]
	if !is {
		return "", missing
	}
	if text != "" && valid != nil && !valid(text) {
		return "", invalid
	}
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	if text = strings.Join(lines, "\n"); text == "" {
		return "", empty
	}
	return text, good
}

// A state says whether an annotation has a value.
type state uint8

const (
	missing state = iota
	empty         // it is there, without a value
	invalid
	good
)

const ignoredValue = "its value is invalid, and ignored, as with ingress-nginx"

// flag reads an annotation that is true or false. It says so if the value is ignored.
func (a *annotated) flag(name string, to *bool) (said bool) {
	text, is := a.Annotations[Prefix+name]
	if !is {
		return false
	}
	on, err := strconv.ParseBool(text)
	if err != nil {
		a.say(name, dialect.Same, ignoredValue)
		return false
	}
	*to = on
	return true
}

// number reads an annotation that is a number.
func (a *annotated) number(name string, to *int) {
	text, is := a.Annotations[Prefix+name]
	if !is {
		return
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		a.say(name, dialect.Same, ignoredValue)
		return
	}
	*to = n
}

// ignores says that the controller ignores the whole Ingress for an annotation.
func (a *annotated) ignores(name string) {
	a.out.ignored = name
	a.say(name, dialect.Refused, "its value is invalid, and ingress-nginx ignores the Ingress: correct or remove it")
}

// The characters that values may have (annotations/parser/validators.go).
var (
	pathCharacters   = regexp.MustCompile(`^/?[-._~a-zA-Z0-9/:$]*$`)
	urlCharacters    = regexp.MustCompile(`^[-._~a-zA-Z0-9/:,?&=]*$`)
	basicCharacters  = regexp.MustCompile(`^[-._~a-zA-Z0-9/:]*$`)
	regexpCharacters = regexp.MustCompile(`^[-._~a-zA-Z0-9/:^$\[\](){}*+?|&=\\]*$`)
)

func withoutSpaces(re *regexp.Regexp) func(string) bool {
	return func(s string) bool { return re.MatchString(strings.ReplaceAll(s, " ", "")) }
}

var rows = []row{
	{"rewrite-target use-regex", readRewrite},
	{"ssl-redirect force-ssl-redirect preserve-trailing-slash use-port-in-redirects", readSecureRedirect},
	{"app-root", readAppRoot},
	{"permanent-redirect permanent-redirect-code temporal-redirect temporal-redirect-code from-to-www-redirect relative-redirects",
		readRedirects},
	{"allowlist-source-range whitelist-source-range denylist-source-range", readRanges},
	{"server-alias", readAliases},
	{canaryNames, readCanary},
	{"upstream-vhost", readHost},
	{"backend-protocol", readProtocol},
	{"affinity", readAffinity},
	{"default-backend", readDefaultBackend},
	{corsNames, readCORS},
	{"auth-url " + besideAuthURL, readAuthURL},
	{"auth-type " + besideAuthType, readAuthType},
	{"ssl-passthrough", readTLS},
}

func readRewrite(a *annotated) {
	value, how := a.text("rewrite-target", pathCharacters.MatchString)
	switch how {
	case good:
		a.out.rewrite = value
		switch {
		case isURL(value): // its locations say what becomes of groups
			a.say("rewrite-target", dialect.Same, "")
		case !strings.HasPrefix(value, "/") && !digit.MatchString(value):
			a.say("rewrite-target", dialect.Refused, "a path begins with a slash: write %q", "/"+value)
		case variable.MatchString(value):
			a.say("rewrite-target", dialect.Refused, "variables of nginx are unknown to {LB}: only $1 to $9 are")
		default: // a canary's has no effect with ingress-nginx either
			a.say("rewrite-target", dialect.Same, "")
		}
	case invalid, empty:
		a.say("rewrite-target", dialect.Same, ignoredValue)
	}
	if a.flag("use-regex", &a.out.regex) {
		a.say("use-regex", dialect.Same, "")
	}
}

// isURL reports whether nginx redirects to the target of a rewrite: src/http/modules/ngx_http_rewrite_module.c.
func isURL(target string) bool {
	return strings.HasPrefix(target, "http://") || strings.HasPrefix(target, "https://")
}

func readSecureRedirect(a *annotated) {
	s := a.out
	on := a.flag("ssl-redirect", &s.sslRedirect)
	forced := a.flag("force-ssl-redirect", &s.force)
	if a.flag("preserve-trailing-slash", &s.keepSlash) {
		a.say("preserve-trailing-slash", dialect.Same, "")
	}
	if a.flag("use-port-in-redirects", &s.portInRedirect) {
		a.say("use-port-in-redirects", dialect.Same, "")
	}
	if on {
		a.say("ssl-redirect", dialect.Same, "")
	}
	if forced {
		a.say("force-ssl-redirect", dialect.Same, "")
	}
}

func readAppRoot(a *annotated) {
	value, how := a.text("app-root", pathCharacters.MatchString)
	if how == missing {
		return
	}
	u, err := url.ParseRequestURI(value)
	if how != good || err != nil || u.IsAbs() {
		a.say("app-root", dialect.Same, ignoredValue)
		return
	}
	a.out.appRoot = value
	a.say("app-root", dialect.Same, "")
}

func readRedirects(a *annotated) {
	s := a.out
	if a.flagOrIgnored("from-to-www-redirect", &s.www) {
		a.say("from-to-www-redirect", dialect.Same, "")
	}
	if a.flagOrIgnored("relative-redirects", &s.relative) {
		a.say("relative-redirects", dialect.Same, "")
	}
	if !a.redirectOf("temporal-redirect", 302, 307) {
		a.redirectOf("permanent-redirect", 301, 308)
	}
	for _, name := range strings.Fields("temporal-redirect-code permanent-redirect permanent-redirect-code") {
		if _, is := a.Annotations[Prefix+name]; is && !a.told[name] {
			a.say(name, dialect.Same, "")
		}
	}
}

// redirectOf reads a redirect, and reports whether it is the last that is read (redirect.go).
func (a *annotated) redirectOf(name string, otherwise, last int) (done bool) {
	s := a.out
	value, how := a.text(name, urlCharacters.MatchString)
	codeText, hasCode := a.Annotations[Prefix+name+"-code"]
	code, err := strconv.Atoi(codeText)
	switch {
	case how == invalid:
		a.ignores(name)
		return true
	case how == empty: // which is an error, and ends the reading of all of them
		a.say(name, dialect.Same, ignoredValue)
		s.www, s.relative = false, a.config.RelativeRedirects
		return true
	case hasCode && codeText != "" && err != nil && (name == "permanent-redirect" || how == good):
		a.ignores(name + "-code")
	case code < 300 || code > last:
		code = otherwise
	}
	if how != good {
		return false
	}
	u, err := url.Parse(value)
	if name == "temporal-redirect" && (err != nil || !strings.HasPrefix(u.Scheme, "http")) {
		a.say(name, dialect.Same, ignoredValue)
		s.www, s.relative = false, a.config.RelativeRedirects
		return true
	}
	s.redirect = &redirect{value, name, code}
	a.say(name, dialect.Same, "")
	return true
}

// flagOrIgnored reads a flag for whose other values the controller ignores the Ingress.
func (a *annotated) flagOrIgnored(name string, to *bool) bool {
	text, is := a.Annotations[Prefix+name]
	if !is || text == "" {
		return false
	}
	on, err := strconv.ParseBool(text)
	if err != nil {
		a.ignores(name)
		return false
	}
	*to = on
	return true
}

// readRanges reads the lists of clients. With an invalid one, every request is answered 503 (ipallowlist/main.go).
func readRanges(a *annotated) {
	s := a.out
	read := func(name string, to *[]netip.Prefix) {
		value, is := a.Annotations[Prefix+name]
		if !is {
			return
		}
		list, all := rangesIn(value)
		switch {
		case strings.TrimSpace(value) == "":
			s.denied = name
			a.say(name, dialect.Same, "it has no value, and each request is answered 503, as with ingress-nginx: list ranges, or remove it")
			return
		case !all:
			s.denied = name
			a.say(name, dialect.Same, "its value is invalid, and each request is answered 503, as with ingress-nginx")
			return
		}
		*to = list
		a.say(name, dialect.Same, "")
	}
	name := "allowlist-source-range"
	if a.Annotations[Prefix+name] == "" && a.Annotations[Prefix+"whitelist-source-range"] != "" {
		name = "whitelist-source-range"
	}
	read(name, &s.allow)
	for _, other := range []string{"allowlist-source-range", "whitelist-source-range"} {
		_, is := a.Annotations[Prefix+other]
		_, first := a.Annotations[Prefix+name]
		switch {
		case is && other != name && first:
			a.say(other, dialect.Same, "%s goes first, as with ingress-nginx", Prefix+name)
		case is && other != name: // an alias without a value is not read: parser/validators.go, checkAnnotation
			a.say(other, dialect.Same, "it has no value, and no effect, as with ingress-nginx")
		}
	}
	read("denylist-source-range", &s.deny)
}

func readAliases(a *annotated) {
	value, how := a.text("server-alias", func(s string) bool {
		return !slices.ContainsFunc(strings.Split(s, ","), func(one string) bool {
			return !regexpCharacters.MatchString(strings.TrimSpace(one))
		})
	})
	switch how {
	case invalid:
		a.ignores("server-alias")
	case empty:
		a.say("server-alias", dialect.Same, ignoredValue)
	case good:
		a.out.aliases = listOf(value)
		slices.Sort(a.out.aliases)
		a.out.aliases = slices.Compact(a.out.aliases)
		a.say("server-alias", dialect.Same, "")
	}
}

const canaryNames = `canary canary-weight canary-weight-total canary-by-header canary-by-header-value
	canary-by-header-pattern canary-by-cookie`

func readCanary(a *annotated) {
	c := canary{total: 100}
	enabled := false
	a.flag("canary", &enabled)
	a.number("canary-weight", &c.weight)
	a.number("canary-weight-total", &c.total)
	for name, to := range map[string]*string{"canary-by-header": &c.header, "canary-by-header-value": &c.value,
		"canary-by-cookie": &c.cookie} {
		*to = a.canaryText(name, withoutSpaces(basicCharacters))
	}
	c.pattern = a.canaryText("canary-by-header-pattern", regexpCharacters.MatchString)
	if _, err := regexp.Compile(c.pattern); err != nil && c.header != "" && c.value == "" {
		a.say("canary-by-header-pattern", dialect.Refused, "it is no expression that {LB} takes: %s", err)
	}
	if c.total < 100 {
		c.total = 100 // balancer.lua counts to 100 at least
	}
	for _, name := range strings.Fields(canaryNames) {
		if _, is := a.Annotations[Prefix+name]; is && !a.told[name] {
			message := ""
			if !enabled && name != "canary" {
				message = "without " + Prefix + "canary it has no effect, as with ingress-nginx"
			}
			a.tell(name, said{dialect.Same, message})
		}
	}
	if enabled {
		a.out.canary = &c
	}
}

func (a *annotated) canaryText(name string, valid func(string) bool) string {
	value, how := a.text(name, valid)
	if how == invalid || how == empty {
		a.say(name, dialect.Same, ignoredValue)
	}
	return value
}

func readHost(a *annotated) {
	value, how := a.text("upstream-vhost", func(s string) bool { return regexpCharacters.MatchString(strings.TrimSpace(s)) })
	switch how {
	case invalid:
		a.ignores("upstream-vhost")
	case empty:
		a.say("upstream-vhost", dialect.Same, ignoredValue)
	case good:
		a.out.host = value
		if !hostName.MatchString(strings.ToLower(value)) {
			a.say("upstream-vhost", dialect.Refused, "{LB} replaces the host by a host name, without variables")
			return
		}
		a.say("upstream-vhost", dialect.Same, "")
	}
}

func readProtocol(a *annotated) {
	value, how := a.text("backend-protocol", func(s string) bool {
		return slices.Contains(protocols, strings.ToUpper(strings.TrimSpace(s)))
	})
	switch how {
	case missing:
		return
	case invalid, empty:
		a.say("backend-protocol", dialect.Same, ignoredValue)
		return
	}
	a.out.protocol = strings.ToUpper(value)
	switch a.out.protocol {
	case "FCGI":
		a.say("backend-protocol", dialect.Refused, "{LB} does not speak FastCGI: put a web server in front of the Pods")
	case "AUTO_HTTP":
		a.say("backend-protocol", dialect.Refused, "Pods are spoken to with one protocol, whatever the client's is: write HTTP "+
			"or HTTPS")
	default:
		a.say("backend-protocol", dialect.Same, "")
	}
}

var protocols = []string{"AUTO_HTTP", "HTTP", "HTTPS", "GRPC", "GRPCS", "FCGI"}

func readAffinity(a *annotated) {
	value, how := a.text("affinity", func(s string) bool { return strings.TrimSpace(s) == "cookie" })
	switch how {
	case invalid, empty:
		a.say("affinity", dialect.Same, ignoredValue)
	case good:
		a.out.sticky = value == "cookie"
		a.out.stickySeconds = 86400 // an ALB's cookie has an end
		for _, name := range []string{"session-cookie-expires", "session-cookie-max-age"} {
			if n, err := strconv.Atoi(a.Annotations[Prefix+name]); err == nil && n > 0 {
				a.out.stickySeconds = min(n, 604800)
			}
		}
		a.say("affinity", dialect.Changed, "the cookie is {LB}'s own: its name is AWSALB, and it ends after %d seconds",
			a.out.stickySeconds)
	}
}

func readDefaultBackend(a *annotated) {
	value, how := a.text("default-backend", strict["default-backend"])
	if how == invalid {
		a.ignores("default-backend")
	}
	if how != good {
		return
	}
	a.out.defaultBackend = value
	a.say("default-backend", dialect.Changed, "where a Service has no ready Pod, requests are answered 503, and not by Service %s",
		value)
}

// The annotations that say more about auth-url, and about auth-type. Without these they are not read (authreq/main.go, auth/main.go).
const (
	besideAuthURL = "auth-signin auth-signin-redirect-param auth-method auth-response-headers auth-request-redirect auth-cache-key " +
		"auth-cache-duration auth-proxy-set-headers auth-always-set-cookie auth-keepalive auth-keepalive-requests " +
		"auth-keepalive-share-vars auth-keepalive-timeout"
	besideAuthType = "auth-realm auth-secret auth-secret-type"
)

func readAuthURL(a *annotated) {
	a.authentication("auth-url", besideAuthURL, "{LB} asks no other service: `authenticate` of a Backend has users sign in with "+
		"OIDC, Cognito or a JWT")
}

func readAuthType(a *annotated) {
	a.authentication("auth-type", besideAuthType, "{LB} has no passwords of its own: `authenticate` of a Backend has users sign in "+
		"with OIDC, Cognito or a JWT")
}

// authentication refuses an annotation that has clients authenticate, and those that say more about it. With ingress-nginx, one
// without a value asks for nothing.
func (a *annotated) authentication(name, beside, why string) {
	_, how := a.text(name, strict[name])
	switch how {
	case invalid:
		a.ignores(name)
	case good:
		a.tell(name, said{dialect.Refused, a.config.worded(why)})
	case empty:
		a.say(name, dialect.Same, "it has no value, and asks for nothing, as with ingress-nginx")
	}
	for _, other := range strings.Fields(beside) {
		switch _, is := a.Annotations[Prefix+other]; {
		case is && how == good:
			a.tell(other, said{dialect.Refused, a.config.worded(why)})
		case is:
			a.say(other, dialect.Same, "without %s it has no effect, as with ingress-nginx", Prefix+name)
		}
	}
}

func readTLS(a *annotated) {
	if a.flagOrIgnored("ssl-passthrough", &a.out.passthrough) && a.out.passthrough {
		a.say("ssl-passthrough", dialect.Refused, "{LB} ends TLS itself: a Service of type LoadBalancer with an NLB passes it on")
	}
}

// others says what becomes of the annotations that no row reads.
func (a *annotated) others(name, value string) {
	if valid := strict[name]; valid != nil && value != "" && !valid(value) {
		a.ignores(name)
		return
	}
	what := outcomeOf(name, value)
	what.message = a.config.worded(what.message)
	a.tell(name, what)
}

func matching(expression string) func(string) bool {
	return withoutSpaces(regexp.MustCompile(expression))
}

func isInt(s string) bool  { _, err := strconv.Atoi(s); return err == nil }
func isBool(s string) bool { _, err := strconv.ParseBool(s); return err == nil }

func isAlgorithm(s string) bool {
	return slices.Contains(strings.Fields("round_robin chash chashsubset sticky_balanced sticky_persistent ewma"), strings.TrimSpace(s))
}

func areRanges(s string) bool { _, all := rangesIn(s); return all }

// riskOf returns the risk of an annotation: 0 low, 1 medium, 2 high, 3 critical.
func riskOf(name string) int {
	for i, names := range risks {
		if slices.Contains(names, name) {
			return i + 1
		}
	}
	return 0
}

var risks = [][]string{strings.Fields(`affinity-mode allowlist-source-range app-root auth-cache-duration auth-cache-key
		auth-proxy-set-headers auth-realm auth-request-redirect auth-response-headers auth-secret auth-signin-redirect-param
		auth-tls-secret auth-tls-verify-client canary-by-cookie canary-by-header canary-by-header-pattern canary-by-header-value
		cors-allow-headers cors-allow-methods cors-allow-origin cors-expose-headers custom-headers denylist-source-range fastcgi-index
		fastcgi-params-configmap force-ssl-redirect opentelemetry-operation-name permanent-redirect preserve-trailing-slash
		proxy-body-size proxy-cookie-domain proxy-cookie-path proxy-next-upstream proxy-redirect-from proxy-redirect-to
		proxy-ssl-ciphers proxy-ssl-secret rewrite-target session-cookie-domain session-cookie-expires session-cookie-max-age
		session-cookie-name session-cookie-path temporal-redirect whitelist-source-range x-forwarded-prefix`),
	strings.Fields(`auth-signin auth-tls-error-page auth-tls-match-cn auth-url mirror-host mirror-target modsecurity-transaction-id
		proxy-ssl-name server-alias upstream-hash-by`),
	strings.Fields("auth-snippet configuration-snippet modsecurity-snippet server-snippet stream-snippet")}

// strict has what values have to be for the controller not to ignore the Ingress.
var strict = map[string]func(string) bool{
	"client-body-buffer-size":      matching(`^(?i)\d+[bkmg]?$`),
	"connection-proxy-header":      matching(`^(close|keep-alive)$`),
	"custom-http-errors":           matching(`^(?:[4,5]\d{2},?)*$`),
	"default-backend":              matching(`^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`),
	"http2-push-preload":           isBool,
	"load-balance":                 isAlgorithm,
	"limit-rps":                    isInt,
	"limit-rpm":                    isInt,
	"limit-connections":            isInt,
	"limit-allowlist":              areRanges,
	"limit-whitelist":              areRanges,
	"ssl-ciphers":                  matching(`^(?:(?:[A-Za-z0-9!:+\-_])*(?:@STRENGTH)*(?:@SECLEVEL=[0-5])*(?:@STRENGTH)*)*$`),
	"upstream-hash-by":             matching(`^[-A-Za-z0-9_${}]*$`),
	"upstream-hash-by-subset":      isBool,
	"upstream-hash-by-subset-size": isInt,
	"x-forwarded-prefix":           withoutSpaces(pathCharacters),
	"auth-type":                    matching(`basic|digest`),
	"auth-url":                     matching(`^[-._~a-zA-Z0-9/:, ?&=$]*$`),
	"auth-tls-secret":              withoutSpaces(basicCharacters),
	"proxy-ssl-secret":             withoutSpaces(basicCharacters),
}

type said struct {
	outcome dialect.Outcome
	message string
}

// outcomeOf returns what becomes of an annotation that makes no route.
func outcomeOf(name, value string) said {
	for _, t := range alone {
		if slices.Contains(strings.Fields(t.names), name) || t.prefix != "" && strings.HasPrefix(name, t.prefix) {
			if t.unless != nil && t.unless(value) {
				return said{dialect.Same, ""}
			}
			return said{t.outcome, t.message}
		}
	}
	if foreign.LooksRestrictive(name, value) {
		return said{dialect.Refused, "it is unknown, and reads like a restriction: remove it, or leave the Ingress to the other controller"}
	}
	return said{dialect.Dropped, "it is unknown, and has no effect"}
}

func isOff(value string) bool {
	on, err := strconv.ParseBool(strings.TrimSpace(value))
	return strings.TrimSpace(value) == "" || err == nil && !on || value == "off" || value == "0"
}

// alone are the annotations that make no route, and what becomes of them.
var alone = []struct {
	names, prefix string
	outcome       dialect.Outcome
	message       string
	unless        func(value string) bool // the value has no effect
}{
	{"enable-global-auth", "", dialect.Same, "", nil},
	{"satisfy", "", dialect.Same, "", nil}, // it is about authentication, which is refused
	{"auth-tls-secret auth-tls-verify-client auth-tls-verify-depth auth-tls-error-page auth-tls-match-cn " +
		"auth-tls-pass-certificate-to-upstream", "", dialect.Refused, "{LB} verifies clients on a whole port, with a trust store: " +
		"`mutualAuthentication` of the class does it", nil},
	{"configuration-snippet server-snippet auth-snippet stream-snippet modsecurity-snippet", "", dialect.Refused,
		"it is configuration of nginx, which can do anything; without `annotations-risk-level: Critical` in its ConfigMap, ingress-nginx " +
			"ignores the Ingress", nil},
	{"limit-rps limit-rpm limit-connections", "", dialect.Refused, "{LB} limits no rates: a web ACL can have a rule for that " +
		"(`wafv2ACL` of the class)", func(v string) bool { return v == "0" }},
	{"limit-rate limit-rate-after limit-burst-multiplier limit-allowlist limit-whitelist", "", dialect.Dropped,
		"{LB} limits no rates", nil},
	{"enable-modsecurity enable-owasp-core-rules", "", dialect.Refused, "{LB} has no ModSecurity: a web ACL can have managed rules " +
		"(`wafv2ACL` of the class)", isOff},
	{"modsecurity-transaction-id", "", dialect.Dropped, "{LB} has no ModSecurity", nil},
	{"proxy-ssl-verify", "", dialect.Refused, "{LB} does not verify the certificates of Pods", func(v string) bool { return v != "on" }},
	{"proxy-ssl-secret proxy-ssl-ciphers proxy-ssl-name proxy-ssl-protocols proxy-ssl-verify-depth proxy-ssl-server-name", "",
		dialect.Dropped, "{LB} shows Pods no certificate, and chooses protocols and ciphers itself", nil},
	{"ssl-ciphers ssl-prefer-server-ciphers", "", dialect.Dropped, "ciphers are those of the port's `tlsPolicy`", nil},
	{"proxy-body-size", "", dialect.Dropped, "bodies of any length reach the Pods: {LB} does not limit them, and a web ACL can",
		func(v string) bool { return v == "0" }},
	{"proxy-read-timeout proxy-send-timeout", "", dialect.Dropped, "`idle_timeout.timeout_seconds` of the load balancer says how long " +
		"an answer may take: 60 seconds, unless the class or fairlead.dev/idle-timeout-seconds says otherwise", nil},
	{"proxy-next-upstream proxy-next-upstream-timeout proxy-next-upstream-tries", "", dialect.Dropped, "{LB} sends a request to one " +
		"Pod", nil},
	{"upstream-hash-by upstream-hash-by-subset upstream-hash-by-subset-size load-balance", "", dialect.Dropped, "{LB} chooses among " +
		"Pods in turn; `load_balancing.algorithm.type` of a target group has other ways, and none by a hash", nil},
	{"custom-http-errors disable-proxy-intercept-errors", "", dialect.Dropped, "{LB} passes the answers of Pods on as they are", nil},
	{"affinity-mode affinity-canary-behavior", "session-cookie-", dialect.Dropped, "the cookie is {LB}'s own", nil},
	{"mirror-target mirror-host mirror-request-body", "", dialect.Dropped, "{LB} copies no requests", nil},
	{"custom-headers x-forwarded-prefix proxy-cookie-domain proxy-cookie-path proxy-redirect-from proxy-redirect-to " +
		"connection-proxy-header", "", dialect.Dropped, "{LB} changes no headers for a path", nil},
	{"service-upstream", "", dialect.Dropped, "requests are sent to the Pods", isOff},
	{"proxy-connect-timeout proxy-request-buffering proxy-buffering proxy-buffers-number proxy-buffer-size proxy-busy-buffers-size " +
		"proxy-max-temp-file-size client-body-buffer-size proxy-http-version http2-push-preload fastcgi-index " +
		"fastcgi-params-configmap enable-access-log enable-rewrite-log enable-opentelemetry opentelemetry-operation-name " +
		"opentelemetry-trust-incoming-span", "", dialect.Dropped, "it is about the inside of nginx", nil},
	{"secure-backends grpc-backend secure-verify-ca-secret enable-opentracing enable-influxdb influxdb-measurement", "", dialect.Same,
		"ingress-nginx does not read it any more", nil},
}
