package planner

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
)

// named are a plan's steps by name.
func named(p plan.Plan) []string {
	var out []string
	for _, s := range p.Steps {
		out = append(out, s.Step.Op()+" "+s.Step.ID())
	}
	return out
}

func rule(host, path string, a lb.Action) lb.Rule {
	r := lb.Rule{Action: a}
	if host != "" {
		r.Conditions = append(r.Conditions, lb.Condition{Field: "host", Values: []string{host}})
	}
	if path != "" {
		r.Conditions = append(r.Conditions, lb.Condition{Field: "path", Values: []string{path}})
	}
	return r
}

func group(id lb.GroupID, targets ...string) lb.TargetGroup {
	g := lb.TargetGroup{ID: id, Digest: lb.DigestOf("health")}
	for _, a := range targets {
		g.Targets = append(g.Targets, lb.Target{Address: a, Port: 8080})
	}
	return g
}

func listener(port int32, rules ...lb.Rule) lb.Listener {
	return lb.Listener{Port: port, Protocol: "HTTP", Default: fixed(404), Rules: rules}
}

func secure(l lb.Listener, certificates ...lb.CertificateID) lb.Listener {
	l.Protocol, l.Certificates = "HTTPS", certificates
	return l
}

// mutual is a listener that verifies the certificates of clients, or does not any more.
func mutual(port int32, verifies bool) lb.Listener {
	l := secure(listener(port), "C")
	l.Verifies, l.Digest = verifies, lb.DigestOf(verifies)
	return l
}

func ruled(l lb.Listener, rules ...lb.Rule) lb.Listener {
	l.Rules = rules
	return l
}

func defaulting(l lb.Listener, a lb.Action) lb.Listener {
	l.Default = a
	return l
}

func balancer(listeners ...lb.Listener) lb.LoadBalancer {
	return lb.LoadBalancer{Key: "fairlead/shop/web/internal", Listeners: listeners}
}

func redirectBy(scheme string) lb.Action {
	return lb.FromRouting(routing.Action{Redirect: &routing.Redirect{Status: 301, Scheme: scheme}})
}

