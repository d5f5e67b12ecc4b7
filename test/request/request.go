// Package request is the language of requests in stories and cases.
package request

import (
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// This file reads requests and says what becomes of them, one a line:
//
//	GET http://a.com/foo -> shop/web:80
//	GET http://a.com/old -> redirect 301 https://a.com/old
//	GET http://a.com/foo on fairlead/shop/web/internal -> 404
//	GET http://a.com/foo?v=2 with X-Canary: always from 10.0.0.1 -> shop/canary:80
//
// The right side is the backend, and as what host and URL it is reached if that is rewritten, a
// status, a redirect with its location, or "refused" where nothing listens on the port. A story
// with several load balancers says on which. A line that starts with # is for the reader.

// A Request is one line.
type Request struct {
	Line     string
	On       lb.Key
	Method   string
	URL      string
	Protocol string // http or https
	Query    string
	Routing  routing.Request
	Want     string
}

// Refused is what becomes of a request to a port where nothing listens.
const Refused = "refused"

// ParseAll reads the lines of a text.
func ParseAll(text string) ([]Request, error) {
	var all []Request
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		r, err := Parse(line)
		if err != nil {
			return nil, fmt.Errorf("request %q: %w", line, err)
		}
		all = append(all, r)
	}
	return all, nil
}

// Parse reads one line.
func Parse(line string) (Request, error) {
	left, want, found := strings.Cut(line, " -> ")
	if !found {
		return Request{}, fmt.Errorf("it does not say what becomes of it")
	}
	r := Request{Line: line, Want: strings.TrimSpace(want)}
	left, on, _ := strings.Cut(left, " on ")
	r.On = lb.Key(on)
	left, source, _ := strings.Cut(left, " from ")
	left, header, _ := strings.Cut(left, " with ")
	r.Method, r.URL, _ = strings.Cut(left, " ")
	protocol, rest, found := strings.Cut(r.URL, "://")
	port, known := map[string]int32{"http": 80, "https": 443}[protocol]
	slash := strings.IndexByte(rest, '/')
	if !found || !known || slash < 0 || strings.Contains(r.URL, " ") {
		return Request{}, fmt.Errorf("a URL is http or https, a host and a path, with nothing behind it " +
			"but \"with HEADER: VALUE\", \"from ADDRESS\" or \"on LOAD-BALANCER\"")
	}
	host, target := rest[:slash], rest[slash:]
	if colon := strings.LastIndexByte(host, ':'); colon >= 0 {
		number, err := strconv.ParseInt(host[colon+1:], 10, 32)
		if err != nil {
			return Request{}, fmt.Errorf("reading the port: %w", err)
		}
		port = int32(number)
	}
	// The path stays as it is on the wire: what net/url makes of it is not what routes.
	path, query, _ := strings.Cut(target, "?")
	r.Protocol, r.Query = protocol, query
	r.Routing = routing.Request{Port: port, Host: host, Path: path, Method: r.Method}
	name, value, found := strings.Cut(header, ": ")
	switch {
	case found:
		r.Routing.Header = map[string][]string{name: {value}}
	case header != "":
		return Request{}, fmt.Errorf("a header is NAME: VALUE")
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return Request{}, fmt.Errorf("reading the query: %w", err)
	}
	r.Routing.Query = values
	if source != "" {
		if r.Routing.Source, err = netip.ParseAddr(source); err != nil {
			return Request{}, fmt.Errorf("reading the source: %w", err)
		}
	}
	return r, nil
}

// OutcomeOf is an action of the routing table as a request line spells it.
func (r Request) OutcomeOf(a routing.Action) string {
	if a.Auth != nil {
		behind := a
		behind.Auth = nil
		return "after " + a.Auth.String() + " " + r.OutcomeOf(behind)
	}
	switch {
	case a.Redirect != nil:
		return fmt.Sprintf("redirect %d %s", a.Redirect.Status, a.Location(r.Routing, r.Protocol, r.Query))
	case a.Fixed != nil:
		return strconv.Itoa(a.Fixed.Status)
	}
	rewrite := a.Rewrite
	a.Rewrite = nil
	return a.Key() + r.rewrittenBy(rewrite)
}

// rewrittenBy says as what a request arrives that is rewritten.
func (r Request) rewrittenBy(by *routing.Rewrite) string {
	if by == nil {
		return ""
	}
	host, url := by.Apply(r.Routing.Host, strings.TrimSuffix(r.Routing.Path+"?"+r.Query, "?"))
	return " as " + host + url
}

// Answer is what the rules of a listener make of the request, spelt in the same way.
func (r Request) Answer(listeners []lb.Listener, d lb.Dialect) string {
	for _, l := range listeners {
		if l.Port != r.Routing.Port {
			continue
		}
		_, action := l.Match(r.Routing, d)
		return r.answerOf(action)
	}
	return Refused
}

// answerOf is an action of a rule, spelt in the same way.
func (r Request) answerOf(action lb.Action) string {
	if action.Auth != nil {
		behind := action
		behind.Auth = nil
		return "after " + action.Auth.String() + " " + r.answerOf(behind)
	}
	switch {
	case action.Redirect != nil:
		return fmt.Sprintf("redirect %d %s", action.Status, action.Routing().Location(r.Routing, r.Protocol, r.Query))
	case action.Kind == "fixed":
		return strconv.Itoa(action.Status)
	}
	rewrite := action.Rewrite
	action.Rewrite = nil
	return strings.TrimPrefix(action.String(), "forward ") + r.rewrittenBy(rewrite)
}
