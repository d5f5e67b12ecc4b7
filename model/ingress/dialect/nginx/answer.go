package nginx

import (
	"cmp"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/model/routing"
)

// This file answers requests as nginx does with the configuration of rootfs/etc/nginx/template/nginx.tmpl.

// An Answer is what nginx does with a request.
type Answer struct {
	Status   int     // of an answer of its own; 0 if it forwards
	Location string  // of a redirect
	To       []Share // otherwise, the backends that may get the request; with 403, those that would
	Host     string  // that they see
	Target   string  // path and query that they see
	Of       string  // the Ingress of the location; "" for none
	// CrossOrigin has the headers Access-Control-... of the answer, a line for each.
	CrossOrigin string
	at          *location
	// Via has what decided, by Ingress and annotation or field.
	Via []Cause
}

// A Share is a backend, and how much of the requests it gets. It answers 503 without ready Pods.
type Share struct {
	Namespace, Service, Port string
	Weight                   int
}

// A Cause is an annotation or a field of an Ingress, or what nginx does by itself.
type Cause struct{ Ingress, Key string }

// These causes are in nginx itself.
const (
	ByNormalising = "normal paths"        // it compares decoded paths, with one slash for several, and without dots
	ByForwarded   = "forwarded"           // it believes X-Forwarded headers
	ByHost        = "host"                // it takes a dot off the end of a host
	BySlash       = "slash"               // it adds a slash
	ByStatus      = "status pages"        // it has pages for its own health
	ByDefaultTLS  = "default certificate" // it answers over HTTPS for a host without a certificate
	ByOtherTLS    = "other certificate"   // it answers over HTTPS with a certificate that the Ingress does not give the host
	ByFront       = "front"               // TLS ends in front of it, with one certificate for all hosts
	ByRefused     = "refused"             // an Ingress that is not served has the request
	ByAlias       = "alias"               // an Ingress that is not served gives the host its alias
	ByCase        = "case"                // it ignores the case of paths, and the class does not
	ByServer      = "server"              // a server of http-snippet answers over HTTP
	ByServerElse  = "server elsewhere"    // also for hosts and paths of no Ingress
	ByHeaders     = "headers"             // its own answers have no headers for other origins
)

// A Question is a request with its scheme and raw query.
type Question struct {
	routing.Request
	Secure   bool   // over HTTPS
	RawQuery string // without the question mark
	Mark     bool   // there is a question mark, and no query behind it
	asRead   bool   // it is asked what the Ingresses mean as they are read, where no path is normalised
	unwound  bool   // it came over HTTPS, and reaches nginx without
}

// target returns the request's path and query as they were sent.
func (q Question) target() string {
	if q.RawQuery == "" && !q.Mark {
		return q.Path
	}
	return q.Path + "?" + q.RawQuery
}

func (q Question) scheme() string {
	if q.Secure {
		return "https"
	}
	return "http"
}

// header returns the values of a header, as one text.
func (q Question) header(name string) (string, bool) {
	for k, v := range q.Header {
		if strings.EqualFold(k, name) {
			return strings.Join(v, ", "), true
		}
	}
	return "", false
}

// Answer answers a request.
func (w *World) Answer(q Question) Answer {
	a := w.inside(q)
	if w.Config.ToHTTPS == 0 || q.Secure || a.Status == 400 {
		return a
	}
	by := ByServer
	if a.Of == "" {
		by = ByServerElse
	}
	return Answer{Status: w.Config.ToHTTPS, Location: "https://" + strings.TrimSuffix(q.Hostname(), ".") + q.target(), Of: a.Of, at: a.at,
		Via: []Cause{{a.Of, by}}}
}

