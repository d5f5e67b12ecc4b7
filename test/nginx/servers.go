package nginx

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	networking "k8s.io/api/networking/v1"
)

// This file makes servers, locations and upstreams of Ingresses (controller/controller.go, controller/location.go).

const (
	catchAll   = "_"
	noUpstream = "upstream-default-backend"
)

type upstream struct {
	name         string
	service      string // namespace/name
	port         string
	endpoints    []string
	canaryOnly   bool // made by a canary: no location may lead to it
	canary       canary
	alternatives []string
	affinity     affinity
	cookiePaths  map[string][]string // by host: where the cookie of affinity is set
}

type server struct {
	host      string
	aliases   []string
	locations []*location
	cert      *certificate // nil: none; an empty one is the controller's own
	client    clientAuth
	snippet   string
	www       bool
}

type location struct {
	path        string
	exact       bool
	fallback    bool // filled in for `/`, until a rule takes its place
	upstream    string
	from        *readIngress
	settings    settings
	errorPages  string // the upstream of custom-http-errors
	ingressPath string
}

// A world is what nginx is configured to serve.
type world struct {
	cluster   *Cluster
	config    configuration
	ingresses []*readIngress
	upstreams map[string]*upstream
	servers   map[string]*server
	defaults  []*upstream // for errors and empty upstreams
}

func (c *Cluster) world() *world {
	w := &world{cluster: c, config: c.configuration(), upstreams: map[string]*upstream{}, servers: map[string]*server{}}
	w.ingresses = c.ordered(w.config)
	w.makeUpstreams()
	w.makeServers()
	w.hostwide()
	w.uniqueAliases()
	w.fill()
	w.mergeCanaries()
	w.defaultBackends()
	for _, s := range w.servers {
		slices.SortStableFunc(s.locations, func(a, b *location) int {
			return cmp.Or(len(b.path)-len(a.path), cmp.Compare(b.path, a.path))
		})
		s.locations = expand(s.locations)
	}
	return w
}

// portOf is how an Ingress names the port of a Service, by number first.
func portOf(backend *networking.IngressServiceBackend) string {
	if backend.Port.Number > 0 {
		return strconv.Itoa(int(backend.Port.Number))
	}
	return backend.Port.Name
}

func upstreamName(namespace string, backend *networking.IngressServiceBackend) string {
	if backend == nil || portOf(backend) == "" {
		return namespace + "-INVALID"
	}
	return namespace + "-" + backend.Name + "-" + portOf(backend)
}

// makeUpstreams: one for each namespace, Service and port. The first Ingress that names one in a path decides
// whether it is a canary's; each that names it as its default decides anew.
func (w *world) makeUpstreams() {
	w.upstreams[noUpstream] = w.defaultUpstream()
	for _, ingress := range w.ingresses {
		if backend := ingress.Spec.DefaultBackend; backend != nil && backend.Service != nil {
			made := w.upstream(ingress, backend.Service)
			w.upstreams[made.name] = made
		}
		for _, rule := range ingress.Spec.Rules {
			for _, path := range paths(rule) {
				name := upstreamName(ingress.Namespace, path.Backend.Service)
				if _, made := w.upstreams[name]; path.Backend.Service != nil && !made {
					w.upstreams[name] = w.upstream(ingress, path.Backend.Service)
				}
			}
		}
	}
}

func paths(rule networking.IngressRule) []networking.HTTPIngressPath {
	if rule.HTTP == nil {
		return nil
	}
	return rule.HTTP.Paths
}

func (w *world) upstream(ingress *readIngress, backend *networking.IngressServiceBackend) *upstream {
	port := portOf(backend)
	u := &upstream{name: upstreamName(ingress.Namespace, backend), service: ingress.Namespace + "/" + backend.Name, port: port,
		cookiePaths: map[string][]string{}}
	if port == "" { // nothing is named, neither is a Service
		u.service = ingress.Namespace + "/"
	}
	if service := w.cluster.service(u.service); service != nil {
		u.endpoints = w.cluster.endpoints(service, port)
		if address := service.Spec.ClusterIP; ingress.settings.clusterIP && address != "" && address != "None" {
			u.endpoints = []string{address + ":" + port}
		}
	}
	if ingress.settings.canary.enabled {
		u.canaryOnly, u.canary = true, ingress.settings.canary
	}
	return u
}

// defaultUpstream is --default-backend-service. Without it, or without its pods, the controller answers 404 itself.
func (w *world) defaultUpstream() *upstream {
	u := &upstream{name: noUpstream, cookiePaths: map[string][]string{}}
	service := w.cluster.service(w.cluster.DefaultBackend)
	if service == nil || len(service.Spec.Ports) == 0 {
		return u
	}
	if found := w.cluster.ready(service, &service.Spec.Ports[0]); len(found) > 0 {
		u.service, u.port, u.endpoints = w.cluster.DefaultBackend, strconv.Itoa(int(service.Spec.Ports[0].Port)), found
	}
	return u
}

func host(rule networking.IngressRule) string { return cmp.Or(rule.Host, catchAll) }

