package traffic

import (
	"fmt"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/cli/output"
	"fairlead.dev/fairlead/model/printable"
	"fairlead.dev/fairlead/model/replay"
)

// This file prints a report for people.

// A writer writes printable lines.
type writer struct {
	strings.Builder
	colour output.Palette
}

func (w *writer) line(format string, args ...any) {
	w.WriteString(printable.Line(fmt.Sprintf(format, args...)) + "\n")
}

// Text returns the report as text, with at most so many paths, disagreements and changes.
func (r Report) Text(colour output.Palette, most int) string {
	w := &writer{colour: colour}
	for _, b := range r.LoadBalancers {
		w.balancer(b, r.Paths, most)
	}
	for _, o := range r.Others {
		w.line("%s: %s, not compared: it is none of the load balancers above",
			or(o.Name, "further load balancers"), lines(o.Lines))
	}
	for i, g := range r.TargetGroups {
		if i == most {
			w.more("", len(r.TargetGroups)-most, "target group", "target groups")
			break
		}
		w.line("target group %s: %s, whose Service is not compared: the name is that of no Service, or of several",
			or(g.Name, "of another name"), lines(g.Lines))
	}
	for i, d := range r.Disagreements {
		if i == most {
			w.more("", len(r.Disagreements)-most, "kind of disagreement", "kinds of disagreements")
			break
		}
		w.disagreement(d)
	}
	if r.Change != nil {
		w.change(r.Change, most)
	}
	w.WriteByte('\n')
	w.line("Summary: %s", r.summary())
	return w.String()
}

func or(text, fallback string) string {
	if text == "" {
		return fallback
	}
	return text
}

func (w *writer) balancer(b replay.LoadBalancer, paths []replay.Path, most int) {
	priorities := "priorities of rules are compared"
	switch {
	case !b.Priorities:
		priorities = "priorities of rules are not known, and not compared"
	case b.Planned:
		priorities = "priorities of rules are compared with those of a plan for a new load balancer"
	}
	w.WriteString(w.colour.Bold(printable.Line(string(b.Key))))
	if b.Foreign > 0 {
		priorities += "; " + number(b.Foreign) + " answered by rules that Fairlead did not create"
	}
	w.line(": %s; %s", lines(b.Lines), priorities)
	shown := 0
	for _, p := range paths {
		if p.LoadBalancer != b.Key {
			continue
		}
		if shown++; shown == 1 {
			w.line("  %12s %12s %16s %16s  %s", "requests", "possible", "4xx (targets')", "5xx (targets')",
				"path")
		}
		if shown <= most {
			w.line("  %12s %12s %16s %16s  port %d %s", number(p.Requests), number(p.Possible),
				errorsOf(p.Client4xx, p.Target4xx), errorsOf(p.Client5xx, p.Target5xx), p.Port,
				route(p.Answer))
		}
	}
	if shown > most {
		w.more("  ", shown-most, "path", "paths")
	}
}

// more writes the line for entries that are not printed.
func (w *writer) more(indent string, n int, one, many string) {
	if n == 1 {
		w.line("%s1 more %s; --top or -o json has it", indent, one)
		return
	}
	w.line("%s%d more %s; --top or -o json has them", indent, n, many)
}

func errorsOf(all, targets int64) string {
	return fmt.Sprintf("%s (%s)", number(all), number(targets))
}

// route prints the host and path that requests match, and the answer.
func route(a replay.Answer) string {
	switch {
	case a.Source == "":
		return a.Action + ", by no Ingress"
	case a.Route == "":
		return fmt.Sprintf("default backend: %s, by %s", a.Action, a.Source)
	}
	host := or(string(a.Host), "any host")
	return fmt.Sprintf("%s %s: %s, by %s", host, a.Route, a.Action, a.Source)
}

