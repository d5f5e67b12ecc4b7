package model

import (
	"slices"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file is what there is to remember of certificates and clients: the next compilation needs to
// know which of those that the cloud has a Secret held, or were chosen for a host, once neither the
// Secret nor the cloud says so any more.

// Held are the certificates that the cloud has of Secrets, by the names of these: the one that was
// compiled or, until that is there, the one that was remembered before.
func Held(compiled lb.LoadBalancer, seen *lb.Observed,
	before map[string]lb.CertificateID) map[string]lb.CertificateID {
	held := map[string]lb.CertificateID{}
	for _, c := range compiled.Certificates {
		for _, secret := range c.Secrets {
			for _, id := range []lb.CertificateID{c.ID, before[secret]} {
				if seen.Certificate(id) != nil {
					held[secret] = id
					break
				}
			}
		}
	}
	return held
}

// Clients are those that the cloud has users sign in with, by the Secrets that held them: the one
// that was compiled or, until that is there, the one that was remembered before.
func Clients(compiled lb.LoadBalancer, seen *lb.Observed,
	before map[string]string) map[string]string {
	has := map[string]bool{} // clients
	for i := range seen.Listeners {
		l := seen.Listeners[i].Plain()
		for a := range l.SignIns() {
			has[a.ClientID] = true
		}
	}
	held := map[string]string{}
	const longest = 256 // bytes; what is remembered has to fit into one object
	for i := range compiled.Listeners {
		for a := range compiled.Listeners[i].SignIns() {
			for _, client := range []string{a.ClientID, before[a.Secret]} {
				if a.Secret != "" && has[client] && len(client) <= longest {
					held[a.Secret] = client
					break
				}
			}
		}
	}
	return held
}

// CloudCertificates are those that listeners show and that no Secret holds, with the hosts that
// they were chosen for.
func CloudCertificates(table *precedence.Table, seen *lb.Observed) map[lb.CertificateID][]string {
	out := map[lb.CertificateID][]string{}
	for _, c := range table.Certificates {
		shown := slices.ContainsFunc(seen.Listeners, func(l lb.ObservedListener) bool {
			return slices.Contains(l.Certificates, c.ID)
		})
		if len(c.Secrets) == 0 && shown {
			out[c.ID] = c.Hosts
		}
	}
	return out
}
