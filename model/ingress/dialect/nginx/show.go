package nginx

import (
	"fmt"
	"maps"
	"net/netip"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/model/compare"
	"fairlead.dev/fairlead/model/ingress/dialect"
	"fairlead.dev/fairlead/model/routing"
)

// This file finds requests that show what is changed: it asks nginx and Fairlead about those that tell most about a location.

// changed says what is changed, by annotation, or by what nginx does by itself.
var changed = map[string]string{
	ByForwarded: "ingress-nginx believes clients who send X-Forwarded headers (`use-forwarded-headers`), and an ALB looks at the " +
		"connection alone",
	ByHost:        "ingress-nginx takes a dot off the end of a host, and an ALB compares hosts as they are sent",
	ByNormalising: "ingress-nginx compares paths without repeated slashes, dots and percent-encodings, and an ALB as they are sent",
	BySlash:       "ingress-nginx leads requests without the slash to the path before anything else, and an ALB to HTTPS first",
	ByStatus:      "ingress-nginx has pages for its own health on hosts that no rule names",
	ByDefaultTLS:  "ingress-nginx answers with a certificate of its own over HTTPS, and an ALB serves hosts with one of theirs alone",
	Prefix + "ssl-redirect": "an ALB redirects with 301, keeps a slash at the end, and lets ACME challenges through: clients may " +
		"send GET for POST",
	Prefix + "force-ssl-redirect":     "an ALB redirects with 301 and keeps a slash at the end: clients may send GET for POST",
	Prefix + "permanent-redirect":     "an ALB redirects with 301 or 302, and keeps the query",
	Prefix + "temporal-redirect":      "an ALB redirects with 301 or 302, and keeps the query",
	Prefix + "from-to-www-redirect":   "an ALB redirects with 301, and keeps a slash at the end",
	Prefix + "app-root":               "an ALB redirects over HTTP to HTTPS first",
	Prefix + "rewrite-target":         "an ALB writes the new path as the client encoded the old one",
	Prefix + "canary-by-header":       "an ALB compares each of several headers of the name, and ingress-nginx all of them as one text",
	Prefix + "canary-by-header-value": "an ALB compares each of several headers of the name, and ingress-nginx all of them as one text",
	Prefix + "canary-by-header-pattern": "an ALB compares each of several headers of the name, and ingress-nginx all of them as one " +
		"text",
	Prefix + "server-alias":     "the star of a wildcard stands for one label, and with ingress-nginx for any number",
	Prefix + "canary-by-cookie": "of a cookie that is sent twice, ingress-nginx reads the first",
}

// byItself has the fields that verdicts about what nginx does by itself are about.
var byItself = map[string]string{ByNormalising: "spec.rules[].http.paths[].path", ByHost: "spec.rules[].host", ByDefaultTLS: "spec.tls",
	ByStatus: "spec.defaultBackend", ByForwarded: "ConfigMap use-forwarded-headers"}

// showAll gives the changes of all Ingresses requests that show them. What nginx does by itself is told once, of the first Ingress
// for which it makes a difference.
func (w *World) showAll(memory Memory) {
	told := map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(w.writers)) {
		r := w.writers[key]
		if r.m.ignored == "" && !r.out.Refuses() {
			for _, s := range w.shows(r.m, memory) {
				r.showCause(s.Cause, s.Question, told)
			}
		}
		slices.SortStableFunc(r.out.Verdicts, func(a, b dialect.Verdict) int { return strings.Compare(a.Key, b.Key) })
	}
}

// search asks about an Ingress. It returns the hosts that it asks, and a request for each cause of another answer.
func (w *World) search(m *member) (hosts []string, shows []shown) {
	a := asker{World: w, m: m, client: anyClient, hosts: map[string]bool{}, seen: map[Cause]bool{}}
	a.askAll()
	return slices.Sorted(maps.Keys(a.hosts)), a.shows
}

