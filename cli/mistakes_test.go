package cli

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// This file tests what commands say of mistakes that leave nothing to do, or half of it.

// foreignYAML is an Ingress of a class that is not among the files.
func foreignYAML() string {
	return strings.Replace(ingressYAML("web", "a.example.com", "/"),
		"ingressClassName: fairlead", "ingressClassName: alb", 1)
}

// refusedYAML is an Ingress that is refused for an annotation.
func refusedYAML() string {
	return strings.Replace(ingressYAML("web", "a.example.com", "/"),
		"namespace: shop", "namespace: shop, annotations: {fairlead.dev/scheme: public}", 1)
}

// TestIngressesThatAreNotServedAreTold by the commands that compare, verify and replay: without
// them, "nothing changes" and "it holds" say little.
func TestIngressesThatAreNotServedAreTold(t *testing.T) {
	log := directory(t, map[string]string{"a.log": accessLine("http://a.example.com:80/")})
	expect := filepath.Join(t.TempDir(), "e.yaml")
	write(t, expect, "expectations: [{name: a, must: {forwarded: true}}]")
	const missing = "  warning ClassMissing Ingress shop/web spec.ingressClassName: IngressClass " +
		"alb is not among the files, so its Ingresses are left out; --from alb assumes it\n"
	const refused = "  error AnnotationInvalid Ingress shop/web metadata.annotations[fairlead.dev/" +
		"scheme]: \"public\": it is neither internal nor internet-facing\n"
	unclassed := strings.Replace(foreignYAML(), "ingressClassName: alb", "", 1)
	for name, c := range map[string]struct{ yaml, told string }{
		"of a class that is missing": {foreignYAML(), missing},
		"refused":                    {refusedYAML(), refused},
		"without a class":            {unclassed, "  info ClassUnset Ingress shop/web "},
		"served":                     {ingressYAML("web", "a.example.com", "/"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := directory(t, map[string]string{"a.yaml": c.yaml + "---\n" + serviceYAML})
			for _, args := range [][]string{
				{"diff", dir, dir}, {"verify", dir, "--expect", expect},
				{"replay", dir, "--logs", log}, {"replay", dir, "--logs", log, "--change", dir},
			} {
				got := fairlead(t, args...)
				told, _, _ := strings.Cut(got.err, "error: ")
				if c.told == "" && told != "" || c.told != "" && (!strings.Contains(told, c.told) ||
					!strings.HasPrefix(told, "Diagnostics:\n") || strings.Count(told, "\n") != 2) {
					t.Errorf("%s says %q, want %q", args[0], told, c.told)
				}
			}
		})
	}
}

// TestDiffOfNothing: where neither configuration has a load balancer, the summary says so.
func TestDiffOfNothing(t *testing.T) {
	dir := directory(t, map[string]string{"a.yaml": ingressYAML("web", "a.example.com", "/")})
	const nothing = "no request is answered differently; neither configuration has a load balancer\n"
	for name, c := range map[string]struct {
		args []string
		says bool
	}{
		"a namespace without Ingresses": {[]string{dir, dir, "-n", "other"}, true},
		"one with Ingresses":            {[]string{dir, dir, "-n", "shop"}, false},
		"the same as a comment":         {[]string{dir, dir, "-n", "other", "-o", "markdown"}, true},
	} {
		got := fairlead(t, append([]string{"diff"}, c.args...)...)
		code := map[bool]int{true: exitFail, false: exitDone}[c.says]
		if got.code != code || strings.Contains(got.out, nothing) != c.says ||
			strings.Contains(got.out, "no Ingress is served in either") != c.says {
			t.Errorf("%s: exit code %d: %s%s", name, got.code, got.out, got.err)
		}
	}
}

// TestANamespaceWithoutIngressesIsNamed, and validate does not take it for good.
func TestANamespaceWithoutIngressesIsNamed(t *testing.T) {
	dir := directory(t, map[string]string{"a.yaml": ingressYAML("web", "a.example.com", "/")})
	for _, command := range []string{"plan", "validate"} {
		got := fairlead(t, command, dir, "-n", "other")
		if got.code != exitFail || got.err != "error: "+dir+": no Ingress there in namespace other\n" {
			t.Errorf("%s: exit code %d: %s%s", command, got.code, got.out, got.err)
		}
	}
	services := directory(t, map[string]string{"a.yaml": serviceYAML})
	if got := fairlead(t, "validate", services); got.code != exitFail ||
		got.err != "error: no Ingress is served\n" {
		t.Errorf("files without Ingresses: exit code %d: %s", got.code, got.err)
	}
}

