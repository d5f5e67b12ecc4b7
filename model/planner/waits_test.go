package planner

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
)

// waits writes the steps of a plan, each with the names of the routes behind it and the numbers of
// the steps that it waits for.
func waits(p plan.Plan) (out []string) {
	for i, s := range p.Steps {
		one := fmt.Sprintf("%d %s %s", i, s.Step.Op(), s.Step.ID())
		for _, o := range s.Origin {
			one += " for " + o.Name
		}
		if r, is := s.Step.(plan.RegisterTargets); is {
			one += fmt.Sprint(" ", len(r.Targets))
		}
		if m, is := s.Step.(plan.ModifyListener); is {
			one += " answering " + m.Listener.Default.String()
		}
		for n, a := range s.After {
			one += fmt.Sprint([]string{" after ", ","}[min(n, 1)], a)
		}
		if s.Early != "" {
			one += " early"
		}
		out = append(out, one)
	}
	for _, d := range p.Diagnostics {
		out = append(out, string(d.Reason))
	}
	return out
}

func routed(r lb.Rule, names ...string) lb.Rule {
	for _, n := range names {
		r.Origin = append(r.Origin, diag.Source{Kind: "Ingress", Namespace: "shop", Name: n})
	}
	return r
}

// A step waits for those that it has to wait for, and for no other one.
func TestWaits(t *testing.T) {
	cert := func(id lb.CertificateID, hosts ...string) lb.Certificate {
		return lb.Certificate{ID: id, Hosts: hosts, Kind: "ECDSA", Origin: routed(lb.Rule{}, "of-"+string(id)).Origin}
	}
	grouped := func(b lb.LoadBalancer, groups ...lb.TargetGroup) lb.LoadBalancer { b.TargetGroups = groups; return b }
	a, b, c := cert("A", "a.test"), cert("B", "b.test"), cert("C", "c.test")
	all := []lb.Certificate{a, b, c, cert("A2", "a.test"), cert("Z", "z.test"), cert("Any")}
	port := func(l lb.Listener, rules ...lb.Rule) lb.LoadBalancer { return holding(all, ruled(l, rules...)) }
	ra, rb, rc := rule("a.test", "", fixed(200)), rule("b.test", "", fixed(200)), rule("c.test", "", fixed(200))
	ax, anyX := rule("a.test", "/x", fixed(200)), rule("", "/x", fixed(403))
	sticks := func(g lb.TargetGroup, so string) lb.TargetGroup {
		g.Attributes, g.Digest = map[string]string{lb.ALB().StickyAttribute: so}, lb.DigestOf(so)
		return g
	}
	served := func(rules ...lb.Rule) lb.LoadBalancer {
		b := balancer(listener(80, rules...))
		for _, g := range rules[0].Action.Groups() {
			b.TargetGroups = append(b.TargetGroups, group(g, "10.0.0.1"))
		}
		return b
	}
	ready := func(o *lb.Observed) { o.TargetGroups[0].Ready = true }
	labelled := func(b lb.LoadBalancer, d lb.Digest) lb.LoadBalancer { b.Certificates[0].Digest = d; return b }
	rules := func(most int) lb.Capabilities { c := lb.ALB(); c.Rules = most; return c }
	version := func(g lb.TargetGroup, v routing.Version) lb.TargetGroup { g.Version = v; return g }
	signed := fixed(200)
	signed.Auth = &routing.Auth{}
	few := func(certificates int) lb.Capabilities { c := lb.ALB(); c.Certificates = certificates; return c }
	for _, tt := range []struct {
		why      string
		from, to lb.LoadBalancer
		alter    func(*lb.Observed)
		caps     lb.Capabilities
		want     []string
	}{
		{why: "rules wait for the certificates of their hosts", want: []string{
			"0 import certificate Any for of-Any",
			"1 import certificate B for of-B",
			"2 import certificate C for of-C",
			"3 attach certificate 443 Any for of-Any after 0",
			"4 attach certificate 443 B for of-B after 1",
			"5 attach certificate 443 C for of-C after 2",
			"6 create rule 443/12496 after 3",
			"7 create rule 443/24992 after 3,4",
			"8 create rule 443/37488 after 3,5",
		}, from: port(certified(443, a)), to: port(certified(443, a, b, c, cert("Any")), ra, rb, rc)},
		{why: "or of any", want: []string{
			"0 attach certificate 443 arn",
			"1 create rule 443/24992 after 0",
			"2 delete certificate A",
		}, from: port(certified(443, a)), to: balancer(ruled(certified(443, a, cert("arn")), rb))},
		{why: "which replace others", want: []string{
			"0 replace certificate A for of-A2",
			"1 create rule 443/24211 after 0",
			"2 create rule 443/24602",
			"3 delete rule 443/24992",
		}, from: port(certified(443, a, b), rc), to: port(certified(443, cert("A2", "a.test"), b), ra, rb)},
		{why: "which become the default one", want: []string{
			"0 import certificate B for of-B",
			"1 modify listener 443 answering fixed 404 after 0",
			"2 create rule 443/16661 after 1",
			"3 create rule 443/33323",
			"4 delete certificate A after 1",
		}, from: port(certified(443, a)), to: port(certified(443, b), rb, rc)},
		{why: "two that are replaced, each by that for its hosts", want: []string{
			"0 replace certificate B for of-0",
			"1 replace certificate A for of-1",
		}, from: port(certified(443, a, b)), to: holding([]lb.Certificate{cert("0", "b.test"), cert("1", "a.test", "b.test")}, certified(443, cert("1"), cert("0")))},
		{why: "another default certificate and action", want: []string{
			"0 import certificate B for of-B",
			"1 modify listener 443 answering fixed 404 after 0",
			"2 create rule 443/24992 after 1",
			"3 modify listener 443 answering fixed 403 after 0,1,2",
			"4 delete certificate A after 1",
		}, from: port(certified(443, a)), to: port(defaulting(certified(443, b), fixed(403)), rb)},
		{why: "a default certificate of rules that go", want: []string{
			"0 import certificate C for of-C",
			"1 delete rule 443/33323",
			"2 delete rule 443/16661",
			"3 modify listener 443 answering fixed 404 after 0,2",
			"4 create rule 443/16271 after 3",
			"5 delete certificate A after 3",
		}, from: port(certified(443, a), ra, rb), to: port(certified(443, c), rc)},
		{why: "a default certificate of rules that go later, at the limit", want: []string{
			"0 import certificate C for of-C",
			"1 modify listener 443 answering fixed 404 after 0",
			"2 create rule 443/24602 after 1",
			"3 delete rule 443/24992 after 2",
			"4 detach certificate 443 A after 0,1,3",
			"5 delete certificate A after 4",
		}, from: port(certified(443, a), ax), to: port(certified(443, c), anyX), caps: few(1)},
		{why: "beyond the limit", want: []string{
			"0 import certificate B for of-B",
			"1 import certificate C for of-C",
			"2 attach certificate 443 B for of-B after 0",
			"3 modify listener 443 answering fixed 404 after 0,1,2",
			"4 create rule 443/24602 after 2,3",
			"5 delete rule 443/24992 after 4",
			"6 delete certificate A after 3",
		}, from: port(certified(443, a), ax), to: port(certified(443, c, b), anyX), caps: few(1)},
		{why: "without a limit", want: []string{
			"0 import certificate B for of-B",
			"1 import certificate C for of-C",
			"2 attach certificate 443 B for of-B after 0",
			"3 modify listener 443 answering fixed 404 after 0,1,2",
			"4 create rule 443/24602 after 2,3",
			"5 delete rule 443/24992 after 4",
			"6 detach certificate 443 A after 0,1,2,3,5",
			"7 delete certificate A after 6",
		}, from: port(certified(443, a), ax), to: port(certified(443, c, b), anyX), caps: few(0)},
		{why: "the second certificate of rules that go later", want: []string{
			"0 create rule 443/16271",
			"1 delete rule 443/33323 after 0",
			"2 delete rule 443/16661 after 0",
			"3 detach certificate 443 A after 2",
			"4 delete certificate A after 3",
		}, from: port(certified(443, b, a), ax, rule("b.test", "", fixed(200))), to: port(certified(443, b), anyX)},
		{why: "a certificate of narrowed rules", want: []string{
			"0 modify rule 443/24992",
			"1 detach certificate 443 A after 0",
			"2 delete certificate A after 1",
		}, from: port(certified(443, c, a), lb.Rule{Conditions: []lb.Condition{{Field: "host", Values: []string{"a.test", "c.test"}}}, Action: fixed(200)}), to: port(certified(443, c), rc)},
		{why: "a certificate whose labels differ", want: []string{
			"0 modify certificate A",
		}, from: port(certified(443, a)), to: port(certified(443, a)), alter: func(o *lb.Observed) { o.Certificates[0].Digest = "v1:other" }},
		{why: "clients that are verified already", want: []string{
			"0 create rule 443/24602",
			"1 delete rule 443/24992",
		}, from: balancer(ruled(mutual(443, true), ra)), to: balancer(ruled(mutual(443, true), rb))},
		{why: "clients that begin to be verified", want: []string{
			"0 modify listener 443 answering fixed 404",
			"1 create rule 443/24602 after 0",
			"2 delete rule 443/24992 after 0",
		}, from: balancer(ruled(mutual(443, false), ra)), to: balancer(ruled(mutual(443, true), rb))},
		{why: "everything goes", want: []string{
			"0 delete load balancer fairlead/shop/web/internal",
			"1 delete firewall fairlead/shop/web/internal after 0",
			"2 delete target group G after 0",
			"3 delete certificate A after 0",
		}, from: grouped(port(certified(443, a), rule("a.test", "", forward("G"))), group("G", "10.0.0.1")), to: balancer(), alter: func(o *lb.Observed) { o.Firewall = "sg-1" }},
		{why: "a load balancer that was never finished", want: []string{
			"0 modify load balancer fairlead/shop/web/internal",
			"1 create listener 8443 after 0",
		}, from: port(certified(443, a)), to: func() lb.LoadBalancer {
			b := holding(all, certified(443, a), certified(8443, a))
			b.Digest = lb.DigestOf("set")
			return b
		}(), alter: func(o *lb.Observed) { o.Digest = "" }},
		{why: "groups of several routes", want: []string{
			"0 create target group G for x for y",
			"1 register targets G for x for y 1 after 0",
			"2 create target group H for y for x for z",
			"3 create load balancer fairlead/shop/web/internal after 0",
			"4 create listener 80 for x for y for z after 3",
			"5 create rule 80/12496 for x after 1,4",
			"6 create rule 80/24992 for y for x after 1,2,4",
			"7 create rule 80/37488 for z for x after 2,4",
		}, to: grouped(balancer(listener(80, routed(rule("a.test", "", forward("G")), "x"), routed(rule("b.test", "", forward("G", "H")), "y", "x"),
			routed(rule("c.test", "", forward("H")), "z", "x"))), group("G", "10.0.0.1"), group("H"))},
		{why: "first targets within the limit of a load balancer", want: []string{
			"0 register targets H 2",
			"1 create target group I",
			"2 register targets I 1 after 1",
		}, caps: func() lb.Capabilities { c := lb.ALB(); c.TargetsPerLoadBalancer = 4; return c }(),
			from:  grouped(balancer(listener(80)), group("G", "10.0.0.1", "10.0.0.2"), group("H", "10.0.0.3")),
			to:    grouped(balancer(listener(80)), group("G", "10.0.0.1", "10.0.0.2"), group("H", "10.0.0.3", "10.0.0.4"), group("I", "10.0.0.5", "10.0.0.6")),
			alter: func(o *lb.Observed) { o.TargetGroups[1].Registered = false }},
		{why: "a port that gets another protocol", want: []string{
			"0 modify listener 443 answering fixed 404",
			"1 delete certificate A after 0",
		}, from: grouped(port(certified(443, a), rule("a.test", "", forward("G"))), version(group("G", "10.0.0.1"), "HTTP1")), to: grouped(balancer(listener(443, rule("a.test", "", forward("G")))), version(group("G", "10.0.0.1"), "HTTP1"))},
		{why: "of which a group needs TLS, as it was", want: []string{
			"0 delete listener 443",
			"1 create listener 443 after 0",
			"2 delete target group G after 0",
			"3 delete certificate A after 0",
		}, from: grouped(port(certified(443, a), rule("a.test", "", forward("G"))), version(group("G", "10.0.0.1"), "GRPC")), to: balancer(listener(443))},
		{why: "as it will be", want: []string{
			"0 import certificate A for of-A",
			"1 create target group G",
			"2 register targets G 1 after 1",
			"3 delete listener 443",
			"4 create listener 443 after 0,3",
			"5 create rule 443/24992 after 2,4",
		}, from: balancer(listener(443)), to: grouped(port(certified(443, a), rule("a.test", "", forward("G"))), version(group("G", "10.0.0.1"), "GRPC"))},
		{why: "of which a rule signs clients in", want: []string{
			"0 import certificate A for of-A",
			"1 delete listener 443",
			"2 create listener 443 after 0,1",
			"3 create rule 443/24992 after 2",
		}, from: balancer(listener(443)), to: port(certified(443, a), rule("a.test", "", signed))},
		{why: "a group that changes", want: []string{
			"0 modify target group G for x",
		}, from: grouped(balancer(listener(80, rule("a.test", "", forward("G")))), group("G", "10.0.0.1")),
			to: grouped(balancer(listener(80, routed(rule("a.test", "", forward("G")), "x"))), sticks(group("G", "10.0.0.1"), "false"))},
		{why: "a group that begins to keep clients", want: []string{
			"0 await targets G",
			"1 modify rule 80/24992 after 0",
			"2 modify target group G after 1",
		}, from: grouped(balancer(listener(80, rule("a.test", "", forward("G", "H")))), group("G", "10.0.0.1"), group("H", "10.0.0.2")),
			to: grouped(balancer(listener(80, rule("a.test", "", forward("G")))), sticks(group("G", "10.0.0.1"), "true"), group("H", "10.0.0.2"))},
		{why: "a group that ends to keep clients", want: []string{
			"0 modify target group G",
			"1 await targets G",
			"2 create rule 80/50000",
			"3 await targets H after 2",
			"4 modify rule 80/24992 after 0,1,3",
			"5 create rule 80/25382",
			"6 delete rule 80/50000 after 3,4",
		}, from: grouped(balancer(listener(80, rule("a.test", "", forward("G")))), sticks(group("G", "10.0.0.1"), "true"), group("H", "10.0.0.2")),
			to: grouped(balancer(listener(80, rule("a.test", "", forward("G", "H")), rule("b.test", "", forward("G")))), sticks(group("G", "10.0.0.1"), "false"), group("H", "10.0.0.2"))},
		{why: "the one for the same hosts is replaced first", want: []string{
			"0 replace certificate A for of-1",
			"1 replace certificate B for of-0",
		}, from: port(certified(443, a, b)), to: holding([]lb.Certificate{cert("0", "a.test", "b.test"), cert("1", "a.test")}, certified(443, cert("1"), cert("0")))},
		{why: "a certificate with labels of an older version", from: port(certified(443, a)), to: labelled(port(certified(443, a)), "v1:a"), alter: func(o *lb.Observed) { o.Certificates[0].Digest = "v0:b" }},
		{why: "a certificate with other labels", want: []string{
			"0 modify certificate A",
		}, from: port(certified(443, a)), to: labelled(port(certified(443, a)), "v1:a"), alter: func(o *lb.Observed) { o.Certificates[0].Digest = "v1:b" }},
		{why: "clients are verified where HTTP was spoken", want: []string{
			"0 create rule 443/24602",
			"1 modify listener 443 answering fixed 404 after 0",
			"2 delete rule 443/24992 after 1",
		}, from: balancer(ruled(listener(443), ra)), to: balancer(ruled(mutual(443, true), rb))},
		{why: "no room to park", want: []string{
			"0 create target group G",
			"1 register targets G 1 after 0",
			"2 modify rule 80/24992 after 1",
			"3 delete target group F after 2",
			"Unparked",
		}, from: served(rule("a.test", "", forward("F"))), to: served(rule("a.test", "", forward("G"))), caps: rules(1)},
		{why: "two phases at a limit", want: []string{
			"0 create target group G",
			"1 register targets G 1 after 0",
			"2 delete rule 80/24992",
			"3 create rule 80/24602 after 1,2",
		}, from: balancer(listener(80, ra)), to: grouped(balancer(listener(80, rule("b.test", "", forward("G")))), group("G", "10.0.0.1")), caps: rules(1)},
		{why: "two phases that do not park", want: []string{
			"0 create target group G",
			"1 register targets G 1 after 0",
			"2 delete rule 80/33323 after 1 early",
			"3 create rule 80/16271 after 2",
			"4 modify rule 80/16661 after 3",
			"5 delete target group F after 4",
			"Unparked",
			"DeleteFirst",
		}, from: served(rule("a.test", "", forward("F")), rc), to: served(rule("", "/x", forward("G")), rule("a.test", "", forward("G"))), caps: rules(2)},
		{why: "a cloud without sticky groups", want: []string{
			"0 modify target group G",
			"1 create rule 80/25382",
		}, from: grouped(balancer(listener(80, rule("a.test", "", forward("G")))), group("G", "10.0.0.1"), group("H", "10.0.0.2")),
			to: grouped(balancer(listener(80, rule("a.test", "", forward("G")), rule("b.test", "/x", forward("G", "H")))), sticks(group("G", "10.0.0.1"), "false"), group("H", "10.0.0.2")), caps: func() lb.Capabilities { c := lb.ALB(); c.StickyAttribute = ""; return c }()},
		{why: "a group that is shared no more", want: []string{
			"0 modify rule 80/33323",
			"1 delete rule 80/16661",
			"2 delete target group G after 0",
			"3 delete target group H after 0",
		}, from: grouped(balancer(listener(80, ra, rule("b.test", "", forward("G", "H")))), group("G", "10.0.0.1"), group("H", "10.0.0.2")),
			to: grouped(balancer(listener(80, rb)))},
		{why: "a group that keeps clients and was not shared", want: []string{
			"0 modify target group G",
			"1 create rule 80/24602",
			"2 delete rule 80/24992",
		}, from: grouped(balancer(listener(80, rule("a.test", "", forward("G")))), group("G", "10.0.0.1"), group("H", "10.0.0.2")),
			to: grouped(balancer(listener(80, rule("b.test", "", forward("G")))), sticks(group("G", "10.0.0.1"), "true"), group("H", "10.0.0.2"))},
		{why: "security groups of its own", want: []string{
			"0 modify load balancer fairlead/shop/web/internal",
			"1 delete firewall fairlead/shop/web/internal after 0",
		}, from: balancer(listener(80)), to: func() lb.LoadBalancer {
			b := balancer(listener(80))
			b.Settings.SecurityGroups, b.Digest = []string{"sg-2"}, lb.DigestOf("own")
			return b
		}(), alter: func(o *lb.Observed) { o.Firewall = "sg-1" }},
		{why: "the firewall stays", from: balancer(listener(80)), to: balancer(listener(80)), alter: func(o *lb.Observed) { o.Firewall = "sg-1" }},
		{why: "no room to park, and a rule that goes last", want: []string{
			"0 create target group G",
			"1 register targets G 1 after 0",
			"2 modify rule 80/33323 after 1",
			"3 delete rule 80/16661 after 2",
			"4 delete target group F after 2",
			"Unparked",
		}, from: served(rule("a.test", "", forward("F")), ra), to: served(rule("a.test", "", forward("G"))), caps: rules(2), alter: func(o *lb.Observed) {
			l := o.Listener(80)
			l.Rules[0].Rule, l.Rules[1].Rule = ax, l.Rules[0].Rule
		}},
		{why: "no room to park for a default action", want: []string{
			"0 create target group G",
			"1 register targets G 1 after 0",
			"2 modify listener 80 answering forward G after 1",
			"3 delete target group F after 2",
			"Unparked",
		}, from: grouped(balancer(defaulting(listener(80, ra), forward("F"))), group("F", "10.0.0.1")), to: grouped(balancer(defaulting(listener(80, ra), forward("G"))), group("G", "10.0.0.1")), caps: rules(1)},
		{why: "a new port that verifies clients", want: []string{
			"0 create load balancer fairlead/shop/web/internal",
			"1 create listener 443 after 0",
			"2 create rule 443/24992 after 1",
		}, to: balancer(ruled(mutual(443, true), ra))},
		{why: "a port that closes with its default action", want: []string{
			"0 delete listener 80",
			"1 delete target group G after 0",
		}, from: grouped(balancer(defaulting(listener(80), forward("G")), listener(81)), group("G", "10.0.0.1")), to: balancer(listener(81))},
		{why: "a port that opens with a default action", want: []string{
			"0 create target group G",
			"1 register targets G 1 after 0",
			"2 create listener 80 after 1",
		}, from: balancer(listener(81)), to: grouped(balancer(defaulting(listener(80), forward("G")), listener(81)), group("G", "10.0.0.1"))},
		{why: "a healthy group of a port that opens", want: []string{
			"0 create listener 81",
			"1 delete rule 80/24992 after 0",
		}, from: grouped(balancer(listener(80, rule("a.test", "", forward("G")))), group("G", "10.0.0.1")), alter: ready,
			to: grouped(balancer(listener(80), defaulting(listener(81), forward("G"))), group("G", "10.0.0.1"))},
		{why: "a healthy group of a default action", want: []string{
			"0 create rule 80/24602 for x",
			"1 modify listener 80 for x answering forward G after 0",
			"2 delete rule 80/24992 after 1",
		}, from: grouped(balancer(listener(80, rule("a.test", "", forward("G")))), group("G", "10.0.0.1")), alter: ready,
			to: grouped(balancer(defaulting(listener(80, routed(rb, "x")), forward("G"))), group("G", "10.0.0.1"))},
		{why: "a healthy group of a default action of another port", want: []string{
			"0 modify listener 80 answering forward G",
			"1 delete rule 81/24992 after 0",
		}, from: grouped(balancer(listener(80), listener(81, rule("a.test", "", forward("G")))), group("G", "10.0.0.1")), alter: ready,
			to: grouped(balancer(defaulting(listener(80), forward("G")), listener(81)), group("G", "10.0.0.1"))},
		{why: "a default action behind a web ACL", want: []string{
			"0 set web ACL of fairlead/shop/web/internal",
			"1 modify listener 80 answering fixed 403 after 0",
		}, from: balancer(listener(80)), to: func() lb.LoadBalancer {
			b := balancer(defaulting(listener(80), fixed(403)))
			b.Protection.WebACL = "acl"
			return b
		}()},
		{why: "certificates of a port that gets HTTP", want: []string{
			"0 create rule 80/24992",
			"1 modify listener 443 answering fixed 404",
			"2 create listener 8443 after 1",
		}, from: holding(all, listener(80), certified(443, a, b)), to: holding(all, listener(80, ra), listener(443), certified(8443, a, b)), caps: few(1)},
		{why: "rules that are renumbered", want: []string{
			"0 respace rules 80",
			"1 create rule 80/24993 after 0",
		}, from: balancer(listener(80, ra, rb)), to: balancer(listener(80, ra, rc, rb)), alter: func(o *lb.Observed) {
			o.Listeners[0].Rules[0].Priority, o.Listeners[0].Rules[1].Priority = 7, 8
		}},
		{why: "redirects that lead to redirects", want: []string{
			"0 modify rule 82/24992",
			"1 create rule 80/24992 after 0",
			"2 create rule 82/25382",
		}, from: balancer(listener(80), listener(81, rule("a.test", "", redirectTo(82))), listener(82, ra)),
			to: balancer(listener(80, rule("a.test", "", redirectTo(81))), listener(81, rule("a.test", "", redirectTo(82))), listener(82, rule("a.test", "", fixed(403)), rb))},
		{why: "redirects of other requests", want: []string{
			"0 create rule 80/24992",
			"1 modify rule 82/24992",
			"2 create rule 82/25382",
		}, from: balancer(listener(80), listener(81, rule("b.test", "", redirectTo(82))), listener(82, ra)),
			to: balancer(listener(80, rule("a.test", "", redirectTo(81))), listener(81, rule("b.test", "", redirectTo(82))), listener(82, rule("a.test", "", fixed(403)), rb))},
		{why: "a default action that redirects", want: []string{
			"0 modify rule 81/24992",
			"1 modify listener 80 answering redirect 301 #{protocol}://#{host}:81/#{path}?#{query} after 0",
		}, from: balancer(listener(80), listener(81, ra)), to: balancer(defaulting(listener(80), redirectTo(81)), listener(81, rule("a.test", "", fixed(403))))},
		{why: "a port that closes with a redirect", want: []string{
			"0 delete listener 80",
			"1 modify rule 81/24992 after 0",
		}, from: balancer(listener(80, rule("a.test", "", redirectTo(81))), listener(81, ra)), to: balancer(listener(81, rule("a.test", "", fixed(403))))},
		{why: "ports that all redirect", want: []string{
			"0 modify rule 81/16661",
			"1 create rule 80/24992 after 0",
		}, from: balancer(listener(80), listener(81, ra, rule("c.test", "", redirectTo(8080)))),
			to: balancer(listener(80, rule("a.test", "", redirectTo(81))), listener(81, rule("a.test", "", fixed(403)), rule("c.test", "", redirectTo(8080))))},
		{why: "two hosts that exchange their groups", want: []string{
			"0 create rule 80/50000",
			"1 modify rule 80/33323 after 0",
			"2 modify rule 80/16661 after 1",
			"3 delete rule 80/50000 after 0,2",
		}, from: grouped(balancer(listener(80, rule("a.test", "", forward("G")), rule("b.test", "", forward("H")))), group("G", "10.0.0.1"), group("H", "10.0.0.2")), alter: func(o *lb.Observed) { o.TargetGroups[0].Ready, o.TargetGroups[1].Ready = true, true },
			to: grouped(balancer(listener(80, rule("a.test", "", forward("H")), rule("b.test", "", forward("G")))), group("G", "10.0.0.1"), group("H", "10.0.0.2"))},
	} {
		if tt.caps.Name == "" {
			tt.caps = lb.ALB()
		}
		seen := built(tt.from, tt.caps)
		if tt.from.Key == "" {
			seen = nil
		} else if tt.alter != nil {
			tt.alter(seen)
		}
		before := seen
		if seen != nil {
			before = seen.Clone()
		}
		got := waits(Diff(seen, tt.to, tt.caps))
		if diff := cmp.Diff(before, seen); diff != "" {
			t.Errorf("%s: what is seen is changed:\n%s", tt.why, diff)
		}
		if strings.Join(got, "\n") != strings.Join(tt.want, "\n") {
			t.Errorf("%s: the steps are\n\t%s\nand should be\n\t%s", tt.why, strings.Join(got, "\n\t"), strings.Join(tt.want, "\n\t"))
		}
	}
}