// showCause says that a cause changes the answer to a request, unless another request showed it.
func (r *writer) showCause(c Cause, q Question, told map[string]bool) {
	if told[c.Key] {
		return
	}
	v := dialect.Verdict{Key: c.Key, Outcome: dialect.Changed, Message: changed[c.Key], Request: r.m.requestOf(q)}
	switch {
	case c.Ingress == "":
		told[c.Key] = true
		v.Key = byItself[c.Key]
		r.out.Verdicts = append(r.out.Verdicts, v)
		return
	case v.Message == "":
		v.Message = changed[BySlash]
	}
	at := slices.IndexFunc(r.out.Verdicts, func(v dialect.Verdict) bool { return v.Key == c.Key })
	switch {
	case at < 0:
		r.out.Verdicts = append(r.out.Verdicts, v)
	case r.out.Verdicts[at].Request.URL == "" && r.out.Verdicts[at].Outcome != dialect.Dropped:
		if r.out.Verdicts[at].Message != "" {
			v.Message = r.out.Verdicts[at].Message
		}
		r.out.Verdicts[at] = v
	}
}

// Differences returns what leads to another answer of Fairlead to a request; nothing if it is the same.
func (w *World) Differences(q Question) (out []Cause) {
	a := w.Answer(q)
	own := w.Result(q)
	if a.Result(q).Equal(own) {
		return nil
	}
	if direct := q; w.Config.UseForwardedHeaders {
		direct.Header = maps.Clone(q.Header)
		maps.DeleteFunc(direct.Header, func(name string, _ []string) bool {
			return strings.HasPrefix(strings.ToLower(name), "x-forwarded-")
		})
		if len(direct.Header) < len(q.Header) {
			if !w.Answer(direct).Result(direct).Equal(a.Result(q)) {
				return []Cause{{Key: ByForwarded}}
			}
			return w.Differences(direct)
		}
	}
	if plain := q; strings.HasSuffix(q.Hostname(), ".") {
		plain.Host = strings.TrimSuffix(q.Hostname(), ".")
		others := w.Differences(plain)
		if !own.sameBut(w.Result(plain)) || len(others) == 0 {
			return append(out, Cause{Key: ByHost})
		}
	}
	if q.Secure && (!w.overTLS(q.Hostname()) || w.onlyInTheClear(a.Of, q.Hostname())) {
		return []Cause{{Key: ByDefaultTLS}}
	}
	if uri, ok := normalise(q.Path); !ok || uri != q.Path {
		read := q
		read.asRead = true
		raw := w.answer(read, w.asSent(q))
		if !raw.Result(q).Equal(a.Result(q)) || w.Refuses(raw.Of) {
			return append(out, Cause{Key: ByNormalising})
		}
		a = raw
	}
	for _, c := range a.Via {
		if c.Key == Prefix+"server-alias" {
			return append(out, c)
		}
	}
	for _, c := range slices.Backward(a.Via) {
		if strings.HasPrefix(own.Location, "https:") && (a.Status == 0 || a.Status == 403) && c.Key != Prefix+"ssl-redirect" &&
			slices.ContainsFunc(a.Via, func(c Cause) bool { return c.Key == Prefix+"ssl-redirect" }) {
			continue // it is redirected, where nginx has an exception
		}
		return append(out, c)
	}
	return append(out, Cause{Ingress: a.Of, Key: "spec.rules"})
}

// overTLS reports whether Fairlead serves a host over HTTPS.
func (w *World) overTLS(host string) bool {
	return slices.ContainsFunc(routing.Levels(host), func(h routing.Host) bool { return w.onTLS[h] })
}

// onlyInTheClear reports whether Fairlead serves an Ingress over HTTP alone on a host: it has no certificate for it.
func (w *World) onlyInTheClear(ingress, host string) bool {
	r := w.writers[ingress]
	return r != nil && !coveredBy(r.out.Ingress.Spec.TLS, host)
}

// asSent returns a path in which what is read of an Ingress has the place of what stands in it: with the characters that paths of
// Ingresses cannot have as clients send them, and without any other that is encoded.
func (w *World) asSent(q Question) string {
	path := q.Path
	if w.serverOf(strings.TrimSuffix(q.Hostname(), ".")).regex {
		return path
	}
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		if path[i] != '%' || i+2 >= len(path) {
			b.WriteByte(path[i])
			continue
		}
		c, err := strconv.ParseUint(path[i+1:i+3], 16, 8)
		switch spelt := path[i : i+3]; {
		case err == nil && spelt == strings.ToUpper(spelt) && (c == '%' || c <= ' ' || c >= 0x7f):
			b.WriteByte(byte(c))
			i += 2
		default:
			b.WriteByte(0) // no path of an Ingress has it
		}
	}
	return b.String()
}

