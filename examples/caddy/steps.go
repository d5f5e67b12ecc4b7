package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	v1 "fairlead.dev/fairlead/api/provider/v1"
)

// This file carries steps out, on a copy of what is under a key. A step that holds already changes
// nothing. What Caddy cannot do is rejected. Where things are not as a step expects them, the
// operator has to look again.

func problem(kind v1.ProblemType, format string, args []any) *v1.Problem {
	return v1.NewProblem(kind, fmt.Sprintf(format, args...))
}

func rejected(format string, args ...any) *v1.Problem {
	return problem(v1.ProblemRejected, format, args)
}
func pending(format string, args ...any) *v1.Problem { return problem(v1.ProblemPending, format, args) }
func other(format string, args ...any) *v1.Problem   { return problem(v1.ProblemOther, format, args) }

// step carries out a step.
func (p *provider) step(key string, b *balancer, s v1.Step) (v1.Result, *v1.Problem) {
	switch s.Op {
	case v1.CreateLoadBalancer, v1.ModifyLoadBalancer:
		return p.setBalancer(b, s)
	case v1.DeleteLoadBalancer:
		*b = balancer{Groups: b.Groups, Certificates: b.Certificates, Listeners: map[int32]*listener{}}
	case v1.SetWebACL:
		if s.WebACL != "" && s.WebACL != "none" {
			return v1.Result{}, rejected("Caddy has no web ACLs")
		}
	case v1.SetShield:
		if s.Shield == "on" {
			return v1.Result{}, rejected("Caddy has no shield")
		}
	case v1.ImportCertificate, v1.ReplaceCertificate:
		return p.importCertificate(b, s)
	case v1.ModifyCertificate:
		c := b.Certificates[s.Certificate.ID]
		if c == nil {
			return v1.Result{}, other("there is no certificate %s", s.Certificate.ID)
		}
		c.Tags, c.Digest = s.Certificate.Tags, s.Certificate.Digest
	case v1.DeleteCertificate:
		for port, l := range b.Listeners {
			if slices.Contains(l.Certificates, s.CertificateID) {
				return v1.Result{}, pending("certificate %s is in use on port %d", s.CertificateID, port)
			}
		}
		delete(b.Certificates, s.CertificateID)
	case v1.CreateTargetGroup, v1.ModifyTargetGroup, v1.RegisterTargets, v1.AwaitTargets, v1.DeleteTargetGroup:
		return p.groupStep(key, b, s)
	case v1.CreateListener, v1.ModifyListener, v1.AttachCertificate, v1.DetachCertificate, v1.DeleteListener:
		return p.listenerStep(b, s)
	case v1.CreateRule, v1.ModifyRule, v1.DeleteRule, v1.RenumberRules:
		return p.ruleStep(b, s)
	}
	return v1.Result{}, nil
}

func (p *provider) setBalancer(b *balancer, s v1.Step) (v1.Result, *v1.Problem) {
	switch l := s.LoadBalancer; {
	case s.Op == v1.ModifyLoadBalancer && !b.Exists:
		return v1.Result{}, other("there is no such load balancer")
	case l.Protected:
		return v1.Result{}, rejected("Caddy cannot protect a load balancer from being deleted")
	case len(l.Settings.Subnets)+len(l.Settings.SecurityGroups) > 0:
		return v1.Result{}, rejected("Caddy has neither subnets nor security groups")
	case len(l.Settings.Attributes) > 0:
		return v1.Result{}, rejected("load balancers of Caddy have no attributes")
	}
	if !b.Exists {
		at, problem := p.freeAddress()
		if problem != nil {
			return v1.Result{}, problem
		}
		b.Exists, b.Address, b.Handle = true, at, p.handle()
	}
	b.LoadBalancer = *s.LoadBalancer
	return v1.Result{Handle: b.Handle, Address: b.reached(), Active: true}, nil
}

