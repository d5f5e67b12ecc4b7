package cli

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/cli/source"
	"fairlead.dev/fairlead/providers/clouds"
)

func TestAStateIsReadInItsOrderWhateverTheFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state.json")
	write(t, file, `{"k": {"key": "k", "exists": true, "listeners": [
		{"port": 443, "protocol": "HTTPS"},
		{"port": 80, "protocol": "HTTP", "rules": [{"priority": 20, "conditions": []}, {"priority": 10, "conditions": []}]}]}}`)
	state, err := source.ReadState(file)
	seen := state.Observed
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	for _, l := range seen["k"].Listeners {
		got = append(got, int(l.Port))
		for _, r := range l.Rules {
			got = append(got, r.Priority)
		}
	}
	if diff := cmp.Diff([]int{80, 10, 20, 443}, got); diff != "" {
		t.Errorf("ports, each with its priorities (-want +got):\n%s", diff)
	}
}

func TestTheFakesStateFileIsWhatPlanReads(t *testing.T) {
	// The demo's cloud writes what plan is then given.
	dir := directory(t, map[string]string{"ingress.yaml": ingressYAML("web", "a.example.com", "/"), "service.yaml": serviceYAML})
	file := filepath.Join(t.TempDir(), "state.json")
	with := testProviders().with(func(c *clouds.Cloud) {
		c.Local = func() (clouds.Local, error) { return servingTo(file) }
	})
	if got := runWith(t, with, "demo", "--once", "-f", dir); got.code != exitDone {
		t.Fatalf("%+v", got)
	}
	if got := runWith(t, with, "plan", "-f", dir, "--observed", file); got.code != exitDone {
		t.Errorf("there is something left to do after the demo:\n%s%s", got.out, got.err)
	}
}
