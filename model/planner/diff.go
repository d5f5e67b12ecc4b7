// Package planner makes an ordered list of steps from the load balancer that exists to the one that
// is wanted. After each step every request is answered as before or as after the plan.
package planner

import (
	"cmp"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/planner/schedule"
)

// Diff is what to do so that a load balancer becomes what is wanted. A nil seen is one that
// does not exist. None is made that would have no listener.
func Diff(seen *lb.Observed, want lb.LoadBalancer, c lb.Capabilities) plan.Plan {
	if seen == nil {
		seen = &lb.Observed{Key: want.Key}
	}
	p := plan.Plan{Key: cmp.Or(want.Key, seen.Key)}
	for _, why := range seen.Unread {
		p.Diagnostics = append(p.Diagnostics, settingsUnread(p.Key, why))
	}
	if d, kept := keptByProtection(seen, want, c); kept {
		p.Diagnostics = append(p.Diagnostics, d)
		if !want.Withdrawn {
			return p
		}
		want.Wanted = true // it stays, with nothing in it
	}
	if !seen.Exists && len(want.Listeners) == 0 {
		want = lb.LoadBalancer{Key: want.Key}
	}
	known := newOverlapCache(c.Dialect)
	for now := seen; ; now = p.Fold(seen) {
		next := planWithinLimits(now, want, c, known)
		if !seen.Exists {
			next.ClearEarly() // no request has been answered yet
		}
		p = appendSteps(p, next)
		if next.Complete {
			return p
		}
		now = p.Fold(seen)
		v, found := chooseEarlyDeletion(now, want, c, next.Lacking)
		if !found {
			return appendSteps(p, planBeyondLimits(now, want, c, known))
		}
		p = appendSteps(p, schedule.Sequence{Steps: []plan.Planned{{Step: v.step,
			Early: v.diagnostic.Reason}}})
		p.Diagnostics = append(p.Diagnostics, v.diagnostic)
	}
}

// planWithinLimits plans as far as the limits permit. Parking, which takes places itself, is given
// up where it is in the way.
func planWithinLimits(seen *lb.Observed, want lb.LoadBalancer, c lb.Capabilities,
	known *overlapCache) schedule.Sequence {
	seen, renewed := replaceCertificates(seen, want)
	compared := compare(seen, want, c)
	if slices.ContainsFunc(compared, comparison.crowded) {
		return schedule.Sequence{}
	}
	with := func(l parkingMode) (*difference, schedule.Sequence) {
		d := differences(seen, want, c, compared, known, renewed, l)
		return d, schedule.Order(d.tasks, schedule.InUse(seen), schedule.Limits(c))
	}
	d, next := with(parkingMode{allowed: true})
	if lapsed := d.uncheckedMeanwhile(next); len(lapsed) > 0 {
		next.Unparked = true
		if held, other := with(parkingMode{allowed: true, healthyToo: lapsed}); other.Complete &&
			len(held.uncheckedMeanwhile(other)) == 0 {
			d, next = held, other
		}
	}
	if d.parked && !next.Complete {
		d, next = with(parkingMode{})
		next.Unparked = true
	}
	d.keepNamed(next)
	return next
}

// planBeyondLimits plans without regard to limits, where what is wanted exceeds them itself. The
// cloud will refuse a step, and its refusal names the routes. More rules than there are priorities
// cannot even be planned.
func planBeyondLimits(seen *lb.Observed, want lb.LoadBalancer, c lb.Capabilities,
	known *overlapCache) schedule.Sequence {
	seen, renewed := replaceCertificates(seen, want)
	compared := compare(seen, want, c)
	if slices.ContainsFunc(compared, comparison.crowded) {
		return schedule.Sequence{}
	}
	return schedule.Order(differences(seen, want, c, compared, known, renewed, parkingMode{}).tasks,
		schedule.Places{}, schedule.Places{})
}

