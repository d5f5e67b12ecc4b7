package expectations

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/compare"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/expect"
	"fairlead.dev/fairlead/model/printable"
	"fairlead.dev/fairlead/model/requests"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file decides whether the expectations permit a plan.

// A Judgement is the verdict of expectations on a plan. The zero value permits it.
type Judgement struct {
	Set Set
	// NewlyViolated are the expectations that requests violate after the plan and not now, or for
	// which this could not be decided.
	NewlyViolated []expect.Result
	// StillViolated are the expectations that requests violate now, or for which this is undecided,
	// and that the plan makes no worse.
	StillViolated []expect.Result
	// AddedRequest describes a request that the plan would answer anew, if the expectations are
	// unread.
	AddedRequest string
	// Offences are the answers for which the plan is forbidden.
	Offences []Offence
	// Closings are the hosts that are closed so that the plan is permitted.
	Closings []Closing
}

// Judge decides whether a load balancer may change from one table to another. A table of nil
// answers nothing.
func Judge(set Set, now, next *precedence.Table) Judgement {
	j := Judgement{Set: set}
	if set.Unread != "" {
		j.AddedRequest, j.Offences = addedRequest(now, next)
		return j
	}
	finder := requests.NewFinder(requests.OfPlan)
	for _, e := range set.All {
		whole := expect.CheckOne(e, next, finder)
		if whole.Verdict == expect.Holds {
			continue
		}
		if worse := expect.CheckChange(e, now, next, finder); worse.Verdict != expect.Holds {
			j.NewlyViolated = append(j.NewlyViolated, worse)
			j.Offences = append(j.Offences, j.offences(worse, now, next)...)
		} else {
			j.StillViolated = append(j.StillViolated, whole)
		}
	}
	return j
}

// addedRequest returns the first request that is answered by another Service, or in another way,
// without being better protected; "" if there is none. What is answered no longer is not added. The
// offences are those of all such requests.
func addedRequest(now, next *precedence.Table) (first string, all []Offence) {
	report := compare.Tables(tables(now), tables(next), requests.OfPlan)
	for _, c := range report.Changes {
		if c.After.Ingress != "" && c.Protection != compare.More {
			why := fmt.Sprintf("%s would be answered by Ingress %s", c.Curl, c.After.Ingress)
			first = cmp.Or(first, why)
			one := Offence{Next: c.After.Ingress, Now: c.Before.Ingress, Host: c.Host, Port: c.Port,
				Request: c.Request.Routed, Why: why}
			one.cover(now)
			all = append(all, one)
		}
	}
	for _, u := range report.Undecided {
		why := "the changes could not be decided: " + u.Why
		first = cmp.Or(first, why)
		all = append(all, atHost(now, next, u, why)...)
	}
	for _, e := range report.Exposures {
		if e.Protection == compare.Less || e.Protection == compare.Unknown {
			first = cmp.Or(first, fmt.Sprintf("%s would be %s, and is %s", e.Setting, e.After, e.Before))
			all = append(all, exposing(next, e)...)
		}
	}
	return first, all
}

func tables(t *precedence.Table) []*precedence.Table {
	if t == nil {
		return nil
	}
	return []*precedence.Table{t}
}

// Reason returns the reason for the condition of a forbidden plan; "" if the plan is permitted.
func (j Judgement) Reason() string {
	switch {
	case len(j.NewlyViolated) > 0:
		return v1alpha1.ReasonExpectation
	case j.AddedRequest != "":
		return v1alpha1.ReasonExpectations
	}
	return ""
}

// Trouble returns the reason for which a load balancer needs attention, and a message; "" if it
// needs none.
func (j Judgement) Trouble() (reason, message string) {
	switch {
	case j.Set.Unread != "":
		return v1alpha1.ReasonExpectations, j.Message()
	case len(j.NewlyViolated)+len(j.StillViolated)+len(j.Closings) > 0:
		return v1alpha1.ReasonExpectation, j.Message()
	}
	return "", ""
}

// Message describes the violations.
func (j Judgement) Message() string {
	if j.Set.Unread != "" {
		out := []string{fmt.Sprintf("expectations of ConfigMap %s: %s", j.Set.ConfigMap, j.Set.Unread)}
		if j.AddedRequest != "" {
			out = append(out, "the plan is not carried out: "+j.AddedRequest)
		}
		return printable.Line(strings.Join(append(out, j.closingTexts()...), "; "))
	}
	var out []string
	for _, r := range slices.Concat(j.NewlyViolated, j.StillViolated) {
		for _, v := range r.Violations[:min(len(r.Violations), 1)] {
			out = append(out, j.message(r, v)+moreText(len(r.Violations)-1))
		}
		if len(r.Violations) == 0 && len(r.Undecided) > 0 {
			out = append(out, fmt.Sprintf("%s could not be decided: %s", j.name(r), r.Undecided[0].Why))
		}
	}
	return printable.Line(strings.Join(append(out, j.closingTexts()...), "; "))
}

func moreText(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", and %d more like it", n)
}

func (j Judgement) name(r expect.Result) string {
	return fmt.Sprintf("expectation %s of ConfigMap %s", diag.Quote(r.Name), j.Set.ConfigMap)
}

// message describes the request that violates an expectation, and its answer.
func (j Judgement) message(r expect.Result, v expect.Violation) string {
	out := fmt.Sprintf("%s: %s %s; the answer is %s", j.name(r), v.Curl,
		strings.Join(v.Problems, ", "), v.Answer.Action)
	if v.Answer.Source != "" {
		out += ", by " + v.Answer.Source
	}
	return out
}

// mostReported is the limit of reported requests for each expectation.
const mostReported = 10

// Diagnostics returns a diagnostic for each Ingress whose requests violate an expectation.
func (j Judgement) Diagnostics() []diag.Diagnostic {
	var out []diag.Diagnostic
	report := func(all []expect.Result, when string) {
		for _, r := range all {
			for _, v := range r.Violations[:min(len(r.Violations), mostReported)] {
				if v.Source.Name == "" {
					continue // the condition reports it
				}
				out = append(out, diag.Diagnostic{Severity: diag.Warning, Reason: diag.ExpectationViolated,
					Source: v.Source, Message: when + j.message(r, v)})
			}
		}
	}
	report(j.NewlyViolated, "the change waits, since this would violate ")
	report(j.StillViolated, "this violates ")
	out = append(out, j.closingDiagnostics()...)
	return diag.Limit(out)
}
