package nginx

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/compare"
	"fairlead.dev/fairlead/model/ingress/dialect"
	"fairlead.dev/fairlead/model/routing"
)

// This file finds requests that show what is changed: it asks nginx and Fairlead about those that tell most about a location.

// changed says what is changed, by annotation, or by what nginx does by itself.
var changed = map[string]string{
	ByForwarded: "ingress-nginx believes clients who send X-Forwarded headers (`use-forwarded-headers`), and {LB} looks at the " +
		"connection alone",
	ByHost:        "ingress-nginx takes a dot off the end of a host, and {LB} compares hosts as they are sent",
	ByNormalising: "ingress-nginx compares paths without repeated slashes, dots and percent-encodings, and {LB} as they are sent",
	BySlash:       "ingress-nginx leads requests without the slash to the path before anything else, and {LB} to HTTPS first",
	ByStatus:      "ingress-nginx has pages for its own health on hosts that no rule names",
	ByDefaultTLS:  "ingress-nginx answers with a certificate of its own over HTTPS, and {LB} serves hosts with one of theirs alone",
	ByOtherTLS: "no entry of spec.tls in its namespace is about this host, so that {LB} does not serve it over HTTPS; ingress-nginx " +
		"does, with a certificate of its own, or of another namespace",
	ByFront: "all hosts of the Ingress have the certificate of the load balancer in front, so that all are redirected to HTTPS; with " +
		"ingress-nginx, those of spec.tls alone are",
	ByRefused: "with ingress-nginx, an Ingress that is refused has these requests; without it, this one has",
	ByAlias:   "the host is an alias that an Ingress gives it that is refused: its star stands for any number of labels with ingress-nginx",
	ByCase: "ingress-nginx ignores the case of paths of this host, as one of its Ingresses has use-regex or rewrite-target, and " +
		"`nginx.caseFolding` of the class does not",
	ByServer: "{LB} redirects with 301, and lets ACME challenges through: clients may send GET for POST",
	ByServerElse: "a server of `http-snippet` redirects requests over HTTP to HTTPS, also for hosts and paths that no Ingress names: " +
		"{LB} answers 404",
	ByHeaders: "{LB} sends the headers of enable-cors with all answers, and ingress-nginx with those for paths of Ingresses: not with " +
		"redirects to a path with a slash, or for app-root, or with 404",
	Prefix + "enable-cors": "{LB} redirects preflight requests over HTTP to HTTPS, where browsers give up, and ingress-nginx answers " +
		"them",
	Prefix + "cors-allow-origin": "{LB} sends the headers with all answers, and ingress-nginx with those to requests of this origin; " +
		"pages of other origins cannot read the answers either way",
	Prefix + "ssl-redirect": "{LB} redirects with 301, keeps a slash at the end, and lets ACME challenges through: clients may " +
		"send GET for POST",
	Prefix + "force-ssl-redirect":     "{LB} redirects with 301 and keeps a slash at the end: clients may send GET for POST",
	Prefix + "permanent-redirect":     "{LB} redirects with 301 or 302, and keeps the query",
	Prefix + "temporal-redirect":      "{LB} redirects with 301 or 302, and keeps the query",
	Prefix + "from-to-www-redirect":   "{LB} redirects with 301, and keeps a slash at the end",
	Prefix + "app-root":               "{LB} keeps the query, and redirects over HTTP to HTTPS first",
	Prefix + "rewrite-target":         "{LB} writes the new path as the client encoded the old one",
	Prefix + "canary-by-header":       "{LB} compares each of several headers of the name, and ingress-nginx all of them as one text",
	Prefix + "canary-by-header-value": "{LB} compares each of several headers of the name, and ingress-nginx all of them as one text",
	Prefix + "canary-by-header-pattern": "{LB} compares each of several headers of the name, and ingress-nginx all of them as one " +
		"text",
	Prefix + "server-alias":     "the star of a wildcard stands for one label, and with ingress-nginx for any number",
	Prefix + "canary-by-cookie": "of a cookie that is sent twice, ingress-nginx reads the first",
}

// byItself has the fields that verdicts about what nginx does by itself are about.
var byItself = map[string]string{ByNormalising: "spec.rules[].http.paths[].path", ByHost: "spec.rules[].host", ByDefaultTLS: "spec.tls",
	ByOtherTLS: "spec.tls", ByRefused: "spec.rules", ByAlias: "spec.rules[].host", ByFront: "spec.tls",
	ByCase:   "spec.rules[].http.paths[].path",
	ByServer: "ConfigMap http-snippet", ByServerElse: "ConfigMap http-snippet",
	ByStatus: "spec.defaultBackend", ByHeaders: "spec.rules", ByForwarded: "ConfigMap use-forwarded-headers"}

