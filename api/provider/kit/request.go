package kit

import (
	"crypto/rand"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	v1 "fairlead.dev/fairlead/api/provider/v1"
)

// This file reads all of a request except its body.

// A route is a call of the protocol.
type route struct {
	method, path string
	query        []string // its parameters; all but deep are needed
	body         bool
	changes      bool // it changes something: once begun it is finished
}

var (
	getCapabilities  = route{method: "GET", path: v1.PathCapabilities}
	postLookup       = route{method: "POST", path: v1.PathLookup, body: true}
	getLoadBalancers = route{method: "GET", path: v1.PathLoadBalancers}
	getLoadBalancer  = route{method: "GET", path: v1.PathLoadBalancer, query: []string{"key", "deep"}}
	getActive        = route{method: "GET", path: v1.PathActive, query: []string{"key"}}
	postSteps        = route{method: "POST", path: v1.PathSteps, query: []string{"key"}, body: true, changes: true}
	getTargets       = route{method: "GET", path: v1.PathTargets, query: []string{"key", "group"}}
	putTargets       = route{method: "PUT", path: v1.PathTargets, query: []string{"key", "group"}, body: true, changes: true}
)

var routes = []route{
	getCapabilities, postLookup, getLoadBalancers, getLoadBalancer, getActive, postSteps, getTargets,
	putTargets,
}

// equals reports whether two routes have the same method and path.
func (r route) equals(other route) bool { return r.method == other.method && r.path == other.path }

// findRoute returns the route of a request, or a problem if there is none.
func findRoute(r *http.Request) (route, *answer) {
	var allowed []string
	for _, to := range routes {
		if r.URL.Path != to.path {
			continue
		}
		if r.Method == to.method {
			return to, nil
		}
		allowed = append(allowed, to.method)
	}
	p := v1.NewProblem(v1.ProblemMalformed, fmt.Sprintf("no call of the protocol has the path %q; "+
		"docs/reference/protocol.md lists the calls", clip(r.URL.Path)))
	p.Status = http.StatusNotFound
	a := problemAnswer(p)
	if len(allowed) > 0 {
		p.Detail = fmt.Sprintf("%s is called with %s, not with %s", clip(r.URL.Path),
			strings.Join(allowed, " or "), clip(r.Method))
		p.Status = http.StatusMethodNotAllowed
		a = problemAnswer(p)
		a.allow = strings.Join(allowed, ", ")
	}
	return route{}, &a
}

// A call is a request without its body.
type call struct {
	route
	id       string // the operator's ID of the call, the same in each attempt; "" for none
	key      string
	group    string
	deep     bool
	isUrgent bool
	timeout  time.Duration // the time that the client waits; 0: not known
	until    time.Time     // when the client stops waiting; zero: not known
}

// readRequest reads a request, or returns the answer to one that is not understood.
func readRequest(r *http.Request, begun time.Time) (c call, refused *answer) {
	refuse := func(p *v1.Problem) (call, *answer) {
		a := problemAnswer(p)
		return c, &a
	}
	found, refused := findRoute(r)
	if refused != nil {
		return c, refused
	}
	if !acceptsVersion(r.Header.Values("Accept")) {
		return refuse(versionProblem(http.StatusNotAcceptable,
			"the answer would be "+v1.MediaType+", and the request accepts only "+
				clip(strings.Join(r.Header.Values("Accept"), ", "))))
	}
	c.route, c.isUrgent = found, isUrgent(r)
	if id := r.Header.Get(v1.HeaderRequestID); writtenID.MatchString(id) {
		c.id = id
	}
	var p *v1.Problem
	if c.timeout, p = timeout(r); p != nil {
		return refuse(p)
	}
	if c.timeout > 0 {
		c.until = begun.Add(c.timeout)
	}
	if p := c.readQuery(r.URL.RawQuery); p != nil {
		return refuse(p)
	}
	return c, nil
}

// Limits of a key, of the name of a target group and of a step's ID, in characters.
const (
	longestKey  = 1024
	longestName = 1024
	longestID   = 256
)

