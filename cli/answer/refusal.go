package answer

import (
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fairlead/cli/output"
	"fairlead.dev/fairlead/cli/program"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file names the Ingresses that ask for the host of a request and are not served, or not as
// they ask to be.

// NotServed has the reasons, beside errors, for which an Ingress or a part of it is not served.
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
	// State is "refused", "problem" where the Ingress is served all the same, "left alone" or "note".
	State string `json:"state"`

	ingress string
	serves  bool // the Ingress is served on the port of the request
}

// RefusalOf returns a diagnostic of an Ingress as a refusal.
func RefusalOf(d diag.Diagnostic) Refusal {
	return Refusal{Source: d.Source.String(), Severity: d.Severity, Reason: d.Reason,
		Message: d.Message, ingress: d.Source.Object()}
}

// state says in a word what it means for the Ingress. One that is served on the port of the request is
// not refused: it has a problem.
func (r Refusal) state() string {
	switch {
	case r.Severity == diag.Error && r.serves:
		return "problem"
	case r.Severity == diag.Error:
		return "refused"
	case slices.Contains(leftAlone, r.Reason):
		return "left alone"
	}
	return "note"
}

// AddRefusals adds refusals, those of the Ingress that answers first. If no load balancer names the host,
// the reason names the Ingresses that ask for it.
func (e *Explanation) AddRefusals(programs []program.Program, port int32, refused []Refusal) {
	slices.SortStableFunc(refused, func(a, b Refusal) int { return compareTrue(a.ingress == e.Ingress, b.ingress == e.Ingress) })
	e.Refused = refused
	var asking []string
	for i := range refused {
		r := &refused[i]
		r.serves = slices.ContainsFunc(programs, func(p program.Program) bool {
			return isServed(p.Table, r.ingress, port)
		})
		if r.State = r.state(); r.State == "refused" || r.State == "left alone" {
			asking = append(asking, fmt.Sprintf("Ingress %s asks for it, and is %s", r.ingress, r.State))
		}
	}
	if !e.Named && len(asking) > 0 {
		slices.Sort(asking)
		e.Why += "; " + strings.Join(slices.Compact(asking), "; ")
	}
}

// isServed reports whether an Ingress, namespace/name, has a host or a default backend on a port.
func isServed(t *precedence.Table, ingress string, port int32) bool {
	return slices.ContainsFunc(t.Names, func(n routing.Name) bool {
		return n.Owner.String() == ingress && slices.Contains(n.Ports, port)
	}) || slices.ContainsFunc(t.Routes, func(r routing.Route) bool {
		return r.Owner.String() == ingress && slices.Contains(r.Ports, port)
	}) || slices.ContainsFunc(t.Defaults, func(d routing.Default) bool {
		return d.Owner.String() == ingress && slices.Contains(d.Ports, port)
	})
}

// Summarise returns a summary of the answers, in one line.
func Summarise(all []Explanation, t output.Tally) string {
	kinds, empty := map[string]int{}, 0
	refused := map[string]bool{}
	for _, e := range all {
		kinds[e.Outcome.Kind]++
		if e.Outcome.LacksTargets() {
			empty++
		}
		for _, r := range e.Refused {
			if r.State != "note" {
				refused[r.ingress] = true
			}
		}
	}
	text := fmt.Sprintf("%s: %d to Services, %d redirected, %d with a fixed response",
		output.Number(len(all), "request"), kinds["service"], kinds["redirect"], kinds["fixed"])
	if n := kinds[unanswered]; n > 0 {
		text += fmt.Sprintf(", %d not answered", n)
	}
	if empty > 0 {
		text += fmt.Sprintf("; %s targets (503)", lacking(empty))
	}
	if len(refused) > 0 {
		text += fmt.Sprintf("; %s not served as asked", ingresses(len(refused)))
	}
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

func lacking(n int) string {
	if n == 1 {
		return "1 of these lacks"
	}
	return fmt.Sprintf("%d of these lack", n)
}
