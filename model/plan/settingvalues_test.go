package plan

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// This file reads the settings of load balancers that have all of them, and of some that have none.

var tags = map[string]string{"team": "shop"}

// wanted is a load balancer with a value for every setting, and an object of each kind that has none.
func wanted() lb.LoadBalancer {
	return lb.LoadBalancer{
		Key: "k", Protection: lb.Protection{WebACL: "acl", Shield: "on"},
		Settings: routing.Settings{
			IPFamily: "dualstack", Subnets: []string{"a", "b"}, SecurityGroups: []string{"sg-1", "sg-2"},
			Attributes: map[string]string{"idle": "60", "prefix": ""}, Tags: tags, Provider: "{}",
		},
		Listeners: []lb.Listener{
			{Port: 80},
			{Port: 443, Certificates: []lb.CertificateID{"c", "d"}, Settings: lb.ListenerSettings{
				Inbound: []string{"10.0.0.0/8", "fd00::/8"}, TLSPolicy: "strict", Tags: tags,
				Attributes: map[string]string{"server": "off"}, ClientSecrets: "secret",
				Mutual: &lb.MutualAuthentication{Mode: "verify", TrustStore: "partners", IgnoreExpiry: true, AdvertiseCANames: true},
			}},
		},
		TargetGroups: []lb.TargetGroup{
			{ID: "bare"},
			{ID: "g", Attributes: map[string]string{"sticky": "true"}, Tags: tags, Provider: "{}", Health: routing.HealthCheck{
				Path: "/h", Port: "9", Protocol: "HTTP", SuccessCodes: "200",
				IntervalSeconds: 11, TimeoutSeconds: 12, HealthyThreshold: 3, UnhealthyThreshold: 4,
			}},
		},
		Certificates: []lb.Certificate{{ID: "bare"}, {ID: "c", Tags: tags, Pair: &lb.KeyPair{Key: []byte("private")}}},
	}
}

// known are its settings. Those of an object that has none are known too.
func known() KnownSettings {
	return KnownSettings{
		LoadBalancer: settingValues{
			"IP family": "dualstack", "subnets": "a, b", "security groups": "sg-1, sg-2", "provider": "{}",
			"attribute idle": "60", "attribute prefix": `""`, "tag team": "shop", webACL: "acl", shield: "on",
		},
		Listeners: map[int32]settingValues{80: {}, 443: {
			"certificates": "c, d", "inbound": "10.0.0.0/8, fd00::/8", "TLS policy": "strict", "attribute server": "off", "tag team": "shop",
			"client certificates": "verify, trust store partners, expired ones too, with the names of CAs",
		}},
		TargetGroups: map[lb.GroupID]settingValues{"bare": {}, "g": {
			"provider": "{}", "attribute sticky": "true", "tag team": "shop",
			"health check path": "/h", "health check port": "9", "health check protocol": "HTTP", "health check success codes": "200",
			"health check interval seconds": "11", "health check timeout seconds": "12",
			"health check healthy threshold": "3", "health check unhealthy threshold": "4",
		}},
		Certificates: map[lb.CertificateID]settingValues{"bare": {}, "c": {"tag team": "shop"}},
	}
}

// All settings of a load balancer that is wanted are known, and no secret is among them.
func TestSettingsThatAreWanted(t *testing.T) {
	if diff := cmp.Diff(known(), SettingsOfWanted(wanted())); diff != "" {
		t.Errorf("the settings are different (-want +got):\n%s", diff)
	}
	none := KnownSettings{LoadBalancer: settingValues{}, Listeners: map[int32]settingValues{}, TargetGroups: map[lb.GroupID]settingValues{}, Certificates: map[lb.CertificateID]settingValues{}}
	if diff := cmp.Diff(none, SettingsOfWanted(lb.LoadBalancer{})); diff != "" {
		t.Errorf("a load balancer without settings has some (-want +got):\n%s", diff)
	}
}

// read is the load balancer as a deep observation reads it.
func read() *lb.Observed {
	want := wanted()
	o := &lb.Observed{Protection: want.Protection, Digest: lb.DigestOf(want.Settings), Read: &lb.ReadSettings{
		LoadBalancer: &want.Settings, Listeners: map[int32]lb.ListenerSettings{},
		TargetGroups: map[lb.GroupID]lb.GroupSettings{}, Certificates: map[lb.CertificateID]lb.CertificateSettings{},
	}}
	for _, l := range want.Listeners {
		o.Read.Listeners[l.Port] = l.Settings
		o.Listeners = append(o.Listeners, lb.ObservedListener{Port: l.Port, Certificates: l.Certificates, Digest: lb.DigestOf(l.Settings)})
	}
	for _, g := range want.TargetGroups {
		s := lb.GroupSettings{HealthCheck: g.Health, Attributes: g.Attributes, Tags: g.Tags}
		o.Read.TargetGroups[g.ID] = s
		o.TargetGroups = append(o.TargetGroups, lb.ObservedTargetGroup{TargetGroup: lb.TargetGroup{ID: g.ID, Provider: g.Provider, Digest: lb.DigestOf(s)}})
	}
	for _, c := range want.Certificates {
		s := lb.CertificateSettings{Tags: c.Tags}
		if len(c.Tags) > 0 { // one without tags is absent
			o.Read.Certificates[c.ID] = s
		}
		o.Certificates = append(o.Certificates, lb.ObservedCertificate{Certificate: lb.Certificate{ID: c.ID, Digest: s.Digest()}})
	}
	return o
}