// appendSteps returns the plan followed by steps that wait for all of it.
func appendSteps(p plan.Plan, next schedule.Sequence) plan.Plan {
	for _, s := range next.EarlySteps {
		p.Diagnostics = append(p.Diagnostics, stepComesEarly(p.Key, s))
	}
	if next.Unparked && !slices.Contains(p.Diagnostics, targetsUnchecked(p.Key)) {
		p.Diagnostics = append(p.Diagnostics, targetsUnchecked(p.Key))
	}
	base := len(p.Steps)
	followed := make([]bool, base)
	for _, s := range p.Steps {
		for _, a := range s.After {
			followed[a] = true
		}
	}
	var ends []int
	for i, f := range followed {
		if !f {
			ends = append(ends, i)
		}
	}
	for _, s := range next.Steps {
		after := slices.Clone(ends)
		if len(s.After) > 0 {
			after = after[:0]
			for _, a := range s.After {
				after = append(after, base+a)
			}
		}
		s.After = after
		p.Steps = append(p.Steps, s)
	}
	return p
}

// differences are all steps between two load balancers. Target groups are parked as the parking
// mode says.
func differences(seen *lb.Observed, want lb.LoadBalancer, c lb.Capabilities, compared []comparison,
	known *overlapCache, renewed []plan.ReplaceCertificate, parking parkingMode) *difference {
	d := &difference{
		seen: seen, want: want, caps: c, overlaps: known, inUse: plan.GroupsInUse(seen),
		loadBalancerReady: absent, webACLReady: absent, firewallUnused: absent,
		imported: map[lb.CertificateID]int{}, registered: map[lb.GroupID]int{},
		healthy: map[lb.GroupID]int{},
		sticky:  map[lb.GroupID]int{}, notSticky: map[lb.GroupID]int{},
		stopNaming: map[lb.GroupID][]int{}, startNaming: map[lb.GroupID][]int{},
		parkedHealthy: map[lb.GroupID]int{}, detached: map[lb.CertificateID][]int{},
	}
	if want.Empty() {
		d.deleteAll()
		d.deleteUnused(lb.LoadBalancer{})
		return d
	}
	d.origins = origins(want)
	d.certificates(renewed)
	d.groups()
	d.loadBalancer()
	d.addProtection()
	for _, co := range compared {
		d.changes = append(d.changes, newChange(co, known))
	}
	for _, ch := range d.changes {
		d.openPort(ch)
	}
	if parking.allowed {
		d.parked = d.addParkingRules(parking.healthyToo)
	}
	for _, ch := range d.changes {
		d.changeListener(ch)
	}
	d.redirects()
	for _, ch := range d.changes {
		if ch.staysHTTPS() {
			d.removeCertificates(ch)
		}
	}
	d.removeParkingRules()
	d.handOver()
	d.removeWebACL()
	d.deleteUnused(want)
	return d
}

// deleteAll deletes the load balancer and everything in it in one step.
func (d *difference) deleteAll() {
	if !d.seen.Exists {
		return
	}
	taken := schedule.InUse(d.seen)
	t := d.add(plan.DeleteLoadBalancer{Key: d.seen.Key},
		schedule.Places{schedule.Rules: -taken[schedule.Rules],
			schedule.Certificates: -taken[schedule.Certificates],
			schedule.Listeners:    -taken[schedule.Listeners],
			schedule.Verifying:    -taken[schedule.Verifying]})
	d.firewallUnused = t
	for _, g := range d.seen.TargetGroups {
		d.stopNaming[g.ID] = []int{t}
	}
	for _, c := range d.seen.Certificates {
		d.detached[c.ID] = []int{t}
	}
}

// groups creates target groups that are missing, registers the first targets of those that
// never had any, and corrects health checks.
func (d *difference) groups() {
	taken := 0 // by targets, of those that the load balancer can have
	for _, g := range d.want.TargetGroups {
		if seen := d.seen.TargetGroup(g.ID); seen != nil && seen.Registered {
			taken += len(d.caps.ChooseTargets(g.Targets, nil, 0))
		}
	}
	for _, g := range d.want.TargetGroups {
		seen := d.seen.TargetGroup(g.ID)
		at := absent
		switch {
		case seen == nil:
			at = d.add(plan.CreateTargetGroup{Group: g}, schedule.Places{schedule.Groups: 1})
			d.tasks[at].Origin = d.origins[g.ID]
		case differ(seen.Digest, g.Digest):
			t := d.add(plan.ModifyTargetGroup{Group: g}, schedule.Places{})
			d.tasks[t].Origin = d.origins[g.ID]
			if d.caps.Sticks(g) {
				d.sticky[g.ID] = t
			} else {
				d.notSticky[g.ID] = t
			}
		}
		if len(g.Targets) > 0 && (seen == nil || !seen.Registered) {
			first := d.caps.ChooseTargets(g.Targets, nil, taken)
			taken += len(first)
			at = d.add(plan.RegisterTargets{Group: g.ID, Targets: first}, schedule.Places{}, at)
			d.tasks[at].Origin = d.origins[g.ID]
		}
		d.registered[g.ID] = at
	}
}

