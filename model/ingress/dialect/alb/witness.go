package alb

import (
	"fmt"
	"net/netip"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/compare"
	"fairlead.dev/fairlead/model/ingress/dialect"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/language"
	"fairlead.dev/fairlead/model/settings"
)

// This file finds requests that show what is changed.

// A change is a path whose requests may be answered in another way than by the other controller.
type change struct {
	service, key string // the annotation that leads to it
	message      string
	plain        bool                           // of requests over HTTP alone
	on           func(v1alpha1.ListenPort) bool // of requests to these ports alone; nil for all
	host         string                         // of rules, with wildcards
	path         routing.Path
	query        string
	when         entry                       // which they fulfil
	leftOut      string                      // the author's path that the other controller leaves out; "" if it does not
	backend      networkingv1.IngressBackend // then, that of the path
	after        int                         // how many paths are before it in the Ingress
}

// Bounds of the search. What is beyond them is told without being changed.
const (
	mostChanges = 50     // paths of an annotation that are tried
	mostTries   = 50_000 // comparisons of a path
	mostSteps   = 20_000 // of the search for a text of an expression, which counts as textTries
	textTries   = 100
)

// tries counts comparisons, and reports whether there may be more.
func (r *reader) tries(n int) bool {
	r.tried += n
	return r.tried <= mostTries
}

// textOf returns a text that is in all languages of one list and none of another.
func (r *reader) textOf(in, out []*language.Language) (string, bool) {
	if !r.tries(textTries) {
		return "", false
	}
	text, verdict := language.FindText(in, out, mostSteps)
	return text, verdict == language.Some
}

// note adds a path to those that may show a change.
func (r *reader) note(c change) {
	same := 0
	for _, o := range r.changes {
		if o.service == c.service && o.key == c.key {
			same++
		}
	}
	if same < mostChanges {
		r.changes = append(r.changes, c)
	}
}

// show gives each change a request that shows it. A change that no request shows is none.
func (r *reader) show() {
	for _, h := range r.hostRedirects {
		r.noteDropped(h)
	}
	for _, c := range r.changes {
		at := slices.IndexFunc(r.out.Verdicts, func(v dialect.Verdict) bool { return v.Key == c.key && v.Service == c.service })
		if at < 0 || r.out.Verdicts[at].Request.URL != "" || r.out.Verdicts[at].Outcome == dialect.Refused {
			continue
		}
		if request, found := r.requestOf(c); found {
			v := &r.out.Verdicts[at]
			v.Outcome, v.Message, v.Request = dialect.Changed, c.message, request
		}
	}
}

// requestOf returns a request of a change. It reports false if an earlier path has it, or no port.
func (r *reader) requestOf(c change) (compare.Request, bool) {
	none := compare.Request{}
	insecure, secure := r.ports.of(v1alpha1.ProtocolHTTP), r.ports.of(v1alpha1.ProtocolHTTPS)
	if r.out.Ingress.Annotations[settings.SSLRedirect] != "" {
		insecure = nil // these requests are redirected first
	}
	if c.plain {
		secure = nil
	}
	out := compare.Request{Headers: map[string][]string{}}
	query, fulfils := r.fulfil(c.when, &out)
	if !fulfils {
		return none, false
	}
	query = strings.Trim(query+"&"+c.query, "&")
	methods := []string{"GET", "POST"} // an earlier path may have one of them
	if len(c.when.Method) > 0 {
		methods = c.when.Method[:1]
	}
	hosts := r.hostsLike(c.host)
	if c.host == "" {
		hosts = append(hosts, r.otherHosts(c.after)...)
	}
	try := func(scheme string, port int32) bool {
		at := v1alpha1.ListenPort{Protocol: strings.ToUpper(scheme), Port: port}
		if c.on != nil && !c.on(at) {
			return false
		}
		for _, out.Method = range methods {
			for _, host := range hosts {
				unreached := func(w writtenPath) bool { return w.circles(scheme, port) }
				if path, found := r.free(c, at, host, out, query, unreached); found {
					out.URL = strings.TrimSuffix(fmt.Sprintf("%s://%s:%d%s?%s", scheme, host, port, routing.Sendable(path), query), "?")
					return true
				}
			}
		}
		return false
	}
	for _, port := range insecure {
		if try("http", port) {
			return out, true
		}
	}
	for _, port := range secure { // a redirect in front may lead to itself on one of them
		if try("https", port) {
			return out, true
		}
	}
	return out, false
}

