package planner

import (
	"slices"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/planner/rulelist"
	"fairlead.dev/fairlead/model/planner/schedule"
)

// This file keeps requests that are answered from being sent to a target group without a healthy
// target. A cloud checks the health of a group only while a rule names it. A group about to take
// over such requests is therefore parked: a rule that no request can meet names it until it is
// healthy, and only then do the rules change.

// A lot says whether target groups may be parked, and which healthy ones are to be.
type lot struct {
	open bool
	hold []lb.GroupID
}

// park parks the target groups that are to take over answered requests, and makes their steps wait
// until they are healthy. It parks some healthy ones, too, whose rules let go of them before others
// name them. It reports whether it needed to create a rule for that.
func (d *difference) park(hold []lb.GroupID) bool {
	created := false
	for _, ch := range d.changes {
		if ch.seen == nil || ch.want == nil {
			continue
		}
		parked := append(d.takers(ch), d.toHold(ch, hold)...)
		free := plan.ParkingPriorities(d.caps)
		for _, r := range ch.seen.Rules {
			free = slices.DeleteFunc(free, func(p int) bool { return p == r.Priority })
		}
		size := d.caps.TargetsPerForward
		if size == 0 {
			size = max(1, len(parked))
		}
		for chunk := range slices.Chunk(parked, size) {
			if len(free) == 0 {
				break // what does not fit is not waited for
			}
			priority := free[len(free)-1]
			free = free[:len(free)-1]
			r := plan.ParkingRule(chunk)
			t := d.add(plan.CreateRule{Port: ch.port, Priority: priority, Rule: r}, schedule.Places{schedule.Rules: 1}, d.targetsOf(r.Action, false)...)
			ch.parks = append(ch.parks, park{priority: priority, rule: r})
			for _, g := range chunk {
				if slices.Contains(hold, g) {
					d.held[g] = t
				} else {
					d.await(g, t)
				}
				d.tasks[t].Origin = append(d.tasks[t].Origin, d.origins[g]...)
			}
			created = true
		}
	}
	return created
}

// toHold are those of some healthy groups that a listener names and none before it held.
func (d *difference) toHold(ch *change, hold []lb.GroupID) []lb.GroupID {
	return slices.DeleteFunc(slices.Clone(hold), func(g lb.GroupID) bool {
		_, held := d.held[g]
		return held || !slices.ContainsFunc(ch.old, func(r lb.ObservedRule) bool { return slices.Contains(r.Action.Groups(), g) }) &&
			!slices.Contains(ch.seen.Default.Groups(), g)
	})
}

// await makes what takes a group into service wait until it is healthy.
func (d *difference) await(g lb.GroupID, after int) {
	d.warm[g] = d.add(plan.AwaitTargets{Group: g}, schedule.Places{}, after, d.usable[g])
	d.tasks[d.warm[g]].Origin = d.origins[g]
}

// takers are the groups to be parked on a listener. A group that a rule names already, and will
// go on to name or which is a parking rule, is waited for where it is.
func (d *difference) takers(ch *change) []lb.GroupID {
	var out []lb.GroupID
	need := func(a lb.Action) {
		for _, to := range a.Targets {
			g := to.Group
			if _, waiting := d.warm[g]; waiting || to.Weight == 0 || slices.Contains(out, g) || !d.cold(g) {
				continue
			}
			if d.checked(g) {
				d.await(g, absent)
				continue
			}
			out = append(out, g)
		}
	}
	for i, l := range ch.lines {
		if (l.Change == rulelist.Added || l.Change == rulelist.Widened || l.Change == rulelist.Switched) && slices.ContainsFunc(ch.want.Rules[l.New].Action.Groups(), d.cold) && d.takes(ch, i) {
			need(ch.want.Rules[l.New].Action)
		}
	}
	if d.takesDefault(ch) {
		need(ch.want.Default)
	}
	return out
}

