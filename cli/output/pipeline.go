package output

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/printable"
)

// This file prints what pipelines show beside the files of a change: SARIF for findings in files, and
// JUnit for what holds or not.

// A Located is a finding in a file.
type Located struct {
	Reason   diag.Reason
	Severity diag.Severity
	File     string // as it was named, or its URL
	Line     int
	Object   string
	Message  string
}

// SARIF returns findings as SARIF 2.1.0, with the properties that GitHub requires:
// https://docs.github.com/en/code-security/reference/code-scanning/sarif-files/sarif-support. The rules
// are all reasons. A finding without a file is at one that is given, since GitHub refuses it otherwise.
func SARIF(findings []Located, version, otherwise string) any {
	log := sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{{
		Tool: sarifTool{sarifDriver{Name: "Fairlead", Version: version}}, Results: []sarifResult{},
	}}}
	run := &log.Runs[0]
	for _, r := range diag.Reasons {
		first, _, _ := strings.Cut(r.Meaning, ". ")
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{
			ID: r.Reason, Name: r.Reason, Short: sarifText{strings.TrimSuffix(first, ".") + "."},
			Full: sarifText{r.Meaning}, Help: sarifText{r.Remedy},
		})
	}
	same := map[string]int{}
	for _, f := range findings {
		if f.File == "" {
			f.File, f.Line = otherwise, 1
		}
		sum := sha256.Sum256([]byte(strings.Join([]string{string(f.Reason), f.Object, f.Message}, "\x00")))
		text := hex.EncodeToString(sum[:8])
		same[f.File+text]++
		var at sarifLocation
		at.Physical.File.URI = uriOf(f.File)
		at.Physical.Region = sarifRegion{f.Line, 1, f.Line, 1}
		run.Results = append(run.Results, sarifResult{
			Rule: f.Reason, Level: sarifLevels[f.Severity],
			Message:      sarifText{strings.TrimPrefix(f.Object+": "+f.Message, ": ")},
			Locations:    []sarifLocation{at},
			Fingerprints: map[string]string{"primaryLocationLineHash": fmt.Sprintf("%s:%d", text, same[f.File+text])},
		})
	}
	return log
}

// uriOf returns the URI of a file, relative to the directory that the command runs in if it is there.
func uriOf(file string) string {
	if strings.Contains(file, "://") {
		return file
	}
	here, err := os.Getwd()
	if inside, relErr := filepath.Rel(here, file); err == nil && relErr == nil && filepath.IsAbs(file) &&
		filepath.IsLocal(inside) {
		file = inside
	}
	uri := url.URL{Path: filepath.ToSlash(filepath.Clean(file))}
	if filepath.IsAbs(file) {
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
		Tool    sarifTool     `json:"tool"`
		Results []sarifResult `json:"results"`
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
		ID    diag.Reason `json:"id"`
		Name  diag.Reason `json:"name"`
		Short sarifText   `json:"shortDescription"`
		Full  sarifText   `json:"fullDescription"`
		Help  sarifText   `json:"help"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		Rule         diag.Reason       `json:"ruleId"`
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
