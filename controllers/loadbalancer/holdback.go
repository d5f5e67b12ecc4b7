package loadbalancer

import (
	"slices"
	"strings"

	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/expectations"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// This file decides which changes wait. What belongs to the namespaces that cause a wait is held
// back; the changes of others are carried out. If that is not possible, the plan is only reported.
// A host that a namespace gives up can be closed instead (closedhosts.go).

// A holdReason is why some changes are left out of a plan that is carried out. The zero value is that
// of a plan with all changes.
type holdReason struct {
	Reason  string // as of the condition Programmed
	message string
}

// holdBack records that the plan was made without some changes. First is the plan with all of them,
// which was forbidden. Told has the violations of the first plan and of the plans in between.
// Closings has the violations for which hosts are closed instead.
func (o *outcome) holdBack(
	first outcome, told expectations.Judgement, closings []expectations.Closing,
) {
	told.StillViolated = o.Expectations.StillViolated
	if rest := told.Without(closings); rest.Reason() != "" || !o.Hold.Delays() {
		told = rest
	}
	o.Expectations, first.Expectations = told, told
	o.Expectations.Closings = closings
	if !o.Hold.Delays() {
		return
	}
	first.Withheld = first.Forbidden
	if first.Proof.reason() != "" {
		o.Proof = first.Proof
	}
	o.HoldReason = holdReason{Reason: first.Forbidden, message: first.withholding()}
}

// holds reports whether the present version of an Ingress is held back.
func (o outcome) holds(ingress string) bool {
	return slices.Contains(o.Hold.Ingresses, ingress) || slices.Contains(o.Hold.Accepted, ingress) ||
		slices.Contains(o.Hold.Namespaces, namespaceOf(ingress))
}

// keeps reports whether the plan still serves an Ingress that has departed.
func (o outcome) keeps(departed string) bool {
	return o.holds(departed) && o.Snapshot.Recorded.Members[departed].CanBeServed() || slices.Contains(o.Kept, departed)
}

// A causes finds the namespaces because of which a plan is not permitted.
type causes struct {
	r        *Reconciler
	facts    lb.Facts
	changed  map[string]bool // Ingresses whose present version is not served yet
	changing map[string]bool // their namespaces
	// named has the Ingresses that named a host when they were last accepted.
	named map[routing.Host][]string
	// suspects can have caused the violations, by the Ingresses that are left out.
	suspects map[string]expectations.Suspects
	// closed are the offences for which hosts are closed.
	closed []expectations.Closing
}

// changedIngresses returns the Ingresses that came, changed or went since the last plan.
func changedIngresses(snap *gather.Snapshot) map[string]bool {
	out := map[string]bool{}
	for _, m := range snap.Changes() {
		out[m.Owner.String()] = true
	}
	for name := range snap.Departed {
		out[name] = true
	}
	return out
}

// holdMore returns what is to be held back after a plan that was not permitted. If nothing helps
// that can wait, more hosts are closed than a namespace may give up. Each host is closed once, and
// each namespace is held back once, and loses each Ingress once. Hosts are closed together, so plans
// are made again a few times for each namespace at most.
func (c *causes) holdMore(o outcome) ingress.Hold {
	if hold := c.holdMoreOf(o, true); !hold.Equal(o.Hold) {
		return hold
	}
	return c.holdMoreOf(o, false)
}

func (c *causes) holdMoreOf(o outcome, limited bool) ingress.Hold {
	hold := o.Hold
	for _, f := range o.Expectations.Offences {
		next, givers := namespaceOf(f.Next), c.givers(o, f)
		switch {
		case c.changing[next] && !isHeld(o.Hold, next):
			hold.Namespaces = with(hold.Namespaces, next)
		case c.closes(o, f) && c.close(&hold, o, f, limited):
		case len(givers) > 0:
			hold.Accepted = with(hold.Accepted, givers...)
		case f.Next != "" && c.suspectsOf(o, next).StandsAlone(f):
			hold.Ingresses = with(hold.Ingresses, f.Next)
			if leavesOutOf(o.Hold, next) { // others of the namespace are behind it
				hold.Ingresses = with(hold.Ingresses, c.namersOf(f, func(name string) bool {
					return namespaceOf(name) == next && !slices.Contains(o.Hold.Ingresses, name)
				})...)
			}
		}
	}
	hold.Namespaces = with(hold.Namespaces, o.Proof.namespaces()...)
	return hold
}

// givers returns the Ingresses that change, or whose versions are forgotten, and that may have kept the
// requests of an offence from the Ingress that would answer them: those that answer them now, or named the
// host, and are not held back.
func (c *causes) givers(o outcome, f expectations.Offence) []string {
	all := o.forgotten(f)
	if c.changed[f.Now] {
		all = with(all, f.Now)
	}
	all = with(all, c.changedNamers(f)...)
	return slices.DeleteFunc(all, o.holds)
}

// changedNamers returns the Ingresses that change and named the host of an offence.
func (c *causes) changedNamers(f expectations.Offence) []string {
	return c.namersOf(f, func(name string) bool { return c.changed[name] })
}

// isHeld reports whether all changes of a namespace are held back.
func isHeld(hold ingress.Hold, namespace string) bool {
	return slices.Contains(hold.Namespaces, namespace)
}

// with returns a list that has names, too. The list that is passed stays as it is.
func with(list []string, names ...string) []string {
	for _, name := range names {
		if !slices.Contains(list, name) {
			list = append(slices.Clip(list), name)
		}
	}
	return list
}

func namespaceOf(ingress string) string {
	return cluster.RefFrom(cluster.KindIngress, ingress).Namespace
}

// leavesOutOf reports whether an Ingress of a namespace is left out.
func leavesOutOf(hold ingress.Hold, namespace string) bool {
	return slices.ContainsFunc(hold.Ingresses, func(name string) bool { return namespaceOf(name) == namespace })
}

// suspectsOf returns what violates expectations without a change of an Ingress, where those of a
// namespace that are left out are missing.
func (c *causes) suspectsOf(o outcome, namespace string) expectations.Suspects {
	var without []string
	for _, name := range o.Hold.Ingresses {
		if namespaceOf(name) == namespace {
			without = append(without, name)
		}
	}
	of := strings.Join(without, " ")
	known, ok := c.suspects[of]
	if !ok {
		known = c.r.gate.Suspects(o.Snapshot.Expectations, changeOf(o, c.facts), without)
		if c.suspects == nil {
			c.suspects = map[string]expectations.Suspects{}
		}
		c.suspects[of] = known
	}
	return known
}

// release makes a permitted plan again with less held back, one by one, if that is permitted, too: another
// namespace may be the cause. The plan with nothing held back is not permitted.
func (c *causes) release(o outcome,
	plan func(ingress.Hold) outcome) outcome {
	try := func(hold ingress.Hold) {
		if hold.Equal(o.Hold) || hold.Empty() {
			return
		}
		if less := plan(hold); less.Forbidden == "" {
			o = less
		}
	}
	for _, name := range slices.Concat(o.Hold.Namespaces, o.Hold.Accepted) {
		hold := o.Hold
		is := func(n string) bool { return n == name }
		hold.Namespaces = slices.DeleteFunc(slices.Clone(hold.Namespaces), is)
		hold.Accepted = slices.DeleteFunc(slices.Clone(hold.Accepted), is)
		try(hold)
	}
	return o
}