// showAll gives the changes of all Ingresses requests that show them. What nginx does by itself is told once, of the first Ingress
// for which it makes a difference. Where the class refuses what is changed, the others are asked again without it.
func (w *World) showAll(memory Memory) {
	said := map[*writer][]dialect.Verdict{}
	for again := true; again; {
		for key, r := range w.writers {
			if said[r] == nil {
				said[r] = r.out.Verdicts
			}
			if !w.Refuses(key) {
				r.out.Verdicts = slices.Clone(said[r])
			}
		}
		w.tellShown(memory)
		for _, r := range w.writers {
			slices.SortStableFunc(r.out.Verdicts, func(a, b dialect.Verdict) int { return strings.Compare(a.Key, b.Key) })
		}
		if again = w.refuseChanged(); again {
			w.fill()
		}
	}
	for key, r := range w.writers {
		if w.Refuses(key) {
			w.showRefused(r)
		}
	}
}

// refuseChanged refuses Ingresses of which something is changed, if the class says so, and reports whether there are any.
func (w *World) refuseChanged() (found bool) {
	if w.class.NGINX == nil || w.class.NGINX.Changed != v1alpha1.NGINXChangedRefuse {
		return false
	}
	for key, r := range w.writers {
		if w.Refuses(key) {
			continue
		}
		for i := range r.out.Verdicts {
			if v := &r.out.Verdicts[i]; v.Outcome == dialect.Changed && !w.isCommon(*v) {
				v.Outcome, found = dialect.Refused, true
				v.Message += ", and `nginx.changed` of the class refuses that"
			}
		}
	}
	return found
}

// isCommon reports whether a verdict is about what nginx does by itself, with all Ingresses.
func (w *World) isCommon(v dialect.Verdict) bool {
	common := []string{ByNormalising, ByHost, ByDefaultTLS, ByStatus, ByForwarded, ByHeaders, ByServerElse}
	return slices.ContainsFunc(common, func(cause string) bool {
		return v.Key == byItself[cause] && v.Message == w.Config.worded(changed[cause])
	})
}

// findClients finds clients that Ingresses with ranges let through, for requests that another Ingress answers than the one that
// they are about.
func (w *World) findClients() {
	w.clients = nil
	for _, key := range slices.Sorted(maps.Keys(w.writers)) {
		if allowed := without(w.writers[key].m.allow, w.writers[key].m.deny); len(allowed) > 0 && !w.Refuses(key) &&
			len(w.clients) < 4 && !slices.Contains(w.clients, allowed[0].Addr()) {
			w.clients = append(w.clients, allowed[0].Addr())
		}
	}
}

// tellShown tells what is changed, with requests. Those about an Ingress go first; others show what it is asked about in vain.
func (w *World) tellShown(memory Memory) {
	told, others := map[Cause]bool{}, []shown{}
	for _, key := range slices.Sorted(maps.Keys(w.writers)) {
		r := w.writers[key]
		f := w.findingsOf(r.m, memory)
		r.changed = f.changed
		for _, s := range f.shows {
			if s.Ingress == "" && !w.Refuses(key) || s.Ingress == key {
				r.showCause(s.Cause, s.Question, told)
			} else {
				others = append(others, s)
			}
		}
	}
	for _, s := range others {
		if r := w.writers[cmp.Or(s.Ingress, w.ownerOf(s.Question))]; r != nil {
			r.showCause(s.Cause, s.Question, told)
		}
	}
}

// search asks about an Ingress: for a request for each cause of another answer.
func (w *World) search(m *member) found {
	a := asker{World: w, m: m, client: anyClient, hosts: map[string]bool{}, seen: map[Cause]bool{}, changed: map[requestClass]bool{}}
	a.askAll()
	return found{hosts: slices.Sorted(maps.Keys(a.hosts)), shows: a.shows, changed: a.changed}
}

