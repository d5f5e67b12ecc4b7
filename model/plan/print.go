package plan

import (
	"fmt"
	"io"
	"strings"

	"fairlead.dev/fairlead/model/printable"
)

// This file prints plans: text for a reviewer, and a form that programs read.

// A Printed step is a step as programs read it.
type Printed struct {
	Op     string `json:"op"`
	ID     string `json:"id"`
	Detail string `json:"detail"`
}

// Print is the steps of the plan as programs read them.
func (p Plan) Print() []Printed {
	out := []Printed{}
	for _, s := range p.Steps {
		out = append(out, Printed{s.Step.Op(), s.Step.ID(), s.Step.Detail()})
	}
	return out
}

// Text writes the plan as a reviewer reads it: a line of counts, then a line for each step. All of
// its text is printable, whatever Ingresses say.
func (p Plan) Text(w io.Writer, colour bool) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", printable.Line(string(p.Key)), p.Counts())
	for _, s := range p.Steps {
		m := markOf(s.Step)
		text := fmt.Sprintf("%c %s %s", m, s.Step.Op(), s.Step.ID())
		if detail := s.Step.Detail(); detail != "" {
			text += "  " + detail
		}
		text = printable.Line(text)
		if colour {
			text = m.colour() + text + "\x1b[0m"
		}
		fmt.Fprintf(&b, "  %s\n", text)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("printing the plan of %s: %w", p.Key, err)
	}
	return nil
}

// Tally returns how many steps create, change and delete.
func (p Plan) Tally() (creates, changes, deletes int) {
	n := map[mark]int{}
	for _, s := range p.Steps {
		n[markOf(s.Step)]++
	}
	return n[created], n[changed], n[deleted]
}

// Counts says how much there is to do: "3 to create, 1 to change, 0 to delete".
func (p Plan) Counts() string {
	if p.Empty() {
		return "nothing to do"
	}
	creates, changes, deletes := p.Tally()
	return fmt.Sprintf("%d to create, %d to change, %d to delete", creates, changes, deletes)
}

// A mark says at a glance what a step does.
type mark rune

const (
	created mark = '+'
	changed mark = '~'
	deleted mark = '-'
)

func markOf(s Step) mark {
	switch s.(type) {
	case CreateLoadBalancer, ImportCertificate, CreateTargetGroup, CreateListener, AttachCertificate, CreateRule:
		return created
	case DeleteLoadBalancer, DeleteCertificate, DeleteTargetGroup, DeleteListener, DetachCertificate, DeleteRule:
		return deleted
	default:
		return changed
	}
}

// colour is the terminal's code for the mark's colour.
func (m mark) colour() string {
	return map[mark]string{created: "\x1b[32m", changed: "\x1b[33m", deleted: "\x1b[31m"}[m]
}
