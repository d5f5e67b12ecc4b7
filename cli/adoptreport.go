package cli

import (
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fairlead/cli/comparison"
	"fairlead.dev/fairlead/cli/output"
	"fairlead.dev/fairlead/model/adopt"
	"fairlead.dev/fairlead/model/compare"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/printable"
)

// This file has the report of adopt.

// An adoption is the JSON that adopt prints: keys may be added, and none may change.
type adoption struct {
	LoadBalancers []foundBalancer `json:"loadBalancers"`
	// Unmatched are the load balancers that were found, and that no Ingress asks for.
	Unmatched []string `json:"unmatched"`
	// Answers has the requests that get another answer, and the settings that protect more or less. Before is
	// what the load balancers that were found do.
	Answers comparison.Report `json:"answers"`
}

// A foundBalancer is a load balancer that others made.
type foundBalancer struct {
	Name   string `json:"name"`
	Handle string `json:"handle"`
	Key    lb.Key `json:"key"`
	For    string `json:"for,omitempty"`
	Rules  int    `json:"rules"`
	// Classes is how many classes of requests were compared, and Differ how many of them get another answer.
	Classes int `json:"classes"`
	Differ  int `json:"differ"`
	// Settings are wanted otherwise than they are.
	Settings []adopt.Difference `json:"settings"`
	// TargetGroups maps the target groups that were found to those that are wanted.
	TargetGroups map[lb.GroupID]lb.GroupID `json:"targetGroups"`
	// Left are the target groups that are for nothing that is wanted.
	Left []lb.GroupID `json:"left,omitempty"`
}

// add adds a load balancer that was compared.
func (r *adoption) add(other *lb.Other, key lb.Key, found adopt.Comparison) {
	r.LoadBalancers = append(r.LoadBalancers, foundBalancer{
		Name: other.Name, Handle: other.Handle, Key: key, For: adopt.Stack(other), Rules: other.RuleCount(),
		Classes: found.Classes, Differ: len(found.Changes), Settings: found.Settings,
		TargetGroups: found.Groups, Left: found.Left,
	})
}

// differ returns how many load balancers differ.
func (r adoption) differ() (n int) {
	for _, b := range r.LoadBalancers {
		if b.Differ+len(b.Settings)+len(b.Left) > 0 {
			n++
		}
	}
	return n
}

// Text is for output.Report.
func (r adoption) Text(colour output.Palette) string {
	var b strings.Builder
	line := func(format string, args ...any) {
		b.WriteString(printable.Line(fmt.Sprintf(format, args...)) + "\n")
	}
	line("%s compared, %d of them differ.", output.Number(len(r.LoadBalancers), "load balancer"), r.differ())
	for _, f := range r.LoadBalancers {
		b.WriteByte('\n')
		for _, text := range f.lines() {
			line("%s", text)
		}
	}
	if len(r.Unmatched) > 0 {
		line("\nNo Ingress asks for these:")
		for _, name := range r.Unmatched {
			line("  %s", name)
		}
	}
	b.WriteByte('\n')
	return b.String() + r.Answers.Text(colour)
}

// lines describes a load balancer for people.
func (f foundBalancer) lines() []string {
	title := f.Name
	if f.For != "" {
		title += " of " + f.For
	}
	out := []string{title + " is wanted as " + string(f.Key)}
	if f.Differ == 0 {
		out = append(out, fmt.Sprintf("  answers: the same for all requests (%s, %d kinds of requests)",
			output.Number(f.Rules, "rule"), f.Classes))
	} else {
		out = append(out, fmt.Sprintf("  answers: %d of %d kinds of requests differ", f.Differ, f.Classes))
	}
	wanted := map[lb.GroupID]bool{}
	for _, id := range f.TargetGroups {
		wanted[id] = true
	}
	out = append(out, fmt.Sprintf("  target groups: %d are %d wanted ones", len(f.TargetGroups), len(wanted)))
	for _, id := range f.Left {
		out = append(out, fmt.Sprintf("  target group %s: is for nothing that is wanted", id))
	}
	for _, d := range f.Settings {
		out = append(out, fmt.Sprintf("  %s, %s: is %s, wanted %s", d.Of, d.Setting, d.Found, d.Wanted))
	}
	return out
}

// Markdown is for output.Report.
func (r adoption) Markdown() string {
	return "```\n" + r.Text(false) + "```\n"
}

// finish adds the answers that differ.
func (r *adoption) finish(found []compare.Report) {
	all := compare.Report{Changes: []compare.Change{}, Exposures: []compare.Exposure{}, Undecided: []compare.Undecided{}}
	for _, one := range found {
		all.Changes = append(all.Changes, one.Changes...)
		all.Exposures = append(all.Exposures, one.Exposures...)
		all.Undecided = append(all.Undecided, one.Undecided...)
	}
	r.Answers = comparison.ReportOf(all, len(r.LoadBalancers), []comparison.Problem{})
	slices.Sort(r.Unmatched)
}
