package wire

import (
	"encoding/json"
	"flag"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
)

// This file sends each thing of the model over the wire and back, with something in each of its
// fields. A field that is added to the model and not to the protocol fails.

var seed = flag.Uint64("seed", 0, "seed of random values; 0: a new one")

// random makes a source of values whose seed is printed.
func random(t *testing.T) *rand.Rand {
	t.Helper()
	s := *seed
	if s == 0 {
		s = rand.Uint64()
	}
	t.Logf("-seed %d", s)
	return rand.New(rand.NewPCG(s, s))
}

// notSent are the fields of the model that the protocol leaves out, each with its reason.
var notSent = map[string]string{
	"Rule.Origin":                 "people are told by the operator",
	"Listener.Decided":            "people are told by the operator",
	"Certificate.Origin":          "people are told by the operator",
	"Certificate.MostOfNamespace": "a provider that has its process for itself paces nothing",
	"Certificate.Secrets":         "a provider does not see Kubernetes",
	"TargetGroup.Targets":         "they come with registerTargets",
	"Target.Instance":             "targets go by one name, as the capabilities say",
	"Auth.Secret":                 "a provider does not see Kubernetes",
	"Auth.SecurePort":             "the operator makes a redirect of it",
	"Listener.Rules":              "they come with steps of their own",
	"LoadBalancer.Key":            "it is in the URL",
	"LoadBalancer.Listeners":      "they come with steps of their own",
	"LoadBalancer.TargetGroups":   "they come with steps of their own",
	"LoadBalancer.Certificates":   "they come with steps of their own",
	"LoadBalancer.Protection":     "setWebACL and setShield say it",
	"LoadBalancer.Wanted":         "the planner has used it",
	"LoadBalancer.Withdrawn":      "the planner has used it",
	"LoadBalancer.RemoveOthers":   "the planner has used it",
	"LoadBalancer.Beside":         "the compiler has used it",
	"Rule.Stays":                  "the planner has used it",
	"TargetGroup.NodeLabels":      "the operator chooses the targets",
	"SetWebACL.Key":               "it is in the URL",
	"ShieldLoadBalancer.Key":      "it is in the URL",
	"DeleteFirewall.Key":          "it is in the URL",
	"DeleteLoadBalancer.Key":      "it is in the URL",
	"Facts.Network":               "the operator knows what it asked",
	"LoadBalancer.Decided":        "people are told by the operator",
	"Facts.InUse":                 "the operator knows it from what it observed",
	"Facts.Beside":                "the operator knows it from what it observed",
	"Facts.Imported":              "the operator knows it from what it observed",
	"Facts.Shown":                 "the operator knows it from what it observed",
	"Facts.ClientSecrets":         "the operator knows it from what it observed",
	"Facts.Now":                   "the operator has a clock",
	"Facts.Digest":                "the operator knows it from what it observed",
	"Facts.SettingsRefused":       "the operator checks settings against the schema",
	"Facts.TargetGroups":          "only AWS has TargetGroupBindings",
	"Facts.Others":                "only AWS has load balancers of other controllers",
	"Questions.Provider":          "it is the one that is called",
	"Questions.Settings":          "the operator checks settings against the schema",
	"Questions.GroupSettings":     "the operator checks settings against the schema",
	"Questions.TargetGroups":      "only AWS has TargetGroupBindings",
	"Questions.Others":            "only AWS has load balancers of other controllers",
}

// fill puts something into each field that is sent.
func fill(r *rand.Rand, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(string(rune('a'+r.IntN(26))) + string(rune('a'+r.IntN(26))) + string(rune('a'+r.IntN(26))))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(int64(1 + r.IntN(1000)))
		if v.Type() == reflect.TypeFor[time.Duration]() {
			v.SetInt(v.Int() * int64(time.Millisecond))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(r, v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(r, v.Index(i))
		}
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte("PEM"))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range 2 {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(r, key)
			fill(r, value)
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if _, left := notSent[v.Type().Name()+"."+f.Name]; !left && f.IsExported() {
				fill(r, v.Field(i))
			}
		}
		canonical(r, v)
	case reflect.Uint8:
	default:
		panic("no value for a field of type " + v.Type().String())
	}
}

