package wire

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
)

// This file has what a provider tells, and what it must not tell.

// A provider never tells a client secret, and keeps what it has.
func TestClientSecretsAreNotTold(t *testing.T) {
	action := func() lb.Action {
		return lb.Action{Kind: "forward", Auth: &routing.Auth{Kind: "oidc", ClientID: "shop", ClientSecret: "s3cret", KeepsClientSecret: true}}
	}
	o := &lb.Observed{Exists: true, Listeners: []lb.ObservedListener{{Port: 443, Default: action(), Rules: []lb.ObservedRule{{Rule: lb.Rule{Action: action()}}}}}}
	text, err := json.Marshal(EncodeObserved(o))
	if err != nil || strings.Contains(string(text), "s3cret") || strings.Contains(string(text), "keepClientSecret") || strings.Count(string(text), `"clientID":"shop"`) != 2 {
		t.Errorf("it is told as %s, %v", text, err)
	}
	if l := o.Listeners[0]; l.Default.Auth.ClientSecret != "s3cret" || l.Rules[0].Action.Auth.ClientSecret != "s3cret" {
		t.Error("what was reported has lost its secret")
	}
}

// The key of a certificate is sent where it is imported, and not where its tags change.
func TestAKeyIsSentForAnImportOnly(t *testing.T) {
	c := lb.Certificate{ID: "c", Tags: map[string]string{"a": "b"}, Pair: &lb.KeyPair{Chain: []byte("chain"), Key: []byte("k3y")}}
	for _, s := range []struct {
		step plan.Step
		sent bool
	}{{plan.ImportCertificate{Certificate: c}, true}, {plan.ReplaceCertificate{Old: "o", New: c}, true}, {plan.ModifyCertificate{Certificate: c}, false}} {
		got := EncodeStep(s.step).Certificate
		if sent := got.Key == "k3y" && got.Chain == "chain"; sent != s.sent || !sent && got.Key+got.Chain != "" {
			t.Errorf("%s is sent with the chain %q and the key %q", s.step.Op(), got.Chain, got.Key)
		}
	}
	for _, half := range []v1.Certificate{{Chain: "chain"}, {Key: "k3y"}} {
		got := decodeCertificate(half)
		if got.Pair == nil || string(got.Pair.Chain) != half.Chain || string(got.Pair.Key) != half.Key {
			t.Errorf("%+v arrives with the pair %v", half, got.Pair)
		}
	}
	if got := decodeCertificate(v1.Certificate{ID: "c"}); got.Pair != nil {
		t.Errorf("a certificate without a pair arrives with %v", got.Pair)
	}
}

