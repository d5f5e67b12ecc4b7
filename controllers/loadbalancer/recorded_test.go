package loadbalancer

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"
)

func TestRecordsReportWhatThereIs(t *testing.T) {
	o := outcomeOf(v1alpha1.LoadBalancerClassSpec{})
	o.Snapshot.Members = []ingress.Member{memberOf("b"), memberOf("a")}
	o.Snapshot.Record.LastError, o.Snapshot.Record.Diagnostics, o.Snapshot.Record.OmittedDiagnostics = "before", []v1alpha1.Diagnostic{{}}, 7
	o.Snapshot.Record.Listeners = []v1alpha1.ListenerStatus{{Port: 1}}
	o.Capabilities.Rules = 100
	o.Built.Diagnostics = []diag.Diagnostic{{Severity: diag.Info, Reason: diag.Invalid, Source: memberOf("a").Source(), Message: "m"}}
	o.Observed = &lb.Observed{Exists: true, Address: lb.Address{Hostname: "lb.test"}, Listeners: []lb.ObservedListener{
		{Port: 80, Protocol: routing.HTTP, Rules: make([]lb.ObservedRule, 2)}, {Port: 443, Protocol: routing.HTTPS, Rules: make([]lb.ObservedRule, 1)},
	}}
	got := o.record(noon)
	if diff := cmp.Diff([]string{"shop/b", "shop/a"}, got.Members); diff != "" || got.MemberCount != 2 {
		t.Errorf("%d members %v", got.MemberCount, got.Members)
	}
	if diff := cmp.Diff([]v1alpha1.ListenerStatus{{Port: 80, Protocol: "HTTP", Rules: 2}, {Port: 443, Protocol: "HTTPS", Rules: 1}}, got.Listeners); diff != "" {
		t.Errorf("listeners (-want +got):\n%s", diff)
	}
	if got.Rules != 3 || got.RuleLimit != 100 || got.LastError != "" || got.OmittedDiagnostics != 0 {
		t.Errorf("%d of %d rules, last error %q, %d diagnostics omitted", got.Rules, got.RuleLimit, got.LastError, got.OmittedDiagnostics)
	}
	if diff := cmp.Diff([]v1alpha1.Diagnostic{{Severity: "info", Reason: "Invalid", Source: "Ingress shop/a", Message: "m"}}, got.Diagnostics); diff != "" {
		t.Errorf("diagnostics (-want +got):\n%s", diff)
	}
	if o.wasReported(o.Built.Diagnostics[0]) {
		t.Error("the diagnostic stood in the record before")
	}
	o.Snapshot.Record = got
	if !o.wasReported(o.Built.Diagnostics[0]) {
		t.Error("the diagnostic does not stand in the record")
	}
	if o.Err = errors.New("on fire"); o.record(noon).LastError != "on fire" {
		t.Errorf("last error %q", o.record(noon).LastError)
	}
}

// The address is a hostname, or the first of the IP addresses where there is none. It stays in the
// record where the load balancer is gone.
func TestRecordsHaveTheAddress(t *testing.T) {
	for _, c := range []struct {
		there  bool
		seen   lb.Address
		before string
		want   string
		ips    []string
	}{
		{true, lb.Address{Hostname: "lb.test"}, "old.test", "lb.test", nil},
		{true, lb.Address{Hostname: "lb.test", IPs: []string{"192.0.2.1"}}, "", "lb.test", []string{"192.0.2.1"}},
		{true, lb.Address{IPs: []string{"192.0.2.1", "192.0.2.2"}}, "", "192.0.2.1", []string{"192.0.2.1", "192.0.2.2"}},
		{true, lb.Address{}, "old.test", "", nil},
		{false, lb.Address{Hostname: "lb.test"}, "old.test", "old.test", nil},
	} {
		o := outcomeOf(v1alpha1.LoadBalancerClassSpec{})
		o.Snapshot.Record.Address = c.before
		o.Observed.Exists, o.Observed.Address = c.there, c.seen
		got := o.record(noon)
		if diff := cmp.Diff(c.ips, got.IPs); got.Address != c.want || diff != "" {
			t.Errorf("%+v: address %q, %q, want %q, %q", c.seen, got.Address, got.IPs, c.want, c.ips)
		}
	}
}

