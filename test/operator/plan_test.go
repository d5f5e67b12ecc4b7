package operator

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"fairlead.dev/fairlead/test/kube"
)

// This file asks what the operator would do, where nothing can be written.

// TestPlanLiveWritesNothing plans an Ingress that is new, one that is served, and one that has changed.
func TestPlanLiveWritesNothing(t *testing.T) {
	w := newWorld(t, emulated(t))
	w.environment(t)
	aws := newReadOnly(t, w.url)
	w.ask(t, path("/", "web"))
	text, code := w.plan(t, aws)
	if code != 2 || !strings.Contains(text, "create load balancer") || !strings.Contains(text, "create rule") {
		t.Errorf("of what is new: exit code %d, %s", code, text)
	}

	w.replace(t)
	kube.Eventually(t, "the Ingress is served", func() bool { return w.hostname(t) != "" && len(w.targets(t, "web")) == 2 })
	w.replica.Kill()
	if text, code := w.plan(t, aws); code != 0 {
		t.Errorf("of what is served: exit code %d, %s", code, text)
	}
	w.ask(t, path("/", "web")+", "+path("/api", "api"))
	if text, code := w.plan(t, aws); code != 2 || strings.Contains(text, "create load balancer") || !strings.Contains(text, "rule") {
		t.Errorf("of what has changed: exit code %d, %s", code, text)
	}
	if aws.writes.Load() != 0 || aws.reads.Load() == 0 {
		t.Errorf("%d calls were to write, and %d to read", aws.writes.Load(), aws.reads.Load())
	}
}

// plan asks for a plan, and how that ended.
func (w *world) plan(t *testing.T, aws *readOnly) (text string, code int) {
	t.Helper()
	run := exec.CommandContext(t.Context(), w.cluster.Command(t), "plan", "--provider=aws", "--live", "--kubeconfig="+w.cluster.Kubeconfig,
		"--namespace="+w.namespace, "--aws-region="+w.region)
	run.Env = append(os.Environ(), "AWS_ENDPOINT_URL="+aws.url)
	said, err := run.CombinedOutput()
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended):
		code = ended.ExitCode()
	case err != nil:
		t.Fatalf("planning: %s", err)
	}
	return string(said), code
}

// A readOnly is AWS for those who may only look.
type readOnly struct {
	url           string
	reads, writes atomic.Int32
}

// looking is a call that only looks, in either of AWS's protocols.
var looking = regexp.MustCompile(`(^|&)Action=(Describe|Get|List)|^[A-Za-z0-9_]+\.(Describe|Get|List)`)

func newReadOnly(t *testing.T, from string) *readOnly {
	t.Helper()
	to, err := url.Parse(from)
	if err != nil {
		t.Fatal(err)
	}
	out := &readOnly{}
	proxy := httputil.NewSingleHostReverseProxy(to)
	server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(answer, err.Error(), http.StatusBadRequest)
			return
		}
		if !looking.Match(text) && !looking.MatchString(r.Header.Get("X-Amz-Target")) {
			out.writes.Add(1)
			http.Error(answer, "this would write: "+string(text), http.StatusForbidden)
			return
		}
		out.reads.Add(1)
		r.Body = io.NopCloser(bytes.NewReader(text))
		proxy.ServeHTTP(answer, r)
	}))
	t.Cleanup(server.Close)
	out.url = server.URL
	return out
}
