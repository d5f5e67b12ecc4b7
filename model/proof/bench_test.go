package proof_test

import (
	"fmt"
	"testing"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/planner"
	"fairlead.dev/fairlead/model/proof"
	"fairlead.dev/fairlead/model/routing"
)

// This file measures what a verdict costs.

// balancer has rules for hosts with ten paths each, and a few for all hosts.
func balancer(rules, shift int) lb.LoadBalancer {
	l := lb.Listener{Port: 80, Protocol: routing.HTTP, Default: fixed(404)}
	out := lb.LoadBalancer{Key: "fairlead/test/web/internal", Wanted: true}
	for i := range rules {
		id := lb.GroupID(fmt.Sprintf("shop/app-%04d:80", (i+shift)%rules))
		host, path := fmt.Sprintf("app-%d.example.com", i/10), fmt.Sprintf("/v%d", i%10)
		r := lb.Rule{Action: forward(id), Conditions: []lb.Condition{{Field: "host", Values: []string{host}},
			{Field: "path", Values: []string{path, path + "/*"}}}}
		switch i % 10 {
		case 8:
			r.Conditions[1].Values = []string{"/*/v?"}
		case 9:
			r.Conditions = r.Conditions[:1]
		}
		l.Rules = append(l.Rules, r)
		out.TargetGroups = append(out.TargetGroups, lb.TargetGroup{ID: lb.GroupID(fmt.Sprintf("shop/app-%04d:80", i)), Targets: []lb.Target{{Address: "10.0.0.1", Port: 80}}})
	}
	out.Listeners = []lb.Listener{l}
	return out
}

func BenchmarkCheck(b *testing.B) {
	c := lb.ALB()
	c.Rules, c.TargetGroups, c.MaxPriority = 0, 0, 50000
	d := drawing{caps: c}
	for _, rules := range []int{100, 2000} {
		old, next := balancer(rules, 0), balancer(rules, 0)
		rewritten := balancer(rules, 1)
		for i := range next.Listeners[0].Rules { // one of ten moves, one changes its action, one is new
			r := &next.Listeners[0].Rules[i]
			switch i % 30 {
			case 3:
				r.Conditions[1].Values = []string{"/new", "/new/*"}
			case 7:
				r.Action = fixed(403)
			case 15:
				if i > 0 {
					all := next.Listeners[0].Rules
					all[i], all[i-1] = all[i-1], all[i]
				}
			}
		}
		for name, pair := range map[string][2]lb.LoadBalancer{"new": {{Key: old.Key}, old}, "edited": {old, next}, "all actions": {old, rewritten}} {
			seen := d.stands(pair[0])
			p := planner.Diff(seen, pair[1], c)
			b.Run(fmt.Sprintf("%s/%d", name, rules), func(b *testing.B) {
				for b.Loop() {
					if v := proof.Check(seen, pair[1], p, c.Dialect); v.Result != proof.Proven {
						b.Fatal(v)
					}
				}
				b.ReportMetric(float64(len(p.Steps)), "steps")
			})
		}
	}
}