// inside answers a request to the ports for Ingresses.
func (w *World) inside(q Question) Answer {
	q = w.front.pass(q)
	uri, ok := normalise(q.Path)
	if q.Secure && w.Config.RejectHandshake && w.serverOf(strings.TrimSuffix(q.Hostname(), ".")).host == catchAll {
		return Answer{Status: -1}
	}
	if !ok || strings.Contains(q.Hostname(), "..") {
		return Answer{Status: 400, Via: []Cause{{Key: ByNormalising}}}
	}
	a := w.answer(q, uri)
	if uri != q.Path {
		a.Via = append(a.Via, Cause{Key: ByNormalising})
	}
	return a
}

// answer answers a request with a path in nginx's form.
func (w *World) answer(q Question, uri string) Answer {
	host := strings.TrimSuffix(q.Hostname(), ".")
	out := Answer{}
	if to, is := w.redirects[host]; is {
		out.Status, out.Of = w.Config.RedirectCode, w.servers[to].www.key()
		out.Location = w.scheme(q) + "://" + to + ":" + w.port(q) + strings.TrimSuffix(q.target(), "/")
		return out.by(w.servers[to].www, Prefix+"from-to-www-redirect")
	}
	s := w.serverOf(host)
	if s.host != catchAll && w.servers[host] != s && !s.covers(host) {
		out = out.by(s.aliased, Prefix+"server-alias")
	}
	if uri == "/" {
		for _, l := range s.locations {
			if l.of != nil && !l.plain && l.of.appRoot != "" {
				out.Status, out.Location, out.Of = 302, q.scheme()+"://"+q.Host+l.of.appRoot, l.of.key()
				return out.by(l.of, Prefix+"app-root")
			}
		}
	}
	if status, is := s.statusPage(uri, q); is {
		out.Status = status
		out.Via = append(out.Via, Cause{Key: ByStatus})
		return out
	}
	l, slash := s.find(uri, q.asRead)
	if slash {
		out.Of = l.of.key()
		out.Status, out.Location = 301, q.scheme()+"://"+host+uri+"/"
		if l.of.relative {
			out.Location = uri + "/"
		}
		if q.RawQuery != "" {
			out.Location += "?" + q.RawQuery
		}
		return out.by(l.of, l.field)
	}
	return w.serve(q, uri, host, l, out)
}

func (a Answer) by(m *member, key string) Answer {
	a.Via = append(a.Via, Cause{m.key(), key})
	return a
}

// statusPage returns the answer of the pages for nginx's own health, which the server of other hosts has.
func (s *server) statusPage(uri string, q Question) (int, bool) {
	if s.host != catchAll || s.regex {
		return 0, false
	}
	const health, status = "/healthz", "/nginx_status"
	longer := func(than string) bool {
		l, _ := s.find(uri, q.asRead)
		return l != nil && (l.exact || l.text != "/" && len(l.text) >= len(than))
	}
	switch {
	case strings.HasPrefix(uri, health) && !longer(health):
		return 200, true
	case strings.HasPrefix(uri, status) && !longer(status):
		return 403, true
	}
	return 0, false
}

