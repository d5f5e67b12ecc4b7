package operator

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"fairlead.dev/fairlead/test/kube"
)

// This file looks at the page of a cluster.

// TestThePageFollowsACluster serves the page of a cluster on a real API server: it has the operator's report, and shows a path that
// an Ingress gets.
func TestThePageFollowsACluster(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulated(t))
	w.serve(t, "web", "10.0.0.10")
	w.ask(t, path("/", "web"))
	w.replace(t)
	kube.Eventually(t, "the Ingress is served", func() bool { return w.hostname(t, "shop") != "" })
	command := exec.CommandContext(t.Context(), w.cluster.Command(t), "ui", "--live", "-n", w.namespace, "--kubeconfig="+w.cluster.Kubeconfig)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.Stderr = os.Stderr
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(line, "the page is ")
	address, _, _ := strings.Cut(rest, "/now,")
	shown := func(view, text string) bool {
		answer, err := http.Get(address + view)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		page, err := io.ReadAll(answer.Body)
		return err == nil && strings.Contains(string(page), text)
	}
	kube.Eventually(t, "the page has the address", func() bool { return shown("/now", w.hostname(t, "shop")) })
	if shown("/routes", "/added") {
		t.Error("the page has a path that the Ingress lacks")
	}
	w.ask(t, path("/", "web")+", "+path("/added", "web"))
	kube.Eventually(t, "the page has the new path", func() bool { return shown("/routes", "/added") })
}
