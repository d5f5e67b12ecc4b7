package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/fake"
	"fairlead.dev/fairlead/providers/providertest"
	"fairlead.dev/fairlead/providers/serve"
	"fairlead.dev/fairlead/test/caller"
)

// This file holds what is really sent to the document.

// A witness sees what a handler is asked and answers, and holds it to the document.
type witness struct {
	http.Handler
	t        testing.TB
	document *document

	mu   sync.Mutex
	seen map[string]int // operations and ops
}

func (w *witness) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	sent, err := io.ReadAll(r.Body)
	if err != nil {
		w.t.Error(err)
	}
	r.Body = io.NopCloser(bytes.NewReader(sent))
	answered := httptest.NewRecorder()
	w.Handler.ServeHTTP(answered, r)
	w.note(r, sent, answered)
	maps.Copy(to.Header(), answered.Header())
	to.WriteHeader(answered.Code)
	if answered.Body.Len() == 0 {
		return
	}
	if _, err := to.Write(answered.Body.Bytes()); err != nil {
		w.t.Error(err)
	}
}

func (w *witness) note(r *http.Request, sent []byte, answered *httptest.ResponseRecorder) {
	if err := w.document.traffic(r, sent, answered.Code, answered.Header(), answered.Body.Bytes()); err != nil {
		w.t.Errorf("%s %s\n%s\nis answered with %d\n%s\n%v", r.Method, r.URL, sent, answered.Code, answered.Body, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[w.document.paths[r.URL.Path][strings.ToLower(r.Method)].ID]++
	var steps v1.Apply
	if r.URL.Path == v1.PathSteps && json.Unmarshal(sent, &steps) == nil {
		for _, s := range steps.Steps {
			w.seen[string(s.Step.Op)]++
		}
	}
}

// TestALifeIsSpokenAsTheDocumentSays makes, changes and deletes load balancers: with the contract
// of a provider, and what else the protocol has.
func TestALifeIsSpokenAsTheDocumentSays(t *testing.T) {
	w := &witness{t: t, document: load(t), seen: map[string]int{}}
	providertest.Test(t, func(t *testing.T) providers.Provider {
		cloud, err := fake.New(fake.Options{Capabilities: lb.ALB()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(cloud.Close)
		w.Handler = serve.New(cloud, serve.Options{Software: "test"})
		p := caller.Of(w)
		facts, err := p.Lookup(t.Context(), lb.Questions{CertificateHosts: []string{"a.test"}, NamedCertificates: []lb.CertificateID{"none"}, Network: lb.Network{Key: "k", Scheme: "internal"}})
		if err != nil || len(facts.Certificates["a.test"]) != 1 {
			t.Fatalf("facts %+v, %v", facts, err)
		}
		if _, err := p.Active(t.Context(), &lb.Observed{Key: "k"}); err != nil {
			t.Fatal(err)
		}
		return p
	}, providertest.Listening)
	for _, line := range []string{"GET /load-balancer", "GET /load-balancer?key=k&deep=true", "GET /load-balancer/targets?key=k&group=none"} {
		method, target, _ := strings.Cut(line, " ")
		w.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), method, target, nil))
	}
	for _, methods := range w.document.paths {
		for _, called := range methods {
			if w.seen[called.ID] == 0 {
				t.Errorf("%s was not called", called.ID)
			}
		}
	}
	ops := 0
	for name := range w.seen {
		if _, err := os.Stat(filepath.Join(messages, "step-"+name+".json")); err == nil {
			ops++
		}
	}
	if ops < 17 {
		t.Errorf("only %d ops were sent: %v", ops, slices.Sorted(maps.Keys(w.seen)))
	}
}

// messages are those that are compared with what version 1 of the protocol is to others.
const messages = "../../providers/wire/testdata"

// TestGoldenMessagesAreAsTheDocumentSays holds each op and each answer to the document, with
// something in each field.
func TestGoldenMessagesAreAsTheDocumentSays(t *testing.T) {
	d := load(t)
	schemas := map[string]string{
		"step": "Step", "problem": "Problem", "observed": "Observed", "capabilities": "Capabilities", "questions": "Questions", "facts": "Facts",
		"targets": "ReportedTargetList", "applied": "Applied", "active": "Activity", "load": "LoadBalancerList",
	}
	for file, text := range golden(t) {
		kind, _, _ := strings.Cut(file, "-")
		if schemas[kind] == "" {
			t.Errorf("%s has no schema", file)
			continue
		}
		if err := d.schema(text, schemas[kind]); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// golden are the messages by name.
func golden(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(messages, "*.json"))
	if err != nil || len(files) < 40 {
		t.Fatalf("%d messages, %v", len(files), err)
	}
	out := map[string][]byte{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimSuffix(filepath.Base(file), ".json")] = text
	}
	return out
}

// TestTheServerRefusesWhatTheDocumentDoes changes each message in each place, and asks both.
func TestTheServerRefusesWhatTheDocumentDoes(t *testing.T) {
	d := load(t)
	cloud, err := fake.New(fake.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cloud.Close)
	s := serve.New(cloud, serve.Options{Schemas: v1.SettingsSchemas{LoadBalancer: json.RawMessage("{}"), TargetGroup: json.RawMessage("{}")}})
	refused, taken := 0, 0
	for file, text := range golden(t) {
		if !strings.HasPrefix(file, "step-") {
			continue
		}
		var step any
		if err := json.Unmarshal(text, &step); err != nil {
			t.Fatal(err)
		}
		for where, changed := range changes(step) {
			message, err := json.Marshal(map[string]any{"steps": []any{map[string]any{"id": "a", "step": changed}}})
			if err != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, v1.PathSteps+"?key=shop", bytes.NewReader(message))
			r.Header.Set("Content-Type", v1.MediaType)
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			if w.Code != http.StatusOK && w.Code != http.StatusBadRequest && w.Code != http.StatusUnprocessableEntity {
				t.Fatalf("%s, %s: %d %s", file, where, w.Code, w.Body)
			}
			says := d.schema(message, "Apply")
			if says != nil && w.Code == http.StatusOK {
				t.Errorf("%s, %s: the server says %d %s, and the document %v", file, where, w.Code, w.Body, says)
			}
			if says != nil {
				refused++
			} else {
				taken++
			}
		}
	}
	t.Logf("%d messages were refused and %d taken", refused, taken)
	if refused < 500 || taken < 20 {
		t.Errorf("%d messages were refused and %d taken", refused, taken)
	}
}

// changes are a value with something changed in it, by what and where. The value itself is among
// them.
func changes(value any) map[string]any {
	out := map[string]any{"as it is": value, "null": nil}
	switch value := value.(type) {
	case map[string]any:
		out["a text"] = "text"
		out["a field more"] = with(value, "extra", map[string]any{})
		for name, part := range value {
			if name == "op" || name == "kind" || name == "field" {
				out["another "+name] = with(value, name, "nonsense")
			}
			for where, changed := range changes(part) {
				out[name+": "+where] = with(value, name, changed)
			}
		}
	case []any:
		out["an object"] = map[string]any{}
		for i, part := range value {
			for where, changed := range changes(part) {
				other := slices.Clone(value)
				other[i] = changed
				out[fmt.Sprintf("%d: %s", i, where)] = other
			}
		}
	case string:
		out["a number"] = 7
	default:
		out["a text"] = "7"
	}
	return out
}

func with(value map[string]any, name string, part any) map[string]any {
	out := maps.Clone(value)
	out[name] = part
	return out
}
