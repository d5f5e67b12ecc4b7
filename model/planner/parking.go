package planner

import (
	"slices"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// This file makes sure that requests which are answered now are not sent to a target group without
// a healthy target. Many clouds check the health of a group only while a rule names it. A group
// that is to take over such requests is therefore parked: a rule that no request matches names it
// until it is healthy, and only then do the rules change.

// A parkingMode has whether target groups may be parked, and which healthy ones must be.
type parkingMode struct {
	allowed    bool
	healthyToo []lb.GroupID
}

// addParkingRules parks the target groups that are to take over answered requests, and makes their
// steps wait until they are healthy. It also parks the healthy groups of hold, which for some time
// no other rule names. It reports whether it created a rule.
func (d *difference) addParkingRules(hold []lb.GroupID) bool {
	created := false
	for _, ch := range d.changes {
		if ch.seen == nil || ch.want == nil {
			continue
		}
		parked := append(d.groupsToPark(ch), d.healthyGroupsToPark(ch, hold)...)
		free := plan.ParkingPriorities(d.caps)
		for _, r := range ch.seen.Rules {
			free = slices.DeleteFunc(free, func(p int) bool { return p == r.Priority })
		}
		size := d.caps.TargetsPerForward
		if size == 0 {
			size = max(1, len(parked))
		}
		if d.caps.NoStickyForward && d.caps.StickyAttribute != "" {
			size = 1 // a sticky group shares no rule then
		}
		for chunk := range slices.Chunk(parked, size) {
			if len(free) == 0 {
				break // groups without a free priority are not parked
			}
			create := plan.CreateRule{Port: ch.port, Priority: free[len(free)-1],
				Rule: plan.ParkingRule(chunk, d.caps)}
			if plan.Excluded(create, d.caps) != "" {
				break // a cloud that accepts no such host parks nothing
			}
			priority, r := create.Priority, create.Rule
			free = free[:len(free)-1]
			t := d.add(create,
				places{rules: 1}, d.targetsOf(r.Action, false)...)
			ch.parkingRules = append(ch.parkingRules, parkingRule{priority: priority, rule: r})
			for _, g := range chunk {
				if slices.Contains(hold, g) {
					d.parkedHealthy[g] = t
				} else {
					d.awaitHealthy(g, t)
				}
				d.tasks[t].Origin = append(d.tasks[t].Origin, d.origins[g]...)
			}
			created = true
		}
	}
	return created
}

// healthyGroupsToPark returns the groups of hold that a listener names and that are not yet parked.
func (d *difference) healthyGroupsToPark(ch *change, hold []lb.GroupID) []lb.GroupID {
	return slices.DeleteFunc(slices.Clone(hold), func(g lb.GroupID) bool {
		_, held := d.parkedHealthy[g]
		return held || !slices.ContainsFunc(ch.old, func(r lb.ObservedRule) bool {
			return slices.Contains(r.Action.Groups(), g)
		}) &&
			!slices.Contains(ch.seen.Default.Groups(), g)
	})
}

// awaitHealthy makes tasks that send requests to a group wait until it is healthy.
func (d *difference) awaitHealthy(g lb.GroupID, after int) {
	d.healthy[g] = d.add(plan.AwaitTargets{Group: g}, places{}, after, d.registered[g])
	d.tasks[d.healthy[g]].Origin = d.origins[g]
}

// groupsToPark returns the groups to park on a listener. A group that a lasting rule or a parking
// rule names already needs no other rule.
func (d *difference) groupsToPark(ch *change) []lb.GroupID {
	var out []lb.GroupID
	need := func(a lb.Action) {
		for _, to := range a.Targets {
			g := to.Group
			if _, waiting := d.healthy[g]; waiting || to.Weight == 0 || slices.Contains(out, g) ||
				!d.lacksHealthyTarget(g) {
				continue
			}
			if d.staysChecked(g) {
				d.awaitHealthy(g, absent)
				continue
			}
			out = append(out, g)
		}
	}
	for i, l := range ch.lines {
		if (l.Change == Added || l.Change == Widened ||
			l.Change == Switched) &&
			slices.ContainsFunc(ch.want.Rules[l.New].Action.Groups(), d.lacksHealthyTarget) &&
			d.takesServedRequests(ch, i) {
			need(ch.want.Rules[l.New].Action)
		}
	}
	if d.defaultTakesServedRequests(ch) {
		need(ch.want.Default)
	}
	if !slices.ContainsFunc(d.want.TargetGroups, func(g lb.TargetGroup) bool {
		return d.lacksHealthyTarget(g.ID)
	}) {
		return out
	}
	for i := range ch.lines {
		for _, a := range d.exposedActions(ch, i) {
			need(a)
		}
	}
	return out
}

// lacksHealthyTarget reports whether a group has no healthy target yet. A group without targets may
// soon get some: a Deployment, its Service and the rule are often created at once. A group that no
// rule names is not checked, and is checked from the beginning once a rule names it, even if it was
// healthy before
// (https://docs.aws.amazon.com/elasticloadbalancing/latest/application/target-group-health-checks.html,
// "unused"). The health of a group that others made is theirs, and not waited for.
func (d *difference) lacksHealthyTarget(g lb.GroupID) bool {
	seen := d.seen.TargetGroup(g)
	return !lb.OthersMade(g) && (seen == nil || !seen.Ready || !d.caps.HealthWithoutRule && !d.inUse[g])
}

// staysChecked reports whether the cloud checks a group's health during the whole plan: it needs
// no rule for that, or a rule or a parking rule that names the group stays.
func (d *difference) staysChecked(g lb.GroupID) bool {
	if d.caps.HealthWithoutRule || d.alwaysNamed()[g] {
		return true
	}
	return slices.ContainsFunc(d.changes, func(ch *change) bool {
		return ch.seen != nil && ch.want != nil &&
			slices.ContainsFunc(ch.seen.Rules, func(r lb.ObservedRule) bool {
				return plan.Parked(r.Rule) && slices.Contains(r.Action.Groups(), g)
			})
	})
}

// waitsForHealth reports whether a plan waits for one of an action's groups.
func (d *difference) waitsForHealth(a lb.Action) bool {
	return slices.ContainsFunc(a.Groups(), func(g lb.GroupID) bool {
		_, waits := d.healthy[g]
		return waits
	})
}

// forwardsToTargets reports whether an action forwards to targets now. If its groups never had any,
// its requests lose nothing by an immediate change. A group that others made may have targets.
func (d *difference) forwardsToTargets(a lb.Action) bool {
	return slices.ContainsFunc(a.Groups(), func(g lb.GroupID) bool {
		seen := d.seen.TargetGroup(g)
		return lb.OthersMade(g) || seen != nil && (seen.Registered || seen.Ready)
	})
}

// takesServedRequests reports whether an added or widened line can match requests that targets
// answer now.
func (d *difference) takesServedRequests(ch *change, i int) bool {
	if ch.seen == nil {
		return false
	}
	if d.forwardsToTargets(ch.seen.Default) {
		return true
	}
	x := ch.before()
	r := ch.want.Rules[ch.lines[i].New]
	return slices.ContainsFunc(x.candidates(r), func(position int) bool {
		old := x.entries[position].rule
		return d.forwardsToTargets(old.Action) && d.overlaps.overlap(old, r)
	})
}

// defaultTakesServedRequests reports whether a new default action can get requests that targets
// answer now: those of the old one, or of a removed or narrowed rule.
func (d *difference) defaultTakesServedRequests(ch *change) bool {
	if lb.SameAction(ch.seen.Default, ch.want.Default) {
		return false
	}
	return d.forwardsToTargets(ch.seen.Default) ||
		slices.ContainsFunc(ch.lines, func(l Line) bool {
			return (l.Change == Removed || l.Change == Narrowed) &&
				d.forwardsToTargets(ch.old[l.Old].Action)
		})
}

// removeParkingRules deletes the parking rules: needed ones after their groups are in service,
// others at once.
func (d *difference) removeParkingRules() {
	for _, ch := range d.changes {
		if ch.seen == nil || ch.want == nil {
			continue
		}
		for _, r := range ch.seen.Rules {
			if plan.Parked(r.Rule) {
				ch.parkingRules = append(ch.parkingRules, parkingRule{r.Priority, r.Rule})
			}
		}
		for _, p := range ch.parkingRules {
			t := d.add(plan.DeleteRule{Port: ch.port, Priority: p.priority, Rule: p.rule},
				places{rules: -1}, d.startOfService(p.rule)...)
			d.removeNaming(t, p.rule.Action)
		}
	}
}

// startOfService returns the tasks that take a parking rule's groups into service. For a healthy
// group, this includes the task that creates the rule, as no other task has to wait for that.
func (d *difference) startOfService(parked lb.Rule) []int {
	var tasks []int
	for _, g := range parked.Action.Groups() {
		if created, held := d.parkedHealthy[g]; held {
			tasks = append(append(tasks, created), d.startNaming[g]...)
		}
		w, waiting := d.healthy[g]
		if !waiting {
			continue
		}
		tasks = append(tasks, w)
		for i, t := range d.tasks {
			if slices.Contains(t.After, w) {
				tasks = append(tasks, i)
			}
		}
	}
	return tasks
}

// exposedActions returns the actions of lasting rules that can get the requests of a removed or
// narrowed line, if targets answer these. An author may give a path to another rule by first adding
// the next rule below it, and then deleting it.
func (d *difference) exposedActions(ch *change, i int) []lb.Action {
	l := ch.lines[i]
	if l.Change != Removed && l.Change != Narrowed {
		return nil
	}
	gone := ch.old[l.Old].Rule
	if !d.forwardsToTargets(gone.Action) {
		return nil
	}
	var out []lb.Action
	x := ch.after()
	for _, position := range x.candidates(gone) {
		at, next := x.entries[position].at, x.entries[position].rule
		if !d.overlaps.overlap(gone, next) {
			continue
		}
		fate := ch.lines[at].Change
		if at > i && (fate == Kept || fate == Narrowed) &&
			!lb.SameAction(gone.Action, next.Action) {
			out = append(out, next.Action)
		}
		if lb.Contains(next, gone, d.caps.Dialect) {
			return out
		}
	}
	if rest := ch.want.Default; lb.SameAction(ch.seen.Default, rest) {
		out = append(out, rest)
	}
	return out
}

// healthOfExposed returns the tasks after which the groups of the exposed actions are healthy, if
// the plan has any.
func (d *difference) healthOfExposed(ch *change, i int) []int {
	if len(d.healthy) == 0 {
		return nil
	}
	var tasks []int
	for _, a := range d.exposedActions(ch, i) {
		for _, g := range a.Groups() {
			if t, waits := d.healthy[g]; waits && !slices.Contains(tasks, t) {
				tasks = append(tasks, t)
			}
		}
	}
	return tasks
}
