package course

import (
	"fmt"
	"maps"
	"slices"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// This file has the certificates of a listener, and from which step to which each is served.

// A Shown is a certificate of a listener, with the hosts that it is for, if they are known.
type Shown struct {
	ID    lb.CertificateID
	Hosts []string
	*Span
}

// show has a step make a listener serve a certificate.
func (c *Course) show(step int, number int32, id lb.CertificateID) {
	p := c.port(number)
	if step == Never {
		c.fact(served(number, id)).there = true
	} else {
		c.need(step, c.imported(id)...)
		c.turn(step, true, served(number, id))
	}
	p.serves[id] = &Span{Since: step, Until: Never}
	p.Certificates = append(p.Certificates, Shown{id, c.hostsOf(id), p.serves[id]})
}

// hide has a step make a listener serve a certificate no more.
func (c *Course) hide(step int, number int32, id lb.CertificateID) {
	p := c.port(number)
	c.need(step, c.imported(id)...)
	c.turn(step, false, served(number, id))
	if p.serves[id] != nil {
		p.serves[id].Until = step
	}
	delete(p.serves, id)
}

// unserved refutes plans in which a step deletes a certificate that a listener serves.
func (c *Course) unserved(step int, id lb.CertificateID) {
	for _, number := range slices.Sorted(maps.Keys(c.Ports)) {
		if c.Ports[number].serves[id] != nil {
			c.fail(c.Until(step), "%s deletes %s, which port %d serves", c.Name(step),
				certificate(id), number)
		}
	}
}

// lead has a step make a certificate the default one. The last one stays if it is listed.
func (c *Course) lead(step int, l lb.Listener) {
	p := c.port(l.Port)
	if l.Protocol != routing.HTTPS || len(l.Certificates) == 0 {
		for _, id := range slices.Sorted(maps.Keys(p.serves)) {
			c.hide(step, l.Port, id)
		}
		p.standard = ""
		return
	}
	next, last := l.Certificates[0], p.standard
	if p.serves[next] == nil {
		c.show(step, l.Port, next)
	} else {
		c.need(step, served(l.Port, next))
	}
	if p.standard = next; p.serves[last] == nil {
		return
	}
	if c.need(step, served(l.Port, last)); !slices.Contains(l.Certificates, last) {
		c.hide(step, l.Port, last)
	}
}

// succeed has a step put a certificate in the place of another one on all listeners.
func (c *Course) succeed(step int, last, next lb.CertificateID) {
	var serving []int32
	for _, number := range slices.Sorted(maps.Keys(c.Ports)) {
		if c.Ports[number].serves[last] != nil {
			serving = append(serving, number)
			c.hide(step, number, last)
		}
	}
	c.turn(step, false, certificate(last))
	c.turn(step, true, certificate(next))
	for _, number := range serving {
		p := c.Ports[number]
		if c.show(step, number, next); p.standard == last {
			p.standard = next
		}
	}
}

// arrived refutes plans after which a listener has another protocol, serves other certificates than
// are wanted, or does not verify clients as is wanted.
func (c *Course) arrived(l lb.Listener) {
	p, wanted := c.port(l.Port), map[lb.CertificateID]bool{}
	if p.Protocol != l.Protocol {
		c.fail(c.Whole(), "after the plan, port %d speaks %s", l.Port, p.Protocol)
	}
	if l.Protocol == routing.HTTPS && p.verifies != l.Verifies {
		c.fail(c.Whole(), "after the plan, port %d verifies clients: %t", l.Port, p.verifies)
	}
	if l.Protocol == routing.HTTPS {
		for _, id := range l.Certificates {
			wanted[id] = true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(p.serves)) {
		if !wanted[id] {
			c.fail(c.Whole(), "after the plan, port %d serves %s", l.Port, certificate(id))
		}
		if f := c.facts[certificate(id)]; f != nil && !f.there {
			c.fail(c.Whole(), "after the plan, port %d serves %s, which is not there",
				l.Port, certificate(id))
		}
		delete(wanted, id)
	}
	if len(wanted) > 0 {
		c.fail(c.Whole(), "after the plan, port %d does not serve all certificates that are wanted",
			l.Port)
	}
	if l.Protocol == routing.HTTPS && len(l.Certificates) > 0 && p.standard != l.Certificates[0] {
		c.fail(c.Whole(), "after the plan, port %d has another default certificate", l.Port)
	}
}

// served is the name of the fact that a listener serves a certificate.
func served(port int32, id lb.CertificateID) string {
	return fmt.Sprintf("certificate %s of port %d", id, port)
}

// imported is the fact that a certificate is there, if plans import and delete it.
func (c *Course) imported(id lb.CertificateID) []string {
	if c.facts[certificate(id)] == nil {
		return nil
	}
	return []string{certificate(id)}
}

// hostsOf are the hosts that a certificate is for; nil if that is not known.
func (c *Course) hostsOf(id lb.CertificateID) []string {
	if one := c.seen.Certificate(id); one != nil {
		return one.Hosts
	}
	at := slices.IndexFunc(c.want.Certificates, func(o lb.Certificate) bool { return o.ID == id })
	if at < 0 {
		return nil
	}
	return c.want.Certificates[at].Hosts
}