// serve answers a request with a location.
func (w *World) serve(q Question, uri, host string, l *location, out Answer) Answer {
	m := l.of
	out.at = l
	if m != nil {
		out.Of = m.key()
	}
	if m == nil { // the controller's own backend
		out.Status = 404
		return out
	}
	if m.denied != "" {
		out.Status = 503
		return out.by(m, Prefix+m.denied)
	}
	if m.cors.allows(q) {
		out.CrossOrigin = m.cors.sent(q)
		if q.Method == "OPTIONS" {
			out.Status = 204
			return out.by(m, Prefix+"enable-cors")
		}
	}
	if r := m.redirect; r != nil && !l.plain {
		out.Status, out.Location = r.code, r.url
		return out.by(m, Prefix+r.key)
	}
	quoted := strings.ContainsAny(q.Path, "%+")
	if l.rewrites() {
		out = out.by(m, Prefix+"rewrite-target")
		if isURL(m.rewrite) {
			if location, is := l.rewrite(uri, q.RawQuery, quoted); is {
				out.Status, out.Location = 302, location
				return out
			}
		}
	}
	if w.exempt(l) {
		out = out.by(m, Prefix+"ssl-redirect")
	}
	if location, key, is := w.toHTTPS(q, host, l); is {
		out.Status, out.Location = w.Config.RedirectCode, location
		return out.by(m, Prefix+key)
	}
	if key, refused := m.refuses(w.client(q)); refused {
		out.Status = 403
		if l.to != w.upstreams[backend{}] {
			out = l.to.share(q, out)
		}
		return out.by(m, Prefix+key)
	}
	if l.to == w.upstreams[backend{}] {
		out.Status = 404
		return out
	}
	out.Host, out.Target = w.host(q), q.target()
	if l.rewrites() {
		if rewritten, is := l.rewrite(uri, "", quoted); is {
			uri = rewritten
		}
		if out.Target = escaped(uri); q.RawQuery != "" {
			out.Target += "?" + q.RawQuery
		}
	}
	if m.host != "" {
		out.Host = m.host
		out = out.by(m, Prefix+"upstream-vhost")
	}
	return l.to.share(q, out)
}

// refuses reports whether a client's address is refused, and by which annotation.
func (s *settings) refuses(source netip.Addr) (string, bool) {
	within := func(list []netip.Prefix) bool {
		return slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(source) })
	}
	switch {
	case within(s.deny):
		return "denylist-source-range", true
	case len(s.allow) > 0 && !within(s.allow):
		return "whitelist-source-range", true
	}
	return "", false
}

// client returns the address of a client: with X-Forwarded-For, the first one, as all others are trusted.
func (w *World) client(q Question) netip.Addr {
	if said, is := q.header("X-Forwarded-For"); is && w.Config.UseForwardedHeaders {
		first, _, _ := strings.Cut(said, ",")
		if a, err := netip.ParseAddr(strings.TrimSpace(first)); err == nil {
			return a
		}
	}
	return q.Source
}

// host returns the host that Pods see.
func (w *World) host(q Question) string {
	if said, is := q.header("X-Forwarded-Host"); is && w.Config.UseForwardedHeaders {
		first, _, _ := strings.Cut(said, ",")
		return first
	}
	return q.Host
}

// scheme returns the scheme that clients are taken to use.
func (w *World) scheme(q Question) string {
	if said, is := q.header("X-Forwarded-Proto"); is && w.Config.UseForwardedHeaders {
		return said
	}
	return q.scheme()
}

// port returns the port that clients are taken to use.
func (w *World) port(q Question) string {
	if said, is := q.header("X-Forwarded-Port"); is && w.Config.UseForwardedHeaders {
		return said
	}
	return strconv.Itoa(int(q.Port))
}

// toHTTPS returns the redirect to HTTPS of a request (rootfs/etc/nginx/lua/lua_ingress.lua).
func (w *World) toHTTPS(q Question, host string, l *location) (location, key string, is bool) {
	if l.plain || w.exempt(l) {
		return "", "", false
	}
	best := w.host(q)
	key = "ssl-redirect"
	switch {
	case w.scheme(q) != "http", q.unwound && w.Config.UseProxyProtocol:
		return "", "", false
	case l.of.force:
		key = "force-ssl-redirect"
	case !l.of.sslRedirect || !w.secure(host):
		return "", "", false
	}
	target := q.target()
	if !l.of.keepSlash {
		target = strings.TrimSuffix(target, "/")
	}
	best, _, _ = strings.Cut(best, ":")
	if l.of.portInRedirect {
		best += ":443"
	}
	return "https://" + best + target, key, true
}

// exempt reports whether requests of a location are not redirected to HTTPS.
func (w *World) exempt(l *location) bool {
	return slices.ContainsFunc(w.Config.NotRedirected, func(p string) bool { return strings.HasPrefix(l.text, p) })
}

