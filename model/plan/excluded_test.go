package plan_test

import (
	"strings"
	"testing"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
)

// Each step has one thing that small capabilities exclude, and that large ones do not.
func TestExcluded(t *testing.T) {
	small := lb.Capabilities{
		FieldsRefused: []string{"header", "source"}, VersionsRefused: []routing.Version{"GRPC"}, HostValue: `^[a-z.*]*$`, PathCharacters: "/abc*", ValueLength: 20,
		ValuesPerCondition: 2, ValuesPerRule: 3, WildcardsPerRule: 1, NameLength: 5, NoStickyForward: true, TargetsPerForward: 2,
		MaxWeight: 10, BodyLength: 3, ContentTypes: []string{"text/plain"}, NoFixed3xx: true, NoClientCertificates: true,
		NoHTTPS: true, TargetTypesRefused: []string{"instance"}, RedirectStatuses: []int{301}, TLSPolicies: []string{"new"}, BalancerAttributes: map[string]lb.Attribute{"n": {Most: 9}}, ListenerAttributes: map[string]lb.Attribute{},
		SourcesRefused: []string{"1.2.3.4/32"}, MinPriority: 1, MaxPriority: 100,
	}
	large := lb.Capabilities{
		Regex: true, Rewrites: true, OtherTargetGroups: true, Auth: true, Inbound: true, WebACLs: true, Shields: true, MaxPriority: 1000,
		GroupAttributes: map[string]lb.Attribute{"a": {Text: true}},
	}
	when := func(c ...lb.Condition) plan.Step {
		return plan.ModifyRule{Rule: lb.Rule{Conditions: c, Action: lb.Action{Kind: "fixed", Status: 200}}}
	}
	values := func(field string, v ...string) plan.Step { return when(lb.Condition{Field: field, Values: v}) }
	does := func(a lb.Action) plan.Step { return plan.CreateRule{Priority: 1, Rule: lb.Rule{Action: a}} }
	listens := func(s lb.ListenerSettings) plan.Step {
		return plan.CreateListener{Listener: lb.Listener{Settings: s}}
	}
	two := []lb.Weighted{{Group: "a", Weight: 1}, {Group: "b", Weight: 1}}
	some := map[string]string{"a": "b"}
	for want, step := range map[string]plan.Step{
		"field source":             values("source", "192.0.2.1/32"),
		"value A.test":             values("host", "A.test"),
		"value /x":                 values("path", "/x"),
		"of 24 characters":         values("path", "/aaaaaaaaaaaaaaaaaaaaaaa"),
		"condition with 3":         values("host", "a", "b", "c"),
		"rule with 4 values":       when(lb.Condition{Field: "host", Values: []string{"a", "b"}}, lb.Condition{Field: "path", Values: []string{"/a", "/b"}}),
		"rule with 2 wild":         values("path", "/a*b*"),
		"name Long-Name":           when(lb.Condition{Field: "query", Name: "Long-Name", Values: []string{"a"}}),
		"regular expression":       when(lb.Condition{Field: "path", Regex: []string{"/a"}}),
		"sign-in":                  does(lb.Action{Kind: "forward", Auth: &routing.Auth{}}),
		"group that others made":   does(lb.Action{Kind: "forward", Targets: []lb.Weighted{{Group: "arn:others/T", Weight: 1}}}),
		"rewrite":                  does(lb.Action{Kind: "forward", Rewrite: &routing.Rewrite{}}),
		"stickySeconds":            does(lb.Action{Kind: "forward", Targets: two, StickySeconds: 1}),
		"to 3 target groups":       does(lb.Action{Kind: "forward", Targets: append(two[:2:2], lb.Weighted{Group: "c"})}),
		"weight above 10":          does(lb.Action{Kind: "forward", Targets: []lb.Weighted{{Group: "a", Weight: 11}, {Group: "b"}}}),
		"body of 4 bytes":          does(lb.Action{Kind: "fixed", Status: 200, Body: "body", ContentType: "text/plain"}),
		"text/html":                does(lb.Action{Kind: "fixed", Status: 200, Body: "b", ContentType: "text/html"}),
		"status 302":               does(lb.Action{Kind: "fixed", Status: 302}),
		"priority 101":             plan.CreateRule{Priority: 101},
		"sources that may":         listens(lb.ListenerSettings{Inbound: []string{"192.0.2.1/32"}}),
		"of clients":               listens(lb.ListenerSettings{Mutual: &lb.MutualAuthentication{Mode: "verify"}}),
		"policy old":               listens(lb.ListenerSettings{TLSPolicy: "old"}),
		"the attribute a":          listens(lb.ListenerSettings{Attributes: some}),
		`"10" of the attribu`:      plan.CreateLoadBalancer{LoadBalancer: lb.LoadBalancer{Settings: routing.Settings{Attributes: map[string]string{"n": "10"}}}},
		"attribute a":              plan.ModifyTargetGroup{Group: lb.TargetGroup{Attributes: some}},
		"version GRPC":             plan.CreateTargetGroup{Group: lb.TargetGroup{Version: "GRPC"}},
		"target type instance":     plan.ModifyTargetGroup{Group: lb.TargetGroup{TargetType: "instance"}},
		"protocol HTTPS":           plan.ModifyListener{Listener: lb.Listener{Protocol: routing.HTTPS}},
		"a certificate":            plan.ImportCertificate{},
		"redirect with status 302": does(lb.Action{Kind: "redirect", Status: 302}),
		"web ACL":                  plan.SetWebACL{WebACL: "arn:a"},
		"Shield":                   plan.ShieldLoadBalancer{Shield: lb.ShieldOn},
	} {
		if got := plan.Excluded(step, small); !strings.Contains(got, want) {
			t.Errorf("%s: excluded is %q", want, got)
		}
		if got := plan.Excluded(step, large); got != "" {
			t.Errorf("%s: excluded is %q of a cloud that has it", want, got)
		}
	}
}
