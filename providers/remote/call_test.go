package remote

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/wire"
)

// This file reads answers.

// TestAnswersAreRead reads an answer for each status and type.
func TestAnswersAreRead(t *testing.T) {
	type got struct{ Active, Error, ETag, Header string }
	const tag = `"1"`
	good := got{Active: "true", ETag: `"2"`, Header: "gzip"}
	for name, c := range map[string]struct {
		status      int
		kind, body  string
		ifNoneMatch string
		want        got
	}{
		"a message":                     {200, v1.MediaType, `{"active":true}`, "", good},
		"a message with a later field":  {299, v1.MediaType, `{"active":true,"later":[]}`, tag, good},
		"not modified":                  {304, "", "", tag, got{Error: "not modified"}},
		"not modified, and not asked":   {304, "", "", "", got{Error: "GET /load-balancer/active was answered with status 304 (not modified), which it did not ask for: the request had no If-None-Match"}},
		"another protocol":              {199, v1.MediaType, `{"active":true}`, "", got{Error: "GET /load-balancer/active was answered with status 199"}},
		"the first redirect":            {300, v1.MediaType, `{"active":true}`, tag, got{Error: "GET /load-balancer/active was answered with a redirect (status 300), which is not followed"}},
		"the last redirect":             {399, v1.MediaType, `{"active":true}`, "", got{Error: "GET /load-balancer/active was answered with a redirect (status 399), which is not followed"}},
		"the first error":               {400, v1.MediaType, `{"active":true}`, "", got{Error: "GET /load-balancer/active was answered with status 400"}},
		"a type without a version":      {200, "application/vnd.fairlead.provider+json", `{"active":true}`, "", got{Error: `GET /load-balancer/active was answered with a body of type "application/vnd.fairlead.provider+json", and this operator reads ` + v1.MediaType}},
		"another type with the version": {200, "application/json; version=1", `{"active":true}`, "", got{Error: `GET /load-balancer/active was answered with a body of type "application/json; version=1", and this operator reads ` + v1.MediaType}},
		"half a message":                {200, v1.MediaType, `{"active"`, "", got{Error: "reading the answer to GET /load-balancer/active: unexpected EOF"}},
	} {
		var active v1.Activity
		var etag string
		var header http.Header
		a := answer{status: c.status, body: []byte(c.body), header: http.Header{"Content-Type": {c.kind}, "Etag": {`"2"`}, "Accept-Encoding": {"gzip"}}}
		err := a.read(call{operation: "Active", method: http.MethodGet, at: v1.PathActive, ifNoneMatch: c.ifNoneMatch, into: &active, etag: &etag, header: &header})
		have := got{ETag: etag, Header: header.Get("Accept-Encoding")}
		if active.Active {
			have.Active = "true"
		}
		if err != nil {
			have.Error = err.Error()
		}
		if diff := cmp.Diff(c.want, have); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if err := (&answer{status: http.StatusNoContent}).read(call{operation: "SetTargets"}); err != nil {
		t.Errorf("an answer without a message, and none is wanted: %v", err)
	}
}

// TestProblemsAreRead reads the problem in answers whose headers, status and body say more or less.
func TestProblemsAreRead(t *testing.T) {
	const rejected, denied, throttled = v1.ProblemRejected, v1.ProblemDenied, v1.ProblemThrottled
	long := strings.Repeat("a", longestDetail)
	type header = map[string]string
	for name, c := range map[string]struct {
		status int
		header header
		body   string
		want   v1.Problem
		class  error
	}{
		"whole":                      {422, nil, `{"type":"urn:fairlead:problem:rejected","title":"no","status":422,"detail":"no zone"}`, v1.Problem{Type: rejected, Title: "no", Status: 422, Detail: "no zone"}, providers.ErrRejected},
		"the type of the status":     {403, nil, `{"type":"about:blank","detail":"no right"}`, v1.Problem{Type: denied, Detail: "no right"}, providers.ErrDenied},
		"no type":                    {409, nil, `{"detail":"not yet"}`, v1.Problem{Type: v1.ProblemPending, Detail: "not yet"}, providers.ErrPending},
		"no body":                    {413, nil, ``, v1.Problem{Type: v1.ProblemTooLarge, Detail: "POST /load-balancer/steps was answered with status 413"}, providers.ErrRejected},
		"another type":               {401, header{"Content-Type": "text/html"}, `{"type":"urn:fairlead:problem:rejected","detail":"x"}`, v1.Problem{Type: denied, Detail: "POST /load-balancer/steps was answered with status 401"}, providers.ErrDenied},
		"other versions":             {406, nil, `{"type":"urn:fairlead:problem:version","detail":"x","versions":[2,3]}`, v1.Problem{Type: v1.ProblemVersion, Detail: "it speaks the versions [2 3] of the protocol, and this operator speaks 1", Versions: []int{2, 3}}, nil},
		"other versions, untold":     {406, nil, `{"type":"urn:fairlead:problem:version","detail":"x"}`, v1.Problem{Type: v1.ProblemVersion, Detail: "x"}, nil},
		"versions beside":            {422, nil, `{"type":"urn:fairlead:problem:rejected","detail":"x","versions":[2]}`, v1.Problem{Type: rejected, Detail: "x", Versions: []int{2}}, providers.ErrRejected},
		"later, in the header":       {429, header{"Retry-After": "7"}, `{"detail":"x"}`, v1.Problem{Type: throttled, Detail: "x", RetryAfterSeconds: 7}, providers.ErrThrottled},
		"later, in both":             {429, header{"Retry-After": "7"}, `{"detail":"x","retryAfterSeconds":3}`, v1.Problem{Type: throttled, Detail: "x", RetryAfterSeconds: 3}, providers.ErrThrottled},
		"later, on a date":           {429, header{"Retry-After": "Fri, 31 Dec 1999 23:59:59 GMT"}, `{"detail":"x"}`, v1.Problem{Type: throttled, Detail: "x"}, providers.ErrThrottled},
		"later, beyond all numbers":  {429, header{"Retry-After": "99999999999999999999"}, `{"detail":"x"}`, v1.Problem{Type: throttled, Detail: "x", RetryAfterSeconds: 600}, providers.ErrThrottled},
		"later than the longest":     {429, nil, `{"detail":"x","retryAfterSeconds":601}`, v1.Problem{Type: throttled, Detail: "x", RetryAfterSeconds: 600}, providers.ErrThrottled},
		"earlier":                    {429, nil, `{"detail":"x","retryAfterSeconds":-1}`, v1.Problem{Type: throttled, Detail: "x"}, providers.ErrThrottled},
		"the longest detail":         {500, nil, `{"detail":"` + long + `"}`, v1.Problem{Type: v1.ProblemOther, Detail: long}, nil},
		"too long a detail":          {500, nil, `{"detail":"` + long[1:] + `é"}`, v1.Problem{Type: v1.ProblemOther, Detail: long[1:] + "…"}, nil},
		"characters that control":    {500, nil, `{"detail":"a\u0000b\nc d\u001fe\u007ff\u0085g"}`, v1.Problem{Type: v1.ProblemOther, Detail: "a b c d e f g"}, nil},
		"a title in place of detail": {500, nil, `{"title":"out of order"}`, v1.Problem{Type: v1.ProblemOther, Title: "out of order", Detail: "out of order"}, nil},
	} {
		a := answer{status: c.status, body: []byte(c.body), header: http.Header{"Content-Type": {v1.ProblemMediaType}}}
		for name, value := range c.header {
			a.header.Set(name, value)
		}
		err := a.read(call{operation: "Apply", method: http.MethodPost, at: v1.PathSteps})
		told, ok := errors.AsType[*wire.ProviderError](err)
		if !ok {
			t.Errorf("%s: told %v", name, err)
			continue
		}
		if diff := cmp.Diff(&c.want, told.Problem); diff != "" || !errors.Is(told.Unwrap(), c.class) {
			t.Errorf("%s: class %v, want %v (-want +got):\n%s", name, told.Unwrap(), c.class, diff)
		}
		later, _ := errors.AsType[*providers.RetryAfter](err)
		if want := time.Duration(c.want.RetryAfterSeconds) * time.Second; (want > 0) != (later != nil) || later != nil && later.In != want {
			t.Errorf("%s: later %+v, want in %s", name, later, want)
		}
	}
}

// zeros is a body without end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func TestTheLongestAnswer(t *testing.T) {
	for length, want := range map[int64]string{v1.MaxAnswer: "", v1.MaxAnswer + 1: "the answer has more than 33554432 bytes"} {
		got, err := readAnswer(&http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(io.LimitReader(zeros{}, length))})
		if want == "" {
			if err != nil || len(got.body) != v1.MaxAnswer {
				t.Errorf("an answer of %d bytes: error %v", length, err)
			}
			continue
		}
		if _, ends := errors.AsType[finalError](err); !ends || err.Error() != want {
			t.Errorf("an answer of %d bytes: error %v, want %s", length, err, want)
		}
	}
}
