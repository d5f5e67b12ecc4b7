package loadbalancer

import (
	"maps"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
)

// Targets are expected of a Service with the port, if it selects Pods. Others with the name or the
// namespace do not count.
func TestTargetsAreExpectedOfTheirOwnService(t *testing.T) {
	service := func(namespace, name string, selector map[string]string) *corev1.Service {
		return &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			Spec:       corev1.ServiceSpec{Selector: selector, Ports: []corev1.ServicePort{{Port: 80, Name: "http"}}},
		}
	}
	slice := func(namespace, service string) *discoveryv1.EndpointSlice {
		return &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: service, Labels: map[string]string{discoveryv1.LabelServiceName: service},
		}}
	}
	pods := map[string]string{"app": "web"}
	g := &gather.Snapshot{Snapshot: ingress.Snapshot{Objects: ingress.Objects{
		Services:       []*corev1.Service{service("shop", "web", nil), service("shop", "api", pods), service("office", "web", pods)},
		EndpointSlices: []*discoveryv1.EndpointSlice{slice("shop", "web"), slice("shop", "api"), slice("office", "web")},
	}}}
	for _, c := range []struct {
		service, port string
		want          bool
	}{{"shop/api", "80", true}, {"shop/api", "http", true}, {"shop/api", "81", false}, {"office/web", "80", true}, {"shop/web", "80", false}, {"shop/none", "80", false}} {
		if got := mayBecomeHealthy(g, lb.TargetGroup{Service: c.service, Port: routing.ServicePort(c.port)}); got != c.want {
			t.Errorf("of %s:%s targets are expected: %t, want %t", c.service, c.port, got, c.want)
		}
	}
	if n := len(objectsOf(g, g.Services[0]).Slices); n != 1 {
		t.Errorf("%d EndpointSlices are behind shop/web", n)
	}
}

// A load balancer has waited since its first group began to, whatever others wait for.
func TestALoadBalancerHasWaitedSinceItsFirstGroup(t *testing.T) {
	w, began := &warmups{}, time.Unix(1000, 0)
	for i, of := range []lb.GroupKey{{Key: "other", ID: "x"}, {Key: "k", ID: "b"}, {Key: "k", ID: "a"}, {Key: "k", ID: "c"}} {
		seen := &lb.Observed{Key: of.Key}
		for _, id := range []lb.GroupID{"a", "b", "c", "x"} {
			seen.TargetGroups = append(seen.TargetGroups, lb.ObservedTargetGroup{TargetGroup: lb.TargetGroup{ID: id}})
		}
		w.add(seen, []plan.Step{plan.AwaitTargets{Group: of.ID}}, false, began.Add(time.Duration(i)*time.Minute))
	}
	for range 50 { // groups are in no order
		for key, want := range map[lb.Key]time.Time{"other": began, "k": began.Add(time.Minute), "none": {}} {
			if got := w.firstWait(key); !got.Equal(want) {
				t.Errorf("%s has waited since %s, want %s", key, got, want)
			}
		}
	}
}

// Waits for target groups are counted until none is left.
func TestForHowManyGroupsIsWaited(t *testing.T) {
	var a awaited
	for i, c := range []struct {
		key     lb.Key
		pending []plan.Step
		want    map[lb.Key]int
	}{
		{"a", []plan.Step{plan.AwaitTargets{}, plan.DeleteRule{}, plan.AwaitTargets{}}, map[lb.Key]int{"a": 2}},
		{"b", []plan.Step{plan.AwaitTargets{}}, map[lb.Key]int{"a": 2, "b": 1}},
		{"a", []plan.Step{plan.DeleteRule{}}, map[lb.Key]int{"b": 1}},
		{"b", nil, map[lb.Key]int{}},
	} {
		if a.set(c.key, c.pending); !maps.Equal(a.get(), c.want) {
			t.Errorf("after %d it waits for %v, want %v", i, a.get(), c.want)
		}
	}
}
