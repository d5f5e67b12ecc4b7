package ingress

import (
	"strings"

	"fairlead.dev/fairlead/model/routing"
)

// This file counts the certificates of a namespace on all load balancers, which the class bounds.

// countCertificates records how many certificates the namespaces of the members have on other load
// balancers.
func (s *placement) countCertificates(snapshot *Snapshot) {
	snapshot.CertificatesBeside = map[string]int{}
	counted := map[string]bool{}
	for m := range snapshot.versions() {
		if counted[m.Namespace] || len(m.Spec.TLS) == 0 {
			continue
		}
		counted[m.Namespace] = true
		for key, n := range s.certificates(m.Namespace) {
			if key != snapshot.Key {
				snapshot.CertificatesBeside[m.Namespace] += n
			}
		}
	}
}

// certificates counts the certificates of Secrets of a namespace, by load balancer.
func (s *placement) certificates(namespace string) map[routing.Key]int {
	if s.certificatesOf != nil {
		return s.certificatesOf(namespace)
	}
	out := map[routing.Key]int{}
	for key, known := range s.records {
		for secret := range known.Certificates {
			if strings.HasPrefix(secret, namespace+"/") {
				out[key]++
			}
		}
	}
	return out
}
