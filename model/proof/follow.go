package proof

import (
	"maps"
	"slices"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// This file follows the steps in the order of the plan, with the objects that each needs, creates
// and deletes.

// follow returns the course of a plan from the load balancer seen to the one wanted.
func follow(seen *lb.Observed, want lb.LoadBalancer, p plan.Plan, d lb.Dialect) *Course {
	c := &Course{order: newOrder(p), seen: seen, want: want, plan: p, dialect: d,
		Ports: map[int32]*port{}, facts: map[string]*fact{}, Namers: map[lb.GroupID][]*span{},
		known: map[string]*span{}}
	c.followAll()
	c.checkEnd()
	return c
}

// followAll records the objects before the plan, and follows the steps.
func (c *Course) followAll() {
	c.fact(balancer).there = c.seen.Exists
	for _, g := range c.seen.TargetGroups {
		c.fact(group(g.ID)).there = true
	}
	for g := range c.groupsOfOthers() {
		c.fact(group(g)).there = true
	}
	for _, one := range c.seen.Certificates {
		c.fact(certificate(one.ID)).there = true
	}
	for _, one := range c.want.Certificates {
		c.fact(certificate(one.ID)) // plans do not import others
	}
	for _, s := range c.plan.Steps { // Steps need only targets that a step of the plan registers.
		if s, is := s.Step.(plan.RegisterTargets); is {
			g := c.seen.TargetGroup(s.Group)
			c.fact(targets(s.Group)).there = g != nil && g.Registered
		}
	}
	for _, l := range c.seen.Listeners {
		c.fact(listener(l.Port)).there = true
		c.port(l.Port).Protocol, c.port(l.Port).verifies = l.Protocol, l.Verifies
		c.add(never, l.Port, defaultPriority, lb.Rule{Action: l.Default})
		for _, r := range l.Rules {
			c.add(never, l.Port, r.Priority, r.Rule)
		}
		for i, id := range l.Certificates {
			if c.startServing(never, l.Port, id); i == 0 {
				c.port(l.Port).standard = id
			}
		}
	}
	for i, s := range c.plan.Steps {
		c.follow(i, s.Step)
	}
}

// groupsOfOthers yields the target groups that others made and rules name. Plans do not make them.
func (c *Course) groupsOfOthers() func(yield func(lb.GroupID) bool) {
	var actions []lb.Action
	for _, l := range c.seen.Listeners {
		actions = append(actions, l.Default)
		for _, r := range l.Rules {
			actions = append(actions, r.Action)
		}
	}
	for _, l := range c.want.Listeners {
		actions = append(actions, l.Default)
		for _, r := range l.Rules {
			actions = append(actions, r.Action)
		}
	}
	return func(yield func(lb.GroupID) bool) {
		for _, a := range actions {
			for _, g := range a.Groups() {
				if lb.OthersMade(g) && !yield(g) {
					return
				}
			}
		}
	}
}

// checkEnd refutes plans that do not lead to the wanted load balancer.
func (c *Course) checkEnd() {
	acl := c.seen.Protection.WebACL
	for _, s := range c.plan.Steps {
		if set, is := s.Step.(plan.SetWebACL); is {
			acl = set.WebACL
		}
	}
	if want := c.want.Protection; want.HasWebACL() && want.WebACL != lb.Unsettled && want.WebACL != acl {
		c.fail(c.AllSteps(), "after the plan, the web ACL is not there")
	}
	for port, p := range c.Ports {
		var is []lb.Rule
		for _, at := range slices.Sorted(maps.Keys(p.live)) {
			if s := p.live[at]; !plan.Parked(s.Rule) {
				is = append(is, s.Rule)
			}
		}
		var wanted []lb.Rule
		if at := slices.IndexFunc(c.want.Listeners, func(l lb.Listener) bool {
			return l.Port == port
		}); at >= 0 {
			l := c.want.Listeners[at]
			wanted = append(slices.Clone(l.Rules), lb.Rule{Action: l.Default})
		} else if l := c.seen.Listener(port); l != nil && c.want.Leaves(l) {
			wanted = slices.Concat(l.Plain().Rules, []lb.Rule{{Action: l.Default}})
		}
		if !slices.EqualFunc(is, wanted, lb.SameRule) {
			c.fail(c.AllSteps(), "after the plan, port %d does not have the rules that are wanted", port)
		}
	}
	for _, l := range c.want.Listeners {
		if c.Ports[l.Port] == nil {
			c.fail(c.AllSteps(), "after the plan, port %d is closed", l.Port)
		}
		c.checkListener(l)
	}
	for g, namers := range c.Namers {
		staying := slices.ContainsFunc(namers, func(s *span) bool { return s.Until == never })
		if staying && !c.fact(group(g)).there {
			c.fail(c.AllSteps(), "after the plan, a rule names %s, which is not there", group(g))
		}
	}
	for _, g := range c.want.TargetGroups {
		seen := c.seen.TargetGroup(g.ID)
		if len(g.Targets) > 0 && (seen == nil || !seen.Registered) && c.facts[targets(g.ID)] == nil {
			c.fail(c.AllSteps(), "no step registers %s", targets(g.ID))
		}
	}
}

// follow records what a step changes.
func (c *Course) follow(i int, s plan.Step) {
	switch s := s.(type) {
	case plan.CreateLoadBalancer:
		c.setFacts(i, true, balancer)
	case plan.ModifyLoadBalancer, plan.SetWebACL, plan.ShieldLoadBalancer:
		c.need(i, balancer)
	case plan.DeleteLoadBalancer:
		for port := range c.Ports {
			c.closePort(i, port)
		}
		c.setFacts(i, false, balancer)
	case plan.ImportCertificate:
		c.setFacts(i, true, certificate(s.Certificate.ID))
	case plan.ReplaceCertificate:
		c.replaceCertificate(i, s.Old, s.New.ID)
	case plan.DeleteCertificate:
		c.checkUnserved(i, s.Certificate)
		c.setFacts(i, false, certificate(s.Certificate))
	case plan.CreateTargetGroup:
		c.setFacts(i, true, group(s.Group.ID))
	case plan.RegisterTargets:
		c.need(i, group(s.Group))
		c.setFacts(i, true, targets(s.Group))
	case plan.AwaitTargets:
		c.need(i, append(c.filledFacts(s.Group), group(s.Group))...)
	case plan.DeleteTargetGroup:
		c.setFacts(i, false, group(s.Group))
	case plan.CreateListener:
		c.openPort(i, s.Listener)
	case plan.ModifyListener:
		c.changePort(i, s.Listener)
	case plan.DeleteListener:
		c.closePort(i, s.Port)
	case plan.CreateRule:
		c.add(i, s.Port, s.Priority, s.Rule)
	case plan.ModifyRule:
		c.replace(i, s.Port, s.Priority, s.Rule)
	case plan.DeleteRule:
		c.end(i, s.Port, s.Priority)
	case plan.RespaceRules:
		c.respace(i, s)
	case plan.AttachCertificate:
		c.need(i, listener(s.Port))
		c.startServing(i, s.Port, s.Certificate)
	case plan.DetachCertificate:
		if c.port(s.Port).standard == s.Certificate {
			c.fail(c.WithPredecessors(i), "%s takes the default certificate", c.Name(i))
		}
		c.stopServing(i, s.Port, s.Certificate)
	case plan.ModifyCertificate, plan.ModifyTargetGroup, plan.DeleteFirewall:
		// They change no rule, and no step waits for them.
	}
}

func (c *Course) openPort(i int, l lb.Listener) {
	c.need(i, balancer)
	c.setFacts(i, true, listener(l.Port))
	c.port(l.Port).Opens, c.port(l.Port).Protocol = i, l.Protocol
	c.port(l.Port).verifies = l.Verifies
	c.add(i, l.Port, defaultPriority, lb.Rule{Action: l.Default})
	for _, id := range l.Certificates {
		c.startServing(i, l.Port, id)
	}
	c.setDefault(i, l)
}

func (c *Course) changePort(i int, l lb.Listener) {
	c.setDefault(i, l)
	next := lb.Rule{Action: l.Default}
	c.port(l.Port).Protocol = l.Protocol
	c.port(l.Port).verifies = l.Verifies
	if at := c.port(l.Port).live[defaultPriority]; at != nil && lb.SameRule(at.Rule, next) {
		c.setFacts(i, false, placeFact(l.Port, defaultPriority))
		c.setFacts(i, true, placeFact(l.Port, defaultPriority))
		return
	}
	c.replace(i, l.Port, defaultPriority, next)
}

func (c *Course) closePort(step int, port int32) {
	p := c.port(port)
	for priority := range p.live {
		c.end(step, port, priority)
	}
	for _, id := range slices.Sorted(maps.Keys(p.serves)) {
		c.stopServing(step, port, id)
	}
	p.Closes = step
	c.setFacts(step, false, listener(port))
}

// filledFacts returns the facts of a target group that gets its first targets in the plan.
func (c *Course) filledFacts(g lb.GroupID) []string {
	if c.facts[targets(g)] == nil {
		return nil
	}
	return []string{targets(g)}
}
