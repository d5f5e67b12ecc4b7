// Package gate runs the pipelines of docs/how-to/gitops.md on repositories that are broken, hostile or odd.
package gate

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/test/binary"
)

// This file runs the scripts of docs/how-to/gitops.md on a git repository, with a gh and a curl that keep
// comments in files.

// ghScript is gh: comment.md is the last comment of the token's user, and --edit-last alone fails
// where there is none (https://cli.github.com/manual/gh_pr_comment).
const ghScript = `#!/bin/sh
case "$*" in
"pr comment 7 --body-file report.md --edit-last --create-if-none") ;;
"pr comment 7 --body-file report.md --edit-last") [ -e comment.md ] || exit 1 ;;
*) echo "gh does not know $*" >&2; exit 1 ;;
esac
cp report.md comment.md
`

// curlScript is curl on GitLab's notes of merge request 7 (https://docs.gitlab.com/api/notes/):
// comment.md is the newest note.
const curlScript = `#!/bin/sh
notes=https://gitlab.example.com/api/v4/projects/3/merge_requests/7/notes
case "$*" in
"--fail --silent --show-error --header PRIVATE-TOKEN: secret --data-urlencode body@report.md $notes")
	cp report.md comment.md ;;
"--fail --silent --show-error --header PRIVATE-TOKEN: secret $notes?per_page=100")
	if [ -e comment.md ]; then
		printf '[{"id":302,"body":"%s"},{"id":301,"body":"Looks fine"}]' "$(head -n 1 comment.md)"
	else
		printf '[{"id":301,"body":"Not a comment of Fairlead: fine"}]'
	fi ;;
*) echo "curl does not know $*" >&2; exit 1 ;;
esac
`

// commands puts fairlead, gh and curl into the PATH.
func commands(t *testing.T) {
	t.Helper()
	bin := t.TempDir()
	if err := binary.Build(t.Context(), filepath.Join(bin, "fairlead")); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"gh": ghScript, "curl": curlScript} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// script returns the script of the block of YAML that has a text.
func script(t *testing.T, has string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/how-to/gitops.md")
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
	commands(t)
	shop := ingressYAML("web", "a.example.com", "/")
	facing := strings.Replace(shop, "namespace: shop", "namespace: shop, annotations: {fairlead.dev/scheme: internet-facing}", 1)
	type push struct {
		after   string
		passes  bool
		comment string // a part of the last comment; none where nothing is commented
	}
	inbound := func(ranges string) string {
		annotated := `namespace: shop, annotations: {fairlead.dev/inbound: "` + ranges + `"}`
		return strings.Replace(shop, "namespace: shop", annotated, 1)
	}
	changed := ingressYAML("web", "a.example.com", "/x")
	for name, pushes := range map[string][]push{
		"nothing changes":     {{shop, true, ""}},
		"a path changes":      {{changed, true, "`curl http://a.example.com/`"}},
		"it becomes public":   {{facing, false, "**less protected**"}},
		"it cannot be read":   {{"a: [", false, "1 problem in the files"}},
		"the Ingress is gone": {{"", true, "no load balancer"}},
		"a host is misspelt": {{ingressYAML("web", "BAD_HOST", "/") + "---\n" +
			ingressYAML("other", "b.example.com", "/"), false, "`curl http://b.example.com/`"}},
		"the next push takes it back": {{facing, false, "**less protected**"}, {shop, true, "no request is answered differently"}},
		"the next push differs":       {{facing, false, "**less protected**"}, {changed, true, "`curl http://a.example.com/`"}},
		"fewer addresses may connect": {
			{inbound("10.1.0.0/16"), true, "**more protected**"}, {shop, true, "no request is"},
		},
		"nothing changes at first": {{shop, true, ""}, {facing, false, "**less protected**"}},
	} {
		for pipeline, script := range map[string]string{"GitHub": github, "GitLab": gitlab} {
			t.Run(name+" on "+pipeline, func(t *testing.T) {
				repository(t, map[string]string{"manifests/team/ingress.yaml": shop, "manifests/service.yaml": serviceYAML})
				for _, p := range pushes {
					write(t, "manifests/team/ingress.yaml", p.after)
					summary := runPipeline(t, script, p.passes)
					comment, _ := os.ReadFile("comment.md")
					if !strings.Contains(string(comment), p.comment) || (p.comment == "") != (len(comment) == 0) {
						t.Errorf("the comment is %q, want %q", comment, p.comment)
					}
					if pipeline == "GitHub" && !strings.Contains(summary, p.comment) {
						t.Errorf("the summary is %q, want %q", summary, p.comment)
					}
				}
			})
		}
	}
	t.Run("a fork on GitHub", func(t *testing.T) {
		repository(t, map[string]string{"manifests/team/ingress.yaml": shop, "manifests/service.yaml": serviceYAML})
		write(t, "manifests/team/ingress.yaml", changed)
		t.Setenv("FORK", "true")
		if summary := runPipeline(t, github, true); !strings.Contains(summary, "`curl http://a.example.com/`") {
			t.Errorf("the summary is %q", summary)
		}
		if comment, err := os.ReadFile("comment.md"); err == nil {
			t.Errorf("a comment that the token cannot make: %q", comment)
		}
	})
}

// runPipeline runs a script as a shell of a pipeline does, which GitLab starts with pipefail
// (https://gitlab.com/gitlab-org/gitlab-runner/-/work_items/25394), and returns the job's summary.
func runPipeline(t *testing.T, script string, passes bool) string {
	t.Helper()
	summary := filepath.Join(t.TempDir(), "summary.md")
	cmd := exec.CommandContext(t.Context(), "bash", "-e", "-o", "pipefail", "-c",
		strings.ReplaceAll(script, "origin/$GITHUB_BASE_REF", "main"))
	cmd.Env = append(os.Environ(), "GITHUB_STEP_SUMMARY="+summary, "PULL_REQUEST=7",
		"CI_MERGE_REQUEST_DIFF_BASE_SHA=main", "CI_API_V4_URL=https://gitlab.example.com/api/v4",
		"CI_PROJECT_ID=3", "CI_MERGE_REQUEST_IID=7", "GITLAB_TOKEN=secret")
	out, err := cmd.CombinedOutput()
	if (err == nil) != passes {
		t.Errorf("the job passes: %t, want %t\n%s", err == nil, passes, out)
	}
	text, _ := os.ReadFile(summary)
	return string(text)
}
