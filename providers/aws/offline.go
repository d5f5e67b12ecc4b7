// Package aws is the AWS Application Load Balancer.
package aws

import (
	"context"
	"time"

	"fairlead.dev/fairlead/model/lb"
)

// Offline is what can be said about an Application Load Balancer without asking AWS: enough to
// compile a plan without credentials.
type Offline struct{}

// Capabilities are the limits that AWS publishes, as far as the class leaves them.
func (Offline) Capabilities(class lb.Class) lb.Capabilities { return lb.ALB().Restrict(class) }

// noSettings is why spec.provider is refused.
const noSettings = "AWS has no settings of its own: attributes, tags and the like have fields " +
	"and annotations"

// Lookup takes for granted what AWS would be asked for: a certificate for every host, under a
// placeholder ID that says that it is still to be discovered, that certificates which
// are named have no names that could be refused, the subnets as they are named, and each web ACL.
func (Offline) Lookup(_ context.Context, q lb.Questions) (lb.Facts, error) {
	facts := lb.Facts{
		Certificates: make(map[string][]lb.CertificateID, len(q.CertificateHosts)),
		Names:        map[lb.CertificateID][]string{}, Subnets: q.Network.Subnets, Now: time.Now(),
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
