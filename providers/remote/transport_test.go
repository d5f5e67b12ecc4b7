package remote

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/serve"
)

// A roundTrip answers requests without a connection.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestHeadersOfAnAttempt(t *testing.T) {
	directory := t.TempDir()
	put(t, directory, map[string][]byte{"token": []byte("secret")})
	var sent http.Header
	a := &attempts{
		endpoint: Endpoint{Attempt: 2 * time.Second, Call: 6 * time.Second}, breaker: newBreaker("edge"),
		secrets: credentials{directory},
		next: roundTrip(func(r *http.Request) (*http.Response, error) {
			sent = r.Header
			return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
		}),
	}
	for _, c := range []struct {
		changes, urgent bool
		priority        []string
	}{{}, {changes: true}, {urgent: true}, {changes: true, urgent: true, priority: []string{"u=1"}}} {
		ctx := context.WithValue(t.Context(), callKey{}, call{changes: c.changes})
		ctx = providers.WithUrgency(ctx, c.urgent)
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://provider.example", nil)
		answer, err := a.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		want := http.Header{"Authorization": {"Bearer secret"}, v1.HeaderTimeout: {"2000"}}
		if c.changes {
			want[v1.HeaderTimeout] = []string{"6000"} // it is not attempted again before
		}
		if c.priority != nil {
			want["Priority"] = c.priority
		}
		if diff := cmp.Diff(want, sent); diff != "" {
			t.Errorf("%+v: (-want +sent):\n%s", c, diff)
		}
		if len(r.Header) > 0 {
			t.Errorf("the caller's request has got the headers %v", r.Header)
		}
	}
}

func TestResultsOfAttemptsAreTold(t *testing.T) {
	var told []string
	for _, status := range []int{0, 200, 399, 400, 503} {
		a := &attempts{
			endpoint: Endpoint{Name: "edge", OnRequest: func(service, operation, result string) {
				told = append(told, service+" "+operation+" "+result)
			}},
			breaker: newBreaker("edge"),
			next: roundTrip(func(*http.Request) (*http.Response, error) {
				if status == 0 {
					return nil, errors.New("reset")
				}
				return &http.Response{StatusCode: status, Body: http.NoBody}, nil
			}),
		}
		ctx := context.WithValue(t.Context(), callKey{}, call{operation: "List"})
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://provider.example", nil)
		answer, err := a.RoundTrip(r)
		if (err != nil) != (status == 0) {
			t.Errorf("status %d: error %v", status, err)
		}
		if err == nil {
			answer.Body.Close()
		}
	}
	want := []string{
		"edge List unanswered", "edge List ok", "edge List ok", "edge List 400", "edge List 503",
	}
	if !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

// TestTheLastAnswerIsTold has each attempt fail with the same answer, which is that of the call,
// and be logged.
func TestTheLastAnswerIsTold(t *testing.T) {
	var logged []string
	full := func(w http.ResponseWriter, _ *http.Request, _ int32, _ http.Handler) {
		w.Header().Set("Content-Type", v1.ProblemMediaType)
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, `{"type":"about:blank","detail":"the disk is full"}`)
	}
	server := served(t, between(serve.New(newCounting(t), serve.Options{}), full))
	note := func(_, line string) { logged = append(logged, line) }
	p := opened(t, Endpoint{URL: server, Log: funcr.New(note, funcr.Options{Verbosity: 2})})
	_, err := p.Apply(t.Context(), &lb.Observed{Key: shop}, create)
	if want := "provider edge: the disk is full"; err == nil || err.Error() != want {
		t.Errorf("told %v, want %q", err, want)
	}
	repeated, want := 0, `"level"=2 "msg"="retrying request" "provider"="edge" "request"="POST `+server
	for _, line := range logged {
		if strings.Contains(line, want+v1.PathSteps) {
			repeated++
		}
	}
	if repeated != 6 {
		t.Errorf("%d attempts are logged as repeated, want 6, of %q", repeated, logged)
	}
}
