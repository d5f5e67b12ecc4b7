package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/fairlead/cli/comparison"
)

// This file tests that diff tells what requests get.

// diffOf compares two Ingresses, with their Service.
func diffOf(t *testing.T, before, after string, flags ...string) said {
	t.Helper()
	old := directory(t, map[string]string{"service.yaml": serviceYAML, "ingress.yaml": before})
	now := directory(t, map[string]string{"service.yaml": serviceYAML, "ingress.yaml": after})
	return fairlead(t, append([]string{"diff", old, now}, flags...)...)
}

func TestDiffSaysWhatChangesForRequests(t *testing.T) {
	shop := ingressYAML("web", "a.example.com", "/")
	facing := strings.Replace(shop, "namespace: shop", "namespace: shop, annotations: {fairlead.dev/scheme: internet-facing}", 1)
	secure := shop + "  tls: [{hosts: [a.example.com], secretName: web}]\n"
	for name, c := range map[string]struct {
		before, after string
		code          int
		has           []string
	}{
		"nothing": {shop, shop, exitDone, []string{"Summary: no request is answered differently"}},
		"another spelling of the same": {
			shop, strings.Replace(shop, `path: "/"`, `path: ""`, 1), exitFail, nil, // the API server refuses it
		},
		"a path": {shop, ingressYAML("web", "a.example.com", "/x"), exitToDo, []string{
			"curl http://a.example.com/\n", "before: forward shop/web:80, by Ingress shop/web spec.rules[0].http.paths[0]", "after:  fixed 404",
		}},
		"an order of paths that makes no difference": {
			shop + "      - {path: /y, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}\n", shop, exitDone, nil,
		},
		"a public load balancer": {shop, facing, exitLess, []string{"less protected", "internet-facing"}},
		"an internal one":        {facing, shop, exitToDo, []string{"more protected"}},
		"a port that closes":     {secure, shop, exitToDo, []string{"more protected", "curl https://a.example.com/"}},
		"a Secret that both lack is the same": {
			secure, strings.Replace(secure, "name: web, port", "name: web2, port", 1), exitToDo, []string{"curl https://a.example.com/"},
		},
		"the only Ingress": {shop, "", exitToDo, []string{"after:  no load balancer"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := diffOf(t, c.before, c.after)
			if got.code != c.code {
				t.Errorf("exit code %d, want %d:\n%s%s", got.code, c.code, got.out, got.err)
			}
			for _, text := range c.has {
				if !strings.Contains(got.out, text) {
					t.Errorf("%q is missing in\n%s%s", text, got.out, got.err)
				}
			}
		})
	}
}

// TestDiffPrintsWhatCanBeReadOfABrokenSide: a broken object costs itself, and the exit code says so.
func TestDiffPrintsWhatCanBeReadOfABrokenSide(t *testing.T) {
	got := diffOf(t, ingressYAML("web", "a.example.com", "/"),
		ingressYAML("web", "a.example.com", "/x")+"---\n"+ingressYAML("bad", "BAD_HOST", "/"))
	if got.code != exitFail || !strings.Contains(got.out, "curl http://a.example.com/") || !strings.Contains(got.out, "BAD_HOST") ||
		got.err != "error: not everything was read: 1 problem\n" {
		t.Errorf("exit code %d:\n%s%s", got.code, got.out, got.err)
	}
}

// TestDiffWithoutTwoSides has command lines that name no two configurations.
func TestDiffWithoutTwoSides(t *testing.T) {
	dir := directory(t, map[string]string{"ingress.yaml": ingressYAML("web", "a.example.com", "/")})
	for _, args := range [][]string{
		{}, {dir}, {dir, dir, dir}, {"-f", dir}, {"--base", "main"}, {"--base", "-h", dir}, {"--base", "main", "--live", dir},
	} {
		if got := fairlead(t, append([]string{"diff"}, args...)...); got.code != exitFail || got.out != "" {
			t.Errorf("diff %q ends with %d:\n%s%s", args, got.code, got.out, got.err)
		}
	}
}

