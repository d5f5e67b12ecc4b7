// Package planner makes an ordered list of steps from the existing load balancer to the wanted one.
// After each step, every request gets the answer of before or of after the plan.
//
// It hides how that is so: which rules stay where they are and which numbers the others get (merge.go, priority.go), which
// step waits for which (the table in difference.go), and the order in which no limit of the cloud is exceeded (schedule.go).
package planner

import (
	"cmp"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// Diff returns the plan from an existing load balancer to the wanted one. If seen is nil, it does
// not exist. A load balancer without listeners is not created.
func Diff(seen *lb.Observed, want lb.LoadBalancer, c lb.Capabilities) plan.Plan {
	if seen == nil {
		seen = &lb.Observed{Key: want.Key}
	}
	p := plan.Plan{Key: cmp.Or(want.Key, seen.Key)}
	for _, why := range seen.Unread {
		p.Diagnostics = append(p.Diagnostics, settingsUnread(p.Key, why))
	}
	if seen.Impaired != "" {
		p.Diagnostics = append(p.Diagnostics, diag.Diagnostic{Severity: diag.Warning,
			Reason: diag.Impaired, Source: plan.SourceOf(p.Key),
			Message: "The cloud serves the load balancer, with less than it needs: " + seen.Impaired})
	}
	want, told := leaveListeners(seen, want)
	p.Diagnostics = append(p.Diagnostics, told...)
	if d, kept := keptByProtection(seen, want, c); kept {
		p.Diagnostics = append(p.Diagnostics, d)
		if !want.Withdrawn {
			return p
		}
		want.Wanted = true // it stays, without listeners
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
		p = appendSteps(p, Sequence{Steps: []plan.Planned{{Step: v.step,
			Early: v.diagnostic.Reason}}})
		p.Diagnostics = append(p.Diagnostics, v.diagnostic)
	}
}

// planWithinLimits plans as many steps as the limits permit. It does not park target groups if
// parking rules would exceed a limit.
func planWithinLimits(seen *lb.Observed, want lb.LoadBalancer, c lb.Capabilities,
	known *overlapCache) Sequence {
	seen, renewed := replaceCertificates(seen, want)
	compared := compare(seen, want, c)
	if slices.ContainsFunc(compared, comparison.crowded) {
		return Sequence{}
	}
	with := func(l parkingMode) (*difference, Sequence) {
		d := differences(seen, want, c, compared, known, renewed, l)
		return d, order(d.tasks, inUse(seen), limits(c))
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

// planBeyondLimits plans without limits, for a wanted load balancer that exceeds them. The cloud
// will refuse a step, and its error is reported for the routes. It returns no steps if there are
// more rules than priorities.
func planBeyondLimits(seen *lb.Observed, want lb.LoadBalancer, c lb.Capabilities,
	known *overlapCache) Sequence {
	seen, renewed := replaceCertificates(seen, want)
	compared := compare(seen, want, c)
	if slices.ContainsFunc(compared, comparison.crowded) {
		return Sequence{}
	}
	return order(differences(seen, want, c, compared, known, renewed, parkingMode{}).tasks,
		places{}, places{})
}

// appendSteps returns the plan followed by steps that wait for all of it.
func appendSteps(p plan.Plan, next Sequence) plan.Plan {
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

// differences returns all steps between two load balancers. It parks target groups according to the
// parking mode.
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
	d.origins = originsByGroup(want)
	d.importCertificates(renewed)
	d.changeTargetGroups()
	d.changeLoadBalancer()
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
	d.orderRedirects()
	for _, ch := range d.changes {
		if ch.staysHTTPS() {
			d.removeCertificates(ch)
		}
	}
	d.removeParkingRules()
	d.handOver()
	d.removeWebACL()
	d.orderFamilies()
	d.deleteUnused(want)
	return d
}

// deleteAll deletes the load balancer and everything in it in one step.
func (d *difference) deleteAll() {
	if !d.seen.Exists {
		return
	}
	taken := inUse(d.seen)
	t := d.add(plan.DeleteLoadBalancer{Key: d.seen.Key},
		places{rules: -taken[rules],
			certificates: -taken[certificates],
			listeners:    -taken[listeners],
			verifying:    -taken[verifying]})
	d.firewallUnused = t
	for _, g := range d.seen.TargetGroups {
		d.stopNaming[g.ID] = []int{t}
	}
	for _, c := range d.seen.Certificates {
		d.detached[c.ID] = []int{t}
	}
}

// changeTargetGroups creates target groups that are missing, registers the first targets of those
// that never had any, and corrects health checks.
func (d *difference) changeTargetGroups() {
	taken := 0 // number of targets, which the load balancer limits
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
			at = d.add(plan.CreateTargetGroup{Group: g}, places{groups: 1})
			d.tasks[at].Origin = d.origins[g.ID]
		case digestsDiffer(seen.Digest, g.Digest):
			t := d.add(plan.ModifyTargetGroup{Group: g}, places{})
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
			at = d.add(plan.RegisterTargets{Group: g.ID, Targets: first}, places{}, at)
			d.tasks[at].Origin = d.origins[g.ID]
		}
		d.registered[g.ID] = at
	}
}

// changeLoadBalancer creates the load balancer, after its first target group, so that the account
// has room for one, or corrects its settings.
func (d *difference) changeLoadBalancer() {
	switch {
	case !d.seen.Exists:
		first := slices.IndexFunc(d.tasks, func(t task) bool {
			_, creates := t.Step.(plan.CreateTargetGroup)
			return creates
		})
		now, late := d.withoutLate()
		d.loadBalancerReady = d.add(plan.CreateLoadBalancer{LoadBalancer: now}, places{}, first)
		if late {
			d.add(plan.ModifyLoadBalancer{LoadBalancer: d.want}, places{}, d.loadBalancerReady)
		}
	case digestsDiffer(d.seen.Digest, d.want.Digest):
		now, late := d.withoutLate()
		if d.seen.Digest != "" || !late {
			now = d.want
		}
		d.firewallUnused = d.add(plan.ModifyLoadBalancer{LoadBalancer: now}, places{})
		if d.seen.Digest == "" { // it was never finished
			d.loadBalancerReady = d.firewallUnused
			if late {
				d.add(plan.ModifyLoadBalancer{LoadBalancer: d.want}, places{}, d.firewallUnused)
			}
		}
	}
}

// withoutLate returns the load balancer without the attributes that can wait until it serves, and
// whether it has any. The cloud may refuse these, and its listeners do not wait for them.
func (d *difference) withoutLate() (now lb.LoadBalancer, late bool) {
	now = d.want
	now.Settings.Attributes, late = d.caps.SplitLate(now.Settings.Attributes)
	if late {
		now.Digest = lb.DigestOf(now.Settings)
	}
	return now, late
}

// deleteUnused deletes unwanted target groups, certificates and firewalls, after the last use of
// each.
func (d *difference) deleteUnused(want lb.LoadBalancer) {
	if d.seen.Firewall != "" && (want.Empty() || len(want.Settings.SecurityGroups) > 0) {
		d.add(plan.DeleteFirewall{Key: d.seen.Key}, places{}, d.firewallUnused)
	}
	wanted := map[lb.GroupID]bool{}
	for _, g := range want.TargetGroups {
		wanted[g.ID] = true
	}
	for _, g := range d.seen.TargetGroups {
		if !wanted[g.ID] {
			d.add(plan.DeleteTargetGroup{Group: g.ID}, places{groups: -1},
				d.stopNaming[g.ID]...)
		}
	}
	for _, c := range d.seen.Certificates {
		if !slices.ContainsFunc(want.Certificates, func(w lb.Certificate) bool { return w.ID == c.ID }) {
			d.add(plan.DeleteCertificate{Certificate: c.ID}, places{}, d.detached[c.ID]...)
		}
	}
}

// originsByGroup returns the routes that forward to each target group.
func originsByGroup(want lb.LoadBalancer) map[lb.GroupID][]diag.Source {
	out, known := map[lb.GroupID][]diag.Source{}, map[lb.GroupID]map[diag.Source]bool{}
	for _, together := range forwardingsOf(want) {
		for _, g := range together.groups {
			if out[g] == nil {
				out[g] = slices.Clip(together.origin) // most groups are in one forwarding only
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

// A forwarding is a set of target groups that share requests, with its routes.
type forwarding struct {
	groups []lb.GroupID
	origin []diag.Source
	known  map[diag.Source]bool
}

// forwardingsOf returns the forwardings of all rules, in their order. A Backend of many Services
// has one forwarding, shared by all its rules and routes.
func forwardingsOf(want lb.LoadBalancer) []*forwarding {
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