func (w *writer) disagreement(d replay.Disagreement) {
	w.WriteString(w.colour.Bad("disagreement") + " ")
	w.line("%s on port %d of %s", lines(d.Lines), d.Port, d.LoadBalancer)
	w.line("  logged:   %s", logged(d.Logged))
	if d.Kind == replay.WrongRule {
		w.line("  expected: %s", rules(d.Priorities))
		w.answers("  that is:  ", d.Expected)
	} else {
		w.answers("  expected: ", d.Expected)
	}
	w.examples(d.Examples)
}

func (w *writer) answers(heading string, all []replay.Answer) {
	for i, a := range all {
		if i > 0 {
			heading = "        or: "
		}
		w.line("%s%s", heading, route(a))
	}
}

func (w *writer) examples(all []replay.Example) {
	for _, e := range all {
		to := ""
		if e.Location != "" {
			to = ", redirected to " + e.Location
		}
		w.line("  %s:%d: %s%s", e.File, e.Line, e.Request, to)
	}
}

func logged(l replay.Logged) string {
	out := rule(l.Priority)
	if l.SignIn {
		out += ", sign-in"
	}
	switch l.Action {
	case "":
		return out
	case "fixed":
		out += ", fixed response"
	default:
		out += ", " + l.Action
	}
	if l.Status != 0 {
		out += " " + strconv.Itoa(l.Status)
	}
	if l.TargetGroup != "" {
		out += " to " + l.TargetGroup
	}
	return out
}

func rule(priority int) string {
	if priority == 0 {
		return "default action"
	}
	return fmt.Sprintf("rule %d", priority)
}

func rules(priorities []int) string {
	var words []string
	for _, p := range priorities {
		words = append(words, rule(p))
	}
	return strings.Join(words, " or ")
}

func (w *writer) change(c *replay.Change, most int) {
	for i, a := range c.Top {
		if i == most {
			w.more("", len(c.Top)-most, "kind of change", "kinds of changes")
			break
		}
		word := "changed"
		if !a.Certain {
			word = "may change"
		}
		w.line("%s %s on port %d of %s", word, requests(a.Requests), a.Port, a.LoadBalancer)
		w.answers("  before:   ", a.Before)
		w.answers("  after:    ", a.After)
		w.examples(a.Examples)
	}
}

// summary returns the report in one line.
func (r Report) summary() string {
	s := r.Summary
	parts := []string{fmt.Sprintf("%s, %s compared", lines(s.Lines), number(s.Compared)),
		number(s.Disagreements) + " disagree"}
	add := func(n int64, what string) {
		if n > 0 {
			parts = append(parts, number(n)+" "+what)
		}
	}
	add(s.Foreign, "answered by foreign rules")
	add(s.Either, "with several possible paths")
	add(s.Services, "whose Service is not compared")
	add(s.NotDecided, "decided by no rule")
	add(s.NoListener, "of ports that are not known")
	add(s.Others, "of other load balancers")
	add(s.Untimely, "left out for their time")
	add(r.Unread, "not read")
	out := strings.Join(parts, ", ")
	if c := r.Change; c != nil {
		out += fmt.Sprintf("; the change alters %s of %s", share(c.Changed, c.Requests),
			requests(c.Requests))
		if c.Possible > 0 {
			out += ", and at most " + share(c.Changed+c.Possible, c.Requests)
		}
	}
	return out
}

// share returns a part in per cent. A part above zero is never printed as zero.
func share(part, whole int64) string {
	if part == 0 || whole == 0 {
		return "0 %"
	}
	percent := 100 * float64(part) / float64(whole)
	digits := 2
	for limit := 0.01; percent < limit && digits < 8; limit /= 10 {
		digits++
	}
	return strconv.FormatFloat(percent, 'f', digits, 64) + " %"
}

func lines(n int64) string {
	if n == 1 {
		return "1 line"
	}
	return number(n) + " lines"
}

func requests(n int64) string {
	if n == 1 {
		return "1 request"
	}
	return number(n) + " requests"
}

// number returns a number with commas between thousands.
func number(n int64) string {
	text := strconv.FormatInt(n, 10)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