// readQuery reads the parameters of the route, each once. Others are a problem.
func (c *call) readQuery(raw string) *v1.Problem {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return malformed("the query of the URL cannot be read: %v", err)
	}
	for name, all := range values {
		switch {
		case !slices.Contains(c.query, name):
			return v1.NewProblem(v1.ProblemUnknown,
				fmt.Sprintf("the parameter %q is not known for %s %s", clip(name), c.method, c.path))
		case len(all) > 1:
			return malformed("the parameter %q is there %d times", name, len(all))
		}
	}
	for _, name := range c.query {
		value, most := values.Get(name), longestName
		switch name {
		case "key":
			c.key, most = value, longestKey
		case "group":
			c.group = value
		case "deep":
			if values.Has(name) && value != "true" && value != "false" {
				return v1.NewProblem(v1.ProblemUnknown,
					fmt.Sprintf("the parameter deep is %q; it can be true or false", clip(value)))
			}
			c.deep = value == "true"
			continue
		}
		if value == "" {
			return malformed("%s %s needs the parameter %q", c.method, c.path, name)
		}
		if len(value) > most || !utf8.ValidString(value) {
			return malformed("the parameter %q has to be UTF-8 of at most %d bytes", name, most)
		}
	}
	return nil
}

// timeout returns the time that the client waits for this attempt; 0 if the request does not have
// it.
func timeout(r *http.Request) (time.Duration, *v1.Problem) {
	text := r.Header.Get(v1.HeaderTimeout)
	if text == "" {
		return 0, nil
	}
	const most = 24 * time.Hour
	n, _ := strconv.ParseInt(text, 10, 64) // 0 where it is no number
	if n < 1 || n > most.Milliseconds() {
		return 0, malformed("the header %s is %q; it has to be milliseconds, from 1 to %d",
			v1.HeaderTimeout, clip(text), most.Milliseconds())
	}
	return time.Duration(n) * time.Millisecond, nil
}

// isUrgent reports whether a call has priority, by its header Priority: less than the default u=3 is
// urgent (https://www.rfc-editor.org/rfc/rfc9218, section 4.1).
func isUrgent(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Priority"), ",") {
		if u, is := strings.CutPrefix(strings.TrimSpace(part), "u="); is {
			return len(u) == 1 && u >= "0" && u < "3"
		}
	}
	return false
}

// requestID returns the operator's ID of a call, or a new one if that cannot be logged.
func requestID(r *http.Request) string {
	if id := r.Header.Get(v1.HeaderRequestID); writtenID.MatchString(id) {
		return id
	}
	return rand.Text()
}

var writtenID = regexp.MustCompile(`^[!-~]{1,128}$`)

// traceOf returns the trace ID of a W3C trace context (https://www.w3.org/TR/trace-context/); ""
// for none.
func traceOf(header string) string {
	if found := traceparent.FindStringSubmatch(header); found != nil {
		return found[1]
	}
	return ""
}

var traceparent = regexp.MustCompile(`^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}(-.*)?$`)

// mediaType is the protocol's media type without its version.
var mediaType, _, _ = strings.Cut(v1.MediaType, ";")

// isSupported reports whether a media type is that of the protocol in the supported version.
func isSupported(text string) bool {
	name, parameters, _ := mime.ParseMediaType(text) // without parameters where it cannot be read
	return name == mediaType && parameters["version"] == strconv.Itoa(v1.Version)
}

// acceptsVersion reports whether a client accepts the supported version. Without the header it
// accepts any.
func acceptsVersion(headers []string) bool {
	if len(headers) == 0 {
		return true
	}
	for part := range strings.SplitSeq(strings.Join(headers, ","), ",") {
		name, parameters, err := mime.ParseMediaType(part)
		if q, given := parameters["q"]; err != nil || given && strings.Trim(q, "0.") == "" {
			continue
		}
		if name == "*/*" || name == "application/*" || isSupported(part) {
			return true
		}
	}
	return false
}

// versionProblem returns the problem of another version, or another protocol.
func versionProblem(status int, detail string) *v1.Problem {
	p := v1.NewProblem(v1.ProblemVersion, detail)
	p.Status, p.Versions = status, []int{v1.Version}
	return p
}

// malformed returns the problem of a malformed request.
func malformed(format string, args ...any) *v1.Problem {
	return v1.NewProblem(v1.ProblemMalformed, fmt.Sprintf(format, args...))
}

// clip returns a text of a client, shortened for a message.
func clip(text string) string {
	const most = 200
	if len(text) <= most {
		return strings.ToValidUTF8(text, "?")
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
