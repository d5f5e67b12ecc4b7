package planner

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/planner/rulelist"
	"fairlead.dev/fairlead/model/planner/schedule"
)

// This file keeps what a cloud knows of the health of a target group while the rules change that
// name it. A cloud checks the health of a group only while a rule names it, and begins anew with
// one that was named by none, however briefly: requests are answered 503 meanwhile. So the last
// rules that name a healthy group are deleted once another rule names it.

// handOver has the tasks that stop naming a healthy group wait for one that begins to, where that
// does not wait for any of them: where two paths exchange their groups, it does.
func (d *difference) handOver() {
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

// A handover is a healthy group that some steps stop naming and others begin to. It has the places
// of the last step of the former, and of the first of the latter; absent if there is none.
type handover struct {
	group       lb.GroupID
	last, first int
}

// handovers returns those of the groups that no rule names all the time.
func (d *difference) handovers(by schedule.Sequence) (out []handover) {
	kept := d.alwaysNamed()
	place := func(a, b int) int { return cmp.Compare(by.Index[a], by.Index[b]) }
	lacks := func(t int) bool { return !by.Has(t) }
	for _, g := range d.want.TargetGroups {
		leave := slices.DeleteFunc(slices.Clone(d.stopNaming[g.ID]), d.unparks)
		take := d.startNaming[g.ID]
		if seen := d.seen.TargetGroup(g.ID); seen == nil || !seen.Ready || kept[g.ID] ||
			len(leave) == 0 {
			continue
		}
		if slices.ContainsFunc(leave, lacks) {
			continue // it is named yet
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

// gap reports whether no rule names the group for a while.
func (h handover) gap() bool { return h.first == absent || h.first >= h.last }

// uncheckedMeanwhile are the healthy groups that no rule names for a while, as limits do not permit
// another order or there is none, and that take over requests which targets answer now.
func (d *difference) uncheckedMeanwhile(by schedule.Sequence) (out []lb.GroupID) {
	for _, h := range d.handovers(by) {
		if h.gap() && d.takesOver(h.group) {
			out = append(out, h.group)
		}
	}
	return out
}

// keepNamed has the last step that stops naming a healthy group wait for the first one that begins
// to, where the steps come in this order though neither waits for the other. They could be carried
// out side by side.
func (d *difference) keepNamed(by schedule.Sequence) {
	for _, h := range d.handovers(by) {
		if after := by.Steps[h.last].After; !h.gap() && !slices.Contains(after, h.first) {
			by.Steps[h.last].After = append(slices.Clip(after), h.first)
			slices.Sort(by.Steps[h.last].After)
		}
	}
}

// unparks reports whether a task deletes a parking rule that the plan creates.
func (d *difference) unparks(task int) bool {
	s, _ := d.tasks[task].Step.(plan.DeleteRule) // the rule of another step is empty
	if !plan.Parked(s.Rule) {
		return false
	}
	l := d.seen.Listener(s.Port)
	return l == nil || l.Rule(s.Priority) == nil
}

// takesOver reports whether requests that targets answer now are to be sent to a group.
func (d *difference) takesOver(g lb.GroupID) bool {
	for _, ch := range d.changes {
		if ch.seen == nil || ch.want == nil {
			continue
		}
		if slices.Contains(ch.want.Default.Groups(), g) && d.defaultTakesServedRequests(ch) {
			return true
		}
		for i, l := range ch.lines {
			if (l.Change == rulelist.Added || l.Change == rulelist.Widened ||
				l.Change == rulelist.Switched) && slices.Contains(ch.want.Rules[l.New].Action.Groups(), g) &&
				d.takesServedRequests(ch, i) {
				return true
			}
		}
	}
	return false
}

// waitFor has tasks wait for another one, as far as limits permit.
func (d *difference) waitFor(tasks []int, before int) {
	for _, t := range tasks {
		d.tasks[t].Optional = append(d.tasks[t].Optional, before)
	}
}

// alwaysNamed are the groups that a rule or a default action names all the time.
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

// predecessors tells which tasks a task waits for, itself included.
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
