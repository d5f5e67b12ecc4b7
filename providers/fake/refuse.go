package fake

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"
)

// This file refuses steps. A step that exceeds a limit, or cannot be expressed, is rejected: the
// answer stays the same until the objects or the limit change. A step for an object that is still
// in use is pending. If the object is missing, or is not as the step expects, the error has no
// class: the caller has to observe again.

// rejected returns an ErrRejected with a message.
func rejected(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, providers.ErrRejected)...)
}

// refuseAll returns the reason why a step cannot be applied, also if the capabilities exclude it,
// or nil.
func (c *Cloud) refuseAll(r *record, step plan.Step) error {
	if err := c.refuse(r, step); err != nil {
		return err
	}
	can := c.Capabilities(lb.Class{})
	can.Inbound = true // it keeps them as any cloud that limits clients, and limits none
	if why := plan.Excluded(step, can); why != "" {
		return rejected("%s has %s, which this cloud has not", step.Op(), why)
	}
	return nil
}

// refuse returns the reason why a step cannot be applied, or nil.
//
//nolint:funlen // one switch over all steps
func (c *Cloud) refuse(r *record, step plan.Step) error {
	o := r.observed
	switch s := step.(type) {
	case plan.ModifyLoadBalancer:
		if !o.Exists {
			return fmt.Errorf("no load balancer %s", o.Key)
		}
	case plan.ImportCertificate:
		return checkCertificate(s.Certificate)
	case plan.ReplaceCertificate:
		if o.Certificate(s.Old) == nil && o.Certificate(s.New.ID) == nil {
			return fmt.Errorf("no certificate %s", s.Old)
		}
		return checkCertificate(s.New)
	case plan.ModifyCertificate:
		if o.Certificate(s.Certificate.ID) == nil {
			return fmt.Errorf("no certificate %s", s.Certificate.ID)
		}
	case plan.DeleteCertificate:
		if port := certificateUser(o, s.Certificate); port != 0 {
			return fmt.Errorf("certificate %s is in use on port %d: %w", s.Certificate, port,
				providers.ErrPending)
		}
	case plan.CreateTargetGroup:
		if o.TargetGroup(s.Group.ID) == nil {
			return checkLimit("target groups", len(o.TargetGroups)+1, c.options.Capabilities.TargetGroups)
		}
	case plan.ModifyTargetGroup:
		return checkGroup(o, s.Group.ID)
	case plan.RegisterTargets:
		return checkGroup(o, s.Group)
	case plan.AwaitTargets:
		if err := checkGroup(o, s.Group); err != nil {
			return err
		}
		if !r.pools[s.Group].Ready() {
			return fmt.Errorf("target group %s has no healthy target: %w", s.Group, providers.ErrPending)
		}
	case plan.DeleteTargetGroup:
		if place := groupUser(o, s.Group); place != "" {
			return fmt.Errorf("target group %s is in use by %s: %w", s.Group, place, providers.ErrPending)
		}
	case plan.CreateListener:
		return c.refuseListener(o, s.Listener)
	case plan.ModifyListener:
		return c.refuseChange(o, s.Listener)
	case plan.AttachCertificate:
		return c.refuseCertificate(o, s.Port, s.Certificate)
	case plan.DetachCertificate:
		if l := o.Listener(s.Port); l != nil && len(l.Certificates) > 0 &&
			l.Certificates[0] == s.Certificate {
			return fmt.Errorf("%s is the default certificate of port %d", s.Certificate, s.Port)
		}
	case plan.CreateRule:
		return c.refuseRule(o, s)
	case plan.ModifyRule:
		if l := o.Listener(s.Port); l == nil || l.Rule(s.Priority) == nil {
			return fmt.Errorf("no rule %s", s.ID())
		}
		return c.refuseContent(o, s.Rule)
	case plan.DeleteRule:
		if l := o.Listener(s.Port); l != nil {
			if old := l.Rule(s.Priority); old != nil && old.Key() != s.Rule.Key() {
				return fmt.Errorf("rule %s is another than the one to delete: %s", s.ID(), old.Key())
			}
		}
	case plan.RespaceRules:
		return c.refuseNumbers(o, s)
	case plan.SetWebACL:
		if (lb.Protection{WebACL: s.WebACL}).HasWebACL() {
			return rejected("there are no web ACLs")
		}
	case plan.ShieldLoadBalancer:
		if s.Shield == lb.ShieldOn {
			return rejected("there is no shield")
		}
	case plan.CreateLoadBalancer, plan.DeleteLoadBalancer, plan.DeleteFirewall, plan.DeleteListener:
		// always possible
	}
	return nil
}

// checkLimit returns an error if a count exceeds its limit; zero is no limit.
func checkLimit(what string, count, limit int) error {
	if limit > 0 && count > limit {
		return rejected("too many %s: %d, the limit is %d", what, count, limit)
	}
	return nil
}