// canonical gives a value the form that the model has.
func canonical(r *rand.Rand, v reflect.Value) {
	switch x := v.Addr().Interface().(type) {
	case *lb.Action:
		*x = lb.Action{Kind: "forward", Targets: x.Targets, StickySeconds: x.StickySeconds, Auth: x.Auth, Rewrite: x.Rewrite}
		switch r.IntN(3) {
		case 0:
			*x = lb.Action{Kind: "fixed", Status: 200, ContentType: "text/plain", Body: "hello", Auth: x.Auth}
		case 1:
			to := &routing.Redirect{Status: 301, Scheme: "https", Host: "a.test", Port: "443", Path: "/b", Query: "c"}
			*x = lb.Action{Kind: "redirect", Status: to.Status, Location: to.Template(), Redirect: to}
		}
	case *lb.TargetGroup:
		x.Provider = `{"a":1}`
	case *routing.Settings:
		x.Provider = `{"b":{"c":[1,2]}}`
	case *lb.Listener:
		x.Verifies = x.Settings.Mutual.Verifies()
	}
}

// steps are one step of each kind.
func steps(r *rand.Rand) []plan.Step {
	var out []plan.Step
	for _, s := range []plan.Step{
		&plan.CreateLoadBalancer{}, &plan.ModifyLoadBalancer{}, &plan.DeleteLoadBalancer{}, &plan.SetWebACL{}, &plan.ShieldLoadBalancer{},
		&plan.DeleteFirewall{}, &plan.ImportCertificate{}, &plan.ReplaceCertificate{}, &plan.ModifyCertificate{}, &plan.DeleteCertificate{},
		&plan.CreateTargetGroup{}, &plan.ModifyTargetGroup{}, &plan.RegisterTargets{}, &plan.AwaitTargets{}, &plan.DeleteTargetGroup{},
		&plan.CreateListener{}, &plan.ModifyListener{}, &plan.AttachCertificate{}, &plan.DetachCertificate{}, &plan.DeleteListener{},
		&plan.CreateRule{}, &plan.ModifyRule{}, &plan.DeleteRule{}, &plan.RespaceRules{},
	} {
		v := reflect.ValueOf(s).Elem()
		fill(r, v)
		if m, ok := s.(*plan.ModifyCertificate); ok {
			m.Certificate.Pair = nil
		}
		out = append(out, v.Interface().(plan.Step))
	}
	return out
}

func TestEachStepGoesOverTheWire(t *testing.T) {
	r := random(t)
	seen := map[string]bool{}
	for range 50 {
		for _, step := range steps(r) {
			seen[step.Op()] = true
			var got v1.Step
			over(t, EncodeStep(step), &got)
			back, err := DecodeStep("", got)
			if err != nil {
				t.Fatalf("%s: %v", step.Op(), err)
			}
			if diff := cmp.Diff(step, back, secrets); diff != "" {
				t.Errorf("%s (-sent +arrived):\n%s", step.Op(), diff)
			}
		}
	}
	if len(seen) != ops {
		t.Errorf("%d kinds of steps were sent, and the protocol has %d", len(seen), ops)
	}
}

// secrets are compared by what they are: they do not print themselves.
var secrets = cmp.Transformer("secret", func(s routing.Secret) string { return string(s) })

// over sends a message: it is written and read again, and a field that is not known is an error.
func over(t *testing.T, from, to any) {
	t.Helper()
	text, err := json.Marshal(from)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		t.Fatalf("reading %s: %v", text, err)
	}
}

