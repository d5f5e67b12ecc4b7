package nginx

import (
	"cmp"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
	settingsof "fairlead.dev/fairlead/model/settings"
)

// This file makes the servers and locations of nginx, as internal/ingress/controller/controller.go and location.go do.

// A World is what ingress-nginx serves.
type World struct {
	Config    Config
	front     front
	fold      string // of the class: caseFolding
	servers   map[string]*server
	upstreams map[backend]*upstream
	ingresses map[string]*member // by namespace/name
	names     *names
	withTLS   map[string][]*member // by namespace, those that have certificates, in order
	redirects map[string]string    // hosts that lead to another one, with or without www.
	class     *v1alpha1.LoadBalancerClassSpec
	// certificate returns the names in the certificate of a Secret; nil if there is none. Otherwise are those that it has if Secrets
	// are unknown.
	certificate func(namespace, secret string, otherwise []string) []string
	clients     []netip.Addr                       // that Ingresses with ranges let through
	kept        func(*networkingv1.Ingress) Former // what is served of an Ingress if it is refused
	members     []*member                          // of all Ingresses that the controller does not ignore, in its order
	odd         map[*member]*member                // those that want other headers than one of their load balancer, for which it sends them
	sent        map[string]crossOrigin             // by load balancer, those that send any
	writers     map[string]*writer                 // of all Ingresses that the controller does not ignore
	table       *precedence.Table                  // what Fairlead answers with them
	rewrites    map[*routing.Rewrite]func(host, target string) (string, string)
	onTLS       map[routing.Host]bool // the hosts that it serves over HTTPS
	writersAt   map[routing.Host][]*writer
	states      states
}

// A Former is the version of an Ingress that was served before.
type Former struct {
	Served bool // there is one, and it is served if the Ingress is refused
	// Its annotations that say what a load balancer sends with answers, and which one.
	ListenerAttributes, Group, Scheme, LoadBalancerName string
}

func (f Former) annotations() map[string]string {
	return map[string]string{settingsof.ListenerAttributes: f.ListenerAttributes, settingsof.Group: f.Group, settingsof.Scheme: f.Scheme,
		settingsof.LoadBalancerName: f.LoadBalancerName}
}

// catchAll is the server of hosts that no rule names.
const catchAll = "_"

// A member is an Ingress with what its annotations say.
type member struct {
	*networkingv1.Ingress
	*settings
	lost map[string]*location // by field, the location that goes first
	at   []*server            // that have locations of it, or aliases
	name string               // namespace/name
}

func newMember(ing *networkingv1.Ingress, c *Config) *member {
	return &member{Ingress: ing, settings: readAnnotations(ing, c), lost: map[string]*location{}, name: ing.Namespace + "/" + ing.Name}
}

func (m *member) key() string { return m.name }

// A backend is a port of a Service. The zero value is the controller's own, which answers 404.
type backend struct{ namespace, service, port string }

func backendOf(namespace string, s *networkingv1.IngressServiceBackend) backend {
	port := s.Port.Name
	if s.Port.Number > 0 {
		port = strconv.Itoa(int(s.Port.Number))
	}
	return backend{namespace, s.Name, port}
}

// An upstream is a backend with the canaries that hang on it.
type upstream struct {
	backend
	noServer     bool // it was first named by a canary
	canary       *canary
	by           *member // whose canary it is
	alternatives []*upstream
	removed      bool
}

// A server answers for a host.
type server struct {
	host      string
	locations []*location // in their order
	aliases   []string
	secure    bool     // it has a certificate, be it the default one
	names     []string // of its own certificate
	regex     bool     // its locations are expressions
	www       *member
	aliased   *member // that gave it its aliases
	broken    string  // why nginx cannot load it
	// exactly and below have the locations of nginx for one path, and for all that begin alike, unless they are expressions.
	exactly, below map[string]*location
}

// A location answers for paths of a server.
type location struct {
	text    string // the path as it is written
	exact   bool
	initial bool // it is the server's own for "/", which a rule replaces
	of      *member
	field   string // "" for the server's own
	to      *upstream
	// expression is that of a server with expressions, once it is needed.
	expression *regexp.Regexp
	compiled   bool
	replaces   *regexp.Regexp // what a rewrite replaces, once it is needed
	reachable  bool           // a request can have its path: it has neither repeated slashes nor dots
	plain      bool           // neither redirects nor rewrites, as that of an Ingress without rules
}

