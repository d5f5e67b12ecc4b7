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

// A process is that command, running.
type process struct {
	*exec.Cmd
	flags  []string
	socket string // it listens there
	log    *os.File
}

// newProcess starts the command with some flags, and waits until it listens at a socket.
func newProcess(t *testing.T, socket string, flags ...string) *process {
	t.Helper()
	log, err := os.Create(socket + ".log")
	if err != nil {
		t.Fatal(err)
	}
	p := &process{flags: flags, socket: socket, log: log}
	t.Cleanup(func() {
		p.kill()
		if text, err := os.ReadFile(log.Name()); t.Failed() && testing.Verbose() && err == nil {
			t.Logf("%s wrote last: %s", flags[0], text[max(0, len(text)-2000):])
		}
		_ = log.Close()
	})
	if err := p.start(); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *process) start() error {
	p.Cmd = exec.Command(caddyCommand, p.flags...)
	p.Stdout, p.Stderr = p.log, p.log
	if err := p.Start(); err != nil {
		return err
	}
	for begun := time.Now(); time.Since(begun) < 30*time.Second; time.Sleep(10 * time.Millisecond) {
		if conn, err := net.Dial("unix", p.socket); err == nil {
			return conn.Close()
		}
	}
	return fmt.Errorf("%v does not listen", p.flags)
}

// kill ends the process the way a crash does.
func (p *process) kill() {
	if p.Process != nil {
		_ = p.Process.Kill()
		_ = p.Wait()
	}
}

// folder is one for sockets. The path of a socket has at most 108 bytes (unix(7)), which t.TempDir
// can exceed.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "caddy")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// startCaddy starts a provider that knows nothing, with a Caddy in its process, and returns its
// URL.
func startCaddy(t *testing.T, flags ...string) string {
	t.Helper()
	dir := folder(t)
	socket := filepath.Join(dir, "socket")
	newProcess(t, socket, append([]string{"run", "--listen", "unix:" + socket, "--state", dir, "--check-every", "10ms"}, flags...)...)
	return "unix://" + socket
}

// startBeside starts a Caddy, and a provider beside it that is another process.
func startBeside(t *testing.T, flags ...string) (provider *process, url string) {
	t.Helper()
	dir := folder(t)
	admin, socket, config := filepath.Join(dir, "admin"), filepath.Join(dir, "socket"), filepath.Join(dir, "caddy.json")
	if err := os.WriteFile(config, fmt.Appendf(nil, `{"admin": {"listen": "unix/%s", "config": {"persist": false}}}`, admin), 0o600); err != nil {
		t.Fatal(err)
	}
	newProcess(t, admin, "caddy", "run", "--config", config)
	flags = append([]string{"serve", "--admin", "unix/" + admin, "--listen", "unix:" + socket, "--state", dir, "--check-every", "10ms"}, flags...)
	return newProcess(t, socket, flags...), "unix://" + socket
}

// caddy is such a provider, as the operator reaches it.
func caddy(t *testing.T, flags ...string) *remote.Provider {
	t.Helper()
	return reach(t, startCaddy(t, flags...))
}

// reach reaches a provider as the operator does. A call that is answered with 500 is repeated for a
// while.
func reach(t *testing.T, url string) *remote.Provider {
	t.Helper()
	p, err := remote.Open(t.Context(), remote.Endpoint{Name: "caddy", URL: url, Call: 10 * time.Second, Log: logr.Discard()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}