func TestWhatIsObservedGoesOverTheWire(t *testing.T) {
	r := random(t)
	for range 100 {
		want := &lb.Observed{}
		fill(r, reflect.ValueOf(want).Elem())
		sortObserved(want)
		var got v1.Observed
		over(t, EncodeObserved(want), &got)
		back, err := DecodeObserved(want.Key, got)
		if err != nil {
			if strings.Contains(err.Error(), "is there twice") { // two random names were the same
				continue
			}
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, back, desired, cmpopts.IgnoreFields(routing.Auth{}, "ClientSecret", "KeepsClientSecret"), secrets); diff != "" {
			t.Fatalf("(-sent +arrived):\n%s", diff)
		}
	}
}

// desired are the fields of what is observed that only the desired side has, the settings that were read, which are
// reported only where a digest is theirs, and the shape and the listeners of others, as no provider of the protocol takes load balancers over.
var desired = cmp.Options{
	cmpopts.IgnoreFields(lb.Observed{}, "Read"), cmpopts.IgnoreFields(lb.ObservedListener{}, "Shape", "Others"),
	cmpopts.IgnoreFields(lb.TargetGroup{}, "Provider", "Health", "Attributes", "Tags", "Targets"), cmpopts.IgnoreFields(lb.Certificate{}, "Tags", "Pair", "Secrets", "Origin", "MostOfNamespace"),
}

func sortObserved(o *lb.Observed) {
	o.Exists = true
	slices.SortFunc(o.Listeners, func(a, b lb.ObservedListener) int { return int(a.Port - b.Port) })
	slices.SortFunc(o.TargetGroups, func(a, b lb.ObservedTargetGroup) int { return strings.Compare(string(a.ID), string(b.ID)) })
	slices.SortFunc(o.Certificates, func(a, b lb.ObservedCertificate) int { return strings.Compare(string(a.ID), string(b.ID)) })
	for i := range o.Listeners {
		rules := o.Listeners[i].Rules
		slices.SortFunc(rules, func(a, b lb.ObservedRule) int { return a.Priority - b.Priority })
	}
}

func TestCapabilitiesQuestionsAndFactsGoOverTheWire(t *testing.T) {
	r := random(t)
	for _, want := range []lb.Capabilities{lb.ALB(), lb.Literal(), lb.ALBGlob(), {Name: "least", FieldsRefused: lb.Fields[2:], NoStickyForward: true, NoClientCertificates: true, NoTLSPolicies: true, MaxPriority: 1000}, {Name: "x", TLSPolicies: []string{"a"}, MaxPriority: 100},
		{Name: "bare", NoHTTPS: true, RedirectStatuses: []int{301, 308}, TargetTypesRefused: []string{lb.InstanceTarget}, MaxPriority: 100}, {Name: "nodes", TargetTypesRefused: []string{"ip"}, MaxPriority: 100}} {
		var got v1.Capabilities
		over(t, EncodeCapabilities(want), &got)
		back, err := DecodeCapabilities(got)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, back, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-sent +arrived):\n%s", want.Name, diff)
		}
	}
	none, err := DecodeCapabilities(v1.Capabilities{Name: "x", Conditions: v1.ConditionCapabilities{Fields: lb.Fields}, Limits: v1.Limits{MaxPriority: 100}})
	if err != nil || none.BalancerAttributes == nil || none.ListenerAttributes == nil || len(none.VersionsRefused) != 2 {
		t.Errorf("a provider that says nothing has attributes %v and %v, and lacks the versions %v: %v",
			none.BalancerAttributes, none.ListenerAttributes, none.VersionsRefused, err)
	}
	for _, c := range []lb.Capabilities{lb.Literal(), none} {
		c.Name, c.MaxPriority = "x", 1000
		if back, err := DecodeCapabilities(EncodeCapabilities(c)); err != nil || (back.BalancerAttributes == nil) != (c.BalancerAttributes == nil) ||
			(back.ListenerAttributes == nil) != (c.ListenerAttributes == nil) {
			t.Errorf("any attribute, or none: sent %v, arrived %v, %v", c.BalancerAttributes, back.BalancerAttributes, err)
		}
	}
	without := EncodeCapabilities(lb.Capabilities{Name: "x", MaxPriority: 1000})
	without.Listeners.Protocols = []string{"HTTPS"}
	if _, err := DecodeCapabilities(without); err == nil || !strings.Contains(err.Error(), "listeners.protocols lacks HTTP") {
		t.Errorf("a provider without HTTP: %v", err)
	}
	full := lb.Capabilities{}
	fill(r, reflect.ValueOf(&full).Elem())
	full.FieldsRefused, full.VersionsRefused = []string{"query"}, []routing.Version{"GRPC"}
	full.TargetTypesRefused = []string{"ip"}
	full.NoTLSPolicies, full.MinPriority, full.MaxPriority = false, 1, 1000
	var told v1.Capabilities
	over(t, EncodeCapabilities(full), &told)
	if back, err := DecodeCapabilities(told); err != nil || !cmp.Equal(full, back) {
		t.Errorf("capabilities with something in each field: %v (-sent +arrived):\n%s", err, cmp.Diff(full, back))
	}

	questions := lb.Questions{}
	fill(r, reflect.ValueOf(&questions).Elem())
	var asked v1.Questions
	over(t, EncodeQuestions(questions), &asked)
	if diff := cmp.Diff(questions, DecodeQuestions(asked)); diff != "" {
		t.Errorf("questions (-sent +arrived):\n%s", diff)
	}
	facts := lb.Facts{}
	fill(r, reflect.ValueOf(&facts).Elem())
	var answered v1.Facts
	over(t, EncodeFacts(facts), &answered)
	if diff := cmp.Diff(facts, DecodeFacts(answered)); diff != "" {
		t.Errorf("facts (-sent +arrived):\n%s", diff)
	}
}

