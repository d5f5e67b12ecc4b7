package remote

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/wire"
)

// This file makes a call: it is sent, repeated where that helps, asked about until it is done, and
// its answer is read.

// A call is one call of the protocol.
type call struct {
	operation   string // its name, in metrics and errors
	method, at  string
	query       url.Values
	body        any  // nil for none
	changes     bool // it changes something: it is made only while the operator may
	ifNoneMatch string

	into   any          // what the answer is read into; nil for none
	etag   *string      // is given the entity tag of the answer; nil: not wanted
	header *http.Header // is given the headers of the answer; nil: not wanted
}

// errNotModified says that the answer is the same as the one of the entity tag that was sent.
var errNotModified = errors.New("not modified")

// A final error is not helped by another attempt.
type final struct{ error }

func (f final) Unwrap() error { return f.error }

// call makes a call, with the provider's name in its error.
func (p *Provider) call(ctx context.Context, c call) error {
	err := p.do(ctx, c)
	if err != nil && !errors.Is(err, errNotModified) {
		return p.says(err)
	}
	return err
}

func (p *Provider) do(ctx context.Context, c call) error {
	body, err := p.encode(c)
	if err != nil {
		return err
	}
	to := p.base.JoinPath(c.at)
	to.RawQuery = c.query.Encode()
	got, err := p.send(ctx, c, to, body)
	if err != nil {
		return err
	}
	until := time.Now().Add(p.endpoint.Operation)
	for got.status == http.StatusAccepted {
		if got, err = p.poll(ctx, c, got, until); err != nil {
			return err
		}
	}
	return got.read(c)
}

// encode is the body of a call.
func (p *Provider) encode(c call) ([]byte, error) {
	if c.body == nil {
		return nil, nil
	}
	text, err := json.Marshal(c.body)
	if err != nil {
		return nil, fmt.Errorf("writing %s: %w", c.operation, err)
	}
	if most := p.known().requestBytes; len(text) > most {
		return nil, fmt.Errorf("%w: %s has %d bytes, and the provider takes %d", providers.ErrRejected, c.operation, len(text), most)
	}
	return text, nil
}

// shortest is how long a request is at least that is sent compressed.
const shortest = 8 << 10

// send makes the attempts of a call, and returns the answer of the last one.
func (p *Provider) send(ctx context.Context, c call, to *url.URL, body []byte) (*answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, p.endpoint.Call, fmt.Errorf("%s was not answered within %s", c.operation, p.endpoint.Call))
	defer cancel()
	var raw any
	encoding := ""
	switch {
	case len(body) >= shortest && p.known().gzip:
		packed, err := compress(body)
		if err != nil {
			return nil, err
		}
		raw, encoding = packed, "gzip"
	case body != nil:
		raw = body
	}
	r, err := retryablehttp.NewRequestWithContext(context.WithValue(ctx, callKey{}, c), c.method, to.String(), raw)
	if err != nil {
		return nil, fmt.Errorf("calling %s: %w", c.operation, err)
	}
	r.Header.Set("Accept", v1.MediaType)
	r.Header.Set(v1.HeaderRequestID, randomHex(16))
	r.Header.Set("traceparent", "00-"+randomHex(16)+"-"+randomHex(8)+"-01")
	if raw != nil {
		r.Header.Set("Content-Type", v1.MediaType)
	}
	if encoding != "" {
		r.Header.Set("Content-Encoding", encoding)
	}
	if c.ifNoneMatch != "" {
		r.Header.Set("If-None-Match", c.ifNoneMatch)
	}
	var got *answer
	var read *http.Response // the one that was read last
	r.SetResponseHandler(func(response *http.Response) (err error) {
		read = response
		got, err = readAnswer(response)
		return err
	})
	response, err := p.client.Do(r)
	if response != nil && response != read { // an answer that go-retryablehttp takes for a failure
		if got, err = readAnswer(response); err == nil {
			return got, nil
		}
	}
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, fmt.Errorf("calling %s: %w", c.operation, plainly(err))
	}
	return got, nil
}