// checkGroup returns an error if a target group does not exist.
func checkGroup(o *lb.Observed, id lb.GroupID) error {
	if o.TargetGroup(id) == nil {
		return fmt.Errorf("no target group %s", id)
	}
	return nil
}

// checkCertificate returns an error if a certificate has no key, or the key of another one.
func checkCertificate(c lb.Certificate) error {
	if _, err := newPair(c); err != nil {
		return rejected("certificate %s cannot be used: %v", c.ID, err)
	}
	return nil
}

// certificateUser returns a port that serves a certificate, or zero.
func certificateUser(o *lb.Observed, id lb.CertificateID) int32 {
	for _, l := range o.Listeners {
		if slices.Contains(l.Certificates, id) {
			return l.Port
		}
	}
	return 0
}

// groupUser names a default action or a rule that forwards to a target group, or returns "".
func groupUser(o *lb.Observed, id lb.GroupID) string {
	for _, l := range o.Listeners {
		if slices.Contains(l.Default.Groups(), id) {
			return fmt.Sprintf("the default action of port %d", l.Port)
		}
		for _, rule := range l.Rules {
			if slices.Contains(rule.Action.Groups(), id) {
				return fmt.Sprintf("rule %d/%d", l.Port, rule.Priority)
			}
		}
	}
	return ""
}

func (c *Cloud) refuseListener(o *lb.Observed, l lb.Listener) error {
	if !o.Exists {
		return fmt.Errorf("no load balancer %s", o.Key)
	}
	if old := o.Listener(l.Port); old != nil {
		if old.Protocol != l.Protocol {
			return fmt.Errorf("port %d is open already, for %s", l.Port, old.Protocol)
		}
		return nil
	}
	if err := c.refuseSettings(o, l); err != nil {
		return err
	}
	for _, id := range l.Certificates {
		if !hasCertificate(o, id) {
			return missingCertificate(id)
		}
	}
	return errors.Join(
		checkLimit("listeners", len(o.Listeners)+1, c.options.Capabilities.Listeners),
		checkLimit("certificates", extraCertificates(o)+max(0, len(l.Certificates)-1),
			c.options.Capabilities.Certificates),
	)
}

func (c *Cloud) refuseChange(o *lb.Observed, l lb.Listener) error {
	if o.Listener(l.Port) == nil {
		return fmt.Errorf("no listener on port %d", l.Port)
	}
	return c.refuseSettings(o, l)
}

// refuseSettings checks the protocol, the default certificate and the default action of a listener.
func (c *Cloud) refuseSettings(o *lb.Observed, l lb.Listener) error {
	switch {
	case l.Protocol != routing.HTTP && l.Protocol != routing.HTTPS:
		return rejected("port %d: protocol %q is not supported", l.Port, l.Protocol)
	case l.Settings.Mutual != nil && l.Settings.Mutual.Mode != "off":
		return rejected("port %d: mutual authentication (%s) is not supported", l.Port,
			l.Settings.Mutual.Mode)
	case l.Protocol == routing.HTTPS && len(l.Certificates) == 0:
		return rejected("port %d: an HTTPS listener needs a certificate", l.Port)
	case l.Protocol == routing.HTTPS && !hasCertificate(o, l.Certificates[0]):
		return missingCertificate(l.Certificates[0])
	}
	return c.refuseAction(o, l.Default)
}

func (c *Cloud) refuseCertificate(o *lb.Observed, port int32, id lb.CertificateID) error {
	l := o.Listener(port)
	switch {
	case l == nil:
		return fmt.Errorf("no listener on port %d", port)
	case slices.Contains(l.Certificates, id):
		return nil
	case !hasCertificate(o, id):
		return missingCertificate(id)
	}
	return checkLimit("certificates", extraCertificates(o)+1, c.options.Capabilities.Certificates)
}

// hasCertificate reports whether a certificate was imported, or is one of the authority.
func hasCertificate(o *lb.Observed, id lb.CertificateID) bool {
	_, own := ownHost(id)
	return own || o.Certificate(id) != nil
}

// missingCertificate returns the error for a certificate that does not exist. It is rejected for
// certificates of AWS.
func missingCertificate(id lb.CertificateID) error {
	if strings.HasPrefix(string(id), "arn:") {
		return rejected("certificate %s is not one of this cloud's", id)
	}
	return fmt.Errorf("no certificate %s", id)
}

// extraCertificates returns the number of certificates beside the default ones of listeners.
func extraCertificates(o *lb.Observed) int {
	n := 0
	for _, l := range o.Listeners {
		n += max(0, len(l.Certificates)-1)
	}
	return n
}

func (c *Cloud) refuseRule(o *lb.Observed, s plan.CreateRule) error {
	l := o.Listener(s.Port)
	if l == nil {
		return fmt.Errorf("no listener on port %d", s.Port)
	}
	if old := l.Rule(s.Priority); old != nil {
		if old.Key() != s.Rule.Key() {
			return fmt.Errorf("priority %s is in use by %s", s.ID(), old.Key())
		}
		return nil
	}
	if err := c.refuseNumber(s.Priority); err != nil {
		return err
	}
	if err := checkLimit("rules", o.RuleCount()+1, c.options.Capabilities.Rules); err != nil {
		return err
	}
	return c.refuseContent(o, s.Rule)
}