// NewWorld returns what ingress-nginx serves for Ingresses, of which Fairlead keeps serving a former version of some if it refuses
// them. Kept and the memory may be nil.
func NewWorld(all []*networkingv1.Ingress, c Config, class *v1alpha1.LoadBalancerClassSpec,
	certificate func(namespace, secret string, otherwise []string) []string,
	kept func(*networkingv1.Ingress) Former, memory Memory) *World {
	w := &World{Config: c, class: class, certificate: certificate, kept: kept,
		servers: map[string]*server{}, upstreams: map[backend]*upstream{},
		ingresses: map[string]*member{}, withTLS: map[string][]*member{}, redirects: map[string]string{},
		writers: map[string]*writer{}, rewrites: map[*routing.Rewrite]func(string, string) (string, string){}}
	w.readClass()
	members := make([]*member, 0, len(all))
	for _, ing := range all {
		m := newMember(ing, &w.Config)
		w.ingresses[m.key()] = m
		if m.ignored == "" {
			members = append(members, m)
		}
	}
	slices.SortStableFunc(members, func(a, b *member) int {
		return cmp.Or(cmp.Compare(a.CreationTimestamp.Unix(), b.CreationTimestamp.Unix()), cmp.Compare(b.key(), a.key()))
	})
	for _, m := range members {
		if m.canary == nil && len(m.Spec.TLS) > 0 {
			w.withTLS[m.Namespace] = append(w.withTLS[m.Namespace], m)
		}
	}
	w.members = members
	w.nameUpstreams(members)
	w.makeServers(members)
	w.finishServers(members)
	canaries := w.addLocations(members)
	if len(canaries) < len(members) {
		for _, m := range canaries {
			w.hangOn(m)
		}
	}
	for _, s := range w.servers {
		s.sort()
	}
	w.place()
	w.makeRedirects()
	w.nameServers()
	w.writeAll(memory)
	return w
}

// nameUpstreams makes the upstreams, each as the first Ingress that names it says.
func (w *World) nameUpstreams(members []*member) {
	none := &upstream{}
	w.upstreams[backend{}] = none
	add := func(m *member, b backend) {
		u := &upstream{backend: b}
		if m.canary != nil {
			u.noServer, u.canary, u.by = true, m.canary, m
		}
		w.upstreams[b] = u
	}
	for _, m := range members {
		if d := m.Spec.DefaultBackend; d != nil && d.Service != nil {
			add(m, backendOf(m.Namespace, d.Service)) // replaces one that an older Ingress made
		}
		for _, rule := range m.Spec.Rules {
			if rule.HTTP == nil {
				continue
			}
			for _, p := range rule.HTTP.Paths {
				if p.Backend.Service == nil {
					continue
				}
				if b := backendOf(m.Namespace, p.Backend.Service); w.upstreams[b] == nil {
					add(m, b)
				}
			}
		}
	}
}

// makeServers makes a server for each host, with a location for "/" of the first Ingress that names it.
func (w *World) makeServers(members []*member) {
	none := w.upstreams[backend{}]
	w.servers[catchAll] = &server{host: catchAll,
		locations: []*location{{text: "/", initial: true, to: none, plain: true}}}
	for _, m := range members {
		if m.canary != nil {
			continue
		}
		to := none
		if d := m.Spec.DefaultBackend; d != nil && d.Service != nil {
			to = w.upstreams[backendOf(m.Namespace, d.Service)]
			l := w.servers[catchAll].locations[0]
			if l.initial && len(m.Spec.Rules) == 0 {
				l.initial, l.of, l.to, l.field = false, m, to, "spec.defaultBackend"
			} else if len(m.Spec.Rules) == 0 {
				m.lost["spec.defaultBackend"] = l
			}
		}
		for _, rule := range m.Spec.Rules {
			host := hostOf(rule.Host)
			if w.servers[host] == nil {
				w.servers[host] = &server{host: host, locations: []*location{{text: "/", initial: true, of: m, to: to}}}
			}
		}
	}
}

func hostOf(host string) string {
	if host == "" {
		return catchAll
	}
	return host
}