func TestDiff(t *testing.T) {
	digest, older := lb.DigestOf("settings"), lb.Digest("v0:1234")
	with := func(b lb.LoadBalancer, groups ...lb.TargetGroup) lb.LoadBalancer {
		b.TargetGroups = groups
		return b
	}
	certified := func(b lb.LoadBalancer, ids ...lb.CertificateID) lb.LoadBalancer {
		for _, id := range ids {
			b.Certificates = append(b.Certificates, lb.Certificate{ID: id})
		}
		return b
	}
	wanted := func(b lb.LoadBalancer) lb.LoadBalancer { b.Wanted = true; return b }
	withdrawn := func(b lb.LoadBalancer) lb.LoadBalancer { b.Withdrawn = true; return b }
	shop := rule("a.example.com", "/x", forward("A"))
	cases := map[string]struct {
		reason    string
		from, to  lb.LoadBalancer
		alter     func(*lb.Observed)
		want      []string
		diagnoses []diag.Reason
	}{
		"everything new": {
			reason: "what is used exists before it is used",
			to:     with(certified(balancer(secure(listener(443, shop), "C")), "C"), group("A", "10.0.0.1")),
			want: []string{"import certificate C", "create target group A", "register targets A",
				"create load balancer fairlead/shop/web/internal", "create listener 443", "create rule 443/24992"},
		},
		"nothing": {
			reason: "steady state is free",
			from:   balancer(listener(80, shop)), to: balancer(listener(80, shop)),
		},
		"everything gone": {
			reason: "one step takes the load balancer with all that is in it, then follows what it used",
			from:   with(certified(balancer(secure(listener(443, shop), "C")), "C"), group("A", "10.0.0.1")), to: balancer(),
			want: []string{"delete load balancer fairlead/shop/web/internal", "delete target group A", "delete certificate C"},
		},
		"nothing to answer": {
			reason: "a load balancer is not made for nothing, nor anything for it",
			to:     wanted(with(certified(balancer(), "C"), group("A", "10.0.0.1"))),
		},
		"nothing to answer any more": {
			reason: "one that is there and is asked for stays",
			from:   with(balancer(listener(80, shop)), group("A")), to: wanted(balancer()),
			want: []string{"delete listener 80", "delete target group A"},
		},
		"gone and protected": {
			reason: "it stays as it is",
			from:   with(balancer(listener(80, shop)), group("A")), to: balancer(),
			alter:     func(o *lb.Observed) { o.Protected = lb.ByOthers },
			diagnoses: []diag.Reason{diag.Protected},
		},
		"not permitted any more, and protected": {
			reason: "it stays, and what its class does not permit any more does not",
			from:   with(balancer(listener(80, shop)), group("A")), to: withdrawn(balancer()),
			alter:     func(o *lb.Observed) { o.Protected = lb.ByOthers },
			want:      []string{"delete listener 80", "delete target group A"},
			diagnoses: []diag.Reason{diag.Protected},
		},
		"not permitted any more": {
			reason: "it goes as when its last Ingress goes",
			from:   with(balancer(listener(80, shop)), group("A")), to: withdrawn(balancer()),
			want: []string{"delete load balancer fairlead/shop/web/internal", "delete target group A"},
		},
		"leftovers": {
			reason: "a deletion that was interrupted goes on where it stopped",
			from:   with(balancer(listener(80)), group("A")), to: balancer(),
			alter: func(o *lb.Observed) { o.Exists, o.Listeners = false, nil },
			want:  []string{"delete target group A"},
		},
		"another action": {
			reason: "a rule with the same conditions changes in place",
			from:   balancer(listener(80, shop)), to: balancer(listener(80, rule("a.example.com", "/x", fixed(200)))),
			want: []string{"modify rule 80/24992"},
		},
		"a wider match": {
			reason: "a rule that matches more changes in place",
			from:   balancer(listener(80, rule("a.example.com", "/x", fixed(200)))), to: balancer(listener(80, rule("a.example.com", "", fixed(200)))),
			want: []string{"modify rule 80/24992"},
		},
		"a narrower match": {
			reason: "a rule that matches less changes in place",
			from:   balancer(listener(80, rule("a.example.com", "", fixed(200)))), to: balancer(listener(80, rule("a.example.com", "/x", fixed(200)))),
			want: []string{"modify rule 80/24992"},
		},
		"another place": {
			reason: "a rule is created in its new place before it goes from its old one",
			from:   balancer(listener(80, rule("", "/x", fixed(200)), rule("", "/y", fixed(201)), rule("", "/z", fixed(202)))),
			to:     balancer(listener(80, rule("", "/z", fixed(202)), rule("", "/x", fixed(200)), rule("", "/y", fixed(201)))),
			want:   []string{"create rule 80/12106", "delete rule 80/37488"},
		},
		"another default": {
			reason: "the default changes once new rules answer, and before old ones go",
			from:   balancer(listener(80, rule("", "/x", fixed(200)))),
			to:     balancer(lb.Listener{Port: 80, Protocol: "HTTP", Default: fixed(403), Rules: []lb.Rule{rule("", "/y", fixed(200))}}),
			want:   []string{"create rule 80/24602", "modify listener 80", "delete rule 80/24992"},
		},
		"other certificates": {
			reason: "certificates are attached before others are detached",
			from:   certified(balancer(secure(listener(443), "A", "B")), "A", "B"),
			to:     certified(balancer(secure(listener(443), "C", "D")), "C", "D"),
			want: []string{"import certificate C", "import certificate D", "attach certificate 443 D", "modify listener 443",
				"detach certificate 443 B", "delete certificate A", "delete certificate B"},
		},
		"a secure port": {
			reason: "a protocol changes in place",
			from:   balancer(listener(443, shop)), to: balancer(secure(listener(443, shop), "A")),
			want: []string{"modify listener 443"},
		},
		"a secure port with several certificates": {
			reason: "further certificates could only follow, so that the port closes and opens with all of them",
			from:   balancer(listener(443, shop)), to: balancer(secure(listener(443, shop), "A", "B")),
			want: []string{"delete listener 443", "create listener 443", "create rule 443/24992"},
		},
		"a port that is no longer secure": {
			reason: "certificates go with the protocol",
			from:   certified(balancer(secure(listener(443), "A", "B")), "A", "B"), to: balancer(listener(443)),
			want: []string{"modify listener 443", "delete certificate A", "delete certificate B"},
		},
		"other ports that verify": {
			reason: "a port ends to verify the certificates of clients before the next begins, where no more may",
			from:   balancer(mutual(443, false), mutual(8443, true), mutual(9443, true)),
			to:     balancer(mutual(443, true), mutual(8443, true), mutual(9443, false)),
			want:   []string{"modify listener 9443", "modify listener 443"},
		},
		"rules of a port that begins to verify": {
			reason: "no request gets a new answer without the certificate that is asked of its client",
			from:   balancer(ruled(mutual(443, false), rule("a.example.com", "", fixed(403)), rule("b.example.com", "", fixed(403)))),
			to:     balancer(ruled(mutual(443, true), rule("b.example.com", "", fixed(200)), rule("c.example.com", "", fixed(200)))),
			want:   []string{"modify listener 443", "modify rule 443/33323", "create rule 443/33713", "delete rule 443/16661"},
		},
		"the default action of a port that begins to verify": {
			reason: "one step has it change, and has clients verified",
			from:   balancer(mutual(443, false)),
			to:     balancer(defaulting(mutual(443, true), fixed(200))),
			want:   []string{"modify listener 443"},
		},
		"the default action and a rule of a port that begins to verify": {
			reason: "both answer once clients are verified",
			from:   balancer(mutual(443, false)),
			to:     balancer(defaulting(ruled(mutual(443, true), rule("a.example.com", "", fixed(200))), fixed(200))),
			want:   []string{"modify listener 443", "create rule 443/24992", "modify listener 443"},
		},
		"a new port that verifies": {
			reason: "it opens once another one has closed, where no more may verify the certificates of clients",
			from:   balancer(mutual(8443, true), mutual(9443, true)), to: balancer(mutual(443, true), mutual(8443, true)),
			want: []string{"delete listener 9443", "create listener 443"},
		},
		"a redirect to a new port": {
			reason: "the port answers before anything is redirected to it",
			from:   balancer(listener(80, rule("a.example.com", "", fixed(200)))),
			to:     balancer(listener(80, rule("a.example.com", "", redirectTo(443))), secure(listener(443, rule("a.example.com", "", fixed(200))), "C")),
			want:   []string{"create listener 443", "create rule 443/24992", "modify rule 80/24992"},
		},
		"a redirect to another scheme": {
			reason: "a redirect without a port leads to the usual one of its scheme",
			from:   balancer(listener(80, rule("a.example.com", "", fixed(200)))),
			to:     balancer(listener(80, rule("a.example.com", "", redirectBy("https"))), secure(listener(443, rule("a.example.com", "", fixed(200))), "C")),
			want:   []string{"create listener 443", "create rule 443/24992", "modify rule 80/24992"},
		},
		"a redirect to a port that goes": {
			reason: "nothing is redirected to a port when it closes",
			from:   balancer(listener(80, rule("a.example.com", "", redirectTo(443))), secure(listener(443, rule("a.example.com", "", fixed(200))), "C")),
			to:     balancer(listener(80, rule("a.example.com", "", fixed(200)))),
			want:   []string{"modify rule 80/24992", "delete listener 443"},
		},
		"redirects to a port that goes, old and new": {
			reason: "what is redirected there from now on does not keep it from closing last",
			from: balancer(listener(80, rule("a.example.com", "/x", redirectTo(443)), rule("a.example.com", "", fixed(404)), rule("", "", redirectTo(443))),
				secure(listener(443, rule("a.example.com", "", fixed(200))), "C")),
			to:   balancer(listener(80, rule("", "", redirectTo(443)))),
			want: []string{"delete rule 80/24992", "delete rule 80/12496", "delete listener 443"},
		},
		"a group that goes": {
			reason: "a target group is deleted when no rule names it any more",
			from:   with(balancer(listener(80, shop)), group("A")), to: balancer(listener(80, rule("a.example.com", "/x", fixed(200)))),
			want: []string{"modify rule 80/24992", "delete target group A"},
		},
		"digests": {
			reason: "settings are compared by digest",
			from:   balancer(listener(80)), to: lb.LoadBalancer{Key: "fairlead/shop/web/internal", Digest: digest, Listeners: []lb.Listener{listener(80)}},
			alter: func(o *lb.Observed) { o.Digest = lb.DigestOf("other") },
			want:  []string{"modify load balancer fairlead/shop/web/internal"},
		},
		"digests of another version": {
			reason: "a digest of another version says nothing",
			from:   balancer(listener(80)), to: lb.LoadBalancer{Key: "fairlead/shop/web/internal", Digest: digest, Listeners: []lb.Listener{listener(80)}},
			alter: func(o *lb.Observed) { o.Digest = older },
		},
		"digests that are missing": {
			reason: "settings without a digest were not written to the end",
			from:   with(balancer(listener(80)), group("A")), to: with(balancer(listener(80)), group("A")),
			alter: func(o *lb.Observed) { o.TargetGroups[0].Digest = "" },
			want:  []string{"modify target group A"},
		},
		"targets that were never registered": {
			reason: "a plan that stopped between a group and its targets goes on there",
			from:   with(balancer(listener(80, shop)), group("A")), to: with(balancer(listener(80, shop)), group("A", "10.0.0.1")),
			want: []string{"register targets A"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := lb.ALB()
			seen := &lb.Observed{Key: tc.to.Key}
			if !tc.from.Empty() {
				seen = built(tc.from, c)
			}
			if tc.alter != nil {
				tc.alter(seen)
			}
			p := Diff(seen, tc.to, c)
			if diff := cmp.Diff(tc.want, named(p)); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
			if again := Diff(p.Fold(seen), tc.to, c); !again.Empty() {
				t.Errorf("%s: there is more to do: %v", tc.reason, named(again))
			}
		})
	}
}

