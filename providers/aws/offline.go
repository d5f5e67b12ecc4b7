// Package aws is the AWS Application Load Balancer.
package aws

import (
	"context"
	"time"

	"fairlead.dev/fairlead/model/lb"
)

// Offline answers the compiler's questions without calls of AWS, to compile a plan without
// credentials.
type Offline struct{}

// Capabilities returns the limits that AWS publishes, lowered by the class.
func (Offline) Capabilities(class lb.Class) lb.Capabilities { return lb.ALB().Restrict(class) }

// noSettings is the reason why spec.provider is refused.
const noSettings = "AWS has no settings of its own: attributes, tags and the like have fields " +
	"and annotations"

// Lookup returns assumptions: each host has a certificate, with a placeholder ID for one that is
// still to be discovered; named certificates have no names; and the named subnets and web ACLs
// exist.
func (Offline) Lookup(_ context.Context, q lb.Questions) (lb.Facts, error) {
	facts := lb.Facts{
		Certificates: make(map[string][]lb.CertificateID, len(q.CertificateHosts)),
		Names:        map[lb.CertificateID][]string{}, Subnets: q.Network.Subnets,
		SecurityGroups: q.Network.SecurityGroups, Now: time.Now(),
		SettingsRefused: q.RefuseSettings(noSettings),
	}
	for _, host := range q.CertificateHosts {
		id := lb.CertificateID("acm:discovered:" + host)
		facts.Certificates[host], facts.Names[id] = []lb.CertificateID{id}, []string{host}
	}
	for _, id := range q.NamedCertificates {
		facts.Names[id] = nil
	}
	facts.WebACLs = make(map[string]string, len(q.WebACLs))
	for _, asked := range q.WebACLs {
		facts.WebACLs[asked] = asked
	}
	return facts, nil
}
