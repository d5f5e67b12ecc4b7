package nginx

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// This file writes the configuration of nginx (rootfs/etc/nginx/template/nginx.tmpl, controller/template/template.go).
// The order of directives is that of the template where nginx looks at it: `if`, `set`, `return` and `rewrite` of a
// location run in the order in which they stand.

// places are the files and ports of one nginx.
type places struct {
	folder      string
	http, https int
}

type writer struct {
	strings.Builder
	*world
	places
	locations []Location
	err       error
}

// A Location is one of nginx's, as Answer.Where names it.
type Location struct {
	ID       string // s<server>l<location>, or what answers in place of one
	Host     string
	Modifier string // "", "=" or "~*"
	Path     string // with its anchor, where it is an expression
	Upstream string
	Ingress  string // namespace/name
}

func (w *writer) line(format string, args ...any) {
	fmt.Fprintf(w, format+"\n", args...)
}

// file writes a file beside the configuration, and is its path.
func (w *writer) file(name string, contents []byte) string {
	path := filepath.Join(w.folder, name)
	if err := os.WriteFile(path, contents, 0o600); err != nil && w.err == nil {
		w.err = err
	}
	return path
}

// quoted is text within double quotes of nginx.
func quoted(text string) string { return `"` + escaped(text) + `"` }

func escaped(text string) string { return strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) }

func (w *writer) configuration() {
	c := w.config
	w.global()
	for _, blocked := range c.blockRanges {
		w.line("deny %s;", blocked)
	}
	w.blocked("block_ua", "$http_user_agent", c.blockAgents)
	w.blocked("block_ref", "$http_referer", c.blockReferers)
	servers := slices.Sorted(maps.Keys(w.servers))
	for _, r := range w.redirects() {
		w.redirectServer(r)
	}
	for i, name := range servers {
		w.server(i, w.servers[name])
	}
	w.line("}")
}

// global is what stands above the servers.
func (w *writer) global() {
	c := w.config
	w.line("underscores_in_headers %s; ignore_invalid_headers %s;",
		onOff(c.underscores), onOff(c.ignoreInvalid))
	w.line("map $http_upgrade $connection_upgrade { default upgrade; '' ''; }")
	if c.requestID {
		w.line("map $http_x_request_id $req_id { default $http_x_request_id; '' $request_id; }")
	} else {
		w.line("map $http_x_request_id $req_id { default $http_x_request_id; }")
	}
	w.line("map $server_port $oracle_port { %d 80; %d 443; }", w.http, w.https)
	w.line("geo $literal_dollar { default \"$\"; }")
	if c.forwarded && c.fullForwardedFor {
		last := "$realip_remote_addr"
		if c.proxyProtocol {
			last = "$proxy_protocol_addr"
		}
		w.line("map $http_x_forwarded_for $full_x_forwarded_for { default \"$http_x_forwarded_for, %s\"; '' \"%s\"; }", last, last)
	}
	w.realIP()
	w.line("server_name_in_redirect off; port_in_redirect off;")
	w.line("log_format upstreaminfo $proxy_alternative_upstream_name;") // where no location sets it, nginx does not start
	if c.relative {
		w.line("absolute_redirect off;")
	}
	if len(c.errors) > 0 && !c.noIntercept {
		w.line("proxy_intercept_errors on;")
	}
	for _, code := range c.errors {
		w.line("error_page %d = @custom_%s_%d;", code, noUpstream, code)
	}
	for _, name := range slices.Sorted(maps.Keys(c.added)) {
		w.line("more_set_headers %s;", quoted(name+": "+c.added[name]))
	}
	if c.httpSnippet != "" {
		w.line("%s", c.httpSnippet)
	}
}

