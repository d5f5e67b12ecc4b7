package plan

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// everySetting is a load balancer with a value for every setting that a plan prints.
func everySetting() lb.LoadBalancer {
	tags := map[string]string{"team": "shop"}
	l := lb.Listener{Port: 443, Protocol: "HTTPS", Certificates: []lb.CertificateID{"c"}}
	l.Settings = lb.ListenerSettings{
		Inbound: []string{"10.0.0.0/8"}, TLSPolicy: "strict", Tags: tags,
		Attributes:    map[string]string{"server": "off"},
		Mutual:        &lb.MutualAuthentication{Mode: "verify", TrustStore: "partners", IgnoreExpiry: true, AdvertiseCANames: true},
		ClientSecrets: "v1:secret",
	}
	g := lb.TargetGroup{ID: "g", Attributes: map[string]string{"sticky": "true"}, Tags: tags, Provider: "{}"}
	g.Health = routing.HealthCheck{
		Path: "/h", Port: "9", Protocol: "HTTP", SuccessCodes: "200",
		IntervalSeconds: 11, TimeoutSeconds: 12, HealthyThreshold: 3, UnhealthyThreshold: 4,
	}
	c := lb.Certificate{ID: "c", Tags: tags, Pair: &lb.KeyPair{Key: []byte("private")}}
	return lb.LoadBalancer{
		Key: "k", Listeners: []lb.Listener{l}, TargetGroups: []lb.TargetGroup{g}, Certificates: []lb.Certificate{c},
		Protection: lb.Protection{WebACL: "acl", Shield: "on"},
		Settings: routing.Settings{
			IPFamily: "dualstack", Subnets: []string{"a", "b"}, SecurityGroups: []string{"sg"},
			Attributes: map[string]string{"idle": "60"}, Tags: tags, Provider: "{}",
		},
	}
}

func TestAPlanPrintsEverySetting(t *testing.T) {
	want := everySetting()
	p := Plan{Key: "k", Steps: []Planned{
		{Step: CreateLoadBalancer{want}}, {Step: ImportCertificate{want.Certificates[0]}},
		{Step: CreateTargetGroup{want.TargetGroups[0]}}, {Step: CreateListener{want.Listeners[0]}},
	}}
	var b strings.Builder
	if err := p.Text(&b, Form{}); err != nil {
		t.Fatal(err)
	}
	var settings []string
	for line := range strings.Lines(b.String()) {
		if text, is := strings.CutPrefix(line, "      "); is {
			settings = append(settings, strings.TrimSpace(text))
		}
	}
	if diff := cmp.Diff([]string{
		"IP family: dualstack", "attribute: idle 60", "provider: {}", "security groups: sg", "subnets: a, b", "tag: team shop",
		"tag: team shop",
		"attribute: sticky true", "health check: healthy threshold 3, interval seconds 11, path /h, port 9, protocol HTTP, success codes 200, timeout seconds 12, unhealthy threshold 4", "provider: {}", "tag: team shop",
		"TLS policy: strict", "attribute: server off", "certificates: c", "client certificates: verify, trust store partners, expired ones too, with the names of CAs", "inbound: 10.0.0.0/8", "tag: team shop",
	}, settings); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	for _, secret := range []string{"private", "v1:secret"} {
		if strings.Contains(b.String(), secret) {
			t.Errorf("a secret is printed:\n%s", b.String())
		}
	}
}

