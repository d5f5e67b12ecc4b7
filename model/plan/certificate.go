package plan

import (
	"slices"

	"fairlead.dev/fairlead/model/lb"
)

// This file brings certificates to listeners and takes them away, so that a host that keeps
// being served never lacks one.

// certificates imports those that are missing.
func (d *difference) certificates() {
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
			t := d.add(DetachCertificate{ch.port, id}, use{certificates: -1})
			d.tasks[t].rather = slices.Clone(attached)
			if modify != absent {
				d.tasks[t].rather = append(d.tasks[t].rather, modify)
			}
			d.detached[id] = append(d.detached[id], t)
		}
	}
}

// importsOf are the tasks that import certificates.
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
