package wire

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// This file translates capabilities.

// EncodeCapabilities converts capabilities to their message.
func EncodeCapabilities(c lb.Capabilities) v1.Capabilities {
	out := v1.Capabilities{
		Name: c.Name, Versions: []int{v1.Version},
		Conditions: v1.ConditionCapabilities{
			Fields: without(lb.Fields, c.FieldsRefused),
			Regex:  c.Regex, HeaderRegex: c.HeaderRegex, QueryPairs: c.QueryPairs, CaseFlag: c.CaseFlag,
			HostStarIsLabel: c.HostStarIsLabel, HostPattern: c.HostValue,
			PathCharacters: c.PathCharacters, SourcesRefused: c.SourcesRefused, ValueLength: c.ValueLength,
			NameLength: c.NameLength, ValuesPerCondition: c.ValuesPerCondition,
			ValuesPerRule: c.ValuesPerRule, WildcardsPerRule: c.WildcardsPerRule,
			HostPortMatched: c.Doubt.HostPort, HostCaseMatched: c.Doubt.HostCase,
			PathDecoded: c.Doubt.Decoding,
		},
		Actions: v1.ActionCapabilities{
			Rewrite: c.Rewrites, RewriteRedirect: c.RewritesRedirects, Undocumented: c.Undocumented, Auth: c.Auth,
			Sticky:                 !c.NoStickyForward,
			OtherTargetGroups:      c.OtherTargetGroups,
			TargetGroupsPerForward: c.TargetsPerForward, MaxWeight: c.MaxWeight,
			BodyLength: c.BodyLength, ContentTypes: c.ContentTypes, NoFixed3xx: c.NoFixed3xx,
			StrictRedirects: c.StrictRedirects,
		},
		Limits: v1.Limits{
			Rules:           v1.Limit{Max: c.Rules, Quota: c.Quotas.Rules},
			TargetGroups:    v1.Limit{Max: c.TargetGroups, Quota: c.Quotas.TargetGroups},
			Certificates:    v1.Limit{Max: c.Certificates, Quota: c.Quotas.Certificates},
			Listeners:       v1.Limit{Max: c.Listeners, Quota: c.Quotas.Listeners},
			TargetsPerGroup: v1.Limit{Max: c.TargetsPerGroup, Quota: c.Quotas.TargetsPerGroup},
			TargetsPerLoadBalancer: v1.Limit{
				Max: c.TargetsPerLoadBalancer, Quota: c.Quotas.TargetsPerLoadBalancer,
			},
			VerifyingListeners: c.Verifying, MinPriority: c.MinPriority, MaxPriority: c.MaxPriority,
		},
		TargetGroups: v1.GroupCapabilities{
			Versions:        encodeVersions(c),
			StickyAttribute: c.StickyAttribute, HTTP2NeedsTLS: c.HTTP2NeedsTLS,
			AddressesOnly: c.AddressesOnly, IPv6NeedsDualStack: c.IPv6NeedsDualStack,
			InstanceIDs: c.InstanceIDs, HealthWithoutRule: c.HealthWithoutRule,
		},
		Listeners: v1.ListenerCapabilities{
			Inbound: c.Inbound, ClientCertificates: !c.NoClientCertificates, TLSPolicies: c.TLSPolicies,
			AnyTLSPolicy: !c.NoTLSPolicies && len(c.TLSPolicies) == 0,
			AnyAttribute: c.ListenerAttributes == nil,
		},
		LoadBalancers: v1.BalancerCapabilities{
			WebACLs: c.WebACLs, Shields: c.Shields, DeletionProtection: c.DeletionProtection,
			AnyAttribute: c.BalancerAttributes == nil,
		},
		Calls: v1.CallCapabilities{
			SettleMilliseconds: c.Settle.Milliseconds(), GatherMilliseconds: c.Gather.Milliseconds(),
		},
	}
	encodeAttributes(&out, c)
	encodeChoices(&out, c)
	return out
}

// targetTypes are those that target groups can have.
var targetTypes = []string{"ip", lb.InstanceTarget}

// encodeChoices stores the values that there are, where some are left out.
func encodeChoices(out *v1.Capabilities, c lb.Capabilities) {
	out.Actions.RedirectStatuses = c.RedirectStatuses
	if len(c.TargetTypesRefused) > 0 {
		out.TargetGroups.TargetTypes = without(targetTypes, c.TargetTypesRefused)
	}
	if c.NoHTTPS {
		out.Listeners.Protocols = []string{string(routing.HTTP)}
	}
}

// decodeChoices stores the values that there are not.
func decodeChoices(out *lb.Capabilities, c v1.Capabilities) {
	out.RedirectStatuses = c.Actions.RedirectStatuses
	if len(c.TargetGroups.TargetTypes) > 0 {
		out.TargetTypesRefused = without(targetTypes, c.TargetGroups.TargetTypes)
	}
	protocols := c.Listeners.Protocols
	out.NoHTTPS = len(protocols) > 0 && !slices.Contains(protocols, string(routing.HTTPS))
}

