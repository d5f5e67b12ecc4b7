package ingress

import (
	"fmt"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
)

// This file bounds the certificates of a namespace. Imported certificates are a quota of the
// account, so one namespace could leave no room for the others. A Secret whose certificate is in
// the cloud keeps its place, whatever it holds next; a new one needs room.

// A certificateRoom has the Secrets with a place, by namespace.
type certificateRoom struct {
	class  string
	most   int
	held   map[routing.CertificateID]bool // certificates that the load balancer has
	beside map[string]int                 // places on other load balancers
	placed map[string]map[Name]bool
}

// newCertificateRoom returns the room with the places of Secrets that members ask for and whose
// certificates the load balancer has.
func newCertificateRoom(d *listenerBuilder, s *Snapshot) certificateRoom {
	r := certificateRoom{class: s.Class.Name, most: s.Class.MostCertificates(),
		held: map[routing.CertificateID]bool{}, beside: s.CertificatesBeside,
		placed: map[string]map[Name]bool{}}
	for _, c := range d.held {
		r.held[c.ID] = true
	}
	for _, m := range s.Members {
		for _, t := range m.Spec.TLS {
			n := Name{Namespace: m.Namespace, Name: t.SecretName}
			if r.held[s.Recorded.Certificates[n.String()]] {
				r.place(n)
			}
		}
	}
	return r
}

func (r *certificateRoom) place(n Name) {
	if r.placed[n.Namespace] == nil {
		r.placed[n.Namespace] = map[Name]bool{}
	}
	r.placed[n.Namespace][n] = true
}

// take gives a Secret a place for its certificate, or refuses it.
func (r *certificateRoom) take(s secret, n Name) secret {
	have := len(r.placed[n.Namespace]) + r.beside[n.Namespace]
	if s.id == "" || r.placed[n.Namespace][n] {
		return s
	}
	if r.held[s.id] || have < r.most {
		r.place(n)
		return s
	}
	err := fmt.Errorf("namespace %s has %d certificates of Secrets on its load balancers, and class "+
		"%s lets it have %d, so the one of Secret %s is not imported until one of them is not needed "+
		"any more, or the owner of the class raises loadBalancers.certificatesPerNamespace",
		n.Namespace, have, r.class, r.most, n)
	return secret{reason: diag.CertificateQuota, err: err}
}
