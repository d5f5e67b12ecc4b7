package config

import (
	"os"
	"regexp"
	"testing"
)

// This file holds what is said of versions of Kubernetes against what is tested.

// TestVersionsAreSaidAlike: the oldest API server, by its minor version, is written in more than
// one place.
func TestVersionsAreSaidAlike(t *testing.T) {
	const guide, version = "../../docs/reference/compatibility.md", "../../cli/operator/version.go"
	oldest := found(t, "../oldest/apiserver/go.mod", `k8s.io/kubernetes v1\.(\d+)\.`)
	newest := found(t, "../controlplane/go.mod", `k8s.io/kubernetes v1\.(\d+)\.`)
	types := found(t, "../../go.mod", `k8s.io/api v0\.(\d+)\.`)
	for what, said := range map[string][2]string{
		"the types that are compiled against": {oldest, found(t, "../oldest/types/go.mod", `k8s.io/api => k8s.io/api v0\.(\d+)\.`)},
		"the chart":                           {oldest, found(t, chart+"/Chart.yaml", `kubeVersion: ">=1\.(\d+)\.0-0"`)},
		"the guide on the oldest API server":  {oldest, found(t, guide, `\| oldest \| 1\.(\d+) \|`)},
		"the guide on the oldest types":       {oldest, found(t, guide, `\| oldest \| 1\.\d+ \| 1\.(\d+) \|`)},
		"the guide on the newest API server":  {newest, found(t, guide, `\| newest \| 1\.(\d+) \|`)},
		"the command on the oldest":           {oldest, found(t, version, `KubernetesVersions = "1\.(\d+) to 1\.\d+"`)},
		"the command on the newest":           {newest, found(t, version, `KubernetesVersions = "1\.\d+ to 1\.(\d+)"`)},
		"the guide on the newest types":       {types, found(t, guide, `\| newest \| 1\.\d+ \| 1\.(\d+) \|`)},
	} {
		if said[0] != said[1] {
			t.Errorf("%s: 1.%s, and 1.%s is tested", what, said[1], said[0])
		}
	}
}

// TestOneVersionOfFairlead: guides name the tag that a release of the chart has.
func TestOneVersionOfFairlead(t *testing.T) {
	version := found(t, chart+"/Chart.yaml", `(?m)^version: (\S+)$`)
	// Versions of images, releases and archives; v1alpha1 and versions of Kubernetes are none.
	named := regexp.MustCompile(`(?:fairlead:|fairlead-|VERSION=|newTag: |image\.tag=|dist/|git (?:tag -a|checkout) )v?(\d+\.\d+\.\d+)\b`)
	for _, page := range []string{"README.md", "docs/how-to/install.md", "docs/tutorials/eks.md", "docs/contributing/releasing.md", "Makefile", "CONTRIBUTING.md"} {
		text, err := os.ReadFile("../../" + page)
		if err != nil {
			t.Fatal(err)
		}
		versions := named.FindAllSubmatch(text, -1)
		if versions == nil {
			t.Errorf("%s names no version", page)
		}
		for _, found := range versions {
			if string(found[1]) != version {
				t.Errorf("%s has %s, and the chart is %s", page, found[0], version)
			}
		}
	}
}

// found is what a pattern's group matches in a file.
func found(t *testing.T, file, pattern string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	match := regexp.MustCompile(pattern).FindSubmatch(text)
	if match == nil {
		t.Fatalf("%s does not say %s", file, pattern)
	}
	return string(match[1])
}
