package nginx

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/compare"
	"fairlead.dev/fairlead/model/ingress/dialect"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/language"
	settingsof "fairlead.dev/fairlead/model/settings"
)

// This file writes an Ingress in Fairlead's own words.

// Controller is the spec.controller of the controller's IngressClasses, and DefaultClass the name of the one that its chart makes:
// charts/ingress-nginx/values.yaml.
const (
	Controller   = "k8s.io/ingress-nginx"
	DefaultClass = "nginx"
)

// Defaults returns a class with what the controller's ConfigMap says of its ports, where the class says nothing. A class with groups
// sends the header Strict-Transport-Security, as no Ingress decides about the ports of several namespaces.
func Defaults(c v1alpha1.LoadBalancerClassSpec) v1alpha1.LoadBalancerClassSpec {
	if len(c.Groups) == 0 {
		return c
	}
	w := World{class: &c, Config: ConfigOf(&c)}
	if w.readFront(); w.Config.HSTS == "" || w.front.certificates != "" && !w.front.again {
		return c
	}
	c.Ports = slices.Clone(c.Ports)
	at := slices.IndexFunc(c.Ports, func(p v1alpha1.PortSettings) bool { return p.Port == 443 })
	if at < 0 {
		at, c.Ports = len(c.Ports), append(c.Ports, v1alpha1.PortSettings{Port: 443})
	}
	attributes := map[string]string{strictTransport: w.Config.HSTS}
	maps.Copy(attributes, c.Ports[at].Attributes)
	c.Ports[at].Attributes = attributes
	return c
}

// ConfigOf returns the ConfigMap of a class.
func ConfigOf(c *v1alpha1.LoadBalancerClassSpec) Config {
	if c.NGINX == nil {
		return DefaultConfig()
	}
	return ReadConfig(c.NGINX.Config)
}

// A writer writes one Ingress.
type writer struct {
	*World
	m        *member
	closes   []closing
	out      dialect.Reading
	backends map[string]v1alpha1.BackendSpec
	names    map[string]string // of backends, by what they are
	when     []entry
	rules    []networkingv1.IngressRule
	secure   bool // a location of it is redirected to HTTPS
	changed  map[requestClass]bool
}

// An entry is one of the annotation fairlead.dev/conditions.
type entry struct {
	Backend     string              `json:"backend,omitempty"`
	Method      []string            `json:"method,omitempty"`
	Header      map[string][]string `json:"header,omitempty"`
	HeaderRegex map[string][]string `json:"headerRegex,omitempty"`
	Source      []string            `json:"source,omitempty"`
}

func (e entry) isEmpty() bool {
	return e.Source == nil && e.HeaderRegex == nil && e.Method == nil && e.Header == nil
}

// Read reads an Ingress.
func (w *World) Read(in dialect.Input) dialect.Reading {
	r := w.writers[in.Namespace+"/"+in.Name]
	if r == nil || r.m.Ingress != in.Ingress {
		return w.writerOf(newMember(in.Ingress, &w.Config)).out
	}
	return r.out
}

// writeAll writes all Ingresses.
func (w *World) writeAll(memory Memory) {
	for key, m := range w.ingresses {
		w.writers[key] = w.writerOf(m)
	}
	w.agree()
	for key, m := range w.ingresses {
		if w.odd[m] != nil || !m.answers() && w.sent[w.balancerOf(m, m.Annotations)].headers != nil {
			w.writers[key] = w.writerOf(m)
		}
	}
	w.fill()
	w.showAll(memory)
}

// fill makes the table of what is not refused.
func (w *World) fill() {
	for again := true; again; {
		again = false
		closings := w.closings()
		for key, r := range w.writers {
			if !w.Refuses(key) && !slices.Equal(r.closes, closings[key]) {
				w.writers[key] = w.writerOf(r.m, closings[key]...)
				again = again || w.Refuses(key)
			}
		}
	}
	served := maps.Clone(w.writers)
	maps.DeleteFunc(served, func(key string, _ *writer) bool { return w.Refuses(key) })
	w.onTLS, w.writersAt, w.states = map[routing.Host]bool{}, map[routing.Host][]*writer{}, states{}
	w.findClients()
	w.table = w.tableOf(served)
}

