package scale

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/test/kube"
)

// This file counts what the operator asks of the API server, by the API server's own account: its
// audit log, which names whoever asked.

// A server is a control plane that keeps an audit log.
type server struct {
	*kube.Cluster
	log string
}

// policy has each request noted once, when it is answered.
const policy = `{
  "apiVersion": "audit.k8s.io/v1",
  "kind": "Policy",
  "omitStages": ["RequestReceived", "ResponseStarted"],
  "rules": [{"level": "Metadata"}]
}`

func newServer(t testing.TB) server {
	t.Helper()
	folder := t.TempDir()
	rules := filepath.Join(folder, "policy.json")
	if err := os.WriteFile(rules, []byte(policy), 0o600); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(folder, "audit.log")
	return server{kube.Start(t, kube.Options{Flags: []string{"--audit-policy-file=" + rules, "--audit-log-path=" + log,
		"--audit-log-maxsize=100000"}}), log}
}

// requests are how many of each kind there were: "patch ingresses/status".
type requests map[string]int

// asked is what the operator has asked so far. A watch counts when it ends.
func (s server) asked(t testing.TB) requests {
	t.Helper()
	log, err := os.Open(s.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	out := requests{}
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e struct {
			Verb, UserAgent string
			ObjectRef       *struct{ Resource, Subresource string }
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatalf("reading the audit log: %s", err)
		}
		if e.ObjectRef == nil || e.UserAgent != "fairlead" && !strings.HasSuffix(e.UserAgent, "/leader-election") {
			continue
		}
		out[strings.TrimSuffix(e.Verb+" "+e.ObjectRef.Resource+"/"+e.ObjectRef.Subresource, "/")]++
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// since are those that came after others.
func (r requests) since(before requests) requests {
	out := requests{}
	for kind, n := range r {
		if n -= before[kind]; n > 0 {
			out[kind] = n
		}
	}
	return out
}

// count is how many there were whose verb is one of some.
func (r requests) count(verbs ...string) int {
	n := 0
	for kind, of := range r {
		if verb, _, _ := strings.Cut(kind, " "); slices.Contains(verbs, verb) {
			n += of
		}
	}
	return n
}

// writes are those that change something.
func (r requests) writes() int {
	return r.count("create", "update", "patch", "delete", "deletecollection")
}

func (r requests) String() string {
	var out []string
	for _, kind := range slices.Sorted(maps.Keys(r)) {
		out = append(out, fmt.Sprintf("%d %s", r[kind], kind))
	}
	return strings.Join(out, ", ")
}
