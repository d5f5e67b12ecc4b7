package loadbalancer

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/planner"
	"fairlead.dev/fairlead/model/record"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
	"fairlead.dev/fairlead/providers"
)

// learning is an outcome by which all is served: a load balancer with one member.
func learning(m ingress.Member) outcome {
	o := outcomeOf(v1alpha1.LoadBalancerClassSpec{})
	o.Snapshot.Members = []ingress.Member{m}
	o.Built.Table = &precedence.Table{Config: routing.Config{Members: []routing.Owner{m.Owner}}}
	o.Built.LoadBalancer.Key = o.Snapshot.Key
	o.Observed.Exists = true
	return o
}

// The version of a member is accepted once the cloud serves all that was wanted, unless the version
// was left out.
func TestVersionsAreAcceptedOnceTheyAreServed(t *testing.T) {
	before := &v1alpha1.AcceptedVersion{Spec: networkingv1.IngressSpec{IngressClassName: new("before")}}
	present := record.Accept(memberOf("web").Ingress)
	same := &v1alpha1.AcceptedVersion{At: *after(-time.Hour), Annotations: present.Annotations, Spec: present.Spec}
	about := func(severity diag.Severity, reason diag.Reason) func(*outcome, *v1alpha1.MemberMemory) {
		return func(o *outcome, _ *v1alpha1.MemberMemory) {
			o.Built.Diagnostics = []diag.Diagnostic{{Severity: severity, Reason: reason, Source: memberOf("web").Source().At("spec.rules[0]")}}
		}
	}
	for name, c := range map[string]struct {
		edit   func(*outcome, *v1alpha1.MemberMemory)
		want   string // what is last accepted then: "before", "present", or "" for none
		served bool
	}{
		"all is served":        {func(*outcome, *v1alpha1.MemberMemory) {}, "present", true},
		"the cloud fails":      {func(o *outcome, _ *v1alpha1.MemberMemory) { o.Err = errors.New("on fire") }, "before", false},
		"the plan is withheld": {func(o *outcome, _ *v1alpha1.MemberMemory) { o.Withheld = v1alpha1.ReasonPaused }, "before", false},
		"nothing exists":       {func(o *outcome, m *v1alpha1.MemberMemory) { o.Observed.Exists, m.Served = false, true }, "before", false},
		"the member leaves":    {func(o *outcome, _ *v1alpha1.MemberMemory) { o.Snapshot.Members[0].Leaving = true }, "before", false},
		"there is no room":     {about(diag.Error, diag.QuotaExceeded), "before", false},
		"there is no room any more": {func(o *outcome, m *v1alpha1.MemberMemory) {
			about(diag.Error, diag.QuotaExceeded)(o, m)
			o.Built.Table, m.Served = &precedence.Table{}, true
		}, "", false},
		"there is no room any more, after an error": {func(o *outcome, m *v1alpha1.MemberMemory) {
			about(diag.Error, diag.QuotaExceeded)(o, m)
			o.Built.Table, o.Err, m.Served = &precedence.Table{}, errors.New("on fire"), true
		}, "before", true},
		"there is no room for a change": {func(o *outcome, m *v1alpha1.MemberMemory) {
			about(diag.Error, diag.QuotaExceeded)(o, m)
			m.Served = true
		}, "before", true},
		"it is too complex": {func(o *outcome, m *v1alpha1.MemberMemory) {
			about(diag.Error, diag.TooComplex)(o, m)
			o.Built.Diagnostics[0].Source.Field = ""
		}, "before", false},
		"a part is too complex":        {about(diag.Error, diag.TooComplex), "present", true},
		"there is room for fewer":      {about(diag.Warning, diag.QuotaExceeded), "present", true},
		"it is rejected":               {about(diag.Error, diag.Rejected), "before", false},
		"a web ACL is missing":         {about(diag.Warning, diag.WebACLMissing), "before", false},
		"a web ACL differs":            {about(diag.Warning, diag.WebACLDiffers), "before", false},
		"its name is taken":            {about(diag.Warning, diag.NameTaken), "before", false},
		"settings are refused":         {about(diag.Warning, diag.SettingsRefused), "before", false},
		"an annotation is foreign":     {about(diag.Error, diag.AnnotationForeign), "before", false},
		"one is foreign, and harmless": {about(diag.Warning, diag.AnnotationForeign), "present", true},
		"an annotation is misplaced":   {about(diag.Error, diag.AnnotationMisplaced), "before", false},
		"nodes are unread":             {about(diag.Error, diag.NodesUnread), "before", false},
		"another diagnostic":           {about(diag.Error, diag.Invalid), "present", true},
		"consent is withdrawn":         {about(diag.Error, diag.ConsentWithdrawn), "present", true},
		"consent is to be withdrawn":   {about(diag.Warning, diag.ConsentWithdrawn), "present", true},
		"consent, and nothing is asked": {func(o *outcome, m *v1alpha1.MemberMemory) {
			about(diag.Error, diag.ConsentWithdrawn)(o, m)
			o.Built.Table = &precedence.Table{}
		}, "", false},
		"a withdrawal, after an error": {func(o *outcome, m *v1alpha1.MemberMemory) {
			about(diag.Error, diag.ConsentWithdrawn)(o, m)
			o.Built.Table, o.Err = &precedence.Table{}, errors.New("on fire")
		}, "before", false},
		"nothing is asked, by an error": {func(o *outcome, m *v1alpha1.MemberMemory) {
			about(diag.Error, diag.Invalid)(o, m)
			o.Built.Table = &precedence.Table{}
		}, "present", true},
		"nothing is asked, by a warning": {func(o *outcome, m *v1alpha1.MemberMemory) {
			about(diag.Warning, diag.ConsentWithdrawn)(o, m)
			o.Built.Table = &precedence.Table{}
		}, "present", true},
		"nothing exists, after an error": {func(o *outcome, m *v1alpha1.MemberMemory) {
			o.Observed.Exists, o.Err, m.Served = false, errors.New("on fire"), true
		}, "before", true},
		"it is as accepted": {func(_ *outcome, m *v1alpha1.MemberMemory) { m.LastAccepted, m.Forgotten = same, true }, "same", true},
	} {
		t.Run(name, func(t *testing.T) {
			m := memberOf("web")
			m.CreationTimestamp = *after(-24 * time.Hour)
			o := learning(m)
			next := recordOf(v1alpha1.MemberMemory{Ingress: "shop/web", LastAccepted: before, Forgotten: true})
			c.edit(&o, &next.Memory.Members[0])
			o.learn(next, noon)
			known := next.Memory.Members[0]
			want := map[string]*v1alpha1.AcceptedVersion{"before": before, "same": same,
				"present": {At: *after(0), Created: *after(-24 * time.Hour), Annotations: present.Annotations, Spec: present.Spec}}[c.want]
			if diff := cmp.Diff(want, known.LastAccepted); diff != "" || known.Served != c.served {
				t.Errorf("served is %t, last accepted (-want +got):\n%s", known.Served, diff)
			}
			if known.Forgotten == (c.want == "present") {
				t.Errorf("forgotten is %t", known.Forgotten)
			}
		})
	}
}