// without returns the values that are not among others.
func without(all, others []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(value string) bool {
		return slices.Contains(others, value)
	})
}

func encodeAttributes(out *v1.Capabilities, c lb.Capabilities) {
	for name, attribute := range c.GroupAttributes {
		put(&out.TargetGroups.Attributes, name, v1.Attribute(attribute))
	}
	for name, attribute := range c.ListenerAttributes {
		put(&out.Listeners.Attributes, name, v1.Attribute(attribute))
	}
	for name, attribute := range c.BalancerAttributes {
		put(&out.LoadBalancers.Attributes, name, v1.Attribute(attribute))
	}
}

// longestWait is the longest settle and gather time of a provider.
const longestWait = 10 * time.Minute

// DecodeCapabilities converts the message to capabilities. If no load balancer could be created
// with them, it returns an error.
func DecodeCapabilities(c v1.Capabilities) (lb.Capabilities, error) {
	out := lb.Capabilities{
		Name: c.Name,
		Dialect: lb.Dialect{
			HostStarIsLabel:   c.Conditions.HostStarIsLabel,
			HealthWithoutRule: c.TargetGroups.HealthWithoutRule, Doubt: lb.Doubt{
				HostPort: c.Conditions.HostPortMatched, HostCase: c.Conditions.HostCaseMatched,
				Decoding: c.Conditions.PathDecoded,
			},
		},
		Regex: c.Conditions.Regex, HeaderRegex: c.Conditions.HeaderRegex,
		QueryPairs: c.Conditions.QueryPairs, CaseFlag: c.Conditions.CaseFlag, Rewrites: c.Actions.Rewrite,
		RewritesRedirects: c.Actions.RewriteRedirect, Undocumented: c.Actions.Undocumented, Auth: c.Actions.Auth,
		OtherTargetGroups: c.Actions.OtherTargetGroups,
		HostValue:         c.Conditions.HostPattern, PathCharacters: c.Conditions.PathCharacters,
		SourcesRefused: c.Conditions.SourcesRefused, ValueLength: c.Conditions.ValueLength,
		NameLength: c.Conditions.NameLength, ValuesPerCondition: c.Conditions.ValuesPerCondition,
		ValuesPerRule: c.Conditions.ValuesPerRule, WildcardsPerRule: c.Conditions.WildcardsPerRule,
		FieldsRefused:   without(lb.Fields, c.Conditions.Fields),
		NoStickyForward: !c.Actions.Sticky, TargetsPerForward: c.Actions.TargetGroupsPerForward,
		MaxWeight:  c.Actions.MaxWeight,
		BodyLength: c.Actions.BodyLength, ContentTypes: c.Actions.ContentTypes,
		NoFixed3xx: c.Actions.NoFixed3xx, StrictRedirects: c.Actions.StrictRedirects,
		Rules: c.Limits.Rules.Max, TargetGroups: c.Limits.TargetGroups.Max,
		Certificates: c.Limits.Certificates.Max, Listeners: c.Limits.Listeners.Max,
		Verifying: c.Limits.VerifyingListeners, TargetsPerGroup: c.Limits.TargetsPerGroup.Max,
		TargetsPerLoadBalancer: c.Limits.TargetsPerLoadBalancer.Max,
		Quotas: lb.Quotas{
			Rules: c.Limits.Rules.Quota, TargetGroups: c.Limits.TargetGroups.Quota,
			Certificates: c.Limits.Certificates.Quota, Listeners: c.Limits.Listeners.Quota,
			TargetsPerGroup:        c.Limits.TargetsPerGroup.Quota,
			TargetsPerLoadBalancer: c.Limits.TargetsPerLoadBalancer.Quota,
		},
		StickyAttribute: c.TargetGroups.StickyAttribute, HTTP2NeedsTLS: c.TargetGroups.HTTP2NeedsTLS,
		AddressesOnly:      c.TargetGroups.AddressesOnly,
		IPv6NeedsDualStack: c.TargetGroups.IPv6NeedsDualStack,
		InstanceIDs:        c.TargetGroups.InstanceIDs,
		Inbound:            c.Listeners.Inbound, NoClientCertificates: !c.Listeners.ClientCertificates,
		TLSPolicies:   c.Listeners.TLSPolicies,
		NoTLSPolicies: !c.Listeners.AnyTLSPolicy && len(c.Listeners.TLSPolicies) == 0,
		WebACLs:       c.LoadBalancers.WebACLs, Shields: c.LoadBalancers.Shields,
		DeletionProtection: c.LoadBalancers.DeletionProtection, MinPriority: c.Limits.MinPriority,
		MaxPriority: c.Limits.MaxPriority,
		Settle:      time.Duration(c.Calls.SettleMilliseconds) * time.Millisecond,
		Gather:      time.Duration(c.Calls.GatherMilliseconds) * time.Millisecond,
	}
	decodeAttributes(&out, c)
	decodeChoices(&out, c)
	return out, checkCapabilities(c, out)
}

