package plan_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
)

// This file does steps, and compares what is known of the load balancer afterwards.

func forward(groups ...lb.GroupID) lb.Action {
	a := lb.Action{Kind: "forward"}
	for _, g := range groups {
		a.Targets = append(a.Targets, lb.Weighted{Group: g, Weight: 1})
	}
	return a
}

func ruleFor(path string, groups ...lb.GroupID) lb.Rule {
	return lb.Rule{Conditions: []lb.Condition{{Field: "path", Values: []string{path}}}, Action: forward(groups...)}
}

// served is a load balancer with the ports 80 and 443. The group "a" is named by two rules, "b" by
// one, and "c" by a default action.
func served() *lb.Observed {
	group := func(id lb.GroupID) lb.ObservedTargetGroup {
		return lb.ObservedTargetGroup{TargetGroup: lb.TargetGroup{ID: id, Digest: "1"}, Registered: true, Ready: true, Handle: "group-" + string(id)}
	}
	certificate := func(id lb.CertificateID) lb.ObservedCertificate {
		return lb.ObservedCertificate{Certificate: lb.Certificate{ID: id, Digest: "1"}, Handle: "certificate-" + string(id)}
	}
	return &lb.Observed{
		Key: "k", Exists: true, Active: true, Handle: "balancer", Digest: "1", Firewall: "firewall",
		Address:      lb.Address{Hostname: "k.example", Ports: map[int32]int32{80: 8080, 443: 8443}},
		TargetGroups: []lb.ObservedTargetGroup{group("a"), group("b"), group("c")},
		Certificates: []lb.ObservedCertificate{certificate("first"), certificate("other"), certificate("second")},
		Listeners: []lb.ObservedListener{
			{Port: 80, Protocol: routing.HTTP, Digest: "1", Default: forward("c"), Handle: "listener-80"},
			{Port: 443, Protocol: routing.HTTPS, Digest: "1", Default: lb.Action{Kind: "fixed", Status: 404}, Handle: "listener-443",
				Certificates: []lb.CertificateID{"second", "first", "third"},
				Rules: []lb.ObservedRule{
					{Rule: ruleFor("/a", "a"), Priority: 10, Handle: "rule-10"},
					{Rule: ruleFor("/b", "a", "b"), Priority: 20, Handle: "rule-20"},
				}},
		},
	}
}

// same compares states. A list without elements is as good as none.
func same(want, got *lb.Observed) string { return cmp.Diff(want, got, cmpopts.EquateEmpty()) }

