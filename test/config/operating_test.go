package config

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/fairlead/test/kube"
)

// operating are the pages about a cluster in which Fairlead serves, in the order in which their
// commands can be run one after the other.
var operating = []string{
	"how-to/operate", "how-to/wrong-service", "how-to/pause", "explanation/vanished", "how-to/restore", "how-to/roll-back",
	"how-to/uninstall",
}

// TestOperatingGuides runs every command of these pages, in one cluster.
func TestOperatingGuides(t *testing.T) {
	var guide strings.Builder
	for _, page := range operating {
		text, err := os.ReadFile("../../docs/" + page + ".md")
		if err != nil {
			t.Fatal(err)
		}
		guide.Write(text)
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
	for _, block := range blocks(guide.String()) {
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