// showCause says that a cause changes the answer to a request, unless another request showed it.
func (r *writer) showCause(c Cause, q Question, told map[Cause]bool) {
	if told[c] {
		return
	}
	told[c] = true
	v := dialect.Verdict{Key: c.Key, Outcome: dialect.Changed, Message: r.Config.worded(changed[c.Key]), Request: r.m.requestOf(q),
		Before: r.Answer(q).Result(q).text(q), After: r.textOf(q)}
	if field, is := byItself[c.Key]; is {
		v.Key = field
		v.ByItself = r.isCommon(v)
		r.out.Verdicts = append(r.out.Verdicts, v)
		return
	}
	if v.Message == "" {
		v.Message = r.Config.worded(changed[BySlash])
		if strings.HasPrefix(c.Key, Prefix) {
			v.Message = "some requests are answered in another way"
		}
	}
	at := slices.IndexFunc(r.out.Verdicts, func(v dialect.Verdict) bool { return v.Key == c.Key })
	switch {
	case at < 0:
		r.out.Verdicts = append(r.out.Verdicts, v)
	case r.out.Verdicts[at].Request.URL == "" && r.out.Verdicts[at].Outcome != dialect.Dropped:
		switch before := r.out.Verdicts[at]; {
		case before.Message != "" && before.Outcome == dialect.Same: // such as of a value that is ignored
			v.Message = before.Message + "; " + v.Message
		case before.Message != "":
			v.Message = before.Message
		}
		r.out.Verdicts[at] = v
	}
}

// Differences returns what leads to another answer of Fairlead to a request; nothing if it is the same.
func (w *World) Differences(q Question) []Cause {
	a := w.Answer(q)
	own := w.Result(q)
	refused, theirs := w.Refuses(a.Of), a.Result(q)
	if refused && len(own.To) == 0 || !refused && theirs.Equal(own) {
		return nil
	}
	theirs.CrossOrigin = own.CrossOrigin
	switch {
	case refused || !theirs.Equal(own):
	case q.Secure && !w.overTLS(q.Hostname()): // there is no certificate for the host
		return nil
	case a.at != nil && a.at.of != nil && a.at.of.answers() && len(a.at.of.cors.origins) > 0:
		return []Cause{{a.Of, Prefix + "cors-allow-origin"}}
	default:
		return []Cause{{Key: ByHeaders}}
	}
	if direct, is := w.withoutForwarded(q); is {
		if !w.Answer(direct).Result(direct).Equal(a.Result(q)) {
			return []Cause{{Key: ByForwarded}}
		}
		return w.Differences(direct)
	}
	if c, is := a.sameRedirect(q, own); is {
		return []Cause{c}
	}
	if a.Status == 400 {
		return []Cause{{Key: ByNormalising}}
	}
	if plain := q; strings.HasSuffix(q.Hostname(), ".") {
		plain.Host = strings.TrimSuffix(q.Hostname(), ".")
		if others := w.Differences(plain); own.sameBut(w.Result(plain)) && len(others) > 0 {
			return others
		}
		return []Cause{{Key: ByHost}}
	}
	if uri, ok := normalise(q.Path); !ok || uri != q.Path {
		read := w.front.pass(q)
		read.asRead = true
		raw := w.answer(read, w.asSent(q))
		if !raw.Result(q).Equal(a.Result(q)) || raw.Of != a.Of {
			return []Cause{{Key: ByNormalising}}
		}
		a = raw
	}
	if w.Refuses(a.Of) {
		return []Cause{{w.ownerOf(q), ByRefused}}
	}
	if c, is := w.notOverTLS(a, q); is {
		return []Cause{c}
	}
	return []Cause{w.causeOf(a, q, own)}
}

// sameRedirect returns the annotation of a redirect that has the same URL here, but for its code and the query.
func (a Answer) sameRedirect(q Question, own Result) (Cause, bool) {
	theirs, _, _ := strings.Cut(a.Result(q).Location, "?")
	ours, _, _ := strings.Cut(own.Location, "?")
	at := slices.IndexFunc(a.Via, func(c Cause) bool {
		return c.Key == Prefix+"permanent-redirect" || c.Key == Prefix+"temporal-redirect"
	})
	if at < 0 || theirs != ours {
		return Cause{}, false
	}
	return a.Via[at], true
}

