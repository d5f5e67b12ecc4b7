package planner

import (
	"slices"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// This file attaches certificates to listeners and detaches them. A host that is served before and
// after the plan always has a certificate.

// replaceCertificates finds missing certificates that can replace one that is no longer wanted, as
// when a Secret is rotated. One step replaces it, and no certificate is attached or detached. The
// returned load balancer is the observed one after these replacements. Of several certificates, the
// one for the same hosts is replaced first.
func replaceCertificates(seen *lb.Observed, want lb.LoadBalancer) (*lb.Observed,
	[]plan.ReplaceCertificate) {
	missing := slices.DeleteFunc(slices.Clone(want.Certificates), func(c lb.Certificate) bool {
		return seen.Certificate(c.ID) != nil
	})
	unwanted := slices.DeleteFunc(slices.Clone(seen.Certificates),
		func(c lb.ObservedCertificate) bool {
			return slices.ContainsFunc(want.Certificates, func(w lb.Certificate) bool {
				return w.ID == c.ID
			})
		})
	after := seen
	var renewed []plan.ReplaceCertificate
	pair := func(fits func(next, last lb.Certificate) bool) {
		for _, next := range missing {
			at := slices.IndexFunc(unwanted, func(last lb.ObservedCertificate) bool {
				return fits(next, last.Certificate)
			})
			if at < 0 || after.Certificate(next.ID) != nil {
				continue
			}
			if len(renewed) == 0 {
				after = seen.Clone()
			}
			r := plan.ReplaceCertificate{Old: unwanted[at].ID, New: next}
			r.Do(after, plan.Result{})
			renewed = append(renewed, r)
			unwanted = slices.Delete(unwanted, at, at+1)
		}
	}
	pair(func(next, last lb.Certificate) bool { return next.Succeeds(last) && last.Succeeds(next) })
	pair(lb.Certificate.Succeeds)
	return after, renewed
}

// importCertificates imports missing certificates, and corrects the tags of the others.
func (d *difference) importCertificates(renewed []plan.ReplaceCertificate) {
	for _, r := range renewed {
		d.imported[r.New.ID] = d.add(r, places{})
		d.tasks[d.imported[r.New.ID]].Origin = r.New.Origin
	}
	for _, c := range d.want.Certificates {
		switch seen := d.seen.Certificate(c.ID); {
		case seen == nil:
			d.imported[c.ID] = d.add(plan.ImportCertificate{Certificate: c}, places{})
			d.tasks[d.imported[c.ID]].Origin = c.Origin
		case seen.Digest != c.Digest && (c.Digest == "" || digestsDiffer(seen.Digest, c.Digest)):
			d.add(plan.ModifyCertificate{Certificate: c}, places{})
		}
	}
}

// addCertificates attaches the certificates that a listener lacks, before the rules for their
// hosts. If its default certificate changes, the same step writes the settings of the listener.
// If it begins to verify clients, the settings are written before its rules change. A default
// action that changes as well follows in a step of its own, after the rules.
func (d *difference) addCertificates(ch *change) {
	seen, want := ch.seen, ch.want
	ch.servedAfter = map[lb.CertificateID]int{}
	for _, id := range want.Certificates {
		if t, ok := d.imported[id]; ok {
			ch.servedAfter[id] = t // this step replaces a certificate that is served
		}
	}
	ch.attached = d.attachCertificates(ch)
	for _, t := range ch.attached {
		ch.servedAfter[d.tasks[t].Step.(plan.AttachCertificate).Certificate] = t
	}
	replaced := !slices.Equal(defaultOf(seen.Certificates), defaultOf(want.Certificates))
	if !replaced && !ch.beginsToVerify() {
		return
	}
	next := *want
	next.Default = seen.Default
	if !ch.defaultDiffers() {
		next.Default = want.Default
	}
	ch.settingsFirst = d.add(plan.ModifyListener{Listener: next}, ch.verification(),
		append(slices.Clone(ch.attached), d.importsOf(want.Certificates)...)...)
	if replaced {
		ch.servedAfter[want.Certificates[0]] = ch.settingsFirst
	}
}

// certificatesFor returns the tasks after which a port has the certificates for the hosts of a
// rule.
func (d *difference) certificatesFor(ch *change, r lb.Rule) []int {
	var tasks []int
	for _, c := range d.want.Certificates {
		if t, ok := ch.servedAfter[c.ID]; ok && d.mayServe(c.Hosts, r) {
			tasks = append(tasks, t)
		}
	}
	for id, t := range ch.servedAfter {
		if !slices.ContainsFunc(d.want.Certificates, func(c lb.Certificate) bool { return c.ID == id }) {
			tasks = append(tasks, t) // the hosts of a certificate of the cloud are not known
		}
	}
	return tasks
}

// mayServe reports whether a rule and a certificate may have a host in common. A certificate
// without known hosts may be for any host.
func (d *difference) mayServe(hosts []string, r lb.Rule) bool {
	return len(hosts) == 0 || d.overlaps.overlap(r, lb.Rule{Conditions: []lb.Condition{{Field: "host",
		Values: hosts}}})
}

// attachCertificates attaches the missing certificates of a listener, without its default one.
func (d *difference) attachCertificates(ch *change) []int {
	var tasks []int
	for _, id := range ch.want.Certificates[len(defaultOf(ch.want.Certificates)):] {
		if !slices.Contains(ch.seen.Certificates, id) {
			t := d.add(plan.AttachCertificate{Port: ch.port, Certificate: id},
				places{certificates: 1}, d.importsOf([]lb.CertificateID{id})...)
			if at := slices.IndexFunc(d.want.Certificates, func(c lb.Certificate) bool {
				return c.ID == id
			}); at >= 0 {
				d.tasks[t].Origin = d.want.Certificates[at].Origin
			}
			tasks = append(tasks, t)
		}
	}
	return tasks
}

// removeCertificates detaches certificates that are no longer wanted, after the new ones are
// attached and the rules for their hosts are deleted. A former default certificate is detached by
// the step that replaces it. If rules for its hosts are deleted after that step, it is attached
// beside the new one until then, if the limit permits.
func (d *difference) removeCertificates(ch *change) {
	for i, id := range ch.seen.Certificates {
		if slices.Contains(ch.want.Certificates, id) {
			continue
		}
		last := d.lastUses(ch, id)
		t := ch.settingsFirst
		switch {
		case i > 0:
			t = d.detachCertificate(ch, id)
		case slices.ContainsFunc(last, func(client int) bool {
			return d.alwaysFollows(client, t)
		}) && d.hasRoom(certificates):
			both := d.tasks[t].Step.(plan.ModifyListener).Listener
			both.Certificates = append(slices.Clip(both.Certificates), id)
			d.tasks[t].Step, d.tasks[t].Places[certificates] = plan.ModifyListener{Listener: both},
				1
			t = d.detachCertificate(ch, id)
			d.tasks[t].After = append(d.tasks[t].After, ch.settingsFirst)
		}
		for _, client := range last {
			if !d.alwaysFollows(client, t) {
				d.prefer(t, client)
			}
		}
		d.detached[id] = append(d.detached[id], t)
	}
}

// detachCertificate detaches a certificate that is not the default one.
func (d *difference) detachCertificate(ch *change, id lb.CertificateID) int {
	t := d.add(plan.DetachCertificate{Port: ch.port, Certificate: id},
		places{certificates: -1}, d.importsOf([]lb.CertificateID{id})...)
	d.tasks[t].Preferred = append(slices.Clone(ch.attached), d.importsOf(ch.want.Certificates)...)
	if ch.settingsFirst != absent {
		d.tasks[t].Preferred = append(d.tasks[t].Preferred, ch.settingsFirst)
	}
	return t
}

// hasRoom reports whether a place is free, besides those that are taken and needed.
func (d *difference) hasRoom(kind int) bool {
	limit, places := limits(d.caps)[kind], inUse(d.seen)[kind]+1
	for _, t := range d.tasks {
		places += max(0, t.Places[kind])
	}
	return limit == 0 || places <= limit
}

// lastUses returns the tasks after which no rule needs a certificate.
func (d *difference) lastUses(ch *change, id lb.CertificateID) []int {
	var hosts []string
	if c := d.seen.Certificate(id); c != nil {
		hosts = c.Hosts
	}
	var tasks []int
	for _, t := range ch.answering {
		if (t.fate == Removed || t.fate == Narrowed) && d.mayServe(hosts, t.rule) {
			tasks = append(tasks, t.at)
		}
	}
	return tasks
}

// alwaysFollows reports whether a task always runs after another one.
func (d *difference) alwaysFollows(later, earlier int) bool {
	passed := map[int]bool{later: true}
	for stack := []int{later}; len(stack) > 0; {
		t := d.tasks[stack[len(stack)-1]]
		stack = stack[:len(stack)-1]
		for _, before := range append(slices.Clone(t.After), t.Preferred...) {
			if before == earlier {
				return true
			}
			if !passed[before] {
				passed[before] = true
				stack = append(stack, before)
			}
		}
	}
	return false
}

// importsOf returns the tasks that import certificates.
func (d *difference) importsOf(ids []lb.CertificateID) []int {
	var tasks []int
	for _, id := range ids {
		if t, ok := d.imported[id]; ok {
			tasks = append(tasks, t)
		}
	}
	return tasks
}
