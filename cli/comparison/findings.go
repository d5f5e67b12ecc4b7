package comparison

import (
	"fmt"
	"strings"

	"fairlead.dev/fairlead/cli/manifests"
	"fairlead.dev/fairlead/cli/output"
	"fairlead.dev/fairlead/model/compare"
	"fairlead.dev/fairlead/model/diag"
)

// This file has a report as findings in files.

// The rules of findings.
const (
	lessProtected     = "LessProtected"
	maybeLess         = "PossiblyLessProtected"
	acceptedFinding   = "AcceptedFinding"
	requestsChange    = "RequestsChange"
	exposureChanges   = "ExposureChanges"
	notDecided        = "NotDecided"
	notRead           = "NotRead"
	notComparedEnough = "NotCompared"
)

const review = "Look whether this is meant."

// Rules are all rules of findings.
var Rules = []output.Rule{
	{ID: lessProtected, Meaning: "Requests, or a setting, are less protected than before.",
		Remedy: review + " If it is, a reviewer accepts the finding by its id."},
	{ID: maybeLess, Meaning: "Requests, or a setting, may be less protected than before.",
		Remedy: review + " If it is, a reviewer accepts the finding by its id."},
	{ID: acceptedFinding, Meaning: "Requests, or a setting, are less protected, and this is accepted.", Remedy: "Nothing is to be done."},
	{ID: requestsChange, Meaning: "Requests are answered differently than before.", Remedy: review},
	{ID: exposureChanges, Meaning: "A setting that decides about exposure is not as before.", Remedy: review},
	{ID: notDecided, Meaning: "The comparison of requests exceeded its budget, so that a difference may be unseen.",
		Remedy: "Split hosts with many globs and conditions, or review them by hand."},
	{ID: notRead, Meaning: "A file or an object cannot be read, so that its routes look deleted or new.",
		Remedy: "Mend the file, or leave it out with --exclude."},
	{ID: notComparedEnough, Meaning: "Less was compared than the caller expects.", Remedy: "Do what the message says."},
}

// Findings returns the report as findings, each at the Ingress that answers afterwards or, without one, that answered before.
// Places are those of the files afterwards.
func (r Report) Findings(places manifests.Places) []output.Located {
	var out []output.Located
	for _, c := range merged(r.Changes) {
		rule, severity := ruleOf(c.Protection, requestsChange)
		text := fmt.Sprintf("%s: before %s; after %s; why: %s", c.Curl, inWords(c.Before), inWords(c.After), c.After.Why)
		for _, more := range append([]string{c.Because, c.also()}, c.Details...) {
			if more != "" {
				text += "; " + more
			}
		}
		at := placeOf(places, c.After, c.Before)
		out = append(out, output.Located{Rule: rule, Severity: severity, File: at.File, Line: at.Line,
			Object: string(c.LoadBalancer), Message: text + r.accepting(c.Protection, RequestID(c.Change)),
			ID: idOf(string(c.LoadBalancer), c.Curl, c.Before.Action, c.After.Action)}) // without the numbers of fields
	}
	for _, e := range r.Exposures {
		rule, severity := ruleOf(e.Protection, exposureChanges)
		setting, id := e.Setting, SettingID(e)
		if e.Host != "" {
			setting += " of " + string(e.Host)
		}
		out = append(out, output.Located{Rule: rule, Severity: severity, Object: where(e), ID: id,
			Message: fmt.Sprintf("%s: before %s; after %s", setting, e.Before, e.After) + r.accepting(e.Protection, id)})
	}
	for _, u := range r.Undecided {
		out = append(out, output.Located{Rule: notDecided, Severity: diag.Warning, Object: string(u.LoadBalancer),
			Message: fmt.Sprintf("requests to host %s on port %d: %s", orAny(string(u.Host)), u.Port, u.Why)})
	}
	for _, p := range r.Problems {
		one := output.Located{Rule: notRead, Severity: diag.Error, Object: p.Object, Message: p.Side + ": " + p.Message}
		if p.Side == After {
			one.File, one.Line = p.File, p.Line
		}
		out = append(out, one)
	}
	for _, why := range r.NotCompared {
		out = append(out, output.Located{Rule: notComparedEnough, Severity: diag.Error, Message: why})
	}
	return out
}

// accepting is the id to accept a finding by, or how it is accepted.
func (r Report) accepting(p compare.Protection, id string) string {
	switch {
	case p == Accepted:
		return "; " + r.AcceptedBy[id]
	case mayBeLess(p):
		return "; id: " + id
	}
	return ""
}

func ruleOf(p compare.Protection, otherwise string) (string, diag.Severity) {
	switch p {
	case compare.Less:
		return lessProtected, diag.Error
	case compare.Unknown:
		return maybeLess, diag.Warning
	case Accepted:
		return acceptedFinding, diag.Info
	}
	return otherwise, diag.Info
}

// placeOf returns where the first of the answers has its field, if its Ingress is among the files.
func placeOf(places manifests.Places, answers ...compare.Answer) manifests.Place {
	for i, a := range answers {
		field := strings.TrimSpace(strings.TrimPrefix(a.Source, "Ingress "+a.Ingress))
		if i > 0 {
			field = "" // of before, which may be another one now
		}
		if at, known := places.Of("Ingress "+a.Ingress, field); known {
			return at
		}
	}
	return manifests.Place{}
}