// free returns a path of a change that no path before it in the Ingress has.
func (r *reader) free(c change, on v1alpha1.ListenPort, host string, request compare.Request, query string,
	unreached func(writtenPath) bool) (string, bool) {
	const most = 20 // paths that are left out of the search
	in, out := []*language.Language{language.OfPath(c.path), language.OfPath(routing.Root)}, []*language.Language{}
	for range most {
		path, found := r.textOf(in, out)
		if !found {
			return "", false
		}
		has := func(w writtenPath) bool {
			return !unreached(w) && r.tries(1) && w.path.Matches(path) && w.isFor(host, request, query)
		}
		at := slices.IndexFunc(r.written[:c.after], has)
		if at < 0 && c.leftOut != "" { // the next path there may answer alike
			next := slices.IndexFunc(r.written[c.after:], func(w writtenPath) bool {
				return w.from != c.leftOut && (w.loops == nil || !w.loops(on)) && has(w)
			})
			if next >= 0 && r.answersAlike(r.written[c.after+next].backend, c.backend) {
				at = c.after + next
			}
		}
		if at < 0 {
			return path, true
		}
		out = append(out, language.OfPath(r.written[at].path))
	}
	return "", false
}

// A writtenPath is one that was written.
type writtenPath struct {
	host        string
	path        routing.Path
	patterns    []string // values in the other controller's rule, which has several paths
	when        entry
	globs       []string // with which its host is a condition
	expressions []string // likewise
	redirect    *v1alpha1.Redirect
	loops       func(v1alpha1.ListenPort) bool // the other controller takes it for a redirect to itself; nil for never
	backend     networkingv1.IngressBackend
	from        string // the author's path
}

// isFor reports whether a path is for a host, and a request fulfils its conditions.
func (w writtenPath) isFor(host string, request compare.Request, query string) bool {
	return hasHost(w.host, host) && w.when.holds(request, query) &&
		(w.globs == nil || slices.ContainsFunc(w.globs, func(glob string) bool { return hasHost(glob, host) })) &&
		(w.expressions == nil || slices.ContainsFunc(w.expressions, func(e string) bool { return matches(e, host) }))
}

// circles reports whether the path is redirected to itself. It is left out then.
func (w writtenPath) circles(scheme string, port int32) bool {
	if w.redirect == nil {
		return false
	}
	stays := func(part string, same ...string) bool { return part == "" || slices.Contains(same, part) }
	to := w.redirect
	return stays(to.Host, "#{host}", w.host) && stays(to.Path, "/#{path}", w.path.Value) && stays(to.Query, "#{query}") &&
		stays(to.Scheme, "#{protocol}", scheme) && stays(to.Port, "#{port}", strconv.Itoa(int(port)))
}

func hasHost(of, host string) bool { return of == "" || routing.GlobMatch(of, host) }

// matches reports whether an expression matches a whole text.
func matches(expression, text string) bool {
	return (routing.Path{Type: routing.Regex, Value: expression}).Matches(text)
}

// hostsLike returns hosts that a host of rules stands for.
func (r *reader) hostsLike(host string) []string {
	if below, wildcard := strings.CutPrefix(host, "*."); wildcard {
		return []string{"www." + below, "any.www." + below}
	}
	if host == "" {
		return []string{r.anyHost(), "any.example"}
	}
	return []string{strings.NewReplacer("*", "www", "?", "x").Replace(host)}
}

// answersAlike reports whether two backends are the same, or say the same.
func (r *reader) answersAlike(a, b networkingv1.IngressBackend) bool {
	if a.Service == nil || b.Service == nil {
		return a.Service == b.Service && reflect.DeepEqual(r.backends[nameOf(a)], r.backends[nameOf(b)])
	}
	return *a.Service == *b.Service
}

// nameOf returns the name of a backend that is a Backend; "" for a Service.
func nameOf(b networkingv1.IngressBackend) string {
	if b.Resource == nil {
		return ""
	}
	return b.Resource.Name
}

// hosts returns those that a path has by conditions.
func (w writtenPath) hosts() (out []*language.Language) {
	for _, glob := range w.globs {
		out = append(out, language.OfPath(routing.NewPath(routing.Glob, glob)))
	}
	for _, e := range w.expressions {
		out = append(out, language.New(e))
	}
	return out
}

// hostAmong returns a host that is in one of some languages, or any if there are none, and that no expression
// matches; none if there is none.
func (r *reader) hostAmong(some []*language.Language, expressions []string) []string {
	var out []*language.Language
	for _, e := range expressions {
		out = append(out, language.New(e))
	}
	name := language.New(anyHostName)
	if len(some) == 0 {
		some = []*language.Language{name}
	}
	for _, one := range some {
		if host, found := r.textOf([]*language.Language{name, one}, out); found {
			return []string{host}
		}
	}
	return nil
}

