package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	v1 "fairlead.dev/fairlead/api/provider/v1"
)

// This file is two modules of Caddy: a matcher and a handler. Caddy's own matchers clean paths and
// letter cases, its weights are those of targets, not of groups, and its handlers fill placeholders
// in. These do what rules say, exactly.

// registerModules tells Caddy of them, and of the network in listen.go.
func registerModules() {
	caddy.RegisterModule(Matcher{})
	caddy.RegisterModule(Handler{})
	caddy.RegisterNetwork("fairlead", openDoor)
}

// Matcher is http.matchers.fairlead: it matches requests that fulfil all conditions.
type Matcher struct {
	Conditions []v1.Condition `json:"conditions"`

	tests []func(*http.Request) bool
}

// CaddyModule implements caddy.Module.
func (Matcher) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.matchers.fairlead", New: func() caddy.Module { return new(Matcher) }}
}

// Provision prepares the conditions.
func (m *Matcher) Provision(caddy.Context) error {
	for _, c := range m.Conditions {
		test, err := testOf(c)
		if err != nil {
			return err
		}
		m.tests = append(m.tests, test)
	}
	return nil
}

// MatchWithError reports whether all conditions hold.
func (m *Matcher) MatchWithError(r *http.Request) (bool, error) {
	return !slices.ContainsFunc(m.tests, func(holds func(*http.Request) bool) bool { return !holds(r) }), nil
}

// testOf is a condition as a function of requests. It holds if any text that it looks at matches
// any value.
func testOf(c v1.Condition) (func(*http.Request) bool, error) {
	texts, matches := textsOf(c)
	if texts == nil {
		return nil, fmt.Errorf("a condition cannot look at %q", c.Field)
	}
	var ways []func(string) bool
	for _, value := range c.Values {
		way, err := matches(value)
		if err != nil {
			return nil, err
		}
		ways = append(ways, way)
	}
	for _, expression := range c.Regex {
		re, err := regexp.Compile(`\A(?:` + expression + `)\z`)
		if err != nil {
			return nil, err
		}
		ways = append(ways, re.MatchString)
	}
	return func(r *http.Request) bool {
		return slices.ContainsFunc(texts(r), func(text string) bool {
			return slices.ContainsFunc(ways, func(way func(string) bool) bool { return way(text) })
		})
	}, nil
}

// textsOf is what of a request a condition looks at, and how that is compared with a value.
func textsOf(c v1.Condition) (texts func(*http.Request) []string, matches func(string) (func(string) bool, error)) {
	one := func(text func(*http.Request) string) func(*http.Request) []string {
		return func(r *http.Request) []string { return []string{text(r)} }
	}
	globs := func(value string) (func(string) bool, error) {
		value = strings.ToLower(value)
		return func(text string) bool { return glob(value, strings.ToLower(text)) }, nil
	}
	switch c.Field {
	case "host":
		return one(hostname), func(value string) (func(string) bool, error) {
			value = strings.ToLower(value)
			return func(host string) bool { return covers(value, host) }, nil
		}
	case "path":
		return one(rawPath), func(value string) (func(string) bool, error) {
			return func(path string) bool { return glob(value, path) }, nil
		}
	case "method":
		return one(func(r *http.Request) string { return r.Method }), func(value string) (func(string) bool, error) {
			return func(method string) bool { return method == value }, nil
		}
	case "source":
		return one(func(r *http.Request) string { return r.RemoteAddr }), func(value string) (func(string) bool, error) {
			prefix, err := netip.ParsePrefix(value)
			return func(client string) bool {
				from, err := netip.ParseAddrPort(client)
				return err == nil && prefix.Contains(from.Addr().Unmap())
			}, err
		}
	case "header":
		return func(r *http.Request) []string { return valuesOf(r.Header, c.Name) }, globs
	case "query":
		if c.Name == "" {
			return pairsOf, pair
		}
		return func(r *http.Request) []string { return valuesOf(r.URL.Query(), c.Name) }, globs
	}
	return nil, nil
}

// pairsOf are the parameters, each as its name in lower case, "=" and its value.
func pairsOf(r *http.Request) []string {
	out := []string{}
	for name, values := range r.URL.Query() {
		for _, value := range values {
			out = append(out, strings.ToLower(strings.ReplaceAll(name, "=", "%3d"))+"="+value)
		}
	}
	return out
}

// pair is a value of a condition on the query without a name, as a function of parameters.
func pair(value string) (func(string) bool, error) {
	name, text, named := strings.Cut(strings.ToLower(value), "=")
	if !named {
		name, text = "*", name
	}
	return func(parameter string) bool {
		n, t, _ := strings.Cut(parameter, "=")
		return glob(name, n) && glob(text, strings.ToLower(t))
	}, nil
}

