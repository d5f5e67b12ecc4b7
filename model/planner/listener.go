package planner

import (
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/planner/rulelist"
	"fairlead.dev/fairlead/model/planner/schedule"
	"fairlead.dev/fairlead/model/routing"
)

// This file turns what differs about one listener into steps.

// openPort opens a port that is missing.
func (d *difference) openPort(ch *change) {
	if ch.seen != nil {
		return
	}
	after := append([]int{d.loadBalancerReady, d.webACLReady}, d.importsOf(ch.want.Certificates)...)
	after = append(after, d.targetsOf(ch.want.Default, false)...)
	ch.ready = d.add(plan.CreateListener{Listener: *ch.want},
		schedule.Places{schedule.Listeners: 1, schedule.Certificates: further(ch.want.Certificates),
			schedule.Verifying: one(ch.want.Verifies)}, after...)
	d.tasks[ch.ready].Origin = askers(*ch.want)
	d.addNaming(ch.ready, ch.want.Default)
	ch.steps = append(ch.steps, move{entry{at: ch.ready}, absent, rulelist.Added})
}

// changeListener plans everything else about a port.
func (d *difference) changeListener(ch *change) {
	switch {
	case ch.want == nil:
		d.closePort(ch)
		return
	case len(ch.Moves) > 0:
		ch.ready = d.add(plan.RespaceRules{Port: ch.port, To: ch.Moves}, schedule.Places{}, ch.ready)
	}
	if ch.staysHTTPS() {
		d.addCertificates(ch)
	}
	order := newRuleOrder(d.overlaps)
	turned := d.topDown(ch, order)
	if ch.seen != nil {
		d.settings(ch, order)
	}
	d.bottomUp(ch, order, turned)
}

// topDown is the pass that makes new rules answer. It returns the lines that have turned.
func (d *difference) topDown(ch *change, order *ruleOrder) map[int]entry {
	turned := map[int]entry{}
	for i, l := range ch.lines {
		if l.Change != rulelist.Added && l.Change != rulelist.Widened && l.Change != rulelist.Switched {
			continue
		}
		e := entry{at: len(d.tasks), rule: ch.want.Rules[l.New]}
		after := append(d.targetsOf(e.rule.Action,
			d.waitsForHealth(e.rule.Action) &&
				d.takesServedRequests(ch, i)), d.certificatesFor(ch, e.rule)...)
		after = append(after, d.webACLReady, ch.verified())
		if l.Change == rulelist.Switched {
			turned[i] = e
			after = append(after, order.predecessors(e.rule)...)
		} else {
			after = append(after, order.place(e)...)
		}
		if l.Change == rulelist.Added {
			d.rule(ch, i, e, plan.CreateRule{Port: ch.port, Priority: ch.Priority[i], Rule: e.rule},
				schedule.Places{schedule.Rules: 1}, after)
		} else {
			d.rule(ch, i, e, plan.ModifyRule{Port: ch.port, Priority: ch.Priority[i], Rule: e.rule},
				schedule.Places{}, after)
		}
	}
	return turned
}

// bottomUp is the pass that takes old rules away.
func (d *difference) bottomUp(ch *change, order *ruleOrder, turned map[int]entry) {
	for i := len(ch.lines) - 1; i >= 0; i-- {
		l := ch.lines[i]
		if l.Change == rulelist.Switched {
			order.add(turned[i])
		}
		if l.Change != rulelist.Removed && l.Change != rulelist.Narrowed {
			continue
		}
		e := entry{at: len(d.tasks), rule: ch.old[l.Old].Rule}
		after := append(order.place(e), d.webACLReady, ch.verified())
		after = append(after, d.healthOfLaidOpen(ch, i)...)
		if l.Change == rulelist.Removed {
			d.rule(ch, i, e, plan.DeleteRule{Port: ch.port, Priority: ch.Priority[i], Rule: e.rule},
				schedule.Places{schedule.Rules: -1}, after)
		} else {
			d.rule(ch, i, e, plan.ModifyRule{Port: ch.port, Priority: ch.Priority[i],
				Rule: ch.want.Rules[l.New]}, schedule.Places{}, after)
		}
	}
}

// rule adds a step about one line.
func (d *difference) rule(ch *change, i int, e entry, s plan.Step, u schedule.Places, after []int) {
	l := ch.lines[i]
	d.add(s, u, append(after, ch.ready)...)
	if l.New != absent {
		d.tasks[e.at].Origin = ch.want.Rules[l.New].Origin
		d.addNaming(e.at, ch.want.Rules[l.New].Action)
	}
	if l.Old != absent {
		d.removeNaming(e.at, ch.old[l.Old].Action)
	}
	ch.steps = append(ch.steps, move{e, i, l.Change})
}

// closePort deletes the listener, and its rules with it.
func (d *difference) closePort(ch *change) {
	t := d.add(plan.DeleteListener{Port: ch.port},
		schedule.Places{schedule.Rules: -len(ch.seen.Rules), schedule.Listeners: -1,
			schedule.Certificates: -further(ch.seen.Certificates),
			schedule.Verifying:    -one(ch.seen.Verifies)})
	d.removeNaming(t, ch.seen.Default)
	for _, r := range ch.seen.Rules {
		d.removeNaming(t, r.Action)
	}
	for _, id := range ch.seen.Certificates {
		d.detached[id] = append(d.detached[id], t)
	}
	ch.steps = append(ch.steps, move{entry{at: t}, absent, rulelist.Removed})
	for _, next := range d.changes {
		if next.port == ch.port && next != ch { // it speaks another protocol
			d.tasks[next.ready].After = append(d.tasks[next.ready].After, t)
		}
	}
}

// settings corrects a listener's protocol, settings and default action. It comes between the two
// passes over the rules if requests are answered differently for it.
func (d *difference) settings(ch *change, order *ruleOrder) {
	seen, want := ch.seen, ch.want
	elsewhere := ch.elsewhere()
	at := absent
	if elsewhere || ch.settingsFirst == absent && differ(seen.Digest, want.Digest) {
		after := append(d.importsOf(standard(want.Certificates)), ch.settingsFirst)
		if elsewhere {
			after = append(after, order.placeBarrier(len(d.tasks))...)
			after = append(after, d.targetsOf(want.Default, d.defaultTakesServedRequests(ch))...)
			after = append(after, d.webACLReady)
			ch.steps = append(ch.steps, move{entry{at: len(d.tasks)}, absent, rulelist.Switched})
		}
		u := schedule.Places{}
		if ch.settingsFirst == absent {
			u = ch.verification()
		}
		at = d.add(plan.ModifyListener{Listener: *want}, u, after...)
		d.tasks[at].Origin = askers(*want)
		d.addNaming(at, want.Default)
		d.removeNaming(at, seen.Default)
	}
	if seen.Protocol == routing.HTTPS && want.Protocol != routing.HTTPS {
		d.tasks[at].Places[schedule.Certificates] = -further(seen.Certificates)
		for _, id := range seen.Certificates {
			d.detached[id] = append(d.detached[id], at)
		}
	}
}

// askers returns each route that a port has rules for once. A route may have several rules.
func askers(l lb.Listener) []diag.Source {
	var out []diag.Source
	named := map[diag.Source]bool{}
	for _, r := range l.Rules {
		for _, source := range r.Origin {
			if !named[source] {
				named[source] = true
				out = append(out, source)
			}
		}
	}
	return out
}