func (c *Cloud) refuseNumber(priority int) error {
	if caps := c.options.Capabilities; priority < caps.MinPriority || priority > caps.MaxPriority {
		return rejected("priority %d is not between %d and %d", priority, caps.MinPriority,
			caps.MaxPriority)
	}
	return nil
}

// refuseNumbers checks that rules get free numbers. A number is free, too, if its rule gets another one.
// Rules that have their new number already are left out.
func (c *Cloud) refuseNumbers(o *lb.Observed, s plan.RespaceRules) error {
	l := o.Listener(s.Port)
	if l == nil {
		return fmt.Errorf("no listener on port %d", s.Port)
	}
	taken := map[int]bool{}
	for _, r := range l.Rules {
		taken[r.Priority] = true
	}
	for _, r := range l.Rules {
		to, renumbered := s.To[r.Priority]
		if !renumbered {
			continue
		}
		if err := c.refuseNumber(to); err != nil {
			return err
		}
		if taken[to] {
			return fmt.Errorf("priority %d/%d is in use", s.Port, to)
		}
		taken[to] = true
	}
	return nil
}

// refuseContent checks the conditions and the action of a rule.
func (c *Cloud) refuseContent(o *lb.Observed, r lb.Rule) error {
	caps := c.options.Capabilities
	values, wildcards := 0, 0
	for _, cond := range r.Conditions {
		if err := c.refuseCondition(cond); err != nil {
			return err
		}
		values += len(cond.Values) + len(cond.Regex)
		for _, v := range cond.Values {
			wildcards += strings.Count(v, "*") + strings.Count(v, "?")
		}
	}
	return errors.Join(
		checkLimit("values in a rule", values, caps.ValuesPerRule),
		checkLimit("wildcards in a rule", wildcards, caps.WildcardsPerRule),
		c.refuseAction(o, r.Action),
	)
}

func (c *Cloud) refuseCondition(cond lb.Condition) error {
	caps := c.options.Capabilities
	if !slices.Contains(lb.Fields, cond.Field) {
		return rejected("a condition cannot look at %q", cond.Field)
	}
	if err := checkLimit("values in a condition on "+cond.Field, len(cond.Values)+len(cond.Regex),
		caps.ValuesPerCondition); err != nil {
		return err
	}
	for _, v := range slices.Concat(cond.Values, cond.Regex) {
		if err := checkLimit("characters in "+v, len(v), caps.ValueLength); err != nil {
			return err
		}
	}
	for _, v := range cond.Values {
		if err := c.refuseValue(cond.Field, v); err != nil {
			return err
		}
	}
	for _, v := range cond.Regex {
		if !caps.Regex {
			return rejected("%s: regular expressions are not supported", v)
		}
		if _, err := regexp.Compile(v); err != nil {
			return rejected("%v", err)
		}
	}
	return nil
}

func (c *Cloud) refuseValue(field, value string) error {
	switch field {
	case "host":
		if !c.host.MatchString(value) {
			return rejected("host value %q has a character or a form that is not accepted", value)
		}
	case "path":
		if !c.options.Capabilities.AcceptsPath(value) {
			return rejected("path value %q has a character that is not accepted", value)
		}
	case "source":
		if _, err := netip.ParsePrefix(value); err != nil {
			return rejected("source value %q is not an address range", value)
		}
	}
	return nil
}

// refuseAction refuses actions that the data plane cannot do, such as a sign-in: otherwise requests
// would pass without it. It refuses to forward to missing target groups, too.
func (c *Cloud) refuseAction(o *lb.Observed, a lb.Action) error {
	switch {
	case a.Auth != nil && (a.Auth.Kind != routing.OIDC || !c.options.Capabilities.Auth):
		return rejected("authentication (%s) is not supported", a.Auth.Kind)
	case a.Rewrite != nil && !c.options.Capabilities.Rewrites:
		return rejected("rewriting requests is not supported")
	case a.Kind == "redirect" && a.Redirect == nil:
		return rejected("a redirect does not say where to")
	case a.Kind == "redirect", a.Kind == "fixed":
		if a.Status < 200 || a.Status > 599 {
			return rejected("%d is not a status that can be answered", a.Status)
		}
		return nil
	case a.Kind != "forward":
		return rejected("action %q is not supported", a.Kind)
	}
	for _, id := range a.Groups() {
		if _, others := c.options.TargetGroups[id]; others {
			continue
		}
		if err := checkGroup(o, id); err != nil {
			if lb.OthersMade(id) {
				return rejected("%v", err)
			}
			return err
		}
	}
	return checkLimit(
		"target groups in an action", len(a.Targets), c.options.Capabilities.TargetsPerForward,
	)
}
