package probe_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/fake"
	"fairlead.dev/fairlead/providers/probe"
	"fairlead.dev/fairlead/providers/serve"
)

// This file is a provider without a network, so that the clock of tests can be another one. Its
// answers can be changed.

// A call is a request and its answer.
type call struct {
	n      int // counted from 1
	key    string
	r      *http.Request
	sent   string // the body
	status int
	header http.Header
	told   string
}

// is reports whether a call has a method and a path, and whether its request has words.
func (c *call) is(method, path string, words ...string) bool {
	for _, w := range words {
		if !strings.Contains(c.sent+" "+c.r.URL.RawQuery, w) {
			return false
		}
	}
	return c.r.Method == method && c.r.URL.Path == path
}

// inprocess is the fake cloud behind a handler that is called directly.
type inprocess struct {
	t       *testing.T
	handler http.Handler
	cloud   *fake.Cloud
	// before can answer a call with an error; after changes the answers of calls.
	before func(*call) error
	// travels is how long a request is under way; nil: no time.
	travels func(*call) time.Duration
	after   func(*call)

	mu    sync.Mutex // some calls are made at once
	calls []*call
	key   string // of the last call that had one
}

// direct returns such a provider, which takes sign-ins where the cloud does not.
func direct(t *testing.T) (*inprocess, probe.Provider) {
	t.Helper()
	cloud, err := fake.New(fake.Options{Capabilities: lb.ALB()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cloud.Close)
	p := &inprocess{t: t, cloud: cloud, handler: serve.New(cloud, serve.Options{MaxRequest: 200_000})}
	base, err := url.Parse("https://provider.example/base")
	if err != nil {
		t.Fatal(err)
	}
	p.handler = http.StripPrefix(base.Path, p.handler)
	return p, probe.Provider{Base: base, Send: p.send, Pause: time.Millisecond}
}

func (p *inprocess) send(r *http.Request) (*http.Response, error) {
	in := r.Clone(r.Context())
	in.RequestURI, in.Host = r.URL.RequestURI(), r.URL.Host
	var sent bytes.Buffer
	if r.Body == nil {
		in.Body = http.NoBody
	} else {
		in.Body = io.NopCloser(io.TeeReader(r.Body, &sent))
	}
	p.mu.Lock()
	if key := r.URL.Query().Get("key"); key != "" {
		p.key = key
	}
	c := &call{n: len(p.calls) + 1, r: r, key: p.key}
	p.calls = append(p.calls, c)
	p.mu.Unlock()
	if p.before != nil {
		if err := p.before(c); err != nil {
			return nil, err
		}
	}
	out := httptest.NewRecorder()
	answered := make(chan struct{})
	go func() {
		if p.travels != nil {
			time.Sleep(p.travels(c))
		}
		p.handler.ServeHTTP(out, in)
		close(answered)
	}()
	select {
	case <-r.Context().Done():
	case <-answered:
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c.r.URL.Path = strings.TrimPrefix(c.r.URL.Path, "/base")
	c.sent, c.status, c.header, c.told = sent.String(), out.Code, out.Header(), out.Body.String()
	p.looks(c)
	if p.after != nil {
		p.after(c)
	}
	return &http.Response{StatusCode: c.status, Header: c.header, Body: io.NopCloser(strings.NewReader(c.told))}, nil
}

// looks looks at the headers that each request has to have.
func (p *inprocess) looks(c *call) {
	body := c.r.Method != http.MethodGet
	timeout := c.r.Header.Get(v1.HeaderTimeout)
	if timeout != "15000" && (timeout != "200" || !strings.Contains(c.sent, "-late")) {
		p.t.Errorf("call %d has the timeout %q", c.n, timeout)
	}
	if (c.r.ContentLength > 0) != body || (c.r.Header.Get("Content-Type") != "") != body {
		p.t.Errorf("call %d, %s, has the length %d and the type %q", c.n, c.r.Method, c.r.ContentLength, c.r.Header.Get("Content-Type"))
	}
	if c.r.Header.Get("Accept") == "" || c.r.Header.Get(v1.HeaderRequestID) == "" {
		p.t.Errorf("call %d has the headers %v", c.n, c.r.Header)
	}
}

// trials are all trials of a run in order, with the number of calls of each.
var trials = []struct {
	id    string
	calls int
}{
	{"capabilities", 1}, {"capabilities-etag", 2}, {"request-id", 1}, {"lookup", 1}, {"missing", 1},
	{"reserved-key", 1}, {"no-key", 1}, {"unknown-call", 1}, {"unknown-field", 1}, {"accept", 1},
	{"content-version", 1}, {"unknown-op", 1}, {"cut-off", 2}, {"twice-at-once", 4}, {"other-step", 2},
	{"true-already", 6}, {"listed", 1}, {"targets", 6}, {"certificate", 3}, {"client-secret", 3},
	{"batch", 2}, {"timeout", 2}, {"deleted", 13}, {"secrets", 0},
}

// callsBefore is how many calls were made before a trial.
func callsBefore(t *testing.T, id string) int {
	t.Helper()
	n := 0
	for _, trial := range trials {
		if trial.id == id {
			return n
		}
		n += trial.calls
	}
	t.Fatalf("there is no trial %s", id)
	return 0
}

// random is what differs from run to run: the key with what follows from it, the IDs of requests
// and steps, and which of several answers is another one.
var random = regexp.MustCompile(`(fairlead-check/)[a-z2-7]{10}|("handle":")[^"]*|(lb-)[0-9a-f]{8}|(127)[.][0-9.]+|[A-Z2-7]{26}`)

// unusual are the findings that have something to say, by their IDs.
func unusual(findings []check.Finding) map[string]string {
	out := map[string]string{}
	for _, f := range findings {
		if f.Detail != "" || f.State != check.OK {
			out[strings.TrimPrefix(f.ID, "provider/")] = string(f.State) + ": " + random.ReplaceAllString(f.Detail, "${1}${2}${3}${4}X")
		}
	}
	return out
}

// asJSON answers with a message.
func (c *call) asJSON(message any) {
	text, _ := json.Marshal(message)
	c.status, c.told = http.StatusOK, string(text)
	c.header.Set("Content-Type", v1.MediaType)
}

// asProblem answers with a problem.
func (c *call) asProblem(status int, p v1.Problem) {
	c.asJSON(p)
	c.status = status
	c.header.Set("Content-Type", v1.ProblemMediaType)
}

// observed changes the load balancer in an answer.
func observed(change func(*v1.Observed)) func(int, *call) {
	return func(_ int, c *call) {
		var o v1.Observed
		if c.is(http.MethodGet, v1.PathLoadBalancer) && json.Unmarshal([]byte(c.told), &o) == nil {
			change(&o)
			c.asJSON(o)
		}
	}
}

// results changes the results of steps in an answer.
func results(change func(*v1.Applied)) func(int, *call) {
	return func(_ int, c *call) {
		var a v1.Applied
		if json.Unmarshal([]byte(c.told), &a) == nil && len(a.Results) > 0 {
			change(&a)
			c.asJSON(a)
		}
	}
}

// status answers with a status and no problem.
func status(s int) func(int, *call) {
	return func(_ int, c *call) {
		c.header.Set("Content-Type", "text/plain")
		c.status, c.told = s, ""
	}
}

// problem answers with a problem.
func problem(status int, p v1.Problem) func(int, *call) {
	return func(_ int, c *call) { c.asProblem(status, p) }
}

// header sets a header of an answer.
func header(name, value string) func(int, *call) {
	return func(_ int, c *call) { c.header.Set(name, value) }
}

// at changes only one call of a trial, counted from 0.
func at(n int, change func(int, *call)) func(int, *call) {
	return func(i int, c *call) {
		if i == n {
			change(i, c)
		}
	}
}

// idIn is the ID of the step in a request.
func idIn(c *call) string {
	var a v1.Apply
	_ = json.Unmarshal([]byte(c.sent), &a)
	return a.Steps[0].ID
}