// done are steps that change a load balancer, with what is different afterwards.
var done = map[string]struct {
	step   plan.Step
	result plan.Result
	change func(*lb.Observed)
}{
	"load balancer: it is created": {
		plan.CreateLoadBalancer{LoadBalancer: lb.LoadBalancer{Key: "new", Digest: "2", Protected: true}},
		plan.Result{Handle: "handle", Address: lb.Address{Hostname: "new.example"}, Active: true, Firewall: "wall"},
		func(o *lb.Observed) {
			o.Key, o.Digest, o.Protected = "new", "2", lb.ByClass
			o.Handle, o.Address, o.Active, o.Firewall = "handle", lb.Address{Hostname: "new.example"}, true, "wall"
		},
	},
	"load balancer: it is changed": {
		plan.ModifyLoadBalancer{LoadBalancer: lb.LoadBalancer{Key: "k", Digest: "2"}}, plan.Result{},
		func(o *lb.Observed) { o.Digest = "2" },
	},
	"load balancer: it is changed, and has another firewall": {
		plan.ModifyLoadBalancer{LoadBalancer: lb.LoadBalancer{Key: "k", Digest: "2"}}, plan.Result{Firewall: "wall"},
		func(o *lb.Observed) { o.Digest, o.Firewall = "2", "wall" },
	},
	"load balancer: it is protected": {
		plan.ModifyLoadBalancer{LoadBalancer: lb.LoadBalancer{Key: "k", Digest: "1", Protected: true}}, plan.Result{},
		func(o *lb.Observed) { o.Protected = lb.ByClass },
	},
	"load balancer: it is deleted": {
		plan.DeleteLoadBalancer{Key: "k"}, plan.Result{},
		func(o *lb.Observed) {
			*o = lb.Observed{Key: "k", TargetGroups: o.TargetGroups, Certificates: o.Certificates, Firewall: "firewall"}
		},
	},
	"load balancer: a web ACL": {
		plan.SetWebACL{Key: "k", WebACL: "acl"}, plan.Result{},
		func(o *lb.Observed) { o.Protection.WebACL = "acl" },
	},
	"load balancer: a shield": {
		plan.ShieldLoadBalancer{Key: "k", Shield: "on"}, plan.Result{},
		func(o *lb.Observed) { o.Protection.Shield = "on" },
	},
	"load balancer: its firewall goes": {plan.DeleteFirewall{Key: "k"}, plan.Result{}, func(o *lb.Observed) { o.Firewall = "" }},

	"certificate: it is imported, without what is secret": {
		plan.ImportCertificate{Certificate: lb.Certificate{ID: "new", Digest: "2", Tags: map[string]string{"a": "b"}, Pair: &lb.KeyPair{}}},
		plan.Result{Handle: "handle"},
		func(o *lb.Observed) {
			o.Certificates = slices.Insert(o.Certificates, 1, lb.ObservedCertificate{Certificate: lb.Certificate{ID: "new", Digest: "2"}, Handle: "handle"})
		},
	},
	"certificate: it is imported in place of the one that is there": {
		plan.ImportCertificate{Certificate: lb.Certificate{ID: "other", Digest: "2"}}, plan.Result{Handle: "handle"},
		func(o *lb.Observed) {
			o.Certificates[1] = lb.ObservedCertificate{Certificate: lb.Certificate{ID: "other", Digest: "2"}, Handle: "handle"}
		},
	},
	"certificate: it is replaced wherever it is named": {
		plan.ReplaceCertificate{Old: "first", New: lb.Certificate{ID: "zeroth", Digest: "2"}}, plan.Result{},
		func(o *lb.Observed) {
			o.Certificates = append(slices.Clone(o.Certificates[1:]), lb.ObservedCertificate{Certificate: lb.Certificate{ID: "zeroth", Digest: "2"}, Handle: "certificate-first"})
			o.Listeners[1].Certificates = []lb.CertificateID{"second", "third", "zeroth"}
		},
	},
	"certificate: it is replaced where it is the default": {
		plan.ReplaceCertificate{Old: "second", New: lb.Certificate{ID: "new"}}, plan.Result{},
		func(o *lb.Observed) {
			o.Certificates = []lb.ObservedCertificate{o.Certificates[0], {Certificate: lb.Certificate{ID: "new"}, Handle: "certificate-second"}, o.Certificates[1]}
			o.Listeners[1].Certificates = []lb.CertificateID{"new", "first", "third"}
		},
	},
	"certificate: it is changed": {
		plan.ModifyCertificate{Certificate: lb.Certificate{ID: "other", Digest: "2"}}, plan.Result{},
		func(o *lb.Observed) { o.Certificates[1].Digest = "2" },
	},
	"certificate: it is deleted": {
		plan.DeleteCertificate{Certificate: "other"}, plan.Result{},
		func(o *lb.Observed) { o.Certificates = slices.Delete(o.Certificates, 1, 2) },
	},

	"target group: it is created, empty": {
		plan.CreateTargetGroup{Group: lb.TargetGroup{
			ID: "bb", Digest: "2", Provider: "{}", Health: routing.HealthCheck{Path: "/"}, Attributes: map[string]string{"a": "b"},
			Tags: map[string]string{"a": "b"}, Targets: []lb.Target{{Address: "10.0.0.1"}},
		}},
		plan.Result{Handle: "handle"},
		func(o *lb.Observed) {
			o.TargetGroups = slices.Insert(o.TargetGroups, 2, lb.ObservedTargetGroup{TargetGroup: lb.TargetGroup{ID: "bb", Digest: "2", Provider: "{}"}, Handle: "handle"})
		},
	},
	"target group: it is changed": {
		plan.ModifyTargetGroup{Group: lb.TargetGroup{ID: "b", Digest: "2"}}, plan.Result{},
		func(o *lb.Observed) { o.TargetGroups[1].Digest = "2" },
	},
	"target group: it is deleted": {
		plan.DeleteTargetGroup{Group: "b"}, plan.Result{},
		func(o *lb.Observed) { o.TargetGroups = slices.Delete(o.TargetGroups, 1, 2) },
	},

	"listener: it is created": {
		plan.CreateListener{Listener: lb.Listener{
			Port: 100, Protocol: routing.HTTPS, Certificates: []lb.CertificateID{"other"}, Verifies: true, Digest: "2",
			Default: forward("b"), Settings: lb.ListenerSettings{ClientSecrets: "secret"},
		}},
		plan.Result{Handle: "handle", Port: 8100},
		func(o *lb.Observed) {
			o.Listeners = slices.Insert(o.Listeners, 1, lb.ObservedListener{
				Port: 100, Protocol: routing.HTTPS, Certificates: []lb.CertificateID{"other"}, Verifies: true, Digest: "2",
				Default: forward("b"), ClientSecrets: "secret", Handle: "handle",
			})
			o.Address.Ports[100] = 8100
		},
	},
	"listener: it is created at its own port": {
		plan.CreateListener{Listener: lb.Listener{Port: 8443, Protocol: routing.HTTP}}, plan.Result{},
		func(o *lb.Observed) {
			o.Listeners = append(o.Listeners, lb.ObservedListener{Port: 8443, Protocol: routing.HTTP})
		},
	},
	"listener: it is changed": {
		plan.ModifyListener{Listener: lb.Listener{
			Port: 80, Protocol: routing.HTTP, Verifies: true, Digest: "2", Default: forward("a"),
			Settings: lb.ListenerSettings{ClientSecrets: "secret"},
		}}, plan.Result{},
		func(o *lb.Observed) {
			l := &o.Listeners[0]
			l.Verifies, l.Digest, l.Default, l.ClientSecrets = true, "2", forward("a"), "secret"
		},
	},
	"listener: it serves HTTPS from now on": {
		plan.ModifyListener{Listener: lb.Listener{Port: 80, Protocol: routing.HTTPS, Digest: "1", Default: forward("c"), Certificates: []lb.CertificateID{"other", "first"}}}, plan.Result{},
		func(o *lb.Observed) {
			o.Listeners[0].Protocol, o.Listeners[0].Certificates = routing.HTTPS, []lb.CertificateID{"other"}
		},
	},
	"listener: it serves HTTPS from now on, without a certificate": {
		plan.ModifyListener{Listener: lb.Listener{Port: 80, Protocol: routing.HTTPS, Digest: "1", Default: forward("c")}}, plan.Result{},
		func(o *lb.Observed) { o.Listeners[0].Protocol = routing.HTTPS },
	},
	"listener: it serves HTTP from now on": {
		plan.ModifyListener{Listener: lb.Listener{Port: 443, Protocol: routing.HTTP, Digest: "1", Certificates: []lb.CertificateID{"first"}}}, plan.Result{},
		func(o *lb.Observed) {
			o.Listeners[1].Protocol, o.Listeners[1].Certificates, o.Listeners[1].Default = routing.HTTP, nil, lb.Action{}
		},
	},
	"listener: another default certificate, and the old one is wanted": {
		plan.ModifyListener{Listener: lb.Listener{Port: 443, Protocol: routing.HTTPS, Digest: "1", Certificates: []lb.CertificateID{"first", "second"}}}, plan.Result{},
		func(o *lb.Observed) {
			o.Listeners[1].Certificates, o.Listeners[1].Default = []lb.CertificateID{"first", "second", "third"}, lb.Action{}
		},
	},
	"listener: another default certificate, and the old one is not wanted": {
		plan.ModifyListener{Listener: lb.Listener{Port: 443, Protocol: routing.HTTPS, Digest: "1", Certificates: []lb.CertificateID{"zero", "first"}}}, plan.Result{},
		func(o *lb.Observed) {
			o.Listeners[1].Certificates, o.Listeners[1].Default = []lb.CertificateID{"zero", "first", "third"}, lb.Action{}
		},
	},
	"listener: a certificate is attached": {
		plan.AttachCertificate{Port: 443, Certificate: "other"}, plan.Result{},
		func(o *lb.Observed) {
			o.Listeners[1].Certificates = []lb.CertificateID{"second", "first", "other", "third"}
		},
	},
	"listener: its first certificate is attached": {
		plan.AttachCertificate{Port: 80, Certificate: "other"}, plan.Result{},
		func(o *lb.Observed) { o.Listeners[0].Certificates = []lb.CertificateID{"other"} },
	},
	"listener: a certificate is detached": {
		plan.DetachCertificate{Port: 443, Certificate: "first"}, plan.Result{},
		func(o *lb.Observed) { o.Listeners[1].Certificates = []lb.CertificateID{"second", "third"} },
	},
	"listener: it is deleted": {
		plan.DeleteListener{Port: 80}, plan.Result{},
		func(o *lb.Observed) {
			o.Listeners = o.Listeners[1:]
			delete(o.Address.Ports, 80)
		},
	},

	"rule: it is created, without its origin": {
		plan.CreateRule{Port: 443, Priority: 15, Rule: lb.Rule{Action: forward("b"), Origin: []diag.Source{{Name: "web"}}}}, plan.Result{Handle: "handle"},
		func(o *lb.Observed) {
			l := &o.Listeners[1]
			l.Rules = slices.Insert(l.Rules, 1, lb.ObservedRule{Rule: lb.Rule{Action: forward("b")}, Priority: 15, Handle: "handle"})
		},
	},
	"rule: it takes the place of another one": {
		plan.CreateRule{Port: 443, Priority: 20, Rule: ruleFor("/new", "b")}, plan.Result{Handle: "handle"},
		func(o *lb.Observed) {
			o.Listeners[1].Rules[1] = lb.ObservedRule{Rule: ruleFor("/new", "b"), Priority: 20, Handle: "handle"}
		},
	},
	"rule: it leads elsewhere, and its old group is not checked any more": {
		plan.ModifyRule{Port: 443, Priority: 20, Rule: lb.Rule{Action: forward("c"), Origin: []diag.Source{{Name: "web"}}}}, plan.Result{},
		func(o *lb.Observed) {
			o.Listeners[1].Rules[1].Rule = lb.Rule{Action: forward("c")}
			o.TargetGroups[1].Ready = false
		},
	},
	"rule: it is deleted, and its group is not checked any more": {
		plan.DeleteRule{Port: 443, Priority: 20}, plan.Result{},
		func(o *lb.Observed) {
			o.Listeners[1].Rules = o.Listeners[1].Rules[:1]
			o.TargetGroups[1].Ready = false
		},
	},
	"rule: it is deleted, and another one names its group": {
		plan.DeleteRule{Port: 443, Priority: 10}, plan.Result{},
		func(o *lb.Observed) { o.Listeners[1].Rules = o.Listeners[1].Rules[1:] },
	},
	"rule: priorities change": {
		plan.RespaceRules{Port: 443, To: map[int]int{10: 30}}, plan.Result{},
		func(o *lb.Observed) {
			l := &o.Listeners[1]
			l.Rules[0], l.Rules[1] = l.Rules[1], l.Rules[0]
			l.Rules[1].Priority = 30
		},
	},
}

