package remote

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/planner"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/fake"
	"fairlead.dev/fairlead/providers/providertest"
	"fairlead.dev/fairlead/providers/serve"
)

// This file has an operator and a provider of neighbouring versions talk to each other, as
// docs/reference/protocol.md says under "Versions". There is only one version yet. A provider of
// the next one is one that speaks this one, too, and whose messages have in them what this one does
// not know; an operator of the next one asks for that first.

const next = v1.Version + 1

// typeOfVersion is the media type of a version.
func typeOfVersion(n int) string {
	return strings.Replace(v1.MediaType, fmt.Sprintf("version=%d", v1.Version), fmt.Sprintf("version=%d", n), 1)
}

// byTheirNames are the fields whose members are names of users, not of the protocol.
var byTheirNames = []string{"attributes", "tags", "parameters", "provider", "settingsSchemas"}

// newer is a value of a message with a field in each object that this version does not know.
func newer(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			if !slices.Contains(byTheirNames, name) {
				v[name] = newer(inner)
			}
		}
		v["addedLater"] = map[string]any{"of": []any{next}, "handle": "not the handle"}
	case []any:
		for i := range v {
			v[i] = newer(v[i])
		}
	}
	return value
}

// aNewerProvider speaks this version and the next one, and says more than this version knows. It
// answers in the best version that is accepted.
func aNewerProvider(t *testing.T, inner http.Handler, more func(path string, message map[string]any)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Accept"), typeOfVersion(v1.Version)) {
			t.Errorf("the operator accepts %q", r.Header.Get("Accept"))
		}
		r.Header.Del("Accept-Encoding")
		answer := httptest.NewRecorder()
		inner.ServeHTTP(answer, r)
		body := answer.Body.Bytes()
		if len(body) > 0 {
			var message map[string]any
			if err := json.Unmarshal(body, &message); err != nil {
				t.Errorf("%s: %v", r.URL.Path, err)
			}
			if r.URL.Path == v1.PathCapabilities {
				message["versions"] = []int{v1.Version, next}
			}
			if more != nil {
				more(r.URL.Path, message)
			}
			body, _ = json.Marshal(newer(message))
		}
		maps.Copy(w.Header(), answer.Header())
		w.Header().Del("Content-Length")
		w.WriteHeader(answer.Code)
		_, _ = w.Write(body)
	})
}

// TestTheContractWithANewerProvider has a field more in each object of each answer.
func TestTheContractWithANewerProvider(t *testing.T) {
	t.Parallel()
	providertest.Test(t, func(t *testing.T) providers.Provider {
		return open(t, served(t, aNewerProvider(t, serving(t, fake.Options{Capabilities: lb.ALB()}), nil)))
	}, providertest.Listening)
}

// TestValuesOfANewerProvider has values that this version does not know.
func TestValuesOfANewerProvider(t *testing.T) {
	rules := func(message map[string]any) map[string]any {
		listener := message["listeners"].([]any)[0].(map[string]any)
		return listener["rules"].([]any)[0].(map[string]any)["rule"].(map[string]any)
	}
	var more func(path string, message map[string]any)
	p := open(t, served(t, aNewerProvider(t, serving(t, fake.Options{Capabilities: lb.ALB()}), func(path string, message map[string]any) {
		if more != nil {
			more(path, message)
		}
	})))
	group := lb.TargetGroup{ID: "shop/web:80", Service: "shop/web", Port: "80", TargetType: "ip", Protocol: "HTTP", Version: "HTTP1", Family: "ipv4"}
	want := lb.LoadBalancer{Key: shop, TargetGroups: []lb.TargetGroup{group}, Listeners: []lb.Listener{{
		Port: 80, Protocol: "HTTP", Default: lb.Action{Kind: "fixed", Status: 404},
		Rules: []lb.Rule{{Conditions: []lb.Condition{{Field: "path", Values: []string{"/*"}}}, Action: lb.Action{Kind: "fixed", Status: 410}}},
	}}}
	steps := func() []string {
		t.Helper()
		seen, err := p.Observe(t.Context(), shop, false)
		if err != nil {
			t.Fatal(err)
		}
		var ops []string
		for _, s := range planner.Diff(seen, want, p.Capabilities(lb.Class{})).Steps {
			ops = append(ops, s.Step.Op())
		}
		return ops
	}
	seen, err := p.Observe(t.Context(), shop, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := providers.Run(t.Context(), p, seen, planner.Diff(seen, want, p.Capabilities(lb.Class{})), providers.Options{}); err != nil {
		t.Fatal(err)
	}
	if left := steps(); len(left) > 0 {
		t.Fatalf("left to do: %v", left)
	}
	for name, change := range map[string]func(map[string]any){
		"an action":   func(rule map[string]any) { rule["action"] = map[string]any{"kind": "teleport"} },
		"a condition": func(rule map[string]any) { rule["conditions"].([]any)[0].(map[string]any)["field"] = "cookie" },
	} {
		more = func(path string, message map[string]any) {
			if path == v1.PathLoadBalancer {
				change(rules(message))
			}
		}
		if left := steps(); len(left) == 0 {
			t.Errorf("%s that is not known is taken for the one that is wanted", name)
		}
	}

	more = func(path string, message map[string]any) {
		if path == v1.PathTargets {
			message["targets"] = []any{map[string]any{"address": "10.0.0.9", "port": 80, "state": "warming"}}
		}
	}
	healths, err := p.Targets(t.Context(), shop, group.ID)
	if err != nil || len(healths) != 1 || healths[0].State != "initial" {
		t.Errorf("a state that is not known: %v, %v", healths, err)
	}

	more = func(path string, message map[string]any) {
		if path == v1.PathSteps {
			result := message["results"].([]any)[0].(map[string]any)
			result["problem"] = map[string]any{"type": "urn:fairlead:problem:on-strike", "detail": "until Monday"}
		}
	}
	_, err = p.Apply(t.Context(), seen, plan.CreateTargetGroup{Group: group})
	if err == nil || !strings.Contains(err.Error(), "until Monday") {
		t.Errorf("a problem that is not known: %v", err)
	}
	for _, class := range []error{providers.ErrRejected, providers.ErrDenied, providers.ErrPending, providers.ErrThrottled} {
		if errors.Is(err, class) {
			t.Errorf("a problem that is not known is %v", class)
		}
	}
}

// TestAProviderThatHasDroppedThisVersion speaks later ones only.
func TestAProviderThatHasDroppedThisVersion(t *testing.T) {
	at := served(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", v1.ProblemMediaType)
		w.WriteHeader(http.StatusNotAcceptable)
		_, _ = fmt.Fprintf(w, `{"type":"urn:fairlead:problem:version","title":"version","status":406,"versions":[%d,%d]}`, next, next+1)
	}))
	_, err := Open(t.Context(), Endpoint{Name: "edge", URL: at, Log: logr.Discard()})
	want := fmt.Sprintf("speaks the versions [%d %d] of the protocol, and this operator speaks %d", next, next+1, v1.Version)
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("told %v, want %q", err, want)
	}
}