// anyHostName matches hosts in lower case.
const anyHostName = `[a-z]([a-z0-9._-]*[a-z0-9])?\.?`

// otherHosts returns a host for which none of the first paths is that has hosts by conditions; none if there is
// no such path.
func (r *reader) otherHosts(first int) []string {
	var out []*language.Language
	for _, w := range r.written[:first] {
		out = append(out, w.hosts()...)
	}
	if out == nil {
		return nil
	}
	host, found := r.textOf([]*language.Language{language.New(anyHostName)}, out)
	if !found {
		return nil
	}
	return []string{host}
}

// holds reports whether a request fulfils conditions, as far as it is known.
func (e entry) holds(request compare.Request, query string) bool {
	some := func(values, globs []string) bool {
		return slices.ContainsFunc(values, func(v string) bool {
			return slices.ContainsFunc(globs, func(glob string) bool {
				return routing.GlobMatch(strings.ToLower(glob), strings.ToLower(v))
			})
		})
	}
	for name, globs := range e.Header {
		if !some(request.Headers[name], globs) {
			return false
		}
	}
	for name, expressions := range e.HeaderRegex {
		values := request.Headers[name]
		if len(values) == 0 || !slices.ContainsFunc(expressions, func(e string) bool { return matches(e, values[0]) }) {
			return false
		}
	}
	parameters, err := url.ParseQuery(query)
	if err != nil {
		return false
	}
	var pairs []string
	for name, values := range parameters {
		for _, v := range values {
			pairs = append(pairs, name+"="+v, v)
		}
	}
	for name, globs := range e.Query {
		if !some(parameters[name], globs) {
			return false
		}
	}
	return (len(e.QueryStrings) == 0 || some(pairs, e.QueryStrings)) && (len(e.Method) == 0 || slices.Contains(e.Method, request.Method)) &&
		(len(e.Source) == 0 || slices.ContainsFunc(e.Source, func(source string) bool {
			block, err := netip.ParsePrefix(source)
			from, wrong := netip.ParseAddr(request.Source)
			return err == nil && wrong == nil && block.Contains(from)
		}))
}

// pathOf returns a written path as routes have it.
func pathOf(p *networkingv1.HTTPIngressPath, expressions bool) routing.Path {
	switch kind := pathTypeOf(*p); {
	case kind == networkingv1.PathTypeExact:
		return routing.NewPath(routing.Exact, p.Path)
	case kind == networkingv1.PathTypePrefix:
		return routing.NewPath(routing.Prefix, p.Path)
	case expressions:
		return routing.NewPath(routing.Regex, p.Path)
	}
	return routing.NewPath(routing.Glob, p.Path)
}

// fulfil has a request fulfil conditions, and returns the query that they ask for. It reports false for
// an expression that is too hard.
func (r *reader) fulfil(e entry, out *compare.Request) (query string, fulfils bool) {
	for name, globs := range e.Header {
		out.Headers[name] = []string{ofGlobs(globs)}
	}
	for name, expressions := range e.HeaderRegex {
		at := slices.IndexFunc(expressions, func(e string) bool { // one may match nothing
			value, found := r.textOf([]*language.Language{language.New(e)}, nil)
			out.Headers[name] = []string{value}
			return found
		})
		if at < 0 {
			return "", false
		}
	}
	var parts []string
	for name, globs := range e.Query {
		parts = append(parts, name+"="+ofGlobs(globs))
	}
	if len(e.QueryStrings) > 0 {
		pair := ofGlobs(e.QueryStrings)
		if !strings.Contains(pair, "=") {
			pair = "any=" + pair
		}
		parts = append(parts, pair)
	}
	slices.Sort(parts)
	if len(e.Source) > 0 {
		if p, err := netip.ParsePrefix(e.Source[0]); err == nil {
			out.Source = p.Addr().String()
		}
	}
	return strings.Join(parts, "&"), true
}

// ofGlobs returns a text that the first of some globs matches.
func ofGlobs(globs []string) string {
	return strings.NewReplacer("*", "", "?", "x").Replace(globs[0])
}

// exampleOf returns a host that globs or expressions match; "" if there is none.
func (r *reader) exampleOf(globs, expressions []string) string {
	if len(globs) > 0 {
		return globs[0]
	}
	host, known := r.examples[expressions[0]]
	if !known {
		of := language.New(expressions[0])
		if host, known = r.textOf([]*language.Language{of, language.New(anyHostName)}, nil); !known {
			host, _ = r.textOf([]*language.Language{of}, nil)
			host = strings.ToLower(host)
		}
		r.examples[expressions[0]] = host
	}
	return host
}

