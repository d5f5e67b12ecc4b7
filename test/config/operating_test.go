package config

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/fairlead/test/kube"
)

// TestOperatingGuide runs every command of docs/how-to/operate.md, in a cluster in which Fairlead
// serves.
func TestOperatingGuide(t *testing.T) {
	guide, err := os.ReadFile("../../docs/how-to/operate.md")
	if err != nil {
		t.Fatal(err)
	}
	c := kube.Start(t, kube.Options{})
	replica := c.StartReplica(t, "--provider=fake", "--metrics-bind-address=0", "--health-probe-bind-address=0")
	tools, err := filepath.Abs("../../.cache/bin")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(tools, "kubectl")); err != nil {
		t.Fatalf("%s: `make setup` builds it", err)
	}
	own := t.TempDir()
	if err := os.Symlink(replica.Command(), filepath.Join(own, "fairlead")); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, block := range blocks(string(guide)) {
		command := exec.CommandContext(t.Context(), "bash", "-euxo", "pipefail", "-c", block)
		command.Dir = "../.."
		command.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig, "PATH="+strings.Join([]string{tools, own, os.Getenv("PATH")}, ":"))
		if said, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%s\n%s\nThe operator:\n%s", err, said, replica.Log())
		}
		ran++
	}
	if ran < 8 {
		t.Errorf("only %d blocks of commands were found", ran)
	}
}

// blocks are what stands between fences that name no language.
func blocks(markdown string) []string {
	var out []string
	for i, part := range strings.Split(markdown, "\n```") {
		if commands, plain := strings.CutPrefix(part, "\n"); plain && i%2 == 1 {
			out = append(out, commands)
		}
	}
	return out
}
