package operator

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// TestDiffLiveComparesTheClusterWithAppliedFiles has a file that asks for the same as the cluster has,
// one that asks for another path, and one with a new Ingress. Nothing is written.
func TestDiffLiveComparesTheClusterWithAppliedFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulated(t))
	w.serve(t, "web", "10.0.0.10")
	w.create(t, w.ingress("plain", "web", "/"))
	for name, c := range map[string]struct {
		ingress string
		path    string
		code    int
		has     string
	}{
		"the same":     {"plain", "/", 0, "no request is answered differently"},
		"another path": {"plain", "/x", 2, "after:  fixed 404"},
		"a new one":    {"new", "/new", 2, "curl http://new.example.com/new\n"},
	} {
		ing := w.ingress(c.ingress, "web", c.path)
		ing.TypeMeta = metav1.TypeMeta{APIVersion: networkingv1.SchemeGroupVersion.String(), Kind: "Ingress"}
		text, err := yaml.Marshal(ing)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "ingress.yaml")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		run := exec.CommandContext(t.Context(), w.cluster.Command(t), "diff", "--live", "--kubeconfig="+w.cluster.Kubeconfig, file)
		said, err := run.CombinedOutput()
		var ended *exec.ExitError
		if err != nil && !errors.As(err, &ended) {
			t.Fatal(err)
		}
		if code := run.ProcessState.ExitCode(); code != c.code || !strings.Contains(string(said), c.has) {
			t.Errorf("%s: exit code %d, want %d, and %q in\n%s", name, code, c.code, c.has, said)
		}
	}
}
