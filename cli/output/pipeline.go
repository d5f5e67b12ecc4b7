package output

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/printable"
)

// This file prints what pipelines show beside the files of a change: SARIF and annotations for findings in files, and
// JUnit for what holds or not.

// A Located is a finding in a file.
type Located struct {
	Rule     string // the ID of one
	Severity diag.Severity
	File     string // as it was named, or its URL; empty for none
	Line     int
	Object   string
	Message  string
	// ID is what stays the same when the finding moves; empty: all of the above but its place.
	ID string
}

// A Rule is a reason of findings, with its meaning and remedy.
type Rule struct{ ID, Meaning, Remedy string }

// Reasons are the rules of diagnostics.
func Reasons() (out []Rule) {
	for _, r := range diag.Reasons {
		plain := r.Plain()
		out = append(out, Rule{string(r.Reason), plain.Meaning, plain.Remedy})
	}
	return out
}

// FileFindings are the findings of a command.
type FileFindings struct {
	All   []Located
	Rules []Rule
	// Version is that of Fairlead.
	Version string
	// Otherwise is the file for findings without one, since code scanning refuses those.
	Otherwise string
}

// These are the limits of GitHub: of the results of a run, code scanning keeps those of the highest severity
// (https://docs.github.com/en/code-security/reference/code-scanning/sarif-files/troubleshoot-sarif-uploads/results-exceed-limit),
// and a step of a workflow shows so many annotations of each severity
// (https://github.com/actions/toolkit/blob/main/docs/problem-matchers.md#limitations).
const (
	mostResults     = 5000
	mostAnnotations = 10
)

// Print prints findings as SARIF or as annotations, errors first.
func (f FileFindings) Print(w io.Writer, format Format) error {
	rank := map[diag.Severity]int{diag.Error: 0, diag.Warning: 1, diag.Info: 2}
	f.All = slices.SortedStableFunc(slices.Values(f.All), func(a, b Located) int {
		return cmp.Compare(rank[a.Severity], rank[b.Severity])
	})
	if format == SARIFFile {
		return format.Print(w, f.sarif())
	}
	_, err := io.WriteString(w, f.annotations())
	if err != nil {
		return fmt.Errorf("printing annotations: %w", err)
	}
	return nil
}

// annotations returns findings as commands of GitHub Actions
// (https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands). Where there are more of a severity
// than are shown, the last one that is shown counts them, and they are lines of the log.
func (f FileFindings) annotations() string {
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	count, printed := map[diag.Severity]int{}, map[diag.Severity]int{}
	for _, one := range f.All {
		count[one.Severity]++
	}
	var b strings.Builder
	for _, one := range f.All {
		kind := map[diag.Severity]string{diag.Error: "error", diag.Warning: "warning", diag.Info: "notice"}[one.Severity]
		text := printable.Line(one.text())
		printed[one.Severity]++
		if n := count[one.Severity]; n > mostAnnotations && printed[one.Severity] >= mostAnnotations {
			if printed[one.Severity] == mostAnnotations {
				fmt.Fprintf(&b, "::%s title=Fairlead::%d more like these are in the log of this step\n", kind, n-mostAnnotations+1)
			}
			fmt.Fprintf(&b, "%s\n", printable.Line(fmt.Sprintf("%s:%d: %s %s %s", one.File, one.Line, one.Severity, one.Rule, one.text())))
			continue
		}
		place := ""
		if one.File != "" {
			place = fmt.Sprintf("file=%s,line=%d,", property.Replace(printable.Line(relative(one.File))), one.Line)
		}
		fmt.Fprintf(&b, "::%s %stitle=%s::%s\n", kind, place, property.Replace(one.Rule), data.Replace(text))
	}
	return b.String()
}

// text is what a finding says of an object.
func (l Located) text() string { return strings.TrimPrefix(l.Object+": "+l.Message, ": ") }

// sarif returns findings as SARIF 2.1.0, with the properties that GitHub requires:
// https://docs.github.com/en/code-security/reference/code-scanning/sarif-files/sarif-support. The rules are all that there are.
func (f FileFindings) sarif() any {
	log := sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{{
		Tool: sarifTool{sarifDriver{Name: "Fairlead", Version: f.Version}}, Results: []sarifResult{},
	}}}
	run := &log.Runs[0]
	for _, r := range f.Rules {
		first, _, _ := strings.Cut(r.Meaning, ". ")
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{
			ID: r.ID, Name: r.ID, Short: sarifText{strings.TrimSuffix(first, ".") + "."},
			Full: sarifText{r.Meaning}, Help: sarifText{r.Remedy},
		})
	}
	if more := len(f.All) - mostResults; more > 0 {
		run.Invocations = []sarifInvocation{{true, []sarifNotification{{"warning", sarifText{fmt.Sprintf(
			"%d findings of the lowest severity are left out: code scanning keeps %d of a run", more, mostResults)}}}}}
		f.All = f.All[:mostResults]
	}
	same := map[string]int{}
	for _, one := range f.All {
		if one.File == "" {
			one.File, one.Line = f.Otherwise, 1
		}
		sum := sha256.Sum256([]byte(one.Rule + "\x00" + cmp.Or(one.ID, one.Object+"\x00"+one.Message)))
		text := hex.EncodeToString(sum[:8])
		same[one.File+text]++
		var at sarifLocation
		at.Physical.File.URI = uriOf(one.File)
		at.Physical.Region = sarifRegion{max(1, one.Line), 1, max(1, one.Line), 1}
		run.Results = append(run.Results, sarifResult{
			Rule: one.Rule, Level: sarifLevels[one.Severity], Message: sarifText{one.text()},
			Locations:    []sarifLocation{at},
			Fingerprints: map[string]string{"primaryLocationLineHash": fmt.Sprintf("%s:%d", text, same[one.File+text])},
		})
	}
	return log
}