// A step changes what it is about, and nothing else. Done again, it changes nothing.
func TestWhatAStepChanges(t *testing.T) {
	for name, c := range done {
		t.Run(name, func(t *testing.T) {
			want, got := served(), served()
			c.change(want)
			other := got.Clone()
			c.step.Do(got, c.result)
			if diff := same(want, got); diff != "" {
				t.Errorf("afterwards it is different (-want +got):\n%s", diff)
			}
			c.step.Do(got, c.result)
			if diff := same(want, got); diff != "" {
				t.Errorf("done again, it changes something (-want +got):\n%s", diff)
			}
			if diff := same(served(), other); diff != "" {
				t.Errorf("a copy from before has changed (-want +got):\n%s", diff)
			}
		})
	}
}

// A step that holds already, or is about an object that is not there, changes nothing.
func TestAStepWithoutAnObjectChangesNothing(t *testing.T) {
	for _, step := range []plan.Step{
		plan.CreateTargetGroup{Group: lb.TargetGroup{ID: "b", Digest: "2"}},
		plan.CreateListener{Listener: lb.Listener{Port: 443, Digest: "2"}},
		plan.AttachCertificate{Port: 443, Certificate: "first"},
		plan.DetachCertificate{Port: 443, Certificate: "second"}, // the default one
		plan.DetachCertificate{Port: 443, Certificate: "other"},
		plan.RegisterTargets{Group: "b"},
		plan.AwaitTargets{Group: "b"},
	} {
		got := served()
		if step.Do(got, plan.Result{Handle: "handle"}); same(served(), got) != "" {
			t.Errorf("%s %s: it holds, and changes\n%s", step.Op(), step.ID(), same(served(), got))
		}
	}
	for _, step := range []plan.Step{
		plan.ReplaceCertificate{Old: "no", New: lb.Certificate{ID: "new"}}, plan.ModifyCertificate{Certificate: lb.Certificate{ID: "no"}},
		plan.DeleteCertificate{Certificate: "no"}, plan.ModifyTargetGroup{Group: lb.TargetGroup{ID: "no"}},
		plan.RegisterTargets{Group: "no"}, plan.AwaitTargets{Group: "no"}, plan.DeleteTargetGroup{Group: "no"},
		plan.ModifyListener{Listener: lb.Listener{Port: 1}}, plan.AttachCertificate{Port: 1, Certificate: "first"},
		plan.DetachCertificate{Port: 1, Certificate: "first"}, plan.DetachCertificate{Port: 80, Certificate: "first"},
		plan.DeleteListener{Port: 1}, plan.CreateRule{Port: 1, Priority: 10}, plan.ModifyRule{Port: 1, Priority: 10},
		plan.ModifyRule{Port: 443, Priority: 1}, plan.DeleteRule{Port: 1, Priority: 10}, plan.DeleteRule{Port: 443, Priority: 1},
		plan.RespaceRules{Port: 1, To: map[int]int{10: 11}}, plan.RespaceRules{Port: 443, To: map[int]int{1: 11}},
	} {
		for _, before := range []func() *lb.Observed{served, func() *lb.Observed { return &lb.Observed{} }} {
			got := before()
			if step.Do(got, plan.Result{}); same(before(), got) != "" {
				t.Errorf("%s %s: it is about an object that is not there, and changes\n%s", step.Op(), step.ID(), same(before(), got))
			}
		}
	}
}

