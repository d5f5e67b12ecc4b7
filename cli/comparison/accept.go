package comparison

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/model/compare"
)

// This file has the findings that reviewers have accepted: what is less protected on purpose.

// Accepted is the protection of a finding that is accepted.
const Accepted compare.Protection = "accepted"

// An Acceptance is a finding that was reviewed and accepted.
type Acceptance struct {
	ID     string `json:"id"`
	Reason string `json:"reason"`
	Date   string `json:"date"`
}

// ReadAcceptances reads a file of accepted findings.
func ReadAcceptances(text []byte) ([]Acceptance, error) {
	var file struct {
		Accept []Acceptance `json:"accept"`
	}
	if err := yaml.UnmarshalStrict(text, &file); err != nil {
		return nil, fmt.Errorf("reading accepted findings: %w", err)
	}
	var errs []error
	for i, a := range file.Accept {
		wrong := ""
		_, err := time.Parse(time.DateOnly, a.Date)
		switch {
		case a.ID == "":
			wrong = "id is missing: diff prints the id of each finding"
		case a.Reason == "":
			wrong = "reason is missing"
		case err != nil:
			wrong = fmt.Sprintf("date is %q, and has to be a day such as 2026-11-28", a.Date)
		case slices.ContainsFunc(file.Accept[:i], func(b Acceptance) bool { return a.ID == b.ID }):
			wrong = a.ID + " is there twice"
		}
		if wrong != "" {
			errs = append(errs, fmt.Errorf("accept[%d]: %s", i, wrong))
		}
	}
	return file.Accept, errors.Join(errs...)
}

// Accept takes findings that are accepted out of what fails a pipeline. Those that are not found
// are told, since they would accept the same finding later on.
func (r *Report) Accept(all []Acceptance) {
	used := map[string]bool{}
	accept := func(id string, p *compare.Protection, because *string) {
		at := slices.IndexFunc(all, func(a Acceptance) bool { return a.ID == id })
		if at < 0 || !mayBeLess(*p) {
			return
		}
		used[id], *p = true, Accepted
		text := fmt.Sprintf("accepted on %s: %s", all[at].Date, all[at].Reason)
		if *because = strings.TrimPrefix(*because+"; "+text, "; "); r.AcceptedBy == nil {
			r.AcceptedBy = map[string]string{}
		}
		r.AcceptedBy[id] = text
	}
	for i := range r.Exposures {
		var because string
		accept(SettingID(r.Exposures[i]), &r.Exposures[i].Protection, &because)
	}
	for i := range r.Changes {
		accept(RequestID(r.Changes[i]), &r.Changes[i].Protection, &r.Changes[i].Because)
	}
	for _, a := range all {
		if !used[a.ID] {
			r.Unused = append(r.Unused, a)
		}
	}
	r.count()
}

func mayBeLess(p compare.Protection) bool { return p == compare.Less || p == compare.Unknown }

// SettingID returns the identity of a finding about a setting.
func SettingID(e compare.Exposure) string {
	return idOf("setting", string(e.LoadBalancer), fmt.Sprint(e.Port), string(e.Host), e.Setting,
		e.Before, e.After)
}

// RequestID returns the identity of a finding about requests.
func RequestID(c compare.Change) string {
	return idOf(append([]string{"request", string(c.LoadBalancer), c.Curl, inWords(c.Before),
		inWords(c.After)}, c.Details...)...)
}

// idOf returns a short text that is equal for equal parts, and hardly for others.
func idOf(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:6])
}