// secure reports whether a host has a certificate (rootfs/etc/nginx/lua/certificate.lua).
func (w *World) secure(host string) bool {
	if s := w.servers[host]; s != nil && s.secure {
		return true
	}
	if s := w.names.alias[host]; s != nil && isNamed(s.names, host) {
		return true
	}
	_, rest, dotted := strings.Cut(host, ".")
	s := w.servers["*."+rest]
	return dotted && s != nil && s.secure
}

// share returns the backends of an upstream that may get a request (rootfs/etc/nginx/lua/balancer.lua).
func (u *upstream) share(q Question, out Answer) Answer {
	only := func(u *upstream) Answer {
		out.To = []Share{{u.namespace, u.service, u.port, 1}}
		return out
	}
	if len(u.alternatives) == 0 || u.alternatives[0].removed {
		return only(u)
	}
	other := u.alternatives[0]
	c, by := other.canary, other.by
	if c == nil { // it was first named by an Ingress that is none, and gets nothing
		return only(u)
	}
	if value, is := q.header(c.header); c.header != "" && is {
		switch {
		case c.value != "":
			if value == c.value {
				out = out.by(by, Prefix+"canary-by-header-value")
				return only(other)
			}
		case c.pattern != "":
			re, err := regexp.Compile(c.pattern)
			if err != nil || re.MatchString(value) {
				out = out.by(by, Prefix+"canary-by-header-pattern")
			}
			switch {
			case err != nil:
				return only(u)
			case re.MatchString(value):
				return only(other)
			}
		case value == "always":
			out = out.by(by, Prefix+"canary-by-header")
			return only(other)
		case value == "never":
			out = out.by(by, Prefix+"canary-by-header")
			return only(u)
		}
		out = out.by(by, Prefix+"canary-by-header")
	}
	if value, is := q.cookie(c.cookie); c.cookie != "" && is {
		out = out.by(by, Prefix+"canary-by-cookie")
		switch value {
		case "always":
			return only(other)
		case "never":
			return only(u)
		}
	}
	switch {
	case c.weight <= 0:
		return only(u)
	case c.weight >= c.total:
		return only(other)
	}
	out = out.by(by, Prefix+"canary-weight")
	out.To = []Share{{u.namespace, u.service, u.port, c.total - c.weight}, {other.namespace, other.service, other.port, c.weight}}
	return out
}

// cookie returns the first value of a cookie, as nginx reads it: src/http/ngx_http_parse.c, ngx_http_parse_multi_header_lines.
func (q Question) cookie(name string) (string, bool) {
	if name == "" {
		return "", false
	}
	for k, lines := range q.Header {
		if !strings.EqualFold(k, "Cookie") {
			continue
		}
		for _, line := range lines {
			for one := range strings.SplitSeq(line, ";") {
				n, v, is := strings.Cut(strings.TrimLeft(one, " "), "=")
				if is && strings.EqualFold(strings.TrimRight(n, " "), name) {
					return strings.TrimLeft(v, " "), true
				}
			}
		}
	}
	return "", false
}

// rewrite returns what a path is rewritten to; false if it does not match. A URL has the query, too. Quoted: the path was sent with a %
// or a +.
func (l *location) rewrite(uri, query string, quoted bool) (to string, matches bool) {
	if l.replaces == nil {
		l.replaces, _ = regexp.Compile("(?i)" + l.text)
	}
	if l.replaces == nil {
		return "", false
	}
	at := l.replaces.FindStringSubmatchIndex(uri)
	if at == nil {
		return "", false
	}
	redirects := isURL(l.of.rewrite)
	parts := strings.Split(l.of.rewrite, "$")
	for i, part := range parts {
		switch {
		case i == 0:
			to = part
		case part == "" || part[0] < '0' || part[0] > '9':
			to += "$" + part
		default:
			group := ""
			if n := 2 * int(part[0]-'0'); n < len(at) && at[n] >= 0 {
				group = uri[at[n]:at[n+1]]
			}
			if redirects && quoted {
				group = escapedAs(inRedirects, group)
			}
			to += group + part[1:]
		}
	}
	if redirects && quoted {
		to = unescaped(to)
	}
	if redirects && query != "" {
		to += "?" + query
	}
	return to, true
}

