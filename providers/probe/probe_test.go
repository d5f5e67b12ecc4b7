package probe_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/providers/fake"
	"fairlead.dev/fairlead/providers/probe"
	"fairlead.dev/fairlead/providers/serve"
)

// served is the fake cloud behind a handler, and the URL of it.
func served(t *testing.T, around func(http.Handler) http.Handler) (*fake.Cloud, probe.Provider) {
	t.Helper()
	cloud, err := fake.New(fake.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cloud.Close)
	server := httptest.NewServer(around(serve.New(cloud, serve.Options{})))
	t.Cleanup(server.Close)
	base, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return cloud, probe.Provider{Base: base, Send: server.Client().Do, Pause: time.Millisecond}
}

func asItIs(h http.Handler) http.Handler { return h }

func TestTheFakeCloudHolds(t *testing.T) {
	cloud, to := served(t, asItIs)
	findings := probe.Run(t.Context(), to)
	for _, f := range findings {
		if f.State != check.OK {
			t.Errorf("%s: %s: %s", f.ID, f.State, f.Detail)
		}
	}
	if len(findings) < 25 {
		t.Errorf("%d things were tried", len(findings))
	}
	left(t, cloud)
}

func left(t *testing.T, cloud *fake.Cloud) {
	t.Helper()
	keys, err := cloud.List(context.Background())
	if err != nil || len(keys) > 0 {
		t.Errorf("left: %v, %v", keys, err)
	}
}

// TestFindsWhatIsWrong has providers that break one rule each.
func TestFindsWhatIsWrong(t *testing.T) {
	for id, broken := range map[string]func(http.Handler) http.Handler{
		"provider/request-id":        changed(func(h http.Header) { h.Del("Request-Id") }),
		"provider/capabilities-etag": changed(func(h http.Header) { h.Del("ETag") }),
		"provider/capabilities":      changed(func(h http.Header) { h.Set("Content-Type", "application/json") }),
		"provider/accept":            asked(func(r *http.Request) { r.Header.Del("Accept") }),
		"provider/unknown-call": asked(func(r *http.Request) {
			if r.URL.Path == "/fairlead-check" {
				r.URL.Path = "/load-balancers"
			}
		}),
		"provider/reserved-key": asked(func(r *http.Request) { r.URL.RawQuery = strings.ReplaceAll(r.URL.RawQuery, "%26", "&") }),
	} {
		t.Run(id, func(t *testing.T) {
			cloud, to := served(t, broken)
			found := false
			for _, f := range probe.Run(t.Context(), to) {
				found = found || f.ID == id && f.State == check.Wrong && f.Detail != "" && f.Advice != ""
			}
			if !found {
				t.Errorf("%s is not found", id)
			}
			left(t, cloud)
		})
	}
}

// TestInterrupted ends a run while it writes.
func TestInterrupted(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	cloud, to := served(t, asked(func(r *http.Request) {
		if r.Method == http.MethodPut {
			end()
		}
	}))
	findings := probe.Run(ctx, to)
	if last := findings[len(findings)-1]; last.ID != "provider/interrupted" {
		t.Errorf("the last finding is %v", last)
	}
	left(t, cloud)
}

func changed(change func(http.Header)) func(http.Handler) http.Handler {
	return func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			recorded := httptest.NewRecorder()
			h.ServeHTTP(recorded, r)
			change(recorded.Header())
			for name, values := range recorded.Header() {
				w.Header()[name] = values
			}
			w.WriteHeader(recorded.Code)
			_, _ = w.Write(recorded.Body.Bytes())
		})
	}
}

func asked(change func(*http.Request)) func(http.Handler) http.Handler {
	return func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			change(r)
			h.ServeHTTP(w, r)
		})
	}
}