func (p *provider) importCertificate(b *balancer, s v1.Step) (v1.Result, *v1.Problem) {
	if err := usable(s.Certificate); err != nil {
		return v1.Result{}, rejected("certificate %s cannot be used: %v", s.Certificate.ID, err)
	}
	is := &certificate{*s.Certificate, ""}
	if was := b.Certificates[s.Certificate.ID]; was != nil {
		is.Handle = was.Handle
	}
	if s.Op == v1.ReplaceCertificate && s.CertificateID != is.ID {
		was := b.Certificates[s.CertificateID]
		if was == nil && is.Handle == "" {
			return v1.Result{}, other("there is no certificate %s", s.CertificateID)
		}
		if was != nil {
			is.Handle = was.Handle
			delete(b.Certificates, s.CertificateID)
		}
		for _, l := range b.Listeners {
			if at := slices.Index(l.Certificates, s.CertificateID); at >= 0 {
				l.Certificates[at] = is.ID
				l.Certificates = behind(l.Certificates[0], l.Certificates)
			}
		}
	}
	is.Handle = cmp.Or(is.Handle, p.handle())
	b.Certificates[is.ID] = is
	return v1.Result{Handle: is.Handle}, nil
}

// behind is a listener's certificates behind its default one, in order.
func behind(first string, all []string) []string {
	rest := slices.DeleteFunc(slices.Clone(all), func(id string) bool { return id == first })
	slices.Sort(rest)
	return append([]string{first}, slices.Compact(rest)...)
}

func (p *provider) groupStep(key string, b *balancer, s v1.Step) (v1.Result, *v1.Problem) {
	id := s.TargetGroupID
	if s.TargetGroup != nil {
		id = s.TargetGroup.ID
		if len(s.TargetGroup.Settings.Attributes) > 0 {
			return v1.Result{}, rejected("target groups of Caddy have no attributes")
		}
	}
	g := b.Groups[id]
	switch {
	case s.Op == v1.CreateTargetGroup:
		if g == nil {
			g = &group{TargetGroup: *s.TargetGroup, Handle: p.handle()}
			b.Groups[id] = g
		}
		return v1.Result{Handle: g.Handle}, nil
	case s.Op == v1.DeleteTargetGroup:
		for port, l := range b.Listeners {
			for _, r := range append(slices.Clone(l.Rules), v1.ObservedRule{Rule: v1.Rule{Action: l.Default}}) {
				if slices.Contains(groupsOf(r.Rule.Action), id) {
					return v1.Result{}, pending("target group %s is in use on port %d", id, port)
				}
			}
		}
		delete(b.Groups, id)
	case g == nil:
		return v1.Result{}, other("there is no target group %s", id)
	case s.Op == v1.ModifyTargetGroup:
		g.Settings, g.Digest = s.TargetGroup.Settings, s.TargetGroup.Digest
	case s.Op == v1.RegisterTargets:
		g.Registered = true
		return v1.Result{}, g.set(slices.Concat(g.Targets, s.Targets))
	case !p.ready(key, b.Groups[id]): // awaitTargets
		return v1.Result{}, pending("target group %s has no healthy target", id)
	}
	return v1.Result{}, nil
}

var address = regexp.MustCompile(`^[0-9A-Za-z._:-]+$`)

// set makes targets those of a group.
func (g *group) set(targets []v1.Target) *v1.Problem {
	for _, t := range targets {
		if !address.MatchString(t.Address) || t.Port < 1 || t.Port > 65535 {
			return rejected("%q with the port %d is not the address of a target", t.Address, t.Port)
		}
	}
	slices.SortFunc(targets, func(a, b v1.Target) int {
		return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(a.Port, b.Port))
	})
	g.Targets = slices.Compact(targets)
	return nil
}

