package plan

import (
	"slices"

	"fairlead.dev/fairlead/model/lb"
)

// This file brings certificates to listeners and takes them away, so that a host that keeps
// being served never lacks one.

// renew finds certificates that are missing and can take the place of one that is not wanted any
// more, as when a Secret is rotated: one step then, and nothing is attached or detached. Seen is
// returned as if they had done so. Of several it is first the one for the same hosts.
func renew(seen *lb.Observed, want lb.LoadBalancer) (*lb.Observed, []ReplaceCertificate) {
	missing := slices.DeleteFunc(slices.Clone(want.Certificates), func(c lb.Certificate) bool { return seen.Certificate(c.ID) != nil })
	unwanted := slices.DeleteFunc(slices.Clone(seen.Certificates), func(c lb.ObservedCertificate) bool {
		return slices.ContainsFunc(want.Certificates, func(w lb.Certificate) bool { return w.ID == c.ID })
	})
	after := seen
	var renewed []ReplaceCertificate
	pair := func(fits func(next, last lb.Certificate) bool) {
		for _, next := range missing {
			at := slices.IndexFunc(unwanted, func(last lb.ObservedCertificate) bool { return fits(next, last.Certificate) })
			if at < 0 || after.Certificate(next.ID) != nil {
				continue
			}
			if len(renewed) == 0 {
				after = seen.Clone()
			}
			r := ReplaceCertificate{unwanted[at].ID, next}
			r.Do(after, Result{})
			renewed = append(renewed, r)
			unwanted = slices.Delete(unwanted, at, at+1)
		}
	}
	pair(func(next, last lb.Certificate) bool { return next.Succeeds(last) && last.Succeeds(next) })
	pair(lb.Certificate.Succeeds)
	return after, renewed
}

// certificates brings those that are missing.
func (d *difference) certificates(renewed []ReplaceCertificate) {
	for _, r := range renewed {
		d.imported[r.New.ID] = d.add(r, use{})
	}
	for _, c := range d.want.Certificates {
		if d.seen.Certificate(c.ID) == nil {
			d.imported[c.ID] = d.add(ImportCertificate{c}, use{})
		}
	}
}

// attach adds certificates that a listener lacks besides its default one.
func (d *difference) attach(ch *change, after int) []int {
	var tasks []int
	for _, id := range ch.want.Certificates[len(standard(ch.want.Certificates)):] {
		if after != absent || !slices.Contains(ch.seen.Certificates, id) {
			tasks = append(tasks, d.add(AttachCertificate{ch.port, id}, use{certificates: 1}, append(d.importsOf([]lb.CertificateID{id}), after)...))
		}
	}
	return tasks
}

// detach takes away certificates that are not wanted, after others have been attached. One
// that was the default goes with the step that replaces it.
func (d *difference) detach(ch *change, modify int, attached []int) {
	for i, id := range ch.seen.Certificates {
		switch {
		case slices.Contains(ch.want.Certificates, id):
		case i == 0:
			d.detached[id] = append(d.detached[id], modify)
		default:
			t := d.add(DetachCertificate{ch.port, id}, use{certificates: -1}, d.importsOf([]lb.CertificateID{id})...)
			d.tasks[t].rather = append(slices.Clone(attached), d.importsOf(ch.want.Certificates)...)
			if modify != absent {
				d.tasks[t].rather = append(d.tasks[t].rather, modify)
			}
			d.detached[id] = append(d.detached[id], t)
		}
	}
}

// importsOf are the tasks that bring certificates.
func (d *difference) importsOf(ids []lb.CertificateID) []int {
	var tasks []int
	for _, id := range ids {
		if t, ok := d.imported[id]; ok {
			tasks = append(tasks, t)
		}
	}
	return tasks
}

// standard is the default certificate of a listener's certificates, if there are any.
func standard(ids []lb.CertificateID) []lb.CertificateID { return ids[:min(1, len(ids))] }

// further is the number of a listener's certificates besides its default one.
func further(ids []lb.CertificateID) int { return max(0, len(ids)-1) }