// finishServers gives servers their aliases and certificates.
func (w *World) finishServers(members []*member) {
	aliases := map[string][]string{}
	for _, m := range members {
		if m.canary != nil {
			continue
		}
		for _, rule := range m.Spec.Rules {
			host := hostOf(rule.Host)
			s := w.servers[host]
			if len(aliases[host]) == 0 {
				aliases[host] = m.aliases
				s.aliased = m
			}
			if host != catchAll && !s.secure && len(m.Spec.TLS) > 0 {
				// Where no entry and no Secret is about the host, it is the default one, which counts, too.
				s.secure, s.names = true, w.namesFor(m, host)
			}
		}
	}
	for host, all := range aliases {
		for _, alias := range all {
			if alias != host && w.servers[alias] == nil {
				w.servers[host].aliases = append(w.servers[host].aliases, alias)
			}
		}
	}
}

// namesFor returns the names in the certificate that an Ingress gives a host; nil for the default one.
func (w *World) namesFor(m *member, host string) []string {
	for _, t := range m.Spec.TLS {
		if slices.ContainsFunc(t.Hosts, func(h string) bool { return strings.EqualFold(h, host) }) {
			if names := w.certificate(m.Namespace, t.SecretName, t.Hosts); isNamed(names, host) {
				return names
			}
			return nil
		}
	}
	for _, t := range m.Spec.TLS {
		if names := w.certificate(m.Namespace, t.SecretName, nil); isNamed(names, host) {
			return names
		}
	}
	return nil
}

// isNamed reports whether a certificate with these names is for a host.
func isNamed(names []string, host string) bool {
	_, rest, _ := strings.Cut(host, ".")
	return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, host) || strings.EqualFold(n, "*."+rest) })
}

// addLocations adds the paths of Ingresses, and returns the canaries.
func (w *World) addLocations(members []*member) (canaries []*member) {
	for _, m := range members {
		for i, rule := range m.Spec.Rules {
			if rule.HTTP == nil {
				continue
			}
			s := w.servers[hostOf(rule.Host)]
			if s == nil { // a canary alone names the host
				s = w.servers[catchAll]
			}
			for j, p := range rule.HTTP.Paths {
				if p.Backend.Service != nil {
					w.addLocation(s, m, p, "spec.rules["+strconv.Itoa(i)+"].http.paths["+strconv.Itoa(j)+"]")
				}
			}
		}
		if m.canary != nil {
			canaries = append(canaries, m)
		}
	}
	return canaries
}

func (w *World) addLocation(s *server, m *member, p networkingv1.HTTPIngressPath, field string) {
	to := w.upstreams[backendOf(m.Namespace, p.Backend.Service)]
	if to.noServer {
		return
	}
	text, exact := cmp.Or(p.Path, "/"), p.PathType != nil && *p.PathType == networkingv1.PathTypeExact
	for _, l := range s.locations {
		if l.text != text {
			continue
		}
		if l.exact != exact {
			break // whatever comes behind it: a third one of its kind makes nginx refuse the configuration
		}
		if !l.initial {
			m.lost[field] = l
			return
		}
		l.initial, l.of, l.to, l.field = false, m, to, field
		l.plain = false
		s.noteRedirect(m)
		return
	}
	s.locations = append(s.locations, &location{text: text, exact: exact, of: m, to: to, field: field})
	s.noteRedirect(m)
}

func (s *server) noteRedirect(m *member) {
	if m.www && s.www == nil {
		s.www = m
	}
}

// hangOn hangs the Services of a canary on those of the locations with its hosts and paths.
func (w *World) hangOn(m *member) {
	hang := func(s *server, b backend, matches func(*location) bool) {
		alternative := w.upstreams[b]
		if s == nil || alternative == nil || alternative.removed {
			return
		}
		merged, same := false, false
		for _, l := range s.locations {
			if same = l.to == alternative; same {
				break
			}
			if l.to.removed || l.to == w.upstreams[backend{}] || l.to.noServer || !matches(l) {
				continue
			}
			merged = true
			if !slices.Contains(l.to.alternatives, alternative) {
				l.to.alternatives = append(l.to.alternatives, alternative)
			}
		}
		alternative.removed = !same && !merged
	}
	if d := m.Spec.DefaultBackend; d != nil && d.Service != nil {
		hang(w.servers[catchAll], backendOf(m.Namespace, d.Service), func(*location) bool { return true })
	}
	for _, rule := range m.Spec.Rules {
		if rule.HTTP == nil {
			continue
		}
		for _, p := range rule.HTTP.Paths {
			if p.Backend.Service == nil {
				continue
			}
			exact := p.PathType != nil && *p.PathType == networkingv1.PathTypeExact
			hang(w.servers[hostOf(rule.Host)], backendOf(m.Namespace, p.Backend.Service), func(l *location) bool {
				return l.text == cmp.Or(p.Path, "/") && l.exact == exact
			})
		}
	}
}

