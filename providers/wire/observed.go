package wire

import (
	"cmp"
	"fmt"
	"slices"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// This file translates observations.

// EncodeObserved converts an observation to its message. It has the digests of settings, and the
// settings themselves if they were read.
func EncodeObserved(o *lb.Observed) v1.Observed {
	out := v1.Observed{
		Key: string(o.Key), Exists: o.Exists, Active: o.Active, Address: encodeAddress(o.Address),
		Handle: o.Handle, Digest: string(o.Digest),
		WebACL: o.Protection.WebACL, Shield: o.Protection.Shield, Protected: o.Protected,
		Firewall: o.Firewall, Unread: o.Unread, Impaired: o.Impaired,
	}
	for _, l := range o.Listeners {
		listener := v1.ObservedListener{
			Port: l.Port, Protocol: string(l.Protocol), Certificates: toTexts(l.Certificates),
			Digest: string(l.Digest), Verifies: l.Verifies,
			SecretsDigest: string(l.ClientSecrets), Default: withoutSecrets(encodeAction(l.Default)),
			Handle: l.Handle,
		}
		for _, r := range l.Rules {
			rule := encodeRule(r.Rule)
			rule.Action = withoutSecrets(rule.Action)
			listener.Rules = append(listener.Rules, v1.ObservedRule{
				Priority: r.Priority, Rule: rule, Handle: r.Handle,
			})
		}
		out.Listeners = append(out.Listeners, listener)
	}
	for _, g := range o.TargetGroups {
		out.TargetGroups = append(out.TargetGroups, v1.ObservedTargetGroup{
			ID: string(g.ID), Service: g.Service, Port: string(g.Port), TargetType: g.TargetType,
			Protocol: string(g.Protocol), Version: string(g.Version),
			Family: g.Family, Digest: string(g.Digest), Ready: g.Ready, Registered: g.Registered,
			Handle: g.Handle,
		})
	}
	for _, c := range o.Certificates {
		out.Certificates = append(out.Certificates, v1.ObservedCertificate{
			ID: string(c.ID), Hosts: nonNil(c.Hosts), Kind: c.Kind, Digest: string(c.Digest),
			Handle: c.Handle,
		})
	}
	encodeReadSettings(&out, o.Read)
	return out
}

// withoutSecrets returns an action without its client secret, which never leaves a provider.
func withoutSecrets(a v1.Action) v1.Action {
	if a.Auth != nil {
		auth := *a.Auth
		auth.ClientSecret, auth.KeepClientSecret = "", false
		a.Auth = &auth
	}
	return a
}

// DecodeObserved converts the message to the observation of a key, in the order that the planner
// needs. An answer for another key, or with duplicates, is an error.
func DecodeObserved(key lb.Key, o v1.Observed) (*lb.Observed, error) {
	if o.Key != string(key) {
		return nil, fmt.Errorf("the answer is about the load balancer %q, not about %q", o.Key, key)
	}
	out := &lb.Observed{
		Key: key, Exists: o.Exists, Active: o.Active, Address: decodeAddress(o.Address), Handle: o.Handle,
		Digest:     lb.Digest(o.Digest),
		Protection: routing.Protection{WebACL: o.WebACL, Shield: o.Shield}, Protected: o.Protected,
		Firewall: o.Firewall, Unread: o.Unread, Impaired: o.Impaired,
	}
	if o.Settings != nil {
		out.Digest = lb.DigestOf(decodeSettings(*o.Settings))
	}
	if !o.Exists && len(o.Listeners) > 0 {
		return nil, fmt.Errorf("the load balancer does not exist and has %d listeners", len(o.Listeners))
	}
	for _, l := range o.Listeners {
		listener, err := decodeObservedListener(l)
		if err != nil {
			return nil, err
		}
		out.Listeners = append(out.Listeners, listener)
	}
	for _, g := range o.TargetGroups {
		out.TargetGroups = append(out.TargetGroups, decodeObservedGroup(g))
	}
	for _, c := range o.Certificates {
		out.Certificates = append(out.Certificates, decodeObservedCertificate(c))
	}
	out.Read = decodeReadSettings(o)
	return out, sortParts(out)
}

func decodeObservedListener(l v1.ObservedListener) (lb.ObservedListener, error) {
	out := lb.ObservedListener{
		Port: l.Port, Protocol: routing.Protocol(l.Protocol),
		Certificates: toIDs[lb.CertificateID](l.Certificates), Digest: lb.Digest(l.Digest),
		Verifies:      l.Verifies,
		ClientSecrets: lb.Digest(l.SecretsDigest), Default: decodeAction(l.Default), Handle: l.Handle,
	}
	if l.Settings != nil {
		settings := decodeListenerSettings(*l.Settings)
		out.Digest, out.Verifies, out.ClientSecrets = lb.DigestOf(settings), settings.Mutual.Verifies(),
			settings.ClientSecrets
	}
	if len(out.Certificates) > 0 {
		slices.Sort(out.Certificates[1:])
	}
	for _, r := range l.Rules {
		out.Rules = append(out.Rules, lb.ObservedRule{
			Rule: decodeRule(r.Rule), Priority: r.Priority, Handle: r.Handle,
		})
	}
	slices.SortStableFunc(out.Rules, func(a, b lb.ObservedRule) int {
		return cmp.Compare(a.Priority, b.Priority)
	})
	for i, r := range out.Rules[min(1, len(out.Rules)):] {
		if r.Priority == out.Rules[i].Priority {
			return out, duplicateError(fmt.Sprintf("on port %d, priority", l.Port), r.Priority)
		}
	}
	return out, nil
}

func decodeObservedGroup(g v1.ObservedTargetGroup) lb.ObservedTargetGroup {
	out := lb.ObservedTargetGroup{
		TargetGroup: lb.TargetGroup{
			ID: lb.GroupID(g.ID), Service: g.Service, Port: routing.ServicePort(g.Port),
			TargetType: g.TargetType, Protocol: routing.Protocol(g.Protocol),
			Version: routing.Version(g.Version), Family: g.Family, Digest: lb.Digest(g.Digest),
		},
		Ready: g.Ready, Registered: g.Registered, Handle: g.Handle,
	}
	if s := g.Settings; s != nil {
		out.Digest = lb.DigestOf(decodeGroupSettings(*s))
	}
	return out
}

func decodeObservedCertificate(c v1.ObservedCertificate) lb.ObservedCertificate {
	digest := lb.Digest(c.Digest)
	if len(c.Tags) > 0 {
		digest = lb.CertificateSettings{Tags: c.Tags}.Digest()
	}
	return lb.ObservedCertificate{
		Certificate: lb.Certificate{ID: lb.CertificateID(c.ID), Hosts: c.Hosts, Kind: c.Kind,
			Digest: digest}, Handle: c.Handle,
	}
}

// sortParts sorts listeners, target groups and certificates. A duplicate is an error.
func sortParts(o *lb.Observed) error {
	slices.SortStableFunc(o.Listeners, func(a, b lb.ObservedListener) int {
		return cmp.Compare(a.Port, b.Port)
	})
	slices.SortStableFunc(o.TargetGroups, func(a, b lb.ObservedTargetGroup) int {
		return cmp.Compare(a.ID, b.ID)
	})
	slices.SortStableFunc(o.Certificates, func(a, b lb.ObservedCertificate) int {
		return cmp.Compare(a.ID, b.ID)
	})
	for i := 1; i < len(o.Listeners); i++ {
		if port := o.Listeners[i].Port; port == o.Listeners[i-1].Port {
			return duplicateError("listener", port)
		}
	}
	for i := 1; i < len(o.TargetGroups); i++ {
		if id := o.TargetGroups[i].ID; id == o.TargetGroups[i-1].ID {
			return duplicateError("target group", id)
		}
	}
	for i := 1; i < len(o.Certificates); i++ {
		if id := o.Certificates[i].ID; id == o.Certificates[i-1].ID {
			return duplicateError("certificate", id)
		}
	}
	return nil
}