// writerOf writes an Ingress, with what it closes.
func (w *World) writerOf(m *member, closes ...closing) *writer {
	ing := m.DeepCopy()
	ing.Annotations = map[string]string{}
	for key, value := range m.Annotations {
		if !strings.HasPrefix(key, Prefix) {
			ing.Annotations[key] = value
		}
	}
	ing.Spec.Rules, ing.Spec.DefaultBackend = nil, nil
	r := &writer{World: w, m: m, closes: closes, backends: map[string]v1alpha1.BackendSpec{}, names: map[string]string{},
		out: dialect.Reading{Ingress: ing, Origins: map[string]string{}, Fields: map[string]string{}, Verdicts: slices.Clone(m.verdicts)}}
	r.out.Example = func(field string) (compare.Request, bool) {
		q, is := w.questionAbout(m, field)
		return m.requestOf(q), is
	}
	r.nameHosts()
	r.tellConfig()
	r.tellLost()
	r.write()
	for _, c := range closes {
		r.close(c)
	}
	r.finish()
	slices.SortStableFunc(r.out.Verdicts, func(a, b dialect.Verdict) int { return strings.Compare(a.Key, b.Key) })
	return r
}

// say adds a verdict, or replaces that of its key unless it is worse.
func (r *writer) say(key string, o dialect.Outcome, format string, args ...any) {
	v := dialect.Verdict{Key: key, Outcome: o, Message: fmt.Sprintf(r.Config.worded(format), args...)}
	at := slices.IndexFunc(r.out.Verdicts, func(v dialect.Verdict) bool { return v.Key == key })
	switch {
	case at < 0:
		r.out.Verdicts = append(r.out.Verdicts, v)
	case r.out.Verdicts[at].Outcome != dialect.Refused:
		r.out.Verdicts[at] = v
	}
}

// nameHosts has entries of spec.tls without hosts name those of the rules, for which the controller tries their certificates.
func (r *writer) nameHosts() {
	r.out.Ingress.Spec.TLS = r.m.entries()
}

// entries returns the entries of spec.tls, with the hosts that they are about.
func (m *member) entries() (out []networkingv1.IngressTLS) {
	for _, t := range m.Spec.TLS {
		if len(t.Hosts) == 0 {
			for _, rule := range m.Spec.Rules {
				if rule.Host != "" && !slices.Contains(t.Hosts, rule.Host) {
					t.Hosts = append(t.Hosts, rule.Host)
				}
			}
		}
		if len(t.Hosts) > 0 {
			out = append(out, t)
		}
	}
	return out
}

// tellConfig refuses the Ingress for keys of the ConfigMap that refuse requests.
func (r *writer) tellConfig() {
	for _, k := range r.Config.Keys {
		if k.Refused {
			r.say("ConfigMap "+k.Name, dialect.Refused, "%s", r.Config.worded(k.Message))
		}
	}
	for _, k := range r.front.keys {
		r.say("Service "+k.Name, dialect.Refused, "%s", k.Message)
	}
}

// tellLost says which of the paths another one goes before.
func (r *writer) tellLost() {
	for _, field := range slices.Sorted(maps.Keys(r.m.lost)) {
		r.tellBefore(field, r.m.lost[field])
	}
}

// tellBefore says that another location goes before that of a field.
func (r *writer) tellBefore(field string, l *location) {
	by := "the controller's own 404"
	if l.of != nil {
		by = cmp.Or(l.field, "the default backend") + " of Ingress " + l.of.key()
	}
	r.say(field, dialect.Same, "%s goes first, as with ingress-nginx", by)
}

// write writes the rules: a host for each server that the Ingress names, with its locations.
func (r *writer) write() {
	named := map[string]bool{}
	if len(r.m.Spec.Rules) == 0 {
		r.server(catchAll, "spec.defaultBackend")
		return
	}
	for i, rule := range r.m.Spec.Rules {
		host := hostOf(rule.Host)
		field := "spec.rules[" + strconv.Itoa(i) + "]"
		if r.servers[host] == nil { // only a canary names it
			host = catchAll
		}
		if named[host] {
			continue
		}
		named[host] = true
		r.server(host, field)
	}
}

