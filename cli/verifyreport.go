package cli

import (
	"fmt"
	"strings"

	"fairlead.dev/fairlead/cli/manifests"
	"fairlead.dev/fairlead/cli/operator"
	"fairlead.dev/fairlead/cli/output"
	"fairlead.dev/fairlead/model/compare"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/expect"
	"fairlead.dev/fairlead/model/printable"
	"fairlead.dev/fairlead/model/requests"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file has the report of verify.

// A verifyReport is the JSON that verify prints: keys may be added, and none may change.
type verifyReport struct {
	Expectations []expect.Result `json:"expectations"`
	// NotChecked has the reasons why less was checked than the caller expects.
	NotChecked []string      `json:"notChecked"`
	Summary    verifySummary `json:"summary"`
}

// A verifySummary counts expectations.
type verifySummary struct {
	Expectations int `json:"expectations"`
	Holds        int `json:"holds"`
	// Unused are those that hold because no load balancer gets such requests.
	Unused    int `json:"unused"`
	Violated  int `json:"violated"`
	Undecided int `json:"undecided"`
	// Requests are the routes whose requests are not answered as they must be.
	Requests int `json:"requests"`
}

// checkExpectations decides expectations about load balancers, whose Ingresses are at places in files.
func checkExpectations(all []fileExpectation, tables []*precedence.Table, places manifests.Places) verifyReport {
	r := verifyReport{Expectations: []expect.Result{}, NotChecked: []string{}}
	finder := requests.NewFinder(requests.OfCommand)
	for _, e := range all {
		result := expect.Check(e.Expectation, tables, finder)
		result.File = e.File
		for i := range result.Violations {
			v := &result.Violations[i]
			if at, known := places.Of("Ingress "+v.Answer.Ingress, ""); known {
				v.Place = at.String()
			}
		}
		r.add(result)
	}
	return r
}

func (r *verifyReport) add(result expect.Result) {
	r.Expectations = append(r.Expectations, result)
	s := &r.Summary
	s.Expectations++
	s.Requests += len(result.Violations)
	switch result.Verdict {
	case expect.Violated:
		s.Violated++
	case expect.Undecided:
		s.Undecided++
	case expect.Holds:
		if s.Holds++; !result.Applies {
			s.Unused++
		}
	}
}

// Holds reports whether it is certain that all expectations hold.
func (r verifyReport) Holds() bool { return r.Summary.Violated+r.Summary.Undecided == 0 }

// String returns the summary in one line.
func (s verifySummary) String() string {
	parts := []string{fmt.Sprintf("%d of %d expectations hold", s.Holds, s.Expectations)}
	if s.Unused > 0 {
		parts[0] += fmt.Sprintf(" (%d of them: no load balancer gets such requests)", s.Unused)
	}
	if s.Violated > 0 {
		parts = append(parts, fmt.Sprintf("%d violated, by %s", s.Violated, output.Number(s.Requests, "route")))
	}
	if s.Undecided > 0 {
		parts = append(parts, fmt.Sprintf("%d not decided", s.Undecided))
	}
	return strings.Join(parts, ", ")
}

// mostShown is how many violations of an expectation are printed for people.
const mostShown = 10

// Text returns the report as text.
func (r verifyReport) Text(colour output.Palette) string {
	var b strings.Builder
	line := func(format string, args ...any) {
		b.WriteString(printable.Line(fmt.Sprintf(format, args...)) + "\n")
	}
	for _, e := range r.Expectations {
		b.WriteString(verdict(colour, e.Verdict) + " ")
		line("%s%s", heading(e), description(e))
		for text := range strings.Lines(details(e)) {
			b.WriteString("  " + text)
		}
	}
	for _, why := range r.NotChecked {
		b.WriteString(colour.Bad("not checked") + " ")
		line("%s", why)
	}
	b.WriteByte('\n')
	line("Summary: %s", r.Summary)
	return b.String()
}

// details returns lines about the requests of an expectation that violate it, and that are not decided.
func details(e expect.Result) string {
	var b strings.Builder
	line := func(format string, args ...any) {
		b.WriteString(printable.Line(fmt.Sprintf(format, args...)) + "\n")
	}
	for _, v := range e.Violations[:min(len(e.Violations), mostShown)] {
		line("%s", v.Curl)
		for _, p := range v.Problems {
			line("  %s", p)
		}
		line("  answer: %s", inWords(v))
		line("  why:    %s", v.Answer.Why)
		if v.LoadBalancer != "" {
			line("  on:     %s", v.LoadBalancer)
		}
	}
	if more := len(e.Violations) - mostShown; more > 0 {
		line("%d more routes; -o json has all", more)
	}
	for _, u := range e.Undecided {
		line("not decided: %s", undecided(u))
	}
	return b.String()
}

// testCases returns the report for a list of tests. What is not checked is a case that fails.
func (r verifyReport) testCases() []output.TestCase {
	var all []output.TestCase
	for _, e := range r.Expectations {
		c := output.TestCase{Name: e.Name, File: e.File}
		switch text := fmt.Sprintf("%s%s\n%s", heading(e), description(e), details(e)); e.Verdict {
		case expect.Violated:
			c.Failure = text
		case expect.Undecided:
			c.Error = text
		case expect.Holds:
		}
		all = append(all, c)
	}
	if len(r.NotChecked) > 0 {
		all = append(all, output.TestCase{Name: "all is checked", Error: strings.Join(r.NotChecked, "\n")})
	}
	return all
}

// These are the rules of findings of verify.
const (
	notAsExpected = "ExpectationViolated"
	notDecided    = "NotDecided"
	notChecked    = "NotChecked"
)

// located returns what does not hold for pipelines: each violation at the field of the Ingress that answers or, if none
// does or it is in no file, at the expectation. What has no file is at one that is given.
func (r verifyReport) located(places manifests.Places, otherwise string) output.FileFindings {
	out := output.FileFindings{Version: operator.Version(), Otherwise: otherwise, Rules: []output.Rule{
		{ID: notAsExpected, Meaning: "Requests are answered otherwise than an expectation says.",
			Remedy: "Change the Ingress, or the expectation if it is out of date."},
		{ID: notDecided, Meaning: "Whether an expectation holds was not decided within the budget.",
			Remedy: "Split hosts with many globs and conditions, or have the expectation name fewer requests."},
		{ID: notChecked, Meaning: "Less was checked than the caller expects.", Remedy: "Do what the message says."},
	}}
	for _, e := range r.Expectations {
		one := output.Located{Rule: notAsExpected, Severity: diag.Error, Object: e.Name}
		for _, v := range e.Violations {
			one.File, one.Line = e.File, e.Line
			if at, known := places.Of("Ingress "+v.Answer.Ingress, v.Source.Field); known {
				one.File, one.Line = at.File, at.Line
			}
			one.Message = fmt.Sprintf("%s: %s; answer: %s; why: %s", v.Curl, strings.Join(v.Problems, ", "), inWords(v), v.Answer.Why)
			one.ID = e.Name + "\x00" + string(v.LoadBalancer) + "\x00" + v.Curl
			out.All = append(out.All, one)
		}
		for _, u := range e.Undecided {
			out.All = append(out.All, output.Located{Rule: notDecided, Severity: diag.Warning, File: e.File, Line: e.Line,
				Object: e.Name, Message: undecided(u)})
		}
	}
	for _, why := range r.NotChecked {
		out.All = append(out.All, output.Located{Rule: notChecked, Severity: diag.Error, Message: why})
	}
	return out
}

func verdict(colour output.Palette, v expect.Verdict) string {
	switch v {
	case expect.Violated:
		return colour.Bad("violated")
	case expect.Undecided:
		return colour.Bad("not decided")
	default:
		return colour.Good("holds")
	}
}

// heading returns the name of an expectation, and its place.
func heading(e expect.Result) string {
	return fmt.Sprintf("%s (%s)", e.Name, manifests.Place{File: e.File, Line: e.Line})
}

func description(e expect.Result) string {
	switch {
	case e.Verdict == expect.Holds && !e.Applies:
		return ": no load balancer gets such requests"
	case e.Verdict == expect.Holds || e.Description == "":
		return ""
	}
	return ": " + e.Description
}

// inWords returns an answer with the Ingress that gives it, and its place.
func inWords(v expect.Violation) string {
	out := v.Answer.Action
	if v.Answer.Source != "" {
		out += ", by " + v.Answer.Source
	}
	if v.Place != "" {
		out += " (" + v.Place + ")"
	}
	return out
}

func undecided(u compare.Undecided) string {
	host := string(u.Host)
	if host == "" {
		host = "that nothing names"
	}
	return fmt.Sprintf("requests to host %s on port %d of %s: %s", host, u.Port, u.LoadBalancer, u.Why)
}
