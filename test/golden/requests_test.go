package golden

import (
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// This file is the language of a story's requests, one a line:
//
//	GET http://a.com/foo -> shop/web:80
//	GET http://a.com/old -> redirect 301 https://a.com/old
//	GET http://a.com/foo on fairlead/shop/web/internal -> 404
//	GET http://a.com/foo?v=2 with X-Canary: always from 10.0.0.1 -> shop/canary:80
//
// The right side is the backend, and as what host and URL it is reached if that is rewritten, a status, a redirect with its location, or "refused" where
// nothing listens on the port. A story with several load balancers says on which. A line that
// starts with # is for the reader.

// A request is one line.
type request struct {
	line     string
	on       lb.Key
	method   string
	url      string
	protocol string // http or https
	query    string
	routing  routing.Request
	want     string
}

const refused = "refused"

func parseRequests(text string) ([]request, error) {
	var all []request
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		r, err := parseRequest(line)
		if err != nil {
			return nil, fmt.Errorf("request %q: %w", line, err)
		}
		all = append(all, r)
	}
	return all, nil
}

func parseRequest(line string) (request, error) {
	left, want, found := strings.Cut(line, " -> ")
	if !found {
		return request{}, fmt.Errorf("it does not say what becomes of it")
	}
	r := request{line: line, want: strings.TrimSpace(want)}
	left, on, _ := strings.Cut(left, " on ")
	r.on = lb.Key(on)
	left, source, _ := strings.Cut(left, " from ")
	left, header, _ := strings.Cut(left, " with ")
	r.method, r.url, _ = strings.Cut(left, " ")
	protocol, rest, found := strings.Cut(r.url, "://")
	port, known := map[string]int32{"http": 80, "https": 443}[protocol]
	slash := strings.IndexByte(rest, '/')
	if !found || !known || slash < 0 {
		return request{}, fmt.Errorf("a URL is http or https, a host and a path")
	}
	host, target := rest[:slash], rest[slash:]
	if colon := strings.LastIndexByte(host, ':'); colon >= 0 {
		number, err := strconv.ParseInt(host[colon+1:], 10, 32)
		if err != nil {
			return request{}, fmt.Errorf("reading the port: %w", err)
		}
		port = int32(number)
	}
	// The path stays as it is on the wire: what net/url makes of it is not what routes.
	path, query, _ := strings.Cut(target, "?")
	r.protocol, r.query = protocol, query
	r.routing = routing.Request{Port: port, Host: host, Path: path, Method: r.method}
	if name, value, found := strings.Cut(header, ": "); found {
		r.routing.Header = map[string][]string{name: {value}}
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return request{}, fmt.Errorf("reading the query: %w", err)
	}
	r.routing.Query = values
	if source != "" {
		if r.routing.Source, err = netip.ParseAddr(source); err != nil {
			return request{}, fmt.Errorf("reading the source: %w", err)
		}
	}
	return r, nil
}

// outcomeOf is an action of the routing table as a request line spells it.
func (r request) outcomeOf(a routing.Action) string {
	if a.Auth != nil {
		behind := a
		behind.Auth = nil
		return "after " + a.Auth.String() + " " + r.outcomeOf(behind)
	}
	switch {
	case a.Redirect != nil:
		return fmt.Sprintf("redirect %d %s", a.Redirect.Status, a.Redirect.Location(r.routing, r.protocol, r.query))
	case a.Fixed != nil:
		return strconv.Itoa(a.Fixed.Status)
	}
	rewrite := a.Rewrite
	a.Rewrite = nil
	return a.Key() + r.rewrittenBy(rewrite)
}

// rewrittenBy says as what a request arrives that is rewritten.
func (r request) rewrittenBy(by *routing.Rewrite) string {
	if by == nil {
		return ""
	}
	host, url := by.Apply(r.routing.Host, strings.TrimSuffix(r.routing.Path+"?"+r.query, "?"))
	return " as " + host + url
}

// answer is what the rules of a listener make of the request, spelt in the same way.
func (r request) answer(listeners []lb.Listener, d lb.Dialect) string {
	for _, l := range listeners {
		if l.Port != r.routing.Port {
			continue
		}
		_, action := l.Match(r.routing, d)
		return r.answerOf(action)
	}
	return refused
}

// answerOf is an action of a rule, spelt in the same way.
func (r request) answerOf(action lb.Action) string {
	if action.Auth != nil {
		behind := action
		behind.Auth = nil
		return "after " + action.Auth.String() + " " + r.answerOf(behind)
	}
	switch {
	case action.Redirect != nil:
		return fmt.Sprintf("redirect %d %s", action.Status, action.Redirect.Location(r.routing, r.protocol, r.query))
	case action.Kind == "fixed":
		return strconv.Itoa(action.Status)
	}
	rewrite := action.Rewrite
	action.Rewrite = nil
	return strings.TrimPrefix(action.String(), "forward ") + r.rewrittenBy(rewrite)
}