// requestOf returns a request as it can be made. The client's address is a part of it where ranges are.
func (m *member) requestOf(q Question) compare.Request {
	out := compare.Request{Method: q.Method, URL: q.scheme() + "://" + q.Host + q.target(), Headers: q.Header, Routed: q.Request}
	if len(m.allow)+len(m.deny) > 0 {
		out.Source = q.Source.String()
	}
	return out
}

// anyClient is the address of a client that no Ingress names.
var anyClient = netip.MustParseAddr("192.0.2.1")

// An asker makes requests about an Ingress.
type asker struct {
	*World
	m      *member
	client netip.Addr // that may connect
	hosts  map[string]bool
	seen   map[Cause]bool
	shows  []shown
}

// askAll makes the requests that tell most about the Ingress.
func (a *asker) askAll() {
	if allowed := without(a.m.allow, a.m.deny); len(allowed) > 0 {
		a.client = allowed[0].Addr()
	}
	for _, s := range a.m.at {
		a.askServer(s)
	}
	const other = "any.example"
	for _, path := range []string{"/healthz", "/nginx_status", "/.."} {
		a.ask(other, path, "", false)
		a.ask(other, path, "", true)
	}
	a.ask(other+"..", "/", "", false)
}

// answer notes what changes the answer to a request, unless it is about another Ingress.
func (a *asker) answer(q Question) {
	a.hosts[q.Hostname()] = true
	for _, c := range a.Differences(q) {
		if !a.seen[c] && (c.Ingress == "" || c.Ingress == a.m.key()) {
			a.seen[c] = true
			a.shows = append(a.shows, shown{c, q})
		}
	}
}

func (a *asker) ask(host, path, query string, secure bool) {
	a.answer(a.question(host, path, query, secure))
}

func (a *asker) question(host, path, query string, secure bool) Question {
	q := Question{Request: routing.Request{Port: 80, Host: host, Path: path, Method: "GET", Source: a.client}, RawQuery: query}
	if secure {
		q.Port, q.Secure = 443, true
	}
	return q
}

func (a *asker) with(q Question, name string, values ...string) {
	q.Header = map[string][]string{name: values}
	a.answer(q)
}

// askServer asks about a server, and the locations of the Ingress there.
func (a *asker) askServer(s *server) {
	for _, alias := range s.aliases {
		if rest, is := strings.CutPrefix(alias, "*"); is && s.aliased == a.m {
			for _, l := range s.locations {
				a.ask("x.y"+rest, pathsFor(l, s.regex)[0], "", false)
			}
		}
	}
	if !slices.ContainsFunc(s.locations, func(l *location) bool { return l.of == a.m }) {
		return
	}
	for _, alias := range s.aliases {
		for _, l := range s.locations {
			if hostName.MatchString(alias) && l.of == a.m {
				a.ask(strings.Replace(alias, "*", "any", 1), pathsFor(l, s.regex)[0], "", false)
			}
		}
	}
	host := strings.Replace(strings.Replace(s.host, catchAll, "any.example", 1), "*", "any", 1)
	overTLS := a.overTLS(host)
	for _, secure := range []bool{false, true} {
		for _, l := range s.locations {
			if l.of == a.m && (overTLS || !secure) {
				a.askLocation(s, l, host, secure)
				a.ask(host+".", pathsFor(l, s.regex)[0], "", secure)
			}
		}
	}
	for _, path := range []string{"/.well-known/acme-challenge/x", "/", "/none", "/.."} {
		a.ask(host, path, "", false)
	}
	a.ask(host, "/", "a=b", false)
	a.ask(host+":8080", "/", "", false)
	if !overTLS {
		a.ask(host, pathsFor(s.locations[0], s.regex)[0], "", true)
		a.ask(host, "/..", "", true)
	}
	if from := otherName(s.host); s.www == a.m {
		a.ask(from, "/", "", false)
		a.ask(from, "/a/", "", false)
	}
}

