package model

import (
	"slices"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file has the records about certificates and clients: the next compile needs the last
// certificate or client of each Secret, and the choices for hosts, if the Secret or the cloud can
// no longer be read.

// CertificatesOfSecrets returns the certificate of each Secret, by the name of the Secret: the
// compiled one or, until it is in the cloud, the recorded one.
func CertificatesOfSecrets(compiled lb.LoadBalancer, seen *lb.Observed,
	before map[string]lb.CertificateID) map[string]lb.CertificateID {
	has := map[string]lb.CertificateID{}
	for _, c := range compiled.Certificates {
		for _, secret := range c.Secrets {
			for _, id := range []lb.CertificateID{c.ID, before[secret]} {
				if seen.Certificate(id) != nil {
					has[secret] = id
					break
				}
			}
		}
	}
	return has
}

// Clients returns the sign-in client of each Secret, by the name of the Secret: the compiled one
// or, until it is in the cloud, the recorded one.
func Clients(compiled lb.LoadBalancer, seen *lb.Observed,
	before map[string]string) map[string]string {
	inUse := map[string]bool{} // clients
	for i := range seen.Listeners {
		l := seen.Listeners[i].Plain()
		for a := range l.SignIns() {
			inUse[a.ClientID] = true
		}
	}
	has := map[string]string{}
	const longest = 256 // bytes; the records have to fit into one object
	for i := range compiled.Listeners {
		for a := range compiled.Listeners[i].SignIns() {
			for _, client := range []string{a.ClientID, before[a.Secret]} {
				if a.Secret != "" && inUse[client] && len(client) <= longest {
					has[a.Secret] = client
					break
				}
			}
		}
	}
	return has
}

// CloudCertificates returns the certificates on listeners that are not from Secrets, with the hosts
// that they were chosen for.
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
