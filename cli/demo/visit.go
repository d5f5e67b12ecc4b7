package demo

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairlead.dev/fairlead/cli/answer"
	"fairlead.dev/fairlead/cli/program"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/printable"
	"fairlead.dev/fairlead/model/requests"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file finds a request for every route. The demo prints it as a command line, and sends it.

// A visit is a request that reaches one route, or one default, of a load balancer on this machine.
type visit struct {
	answer.Explanation
	answer.Question
	address string // of the listener on this machine
	secured bool   // the listener has a certificate for the host
	path    string // with the query, that a target gets after a rewrite; "" without one
	sticky  bool   // a client stays with one of several Services
	signIn  string // where clients are sent to sign in; "" without
	cookies []*http.Cookie
}

// visitsOf returns requests for everything that the load balancer answers.
func visitsOf(p program.Program, seen *lb.Observed) ([]visit, error) {
	var all []visit
	for _, listener := range seen.Listeners {
		for _, level := range p.Table.Levels(listener.Port) {
			host, ok := hostOf(p, listener.Port, level)
			if !ok {
				continue
			}
			for _, r := range requestsOf(p.Table, level, listener.Port, host) {
				v, err := visitOf(p, seen, listener, r)
				if err != nil {
					return nil, err
				}
				all = append(all, v)
			}
		}
	}
	return all, nil
}

// visitOf returns one request with its expected answer.
func visitOf(
	p program.Program, seen *lb.Observed, listener lb.ObservedListener, r routing.Request,
) (visit, error) {
	authority := r.Host
	if usual := map[routing.Protocol]int32{routing.HTTP: 80,
		routing.HTTPS: 443}[listener.Protocol]; listener.Port != usual {
		authority = net.JoinHostPort(r.Host, strconv.Itoa(int(listener.Port)))
	}
	query := ""
	if len(r.Query) > 0 {
		query = "?" + url.Values(r.Query).Encode()
	}
	q, err := answer.Ask(strings.ToLower(string(listener.Protocol)) + "://" + authority +
		routing.Sendable(r.Path) + query)
	if err != nil {
		return visit{}, err
	}
	q.Request.Method, q.Request.Header, q.Request.Source = r.Method, r.Header, r.Source
	v := visit{Question: q, address: reachedAt(seen.Address, listener.Port),
		secured: isSecured(p, listener, r.Host)}
	v.URL = q.Asked
	action := p.Table.Match(q.Request).Action
	v.sticky = action.StickySeconds > 0 && len(action.Forward) > 1
	if a := action.Auth; a != nil && a.Kind == routing.OIDC && a.OnMissing == "authenticate" {
		v.signIn = a.AuthorizationEndpoint
	}
	if action.Rewrite != nil {
		_, v.path = action.Rewrite.Apply(authority, q.Request.Path+query)
	}
	all := func(string, routing.ServicePort) bool { return true } // the demo has endpoints of its own
	if err := answer.FillAnswer(p, &v.Explanation, q, all); err != nil {
		return v, err
	}
	return v, nil
}

