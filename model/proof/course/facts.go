package course

import (
	"fmt"
	"math"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// This file has the facts that steps need, make and end.

// A Course is what is there from which step of a plan to which.
type Course struct {
	Order
	Ports  map[int32]*Port
	Namers map[lb.GroupID][]*Span // the rules that name a target group
	Fault  *Fault                 // the first thing that is wrong about the plan itself; or nil

	seen    *lb.Observed
	want    lb.LoadBalancer
	plan    plan.Plan
	dialect lb.Dialect
	facts   map[string]*fact
	known   map[string]*Span // by conditions
}

// A Fault is steps, in an order that the plan allows, that cannot be carried out to the end.
type Fault struct {
	Steps []int
	Why   string
}

// fail notes the first fault.
func (c *Course) fail(steps []int, format string, args ...any) {
	if c.Fault == nil {
		c.Fault = &Fault{steps, fmt.Sprintf(format, args...)}
	}
}

// Name is a step as messages have it.
func (c *Course) Name(step int) string {
	s := c.plan.Steps[step].Step
	return fmt.Sprintf("step %d (%s %s)", step+1, s.Op(), s.ID())
}

// A fact is something that steps need, such as a target group: whether it is there, the last step
// that made or ended it, and the steps that needed it since.
type fact struct {
	there bool
	last  int
	users []int
}

func (c *Course) fact(name string) *fact {
	if c.facts[name] == nil {
		c.facts[name] = &fact{last: Never}
	}
	return c.facts[name]
}

// turn has a step make things, or end them, behind all steps that needed them as they were.
func (c *Course) turn(step int, there bool, names ...string) {
	for _, name := range names {
		f := c.fact(name)
		for _, before := range append(f.users, f.last) {
			c.behind(before, step, name)
		}
		if f.there == there {
			c.fail(c.Until(step), "%s finds %s otherwise", c.Name(step), name)
		}
		*f = fact{there: there, last: step}
	}
}

// need has a step need things.
func (c *Course) need(step int, names ...string) {
	for _, name := range names {
		f := c.fact(name)
		c.behind(f.last, step, name)
		if !f.there {
			c.fail(c.Until(step), "%s needs %s", c.Name(step), name)
		}
		f.users = append(f.users, step)
	}
}

// behind refutes plans in which a step may come before one that it has to follow.
func (c *Course) behind(first, then int, name string) {
	if first != Never && !c.Must(first, then) {
		c.fail(c.Until(append([]int{then, first}, c.Whole()...)...),
			"%s may come before %s, and both are about %s",
			c.Name(then), c.Name(first), name)
	}
}

// The names of facts.
const balancer = "the load balancer"

func group(g lb.GroupID) string              { return "target group " + string(g) }
func targets(g lb.GroupID) string            { return "the targets of " + string(g) }
func certificate(id lb.CertificateID) string { return "certificate " + string(id) }
func listener(port int32) string             { return fmt.Sprintf("port %d", port) }

// place is that of a rule, or of the default action.
func place(port int32, priority int) string {
	if priority == standard {
		return fmt.Sprintf("the default action of port %d", port)
	}
	return fmt.Sprintf("rule %d/%d", port, priority)
}

// standard is the priority of a default action.
const standard = math.MaxInt
