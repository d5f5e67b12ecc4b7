package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// This file runs the scripts of docs/gitops.md on a git repository, with a gh and a curl that keep
// the report that they are given.

// script returns the script of the block of YAML that has a text.
func script(t *testing.T, has string) string {
	t.Helper()
	page, err := os.ReadFile("../docs/gitops.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range strings.Split(string(page), "```yaml\n")[1:] {
		block, _, _ = strings.Cut(block, "\n```")
		if !strings.Contains(block, has) {
			continue
		}
		var document any
		if err := yaml.Unmarshal([]byte(block), &document); err != nil {
			t.Fatal(err)
		}
		if found := longest(document); strings.Contains(found, has) {
			return found
		}
	}
	t.Fatalf("no script has %q", has)
	return ""
}

// longest is the longest text in a document: its script.
func longest(value any) string {
	var all []any
	switch v := value.(type) {
	case string:
		return v
	case []any:
		all = v
	case map[string]any:
		for _, one := range v {
			all = append(all, one)
		}
	}
	out := ""
	for _, one := range all {
		if text := longest(one); len(text) > len(out) {
			out = text
		}
	}
	return out
}

func TestThePipelinesOfThePageCommentWhatChanges(t *testing.T) {
	if testing.Short() {
		t.Skip("it links the binary")
	}
	github, gitlab := script(t, "gh pr comment"), script(t, "PRIVATE-TOKEN")
	bin := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(bin, "fairlead"), "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, text := range map[string]string{"gh": "cp report.md comment.md; echo \"$@\" > called\n", "curl": "cp report.md comment.md; echo \"$@\" > called\n"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	shop := ingressYAML("web", "a.example.com", "/")
	facing := strings.Replace(shop, "namespace: shop", "namespace: shop, annotations: {fairlead.dev/scheme: internet-facing}", 1)
	for name, c := range map[string]struct {
		after   string
		passes  bool
		comment string // a part of it; none where nothing is commented
	}{
		"nothing changes":     {shop, true, ""},
		"a path changes":      {ingressYAML("web", "a.example.com", "/x"), true, "`curl http://a.example.com/`"},
		"it becomes public":   {facing, false, "**less protected**"},
		"it cannot be read":   {"a: [", false, ""},
		"a host is misspelt":  {ingressYAML("web", "BAD_HOST", "/") + "---\n" + ingressYAML("other", "b.example.com", "/"), false, "`curl http://b.example.com/`"},
		"the Ingress is gone": {"", true, "no load balancer"},
	} {
		for pipeline, script := range map[string]string{"GitHub": github, "GitLab": gitlab} {
			t.Run(name+" on "+pipeline, func(t *testing.T) {
				repository(t, map[string]string{"manifests/team/ingress.yaml": shop, "manifests/service.yaml": serviceYAML})
				write(t, "manifests/team/ingress.yaml", c.after)
				cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", strings.ReplaceAll(script, "origin/$GITHUB_BASE_REF", "main"))
				cmd.Env = append(os.Environ(), "CI_MERGE_REQUEST_DIFF_BASE_SHA=main", "PULL_REQUEST=7", "CI_API_V4_URL=https://gitlab.example.com/api/v4",
					"CI_PROJECT_ID=3", "CI_MERGE_REQUEST_IID=7", "GITLAB_TOKEN=secret")
				out, err := cmd.CombinedOutput()
				if (err == nil) != c.passes {
					t.Errorf("the job passes: %t, want %t\n%s", err == nil, c.passes, out)
				}
				comment, _ := os.ReadFile("comment.md")
				if !strings.Contains(string(comment), c.comment) || (c.comment == "") != (len(comment) == 0) {
					t.Errorf("the comment is %q, want %q\n%s", comment, c.comment, out)
				}
				if called, _ := os.ReadFile("called"); len(comment) > 0 && !strings.Contains(string(called), "7") {
					t.Errorf("the request is not named: %s", called)
				}
			})
		}
	}
}
