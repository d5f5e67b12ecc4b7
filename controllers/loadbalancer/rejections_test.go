package loadbalancer

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/record"
	"fairlead.dev/fairlead/providers"
)

// A rejected step is a matter of the members that ask for it, and of all where all need it.
func TestRejectedStepsAreToldToThoseBehindThem(t *testing.T) {
	a, b := memberOf("a"), memberOf("b")
	place := a.Source().At("spec.rules[0]")
	for name, c := range map[string]struct {
		step   plan.Step
		origin []diag.Source
		a, b   string // the source in each member; "" for none
	}{
		"the load balancer":      {plan.CreateLoadBalancer{}, nil, "Ingress shop/a", "Ingress shop/b"},
		"its settings":           {plan.ModifyLoadBalancer{}, nil, "Ingress shop/a", "Ingress shop/b"},
		"a rule":                 {plan.CreateRule{}, []diag.Source{place}, "Ingress shop/a", ""},
		"a rule of both":         {plan.CreateRule{}, []diag.Source{b.Source(), place}, "Ingress shop/a", "Ingress shop/b"},
		"a rule of none":         {plan.CreateRule{}, nil, "", ""},
		"a certificate":          {plan.ImportCertificate{}, []diag.Source{b.Source(), place}, place.String(), "Ingress shop/b"},
		"a certificate's change": {plan.ReplaceCertificate{}, []diag.Source{place}, place.String(), ""},
		"a certificate's use":    {plan.AttachCertificate{}, []diag.Source{place}, place.String(), ""},
		"Shield":                 {plan.ShieldLoadBalancer{}, []diag.Source{place}, "", ""},
		"a web ACL":              {plan.SetWebACL{}, []diag.Source{place}, "", ""},
	} {
		r := providers.Rejection{Step: c.step, Origin: c.origin}
		for m, want := range map[*ingress.Member]string{&a: c.a, &b: c.b} {
			source, asks := requestedAt(r, *m)
			if asks != (want != "") || asks && source.String() != want {
				t.Errorf("%s: %s is told at %q, %t; want %q", name, m.Owner, source, asks, want)
			}
		}
	}
}

// What is refused is the version of the Ingress, or its certificate where nothing that is served
// would end; nothing where leaving it out would not help.
func TestWhatIsRefused(t *testing.T) {
	certificate := lb.Certificate{ID: "sha256:new", Hosts: []string{"a.test"}, Secrets: []string{"shop/tls"}}
	shown := func(hosts ...string) lb.Observed {
		return lb.Observed{Certificates: []lb.ObservedCertificate{{Certificate: lb.Certificate{ID: "sha256:old", Hosts: hosts}}},
			Listeners: []lb.ObservedListener{{Port: 443, Certificates: []lb.CertificateID{"sha256:old"}}}}
	}
	m := memberOf("web")
	m.Spec.TLS = []networkingv1.IngressTLS{{SecretName: "other"}, {SecretName: "tls"}}
	m.Spec.Rules = []networkingv1.IngressRule{{Host: "b.test"}}
	version := record.Version(m.Ingress)
	present, former := record.Accept(m.Ingress), record.Accept(memberOf("web").Ingress)
	imports := plan.ImportCertificate{Certificate: certificate}
	decided := lb.Listener{Decided: []diag.Source{m.Source().At("metadata.annotations[fairlead.dev/tls-policy]")}}
	for name, c := range map[string]struct {
		step plan.Step
		seen lb.Observed
		met  record.Member
		held map[string]lb.CertificateID
		want string
	}{
		"a target group":                       {step: plan.CreateTargetGroup{}, want: version},
		"a target group's change":              {step: plan.ModifyTargetGroup{}, want: version},
		"targets":                              {step: plan.RegisterTargets{}, want: version},
		"a rule":                               {step: plan.CreateRule{}, want: version},
		"a rule's change":                      {step: plan.ModifyRule{}, want: version},
		"a port about which it decides":        {step: plan.CreateListener{Listener: decided}, want: version},
		"that port's change":                   {step: plan.ModifyListener{Listener: decided}, want: version},
		"a port about which others decide":     {step: plan.ModifyListener{Listener: lb.Listener{Decided: []diag.Source{memberOf("b").Source()}}}},
		"the load balancer":                    {step: plan.CreateLoadBalancer{}},
		"a network about which it decides":     {step: plan.CreateLoadBalancer{LoadBalancer: lb.LoadBalancer{Decided: decided.Decided}}, want: version},
		"that network's change":                {step: plan.ModifyLoadBalancer{LoadBalancer: lb.LoadBalancer{Decided: decided.Decided}}, want: version},
		"a deletion":                           {step: plan.DeleteRule{}},
		"a certificate of what is not served":  {step: imports, seen: shown("a.test"), want: "sha256:new"},
		"a certificate, shown none":            {step: imports, met: record.Member{Served: true}, want: "sha256:new"},
		"a certificate, shown one of another":  {step: imports, seen: shown("c.test"), met: record.Member{Served: true}, want: "sha256:new"},
		"of a host that is shown another":      {step: imports, seen: shown("a.test"), met: record.Member{Served: true}},
		"of a host below one that is shown":    {step: imports, seen: shown("*.test"), met: record.Member{Served: true}},
		"of a rule that is shown another":      {step: imports, seen: shown("b.test"), met: record.Member{Served: true}},
		"that, and the version is as accepted": {step: imports, seen: shown("b.test"), met: record.Member{Served: true, LastAccepted: &present}},
		"that, and the version is another":     {step: imports, seen: shown("b.test"), met: record.Member{Served: true, LastAccepted: &former}, want: version},
		"that, after one of the same Secret":   {step: imports, seen: shown("b.test"), met: record.Member{Served: true, LastAccepted: &former}, held: map[string]lb.CertificateID{"shop/tls": "sha256:old"}, want: "sha256:new"},
		"that, after one that is gone":         {step: imports, seen: shown("b.test"), met: record.Member{Served: true}, held: map[string]lb.CertificateID{"shop/tls": "sha256:gone"}},
		"that, after one of another Secret":    {step: imports, seen: shown("b.test"), met: record.Member{Served: true}, held: map[string]lb.CertificateID{"shop/other": "sha256:old"}},
	} {
		o := outcomeOf(v1alpha1.LoadBalancerClassSpec{})
		o.Observed = &c.seen
		o.Snapshot.Recorded = record.Record{Members: map[string]record.Member{"shop/web": c.met}, Certificates: c.held}
		if got := o.refusableVersion(c.step, m); got != c.want {
			t.Errorf("%s: %q is refused, want %q", name, got, c.want)
		}
	}
}