// TestAPlanLeavesOutDefaultsOfHealthChecks has a new target group with the default health check, and one with
// another path and version. Data for programs have all of it.
func TestAPlanLeavesOutDefaultsOfHealthChecks(t *testing.T) {
	usual := func(p routing.Protocol, v routing.Version) routing.HealthCheck {
		h := routing.HealthCheck{Path: "/", Port: "traffic-port", Protocol: string(p), SuccessCodes: "200", IntervalSeconds: 15, TimeoutSeconds: 5}
		if v == routing.VersionGRPC {
			h.SuccessCodes = "12"
		}
		return h
	}
	group := func(id lb.GroupID, change func(*lb.TargetGroup)) Planned {
		g := lb.TargetGroup{ID: id, TargetType: "ip", Protocol: routing.HTTPS, Health: usual(routing.HTTPS, ""), Attributes: map[string]string{"sticky": "true"}}
		change(&g)
		return Planned{Step: CreateTargetGroup{g}}
	}
	p := Plan{Key: "k", Steps: []Planned{
		group("usual", func(*lb.TargetGroup) {}),
		group("other", func(g *lb.TargetGroup) { g.Health.Path, g.Health.TimeoutSeconds = "/h", 6 }),
		group("grpc", func(g *lb.TargetGroup) {
			g.Version, g.Health = routing.VersionGRPC, usual(routing.HTTPS, routing.VersionGRPC)
		}),
		group("like-http", func(g *lb.TargetGroup) { g.Version = routing.VersionGRPC }),
	}}
	var b strings.Builder
	form := Form{HealthCheck: usual}
	if err := p.Text(&b, form); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`k: 4 to create, 0 to change, 0 to delete
  + create target group usual  HTTPS ip
      attribute: sticky true
  + create target group other  HTTPS ip
      attribute: sticky true
      health check: path /h, timeout seconds 6
  + create target group grpc  HTTPS ip
      attribute: sticky true
  + create target group like-http  HTTPS ip
      attribute: sticky true
      health check: success codes 200
`, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if all, _ := form.Settings(p.Steps[0].Step); len(all) != 7 {
		t.Errorf("data have %v", all)
	}
}

// TestAPlanPrintsWhatChanges has what is known read back from JSON, as --observed does.
func TestAPlanPrintsWhatChanges(t *testing.T) {
	before := everySetting()
	text, err := json.Marshal(SettingsOfWanted(before))
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"private", "v1:secret", "null"} {
		if strings.Contains(string(text), secret) {
			t.Errorf("%s is written: %s", secret, text)
		}
	}
	var known KnownSettings
	if err := json.Unmarshal(text, &known); err != nil {
		t.Fatal(err)
	}
	after := everySetting()
	after.Settings.Attributes = map[string]string{"idle": "300", "drop": "true"}
	after.Settings.Subnets = nil
	after.TargetGroups[0].Health.Path = "/new"
	after.Listeners[0].Settings.Inbound = []string{"0.0.0.0/0"}
	after.Certificates[0].Tags = nil
	p := Plan{Key: "k", Steps: []Planned{
		{Step: ModifyLoadBalancer{after}}, {Step: ModifyCertificate{after.Certificates[0]}},
		{Step: ModifyTargetGroup{after.TargetGroups[0]}}, {Step: ModifyListener{after.Listeners[0]}},
		{Step: SetWebACL{Key: "k"}}, {Step: ShieldLoadBalancer{Key: "k", Shield: "on"}},
		{Step: CreateRule{Port: 443, Priority: 77, Rule: lb.Rule{Action: lb.Action{Kind: "fixed", Status: 404}}}},
		{Step: RespaceRules{Port: 443, To: map[int]int{77: 78}}},
	}}
	var b strings.Builder
	if err := p.Text(&b, Form{Before: known}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`k: 1 to create, 7 to change, 0 to delete
  ~ modify load balancer k
      attribute drop: true
      attribute idle: 60 → 300
      subnets: a, b → unset
  ~ modify certificate c
      tag team: shop → unset
  ~ modify target group g
      health check path: /h → /new
  ~ modify listener 443  HTTPS, otherwise forward 
      inbound: 10.0.0.0/8 → 0.0.0.0/0
  ~ set web ACL of k  none of ours any more
      web ACL: acl → unset
  ~ shield load balancer k  on
  + create rule 443  any → fixed 404
  ~ respace rules 443  to make room between them
`, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	b.Reset()
	p.Steps = p.Steps[:1]
	if err := p.Text(&b, Form{}); err != nil || strings.Count(b.String(), "\n") != 9 || !strings.Contains(b.String(), "not known") {
		t.Errorf("without the settings before:\n%s", b.String())
	}
}