// plainly is an error of package http without the method and the URL, which the caller knows.
func plainly(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

type callKey struct{}

// callOf is the call that an attempt belongs to.
func callOf(ctx context.Context) call {
	c, _ := ctx.Value(callKey{}).(call)
	return c
}

func compress(body []byte) ([]byte, error) {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(body); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func randomHex(bytes int) string {
	random := make([]byte, bytes)
	_, _ = rand.Read(random) // it never fails
	return hex.EncodeToString(random)
}

// An answer is what a call was answered with.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// readAnswer reads all of an answer, and no more than there may be. An answer that is not read to
// its end takes its connection with it.
func readAnswer(r *http.Response) (*answer, error) {
	defer r.Body.Close()
	body, err := io.ReadAll(io.LimitReader(r.Body, v1.MaxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	if len(body) > v1.MaxAnswer {
		return nil, final{fmt.Errorf("the answer has more than %d bytes", v1.MaxAnswer)}
	}
	return &answer{status: r.StatusCode, header: r.Header, body: body}, nil
}

// read reads what is in an answer: what was asked for, or why not.
func (a *answer) read(c call) error {
	kind, parameters, _ := mime.ParseMediaType(a.header.Get("Content-Type"))
	wanted, _, _ := mime.ParseMediaType(v1.MediaType)
	switch {
	case a.status == http.StatusNotModified && c.ifNoneMatch != "":
		return errNotModified
	case a.status >= 400 || a.status < 200 || a.status >= 300:
		return a.problem(c, kind)
	case c.into == nil:
		return nil
	case kind != wanted || parameters["version"] != strconv.Itoa(v1.Version):
		return fmt.Errorf("%s was answered with a body of type %q, and this operator reads %s", c.operation, clip(a.header.Get("Content-Type"), 100), v1.MediaType)
	}
	if err := decode(a.body, c.into); err != nil {
		return fmt.Errorf("reading the answer to %s: %w", c.operation, err)
	}
	if c.etag != nil {
		*c.etag = a.header.Get("ETag")
	}
	if c.header != nil {
		*c.header = a.header
	}
	return nil
}

// decode reads one JSON value. Fields that are not known are left out.
func decode(body []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON value")
	}
	return nil
}

// problem is what an answer with an error says.
func (a *answer) problem(c call, kind string) error {
	if a.status >= 300 && a.status < 400 {
		return fmt.Errorf("%s was answered with a redirect (status %d), which is not followed", c.operation, a.status)
	}
	var p v1.Problem
	if kind != v1.ProblemMediaType || decode(a.body, &p) != nil {
		p = v1.Problem{Detail: fmt.Sprintf("%s was answered with status %d", c.operation, a.status)}
	}
	if p.Type == "" || p.Type == v1.ProblemOther {
		p.Type = typeOf(a.status)
	}
	if p.Type == v1.ProblemVersion && len(p.Versions) > 0 {
		p.Detail = fmt.Sprintf("it speaks the versions %v of the protocol, and this operator speaks %d", p.Versions, v1.Version)
	}
	p.Detail = clip(p.Error(), longestDetail)
	if after, err := strconv.Atoi(a.header.Get("Retry-After")); err == nil && p.RetryAfterSeconds == 0 {
		p.RetryAfterSeconds = after
	}
	p.RetryAfterSeconds = min(max(p.RetryAfterSeconds, 0), int(longestLater/time.Second))
	return wire.DecodeError(&p)
}

// longestLater is the longest time after which a provider can have the operator ask again.
const longestLater = 10 * time.Minute

// typeOf is the type of problem of a status whose body says none.
func typeOf(status int) v1.ProblemType {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return v1.ProblemDenied
	case http.StatusConflict:
		return v1.ProblemPending
	case http.StatusUnprocessableEntity:
		return v1.ProblemRejected
	case http.StatusRequestEntityTooLarge:
		return v1.ProblemTooLarge
	case http.StatusTooManyRequests:
		return v1.ProblemThrottled
	}
	return v1.ProblemOther
}

// longestDetail is how many bytes of a provider's words are kept.
const longestDetail = 1024

// clip is a text in one line, and not too long.
func clip(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "�"))
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// poll asks for the answer of a call that takes long.
func (p *Provider) poll(ctx context.Context, c call, accepted *answer, until time.Time) (*answer, error) {
	at, err := p.inside(accepted.header.Get("Location"))
	if err != nil {
		return nil, fmt.Errorf("%s was answered with 202 and %w", c.operation, err)
	}
	wait := time.Second
	if after, err := strconv.Atoi(accepted.header.Get("Retry-After")); err == nil {
		wait = min(max(time.Duration(min(after, 3600))*time.Second, p.endpoint.LeastWait), 30*time.Second)
	}
	if time.Now().Add(wait).After(until) {
		return nil, fmt.Errorf("%w: %s is not done after %s", providers.ErrPending, c.operation, p.endpoint.Operation)
	}
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-time.After(wait):
	}
	got, err := p.send(ctx, call{operation: c.operation, method: http.MethodGet}, at, nil)
	if err == nil && got.status == http.StatusNotFound {
		return nil, fmt.Errorf("the provider does not know any more what became of %s: it may have been started anew", c.operation)
	}
	return got, err
}

// inside is where an operation is asked for: below the URL of the provider, wherever a Location
// says.
func (p *Provider) inside(location string) (*url.URL, error) {
	to, err := url.Parse(location)
	if location == "" || err != nil {
		return nil, errors.New("no Location to ask at")
	}
	parent, id := path.Split(to.Path)
	if id == "" || id == ".." || !strings.HasSuffix(parent, v1.PathOperations) || to.Host != "" && to.Host != p.base.Host {
		return nil, fmt.Errorf("a Location that is not one of its operations: %s", clip(location, 200))
	}
	return p.base.JoinPath(v1.PathOperations, url.PathEscape(id)), nil
}
