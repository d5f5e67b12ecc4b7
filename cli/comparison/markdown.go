package comparison

import (
	"fmt"
	"strings"

	"fairlead.dev/fairlead/cli/output"
)

// This file prints a report for a comment on a pull request.

// Markdown returns the report as Markdown.
func (r Report) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "### Fairlead: %s\n", r.Summary)
	var settings [][]string
	for _, e := range r.Exposures {
		setting := e.Setting
		if e.Host != "" {
			setting += " of " + string(e.Host)
		}
		settings = append(settings, []string{
			output.Strong(marks[e.Protection]), output.Code(where(e)), setting,
			output.Code(e.Before), output.Code(e.After),
		})
	}
	output.Table(&b, "| | Load balancer | Setting | Before | After |", settings)
	var requests [][]string
	for _, c := range r.Changes {
		note := output.Strong(marks[c.Protection])
		if c.Because != "" {
			note += ": " + output.Escaped(c.Because)
		}
		requests = append(requests, []string{
			note, output.Code(c.Curl), output.Code(inWords(c.Before)), output.Code(inWords(c.After)),
		})
	}
	output.Table(&b, "| | Request | Before | After |", requests)
	var undecided [][]string
	for _, u := range r.Undecided {
		undecided = append(undecided, []string{
			output.Code(orAny(string(u.Host))), fmt.Sprint(u.Port),
			output.Code(string(u.LoadBalancer)), output.Escaped(u.Why),
		})
	}
	output.Table(&b, "| Not decided for host | Port | Load balancer | Why |", undecided)
	var unread [][]string
	for _, p := range r.Problems {
		unread = append(unread, []string{p.Side, output.Code(p.Place.String()),
			output.Escaped(p.Object), output.Escaped(p.Message)})
	}
	output.Table(&b, "| Not read | Place | Object | Why |", unread)
	return b.String()
}
