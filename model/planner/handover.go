package planner

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// This file makes sure that a rule names each healthy target group at all times. A cloud checks the
// health of a group only while a rule names it. After the shortest gap, it begins anew, and
// meanwhile requests get 503. So the last rules that name a healthy group are deleted after another
// rule names it.

// handOver makes tasks that stop naming a healthy group wait for one that begins to name it, unless
// that one waits for them, as when two paths exchange their groups.
func (d *difference) handOver() {
	if d.caps.HealthWithoutRule {
		return
	}
	kept := d.alwaysNamed()
	for _, g := range d.want.TargetGroups {
		leave, take := d.stopNaming[g.ID], d.startNaming[g.ID]
		if seen := d.seen.TargetGroup(g.ID); seen == nil || !seen.Ready || kept[g.ID] {
			continue
		}
		if held, ok := d.parkedHealthy[g.ID]; ok {
			d.waitFor(leave, held)
			continue
		}
		at := slices.IndexFunc(take, func(next int) bool {
			return !slices.ContainsFunc(leave, d.predecessors(next))
		})
		if at >= 0 {
			d.waitFor(leave, take[at])
		}
	}
}

// A handover is a healthy group that some steps stop naming and others begin to name. Last is the
// index of the last step that stops, first that of the first step that begins, or absent.
type handover struct {
	group       lb.GroupID
	last, first int
}

// handovers returns the handovers of groups that no rule names at all times.
func (d *difference) handovers(by Sequence) (out []handover) {
	if d.caps.HealthWithoutRule {
		return nil
	}
	kept := d.alwaysNamed()
	place := func(a, b int) int { return cmp.Compare(by.Index[a], by.Index[b]) }
	lacks := func(t int) bool { return !by.Has(t) }
	for _, g := range d.want.TargetGroups {
		leave := slices.DeleteFunc(slices.Clone(d.stopNaming[g.ID]), d.deletesNewParkingRule)
		take := d.startNaming[g.ID]
		if seen := d.seen.TargetGroup(g.ID); seen == nil || !seen.Ready || kept[g.ID] ||
			len(leave) == 0 {
			continue
		}
		if slices.ContainsFunc(leave, lacks) {
			continue // a rule still names it
		}
		if held, ok := d.parkedHealthy[g.ID]; ok {
			take = append(slices.Clip(take), held)
		}
		h := handover{g.ID, by.Index[slices.MaxFunc(leave, place)], absent}
		if take = slices.DeleteFunc(slices.Clone(take), lacks); len(take) > 0 {
			h.first = by.Index[slices.MinFunc(take, place)]
		}
		out = append(out, h)
	}
	return out
}

// leavesGap reports whether for some time no rule names the group.
func (h handover) leavesGap() bool { return h.first == absent || h.first >= h.last }

// uncheckedMeanwhile returns the healthy groups that for some time no rule names, because limits or
// the other steps permit no better order, and that take over requests which targets answer now.
func (d *difference) uncheckedMeanwhile(by Sequence) (out []lb.GroupID) {
	for _, h := range d.handovers(by) {
		if h.leavesGap() && d.takesOver(h.group) {
			out = append(out, h.group)
		}
	}
	return out
}

// keepNamed makes the last step that stops naming a healthy group wait for the first one that
// begins to name it, if they are in this order but independent. Otherwise they could run in
// parallel.
func (d *difference) keepNamed(by Sequence) {
	for _, h := range d.handovers(by) {
		if after := by.Steps[h.last].After; !h.leavesGap() && !slices.Contains(after, h.first) {
			by.Steps[h.last].After = append(slices.Clip(after), h.first)
			slices.Sort(by.Steps[h.last].After)
		}
	}
}

// deletesNewParkingRule reports whether a task deletes a parking rule that the plan creates.
func (d *difference) deletesNewParkingRule(task int) bool {
	s, _ := d.tasks[task].Step.(plan.DeleteRule) // for other steps, the rule is empty
	if !plan.Parked(s.Rule) {
		return false
	}
	l := d.seen.Listener(s.Port)
	return l == nil || l.Rule(s.Priority) == nil
}

// takesOver reports whether a group is to get requests that targets answer now.
func (d *difference) takesOver(g lb.GroupID) bool {
	for _, ch := range d.changes {
		if ch.seen == nil || ch.want == nil {
			continue
		}
		if slices.Contains(ch.want.Default.Groups(), g) && d.defaultTakesServedRequests(ch) {
			return true
		}
		for i, l := range ch.lines {
			if (l.Change == Added || l.Change == Widened ||
				l.Change == Switched) && slices.Contains(ch.want.Rules[l.New].Action.Groups(), g) &&
				d.takesServedRequests(ch, i) {
				return true
			}
		}
	}
	return false
}

// waitFor makes tasks wait for another one, if limits permit.
func (d *difference) waitFor(tasks []int, before int) {
	for _, t := range tasks {
		d.tasks[t].Optional = append(d.tasks[t].Optional, before)
	}
}

// alwaysNamed returns the groups that a rule or a default action names at all times.
func (d *difference) alwaysNamed() map[lb.GroupID]bool {
	out := map[lb.GroupID]bool{}
	both := func(old, next lb.Action) {
		groups := next.Groups()
		for _, g := range old.Groups() {
			if slices.Contains(groups, g) {
				out[g] = true
			}
		}
	}
	for i := range d.seen.Listeners {
		if l := &d.seen.Listeners[i]; d.want.Leaves(l) {
			for _, a := range append(actionsOf(l.Plain().Rules), l.Default) {
				both(a, a)
			}
		}
	}
	for _, ch := range d.changes {
		if ch.seen == nil || ch.want == nil {
			continue
		}
		both(ch.seen.Default, ch.want.Default)
		for _, l := range ch.lines {
			if l.Old != absent && l.New != absent {
				both(ch.old[l.Old].Action, ch.want.Rules[l.New].Action)
			}
		}
	}
	return out
}

// predecessors returns a function that reports whether a task is a predecessor of this one, or this
// one.
func (d *difference) predecessors(task int) func(int) bool {
	known := map[int]bool{task: true}
	for open := []int{task}; len(open) > 0; {
		t := d.tasks[open[len(open)-1]]
		open = open[:len(open)-1]
		for _, b := range slices.Concat(t.After, t.Preferred, t.Optional) {
			if !known[b] {
				known[b] = true
				open = append(open, b)
			}
		}
	}
	return func(t int) bool { return known[t] }
}
