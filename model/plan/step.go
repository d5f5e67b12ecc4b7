package plan

import (
	"cmp"
	"maps"
	"slices"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// A Step is one change to one load balancer: one API call or a few that belong together. The
// set of steps is closed. What a step means is Do, and nothing else: the fake cloud runs it,
// every other provider is held to it.
//
//sumtype:decl
type Step interface {
	// Op is the step's name: "create rule". With ID it names the step in a printed plan.
	Op() string
	// ID is the object the step is about, within its load balancer: "443/rule/1200".
	ID() string
	// Detail has more facts for a reader of the plan.
	Detail() string
	// Do makes the step true of what is known of the load balancer, given what the cloud
	// assigned. A step that already holds changes nothing.
	Do(o *lb.Observed, r Result)

	step()
}

// A Result is what a cloud assigns when it carries out a step.
type Result struct {
	Handle   string     // the new object's
	Address  lb.Address // of a new load balancer
	Active   bool       // whether a new load balancer answers already
	Firewall string     // of a load balancer, where one is kept beside it
	Port     int32      // that a new listener is really reached at; zero for its own
}

// The steps, in the order in which a new load balancer needs them.
type (
	// CreateLoadBalancer makes a load balancer without listeners.
	CreateLoadBalancer struct{ LoadBalancer lb.LoadBalancer }
	// ModifyLoadBalancer changes its settings.
	ModifyLoadBalancer struct{ LoadBalancer lb.LoadBalancer }
	// DeleteLoadBalancer deletes it with its listeners and rules. Target groups, certificates and
	// the firewall stay for steps of their own.
	DeleteLoadBalancer struct{ Key lb.Key }

	// GuardLoadBalancer puts a web ACL before the load balancer, or takes away what was put there.
	GuardLoadBalancer struct {
		Key    lb.Key
		WebACL string
	}
	// ShieldLoadBalancer gives the load balancer a shield, or takes away what it was given.
	ShieldLoadBalancer struct {
		Key    lb.Key
		Shield string
	}

	// DeleteFirewall removes the security group in front of a load balancer that does not use it any
	// more.
	DeleteFirewall struct{ Key lb.Key }

	// ImportCertificate gives the provider a certificate and its key.
	ImportCertificate struct{ Certificate lb.Certificate }
	// ReplaceCertificate makes the certificate Old into its successor: whatever serves the one
	// serves the other from now on.
	ReplaceCertificate struct {
		Old lb.CertificateID
		New lb.Certificate
	}
	// ModifyCertificate changes its tags.
	ModifyCertificate struct{ Certificate lb.Certificate }
	// DeleteCertificate removes one that nothing uses any more.
	DeleteCertificate struct{ Certificate lb.CertificateID }

	// CreateTargetGroup makes a target group without targets.
	CreateTargetGroup struct{ Group lb.TargetGroup }
	// ModifyTargetGroup changes its settings: health check, attributes and tags.
	ModifyTargetGroup struct{ Group lb.TargetGroup }
	// RegisterTargets registers a target group's first targets.
	RegisterTargets struct {
		Group   lb.GroupID
		Targets []lb.Target
	}
	// AwaitTargets holds until a target group has a healthy target. It changes nothing in the
	// cloud; until it holds, applying it says ErrPending.
	AwaitTargets struct{ Group lb.GroupID }
	// DeleteTargetGroup removes one that no rule uses any more.
	DeleteTargetGroup struct{ Group lb.GroupID }

	// CreateListener opens a port with its certificates and default action, without rules.
	CreateListener struct{ Listener lb.Listener }
	// ModifyListener changes a listener's protocol, settings, default certificate and default action.
	ModifyListener struct{ Listener lb.Listener }
	// AttachCertificate adds a certificate to a listener.
	AttachCertificate struct {
		Port        int32
		Certificate lb.CertificateID
	}
	// DetachCertificate takes a certificate that is not the default one from a listener.
	DetachCertificate struct {
		Port        int32
		Certificate lb.CertificateID
	}
	// DeleteListener closes a port, with all of its rules.
	DeleteListener struct{ Port int32 }

	// CreateRule adds a rule at an unused priority.
	CreateRule struct {
		Port     int32
		Priority int
		Rule     lb.Rule
	}
	// ModifyRule changes the rule at a priority into its successor.
	ModifyRule struct {
		Port     int32
		Priority int
		Rule     lb.Rule
	}
	// DeleteRule removes the rule at a priority. Rule is what it is expected to be.
	DeleteRule struct {
		Port     int32
		Priority int
		Rule     lb.Rule
	}
	// RespaceRules gives rules new priorities in one call, keeping their order.
	RespaceRules struct {
		Port int32
		To   map[int]int // by the old priority
	}
)

// Do makes the load balancer exist.
func (s CreateLoadBalancer) Do(o *lb.Observed, r Result) {
	o.Key, o.Exists, o.Digest = s.LoadBalancer.Key, true, s.LoadBalancer.Digest
	o.Handle, o.Address, o.Active, o.Firewall = r.Handle, r.Address, r.Active, r.Firewall
	protect(o, s.LoadBalancer)
}

// Do replaces the settings.
func (s ModifyLoadBalancer) Do(o *lb.Observed, r Result) {
	o.Digest = s.LoadBalancer.Digest
	protect(o, s.LoadBalancer)
	if r.Firewall != "" {
		o.Firewall = r.Firewall
	}
}

// protect notes whether its class protects the load balancer from being deleted.
func protect(o *lb.Observed, want lb.LoadBalancer) {
	if want.Protected {
		o.Protected = lb.ByClass
	} else if o.Protected == lb.ByClass {
		o.Protected = ""
	}
}

// Do removes the load balancer and what lies inside it.
func (s DeleteLoadBalancer) Do(o *lb.Observed, _ Result) {
	*o = lb.Observed{Key: s.Key, TargetGroups: o.TargetGroups, Certificates: o.Certificates,
		Firewall: o.Firewall}
}

// Do notes which web ACL stands there.
func (s GuardLoadBalancer) Do(o *lb.Observed, _ Result) { o.Protection.WebACL = s.WebACL }

// Do notes whether there is a shield.
func (s ShieldLoadBalancer) Do(o *lb.Observed, _ Result) { o.Protection.Shield = s.Shield }

// Do forgets the firewall.
func (s DeleteFirewall) Do(o *lb.Observed, _ Result) { o.Firewall = "" }

// Do adds the certificate.
func (s ImportCertificate) Do(o *lb.Observed, r Result) {
	seen := lb.ObservedCertificate{Certificate: s.Certificate, Handle: r.Handle}
	seen.Secrets, seen.Pair, seen.Tags, seen.Origin = nil, nil, nil, nil
	if old := o.Certificate(s.Certificate.ID); old != nil {
		*old = seen
		return
	}
	at, _ := slices.BinarySearchFunc(o.Certificates, s.Certificate.ID,
		func(c lb.ObservedCertificate, id lb.CertificateID) int {
			return cmp.Compare(c.ID, id)
		})
	o.Certificates = slices.Insert(o.Certificates, at, seen)
}

// Do renames the certificate wherever it is named.
func (s ReplaceCertificate) Do(o *lb.Observed, _ Result) {
	old := o.Certificate(s.Old)
	if old == nil {
		return
	}
	handle := old.Handle
	DeleteCertificate{s.Old}.Do(o, Result{})
	ImportCertificate{s.New}.Do(o, Result{Handle: handle})
	for i := range o.Listeners {
		l := &o.Listeners[i]
		if at := slices.Index(l.Certificates, s.Old); at >= 0 {
			l.Certificates[at] = s.New.ID
			l.Certificates = withDefault(l.Certificates, l.Certificates[0])
		}
	}
}

// Do replaces the settings.
func (s ModifyCertificate) Do(o *lb.Observed, _ Result) {
	if c := o.Certificate(s.Certificate.ID); c != nil {
		c.Digest = s.Certificate.Digest
	}
}

// Do removes the certificate.
func (s DeleteCertificate) Do(o *lb.Observed, _ Result) {
	o.Certificates = slices.DeleteFunc(o.Certificates, func(c lb.ObservedCertificate) bool {
		return c.ID == s.Certificate
	})
}

// Do adds the target group, empty and not ready.
func (s CreateTargetGroup) Do(o *lb.Observed, r Result) {
	if o.TargetGroup(s.Group.ID) != nil {
		return
	}
	seen := lb.ObservedTargetGroup{TargetGroup: s.Group, Handle: r.Handle}
	seen.Health, seen.Attributes, seen.Tags, seen.Targets = routing.HealthCheck{}, nil, nil, nil
	at, _ := slices.BinarySearchFunc(o.TargetGroups, s.Group.ID,
		func(g lb.ObservedTargetGroup, id lb.GroupID) int {
			return cmp.Compare(g.ID, id)
		})
	o.TargetGroups = slices.Insert(o.TargetGroups, at, seen)
}

// Do replaces the settings.
func (s ModifyTargetGroup) Do(o *lb.Observed, _ Result) {
	if g := o.TargetGroup(s.Group.ID); g != nil {
		g.Digest = s.Group.Digest
	}
}

// Do notes that the first targets are there.
func (s RegisterTargets) Do(o *lb.Observed, _ Result) {
	if g := o.TargetGroup(s.Group); g != nil {
		g.Registered = true
	}
}

// Do notes that requests can be sent to the group.
func (s AwaitTargets) Do(o *lb.Observed, _ Result) {
	if g := o.TargetGroup(s.Group); g != nil {
		g.Ready = true
	}
}

// Do removes the target group.
func (s DeleteTargetGroup) Do(o *lb.Observed, _ Result) {
	o.TargetGroups = slices.DeleteFunc(o.TargetGroups, func(g lb.ObservedTargetGroup) bool {
		return g.ID == s.Group
	})
}

// Do opens the port.
func (s CreateListener) Do(o *lb.Observed, r Result) {
	if o.Listener(s.Listener.Port) != nil {
		return
	}
	seen := lb.ObservedListener{
		Port: s.Listener.Port, Protocol: s.Listener.Protocol,
		Certificates: slices.Clone(s.Listener.Certificates),
		Verifies:     s.Listener.Verifies, Digest: s.Listener.Digest,
		ClientSecrets: s.Listener.Settings.ClientSecrets, Default: s.Listener.Default, Handle: r.Handle,
	}
	at, _ := slices.BinarySearchFunc(o.Listeners, s.Listener.Port,
		func(l lb.ObservedListener, port int32) int {
			return int(l.Port - port)
		})
	o.Listeners = slices.Insert(o.Listeners, at, seen)
	o.Address.Ports = reachedAt(o.Address.Ports, s.Listener.Port, r.Port)
}

// Do replaces everything but the rules and the certificates beyond the default one. The old
// default certificate stays as one of these if the listener still wants it.
func (s ModifyListener) Do(o *lb.Observed, _ Result) {
	l := o.Listener(s.Listener.Port)
	if l == nil {
		return
	}
	l.Protocol, l.Verifies, l.Digest, l.Default = s.Listener.Protocol, s.Listener.Verifies,
		s.Listener.Digest, s.Listener.Default
	l.ClientSecrets = s.Listener.Settings.ClientSecrets
	if s.Listener.Protocol != routing.HTTPS || len(s.Listener.Certificates) == 0 {
		l.Certificates = nil
		return
	}
	if len(l.Certificates) > 0 && !slices.Contains(s.Listener.Certificates, l.Certificates[0]) {
		l.Certificates = l.Certificates[1:]
	}
	l.Certificates = withDefault(l.Certificates, s.Listener.Certificates[0])
}

// Do adds the certificate behind the default one.
func (s AttachCertificate) Do(o *lb.Observed, _ Result) {
	l := o.Listener(s.Port)
	if l == nil || slices.Contains(l.Certificates, s.Certificate) {
		return
	}
	if len(l.Certificates) == 0 {
		l.Certificates = []lb.CertificateID{s.Certificate}
		return
	}
	l.Certificates = withDefault(append(l.Certificates, s.Certificate), l.Certificates[0])
}

// Do takes the certificate away, unless it is the default one.
func (s DetachCertificate) Do(o *lb.Observed, _ Result) {
	if l := o.Listener(s.Port); l != nil && len(l.Certificates) > 0 &&
		l.Certificates[0] != s.Certificate {
		l.Certificates = slices.DeleteFunc(l.Certificates, func(id lb.CertificateID) bool {
			return id == s.Certificate
		})
	}
}

// withDefault is a listener's certificates in canonical order behind a default one.
func withDefault(all []lb.CertificateID, first lb.CertificateID) []lb.CertificateID {
	rest := slices.DeleteFunc(slices.Clone(all), func(id lb.CertificateID) bool { return id == first })
	slices.Sort(rest)
	return append([]lb.CertificateID{first}, rest...)
}

// Do closes the port.
func (s DeleteListener) Do(o *lb.Observed, _ Result) {
	o.Listeners = slices.DeleteFunc(o.Listeners, func(l lb.ObservedListener) bool {
		return l.Port == s.Port
	})
	o.Address.Ports = reachedAt(o.Address.Ports, s.Port, 0)
}

// reachedAt is a copy of ports in which port is really reached at another one, or at its own if
// that is zero.
func reachedAt(ports map[int32]int32, port, at int32) map[int32]int32 {
	out := maps.Clone(ports)
	delete(out, port)
	if at != 0 {
		if out == nil {
			out = map[int32]int32{}
		}
		out[port] = at
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// Do adds the rule at its priority.
func (s CreateRule) Do(o *lb.Observed, r Result) {
	l := o.Listener(s.Port)
	if l == nil {
		return
	}
	rule := lb.ObservedRule{Rule: plain(s.Rule), Priority: s.Priority, Handle: r.Handle}
	at, found := slices.BinarySearchFunc(l.Rules, s.Priority, func(r lb.ObservedRule, p int) int {
		return r.Priority - p
	})
	if found {
		l.Rules[at] = rule
		return
	}
	l.Rules = slices.Insert(l.Rules, at, rule)
}

// Do replaces the rule's content.
func (s ModifyRule) Do(o *lb.Observed, _ Result) {
	if l := o.Listener(s.Port); l != nil {
		if rule := l.Rule(s.Priority); rule != nil {
			before := rule.Action
			rule.Rule = plain(s.Rule)
			unchecked(o, before)
		}
	}
}

// Do removes the rule.
func (s DeleteRule) Do(o *lb.Observed, _ Result) {
	if l := o.Listener(s.Port); l != nil {
		if rule := l.Rule(s.Priority); rule != nil {
			before := rule.Action
			l.Rules = slices.DeleteFunc(l.Rules, func(r lb.ObservedRule) bool {
				return r.Priority == s.Priority
			})
			unchecked(o, before)
		}
	}
}

// unchecked notes that the groups of an action that went are not known to be healthy any more, if
// no other rule names them: a rule that names one later has it checked from the beginning.
func unchecked(o *lb.Observed, before lb.Action) {
	if len(before.Targets) == 0 {
		return
	}
	named := GroupsInUse(o)
	for _, g := range before.Groups() {
		if group := o.TargetGroup(g); group != nil && !named[g] {
			group.Ready = false
		}
	}
}

// Do renumbers the rules.
func (s RespaceRules) Do(o *lb.Observed, _ Result) {
	l := o.Listener(s.Port)
	if l == nil {
		return
	}
	for i := range l.Rules {
		if to, ok := s.To[l.Rules[i].Priority]; ok {
			l.Rules[i].Priority = to
		}
	}
	slices.SortFunc(l.Rules, func(a, b lb.ObservedRule) int { return a.Priority - b.Priority })
}

// plain is a rule without what only the desired side knows.
func plain(r lb.Rule) lb.Rule {
	r.Origin = nil
	return r
}

// GroupsInUse returns the target groups that a rule or a default action names.
func GroupsInUse(o *lb.Observed) map[lb.GroupID]bool {
	out := map[lb.GroupID]bool{}
	for _, l := range o.Listeners {
		for _, g := range l.Default.Groups() {
			out[g] = true
		}
		for _, r := range l.Rules {
			for _, g := range r.Action.Groups() {
				out[g] = true
			}
		}
	}
	return out
}
