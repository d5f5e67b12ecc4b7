package fake

import (
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// A service is a listener as it stands between two steps, ready to answer requests. It knows rules
// and target groups, and nothing of where they come from.
type service struct {
	listener lb.ObservedListener
	// matcher is made when the first request needs it: most steps of a plan are followed by the
	// next one before anybody asks.
	matcher func() *lb.Matcher
	pools   map[lb.GroupID]*pool
	pairs   map[lb.CertificateID]pair
	own     *authority
	shares  shares
}

func (c *Cloud) newService(r *record, l *lb.ObservedListener) *service {
	return &service{
		listener: *l,
		matcher:  sync.OnceValue(func() *lb.Matcher { return lb.NewMatcher(l.Plain(), c.options.Capabilities.Dialect) }),
		pools:    maps.Clone(r.pools),
		pairs:    maps.Clone(r.pairs),
		own:      &c.certificates,
	}
}

// certificate is the one for a server name: by that name, by the wildcard above it, else the
// default one.
func (s *service) certificate(name string) (*tls.Certificate, error) {
	for _, host := range routing.Levels(strings.ToLower(name)) {
		for _, id := range s.listener.Certificates {
			if host != routing.Any && slices.Contains(s.hosts(id), string(host)) {
				return s.load(id)
			}
		}
	}
	if len(s.listener.Certificates) == 0 {
		return nil, errors.New("the listener has no certificate")
	}
	return s.load(s.listener.Certificates[0])
}

func (s *service) hosts(id lb.CertificateID) []string {
	if host, own := ownHost(id); own {
		return []string{host}
	}
	return s.pairs[id].hosts
}

func (s *service) load(id lb.CertificateID) (*tls.Certificate, error) {
	if host, own := ownHost(id); own {
		return s.own.certificate(host)
	}
	if p, ok := s.pairs[id]; ok {
		return p.parsed, nil
	}
	return nil, fmt.Errorf("no private key of certificate %s", id)
}

// ServeHTTP does what the first rule says whose conditions all hold.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	request := s.request(r)
	rule, action := s.matcher().Match(request)
	switch action.Kind {
	case "fixed":
		fixed(w, action)
	case "redirect":
		w.Header().Set("Location", action.Redirect.Location(request, scheme(r), r.URL.RawQuery))
		answer(w, action.Status, "", "")
	default:
		group := s.choose(w, r, rule, action)
		if action.Rewrite != nil {
			r = rewritten(r, *action.Rewrite)
		}
		s.forward(w, r, s.pools[group])
	}
}

// request is what rules look at: the host and the path as they were sent, the listener's port
// whatever port it is really reached at.
func (s *service) request(r *http.Request) routing.Request {
	source, _ := netip.ParseAddrPort(r.RemoteAddr)
	return routing.Request{
		Port:   s.listener.Port,
		Host:   r.Host,
		Path:   rawPath(r),
		Method: r.Method,
		Header: r.Header,
		Query:  r.URL.Query(),
		Source: source.Addr().Unmap(),
	}
}

// rawPath is the path as it was sent. What the URL holds is not always that: a character that
// should have been encoded would be.
func rawPath(r *http.Request) string {
	if path, _, _ := strings.Cut(r.RequestURI, "?"); strings.HasPrefix(path, "/") {
		return path
	}
	if path := r.URL.EscapedPath(); path != "" {
		return path
	}
	return "/"
}

// fixed gives the response that the action says, and where that has no body, its status in words.
func fixed(w http.ResponseWriter, a lb.Action) {
	body, contentType := a.Body, a.ContentType
	if body == "" {
		body, contentType = fmt.Sprintf("%d %s\n", a.Status, http.StatusText(a.Status)), "text/plain; charset=utf-8"
	}
	answer(w, a.Status, contentType, body)
}

// serverName is how the load balancer signs every answer.
const serverName = "fairlead"

func answer(w http.ResponseWriter, status int, contentType, body string) {
	w.Header().Set("Server", serverName)
	if contentType != "" {
		w.Header().Set("Content-Type", contentType)
	}
	w.WriteHeader(status)
	if _, err := w.Write([]byte(body)); err != nil {
		return // the client has gone, or this status has no body
	}
}

// scheme is the protocol that a request came over.
func scheme(r *http.Request) string {
	if r.TLS != nil {
		return "https"
	}
	return "http"
}
