package probe

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	v1 "fairlead.dev/fairlead/api/provider/v1"
)

// This file sends single requests and reads the answers.

// attemptTimeout is the timeout in the header of requests.
const attemptTimeout = 15 * time.Second

// A client sends requests, and records what the answers show.
type client struct {
	Provider

	mu      sync.Mutex        // several requests are under way at once
	secrets map[string]string // the names of values that no answer may hold, by a part of the value
	leaked  map[string]bool   // the names of values that an answer held
	// unanswered are requests with a body that ended without an answer: steps may be under way.
	unanswered []request
}

// A request describes a request; empty fields are as the protocol requires.
type request struct {
	method, path string
	query        url.Values
	body         []byte
	reader       io.Reader // instead of the body
	length       int64     // of what the reader was to have
	contentType  string
	accept       string
	ifNoneMatch  string
	requestID    string
	header       http.Header // wins over all of these
}

// An answer is the response to a request.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// send sends a request and returns the answer. It remembers those without an answer.
func (c *client) send(ctx context.Context, r request) (answer, error) {
	a, err := c.exchange(ctx, r)
	if err != nil && r.body != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.unanswered = append(c.unanswered, r)
	}
	return a, err
}

func (c *client) exchange(ctx context.Context, r request) (answer, error) {
	to := c.Base.JoinPath(r.path)
	to.RawQuery = r.query.Encode()
	body := r.reader
	if r.body != nil {
		body = bytes.NewReader(r.body)
	}
	out, err := http.NewRequestWithContext(ctx, r.method, to.String(), body)
	if err != nil {
		return answer{}, fmt.Errorf("making a request: %w", err)
	}
	if r.reader != nil {
		out.ContentLength = r.length
	}
	if body != nil {
		out.Header.Set("Content-Type", cmp.Or(r.contentType, v1.MediaType))
	}
	out.Header.Set("Accept", cmp.Or(r.accept, v1.MediaType))
	out.Header.Set(v1.HeaderTimeout, strconv.FormatInt(attemptTimeout.Milliseconds(), 10))
	out.Header.Set(v1.HeaderRequestID, cmp.Or(r.requestID, rand.Text()))
	if r.ifNoneMatch != "" {
		out.Header.Set("If-None-Match", r.ifNoneMatch)
	}
	for name, values := range r.header {
		out.Header[name] = values
	}
	response, err := c.Send(out)
	if err != nil {
		return answer{}, fmt.Errorf("%s %s: %w", r.method, r.path, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, v1.MaxAnswer+1))
	if err != nil {
		return answer{}, fmt.Errorf("%s %s: reading the answer: %w", r.method, r.path, err)
	}
	if len(text) > v1.MaxAnswer {
		return answer{}, fmt.Errorf("%s %s: the answer is longer than %d bytes", r.method, r.path,
			v1.MaxAnswer)
	}
	c.findSecrets(text)
	return answer{response.StatusCode, response.Header, text}, nil
}

// findSecrets records the secrets in an answer.
func (c *client) findSecrets(text []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for secret, what := range c.secrets {
		if strings.Contains(string(text), secret) {
			c.leaked[what] = true
		}
	}
}

// get reads an answer that has to be 200.
func (c *client) get(ctx context.Context, path string, query url.Values, into any) error {
	a, err := c.send(ctx, request{method: http.MethodGet, path: path, query: query})
	if err != nil {
		return err
	}
	return a.read(into)
}

// read reads the message in an answer that has to be 200.
func (a answer) read(into any) error {
	if a.status != http.StatusOK {
		return a.unexpectedStatus("200")
	}
	name, parameters, _ := mime.ParseMediaType(a.header.Get("Content-Type")) // an error has no version
	if name+"; version="+parameters["version"] != v1.MediaType {
		return fmt.Errorf("the Content-Type of the answer is %q; it has to be %s",
			a.header.Get("Content-Type"), v1.MediaType)
	}
	if err := json.Unmarshal(a.body, into); err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	return nil
}

// problem reads the problem in an answer.
func (a answer) problem() (v1.Problem, error) {
	var p v1.Problem
	name, _, err := mime.ParseMediaType(a.header.Get("Content-Type"))
	if err != nil || name != v1.ProblemMediaType {
		return p, fmt.Errorf("the answer has the status %d and the Content-Type %q; a problem has %s",
			a.status, a.header.Get("Content-Type"), v1.ProblemMediaType)
	}
	if err := json.Unmarshal(a.body, &p); err != nil {
		return p, fmt.Errorf("reading a problem: %w", err)
	}
	return p, nil
}

// unexpectedStatus returns the error of an answer with another status.
func (a answer) unexpectedStatus(want string) error {
	if p, err := a.problem(); err == nil {
		return fmt.Errorf("it answered with the status %d, not %s: %w", a.status, want, &p)
	}
	return fmt.Errorf("it answered with the status %d, not %s", a.status, want)
}

// result returns the result of the only step of a call.
func (a answer) result(id string) (v1.Result, error) {
	var reply v1.Applied
	if err := a.read(&reply); err != nil {
		return v1.Result{}, err
	}
	if len(reply.Results) != 1 || reply.Results[0].ID != id {
		return v1.Result{}, fmt.Errorf("one step was sent, and the answer has not one result with its "+
			"ID, but %d results", len(reply.Results))
	}
	return reply.Results[0], nil
}

// expectProblem returns an error unless an answer is a problem of one of the types.
func expectProblem(a answer, statuses []int, types ...v1.ProblemType) error {
	found := false
	for _, status := range statuses {
		found = found || a.status == status
	}
	if !found {
		want := strings.ReplaceAll(fmt.Sprint(statuses), " ", " or ")
		return a.unexpectedStatus(strings.Trim(want, "[]"))
	}
	p, err := a.problem()
	if err != nil {
		return err
	}
	for _, t := range types {
		if p.Type == t {
			return nil
		}
	}
	return fmt.Errorf("the problem has the type %q, not %q", p.Type, types)
}

// A Provider is the provider under test: the URL below which calls go, and a function that sends a
// request.
type Provider struct {
	Base *url.URL
	Send func(*http.Request) (*http.Response, error)
	// Settings are the provider's own settings of the load balancer; nil for none.
	Settings json.RawMessage
	// Pause is the time before a pending call is repeated; 0: a second. CleanupTimeout limits the
	// deletion; 0: five minutes.
	Pause, CleanupTimeout time.Duration
}

// delay returns the time before a call is repeated, from the Retry-After of the provider.
func (p Provider) delay(seconds int) time.Duration {
	return max(p.Pause, time.Duration(min(seconds, 30))*time.Second)
}

// pause waits for a while, or until the context ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
