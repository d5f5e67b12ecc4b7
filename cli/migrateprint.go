package cli

import (
	"fmt"
	"strings"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/cli/output"
	"fairlead.dev/fairlead/model/ingress/dialect"
	"fairlead.dev/fairlead/model/ingress/dialect/alb"
	"fairlead.dev/fairlead/model/ingress/dialect/nginx"
	"fairlead.dev/fairlead/model/printable"
)

// This file prints the report of migrate.

// String returns the counts in words.
func (o outcomes) String() string {
	return fmt.Sprintf("%d same, %d changed, %d dropped, %d refused", o.Same, o.Changed, o.Dropped, o.Refused)
}

func (o outcomes) all() int { return o.Same + o.Changed + o.Dropped + o.Refused }

// Sentence returns what a decision about all of them depends on most.
func (s migrationSummary) Sentence() string {
	verb := func(n int, one, several string) string {
		if n == 1 {
			return "1 " + one
		}
		return fmt.Sprintf("%d %s", n, several)
	}
	c := s.Classes
	change := verb(c.Changed, "changes", "change")
	if s.From == v1alpha1.DialectALB {
		change = verb(c.Changed, "may change", "may change")
	}
	return fmt.Sprintf("%d of %s answered the same on %s; %s; %s refused; %s a decision.", c.Same,
		verb(c.Same+c.Changed+c.Refused, "request class is", "request classes are"), s.On, change,
		verb(c.Refused, "is", "are"), verb(s.ToDecide, "Ingress needs", "Ingresses need"))
}

// String returns the counts in one line.
func (s migrationSummary) String() string {
	text := fmt.Sprintf("%s: %s. %s: %s.", output.Number(s.Ingresses.all(), "Ingress"), s.Ingresses,
		output.Number(s.Annotations.all(), "annotation"), s.Annotations)
	if s.Others > 0 {
		text += fmt.Sprintf(" %s of other classes.", output.Number(s.Others, "Ingress"))
	}
	return text
}

// theFake is the name of the provider that is for trying things out.
const theFake = "the fake cloud"

// theirs is the name of the controller that a dialect is of, and the beginning of its annotations.
var theirs = map[string]struct{ name, prefix string }{
	v1alpha1.DialectALB:   {"the other controller", alb.Prefix},
	v1alpha1.DialectNGINX: {"ingress-nginx", nginx.Prefix},
}

// A printer prints the report as text.
type printer struct {
	strings.Builder
	colour output.Palette
	migration
}

func (p *printer) line(format string, args ...any) {
	p.WriteString(printable.Line(fmt.Sprintf(format, args...)) + "\n")
}

func (p *printer) mark(o dialect.Outcome) string {
	if o == dialect.Same {
		return p.colour.Good(string(o))
	}
	return p.colour.Bad(string(o))
}

// Text returns the report as text.
func (r migration) Text(colour output.Palette) string {
	p := printer{colour: colour, migration: r}
	p.line("%s", r.Summary.Sentence())
	p.line("%s", r.Summary)
	for _, note := range r.Notes {
		p.line("%s", note)
	}
	if p.Summary.On == theFake {
		p.line("It can do more than an ALB: --provider aws says what an ALB does.")
	}
	p.requests()
	p.needs()
	p.decisions("To decide: these Ingresses are not served until they are changed", dialect.Refused, false)
	p.decisions("Answered in another way", dialect.Changed, false)
	p.decisions("Without effect", dialect.Dropped, false)
	p.decisions("For all Ingresses, where a request is like these", dialect.Changed, true)
	p.ingresses()
	if len(r.Bindings) > 0 {
		p.WriteString("\nTargetGroupBindings:\n")
	}
	for _, i := range r.Bindings {
		p.WriteString("  " + p.mark(i.Outcome) + " ")
		p.line("%s", strings.TrimSpace(i.Name+" "+inBrackets(i.Place)))
		p.line("    %s", i.Message)
	}
	if r.Logs != nil {
		p.WriteString("\nRequests in the logs:\n" + r.Logs.Text(colour, topShown))
	}
	if r.Attestation != nil {
		p.WriteByte('\n')
		p.line("Written: %s.", r.Attestation)
	}
	return p.String()
}

// needs prints what each load balancer needs, those that need too much first.
func (p *printer) needs() {
	if len(p.LoadBalancers) == 0 {
		return
	}
	p.WriteByte('\n')
	p.line("%s:", output.Number(len(p.LoadBalancers), "load balancer"))
	for _, n := range p.LoadBalancers {
		text := fmt.Sprintf("%s: %s", n.Key, n)
		if n.exceeded() {
			text = p.colour.Bad(printable.Line(text))
		}
		p.WriteString("  " + text + "\n")
	}
	if what := tooMuch(p.LoadBalancers); what != "" {
		p.line("  %s", what)
	}
}

// decisions prints the verdicts of an outcome.
func (p *printer) decisions(heading string, of dialect.Outcome, everywhere bool) {
	first := true
	for _, d := range p.Decisions {
		if d.Outcome != of || d.Everywhere != everywhere {
			continue
		}
		if first {
			p.WriteString("\n" + heading + ":\n")
		}
		first = false
		p.WriteString("  " + p.mark(d.Outcome) + " ")
		if everywhere {
			p.line("%s", d.Field)
		} else {
			p.line("%s (%s)", d.Field, output.Number(len(d.names), "Ingress"))
		}
		p.line("    %s", d.Message)
		if d.Curl != "" {
			p.line("    %s", d.Curl)
		}
		if d.Before != "" {
			p.line("      %s: %s", theirs[p.Summary.From].name, d.Before)
		}
		if d.After != "" {
			p.line("      %s: %s", p.Summary.On, d.After)
		}
		p.objects(d)
	}
}

