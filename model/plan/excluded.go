package plan

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// This file compares steps with capabilities.

// Excluded returns what of a step the capabilities exclude, or "". A plan has no such step.
func Excluded(step Step, c lb.Capabilities) string {
	switch s := step.(type) {
	case CreateLoadBalancer:
		return excludedAttributes(s.LoadBalancer.Settings.Attributes, c.BalancerAttributes, "")
	case ModifyLoadBalancer:
		return excludedAttributes(s.LoadBalancer.Settings.Attributes, c.BalancerAttributes, "")
	case SetWebACL:
		return said(!c.WebACLs && (lb.Protection{WebACL: s.WebACL}).HasWebACL(), "a web ACL")
	case ShieldLoadBalancer:
		return said(!c.Shields && s.Shield == lb.ShieldOn, "Shield Advanced")
	case CreateTargetGroup:
		return excludedGroup(s.Group, c)
	case ModifyTargetGroup:
		return excludedGroup(s.Group, c)
	case CreateListener:
		return excludedListener(s.Listener, c)
	case ModifyListener:
		return excludedListener(s.Listener, c)
	case CreateRule:
		return cmp.Or(said(s.Priority < c.MinPriority || s.Priority > c.MaxPriority,
			"the priority %d", s.Priority), excludedRule(s.Rule, c))
	case ModifyRule:
		return excludedRule(s.Rule, c)
	case ImportCertificate:
		return said(c.NoHTTPS, "a certificate")
	case DeleteLoadBalancer, DeleteFirewall, ReplaceCertificate, ModifyCertificate, DeleteCertificate,
		RegisterTargets, AwaitTargets, DeleteTargetGroup, AttachCertificate,
		DetachCertificate, DeleteListener, DeleteRule, RespaceRules:
		// no capability is about them
	}
	return ""
}

// said returns a text if something is so.
func said(so bool, format string, args ...any) string {
	if !so {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

// beyond reports whether a number exceeds a limit, of which 0 is none.
func beyond(n, limit int) bool { return limit > 0 && n > limit }

func excludedAttributes(asked map[string]string, known map[string]lb.Attribute,
	version string) string {
	if known == nil {
		return ""
	}
	for name, value := range asked {
		row, is := known[name]
		if !is {
			return "the attribute " + name
		}
		if !row.Takes(value) {
			return fmt.Sprintf("the value %q of the attribute %s", value, name)
		}
		if why := row.Excluded(name, value, version, asked); why != "" {
			return why
		}
	}
	return ""
}

func excludedGroup(g lb.TargetGroup, c lb.Capabilities) string {
	known := c.GroupAttributes
	if known == nil {
		known = map[string]lb.Attribute{}
	}
	if slices.Contains(c.VersionsRefused, g.Version) {
		return "the version " + string(g.Version)
	}
	if slices.Contains(c.TargetTypesRefused, g.TargetType) {
		return "the target type " + g.TargetType
	}
	return excludedAttributes(g.Attributes, known, string(g.Version))
}

func excludedListener(l lb.Listener, c lb.Capabilities) string {
	s := l.Settings
	return cmp.Or(
		said(c.NoHTTPS && l.Protocol == routing.HTTPS, "the protocol HTTPS"),
		said(!c.Inbound && len(s.Inbound) > 0, "sources that may connect"),
		said(c.NoClientCertificates && s.Mutual != nil && s.Mutual.Mode != "off",
			"certificates of clients"),
		said(s.TLSPolicy != "" && (c.NoTLSPolicies ||
			len(c.TLSPolicies) > 0 && !slices.Contains(c.TLSPolicies, s.TLSPolicy)),
			"the TLS policy %s", s.TLSPolicy),
		excludedAttributes(s.Attributes, c.ListenerAttributes, ""),
		excludedAction(l.Default, c),
	)
}

func excludedRule(r lb.Rule, c lb.Capabilities) string {
	values, wildcards := 0, 0
	for _, cond := range r.Conditions {
		if why := excludedCondition(cond, c); why != "" {
			return why
		}
		values += len(cond.Values) + len(cond.Regex)
		if cond.Field == "method" {
			continue
		}
		for _, v := range cond.Values {
			wildcards += strings.Count(v, "*") + strings.Count(v, "?")
		}
	}
	return cmp.Or(
		said(beyond(values, c.ValuesPerRule), "a rule with %d values", values),
		said(beyond(wildcards, c.WildcardsPerRule), "a rule with %d wildcards", wildcards),
		excludedAction(r.Action, c),
	)
}

func excludedCondition(cond lb.Condition, c lb.Capabilities) string {
	n := len(cond.Values) + len(cond.Regex)
	if why := cmp.Or(
		said(slices.Contains(c.FieldsRefused, cond.Field), "a condition on the field %s", cond.Field),
		said(!c.Regex && len(cond.Regex) > 0, "a regular expression"),
		said(!c.HeaderRegex && cond.Field == "header" && len(cond.Regex) > 0,
			"a regular expression for a header"),
		said(!c.QueryPairs && cond.Field == "query" && cond.Name == "",
			"a condition on the query without a name"),
		said(beyond(n, c.ValuesPerCondition), "a condition with %d values", n),
		said(beyond(len(cond.Name), c.NameLength), "the name %s", cond.Name),
	); why != "" {
		return why
	}
	for _, v := range slices.Concat(cond.Values, cond.Regex) {
		if beyond(len(v), c.ValueLength) {
			return fmt.Sprintf("the value %s, of %d characters", v, len(v))
		}
	}
	for _, v := range cond.Values {
		excluded := false
		switch cond.Field {
		case "host":
			accepted, err := regexp.MatchString(c.HostValue, v)
			excluded = err != nil || !accepted
		case "path":
			excluded = !c.AcceptsPath(v)
		case "source":
			excluded = slices.Contains(c.SourcesRefused, v)
		}
		if excluded {
			return fmt.Sprintf("the value %s of a condition on the field %s", v, cond.Field)
		}
	}
	return ""
}

func excludedAction(a lb.Action, c lb.Capabilities) string {
	several := len(a.Targets) > 1
	return cmp.Or(
		said(!c.Auth && a.Auth != nil, "a sign-in"),
		said(!c.Rewrites && a.Rewrite != nil, "a rewrite"),
		said(!c.OtherTargetGroups && slices.ContainsFunc(a.Groups(), lb.OthersMade),
			"a target group that others made"),
		said(c.NoStickyForward && several && a.StickySeconds > 0, "stickySeconds"),
		said(beyond(len(a.Targets), c.TargetsPerForward), "a forward to %d target groups",
			len(a.Targets)),
		said(several && slices.ContainsFunc(a.Targets, func(w lb.Weighted) bool {
			return beyond(int(w.Weight), c.MaxWeight)
		}), "a weight above %d", c.MaxWeight),
		said(beyond(len(a.Body), c.BodyLength), "a body of %d bytes", len(a.Body)),
		said(a.Kind == "fixed" && a.Body != "" && len(c.ContentTypes) > 0 &&
			!slices.Contains(c.ContentTypes, a.ContentType), "the content type %s", a.ContentType),
		said(a.Kind == "redirect" && len(c.RedirectStatuses) > 0 &&
			!slices.Contains(c.RedirectStatuses, a.Status), "a redirect with status %d", a.Status),
		said(a.Kind == "fixed" && c.NoFixed3xx && a.Status/100 == 3, "a fixed response with status %d",
			a.Status),
	)
}
