package demo

import (
	"fmt"
	"strings"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers/wire"
)

// This file ends the plans for a provider whose steps succeed and do not show.

// mostAlike is the number of equal plans in a row that end the changes of a load balancer.
const mostAlike = 3

// rounds are the plans for one load balancer, one after another.
type rounds struct {
	steps string       // of the last plan
	alike int          // equal plans in a row, with this one
	done  []plan.Step  // the steps of the last plan that succeeded, in the order of time
	want  *lb.Observed // the load balancer as these steps wrote it
}

// check returns an error if the plan is the third in a row with the same steps, of which some
// succeeded each time. It records the plan.
func (r *rounds) check(seen *lb.Observed, todo plan.Plan) error {
	var names []string
	for _, s := range todo.Steps {
		names = append(names, name(s.Step))
	}
	steps, done, want := strings.Join(names, "\n"), r.done, r.want
	if len(done) == 0 || steps != r.steps {
		r.alike = 0
	}
	r.steps, r.done, r.want = steps, nil, seen
	r.alike++
	if r.alike < mostAlike {
		return nil
	}
	return fmt.Errorf("%d plans in a row are the same: each time these steps succeed, and "+
		"afterwards the provider does not report what they wrote: %s. The differences are: %s",
		mostAlike, first(4, done, name),
		first(8, wire.Differences(want, seen), func(line string) string { return line }))
}

// did records a step that succeeded.
func (r *rounds) did(step plan.Step) { r.done = append(r.done, step) }

func name(s plan.Step) string { return s.Op() + " " + s.ID() }

// first returns the names of the first elements, and the number of the others.
func first[E any](most int, all []E, name func(E) string) string {
	var out []string
	for _, e := range all[:min(most, len(all))] {
		out = append(out, name(e))
	}
	if len(all) > most {
		out = append(out, fmt.Sprintf("and %d more", len(all)-most))
	}
	return strings.Join(out, "; ")
}
