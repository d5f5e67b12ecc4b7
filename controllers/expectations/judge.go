package expectations

import (
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

// This file decides whether a load balancer may change as its plan has it.

// steps is the budget for an expectation. It is smaller than that of the command line, as a worker
// is busy meanwhile.
const steps = requests.Steps / 8

// A Judgement is what expectations say about a plan. The zero value forbids nothing.
type Judgement struct {
	Set Set
	// Worse are the expectations that requests would violate by the plan, and do not violate now, or
	// of which that could not be decided.
	Worse []expect.Result
	// Standing are those that requests violate now, or of which that is not decided, and that the plan
	// makes no worse.
	Standing []expect.Result
	// Added says what the plan adds, where the expectations are unread.
	Added string
}

// Judge decides whether a load balancer may change from one table to another. A table of nil
// answers nothing.
func Judge(set Set, now, next *precedence.Table) Judgement {
	j := Judgement{Set: set}
	if set.Unread != "" {
		j.Added = added(now, next)
		return j
	}
	for _, e := range set.All {
		whole := expect.CheckOne(e, next, steps)
		if whole.Verdict == expect.Holds {
			continue
		}
		if worse := expect.CheckChange(e, now, next, steps); worse.Verdict != expect.Holds {
			j.Worse = append(j.Worse, worse)
		} else {
			j.Standing = append(j.Standing, whole)
		}
	}
	return j
}

// added returns the first request that is answered by another Service, or in another way, without
// being better protected; "" if there is none. What is answered no longer is not added.
func added(now, next *precedence.Table) string {
	report := compare.Tables(tables(now), tables(next), steps)
	for _, c := range report.Changes {
		if c.After.Ingress != "" && c.Protection != compare.More {
			return fmt.Sprintf("%s would be answered by Ingress %s", c.Curl, c.After.Ingress)
		}
	}
	for _, e := range report.Exposures {
		if e.Protection == compare.Less || e.Protection == compare.Unknown {
			return fmt.Sprintf("%s would be %s, and is %s", e.Setting, e.After, e.Before)
		}
	}
	for _, u := range report.Undecided {
		return "what changes is not decided: " + u.Why
	}
	return ""
}

func tables(t *precedence.Table) []*precedence.Table {
	if t == nil {
		return nil
	}
	return []*precedence.Table{t}
}

// Reason is that of the condition of a plan that is not carried out; "" if it may be.
func (j Judgement) Reason() string {
	switch {
	case len(j.Worse) > 0:
		return v1alpha1.ReasonExpectation
	case j.Added != "":
		return v1alpha1.ReasonExpectations
	}
	return ""
}

// Trouble is the reason for which a load balancer needs attention, and what is to be said; "" if it
// needs none.
func (j Judgement) Trouble() (reason, message string) {
	switch {
	case j.Set.Unread != "":
		return v1alpha1.ReasonExpectations, j.Message()
	case len(j.Worse)+len(j.Standing) > 0:
		return v1alpha1.ReasonExpectation, j.Message()
	}
	return "", ""
}

// Message says what is wrong.
func (j Judgement) Message() string {
	if j.Set.Unread != "" {
		out := fmt.Sprintf("expectations of ConfigMap %s: %s", j.Set.ConfigMap, j.Set.Unread)
		if j.Added != "" {
			out += "; what is answered stays as it is: " + j.Added
		}
		return printable.Line(out)
	}
	var out []string
	for _, r := range slices.Concat(j.Worse, j.Standing) {
		for _, v := range r.Violations[:min(len(r.Violations), 1)] {
			out = append(out, j.message(r, v)+more(len(r.Violations)-1))
		}
		if len(r.Violations) == 0 && len(r.Undecided) > 0 {
			out = append(out, fmt.Sprintf("%s is not decided: %s", j.name(r), r.Undecided[0].Why))
		}
	}
	return printable.Line(strings.Join(out, "; "))
}

func more(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", and %d more like it", n)
}

func (j Judgement) name(r expect.Result) string {
	return fmt.Sprintf("expectation %s of ConfigMap %s", diag.Quote(r.Name), j.Set.ConfigMap)
}

// message says which request violates an expectation, and how.
func (j Judgement) message(r expect.Result, v expect.Violation) string {
	out := fmt.Sprintf("%s: %s %s; the answer is %s", j.name(r), v.Curl,
		strings.Join(v.Problems, ", "), v.Answer.Action)
	if v.Answer.Source != "" {
		out += ", by " + v.Answer.Source
	}
	return out
}

// mostTold is how many requests Ingresses are told of, of each expectation.
const mostTold = 10

// Diagnostics tell Ingresses which of their requests violate expectations.
func (j Judgement) Diagnostics() []diag.Diagnostic {
	var out []diag.Diagnostic
	tell := func(all []expect.Result, when string) {
		for _, r := range all {
			for _, v := range r.Violations[:min(len(r.Violations), mostTold)] {
				if v.Source.Name == "" {
					continue // the condition tells of it
				}
				out = append(out, diag.Diagnostic{Severity: diag.Warning, Reason: diag.ExpectationViolated,
					Source: v.Source, Message: when + j.message(r, v)})
			}
		}
	}
	tell(j.Worse, "nothing is changed, as this would violate ")
	tell(j.Standing, "this violates ")
	return diag.Limit(out)
}
