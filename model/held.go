package model

import "fairlead.dev/fairlead/model/lb"

// This file is what there is to remember of Secrets: the next compilation needs to know which of the certificates and
// clients that the cloud has a Secret held, once the Secret itself does not say any more.

// Held are the certificates that the cloud has of Secrets, by the names of these: the one that was compiled
// or, until that is there, the one that was remembered before.
func Held(compiled lb.LoadBalancer, seen *lb.Observed, before map[string]lb.CertificateID) map[string]lb.CertificateID {
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

// Clients are those that the cloud has users sign in with, by the Secrets that held them: the one that was compiled or,
// until that is there, the one that was remembered before.
func Clients(compiled lb.LoadBalancer, seen *lb.Observed, before map[string]string) map[string]string {
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