func TestRecordsHaveTheLastPlan(t *testing.T) {
	o := outcomeOf(v1alpha1.LoadBalancerClassSpec{})
	before := &v1alpha1.PlanStatus{Summary: "before"}
	o.Snapshot.Record.LastPlan = before
	if got := o.record(noon).LastPlan; got.Summary != "before" {
		t.Errorf("a plan without steps is %v", got)
	}
	for i := range v1alpha1.MaxSteps + 3 {
		o.Plan.Steps = append(o.Plan.Steps, plan.Planned{Step: plan.DeleteTargetGroup{Group: lb.GroupID(fmt.Sprint("g", i))}})
	}
	o.Run.Done = 2
	first := o.record(noon).LastPlan
	if len(first.Steps) != v1alpha1.MaxSteps || first.OmittedSteps != 3 || first.Done != 2 || !first.At.Time.Equal(noon) {
		t.Errorf("%d steps, %d omitted, %d done, at %s", len(first.Steps), first.OmittedSteps, first.Done, first.At)
	}
	if first.Steps[1].ID != "g1" || first.Summary != o.Plan.Counts() {
		t.Errorf("the second step is %v, all are %q", first.Steps[1], first.Summary)
	}
	// A plan that goes as the one before keeps its time; another one has a time of its own.
	o.Snapshot.Record.LastPlan = first
	if again := o.record(noon.Add(time.Minute)).LastPlan; !again.At.Time.Equal(noon) {
		t.Errorf("an equal plan is of %s", again.At)
	}
	o.Run.Done = 3
	if other := o.record(noon.Add(time.Minute)).LastPlan; !other.At.Time.Equal(noon.Add(time.Minute)) || other.Done != 3 {
		t.Errorf("another plan is of %s, with %d steps done", other.At, other.Done)
	}
}

// A load balancer is finished once neither the record nor the cloud has anything of it.
func TestFinished(t *testing.T) {
	for name, edit := range map[string]func(*outcome, *records.Record){
		"":                   func(*outcome, *records.Record) {},
		"a failure":          func(o *outcome, _ *records.Record) { o.Err = errors.New("on fire") },
		"a plan is withheld": func(o *outcome, _ *records.Record) { o.Withheld = v1alpha1.ReasonPaused },
		"a member":           func(o *outcome, _ *records.Record) { o.Snapshot.Members = []ingress.Member{memberOf("a")} },
		"a departed member": func(o *outcome, _ *records.Record) {
			o.Snapshot.Departed = map[string]*networkingv1.Ingress{"shop/a": nil}
		},
		"a remembered member": func(_ *outcome, r *records.Record) { r.Memory.Members = []v1alpha1.MemberMemory{{}} },
		"a remembered host":   func(_ *outcome, r *records.Record) { r.Memory.Hosts = []v1alpha1.HostOwner{{}} },
		"the load balancer":   func(o *outcome, _ *records.Record) { o.Observed.Exists = true },
		"a target group":      func(o *outcome, _ *records.Record) { o.Observed.TargetGroups = make([]lb.ObservedTargetGroup, 1) },
		"a certificate":       func(o *outcome, _ *records.Record) { o.Observed.Certificates = make([]lb.ObservedCertificate, 1) },
		"a security group":    func(o *outcome, _ *records.Record) { o.Observed.Firewall = "sg" },
	} {
		o := outcomeOf(v1alpha1.LoadBalancerClassSpec{})
		var next records.Record
		edit(&o, &next)
		if got := o.finished(&next); got != (name == "") {
			t.Errorf("%q is there: finished is %t", name, got)
		}
	}
}

// The cloud may be slow to release what is not used any more: all is served meanwhile.
func TestServedWhileTheCloudReleases(t *testing.T) {
	unused := lb.ObservedTargetGroup{TargetGroup: lb.TargetGroup{ID: "old"}}
	for name, c := range map[string]struct {
		edit func(*outcome)
		want bool
	}{
		"all is done":         {func(*outcome) {}, true},
		"a group is released": {func(o *outcome) { o.Err = providers.ErrPending }, true},
		"it fails":            {func(o *outcome) { o.Err = errors.New("on fire") }, false},
		"it is withheld":      {func(o *outcome) { o.Err, o.Withheld = providers.ErrPending, v1alpha1.ReasonPaused }, false},
		"a listener is to go": {func(o *outcome) {
			o.Err, o.Observed.Exists, o.Observed.Listeners = providers.ErrPending, true, []lb.ObservedListener{{Port: 80}}
		}, false},
	} {
		o := outcomeOf(v1alpha1.LoadBalancerClassSpec{})
		o.Observed.TargetGroups = []lb.ObservedTargetGroup{unused}
		c.edit(&o)
		if got := o.served(); got != c.want {
			t.Errorf("%s: served is %t", name, got)
		}
	}
}

// The groups that there are going to be are those of the plan, or the present ones if it is
// withheld.
func TestGroupsThatThereAreGoingToBe(t *testing.T) {
	o := outcomeOf(v1alpha1.LoadBalancerClassSpec{})
	o.Observed.TargetGroups = []lb.ObservedTargetGroup{{TargetGroup: lb.TargetGroup{ID: "old"}}}
	o.Built.LoadBalancer.TargetGroups = []lb.TargetGroup{{ID: "new"}}
	for withheld, want := range map[string]lb.GroupID{"": "new", v1alpha1.ReasonPaused: "old"} {
		o.Withheld = withheld
		if got := o.groups(); len(got) != 1 || got[0].ID != want {
			t.Errorf("withheld %q: groups %v, want %s", withheld, got, want)
		}
	}
}
