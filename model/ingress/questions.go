package ingress

import (
	"maps"
	"slices"
	"time"

	"fairlead.dev/fairlead/model/record"
	"fairlead.dev/fairlead/model/routing"
)

// This file has the questions about certificates to the cloud, and the answers.

// Certificates has the certificates of the cloud.
type Certificates struct {
	// ByHost has its own certificates, by the hosts of CertificateHosts, the best first.
	ByHost map[string][]routing.CertificateID
	// Names has all names in these, and in those of NamedCertificates that it describes.
	Names map[routing.CertificateID][]string
	// Shown has the certificates on listeners of the load balancer.
	Shown []routing.CertificateID
	// Imported has the certificates that were imported from Secrets, without their keys.
	Imported []routing.Certificate
	// Unread says why some could not be looked up; "" if all were.
	Unread string
	// Now is the time at which a new certificate must not have expired; zero if expiry is not checked.
	Now time.Time
}

// Recall adds earlier choices for hosts whose certificates could not be looked up.
func (c *Certificates) Recall(m record.Record) {
	byHost, names := maps.Clone(c.ByHost), maps.Clone(c.Names)
	if byHost == nil {
		byHost = map[string][]routing.CertificateID{}
	}
	if names == nil {
		names = map[routing.CertificateID][]string{}
	}
	for _, id := range slices.Sorted(maps.Keys(m.CloudCertificates)) {
		hosts := m.CloudCertificates[id]
		for _, host := range hosts {
			if len(c.ByHost[host]) == 0 {
				byHost[host] = append(byHost[host], id)
			}
		}
		if _, known := names[id]; !known {
			names[id] = hosts
		}
	}
	c.ByHost, c.Names = byHost, names
}

// CertificateHosts returns the hosts for which the cloud must be asked for certificates.
func CertificateHosts(s Snapshot) []string {
	if !s.Class.discoversCertificates() {
		return nil
	}
	x := newIndex(Objects{Namespaces: s.Namespaces})
	all := searchesUnanswered(&s.Class)
	var ask []string
	for _, m := range s.Members {
		if len(m.Settings.Certificates) > 0 {
			continue
		}
		permitted, _ := allowanceOf(&s.Class, x.namespaceLabels(m.Namespace)).permitted(m,
			s.Class.HostMissMeaning())
		covers := newCover(hostsOf(s.ownedRules(m, permitted), false))
		for _, t := range m.Spec.TLS {
			if t.SecretName != "" {
				continue
			}
			if all {
				ask = append(ask, covers.unanswered(t.Hosts)...)
			}
			covered := covers.coveredBy(t.Hosts)
			if covers.given += len(covered); covers.given > maxCovered {
				break // this is reported when certificates are chosen
			}
			for _, c := range covered {
				if c.listed != "" && !(all && len(t.Hosts) == 0) {
					ask = append(ask, c.listed)
				}
			}
		}
	}
	slices.Sort(ask)
	return slices.Compact(ask)
}

// NamedCertificates returns the certificates that Ingresses name and whose host names the cloud
// must be asked for.
func NamedCertificates(s Snapshot) []routing.CertificateID {
	if s.Owners == nil && s.Class.AllowedHosts == nil {
		return nil
	}
	var ask []routing.CertificateID
	for m := range s.versions() {
		ask = append(ask, m.Settings.Certificates...)
	}
	slices.Sort(ask)
	return slices.Compact(ask)
}