// TestMistakesInCommandLines are reported in words that say what to do.
func TestMistakesInCommandLines(t *testing.T) {
	dir := directory(t, map[string]string{"a.yaml": ingressYAML("web", "a.example.com", "/")})
	log := directory(t, map[string]string{"a.log": accessLine("http://a.example.com:80/")})
	repository(t, map[string]string{"a.yaml": ingressYAML("web", "a.example.com", "/")})
	const twice, atBase = "standard input can be read once", " is no file of a git repository"
	const url = "https://a.example.com/x.yaml"
	for name, c := range map[string]struct{ line, want string }{
		"no files to validate":        {"validate", "no manifests are given: name files or directories"},
		"diff of two with -f":         {"diff -f DIR -f DIR", "-f and -k name one configuration"},
		"diff of two with -k":         {"diff -k DIR DIR", "-f and -k name one configuration"},
		"diff of nothing":             {"diff", "error: no configurations are given: name two directories or files"},
		"diff of one":                 {"diff w1", "error: w1 is one configuration, and diff compares two: name a second directory or file, or add --base REVISION or --live\n"},
		"diff of one state":           {"diff --old-state w1.json", "error: --old-state w1.json is one configuration, and diff compares two"},
		"diff of three":               {"diff w1 w2 w3", "error: 3 configurations are named, and diff compares two\n"},
		"replay without logs":         {"replay DIR", "error: no logs are given: --logs names a file or a directory of access logs\n"},
		"diff of one input":           {"diff - -", twice},
		"verify of one input":         {"verify - --expect -", twice},
		"replay of one input":         {"replay - --logs -", twice},
		"replay of one input, later":  {"replay DIR --logs - --change -", twice},
		"standard input at a base":    {"diff --base main -", "standard input" + atBase},
		"a URL at a base":             {"diff --base main " + url, url + atBase},
		"replay of it at a base":      {"replay --logs LOG --base main -", "standard input" + atBase},
		"a negative number":           {"replay DIR --logs LOG --top -1", "at least 1"},
		"expectations that are empty": {"verify DIR --expect -", "standard input:1: it is empty"},
	} {
		line := strings.NewReplacer("DIR", dir, "LOG", log).Replace(c.line)
		t.Run(name, func(t *testing.T) {
			got := fairlead(t, strings.Fields(line)...)
			if got.code != exitFail || !strings.Contains(got.err, c.want) {
				t.Errorf("exit code %d: %q, want %q", got.code, got.err, c.want)
			}
		})
	}
}

// TestLinesOfStandardInputAreNamed as manifests on it are.
func TestLinesOfStandardInputAreNamed(t *testing.T) {
	other := accessLine("http://a.example.com:80/x")
	report, _ := replayJSON(t, other+other, onlyPath(t, "/y"), "--logs", "-")
	for _, d := range report.Disagreements {
		if d.Examples[1].File != "standard input" || d.Examples[1].Line != 2 {
			t.Errorf("%+v", d)
		}
	}
	if len(report.Disagreements) != 1 {
		t.Errorf("%+v", report)
	}
	_, got := replayJSON(t, "bad\n"+other, onlyPath(t, "/y"), "--logs", "-")
	if !strings.Contains(got.err, "error: standard input:1: ") {
		t.Errorf("%s", got.err)
	}
}

// onlyPath is a directory with an Ingress that has one path.
func onlyPath(t *testing.T, path string) string {
	t.Helper()
	return directory(t, map[string]string{
		"web.yaml": ingressYAML("web", "a.example.com", path) + "---\n" + serviceYAML})
}

// TestOneMoreKindIsSingular where --top leaves one out.
func TestOneMoreKindIsSingular(t *testing.T) {
	port := strings.Replace(accessLine("http://a.example.com:80/"), `" 7 2026`, `" 8 2026`, 1)
	log := directory(t, map[string]string{"a.log": accessLine("http://a.example.com:80/") +
		strings.Replace(port, `"forward" "-"`, `"fixed-response" "-"`, 1)})
	got := fairlead(t, "replay", "--provider", "aws", onlyPath(t, "/y"), "--logs", log, "--top", "1")
	if !strings.Contains(got.out, "\n1 more kind of disagreement; --top or -o json has it\n") {
		t.Errorf("%s%s", got.out, got.err)
	}
}