// Rejections that have ended are dropped once all is served, and those by a cloud with other
// capabilities at once.
func TestRejectionsAreDropped(t *testing.T) {
	for name, c := range map[string]struct {
		rejection v1alpha1.Rejection
		err       error
		kept      bool
	}{
		"one that lasts":                     {v1alpha1.Rejection{Until: after(time.Minute)}, nil, true},
		"one without an end":                 {v1alpha1.Rejection{}, nil, true},
		"one that has ended":                 {v1alpha1.Rejection{Until: after(-time.Minute)}, nil, false},
		"one that has ended, after an error": {v1alpha1.Rejection{Until: after(-time.Minute)}, errors.New("on fire"), true},
		"one by this cloud":                  {v1alpha1.Rejection{Capabilities: digestOf(lb.Capabilities{})}, nil, true},
		"one by another cloud":               {v1alpha1.Rejection{Capabilities: digestOf(lb.Capabilities{Rules: 1})}, errors.New("on fire"), false},
	} {
		o := learning(memberOf("web"))
		o.Err = c.err
		next := recordOf(v1alpha1.MemberMemory{Ingress: "shop/web", Rejections: []v1alpha1.Rejection{c.rejection}})
		o.learn(next, noon)
		if got := len(next.Memory.Members[0].Rejections) > 0; got != c.kept {
			t.Errorf("%s: kept is %t", name, got)
		}
	}
}

// What the cloud refuses of a member is remembered, and which namespaces own the hosts.
func TestRejectionsAndOwnersAreRemembered(t *testing.T) {
	m := memberOf("web")
	o := learning(m)
	o.Snapshot.Key = "-/@public/"
	o.Snapshot.Owners = ingress.ResolveOwners([]ingress.HostClaim{{Host: "a.test", By: m.Owner}}, nil)
	o.Run.Rejections = []providers.Rejection{{Step: plan.CreateRule{}, Origin: []diag.Source{m.Source()}, Err: errors.New("no")}}
	o.Err = errors.New("no")
	next := recordOf(v1alpha1.MemberMemory{Ingress: "shop/web"})
	o.learn(next, noon)
	if got := next.Memory.Members[0].Rejections; len(got) != 1 || got[0].Message != "no" {
		t.Errorf("rejections %+v", got)
	}
	if got := next.Memory.Hosts; len(got) != 1 || got[0].Namespace != "shop" {
		t.Errorf("hosts %+v", got)
	}
}

