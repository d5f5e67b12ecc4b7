package main

import (
	"bytes"
	"compress/gzip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/CycloneDX/cyclonedx-go"
)

// TestChartIsOfTheVersion has Helm read the package, and render what it deploys.
func TestChartIsOfTheVersion(t *testing.T) {
	chart, err := trial().chart(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if chart.name != "fairlead-1.2.3.tgz" {
		t.Errorf("the package is %s", chart.name)
	}
	path := filepath.Join(t.TempDir(), chart.name)
	if err := os.WriteFile(path, chart.data, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ command, want string }{
		{"show", "\nversion: 1.2.3\n"},
		{"show", "\nappVersion: v1.2.3\n"},
		{"template", "image: registry.example.com/fairlead:v1.2.3\n"},
		{"template", "kind: CustomResourceDefinition\n"},
	} {
		args := map[string][]string{
			"show":     {"show", "chart", path},
			"template": {"template", "fairlead", path, "--set", "image.repository=registry.example.com/fairlead"},
		}[c.command]
		if out := "\n" + helm(t, args...); !strings.Contains(out, c.want) {
			t.Errorf("helm %s has no %q:\n%s", c.command, c.want, out)
		}
	}
}

func helm(t *testing.T, args ...string) string {
	t.Helper()
	path, err := filepath.Abs("../../.cache/bin/helm")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%s is missing: `make setup` builds it", path)
	}
	home := t.TempDir()
	command := exec.CommandContext(t.Context(), path, args...)
	command.Env = append(os.Environ(),
		"HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("helm %s: %s\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestAChartWithoutALineForTheVersionIsRefused: it would be packed under a version that is not its
// own.
func TestAChartWithoutALineForTheVersionIsRefused(t *testing.T) {
	r := trial()
	r.tree = repository(t, map[string]string{chartDir + "/Chart.yaml": "name: fairlead\nversion: 0.2.0\n"})
	if _, err := r.chart(t.Context()); err == nil || !strings.Contains(err.Error(), `Chart.yaml: want "version: 0.1.0" once`) {
		t.Errorf("the error is %v", err)
	}
}

// TestSBOMListsWhatABinaryLinks reads this test's own binary, whose modules the Go tool records,
// too.
func TestSBOMListsWhatABinaryLinks(t *testing.T) {
	data, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	sbom, err := trial().sbom([]binary{{platform{runtime.GOOS, runtime.GOARCH}, data}})
	if err != nil {
		t.Fatal(err)
	}
	bom := readSBOM(t, sbom)
	if got := bom.Metadata.Component; got.Type != "application" || got.Version != "v1.2.3" {
		t.Errorf("it is of the %s %s %s", got.Type, got.Name, got.Version)
	}
	if bom.Metadata.Timestamp != "2026-11-24T09:00:00Z" {
		t.Errorf("it is of %s", bom.Metadata.Timestamp)
	}
	found := map[string]cyclonedx.Component{}
	for _, c := range *bom.Components {
		found[c.Name] = c
	}
	c := found["github.com/google/go-containerregistry"]
	if !strings.HasPrefix(c.PackageURL, "pkg:golang/github.com/google/go-containerregistry@v0.") || c.Hashes == nil {
		t.Errorf("a library is listed as %+v", c)
	}
	if got := found["std"].Version; "go"+got != runtime.Version() {
		t.Errorf("Go's own library is of %q, want %s", got, runtime.Version())
	}
	if linked := (*bom.Dependencies)[0]; len(*linked.Dependencies) != len(*bom.Components) {
		t.Errorf("the program depends on %d of %d components", len(*linked.Dependencies), len(*bom.Components))
	}
}

func readSBOM(t *testing.T, sbom file) *cyclonedx.BOM {
	t.Helper()
	bom := new(cyclonedx.BOM)
	decoder := cyclonedx.NewBOMDecoder(bytes.NewReader(sbom.data), cyclonedx.BOMFileFormatJSON)
	if err := decoder.Decode(bom); err != nil {
		t.Fatal(err)
	}
	return bom
}

// TestTwoReleasesOfACommitAreEqual makes a whole release for this machine's platform twice: of a
// copy of this tree, and of a clone of that copy in another directory, whose files have other
// modes.
func TestTwoReleasesOfACommitAreEqual(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles the operator")
	}
	first := filepath.Join(t.TempDir(), "first")
	copyTree(t, first)
	commit(t, first)
	second := filepath.Join(t.TempDir(), "elsewhere")
	if out, err := exec.Command("git", "clone", "--quiet", first, second).CombinedOutput(); err != nil {
		t.Fatalf("%s: %s", err, out)
	}
	if err := os.Chmod(filepath.Join(second, chartDir, "values.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}

	here := platform{runtime.GOOS, runtime.GOARCH}
	var releases [2][]file
	for i, tree := range []string{first, second} {
		r, err := check(t.Context(), tree, "v1.2.3-test")
		if err != nil {
			t.Fatal(err)
		}
		r.downloads = "https://downloads.example/fairlead"
		if releases[i], err = r.files(t.Context(), []platform{here}); err != nil {
			t.Fatal(err)
		}
	}
	var names []string
	for i, f := range releases[0] {
		names = append(names, f.name)
		if other := releases[1][i]; f.name != other.name || !bytes.Equal(f.data, other.data) {
			t.Errorf("%s of the one directory is not %s of the other one", f.name, other.name)
		}
	}
	want := []string{
		"fairlead-v1.2.3-test-" + here.os + "-" + here.arch + ".tar.gz", "fairlead-v1.2.3-test-image.tar",
		"fairlead-1.2.3-test.tgz", "fairlead-v1.2.3-test.cdx.json", "fairlead.yaml", "RELEASE-NOTES.md", "SHA256SUMS",
	}
	if !slices.Equal(names, want) {
		t.Errorf("a release has %v, want %v", names, want)
	}
	t.Run("TheBinaryKnowsItsVersion", func(t *testing.T) { checkVersion(t, releases[0][0]) })
	t.Run("TheSBOMIsOfTheBinary", func(t *testing.T) {
		bom := readSBOM(t, releases[0][3])
		lists := func(name string) bool {
			return slices.ContainsFunc(*bom.Components, func(c cyclonedx.Component) bool { return c.Name == name })
		}
		if !lists("sigs.k8s.io/controller-runtime") || lists("github.com/google/go-containerregistry") {
			t.Errorf("it lists %v", *bom.Components)
		}
	})
}

// copyTree copies the files that git has or would have, with a changelog that knows the version.
func copyTree(t *testing.T, to string) {
	t.Helper()
	listed, err := git(t.Context(), "../..", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(listed, "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join("../..", name))
		if os.IsNotExist(err) {
			continue // deleted, and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		if name == "CHANGELOG.md" {
			text = append(text, "\n## [1.2.3-test] - 2026-11-24\n\nNotes.\n"...)
		}
		writeFile(t, filepath.Join(to, name), string(text))
	}
}

func checkVersion(t *testing.T, archive file) {
	unpacked, err := gzip.NewReader(bytes.NewReader(archive.data))
	if err != nil {
		t.Fatal(err)
	}
	program := entries(t, unpacked)[0]
	path := filepath.Join(t.TempDir(), program.header.Name)
	if err := os.WriteFile(path, []byte(program.text), 0o700); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(path, "version").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "fairlead v1.2.3-test ") {
		t.Errorf("it says %q, %v", out, err)
	}
}