// askLocation asks about a location of the Ingress.
func (a *asker) askLocation(s *server, l *location, host string, secure bool) {
	paths := pathsFor(l, s.regex)
	for _, path := range paths {
		a.ask(host, path, "", secure)
	}
	path, near := paths[0], paths[1]
	a.ask(host+":8080", near, "", secure)
	for _, p := range []string{path, near} { // an Exact path may answer the first
		a.ask(host, p, "a=b", secure)
		a.ask(host, p, "a=b/", secure)
	}
	q := a.question(host, path, "", secure)
	a.with(q, "X-Forwarded-Proto", "https")
	a.with(q, "X-Forwarded-Host", "other.example")
	if len(a.m.deny)+len(a.m.allow) > 0 {
		for _, from := range []string{"203.0.113.250", "10.255.255.254", "2001:db8::1"} {
			other := q
			other.Source = netip.MustParseAddr(from)
			a.answer(other)
		}
		a.with(q, "X-Forwarded-For", "203.0.113.250")
		for _, p := range slices.Concat(a.m.deny, a.m.allow) {
			a.with(q, "X-Forwarded-For", p.Addr().String())
		}
	}
	if len(l.to.alternatives) > 0 && l.to.alternatives[0].canary != nil {
		a.askCanary(q, l.to.alternatives[0].canary)
	}
}

func (a *asker) askCanary(q Question, c *canary) {
	if c.header != "" {
		value := c.value
		if value == "" {
			value = "always"
		}
		a.with(q, c.header, value)
		a.with(q, c.header, value, "other")
		a.with(q, c.header, strings.ToUpper(value))
	}
	if c.cookie != "" {
		a.with(q, "Cookie", c.cookie+"=always")
		a.with(q, "Cookie", c.cookie+"=never; "+c.cookie+"=always")
	}
}

// pathsFor returns paths that a location may match, and some near them.
func pathsFor(l *location, regex bool) []string {
	base := strings.TrimSuffix(l.text, "/")
	if regex {
		if re, err := syntax.Parse(l.text, syntax.Perl); err == nil {
			base = strings.TrimSuffix(exampleOf(re), "/")
		}
	}
	base = routing.Sendable(base)
	if base == "" {
		return []string{"/", "/x", "//x", "/./x", "/%78"}
	}
	out := []string{base, base + "/", base + "/x", base + "x", strings.ToUpper(base), "/" + base, "/." + base, "/x/.." + base, base + "//x"}
	if last := base[len(base)-1]; last != '/' {
		out = append(out, base[:len(base)-1]+fmt.Sprintf("%%%02X", last))
	}
	if regex {
		out = append(out, routing.Sendable(l.text))
	}
	if l.text[len(l.text)-1] == '/' && !regex {
		out[0], out[1] = out[1], out[0]
	}
	return out
}

// exampleOf returns a short text that an expression matches, in most cases.
func exampleOf(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		return string(re.Rune)
	case syntax.OpCharClass:
		for i := 0; i+1 < len(re.Rune); i += 2 {
			for r := max(re.Rune[i], '-'); r <= min(re.Rune[i+1], 'z'); r++ {
				if r != '/' && r != '?' && r != '\\' && r != '<' && r != '>' && r != '^' && r != '`' {
					return string(r)
				}
			}
		}
		return "x"
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return "x"
	case syntax.OpCapture, syntax.OpPlus:
		return exampleOf(re.Sub[0])
	case syntax.OpRepeat:
		return strings.Repeat(exampleOf(re.Sub[0]), re.Min)
	case syntax.OpAlternate:
		return exampleOf(re.Sub[0])
	case syntax.OpConcat:
		out := ""
		for _, sub := range re.Sub {
			out += exampleOf(sub)
		}
		return out
	}
	return ""
}

// Tells reports whether a verdict tells that a cause changes answers.
func (w *World) Tells(c Cause) bool {
	for key, r := range w.writers {
		for _, v := range r.out.Verdicts {
			ofIt := v.Key == c.Key && key == c.Ingress || c.Ingress == "" && v.Key == byItself[c.Key] && v.Message == changed[c.Key]
			if v.Outcome != dialect.Same && ofIt {
				return true
			}
		}
	}
	return false
}