// makeServers: one for each host. Its `/` is filled in by the first Ingress that names it, canaries aside.
func (w *world) makeServers() {
	root := &location{path: "/", fallback: true, upstream: noUpstream, errorPages: noUpstream,
		settings: settings{noGlobal: true, proxy: w.plainProxy()}}
	w.servers[catchAll] = &server{host: catchAll, cert: w.defaultCertificate(), locations: []*location{root}}
	for _, ingress := range w.ingresses {
		if ingress.settings.canary.enabled {
			continue
		}
		name := noUpstream
		if backend := ingress.Spec.DefaultBackend; backend != nil && backend.Service != nil {
			name = upstreamName(ingress.Namespace, backend.Service)
			if root.fallback && len(ingress.Spec.Rules) == 0 {
				root.fallback, root.upstream = false, name
				root.apply(ingress)
				root.settings.redirect, root.settings.rewrite = redirecting{}, rewriting{}
			}
		}
		for _, rule := range ingress.Spec.Rules {
			if _, made := w.servers[host(rule)]; made {
				continue
			}
			filled := &location{path: "/", fallback: true, upstream: name}
			filled.apply(ingress)
			w.servers[host(rule)] = &server{host: host(rule), locations: []*location{filled}}
		}
	}
}

func (w *world) plainProxy() proxying {
	c := w.config
	return proxying{c.bodySize, c.cookieDomain, c.cookiePath, c.redirectFrom, ""}
}

func (l *location) apply(ingress *readIngress) {
	l.from, l.settings, l.errorPages = ingress, ingress.settings, noUpstream
}

func (w *world) defaultCertificate() *certificate {
	if found, err := w.cluster.certificate(w.cluster.DefaultCertificate); err == nil {
		return found
	}
	return &certificate{names: []string{"Kubernetes Ingress Controller Fake Certificate", "ingress.local"}}
}

// hostwide is what the first Ingress that has it decides for a whole host: aliases, snippet, certificate.
func (w *world) hostwide() {
	for _, ingress := range w.ingresses {
		if ingress.settings.canary.enabled {
			continue
		}
		for _, rule := range ingress.Spec.Rules {
			s := w.servers[host(rule)]
			if len(s.aliases) == 0 {
				s.aliases = ingress.settings.aliases
			}
			s.snippet = cmp.Or(s.snippet, ingress.settings.server)
			if s.cert == nil && len(ingress.Spec.TLS) > 0 {
				s.cert = w.certificateFor(s.host, ingress)
			}
		}
	}
}

// certificateFor is the certificate of a host of an Ingress with TLS: of the entry that lists the host, else of one
// whose certificate names it. Whatever is wrong with it, the default one takes its place.
func (w *world) certificateFor(host string, ingress *readIngress) *certificate {
	name, listed := "", false
	for _, tls := range ingress.Spec.TLS {
		if slices.ContainsFunc(tls.Hosts, func(h string) bool { return strings.EqualFold(h, host) }) {
			name, listed = tls.SecretName, true
			break
		}
	}
	for i := 0; i < len(ingress.Spec.TLS) && !listed; i++ {
		tls := ingress.Spec.TLS[i]
		found, err := w.cluster.certificate(ingress.Namespace + "/" + tls.SecretName)
		if tls.SecretName != "" && err == nil && found.leaf != nil && found.leaf.VerifyHostname(host) == nil {
			name, listed = tls.SecretName, true
		}
	}
	found, err := w.cluster.certificate(ingress.Namespace + "/" + name)
	if name == "" || err != nil || found.leaf == nil || !found.verifies(host) {
		return w.defaultCertificate()
	}
	return found
}

// uniqueAliases drops an alias that is a server's name.
func (w *world) uniqueAliases() {
	for _, s := range w.servers {
		var kept []string
		for _, alias := range s.aliases {
			if _, taken := w.servers[alias]; !taken {
				kept = append(kept, alias)
			}
		}
		s.aliases = kept
	}
}

// fill adds the paths of all Ingresses, also of canaries, except those whose upstream a canary made.
func (w *world) fill() {
	for _, ingress := range w.ingresses {
		for _, rule := range ingress.Spec.Rules {
			s := w.servers[host(rule)]
			if s == nil {
				s = w.servers[catchAll]
			}
			if rule.HTTP == nil && rule.Host != "" {
				continue
			}
			s.client.failure = cmp.Or(s.client.failure, ingress.settings.client.failure)
			if s.client.authority == nil {
				failure := s.client.failure
				s.client = ingress.settings.client
				s.client.failure = failure
			}
			for _, path := range paths(rule) {
				if path.Backend.Service == nil {
					continue
				}
				if u := w.upstreams[upstreamName(ingress.Namespace, path.Backend.Service)]; !u.canaryOnly {
					s.add(ingress, path, u)
					u.stick(ingress, host(rule), path.Path, s.aliases)
				}
			}
		}
	}
}

