package probe_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
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

// served is the fake cloud behind a handler, and the URL of it.
func served(t *testing.T, around func(http.Handler) http.Handler) (*fake.Cloud, probe.Provider) {
	t.Helper()
	return servedOf(t, fake.Options{}, around)
}

func servedOf(t *testing.T, o fake.Options, around func(http.Handler) http.Handler) (*fake.Cloud, probe.Provider) {
	t.Helper()
	cloud, err := fake.New(o)
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
	for name, capabilities := range map[string]lb.Capabilities{"without sign-in": {}, "with sign-in": lb.ALB()} {
		t.Run(name, func(t *testing.T) {
			cloud, to := servedOf(t, fake.Options{Capabilities: capabilities}, asItIs)
			findings := probe.Run(t.Context(), to)
			for _, f := range findings {
				if f.State != check.OK {
					t.Errorf("%s: %s: %s", f.ID, f.State, f.Detail)
				}
				if f.ID == "provider/client-secret" && (f.Detail == "") == (name == "without sign-in") {
					t.Errorf("%s: %q", f.ID, f.Detail)
				}
			}
			if len(findings) < 24 {
				t.Errorf("%d things were tried", len(findings))
			}
			left(t, cloud)
		})
	}
}

func left(t *testing.T, cloud *fake.Cloud) {
	t.Helper()
	keys, err := cloud.List(context.Background())
	if err != nil || len(keys) > 0 {
		t.Errorf("left: %v, %v", keys, err)
	}
}

// TestFindsWhatIsWrong has providers that break one rule each, behind a network.
func TestFindsWhatIsWrong(t *testing.T) {
	for id, broken := range map[string]func(http.Handler) http.Handler{
		"provider/timeout":      asked(func(r *http.Request) { r.Header.Del(v1.HeaderTimeout) }),
		"provider/reserved-key": asked(func(r *http.Request) { r.URL.RawQuery = strings.ReplaceAll(r.URL.RawQuery, "%26", "&") }),
	} {
		t.Run(id, func(t *testing.T) {
			cloud, to := servedOf(t, fake.Options{Capabilities: lb.ALB()}, broken)
			finds(t, to, id, "")
			left(t, cloud)
		})
	}
}

// finds looks that a run finds something wrong, which says some words.
func finds(t *testing.T, to probe.Provider, id, words string) {
	t.Helper()
	found := false
	for _, f := range probe.Run(t.Context(), to) {
		found = found || f.ID == id && f.State == check.Wrong && f.Detail != "" && f.Advice != "" && strings.Contains(f.Detail, words)
	}
	if !found {
		t.Errorf("%s is not found, or does not say %q", id, words)
	}
}

// TestFindsSecretsThatAreTold has a provider for each way to tell what it was sent.
func TestFindsSecretsThatAreTold(t *testing.T) {
	var (
		mu     sync.Mutex
		secret string
	)
	clientSecret := regexp.MustCompile(`"clientSecret":"([^"]+)"`)
	for name, c := range map[string]struct {
		words string
		tells func(http.Handler) http.Handler
	}{
		"a key, in what is said about a request": {"private key", rewritten(func(r *http.Request, asked []byte, told string) string {
			if r.URL.Path != v1.PathSteps || !strings.Contains(told, `"status":400`) {
				return told
			}
			detail, _ := json.Marshal(string(asked))
			return `{"type":"urn:fairlead:problem:malformed","status":400,"detail":` + string(detail) + `}`
		})},
		"a client secret, in what there is": {"client secret", rewritten(func(r *http.Request, asked []byte, told string) string {
			mu.Lock()
			defer mu.Unlock()
			if found := clientSecret.FindSubmatch(asked); found != nil {
				secret = string(found[1])
			}
			if r.URL.Path != v1.PathLoadBalancer || secret == "" {
				return told
			}
			return strings.Replace(told, "{", `{"clientSecret":"`+secret+`",`, 1)
		})},
	} {
		t.Run(name, func(t *testing.T) {
			cloud, to := servedOf(t, fake.Options{Capabilities: lb.ALB()}, c.tells)
			finds(t, to, "provider/secrets", c.words)
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

// rewritten changes the bodies of answers.
func rewritten(change func(r *http.Request, asked []byte, told string) string) func(http.Handler) http.Handler {
	return func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			r.Header.Del("Accept-Encoding")
			recorded := httptest.NewRecorder()
			h.ServeHTTP(recorded, r)
			maps.Copy(w.Header(), recorded.Header())
			w.Header().Del("Content-Length")
			w.WriteHeader(recorded.Code)
			_, _ = io.WriteString(w, change(r, body, recorded.Body.String()))
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

// TestABareCloud is sent no certificate, and no target group of a type that it does not have.
func TestABareCloud(t *testing.T) {
	c := lb.Literal()
	c.NoHTTPS, c.TargetTypesRefused = true, []string{"ip"}
	cloud, to := servedOf(t, fake.Options{Capabilities: c}, asItIs)
	for _, f := range probe.Run(t.Context(), to) {
		secret := f.ID == "provider/certificate" || f.ID == "provider/secrets"
		if f.State != check.OK && !(secret && f.State == check.Unknown) {
			t.Errorf("%s: %s: %s", f.ID, f.State, f.Detail)
		}
	}
	left(t, cloud)
}