// A member may be served with a certificate that covers one of its hosts, or that a host of its
// covers; with one that is not known to have other names; and, with a default backend, with any.
func TestMembersThatMayBeServedWithAnotherCertificate(t *testing.T) {
	for name, c := range map[string]struct {
		shown  []string
		rules  []string
		all    bool // the member has a default backend
		lacks  bool // the certificate is not among those that were seen
		served bool
	}{
		"the host":             {shown: []string{"a.test"}, rules: []string{"a.test"}, served: true},
		"another host":         {shown: []string{"b.test"}, rules: []string{"a.test"}},
		"a wildcard":           {shown: []string{"*.test"}, rules: []string{"a.test"}, served: true},
		"below a wildcard":     {shown: []string{"a.test"}, rules: []string{"*.test"}, served: true},
		"a default backend":    {shown: []string{"a.test"}, all: true, served: true},
		"no host":              {shown: []string{"a.test"}},
		"one that is not seen": {shown: []string{"b.test"}, rules: []string{"a.test"}, lacks: true, served: true},
		"the second of two":    {shown: []string{"b.test", "a.test"}, rules: []string{"c.test", "a.test"}, served: true},
	} {
		m := memberOf("web")
		for _, host := range c.rules {
			m.Spec.Rules = append(m.Spec.Rules, networkingv1.IngressRule{Host: host})
		}
		if c.all {
			m.Spec.DefaultBackend = &networkingv1.IngressBackend{}
		}
		seen := lb.Observed{Listeners: []lb.ObservedListener{{Port: 80}, {Port: 443, Certificates: []lb.CertificateID{"old"}}}}
		if !c.lacks {
			seen.Certificates = []lb.ObservedCertificate{{Certificate: lb.Certificate{ID: "old", Hosts: c.shown}}}
		}
		if got := isSecured(&seen, m, lb.Certificate{}); got != c.served {
			t.Errorf("%s: served is %t", name, got)
		}
	}
}