// repository makes a git repository with one commit, and changes to it.
func repository(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := directory(t, nil)
	t.Chdir(dir)
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, name, text)
	}
	runGit(t, "init", "-q", "-b", "main")
	runGit(t, "add", "-A")
	runGit(t, "commit", "-q", "-m", "first")
	return dir
}

func runGit(t *testing.T, args ...string) {
	t.Helper()
	args = append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)
	if out, err := exec.CommandContext(t.Context(), "git", args...).CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

// TestDiffOfFilesThatAreGone: a directory or a file that the revision has and that was deleted since
// is compared as one without Ingresses. One that neither has is an error.
func TestDiffOfFilesThatAreGone(t *testing.T) {
	repository(t, map[string]string{"shop/a.yaml": ingressYAML("web", "a.example.com", "/"), "b.yaml": ingressYAML("api", "b.example.com", "/")})
	for _, path := range []string{"shop", "b.yaml"} {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
		if got := fairlead(t, "diff", "--base", "main", path); got.code != exitToDo || !strings.Contains(got.out, "after:  no load balancer") {
			t.Errorf("%s: exit code %d: %s%s", path, got.code, got.out, got.err)
		}
	}
	if got := fairlead(t, "diff", "--base", "main", "shop", "never"); got.code != exitFail || !strings.Contains(got.err, "never: no such file") {
		t.Errorf("of a directory that never was: exit code %d: %s", got.code, got.err)
	}
}

// TestDiffWithAGitRevision compares files that are changed, new and the same, from a directory inside
// the repository, too.
func TestDiffWithAGitRevision(t *testing.T) {
	top := repository(t, map[string]string{
		"shop/ingress.yaml": ingressYAML("web", "a.example.com", "/"), "shop/service.yaml": serviceYAML,
	})
	if got := fairlead(t, "diff", "--base", "main", "shop"); got.code != exitDone {
		t.Errorf("nothing has changed, and the exit code is %d:\n%s%s", got.code, got.out, got.err)
	}
	write(t, "shop/ingress.yaml", ingressYAML("web", "a.example.com", "/x"))
	for _, in := range []string{top, filepath.Join(top, "shop")} {
		t.Chdir(in)
		got := fairlead(t, "diff", "--base", "main", filepath.Join(top, "shop"))
		if got.code != exitToDo || !strings.Contains(got.out, "curl http://a.example.com/\n") {
			t.Errorf("in %s the exit code is %d:\n%s%s", in, got.code, got.out, got.err)
		}
	}
	t.Chdir(top)
	write(t, "new.yaml", ingressYAML("new", "b.example.com", "/"))
	got := fairlead(t, "diff", "--base", "main", "new.yaml")
	if got.code != exitToDo || !strings.Contains(got.out, "curl http://b.example.com/\n") {
		t.Errorf("a file is new, and the exit code is %d:\n%s%s", got.code, got.out, got.err)
	}
	for _, args := range [][]string{{"--base", "gone", "shop"}, {"--base", "main", t.TempDir()}} {
		if got := fairlead(t, append([]string{"diff"}, args...)...); got.code != exitFail {
			t.Errorf("diff %q ends with %d:\n%s%s", args, got.code, got.out, got.err)
		}
	}
}

// TestDiffForPrograms reads JSON and Markdown.
func TestDiffForPrograms(t *testing.T) {
	before := ingressYAML("web", "a.example.com", "/")
	after := ingressYAML("web", "a.example.com", "/x")
	var report comparison.Report
	if err := json.Unmarshal([]byte(diffOf(t, before, after, "-o", "json").out), &report); err != nil {
		t.Fatal(err)
	}
	if report.Summary.Requests != len(report.Changes) || len(report.Changes) != 1 || report.Changes[0].Request.URL != "http://a.example.com/" {
		t.Errorf("%+v", report)
	}
	got := diffOf(t, before, after, "-o", "markdown")
	for _, text := range []string{"### Fairlead: 1 route changes", "| `curl http://a.example.com/` |"} {
		if !strings.Contains(got.out, text) {
			t.Errorf("%q is missing in\n%s", text, got.out)
		}
	}
}