// inRedirects has the visible characters that nginx escapes in the groups of a redirect if the path was sent with escapes
// (src/http/ngx_http_script.c, ngx_http_script_copy_capture_code; src/core/ngx_string.c, args of ngx_escape_uri).
const inRedirects = "\"#%&+;<>?\\^`{|}"

// unescaped returns the URL of a redirect as nginx sends it: what is escaped by need alone stays so, and what is behind a question
// mark (src/core/ngx_string.c, ngx_unescape_uri with NGX_UNESCAPE_REDIRECT).
func unescaped(target string) string {
	var b strings.Builder
	for i := 0; i < len(target); i++ {
		c := target[i]
		if c == '%' && i+2 < len(target) {
			if n, err := strconv.ParseUint(target[i+1:i+3], 16, 8); err == nil && n > '%' && n < 0x7f {
				c = byte(n)
				i += 2
			}
		}
		b.WriteByte(c)
		if c == '?' {
			return b.String() + target[i+1:]
		}
	}
	return b.String()
}

// names has the servers by their names, in nginx's order (src/http/ngx_http_variables.c and the documentation of server_name).
type names struct {
	sorted []string           // of all servers
	alias  map[string]*server // by alias; of two servers with one alias, nginx takes the first
	stars  []starAlias        // aliases for any number of labels, the longest first
	// expressions are aliases, and hosts for one label, in order
	expressions []expressionAlias
}

type starAlias struct {
	suffix string
	*server
}

type expressionAlias struct {
	*regexp.Regexp
	*server
}

// nameServers finds the names of all servers.
func (w *World) nameServers() {
	n := &names{sorted: slices.Sorted(maps.Keys(w.servers)), alias: map[string]*server{}}
	for _, name := range n.sorted {
		s := w.servers[name]
		for _, alias := range s.aliases {
			suffix, star := strings.CutPrefix(alias, "*")
			expression, is := strings.CutPrefix(alias, "~")
			switch re, err := regexp.Compile(expression); {
			case star:
				n.stars = append(n.stars, starAlias{suffix, s})
			case is && err == nil:
				n.expressions = append(n.expressions, expressionAlias{re, s})
			case n.alias[alias] == nil:
				n.alias[alias] = s
			}
		}
	}
	slices.SortStableFunc(n.stars, func(a, b starAlias) int { return len(b.suffix) - len(a.suffix) })
	w.names = n
}

// serverOf returns the server of a host.
func (w *World) serverOf(host string) *server {
	if s := w.servers[host]; s != nil && host != catchAll {
		return s
	}
	if s := w.names.alias[host]; s != nil {
		return s
	}
	for _, a := range w.names.stars {
		if strings.HasSuffix(host, a.suffix) && len(host) > len(a.suffix) {
			return a.server
		}
	}
	label, rest, dotted := strings.Cut(host, ".")
	wild := w.servers["*."+rest]
	if !dotted || !wordLabel.MatchString(label) {
		wild = nil
	}
	for _, e := range w.names.expressions { // in the order of their servers, as those for one label are
		if wild != nil && wild.host <= e.server.host {
			return wild
		}
		if e.MatchString(host) {
			return e.server
		}
	}
	return cmp.Or(wild, w.servers[catchAll])
}

// covers reports whether a host is one of a server as Fairlead reads it: its own, or an alias that is a host name.
func (s *server) covers(host string) bool {
	return slices.ContainsFunc(append([]string{s.host}, s.aliases...), func(h string) bool {
		return hostName.MatchString(h) && routing.Host(h).Covers(routing.Host(host))
	})
}

