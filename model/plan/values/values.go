// Package values has the values of the settings of load balancers, for readers of plans. A diff
// compares digests of settings. Secrets are never among the values.
package values

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// Values are settings of one object, by name. A setting that is unset is absent.
type Values map[string]string

// Known has the known settings of a load balancer and its parts.
type Known struct {
	LoadBalancer Values                      `json:"loadBalancer"` // nil if they are not known
	Listeners    map[int32]Values            `json:"listeners,omitempty"`
	TargetGroups map[lb.GroupID]Values       `json:"targetGroups,omitempty"`
	Certificates map[lb.CertificateID]Values `json:"certificates,omitempty"`
}

// KnownOfWanted returns the settings of a wanted load balancer.
func KnownOfWanted(want lb.LoadBalancer) Known {
	k := Known{
		LoadBalancer: nonNil(set(set(OfLoadBalancer(want), WebACL, want.Protection.WebACL),
			Shield, want.Protection.Shield)),
		Listeners:    map[int32]Values{},
		TargetGroups: map[lb.GroupID]Values{},
		Certificates: map[lb.CertificateID]Values{},
	}
	for _, l := range want.Listeners {
		k.Listeners[l.Port] = nonNil(OfListener(l))
	}
	for _, g := range want.TargetGroups {
		k.TargetGroups[g.ID] = nonNil(OfTargetGroup(g))
	}
	for _, c := range want.Certificates {
		k.Certificates[c.ID] = nonNil(OfCertificate(c))
	}
	return k
}

// KnownOfRead returns the settings of a load balancer as a deep observation read them.
func KnownOfRead(o *lb.Observed) Known {
	k := Known{
		Listeners:    map[int32]Values{},
		TargetGroups: map[lb.GroupID]Values{},
		Certificates: map[lb.CertificateID]Values{},
	}
	if o == nil || o.Read == nil {
		return k
	}
	if s := o.Read.LoadBalancer; s != nil && lb.DigestOf(*s) == o.Digest {
		k.LoadBalancer = nonNil(set(set(OfLoadBalancer(lb.LoadBalancer{Settings: *s}),
			WebACL, o.Protection.WebACL), Shield, o.Protection.Shield))
	}
	for _, l := range o.Listeners {
		if s, read := o.Read.Listeners[l.Port]; read && lb.DigestOf(s) == l.Digest {
			k.Listeners[l.Port] = nonNil(OfListener(lb.Listener{Certificates: l.Certificates, Settings: s}))
		}
	}
	for _, g := range o.TargetGroups {
		if s, read := o.Read.TargetGroups[g.ID]; read && lb.DigestOf(s) == g.Digest {
			k.TargetGroups[g.ID] = nonNil(OfTargetGroup(lb.TargetGroup{
				Health: s.HealthCheck, Attributes: s.Attributes, Tags: s.Tags, Provider: g.Provider}))
		}
	}
	for _, c := range o.Certificates {
		if s := o.Read.Certificates[c.ID]; s.Digest() == c.Digest { // one without tags may be absent
			k.Certificates[c.ID] = nonNil(OfCertificate(lb.Certificate{Tags: s.Tags}))
		}
	}
	return k
}

// A SettingChange is the old and the new value of one setting that a step writes; "" is unset.
type SettingChange struct {
	Name string `json:"name"`
	Old  string `json:"old,omitempty"`
	New  string `json:"new,omitempty"`
}

// The kinds are the prefixes of the names of settings that come in groups.
const (
	attributeKind   = "attribute"
	healthCheckKind = "health check"
	tagKind         = "tag"
)

// Kinds has all kinds.
var Kinds = []string{attributeKind, healthCheckKind, tagKind}

// These settings have steps of their own.
const (
	WebACL = "web ACL"
	Shield = "shield"
)

// Changed returns the settings whose values differ.
func Changed(before, after Values) []SettingChange {
	var out []SettingChange
	names := slices.Collect(maps.Keys(after))
	for name := range before {
		if _, there := after[name]; !there {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if before[name] != after[name] {
			out = append(out, SettingChange{name, before[name], after[name]})
		}
	}
	return out
}

// OfLoadBalancer returns the settings of a load balancer. Its scheme is part of its key.
func OfLoadBalancer(want lb.LoadBalancer) Values {
	s := want.Settings
	v := set(nil, "IP family", s.IPFamily)
	v = set(v, "subnets", strings.Join(s.Subnets, ", "))
	v = set(v, "security groups", strings.Join(s.SecurityGroups, ", "))
	v = set(v, "provider", s.Provider)
	return setAll(setAll(v, attributeKind, s.Attributes), tagKind, s.Tags)
}

// OfListener returns the settings of a listener, without the secrets of its rules.
func OfListener(l lb.Listener) Values {
	var certificates []string
	for _, id := range l.Certificates {
		certificates = append(certificates, string(id))
	}
	s := l.Settings
	v := set(nil, "certificates", strings.Join(certificates, ", "))
	v = set(v, "inbound", strings.Join(s.Inbound, ", "))
	v = set(v, "TLS policy", s.TLSPolicy)
	if s.Mutual != nil {
		v = set(v, "client certificates", mutualText(*s.Mutual))
	}
	return setAll(setAll(v, attributeKind, s.Attributes), tagKind, s.Tags)
}

// mutualText describes the verification of client certificates.
func mutualText(m routing.MutualAuthentication) string {
	text := m.Mode
	if m.TrustStore != "" {
		text += ", trust store " + m.TrustStore
	}
	if m.IgnoreExpiry {
		text += ", expired ones too"
	}
	if m.AdvertiseCANames {
		text += ", with the names of CAs"
	}
	return text
}

// OfTargetGroup returns the settings of a target group.
func OfTargetGroup(g lb.TargetGroup) Values {
	v := set(nil, "provider", g.Provider)
	for name, value := range fields(g.Health) {
		v = set(v, healthCheckKind+" "+name, value)
	}
	return setAll(setAll(v, attributeKind, g.Attributes), tagKind, g.Tags)
}

// fields returns the fields of a health check, under the names of annotations.
func fields(h routing.HealthCheck) Values {
	number := func(n int) string {
		if n == 0 {
			return ""
		}
		return strconv.Itoa(n)
	}
	return Values{
		"path": h.Path, "port": h.Port, "protocol": h.Protocol, "success codes": h.SuccessCodes,
		"interval seconds": number(h.IntervalSeconds), "timeout seconds": number(h.TimeoutSeconds),
		"healthy threshold":   number(h.HealthyThreshold),
		"unhealthy threshold": number(h.UnhealthyThreshold),
	}
}

// OfCertificate returns the settings of a certificate. Its key is secret.
func OfCertificate(c lb.Certificate) Values { return setAll(nil, tagKind, c.Tags) }

// nonNil returns an empty map for nil, which would mean that the values are unknown.
func nonNil(v Values) Values {
	if v == nil {
		return Values{}
	}
	return v
}

// set adds a setting unless it is empty.
func set(v Values, name, value string) Values {
	if value == "" {
		return v
	}
	if v == nil {
		v = Values{}
	}
	v[name] = value
	return v
}

// setAll adds settings of a kind.
func setAll(v Values, kind string, all map[string]string) Values {
	for name, value := range all {
		if value == "" {
			value = `""`
		}
		v = set(v, kind+" "+name, value)
	}
	return v
}
