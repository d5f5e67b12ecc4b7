package plan

import (
	"cmp"
	"maps"
	"slices"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// A Step is one change to one load balancer: one API call or a few that belong together. The set of
// steps is closed. Do defines each step: the fake cloud runs it, and every other provider must have
// the same results.
//
// sumtype:decl
type Step interface {
	// Op returns the step's name: "create rule". With ID it names the step in a printed plan.
	Op() string
	// ID returns the object of the step within its load balancer: "443/rule/1200".
	ID() string
	// Detail returns further facts for readers of the plan.
	Detail() string
	// Do changes the observed load balancer as the step does, with the values that the cloud assigned.
	// A step that was already done changes nothing.
	Do(o *lb.Observed, r Result)

	step()
}

// A Result has the values that a cloud assigns when it carries out a step.
type Result struct {
	Handle   string     // the new object's
	Address  lb.Address // of a new load balancer
	Active   bool       // whether a new load balancer answers already
	Firewall string     // of a load balancer, if it has one
	Port     int32      // that clients of a new listener use; zero for its own
}

// The steps, in the order in which a new load balancer needs them.
type (
	// CreateLoadBalancer makes a load balancer without listeners.
	CreateLoadBalancer struct{ LoadBalancer lb.LoadBalancer }
	// ModifyLoadBalancer changes the settings of a load balancer.
	ModifyLoadBalancer struct{ LoadBalancer lb.LoadBalancer }
	// DeleteLoadBalancer deletes a load balancer with its listeners and rules. Separate steps delete target groups,
	// certificates and the firewall.
	DeleteLoadBalancer struct{ Key lb.Key }

	// SetWebACL associates a web ACL with the load balancer, or disassociates it.
	SetWebACL struct {
		Key    lb.Key
		WebACL string
	}
	// ShieldLoadBalancer adds Shield Advanced to the load balancer, or removes it.
	ShieldLoadBalancer struct {
		Key    lb.Key
		Shield string
	}

	// DeleteFirewall deletes the security group that a load balancer no longer uses.
	DeleteFirewall struct{ Key lb.Key }

	// ImportCertificate gives the provider a certificate and its key.
	ImportCertificate struct{ Certificate lb.Certificate }
	// ReplaceCertificate replaces the certificate Old by its successor on all listeners.
	ReplaceCertificate struct {
		Old lb.CertificateID
		New lb.Certificate
	}
	// ModifyCertificate changes the tags of a certificate.
	ModifyCertificate struct{ Certificate lb.Certificate }
	// DeleteCertificate deletes an unused certificate.
	DeleteCertificate struct{ Certificate lb.CertificateID }

	// CreateTargetGroup makes a target group without targets.
	CreateTargetGroup struct{ Group lb.TargetGroup }
	// ModifyTargetGroup changes the settings of a target group: health check, attributes and tags.
	ModifyTargetGroup struct{ Group lb.TargetGroup }
	// RegisterTargets registers a target group's first targets.
	RegisterTargets struct {
		Group   lb.GroupID
		Targets []lb.Target
	}
	// AwaitTargets waits until a target group has a healthy target. It changes nothing in the cloud;
	// until then, applying it returns ErrPending.
	AwaitTargets struct{ Group lb.GroupID }
	// DeleteTargetGroup deletes a target group that no rule uses.
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
	// DetachCertificate removes a certificate that is not the default one from a listener.
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
	// ModifyRule changes the rule at a priority.
	ModifyRule struct {
		Port     int32
		Priority int
		Rule     lb.Rule
	}
	// DeleteRule deletes the rule at a priority. Rule is the expected rule.
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

// Do adds the load balancer.
func (s CreateLoadBalancer) Do(o *lb.Observed, r Result) {
	o.Key, o.Exists, o.Digest = s.LoadBalancer.Key, true, s.LoadBalancer.Digest
	o.Handle, o.Address, o.Active, o.Firewall = r.Handle, r.Address, r.Active, r.Firewall
	setProtected(o, s.LoadBalancer)
}

// Do replaces the settings.
func (s ModifyLoadBalancer) Do(o *lb.Observed, r Result) {
	o.Digest = s.LoadBalancer.Digest
	setProtected(o, s.LoadBalancer)
	if r.Firewall != "" {
		o.Firewall = r.Firewall
	}
}

// setProtected sets whether the class protects the load balancer from deletion.
func setProtected(o *lb.Observed, want lb.LoadBalancer) {
	if want.Protected {
		o.Protected = lb.ByClass
	} else if o.Protected == lb.ByClass {
		o.Protected = ""
	}
}

// Do removes the load balancer with its listeners.
func (s DeleteLoadBalancer) Do(o *lb.Observed, _ Result) {
	*o = lb.Observed{Key: s.Key, TargetGroups: o.TargetGroups, Certificates: o.Certificates,
		Firewall: o.Firewall}
}

// Do sets the web ACL.
func (s SetWebACL) Do(o *lb.Observed, _ Result) { o.Protection.WebACL = s.WebACL }

// Do sets Shield Advanced.
func (s ShieldLoadBalancer) Do(o *lb.Observed, _ Result) { o.Protection.Shield = s.Shield }

// Do removes the firewall.
func (s DeleteFirewall) Do(o *lb.Observed, _ Result) { o.Firewall = "" }

// Do adds the certificate.
func (s ImportCertificate) Do(o *lb.Observed, r Result) {
	seen := lb.ObservedCertificate{Certificate: s.Certificate, Handle: r.Handle}
	seen.Secrets, seen.Pair, seen.Tags, seen.Origin, seen.MostOfNamespace = nil, nil, nil, nil, 0
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

// Do replaces the name of the certificate everywhere.
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
	seen.NodeLabels = ""
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

// Do records that the first targets are registered.
func (s RegisterTargets) Do(o *lb.Observed, _ Result) {
	if g := o.TargetGroup(s.Group); g != nil {
		g.Registered = true
	}
}

// Do records that the group is ready for requests.
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

// Do replaces everything except the rules and further certificates. The old default certificate
// stays as a further one if the listener still lists it.
func (s ModifyListener) Do(o *lb.Observed, _ Result) {
	l := o.Listener(s.Listener.Port)
	if l == nil {
		return
	}
	l.Protocol, l.Verifies, l.Digest, l.Default = s.Listener.Protocol, s.Listener.Verifies,
		s.Listener.Digest, s.Listener.Default
	l.ClientSecrets, l.Others = s.Listener.Settings.ClientSecrets, false
	if s.Listener.Protocol != routing.HTTPS || len(s.Listener.Certificates) == 0 {
		l.Certificates = nil
		return
	}
	if len(l.Certificates) > 0 && !slices.Contains(s.Listener.Certificates, l.Certificates[0]) {
		l.Certificates = l.Certificates[1:]
	}
	l.Certificates = withDefault(l.Certificates, s.Listener.Certificates[0])
}

// Do adds the certificate after the default one.
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

// Do removes the certificate, unless it is the default one.
func (s DetachCertificate) Do(o *lb.Observed, _ Result) {
	if l := o.Listener(s.Port); l != nil && len(l.Certificates) > 0 &&
		l.Certificates[0] != s.Certificate {
		l.Certificates = slices.DeleteFunc(l.Certificates, func(id lb.CertificateID) bool {
			return id == s.Certificate
		})
	}
}

// withDefault returns a listener's certificates in canonical order: the default one, then the
// others.
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

// reachedAt returns a copy of ports in which clients reach port at the port at, or at itself if
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
	rule := lb.ObservedRule{Rule: withoutOrigin(s.Rule), Priority: s.Priority, Handle: r.Handle}
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
			rule.Rule = withoutOrigin(s.Rule)
			clearReady(o, before)
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
			clearReady(o, before)
		}
	}
}

// clearReady marks the groups of a removed action as not ready, if no other rule names them: the
// cloud checks their health anew once a rule does.
func clearReady(o *lb.Observed, before lb.Action) {
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

// withoutOrigin returns a rule without the fields of the desired side.
func withoutOrigin(r lb.Rule) lb.Rule {
	r.Origin, r.Stays = nil, false
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