func TestAPlanIsTheSameEveryTime(t *testing.T) {
	c := lb.ALB()
	from, to := numbered(names(40)...), numbered(append(names(60)[20:], "extra")...)
	seen := built(from, c)
	first := Diff(seen, to, c)
	for range 20 {
		if diff := cmp.Diff(first, Diff(seen, to, c)); diff != "" {
			t.Fatal(diff)
		}
	}
}

func TestStepsNameTheRoutesBehindThem(t *testing.T) {
	source := diag.Source{Kind: "Ingress", Namespace: "shop", Name: "web"}
	r := rule("a.example.com", "/x", forward("A"))
	r.Origin = []diag.Source{source}
	b := balancer(secure(listener(443, r), "cert"))
	b.TargetGroups = []lb.TargetGroup{group("A", "10.0.0.1")}
	b.Certificates = []lb.Certificate{{ID: "cert", Origin: []diag.Source{source}}}
	for _, s := range Diff(nil, b, lb.ALB()).Steps {
		switch s.Step.(type) {
		case plan.CreateTargetGroup, plan.RegisterTargets, plan.ImportCertificate, plan.CreateListener, plan.CreateRule:
			if !slices.Equal(s.Origin, []diag.Source{source}) {
				t.Errorf("%s %s comes from %v", s.Step.Op(), s.Step.ID(), s.Origin)
			}
		}
	}
}

