package answer

import (
	"cmp"
	"fmt"
	"strings"

	"fairlead.dev/fairlead/cli/output"
	"fairlead.dev/fairlead/model/printable"
)

// This file prints explanations for people.

// Text returns the explanation for people.
func (e Explanation) Text(colour output.Palette) string {
	var b strings.Builder
	line := func(what, said string) {
		if said != "" {
			fmt.Fprintf(&b, "  %-12s %s\n", what, printable.Line(said))
		}
	}
	fmt.Fprintln(&b, colour.Bold(printable.Line(e.URL)))
	line("answered by", e.Outcome.String())
	line("because", e.Why)
	line("asked for by", e.Source)
	line("rule", cmp.Or(e.Rule, "none"))
	line("of", e.loadBalancer())
	for _, other := range e.otherAnswers() {
		line("also on", other)
	}
	for _, o := range e.Over {
		line("instead of", o.Source)
	}
	line("its paths", e.paths())
	for _, o := range e.Ports {
		line(fmt.Sprintf("port %d", o.Port), "has it: "+o.URL+" is answered by "+o.Outcome.String())
	}
	line(e.hosts())
	for _, r := range e.Refused {
		line(r.State, fmt.Sprintf("%s: %s: %s", r.Source, r.Reason, r.Message))
	}
	return b.String()
}

// loadBalancer returns the load balancer that answers, and why it is this one.
func (e Explanation) loadBalancer() string {
	switch {
	case e.LoadBalancer == "":
		return ""
	case !e.Named:
		return string(e.LoadBalancer) + ", if the DNS name of the host leads there"
	case e.sharing > 1:
		return fmt.Sprintf("%s, of the oldest Ingress that names %s", e.LoadBalancer, e.claimed)
	case len(e.Others) > 0:
		return fmt.Sprintf("%s, which alone names %s", e.LoadBalancer, e.claimed)
	}
	return string(e.LoadBalancer)
}

// otherAnswers returns the answers of the other load balancers, one for all that have the same.
func (e Explanation) otherAnswers() []string {
	var outcomes []string
	by := map[string][]string{}
	for _, o := range e.Others {
		said := o.Outcome.String()
		if by[said] == nil {
			outcomes = append(outcomes, said)
		}
		by[said] = append(by[said], string(o.LoadBalancer))
	}
	var out []string
	for _, said := range outcomes {
		keys := by[said]
		text := strings.Join(keys[:min(len(keys), mostNear)], ", ")
		if more := len(keys) - mostNear; more > 0 {
			text += " and " + output.Number(more, "other")
		}
		out = append(out, text+": "+said+", if the DNS name leads there")
	}
	return out
}

// paths returns the paths of the host, and why they do not match.
func (e Explanation) paths() string {
	var names, reasons []string
	for _, p := range e.Paths {
		names = append(names, p.Path)
		if p.Why != "" {
			reasons = append(reasons, p.Why)
		}
	}
	text := strings.Join(names, ", ")
	if e.pathsLeft > 0 {
		text += fmt.Sprintf(" and %d more", e.pathsLeft)
	}
	return strings.Join(append([]string{text}, reasons...), "; ")
}

// hosts returns the nearest hosts, after a label.
func (e Explanation) hosts() (string, string) {
	if likely := misspelt(hostOf(e.URL), e.Hosts); len(likely) > 0 {
		return "did you mean", strings.Join(likely, ", ") + "?"
	}
	text := strings.Join(e.Hosts, ", ")
	if strings.Contains(text, "*") {
		text += "; the star stands for one label"
	}
	return "named hosts", text
}

// hostOf returns the host of a URL as rules see it.
func hostOf(url string) string {
	q, err := Ask(url)
	if err != nil {
		return ""
	}
	return q.Request.Hostname()
}
