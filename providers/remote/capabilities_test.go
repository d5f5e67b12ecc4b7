package remote

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/fake"
)

// This file has capabilities change, and reads them again.

// inProcess returns a provider whose calls go to a handler without a connection.
func inProcess(t *testing.T, log logr.Logger, to http.Handler) *Provider {
	t.Helper()
	p, err := New(Endpoint{Name: "edge", URL: "http://127.0.0.1:1", Log: log})
	if err != nil {
		t.Fatal(err)
	}
	p.reads.http.HTTPClient.Transport.(*attempts).next = &line{to: to}
	return p
}

// A renewed provider answers Lookup always, and Capabilities as it is told to.
type renewed struct {
	inner   http.Handler
	denied  bool
	answers []int // the status of each answer to Capabilities
}

func (n *renewed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != v1.PathCapabilities {
		w.Header().Set("Content-Type", v1.MediaType)
		_, _ = w.Write([]byte("{}")) // without the entity tag of the capabilities
		return
	}
	if n.denied {
		n.answers = append(n.answers, http.StatusForbidden)
		w.WriteHeader(http.StatusForbidden)
		return
	}
	got := httptest.NewRecorder()
	n.inner.ServeHTTP(got, r)
	n.answers = append(n.answers, got.Code)
	for name, values := range got.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(got.Code)
	_, _ = w.Write(got.Body.Bytes())
}

// TestCapabilitiesAreReadAgain makes a call at each time, and looks at which ones ask for the
// capabilities.
func TestCapabilitiesAreReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logged []string
		log := funcr.New(func(_, line string) { logged = append(logged, line) }, funcr.Options{})
		few, more := serving(t, fake.Options{Capabilities: lb.ALB()}), serving(t, fake.Options{})
		to := &renewed{inner: few}
		p := inProcess(t, log, to)
		if err := p.Reach(t.Context()); err != nil {
			t.Fatal(err)
		}
		first := p.Capabilities(lb.Class{})
		const unchanged, denied, ok = http.StatusNotModified, http.StatusForbidden, http.StatusOK
		for _, c := range []struct {
			after  time.Duration // the call before
			denied bool
			inner  http.Handler
			want   []int // the statuses of all answers to Capabilities by then
			logs   int
		}{
			{freshFor, false, few, []int{ok}, 0},
			{1, false, few, []int{ok, unchanged}, 0},
			{freshFor, false, few, []int{ok, unchanged}, 0},
			{1, true, few, []int{ok, unchanged, denied}, 1},
			{freshFor, true, few, []int{ok, unchanged, denied}, 1},
			{1, false, more, []int{ok, unchanged, denied, ok}, 1},
			{freshFor, false, more, []int{ok, unchanged, denied, ok}, 1},
		} {
			time.Sleep(c.after)
			to.denied, to.inner = c.denied, c.inner
			if _, err := p.Lookup(t.Context(), lb.Questions{}); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(to.answers, c.want) || len(logged) != c.logs {
				t.Fatalf("answers to Capabilities %v and logged %q, want %v and %d lines", to.answers, logged, c.want, c.logs)
			}
			if now := p.Capabilities(lb.Class{}); (now.Name == first.Name) != (c.inner == few) {
				t.Errorf("capabilities of %q after those of %q", now.Name, first.Name)
			}
		}
		if !strings.Contains(logged[0], `"provider"="edge"`) || !strings.Contains(logged[0], "status 403") {
			t.Errorf("logged %s", logged[0])
		}
	})
}

// TestRequestsHaveALimit has providers tell a limit of their own.
func TestRequestsHaveALimit(t *testing.T) {
	inner := serving(t, fake.Options{Capabilities: lb.ALB()})
	for told, want := range map[int]int{0: v1.MaxRequest, 1000: 1000, v1.MaxRequest + 1: v1.MaxRequest} {
		p := inProcess(t, logr.Discard(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			got := httptest.NewRecorder()
			inner.ServeHTTP(got, r)
			var message map[string]any
			if err := json.Unmarshal(got.Body.Bytes(), &message); err != nil {
				t.Error(err)
			}
			message["calls"] = map[string]any{"requestBytes": told}
			w.Header().Set("Content-Type", v1.MediaType)
			_ = json.NewEncoder(w).Encode(message)
		}))
		if err := p.Reach(t.Context()); err != nil {
			t.Fatal(err)
		}
		if most := p.known().requestBytes; most != want {
			t.Errorf("a limit of %d is taken for %d, want %d", told, most, want)
		}
	}
}
