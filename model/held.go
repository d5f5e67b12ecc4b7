package model

import "fairlead.dev/fairlead/model/lb"

// This file is what there is to remember of certificates: the next compilation needs to know which of
// those that the cloud has a Secret held, once the Secret itself does not say any more.

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
