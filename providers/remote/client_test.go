package remote

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/fake"
)

// This file makes calls of a provider that is a function.

// A script answers each attempt of a call in its turn, and the last one again and again.
type script struct {
	turns    []func(*http.Request) (*http.Response, error)
	requests []*http.Request
	bodies   [][]byte
}

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
	}
	s.requests, s.bodies = append(s.requests, r), append(s.bodies, body)
	return s.turns[min(len(s.requests), len(s.turns))-1](r)
}

// follow returns a provider that was reached, and now follows a script.
func follow(t *testing.T, turns ...func(*http.Request) (*http.Response, error)) (*Provider, *script) {
	t.Helper()
	p := inProcess(t, logr.Discard(), serving(t, fake.Options{Capabilities: lb.ALB()}))
	if err := p.Reach(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := &script{turns: turns}
	p.reads.http.HTTPClient.Transport.(*attempts).next = s
	return p, s
}

// answers returns an answer with headers, each with its value behind it.
func answers(status int, body string, headers ...string) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		w.Header().Set("Content-Type", v1.MediaType)
		for pair := range slices.Chunk(headers, 2) {
			w.Header().Set(pair[0], pair[1])
		}
		w.WriteHeader(status)
		_, _ = w.WriteString(body)
		return w.Result(), nil
	}
}

// breaksOff returns an answer whose body ends with an error.
func breaksOff(status int) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) {
		body := io.MultiReader(strings.NewReader(`{"keys":`), errorReader{})
		return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {v1.MediaType}}, Body: io.NopCloser(body)}, nil
	}
}

type errorReader struct{}