// A new target group has its targets registered, and then has a healthy one.
func TestATargetGroupBecomesReady(t *testing.T) {
	o := &lb.Observed{}
	for i, step := range []plan.Step{
		plan.CreateTargetGroup{Group: lb.TargetGroup{ID: "g"}}, plan.RegisterTargets{Group: "g"}, plan.AwaitTargets{Group: "g"},
	} {
		step.Do(o, plan.Result{})
		if g := o.TargetGroup("g"); g == nil || g.Registered != (i >= 1) || g.Ready != (i >= 2) {
			t.Errorf("after %q the group is %+v", step.Op(), g)
		}
	}
}

// Protection by the class ends with the setting of the class. That by others stays.
func TestProtectionByTheClassEndsWithItsSetting(t *testing.T) {
	for before, after := range map[string]string{"": "", lb.ByClass: "", lb.ByOthers: lb.ByOthers} {
		o := served()
		o.Protected = before
		if (plan.ModifyLoadBalancer{}).Do(o, plan.Result{}); o.Protected != after {
			t.Errorf("protection by %q becomes one by %q, want %q", before, o.Protected, after)
		}
	}
}

// A load balancer whose ports are all its own has none that are reached elsewhere.
func TestPortsThatAreReachedElsewhere(t *testing.T) {
	o := &lb.Observed{}
	plan.CreateListener{Listener: lb.Listener{Port: 80}}.Do(o, plan.Result{Port: 8080})
	if got := o.Address.Ports; len(got) != 1 || got[80] != 8080 {
		t.Errorf("the ports are %v", got)
	}
	if (plan.DeleteListener{Port: 80}).Do(o, plan.Result{}); o.Address.Ports != nil {
		t.Errorf("without listeners the ports are %v", o.Address.Ports)
	}
}

// A rule that names a group that was deleted before is deleted like any other one.
func TestARuleOfAGroupThatIsGoneIsDeleted(t *testing.T) {
	o := served()
	plan.DeleteTargetGroup{Group: "b"}.Do(o, plan.Result{})
	if (plan.DeleteRule{Port: 443, Priority: 20}).Do(o, plan.Result{}); len(o.Listeners[1].Rules) != 1 || !o.TargetGroup("a").Ready {
		t.Errorf("the rules are %+v, the groups %+v", o.Listeners[1].Rules, o.TargetGroups)
	}
}

// Groups that a rule or a default action names are in use.
func TestGroupsOfRulesAndDefaultsAreInUse(t *testing.T) {
	o := served()
	o.Listeners[1].Rules = o.Listeners[1].Rules[:1]
	if got := plan.GroupsInUse(o); len(got) != 2 || !got["a"] || !got["c"] {
		t.Errorf("in use are %v", got)
	}
}