// The class is remembered once all is served with it, and the rules where it keeps those of others.
func TestTheClassAndItsRulesAreRemembered(t *testing.T) {
	rule := lb.Rule{Conditions: []lb.Condition{{Field: "host", Values: []string{"a.test"}}}}
	for name, c := range map[string]struct {
		edit    func(*outcome)
		class   bool
		ownRule bool
	}{
		"all is served":     {func(*outcome) {}, true, false},
		"no member is left": {func(o *outcome) { o.Snapshot.Members = nil }, false, false},
		"the cloud fails":   {func(o *outcome) { o.Err = errors.New("on fire") }, false, false},
		"rules of others stay": {func(o *outcome) {
			o.Snapshot.Class.UnknownRules = v1alpha1.UnknownRulesKeep
			o.Built.LoadBalancer.Listeners = []lb.Listener{{Port: 80, Rules: []lb.Rule{rule}}}
			o.Observed.Listeners = []lb.ObservedListener{{Port: 80, Rules: []lb.ObservedRule{{Rule: rule}}}}
		}, true, true},
	} {
		o := learning(memberOf("web"))
		o.Snapshot.Class.MoveGrace = &metav1.Duration{Duration: time.Hour}
		c.edit(&o)
		next := recordOf(v1alpha1.MemberMemory{Ingress: "shop/web"})
		next.Memory.Rules = []string{"before"}
		o.learn(next, noon)
		if got := next.Memory.Class != nil; got != c.class || got && next.Memory.Class.MoveGrace.Duration != time.Hour {
			t.Errorf("%s: the class is %+v", name, next.Memory.Class)
		}
		if own := len(next.Memory.Rules) == 1; own != c.ownRule || own && next.Memory.Rules[0] == "before" {
			t.Errorf("%s: rules %q", name, next.Memory.Rules)
		}
	}
}

// Certificates and clients are remembered by their Secrets, those of the cloud by their hosts.
func TestWhatTheCloudHasOfSecretsIsRemembered(t *testing.T) {
	o := learning(memberOf("web"))
	o.Err = errors.New("on fire") // it is so even where not all of the plan was done
	signIn := func(secret, client string) lb.Rule {
		return lb.Rule{Action: lb.Action{Auth: &routing.Auth{Secret: secret, ClientID: client}}}
	}
	o.Built.LoadBalancer.Certificates = []lb.Certificate{{ID: "1", Secrets: []string{"shop/b"}}, {ID: "2", Secrets: []string{"shop/a"}}}
	o.Built.LoadBalancer.Listeners = []lb.Listener{{Port: 443, Rules: []lb.Rule{signIn("shop/d", "x"), signIn("shop/c", "y")}}}
	o.Built.Table.Certificates = []routing.Certificate{{ID: "arn:b", Hosts: []string{"b.test"}}, {ID: "arn:a", Hosts: []string{"a.test"}}}
	o.Observed.Certificates = []lb.ObservedCertificate{{Certificate: lb.Certificate{ID: "1"}}, {Certificate: lb.Certificate{ID: "2"}}}
	o.Observed.Listeners = []lb.ObservedListener{{Port: 443, Certificates: []lb.CertificateID{"arn:a", "arn:b"},
		Rules: []lb.ObservedRule{{Rule: signIn("", "x")}, {Rule: signIn("", "y")}}}}
	next := recordOf(v1alpha1.MemberMemory{Ingress: "shop/web"})
	next.Memory.Certificates = []v1alpha1.SecretCertificate{{Secret: "shop/before"}}
	next.Memory.CloudCertificates = []v1alpha1.CloudCertificate{{ID: "before"}}
	next.Memory.Clients = []v1alpha1.SecretClient{{Secret: "shop/before"}}
	o.learn(next, noon)
	want := v1alpha1.Memory{
		Certificates:      []v1alpha1.SecretCertificate{{Secret: "shop/a", ID: "2"}, {Secret: "shop/b", ID: "1"}},
		CloudCertificates: []v1alpha1.CloudCertificate{{ID: "arn:a", Hosts: []string{"a.test"}}, {ID: "arn:b", Hosts: []string{"b.test"}}},
		Clients:           []v1alpha1.SecretClient{{Secret: "shop/c", ID: "y"}, {Secret: "shop/d", ID: "x"}},
		Members:           next.Memory.Members,
	}
	if diff := cmp.Diff(want, next.Memory); diff != "" {
		t.Errorf("memory (-want +got):\n%s", diff)
	}
}