// decodeAttributes stores the attributes that there are, and the versions of HTTP.
func decodeAttributes(out *lb.Capabilities, c v1.Capabilities) {
	for name, attribute := range c.TargetGroups.Attributes {
		put(&out.GroupAttributes, name, lb.Attribute(attribute))
	}
	decodeVersions(out, c.TargetGroups.Versions)
	if !c.Listeners.AnyAttribute {
		out.ListenerAttributes = map[string]lb.Attribute{}
	}
	if !c.LoadBalancers.AnyAttribute {
		out.BalancerAttributes = map[string]lb.Attribute{}
	}
	for name, attribute := range c.Listeners.Attributes {
		put(&out.ListenerAttributes, name, lb.Attribute(attribute))
	}
	for name, attribute := range c.LoadBalancers.Attributes {
		put(&out.BalancerAttributes, name, lb.Attribute(attribute))
	}
}

// versions are those of HTTP that targets can speak.
var versions = []routing.Version{routing.VersionHTTP1, routing.VersionHTTP2, routing.VersionGRPC}

func encodeVersions(c lb.Capabilities) (out []string) {
	for _, v := range versions {
		if !slices.Contains(c.VersionsRefused, v) {
			out = append(out, string(v))
		}
	}
	return out
}

// decodeVersions stores the versions that targets cannot speak. All can speak HTTP1.
func decodeVersions(c *lb.Capabilities, reply []string) {
	for _, v := range versions[1:] {
		if !slices.Contains(reply, string(v)) {
			c.VersionsRefused = append(c.VersionsRefused, v)
		}
	}
}

func waitable(milliseconds int64) bool {
	return milliseconds >= 0 && milliseconds <= longestWait.Milliseconds()
}

// checkCapabilities returns an error for invalid capabilities.
func checkCapabilities(reply v1.Capabilities, c lb.Capabilities) error {
	for _, field := range []string{"host", "path"} {
		if slices.Contains(c.FieldsRefused, field) {
			return fmt.Errorf("conditions.fields lacks %q: every load balancer needs it", field)
		}
	}
	for name, limit := range map[string]int{
		"conditions.valueLength": c.ValueLength, "conditions.nameLength": c.NameLength,
		"conditions.valuesPerCondition":  c.ValuesPerCondition,
		"conditions.valuesPerRule":       c.ValuesPerRule,
		"conditions.wildcardsPerRule":    c.WildcardsPerRule,
		"actions.targetGroupsPerForward": c.TargetsPerForward, "actions.maxWeight": c.MaxWeight,
		"actions.bodyLength": c.BodyLength, "limits.rules": c.Rules,
		"limits.targetGroups": c.TargetGroups, "limits.certificates": c.Certificates,
		"limits.listeners": c.Listeners, "limits.verifyingListeners": c.Verifying,
		"limits.targetsPerGroup":        c.TargetsPerGroup,
		"limits.targetsPerLoadBalancer": c.TargetsPerLoadBalancer,
		"calls.stepsPerApply":           reply.Calls.StepsPerApply,
		"calls.requestBytes":            reply.Calls.RequestBytes,
	} {
		if limit < 0 {
			return fmt.Errorf("%s is %d: a limit is not below zero", name, limit)
		}
	}
	if p := reply.Listeners.Protocols; len(p) > 0 && !slices.Contains(p, string(routing.HTTP)) {
		return fmt.Errorf("listeners.protocols lacks HTTP: every load balancer needs it")
	}
	switch {
	case c.Name == "":
		return fmt.Errorf("name is empty")
	case c.MinPriority < 0 || c.MaxPriority > 1<<30 || c.MaxPriority-c.MinPriority < 100:
		return fmt.Errorf("limits.minPriority %d and limits.maxPriority %d leave no room for rules: "+
			"there have to be 100 at least, from 0 to %d", c.MinPriority, c.MaxPriority, 1<<30)
	case !waitable(reply.Calls.SettleMilliseconds) || !waitable(reply.Calls.GatherMilliseconds):
		return fmt.Errorf("calls.settleMilliseconds and calls.gatherMilliseconds have to be from 0 to %d",
			longestWait.Milliseconds())
	}
	if _, err := regexp.Compile(c.HostValue); err != nil {
		return fmt.Errorf("reading conditions.hostPattern: %w", err)
	}
	return nil
}