func (errorReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func refused(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") }

func silent(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// TestHeadersOfRequests compares all headers of requests with a body and without one.
func TestHeadersOfRequests(t *testing.T) {
	digit := regexp.MustCompile("[0-9a-f]")
	read := http.Header{
		"Accept": {v1.MediaType}, "Fairlead-Timeout": {"15000"},
		"Request-Id": {strings.Repeat("x", 32)}, "Traceparent": {"00-" + strings.Repeat("x", 32) + "-" + strings.Repeat("x", 16) + "-01"},
	}
	also := func(name, value string) http.Header {
		all := maps.Clone(read)
		all[name] = []string{value}
		return all
	}
	for name, c := range map[string]struct {
		call call
		want http.Header
	}{
		"without a body":     {call{method: http.MethodGet, at: v1.PathActive}, read},
		"with a body":        {call{method: http.MethodPost, at: v1.PathLookup, body: "x"}, also("Content-Type", v1.MediaType)},
		"with an entity tag": {call{method: http.MethodGet, at: v1.PathActive, ifNoneMatch: `"1"`}, also("If-None-Match", `"1"`)},
	} {
		p, to := follow(t, answers(http.StatusOK, "{}"))
		for range 2 {
			if err := p.call(t.Context(), c.call); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		first, second := to.requests[0].Header, to.requests[1].Header
		for _, random := range []string{"Request-Id", "Traceparent"} {
			if first.Get(random) == second.Get(random) {
				t.Errorf("%s: two calls have the %s %s", name, random, first.Get(random))
			}
		}
		first.Set("Request-Id", digit.ReplaceAllString(first.Get("Request-Id"), "x"))
		version, rest, _ := strings.Cut(first.Get("Traceparent"), "-")
		ids, flags := rest[:len(rest)-3], rest[len(rest)-3:]
		first.Set("Traceparent", version+"-"+digit.ReplaceAllString(ids, "x")+flags)
		if diff := cmp.Diff(c.want, first); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestLongBodiesAreCompressed sends bodies around the length from which they are compressed, to a
// provider that takes compressed ones and to one that does not.
func TestLongBodiesAreCompressed(t *testing.T) {
	for _, c := range []struct {
		length int
		takes  bool
		want   string
	}{{shortest - 1, true, ""}, {shortest, true, "gzip"}, {shortest, false, ""}} {
		p, to := follow(t, answers(http.StatusOK, "{}"))
		p.capabilities.gzip = c.takes
		text := strings.Repeat("a", c.length-len(`""`))
		if err := p.call(t.Context(), call{method: http.MethodPost, at: v1.PathLookup, body: text}); err != nil {
			t.Fatal(err)
		}
		got := to.bodies[0]
		if c.want == "gzip" {
			if len(got) > 100 {
				t.Errorf("%d bytes are sent in %d", c.length, len(got))
			}
			zip, err := gzip.NewReader(bytes.NewReader(got))
			if err != nil {
				t.Fatal(err)
			}
			if got, err = io.ReadAll(zip); err != nil {
				t.Fatal(err)
			}
		}
		if encoding := to.requests[0].Header.Get("Content-Encoding"); encoding != c.want || string(got) != `"`+text+`"` {
			t.Errorf("%d bytes, taken compressed: %t: sent as %q and %d bytes, want %q", c.length, c.takes, encoding, len(got), c.want)
		}
	}
}

// TestLongestBody has a provider take 1000 bytes.
func TestLongestBody(t *testing.T) {
	p, _ := follow(t, answers(http.StatusOK, "{}"))
	p.capabilities.requestBytes = 1000
	text := strings.Repeat("a", 1000-len(`""`))
	if body, err := p.encode(call{operation: "Apply", method: http.MethodPost, at: v1.PathSteps, body: text}); err != nil || len(body) != 1000 {
		t.Errorf("%d bytes, error %v", len(body), err)
	}
	_, err := p.encode(call{operation: "Apply", method: http.MethodPost, at: v1.PathSteps, body: text + "a"})
	if want := "POST /load-balancer/steps has 1001 bytes, and the provider takes 1000"; !errors.Is(err, providers.ErrRejected) || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("told %v, want %s", err, want)
	}
}

// slowly answers after three seconds.
func slowly(turn func(*http.Request) (*http.Response, error)) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		time.Sleep(3 * time.Second)
		return turn(r)
	}
}

// TestAttemptsOfACall has attempts of a call end in each way, and looks at how many are made and
// for how long.
func TestAttemptsOfACall(t *testing.T) {
	type turn = func(*http.Request) (*http.Response, error)
	good := answers(http.StatusOK, `{"keys":["a"]}`)
	for name, c := range map[string]struct {
		turns    []turn
		want     string // the error; "" for none
		attempts int
	}{
		"answered":                           {[]turn{good}, "", 1},
		"broken off, then answered":          {[]turn{breaksOff(200), good}, "", 2},
		"a server's error, then answered":    {[]turn{answers(500, ""), good}, "", 2},
		"broken off, then refused":           {[]turn{breaksOff(200), refused}, "connection refused", 6},
		"broken off always":                  {[]turn{breaksOff(200)}, "provider edge: calling GET /load-balancers: reading the answer: unexpected EOF", 7},
		"a server's error always":            {[]turn{answers(500, `{"detail":"out of order"}`, "Content-Type", v1.ProblemMediaType)}, "provider edge: out of order", 7},
		"a server's error, broken off":       {[]turn{breaksOff(500)}, "provider edge: calling GET /load-balancers: reading the answer: unexpected EOF", 7},
		"an answer that is wrong, then good": {[]turn{answers(501, ""), good}, "provider edge: GET /load-balancers was answered with status 501", 1},
		"asked to come tomorrow":             {[]turn{slowly(answers(429, "", "Retry-After", "86400"))}, "provider edge: GET /load-balancers had no result within 1m0s: its last answer had status 429 and Retry-After: 86400", 5},
		"away for a day":                     {[]turn{answers(503, "", "Retry-After", "86400")}, "and is called again every 10s: status 503", 5},
		"silence":                            {[]turn{silent}, "provider edge: GET /load-balancers was not answered within 1m0s", 4},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, to := follow(t, c.turns...)
				keys, err := p.List(t.Context())
				if c.want == "" && (err != nil || !slices.Equal(keys, []lb.Key{"a"})) {
					t.Errorf("listed %v, error %v", keys, err)
				}
				if c.want != "" && (err == nil || !strings.HasSuffix(err.Error(), c.want)) {
					t.Errorf("told %v, want %s", err, c.want)
				}
				if len(to.requests) != c.attempts {
					t.Errorf("%d attempts were made, want %d", len(to.requests), c.attempts)
				}
			})
		})
	}
}

// TestAPlanThatEndsIsNotRetried ends a plan while its step waits for the next attempt, and while an
// attempt is under way, which is answered.
func TestAPlanThatEndsIsNotRetried(t *testing.T) {
	for name, c := range map[string]struct {
		turn     func(*http.Request) (*http.Response, error)
		stop     time.Duration
		took     time.Duration
		attempts int
		want     string
	}{
		"between attempts": {answers(http.StatusInternalServerError, ""), 5 * time.Second, 5 * time.Second, 4, "the operator ends; its last answer had status 500"},
		"in an attempt":    {slowly(answers(http.StatusInternalServerError, "")), time.Second, 3 * time.Second, 1, "POST /load-balancer/steps was answered with status 500"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, to := follow(t, c.turn)
				ctx, cancel := context.WithTimeoutCause(t.Context(), c.stop, errors.New("the operator ends"))
				defer cancel()
				began := time.Now()
				_, err := providers.Run(ctx, p, &lb.Observed{Key: "k"}, plan.Plan{Key: "k", Steps: []plan.Planned{{Step: plan.CreateTargetGroup{Group: lb.TargetGroup{ID: "a"}}}}}, providers.Options{})
				if took := time.Since(began); err == nil || !strings.Contains(err.Error(), c.want) || took != c.took || len(to.requests) != c.attempts {
					t.Errorf("%d attempts, after %s: %v", len(to.requests), took, err)
				}
			})
		})
	}
}