// TestSettingsAreToldInstead has a provider tell settings where another one tells the digest.
func TestSettingsAreToldInstead(t *testing.T) {
	r := random(t)
	listener, group, balancer := lb.Listener{}, lb.TargetGroup{}, lb.LoadBalancer{}
	for _, v := range []any{&listener, &group, &balancer} {
		fill(r, reflect.ValueOf(v).Elem())
	}
	sentListener, sentGroup, sentBalancer := encodeListener(listener), encodeTargetGroup(group), encodeLoadBalancer(balancer)
	got, err := DecodeObserved("k", v1.Observed{
		Key: "k", Exists: true, Settings: &sentBalancer.Settings,
		Listeners:    []v1.ObservedListener{{Port: 80, Settings: &sentListener.Settings}},
		TargetGroups: []v1.ObservedTargetGroup{{ID: "g", Settings: &sentGroup.Settings}},
		Certificates: []v1.ObservedCertificate{{ID: "c", Tags: balancer.Settings.Tags}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, pair := range map[string][2]lb.Digest{
		"load balancer": {got.Digest, lb.DigestOf(balancer.Settings)},
		"listener":      {got.Listeners[0].Digest, lb.DigestOf(listener.Settings)},
		"target group":  {got.TargetGroups[0].Digest, lb.DigestOf(lb.GroupSettings{HealthCheck: group.Health, Attributes: group.Attributes, Tags: group.Tags})},
		"certificate":   {got.Certificates[0].Digest, lb.CertificateSettings{Tags: balancer.Settings.Tags}.Digest()},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: the digest of what is reported is %s, and that of what was sent is %s", name, pair[0], pair[1])
		}
	}
	read := lb.ReadSettings{
		LoadBalancer: &balancer.Settings, Listeners: map[int32]lb.ListenerSettings{80: listener.Settings},
		TargetGroups: map[lb.GroupID]lb.GroupSettings{"g": {HealthCheck: group.Health, Attributes: group.Attributes, Tags: group.Tags}},
		Certificates: map[lb.CertificateID]lb.CertificateSettings{"c": {Tags: balancer.Settings.Tags}},
	}
	again, err := DecodeObserved("k", EncodeObserved(got))
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]*lb.Observed{"told": got, "told once more": again} {
		if diff := cmp.Diff(&read, o.Read, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("settings (-sent +%s):\n%s", name, diff)
		}
	}
	if got.Listeners[0].ClientSecrets != listener.Settings.ClientSecrets {
		t.Errorf("client secrets %q are reported, want %q", got.Listeners[0].ClientSecrets, listener.Settings.ClientSecrets)
	}
}

// TestAnswersThatCannotBe are refused.
func TestAnswersThatCannotBe(t *testing.T) {
	for why, o := range map[string]v1.Observed{
		"not about":                {Key: "another"},
		"listener 80":              {Key: "k", Exists: true, Listeners: []v1.ObservedListener{{Port: 80}, {Port: 81}, {Port: 80}}},
		"on port 80, priority 7":   {Key: "k", Exists: true, Listeners: []v1.ObservedListener{{Port: 80, Rules: []v1.ObservedRule{{Priority: 7}, {Priority: 3}, {Priority: 7}}}}},
		"target group g":           {Key: "k", TargetGroups: []v1.ObservedTargetGroup{{ID: "g"}, {ID: "g"}}},
		"certificate c":            {Key: "k", Certificates: []v1.ObservedCertificate{{ID: "c"}, {ID: "c"}}},
		"does not exist and has 1": {Key: "k", Listeners: []v1.ObservedListener{{Port: 80}}},
	} {
		if _, err := DecodeObserved("k", o); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%v is said of an answer, want %q", err, why)
		}
	}
	for why, change := range map[string]func(*v1.Capabilities){
		"name is empty":           func(c *v1.Capabilities) { c.Name = "" },
		`lacks "path"`:            func(c *v1.Capabilities) { c.Conditions.Fields = []string{"host"} },
		"not below zero":          func(c *v1.Capabilities) { c.Limits.Rules.Max = -1 },
		"room for rules":          func(c *v1.Capabilities) { c.Limits.MaxPriority = c.Limits.MinPriority },
		"minPriority -1 ":         func(c *v1.Capabilities) { c.Limits.MinPriority = -1 },
		"maxPriority 1073741825 ": func(c *v1.Capabilities) { c.Limits.MaxPriority = 1<<30 + 1 },
		"gatherMilli":             func(c *v1.Capabilities) { c.Calls.GatherMilliseconds = 1 << 60 },
		"calls.settleMilli":       func(c *v1.Capabilities) { c.Calls.SettleMilliseconds = -1 },
		"from 0 to 600000":        func(c *v1.Capabilities) { c.Calls.SettleMilliseconds = 600_001 },
		"hostPattern":             func(c *v1.Capabilities) { c.Conditions.HostPattern = "(" },
	} {
		c := EncodeCapabilities(lb.ALB())
		change(&c)
		if _, err := DecodeCapabilities(c); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%v is said of capabilities, want %q", err, why)
		}
	}
}

