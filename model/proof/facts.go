package proof

import (
	"fmt"
	"math"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// This file has the facts that steps need, make and end.

// A Course holds what exists, and between which steps of a plan.
type Course struct {
	order
	Ports  map[int32]*port
	Namers map[lb.GroupID][]*span // the rules that name a target group
	Fault  *fault                 // the first fault of the plan itself; or nil

	seen    *lb.Observed
	want    lb.LoadBalancer
	plan    plan.Plan
	dialect lb.Dialect
	facts   map[string]*fact
	known   map[string]*span // by conditions
}

// A fault holds steps, in an order that the plan allows, the last of which cannot be carried out.
type fault struct {
	Steps []int
	Why   string
}

// fail records the first fault.
func (c *Course) fail(steps []int, format string, args ...any) {
	if c.Fault == nil {
		c.Fault = &fault{steps, fmt.Sprintf(format, args...)}
	}
}

// Name returns a step as messages name it.
func (c *Course) Name(step int) string {
	s := c.plan.Steps[step].Step
	return fmt.Sprintf("step %d (%s %s)", step+1, s.Op(), s.ID())
}

// A fact is an object that steps need, such as a target group: whether it exists, the last step
// that created or deleted it, and the steps that needed it since.
type fact struct {
	there bool
	last  int
	users []int
}

func (c *Course) fact(name string) *fact {
	if c.facts[name] == nil {
		c.facts[name] = &fact{last: never}
	}
	return c.facts[name]
}

// setFacts records that a step creates or deletes objects, after all steps that needed the earlier
// state.
func (c *Course) setFacts(step int, there bool, names ...string) {
	for _, name := range names {
		f := c.fact(name)
		for _, before := range append(f.users, f.last) {
			c.requireOrder(before, step, name)
		}
		if f.there == there {
			c.fail(c.WithPredecessors(step), "%s finds %s otherwise", c.Name(step), name)
		}
		*f = fact{there: there, last: step}
	}
}

// need records that a step needs objects.
func (c *Course) need(step int, names ...string) {
	for _, name := range names {
		f := c.fact(name)
		c.requireOrder(f.last, step, name)
		if !f.there {
			c.fail(c.WithPredecessors(step), "%s needs %s", c.Name(step), name)
		}
		f.users = append(f.users, step)
	}
}

// requireOrder refutes plans in which then may come before first.
func (c *Course) requireOrder(first, then int, name string) {
	if first != never && !c.MustPrecede(first, then) {
		c.fail(c.WithPredecessors(append([]int{then, first}, c.AllSteps()...)...),
			"%s may come before %s, and both are about %s",
			c.Name(then), c.Name(first), name)
	}
}

// balancer is the name of the fact of a load balancer. The functions below name others.
const balancer = "the load balancer"

func group(g lb.GroupID) string              { return "target group " + string(g) }
func targets(g lb.GroupID) string            { return "the targets of " + string(g) }
func certificate(id lb.CertificateID) string { return "certificate " + string(id) }
func listener(port int32) string             { return fmt.Sprintf("port %d", port) }

// placeFact returns the fact of a rule, or of the default action.
func placeFact(port int32, priority int) string {
	if priority == defaultPriority {
		return fmt.Sprintf("the default action of port %d", port)
	}
	return fmt.Sprintf("rule %d/%d", port, priority)
}

// defaultPriority is the priority of a default action.
const defaultPriority = math.MaxInt