// The cloud does not tell the secret of a default action that signs clients in. A step that writes
// the settings of a listener has it.
func TestTheSecretOfADefaultIsWritten(t *testing.T) {
	signed := fixed(404)
	signed.Auth = &routing.Auth{Kind: "oidc", ClientID: "shop"}
	a, b := lb.Certificate{ID: "A", Hosts: []string{"a.test"}}, lb.Certificate{ID: "B", Hosts: []string{"b.test"}}
	all := []lb.Certificate{a, b}
	seen := built(holding(all, defaulting(certified(443, a), signed)), lb.ALB())
	known := *signed.Auth
	known.ClientSecret = "hush"
	signed.Auth = &known
	for _, s := range Diff(seen, holding(all, defaulting(certified(443, b), signed)), lb.ALB()).Steps {
		if m, is := s.Step.(plan.ModifyListener); is && m.Listener.Default.Auth.ClientSecret == "hush" {
			return
		}
	}
	t.Error("no step has the secret")
}

// A rule that got another place is there twice if the cloud refuses to delete it. Its removal may fail for good.
func TestNothingWaitsForTheRemovalOfARuleThatAnswersNothing(t *testing.T) {
	c := lb.ALB()
	seen := built(balancer(listener(80, rule("a.example.com", "/y", fixed(200)), rule("", "/x", fixed(403)), rule("a.example.com", "", fixed(404)))), c)
	l := &seen.Listeners[0]
	l.Rules = append(l.Rules, lb.ObservedRule{Priority: 49000, Rule: rule("", "/x", fixed(200))})
	for why, tc := range map[string]struct {
		want lb.LoadBalancer
		at   []int // what waits for the removal
	}{
		"the other one stays":       {balancer(listener(80, rule("", "/x", fixed(403)))), nil},
		"it gets another action":    {balancer(listener(80, rule("", "/x", fixed(201)))), nil},
		"it matches more than that": {balancer(listener(80, lb.Rule{Conditions: []lb.Condition{{Field: "path", Values: []string{"/x", "/z"}}}, Action: fixed(403)})), nil},
		"both go":                   {balancer(listener(80)), []int{1, 2}},
	} {
		p := Diff(seen, tc.want, c)
		of := slices.IndexFunc(p.Steps, func(s plan.Planned) bool { return s.Step.ID() == "80/49000" })
		var at []int
		for i, s := range p.Steps {
			if slices.Contains(s.After, of) {
				at = append(at, i)
			}
		}
		if !slices.Equal(at, tc.at) {
			t.Errorf("%s: the steps %v wait for step %d of %v", why, at, of, named(p))
		}
	}
}
