package planner

import (
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
)

// This file plans the steps of one listener.

// openPort opens a port that is missing.
func (d *difference) openPort(ch *change) {
	if ch.seen != nil {
		return
	}
	after := append([]int{d.loadBalancerReady, d.webACLReady}, d.importsOf(ch.want.Certificates)...)
	after = append(after, d.targetsOf(ch.want.Default, false)...)
	ch.ready = d.add(plan.CreateListener{Listener: *ch.want},
		places{listeners: 1, certificates: countFurther(ch.want.Certificates),
			verifying: countIf(ch.want.Verifies)}, after...)
	d.tasks[ch.ready].Origin = originsOf(*ch.want)
	d.addNaming(ch.ready, ch.want.Default)
	ch.answering = append(ch.answering, answerTask{entry{at: ch.ready}, absent, Added})
}

// changeListener plans all other changes of a port.
func (d *difference) changeListener(ch *change) {
	switch {
	case ch.want == nil:
		d.closePort(ch)
		return
	case len(ch.Renumbered) > 0:
		ch.ready = d.add(plan.RespaceRules{Port: ch.port, To: ch.Renumbered}, places{}, ch.ready)
	}
	if ch.staysHTTPS() {
		d.addCertificates(ch)
	}
	order := newRuleOrder(d.overlaps)
	switched := d.addGrowingRules(ch, order)
	if ch.seen != nil {
		d.changeSettings(ch, order)
	}
	d.addShrinkingRules(ch, order, switched)
}

// addGrowingRules plans the rules that are added, widened or switched, from the first to the last.
// It returns the switched ones by line.
func (d *difference) addGrowingRules(ch *change, order *ruleOrder) map[int]entry {
	switched := map[int]entry{}
	for i, l := range ch.lines {
		if l.Change != Added && l.Change != Widened && l.Change != Switched {
			continue
		}
		e := entry{at: len(d.tasks), rule: ch.want.Rules[l.New]}
		after := append(d.targetsOf(e.rule.Action,
			d.waitsForHealth(e.rule.Action) &&
				d.takesServedRequests(ch, i)), d.certificatesFor(ch, e.rule)...)
		after = append(after, d.webACLReady, ch.verified())
		if l.Change == Switched {
			switched[i] = e
			after = append(after, order.predecessors(e.rule)...)
		} else {
			after = append(after, order.place(e)...)
		}
		if l.Change == Added {
			d.addRuleStep(ch, i, e, plan.CreateRule{Port: ch.port, Priority: ch.Priority[i], Rule: e.rule},
				places{rules: 1}, after)
		} else {
			d.addRuleStep(ch, i, e, plan.ModifyRule{Port: ch.port, Priority: ch.Priority[i], Rule: e.rule},
				places{}, after)
		}
	}
	return switched
}

// addShrinkingRules plans the rules that are removed or narrowed, from the last to the first.
func (d *difference) addShrinkingRules(ch *change, order *ruleOrder, switched map[int]entry) {
	hidden := ch.hiddenRules()
	for i := len(ch.lines) - 1; i >= 0; i-- {
		l := ch.lines[i]
		if l.Change == Switched {
			order.add(switched[i])
		}
		if l.Change != Removed && l.Change != Narrowed {
			continue
		}
		e := entry{at: len(d.tasks), rule: ch.old[l.Old].Rule}
		if hidden[i] {
			d.add(plan.DeleteRule{Port: ch.port, Priority: ch.Priority[i], Rule: e.rule}, places{rules: -1}, ch.ready)
			d.removeNaming(e.at, e.rule.Action)
			continue
		}
		after := append(order.place(e), d.webACLReady, ch.verified())
		after = append(after, d.healthOfExposed(ch, i)...)
		if l.Change == Removed {
			d.addRuleStep(ch, i, e, plan.DeleteRule{Port: ch.port, Priority: ch.Priority[i], Rule: e.rule},
				places{rules: -1}, after)
		} else {
			d.addRuleStep(ch, i, e, plan.ModifyRule{Port: ch.port, Priority: ch.Priority[i],
				Rule: ch.want.Rules[l.New]}, places{}, after)
		}
	}
}

// addRuleStep adds the step of one line.
func (d *difference) addRuleStep(ch *change, i int, e entry, s plan.Step, u places,
	after []int) {
	l := ch.lines[i]
	d.add(s, u, append(after, ch.ready)...)
	if l.New != absent {
		d.tasks[e.at].Origin = ch.want.Rules[l.New].Origin
		d.addNaming(e.at, ch.want.Rules[l.New].Action)
	}
	if l.Old != absent {
		d.removeNaming(e.at, ch.old[l.Old].Action)
	}
	ch.answering = append(ch.answering, answerTask{e, i, l.Change})
}

// closePort deletes the listener with its rules.
func (d *difference) closePort(ch *change) {
	t := d.add(plan.DeleteListener{Port: ch.port},
		places{rules: -len(ch.seen.Rules), listeners: -1,
			certificates: -countFurther(ch.seen.Certificates),
			verifying:    -countIf(ch.seen.Verifies)})
	d.removeNaming(t, ch.seen.Default)
	for _, r := range ch.seen.Rules {
		d.removeNaming(t, r.Action)
	}
	for _, id := range ch.seen.Certificates {
		d.detached[id] = append(d.detached[id], t)
	}
	ch.answering = append(ch.answering, answerTask{entry{at: t}, absent, Removed})
	for _, next := range d.changes {
		if next.port == ch.port && next != ch { // it opens again with another protocol, after this step
			d.tasks[next.ready].After = append(d.tasks[next.ready].After, t)
		}
	}
}

// changeSettings corrects a listener's protocol, settings and default action. If it changes
// answers, its step is placed between the two passes over the rules.
func (d *difference) changeSettings(ch *change, order *ruleOrder) {
	seen, want := ch.seen, ch.want
	elsewhere := ch.defaultDiffers()
	at := absent
	if elsewhere || ch.settingsFirst == absent && digestsDiffer(seen.Digest, want.Digest) {
		after := append(d.importsOf(defaultOf(want.Certificates)), ch.settingsFirst)
		if elsewhere {
			after = append(after, order.placeBarrier(len(d.tasks))...)
			after = append(after, d.targetsOf(want.Default, d.defaultTakesServedRequests(ch))...)
			after = append(after, d.webACLReady)
			ch.answering = append(ch.answering, answerTask{entry{at: len(d.tasks)}, absent, Switched})
		}
		u := places{}
		if ch.settingsFirst == absent {
			u = ch.verification()
		}
		at = d.add(plan.ModifyListener{Listener: *want}, u, after...)
		d.tasks[at].Origin = originsOf(*want)
		d.addNaming(at, want.Default)
		d.removeNaming(at, seen.Default)
	}
	if seen.Protocol == routing.HTTPS && want.Protocol != routing.HTTPS {
		d.tasks[at].Places[certificates] = -countFurther(seen.Certificates)
		for _, id := range seen.Certificates {
			d.detached[id] = append(d.detached[id], at)
		}
	}
}

// originsOf returns the sources of all rules of a listener, and of what decides about its settings,
// without duplicates.
func originsOf(l lb.Listener) []diag.Source {
	var out []diag.Source
	named := map[diag.Source]bool{}
	add := func(sources []diag.Source) {
		for _, source := range sources {
			if !named[source] {
				named[source] = true
				out = append(out, source)
			}
		}
	}
	for _, r := range l.Rules {
		add(r.Origin)
	}
	add(l.Decided)
	return out
}
