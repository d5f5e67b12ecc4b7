package neutral

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"

	"fairlead.dev/fairlead/providers/remote"
)

// This file runs the provider of examples/caddy.

// caddyCommand is that provider, built once.
var caddyCommand string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "neutral")
	if err == nil {
		defer os.RemoveAll(dir)
		caddyCommand = filepath.Join(dir, "caddy-provider")
		err = build("../../examples/caddy", caddyCommand)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// build compiles the command in a folder of a module.
func build(folder, to string) error {
	command := exec.Command("go", "build", "-o", to, ".")
	command.Dir = folder
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", folder, err, out)
	}
	return nil
}

// startCaddy starts a provider that knows nothing, with a Caddy of its own, and returns its URL.
func startCaddy(t *testing.T, flags ...string) string {
	t.Helper()
	// The path of a socket has at most 108 bytes (unix(7)), which t.TempDir can exceed.
	dir, err := os.MkdirTemp("", "caddy")
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "socket")
	command := exec.Command(caddyCommand, append([]string{"run", "--listen", "unix:" + socket, "--state", filepath.Join(dir, "state"),
		"--check-every", "10ms"}, flags...)...)
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		_ = log.Close()
		if text, err := os.ReadFile(log.Name()); t.Failed() && testing.Verbose() && err == nil {
			t.Logf("what the provider wrote last: %s", text[max(0, len(text)-2000):])
		}
		_ = os.RemoveAll(dir)
	})
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if conn, err := net.Dial("unix", socket); err == nil {
			_ = conn.Close()
			return "unix://" + socket
		}
		if time.Since(begun) > 30*time.Second {
			t.Fatal("the provider does not listen")
		}
	}
}

// caddy is such a provider, as the operator reaches it. A call that the provider answers with 500 is repeated for a while.
func caddy(t *testing.T, flags ...string) *remote.Provider {
	t.Helper()
	p, err := remote.Open(t.Context(), remote.Endpoint{Name: "caddy", URL: startCaddy(t, flags...), Call: 10 * time.Second, Log: logr.Discard()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}