// causeOf returns what leads to another answer to a request that nginx reads as it was sent.
func (w *World) causeOf(a Answer, q Question, own Result) Cause {
	for _, c := range a.Via {
		switch {
		case c.Key == Prefix+"server-alias" && !w.Refuses(c.Ingress):
			return c
		case c.Key == Prefix+"server-alias" && a.Of != "":
			return Cause{a.Of, ByAlias}
		}
	}
	if w.isFolded(a.at, q.Path) {
		return Cause{a.Of, ByCase}
	}
	if plain := strings.ReplaceAll(q.Path, "%", ""); a.at != nil && a.at.rewrites() && escaped(plain) != plain {
		return Cause{Key: ByNormalising} // it has characters that are not to stand in a path as they are
	}
	if w.front.certificates != "" && a.Of != "" && (a.Status == 0 || a.Status >= 400) && strings.HasPrefix(own.Location, "https:") {
		return Cause{a.Of, ByFront}
	}
	for _, c := range slices.Backward(a.Via) {
		if strings.HasPrefix(own.Location, "https:") && (a.Status == 0 || a.Status == 403) && c.Key != Prefix+"ssl-redirect" &&
			slices.ContainsFunc(a.Via, func(c Cause) bool { return c.Key == Prefix+"ssl-redirect" }) {
			continue // it is redirected, where nginx has an exception
		}
		if c.Key == Prefix+"canary-weight" && slices.ContainsFunc(a.Via, func(o Cause) bool {
			return o.Ingress == c.Ingress && strings.HasPrefix(o.Key, Prefix+"canary-by-")
		}) {
			continue // a header or a cookie was read in another way before
		}
		return c
	}
	if a.Of == "" {
		return Cause{w.ownerOf(q), ByRefused} // whose host, or alias, it is
	}
	return Cause{a.Of, "spec.rules"}
}

// ownerOf returns the Ingress that Fairlead answers a request for; "" for none.
func (w *World) ownerOf(q Question) string {
	if o := w.table.Match(q.Request).Owner; o.Name != "" {
		return o.Namespace + "/" + o.Name
	}
	return ""
}

// withoutForwarded returns a request without X-Forwarded headers, if it has any that nginx believes.
func (w *World) withoutForwarded(q Question) (direct Question, had bool) {
	if !w.Config.UseForwardedHeaders {
		return q, false
	}
	all := len(q.Header)
	q.Header = maps.Clone(q.Header)
	maps.DeleteFunc(q.Header, func(name string, _ []string) bool { return strings.HasPrefix(strings.ToLower(name), "x-forwarded-") })
	return q, len(q.Header) < all
}

// notOverTLS returns the cause where Fairlead does not answer a request over HTTPS for want of a certificate.
func (w *World) notOverTLS(a Answer, q Question) (Cause, bool) {
	switch host := q.Hostname(); {
	case !q.Secure || w.front.certificates != "" || w.overTLS(host) && !w.onlyInTheClear(a.Of, host):
		return Cause{}, false
	case a.Of != "" && w.secure(strings.TrimSuffix(host, ".")):
		return Cause{a.Of, ByOtherTLS}, true
	}
	return Cause{Key: ByDefaultTLS}, true
}

// isFolded reports whether a location of a server with expressions matches a path in another case than Fairlead compares.
func (w *World) isFolded(l *location, path string) bool {
	if w.fold == "" || w.fold == v1alpha1.CaseFoldingExact || l == nil || l.expression == nil {
		return false
	}
	re, err := regexp.Compile("^/" + w.folded(strings.TrimPrefix(l.text, "/")))
	return err == nil && !re.MatchString(path)
}

// overTLS reports whether Fairlead serves a host over HTTPS.
func (w *World) overTLS(host string) bool {
	return slices.ContainsFunc(routing.Levels(host), func(h routing.Host) bool { return w.onTLS[h] })
}

// onlyInTheClear reports whether Fairlead serves an Ingress over HTTP alone on a host: it has no certificate for it.
func (w *World) onlyInTheClear(ingress, host string) bool {
	r := w.writers[ingress]
	return r != nil && !r.overHTTPS(host)
}

// readPercent reads a text with % as one with %25.
var readPercent = strings.NewReplacer("%25", "%", "%", "\x01")

