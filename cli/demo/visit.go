package demo

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/cli/answer"
	"fairlead.dev/fairlead/cli/program"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/printable"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file finds a request for every route. The demo prints it as a command line, and sends it.

// A visit is a request that reaches one route, or one default, of a load balancer on this machine.
type visit struct {
	answer.Explanation
	answer.Question
	port    int32  // of the listener
	address string // of the listener on this machine
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
			for _, path := range pathsOf(p.Table, level) {
				v, err := visitOf(p, seen, listener, host, path)
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
	p program.Program, seen *lb.Observed, listener lb.ObservedListener, host, path string,
) (visit, error) {
	authority := host
	if usual := map[routing.Protocol]int32{routing.HTTP: 80,
		routing.HTTPS: 443}[listener.Protocol]; listener.Port != usual {
		authority = net.JoinHostPort(host, strconv.Itoa(int(listener.Port)))
	}
	q, err := answer.Ask(strings.ToLower(string(listener.Protocol)) + "://" + authority +
		routing.Sendable(path))
	if err != nil {
		return visit{}, err
	}
	q.Request.Method = http.MethodGet
	v := visit{Question: q, port: listener.Port, address: reachedAt(seen.Address, listener.Port)}
	v.URL = q.Asked
	all := func(string) bool { return true } // the demo has endpoints of its own
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

// pathsOf returns paths that reach each route of a level, and one that misses all of them if there
// is such a path.
func pathsOf(table *precedence.Table, level *precedence.Level) []string {
	routes, _ := level.Reachable()
	var paths []string
	for i, r := range routes {
		path, ok := table.Witness(r.Owner.String(), r.Path, routes[:i])
		if ok && len(r.When) == 0 {
			paths = append(paths, path)
		}
	}
	if miss, ok := table.Witness("", routing.Root, routes); ok {
		paths = append(paths, miss)
	}
	return slices.Compact(paths)
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
	if behindProxy() {
		words = append(words, "--noproxy", "'*'")
	}
	return strings.Join(append(words, "--connect-to", "::"+v.address, printable.Shell(v.URL)), " ")
}

// behindProxy reports whether curl would use a proxy.
func behindProxy() bool {
	return slices.ContainsFunc([]string{"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy",
		"ALL_PROXY"}, func(name string) bool {
		return os.Getenv(name) != ""
	})
}

// send sends the request and returns the error in the answer.
func (v visit) send(ctx context.Context, pods *backends) error {
	to := v.Scheme + "://" + v.Request.Host
	request, err := http.NewRequestWithContext(ctx, v.Request.Method, to, nil)
	if err != nil {
		return fmt.Errorf("making the request: %w", err)
	}
	// Opaque is sent as it is. A path would be encoded once more.
	request.URL = &url.URL{Scheme: v.Scheme, Host: v.Request.Host, Opaque: v.Request.Path,
		RawQuery: v.Query}
	response, err := v.transport().RoundTrip(request)
	if err != nil {
		return fmt.Errorf("sending the request: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	return v.judge(response, pods)
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

// judge compares the answer with the expected one. If the pods are not the demo's own, any answer
// is accepted.
func (v visit) judge(response *http.Response, pods *backends) error {
	switch v.Outcome.Kind {
	case "fixed":
		return differ("status", response.StatusCode, v.Outcome.Status)
	case "redirect":
		if err := differ("status", response.StatusCode, v.Outcome.Status); err != nil {
			return err
		}
		return differ("location", response.Header.Get("Location"), v.Outcome.Location)
	}
	if v.Outcome.LacksTargets() &&
		(response.StatusCode == http.StatusServiceUnavailable || v.Outcome.Status != 0) {
		return differ("status", response.StatusCode, http.StatusServiceUnavailable)
	}
	if !pods.has(v.Outcome.Service) {
		return nil
	}
	if err := differ("status", response.StatusCode, http.StatusOK); err != nil {
		return err
	}
	var said echo
	if err := json.NewDecoder(response.Body).Decode(&said); err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if slices.ContainsFunc(v.Outcome.Services, func(s answer.Share) bool {
		return s.Service == said.Service
	}) {
		return nil
	}
	return differ("service", said.Service, v.Outcome.Service)
}

func differ[T comparable](what string, got, want T) error {
	if got != want {
		return fmt.Errorf("%s is %v, not %v", what, got, want)
	}
	return nil
}
