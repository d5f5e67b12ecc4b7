package nginx

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/ingress/dialect"
	settingsof "fairlead.dev/fairlead/model/settings"
)

// This file reads the annotations about other origins (annotations/cors/main.go, and "CORS" of nginx.tmpl), and has the ports of the
// load balancer send their headers: https://docs.aws.amazon.com/elasticloadbalancing/latest/application/header-modification.html.

const corsNames = `enable-cors cors-allow-origin cors-allow-headers cors-allow-methods cors-allow-credentials cors-expose-headers
	cors-max-age`

// A crossOrigin has what the locations of an Ingress answer requests of other origins. It does nothing without origins.
type crossOrigin struct {
	origins []string // "*" alone for all
	// headers have their names without "Access-Control-", in the order of the template. The first one has the origin.
	headers []header
}

type header struct{ name, value, key string }

var (
	corsOrigins = regexp.MustCompile(`^((((([a-z]+://)?(\*\.)?[A-Za-z0-9\-.]*(:\d+)?,?)|null)+)|\*)?$`)
	corsOrigin  = regexp.MustCompile(`^([a-z]+://(\*\.)?[A-Za-z0-9\-.]*(:\d+)?|\*|null)?$`)
	corsMethods = regexp.MustCompile(`^([A-Za-z]+,?\s?)+$`)
	corsHeaders = regexp.MustCompile(`^[A-Za-z0-9-_, ]*$`)
	corsExposed = regexp.MustCompile(`^(([A-Za-z0-9\-_]+|\*),?\s?)+$`)
)

// sendable has the values that a header of an ALB can have: its documentation of header modification.
var sendable = regexp.MustCompile("^[a-zA-Z0-9_ :;.,\\\\/'?!(){}\\[\\]@<>=+*#&`|~^%-]+$")

func readCORS(a *annotated) {
	on, credentials, age := false, true, 1728000
	a.flag("enable-cors", &on)
	list, how := a.text("cors-allow-origin", withoutLines(corsOrigins))
	origins := []string{"*"}
	if how == good {
		origins = originsOf(list)
	}
	text := func(name, otherwise string, is *regexp.Regexp) string {
		switch value, how := a.text(name, withoutLines(is)); {
		case how == good && is.MatchString(value):
			return value
		case how != missing:
			a.say(name, dialect.Same, ignoredValue)
		}
		return otherwise
	}
	methods := text("cors-allow-methods", "GET, PUT, POST, DELETE, PATCH, OPTIONS", corsMethods)
	headers := text("cors-allow-headers", "DNT,Keep-Alive,User-Agent,X-Requested-With,If-Modified-Since,Cache-Control,Content-Type,Range,"+
		"Authorization", corsHeaders)
	exposed := text("cors-expose-headers", "", corsExposed)
	a.flag("cors-allow-credentials", &credentials)
	a.number("cors-max-age", &age)
	for _, name := range strings.Fields(corsNames) {
		_, is := a.Annotations[Prefix+name]
		switch {
		case !is || a.told[name]:
		case !on && name != "enable-cors":
			a.say(name, dialect.Same, "without %senable-cors it has no effect, as with ingress-nginx", Prefix)
		case name == "cors-allow-origin" && how != good:
			a.say(name, dialect.Same, "its value is invalid, and other origins are all allowed, as with ingress-nginx")
		case name == "cors-allow-origin" && len(origins) == 0:
			a.say(name, dialect.Same, "it has no origin that ingress-nginx takes, which answers other origins nothing")
		default:
			a.say(name, dialect.Same, "")
		}
	}
	if !on || len(origins) == 0 {
		return
	}
	a.out.cors = crossOrigin{origins: origins, headers: []header{{"Allow-Origin", strings.ToLower(origins[0]), "cors-allow-origin"}}}
	for _, h := range []header{{"Allow-Credentials", map[bool]string{true: "true"}[credentials], "cors-allow-credentials"},
		{"Allow-Methods", methods, "cors-allow-methods"}, {"Allow-Headers", headers, "cors-allow-headers"},
		{"Expose-Headers", exposed, "cors-expose-headers"}, {"Max-Age", strconv.Itoa(age), "cors-max-age"}} {
		if h.value != "" {
			a.out.cors.headers = append(a.out.cors.headers, h)
		}
	}
}

func withoutLines(re *regexp.Regexp) func(string) bool {
	plain := withoutSpaces(re)
	return func(s string) bool { return !strings.ContainsAny(s, "\r\n") && plain(s) }
}

// originsOf returns the origins of a list. A star stands for all others.
func originsOf(list string) (out []string) {
	for _, one := range listOf(list) {
		switch {
		case one == "*":
			return []string{"*"}
		case corsOrigin.MatchString(one):
			out = append(out, one)
		}
	}
	return out
}

