package proof_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/planner"
	"fairlead.dev/fairlead/model/proof"
	"fairlead.dev/fairlead/model/routing"
)

var (
	seed  = proof.Seed
	plans = flag.Int("plans", 1000, "how many random plans are checked, and as many changed ones")
)

// This file draws random plans.

var (
	hosts = [][]string{nil, nil, {"a.test"}, {"b.test"}, {"a.test", "b.test"}, {"*.test"}, {"other.org", "c.d.test"}}
	paths = [][]string{nil, nil, {"/x"}, {"/x", "/x/*"}, {"/y/*"}, {"/x", "/y"}, {"/*"}, {"/?"}, {"/*/1"}}
	extra = []lb.Condition{
		{Field: "header", Name: "X-A", Values: []string{"yes"}}, {Field: "header", Name: "X-A", Values: []string{"y*"}},
		{Field: "method", Values: []string{"POST"}}, {Field: "query", Name: "v", Values: []string{"1"}},
		{Field: "source", Values: []string{"10.0.0.0/8"}},
	}
)

// requests are one of each class that the conditions above tell apart, and more.
func requests(ports []int32) []routing.Request {
	var out []routing.Request
	for _, port := range ports {
		for _, host := range []string{"a.test", "b.test", "c.d.test", "e.test", "other.org", "nowhere"} {
			for _, path := range []string{"/", "/x", "/x/", "/x/1", "/y", "/y/1", "/z", "/z/1/2"} {
				out = append(out, routing.Request{Port: port, Host: host, Path: path, Method: "GET", Source: netip.MustParseAddr("203.0.113.7")})
			}
		}
	}
	for _, r := range slices.Clone(out) {
		for i := range 5 {
			s := r
			switch i {
			case 0:
				s.Header = map[string][]string{"x-a": {"yes"}}
			case 1:
				s.Header = map[string][]string{"x-a": {"yo"}}
			case 2:
				s.Method = "POST"
			case 3:
				s.Query = map[string][]string{"v": {"1"}}
			default:
				s.Source = netip.MustParseAddr("10.1.2.3")
			}
			out = append(out, s)
		}
	}
	return out
}

// A drawing draws load balancers.
type drawing struct {
	*rand.Rand
	caps    lb.Capabilities
	actions []lb.Action
}

func forward(ids ...lb.GroupID) lb.Action {
	a := lb.Action{Kind: "forward"}
	for _, id := range ids {
		a.Targets = append(a.Targets, lb.Weighted{Group: id, Weight: 1})
	}
	return a
}

func redirectTo(port string) lb.Action {
	return lb.FromRouting(routing.Action{Redirect: &routing.Redirect{Status: 301, Port: port}})
}

func fixed(status int) lb.Action { return lb.FromRouting(routing.Status(status)) }

func (d drawing) rule() lb.Rule {
	var r lb.Rule
	if h := hosts[d.IntN(len(hosts))]; h != nil {
		r.Conditions = append(r.Conditions, lb.Condition{Field: "host", Values: h})
	}
	if p := paths[d.IntN(len(paths))]; p != nil {
		r.Conditions = append(r.Conditions, lb.Condition{Field: "path", Values: p})
	}
	if d.IntN(5) == 0 || len(r.Conditions) == 0 {
		r.Conditions = append(r.Conditions, extra[d.IntN(len(extra))])
	}
	r.Action = d.actions[d.IntN(len(d.actions))]
	return r
}

func distinct(rules []lb.Rule) []lb.Rule {
	var out []lb.Rule
	for _, r := range rules {
		if !slices.ContainsFunc(out, func(o lb.Rule) bool { return o.MatchKey() == r.MatchKey() }) {
			out = append(out, r)
		}
	}
	return out
}

func (d drawing) balancer(most int) lb.LoadBalancer {
	out := lb.LoadBalancer{Key: "fairlead/test/web/internal", Wanted: true}
	for _, port := range [][]int32{{80}, {80}, {80, 443}, {443}}[d.IntN(4)] {
		l := lb.Listener{Port: port, Protocol: routing.HTTP, Default: d.actions[d.IntN(2)]}
		for range d.IntN(most + 1) {
			l.Rules = append(l.Rules, d.rule())
		}
		l.Rules = distinct(l.Rules)
		out.Listeners = append(out.Listeners, l)
	}
	return d.withGroups(d.withCertificates(out))
}