// TestAMethodIsAToken: another text is never sent as a method.
func TestAMethodIsAToken(t *testing.T) {
	dir := directory(t, map[string]string{"a.yaml": ingressYAML("web", "a.example.com", "/") + "---\n" + serviceYAML})
	for method, told := range map[string]string{
		"GET": "", "M-SEARCH": "", "purge": "", "v1.0": "",
		"G T": `--request: "G T" is not a method, such as GET`, "": `--request: "" is not`,
		"GET,POST": "is not a method", "GÉT": "is not a method", "GET/": "is not a method",
	} {
		got := fairlead(t, "explain", "http://a.example.com/", "-f", dir, "-X", method)
		if told == "" && got.code != exitDone || !strings.Contains(got.err, told) {
			t.Errorf("-X %q: exit code %d, %q, want %q", method, got.code, got.err, told)
		}
	}
}

// TestWhereNoListenerIs, no request is answered, and the summary counts it so.
func TestWhereNoListenerIs(t *testing.T) {
	dir := directory(t, map[string]string{"a.yaml": ingressYAML("web", "a.example.com", "/") + "---\n" + serviceYAML})
	got := fairlead(t, "explain", "https://a.example.com/", "-f", dir)
	for _, want := range []string{
		"  answered by  nothing: no load balancer accepts such a connection\n",
		"  because      there is no listener on port 443; it listens on 80\n",
		"\nSummary: 1 request: 0 to Services, 0 redirected, 0 with a fixed response, 1 not answered\n",
	} {
		if !strings.Contains(got.out, want) {
			t.Errorf("%q is missing in\n%s", want, got.out)
		}
	}
}

// TestTheDirectoryOfCredentialsExists: where it is misspelt, calls would be made without them.
func TestTheDirectoryOfCredentialsExists(t *testing.T) {
	dir := directory(t, map[string]string{"a.yaml": ingressYAML("web", "a.example.com", "/") + "---\n" + serviceYAML})
	for path, told := range map[string]string{
		dir: "", filepath.Join(dir, "none"): "there is no directory", filepath.Join(dir, "a.yaml"): "is no directory",
	} {
		got := fairlead(t, "plan", "-f", dir, "--provider-credentials", path)
		if told == "" && got.code == exitFail || !strings.Contains(got.err, told) {
			t.Errorf("%s: exit code %d, %q, want %q", path, got.code, got.err, told)
		}
	}
}

// TestAMistakeOfAPipelineIsNamed, with what to do.
func TestAMistakeOfAPipelineIsNamed(t *testing.T) {
	repository(t, map[string]string{"m/a.yaml": ingressYAML("web", "a.example.com", "/") + "---\n" + serviceYAML, "accepted.yaml": "accept: [{id: a}]\n"})
	t.Setenv("KUBECONFIG", "nowhere")
	for command, want := range map[string]string{
		"verify m": "error: no expectations are given: --expect names a file with what must be true of requests\n",
		"diff --base 0000000000000000000000000000000000000000 m": "error: there is no revision 0000000000000000000000000000000000000000: CI systems write zeros",
		"diff --base main --accept accepted.yaml m":              "error: --accept main:accepted.yaml: line 1: reason is missing\n",
	} {
		if got := fairlead(t, strings.Fields(command)...); got.code != exitFail || !strings.HasPrefix(got.err, want) {
			t.Errorf("%s: %+v", command, got)
		}
	}
	if got := fairlead(t, "check", "--context", "nosuch"); got.code != exitFail || !strings.Contains(got.out, `context "nosuch" does not exist`) {
		t.Errorf("check: %+v", got)
	}
}

// TestValidateFoldsNotes: a directory of Ingresses without their Services is one line and not one for each. Errors and
// warnings that name different things have a line each.
func TestValidateFoldsNotes(t *testing.T) {
	files := map[string]string{}
	for i := range 30 {
		name := fmt.Sprint("web", i)
		text := ingressYAML(name, name+".example.com", "/")
		files[name+".yaml"] = strings.Replace(text, "{name: web, port", "{name: "+name+", port", 1)
	}
	files["a.yaml"] = strings.Replace(refusedYAML(), "name: web,", "name: a,", 1)
	files["b.yaml"] = strings.Replace(files["a.yaml"], "name: a,", "name: b,", 1)
	got := fairlead(t, "validate", directory(t, files))
	if strings.Count(got.out, "ServiceMissing") != 1 || !strings.Contains(got.out, "\n  29 more like it: ") ||
		strings.Count(got.out, ": error AnnotationInvalid") != 2 {
		t.Errorf("%s%s", got.out, got.err)
	}
}