// TestWhatCannotBeReadIsNoDeletionInSilence breaks one of two Ingresses, in both ways, on either side.
func TestWhatCannotBeReadIsNoDeletionInSilence(t *testing.T) {
	web, other := ingressYAML("web", "a.example.com", "/"), ingressYAML("other", "b.example.com", "/")
	whole := directory(t, map[string]string{"service.yaml": serviceYAML, "web.yaml": web, "other.yaml": other})
	for name, c := range map[string]struct{ broken, same string }{
		"an object": {strings.Replace(web, "pathType: Prefix", "pathType: Wrong", 1), "; 2 problems"},
		"a file":    {strings.Replace(web, "kind: Ingress", "kind: [Ingress", 1), "\n"}, // kubectl reads neither
	} {
		t.Run(name, func(t *testing.T) {
			broken := c.broken
			part := directory(t, map[string]string{"service.yaml": serviceYAML, "web.yaml": broken, "other.yaml": other})
			const unread = "1 problem in the files, so not everything was read"
			got := fairlead(t, "diff", whole, part)
			if got.code != exitFail || !strings.Contains(got.out, "not read after: "+filepath.Join(part, "web.yaml")+":") ||
				!strings.Contains(got.out, unread+": what seems to be gone or new may only be unread") {
				t.Errorf("exit code %d:\n%s%s", got.code, got.out, got.err)
			}
			if got := fairlead(t, "diff", part, whole); got.code != exitFail || !strings.Contains(got.out, "not read before: ") {
				t.Errorf("exit code %d:\n%s%s", got.code, got.out, got.err)
			}
			if got := fairlead(t, "diff", part, part); !strings.Contains(got.out, "Summary: no request is answered differently"+c.same) {
				t.Errorf("exit code %d:\n%s%s", got.code, got.out, got.err)
			}
			if got := fairlead(t, "diff", whole, part, "-o", "markdown"); !strings.Contains(got.out, unread) || !strings.Contains(got.out, "| Not read |") {
				t.Errorf("exit code %d:\n%s%s", got.code, got.out, got.err)
			}
			var report comparison.Report
			if err := json.Unmarshal([]byte(fairlead(t, "diff", whole, part, "-o", "json").out), &report); err != nil {
				t.Fatal(err)
			}
			if len(report.Problems) != 1 || report.Problems[0].Side != comparison.After || report.Summary.LeftOut != 1 {
				t.Errorf("%+v", report)
			}
			state := filepath.Join(t.TempDir(), "state.json")
			write(t, state, fairlead(t, "plan", whole, "-o", "json").out)
			got = fairlead(t, "plan", part, "--observed", state)
			if got.code != exitFail || !strings.Contains(got.out, unread+": what is to be deleted may only be unread") {
				t.Errorf("exit code %d:\n%s%s", got.code, got.out, got.err)
			}
		})
	}
}

