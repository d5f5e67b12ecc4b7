package fake

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// This file answers requests by the rules of a listener.

// A service is a listener as it is between two steps: its rules, target groups and certificates.
type service struct {
	Listener lb.ObservedListener
	// Matcher makes the matcher when the first request needs it: a TLS handshake does not.
	Matcher func() *lb.Matcher
	Pools   map[lb.GroupID]*group
	Pairs   map[lb.CertificateID]pair
	Own     *authority
	Sent    map[string]string // headers of all answers, by name
	shares  rotation
}

// headersOf returns the headers that the attributes of a listener have all answers have:
// https://docs.aws.amazon.com/elasticloadbalancing/latest/application/header-modification.html, "Add response headers".
func headersOf(attributes map[string]string) map[string]string {
	out := map[string]string{}
	for attribute, value := range attributes {
		name, response := strings.CutPrefix(attribute, "routing.http.response.")
		name, is := strings.CutSuffix(name, ".header_value")
		if response && is && value != "" {
			out[strings.ReplaceAll(name, "_", "-")] = value
		}
	}
	return out
}

// A sender sets headers in place of those that a target sends.
type sender struct {
	http.ResponseWriter
	headers map[string]string
}

// WriteHeader sends the headers.
func (s sender) WriteHeader(status int) {
	for name, value := range s.headers {
		s.Header().Set(name, value)
	}
	s.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (s sender) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// certificate returns the certificate for a server name: one with that name, one with the wildcard
// above it, or the default certificate.
func (s *service) certificate(name string) (*tls.Certificate, error) {
	for _, host := range routing.Levels(strings.ToLower(name)) {
		for _, id := range s.Listener.Certificates {
			if host != routing.Any && slices.Contains(s.hosts(id), string(host)) {
				return s.load(id)
			}
		}
	}
	if len(s.Listener.Certificates) == 0 {
		return nil, errors.New("the listener has no certificate")
	}
	return s.load(s.Listener.Certificates[0])
}

func (s *service) hosts(id lb.CertificateID) []string {
	if host, own := ownHost(id); own {
		return []string{host}
	}
	return s.Pairs[id].Hosts
}

func (s *service) load(id lb.CertificateID) (*tls.Certificate, error) {
	if host, own := ownHost(id); own {
		return s.Own.Certificate(host)
	}
	if p, ok := s.Pairs[id]; ok {
		return p.Parsed, nil
	}
	return nil, fmt.Errorf("no private key of certificate %s", id)
}

// ServeHTTP applies the action of the first rule whose conditions all hold.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if len(s.Sent) > 0 {
		w = sender{w, s.Sent}
	}
	request := s.request(r)
	rule, action := s.Matcher().Match(request)
	if a := action.Auth; a != nil && a.OnMissing != "allow" {
		askToSignIn(w, r, *a)
		return
	}
	switch action.Kind {
	case "fixed":
		sendFixedResponse(w, action)
	case "redirect":
		w.Header().Set("Location", action.Routing().Location(request, scheme(r), r.URL.RawQuery))
		answer(w, action.Status, "", "")
	default:
		group := s.choose(w, r, rule, action)
		if action.Rewrite != nil {
			r = rewritten(r, *action.Rewrite)
		}
		s.forward(w, r, s.Pools[group])
	}
}

// askToSignIn sends clients to the identity provider, or refuses them. None is ever signed in.
func askToSignIn(w http.ResponseWriter, r *http.Request, a routing.Auth) {
	if a.OnMissing != "authenticate" {
		answer(w, http.StatusUnauthorized, "", "")
		return
	}
	w.Header().Set("Location", a.AuthorizationEndpoint+"?"+url.Values{
		"client_id": {a.ClientID}, "response_type": {"code"}, "scope": {a.Scope},
		"redirect_uri": {"https://" + r.Host + "/oauth2/idpresponse"}}.Encode())
	answer(w, http.StatusFound, "", "")
}

// request returns the values that rules match: the host and the path as they were sent, and the
// port of the listener, whatever port the socket has.
func (s *service) request(r *http.Request) routing.Request {
	source, _ := netip.ParseAddrPort(r.RemoteAddr)
	return routing.Request{
		Port:   s.Listener.Port,
		Host:   r.Host,
		Path:   rawPath(r),
		Method: r.Method,
		Header: r.Header,
		Query:  r.URL.Query(),
		Source: source.Addr().Unmap(),
	}
}

// rawPath returns the path as it was sent. The path in the URL can differ: it encodes characters
// that the client should have encoded.
func rawPath(r *http.Request) string {
	if path, _, _ := strings.Cut(r.RequestURI, "?"); strings.HasPrefix(path, "/") {
		return path
	}
	if path := r.URL.EscapedPath(); path != "" {
		return path
	}
	return "/"
}

// sendFixedResponse sends the fixed response of an action. If it has no body, the body is the text
// of the status.
func sendFixedResponse(w http.ResponseWriter, a lb.Action) {
	body, contentType := a.Body, a.ContentType
	if body == "" {
		body, contentType = fmt.Sprintf("%d %s\n", a.Status,
			http.StatusText(a.Status)), "text/plain; charset=utf-8"
	}
	answer(w, a.Status, contentType, body)
}

// serverName is the Server header of every answer.
const serverName = "fairlead"

func answer(w http.ResponseWriter, status int, contentType, body string) {
	w.Header().Set("Server", serverName)
	if contentType != "" {
		w.Header().Set("Content-Type", contentType)
	}
	w.WriteHeader(status)
	if _, err := w.Write([]byte(body)); err != nil {
		return // the client is gone, or this status permits no body
	}
}

// scheme returns the protocol of a request.
func scheme(r *http.Request) string {
	if r.TLS != nil {
		return "https"
	}
	return "http"
}