// reachedAt returns the address on this machine of a port of a load balancer.
func reachedAt(a lb.Address, port int32) string {
	host := a.Hostname
	if len(a.IPs) > 0 {
		host = a.IPs[0]
	}
	if really, ok := a.Ports[port]; ok {
		port = really
	}
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// hostOf returns a host name that the level answers for: the first that no more specific level
// answers for.
func hostOf(p program.Program, port int32, level *precedence.Level) (string, bool) {
	if level.Host != routing.Any && !level.Host.Wildcard() {
		return string(level.Host), true
	}
	domain := ".example"
	if level.Host.Wildcard() {
		domain = strings.TrimPrefix(string(level.Host), "*")
	}
	for _, label := range []string{"any", "some", "other", "fresh", "unused"} {
		request := routing.Request{Port: port, Host: label + domain, Path: "/"}
		if p.Table.Match(request).Host == level.Host {
			return label + domain, true
		}
	}
	return "", false
}

// requestsOf returns requests that reach each route of a level, and one that misses all of them if
// there is such a path.
func requestsOf(
	table *precedence.Table, level *precedence.Level, port int32, host string,
) []routing.Request {
	routes, _ := level.Reachable()
	request := func(path string, when routing.Conditions) routing.Request {
		r := routing.Request{Port: port, Host: host, Path: path, Method: http.MethodGet,
			Source: here}
		fulfil(&r, when)
		return r
	}
	var all []routing.Request
	for i, route := range routes {
		path, ok := table.Witness(route.Owner.String(), route.Path, routes[:i])
		r := request(path, route.When)
		if ok && (len(route.When) == 0 || table.Match(r).Route == route) {
			all = append(all, r) // conditions can be impossible to fulfil, such as another source
		}
	}
	if miss, ok := table.Witness("", routing.Root, routes); ok {
		all = append(all, request(miss, nil))
	}
	return slices.CompactFunc(all, func(a, b routing.Request) bool { return reflect.DeepEqual(a, b) })
}

// here is the address of clients on this machine, as load balancers on it see it.
var here = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// fulfil changes a request so that it meets conditions, if a client can do that.
func fulfil(r *routing.Request, when routing.Conditions) {
	r.Query = map[string][]string{}
	some := func(c routing.Condition) []string {
		return []string{strings.NewReplacer("*", "", "?", "x").Replace(c.Values[0])}
	}
	for _, c := range when {
		one := requests.Entry{Paths: requests.Anything, When: routing.Conditions{c}}
		switch sample, known := requests.NewFinder(requests.OfCommand).Sample(one); {
		case c.Field == "host" && !c.Regex:
			r.Host = strings.NewReplacer("*", "any", "?", "x").Replace(c.Values[0])
			continue
		case known && c.Field == "header" && c.Regex:
			c.Values = sample.Header[c.Name]
		case known && c.Field == "query" && c.Name == "":
			maps.Copy(r.Query, sample.Query)
			continue
		}
		switch c.Field {
		case "method":
			r.Method = c.Values[0]
		case "header":
			if r.Header == nil {
				r.Header = map[string][]string{}
			}
			r.Header[http.CanonicalHeaderKey(c.Name)] = some(c)
		case "query":
			r.Query[c.Name] = some(c)
		}
	}
}

// isSecured reports whether a listener has a certificate for a host.
func isSecured(p program.Program, listener lb.ObservedListener, host string) bool {
	return slices.ContainsFunc(p.LoadBalancer.Certificates, func(c lb.Certificate) bool {
		return slices.Contains(listener.Certificates, c.ID) &&
			(&x509.Certificate{DNSNames: c.Hosts}).VerifyHostname(host) == nil
	})
}

// curl returns the request as a command line. The URL is the one of production: only the connection
// is made to this machine.
func (v visit) curl() string {
	words := []string{"curl"}
	switch {
	case v.Outcome.Kind != "service":
		words = append(words, "-si") // the interesting part is in the headers
	default:
		words = append(words, "-s")
	}
	if v.Scheme == "https" {
		words = append(words, "-k")
	}
	if v.Request.Method != http.MethodGet {
		words = append(words, "-X", printable.Shell(v.Request.Method))
	}
	for _, name := range slices.Sorted(maps.Keys(v.Request.Header)) {
		for _, value := range v.Request.Header[name] {
			words = append(words, "-H", printable.Shell(name+": "+value))
		}
	}
	if behindProxy() {
		words = append(words, "--noproxy", "'*'")
	}
	return strings.Join(append(words, "--connect-to", "::"+v.address, printable.Shell(v.URL)), " ")
}

// String returns the URL, with the method and the headers that matter.
func (v visit) String() string {
	text := v.URL
	if v.Request.Method != http.MethodGet {
		text = v.Request.Method + " " + text
	}
	for _, name := range slices.Sorted(maps.Keys(v.Request.Header)) {
		text += fmt.Sprintf(" with %s: %s", name, strings.Join(v.Request.Header[name], ", "))
	}
	return text
}

// behindProxy reports whether curl would use a proxy.
func behindProxy() bool {
	return slices.ContainsFunc([]string{"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy",
		"ALL_PROXY"}, func(name string) bool {
		return os.Getenv(name) != ""
	})
}

// A reply is what came back for a visit.
type reply struct {
	status  int    // 0 without an answer
	service string // of the pod that answered; "" if it is unknown
	err     error  // the difference from the expected answer
	cookies []*http.Cookie
}

// answerWithin limits the time for an answer, and mostRepeats the requests of one visit.
const (
	answerWithin = 5 * time.Second
	mostRepeats  = 100
)

// ask sends the request. If several Services share the answers, it repeats it until each that
// gets a quarter or more of them has answered. The chance that one is missed is (3/4)^100.
func (v visit) ask(ctx context.Context, pods *backends) reply {
	missing := v.mainServices(pods)
	for range mostRepeats {
		r := v.send(ctx, pods)
		delete(missing, r.service)
		switch {
		case r.err != nil:
			return r
		case len(missing) == 0 && v.sticky:
			return v.stay(ctx, pods)
		case len(missing) == 0:
			return r
		}
	}
	return reply{status: http.StatusOK, err: fmt.Errorf("of %d answers, none is of %s", mostRepeats,
		strings.Join(slices.Sorted(maps.Keys(missing)), " or "))}
}

// stay sends the request, and repeats it with the cookies of the answer: the same Service answers.
// The chance that one of two does by accident is (1/2)^20.
func (v visit) stay(ctx context.Context, pods *backends) reply {
	first := v.send(ctx, pods)
	v.cookies = first.cookies
	for i := 0; i < 20 && first.err == nil; i++ {
		r := v.send(ctx, pods)
		if r.err == nil {
			r.err = differ(fmt.Sprintf("with the cookies of the first answer, service of answer %d", i+2),
				r.service, first.service)
		}
		if r.err != nil {
			return r
		}
	}
	return first
}

// mainServices returns the Services with pods of the demo that give a quarter or more of the
// answers, where several Services do.
func (v visit) mainServices(pods *backends) map[string]bool {
	var sum int32
	for _, s := range v.Outcome.Services {
		sum += s.Weight
	}
	out := map[string]bool{}
	for _, s := range v.Outcome.Services {
		if s.Status == 0 && s.Weight > 0 && s.Weight >= sum/4 && pods.has(s.Service) {
			out[s.Service] = true
		}
	}
	return out
}

// send sends the request once.
func (v visit) send(ctx context.Context, pods *backends) reply {
	ctx, end := context.WithTimeout(ctx, answerWithin)
	defer end()
	to := v.Scheme + "://" + v.Request.Host
	request, err := http.NewRequestWithContext(ctx, v.Request.Method, to, nil)
	if err != nil {
		return reply{err: fmt.Errorf("making the request: %w", err)}
	}
	// Opaque is sent as it is. A path would be encoded once more.
	request.URL = &url.URL{Scheme: v.Scheme, Host: v.Request.Host, Opaque: v.Request.Path,
		RawQuery: v.Query}
	maps.Copy(request.Header, v.Request.Header)
	for _, c := range v.cookies {
		request.AddCookie(c)
	}
	response, err := v.transport().RoundTrip(request)
	if err != nil {
		return reply{err: fmt.Errorf("sending the request: %w", err)}
	}
	defer func() { _ = response.Body.Close() }()
	r := reply{status: response.StatusCode, cookies: response.Cookies()}
	r.service, r.err = v.judge(response, pods)
	return r
}

// transport connects to this machine whatever the URL is, and trusts every certificate.
func (v visit) transport() *http.Transport {
	return &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{
			ServerName:         v.Request.Hostname(),
			InsecureSkipVerify: true, //nolint:gosec // the certificate is self-signed
		},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, v.address)
		},
	}
}

