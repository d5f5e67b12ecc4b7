package comparison

import (
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fairlead/cli/output"
	"fairlead.dev/fairlead/model/compare"
)

// This file prints a report for a comment on a pull request.

// Markdown returns the report as Markdown.
func (r Report) Markdown() string {
	var b output.Comment
	fmt.Fprintf(&b, "### Fairlead: %s\n", r.Summary)
	b.List("not compared", r.NotCompared)
	b.List("accepted findings", r.acceptances())
	var settings [][]string
	for _, e := range byProtection(r.Exposures, protectionOfSetting) {
		setting := e.Setting
		if e.Host != "" {
			setting += " of " + string(e.Host)
		}
		settings = append(settings, []string{
			output.Strong(marks[e.Protection]) + lifeOf(e) + r.noteOf(e.Protection, SettingID(e)),
			output.Code(where(e)), setting,
			output.Code(e.Before), output.Code(e.After),
		})
	}
	b.Table("| | Load balancer | Setting | Before | After |", settings)
	var requests [][]string
	for _, c := range merged(byProtection(r.Changes, protectionOfRequest)) {
		note := output.Strong(marks[c.Protection])
		if c.Because != "" {
			note += ": " + output.Escaped(c.Because)
		}
		if len(c.Details) > 0 {
			note += " (" + output.Escaped(strings.Join(c.Details, "; ")) + ")"
		}
		if c.Protection != Accepted { // Because says it
			note += r.noteOf(c.Protection, RequestID(c.Change))
		}
		if also := c.also(); also != "" {
			note = strings.TrimSpace(note + " " + output.Escaped(also))
		}
		requests = append(requests, []string{
			note, output.Code(c.Curl), output.Code(inWords(c.Before)), output.Code(inWords(c.After)),
		})
	}
	b.Table("| | Request | Before | After |", requests)
	var undecided [][]string
	for _, u := range r.Undecided {
		undecided = append(undecided, []string{
			output.Code(orAny(string(u.Host))), fmt.Sprint(u.Port),
			output.Code(string(u.LoadBalancer)), output.Escaped(u.Why),
		})
	}
	b.Table("| Not decided for host | Port | Load balancer | Why |", undecided)
	var unread [][]string
	for _, p := range r.Problems {
		unread = append(unread, []string{p.Side, output.Code(p.Place.String()),
			output.Escaped(p.Object), output.Escaped(p.Message)})
	}
	b.Table("| Not read | Place | Object | Why |", unread)
	return b.String()
}

func protectionOfSetting(e compare.Exposure) compare.Protection { return e.Protection }
func protectionOfRequest(c compare.Change) compare.Protection   { return c.Protection }

// byProtection returns differences with those first that a reviewer must see: what is less
// protected, and then what may be.
func byProtection[T any](all []T, of func(T) compare.Protection) []T {
	rank := func(d T) int {
		order := []compare.Protection{compare.Less, compare.Unknown}
		if at := slices.Index(order, of(d)); at >= 0 {
			return at
		}
		return len(order)
	}
	return slices.SortedStableFunc(slices.Values(all), func(a, b T) int { return rank(a) - rank(b) })
}

// noteOf returns how a finding is accepted, or the id to accept it by, for a cell.
func (r Report) noteOf(p compare.Protection, id string) string {
	switch {
	case p == Accepted:
		return ": " + output.Escaped(r.AcceptedBy[id])
	case mayBeLess(p):
		return " " + output.Code(id)
	}
	return ""
}