// relative returns the path of a file from the directory that the command runs in, if it is there.
func relative(file string) string {
	if strings.Contains(file, "://") {
		return file
	}
	here, err := os.Getwd()
	if inside, relErr := filepath.Rel(here, file); err == nil && relErr == nil && filepath.IsAbs(file) &&
		filepath.IsLocal(inside) {
		file = inside
	}
	return filepath.ToSlash(filepath.Clean(file))
}

// uriOf returns the URI of a file, relative to the directory that the command runs in if it is there.
func uriOf(file string) string {
	if strings.Contains(file, "://") {
		return file
	}
	uri := url.URL{Path: relative(file)}
	if filepath.IsAbs(uri.Path) {
		uri.Scheme = "file"
	}
	return uri.String()
}

// sarifLevels are the words of SARIF for severities.
var sarifLevels = map[diag.Severity]string{diag.Error: "error", diag.Warning: "warning", diag.Info: "note"}

// These are the objects of SARIF: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool         `json:"tool"`
		Invocations []sarifInvocation `json:"invocations,omitempty"`
		Results     []sarifResult     `json:"results"`
	}
	sarifInvocation struct {
		Successful    bool                `json:"executionSuccessful"`
		Notifications []sarifNotification `json:"toolExecutionNotifications"`
	}
	sarifNotification struct {
		Level   string    `json:"level"`
		Message sarifText `json:"message"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID    string    `json:"id"`
		Name  string    `json:"name"`
		Short sarifText `json:"shortDescription"`
		Full  sarifText `json:"fullDescription"`
		Help  sarifText `json:"help"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		Rule         string            `json:"ruleId"`
		Level        string            `json:"level"`
		Message      sarifText         `json:"message"`
		Locations    []sarifLocation   `json:"locations"`
		Fingerprints map[string]string `json:"partialFingerprints"`
	}
	sarifLocation struct {
		Physical struct {
			File struct {
				URI string `json:"uri"`
			} `json:"artifactLocation"`
			Region sarifRegion `json:"region"`
		} `json:"physicalLocation"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn"`
		EndLine     int `json:"endLine"`
		EndColumn   int `json:"endColumn"`
	}
)

// A TestCase is one thing that holds or not. Failure is why it does not hold, Error why that is not known.
type TestCase struct {
	Name, File, Failure, Error string
}

// JUnit prints test cases as JUnit XML, with the elements and attributes that GitLab reads:
// https://docs.gitlab.com/ci/testing/unit_test_reports. Names tell the cases of one file apart.
func JUnit(w io.Writer, suite string, cases []TestCase) error {
	type text struct {
		Text string `xml:",chardata"`
	}
	type testCase struct {
		Class   string `xml:"classname,attr"`
		Name    string `xml:"name,attr"`
		File    string `xml:"file,attr,omitempty"`
		Failure *text  `xml:"failure"`
		Error   *text  `xml:"error"`
	}
	var report struct {
		XMLName xml.Name `xml:"testsuites"`
		Suite   struct {
			Name     string     `xml:"name,attr"`
			Tests    int        `xml:"tests,attr"`
			Failures int        `xml:"failures,attr"`
			Errors   int        `xml:"errors,attr"`
			Cases    []testCase `xml:"testcase"`
		} `xml:"testsuite"`
	}
	all := &report.Suite
	all.Name, all.Tests = suite, len(cases)
	for _, c := range cases {
		one := testCase{Class: suite, Name: printable.Line(c.Name), File: c.File}
		if c.File != "" {
			one.Class = c.File
		}
		switch {
		case c.Failure != "":
			one.Failure = &text{c.Failure}
			all.Failures++
		case c.Error != "":
			one.Error = &text{c.Error}
			all.Errors++
		}
		all.Cases = append(all.Cases, one)
	}
	document, err := xml.MarshalIndent(report, "", "  ")
	if err == nil {
		_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, document)
	}
	if err != nil {
		return fmt.Errorf("writing JUnit XML: %w", err)
	}
	return nil
}