// hostname is the Host header in lower case and without its port.
func hostname(r *http.Request) string {
	host := r.Host
	if colon := strings.LastIndexByte(host, ':'); colon >= 0 && !strings.HasSuffix(host, "]") {
		host = host[:colon]
	}
	return strings.ToLower(host)
}

// covers reports whether a host is the one of a value, in which "*." at the beginning stands for
// one label.
func covers(value, host string) bool {
	if value == host {
		return true
	}
	label, parent, found := strings.Cut(host, ".")
	return found && label != "" && label != "*" && parent != "" && value == "*."+parent
}

// rawPath is the path as it was sent: neither decoded nor cleaned.
func rawPath(r *http.Request) string {
	if path, _, _ := strings.Cut(r.RequestURI, "?"); strings.HasPrefix(path, "/") {
		return path
	}
	if path := r.URL.EscapedPath(); path != "" {
		return path
	}
	return "/"
}

// valuesOf are the values under a name in any letters.
func valuesOf(all map[string][]string, name string) []string {
	var out []string
	for key, values := range all {
		if strings.EqualFold(key, name) {
			out = append(out, values...)
		}
	}
	return out
}

// glob reports whether a pattern stands for a text: "*" for any text, "?" for one character.
func glob(pattern, text string) bool {
	star, reach, g, t := -1, 0, 0, 0 // the last star and how far it reaches: on a mismatch it takes one more
	for t < len(text) {
		switch {
		case g < len(pattern) && pattern[g] == '*':
			star, reach = g, t
			g++
		case g < len(pattern) && (pattern[g] == '?' || pattern[g] == text[t]):
			g++
			t++
		case star >= 0:
			reach++
			g, t = star+1, reach
		default:
			return false
		}
	}
	return strings.Trim(pattern[g:], "*") == ""
}

// Handler is http.handlers.fairlead: it carries out an action. A forward goes on with the server's
// named route of the target group, which is one of Caddy's own reverse proxy.
type Handler struct {
	ID     string    `json:"id"` // of the rule: the turns of its target groups go on when Caddy's configuration is replaced
	Port   int32     `json:"port"`
	Action v1.Action `json:"action"`

	turns *turns
	key   string
}

// CaddyModule implements caddy.Module.
func (Handler) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.fairlead", New: func() caddy.Module { return new(Handler) }}
}

// pool has the turns of all rules.
var pool = caddy.NewUsagePool()

// Provision finds the turns of the target groups.
func (h *Handler) Provision(caddy.Context) error {
	if h.Action.Forward == nil {
		return nil
	}
	targets, err := json.Marshal(h.Action.Forward.Targets)
	if err != nil {
		return err
	}
	h.key = h.ID + " " + string(targets)
	found, _, err := pool.LoadOrNew(h.key, func() (caddy.Destructor, error) {
		return &turns{credit: make([]int32, len(h.Action.Forward.Targets))}, nil
	})
	if err == nil {
		h.turns = found.(*turns)
	}
	return err
}

// Cleanup lets go of the turns.
func (h *Handler) Cleanup() error {
	if h.turns == nil {
		return nil
	}
	_, err := pool.Delete(h.key)
	return err
}

// ServeHTTP carries out the action.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	if replacer, ok := r.Context().Value(caddy.ReplacerCtxKey).(*caddy.Replacer); ok && r.Header.Get("Upgrade") == "" {
		if over, _ := replacer.Get("http.shutting_down"); over == true { // another configuration takes over
			w.Header().Set("Connection", "close")
		}
	}
	switch {
	case h.Action.Fixed != nil:
		answer(w, h.Action.Fixed.Status, h.Action.Fixed.ContentType, h.Action.Fixed.Body)
		return nil
	case h.Action.Redirect != nil:
		w.Header().Set("Location", h.location(r))
		w.WriteHeader(h.Action.Redirect.Status)
		return nil
	}
	group := h.choose(w, r)
	server, _ := r.Context().Value(caddyhttp.ServerCtxKey).(*caddyhttp.Server)
	route, ok := server.NamedRoutes[group]
	if !ok { // all weights are zero
		return caddyhttp.Error(http.StatusServiceUnavailable, fmt.Errorf("no target group has a weight"))
	}
	if err := http.NewResponseController(w).EnableFullDuplex(); err != nil && r.ProtoMajor == 1 {
		return err
	}
	out := *r
	if h.Action.Rewrite != nil {
		rewrite(&out, *h.Action.Rewrite)
	}
	keepPath(&out)
	caddyhttp.SetVar(r.Context(), "fairlead_host", out.Host)
	return route.Compile(next).ServeHTTP(w, &out)
}

// answer gives a fixed response. One without a body says its status in words.
func answer(w http.ResponseWriter, status int, contentType, body string) {
	if body == "" {
		body, contentType = fmt.Sprintf("%d %s\n", status, http.StatusText(status)), "text/plain; charset=utf-8"
	}
	if contentType != "" {
		w.Header().Set("Content-Type", contentType)
	}
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body)) // the client may have gone, and some statuses have no body
}

