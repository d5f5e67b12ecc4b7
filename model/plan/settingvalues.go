package plan

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// This file has the values of the settings of load balancers, for readers of plans. A diff compares
// digests of settings. Secrets are never among the values.

// settingValues are settings of one object, by name. A setting that is unset is absent.
type settingValues map[string]string

// KnownSettings has the known settings of a load balancer and its parts.
type KnownSettings struct {
	LoadBalancer settingValues                      `json:"loadBalancer"` // nil if they are not known
	Listeners    map[int32]settingValues            `json:"listeners,omitempty"`
	TargetGroups map[lb.GroupID]settingValues       `json:"targetGroups,omitempty"`
	Certificates map[lb.CertificateID]settingValues `json:"certificates,omitempty"`
}

// SettingsOfWanted returns the settings of a wanted load balancer.
func SettingsOfWanted(want lb.LoadBalancer) KnownSettings {
	k := KnownSettings{
		LoadBalancer: nonNil(set(set(ofLoadBalancer(want), webACL, want.Protection.WebACL),
			shield, want.Protection.Shield)),
		Listeners:    map[int32]settingValues{},
		TargetGroups: map[lb.GroupID]settingValues{},
		Certificates: map[lb.CertificateID]settingValues{},
	}
	for _, l := range want.Listeners {
		k.Listeners[l.Port] = nonNil(ofListener(l))
	}
	for _, g := range want.TargetGroups {
		k.TargetGroups[g.ID] = nonNil(ofTargetGroup(g))
	}
	for _, c := range want.Certificates {
		k.Certificates[c.ID] = nonNil(ofCertificate(c))
	}
	return k
}

// SettingsOfRead returns the settings of a load balancer as a deep observation read them.
func SettingsOfRead(o *lb.Observed) KnownSettings {
	k := KnownSettings{
		Listeners:    map[int32]settingValues{},
		TargetGroups: map[lb.GroupID]settingValues{},
		Certificates: map[lb.CertificateID]settingValues{},
	}
	if o == nil || o.Read == nil {
		return k
	}
	if s := o.Read.LoadBalancer; s != nil && lb.DigestOf(*s) == o.Digest {
		k.LoadBalancer = nonNil(set(set(ofLoadBalancer(lb.LoadBalancer{Settings: *s}),
			webACL, o.Protection.WebACL), shield, o.Protection.Shield))
	}
	for _, l := range o.Listeners {
		if s, read := o.Read.Listeners[l.Port]; read && lb.DigestOf(s) == l.Digest {
			k.Listeners[l.Port] = nonNil(ofListener(lb.Listener{Certificates: l.Certificates, Settings: s}))
		}
	}
	for _, g := range o.TargetGroups {
		if s, read := o.Read.TargetGroups[g.ID]; read && lb.DigestOf(s) == g.Digest {
			k.TargetGroups[g.ID] = nonNil(ofTargetGroup(lb.TargetGroup{
				Health: s.HealthCheck, Attributes: s.Attributes, Tags: s.Tags, Provider: g.Provider}))
		}
	}
	for _, c := range o.Certificates {
		if s := o.Read.Certificates[c.ID]; s.Digest() == c.Digest { // one without tags may be absent
			k.Certificates[c.ID] = nonNil(ofCertificate(lb.Certificate{Tags: s.Tags}))
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

// settingKinds has all kinds.
var settingKinds = []string{attributeKind, healthCheckKind, tagKind}

// These settings have steps of their own.
const (
	webACL = "web ACL"
	shield = "shield"
)

// changedSettings returns the settings whose values differ.
func changedSettings(before, after settingValues) []SettingChange {
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

// ofLoadBalancer returns the settings of a load balancer. Its scheme is part of its key.
func ofLoadBalancer(want lb.LoadBalancer) settingValues {
	s := want.Settings
	v := set(nil, "IP family", s.IPFamily)
	v = set(v, "subnets", strings.Join(s.Subnets, ", "))
	v = set(v, "security groups", strings.Join(s.SecurityGroups, ", "))
	v = set(v, "provider", s.Provider)
	return setAll(setAll(v, attributeKind, s.Attributes), tagKind, s.Tags)
}

// ofListener returns the settings of a listener, without the secrets of its rules.
func ofListener(l lb.Listener) settingValues {
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

// ofTargetGroup returns the settings of a target group.
func ofTargetGroup(g lb.TargetGroup) settingValues {
	v := set(nil, "provider", g.Provider)
	for name, value := range fields(g.Health) {
		v = set(v, healthCheckKind+" "+name, value)
	}
	return setAll(setAll(v, attributeKind, g.Attributes), tagKind, g.Tags)
}

// fields returns the fields of a health check, under the names of annotations.
func fields(h routing.HealthCheck) settingValues {
	number := func(n int) string {
		if n == 0 {
			return ""
		}
		return strconv.Itoa(n)
	}
	return settingValues{
		"path": h.Path, "port": h.Port, "protocol": h.Protocol, "success codes": h.SuccessCodes,
		"interval seconds": number(h.IntervalSeconds), "timeout seconds": number(h.TimeoutSeconds),
		"healthy threshold":   number(h.HealthyThreshold),
		"unhealthy threshold": number(h.UnhealthyThreshold),
	}
}

// ofCertificate returns the settings of a certificate. Its key is secret.
func ofCertificate(c lb.Certificate) settingValues { return setAll(nil, tagKind, c.Tags) }

// nonNil returns an empty map for nil, which would mean that the values are unknown.
func nonNil(v settingValues) settingValues {
	if v == nil {
		return settingValues{}
	}
	return v
}

// set adds a setting unless it is empty.
func set(v settingValues, name, value string) settingValues {
	if value == "" {
		return v
	}
	if v == nil {
		v = settingValues{}
	}
	v[name] = value
	return v
}

// setAll adds settings of a kind.
func setAll(v settingValues, kind string, all map[string]string) settingValues {
	for name, value := range all {
		if value == "" {
			value = `""`
		}
		v = set(v, kind+" "+name, value)
	}
	return v
}
