package loadbalancer

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/expectations"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/record"
	"fairlead.dev/fairlead/providers"
)

// Each case says which reasons the conditions have that differ from those of a load balancer with
// which all is well.
func TestConditionsSayWhatIsWrong(t *testing.T) {
	failed := errors.New("the cloud is on fire")
	unread := expectations.Judgement{Set: expectations.Set{ConfigMap: cluster.Ref{Namespace: "ops", Name: "rules"}, Unread: "it is gone"}}
	for name, c := range map[string]struct {
		edit func(*outcome)
		want map[string]string // the reason, by the kind of condition
	}{
		"all is well": {func(*outcome) {}, nil},
		"a member is refused": {func(o *outcome) {
			o.Built.Diagnostics = []diag.Diagnostic{{Severity: diag.Error, Reason: diag.Invalid}}
		}, map[string]string{"Accepted": "MembersRefused"}},
		"a member is warned": {func(o *outcome) {
			o.Built.Diagnostics = []diag.Diagnostic{{Severity: diag.Warning, Reason: diag.Invalid}}
		}, nil},
		"the cloud fails":             {func(o *outcome) { o.Err = failed }, map[string]string{"Programmed": "ProviderFailed", "Degraded": "ProviderFailed"}},
		"the cloud is not ready":      {func(o *outcome) { o.Err = providers.ErrPending }, map[string]string{"Programmed": "Pending"}},
		"the class is lost":           {func(o *outcome) { o.Snapshot.ClassLost = "the class is gone" }, map[string]string{"Accepted": "ClassMissing", "Degraded": "ClassMissing"}},
		"a lost class, and a failure": {func(o *outcome) { o.Snapshot.ClassLost, o.Err = "the class is gone", failed }, map[string]string{"Accepted": "ClassMissing", "Programmed": "ProviderFailed", "Degraded": "ProviderFailed"}},
		"a dispute":                   {func(o *outcome) { o.Dispute = &queue.Dispute{} }, map[string]string{"Degraded": "Disputed"}},
		"a dispute, and a failure":    {func(o *outcome) { o.Dispute, o.Err = &queue.Dispute{}, failed }, map[string]string{"Programmed": "ProviderFailed", "Degraded": "ProviderFailed"}},
		"expectations are unread":     {func(o *outcome) { o.Expectations = unread }, map[string]string{"Degraded": v1alpha1.ReasonExpectations}},
		"that, and a dispute":         {func(o *outcome) { o.Expectations, o.Dispute = unread, &queue.Dispute{} }, map[string]string{"Degraded": "Disputed"}},
		"a plan is unproven":          {func(o *outcome) { o.Withheld = v1alpha1.ReasonPlanUnproven }, map[string]string{"Programmed": "PlanUnproven", "Degraded": "PlanUnproven"}},
		"that, and a lost class":      {func(o *outcome) { o.Withheld, o.Snapshot.ClassLost = v1alpha1.ReasonPlanUnproven, "gone" }, map[string]string{"Accepted": "ClassMissing", "Programmed": "PlanUnproven", "Degraded": "ClassMissing"}},
		"a plan is only made":         {func(o *outcome) { o.Withheld = v1alpha1.ReasonReadOnly }, map[string]string{"Programmed": "ReadOnly"}},
		"a member has vanished":       {func(o *outcome) { o.Snapshot.Vanished = map[string]record.Vanishing{"shop/web": {}} }, map[string]string{"Degraded": "Vanished"}},
		"that, and a failure": {func(o *outcome) { o.Snapshot.Vanished, o.Err = map[string]record.Vanishing{"shop/web": {}}, failed },
			map[string]string{"Programmed": "ProviderFailed", "Degraded": "ProviderFailed"}},
		"it is protected": {func(o *outcome) {
			o.Plan.Diagnostics = []diag.Diagnostic{{Severity: diag.Warning, Reason: diag.Protected, Message: "m"}}
		}, map[string]string{"Programmed": "Protected"}},
		"that, and withheld": {func(o *outcome) {
			o.Plan.Diagnostics, o.Withheld = []diag.Diagnostic{{Severity: diag.Warning, Reason: diag.Protected, Message: "m"}}, v1alpha1.ReasonReadOnly
		}, map[string]string{"Programmed": "Protected"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := outcomeOf(v1alpha1.LoadBalancerClassSpec{})
			c.edit(&o)
			got := map[string]string{}
			for _, condition := range o.conditions() {
				good := metav1.ConditionTrue
				if condition.Type == v1alpha1.ConditionDegraded {
					good = metav1.ConditionFalse
				}
				if condition.Status != good {
					got[condition.Type] = condition.Reason
				}
			}
			want := c.want
			if want == nil {
				want = map[string]string{}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("reasons (-want +got):\n%s", diff)
			}
		})
	}
}