// add is a path of a rule. Where several locations have the path, the first one alone decides.
func (s *server) add(ingress *readIngress, path networking.HTTPIngressPath, u *upstream) {
	exact := *path.PathType == networking.PathTypeExact
	i := slices.IndexFunc(s.locations, func(l *location) bool { return l.path == path.Path })
	if i >= 0 && s.locations[i].exact == exact {
		if !s.locations[i].fallback {
			return
		}
		s.locations[i].fallback, s.locations[i].upstream = false, u.name
		s.locations[i].apply(ingress)
	} else {
		added := &location{path: path.Path, exact: exact, upstream: u.name}
		added.apply(ingress)
		s.locations = append(s.locations, added)
	}
	s.www = s.www || ingress.settings.redirect.www
}

// stick: the first Ingress turns affinity on, the last one names the cookie.
func (u *upstream) stick(ingress *readIngress, host, path string, aliases []string) {
	named := ingress.settings.affinity
	if !named.cookie {
		return
	}
	u.affinity = named
	for _, name := range append([]string{host}, aliases...) {
		u.cookiePaths[name] = append(u.cookiePaths[name], path)
	}
}

// mergeCanaries hangs the upstreams of canaries on those of equal host, path and type. An upstream that finds none is
// deleted, even if other Ingresses use it.
func (w *world) mergeCanaries() {
	canaries := slices.DeleteFunc(slices.Clone(w.ingresses), func(i *readIngress) bool { return !i.settings.canary.enabled })
	if len(canaries) == len(w.ingresses) {
		return
	}
	for _, ingress := range canaries {
		if backend := ingress.Spec.DefaultBackend; backend != nil {
			name := upstreamName(ingress.Namespace, backend.Service)
			w.merge(ingress, name, w.servers[catchAll], func(*location) bool { return true })
		}
		for _, rule := range ingress.Spec.Rules {
			for _, path := range paths(rule) {
				if s := w.servers[host(rule)]; s != nil && path.Backend.Service != nil {
					exact := *path.PathType == networking.PathTypeExact
					w.merge(ingress, upstreamName(ingress.Namespace, path.Backend.Service), s,
						func(l *location) bool { return l.path == path.Path && l.exact == exact })
				}
			}
		}
	}
}

func (w *world) merge(ingress *readIngress, name string, s *server, fits func(*location) bool) {
	alternative := w.upstreams[name]
	if alternative == nil {
		return
	}
	merged := false
	for _, l := range s.locations {
		primary := w.upstreams[l.upstream]
		if primary == nil {
			continue
		}
		if primary == alternative {
			return
		}
		if primary.name == noUpstream || primary.canaryOnly || !fits(l) {
			continue
		}
		merged = true
		if slices.Contains(primary.alternatives, name) {
			continue
		}
		if !ingress.settings.affinity.legacy {
			alternative.affinity, alternative.cookiePaths = primary.affinity, maps.Clone(primary.cookiePaths)
		}
		primary.alternatives = append(primary.alternatives, name)
	}
	if !merged {
		delete(w.upstreams, name)
	}
}

// defaultBackends are the Services of default-backend: for error pages, and in place of an upstream without pods.
func (w *world) defaultBackends() {
	for _, name := range slices.Sorted(maps.Keys(w.servers)) {
		for _, l := range w.servers[name].locations {
			u := w.upstreams[l.upstream]
			service := w.cluster.service(l.settings.fallback)
			if u == nil || u.name == noUpstream || service == nil || len(service.Spec.Ports) == 0 ||
				len(u.endpoints) > 0 && len(l.settings.errors) == 0 {
				continue
			}
			found := w.cluster.ready(service, &service.Spec.Ports[0])
			if len(found) == 0 {
				continue
			}
			replaced := *u
			replaced.name = "custom-default-backend-" + service.Namespace + "-" + service.Name
			replaced.service, replaced.port, replaced.endpoints = l.settings.fallback, strconv.Itoa(int(service.Spec.Ports[0].Port)), found
			w.defaults = append(w.defaults, &replaced)
			l.errorPages = replaced.name
			if len(u.endpoints) == 0 {
				l.upstream = replaced.name
			}
		}
	}
}

func (l *location) rewritten() bool {
	return l.settings.rewrite.target != "" && l.settings.rewrite.target != l.path
}

// expand gives a prefix its exact twin, so that the path without a slash is served too.
func expand(locations []*location) []*location {
	exact := map[string]bool{}
	for _, l := range locations {
		exact[l.path] = exact[l.path] || l.exact
	}
	var expanded []*location
	for _, l := range locations {
		expanded = append(expanded, l)
		if l.path == "/" {
			continue
		}
		l.ingressPath = l.path
		if l.exact || l.rewritten() || l.settings.rewrite.expression {
			continue
		}
		if !exact[l.path] {
			twin := *l
			twin.exact = true
			expanded = append(expanded, &twin)
		}
		l.path = strings.TrimSuffix(l.path, "/") + "/"
	}
	return expanded
}

// expressions reports whether the host's locations are regular expressions, which one of them makes of all.
func (s *server) expressions() bool {
	return slices.ContainsFunc(s.locations, func(l *location) bool { return l.rewritten() || l.settings.rewrite.expression })
}
