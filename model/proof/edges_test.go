package proof_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/planner"
	"fairlead.dev/fairlead/model/proof"
	"fairlead.dev/fairlead/model/routing"
)

// This file takes from plans the dependencies of one kind, as a planner would that has forgotten it,
// and looks whether they are refuted.

func TestEachKindOfOrderIsMissed(t *testing.T) {
	kinds := map[string]func(first, then plan.Step) bool{
		"a rule waits for the rules above it":             both[plan.CreateRule, plan.CreateRule],
		"a rule goes after the rules below it":            both[plan.DeleteRule, plan.DeleteRule],
		"a rule goes after the new rules of its requests": both[plan.CreateRule, plan.DeleteRule],
		"a rule widens after the rules above it":          both[plan.CreateRule, plan.ModifyRule],
		"a rule narrows after those below it are gone":    both[plan.DeleteRule, plan.ModifyRule],
		"the default changes after rules are added":       both[plan.CreateRule, plan.ModifyListener],
		"rules go after the default has changed":          both[plan.ModifyListener, plan.DeleteRule],
		"rules wait for their listener":                   both[plan.CreateListener, plan.CreateRule],
		"listeners wait for their load balancer":          both[plan.CreateLoadBalancer, plan.CreateListener],
		"targets wait for their group":                    both[plan.CreateTargetGroup, plan.RegisterTargets],
		"rules wait for targets":                          both[plan.RegisterTargets, plan.CreateRule],
		"a wait begins when a rule names the group":       both[plan.CreateRule, plan.AwaitTargets],
		"rules wait for healthy targets":                  both[plan.AwaitTargets, plan.CreateRule],
		"rules that switch wait for healthy targets":      both[plan.AwaitTargets, plan.ModifyRule],
		"new numbers come before rules go":                both[plan.RespaceRules, plan.DeleteRule],
		"a group goes after the rules that name it":       both[plan.DeleteRule, plan.DeleteTargetGroup],
		"a group goes after the listener that names it":   both[plan.DeleteListener, plan.DeleteTargetGroup],
		"a group goes after the rules that switch":        both[plan.ModifyRule, plan.DeleteTargetGroup],
		"rules wait for clients to be verified":           both[plan.ModifyListener, plan.CreateRule],
		"rules wait for the web ACL":                      both[plan.SetWebACL, plan.CreateRule],
		"rules go after the web ACL is there":             both[plan.SetWebACL, plan.DeleteRule],
		"a web ACL goes after the rules behind it":        both[plan.DeleteRule, plan.SetWebACL],
		"a web ACL goes after the rules above those":      both[plan.CreateRule, plan.SetWebACL],
		"certificates are attached after they are there":  both[plan.ImportCertificate, plan.AttachCertificate],
		"a certificate waits for its successor":           both[plan.AttachCertificate, plan.DetachCertificate],
		"a default certificate waits for others":          both[plan.AttachCertificate, plan.ModifyListener],
		"a certificate goes after it is detached":         both[plan.DetachCertificate, plan.DeleteCertificate],
	}
	t.Logf("-seed %d", *seed)
	missed := map[string]int{}
	for n := 0; n < 30_000 && len(missed) < len(kinds); n++ {
		d := drawing{rand.New(rand.NewPCG(*seed, uint64(n))), lb.ALB(), []lb.Action{fixed(404), forward("A"), forward("B"), forward("C"), fixed(403)}}
		from := d.balancer(5)
		want := d.changed(from)
		if n%10 == 1 {
			want = d.balancer(5)
		}
		seen := d.built(from)
		if n%10 == 0 {
			seen = &lb.Observed{Key: want.Key}
		}
		d.webACL(seen, &want)
		p := planner.Diff(seen, want, d.caps)
		for name, kind := range kinds {
			if missed[name] > 0 {
				continue
			}
			if forgot, some := without(p, kind); some && proof.Check(seen, want, forgot, d.caps.Dialect).Result == proof.Refuted {
				missed[name]++
			}
		}
	}
	for name := range kinds {
		if missed[name] == 0 {
			t.Errorf("no plan is refuted for lack of the order: %s", name)
		}
	}
}

func both[A, B plan.Step](first, then plan.Step) bool {
	_, one := first.(A)
	_, other := then.(B)
	return one && other
}

// without is a plan whose steps do not wait for others of a kind, and whether any did. What a step
// waited for through those, it goes on to wait for.
func without(p plan.Plan, kind func(first, then plan.Step) bool) (plan.Plan, bool) {
	some := false
	p.Steps = slices.Clone(p.Steps)
	old := slices.Clone(p.Steps)
	for i := range p.Steps {
		var after []int
		for _, a := range old[i].After {
			if !kind(old[a].Step, old[i].Step) {
				after = append(after, a)
				continue
			}
			some = true
			for _, b := range old[a].After {
				if !kind(old[b].Step, old[i].Step) {
					after = append(after, b)
				}
			}
		}
		slices.Sort(after)
		p.Steps[i].After = slices.Compact(after)
	}
	return p, some
}

func TestARefusalNamesTheStepAndARequest(t *testing.T) {
	c := lb.ALB()
	d := drawing{caps: c}
	group := []lb.TargetGroup{{ID: "A", Targets: []lb.Target{{Address: "10.0.0.1", Port: 80}}}}
	rule := func(path string, a lb.Action) lb.Rule {
		return lb.Rule{Action: a, Conditions: []lb.Condition{{Field: "path", Values: []string{path}}}}
	}
	want := lb.LoadBalancer{Key: "k", Wanted: true, TargetGroups: group, Listeners: []lb.Listener{{Port: 80, Protocol: routing.HTTP, Default: fixed(404),
		Rules: []lb.Rule{rule("/admin/*", fixed(403)), rule("/*", forward("A"))}}}}
	before := want
	before.Listeners = []lb.Listener{{Port: 80, Protocol: routing.HTTP, Default: fixed(404)}}
	seen := d.stands(before)
	p := plan.Plan{Steps: []plan.Planned{
		{Step: plan.CreateRule{Port: 80, Priority: 10, Rule: want.Listeners[0].Rules[0]}},
		{Step: plan.CreateRule{Port: 80, Priority: 20, Rule: want.Listeners[0].Rules[1]}},
	}}
	v := proof.Check(seen, want, p, c.Dialect)
	if v.Result != proof.Refuted || fmt.Sprint(v.Done) != "[1]" || v.Request == nil || v.Request.Path != "/admin/" || v.Request.Port != 80 {
		t.Errorf("the verdict is %+v of %+v", v, v.Request)
	}
	p.Steps[1].After = []int{0}
	if v := proof.Check(seen, want, p, c.Dialect); v.Result != proof.Proven {
		t.Errorf("the verdict is %+v of %+v", v, v.Request)
	}
}
