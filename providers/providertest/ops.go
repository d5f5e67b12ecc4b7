package providertest

import (
	"slices"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
)

// This file has clauses on single ops that no stage distinguishes from another reading.

// expectAfter applies a step and checks that what it does is reported.
func (c cloud) expectAfter(step plan.Step) {
	c.t.Helper()
	seen := c.observe(c.own)
	step.Do(seen, c.apply(seen, step))
	if diff := differences(seen, c.observe(c.own)); diff != "" {
		c.t.Errorf("after %s: %s", describe(step), diff)
	}
}

func (s suite) openPort() {
	c := s.cloud()
	c.run(c.observe(c.own), s.stages[0].want)
	again := s.stages[0].want.Listeners[0]
	again.Default = fixed(410)
	c.expectAfter(plan.CreateListener{Listener: again})
}

func (s suite) listenerCertificates() {
	c := s.cloud()
	l := lb.Listener{}
	for _, stage := range s.stages {
		c.run(c.observe(c.own), stage.want)
		at := slices.IndexFunc(stage.want.Listeners, func(l lb.Listener) bool {
			return l.Protocol == routing.HTTPS && len(l.Certificates) > 1
		})
		if at >= 0 {
			l = stage.want.Listeners[at]
			break
		}
	}
	if l.Port == 0 {
		c.t.Skipf("no listener has several certificates")
	}
	all := l.Certificates
	l.Default, l.Certificates = fixed(410), all[:1]
	c.expectAfter(plan.ModifyListener{Listener: l})
	c.expectAfter(plan.DetachCertificate{Port: l.Port, Certificate: all[1]})
	l.Default, l.Certificates = fixed(403), all
	c.expectAfter(plan.ModifyListener{Listener: l})
}

func (s suite) firstTargets() {
	if s.spare == nil {
		s.t.Skipf("there is no target")
	}
	c := s.cloud()
	first := s.stages[0].want
	c.run(c.observe(c.own), first)
	c.expectAfter(plan.RegisterTargets{Group: web, Targets: []lb.Target{*s.spare}})
	c.expectMembers(web, append(slices.Clone(first.TargetGroups[0].Targets), *s.spare))
}

func (s suite) renumbered() {
	c := s.cloud()
	for _, stage := range s.stages[:2] {
		c.run(c.observe(c.own), stage.want)
	}
	rules := c.observe(c.own).Listeners[0].Rules
	last := rules[len(rules)-1].Priority
	to := last + 1
	if most := c.Capabilities(lb.Class{}).MaxPriority; most > 0 && to > most {
		c.t.Skipf("the last priority is in use")
	}
	c.expectAfter(plan.RespaceRules{Port: 80, To: map[int]int{last: to}})
	c.expectAfter(plan.RespaceRules{Port: 80, To: map[int]int{last: to}}) // which has happened
}