// sort orders the locations of a server, and finds out what they are.
func (s *server) sort() {
	slices.SortStableFunc(s.locations, func(a, b *location) int { return cmp.Compare(b.text, a.text) })
	slices.SortStableFunc(s.locations, func(a, b *location) int { return cmp.Compare(len(b.text), len(a.text)) })
	s.locations = slices.Concat(s.split()...)
	for _, l := range s.locations {
		s.regex = s.regex || l.rewrites() || l.of != nil && !l.plain && l.of.regex
		uri, ok := normalise(strings.ReplaceAll(l.text, "%", "%25"))
		l.reachable = ok && uri == l.text
	}
	if s.regex {
		return
	}
	s.exactly, s.below = map[string]*location{}, map[string]*location{}
	for _, l := range s.locations {
		if l.exact {
			s.name(s.exactly, l.text, "= "+l.text, l)
		}
	}
	for _, l := range s.locations {
		if l.exact {
			continue
		}
		below := l.text
		if !strings.HasSuffix(below, "/") {
			below += "/"
			if s.exactly[l.text] == nil || !s.exactly[l.text].exact {
				s.name(s.exactly, l.text, "= "+l.text, l)
			}
		}
		s.name(s.below, below, below, l)
	}
}

// name gives a location of nginx to one of the server.
func (s *server) name(among map[string]*location, path, name string, l *location) {
	if among[path] != nil {
		s.broken = "nginx refuses two locations " + name
		return
	}
	among[path] = l
}

// split divides Prefix paths that are rewritten to themselves: the location for what is below such a path rewrites, too, as its own
// path has a slash at the end (location.go, template.go).
func (s *server) split() (out [][]*location) {
	for _, l := range s.locations {
		if l.exact || l.plain || l.of == nil || l.text == "/" || l.of.regex || l.of.rewrite != l.text || strings.HasSuffix(l.text, "/") {
			out = append(out, []*location{l})
			continue
		}
		below, itself := *l, *l
		below.text += "/"
		itself.exact = true
		if slices.ContainsFunc(s.locations, func(o *location) bool { return o.exact && o.text == l.text }) {
			out = append(out, []*location{&below})
			continue
		}
		out = append(out, []*location{&below, &itself})
	}
	return out
}

// rewrites reports whether a location replaces paths.
func (l *location) rewrites() bool {
	return l.of != nil && !l.plain && l.of.rewrite != "" && l.of.rewrite != l.text
}

// place finds the servers of each Ingress.
func (w *World) place() {
	for _, name := range slices.Sorted(maps.Keys(w.servers)) {
		s := w.servers[name]
		add := func(m *member) {
			if m != nil && (len(m.at) == 0 || m.at[len(m.at)-1] != s) {
				m.at = append(m.at, s)
			}
		}
		for _, l := range s.locations {
			if l.of == nil || len(l.of.at) == 0 || !slices.Contains(l.of.at, s) {
				add(l.of)
			}
		}
		if len(s.aliases) > 0 && !slices.Contains(s.aliased.at, s) {
			add(s.aliased)
		}
	}
}

// makeRedirects finds the hosts that lead to others (pkg/util/ingress/ingress.go).
func (w *World) makeRedirects() {
	for host, s := range w.servers {
		if s.www == nil {
			continue
		}
		if from := otherName(host); w.servers[from] == nil {
			w.redirects[from] = host
		}
	}
}

// otherName returns a host with www., or without.
func otherName(host string) string {
	if from, is := strings.CutPrefix(host, "www."); is {
		return from
	}
	return "www." + host
}