// An answer in any order is read in the order of the model: by ID, port and priority, and
// certificates behind the default one.
func TestAnAnswerIsPutInOrder(t *testing.T) {
	got, err := DecodeObserved("k", v1.Observed{
		Key: "k", Exists: true,
		Listeners: []v1.ObservedListener{
			{Port: 443, Certificates: []string{"m", "z", "a"}, Rules: []v1.ObservedRule{{Priority: 30}, {Priority: 10}, {Priority: 20}}},
			{Port: 8443, Certificates: []string{"m"}, Rules: []v1.ObservedRule{{Priority: 10}}},
			{Port: 80},
		},
		TargetGroups: []v1.ObservedTargetGroup{{ID: "m"}, {ID: "z"}, {ID: "a"}},
		Certificates: []v1.ObservedCertificate{{ID: "m"}, {ID: "z"}, {ID: "a"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := &lb.Observed{
		Key: "k", Exists: true,
		Listeners: []lb.ObservedListener{
			{Port: 80},
			{Port: 443, Certificates: []lb.CertificateID{"m", "a", "z"}, Rules: []lb.ObservedRule{{Priority: 10}, {Priority: 20}, {Priority: 30}}},
			{Port: 8443, Certificates: []lb.CertificateID{"m"}, Rules: []lb.ObservedRule{{Priority: 10}}},
		},
	}
	for _, id := range []string{"a", "m", "z"} {
		want.TargetGroups = append(want.TargetGroups, lb.ObservedTargetGroup{TargetGroup: lb.TargetGroup{ID: lb.GroupID(id)}})
		want.Certificates = append(want.Certificates, lb.ObservedCertificate{Certificate: lb.Certificate{ID: lb.CertificateID(id)}})
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// An action that forwards to one group has the weight 1, whatever the cloud says. Of several groups
// the weights are kept.
func TestTheWeightOfTheOnlyGroupIsOne(t *testing.T) {
	for _, c := range []struct{ told, want []int32 }{{[]int32{7}, []int32{1}}, {[]int32{0}, []int32{1}}, {[]int32{7, 0}, []int32{7, 0}}} {
		forward := &v1.Forward{}
		for _, w := range c.told {
			forward.Targets = append(forward.Targets, v1.Weighted{TargetGroup: "g", Weight: w})
		}
		var got []int32
		for _, w := range decodeAction(v1.Action{Kind: "forward", Forward: forward}).Targets {
			got = append(got, w.Weight)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("the weights %v arrive as %v, want %v", c.told, got, c.want)
		}
	}
}

// Settings are reported where the digest is theirs, and no others: not those that were not read, and not
// those that have changed since.
func TestOnlySettingsThatWereReadAreTold(t *testing.T) {
	var (
		balancer routing.Settings
		listener lb.ListenerSettings
		group    lb.GroupSettings
		tagged   = lb.CertificateSettings{Tags: map[string]string{"a": "b"}}
	)
	read := func() *lb.ReadSettings {
		return &lb.ReadSettings{
			LoadBalancer: &balancer, Listeners: map[int32]lb.ListenerSettings{80: listener},
			TargetGroups: map[lb.GroupID]lb.GroupSettings{"g": group}, Certificates: map[lb.CertificateID]lb.CertificateSettings{"c": tagged},
		}
	}
	told := func(r *lb.ReadSettings, of lb.Digest) (out []string) {
		digest := func(settings any) lb.Digest {
			if of != "" {
				return of
			}
			return lb.DigestOf(settings)
		}
		o := EncodeObserved(&lb.Observed{
			Exists: true, Digest: digest(balancer), Read: r,
			Listeners:    []lb.ObservedListener{{Port: 80, Digest: digest(listener)}},
			TargetGroups: []lb.ObservedTargetGroup{{TargetGroup: lb.TargetGroup{ID: "g", Digest: digest(group)}}},
			Certificates: []lb.ObservedCertificate{{Certificate: lb.Certificate{ID: "c", Digest: digest(tagged)}}},
		})
		for name, is := range map[string]bool{
			"load balancer": o.Settings != nil, "listener": o.Listeners[0].Settings != nil,
			"target group": o.TargetGroups[0].Settings != nil, "certificate": o.Certificates[0].Tags != nil,
		} {
			if is {
				out = append(out, name)
			}
		}
		slices.Sort(out)
		return out
	}
	if got := told(read(), ""); !slices.Equal(got, []string{"certificate", "listener", "load balancer", "target group"}) {
		t.Errorf("of all, the settings of %q are reported", got)
	}
	if got := told(&lb.ReadSettings{}, ""); len(got) > 0 {
		t.Errorf("though none were read, the settings of %q are reported", got)
	}
	if got := told(read(), "another"); len(got) > 0 {
		t.Errorf("though they have changed, the settings of %q are reported", got)
	}
}

// A deep observation of one object alone is one, and a shallow one has no settings.
func TestSettingsOfOneObjectAreRead(t *testing.T) {
	for name, o := range map[string]v1.Observed{
		"load balancer": {Settings: &v1.Settings{}},
		"listener":      {Exists: true, Listeners: []v1.ObservedListener{{Port: 80, Settings: &v1.ListenerSettings{}}}},
		"target group":  {TargetGroups: []v1.ObservedTargetGroup{{ID: "g", Settings: &v1.GroupSettings{}}}},
		"certificate":   {Certificates: []v1.ObservedCertificate{{ID: "c", Tags: map[string]string{"a": "b"}}}},
	} {
		got, err := DecodeObserved("", o)
		if err != nil {
			t.Fatal(err)
		}
		r := got.Read
		if r == nil || (r.LoadBalancer != nil) != (name == "load balancer") || len(r.Listeners) != len(o.Listeners) || len(r.TargetGroups) != len(o.TargetGroups) || len(r.Certificates) != len(o.Certificates) {
			t.Errorf("the settings of a %s alone are read as %+v", name, r)
		}
	}
	got, err := DecodeObserved("", v1.Observed{Exists: true, Listeners: []v1.ObservedListener{{Port: 80}}})
	if err != nil || got.Read != nil {
		t.Errorf("no settings are read as %+v, %v", got.Read, err)
	}
}

// An address that is empty is not told. One with a part of it is.
func TestAnAddressIsToldWithItsParts(t *testing.T) {
	for name, c := range map[string]struct {
		address lb.Address
		want    *v1.Address
	}{
		"none":        {lb.Address{}, nil},
		"a name":      {lb.Address{Hostname: "a.test"}, &v1.Address{Hostname: "a.test"}},
		"an address":  {lb.Address{IPs: []string{"192.0.2.1"}}, &v1.Address{IPs: []string{"192.0.2.1"}}},
		"ports alone": {lb.Address{Ports: map[int32]int32{443: 8443, 80: 8080}}, &v1.Address{Ports: []v1.PortMapped{{Listener: 80, ReachedAt: 8080}, {Listener: 443, ReachedAt: 8443}}}},
	} {
		got := encodeAddress(c.address)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(c.address, decodeAddress(got)); diff != "" {
			t.Errorf("%s (-sent +arrived):\n%s", name, diff)
		}
	}
}

// The settings of a provider keep their numbers, in one form of JSON. What is no JSON stays as it is.
func TestSettingsOfAProviderHaveOneForm(t *testing.T) {
	for raw, want := range map[string]string{
		"": "", `{ "b": 1, "a": [ 1.50, 12345678901234567890 ] }`: `{"a":[1.50,12345678901234567890],"b":1}`, "{": "{",
	} {
		if got := canonicalJSON(json.RawMessage(raw)); got != want {
			t.Errorf("%q is written as %q, want %q", raw, got, want)
		}
	}
}

// Targets go over the wire, with their health in answers. A state that is not known is initial.
func TestTargetsGoOverTheWire(t *testing.T) {
	targets := []lb.Target{{Address: "10.0.0.1", Port: 80}, {Address: "fd00::1", Port: 8080}}
	var list v1.TargetList
	over(t, EncodeTargets(targets), &list)
	if got := DecodeTargets(list); !slices.Equal(got, targets) {
		t.Errorf("%v arrive as %v", targets, got)
	}
	var health []lb.TargetHealth
	for _, s := range healthStates {
		health = append(health, lb.TargetHealth{Target: targets[0], State: s})
	}
	sent := append(slices.Clone(health), lb.TargetHealth{Target: targets[1], State: "odd"})
	want := append(slices.Clone(health), lb.TargetHealth{Target: targets[1], State: lb.HealthInitial})
	var told v1.TargetList
	over(t, EncodeHealth(sent), &told)
	if got := DecodeHealth(told); !slices.Equal(got, want) {
		t.Errorf("%v arrive as %v", sent, got)
	}
}

// Capabilities at their bounds are taken. A provider that names its TLS policies takes no others.
func TestCapabilitiesAtTheirBounds(t *testing.T) {
	c := EncodeCapabilities(lb.Capabilities{Name: "x", TLSPolicies: []string{"strict"}, MinPriority: 0, MaxPriority: 1 << 30})
	c.Calls.SettleMilliseconds, c.Calls.GatherMilliseconds = longestWait.Milliseconds(), 0
	if c.Listeners.AnyTLSPolicy {
		t.Error("a provider with TLS policies takes any")
	}
	if got, err := DecodeCapabilities(c); err != nil || got.Settle != longestWait || got.MaxPriority != 1<<30 || got.NoTLSPolicies {
		t.Errorf("the capabilities %+v arrive as %+v, %v", c, got, err)
	}
}
