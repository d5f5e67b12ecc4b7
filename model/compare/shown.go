package compare

import (
	"strings"

	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file finds the certificates that clients get.

// A certificate is the certificate that a client gets for a host.
type certificate struct {
	id    routing.CertificateID
	hosts []string
	valid bool // it is for the host
}

func (c certificate) String() string {
	if c.id == "" {
		return "none"
	}
	out := string(c.id)
	if len(c.hosts) > 0 {
		out += " for " + strings.Join(c.hosts, ", ")
	}
	if c.nameless() {
		out += " (its names are not known)"
	} else if !c.valid {
		out += " (not for this host)"
	}
	return out
}

// nameless reports whether the names of a certificate are not known: those of an ARN, in files.
func (c certificate) nameless() bool { return c.id != "" && len(c.hosts) == 0 }

// Certified reports whether clients get a certificate for a host.
func Certified(t *precedence.Table, l *routing.Listener, host string) bool {
	return shownCertificate(t, l, host).valid
}

// shownCertificate returns the certificate for a host: one that names it, else one with a wildcard
// for it, else the default (Elastic Load Balancing, "SSL certificates for your Application Load
// Balancer"). Of several, the first counts.
func shownCertificate(t *precedence.Table, l *routing.Listener, host string) certificate {
	best, rank := certificate{}, 0
	for i, id := range l.Certificates {
		names := namesIn(t, id)
		r := 0
		for _, name := range names {
			switch h := routing.Host(name); {
			case h == routing.Host(host):
				r = max(r, 3)
			case h.Covers(routing.Host(host)):
				r = max(r, 2)
			}
		}
		if i == 0 {
			best = certificate{id, names, r > 0}
			rank = max(r, 1)
		} else if r > rank {
			best, rank = certificate{id, names, true}, r
		}
	}
	return best
}

// namesIn returns the known host names of a certificate.
func namesIn(t *precedence.Table, id routing.CertificateID) []string {
	for _, c := range t.Certificates {
		if c.ID == id {
			return c.Hosts
		}
	}
	return nil
}
