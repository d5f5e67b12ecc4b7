package remote

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/model/lb"
)

// says answers with a message.
func says(w http.ResponseWriter, message string) {
	w.Header().Set("Content-Type", v1.MediaType)
	_, _ = io.WriteString(w, message)
}

func TestRequests(t *testing.T) {
	var sent, names []string
	p := inProcess(t, logr.Discard(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent = append(sent, r.Method+" "+r.URL.RequestURI())
		id, parent := r.Header.Get(v1.HeaderRequestID), r.Header.Get("traceparent")
		if len(id) != 32 || len(parent) != 55 || parent[:3] != "00-" || parent[52:] != "-01" {
			t.Errorf("the call is named %q and %q", id, parent)
		}
		names = append(names, id, parent)
		says(w, `{"key":"a/b"}`)
	}))
	p.capabilities.requestBytes = v1.MaxRequest
	seen := &lb.Observed{Key: "a/b"}
	for _, call := range []func() error{
		func() error { _, err := p.Observe(t.Context(), "a/b", false); return err },
		func() error { _, err := p.Observe(t.Context(), "a/b", true); return err },
		func() error { _, err := p.Active(t.Context(), seen); return err },
		func() error { _, err := p.Targets(t.Context(), "a/b", "g:1"); return err },
		func() error { return p.SetTargets(t.Context(), "a/b", "g:1", nil) },
		func() error { _, err := p.List(t.Context()); return err },
	} {
		if err := call(); err != nil {
			t.Error(err)
		}
	}
	want := []string{
		"GET /load-balancer?key=a%2Fb",
		"GET /load-balancer?deep=true&key=a%2Fb",
		"GET /load-balancer/active?key=a%2Fb",
		"GET /load-balancer/targets?group=g%3A1&key=a%2Fb",
		"PUT /load-balancer/targets?group=g%3A1&key=a%2Fb",
		"GET /load-balancers",
	}
	if diff := cmp.Diff(want, sent); diff != "" {
		t.Errorf("(-want +sent):\n%s", diff)
	}
	slices.Sort(names)
	if len(slices.Compact(names)) != 2*len(want) {
		t.Errorf("two calls have one name: %q", names)
	}
}

// TestLookupReadsCapabilities looks up again and again, and has the capabilities be read when they
// are not known, and when an answer names others.
func TestLookupReadsCapabilities(t *testing.T) {
	var calls []string
	var down, named string
	p := inProcess(t, logr.Discard(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls = append(calls, r.URL.Path+r.Header.Get("If-None-Match"))
		switch r.URL.Path {
		case down:
			w.WriteHeader(http.StatusNotImplemented)
		case v1.PathLookup:
			says(w, fmt.Sprintf(`{"capabilitiesETag":%q}`, named))
		default:
			w.Header().Set("ETag", named)
			says(w, `{"name":"edge","versions":[1],"conditions":{"fields":["host","path"]},`+
				`"limits":{"maxPriority":100}}`)
		}
	}))
	for _, c := range []struct {
		name, down, named string
		fails             bool
		want              []string
	}{
		{"not known", v1.PathCapabilities, "1", true, []string{"/capabilities"}},
		{"read at first", "", "1", false, []string{"/capabilities", "/lookup"}},
		{"known", "", "1", false, []string{"/lookup"}},
		{"no lookup", v1.PathLookup, "1", true, []string{"/lookup"}},
		{"others", "", "2", false, []string{"/lookup", "/capabilities1"}},
		{"the same", "", "2", false, []string{"/lookup"}},
		{"not named", "", "", false, []string{"/lookup"}},
	} {
		calls, down, named = nil, c.down, c.named
		settings := `{"a":1}`
		facts, err := p.Lookup(t.Context(), lb.Questions{Settings: settings})
		if (err != nil) != c.fails || !slices.Equal(calls, c.want) {
			t.Errorf("%s: called %q (error %v), want %q", c.name, calls, err, c.want)
		}
		refused := map[string]string{
			settings: "this provider has no settings of its own for classes"}
		if err == nil && !maps.Equal(facts.SettingsRefused, refused) {
			t.Errorf("%s: refused %v, want %v", c.name, facts.SettingsRefused, refused)
		}
	}
}
