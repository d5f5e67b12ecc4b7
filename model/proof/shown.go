package proof

import (
	"fmt"
	"maps"
	"slices"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// This file has the certificates of a listener, and the steps between which each is served.

// A shown is a certificate of a listener with its hosts, if they are known.
type shown struct {
	ID    lb.CertificateID
	Hosts []string
	*span
}

// startServing records that a step adds a certificate to a listener.
func (c *Course) startServing(step int, number int32, id lb.CertificateID) {
	p := c.port(number)
	if step == never {
		c.fact(servedFact(number, id)).there = true
	} else {
		c.need(step, c.importedFact(id)...)
		c.setFacts(step, true, servedFact(number, id))
	}
	p.serves[id] = &span{Since: step, Until: never}
	p.Certificates = append(p.Certificates, shown{id, c.hostsOfCertificate(id), p.serves[id]})
}

// stopServing records that a step removes a certificate from a listener.
func (c *Course) stopServing(step int, number int32, id lb.CertificateID) {
	p := c.port(number)
	c.need(step, c.importedFact(id)...)
	c.setFacts(step, false, servedFact(number, id))
	if p.serves[id] != nil {
		p.serves[id].Until = step
	}
	delete(p.serves, id)
}

// checkUnserved refutes plans in which a step deletes a certificate that a listener serves.
func (c *Course) checkUnserved(step int, id lb.CertificateID) {
	for _, number := range slices.Sorted(maps.Keys(c.Ports)) {
		if c.Ports[number].serves[id] != nil {
			c.fail(c.WithPredecessors(step), "%s deletes %s, which port %d serves", c.Name(step),
				certificate(id), number)
		}
	}
}

// setDefault records that a step sets the default certificate. The previous one stays if it is
// listed.
func (c *Course) setDefault(step int, l lb.Listener) {
	p := c.port(l.Port)
	if l.Protocol != routing.HTTPS || len(l.Certificates) == 0 {
		for _, id := range slices.Sorted(maps.Keys(p.serves)) {
			c.stopServing(step, l.Port, id)
		}
		p.standard = ""
		return
	}
	next, last := l.Certificates[0], p.standard
	if p.serves[next] == nil {
		c.startServing(step, l.Port, next)
	} else {
		c.need(step, servedFact(l.Port, next))
	}
	if p.standard = next; p.serves[last] == nil {
		return
	}
	if c.need(step, servedFact(l.Port, last)); !slices.Contains(l.Certificates, last) {
		c.stopServing(step, l.Port, last)
	}
}

// replaceCertificate records that a step replaces a certificate on all listeners.
func (c *Course) replaceCertificate(step int, last, next lb.CertificateID) {
	var serving []int32
	for _, number := range slices.Sorted(maps.Keys(c.Ports)) {
		if c.Ports[number].serves[last] != nil {
			serving = append(serving, number)
			c.stopServing(step, number, last)
		}
	}
	c.setFacts(step, false, certificate(last))
	c.setFacts(step, true, certificate(next))
	for _, number := range serving {
		p := c.Ports[number]
		if c.startServing(step, number, next); p.standard == last {
			p.standard = next
		}
	}
}

// checkListener refutes plans after which the protocol, the certificates or the verification of
// clients of a listener differ from those wanted.
func (c *Course) checkListener(l lb.Listener) {
	p, wanted := c.port(l.Port), map[lb.CertificateID]bool{}
	if p.Protocol != l.Protocol {
		c.fail(c.AllSteps(), "after the plan, port %d speaks %s", l.Port, p.Protocol)
	}
	if l.Protocol == routing.HTTPS && p.verifies != l.Verifies {
		c.fail(c.AllSteps(), "after the plan, port %d verifies clients: %t", l.Port, p.verifies)
	}
	if l.Protocol == routing.HTTPS {
		for _, id := range l.Certificates {
			wanted[id] = true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(p.serves)) {
		if !wanted[id] {
			c.fail(c.AllSteps(), "after the plan, port %d serves %s", l.Port, certificate(id))
		}
		if f := c.facts[certificate(id)]; f != nil && !f.there {
			c.fail(c.AllSteps(), "after the plan, port %d serves %s, which is not there",
				l.Port, certificate(id))
		}
		delete(wanted, id)
	}
	if len(wanted) > 0 {
		c.fail(c.AllSteps(), "after the plan, port %d does not serve all certificates that are wanted",
			l.Port)
	}
	if l.Protocol == routing.HTTPS && len(l.Certificates) > 0 && p.standard != l.Certificates[0] {
		c.fail(c.AllSteps(), "after the plan, port %d has another default certificate", l.Port)
	}
}

// servedFact returns the name of the fact that a listener serves a certificate.
func servedFact(port int32, id lb.CertificateID) string {
	return fmt.Sprintf("certificate %s of port %d", id, port)
}

// importedFact returns the fact that a certificate exists, if plans import and delete it.
func (c *Course) importedFact(id lb.CertificateID) []string {
	if c.facts[certificate(id)] == nil {
		return nil
	}
	return []string{certificate(id)}
}

// hostsOfCertificate returns the hosts of a certificate; nil if they are not known.
func (c *Course) hostsOfCertificate(id lb.CertificateID) []string {
	if one := c.seen.Certificate(id); one != nil {
		return one.Hosts
	}
	at := slices.IndexFunc(c.want.Certificates, func(o lb.Certificate) bool { return o.ID == id })
	if at < 0 {
		return nil
	}
	return c.want.Certificates[at].Hosts
}