// certificates are those of random load balancers. One of "cloud" is not imported by plans, and its
// hosts are not known.
var certificates = map[lb.CertificateID][]string{
	"a": {"a.test"}, "b": {"b.test"}, "ab": {"a.test", "b.test"}, "any": {"*.test"}, "any2": {"*.test"}, "a2": {"a.test"}, "other": {"other.org", "c.d.test"}, "cloud": nil,
}

// withCertificates has port 443 speak TLS, one time in three, and then verify clients, one time in two.
func (d drawing) withCertificates(b lb.LoadBalancer) lb.LoadBalancer {
	b.Certificates = nil
	secure := d.IntN(3) == 0
	for i := range b.Listeners {
		l := &b.Listeners[i]
		if l.Port != 443 {
			continue
		}
		l.Protocol, l.Certificates, l.Verifies = routing.HTTP, nil, false
		l.Digest = lb.DigestOf(l.Verifies)
		if !secure {
			continue
		}
		l.Protocol, l.Verifies = routing.HTTPS, d.IntN(2) > 0
		l.Digest = lb.DigestOf(l.Verifies)
		ids := slices.Sorted(maps.Keys(certificates))
		d.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
		l.Certificates = ids[:1+d.IntN(3)]
		slices.Sort(l.Certificates[1:])
		for _, id := range slices.Sorted(slices.Values(l.Certificates)) {
			if hosts := certificates[id]; hosts != nil {
				b.Certificates = append(b.Certificates, lb.Certificate{ID: id, Hosts: hosts})
			}
		}
	}
	return b
}

// changed has some rules drawn again, moved or dropped.
func (d drawing) changed(b lb.LoadBalancer) lb.LoadBalancer {
	b.Listeners = slices.Clone(b.Listeners)
	for i := range b.Listeners {
		l := &b.Listeners[i]
		l.Rules = slices.Clone(l.Rules)
		for range 1 + d.IntN(3) {
			at := d.IntN(len(l.Rules) + 1)
			switch d.IntN(6) {
			case 0:
				l.Rules = slices.Insert(l.Rules, at, d.rule())
			case 1:
				l.Rules = slices.Delete(l.Rules, at, min(at+1, len(l.Rules)))
			case 2:
				if at < len(l.Rules) {
					l.Rules[at].Action = d.actions[d.IntN(len(d.actions))]
				}
			case 3:
				l.Default = d.actions[d.IntN(2)]
			case 4:
				d.Shuffle(len(l.Rules), func(i, j int) { l.Rules[i], l.Rules[j] = l.Rules[j], l.Rules[i] })
			default:
				if at < len(l.Rules) {
					l.Rules[at].Conditions = d.rule().Conditions
				}
			}
		}
		l.Rules = distinct(l.Rules)
		if l.Protocol == routing.HTTPS && d.IntN(2) > 0 {
			for b = d.withCertificates(b); b.Listeners[i].Protocol != routing.HTTPS; {
				b = d.withCertificates(b)
			}
		}
	}
	return d.withGroups(b)
}

// withGroups lists the target groups that the rules name.
func (d drawing) withGroups(b lb.LoadBalancer) lb.LoadBalancer {
	named := map[lb.GroupID]bool{}
	for _, l := range b.Listeners {
		for _, r := range append(slices.Clone(l.Rules), lb.Rule{Action: l.Default}) {
			for _, g := range r.Action.Groups() {
				named[g] = true
			}
		}
	}
	b.TargetGroups = nil
	for _, id := range []lb.GroupID{"A", "B", "C"} {
		if named[id] {
			b.TargetGroups = append(b.TargetGroups, lb.TargetGroup{ID: id, Targets: []lb.Target{{Address: "10.0.0.1", Port: 80}}})
		}
	}
	return b
}

// built is what is there once a load balancer has been made, with some of its targets healthy.
func (d drawing) built(b lb.LoadBalancer) *lb.Observed {
	o := d.stands(b)
	dense := d.IntN(3) == 0
	for i := range o.TargetGroups {
		g := &o.TargetGroups[i]
		g.Registered = d.IntN(8) > 0
		g.Ready = g.Registered && d.IntN(4) > 0
	}
	for i := range o.Listeners {
		for j := range o.Listeners[i].Rules {
			if dense {
				o.Listeners[i].Rules[j].Priority = j + 1
			}
		}
	}
	return o
}

// webACL has a web ACL attached, replaced or detached, one time in five.
func (d drawing) webACL(seen *lb.Observed, want *lb.LoadBalancer) {
	if d.IntN(5) == 0 {
		all := []string{lb.NoWebACL, "edge", "other"}
		seen.Protection.WebACL, want.Protection.WebACL = all[d.IntN(3)], all[d.IntN(3)]
	}
}

