package loadbalancer

import (
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
)

// noon is the time of most tests here.
var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// after returns the time so long after noon.
func after(d time.Duration) *metav1.Time { return &metav1.Time{Time: noon.Add(d)} }

// outcomeOf returns the outcome of a load balancer of this class, of which nothing exists.
func outcomeOf(spec v1alpha1.LoadBalancerClassSpec) outcome {
	class := ingress.Class{LoadBalancerClassSpec: spec}
	return outcome{
		Snapshot: &gather.Snapshot{Snapshot: ingress.Snapshot{Key: "k", Class: class}, ReadAt: noon},
		Observed: &lb.Observed{},
	}
}

func TestAwaitedTargets(t *testing.T) {
	waits := func(groups ...string) (steps []plan.Step) {
		for _, g := range groups {
			steps = append(steps, plan.AwaitTargets{Group: lb.GroupID(g)})
		}
		return steps
	}
	const latest = "; the first one takes over at 2026-01-01T12:02:00Z at the latest"
	for name, c := range map[string]struct {
		pending []plan.Step
		want    string
	}{
		"no step":              {},
		"a step of the cloud":  {[]plan.Step{plan.DeleteTargetGroup{Group: "a"}}, ""},
		"a group":              {waits("a"), "target groups have no healthy target yet: a" + latest},
		"a group among others": {append([]plan.Step{plan.DeleteTargetGroup{Group: "z"}}, waits("a")...), "target groups have no healthy target yet: a" + latest},
		"three groups":         {waits("a", "b", "c"), "target groups have no healthy target yet: a, b, c" + latest},
		"five groups":          {waits("a", "b", "c", "d", "e"), "target groups have no healthy target yet: a, b, c and 2 more" + latest},
	} {
		o := outcomeOf(v1alpha1.LoadBalancerClassSpec{WarmTimeout: &metav1.Duration{Duration: 2 * time.Minute}})
		o.Run.Pending = c.pending
		if got := o.awaitedTargets(noon); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestAwaitedCloud(t *testing.T) {
	remove := plan.DeleteTargetGroup{Group: "a"}
	for name, c := range map[string]struct {
		pending []plan.Step
		err     error
		exists  bool
		active  bool
		want    string
	}{
		"no load balancer":       {},
		"one that is active":     {exists: true, active: true},
		"one that is set up":     {exists: true, want: "the cloud is setting up the load balancer, and does not say how long it takes: it is asked again every 10s"},
		"one, after a failure":   {exists: true, err: errors.New("refused")},
		"targets":                {pending: []plan.Step{plan.AwaitTargets{Group: "a"}}, err: providers.ErrPending, exists: true},
		"a step":                 {pending: []plan.Step{remove}, err: providers.ErrPending, exists: true, active: true, want: "the cloud is not ready to " + remove.Op() + " a, and does not say when it is: it is asked again every 10s"},
		"a step, and targets":    {pending: []plan.Step{plan.AwaitTargets{Group: "b"}, remove}, err: providers.ErrPending, want: "the cloud is not ready to " + remove.Op() + " a, and does not say when it is: it is asked again every 10s"},
		"one that is not active": {active: true},
	} {
		o := outcomeOf(v1alpha1.LoadBalancerClassSpec{})
		o.Run.Pending, o.Err, o.Observed.Exists, o.Observed.Active = c.pending, c.err, c.exists, c.active
		if got := o.awaitedCloud(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestAwaitedQuota(t *testing.T) {
	const full = "a quota is used up: what does not fit is tried again every 10m0s"
	for name, c := range map[string]struct {
		found    []diag.Diagnostic
		rejected []v1alpha1.Rejection
		want     string
	}{
		"nothing":                     {},
		"another diagnostic":          {found: []diag.Diagnostic{{Severity: diag.Error, Reason: diag.Rejected}}},
		"a quota":                     {found: []diag.Diagnostic{{Severity: diag.Error, Reason: diag.QuotaExceeded}}, want: full},
		"a rejection without an end":  {rejected: []v1alpha1.Rejection{{Version: "1"}}},
		"a rejection that lasts":      {rejected: []v1alpha1.Rejection{{Version: "1", Until: after(time.Minute)}}, want: full},
		"a rejection that has ended":  {rejected: []v1alpha1.Rejection{{Version: "1", Until: after(-time.Minute)}}},
		"a quota, and no rejection":   {found: []diag.Diagnostic{{Severity: diag.Error, Reason: diag.QuotaExceeded}}, rejected: []v1alpha1.Rejection{{Version: "1"}}, want: full},
		"one that ended, one that is": {rejected: []v1alpha1.Rejection{{Version: "1", Until: after(-time.Minute)}, {Version: "2", Until: after(time.Minute)}}, want: full},
	} {
		o := outcomeOf(v1alpha1.LoadBalancerClassSpec{})
		o.Built.Diagnostics = c.found
		next := records.Record{Memory: v1alpha1.Memory{Members: []v1alpha1.MemberMemory{{Ingress: "shop/a", Rejections: c.rejected}, {Ingress: "shop/b"}}}}
		if got := o.awaitedQuota(&next); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
