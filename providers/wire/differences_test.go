package wire_test

import (
	"slices"
	"testing"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/wire"
)

// TestDifferences names what an observation has in another way, and what it means alike is alike.
func TestDifferences(t *testing.T) {
	rule := func(host string) lb.Rule {
		return lb.Rule{Conditions: []lb.Condition{{Field: "host", Values: []string{host, "b.example.com"}}}, Action: lb.Action{Kind: "fixed", Status: 404}}
	}
	build := func(change func(*lb.Observed)) *lb.Observed {
		o := &lb.Observed{Key: "k", Exists: true, Handle: "one",
			Listeners:    []lb.ObservedListener{{Port: 80, Protocol: "HTTP", Certificates: []lb.CertificateID{"a", "b"}, Default: lb.Action{Kind: "fixed", Status: 404}, Rules: []lb.ObservedRule{{Rule: rule("a.example.com"), Priority: 10, Handle: "r"}}}},
			TargetGroups: []lb.ObservedTargetGroup{{TargetGroup: lb.TargetGroup{ID: "rules"}, Ready: true}},
			Certificates: []lb.ObservedCertificate{{Certificate: lb.Certificate{ID: "a", Hosts: []string{"x"}}, Handle: "c"}},
		}
		change(o)
		return o
	}
	for name, c := range map[string]struct {
		change func(*lb.Observed)
		want   []string
	}{
		"nothing": {func(*lb.Observed) {}, nil},
		"another order of values": {func(o *lb.Observed) {
			slices.Reverse(o.Listeners[0].Rules[0].Rule.Conditions[0].Values)
		}, nil},
		"settings that were read": {func(o *lb.Observed) { o.Read = &lb.ReadSettings{} }, nil},
		"a handle":                {func(o *lb.Observed) { o.Certificates[0].Handle = "d" }, []string{`certificates[a].handle: reported "d", want "c"`}},
		"another host": {func(o *lb.Observed) { o.Listeners[0].Rules[0].Rule = rule("c.example.com") }, []string{
			`listeners[80].rules[10].rule.conditions: reported [{"field":"host","values":["c.example.com","b.example.com"]}], want [{"field":"host","values":["a.example.com","b.example.com"]}]`}},
		"no rule":              {func(o *lb.Observed) { o.Listeners[0].Rules = nil }, []string{`listeners[80].rules[10]: not reported, want {"handle":"r","priority":10,"rule":{"action":{"fixed":{"status":404},"kind":"fixed"},"conditions":[{"field":"host","values":["a.example.com","b.example.com"]}]}}`}},
		"one certificate less": {func(o *lb.Observed) { o.Listeners[0].Certificates = o.Listeners[0].Certificates[:1] }, []string{`listeners[80].certificates: reported ["a"], want ["a","b"]`}},
		"not ready, and more":  {func(o *lb.Observed) { o.TargetGroups[0].Ready, o.Firewall = false, "f" }, []string{`firewall: reported "f", want none`, `targetGroups[rules].ready: not reported, want true`}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := wire.Differences(build(func(*lb.Observed) {}), build(c.change)); !slices.Equal(got, c.want) {
				t.Errorf("%q", got)
			}
		})
	}
}
