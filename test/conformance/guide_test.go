package conformance

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fairlead/test/kube"
)

func TestTheGuideRunsTheOperatorAsTestsDo(t *testing.T) {
	text, err := os.ReadFile("../../docs/contributing/conformance.md")
	if err != nil {
		t.Fatal(err)
	}
	want := "\nfairlead run " + strings.Join(kube.Alive.Operator, " ") + "\n"
	if !strings.Contains(string(text), want) {
		t.Errorf("docs/contributing/conformance.md has not the line%s", want)
	}
}

// another is a suite that looks whether it has what suites need: flags, files beside it, and an API
// server.
const another = `package another

import (
	"flag"
	"net"
	"net/url"
	"os"
	"strings"
	"testing"
)

var class, format = flag.String("ingress-class", "", ""), flag.String("format", "", "")

func TestSuite(t *testing.T) {
	if _, err := os.Stat("features/it"); err != nil || *class != "fairlead" || *format != "pretty" {
		t.Fatalf("features %v, class %q, format %q", err, *class, *format)
	}
	config, err := os.ReadFile(os.Getenv("KUBECONFIG"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(config), "server: ")
	server, err := url.Parse(strings.Fields(after)[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := net.Dial("tcp", server.Host); err != nil {
		t.Fatal(err)
	}
}
`

func TestAnotherSuiteIsRunInTheSamePlace(t *testing.T) {
	if testing.Short() {
		t.Skip("it links the binary, and another one")
	}
	t.Parallel()
	suite := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module another\n", "another_test.go": another, "features/it": ""} {
		file := filepath.Join(suite, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	run := exec.CommandContext(ctx, "make", "-C", "../..", "conformance", "SUITE="+suite, "FLAGS=--format=pretty -test.v")
	run.Env = slices.DeleteFunc(os.Environ(), kube.IsInside) // a place of its own
	said, err := run.CombinedOutput()
	if err != nil || !strings.Contains(string(said), "--- PASS: TestSuite") {
		t.Errorf("make conformance SUITE=%s: %v\n%s", suite, err, said)
	}
}