// server writes the locations of a server that are of the Ingress.
func (r *writer) server(host, field string) {
	s := r.servers[host]
	if s.ownsAliases(r.m) {
		for _, alias := range s.aliases {
			if !hostName.MatchString(alias) {
				r.say(Prefix+"server-alias", dialect.Refused, "%s is no host name: {LB}'s rules have hosts, and wildcards for one label",
					alias)
				continue
			}
		}
	}
	hosts := r.hostsOf(s)
	if s.broken != "" {
		for _, l := range s.locations {
			if l.of == r.m && l.field != "" {
				r.say(l.field, dialect.Refused, "%s for this path and another one, and loads no configuration with both: remove one",
					s.broken)
			}
		}
	}
	for _, h := range hosts {
		r.rules = append(r.rules, networkingv1.IngressRule{Host: h})
		r.out.Fields[fmt.Sprintf("spec.rules[%d]", len(r.rules)-1)] = field
		r.covered(h)
		for _, l := range s.locations {
			if l.of == r.m {
				r.location(s, h, l, field)
			}
		}
		r.slashes(s)
	}
	if s.www == r.m {
		r.fromWWW(host, field)
	}
	r.appRoot(s, hosts)
}

// hostsOf returns the hosts of a server as Fairlead reads it.
func (w *World) hostsOf(s *server) []string {
	out := []string{strings.TrimPrefix(s.host, catchAll)}
	for _, alias := range s.aliases {
		if hostName.MatchString(alias) && w.serverOf(alias) == s { // another one may have it, too
			out = append(out, alias)
		}
	}
	return out
}

// ownsAliases reports whether an Ingress gave a server its aliases.
func (s *server) ownsAliases(m *member) bool {
	return len(s.aliases) > 0 && slices.ContainsFunc(s.aliases, func(a string) bool { return slices.Contains(m.aliases, a) })
}

// location writes a location as paths of a host.
func (r *writer) location(s *server, host string, l *location, field string) {
	if l.field != "" && !l.plain {
		field = l.field
	}
	if l.initial && !r.matters(s, l) {
		return
	}
	if !s.regex && !l.reachable {
		r.say(field, dialect.Same, "no request has this path: ingress-nginx compares paths without repeated slashes and dots")
		return
	}
	if before := s.before(l); before != nil {
		r.tellBefore(field, before)
		return
	}
	if other := s.outranked(l); other != nil {
		r.say(field, dialect.Refused, "it ranks behind %s of Ingress %s, and an Exact path beside it makes it longer: write the path "+
			"with a slash at its end", other.field, other.of.key())
	}
	path := r.pathOf(s, l, field)
	for _, v := range r.variants(host, l, field) {
		r.add(path, v, field)
		if last := r.rules[len(r.rules)-1].HTTP; l.initial && r.m.Spec.DefaultBackend != nil {
			r.out.Fields[fmt.Sprintf("spec.rules[%d].http.paths[%d].backend", len(r.rules)-1, len(last.Paths)-1)] = "spec.defaultBackend"
		}
	}
}

// before returns the location of a server with expressions that has the same text and goes first, or nil.
func (s *server) before(l *location) *location {
	for _, o := range s.locations {
		if o == l || !s.regex {
			return nil
		}
		if text := s.textOf(l); s.textOf(o) == text || s.textOf(o) == l.text {
			return o
		}
	}
	return nil
}

// outranked returns a location of a server with expressions that goes before another one, and would go behind it as it is written
// for Fairlead: with a slash that it has beside an Exact path. Nil if there is none that matches the same paths.
func (s *server) outranked(l *location) *location {
	text := s.textOf(l)
	if !s.regex || text == l.text {
		return nil
	}
	for _, o := range s.locations {
		if o == l {
			return nil
		}
		if len(o.text) > len(text) || len(o.text) == len(text) && o.text > text || o.field == "" {
			continue
		}
		first, second := language.New(routing.FromStart("/(?i)"+o.text[1:])), language.New(routing.FromStart("/(?i)"+text[1:]))
		if _, verdict := language.FindText([]*language.Language{first, second}, nil, 20_000); verdict != language.None {
			return o
		}
	}
	return nil
}

// matters reports whether the location for "/" that a server has by itself answers otherwise than 404.
func (r *writer) matters(s *server, l *location) bool {
	m := l.of
	if l.to != r.upstreams[backend{}] || m.denied != "" || m.redirect != nil || l.rewrites() && isURL(m.rewrite) ||
		len(m.allow)+len(m.deny)+len(m.cors.origins) > 0 || m.force {
		return true
	}
	return m.sslRedirect && slices.ContainsFunc(append([]string{s.host}, s.aliases...), r.World.secure)
}