// asSent returns a path in which what is read of an Ingress has the place of what stands in it: with the characters that paths of
// Ingresses cannot have as clients send them, and without any other that is encoded.
func (w *World) asSent(q Question) string {
	path := q.Path
	if w.serverOf(strings.TrimSuffix(q.Hostname(), ".")).regex {
		return readPercent.Replace(path)
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
	// changed has the classes of requests of which some are answered in another way.
	changed map[requestClass]bool
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
	for _, path := range []string{"/healthz", "/nginx_status", "/zq9", "/.."} {
		a.ask(other, path, "", false)
		a.ask(other, path, "", true)
	}
	a.ask(other+"..", "/", "", false)
}

// answer notes what changes the answer to a request.
func (a *asker) answer(q Question) {
	a.hosts[q.Hostname()] = true
	for _, c := range a.Differences(q) {
		a.noteChange(c, q)
		if !a.seen[c] {
			a.seen[c] = true
			a.shows = append(a.shows, shown{c, q})
		}
	}
}

func (a *asker) ask(host, path, query string, secure bool) {
	a.askAs(a.client, host, path, query, secure)
}

func (a *asker) askAs(client netip.Addr, host, path, query string, secure bool) {
	q := a.question(host, path, query, secure)
	q.Source = client
	a.answer(q)
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
	a.askAliases(s)
	if !slices.ContainsFunc(s.locations, func(l *location) bool { return l.of == a.m }) {
		return
	}
	for _, alias := range s.aliases {
		for _, l := range s.locations {
			if hostName.MatchString(alias) && l.of == a.m {
				path := s.reaching(l, pathsFor(l, s.regex))[0]
				a.ask(strings.Replace(alias, "*", "any", 1), path, "", false)
				a.ask(strings.Replace(alias, "*", "any", 1), path, "", true)
			}
		}
	}
	host := strings.Replace(strings.Replace(s.host, catchAll, "any.example", 1), "*", "any", 1)
	for _, l := range s.locations {
		if l.of != a.m {
			continue
		}
		a.askLocation(s, l, host)
		if s.host == catchAll {
			a.askElsewhere(l, s.regex)
		}
	}
	for _, path := range []string{"/.well-known/acme-challenge/x", "/", "/none", "/.."} {
		a.ask(host, path, "", false)
	}
	a.ask(host, "/", "a=b", false)
	a.ask(host+":8080", "/", "", false)
	a.ask(host, "/", "", true)
	a.ask(host, "/..", "", true)
	if from := otherName(s.host); s.www == a.m {
		a.ask(from, "/", "", false)
		a.ask(from, "/a/", "", false)
		a.ask(from, "/", "", true)
	}
}

// askElsewhere asks about hosts that Fairlead does not name as nginx does, for paths of a location of hosts that no rule names: with a
// dot at their end, or of aliases that are no host names.
func (a *asker) askElsewhere(l *location, regex bool) {
	ask := func(host string) {
		for _, path := range pathsFor(l, regex) {
			for _, client := range append([]netip.Addr{a.client}, a.clients...) {
				a.askAs(client, host, path, "", false)
				a.askAs(client, host, path, "", true)
			}
		}
	}
	for _, name := range a.elsewhere() {
		if hostName.MatchString(name) && !a.seen[Cause{Key: ByHost}] {
			ask(strings.Replace(name, "*", "any", 1) + ".")
		}
		for _, alias := range a.servers[name].aliases {
			if host := hostFor(alias); host != "" {
				ask(host)
			}
		}
	}
}

// elsewhere returns servers with names that requests to hosts without one are compared with: not all of them, which may be many.
func (w *World) elsewhere() []string { return w.names.sorted[:min(len(w.names.sorted), 8)] }

// askAliases asks about the aliases of a server that are no host names.
func (a *asker) askAliases(s *server) {
	for _, alias := range s.aliases {
		host := hostFor(alias)
		for _, l := range s.locations {
			if host == "" || l.of != a.m && s.aliased != a.m {
				continue
			}
			for _, path := range pathsFor(l, s.regex) {
				for _, client := range append([]netip.Addr{a.client}, a.clients...) {
					a.askAs(client, host, path, "", false)
					a.askAs(client, host, path, "", true)
				}
			}
		}
	}
}

// hostFor returns a host for an alias that stands for several, as nginx reads it; "" for other ones.
func hostFor(alias string) string {
	if rest, star := strings.CutPrefix(alias, "*"); star {
		return "x.y" + rest
	}
	expression, is := strings.CutPrefix(alias, "~")
	if re, err := syntax.Parse(expression, syntax.Perl); is && err == nil {
		return exampleOf(re)
	}
	return ""
}

// askLocation asks about a location of the Ingress.
func (a *asker) askLocation(s *server, l *location, host string) {
	paths := pathsFor(l, s.regex)
	reaching := s.reaching(l, paths)
	a.askPaths(l, host, paths, reaching, false)
	if a.overTLS(host) {
		a.askPaths(l, host, paths, reaching, true)
		return
	}
	for _, path := range paths {
		a.ask(host, path, "", true)
	}
	a.askClients(a.question(host, reaching[0], "", true))
}

// askPaths asks about paths of a location, and more about those that reach it.
func (a *asker) askPaths(l *location, host string, paths, reaching []string, secure bool) {
	for _, path := range paths {
		a.ask(host, path, "", secure)
		for _, client := range a.clients {
			if a.Refuses(a.m.key()) {
				a.askAs(client, host, path, "", secure)
			}
		}
		if !a.seen[Cause{Key: ByHost}] {
			a.ask(host+".", path, "", secure)
		}
		if a.Config.UseForwardedHeaders && !a.seen[Cause{Key: ByForwarded}] {
			a.with(a.question(host, path, "", secure), "X-Forwarded-Host", "other.example")
		}
	}
	a.ask(host+":8080", paths[1], "", secure)
	for _, path := range reaching {
		a.ask(host, path, "a=b", secure)
		a.ask(host, path, "a=b/", secure)
		if a.fold != "" && a.fold != v1alpha1.CaseFoldingExact {
			for _, other := range []string{strings.ToUpper(path), strings.ToLower(path), otherCase(path)} {
				a.ask(host, other, "", secure)
				a.ask(host, other, "a=b", secure)
			}
		}
		q := a.question(host, path, "", secure)
		a.with(q, "X-Forwarded-Proto", "https")
		a.with(q, "X-Forwarded-Host", "other.example")
		a.askClients(q)
		a.askOrigins(q)
		if len(l.to.alternatives) > 0 && l.to.alternatives[0].canary != nil {
			a.askCanary(q, l.to.alternatives[0].canary)
		}
		if q.Host = host + "."; !a.seen[Cause{Key: ByHost}] {
			a.answer(q)
			a.askClients(q)
		}
	}
}

// askOrigins asks as pages of other origins, if they matter.
func (a *asker) askOrigins(q Question) {
	if len(a.m.cors.origins) == 0 {
		return
	}
	for _, q.Method = range []string{"GET", "OPTIONS"} {
		a.with(q, "Origin", "https://other.example")
		a.with(q, "Origin", a.m.cors.headers[0].value)
	}
}

// askClients asks as clients of other addresses, if they matter.
func (a *asker) askClients(q Question) {
	if len(a.m.deny)+len(a.m.allow) == 0 {
		return
	}
	all := []netip.Addr{netip.MustParseAddr("203.0.113.250"), netip.MustParseAddr("10.255.255.254"), netip.MustParseAddr("2001:db8::1")}
	for _, p := range a.m.deny {
		all = append(all, p.Addr())
	}
	for _, from := range all {
		other := q
		other.Source = from
		a.answer(other)
	}
	a.with(q, "X-Forwarded-For", "203.0.113.250")
	for _, p := range slices.Concat(a.m.deny, a.m.allow) {
		a.with(q, "X-Forwarded-For", p.Addr().String())
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
		return []string{"/", "/x", "//x", "/./x", "/%78", "/zq9"}
	}
	out := []string{base, base + "/", base + "/x", base + "x", strings.ToUpper(base), "/" + base, "/." + base, "/x/.." + base, base + "//x",
		base + "/zq9"}
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

// otherCase returns a path with letters in either case, none of which is that of a word.
func otherCase(path string) string {
	out := []byte(strings.ToUpper(path))
	for i, c := range out {
		if i == 0 || out[i-1] == '/' {
			out[i] = strings.ToLower(string(c))[0]
		}
	}
	return string(out)
}

// reaching returns one or two of the paths that reach a location as they are.
func (s *server) reaching(l *location, paths []string) (out []string) {
	for _, path := range paths {
		if uri, ok := normalise(path); !ok || uri != path || path == "/" && s.hasAppRoot() {
			continue
		}
		if found, slash := s.find(path, false); found == l && !slash && len(out) < 2 {
			out = append(out, path)
		}
	}
	if len(out) == 0 {
		return paths[:1]
	}
	return out
}

func (s *server) hasAppRoot() bool {
	return slices.ContainsFunc(s.locations, func(l *location) bool { return l.of != nil && l.of.appRoot != "" })
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
			isCause := v.Key == c.Key || v.Key == byItself[c.Key] && v.Message == w.Config.worded(changed[c.Key])
			ofIt := isCause && (c.Ingress == "" || key == c.Ingress)
			if v.Outcome != dialect.Same && ofIt {
				return true
			}
		}
	}
	return false
}