// A plan that is withheld says how much it would do, and for what it waits.
func TestWithheldPlansSayForWhatTheyWait(t *testing.T) {
	for withheld, want := range map[string]string{
		v1alpha1.ReasonReadOnly:     "0 to create, 0 to change, 1 to delete: this operator only plans",
		v1alpha1.ReasonRecordLost:   "0 to create, 0 to change, 1 to delete: the LoadBalancer was gone while the load balancer existed, and a pause with it: nothing is changed for --vanished-grace, or until the annotation fairlead.dev/confirm-vanished=2026-01-01T12:00:00Z, or a later time that is over, confirms it",
		v1alpha1.ReasonPaused:       "0 to create, 0 to change, 1 to delete: the flag pauses the load balancer, until it is removed",
		v1alpha1.ReasonExpectations: "0 to create, 0 to change, 1 to delete: expectations of ConfigMap ops/rules: it is gone; it ends when the ConfigMap is corrected",
		v1alpha1.ReasonPlanUnproven: "0 to create, 0 to change, 1 to delete: the plan is not proven: ; this is a defect of Fairlead, please report it; it ends when the change is divided, or the class has unprovenPlans: CarryOut",
		"AnotherReason":             "0 to create, 0 to change, 1 to delete: so much would be deleted that a second reading has to confirm it",
	} {
		o := outcomeOf(v1alpha1.LoadBalancerClassSpec{})
		o.Withheld, o.Snapshot.PausedBy, o.Snapshot.Record.Memory.LostAt = withheld, "the flag", after(0)
		o.Expectations.Set = expectations.Set{ConfigMap: cluster.Ref{Namespace: "ops", Name: "rules"}, Unread: "it is gone"}
		o.Plan.Steps = []plan.Planned{{Step: plan.DeleteTargetGroup{Group: "a"}}}
		if got := o.conditions()[1].Message; got != want {
			t.Errorf("%s:\n%q, want\n%q", withheld, got, want)
		}
	}
}

// Of several errors the worst gives the reason.
func TestTheWorstErrorGivesTheReason(t *testing.T) {
	failed, denied, refused := errors.New("on fire"), providers.ErrDenied, providers.ErrRejected
	for _, c := range []struct {
		errs []error
		want string
	}{
		{nil, "Programmed"},
		{[]error{providers.ErrPending}, "Pending"},
		{[]error{context.Canceled}, "Programming"},
		{[]error{providers.ErrPending, context.Canceled}, "Programming"},
		{[]error{refused}, "ProviderRefused"},
		{[]error{refused, context.Canceled}, "ProviderRefused"},
		{[]error{providers.ErrPending, refused}, "ProviderRefused"},
		{[]error{denied}, "ProviderDenied"},
		{[]error{denied, refused, providers.ErrPending}, "ProviderDenied"},
		{[]error{refused, denied}, "ProviderDenied"},
		{[]error{denied, failed}, "ProviderFailed"},
		{[]error{failed, denied}, "ProviderFailed"},
	} {
		var joined []error
		for _, e := range c.errs {
			joined = append(joined, fmt.Errorf("a step: %w", e))
		}
		after := conditionsAfter(errors.Join(joined...))
		degraded := !(c.want == "Programmed" || c.want == "Pending" || c.want == "Programming")
		if after[0].Reason != c.want || (after[1].Status == metav1.ConditionTrue) != degraded {
			t.Errorf("%v: %s, %s=%s; want %s", c.errs, after[0].Reason, after[1].Type, after[1].Status, c.want)
		}
	}
}

// A condition that is as it was keeps the time since which it is so.
func TestConditionsKeepTheirTime(t *testing.T) {
	var r records.Record
	setConditions(&r, conditionsAfter(nil), noon)
	setConditions(&r, conditionsAfter(providers.ErrPending), noon.Add(time.Hour+time.Millisecond))
	for i, want := range []time.Time{noon.Add(time.Hour), noon} {
		if got := r.Conditions[i].LastTransitionTime.Time; !got.Equal(want) {
			t.Errorf("%s is so since %s, want %s", r.Conditions[i].Type, got, want)
		}
	}
}

// Of several errors the first is told. A class that is lost freezes what is served.
func TestTheConditionAcceptedSaysWhy(t *testing.T) {
	o := outcomeOf(v1alpha1.LoadBalancerClassSpec{})
	for _, message := range []string{"first", "second"} {
		o.Built.Diagnostics = append(o.Built.Diagnostics, diag.Diagnostic{Severity: diag.Error, Reason: diag.Invalid, Source: memberOf("web").Source(), Message: message})
	}
	if got := o.conditions()[0].Message; got != "error Invalid Ingress shop/web: first" {
		t.Errorf("%q", got)
	}
	o.Snapshot.ClassLost = "the class is gone"
	for i, kind := range []string{"Accepted", "", "Degraded"} {
		if got := o.conditions()[i]; kind != "" && got.Message != "the class is gone; the load balancer is not changed until the class is back" {
			t.Errorf("%s: %q", kind, got.Message)
		}
	}
}