// pathOf returns the path of a location in Fairlead's words.
func (r *writer) pathOf(s *server, l *location, field string) networkingv1.HTTPIngressPath {
	exact, prefix, other := networkingv1.PathTypeExact, networkingv1.PathTypePrefix, networkingv1.PathTypeImplementationSpecific
	if !s.regex {
		p := networkingv1.HTTPIngressPath{Path: routing.Sendable(strings.ReplaceAll(l.text, "%", "%25")), PathType: &prefix}
		switch {
		case l.exact:
			p.PathType = &exact
		case l.denied() && l.text != "/" && strings.HasSuffix(l.text, "/"): // it adds no slash, and does not match the path without one
			r.set(settingsof.ImplementationSpecific, v1alpha1.ReadRegexPrefix, "")
			p.Path, p.PathType = regexp.QuoteMeta(p.Path), &other
		}
		return p
	}
	if l.text == "/" {
		return networkingv1.HTTPIngressPath{Path: "/", PathType: &prefix}
	}
	if why := r.isExpression(l.text); why != "" {
		r.say(field, dialect.Refused, "ingress-nginx reads the paths of this host as expressions, and this one is none that {LB} "+
			"takes: %s", why)
	}
	r.set(settingsof.ImplementationSpecific, v1alpha1.ReadRegexPrefix, r.regexOrigin())
	text := strings.ReplaceAll(strings.TrimPrefix(s.textOf(l), "/"), "%", "%25")
	return networkingv1.HTTPIngressPath{Path: "/" + r.folded(text), PathType: &other}
}

// regexOrigin returns the annotation of the Ingress that makes the paths of a host expressions; "" for that of another one.
func (r *writer) regexOrigin() string {
	switch {
	case r.m.regex:
		return Prefix + "use-regex"
	case r.m.rewrite != "":
		return Prefix + "rewrite-target"
	}
	return ""
}

func (r *writer) set(own, value, origin string) {
	r.out.Ingress.Annotations[own] = value
	if origin != "" {
		r.out.Origins[own] = origin
	}
}

// A variant is what a path does with some of its requests.
type variant struct {
	spec    v1alpha1.BackendSpec
	service *networkingv1.IngressServiceBackend // in place of the spec
	when    entry
}

// statusOf returns an answer of the load balancer itself.
func statusOf(code int) variant {
	return variant{spec: v1alpha1.BackendSpec{FixedResponse: &v1alpha1.FixedResponse{StatusCode: code}}}
}

// variants returns what a location does, in order: the first variant whose conditions hold answers.
func (r *writer) variants(host string, l *location, field string) []variant {
	if l.of.denied != "" {
		return []variant{statusOf(503)}
	}
	return r.preflights(l, r.others(host, l, field))
}

// others returns what a location does with requests that are no preflights.
func (r *writer) others(host string, l *location, field string) []variant {
	m := l.of
	switch {
	case m.redirect != nil && !l.plain:
		return []variant{{spec: v1alpha1.BackendSpec{Redirect: r.redirectTo(m.redirect)}}}
	case l.rewrites() && isURL(m.rewrite) && strings.Contains(m.rewrite, "$"):
		return []variant{{spec: r.redirectWithGroups(l, field)}}
	case l.rewrites() && isURL(m.rewrite):
		return []variant{{spec: v1alpha1.BackendSpec{Redirect: r.redirectTo(&redirect{m.rewrite, "rewrite-target", 302})}}}
	}
	redirects := r.Config.ToHTTPS > 0 || !l.plain && !r.exempt(l) && (m.force || m.sslRedirect && r.World.secure(host))
	switch {
	case redirects && r.covered(host):
		r.secure = true
	case redirects: // to what the author has no certificate for: nothing is forwarded in the clear
		return []variant{{spec: v1alpha1.BackendSpec{Redirect: &v1alpha1.Redirect{Scheme: "https", StatusCode: 301}}}}
	}
	var out []variant
	for _, v := range r.forwards(l, field) {
		if len(m.allow) > 0 {
			v.when.Source = texts(without(m.allow, m.deny))
			if len(v.when.Source) == 0 {
				continue
			}
		}
		out = append(out, v)
	}
	switch {
	case len(m.allow) > 0:
		out = append(out, statusOf(403))
	case len(m.deny) > 0:
		denied := statusOf(403)
		denied.when.Source = texts(m.deny)
		out = append([]variant{denied}, out...)
	}
	return out
}

// without returns ranges without others.
func without(all, others []netip.Prefix) (out []netip.Prefix) {
	for _, p := range all {
		out = append(out, cut(p, others)...)
	}
	return out
}