// objects prints where a decision is about: each object with its place if they are few.
func (p *printer) objects(d decision) {
	const few = 3
	if len(d.Objects) <= few {
		for _, object := range d.Objects {
			p.line("    in %s", object)
		}
		return
	}
	text := strings.Join(d.names[:min(len(d.names), mostShown)], ", ")
	if more := len(d.names) - mostShown; more > 0 {
		text += fmt.Sprintf(" and %d more, which -o json has", more)
	}
	p.line("    in %s", text)
}

// ingresses prints the verdicts of each Ingress. Those with the same verdicts have them once.
func (p *printer) ingresses() {
	prefix := theirs[p.Summary.From].prefix
	p.WriteByte('\n')
	p.line("Ingresses, and their annotations without %s:", prefix)
	var all []string
	names := map[string][]string{}
	for _, i := range p.Ingresses {
		verdicts := i.verdicts(prefix)
		text := string(i.Outcome) + "\n" + strings.Join(verdicts, "\n")
		if names[text] == nil {
			all = append(all, text)
		}
		names[text] = append(names[text], strings.TrimSpace(i.Name+" "+inBrackets(i.Place)))
	}
	for _, text := range all {
		lines := strings.Split(text, "\n")
		for n, name := range names[text] {
			if n == 0 {
				p.WriteString("  " + p.mark(dialect.Outcome(lines[0])) + " ")
			} else {
				p.WriteString("  " + strings.Repeat(" ", len(lines[0])+1))
			}
			p.line("%s", name)
		}
		for _, verdict := range lines[1:] {
			outcome, fields, _ := strings.Cut(verdict, " ")
			if fields != "" {
				p.WriteString("    " + p.mark(dialect.Outcome(outcome)) + " ")
				p.line("%s", fields)
			}
		}
	}
}

// verdicts returns a line for each outcome, with the fields that have it.
func (i migratedIngress) verdicts(prefix string) (out []string) {
	for _, outcome := range worst {
		var fields []string
		for _, f := range i.Fields {
			if f.Outcome != outcome {
				continue
			}
			field := strings.TrimPrefix(f.Field, prefix)
			if f.Object != "Ingress "+i.Name {
				field += " of " + f.Object
			}
			fields = append(fields, field)
		}
		if len(fields) > 0 {
			out = append(out, string(outcome)+" "+strings.Join(fields, ", "))
		}
	}
	return out
}

func inBrackets(text string) string {
	if text == "" {
		return ""
	}
	return "(" + text + ")"
}

// Markdown returns the report as Markdown: the load balancers, the decisions, and the Ingresses.
func (r migration) Markdown() string {
	var b output.Comment
	fmt.Fprintf(&b, "### Fairlead: %s\n\n%s\n", r.Summary.Sentence(), output.Escaped(r.Summary.String()))
	b.List("note", r.Notes)
	var needs, decisions, ingresses, bound [][]string
	for _, n := range r.LoadBalancers {
		needs = append(needs, []string{output.Code(string(n.Key)), output.Escaped(n.String())})
	}
	for _, i := range r.Bindings {
		bound = append(bound, []string{output.Strong(string(i.Outcome)), output.Code(i.Name), output.Escaped(i.Place),
			output.Escaped(i.Message)})
	}
	for _, d := range r.Decisions {
		objects := "all"
		if len(d.Objects) > 0 {
			objects = d.Objects[0]
		}
		if more := len(d.Objects) - 1; more > 0 {
			objects += fmt.Sprintf(" and %d more", more)
		}
		decisions = append(decisions, []string{output.Strong(string(d.Outcome)), output.Code(d.Field),
			output.Escaped(d.Message), output.Code(d.Curl), output.Escaped(d.Before), output.Escaped(d.After), output.Escaped(objects)})
	}
	for _, i := range r.Ingresses {
		ingresses = append(ingresses, []string{output.Strong(string(i.Outcome)), output.Code(i.Name),
			output.Escaped(i.Place), output.Escaped(strings.Join(i.verdicts(theirs[r.Summary.From].prefix), "; "))})
	}
	b.Table("| Load balancer | Needs |", needs)
	if what := tooMuch(r.LoadBalancers); what != "" {
		fmt.Fprintf(&b, "\n%s\n", output.Escaped(what))
	}
	b.Table("| Outcome | Annotation or field | What happens | Request | Answer now | Answer of "+r.Summary.On+" | Of |", decisions)
	b.Table("| Outcome | Ingress | Place | Annotations and fields |", ingresses)
	b.Table("| Outcome | TargetGroupBinding | Place | What happens |", bound)
	if r.Logs != nil {
		s := r.Logs.Summary
		b.List("requests in the logs", []string{fmt.Sprintf("%d compared, %d disagree, %d without their Service, "+
			"%d of ports that are not there, %d of other load balancers", s.Compared, s.Disagreements, s.Services,
			s.NoListener, s.Others)})
	}
	if r.Requests != nil {
		b.List("requests in the logs", append(r.Requests.counts(), unseen))
	}
	if r.Attestation != nil {
		b.List("written", []string{r.Attestation.String()})
	}
	return b.String()
}