// The rules of this operator are those that exist and those that were about to be made, without
// those of others, each once.
func TestOwnRules(t *testing.T) {
	on := func(port int32, host string) (int32, lb.Rule) {
		return port, lb.Rule{Conditions: []lb.Condition{{Field: "host", Values: []string{host}}}}
	}
	rule := func(host string) lb.Rule { _, r := on(0, host); return r }
	seen := &lb.Observed{Listeners: []lb.ObservedListener{{Port: 80, Rules: []lb.ObservedRule{
		{Rule: rule("both.test")}, {Rule: rule("old.test")}, {Rule: rule("foreign.test")},
	}}}}
	want := lb.LoadBalancer{Listeners: []lb.Listener{{Port: 80, Rules: []lb.Rule{rule("both.test"), rule("new.test")}}, {Port: 443, Rules: []lb.Rule{rule("foreign.test")}}}}
	got := ownRules(seen, want, []planner.ForeignRule{{Port: 80, ObservedRule: lb.ObservedRule{Rule: rule("foreign.test")}}})
	own := []string{planner.RuleDigest(on(80, "both.test")), planner.RuleDigest(on(80, "old.test")), planner.RuleDigest(on(80, "new.test")), planner.RuleDigest(on(443, "foreign.test"))}
	slices.Sort(own)
	if diff := cmp.Diff(own, got); diff != "" {
		t.Errorf("own rules (-want +got):\n%s", diff)
	}
}

// A version that is refused as a whole is not accepted; one that is not served on a port is.
func TestRefusedVersions(t *testing.T) {
	m := memberOf("a")
	at := m.Source().At("metadata.annotations[a]")
	for name, c := range map[string]struct {
		told diag.Diagnostic
		want string
	}{
		"security groups that are missing":    {diag.Diagnostic{Severity: diag.Error, Reason: diag.NetworkUnmet, Source: at}, other},
		"subnets that are missing":            {diag.Diagnostic{Severity: diag.Warning, Reason: diag.NetworkUnmet, Source: at}, ""},
		"other security groups":               {diag.Diagnostic{Severity: diag.Error, Reason: diag.Exposed, Source: at}, other},
		"more clients on a port":              {diag.Diagnostic{Severity: diag.Error, Reason: diag.Exposed, Source: at}.On(80), ""},
		"another web ACL":                     {diag.Diagnostic{Severity: diag.Error, Reason: diag.WebACLDiffers, Source: at}, other},
		"a setting about which others decide": {diag.Diagnostic{Severity: diag.Warning, Reason: diag.SettingConflict, Source: at}, ""},
	} {
		o := outcomeOf(v1alpha1.LoadBalancerClassSpec{})
		o.Built.Diagnostics = []diag.Diagnostic{c.told}
		if got := o.refusedMembers()[m.Source()]; got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// The cloud may have soon what some diagnostics say that it lacks.
func TestLackingCloudObjects(t *testing.T) {
	for reason, want := range map[diag.Reason]bool{
		diag.NetworkUnmet: true, diag.NameTaken: true, diag.WebACLMissing: true, diag.NoShield: true, diag.CertificateQuota: true, diag.Invalid: false, diag.QuotaExceeded: false,
	} {
		o := outcomeOf(v1alpha1.LoadBalancerClassSpec{})
		o.Built.Diagnostics = []diag.Diagnostic{{Reason: diag.Rejected}, {Reason: reason}}
		if got := o.lacksCloudObjects(); got != want {
			t.Errorf("%s: it lacks something: %t", reason, got)
		}
	}
	if o := outcomeOf(v1alpha1.LoadBalancerClassSpec{}); o.protected() != nil || o.lacksCloudObjects() {
		t.Error("a load balancer without diagnostics is protected, or lacks something")
	}
}

// A load balancer that stays without Ingresses has an empty plan.
func TestALoadBalancerThatIsRetainedHasNoPlan(t *testing.T) {
	p := plan.Plan{Key: "k", Steps: []plan.Planned{{Step: plan.DeleteTargetGroup{Group: "a"}}}}
	for retained, steps := range map[bool]int{false: 1, true: 0} {
		o := outcomeOf(v1alpha1.LoadBalancerClassSpec{})
		if retained {
			o.Snapshot.Class.DeletionPolicy = v1alpha1.DeletionPolicyRetain
		}
		if got := planUnlessRetained(o.Snapshot, p); len(got.Steps) != steps || got.Key != "k" {
			t.Errorf("retained is %t: %+v", retained, got)
		}
	}
}
