package main

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "fairlead.dev/fairlead/api/provider/v1"
)

// This file is the calls of the protocol (docs/reference/protocol.md), over HTTP.

const maxPriority = 1_000_000

// capabilities are what Caddy's load balancers can express. The operator refuses the rest by name.
var capabilities = v1.Capabilities{
	Name: "caddy", Software: "fairlead-example-caddy/1", Versions: []int{v1.Version},
	Conditions: v1.ConditionCapabilities{Fields: []string{"host", "path", "header", "method", "query", "source"}, Regex: true, HostStarIsLabel: true},
	Actions:    v1.ActionCapabilities{Rewrite: true, Sticky: true},
	Limits:     v1.Limits{MinPriority: 1, MaxPriority: maxPriority},
	// the provider checks the targets of every group
	TargetGroups: v1.GroupCapabilities{Versions: []string{"HTTP1", "HTTP2", "GRPC"}, HealthWithoutRule: true},
	Calls:        v1.CallCapabilities{StepsPerApply: 100},
}

// A call is a method and a path, its parameters, and what it does.
type call struct {
	method, path, query string
	tagged              bool
	do                  func(*provider, request) (any, *v1.Problem)
}

// A request is a call's key and target group, its body, and whether the operator has stopped
// waiting.
type request struct {
	key, group string
	body       []byte
	late       func() bool
}

var calls = []call{
	{"GET", v1.PathCapabilities, "", true, func(*provider, request) (any, *v1.Problem) { return capabilities, nil }},
	{"POST", v1.PathLookup, "", false, (*provider).lookup},
	{"GET", v1.PathLoadBalancers, "", false, func(p *provider, _ request) (any, *v1.Problem) {
		p.mu.Lock()
		defer p.mu.Unlock()
		return v1.LoadBalancerList{Keys: append([]string{}, slices.Sorted(maps.Keys(p.state.Balancers))...)}, nil
	}},
	{"GET", v1.PathLoadBalancer, "key deep", true, func(p *provider, r request) (any, *v1.Problem) {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.observed(r.key), nil
	}},
	{"GET", v1.PathActive, "key", false, func(p *provider, r request) (any, *v1.Problem) {
		p.mu.Lock()
		defer p.mu.Unlock()
		return v1.Activity{Active: p.observed(r.key).Active}, nil
	}},
	{"POST", v1.PathSteps, "key", false, (*provider).steps},
	{"GET", v1.PathTargets, "key group", false, func(p *provider, r request) (any, *v1.Problem) {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.members(r.key, r.group)
	}},
	{"PUT", v1.PathTargets, "key group", false, func(p *provider, r request) (any, *v1.Problem) {
		var want v1.TargetList
		if problem := decode(r.body, &want); problem != nil {
			return nil, problem
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if r.late() {
			return nil, other("the members were not changed: the time for that was over")
		}
		return nil, p.setMembers(r.key, r.group, want)
	}},
}

// lookup answers questions. Caddy has nothing that is looked up, and says so of what a class may
// ask for.
func (p *provider) lookup(r request) (any, *v1.Problem) {
	var asked v1.Questions
	if problem := decode(r.body, &asked); problem != nil {
		return nil, problem
	}
	facts := v1.Facts{CapabilitiesETag: tagFor(capabilities), Unguarded: "Caddy has no web ACLs", Unshielded: "Caddy has no shield"}
	if n := asked.Network; n != nil && len(n.Subnets)+len(n.SubnetTags)+len(n.SecurityGroups) > 0 {
		facts.Unmet = []string{"Caddy has neither subnets nor security groups"}
	}
	return facts, nil
}

func (p *provider) steps(r request) (any, *v1.Problem) {
	var asked v1.Apply
	if problem := decode(r.body, &asked); problem != nil {
		return nil, problem
	}
	if most := capabilities.Calls.StepsPerApply; len(asked.Steps) > most {
		return nil, malformed("%d steps are too many: a request has at most %d", len(asked.Steps), most)
	}
	for i, s := range asked.Steps {
		if problem := understand(s); problem != nil {
			problem.Detail = fmt.Sprintf("steps[%d]: %s", i, problem.Detail)
			return nil, problem
		}
	}
	applied, problem := p.apply(r.key, asked.Steps, r.late)
	if problem != nil {
		return nil, problem
	}
	return applied, nil
}

// ServeHTTP answers a call.
func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if id := r.Header.Get(v1.HeaderRequestID); id != "" {
		w.Header().Set(v1.HeaderRequestID, id)
		logger.Printf("%s %s (%.100q)", r.Method, r.URL.Path, id)
	}
	c, asked, problem := p.read(w, r)
	var message any
	if problem == nil {
		message, problem = c.do(p, asked)
	}
	w.Header().Set("Cache-Control", "no-store")
	if problem != nil {
		fail(w, *problem)
		return
	}
	if message == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if c.tagged {
		tag := tagFor(message)
		w.Header().Set("ETag", tag)
		if slices.Contains(r.Header.Values("If-None-Match"), tag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	w.Header().Set("Content-Type", v1.MediaType)
	_ = json.NewEncoder(w).Encode(message) // the operator may have gone
}

// read reads what a request asks for.
func (p *provider) read(w http.ResponseWriter, r *http.Request) (c call, asked request, _ *v1.Problem) {
	if problem := p.admit(r); problem != nil {
		return c, asked, problem
	}
	var allowed []string
	for _, candidate := range calls {
		if candidate.path == r.URL.Path {
			allowed = append(allowed, candidate.method)
			if candidate.method == r.Method {
				c = candidate
			}
		}
	}
	if c.do == nil {
		problem := malformed("%s %.200s is no call of the protocol", r.Method, r.URL.Path)
		if problem.Status = http.StatusNotFound; allowed != nil {
			w.Header().Set("Allow", strings.Join(allowed, ", "))
			problem.Status = http.StatusMethodNotAllowed
		}
		return c, asked, problem
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return c, asked, malformed("the query cannot be read: %v", err)
	}
	for name, values := range query {
		if !slices.Contains(strings.Fields(c.query), name) {
			return c, asked, unknown("the parameter %.100q is not known", name)
		}
		if len(values) > 1 {
			return c, asked, malformed("the parameter %q is there twice", name)
		}
	}
	asked.key, asked.group = query.Get("key"), query.Get("group")
	if strings.Contains(c.query, "key") && asked.key == "" || strings.Contains(c.query, "group") && asked.group == "" {
		return c, asked, malformed("%s needs the parameters %s", c.path, c.query)
	}
	if deep := query.Get("deep"); query.Has("deep") && deep != "true" && deep != "false" {
		return c, asked, unknown("the parameter deep is %.100q; it can be true or false", deep)
	}
	asked.late = func() bool { return false }
	if text := r.Header.Get(v1.HeaderTimeout); text != "" {
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil || n < 1 {
			return c, asked, malformed("the header %s is %.100q; it has to be milliseconds", v1.HeaderTimeout, text)
		}
		until := time.Now().Add(time.Duration(n) * time.Millisecond)
		asked.late = func() bool { return time.Now().After(until) }
	}
	if c.method == "GET" {
		return c, asked, nil
	}
	if !spoken(r.Header.Get("Content-Type")) {
		return c, asked, version(http.StatusUnsupportedMediaType, "the body has to be "+v1.MediaType)
	}
	if r.Header.Get("Content-Encoding") != "" {
		return c, asked, malformed("compressed requests are not read")
	}
	asked.body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, v1.MaxRequest))
	if tooLong := new(http.MaxBytesError); errors.As(err, &tooLong) {
		return c, asked, problem(v1.ProblemTooLarge, "a request has at most %d bytes", []any{tooLong.Limit})
	} else if err != nil {
		return c, asked, malformed("reading the body: %v", err)
	}
	return c, asked, nil
}

