// Package wire translates between the model and the messages of the provider protocol, in both
// directions. The client (providers/remote) and the server (providers/serve) share it.
//
// Each translation of a struct whose fields are the same on both sides is a conversion, so that a
// field that is added to the model does not compile until it has a place in the protocol.
package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// encodeAction converts an action to its message.
func encodeAction(a lb.Action) v1.Action {
	out := v1.Action{Kind: a.Kind, Auth: encodeAuth(a.Auth), Rewrite: (*v1.Rewrite)(a.Rewrite)}
	switch a.Kind {
	case "fixed":
		out.Fixed = &v1.Fixed{Status: a.Status, ContentType: a.ContentType, Body: a.Body}
	case "redirect":
		out.Redirect = (*v1.Redirect)(a.Redirect)
	default:
		out.Forward = &v1.Forward{Targets: []v1.Weighted{}, StickySeconds: a.StickySeconds}
		for _, t := range a.Targets {
			out.Forward.Targets = append(out.Forward.Targets, v1.Weighted{
				TargetGroup: string(t.Group), Weight: t.Weight,
			})
		}
	}
	return out
}

// decodeAction converts the message to an action. An unknown kind is kept: it equals no wanted
// action.
func decodeAction(a v1.Action) lb.Action {
	out := lb.Action{Kind: a.Kind, Auth: decodeAuth(a.Auth), Rewrite: (*routing.Rewrite)(a.Rewrite)}
	if f := a.Forward; f != nil {
		out.StickySeconds = f.StickySeconds
		for _, t := range f.Targets {
			out.Targets = append(out.Targets, lb.Weighted{
				Group: lb.GroupID(t.TargetGroup), Weight: t.Weight,
			})
		}
		if len(out.Targets) == 1 {
			out.Targets[0].Weight = 1 // a single group gets all requests, with any weight
		}
	}
	if f := a.Fixed; f != nil {
		out.Status, out.ContentType, out.Body = f.Status, f.ContentType, f.Body
	}
	if r := (*routing.Redirect)(a.Redirect); r != nil {
		out.Status, out.Location, out.Redirect = r.Status, r.Template(), r
	}
	return out
}

func encodeAuth(a *routing.Auth) *v1.Auth {
	if a == nil {
		return nil
	}
	out := &v1.Auth{
		Kind: a.Kind, Issuer: a.Issuer, AuthorizationEndpoint: a.AuthorizationEndpoint,
		TokenEndpoint: a.TokenEndpoint, UserInfoEndpoint: a.UserInfoEndpoint,
		KeysEndpoint: a.KeysEndpoint, UserPool: a.UserPool, UserPoolDomain: a.UserPoolDomain,
		ClientID: a.ClientID, OnMissing: a.OnMissing, Scope: a.Scope, Cookie: a.Cookie,
		TimeoutSeconds: a.TimeoutSeconds,
		Parameters:     a.Parameters, ClientSecret: string(a.ClientSecret),
		KeepClientSecret: a.KeepsClientSecret,
	}
	for _, c := range a.Claims {
		claim := v1.Claim(c)
		claim.Values = nonNil(c.Values)
		out.Claims = append(out.Claims, claim)
	}
	return out
}

func decodeAuth(a *v1.Auth) *routing.Auth {
	if a == nil {
		return nil
	}
	out := &routing.Auth{
		Kind: a.Kind, Issuer: a.Issuer, AuthorizationEndpoint: a.AuthorizationEndpoint,
		TokenEndpoint: a.TokenEndpoint, UserInfoEndpoint: a.UserInfoEndpoint,
		KeysEndpoint: a.KeysEndpoint, UserPool: a.UserPool, UserPoolDomain: a.UserPoolDomain,
		ClientID: a.ClientID, OnMissing: a.OnMissing, Scope: a.Scope, Cookie: a.Cookie,
		TimeoutSeconds: a.TimeoutSeconds,
		Parameters:     a.Parameters, ClientSecret: routing.Secret(a.ClientSecret),
		KeepsClientSecret: a.KeepClientSecret,
	}
	for _, c := range a.Claims {
		out.Claims = append(out.Claims, routing.Claim(c))
	}
	return out
}

