package answer

import (
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fairlead/cli/output"
	"fairlead.dev/fairlead/model/diag"
)

// This file names the Ingresses that ask for the host of a request and are not served, or not as
// they ask to be.

// NotServed has the reasons of unserved Ingresses that are no errors.
var NotServed = []diag.Reason{diag.ClassMissing, diag.ClassForeign, diag.ClassUnset,
	diag.ClassUnknown,
	diag.CertificateMissing, diag.ServiceMissing, diag.ResourceMissing, diag.AuthUnavailable}

// leftAlone has the reasons for which Fairlead ignores an Ingress, which are no errors.
var leftAlone = NotServed[:4]

// A Refusal is the reason for which an Ingress is not served as it asks to be.
type Refusal struct {
	Source   string        `json:"source"`
	Severity diag.Severity `json:"severity"`
	Reason   diag.Reason   `json:"reason"`
	Message  string        `json:"message"`

	ingress string
}

// RefusalOf returns a diagnostic of an Ingress as a refusal.
func RefusalOf(d diag.Diagnostic) Refusal {
	return Refusal{d.Source.String(), d.Severity, d.Reason, d.Message, d.Source.Object()}
}

// label returns the word before a refusal.
func (r Refusal) label() string {
	switch {
	case r.Severity == diag.Error:
		return "refused"
	case slices.Contains(leftAlone, r.Reason):
		return "left alone"
	}
	return "note"
}

// Blame adds refusals. If no load balancer answers for the host, the reason names the Ingresses
// that ask for it.
func (e *Explanation) Blame(refused []Refusal) {
	e.Refused = refused
	var asking []string
	for _, r := range refused {
		if text := fmt.Sprintf("Ingress %s asks for it, and is %s", r.ingress,
			r.label()); r.label() != "note" {
			asking = append(asking, text)
		}
	}
	if e.LoadBalancer == "" && len(asking) > 0 {
		slices.Sort(asking)
		e.Why += "; " + strings.Join(slices.Compact(asking), "; ")
	}
}

// Summarise returns a summary of the answers, in one line.
func Summarise(all []Explanation, t output.Tally) string {
	kinds := map[string]int{}
	refused := map[string]bool{}
	for _, e := range all {
		kinds[e.Outcome.Kind]++
		for _, r := range e.Refused {
			if r.label() != "note" {
				refused[r.ingress] = true
			}
		}
	}
	text := fmt.Sprintf("%s: %d to Services, %d redirected, %d with a fixed response",
		output.Number(len(all), "request"), kinds["service"], kinds["redirect"], kinds["fixed"])
	if n := kinds[unanswered]; n > 0 {
		text += fmt.Sprintf(", %d not answered", n)
	}
	text += fmt.Sprintf("; %s not served as asked", ingresses(len(refused)))
	if t.LeftOut > 0 {
		text += "; " + output.Number(t.LeftOut, "problem") + " in the files, so not everything was read"
	}
	return text
}

func ingresses(n int) string {
	if n == 1 {
		return "1 Ingress"
	}
	return fmt.Sprintf("%d Ingresses", n)
}
