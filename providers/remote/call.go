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
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/wire"
)

// This file is the form of a call and of its answer.

// A call is one call of the protocol.
type call struct {
	operation   string // its name in metrics
	method, at  string
	query       url.Values
	body        any  // nil for none
	changes     bool // it changes the cloud: it is made only while the operator may write
	ifNoneMatch string

	into   any          // what the answer is read into; nil for none
	etag   *string      // is given the entity tag of the answer; nil: not wanted
	header *http.Header // is given the headers of the answer; nil: not wanted

	load *load // records the signs of too much load
}

// String returns the call as the protocol names it: "POST /load-balancer/steps".
func (c call) String() string { return c.method + " " + c.at }

// A load records the attempts of a call: for the bound of what is under way, and for the error of a
// call without a result.
type load struct {
	mu      sync.Mutex
	sent    bool   // the last attempt was sent
	refused bool   // an attempt was refused because of load, or not answered
	last    string // the last answer, in words; empty for none
	rests   bool   // no attempt is under way, and one follows
}

// add records an attempt.
func (l *load) add(sent bool, response *http.Response, err error) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent = sent
	if err == nil {
		l.last = fmt.Sprintf("status %d", response.StatusCode)
		if after := response.Header.Get("Retry-After"); after != "" {
			l.last += " and Retry-After: " + clip(after, 100)
		}
	}
	l.refused = l.refused || sent && (err != nil || response.StatusCode >= 500 ||
		response.StatusCode == http.StatusTooManyRequests)
}

// setRests records whether the call waits for its next attempt.
func (l *load) setRests(rests bool) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rests = rests
}

// ifRests calls a function while the call waits for its next attempt, and otherwise not.
func (l *load) ifRests(f func()) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rests {
		f()
	}
}

// lastAnswer returns the last answer in words, or "".
func (l *load) lastAnswer() string {
	if l == nil {
		return ""
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// answer returns how a call ended.
func (l *load) answer(ctx context.Context, err error) providers.Answer {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case ctx.Err() != nil || err != nil && !l.sent:
		return providers.Cancelled
	case err != nil:
		return providers.Lost
	case l.refused:
		return providers.Refused
	}
	return providers.Answered
}

// errNotModified stands for the status 304: the answer is that of the entity tag.
var errNotModified = errors.New("not modified")

// A finalError error ends a call: another attempt would not help.
type finalError struct{ error }

func (f finalError) Unwrap() error { return f.error }

// withoutURL returns an error of package http without the method and the URL, which the caller
// adds.
func withoutURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

type callKey struct{}

// callOf returns the call of an attempt.
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

// An answer is the response to a call.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// readAnswer reads all of an answer, up to the limit. A connection cannot be used again if its
// answer was not read to the end.
func readAnswer(r *http.Response) (*answer, error) {
	defer r.Body.Close()
	body, err := io.ReadAll(io.LimitReader(r.Body, v1.MaxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	if len(body) > v1.MaxAnswer {
		return nil, finalError{fmt.Errorf("the answer has more than %d bytes", v1.MaxAnswer)}
	}
	return &answer{status: r.StatusCode, header: r.Header, body: body}, nil
}

// read reads the message or the problem in an answer.
func (a *answer) read(c call) error {
	kind, parameters, _ := mime.ParseMediaType(a.header.Get("Content-Type"))
	wanted, _, _ := mime.ParseMediaType(v1.MediaType)
	switch {
	case a.status == http.StatusNotModified && c.ifNoneMatch != "":
		return errNotModified
	case a.status < 200 || a.status >= 300:
		return a.problem(c, kind)
	case c.into == nil:
		return nil
	case kind != wanted || parameters["version"] != strconv.Itoa(v1.Version):
		return fmt.Errorf("%s was answered with a body of type %q, and this operator reads %s",
			c, clip(a.header.Get("Content-Type"), 100), v1.MediaType)
	}
	if err := decode(a.body, c.into); err != nil {
		return fmt.Errorf("reading the answer to %s: %w", c, err)
	}
	if c.etag != nil {
		*c.etag = a.header.Get("ETag")
	}
	if c.header != nil {
		*c.header = a.header
	}
	return nil
}

// decode reads one JSON value. It ignores unknown fields.
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

// problem returns the error that an answer describes.
func (a *answer) problem(c call, kind string) error {
	switch {
	case a.status == http.StatusNotModified:
		return fmt.Errorf("%s was answered with status 304 (not modified), which it did not ask for: "+
			"the request had no If-None-Match", c)
	case a.status >= 300 && a.status < 400:
		return fmt.Errorf("%s was answered with a redirect (status %d), which is not followed", c,
			a.status)
	}
	var p v1.Problem
	if kind != v1.ProblemMediaType || decode(a.body, &p) != nil {
		p = v1.Problem{Detail: fmt.Sprintf("%s was answered with status %d", c, a.status)}
	}
	if p.Type == "" || p.Type == v1.ProblemOther {
		p.Type = typeOf(a.status)
	}
	if p.Type == v1.ProblemVersion && len(p.Versions) > 0 {
		p.Detail = fmt.Sprintf("it speaks the versions %v of the protocol, and this operator speaks %d",
			p.Versions, v1.Version)
	}
	p.Detail = clip(p.Error(), longestDetail)
	if p.RetryAfterSeconds == 0 { // a date is 0, and too large a number the largest one
		p.RetryAfterSeconds, _ = strconv.Atoi(a.header.Get("Retry-After"))
	}
	p.RetryAfterSeconds = min(max(p.RetryAfterSeconds, 0), int(longestLater/time.Second))
	return wire.DecodeError(&p)
}

// longestLater limits the value of Retry-After.
const longestLater = 10 * time.Minute

// typeOf returns the type of problem for a status, where the body has none.
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

// longestDetail is the number of bytes that are kept of a provider's texts.
const longestDetail = 1024

// clip returns a text in one line and within a limit.
func clip(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "�"))
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