func encodeRule(r lb.Rule) v1.Rule {
	out := v1.Rule{Conditions: []v1.Condition{}, Action: encodeAction(r.Action)}
	for _, c := range r.Conditions {
		out.Conditions = append(out.Conditions, v1.Condition(c))
	}
	return out
}

func decodeRule(r v1.Rule) lb.Rule {
	out := lb.Rule{Action: decodeAction(r.Action)}
	for _, c := range r.Conditions {
		out.Conditions = append(out.Conditions, lb.Condition(c))
	}
	return out
}

func encodeListenerSettings(s lb.ListenerSettings) v1.ListenerSettings {
	return v1.ListenerSettings{
		Inbound: s.Inbound, TLSPolicy: s.TLSPolicy, Attributes: s.Attributes,
		Clients: (*v1.ClientCertificate)(s.Mutual),
		Tags:    s.Tags, SecretsDigest: string(s.ClientSecrets),
	}
}

func decodeListenerSettings(s v1.ListenerSettings) lb.ListenerSettings {
	return lb.ListenerSettings{
		Inbound: s.Inbound, TLSPolicy: s.TLSPolicy, Attributes: s.Attributes,
		Mutual: (*routing.MutualAuthentication)(s.Clients),
		Tags:   s.Tags, ClientSecrets: lb.Digest(s.SecretsDigest),
	}
}

func encodeListener(l lb.Listener) *v1.Listener {
	return &v1.Listener{
		Port: l.Port, Protocol: string(l.Protocol), Certificates: toTexts(l.Certificates),
		Settings: encodeListenerSettings(l.Settings),
		Digest:   string(l.Digest), Default: encodeAction(l.Default),
	}
}

func decodeListener(l v1.Listener) lb.Listener {
	settings := decodeListenerSettings(l.Settings)
	return lb.Listener{
		Port: l.Port, Protocol: routing.Protocol(l.Protocol),
		Certificates: toIDs[lb.CertificateID](l.Certificates), Verifies: settings.Mutual.Verifies(),
		Digest: lb.Digest(l.Digest), Default: decodeAction(l.Default), Settings: settings,
	}
}

func encodeTargetGroup(g lb.TargetGroup) *v1.TargetGroup {
	return &v1.TargetGroup{
		ID: string(g.ID), Service: g.Service, Port: string(g.Port), TargetType: g.TargetType,
		Protocol: string(g.Protocol), Version: string(g.Version),
		Family: g.Family, Digest: string(g.Digest), Provider: json.RawMessage(g.Provider),
		Settings: v1.GroupSettings{
			Health: v1.HealthCheck(g.Health), Attributes: g.Attributes, Tags: g.Tags,
		},
	}
}

func decodeTargetGroup(g v1.TargetGroup) lb.TargetGroup {
	return lb.TargetGroup{
		ID: lb.GroupID(g.ID), Service: g.Service, Port: routing.ServicePort(g.Port),
		TargetType: g.TargetType, Protocol: routing.Protocol(g.Protocol),
		Version: routing.Version(g.Version), Family: g.Family, Digest: lb.Digest(g.Digest),
		Health:     routing.HealthCheck(g.Settings.Health),
		Attributes: g.Settings.Attributes, Tags: g.Settings.Tags, Provider: canonicalJSON(g.Provider),
	}
}

func encodeCertificate(c lb.Certificate) *v1.Certificate {
	out := &v1.Certificate{
		ID: string(c.ID), Hosts: nonNil(c.Hosts), Kind: c.Kind, Tags: c.Tags, Digest: string(c.Digest),
	}
	if c.Pair != nil {
		out.Chain, out.Key = string(c.Pair.Chain), string(c.Pair.Key)
	}
	return out
}

func decodeCertificate(c v1.Certificate) lb.Certificate {
	out := lb.Certificate{
		ID: lb.CertificateID(c.ID), Hosts: c.Hosts, Kind: c.Kind, Tags: c.Tags,
		Digest: lb.Digest(c.Digest),
	}
	if c.Chain != "" || c.Key != "" {
		out.Pair = &lb.KeyPair{Chain: []byte(c.Chain), Key: []byte(c.Key)}
	}
	return out
}

func encodeLoadBalancer(l lb.LoadBalancer) *v1.LoadBalancer {
	return &v1.LoadBalancer{
		Settings: encodeSettings(l.Settings), Digest: string(l.Digest), Protected: l.Protected,
	}
}