// location is where a redirect leads. A part that it does not name stays as it is.
func (h *Handler) location(r *http.Request) string {
	to, protocol, port := h.Action.Redirect, "http", strconv.Itoa(int(h.Port))
	if r.TLS != nil {
		protocol = "https"
	}
	fill := strings.NewReplacer("#{protocol}", protocol, "#{host}", hostname(r), "#{port}", port,
		"#{path}", strings.TrimPrefix(rawPath(r), "/"), "#{query}", r.URL.RawQuery)
	part := func(said, kept string) string {
		if said == "" {
			said = kept
		}
		return fill.Replace(said)
	}
	scheme := part(to.Scheme, protocol)
	location := scheme + "://" + part(to.Host, hostname(r))
	if at := part(to.Port, port); at != map[string]string{"http": "80", "https": "443"}[scheme] {
		location += ":" + at
	}
	location += part(to.Path, "/#{path}")
	if query := part(to.Query, "#{query}"); query != "" {
		location += "?" + query
	}
	return location
}

// rewrite changes what a target is sent.
func rewrite(r *http.Request, by v1.Rewrite) {
	at := rawPath(r)
	if r.URL.RawQuery != "" {
		at += "?" + r.URL.RawQuery
	}
	r.Host, r.RequestURI = replace(by.Host, by.HostReplacement, r.Host), replace(by.URL, by.URLReplacement, at)
	to := *r.URL
	to.Path, to.RawQuery, _ = strings.Cut(r.RequestURI, "?")
	to.RawPath = to.Path
	r.URL = &to
}

var numbered = regexp.MustCompile(`\$([0-9])`) // Go takes $10 for a group of its own, and $1a for a name

// replace replaces the first match.
func replace(pattern, replacement, text string) string {
	re, err := regexp.Compile(pattern)
	if pattern == "" || err != nil {
		return text
	}
	at := re.FindStringSubmatchIndex(text)
	if at == nil {
		return text
	}
	filled := re.ExpandString(nil, numbered.ReplaceAllString(replacement, "$${$1}"), text, at)
	return text[:at[0]] + string(filled) + text[at[1]:]
}

// keepPath has the path of an outgoing request spelt as it was sent.
func keepPath(r *http.Request) {
	to := *r.URL
	if path := rawPath(r); path != to.EscapedPath() && !strings.HasPrefix(path, "//") {
		to.Opaque = path
	}
	r.URL = &to
}

// turns spread requests over target groups.
type turns struct {
	mu     sync.Mutex
	credit []int32 // what each group is owed
}

// Destruct implements caddy.Destructor.
func (*turns) Destruct() error { return nil }

// next is the group whose turn it is: each is credited its weight, and the one that is owed most
// pays for all. It is "" where all weights are zero.
func (t *turns) next(targets []v1.Weighted) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	most, total := -1, int32(0)
	for i, to := range targets {
		t.credit[i] += to.Weight
		total += to.Weight
		if to.Weight > 0 && (most < 0 || t.credit[i] > t.credit[most]) {
			most = i
		}
	}
	if most < 0 {
		return ""
	}
	t.credit[most] -= total
	return targets[most].TargetGroup
}

const stickyCookie = "FAIRLEADTG"

// choose is the target group of a request: the one that its client stays with, or the one whose
// turn it is.
func (h *Handler) choose(w http.ResponseWriter, r *http.Request) string {
	to := h.Action.Forward
	if to.StickySeconds == 0 {
		return h.turns.next(to.Targets)
	}
	chosen := staysWith(r, to.Targets)
	if chosen == "" {
		chosen = h.turns.next(to.Targets)
	}
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // it is Secure wherever the listener is
		Name: stickyCookie, Value: base64.RawURLEncoding.EncodeToString([]byte(chosen)), Path: "/", MaxAge: int(to.StickySeconds),
		HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteLaxMode,
	})
	return chosen
}

// staysWith is the group that a cookie names, where the rule still has it.
func staysWith(r *http.Request, targets []v1.Weighted) string {
	cookie, err := r.Cookie(stickyCookie)
	if err != nil {
		return ""
	}
	name, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err == nil && slices.ContainsFunc(targets, func(t v1.Weighted) bool { return t.Weight > 0 && t.TargetGroup == string(name) }) {
		return string(name)
	}
	return ""
}

var (
	_ caddy.Provisioner                 = (*Matcher)(nil)
	_ caddyhttp.RequestMatcherWithError = (*Matcher)(nil)
	_ caddy.Provisioner                 = (*Handler)(nil)
	_ caddy.CleanerUpper                = (*Handler)(nil)
	_ caddyhttp.MiddlewareHandler       = (*Handler)(nil)
)