func (p *provider) listenerStep(b *balancer, s v1.Step) (v1.Result, *v1.Problem) {
	port, none := s.Port, v1.Result{}
	if s.Listener != nil {
		port = s.Listener.Port
		if problem := refuseListener(b, s.Listener); problem != nil {
			return none, problem
		}
	}
	l := b.Listeners[port]
	switch s.Op {
	case v1.CreateListener:
		if l == nil {
			at, problem := p.open(b.Address, port)
			if problem != nil {
				return none, problem
			}
			l = &listener{Listener: *s.Listener, At: at, Handle: p.handle()}
			b.Listeners[port] = l
		} else if l.Protocol != s.Listener.Protocol {
			return none, other("port %d is open already, for %s", port, l.Protocol)
		}
		result := v1.Result{Handle: l.Handle}
		if l.At != port {
			result.ReachedAt = l.At
		}
		return result, nil
	case v1.DeleteListener:
		delete(b.Listeners, port)
		return none, nil
	}
	if l == nil {
		return none, other("there is no listener on port %d", port)
	}
	switch s.Op {
	case v1.ModifyListener: // but for its certificates beyond the default one
		certificates := l.Certificates
		if s.Listener.Protocol != "HTTPS" {
			certificates = nil
		} else {
			if len(certificates) > 0 && !slices.Contains(s.Listener.Certificates, certificates[0]) {
				certificates = certificates[1:]
			}
			certificates = behind(s.Listener.Certificates[0], certificates)
		}
		l.Listener = *s.Listener
		l.Certificates = certificates
	case v1.AttachCertificate:
		if b.Certificates[s.CertificateID] == nil {
			return none, other("there is no certificate %s", s.CertificateID)
		}
		l.Certificates = append(l.Certificates, s.CertificateID)
		l.Certificates = behind(l.Certificates[0], l.Certificates)
	case v1.DetachCertificate:
		if len(l.Certificates) > 0 && l.Certificates[0] == s.CertificateID {
			return none, other("%s is the default certificate of port %d", s.CertificateID, port)
		}
		l.Certificates = slices.DeleteFunc(l.Certificates, func(id string) bool { return id == s.CertificateID })
	}
	return none, nil
}

func refuseListener(b *balancer, l *v1.Listener) *v1.Problem {
	switch set := l.Settings; {
	case !b.Exists:
		return other("there is no such load balancer")
	case l.Port < 1 || l.Port > 65535:
		return rejected("%d is not a port", l.Port)
	case l.Protocol == "HTTPS" && len(l.Certificates) == 0:
		return rejected("port %d: an HTTPS listener needs a certificate", l.Port)
	case len(set.Inbound) > 0, set.TLSPolicy != "", len(set.Attributes) > 0:
		return rejected("port %d: listeners of Caddy have neither inbound ranges nor TLS policies nor attributes", l.Port)
	case set.Clients != nil && set.Clients.Mode != "off":
		return rejected("port %d: the certificates of clients are not supported", l.Port)
	}
	for _, id := range l.Certificates {
		if b.Certificates[id] == nil {
			return other("there is no certificate %s", id)
		}
	}
	return refuseAction(b, l.Default)
}

func (p *provider) ruleStep(b *balancer, s v1.Step) (v1.Result, *v1.Problem) {
	l, none := b.Listeners[s.Port], v1.Result{}
	if l == nil {
		if s.Op == v1.DeleteRule {
			return none, nil
		}
		return none, other("there is no listener on port %d", s.Port)
	}
	if s.Op == v1.RenumberRules {
		return none, l.renumber(s)
	}
	at, found := slices.BinarySearchFunc(l.Rules, s.Priority, func(r v1.ObservedRule, n int) int { return cmp.Compare(r.Priority, n) })
	switch {
	case s.Op == v1.DeleteRule:
		if found && !same(l.Rules[at].Rule, *s.Rule) {
			return none, other("rule %d/%d is another one than the one to delete", s.Port, s.Priority)
		}
		if found {
			l.Rules = slices.Delete(l.Rules, at, at+1)
		}
		return none, nil
	case s.Op == v1.CreateRule && found:
		if !same(l.Rules[at].Rule, *s.Rule) {
			return none, other("priority %d/%d is in use", s.Port, s.Priority)
		}
		return v1.Result{Handle: l.Rules[at].Handle}, nil
	case s.Op == v1.ModifyRule && !found:
		return none, other("there is no rule %d/%d", s.Port, s.Priority)
	case s.Priority < 1 || s.Priority > maxPriority:
		return none, rejected("priority %d is not between 1 and %d", s.Priority, maxPriority)
	}
	if problem := refuseRule(b, *s.Rule); problem != nil {
		return none, problem
	}
	if found {
		l.Rules[at].Rule = *s.Rule
		return none, nil
	}
	rule := v1.ObservedRule{Priority: s.Priority, Rule: *s.Rule, Handle: p.handle()}
	l.Rules = slices.Insert(l.Rules, at, rule)
	return v1.Result{Handle: rule.Handle}, nil
}

