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
func (Offline) Capabilities(class lb.Class) lb.Capabilities { return lb.ALB().For(class) }

// Lookup takes for granted what AWS would be asked for: a certificate for every host, under a
// placeholder ID that says that it is still to be discovered, the subnets as they are named, and each web ACL.
func (Offline) Lookup(_ context.Context, q lb.Questions) (lb.Facts, error) {
	facts := lb.Facts{Certificates: make(map[string][]lb.CertificateID, len(q.CertificateHosts)), Subnets: q.Network.Subnets, Now: time.Now()}
	for _, host := range q.CertificateHosts {
		facts.Certificates[host] = []lb.CertificateID{lb.CertificateID("acm:discovered:" + host)}
	}
	facts.WebACLs = make(map[string]string, len(q.WebACLs))
	for _, asked := range q.WebACLs {
		facts.WebACLs[asked] = asked
	}
	return facts, nil
}
