package conformance

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/test/kube"
)

func TestDefaultBackend(t *testing.T) {
	f := newFeature(t)
	f.deploy(t, "all")
	f.expose(t, `defaultBackend: {service: {name: all, port: {number: 8080}}}`)
	// One scenario: whatever is asked for, the one Service answers.
	for _, ask := range []struct{ method, url, path string }{
		{http.MethodGet, "http://one.example", "/"},
		{http.MethodGet, "http://one.example/deep/path", "/deep/path"},
		{http.MethodPost, "http://two.example", "/"},
		{http.MethodPut, "/thing", "/thing"},
		{http.MethodDelete, "http://two.example/thing", "/thing"},
		{http.MethodPatch, "http://one.example/thing", "/thing"},
	} {
		t.Run(ask.method+" "+ask.url, func(t *testing.T) {
			got := f.send(t, ask.method, ask.url)
			if got.StatusCode != http.StatusOK || got.Response.Proto != "HTTP/1.1" {
				t.Errorf("answered %s %d, want HTTP/1.1 200", got.Response.Proto, got.StatusCode)
			}
			for _, name := range []string{"Content-Length", "Content-Type", "Date", "Server"} {
				if got.Header.Get(name) == "" {
					t.Errorf("the answer has no header %s", name)
				}
			}
			want := kube.Echo{Service: "all", Method: ask.method, Path: ask.path, Proto: "HTTP/1.1"}
			echo := kube.Echo{Service: got.Service, Method: got.Method, Path: got.Path, Proto: got.Echo.Proto}
			if diff := cmp.Diff(want, echo); diff != "" {
				t.Errorf("what the Pod was asked (-want +got):\n%s", diff)
			}
			if agent := got.Headers.Get("User-Agent"); agent != "Go-http-client/1.1" {
				t.Errorf("the Pod was asked by %q, want the client's own name", agent)
			}
		})
	}
}