// cut returns the parts of a range that are in none of others.
func cut(p netip.Prefix, others []netip.Prefix) []netip.Prefix {
	overlaps := false
	for _, o := range others {
		if o.Bits() <= p.Bits() && o.Contains(p.Addr()) {
			return nil
		}
		overlaps = overlaps || o.Overlaps(p)
	}
	if !overlaps {
		return []netip.Prefix{p}
	}
	low := netip.PrefixFrom(p.Addr(), p.Bits()+1)
	bytes := p.Addr().AsSlice()
	bytes[p.Bits()/8] |= 0x80 >> (p.Bits() % 8)
	upper, _ := netip.AddrFromSlice(bytes)
	return append(cut(low, others), cut(netip.PrefixFrom(upper, p.Bits()+1), others)...)
}

func texts(all []netip.Prefix) (out []string) {
	for _, p := range all {
		out = append(out, p.String())
	}
	return out
}

// redirectTo returns the redirect to a URL.
func (r *writer) redirectTo(to *redirect) *v1alpha1.Redirect {
	u, err := url.Parse(to.url)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		r.say(Prefix+to.key, dialect.Refused, "{LB} redirects to a URL with http or https and a host")
		return &v1alpha1.Redirect{Scheme: "https"}
	}
	out := &v1alpha1.Redirect{Scheme: u.Scheme, Host: u.Hostname(), Port: u.Port(), Path: u.EscapedPath(), Query: u.RawQuery,
		StatusCode: 302}
	if out.Path == "" {
		out.Path = "/"
	}
	if to.code == 301 || to.code == 308 {
		out.StatusCode = 301
	}
	return out
}

// redirectWithGroups returns the redirect to a URL with groups of the path: a rewrite makes its path.
func (r *writer) redirectWithGroups(l *location, field string) (out v1alpha1.BackendSpec) {
	refuse := func(why string) {
		r.say(Prefix+"rewrite-target", dialect.Refused, "%s: %s: have the Pods redirect, or write a path and a URL for each", field, why)
	}
	scheme, rest, _ := strings.Cut(l.of.rewrite, "://")
	authority, path, _ := strings.Cut(rest, "/")
	out.Redirect = r.redirectTo(&redirect{scheme + "://" + authority, "rewrite-target", 302})
	out.Redirect.Path = ""
	switch u, why := r.rewriteOf(l.text, "/"+path); {
	case strings.Contains(authority, "$"):
		refuse("a redirect has no parts of the path in its host")
	case why != "":
		refuse(why)
	case r.class.Undocumented != v1alpha1.UndocumentedAccept:
		refuse("ingress-nginx redirects to this URL with groups of the path, and AWS does not document that a redirect can have " +
			"them (`undocumented: Accept` of the class tries it)")
	default:
		out.Rewrite = &v1alpha1.Rewrite{URL: u}
		r.say(Prefix+"rewrite-target", dialect.Same, "")
	}
	return out
}

// forwards returns what a location does with requests that nothing refuses or redirects.
func (r *writer) forwards(l *location, field string) []variant {
	if l.to == r.upstreams[backend{}] {
		return []variant{statusOf(404)}
	}
	spec := v1alpha1.BackendSpec{}
	if l.rewrites() {
		if u, why := r.rewriteOf(l.text, l.of.rewrite); why != "" {
			r.say(Prefix+"rewrite-target", dialect.Refused, "%s: %s", field, why)
		} else {
			spec.Rewrite = &v1alpha1.Rewrite{URL: u}
			r.say(Prefix+"rewrite-target", dialect.Same, "")
		}
	} else if l.of.rewrite != "" {
		r.say(Prefix+"rewrite-target", dialect.Same, "")
	}
	if h := l.of.host; h != "" {
		if spec.Rewrite == nil {
			spec.Rewrite = &v1alpha1.Rewrite{}
		}
		spec.Rewrite.Host = &v1alpha1.Replacement{Pattern: "^.*$", Replacement: h}
	}
	to := func(shares ...Share) variant {
		v := variant{spec: *spec.DeepCopy()}
		if len(shares) == 1 && spec.Rewrite == nil {
			v.service = serviceOf(shares[0])
			return v
		}
		for _, share := range shares {
			weighted := v1alpha1.WeightedService{Name: share.Service, Port: v1alpha1.ServicePort(serviceOf(share).Port)}
			if len(shares) > 1 {
				weighted.Weight = new(int32(share.Weight))
			}
			v.spec.Services = append(v.spec.Services, weighted)
		}
		return v
	}
	whole := Share{l.to.namespace, l.to.service, l.to.port, 1}
	if len(l.to.alternatives) == 0 || l.to.alternatives[0].removed {
		return []variant{to(whole)}
	}
	return r.canaries(l, whole, to)
}