func TestALoadBalancerWaitsForOneTargetGroup(t *testing.T) {
	b := balancer(listener(80, rule("a.example.com", "", forward("A")), rule("b.example.com", "", forward("B"))))
	for why, c := range map[string]struct {
		groups []lb.TargetGroup
		after  []string
	}{
		"there is none":               {nil, nil},
		"the others are made besides": {[]lb.TargetGroup{group("A", "10.0.0.1"), group("B", "10.0.0.2")}, []string{"create target group A"}},
	} {
		b.TargetGroups = c.groups
		p := Diff(nil, b, lb.ALB())
		at := slices.IndexFunc(p.Steps, func(s plan.Planned) bool { _, is := s.Step.(plan.CreateLoadBalancer); return is })
		var after []string
		for _, before := range p.Steps[at].After {
			after = append(after, named(p)[before])
		}
		if diff := cmp.Diff(c.after, after); diff != "" {
			t.Errorf("%s: it waits for (-want +got):\n%s", why, diff)
		}
	}
}

func TestSuspicious(t *testing.T) {
	c := lb.ALB()
	cases := []struct {
		reason       string
		there, stays int
		want         bool
	}{
		{"more than half of many rules go", 20, 9, true},
		{"half of them go", 20, 10, false},
		{"there were only a few", 19, 0, false},
	}
	for _, tc := range cases {
		seen := built(numbered(names(tc.there)...), c)
		if got := plan.Suspicious(Diff(seen, numbered(names(tc.stays)...), c), seen); got != tc.want {
			t.Errorf("%s: %v", tc.reason, got)
		}
	}
	seen := built(numbered(names(20)...), c)
	if !plan.Suspicious(Diff(seen, balancer(), c), seen) {
		t.Error("deleting the whole load balancer is not suspicious")
	}
	for port, want := range map[int32]bool{80: true, 81: false} {
		if got := plan.Suspicious(plan.Plan{Steps: []plan.Planned{{Step: plan.DeleteListener{Port: port}}}}, seen); got != want {
			t.Errorf("deleting the listener of port %d is suspicious: %t", port, got)
		}
	}
	if plan.Suspicious(plan.Plan{Steps: []plan.Planned{{Step: plan.DeleteListener{Port: 80}}}}, nil) {
		t.Error("a plan for what nobody has seen is suspicious")
	}
}