// cold reports whether a group has no healthy target yet. One without any may be about to get some:
// a Deployment, its Service and the rule that leads there are often made at once. One that no rule
// names is not checked, and is checked from the beginning once a rule names it, however healthy it
// was
// (https://docs.aws.amazon.com/elasticloadbalancing/latest/application/target-group-health-checks.html,
// "unused").
func (d *difference) cold(g lb.GroupID) bool {
	seen := d.seen.TargetGroup(g)
	return seen == nil || !seen.Ready || !d.inUse[g]
}

// checked reports whether the cloud checks a group's health all the time until the plan is done:
// a rule that stays names it, or one that parks it.
func (d *difference) checked(g lb.GroupID) bool {
	for _, ch := range d.changes {
		for _, l := range ch.lines {
			if l.Change == rulelist.Kept && slices.Contains(ch.old[l.Old].Action.Groups(), g) {
				return true
			}
		}
		if ch.seen == nil {
			continue
		}
		for _, r := range ch.seen.Rules {
			if ch.want != nil && plan.Parked(r.Rule) && slices.Contains(r.Action.Groups(), g) {
				return true
			}
		}
	}
	return false
}

// warms reports whether a plan waits for one of an action's groups.
func (d *difference) warms(a lb.Action) bool {
	return slices.ContainsFunc(a.Groups(), func(g lb.GroupID) bool { _, waits := d.warm[g]; return waits })
}

// reaches reports whether requests are forwarded to targets now: where there never were any,
// nothing is lost by changing at once.
func (d *difference) reaches(a lb.Action) bool {
	return slices.ContainsFunc(a.Groups(), func(g lb.GroupID) bool {
		seen := d.seen.TargetGroup(g)
		return seen != nil && (seen.Registered || seen.Ready)
	})
}

// takes reports whether a line that comes or grows can meet requests that are answered by targets
// now.
func (d *difference) takes(ch *change, i int) bool {
	if ch.seen == nil {
		return false
	}
	if d.reaches(ch.seen.Default) {
		return true
	}
	x := ch.before()
	r := ch.want.Rules[ch.lines[i].New]
	return slices.ContainsFunc(x.near(r), func(position int) bool {
		old := x.entries[position].rule
		return d.reaches(old.Action) && d.pairs.overlap(old, r)
	})
}

// takesDefault reports whether a new default action can meet requests that are answered by targets
// now: those of the old one, or of a rule that goes or is about fewer requests.
func (d *difference) takesDefault(ch *change) bool {
	if lb.SameAction(ch.seen.Default, ch.want.Default) {
		return false
	}
	return d.reaches(ch.seen.Default) || slices.ContainsFunc(ch.lines, func(l rulelist.Line) bool {
		return (l.Change == rulelist.Removed || l.Change == rulelist.Narrowed) && d.reaches(ch.old[l.Old].Action)
	})
}

// unpark deletes the parking rules: those that are needed once their groups are in service, the
// others at once.
func (d *difference) unpark() {
	for _, ch := range d.changes {
		if ch.seen == nil || ch.want == nil {
			continue
		}
		for _, r := range ch.seen.Rules {
			if plan.Parked(r.Rule) {
				ch.parks = append(ch.parks, park{r.Priority, r.Rule})
			}
		}
		for _, p := range ch.parks {
			t := d.add(plan.DeleteRule{Port: ch.port, Priority: p.priority, Rule: p.rule}, schedule.Places{schedule.Rules: -1}, d.served(p.rule)...)
			d.unnames(t, p.rule.Action)
		}
	}
}

// served are the tasks that take a parking rule's groups into service.
func (d *difference) served(parked lb.Rule) []int {
	var tasks []int
	for _, g := range parked.Action.Groups() {
		if _, held := d.held[g]; held {
			tasks = append(tasks, d.named[g]...)
		}
		w, waiting := d.warm[g]
		if !waiting {
			continue
		}
		tasks = append(tasks, w)
		for i, t := range d.tasks {
			if i != w && slices.Contains(t.After, w) {
				tasks = append(tasks, i)
			}
		}
	}
	return tasks
}
