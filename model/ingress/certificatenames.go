package ingress

import "fairlead.dev/fairlead/model/routing"

// This file finds the names in certificates. A certificate may have thousands, and many Ingresses
// may use it, so its names are sorted once.

// namesOf returns all names of a certificate that clients may see. Callers must not change them.
func (d *listenerBuilder) namesOf(id routing.CertificateID) []routing.Host {
	shown, known := d.names.shown[id]
	if !known {
		shown = d.findNames(id)
		d.names.shown[id] = shown
	}
	return shown
}

func (d *listenerBuilder) findNames(id routing.CertificateID) []routing.Host {
	if reported := d.reported[id]; reported != nil {
		return routing.DistinctHosts(reported)
	}
	if judged, ok := d.namesIn[id]; ok {
		return judged
	}
	if c := d.known[id]; c != nil {
		return routing.DistinctHosts(c.Hosts)
	}
	return nil
}

// certifies reports whether clients trust a certificate for a host; false for routing.Any.
func (d *listenerBuilder) certifies(id routing.CertificateID, host routing.Host) bool {
	names, known := d.names.certified[id]
	if !known {
		names = map[routing.Host]bool{}
		for _, n := range d.known[id].Hosts {
			names[routing.Host(n)] = true
		}
		d.names.certified[id] = names
	}
	if names[host] || host.Wildcard() {
		return names[host]
	}
	parent, ok := host.Parent()
	return ok && names[parent]
}