// realIP says where the address of a client is taken from. Where ingress-nginx takes that of the connection, the
// oracle takes the one that it writes into a line of the PROXY protocol: it has no other address than its own.
func (w *writer) realIP() {
	c := w.config
	header := "proxy_protocol"
	switch {
	case c.forwarded && c.proxyProtocol:
		header = "X-Forwarded-For-Proxy-Protocol"
		w.line("geo $proxy_protocol_addr $proxy_protocol_addr_trusted { default 0;")
		for _, network := range c.trusted {
			w.line("%s 1;", network)
		}
		w.line("}")
		w.line("map $proxy_protocol_addr_trusted $forwarded_for_proxy_protocol { default $proxy_protocol_addr; 1 %s; }", headerVariable(c.forwardedFor))
		w.line("more_set_input_headers \"X-Forwarded-For-Proxy-Protocol: $forwarded_for_proxy_protocol\";")
	case !c.proxyProtocol && (c.forwarded || c.realIP):
		header = c.forwardedFor
	case !c.proxyProtocol:
		w.line("real_ip_header proxy_protocol; set_real_ip_from 127.0.0.0/8;")
		return
	}
	w.line("real_ip_header %s; real_ip_recursive on;", header)
	for _, network := range c.trusted {
		w.line("set_real_ip_from %s;", network)
	}
}

// forged reports whether connections say by the PROXY protocol from where they come.
func (c configuration) forged() bool { return c.proxyProtocol || !c.forwarded && !c.realIP }