// allows reports whether a request is answered with the headers (template/template.go, buildCorsOriginRegex).
func (c crossOrigin) allows(q Question) bool {
	if len(c.origins) == 0 || c.origins[0] == "*" {
		return len(c.origins) > 0
	}
	from, _ := q.header("Origin")
	from = strings.ToLower(from)
	return slices.ContainsFunc(c.origins, func(one string) bool {
		scheme, domain, wild := strings.Cut(strings.ToLower(one), "*")
		if !wild {
			return strings.HasSuffix(from, scheme)
		}
		before, is := strings.CutSuffix(from, domain)
		at := strings.LastIndex(before, scheme)
		return is && at >= 0 && label.MatchString(before[at+len(scheme):])
	})
}

// label has what the star of an origin stands for.
var label = regexp.MustCompile(`^[a-z0-9-]+$`)

// sent returns the headers of an answer to a request, a line for each.
func (c crossOrigin) sent(q Question) string {
	var b strings.Builder
	for i, h := range c.headers {
		value := h.value
		if from, is := q.header("Origin"); i == 0 && value != "*" && is {
			value = from
		}
		b.WriteString("Access-Control-" + h.name + ": " + value + "\n")
	}
	return b.String()
}

// attributes returns what a port sends with all answers, as an item of fairlead.dev/listener-attributes for each header.
func (c crossOrigin) attributes(port string) string {
	var out []string
	for _, h := range c.headers {
		out = append(out, port+":"+ForOrigins+strings.ToLower(strings.ReplaceAll(h.name, "-", "_"))+".header_value="+
			strings.NewReplacer(`\`, `\\`, ",", `\,`).Replace(h.value))
	}
	return strings.Join(out, ",")
}

// mostOrigin is the length of an origin with which a condition on a header, which has a star before it, can compare.
const mostOrigin = 127

// ForOrigins begins the names of the attributes with which a listener sends the headers.
const ForOrigins = "routing.http.response.access_control_"

// preflights returns what a location does first: it answers requests of other origins that ask what they may do. It has as many
// conditions as each variant behind it, so that it goes before these.
func (r *writer) preflights(l *location, others []variant) []variant {
	c := l.of.cors
	if len(c.origins) == 0 || len(c.headers[0].value) > mostOrigin {
		return others
	}
	first, most := statusOf(204), 0
	first.when.Method = []string{"OPTIONS"}
	for _, v := range others {
		most = max(most, len(v.when.HeaderRegex)+min(len(v.when.Source), 1))
	}
	switch {
	case c.origins[0] != "*":
		first.when.Header = map[string][]string{"Origin": {"*" + c.headers[0].value}}
	case most > 1:
		first.when.Source = []string{"0.0.0.0/0", "::/0"}
	}
	return append([]variant{first}, others...)
}

// crossOrigins has the ports of the load balancer send the headers, or refuses the Ingress.
func (r *writer) crossOrigins() {
	c := r.m.cors
	if odd := r.odd[r.m]; odd != nil && c.headers == nil {
		r.say("spec.rules", dialect.Refused, "Ingress %s of its load balancer has enable-cors, which {LB} does for all answers of a "+
			"port, and this one has not: give it a fairlead.dev/group of its own, and so a load balancer", odd.key())
	} else if odd != nil {
		r.say(Prefix+"enable-cors", dialect.Refused, "{LB} sends these headers with all answers of a port, and Ingress %s of its load "+
			"balancer has other ones, or none: give this one a fairlead.dev/group of its own, and so a load balancer, or have the Pods "+
			"send them", odd.key())
	}
	if !r.m.answers() { // it may open a port for others nevertheless
		r.sendsOnItsPorts(r.sent[r.balancerOf(r.m, r.m.Annotations)])
		return
	}
	if len(c.origins) == 0 {
		return
	}
	if group := r.m.groupIn(r.World, r.m.Annotations); r.isShared(group) {
		r.say(Prefix+"enable-cors", dialect.Refused, "{LB} sends these headers with all answers of a port, and group %s is for several "+
			"namespaces: give this Ingress a fairlead.dev/group of its own, and so a load balancer, or have the Pods send them", group)
	}
	if len(c.origins) > 1 || strings.Contains(c.origins[0], "*.") {
		r.say(Prefix+"cors-allow-origin", dialect.Refused, "{LB} sends one value of a header with all answers: * or one origin without "+
			"a star; have the Pods send the headers, and answer preflight requests")
	}
	if len(c.headers[0].value) > mostOrigin {
		r.say(Prefix+"cors-allow-origin", dialect.Refused, "{LB} compares at most 128 bytes of a header, and preflight requests of this "+
			"origin have more: have the Pods send the headers, and answer preflight requests")
	}
	for _, h := range c.headers {
		if !sendable.MatchString(h.value) || len(h.value) > 1024 {
			r.say(Prefix+h.key, dialect.Refused, "{LB} sends headers of at most 1024 bytes, without tabs: have the Pods send it")
		}
	}
	if r.decides() {
		r.say(Prefix+"enable-cors", dialect.Refused, "%s or %s of this Ingress is about the same: remove one of both",
			settingsof.ListenPorts, settingsof.ListenerAttributes)
		return
	}
	for _, p := range r.class.Ports {
		if (p.Port == 80 || p.Port == 443) && slices.ContainsFunc(slices.Collect(maps.Keys(p.Attributes)), func(name string) bool {
			return strings.HasPrefix(name, ForOrigins)
		}) {
			r.say(Prefix+"enable-cors", dialect.Refused, "`ports[].attributes` of the class has such headers for port %d: remove them, or "+
				"the annotation", p.Port)
		}
	}
	r.sendsOnItsPorts(c)
}

// sendsOnItsPorts has the ports of the Ingress send the headers, unless its author decides about ports or these headers.
func (r *writer) sendsOnItsPorts(c crossOrigin) {
	if c.headers == nil || r.decides() {
		return
	}
	r.sends(c.attributes("80"), Prefix+"enable-cors")
	ing := r.out.Ingress
	if r.front.certificates != "" || len(ing.Spec.TLS) > 0 || ing.Annotations[settingsof.CertificateARN] != "" {
		r.sends(c.attributes("443"), Prefix+"enable-cors")
	}
}

// decides reports whether the author of the Ingress decides about its ports, or what they send to other origins.
func (r *writer) decides() bool {
	said := r.out.Ingress.Annotations
	_, ports := said[settingsof.ListenPorts]
	return ports || strings.Contains(said[settingsof.ListenerAttributes], ForOrigins)
}

// sends has a port send more headers.
func (r *writer) sends(items, origin string) {
	if before := r.out.Ingress.Annotations[settingsof.ListenerAttributes]; before != "" {
		items = before + "," + items
	}
	r.set(settingsof.ListenerAttributes, items, origin)
}

// answers reports whether requests reach a location of an Ingress that has what the annotations say.
func (m *member) answers() bool {
	return m.denied == "" && slices.ContainsFunc(m.at, func(s *server) bool {
		return slices.ContainsFunc(s.locations, func(l *location) bool { return l.of == m })
	})
}

// groupIn returns the group of an Ingress.
func (m *member) groupIn(w *World, annotations map[string]string) string {
	switch own, said := annotations[settingsof.Group]; {
	case said:
		return own
	case len(w.class.Groups) == 1:
		return w.class.Groups[0].Name
	}
	return DefaultClass
}

// isShared reports whether several namespaces have a group.
func (w *World) isShared(group string) bool {
	return slices.ContainsFunc(w.class.Groups, func(g v1alpha1.SharedGroup) bool { return g.Name == group })
}

// balancerOf returns a name for the load balancer of an Ingress with annotations.
func (w *World) balancerOf(m *member, annotations map[string]string) string {
	group := m.groupIn(w, annotations)
	switch {
	case group == "":
		group = m.key()
	case !w.isShared(group):
		group = m.Namespace + "/@" + group
	}
	return fmt.Sprintf("%s %s %s", group, cmp.Or(w.class.Scheme, annotations[settingsof.Scheme], v1alpha1.SchemeInternal),
		cmp.Or(w.class.LoadBalancerName, annotations[settingsof.LoadBalancerName]))
}

// agree finds Ingresses that want other headers than their load balancer sends, each with one for which it sends them. It sends those
// that it sent before, as former versions of Ingresses say, or none where one Ingress wants none. Otherwise the oldest decides.
func (w *World) agree() {
	w.odd, w.sent = map[*member]*member{}, map[string]crossOrigin{}
	balancers := map[string][]*member{}
	for _, m := range w.members {
		if m.answers() && !w.Refuses(m.key()) {
			name := w.balancerOf(m, m.Annotations)
			balancers[name] = append(balancers[name], m)
		}
	}
	for name, all := range balancers {
		first := all[0]
		plain := slices.IndexFunc(all, func(m *member) bool { return m.cors.headers == nil })
		if at := slices.IndexFunc(all, func(m *member) bool { return w.sentBefore(name, m.cors, all) }); at >= 0 {
			first = all[at]
		} else if plain >= 0 {
			first = all[plain]
		}
		if first.cors.headers != nil {
			w.sent[name] = first.cors
		}
		for _, m := range all {
			if m.cors.attributes("80") != first.cors.attributes("80") {
				w.odd[m] = first
			}
		}
	}
}

// sentBefore reports whether former versions of Ingresses have a load balancer send headers.
func (w *World) sentBefore(balancer string, c crossOrigin, all []*member) bool {
	return c.headers != nil && w.kept != nil && slices.ContainsFunc(all, func(m *member) bool {
		said := w.kept(m.Ingress).annotations()
		return w.balancerOf(m, said) == balancer && strings.Contains(said[settingsof.ListenerAttributes]+",", c.attributes("80")+",")
	})
}