// canaries returns the variants of a location with a canary (rootfs/etc/nginx/lua/balancer.lua).
func (r *writer) canaries(l *location, whole Share, to func(...Share) variant) (out []variant) {
	other := l.to.alternatives[0]
	c := other.canary
	if c == nil {
		return []variant{to(whole)}
	}
	if other.namespace != whole.Namespace {
		r.say(l.field, dialect.Refused, "its canary is Service %s/%s, of another namespace", other.namespace, other.service)
	}
	canary := Share{other.namespace, other.service, other.port, 1}
	if c.header != "" {
		on := func(expression string, share Share) {
			v := to(share)
			v.when.HeaderRegex = map[string][]string{c.header: {expression}}
			out = append(out, v)
		}
		switch {
		case c.value != "":
			on(quoted(c.value), canary)
		case c.pattern != "":
			if _, err := regexp.Compile(c.pattern); err != nil { // the Ingress of the canary is refused
				on(".*", whole)
			} else {
				on(routing.WholeText(c.pattern), canary)
			}
		default:
			on("always", canary)
			on("never", whole)
		}
	}
	if c.cookie != "" {
		for _, to2 := range []struct {
			value string
			share Share
		}{{"always", canary}, {"never", whole}} {
			v := to(to2.share)
			name, _ := routing.SpellCases("(?i)" + quoted(c.cookie))
			v.when.HeaderRegex = map[string][]string{"Cookie": {"(.*; *)?" + name + " *= *" + to2.value + "(;.*)?"}}
			out = append(out, v)
		}
	}
	switch {
	case c.weight <= 0:
		return append(out, to(whole))
	case c.weight >= c.total:
		return append(out, to(canary))
	}
	first, second := whole, canary
	first.Weight, second.Weight = weights(c.total-c.weight, c.weight)
	return append(out, to(first, second))
}

// weights returns weights of at most 999, which is what an ALB has.
func weights(a, b int) (int, int) {
	if most := max(a, b); most > 999 {
		a, b = max((a*999+most/2)/most, 1), max((b*999+most/2)/most, 1)
	}
	return a, b
}

func quoted(text string) string {
	return strings.NewReplacer(".", `\.`, "~", "~").Replace(text)
}

func serviceOf(s Share) *networkingv1.IngressServiceBackend {
	out := &networkingv1.IngressServiceBackend{Name: s.Service}
	if n, err := strconv.ParseInt(s.Port, 10, 32); err == nil {
		out.Port.Number = int32(n)
	} else {
		out.Port.Name = s.Port
	}
	return out
}

// add writes a path with a backend.
func (r *writer) add(p networkingv1.HTTPIngressPath, v variant, field string) {
	if v.service != nil && v.when.isEmpty() {
		p.Backend.Service = v.service
	} else {
		p.Backend.Resource = &corev1.TypedLocalObjectReference{APIGroup: new(v1alpha1.Group), Kind: v1alpha1.KindBackend,
			Name: r.nameOf(v)}
	}
	rule := &r.rules[len(r.rules)-1]
	if rule.HTTP == nil {
		rule.HTTP = &networkingv1.HTTPIngressRuleValue{}
	}
	r.out.Fields[fmt.Sprintf("spec.rules[%d].http.paths[%d]", len(r.rules)-1, len(rule.HTTP.Paths))] = field
	rule.HTTP.Paths = append(rule.HTTP.Paths, p)
}