// renumber gives rules the priorities that they are to have. Those that have moved already are left
// out, and a priority has to be free at the beginning, for an operator that sees half of this has
// to be able to go on.
func (l *listener) renumber(s v1.Step) *v1.Problem {
	to, taken := map[int]int{}, map[int]bool{}
	for _, n := range s.Priorities {
		to[n.From] = n.To
	}
	for _, r := range l.Rules {
		taken[r.Priority] = true
	}
	for _, r := range l.Rules {
		n, moves := to[r.Priority]
		switch {
		case !moves:
			continue
		case n < 1 || n > maxPriority:
			return rejected("priority %d is not between 1 and %d", n, maxPriority)
		case taken[n]:
			return other("priority %d/%d is in use", s.Port, n)
		}
		taken[n] = true
	}
	for i := range l.Rules {
		if n, moves := to[l.Rules[i].Priority]; moves {
			l.Rules[i].Priority = n
		}
	}
	slices.SortFunc(l.Rules, func(a, b v1.ObservedRule) int { return cmp.Compare(a.Priority, b.Priority) })
	return nil
}

// same reports whether two rules say the same: the order of conditions and values makes no
// difference.
func same(a, b v1.Rule) bool {
	one, err1 := json.Marshal(sorted(a))
	two, err2 := json.Marshal(sorted(b))
	return err1 == nil && err2 == nil && bytes.Equal(one, two)
}

func sorted(r v1.Rule) v1.Rule {
	r.Conditions = slices.Clone(r.Conditions)
	for i := range r.Conditions {
		c := &r.Conditions[i]
		c.Values, c.Regex = slices.Sorted(slices.Values(c.Values)), slices.Sorted(slices.Values(c.Regex))
	}
	slices.SortFunc(r.Conditions, func(a, b v1.Condition) int {
		return cmp.Or(cmp.Compare(a.Field, b.Field), cmp.Compare(a.Name, b.Name), slices.Compare(a.Values, b.Values), slices.Compare(a.Regex, b.Regex))
	})
	return r
}

// refuseRule says what Caddy cannot do of a rule.
func refuseRule(b *balancer, r v1.Rule) *v1.Problem {
	for _, c := range r.Conditions {
		if len(c.Regex) > 0 && c.Field != "host" && c.Field != "path" && c.Field != "header" {
			return rejected("the field %q cannot have regular expressions", c.Field)
		}
		if c.Field == "header" && strings.ContainsAny(c.Name, "_.") {
			return rejected("Caddy drops headers with an underscore or a dot in their name, such as %s", c.Name)
		}
		for _, value := range c.Values {
			if _, err := netip.ParsePrefix(value); c.Field == "source" && err != nil {
				return rejected("%q is not a range of addresses", value)
			}
		}
		if _, err := testOf(c); err != nil {
			return rejected("%v", err)
		}
	}
	return refuseAction(b, r.Action)
}

func refuseAction(b *balancer, a v1.Action) *v1.Problem {
	status := 200
	switch {
	case a.Auth != nil:
		return rejected("authentication (%s) is not supported", a.Auth.Kind)
	case a.Fixed != nil:
		status = a.Fixed.Status
	case a.Redirect != nil:
		status = a.Redirect.Status
	}
	if status < 200 || status > 599 {
		return rejected("%d is not a status that can be answered", status)
	}
	if a.Rewrite != nil {
		for _, expression := range []string{a.Rewrite.URL, a.Rewrite.Host} {
			if _, err := regexp.Compile(expression); err != nil {
				return rejected("%v", err)
			}
		}
	}
	for _, id := range groupsOf(a) {
		if b.Groups[id] == nil {
			return other("there is no target group %s", id)
		}
	}
	return nil
}

// groupsOf are the target groups that an action forwards to.
func groupsOf(a v1.Action) []string {
	var out []string
	if a.Forward != nil {
		for _, t := range a.Forward.Targets {
			out = append(out, t.TargetGroup)
		}
	}
	return out
}
