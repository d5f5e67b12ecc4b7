package loadbalancer

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/controllers/ingresses"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// This file tests the parts that need no API server.

func TestAServiceThatIsMissingIsNotWaitedForLong(t *testing.T) {
	const key, group = lb.Key("fairlead/shop/web/internal"), lb.GroupID("shop/web:80")
	service := func(port corev1.ServicePort) []*corev1.Service {
		return []*corev1.Service{{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{port}, Selector: map[string]string{"app": "web"}},
		}}
	}
	byHand := service(corev1.ServicePort{Port: 80})
	byHand[0].Spec.Selector = nil
	listed := []*discoveryv1.EndpointSlice{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", Labels: map[string]string{discoveryv1.LabelServiceName: "web"}},
		Endpoints:  []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}}},
	}}
	for name, c := range map[string]struct {
		services []*corev1.Service
		slices   []*discoveryv1.EndpointSlice
		port     routing.ServicePort
		waited   time.Duration
		over     bool
	}{
		"there is a Service, whose pods may come":              {services: service(corev1.ServicePort{Port: 80}), port: "80", waited: absentTimeout},
		"and enough is enough":                                 {services: service(corev1.ServicePort{Port: 80}), port: "80", waited: settings.DefaultWarmTimeout, over: true},
		"its port has a name":                                  {services: service(corev1.ServicePort{Name: "http", Port: 80}), port: "http", waited: absentTimeout},
		"there is none":                                        {port: "80", waited: absentTimeout, over: true},
		"it may be applied in a moment":                        {port: "80", waited: absentTimeout - time.Second},
		"nothing finds pods for it, and nobody has listed any": {services: byHand, port: "80", waited: absentTimeout, over: true},
		"somebody has listed one":                              {services: byHand, slices: listed, port: "80", waited: absentTimeout},
		"it lacks the port, so that no pod can listen on it":   {services: service(corev1.ServicePort{Port: 81}), port: "80", waited: absentTimeout, over: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Reconciler{warmups: warmups{byGroup: map[lb.GroupKey]*await{{Key: key, ID: group}: {waited: c.waited, last: time.Now()}}}}
			seen := &lb.Observed{Key: key, TargetGroups: []lb.ObservedTargetGroup{{TargetGroup: lb.TargetGroup{ID: group, Service: "shop/web", Port: c.port}}}}
			snap := &gather.Snapshot{Snapshot: ingress.Snapshot{Key: key, Objects: ingress.Objects{Services: c.services, EndpointSlices: c.slices}}}
			r.warmups.assumeWarm(t.Context(), snap, seen)
			if got := seen.TargetGroups[0].Ready; got != c.over {
				t.Errorf("taken for healthy: %t, want %t", got, c.over)
			}
		})
	}
}

func TestWaitsEnd(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	web, api := lb.GroupKey{Key: "a", ID: "web"}, lb.GroupKey{Key: "a", ID: "api"}
	await := func(groups ...lb.GroupID) (pending []plan.Step) {
		for _, g := range groups {
			pending = append(pending, plan.AwaitTargets{Group: g})
		}
		return pending
	}
	var w warmups
	seen := func(key lb.Key) *lb.Observed {
		return &lb.Observed{Key: key, TargetGroups: []lb.ObservedTargetGroup{{TargetGroup: lb.TargetGroup{ID: "api"}}, {TargetGroup: lb.TargetGroup{ID: "web"}}}}
	}
	over := func(when string, now time.Time, want map[lb.GroupKey]bool) {
		t.Helper()
		for k, want := range want {
			if got := w.isOver(k, time.Minute, now); got != want {
				t.Errorf("%s: the wait for %s is over: %v, want %v", when, k.ID, got, want)
			}
		}
	}
	w.add(seen("a"), await("web"), false, at)
	w.add(seen("a"), await("web", "api"), false, at.Add(30*time.Second))
	over("before a minute", at.Add(59*time.Second), map[lb.GroupKey]bool{web: false, api: false})
	over("after a minute", at.Add(time.Minute), map[lb.GroupKey]bool{web: true, api: false, {Key: "b", ID: "web"}: false})
	w.add(seen("a"), nil, false, at.Add(time.Minute))
	over("after a plan that failed elsewhere", at.Add(time.Minute), map[lb.GroupKey]bool{web: true})
	w.add(seen("b"), nil, true, at.Add(time.Minute))
	over("after another load balancer's plan", at.Add(time.Minute), map[lb.GroupKey]bool{web: true})
	w.add(seen("a"), nil, true, at.Add(time.Minute))
	over("after the plan", at.Add(time.Hour), map[lb.GroupKey]bool{web: false, api: false})
}