// What a deep observation read is known, unless it is not what was written: then a digest differs.
func TestSettingsThatWereRead(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*lb.Observed)
		want   func(*KnownSettings)
	}{
		"all of them":                        {func(*lb.Observed) {}, func(*KnownSettings) {}},
		"those of the load balancer differ":  {func(o *lb.Observed) { o.Digest = "no" }, func(k *KnownSettings) { k.LoadBalancer = nil }},
		"those of the load balancer are not": {func(o *lb.Observed) { o.Read.LoadBalancer = nil }, func(k *KnownSettings) { k.LoadBalancer = nil }},
		"those of a listener differ":         {func(o *lb.Observed) { o.Listeners[1].Digest = "no" }, func(k *KnownSettings) { delete(k.Listeners, 443) }},
		"those of a listener are not": {
			func(o *lb.Observed) {
				delete(o.Read.Listeners, 80)
				o.Listeners[0].Digest = lb.DigestOf(lb.ListenerSettings{})
			}, func(k *KnownSettings) { delete(k.Listeners, 80) },
		},
		"those of a target group differ": {func(o *lb.Observed) { o.TargetGroups[1].Digest = "no" }, func(k *KnownSettings) { delete(k.TargetGroups, "g") }},
		"those of a target group are not": {
			func(o *lb.Observed) {
				delete(o.Read.TargetGroups, "bare")
				o.TargetGroups[0].Digest = lb.DigestOf(lb.GroupSettings{})
			}, func(k *KnownSettings) { delete(k.TargetGroups, "bare") },
		},
		"those of a certificate differ":  {func(o *lb.Observed) { o.Certificates[1].Digest = "no" }, func(k *KnownSettings) { delete(k.Certificates, "c") }},
		"those of a certificate are not": {func(o *lb.Observed) { delete(o.Read.Certificates, "c") }, func(k *KnownSettings) { delete(k.Certificates, "c") }},
		"the observation was not deep":   {func(o *lb.Observed) { o.Read = nil }, func(k *KnownSettings) { *k = SettingsOfWanted(lb.LoadBalancer{}); k.LoadBalancer = nil }},
	} {
		o, want := read(), known()
		c.change(o)
		c.want(&want)
		if diff := cmp.Diff(want, SettingsOfRead(o)); diff != "" {
			t.Errorf("%s: the settings are different (-want +got):\n%s", name, diff)
		}
	}
	if k := SettingsOfRead(nil); k.LoadBalancer != nil || len(k.Listeners) > 0 {
		t.Errorf("of no observation %v is known", k)
	}
}

// What is done with the certificates of clients is said in words.
func TestClientCertificatesInWords(t *testing.T) {
	for want, m := range map[string]routing.MutualAuthentication{
		"passthrough":                   {Mode: "passthrough"},
		"verify, trust store partners":  {Mode: "verify", TrustStore: "partners"},
		"verify, expired ones too":      {Mode: "verify", IgnoreExpiry: true},
		"verify, with the names of CAs": {Mode: "verify", AdvertiseCANames: true},
	} {
		got := ofListener(lb.Listener{Settings: lb.ListenerSettings{Mutual: &m}})
		if !maps.Equal(got, settingValues{"client certificates": want}) {
			t.Errorf("the settings are %v, want %q", got, want)
		}
	}
}

// The settings whose values differ are listed by name, with both values.
func TestSettingsThatChange(t *testing.T) {
	got := changedSettings(
		settingValues{"same": "1", "changed": "1", "a removed one": "1", "z removed": "1"},
		settingValues{"same": "1", "changed": "2", "made": "2"},
	)
	want := []SettingChange{{"a removed one", "1", ""}, {"changed", "1", "2"}, {"made", "", "2"}, {"z removed", "1", ""}}
	if !slices.Equal(got, want) {
		t.Errorf("changed are %v, want %v", got, want)
	}
	if got := changedSettings(nil, nil); len(got) > 0 {
		t.Errorf("of nothing there changes %v", got)
	}
}