// loadBalancer creates the load balancer, once the account has room for one of its target groups at
// least, or corrects its settings.
func (d *difference) loadBalancer() {
	switch {
	case !d.seen.Exists:
		first := slices.IndexFunc(d.tasks, func(t schedule.Task) bool {
			_, creates := t.Step.(plan.CreateTargetGroup)
			return creates
		})
		d.loadBalancerReady = d.add(plan.CreateLoadBalancer{LoadBalancer: d.want}, schedule.Places{},
			first)
	case differ(d.seen.Digest, d.want.Digest):
		d.firewallUnused = d.add(plan.ModifyLoadBalancer{LoadBalancer: d.want}, schedule.Places{})
		if d.seen.Digest == "" { // it was never finished
			d.loadBalancerReady = d.firewallUnused
		}
	}
}

// deleteUnused deletes target groups, certificates and the firewall where they are not wanted, once
// nothing names them.
func (d *difference) deleteUnused(want lb.LoadBalancer) {
	if d.seen.Firewall != "" && (want.Empty() || len(want.Settings.SecurityGroups) > 0) {
		d.add(plan.DeleteFirewall{Key: d.seen.Key}, schedule.Places{}, d.firewallUnused)
	}
	wanted := map[lb.GroupID]bool{}
	for _, g := range want.TargetGroups {
		wanted[g.ID] = true
	}
	for _, g := range d.seen.TargetGroups {
		if !wanted[g.ID] {
			d.add(plan.DeleteTargetGroup{Group: g.ID}, schedule.Places{schedule.Groups: -1},
				d.stopNaming[g.ID]...)
		}
	}
	for _, c := range d.seen.Certificates {
		if !slices.ContainsFunc(want.Certificates, func(w lb.Certificate) bool { return w.ID == c.ID }) {
			d.add(plan.DeleteCertificate{Certificate: c.ID}, schedule.Places{}, d.detached[c.ID]...)
		}
	}
}

// origins are the routes that forward to each target group.
func origins(want lb.LoadBalancer) map[lb.GroupID][]diag.Source {
	out, known := map[lb.GroupID][]diag.Source{}, map[lb.GroupID]map[diag.Source]bool{}
	for _, together := range forwarded(want) {
		for _, g := range together.groups {
			if out[g] == nil {
				out[g] = slices.Clip(together.origin) // most groups are alone, or always among the same
				continue
			}
			if known[g] == nil {
				known[g] = map[diag.Source]bool{}
				for _, s := range out[g] {
					known[g][s] = true
				}
			}
			for _, s := range together.origin {
				if !known[g][s] {
					known[g][s], out[g] = true, append(out[g], s)
				}
			}
		}
	}
	return out
}

// A forwarding is target groups between which requests are divided, and the routes for which they
// are.
type forwarding struct {
	groups []lb.GroupID
	origin []diag.Source
	known  map[diag.Source]bool
}

// forwarded are all that rules have, in the order of the rules. A Backend of many Services has one
// forwarding, however many rules and routes lead to it.
func forwarded(want lb.LoadBalancer) []*forwarding {
	var out []*forwarding
	by := map[string]*forwarding{}
	for _, l := range want.Listeners {
		for _, r := range l.Rules {
			var key strings.Builder
			groups := r.Action.Groups()
			for _, g := range groups {
				key.WriteString(string(g) + "|")
			}
			of := by[key.String()]
			if of == nil {
				of = &forwarding{groups: groups, known: map[diag.Source]bool{}}
				by[key.String()], out = of, append(out, of)
			}
			for _, s := range r.Origin {
				if !of.known[s] {
					of.known[s], of.origin = true, append(of.origin, s)
				}
			}
		}
	}
	return out
}