func encodeSettings(s routing.Settings) v1.Settings {
	return v1.Settings{
		Scheme: s.Scheme, IPFamily: s.IPFamily, Subnets: s.Subnets, SecurityGroups: s.SecurityGroups,
		Attributes: s.Attributes, Tags: s.Tags,
		Provider: json.RawMessage(s.Provider),
	}
}

func decodeSettings(s v1.Settings) routing.Settings {
	return routing.Settings{
		Scheme: s.Scheme, IPFamily: s.IPFamily, Subnets: s.Subnets, SecurityGroups: s.SecurityGroups,
		Attributes: s.Attributes, Tags: s.Tags,
		Provider: canonicalJSON(s.Provider),
	}
}

// canonicalJSON returns JSON in the form for the digest of settings: without spaces, and with names
// in order.
func canonicalJSON(raw json.RawMessage) string {
	if len(raw) == 0 {
		return ""
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return string(raw)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return string(raw)
	}
	return string(text)
}

func encodeAddress(a lb.Address) *v1.Address {
	if a.Hostname == "" && len(a.IPs) == 0 && len(a.Ports) == 0 {
		return nil
	}
	out := &v1.Address{Hostname: a.Hostname, IPs: a.IPs}
	for _, port := range slices.Sorted(maps.Keys(a.Ports)) {
		out.Ports = append(out.Ports, v1.PortMapped{Listener: port, ReachedAt: a.Ports[port]})
	}
	return out
}

func decodeAddress(a *v1.Address) lb.Address {
	if a == nil {
		return lb.Address{}
	}
	out := lb.Address{Hostname: a.Hostname, IPs: a.IPs}
	for _, p := range a.Ports {
		if out.Ports == nil {
			out.Ports = map[int32]int32{}
		}
		out.Ports[p.Listener] = p.ReachedAt
	}
	return out
}

// EncodeTargets converts the members of a target group to their message.
func EncodeTargets(targets []lb.Target) v1.TargetList {
	out := v1.TargetList{Targets: []v1.TargetHealth{}}
	for _, t := range targets {
		out.Targets = append(out.Targets, v1.TargetHealth{Address: t.Address, Port: t.Port})
	}
	return out
}

// DecodeTargets converts the message to the wanted members of a target group.
func DecodeTargets(list v1.TargetList) []lb.Target {
	var out []lb.Target
	for _, t := range list.Targets {
		out = append(out, lb.Target{Address: t.Address, Port: t.Port})
	}
	return out
}

// EncodeHealth converts members and their health to their message.
func EncodeHealth(targets []lb.TargetHealth) v1.TargetList {
	out := v1.TargetList{Targets: []v1.TargetHealth{}}
	for _, t := range targets {
		out.Targets = append(out.Targets, v1.TargetHealth{
			Address: t.Address, Port: t.Port, State: string(t.State),
		})
	}
	return out
}

// healthStates has the states of targets in the protocol.
var healthStates = []lb.HealthState{
	lb.HealthInitial, lb.HealthHealthy, lb.HealthUnhealthy, lb.HealthDraining, lb.HealthUnused,
}

// DecodeHealth converts the message to members and their health. An unknown state is initial.
func DecodeHealth(list v1.TargetList) []lb.TargetHealth {
	var out []lb.TargetHealth
	for _, t := range list.Targets {
		state := lb.HealthState(t.State)
		if !slices.Contains(healthStates, state) {
			state = lb.HealthInitial
		}
		out = append(out, lb.TargetHealth{
			Target: lb.Target{Address: t.Address, Port: t.Port}, State: state,
		})
	}
	return out
}

// nonNil returns an empty list for nil: no message has null.
func nonNil[T any](in []T) []T {
	if in == nil {
		return []T{}
	}
	return in
}

// toTexts converts IDs to texts.
func toTexts[T ~string](in []T) []string {
	var out []string
	for _, id := range in {
		out = append(out, string(id))
	}
	return out
}

// toIDs converts texts to IDs.
func toIDs[T ~string](in []string) []T {
	var out []T
	for _, id := range in {
		out = append(out, T(id))
	}
	return out
}

// duplicateError returns the error for a duplicate in an answer.
func duplicateError(kind string, id any) error {
	return fmt.Errorf("%s %v is there twice", kind, id)
}