// judge compares the answer with the expected one, and returns the Service that gave it. If the pods
// are not the demo's own, any answer is accepted.
func (v visit) judge(response *http.Response, pods *backends) (service string, err error) {
	if v.secured && response.TLS != nil {
		if err := response.TLS.PeerCertificates[0].VerifyHostname(v.Request.Hostname()); err != nil {
			return "", fmt.Errorf("the certificate is another one: %w", err)
		}
	}
	if v.signIn != "" {
		to, _, _ := strings.Cut(response.Header.Get("Location"), "?")
		return "", differ("location to sign in", to, v.signIn)
	}
	switch v.Outcome.Kind {
	case "fixed":
		return "", differ("status", response.StatusCode, v.Outcome.Status)
	case "redirect":
		if err := differ("status", response.StatusCode, v.Outcome.Status); err != nil {
			return "", err
		}
		return "", differ("location", response.Header.Get("Location"), v.Outcome.Location)
	}
	if v.Outcome.LacksTargets() &&
		(response.StatusCode == http.StatusServiceUnavailable || v.Outcome.Status != 0) {
		return "", differ("status", response.StatusCode, http.StatusServiceUnavailable)
	}
	if !pods.has(v.Outcome.Service) {
		return "", nil
	}
	err = differ("status", response.StatusCode, http.StatusOK)
	if err != nil || v.Request.Method == http.MethodHead {
		return v.Outcome.Service, err
	}
	var said echo
	if err := json.NewDecoder(response.Body).Decode(&said); err != nil {
		return "", fmt.Errorf("reading the answer: %w", err)
	}
	if v.path != "" && said.Path != v.path {
		return said.Service, differ("path at the target", said.Path, v.path)
	}
	if slices.ContainsFunc(v.Outcome.Services, func(s answer.Share) bool {
		return s.Service == said.Service && s.Weight > 0
	}) {
		return said.Service, nil
	}
	return said.Service, differ("service", said.Service, v.Outcome.Service)
}

func differ[T comparable](what string, got, want T) error {
	if got != want {
		return fmt.Errorf("%s is %v, not %v", what, got, want)
	}
	return nil
}