// TestAGateThatComparedNothingIsRed has pipelines that were green, with no word in the comment, as
// directories were not searched, or as the class is in another repository.
func TestAGateThatComparedNothingIsRed(t *testing.T) {
	text := ingressYAML("web", "a.example.com", "/") + "---\n" + serviceYAML
	deep := directory(t, map[string]string{"top.yaml": strings.Replace(serviceYAML, "name: web", "name: other", 1), "apps/web.yaml": text})
	classless := directory(t, map[string]string{"web.yaml": strings.Replace(text, "ingressClassName: fairlead", "ingressClassName: edge", 1)})
	both := directory(t, map[string]string{"web.yaml": text, "edge.yaml": strings.Replace(ingressYAML("b", "b.example.com", "/"), "ingressClassName: fairlead", "ingressClassName: edge", 1)})
	expect := filepath.Join(t.TempDir(), "e.yaml")
	write(t, expect, "expectations: [{name: one, requests: {hosts: [a.example.com]}, must: {namespaces: [shop]}}]")
	for name, c := range map[string]struct {
		dir  string
		args []string
		says string // "" where it compares something
	}{
		"-R is forgotten":                     {deep, nil, "1 .yaml, .yml or .json file in this directory: not searched, as -R is not given"},
		"-R is given":                         {deep, []string{"-R"}, ""},
		"the directory is excluded":           {deep, []string{"--exclude=apps"}, "no Ingress "},
		"the class is elsewhere":              {classless, nil, "--class-name=edge assumes it"},
		"it is named":                         {classless, []string{"--class-name=edge"}, ""},
		"another one is named":                {classless, []string{"--class-name=fairlead"}, "no Ingress is served"},
		"one class of two is elsewhere":       {both, nil, "--class-name=edge assumes it"},
		"both are named":                      {both, []string{"--class-name=edge", "--class-name=fairlead"}, ""},
		"both are named in one flag":          {both, []string{"--class-name=edge,fairlead"}, ""},
		"one is named, the other left alone":  {both, []string{"--class-name=fairlead"}, ""},
		"no class is Fairlead's, by the flag": {classless, []string{"--class-name=false"}, "no Ingress is served"},
	} {
		for _, command := range [][]string{{"diff", c.dir, c.dir, "-o", "markdown"}, {"verify", c.dir, "--expect", expect, "-o", "markdown"}, {"validate", c.dir}, {"plan", c.dir}} {
			got := fairlead(t, append(command, c.args...)...)
			said := strings.ReplaceAll(got.out, `\`, "")
			if command[0] == "plan" || command[0] == "validate" {
				said += got.err // they have no comment, or it has findings alone
			}
			if (got.code == exitFail) != (c.says != "") || !strings.Contains(said, c.says) {
				t.Errorf("%s: %s ends with %d\n%s%s", name, command[0], got.code, got.out, got.err)
			}
		}
	}
}

// TestANewLoadBalancerIsNew: what did not exist cannot be less protected, and what is gone is not
// better protected. A host that moves from an internal load balancer to the internet is.
func TestANewLoadBalancerIsNew(t *testing.T) {
	public := func(name, host string) string {
		return strings.Replace(ingressYAML(name, host, "/"), "namespace: shop", "namespace: shop, annotations: {fairlead.dev/scheme: internet-facing}", 1)
	}
	one := ingressYAML("one", "a.example.com", "/")
	for name, c := range map[string]struct {
		old, now string
		code     int
		says     string
	}{
		"a new one":     {one, one + "---\n" + public("two", "b.example.com"), exitToDo, "new fairlead/shop/two/internet-facing: load balancer"},
		"one is gone":   {one + "---\n" + public("two", "b.example.com"), one, exitToDo, "gone fairlead/shop/two/internet-facing: load balancer"},
		"a host moves":  {one, public("two", "a.example.com"), exitLess, "less protected: scheme: internal, now internet-facing"},
		"a public host": {one + "---\n" + public("three", "a.example.com"), one + "---\n" + public("two", "a.example.com"), exitToDo, "new fairlead/shop/two/internet-facing"},
	} {
		got := fairlead(t, "diff", directory(t, map[string]string{"a.yaml": c.old + "---\n" + serviceYAML}), directory(t, map[string]string{"a.yaml": c.now + "---\n" + serviceYAML}))
		if got.code != c.code || !strings.Contains(got.out, c.says) {
			t.Errorf("%s: exit code %d\n%s%s", name, got.code, got.out, got.err)
		}
	}
}

// TestAReviewedFindingPasses: what is less protected on purpose is accepted by its id, with a reason
// and a date. With --base the file of the base counts, so an author accepts nothing of their own.
func TestAReviewedFindingPasses(t *testing.T) {
	public := strings.Replace(ingressYAML("two", "a.example.com", "/"), "namespace: shop", "namespace: shop, annotations: {fairlead.dev/scheme: internet-facing}", 1)
	repository(t, map[string]string{"m/a.yaml": ingressYAML("one", "a.example.com", "/") + "---\n" + serviceYAML})
	write(t, "m/a.yaml", public+"---\n"+serviceYAML)
	first := fairlead(t, "diff", "--base", "main", "m")
	_, id, found := strings.Cut(first.out, "  id:     ")
	if first.code != exitLess || !found {
		t.Fatalf("exit code %d\n%s%s", first.code, first.out, first.err)
	}
	id, _, _ = strings.Cut(id, "\n")
	accepting := "accept: [{id: " + id + ", reason: the shop opens, date: 2026-11-28}, {id: abc, reason: gone, date: 2026-11-01}]\n"
	write(t, "accept.yaml", accepting)
	own := fairlead(t, "diff", "--base", "main", "m", "--accept", "accept.yaml")
	if own.code != exitLess || !strings.Contains(own.out, "accept.yaml differ from those of main, which count") {
		t.Errorf("by the author: exit code %d\n%s%s", own.code, own.out, own.err)
	}
	runGit(t, "stash", "-q", "--", "m")
	if changed := fairlead(t, "diff", "--base", "main", "m", "--accept", "accept.yaml"); changed.code != exitToDo {
		t.Errorf("the file alone: exit code %d\n%s%s", changed.code, changed.out, changed.err)
	}
	runGit(t, "add", "accept.yaml")
	runGit(t, "commit", "-qm", "accept")
	runGit(t, "stash", "pop", "-q")
	for _, format := range []string{"text", "markdown", "json"} {
		passed := fairlead(t, "diff", "--base", "main", "m", "--accept", "accept.yaml", "-o", format)
		if passed.code != exitToDo || !strings.Contains(passed.out, "the shop opens") || !strings.Contains(passed.out, "accepted") || !strings.Contains(passed.out, "abc") {
			t.Errorf("%s: exit code %d\n%s%s", format, passed.code, passed.out, passed.err)
		}
	}
	write(t, "m/a.yaml", strings.Replace(public, "a.example.com", "b.example.com", 1)+"---\n"+serviceYAML)
	if other := fairlead(t, "diff", "--base", "main", "m", "--accept", "accept.yaml"); !strings.Contains(other.out, "the shop opens) is not there") || strings.Contains(other.out, "\n  accepted on") {
		t.Errorf("another finding: exit code %d\n%s%s", other.code, other.out, other.err)
	}
	for text, says := range map[string]string{
		"accept: [{id: a, date: 2026-11-28}]":                                                     ": line 1: reason is missing",
		"accept: [{id: a, reason: b, date: soon}]":                                                `: line 1: date is "soon"`,
		"accept: [{reason: b, date: 2026-11-28}]":                                                 ": line 1: id is missing",
		"accept:\n- {id: a, reason: b, date: 2026-11-28}\n- {id: c, date: 2026-11-28}":            ": line 3: reason is missing",
		"accept:\n- {id: a, reason: b, date: 2026-11-28}\n- {id: a, reason: c, date: 2026-11-29}": ": line 3: a is there twice",
		"accepted: []": `line 1: there is no field "accepted"`,
		"accept: [{id: a, reason: b, date: 2026-11-28, by: author}]": `line 1: there is no field "by"`,
	} {
		write(t, "wrong.yaml", text)
		if got := fairlead(t, "diff", "m", "m", "--accept", "wrong.yaml"); got.code != exitFail || !strings.Contains(got.err, says) {
			t.Errorf("%s: exit code %d: %s", text, got.code, got.err)
		}
	}
}