func headerVariable(header string) string {
	return "$http_" + strings.ReplaceAll(strings.ToLower(header), "-", "_")
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func (w *writer) blocked(name, of string, values []string) {
	if len(values) == 0 {
		return
	}
	w.line("map %s $%s { default 0;", of, name)
	for _, value := range values {
		w.line("%s 1;", value)
	}
	w.line("}")
}

func (w *writer) refuseBlocked() {
	if len(w.config.blockAgents) > 0 {
		w.line("if ($block_ua) { return 403; }")
	}
	if len(w.config.blockReferers) > 0 {
		w.line("if ($block_ref) { return 403; }")
	}
}

func (w *writer) listen(fallback bool) {
	options := ""
	if fallback {
		options = " default_server"
	}
	if w.config.forged() {
		options += " proxy_protocol"
	}
	w.line("listen 127.0.0.1:%d%s; listen 127.0.0.1:%d%s ssl;", w.http, options, w.https, options)
}

// A wwwRedirect is the server of the other name (pkg/util/ingress/ingress.go, BuildRedirects).
type wwwRedirect struct{ from, to string }

func (w *world) redirects() []wwwRedirect {
	var found []wwwRedirect
	for _, name := range slices.Sorted(maps.Keys(w.servers)) {
		if !w.servers[name].www {
			continue
		}
		from, cut := strings.CutPrefix(name, "www.")
		if !cut {
			from = "www." + name
		}
		if _, taken := w.servers[from]; !taken {
			found = append(found, wwwRedirect{from, name})
		}
	}
	return found
}

func (w *writer) redirectServer(r wwwRedirect) {
	id := "www " + r.from
	w.locations = append(w.locations, Location{ID: id, Host: r.from})
	w.line("server {\nserver_name %s;", quoted(r.from))
	w.listen(false)
	w.line("add_header X-Oracle-Location %s always;", quoted(id))
	w.refuseBlocked()
	w.line("set_by_lua_block $redirect_to { return front.other_name(%q) }", r.to)
	w.line("return %d $redirect_to;\n}", w.config.redirectCode)
}

// serverName is a host, or an expression for a wildcard: one label of letters, digits, underscores and hyphens.
func serverNameOf(host string) string {
	if !strings.HasPrefix(host, "*") {
		return host
	}
	rest := strings.Replace(host, "*.", "", 1)
	return `~^(?<subdomain>[\w-]+)\.` + strings.ReplaceAll(rest, ".", `\.`) + "$"
}

func (w *writer) server(number int, s *server) {
	fmt.Fprintf(w, "server {\nserver_name \"%s\"", serverNameOf(s.host))
	for _, alias := range s.aliases {
		fmt.Fprintf(w, " %s", quoted(alias))
	}
	w.line(";")
	w.listen(s.host == catchAll)
	w.line("set $oracle_location \"\"; add_header X-Oracle-Location $oracle_location always;")
	w.refuseBlocked()
	w.line("set $proxy_upstream_name -;")
	if s.client.common != "" {
		w.line("if ( $ssl_client_s_dn !~ %s ) { return 403; }", quoted(s.client.common))
	}
	if s.host == catchAll {
		w.line("ssl_reject_handshake %s;", onOff(w.config.rejectHandshake))
	}
	if s.client.failure != "" {
		w.line("return 403;")
	} else {
		w.served(number, s)
	}
	if s.host == catchAll {
		w.line("location /healthz { add_header X-Oracle-Location healthz always; return 200; }")
		w.line("location /nginx_status { add_header X-Oracle-Location nginx_status always; allow 127.0.0.1; deny all; stub_status on; }")
	}
	if w.config.serverSnippet != "" {
		w.line("%s", w.config.serverSnippet)
	}
	for _, code := range w.config.errors {
		w.errorLocation(noUpstream, code)
	}
	w.line("}")
}

// served is what a server has unless its clients' certificates cannot be verified.
func (w *writer) served(number int, s *server) {
	w.clientAuth(number, s)
	if s.snippet != "" {
		w.line("%s", s.snippet)
	}
	w.customErrors(s)
	expressions := s.expressions()
	for i, l := range s.locations {
		w.location(fmt.Sprintf("s%dl%d", number, i), s, l, expressions)
	}
}

func (w *writer) clientAuth(number int, s *server) {
	if s.client.authority == nil {
		return
	}
	w.line("ssl_client_certificate %s;", w.file(fmt.Sprintf("authority%d.pem", number), s.client.authority))
	w.line("ssl_verify_client %s; ssl_verify_depth %d;", s.client.verify, s.client.depth)
	if s.client.errorPage != "" {
		w.line("error_page 495 496 = %s;", s.client.errorPage)
	}
}

// customErrors are the named locations of custom-http-errors, one for each upstream and code.
func (w *writer) customErrors(s *server) {
	codes := map[string][]int{}
	for _, l := range s.locations {
		codes[l.errorPages] = append(codes[l.errorPages], l.settings.errors...)
	}
	for _, name := range slices.Sorted(maps.Keys(codes)) {
		slices.Sort(codes[name])
		for _, code := range slices.Compact(codes[name]) {
			w.errorLocation(name, code)
		}
	}
}

func (w *writer) errorLocation(upstream string, code int) {
	w.line("location @custom_%s_%d {\ninternal;\nadd_header X-Oracle-Location \"$oracle_location error\" always;", upstream, code)
	w.line("proxy_intercept_errors off;")
	w.line("proxy_set_header X-Code %d; proxy_set_header X-Original-URI $request_uri;", code)
	w.errorHeaders("proxy_set_header")
	w.line("proxy_set_header X-Forwarded-For $remote_addr; proxy_set_header Host $best_http_host; proxy_set_header X-Oracle-Peer $oracle_peer;")
	w.line("set $proxy_upstream_name %s; set $oracle_peer \"\";", quoted(upstream))
	w.line("rewrite (.*) / break;\nrewrite_by_lua_block { front.choose() }\nproxy_pass http://pods_http;\n}")
}

func (w *writer) errorHeaders(set string) {
	for _, header := range []string{"X-Format $http_accept", "X-Namespace $namespace", "X-Ingress-Name $ingress_name",
		"X-Service-Name $service_name", "X-Service-Port $service_port", "X-Request-ID $req_id"} {
		w.line("%s %s;", set, header)
	}
}

// listedPath reports whether a location begins with one of a list of paths.
func listedPath(l *location, list string) bool {
	return slices.ContainsFunc(strings.Split(list, ","), func(one string) bool {
		one = strings.Trim(one, " ")
		return one != "" && strings.HasPrefix(l.path, one)
	})
}

func (w *writer) location(id string, s *server, l *location, expressions bool) {
	set := l.settings
	modifier, path := "", l.path
	switch {
	case expressions:
		modifier, path = "~*", "^"+l.path
	case l.exact:
		modifier = "="
	}
	ingress := ""
	if l.from != nil {
		ingress = l.from.key()
	}
	w.locations = append(w.locations, Location{ID: id, Host: s.host, Modifier: modifier, Path: path, Upstream: l.upstream, Ingress: ingress})
	auth, authPath := w.authOf(l)
	if root := set.rewrite.appRoot; root != "" {
		w.line("if ($uri = /) { set $oracle_location \"app-root %s\"; return 302 $scheme://$http_host%s; }", id, root)
	}
	if authPath != "" {
		w.authLocation(l, auth, authPath)
	}
	if auth.signIn != "" && set.denied == "" {
		w.signInLocation(id, l, auth)
	}
	w.line("location %s %s {\nadd_header X-Oracle-Location %s always; set $oracle_location %s;", modifier, quoted(path), id, id)
	w.variables(s, l)
	w.line("rewrite_by_lua_block { front.rewrite() }\nheader_filter_by_lua_block { front.header() }")
	w.line("port_in_redirect %s;", onOff(set.port))
	if set.denied != "" {
		w.line("return 503;\n}")
		return
	}
	w.access(l, auth, authPath)
	w.pass(s, l)
	w.line("}")
}

// variables are what front.lua reads.
func (w *writer) variables(s *server, l *location) {
	set := l.settings
	namespace, name, service, port := "", "", "", ""
	if l.from != nil {
		namespace, name = l.from.Namespace, l.from.Name
		service, port = l.reported(s.host)
	}
	w.line("set $namespace %s; set $ingress_name %s; set $service_name %s; set $service_port %s;",
		quoted(namespace), quoted(name), quoted(service), quoted(port))
	path := ""
	if l.from != nil {
		if path = l.ingressPath; path == "" {
			path = "/"
		}
	}
	w.line("set $location_path %s;", quoted(strings.ReplaceAll(path, "$", "${literal_dollar}")))
	w.line("set $force_ssl_redirect %t; set $ssl_redirect %t; set $force_no_ssl_redirect %t; set $preserve_trailing_slash %t;",
		set.rewrite.forceHTTPS, set.rewrite.https, listedPath(l, w.config.noRedirect), set.rewrite.keepSlash)
	w.line("set $use_port_in_redirects %t; set $proxy_upstream_name %s;", set.port, quoted(l.upstream))
	w.line("set $pass_access_scheme $scheme; set $best_http_host $http_host; set $oracle_peer \"\"; set $proxy_alternative_upstream_name \"\";")
	if w.config.proxyProtocol {
		w.line("set $pass_server_port $proxy_protocol_server_port;")
	} else {
		w.line("set $pass_server_port $oracle_port;")
	}
	w.line("set $pass_port $pass_server_port;")
}

// reported are the Service and port that pods and error pages are told of: the rule's, or the default backend's.
func (l *location) reported(host string) (service, port string) {
	if backend := l.from.Spec.DefaultBackend; backend != nil && backend.Service != nil {
		service, port = backend.Service.Name, portOf(backend.Service)
	}
	path := l.ingressPath
	if path == "" {
		path = "/"
	}
	for _, rule := range l.from.Spec.Rules {
		if rule.Host != host && (rule.Host != "" || host != catchAll) {
			continue
		}
		for _, p := range paths(rule) {
			if p.Path == path && p.Backend.Service != nil {
				return p.Backend.Service.Name, portOf(p.Backend.Service)
			}
		}
	}
	return service, port
}

// access is what may answer in place of the pods.
func (w *writer) access(l *location, auth external, authPath string) {
	set := l.settings
	for _, network := range set.deny {
		w.line("deny %s;", network)
	}
	for _, network := range set.allow {
		w.line("allow %s;", network)
	}
	if len(set.allow) > 0 {
		w.line("deny all;")
	}
	w.crossOrigin(set.cors)
	if !listedPath(l, w.config.noAuth) {
		w.authenticate(l, auth, authPath)
	}
	w.bodySize(l)
}

func (w *writer) bodySize(l *location) {
	if size := l.settings.proxy.bodySize; nginxSize.MatchString(strings.TrimSpace(size)) {
		w.line("client_max_body_size %s;", size)
	}
}

// nginxSize is an offset that nginx reads; others are left out.
var nginxSize = regexp.MustCompile(`^\d+[kKmMgG]?$`)

func (w *writer) authenticate(l *location, auth external, authPath string) {
	set := l.settings
	if authPath != "" {
		w.line("auth_request %s; auth_request_set $auth_cookie $upstream_http_set_cookie;", authPath)
		always := ""
		if auth.alwaysCookie {
			always = " always"
		}
		w.line("add_header Set-Cookie $auth_cookie%s;", always)
		for i, header := range auth.headers {
			w.line("auth_request_set $authHeader%d $upstream_%s; proxy_set_header '%s' $authHeader%d;", i, headerVariable(header)[1:], header, i)
		}
	}
	if auth.signIn != "" {
		w.line("set_by_lua_block $escaped_request_uri { return front.escape(ngx.var.request_uri) }")
		w.line("error_page 401 = %s;", signInName(l, auth))
	}
	if set.basic.enabled {
		if set.basic.digest {
			w.err = fmt.Errorf("digest authentication of %s is not nginx's own", l.from.key())
		}
		w.line("auth_basic %s; auth_basic_user_file %s;", quoted(set.basic.realm),
			w.file("passwords-"+l.from.Namespace+"-"+l.from.Name, []byte(set.basic.passwords)))
		w.line("proxy_set_header Authorization \"\";")
	}
}

func (w *writer) crossOrigin(cors crossOrigin) {
	if !cors.enabled {
		return
	}
	if slices.Equal(cors.origins, []string{"*"}) {
		w.line("set $http_origin *; set $cors 'true';")
	} else if len(cors.origins) > 0 {
		var patterns []string
		for _, origin := range cors.origins {
			patterns = append(patterns, "("+strings.Replace(regexp.QuoteMeta(origin), `\*`, `[A-Za-z0-9\-]+`, 1)+")")
		}
		w.line("if ($http_origin ~* (%s)$ ) { set $cors 'true'; }", strings.Join(patterns, "|"))
	}
	headers := []string{"Access-Control-Allow-Origin: $http_origin"}
	if cors.credentials {
		headers = append(headers, "Access-Control-Allow-Credentials: true")
	}
	headers = append(headers, "Access-Control-Allow-Methods: "+cors.methods, "Access-Control-Allow-Headers: "+cors.headers)
	if cors.expose != "" {
		headers = append(headers, "Access-Control-Expose-Headers: "+cors.expose)
	}
	headers = append(headers, "Access-Control-Max-Age: "+cors.maxAge)
	w.line("if ($request_method = 'OPTIONS') { set $cors ${cors}options; }")
	for _, value := range []string{"true", "trueoptions"} {
		w.line("if ($cors = \"%s\") {", value)
		for _, header := range headers {
			w.line("more_set_headers '%s';", header)
		}
		if value == "trueoptions" {
			w.line("more_set_headers 'Content-Type: text/plain charset=UTF-8';\nmore_set_headers 'Content-Length: 0';\nreturn 204;")
		}
		w.line("}")
	}
}

// pass hands the request to the pods.
func (w *writer) pass(s *server, l *location) {
	set := l.settings
	header := "proxy_set_header"
	if set.protocol == "GRPC" || set.protocol == "GRPCS" {
		header = "grpc_set_header"
	}
	w.line("%s Host %s;", header, quotedOr(set.vhost, "$best_http_host"))
	w.clientHeaders(s, header)
	w.line("%s Upgrade $http_upgrade; %s Connection %s;", header, header, either(set.close, "$connection_upgrade"))
	for _, pair := range []string{"X-Request-ID $req_id", "X-Real-IP $remote_addr", "X-Forwarded-For " + w.forwardedFor(), "X-Forwarded-Host $best_http_host",
		"X-Forwarded-Port $pass_port", "X-Forwarded-Proto $pass_access_scheme", "X-Forwarded-Scheme $pass_access_scheme",
		"X-Scheme $pass_access_scheme", "X-Original-Forwarded-For " + headerVariable(w.config.forwardedFor),
		"X-Original-Forwarded-Host " + headerVariable(w.config.forwardedHost), `Proxy ""`, "X-Oracle-Peer $oracle_peer"} {
		w.line("%s %s;", header, pair)
	}
	if w.config.originalURI {
		w.line("%s X-Original-URI $request_uri;", header)
	}
	for _, name := range slices.Sorted(maps.Keys(w.config.sent)) {
		w.line("%s %s %s;", header, name, quoted(w.config.sent[name]))
	}
	w.line("proxy_cookie_domain %s; proxy_cookie_path %s;", set.proxy.cookieDomain, set.proxy.cookiePath)
	if set.snippet != "" {
		w.line("%s", set.snippet)
	}
	if w.config.locationSnippet != "" {
		w.line("%s", w.config.locationSnippet)
	}
	for _, name := range slices.Sorted(maps.Keys(set.headers)) {
		w.line("more_set_headers %s;", strings.ReplaceAll(quoted(name+": "+set.headers[name]), "$", "${literal_dollar}"))
	}
	if strings.HasPrefix(l.upstream, "custom-default-backend-") {
		w.line("proxy_set_header X-Code 503;")
		w.errorHeaders("proxy_set_header")
	}
	w.last(l, header)
}

// forwardedFor is the address of the client, or with all that it came through.
func (w *writer) forwardedFor() string {
	if w.config.forwarded && w.config.fullForwardedFor {
		return "$full_x_forwarded_for"
	}
	return "$remote_addr"
}

func (w *writer) clientHeaders(s *server, header string) {
	if s.client.authority == nil {
		return
	}
	if s.client.pass {
		w.line("%s ssl-client-cert $ssl_client_escaped_cert;", header)
	}
	w.line("%s ssl-client-verify $ssl_client_verify; %s ssl-client-subject-dn $ssl_client_s_dn; %s ssl-client-issuer-dn $ssl_client_i_dn;",
		header, header, header)
}

func quotedOr(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return quoted(text)
}

func either(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// last is the end of a location: the redirect that takes the place of the pods, or the rewrite and the pods.
func (w *writer) last(l *location, header string) {
	set := l.settings
	if set.satisfy != "" {
		w.line("satisfy %s;", set.satisfy)
	}
	if set.redirect.relative {
		w.line("absolute_redirect off;")
	}
	if len(set.errors) > 0 && !set.intact {
		w.line("proxy_intercept_errors on;")
	}
	for _, code := range set.errors {
		w.line("error_page %d = @custom_%s_%d;", code, l.errorPages, code)
	}
	if set.redirect.url != "" {
		w.line("return %d %s;", set.redirect.code, set.redirect.url)
	}
	if target := set.rewrite.target; target != "" && target != l.path {
		w.line("rewrite \"(?i)%s\" %s break;", escaped(l.path), target)
		if set.prefix != "" {
			w.line("%s X-Forwarded-Prefix %s;", header, strconv.Quote(set.prefix))
		}
	}
	protocol, pods := set.protocol, "proxy_pass http://pods_http;"
	if l.upstream == noUpstream {
		protocol = "HTTP"
	}
	switch protocol {
	case "HTTPS":
		pods = "proxy_pass https://pods_https;"
	case "AUTO_HTTP":
		pods = "proxy_pass $scheme://pods_$scheme;"
	case "GRPC":
		pods = "grpc_pass grpc://pods_grpc;"
	case "GRPCS":
		pods = "grpc_pass grpcs://pods_grpcs;"
	case "FCGI":
		w.err = fmt.Errorf("pods of %s are asked by %s, which this oracle does not speak", l.from.key(), protocol)
	}
	w.line("%s", pods)
	switch from, to := set.proxy.redirectFrom, set.proxy.redirectTo; {
	case from == "default" || from == "off":
		w.line("proxy_redirect %s;", from)
	case to != "off":
		w.line("proxy_redirect %s %s;", from, to)
	}
}

// authOf is the sub-request of a location: its own, or that of the ConfigMap.
func (w *writer) authOf(l *location) (external, string) {
	auth := l.settings.auth
	if auth.url == "" && w.config.auth.url != "" && !l.settings.noGlobal {
		auth = w.config.auth
	}
	if auth.url == "" {
		return auth, ""
	}
	kind := "Prefix"
	if l.exact {
		kind = "Exact"
	}
	return auth, "/_external-auth-" + base64.RawURLEncoding.EncodeToString([]byte(l.path)) + "-" + kind
}

func (w *writer) authLocation(l *location, auth external, path string) {
	w.line("location = %s {\ninternal;\nset $proxy_upstream_name %s;", path, quoted(l.upstream))
	w.line("proxy_intercept_errors off; proxy_pass_request_body off;")
	w.line("proxy_set_header Content-Length \"\"; proxy_set_header X-Forwarded-Proto \"\"; proxy_set_header X-Request-ID $req_id;")
	if auth.method != "" {
		w.line("proxy_method %s; proxy_set_header X-Original-URI $request_uri; proxy_set_header X-Scheme $pass_access_scheme;", auth.method)
	}
	w.line("proxy_set_header Host %s; proxy_set_header X-Original-URL $scheme://$http_host$request_uri;", auth.host)
	w.line("proxy_set_header X-Original-Method $request_method; proxy_set_header X-Sent-From nginx-ingress-controller;")
	w.line("proxy_set_header X-Real-IP $remote_addr; proxy_set_header X-Forwarded-For %s;", w.forwardedFor())
	w.line("proxy_set_header X-Auth-Request-Redirect %s;", either(auth.redirect, "$request_uri"))
	w.bodySize(l)
	for _, name := range slices.Sorted(maps.Keys(auth.sent)) {
		w.line("proxy_set_header %s %s;", strconv.Quote(name), strconv.Quote(auth.sent[name]))
	}
	if auth.snippet != "" {
		w.line("%s", auth.snippet)
	}
	w.line("proxy_set_header X-Oracle-Auth-URL %s; proxy_pass http://oracle_auth/;\n}", quoted(auth.url))
}

// signInName is the location of a 401, named after path and address.
func signInName(l *location, auth external) string {
	sum := sha256.Sum256([]byte(l.path + auth.signIn))
	return "@" + hex.EncodeToString(sum[:])
}

func (w *writer) signInLocation(id string, l *location, auth external) {
	target, parameter := auth.signIn, either(auth.signInParameter, "rd")
	query := url.Values{}
	if parsed, err := url.Parse(auth.signIn); err == nil {
		query = parsed.Query()
	}
	back := parameter + "=$pass_access_scheme://$http_host$escaped_request_uri"
	switch {
	case len(query) == 0:
		target += "?" + back
	case query.Get(parameter) == "":
		target += "&" + back
	}
	w.line("location %s {\ninternal;\nadd_header X-Oracle-Location \"%s sign-in\" always; add_header Set-Cookie $auth_cookie;", signInName(l, auth), id)
	w.crossOrigin(l.settings.cors)
	w.line("return 302 %s;\n}", target)
}