// stands is what is there once a load balancer has been made, and all targets are healthy.
func (d drawing) stands(b lb.LoadBalancer) *lb.Observed {
	o := &lb.Observed{Key: b.Key}
	if len(b.Listeners) == 0 {
		return o
	}
	plan.CreateLoadBalancer{LoadBalancer: b}.Do(o, plan.Result{})
	for _, g := range b.TargetGroups {
		plan.CreateTargetGroup{Group: g}.Do(o, plan.Result{})
		o.TargetGroup(g.ID).Registered, o.TargetGroup(g.ID).Ready = true, true
	}
	for _, one := range b.Certificates {
		plan.ImportCertificate{Certificate: one}.Do(o, plan.Result{})
	}
	for i, l := range b.Listeners {
		plan.CreateListener{Listener: l}.Do(o, plan.Result{})
		numbers, _ := planner.Number(planner.Merge(nil, l.Rules, d.caps.Dialect), nil, d.caps)
		for j, r := range l.Rules {
			o.Listeners[i].Rules = append(o.Listeners[i].Rules, lb.ObservedRule{Rule: r, Priority: numbers.Priority[j]})
		}
	}
	return o
}

// mutated is a plan with a step moved or dropped, a dependency dropped, or a priority changed.
func (d drawing) mutated(p plan.Plan) plan.Plan {
	p.Steps = slices.Clone(p.Steps)
	at := d.IntN(len(p.Steps))
	without := func(at int) {
		dropped := p.Steps[at].After
		p.Steps = slices.Delete(p.Steps, at, at+1)
		for i := range p.Steps {
			var after []int
			for _, a := range p.Steps[i].After {
				switch {
				case a < at:
					after = append(after, a)
				case a > at:
					after = append(after, a-1)
				default:
					after = append(after, dropped...)
				}
			}
			slices.Sort(after)
			p.Steps[i].After = slices.Compact(after)
		}
	}
	switch d.IntN(5) {
	case 0: // moved to the end
		last := plan.Planned{Step: p.Steps[at].Step, Early: p.Steps[at].Early}
		without(at)
		for i := range p.Steps {
			last.After = append(last.After, i)
		}
		p.Steps = append(p.Steps, last)
	case 1:
		without(at)
	case 2, 3:
		for range len(p.Steps) {
			if s := &p.Steps[at]; len(s.After) > 0 {
				i := d.IntN(len(s.After))
				s.After = slices.Delete(slices.Clone(s.After), i, i+1)
				break
			}
			at = (at + 1) % len(p.Steps)
		}
	default:
		for range len(p.Steps) {
			done := true
			switch s := p.Steps[at].Step.(type) {
			case plan.CreateRule:
				s.Priority = max(1, s.Priority+d.IntN(7)-3)
				p.Steps[at].Step = s
			case plan.ModifyRule:
				s.Priority = max(1, s.Priority+d.IntN(7)-3)
				p.Steps[at].Step = s
			case plan.DeleteRule:
				s.Priority = max(1, s.Priority+d.IntN(7)-3)
				p.Steps[at].Step = s
			default:
				done = false
			}
			if done {
				break
			}
			at = (at + 1) % len(p.Steps)
		}
	}
	return p
}

func describe(seen *lb.Observed, want lb.LoadBalancer, p plan.Plan) string {
	out := ""
	for _, g := range seen.TargetGroups {
		out += fmt.Sprintf("group %s ready %v registered %v\n", g.ID, g.Ready, g.Registered)
	}
	for _, l := range seen.Listeners {
		out += fmt.Sprintf("old %d: %s %v verifies %t default %s\n", l.Port, l.Protocol, l.Certificates, l.Verifies, l.Default)
		for _, r := range l.Rules {
			out += fmt.Sprintf("  %d %s\n", r.Priority, r.Key())
		}
	}
	for _, l := range want.Listeners {
		out += fmt.Sprintf("new %d: %s %v verifies %t default %s\n", l.Port, l.Protocol, l.Certificates, l.Verifies, l.Default)
		for _, r := range l.Rules {
			out += fmt.Sprintf("  %s\n", r.Key())
		}
	}
	for i, s := range p.Steps {
		out += fmt.Sprintf("%d %s %s %s after %v %s\n", i, s.Step.Op(), s.Step.ID(), s.Step.Detail(), s.After, s.Early)
	}
	for _, d := range p.Diagnostics {
		out += string(d.Reason) + " " + d.Message + "\n"
	}
	return out
}