// nameOf returns the name of the Backend of a variant.
func (r *writer) nameOf(v variant) string {
	if v.service != nil {
		v.spec.Services = []v1alpha1.WeightedService{{Name: v.service.Name, Port: v1alpha1.ServicePort(v.service.Port)}}
	}
	key := dialect.JSON(v.spec) + dialect.JSON(v.when)
	if name, known := r.names[key]; known {
		return name
	}
	base := "redirect.to" // no Service has a dot in its name: conditions are about Services, too
	switch {
	case v.spec.FixedResponse != nil:
		base = "status." + strconv.Itoa(v.spec.FixedResponse.StatusCode)
	case len(v.spec.Services) > 0:
		port := v.spec.Services[0].Port
		base = v.spec.Services[0].Name + "." + cmp.Or(port.Name, strconv.Itoa(int(port.Number)))
	}
	name := base
	for n := 2; ; n++ {
		if _, taken := r.backends[name]; !taken {
			break
		}
		name = base + "-" + strconv.Itoa(n)
	}
	r.names[key], r.backends[name] = name, v.spec
	if !v.when.isEmpty() {
		e := v.when
		e.Backend = name
		r.when = append(r.when, e)
	}
	return name
}

// slashes writes the redirects to paths with a slash behind them.
func (r *writer) slashes(s *server) {
	exact := networkingv1.PathTypeExact
	for _, l := range s.locations {
		if twin, is := s.twinOf(l); is && l.of == r.m {
			to := variant{spec: v1alpha1.BackendSpec{Redirect: &v1alpha1.Redirect{Path: routing.Sendable(l.text), StatusCode: 301}}}
			r.add(networkingv1.HTTPIngressPath{Path: routing.Sendable(twin), PathType: &exact}, to, l.field)
		}
	}
}

// twinOf returns the path without a slash at its end that nginx redirects to a location.
func (s *server) twinOf(l *location) (twin string, is bool) {
	twin = strings.TrimSuffix(l.text, "/")
	if s.regex || l.denied() || !l.reachable || twin == l.text || twin == "" {
		return "", false
	}
	_, slash := s.find(twin, true)
	return twin, slash
}

func (l *location) denied() bool { return l.of != nil && l.of.denied != "" }

// fromWWW writes the host that leads to another one.
func (r *writer) fromWWW(host, field string) {
	from := otherName(host)
	if r.redirects[from] != host || !hostName.MatchString(from) {
		return
	}
	prefix := networkingv1.PathTypePrefix
	r.rules = append(r.rules, networkingv1.IngressRule{Host: from})
	r.out.Fields[fmt.Sprintf("spec.rules[%d]", len(r.rules)-1)] = field
	r.add(networkingv1.HTTPIngressPath{Path: "/", PathType: &prefix},
		variant{spec: v1alpha1.BackendSpec{Redirect: &v1alpha1.Redirect{Host: host, StatusCode: 301}}}, field)
}

// appRoot writes the redirect of "/" of a host, which the first location that has one says.
func (r *writer) appRoot(s *server, hosts []string) {
	at := slices.IndexFunc(s.locations, func(l *location) bool { return l.of != nil && !l.plain && l.of.appRoot != "" })
	if at < 0 || s.locations[at].of != r.m {
		return
	}
	l := s.locations[at]
	exact := networkingv1.PathTypeExact
	u, err := url.ParseRequestURI(l.of.appRoot)
	if err != nil || strings.Contains(l.of.appRoot, "$") || s.regex {
		r.say(Prefix+"app-root", dialect.Refused, "its host has paths that are expressions, or its value has variables: write a redirect")
		return
	}
	for _, h := range hosts {
		r.rules = append(r.rules, networkingv1.IngressRule{Host: h})
		r.out.Fields[fmt.Sprintf("spec.rules[%d]", len(r.rules)-1)] = "metadata.annotations[" + Prefix + "app-root]"
		r.add(networkingv1.HTTPIngressPath{Path: "/", PathType: &exact}, variant{spec: v1alpha1.BackendSpec{
			Redirect: &v1alpha1.Redirect{Path: u.EscapedPath(), Query: u.RawQuery, StatusCode: 302}}}, l.field)
	}
}