// wordLabel has the labels that the star of a host stands for (template/template.go, buildServerName).
var wordLabel = regexp.MustCompile(`^[\w-]+$`)

// find returns the location of a path, or whether nginx adds a slash to it.
func (s *server) find(uri string, asRead bool) (found *location, slash bool) {
	if s.regex {
		for _, l := range s.locations {
			// One that Go does not read may match: its Ingress is refused.
			if re := s.expressionOf(l); re == nil || re.MatchString(uri) {
				return l, false
			}
		}
		return nil, false
	}
	counts := func(l *location) bool { return l != nil && (!asRead || l.reachable) }
	if l := s.exactly[uri]; counts(l) {
		return l, false
	}
	for end := len(uri); end > 0; end = strings.LastIndexByte(uri[:end-1], '/') + 1 { // there is one for "/"
		if found = s.below[uri[:end]]; counts(found) {
			if end == len(uri) {
				return found, false
			}
			break
		}
	}
	for _, l := range []*location{s.exactly[uri+"/"], s.below[uri+"/"]} {
		if counts(l) && l.of != nil && l.of.denied == "" {
			return l, true
		}
	}
	return found, false
}

// expressionOf returns the expression of a location of a server with expressions.
func (s *server) expressionOf(l *location) *regexp.Regexp {
	if !l.compiled {
		l.compiled = true
		l.expression, _ = regexp.Compile(`(?i)^` + s.textOf(l))
	}
	return l.expression
}

// textOf returns the text of a location of a server with expressions: that of a Prefix beside an Exact path of its text has a slash
// at its end (location.go).
func (s *server) textOf(l *location) string {
	if l.exact || l.text == "/" || strings.HasSuffix(l.text, "/") || l.rewrites() || l.of.regex ||
		!slices.ContainsFunc(s.locations, func(o *location) bool { return o.exact && o.text == l.text }) {
		return l.text
	}
	return l.text + "/"
}

// normalise returns a path as nginx compares it: src/http/ngx_http_parse.c, ngx_http_parse_complex_uri, with merge_slashes on.
func normalise(raw string) (string, bool) {
	if strings.HasPrefix(raw, "/") && !strings.Contains(raw, "%") && !strings.Contains(raw, "//") && !strings.Contains(raw, "/.") {
		return raw, true // as most are
	}
	var out []byte
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		if c == '%' {
			if i+2 >= len(raw) {
				return "", false
			}
			n, err := strconv.ParseUint(raw[i+1:i+3], 16, 8)
			if err != nil || n == 0 {
				return "", false
			}
			c = byte(n)
			i += 2
		}
		out = append(out, c)
	}
	var kept []string
	segments := strings.Split(string(out), "/")
	for i, segment := range segments {
		last := i == len(segments)-1
		switch segment {
		case "":
			if last {
				kept = append(kept, "")
			}
		case ".":
			if last {
				kept = append(kept, "")
			}
		case "..":
			if len(kept) == 0 {
				return "", false
			}
			kept = kept[:len(kept)-1]
			if last {
				kept = append(kept, "")
			}
		default:
			kept = append(kept, segment)
		}
	}
	return "/" + strings.Join(kept, "/"), true
}

// escaped returns a path as nginx sends it to a Pod: src/core/ngx_string.c, ngx_escape_uri.
func escaped(path string) string { return escapedAs("\"#%<>?\\^`{|}", path) }

// escapedAs escapes some of the visible characters, and all others.
func escapedAs(visible, text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte(visible, c) >= 0 {
			b.WriteString("%" + strings.ToUpper(strconv.FormatUint(uint64(c)|0x100, 16)[1:]))
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

// Refuses reports whether Fairlead serves an Ingress of a name not at all.
func (w *World) Refuses(ingress string) bool {
	r := w.writers[ingress]
	return r != nil && (r.m.ignored != "" || r.out.Refuses())
}
