package comparison

import (
	"fmt"
	"strings"

	"fairlead.dev/fairlead/cli/output"
	"fairlead.dev/fairlead/model/compare"
	"fairlead.dev/fairlead/model/printable"
)

// This file prints a report for people, in a terminal.

// Text returns the report as text.
func (r Report) Text(colour output.Palette) string {
	var b strings.Builder
	line := func(format string, args ...any) {
		b.WriteString(printable.Line(fmt.Sprintf(format, args...)) + "\n")
	}
	for _, e := range r.Exposures {
		b.WriteString(mark(colour, e.Protection) + lifeOf(e))
		setting := e.Setting
		if e.Host != "" {
			setting += " of " + string(e.Host)
		}
		line("%s: %s", where(e), setting)
		line("  before: %s", e.Before)
		line("  after:  %s", e.After)
		acceptance(line, r, e.Protection, SettingID(e))
	}
	for _, c := range merged(r.Changes) {
		b.WriteString(mark(colour, c.Protection))
		line("%s", c.Curl)
		line("  before: %s", inWords(c.Before))
		line("  after:  %s", inWords(c.After))
		line("  why:    %s", c.After.Why)
		if c.Because != "" {
			line("  %s: %s", marks[c.Protection], c.Because)
		}
		for _, detail := range c.Details {
			line("    %s", detail)
		}
		line("  on:     %s", c.LoadBalancer)
		if also := c.also(); also != "" {
			line("  also:   %s", also)
		}
		acceptance(line, r, c.Protection, RequestID(c.Change))
	}
	for _, u := range r.Undecided {
		b.WriteString(colour.Bad("not decided") + " ")
		line("requests to host %s on port %d of %s: %s",
			orAny(string(u.Host)), u.Port, u.LoadBalancer, u.Why)
	}
	for _, p := range r.Problems {
		b.WriteString(colour.Bad("not read") + " ")
		line("%s: %s", p.Side, p.Error())
	}
	for _, text := range r.acceptances() {
		line("note: %s", text)
	}
	for _, why := range r.NotCompared {
		b.WriteString(colour.Bad("not compared") + " ")
		line("%s", why)
	}
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	line("Summary: %s", r.Summary)
	return b.String()
}

// acceptance prints how a finding is accepted, or the id to accept it by.
func acceptance(
	line func(format string, args ...any), r Report, p compare.Protection, id string,
) {
	switch {
	case p == Accepted:
		line("  %s", r.AcceptedBy[id])
	case mayBeLess(p):
		line("  id:     %s", id)
	}
}

// acceptances returns what there is to say about the file of accepted findings.
func (r Report) acceptances() []string {
	var out []string
	if r.AcceptancesChange != "" {
		out = append(out, r.AcceptancesChange)
	}
	for _, a := range r.Unused {
		out = append(out, fmt.Sprintf("the accepted finding %s (%s: %s) is not there: remove it from "+
			"the file of --accept", a.ID, a.Date, a.Reason))
	}
	return out
}

// mark returns the word for protection before a difference.
func mark(colour output.Palette, p compare.Protection) string {
	switch word := marks[p]; {
	case word == "":
		return ""
	case p == compare.More || p == Accepted:
		return colour.Good(word) + " "
	default:
		return colour.Bad(word) + " "
	}
}

// lifeOf returns a word before a load balancer that is new or gone.
func lifeOf(e compare.Exposure) string {
	switch {
	case e.Setting != "load balancer":
		return ""
	case e.After == "none":
		return "gone "
	}
	return "new "
}

func orAny(host string) string {
	if host == "" {
		return "that no rule names"
	}
	return host
}
