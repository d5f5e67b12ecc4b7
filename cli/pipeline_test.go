package cli

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"fairlead.dev/fairlead/cli/output"
	"fairlead.dev/fairlead/model/diag"
)

// This file tests what pipelines show beside a change: SARIF, annotations of GitHub Actions, and JUnit.

// sarifSchema is the JSON Schema of SARIF 2.1.0 by OASIS, from the tests of a linter that golangci-lint has.
func sarifSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", "github.com/securego/gosec/v2")
	cmd.Dir = "../tools/golangci-lint"
	printed, err := cmd.Output()
	var module struct{ Dir string }
	if err == nil {
		err = json.Unmarshal(printed, &module)
	}
	if err != nil {
		t.Fatalf("%s: %v", printed, err)
	}
	text, err := os.Open(filepath.Join(module.Dir, "report/sarif/testdata/sarif-schema-2.1.0.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	document, err := jsonschema.UnmarshalJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("sarif.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("sarif.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// A sarif has what GitHub reads of SARIF.
type sarif struct {
	Schema string `json:"$schema"`
	Runs   []struct {
		Tool struct {
			Driver struct {
				Name  string
				Rules []struct {
					ID                                      string
					ShortDescription, FullDescription, Help struct{ Text string }
				}
			}
		}
		Results []struct {
			RuleID, Level string
			Message       struct{ Text string }
			Locations     []struct {
				PhysicalLocation struct {
					ArtifactLocation struct{ URI string }
					Region           struct{ StartLine, StartColumn, EndLine, EndColumn int }
				}
			}
			PartialFingerprints map[string]string
		}
	}
}

// TestValidateForCodeScanning has an error, a warning and a note in files of a directory, one of them with a name
// that URIs escape, and a file that is no object.
func TestValidateForCodeScanning(t *testing.T) {
	schema := sarifSchema(t)
	dir := directory(t, map[string]string{
		"apps/a b.yaml": strings.Replace(ingressYAML("web", "a.example.com", "/"), "namespace: shop", "namespace: shop, annotations: {fairlead.dev/shceme: internal}", 1),
		"apps/bad.yaml": strings.Replace(ingressYAML("bad", "b.example.com", "/"), "namespace: shop", "namespace: shop, annotations: {fairlead.dev/scheme: outside}", 1),
		"broken.yaml":   "\n\nkind: Ingress\n",
	})
	t.Chdir(dir)
	relative, absolute := fairlead(t, "validate", "-R", ".", "-o", "sarif"), fairlead(t, "validate", "-R", dir, "-o", "sarif")
	if relative.code != exitFail || relative.err != "" || relative.out != absolute.out {
		t.Errorf("%+v differs from %+v", relative, absolute)
	}
	if diff := cmp.Diff([]string{
		`["apps/bad.yaml",3,"error","AnnotationInvalid"]`,
		`["broken.yaml",3,"error","Invalid"]`,
		`["apps/a%20b.yaml",3,"warning","AnnotationUnknown"]`,
		`["apps/a%20b.yaml",12,"note","ServiceMissing"]`,
	}, resultsOf(t, schema, relative.out)); diff != "" {
		t.Errorf("(-want +got):\n%s\n%s", diff, relative.out)
	}
	annotated := fairlead(t, "validate", "-R", dir, "-o", "github")
	if diff := cmp.Diff([]string{
		"::error file=apps/bad.yaml,line=3,title=AnnotationInvalid::Ingress shop/bad",
		"::error file=broken.yaml,line=3,title=Invalid::",
		"::warning file=apps/a b.yaml,line=3,title=AnnotationUnknown::Ingress shop/web",
		"::notice file=apps/a b.yaml,line=12,title=ServiceMissing::Ingress shop/web",
	}, beginnings(annotated.out, "::error file=apps/bad.yaml,line=3,title=AnnotationInvalid::Ingress shop/bad", "::error file=broken.yaml,line=3,title=Invalid::",
		"::warning file=apps/a b.yaml,line=3,title=AnnotationUnknown::Ingress shop/web", "::notice file=apps/a b.yaml,line=12,title=ServiceMissing::Ingress shop/web")); diff != "" ||
		annotated.code != exitFail {
		t.Errorf("exit code %d (-want +got):\n%s\n%s", annotated.code, diff, annotated.out)
	}
}

// beginnings returns the lines of a text, each only as far as the wanted one.
func beginnings(text string, want ...string) []string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, w := range want {
		if i < len(lines) && strings.HasPrefix(lines[i], w) {
			lines[i] = w
		}
	}
	return lines
}

// resultsOf returns the results of a SARIF document that is as the schema and GitHub want it: file, line, level and rule.
func resultsOf(t *testing.T, schema *jsonschema.Schema, text string) []string {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(value); err != nil {
		t.Errorf("%v: %s", err, text)
	}
	var log sarif
	if err := json.Unmarshal([]byte(text), &log); err != nil {
		t.Fatal(err)
	}
	run, rules := log.Runs[0], map[string]bool{}
	for _, r := range run.Tool.Driver.Rules {
		rules[r.ID] = true
		for _, text := range []string{r.ShortDescription.Text, r.FullDescription.Text, r.Help.Text} {
			if text == "" || len(text) > 1024 {
				t.Errorf("rule %s has %q", r.ID, text)
			}
		}
	}
	var got []string
	prints := map[string]bool{}
	for _, r := range run.Results {
		at := r.Locations[0].PhysicalLocation
		if !rules[r.RuleID] || at.Region.StartLine < 1 || at.Region.EndLine != at.Region.StartLine || at.Region.StartColumn != 1 || at.Region.EndColumn != 1 ||
			r.Message.Text == "" || prints[r.PartialFingerprints["primaryLocationLineHash"]] {
			t.Errorf("a result is %+v", r)
		}
		prints[r.PartialFingerprints["primaryLocationLineHash"]] = true
		place, _ := json.Marshal([]any{at.ArtifactLocation.URI, at.Region.StartLine, r.Level, r.RuleID})
		got = append(got, string(place))
	}
	return got
}

// TestDiffBesideLines has a path that moves, a redirect to HTTPS that goes, and an Ingress that goes with its file.
func TestDiffBesideLines(t *testing.T) {
	schema := sarifSchema(t)
	redirected := strings.Replace(ingressYAML("pay", "pay.example.com", "/"), "namespace: shop", `namespace: shop, annotations: {fairlead.dev/ssl-redirect: "443"}`, 1)
	redirected = strings.Replace(redirected, "spec:\n", "spec:\n  tls: [{hosts: [pay.example.com]}]\n", 1)
	dir := directory(t, map[string]string{
		"old/web.yaml": ingressYAML("web", "a.example.com", "/old"), "new/web.yaml": "# A comment\n---\n" + ingressYAML("web", "a.example.com", "/new"),
		"old/pay.yaml": redirected, "new/pay.yaml": strings.Replace(redirected, `fairlead.dev/ssl-redirect: "443"`, "", 1),
		"old/gone.yaml":    ingressYAML("gone", "gone.example.com", "/"),
		"old/service.yaml": serviceYAML, "new/service.yaml": serviceYAML,
	})
	t.Chdir(dir)
	got := fairlead(t, "diff", "old", "new", "-o", "sarif")
	want := []string{
		`["new/pay.yaml",11,"error","LessProtected"]`, `["new/pay.yaml",11,"error","LessProtected"]`, // on port 80, and beside port 443
		`["new",1,"note","RequestsChange"]`,
		`["new/web.yaml",3,"note","RequestsChange"]`, // where the Ingress is, as no field answers /old
		`["new/web.yaml",12,"note","RequestsChange"]`,
		`["new",1,"note","ExposureChanges"]`,
	}
	if diff := cmp.Diff(want, resultsOf(t, schema, got.out)); diff != "" || got.code != exitLess {
		t.Errorf("exit code %d (-want +got):\n%s\n%s%s", got.code, diff, got.out, got.err)
	}
	annotations := fairlead(t, "diff", "old", "new", "-o", "github")
	line, _, _ := strings.Cut(annotations.out, "\n")
	if !strings.HasPrefix(line, "::error file=new/pay.yaml,line=11,title=LessProtected::fairlead/shop/pay/internal: curl http://pay.example.com/: before redirect 301 https://") ||
		!strings.Contains(line, "; id: ") || strings.Count(annotations.out, "\n") != len(want) {
		t.Errorf("the annotations are\n%s", annotations.out)
	}
}

// TestVerifyBesideLines has an expectation that an Ingress violates, and one that is violated by no Ingress.
func TestVerifyBesideLines(t *testing.T) {
	schema := sarifSchema(t)
	dir := directory(t, map[string]string{
		"web.yaml": ingressYAML("web", "a.example.com", "/"), "service.yaml": serviceYAML,
		"expect.yaml": "expectations:\n- name: not-web\n  requests: {hosts: [a.example.com]}\n  must: {answered: false}\n" +
			"- name: b-is-served\n  requests: {urls: [http://b.example.com/]}\n  must: {answered: true}\n",
	})
	t.Chdir(dir)
	got := fairlead(t, "verify", "--expect", "expect.yaml", "web.yaml", "service.yaml", "-o", "sarif")
	want := []string{`["web.yaml",10,"error","ExpectationViolated"]`, `["expect.yaml",5,"error","ExpectationViolated"]`}
	if diff := cmp.Diff(want, resultsOf(t, schema, got.out)); diff != "" || got.code != exitToDo {
		t.Errorf("exit code %d (-want +got):\n%s\n%s%s", got.code, diff, got.out, got.err)
	}
	annotations := fairlead(t, "verify", "--expect", "expect.yaml", "web.yaml", "service.yaml", "-o", "github")
	if !strings.HasPrefix(annotations.out, "::error file=web.yaml,line=10,title=ExpectationViolated::not-web: curl http://a.example.com/: ") {
		t.Errorf("the annotations are\n%s", annotations.out)
	}
}

// TestFindingsAreWithinTheLimitsOfGitHub has more findings than GitHub shows, and a text that would begin a command.
func TestFindingsAreWithinTheLimitsOfGitHub(t *testing.T) {
	schema := sarifSchema(t)
	all := output.FileFindings{Rules: output.Reasons(), Otherwise: "a.yaml"}
	for i := range 5001 {
		all.All = append(all.All, output.Located{Rule: "Invalid", Severity: diag.Info, File: "a.yaml", Line: i + 1, Message: fmt.Sprint(i)})
	}
	for i := range 12 {
		all.All = append(all.All, output.Located{Rule: "Invalid", Severity: diag.Error, File: "a,b:%.yaml", Line: i + 1, Message: "100%\n::add-mask::x ##[error]y"})
	}
	var text strings.Builder
	if err := all.Print(&text, output.SARIFFile); err != nil {
		t.Fatal(err)
	}
	results := resultsOf(t, schema, text.String())
	if len(results) != 5000 || !strings.Contains(results[11], `"error"`) || !strings.Contains(results[12], `"note"`) ||
		!strings.Contains(text.String(), "13 findings of the lowest severity are left out") {
		t.Errorf("there are %d results, and the first ones are %v", len(results), results[:13])
	}
	text.Reset()
	if err := all.Print(&text, output.GitHub); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for line := range strings.Lines(text.String()) {
		kind, _, _ := strings.Cut(line, " ")
		if !strings.HasPrefix(line, "::") {
			kind = "log"
		}
		kinds[kind]++
		if strings.Contains(line, "##[") || strings.HasPrefix(kind, "::add") {
			t.Errorf("a line is a command: %s", line)
		}
	}
	if diff := cmp.Diff(map[string]int{"::error": 10, "::notice": 10, "log": 12 - 9 + 5001 - 9}, kinds); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if want := "::error file=a%2Cb%3A%25.yaml,line=1,title=Invalid::100%25"; !strings.HasPrefix(text.String(), want) ||
		!strings.Contains(text.String(), "\n::error title=Fairlead::3 more like these are in the log of this step\n") {
		t.Errorf("the annotations are\n%.2000s", text.String())
	}
}

// TestAFindingKeepsItsFingerprint has an Ingress that stands elsewhere in its file: code scanning knows its finding
// again. Another finding has another fingerprint.
func TestAFindingKeepsItsFingerprint(t *testing.T) {
	bad := strings.Replace(ingressYAML("bad", "b.example.com", "/"), "namespace: shop", "namespace: shop, annotations: {fairlead.dev/scheme: outside}", 1)
	fingerprint := func(text string) string {
		var log sarif
		got := fairlead(t, "validate", "-o", "sarif", filepath.Join(directory(t, map[string]string{"a.yaml": text}), "a.yaml"))
		if err := json.Unmarshal([]byte(got.out), &log); err != nil || len(log.Runs[0].Results) == 0 {
			t.Fatalf("%v: %s", err, got.out)
		}
		return log.Runs[0].Results[0].PartialFingerprints["primaryLocationLineHash"]
	}
	first := fingerprint(bad)
	if again := fingerprint("# A comment\n---\n" + bad); again != first {
		t.Errorf("further down, %s is %s", first, again)
	}
	if other := fingerprint(strings.ReplaceAll(bad, "outside", "elsewhere")); other == first {
		t.Errorf("another finding is %s, too", other)
	}
}

// TestVerifyForAReportOfTests has expectations that hold, that are violated and that are about nothing while an Ingress is refused.
func TestVerifyForAReportOfTests(t *testing.T) {
	_, blocks := pageOfVerify(t)
	file := filepath.Join(t.TempDir(), "expectations.yaml")
	write(t, file, blocks[0])
	args := []string{"verify", "--provider", "aws", "--expect", file, verifyManifests, "testdata/verify/breaks/hosts-are-ours.yaml", "-o", "junit"}
	got := fairlead(t, args...)
	report := junitOf(t, got.out)
	if s := report.Suites[0]; got.code != exitToDo || s.Tests != 10 || len(s.Cases) != 10 || s.Failures != 1 || s.Errors != 0 {
		t.Errorf("exit code %d: %+v", got.code, s)
	}
	names := map[string]bool{}
	for _, c := range report.Suites[0].Cases {
		if violated := c.Name == "hosts-are-ours"; names[c.Name] || c.File != file || c.Class != file || c.Error != nil || (c.Failure != nil) != violated {
			t.Errorf("a case is %+v", c)
		} else if violated && !strings.Contains(*c.Failure, "curl https://example.org/shown\n  must not be answered by an Ingress\n") {
			t.Errorf("the failure is %s", *c.Failure)
		}
		names[c.Name] = true
	}
	empty := fairlead(t, "verify", "--provider", "aws", "--expect", file, filepath.Join(directory(t, map[string]string{"service.yaml": serviceYAML}), "service.yaml"), "-o", "junit")
	if s := junitOf(t, empty.out).Suites[0]; empty.code != exitFail || s.Errors != 1 || *s.Cases[len(s.Cases)-1].Error != "no Ingress is served" {
		t.Errorf("exit code %d: %s", empty.code, empty.out)
	}
}

// A junit has what GitLab reads of JUnit XML.
type junit struct {
	XMLName xml.Name `xml:"testsuites"`
	Suites  []struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
		Cases    []struct {
			Class   string  `xml:"classname,attr"`
			Name    string  `xml:"name,attr"`
			File    string  `xml:"file,attr"`
			Failure *string `xml:"failure"`
			Error   *string `xml:"error"`
		} `xml:"testcase"`
	} `xml:"testsuite"`
}

func junitOf(t *testing.T, text string) junit {
	t.Helper()
	var report junit
	if err := xml.Unmarshal([]byte(text), &report); err != nil || len(report.Suites) != 1 {
		t.Fatalf("%v: %s", err, text)
	}
	return report
}
