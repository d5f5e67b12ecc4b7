package listeners

import (
	"maps"
	"slices"
	"time"

	"fairlead.dev/fairlead/model/ingress/hostrules"
	"fairlead.dev/fairlead/model/ingress/objects"
	"fairlead.dev/fairlead/model/ingress/snapshots"
	"fairlead.dev/fairlead/model/memory"
	"fairlead.dev/fairlead/model/routing"
)

// This file lists the certificates that the cloud is asked for, and holds its answers.

// Certificates are those that the cloud has.
type Certificates struct {
	// ByHost are those that it has of itself, by the hosts that CertificateHosts asks for, the best
	// first.
	ByHost map[string][]routing.CertificateID
	// Names are all names in these, and in those that NamedCertificates asks for and that it tells
	// about.
	Names map[routing.CertificateID][]string
	// Shown are those that listeners of the load balancer have.
	Shown []routing.CertificateID
	// Held are those that Secrets have brought to the load balancer, without their keys.
	Held []routing.Certificate
	// Unread is why some could not be looked up, in words; "" if all were.
	Unread string
	// Now is when a certificate must not have expired to be taken; zero where one may.
	Now time.Time
}

// Recall adds what is not known of certificates and was chosen for hosts before.
func (c *Certificates) Recall(m memory.LoadBalancer) {
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

// CertificateHosts are the hosts for which the cloud has to be asked for certificates.
func CertificateHosts(s snapshots.Snapshot) []string {
	if !s.Class.DiscoversCertificates() {
		return nil
	}
	x := objects.NewIndex(objects.Objects{Namespaces: s.Namespaces})
	var ask []string
	for _, m := range s.Members {
		if len(m.Settings.Certificates) > 0 {
			continue
		}
		permitted, _ := hostrules.AllowanceOf(&s.Class, x.NamespaceLabels(m.Namespace)).Permitted(m,
			s.Class.HostMissMeaning())
		covers := newCover(hostrules.HostsOf(s.OwnedRules(m, permitted), false))
		for _, t := range m.Spec.TLS {
			if t.SecretName != "" {
				continue
			}
			covered := covers.by(t.Hosts)
			if covers.given += len(covered); covers.given > maxCovered {
				break // which is told where certificates are chosen
			}
			for _, c := range covered {
				if c.listed != "" {
					ask = append(ask, c.listed)
				}
			}
		}
	}
	slices.Sort(ask)
	return slices.Compact(ask)
}

// NamedCertificates are those that Ingresses name and whose names the cloud has to be asked for.
func NamedCertificates(s snapshots.Snapshot) []routing.CertificateID {
	if s.Owners == nil && s.Class.AllowedHosts == nil {
		return nil
	}
	var ask []routing.CertificateID
	for m := range s.Versions() {
		ask = append(ask, m.Settings.Certificates...)
	}
	slices.Sort(ask)
	return slices.Compact(ask)
}