func TestText(t *testing.T) {
	c := lb.ALB()
	seen := built(balancer(listener(80, rule("", "/x", fixed(200)), rule("", "/y", fixed(201)))), c)
	p := Diff(seen, balancer(listener(80, rule("", "/x", fixed(204)), rule("", "/z", fixed(201)))), c)
	var b bytes.Buffer
	if err := p.Text(&b, plan.Form{Priorities: true}); err != nil {
		t.Fatal(err)
	}
	want := `fairlead/shop/web/internal: 1 to create, 1 to change, 1 to delete
  ~ modify rule 80/16661  path = /x → fixed 204
  + create rule 80/24992  path = /z → fixed 201
  - delete rule 80/33323  path = /y → fixed 201
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
	b.Reset()
	if err := p.Text(&b, plan.Form{Colour: true, Priorities: true}); err != nil || !bytes.Contains(b.Bytes(), []byte("\x1b[32m+ create rule")) {
		t.Errorf("no colour: %q, %v", b.String(), err)
	}
	if diff := cmp.Diff(plan.Printed{Op: "modify rule", ID: "80/16661", Detail: "path = /x → fixed 204"}, p.Print()[0]); diff != "" {
		t.Error(diff)
	}
}

// many is a load balancer as a large group of Ingresses makes it.
func many(n int) lb.LoadBalancer {
	l := listener(80)
	for i := range n {
		l.Rules = append(l.Rules, rule(fmt.Sprintf("host-%d.example.com", i/4), fmt.Sprintf("/path-%d", i%4), fixed(200+i%7)))
	}
	return balancer(l)
}

func TestOneChangeIsOneStep(t *testing.T) {
	c := lb.ALB()
	c.Rules = 0
	seen := built(many(400), c)
	changes := map[string]func(r []lb.Rule) []lb.Rule{
		"a rule more":    func(r []lb.Rule) []lb.Rule { return slices.Insert(r, 200, rule("new.example.com", "/", fixed(200))) },
		"a rule less":    func(r []lb.Rule) []lb.Rule { return slices.Delete(r, 200, 201) },
		"another action": func(r []lb.Rule) []lb.Rule { r[200].Action = fixed(503); return r },
		"another value": func(r []lb.Rule) []lb.Rule {
			r[200].Conditions = slices.Clone(r[200].Conditions)
			r[200].Conditions[1].Values = append(r[200].Conditions[1].Values, "/more")
			return r
		},
	}
	for why, change := range changes {
		b := many(400)
		b.Listeners[0].Rules = change(b.Listeners[0].Rules)
		if p := Diff(seen, b, c); len(p.Steps) != 1 {
			t.Errorf("%s takes %v", why, named(p))
		}
	}
}

func BenchmarkDiff(b *testing.B) {
	for _, c := range []lb.Capabilities{lb.Literal(), lb.ALB(), lb.ALBGlob()} {
		c.Rules = 0
		seen, want := built(many(4000), c), many(4000)
		want.Listeners[0].Rules[2000].Action = fixed(503)
		b.Run("one change in 4000 rules/"+c.Name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if p := Diff(seen, want, c); len(p.Steps) != 1 {
					b.Fatalf("%d steps", len(p.Steps))
				}
			}
		})
		b.Run("a new listener of 4000 rules/"+c.Name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Diff(nil, want, c)
			}
		})
	}
}

// BenchmarkDiffOfGlobs compares rules of one host that are globs, or near them, each with each.
func BenchmarkDiffOfGlobs(b *testing.B) {
	l := listener(80)
	for i := range 300 {
		l.Rules = append(l.Rules,
			rule("www.example.com", fmt.Sprintf("/team-%d/*/edit", i), fixed(200+i%7)),
			rule("www.example.com", fmt.Sprintf("/team-%d/plain", i), fixed(200+i%7)))
	}
	c := lb.Literal()
	b.ReportAllocs()
	for b.Loop() {
		Diff(nil, balancer(l), c)
	}
}
