package wire

import (
	"time"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/model/lb"
)

// This file translates questions and facts.

// EncodeQuestions converts questions to their message.
func EncodeQuestions(q lb.Questions) v1.Questions {
	out := v1.Questions{
		CertificateHosts: q.CertificateHosts, NamedCertificates: toTexts(q.NamedCertificates),
		WebACLs: q.WebACLs, Shield: q.Shield, Limits: q.Limits,
	}
	if n := q.Network; n.Key != "" {
		out.Network = &v1.Network{
			Key: string(n.Key), Scheme: n.Scheme, IPFamily: n.IPFamily, Subnets: n.Subnets,
			SubnetTags: n.SubnetTags, SecurityGroups: n.SecurityGroups,
		}
	}
	return out
}

// DecodeQuestions converts the message to questions.
func DecodeQuestions(q v1.Questions) lb.Questions {
	out := lb.Questions{
		CertificateHosts:  q.CertificateHosts,
		NamedCertificates: toIDs[lb.CertificateID](q.NamedCertificates), WebACLs: q.WebACLs,
		Shield: q.Shield, Limits: q.Limits,
	}
	if n := q.Network; n != nil {
		out.Network = lb.Network{
			Key: lb.Key(n.Key), Scheme: n.Scheme, IPFamily: n.IPFamily, Subnets: n.Subnets,
			SubnetTags: n.SubnetTags, SecurityGroups: n.SecurityGroups,
		}
	}
	return out
}

// EncodeFacts converts facts to their message.
func EncodeFacts(f lb.Facts) v1.Facts {
	out := v1.Facts{
		Subnets: f.Subnets, SecurityGroups: f.SecurityGroups, NameTaken: f.NameTaken, WebACLs: f.WebACLs,
		Unguarded: f.Unguarded, Unshielded: f.Unshielded, Unmet: f.Unmet,
		CertificatesUnread: f.CertificatesUnread, LimitsUnread: f.LimitsUnread, Stale: f.Stale,
		ExpiredRefused: !f.Now.IsZero(),
	}
	for host, certificates := range f.Certificates {
		put(&out.Certificates, host, nonNil(toTexts(certificates)))
	}
	for certificate, names := range f.Names {
		put(&out.Names, string(certificate), nonNil(names))
	}
	return out
}

// DecodeFacts converts the message to facts. The state of the load balancer is not a part of them:
// the operator knows it.
func DecodeFacts(f v1.Facts) lb.Facts {
	out := lb.Facts{
		Subnets: f.Subnets, SecurityGroups: f.SecurityGroups, NameTaken: f.NameTaken, WebACLs: f.WebACLs,
		Unguarded: f.Unguarded, Unshielded: f.Unshielded, Unmet: f.Unmet,
		CertificatesUnread: f.CertificatesUnread, LimitsUnread: f.LimitsUnread, Stale: f.Stale,
	}
	if f.ExpiredRefused {
		out.Now = time.Now()
	}
	for host, certificates := range f.Certificates {
		put(&out.Certificates, host, toIDs[lb.CertificateID](certificates))
	}
	for certificate, names := range f.Names {
		put(&out.Names, lb.CertificateID(certificate), names)
	}
	return out
}

// put adds an entry to a map. It makes the map for the first entry.
func put[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = value
}