// Each answer of a cloud has another request ID. What is reported again keeps its words.
func TestARepeatedAnswerKeepsItsWords(t *testing.T) {
	const first, again = "refused (request ID 0a0a0a0a-1111-2222-3333-444444444444)", "refused (request ID 0b0b0b0b-1111-2222-3333-444444444444)"
	m := memberOf("web")
	for name, c := range map[string]struct {
		record v1alpha1.MemberMemory
		report v1alpha1.Diagnostic
		want   string
	}{
		"nothing before":         {want: again},
		"a rejection":            {record: v1alpha1.MemberMemory{Ingress: "shop/web", Rejections: []v1alpha1.Rejection{{Message: "other"}, {Message: first}}}, want: first},
		"another member's":       {record: v1alpha1.MemberMemory{Ingress: "shop/other", Rejections: []v1alpha1.Rejection{{Message: first}}}, want: again},
		"a diagnostic":           {report: v1alpha1.Diagnostic{Reason: "Rejected", Source: "Ingress shop/web", Message: first}, want: first},
		"one of another reason":  {report: v1alpha1.Diagnostic{Reason: "Invalid", Source: "Ingress shop/web", Message: first}, want: again},
		"one of another source":  {report: v1alpha1.Diagnostic{Reason: "Rejected", Source: "Ingress shop/other", Message: first}, want: again},
		"one with another words": {report: v1alpha1.Diagnostic{Reason: "Rejected", Source: "Ingress shop/web", Message: "other"}, want: again},
	} {
		o := outcomeOf(v1alpha1.LoadBalancerClassSpec{})
		o.Snapshot.Record = *recordOf(c.record)
		o.Snapshot.Record.Diagnostics = []v1alpha1.Diagnostic{c.report}
		if got := o.reportedMessage(m, m.Source(), again); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Rejections for which nothing can be left out are reported, once each, to members that stay.
func TestRejectionsThatNothingRelieves(t *testing.T) {
	leaving := memberOf("leaving")
	leaving.Leaving = true
	o := outcomeOf(v1alpha1.LoadBalancerClassSpec{})
	o.Snapshot.Members = []ingress.Member{memberOf("a"), leaving}
	no := errors.New("no")
	o.Run.Rejections = []providers.Rejection{
		{Step: plan.ModifyLoadBalancer{}, Err: no}, {Step: plan.ModifyLoadBalancer{}, Err: no},
		{Step: plan.CreateRule{}, Origin: []diag.Source{memberOf("a").Source()}, Err: errors.New("a rule")},
		{Step: plan.DeleteRule{}, Origin: []diag.Source{memberOf("a").Source()}, Err: errors.New("a deletion")},
	}
	o.Run.Unparked = []providers.Rejection{
		{Origin: []diag.Source{memberOf("a").Source(), memberOf("b").Source()}, Err: no}, {Origin: []diag.Source{memberOf("a").Source()}, Err: no},
	}
	var got []string
	for _, d := range o.diagnostics() {
		got = append(got, d.String())
	}
	want := []string{
		"error Rejected Ingress shop/a: no",
		"error Rejected Ingress shop/a: a deletion",
		"warning Unparked Ingress shop/a: requests go to targets that may not be healthy yet: no",
		"warning Unparked Ingress shop/b: requests go to targets that may not be healthy yet: no",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("diagnostics (-want +got):\n%s", diff)
	}
}

// A member has its last rejections in the record: five, and one for each certificate.
func TestTheLastRejectionsAreKept(t *testing.T) {
	m := memberOf("web")
	m.Spec.TLS = make([]networkingv1.IngressTLS, 2)
	o := outcomeOf(v1alpha1.LoadBalancerClassSpec{})
	known := v1alpha1.MemberMemory{Ingress: "shop/web"}
	for i := range 9 {
		m.Spec.Rules = []networkingv1.IngressRule{{Host: fmt.Sprint("h", i)}}
		o.Run.Rejections = []providers.Rejection{{Step: plan.CreateRule{}, Origin: []diag.Source{m.Source()}, Err: fmt.Errorf("no %d", i)}}
		o.learnRejections(m, &known, noon)
	}
	var got []string
	for _, r := range known.Rejections {
		got = append(got, r.Message)
		if r.Until != nil || r.Capabilities == "" {
			t.Errorf("a rejection that no room ends is %+v", r)
		}
	}
	if want := "no 2, no 3, no 4, no 5, no 6, no 7, no 8"; strings.Join(got, ", ") != want {
		t.Errorf("%q are kept, want %s", got, want)
	}
	o.Run.Rejections = append(o.Run.Rejections, providers.Rejection{Step: plan.DeleteRule{}, Origin: []diag.Source{m.Source()}, Err: errors.New("no end")})
	if o.learnRejections(m, &known, noon); len(known.Rejections) != len(got) || known.Rejections[6].Message != "no 8" {
		t.Errorf("what leaving out does not help is kept: %+v", known.Rejections)
	}
	// One that has ended is replaced by the same one, with a new end.
	known.Rejections = known.Rejections[5:]
	known.Rejections[1].Until = after(-time.Minute)
	o.Run.Rejections[0].Err = fmt.Errorf("no 8 again: %w", providers.ErrNoRoom)
	o.learnRejections(m, &known, noon)
	if last := known.Rejections[1]; len(known.Rejections) != 2 || !last.Until.Equal(after(10*time.Minute)) || known.Rejections[0].Message != "no 7" {
		t.Errorf("after an end: %+v", known.Rejections)
	}
	known.Rejections = slices.Insert(known.Rejections, 0, known.Rejections[1])[:2]
	known.Rejections[0].Until = after(-time.Minute)
	o.learnRejections(m, &known, noon)
	if len(known.Rejections) != 2 || known.Rejections[0].Message != "no 7" {
		t.Errorf("the first has ended: %+v", known.Rejections)
	}
}

// Another compilation follows at once: until then the conditions and diagnostics stay.
func TestPreviousDiagnosticsAreKept(t *testing.T) {
	o := outcomeOf(v1alpha1.LoadBalancerClassSpec{})
	o.Snapshot.Record.Conditions = conditionsAfter(nil)
	o.Snapshot.Record.Diagnostics, o.Snapshot.Record.OmittedDiagnostics = []v1alpha1.Diagnostic{{Message: "before"}}, 2
	o.Err = errors.New("on fire")
	next := o.record(noon)
	o.keepPreviousDiagnostics(&next)
	if next.Conditions[0].Reason != "Programmed" || len(next.Diagnostics) != 1 || next.OmittedDiagnostics != 2 {
		t.Errorf("%+v", next)
	}
}
