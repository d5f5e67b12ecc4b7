package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/test/nightly"
)

// This file tests that a saved state stands for the files that were planned.

// manifestsOfStories are the objects of each golden story, in directories of their own.
func manifestsOfStories(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../test/golden/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range strings.Split(string(text), "\n-- ")[1:] {
			name, objects, _ := strings.Cut(part, " --\n")
			if strings.HasSuffix(name, ".yaml") {
				out = append(out, directory(t, map[string]string{"objects.yaml": objects}))
			}
		}
	}
	return out
}

// savedPlan is the file with a plan of a directory; "" where there is nothing to plan.
func savedPlan(t *testing.T, format, dir string) string {
	t.Helper()
	got := fairlead(t, "plan", "--provider", "aws", dir, "-o", format)
	if strings.TrimSpace(got.out) == "" {
		return ""
	}
	file := filepath.Join(t.TempDir(), "saved."+format)
	write(t, file, got.out)
	return file
}

// TestASavedStateIsComparedAsItsFiles compares golden stories with the next one each, and the samples
// with the first, from files and from a saved state on either side.
func TestASavedStateIsComparedAsItsFiles(t *testing.T) {
	dirs := append(manifestsOfStories(t), "../config/samples")
	pairs := make([][2]string, len(dirs))
	for i, old := range dirs {
		pairs[i] = [2]string{old, dirs[(i+1)%len(dirs)]}
	}
	compared, differ, refused := 0, 0, 0
	for i, pair := range nightly.Some(t, 40, pairs) {
		old, now := pair[0], pair[1]
		format := []string{"json", "yaml"}[i%2]
		before, after := savedPlan(t, format, old), savedPlan(t, format, now)
		want := fairlead(t, "diff", "--provider", "aws", old, now, "-o", "json")
		if before == "" || after == "" || want.code == exitFail {
			continue // a file has what is refused
		}
		compared++
		if want.code != exitDone {
			differ++
		}
		for name, args := range map[string][]string{
			"the first is saved": {"--old-state", before, now}, "the second is saved": {old, "--new-state", after},
			"both are saved": {"--old-state", before, "--new-state", after},
		} {
			got := fairlead(t, append([]string{"diff", "--provider", "aws", "-o", "json"}, args...)...)
			if got.code == exitFail && strings.Contains(got.err, "some and not all") {
				refused++
				continue
			}
			if diff := cmp.Diff(want.out, got.out); diff != "" || got.code != want.code {
				t.Errorf("%s and %s, %s: exit code %d, want %d: %s\n%s", old, now, name, got.code, want.code, got.err, diff)
			}
		}
	}
	t.Logf("%d pairs, of which %d differ; %d comparisons are refused", compared, differ, refused)
	if differ < compared/2 || refused > compared/2 || compared == 0 {
		t.Error("that is too little to show anything")
	}
}

// A state is of its provider: compiled for another one, the same files may be refused.
func TestASavedStateIsOfItsProvider(t *testing.T) {
	dir := shop(t)
	state := savedPlan(t, "json", dir)
	for _, sides := range [][]string{{"--old-state", state, dir}, {"--new-state", state, dir}} {
		got := fairlead(t, append([]string{"diff"}, sides...)...)
		if got.code != exitFail || !strings.Contains(got.err, "compiled for aws, and it is to be compared "+
			"with files for fake: give --provider aws") {
			t.Errorf("exit code %d\n%s%s", got.code, got.out, got.err)
		}
	}
	if got := fairlead(t, "diff", "--old-state", state, "--new-state", state); got.code != exitDone {
		t.Errorf("two states: exit code %d\n%s%s", got.code, got.out, got.err)
	}
}

// An object that was left out of the plan is left out of the comparison, too.
func TestASavedStateSaysWhatItLeftOut(t *testing.T) {
	whole := directory(t, map[string]string{"a.yaml": ingressYAML("web", "a.example.com", "/") + "---\n" + serviceYAML})
	broken := directory(t, map[string]string{
		"a.yaml": ingressYAML("web", "a.example.com", "/") + "---\n" + serviceYAML,
		"b.yaml": strings.Replace(ingressYAML("api", "b.example.com", "/"), "pathType: Prefix", "pathType: Prefx", 1),
	})
	state := savedPlan(t, "json", broken)
	for _, sides := range [][]string{{"--old-state", state, whole}, {"--new-state", state, whole}} {
		got := fairlead(t, append([]string{"diff", "--provider", "aws"}, sides...)...)
		if got.code != exitFail || !strings.Contains(got.out, "not read") || !strings.Contains(got.out, "b.yaml") {
			t.Errorf("exit code %d\n%s%s", got.code, got.out, got.err)
		}
	}
}

// TestASavedStateOfAnOlderVersion says what to do.
func TestASavedStateOfAnOlderVersion(t *testing.T) {
	file := filepath.Join(t.TempDir(), "saved.json")
	write(t, file, `{"loadBalancers": [], "steps": [], "state": {}}`)
	got := fairlead(t, "diff", "--old-state", file, "../config/samples")
	if got.code != exitFail || !strings.Contains(got.err, file+": the output of a plan without the key routing") {
		t.Errorf("exit code %d: %s%s", got.code, got.out, got.err)
	}
}
