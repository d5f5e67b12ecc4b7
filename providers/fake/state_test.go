package fake_test

import (
	"crypto/tls"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/planner"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers/fake"
)

// A cloud that is started again serves what it served, where it served it.
func TestStateSurvivesARestart(t *testing.T) {
	options := fake.Options{Serve: true, CheckEvery: 2 * time.Millisecond, State: filepath.Join(t.TempDir(), "state.json")}
	web := group("web", backend(t, "web"))
	web.Health = routing.HealthCheck{Path: "/healthz"}
	web.Digest = lb.DigestOf(web.Health)
	want := loadBalancer(shop, []lb.TargetGroup{web},
		http80(rule("- /old", redirect(routing.Redirect{Status: 301, Scheme: "https", Port: "443"})), rule("- -", forward("web"))),
		https443([]lb.CertificateID{"sha256:0001"}, rule("shop.example.com -", forward("web"))))
	want.Certificates = []lb.Certificate{imported(t, "sha256:0001", "shop.example.com")}

	first := start(t, options)
	before := program(t, first, want)
	first.Close()
	second := start(t, options)
	after := program(t, second, want)
	if diff := cmp.Diff(before, after, cmp.FilterPath(readiness, cmp.Ignore())); diff != "" {
		t.Errorf("(-before +after the restart):\n%s", diff)
	}
	everyone(t, second, "web", "healthy")
	if got := get(t, after, "a", "/"); got.from != "web" {
		t.Errorf("over HTTP: %d %s", got.status, got.body)
	}
	if got := get(t, after, "a", "/old"); got.header.Get("Location") != "https://a/old" {
		t.Errorf("redirect: %v", got.header)
	}
	conn, names := dialTLS(t, at(after, 443), "shop.example.com", &tls.Config{InsecureSkipVerify: true})
	if got := ask(t, conn, "GET / HTTP/1.1", "Host: shop.example.com"); got.from != "web" || names[0] != "shop.example.com" {
		t.Errorf("over HTTPS: %d, certificate for %v", got.status, names)
	}
	// A new rule's handle must not be one that an old rule has.
	more := want
	more.Listeners = []lb.Listener{http80(append([]lb.Rule{rule("- /new", fixed(410))}, want.Listeners[0].Rules...)...), want.Listeners[1]}
	handles := map[string]bool{}
	for _, r := range program(t, second, more).Listeners[0].Rules {
		if handles[r.Handle] {
			t.Errorf("two rules have the handle %s", r.Handle)
		}
		handles[r.Handle] = true
	}
}

// The state file is what a plan is made against: every lb.Observed by its key, and no secrets.
func TestStateFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state.json")
	cloud := start(t, fake.Options{State: file})
	want := loadBalancer(shop, []lb.TargetGroup{group("web", lb.Target{Address: "192.0.2.1", Port: 80})},
		https443([]lb.CertificateID{"sha256:0001"}, rule("shop.example.com -", forward("web"))))
	want.Certificates = []lb.Certificate{imported(t, "sha256:0001", "shop.example.com")}
	seen := program(t, cloud, want)

	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var state map[lb.Key]*lb.Observed
	if err := json.Unmarshal(text, &state); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[lb.Key]*lb.Observed{shop: seen}, state, cmp.FilterPath(readiness, cmp.Ignore())); diff != "" {
		t.Errorf("(-kept +file):\n%s", diff)
	}
	if steps := planner.Diff(state[shop], want, lb.Literal()).Steps; len(steps) > 0 {
		t.Errorf("a plan against the file still has %s %s", steps[0].Step.Op(), steps[0].Step.ID())
	}
	for suffix, c := range map[string]struct {
		mode   os.FileMode
		secret bool
	}{"": {0o644, false}, ".targets": {0o644, false}, ".settings": {0o644, false}, ".keys": {0o600, true}, ".authority": {0o600, true}} {
		text, err := os.ReadFile(file + suffix)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(file + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != c.mode || strings.Contains(string(text), "PRIVATE KEY") != c.secret {
			t.Errorf("state.json%s: mode %v, holds a key: %v", suffix, info.Mode().Perm(), !c.secret)
		}
	}
	left, err := filepath.Glob(file + "*")
	if err != nil || len(left) != 6 { // and the lock
		t.Errorf("files left behind: %v %v", left, err)
	}
}

// readiness is left out of comparisons: targets become healthy in their own time.
func readiness(p cmp.Path) bool {
	field, ok := p.Last().(cmp.StructField)
	return ok && field.Name() == "Ready"
}

func TestStateThatCannotBeRead(t *testing.T) {
	good := start(t, fake.Options{State: filepath.Join(t.TempDir(), "state.json")})
	program(t, good, loadBalancer(shop, nil, http80()))
	for name, c := range map[string]struct {
		suffix, content, want string
	}{
		"cut short":            {"", `{"fairlead/shop/web/internal": {"key": "fairl`, "state.json: it is not a state file, or is cut short"},
		"empty":                {"", ``, "state.json: it is not a state file, or is cut short"},
		"another kind of file": {"", `[1, 2]`, "state.json: it is not a state file, or is cut short"},
		"a key that is not the object's": {"", `{"a": {"key": "b", "exists": true}}`,
			"the entry of a is not its load balancer"},
		"nothing under a key":          {"", `{"a": null}`, "the entry of a is not its load balancer"},
		"targets cut short":            {".targets", `{"a": {`, "state.json.targets: it is not a state file, or is cut short"},
		"keys cut short":               {".keys", `{"a": {`, "state.json.keys: it is not a state file, or is cut short"},
		"an authority that is not one": {".authority", `{"key": "?"}`, "state.json.authority: tls: "},
		"a private key that is lost": {"", `{"a": {"key": "a", "certificates": [{"id": "sha256:1", "hosts": ["h"]}]}}`,
			"state.json.keys: a: certificate sha256:1: "},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "state.json")
			if err := os.WriteFile(file+c.suffix, []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := fake.New(fake.Options{State: file})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// A step whose outcome cannot be written down has failed: the caller looks again, and sees what was
// written last.
func TestStateThatCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state.json")
	cloud := start(t, fake.Options{State: file, Serve: true})
	o := program(t, cloud, loadBalancer(shop, nil, http80()))
	if err := os.Mkdir(file+".new", 0o700); err != nil { // in the place of what is to be written
		t.Fatal(err)
	}
	step := plan.CreateRule{Port: 80, Priority: 1, Rule: rule("- -", fixed(201))}
	if _, err := cloud.Apply(t.Context(), o, step); err == nil || !strings.Contains(err.Error(), "writing "+file) {
		t.Errorf("error %v", err)
	}
	if diff := cmp.Diff(o, observe(t, cloud)); diff != "" {
		t.Errorf("(-before +after a step that failed):\n%s", diff)
	}
	if err := os.Remove(file + ".new"); err != nil {
		t.Fatal(err)
	}
	if _, err := cloud.Apply(t.Context(), o, step); err != nil {
		t.Error(err)
	}
}

func TestStateInAFolderThatIsNotThere(t *testing.T) {
	_, err := fake.New(fake.Options{State: filepath.Join(t.TempDir(), "gone", "state.json")})
	if err == nil || !strings.Contains(err.Error(), "opening a lock: ") {
		t.Errorf("error %v", err)
	}
}