// finish writes the annotations.
func (r *writer) finish() {
	ing := r.out.Ingress
	ing.Spec.Rules = r.rules
	r.narrowTLS()
	if r.front.certificates != "" {
		r.set(settingsof.CertificateARN, r.front.certificates, "")
	}
	if len(r.backends) > 0 {
		r.putAll(settingsof.Backends, dialect.YAML(r.backends), settingsof.LongestBackends)
	}
	if len(r.when) > 0 {
		r.putAll(settingsof.RequestConditions, dialect.YAML(r.when), settingsof.Longest)
	}
	if r.secure {
		origin := Prefix + "ssl-redirect"
		if r.m.force {
			origin = Prefix + "force-ssl-redirect"
		}
		r.set(settingsof.SSLRedirect, "443", origin)
	}
	r.transport()
	r.crossOrigins()
	switch r.m.protocol {
	case "HTTPS", "GRPCS":
		r.set(settingsof.BackendProtocol, "HTTPS", Prefix+"backend-protocol")
	}
	if strings.HasPrefix(r.m.protocol, "GRPC") {
		r.set(settingsof.BackendVersion, "GRPC", Prefix+"backend-protocol")
	}
	if r.m.sticky {
		r.set(settingsof.TargetGroupAttributes, "stickiness.enabled=true,stickiness.type=lb_cookie,"+
			"stickiness.lb_cookie.duration_seconds="+strconv.Itoa(r.m.stickySeconds), Prefix+"affinity")
	}
	if _, said := ing.Annotations[settingsof.Group]; !said {
		r.set(settingsof.Group, r.m.groupIn(r.World, r.m.Annotations), "")
	}
}

// strictTransport is the attribute with which a listener sends the header Strict-Transport-Security.
const strictTransport = "routing.http.response.strict_transport_security.header_value"

// transport has the port for HTTPS send the header Strict-Transport-Security, as nginx does over HTTPS, whatever Pods send
// (rootfs/etc/nginx/lua/lua_ingress.lua, header). Behind a load balancer that ends TLS, nginx sees no HTTPS.
func (r *writer) transport() {
	inFront, said := r.front.certificates != "", r.out.Ingress.Annotations
	_, ports := said[settingsof.ListenPorts]
	if r.Config.HSTS == "" || inFront && !r.front.again || !inFront && len(r.out.Ingress.Spec.TLS) == 0 || ports ||
		strings.Contains(said[settingsof.ListenerAttributes], strictTransport) {
		return
	}
	for _, p := range r.class.Ports {
		if _, pinned := p.Attributes[strictTransport]; p.Port == 443 && pinned {
			return
		}
	}
	r.sends("443:"+strictTransport+"="+r.Config.HSTS, "")
}

// narrowTLS has entries of spec.tls name hosts of rules alone. Other hosts have no server of their own with ingress-nginx, and for
// Fairlead they would be answered by this Ingress alone.
func (r *writer) narrowTLS() {
	var out []networkingv1.IngressTLS
	for _, t := range r.out.Ingress.Spec.TLS {
		var hosts []string
		for _, rule := range r.rules {
			if rule.Host != "" && r.front.certificates == "" && covers(t.Hosts, rule.Host) && !slices.Contains(hosts, rule.Host) {
				hosts = append(hosts, rule.Host)
			}
		}
		if t.Hosts = hosts; len(hosts) > 0 {
			out = append(out, t)
		}
	}
	r.out.Ingress.Spec.TLS = out
}

func (r *writer) putAll(own, value string, most int) {
	if len(value) > most {
		r.say("spec.rules", dialect.Refused, "what is read of it takes %d bytes in %s, and %d are the most: divide the Ingress",
			len(value), own, most)
		return
	}
	r.set(own, value, "")
}

// covered reports whether a host is served over HTTPS: the Ingress, or another one of its namespace, gives it a certificate.
func (r *writer) covered(host string) bool {
	ing := r.out.Ingress
	switch {
	case r.overHTTPS(host): // also where ingress-nginx takes no certificate, as the Ingress is a canary
		return true
	case host == "" || !r.World.secure(host):
		return false
	}
	for _, other := range r.withTLS[r.m.Namespace] {
		if other == r.m {
			continue
		}
		for _, t := range other.entries() {
			if covers(t.Hosts, host) {
				ing.Spec.TLS = append(ing.Spec.TLS, networkingv1.IngressTLS{Hosts: []string{host}, SecretName: t.SecretName})
				return true
			}
		}
	}
	return false
}

// overHTTPS reports whether the Ingress serves a host over HTTPS.
func (r *writer) overHTTPS(host string) bool {
	return r.front.certificates != "" || host != "" && coveredBy(r.out.Ingress.Spec.TLS, host)
}

func coveredBy(all []networkingv1.IngressTLS, host string) bool {
	return slices.ContainsFunc(all, func(t networkingv1.IngressTLS) bool { return covers(t.Hosts, host) })
}

func covers(hosts []string, host string) bool {
	_, rest, _ := strings.Cut(host, ".")
	return slices.ContainsFunc(hosts, func(h string) bool {
		return strings.EqualFold(h, host) || strings.EqualFold(h, "*."+rest)
	})
}