// TestNoMessageHasNull writes what lacks lists where the protocol has one always.
func TestNoMessageHasNull(t *testing.T) {
	auth := lb.Rule{Action: lb.Action{Kind: "fixed", Auth: &routing.Auth{Claims: []routing.Claim{{Name: "a"}}}}}
	for _, message := range []any{
		EncodeStep(plan.ImportCertificate{}), EncodeStep(plan.CreateRule{Rule: auth}), EncodeStep(plan.CreateListener{}), EncodeStep(plan.CreateTargetGroup{}),
		EncodeObserved(&lb.Observed{Certificates: []lb.ObservedCertificate{{}}, Listeners: []lb.ObservedListener{{Rules: []lb.ObservedRule{{Rule: auth}}}}}),
		EncodeFacts(lb.Facts{Certificates: map[string][]lb.CertificateID{"a.test": nil}, Names: map[lb.CertificateID][]string{"c": nil}}),
		EncodeCapabilities(lb.Capabilities{FieldsRefused: lb.Fields}), EncodeTargets(nil), EncodeHealth(nil), EncodeQuestions(lb.Questions{}),
	} {
		if text, err := json.Marshal(message); err != nil || strings.Contains(string(text), "null") {
			t.Errorf("%T is written as %s, %v", message, text, err)
		}
	}
}
