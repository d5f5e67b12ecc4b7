package comparison

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"fairlead.dev/fairlead/model/compare"
	"fairlead.dev/fairlead/model/plainyaml"
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

// ReadAcceptances reads a file of accepted findings. Errors have their lines.
func ReadAcceptances(text []byte) ([]Acceptance, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err == nil && len(document.Content) == 0 {
		return nil, nil // no finding is accepted any more
	}
	root, err := plainyaml.Read(string(text))
	if err != nil {
		return nil, err
	}
	var all []Acceptance
	var errs []error
	err = plainyaml.Fields(root, map[string]func(*yaml.Node) error{
		"accept": func(list *yaml.Node) error {
			if plainyaml.IsNull(list) {
				return nil
			}
			items, err := plainyaml.List(list)
			for _, item := range items {
				one, err := readAcceptance(item, all)
				all, errs = append(all, one), append(errs, err)
			}
			return err
		},
	})
	return all, errors.Join(append(errs, err)...)
}

// readAcceptance reads an entry after others.
func readAcceptance(n *yaml.Node, others []Acceptance) (a Acceptance, err error) {
	text := func(to *string) func(*yaml.Node) error {
		return func(n *yaml.Node) (err error) {
			*to, err = plainyaml.Text(n)
			return err
		}
	}
	err = plainyaml.Fields(n, map[string]func(*yaml.Node) error{
		"id": text(&a.ID), "reason": text(&a.Reason), "date": text(&a.Date)})
	if err != nil {
		return a, err
	}
	wrong := ""
	_, errDate := time.Parse(time.DateOnly, a.Date)
	switch {
	case a.ID == "":
		wrong = "id is missing: diff prints the id of each finding"
	case a.Reason == "":
		wrong = "reason is missing"
	case errDate != nil:
		wrong = fmt.Sprintf("date is %q, and has to be a day such as 2026-11-28", a.Date)
	case slices.ContainsFunc(others, func(b Acceptance) bool { return a.ID == b.ID }):
		wrong = a.ID + " is there twice"
	default:
		return a, nil
	}
	return a, fmt.Errorf("line %d: %s", n.Line, wrong)
}

// Accept removes the accepted findings from those that fail a pipeline. It reports acceptances without
// a finding, since they would accept the same finding later on.
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