// hostsOfExpressions returns expressions over whole hosts.
func hostsOfExpressions(searched []string) (out []string) {
	for _, re := range searched {
		out = append(out, routing.WholeText(re))
	}
	return out
}

// anyHost returns a host of the Ingress, for an example.
func (r *reader) anyHost() string {
	for _, rule := range r.Spec.Rules {
		if rule.Host != "" {
			return strings.Replace(rule.Host, "*", "www", 1)
		}
	}
	return "www.example.com"
}

// patternsOf returns the values of a path in the other controller's rules
// (model_build_listener_rules.go).
func patternsOf(p networkingv1.HTTPIngressPath) []string {
	switch {
	case p.Path == "":
		return nil
	case pathTypeOf(p) != networkingv1.PathTypePrefix:
		return []string{p.Path}
	case p.Path == "/":
		return []string{"/*"}
	}
	path := strings.TrimSuffix(p.Path, "/")
	return []string{path, path + "/*"}
}

// noteCircles notes the hosts and paths of a redirect that the other controller takes for one to itself as a
// whole, although only one of them is redirected to itself (rule_optimizer.go).
func (r *reader) noteCircles(theirs string, hosts []string, p networkingv1.HTTPIngressPath, extra conditions, c change) {
	var a action
	if err := readJSON(r.Annotations[Prefix+"actions."+theirs], &a); err != nil || a.RedirectConfig == nil {
		return
	}
	to, own := a.RedirectConfig, patternsOf(p)
	if len(hosts) == 0 {
		hosts = []string{""}
	}
	for _, h := range hosts {
		c.host = strings.ToLower(h)
		if len(own) > 0 && (!stays(to.Host, "#{host}", h) || !stays(to.Path, append(own, "/#{path}")...)) {
			c.path = pathOf(&p, false)
			r.note(c)
		}
		for _, glob := range extra.paths {
			if !stays(to.Host, "#{host}", h) || !stays(to.Path, "/#{path}", glob) {
				c.path = routing.NewPath(routing.Glob, glob)
				r.note(c)
			}
		}
	}
}

// loopsOf returns the ports on which the other controller takes a redirect, for hosts and paths by values, for one
// to itself, and leaves it out (rule_optimizer.go); nil if it never does.
func (r *reader) loopsOf(theirs string, hosts, paths []string) func(v1alpha1.ListenPort) bool {
	var a action
	if err := readJSON(r.Annotations[Prefix+"actions."+theirs], &a); err != nil || a.RedirectConfig == nil {
		return nil
	}
	to := a.RedirectConfig
	if !stays(to.Host, append([]string{"#{host}"}, hosts...)...) || !stays(to.Path, append([]string{"/#{path}"}, paths...)...) ||
		!stays(to.Query, "#{query}") {
		return nil
	}
	return func(l v1alpha1.ListenPort) bool {
		return stays(to.Port, "#{port}", strconv.Itoa(int(l.Port))) && stays(to.Protocol, "#{protocol}", l.Protocol)
	}
}

func stays(part *string, same ...string) bool { return part == nil || slices.Contains(same, *part) }

// A hostRedirect is a redirect for hosts by expressions. The other controller drops rules behind it.
type hostRedirect struct {
	change
	hosts []string // expressions
	paths []string // values, in the other controller's rules
}

// noteDropped notes the paths behind a redirect for hosts by expressions that are for other hosts.
func (r *reader) noteDropped(h hostRedirect) {
	for i := h.after; i < len(r.written) && r.tries(1); i++ {
		w := r.written[i]
		f := r.backends[nameOf(w.backend)].FixedResponse
		if f != nil && f.StatusCode == 404 && f.Body == "" && r.Spec.DefaultBackend == nil {
			continue // what no path matches is answered so, too
		}
		hosts := slices.DeleteFunc(r.hostsLike(w.host), func(host string) bool {
			return slices.ContainsFunc(h.hosts, func(expression string) bool { return matches(expression, host) })
		})
		if own := w.hosts(); len(own) > 0 || len(hosts) == 0 && w.host == "" {
			hosts = r.hostAmong(own, h.hosts)
		}
		if len(hosts) == 0 {
			continue
		}
		if !slices.Contains(h.paths, "/*") && (len(w.patterns) == 0 || slices.ContainsFunc(w.patterns, func(p string) bool {
			return !slices.Contains(h.paths, p)
		})) {
			continue
		}
		c := h.change
		c.on = func(l v1alpha1.ListenPort) bool { // a redirect to itself is dropped in any case
			return (h.on == nil || h.on(l)) && (w.loops == nil || !w.loops(l))
		}
		for _, c.host = range hosts {
			c.path, c.when, c.after = w.path, w.when, i
			r.note(c)
		}
	}
}
