package cli

import (
	"encoding/json"
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// This file tests what pipelines show beside a change: SARIF and JUnit.

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
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(relative.out))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(value); err != nil {
		t.Errorf("%v: %s", err, relative.out)
	}
	var log sarif
	if err := json.Unmarshal([]byte(relative.out), &log); err != nil {
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
	if diff := cmp.Diff([]string{
		`["apps/a%20b.yaml",3,"warning","AnnotationUnknown"]`,
		`["apps/a%20b.yaml",12,"note","ServiceMissing"]`,
		`["apps/bad.yaml",3,"error","AnnotationInvalid"]`,
		`["broken.yaml",3,"error","Invalid"]`,
	}, got); diff != "" {
		t.Errorf("(-want +got):\n%s\n%s", diff, relative.out)
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