// TestANewerOperator asks a provider of this version for the next one first, and sends the messages
// of this version that testdata has, and then what this version does not know.
func TestANewerOperator(t *testing.T) {
	cloud := newCounting(t)
	at := served(t, serve.New(cloud, serve.Options{}))
	send := func(method, path, kind, body string) (*http.Response, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, at+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", typeOfVersion(next)+", "+typeOfVersion(v1.Version))
		if body != "" {
			r.Header.Set("Content-Type", kind)
		}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response, string(text)
	}
	response, told := send(http.MethodGet, v1.PathCapabilities, "", "")
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != v1.MediaType || !strings.Contains(told, `"versions":[1]`) {
		t.Errorf("asked for the next version or this one, it answered %d in %q: %s", response.StatusCode, response.Header.Get("Content-Type"), told)
	}
	response, told = send(http.MethodPost, v1.PathLookup, typeOfVersion(next), `{}`)
	if response.StatusCode != http.StatusUnsupportedMediaType || !strings.Contains(told, string(v1.ProblemVersion)) || !strings.Contains(told, `"versions":[1]`) {
		t.Errorf("a body of the next version: %d, %s", response.StatusCode, told)
	}

	files, err := filepath.Glob("../wire/testdata/step-*.json")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d steps, %v", len(files), err)
	}
	for n, file := range files {
		step, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		apply := func(id string, step []byte) (*http.Response, string) {
			return send(http.MethodPost, v1.PathSteps+"?key=shop", v1.MediaType, fmt.Sprintf(`{"steps":[{"id":"%s-%d","step":%s}]}`, id, n, step))
		}
		response, told := apply("known", step)
		settings := strings.Contains(told, "has no settings of its own") // a field of this version that the fake refuses
		if !settings && (response.StatusCode != http.StatusOK || strings.Contains(told, string(v1.ProblemUnknown)) || strings.Contains(told, string(v1.ProblemMalformed))) {
			t.Errorf("%s: %d, %s", file, response.StatusCode, told)
		}
		before := cloud.applied.Load()
		later := bytes.Replace(step, []byte(`"op"`), []byte(`"addedLater": true, "op"`), 1)
		if response, told := apply("later", later); response.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(told, string(v1.ProblemUnknown)) || !strings.Contains(told, "addedLater") {
			t.Errorf("%s with a field more: %d, %s", file, response.StatusCode, told)
		}
		if cloud.applied.Load() != before {
			t.Errorf("%s with a field more is carried out", file)
		}
	}
	before := cloud.applied.Load()
	for what, step := range map[string]string{
		"freezeListener": `{"op":"freezeListener","port":80}`,
		"teleport":       `{"op":"createRule","port":80,"priority":1,"rule":{"conditions":[],"action":{"kind":"teleport"}}}`,
	} {
		body := fmt.Sprintf(`{"steps":[{"id":"%s","step":%s}]}`, what, step)
		if response, told := send(http.MethodPost, v1.PathSteps+"?key=shop", v1.MediaType, body); !strings.Contains(told, string(v1.ProblemUnknown)) || !strings.Contains(told, what) {
			t.Errorf("%s: %d, %s", what, response.StatusCode, told)
		}
	}
	if cloud.applied.Load() != before {
		t.Error("what is not known is carried out")
	}
}
