package routing

import (
	"fmt"
	"strconv"
	"strings"
)

// An Action is what is done with a request: exactly one of Forward, Fixed and Redirect, after
// Auth and Rewrite where they are set.
type Action struct {
	Forward []Weighted
	// StickySeconds is how long a client stays with the backend of several that answered it first.
	StickySeconds int32

	Fixed    *Fixed
	Redirect *Redirect
	Auth     *Auth
	Rewrite  *Rewrite
}

// NotFound is the answer to requests that nothing matches.
func NotFound() Action { return Status(404) }

// Status is a fixed response without a body.
func Status(code int) Action { return Action{Fixed: &Fixed{Status: code}} }

// To forwards everything to one backend.
func To(id BackendID) Action { return Action{Forward: []Weighted{{Backend: id, Weight: 1}}} }

// Weighted is one backend's share of the requests: its weight over the sum of weights.
type Weighted struct {
	Backend BackendID
	Weight  int32
}

// Fixed is a response that the load balancer gives itself.
type Fixed struct {
	Status      int
	ContentType string
	Body        string
}

// Redirect sends the client elsewhere. An empty field keeps that part of the request's URL.
type Redirect struct {
	Status                          int
	Scheme, Host, Port, Path, Query string
}

// Key is equal for equal actions and only for them, so actions can be grouped and compared.
func (a Action) Key() string {
	var b strings.Builder
	if a.Auth != nil {
		fmt.Fprintf(&b, "auth(%s, secret %s) ", a.Auth.Key(), a.Auth.ClientSecret.Digest())
	}
	if a.Rewrite != nil {
		fmt.Fprintf(&b, "rewrite(%s) ", a.Rewrite)
	}
	switch {
	case a.Fixed != nil:
		b.WriteString(strconv.Itoa(a.Fixed.Status))
		if a.Fixed.ContentType != "" || a.Fixed.Body != "" {
			fmt.Fprintf(&b, " %s %q", a.Fixed.ContentType, a.Fixed.Body)
		}
	case a.Redirect != nil:
		fmt.Fprintf(&b, "%d %s", a.Redirect.Status, a.Redirect.Template())
	case len(a.Forward) == 1:
		b.WriteString(string(a.Forward[0].Backend)) // one backend gets everything, whatever its weight
	default:
		for i, w := range a.Forward {
			if i > 0 {
				b.WriteByte(' ')
			}
			fmt.Fprintf(&b, "%s*%d", w.Backend, w.Weight)
		}
	}
	if a.StickySeconds > 0 {
		fmt.Fprintf(&b, " sticky %ds", a.StickySeconds)
	}
	return b.String()
}

// Template is the redirect's location with placeholders for the parts it keeps.
func (r Redirect) Template() string {
	return or(r.Scheme, "#{protocol}") + "://" + or(r.Host, "#{host}") + ":" + or(r.Port, "#{port}") +
		or(r.Path, "/#{path}") + "?" + or(r.Query, "#{query}")
}

// Location is where the redirect sends a request that came over a protocol ("http", "https")
// with a raw query.
func (r Redirect) Location(req Request, protocol, query string) string {
	port := strconv.Itoa(int(req.Port))
	fill := strings.NewReplacer(
		"#{protocol}", protocol, "#{host}", req.Hostname(), "#{port}", port,
		"#{path}", strings.TrimPrefix(req.Path, "/"), "#{query}", query)
	scheme := fill.Replace(or(r.Scheme, protocol))
	host := fill.Replace(or(r.Host, req.Hostname()))
	if at := fill.Replace(or(r.Port, port)); at != map[string]string{"http": "80",
		"https": "443"}[scheme] {
		host += ":" + at
	}
	location := scheme + "://" + host + fill.Replace(or(r.Path, "/#{path}"))
	if q := fill.Replace(or(r.Query, "#{query}")); q != "" {
		location += "?" + q
	}
	return location
}

// Target is the port that the redirect leads to from one that speaks a protocol ("HTTP", "HTTPS"):
// the one that it names, the usual one of another scheme, or the same.
func (r Redirect) Target(port int32, protocol Protocol) int32 {
	if named, err := strconv.ParseInt(r.Port, 10, 32); err == nil {
		return int32(named)
	}
	usual := map[string]int32{"http": 80, "https": 443}[r.Scheme]
	if usual == 0 || strings.EqualFold(r.Scheme, string(protocol)) {
		return port
	}
	return usual
}

// On returns an action as a listener has it: where users cannot sign in, a redirect to HTTPS, or
// 503.
func (a Action) On(protocol Protocol) Action {
	switch {
	case a.Auth == nil || protocol == HTTPS:
		return a
	case a.Auth.SecurePort == 0:
		return Status(503)
	}
	return Action{Redirect: &Redirect{Status: 302, Scheme: "https",
		Port: strconv.Itoa(int(a.Auth.SecurePort))}}
}

func or(value, fallback string) string {
	if value != "" {
		return value
	}
	return fallback
}