// admit refuses a client without the token, and one that speaks another version.
func (p *provider) admit(r *http.Request) *v1.Problem {
	token, err := p.token()
	if err != nil {
		return other("reading the token: %v", err)
	}
	if token != "" && subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+token)) != 1 {
		return &v1.Problem{Type: v1.ProblemDenied, Status: http.StatusUnauthorized, Detail: "the bearer token is missing, or is another one than that of --token-file"}
	}
	accepted := strings.Join(r.Header.Values("Accept"), ",")
	if accepted != "" && !slices.ContainsFunc(strings.Split(accepted, ","), func(part string) bool {
		return spoken(part) || strings.HasPrefix(strings.TrimSpace(part), "*/*")
	}) {
		return version(http.StatusNotAcceptable, "answers are "+v1.MediaType)
	}
	return nil
}

// spoken reports whether a media type is that of the protocol in the version that is spoken.
func spoken(text string) bool {
	name, parameters, err := mime.ParseMediaType(text)
	want, _, _ := strings.Cut(v1.MediaType, ";")
	return err == nil && name == want && parameters["version"] == strconv.Itoa(v1.Version)
}

func version(status int, detail string) *v1.Problem {
	return &v1.Problem{Type: v1.ProblemVersion, Status: status, Detail: detail, Versions: []int{v1.Version}}
}

// statuses are those of problems of a whole call.
var statuses = map[v1.ProblemType]int{
	v1.ProblemPending: 409, v1.ProblemRejected: 422, v1.ProblemUnknown: 422, v1.ProblemTooLarge: 413, v1.ProblemMalformed: 400, v1.ProblemOther: 500,
}

// fail answers with a problem.
func fail(w http.ResponseWriter, problem v1.Problem) {
	if problem.Status == 0 {
		problem.Status = statuses[problem.Type]
	}
	if problem.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	w.Header().Set("Content-Type", v1.ProblemMediaType)
	w.WriteHeader(problem.Status)
	_ = json.NewEncoder(w).Encode(problem)
}

// tagFor is the entity tag of a message.
func tagFor(message any) string {
	text, err := json.Marshal(message)
	if err != nil {
		panic(err) // it is one of the protocol's
	}
	return fmt.Sprintf(`"%x"`, sha256.Sum256(text))
}
