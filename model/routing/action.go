package routing

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// An Action answers a request: by exactly one of Forward, Fixed and Redirect, after Auth and
// Rewrite if they are set.
type Action struct {
	Forward []Weighted
	// StickySeconds is how long a client stays with one of several backends.
	StickySeconds int32

	Fixed    *Fixed
	Redirect *Redirect
	Auth     *Auth
	Rewrite  *Rewrite

	// SSLRedirect is set if requests over HTTP are redirected to HTTPS instead. Levels of a table have
	// the redirects, and no action with it.
	SSLRedirect *SSLRedirect
}

// An SSLRedirect redirects requests over HTTP to an HTTPS port. Those under ChallengePath are let
// through to the action, unless Challenges is set.
type SSLRedirect struct {
	Port       int32 `json:"port"`
	Challenges bool  `json:"challenges,omitempty"`
}

// NotFound returns the answer to requests that match no route.
func NotFound() Action { return Status(404) }

// Status returns a fixed response without a body.
func Status(code int) Action { return Action{Fixed: &Fixed{Status: code}} }

// Unavailable returns the answer 503 instead of an action. Requests over HTTP are redirected as
// before.
func (a Action) Unavailable() Action {
	out := Status(503)
	out.SSLRedirect = a.SSLRedirect
	return out
}

// Redirect returns the action for requests over HTTP.
func (s SSLRedirect) Redirect() Action {
	return Action{Redirect: &Redirect{Status: 301, Scheme: "https", Port: strconv.Itoa(int(s.Port))}}
}

// To returns the action that forwards to one backend.
func To(id BackendID) Action { return Action{Forward: []Weighted{{Backend: id, Weight: 1}}} }

// A Weighted is a backend with its weight. Its share of requests is its weight over the sum of
// weights.
type Weighted struct {
	Backend BackendID
	Weight  int32
}

// A Fixed is a response of the load balancer itself.
type Fixed struct {
	Status      int
	ContentType string
	Body        string
}

// A Redirect sends the client to another URL. An empty field keeps that part of the request's URL.
type Redirect struct {
	Status                          int
	Scheme, Host, Port, Path, Query string
}

// Key is equal for equal actions and only for them, so actions can be grouped and compared.
func (a Action) Key() string {
	var b strings.Builder
	if s := a.SSLRedirect; s != nil {
		fmt.Fprintf(&b, "over HTTP 301 to port %d", s.Port)
		if s.Challenges {
			b.WriteString(" for challenges too")
		}
		b.WriteString(", else ")
	}
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
		b.WriteString(string(a.Forward[0].Backend)) // one backend gets all requests with any weight
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

// Template returns the redirect's location with placeholders for the parts that it keeps.
func (r Redirect) Template() string {
	return or(r.Scheme, "#{protocol}") + "://" + or(r.Host, "#{host}") + ":" + or(r.Port, "#{port}") +
		or(r.Path, "/#{path}") + "?" + or(r.Query, "#{query}")
}

// IsCircle reports whether a redirect of a path ends where it begins: for each request, or for the path
// itself, to which it leads all others.
func (r Redirect) IsCircle(protocol string, port int32, host Host, p Path) bool {
	same := func(part string, these ...string) bool { return part == "" || slices.Contains(these, part) }
	path := "/#{path}"
	if p.Type == Exact || p.Type == Prefix || p.Type == Glob && !strings.ContainsAny(p.Value, "*?") {
		path = p.Value
	}
	return same(r.Scheme, "#{protocol}", protocol) && same(r.Port, "#{port}", strconv.Itoa(int(port))) &&
		same(r.Host, "#{host}", string(host)) && same(r.Path, "/#{path}", path) && same(r.Query, "#{query}")
}

// Location returns the URL of the redirect for a request over a protocol ("http", "https") with a
// raw query.
func (r Redirect) Location(req Request, protocol, query string) string {
	own, host, path := strconv.Itoa(int(req.Port)), req.Hostname(), strings.TrimPrefix(req.Path, "/")
	fill := func(text, otherwise string) string {
		switch {
		case text == "":
			return otherwise
		case !strings.Contains(text, "#{"):
			return text
		}
		return strings.NewReplacer("#{protocol}", protocol, "#{host}", host, "#{port}", own, "#{path}", path,
			"#{query}", query).Replace(text)
	}
	scheme, port := fill(r.Scheme, protocol), fill(r.Port, own)
	location := scheme + "://" + fill(r.Host, host)
	if !(scheme == "http" && port == "80" || scheme == "https" && port == "443") {
		location += ":" + port
	}
	location += fill(r.Path, "/"+path)
	if q := fill(r.Query, query); q != "" {
		location += "?" + q
	}
	return location
}

// Location returns the URL of the redirect of an action, after its rewrite.
func (a Action) Location(r Request, protocol, query string) string {
	if a.Rewrite != nil {
		url := r.Path
		if query != "" {
			url += "?" + query
		}
		_, url = a.Rewrite.Apply(r.Host, url)
		r.Path, query, _ = strings.Cut(url, "?")
	}
	return a.Redirect.Location(r, protocol, query)
}

// Target returns the port of the redirect, for requests on a port with a protocol ("HTTP",
// "HTTPS"): its own port, the default port of another scheme, or the same port.
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

// On returns an action for a listener: if users cannot sign in there, it is a redirect to HTTPS, or
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