// aWait returns a target group, the steps that wait for it, and its load balancer before and after it is healthy.
func aWait() (web lb.GroupKey, pending []plan.Step, cold, warm *lb.Observed) {
	cold = &lb.Observed{Key: "a", TargetGroups: []lb.ObservedTargetGroup{{TargetGroup: lb.TargetGroup{ID: "web"}}}}
	warm = cold.Clone()
	warm.TargetGroups[0].Ready = true
	return lb.GroupKey{Key: "a", ID: "web"}, []plan.Step{plan.AwaitTargets{Group: "web"}}, cold, warm
}

// What passes while nothing was waited for is no patience: a load balancer that is paused, plans
// that fail, a process that stands still.
func TestPatienceCountsOnlyWaiting(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	web, pending, cold, warm := aWait()
	var w warmups
	w.add(cold, pending, false, at)
	at = at.Add(10 * time.Minute) // nobody was at work, or the plans failed before they came to the group
	w.add(cold, pending, false, at)
	if w.isOver(web, time.Minute, at) {
		t.Error("ten minutes of pause are counted")
	}
	for range 3 {
		at = at.Add(10 * time.Second)
		w.add(cold, pending, false, at)
	}
	if !w.isOver(web, time.Minute, at) {
		t.Error("a minute of waiting is not counted")
	}

	w = warmups{}
	w.add(cold, pending, false, at)
	w.add(cold, pending, false, at.Add(29*time.Second))
	w.add(warm, nil, false, at.Add(30*time.Second)) // it is healthy, and another step fails
	w.add(cold, pending, false, at.Add(40*time.Second))
	if w.isOver(web, 30*time.Second, at.Add(50*time.Second)) {
		t.Error("what was waited for before the group was healthy is counted once more")
	}
}

// A group that was waited for long enough takes over until its plan is done, though it counts as
// ready from then on. A group that is gone is waited for anew, and steps that wait for no group are
// not counted.
func TestAGroupThatTookOverIsNotWaitedForAgain(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	web, pending, cold, warm := aWait()
	var w warmups
	w.add(cold, pending, false, at)
	if !w.isOver(web, 20*time.Second, at.Add(20*time.Second)) {
		t.Error("it is not over after its limit")
	}
	w.add(warm, nil, false, at.Add(21*time.Second))
	if !w.isOver(web, time.Hour, at.Add(22*time.Second)) {
		t.Error("a group that took over is waited for again")
	}

	w = warmups{}
	w.add(cold, pending, false, at)
	w.add(&lb.Observed{Key: "a"}, nil, false, at.Add(20*time.Second))
	w.add(cold, pending, false, at.Add(25*time.Second))
	if w.isOver(web, 30*time.Second, at.Add(40*time.Second)) {
		t.Error("the time before the group was gone is counted")
	}

	w = warmups{}
	w.add(cold, []plan.Step{plan.CreateRule{}}, false, at)
	if since := w.firstWait("a"); !since.IsZero() {
		t.Errorf("a rule that waits is counted as a group, since %s", since)
	}
}

func TestWithout(t *testing.T) {
	entry := func(hostname, ip string) networkingv1.IngressLoadBalancerIngress {
		return networkingv1.IngressLoadBalancerIngress{Hostname: hostname, IP: ip}
	}
	all := []networkingv1.IngressLoadBalancerIngress{entry("ours.example", "192.0.2.1"), entry("theirs.example", ""), entry("", "192.0.2.1")}
	cases := map[string]struct {
		of   records.Record
		want []networkingv1.IngressLoadBalancerIngress
	}{
		"a host name":                       {records.Record{Address: "ours.example"}, all[1:]},
		"a host name, and where that leads": {records.Record{Address: "ours.example", IPs: []string{"192.0.2.1"}}, all[1:2]},
		"addresses without a name":          {records.Record{Address: "192.0.2.2", IPs: []string{"192.0.2.2", "192.0.2.1"}}, all[:2]},
		"nothing":                           {records.Record{}, all},
	}
	for name, c := range cases {
		if diff := cmp.Diff(c.want, ingresses.WithoutAddresses(all, records.AddressesOf(&c.of))); diff != "" {
			t.Errorf("without %s: %s", name, diff)
		}
	}
}
