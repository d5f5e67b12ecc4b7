package ingress

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/endpoints"
)

// A podOption makes a Pod differ from one that knocks.
type podOption func(*corev1.Pod)

// aGatedPod declares our gate, and its containers are ready since a while ago.
func aGatedPod(name string, with ...podOption) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: "uid-1"},
		Spec:       corev1.PodSpec{ReadinessGates: []corev1.PodReadinessGate{{ConditionType: v1alpha1.TargetHealthGate}}},
	}
	p.Status.PodIPs = []corev1.PodIP{{IP: "10.0.0.2"}}
	is(corev1.ContainersReady, corev1.ConditionTrue, 1000)(p)
	for _, w := range with {
		w(p)
	}
	return p
}

// is sets a condition of a Pod, which holds since a second.
func is(kind corev1.PodConditionType, status corev1.ConditionStatus, since int64) podOption {
	return func(p *corev1.Pod) {
		c := corev1.PodCondition{Type: kind, Status: status, LastTransitionTime: metav1.Unix(since, 0)}
		if known := endpoints.ConditionOf(p, kind); known != nil {
			*known = c
			return
		}
		p.Status.Conditions = append(p.Status.Conditions, c)
	}
}

func gatedBy(kinds ...corev1.PodConditionType) podOption {
	return func(p *corev1.Pod) {
		p.Spec.ReadinessGates = nil
		for _, k := range kinds {
			p.Spec.ReadinessGates = append(p.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: k})
		}
	}
}

func TestAPodKnocksOnceItLacksNothingButUs(t *testing.T) {
	const ours, theirs = v1alpha1.TargetHealthGate, "example.com/warm"
	cases := map[string]struct {
		pod   *corev1.Pod
		knock bool
		since int64 // where it knocks
	}{
		"its containers are ready":                        {aGatedPod("a"), true, 1000},
		"its containers are not":                          {aGatedPod("a", is(corev1.ContainersReady, corev1.ConditionFalse, 1000)), false, 0},
		"nobody has said anything of its containers":      {aGatedPod("a", func(p *corev1.Pod) { p.Status.Conditions = nil }), false, 0},
		"it declares no gate":                             {aGatedPod("a", gatedBy()), false, 0},
		"it declares somebody else's alone":               {aGatedPod("a", gatedBy(theirs)), false, 0},
		"somebody else's is still shut":                   {aGatedPod("a", gatedBy(theirs, ours)), false, 0},
		"somebody else's was opened later":                {aGatedPod("a", gatedBy(theirs, ours), is(theirs, corev1.ConditionTrue, 1005)), true, 1005},
		"somebody else's was opened before":               {aGatedPod("a", gatedBy(ours, theirs), is(theirs, corev1.ConditionTrue, 995)), true, 1000},
		"ours was said to be shut":                        {aGatedPod("a", is(ours, corev1.ConditionFalse, 1010)), true, 1000},
		"ours is open, and the endpoints lag behind":      {aGatedPod("a", is(ours, corev1.ConditionTrue, 1010)), true, 1000},
		"it is ready, and the endpoints lag behind":       {aGatedPod("a", is(ours, corev1.ConditionTrue, 1010), is(corev1.PodReady, corev1.ConditionTrue, 1011)), true, 1000},
		"it is about to go":                               {aGatedPod("a", func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.Unix(1020, 0)) }), false, 0},
		"ours is open, and its containers failed since":   {aGatedPod("a", is(ours, corev1.ConditionTrue, 1010), is(corev1.ContainersReady, corev1.ConditionFalse, 1020)), false, 0},
		"ours is open, and its containers are back again": {aGatedPod("a", is(ours, corev1.ConditionTrue, 1010), is(corev1.ContainersReady, corev1.ConditionTrue, 1030)), true, 1030},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := endpoints.WaitsForGate(c.pod); got != c.knock {
				t.Fatalf("it knocks: %v, want %v", got, c.knock)
			}
			if got := endpoints.WaitsForGateSince(c.pod); c.knock && !got.Equal(time.Unix(c.since, 0)) {
				t.Errorf("it knocks since %s, want %d", got, c.since)
			}
		})
	}
}

func TestAPodThatKnocksIsATarget(t *testing.T) {
	endpoint := func(pod, address string, c discoveryv1.EndpointConditions) *discoveryv1.EndpointSlice {
		return aSlice("shop/web", func(s *discoveryv1.EndpointSlice) {
			s.Endpoints[0].Conditions = c
			s.Endpoints[0].TargetRef = &corev1.ObjectReference{Kind: "Pod", Namespace: "shop", Name: pod, UID: "uid-1"}
		}, address)
	}
	var (
		ready   = discoveryv1.EndpointConditions{Ready: new(true)}
		unready = discoveryv1.EndpointConditions{Ready: new(false)}
		goes    = discoveryv1.EndpointConditions{Ready: new(false), Serving: new(true), Terminating: new(true)}
		failed  = is(corev1.ContainersReady, corev1.ConditionFalse, 1000)
	)
	cases := map[string]struct {
		slices  endpoints.SliceList
		pods    []*corev1.Pod
		targets []string
		nodes   []string // that a node port with a local policy is reached on
		coming  bool
	}{
		"beside one that is ready": {
			endpoints.SliceList{endpoint("a", "10.0.0.1", ready), endpoint("b", "10.0.0.2", unready)}, []*corev1.Pod{aGatedPod("b")},
			[]string{"10.0.0.1:8080", "10.0.0.2:8080"}, []string{"a"}, false,
		},
		"alone": {
			endpoints.SliceList{endpoint("b", "10.0.0.2", unready)}, []*corev1.Pod{aGatedPod("b")},
			[]string{"10.0.0.2:8080"}, nil, false,
		},
		"and stands in for none that is about to go": {
			endpoints.SliceList{endpoint("a", "10.0.0.1", goes), endpoint("b", "10.0.0.2", unready)}, []*corev1.Pod{aGatedPod("b")},
			[]string{"10.0.0.1:8080", "10.0.0.2:8080"}, []string{"a"}, false,
		},
		"not while its containers are not ready": {
			endpoints.SliceList{endpoint("a", "10.0.0.1", ready), endpoint("b", "10.0.0.2", unready)}, []*corev1.Pod{aGatedPod("b", failed)},
			[]string{"10.0.0.1:8080"}, []string{"a"}, true,
		},
		"not one that nothing is known of": {
			endpoints.SliceList{endpoint("a", "10.0.0.1", ready), endpoint("b", "10.0.0.2", unready)}, nil,
			[]string{"10.0.0.1:8080"}, []string{"a"}, true,
		},
		"not the endpoint of another that had its name": {
			endpoints.SliceList{endpoint("b", "10.0.0.2", unready)}, []*corev1.Pod{aGatedPod("b", func(p *corev1.Pod) { p.UID = "uid-2" })},
			nil, nil, true,
		},
		"not by an address that is about to go": {
			endpoints.SliceList{endpoint("b", "10.0.0.2", discoveryv1.EndpointConditions{Ready: new(false), Serving: new(false), Terminating: new(true)})},
			[]*corev1.Pod{aGatedPod("b")}, nil, nil, false,
		},
	}
	for why, c := range cases {
		t.Run(why, func(t *testing.T) {
			for _, s := range c.slices {
				s.Endpoints[0].NodeName = &s.Endpoints[0].TargetRef.Name
			}
			service := aService("shop/web:80", func(s *corev1.Service) {
				s.Spec.ExternalTrafficPolicy, s.Spec.Ports[0].NodePort = corev1.ServiceExternalTrafficPolicyLocal, 30080
			})
			now := endpoints.Objects{Service: service, Slices: c.slices, Pods: c.pods}
			for _, n := range []string{"a", "b"} {
				now.Nodes = append(now.Nodes, &corev1.Node{
					ObjectMeta: metav1.ObjectMeta{Name: n},
					Status:     corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.1." + map[string]string{"a": "1", "b": "2"}[n]}}},
				})
			}
			class := &v1alpha1.LoadBalancerClassSpec{}
			ref := endpoints.Reference{Service: "shop/web", PortNumber: 80, TargetType: v1alpha1.TargetTypeIP}
			var got []string
			for _, target := range endpoints.Resolve(class, ref, now).Backend.Targets {
				got = append(got, target.String())
			}
			compare(t, "targets", got, c.targets)
			compare(t, "coming", now.HasUnreadyEndpoints(), c.coming)

			ref.TargetType = v1alpha1.TargetTypeInstance
			got = nil
			for _, target := range endpoints.Resolve(class, ref, now).Backend.Targets {
				got = append(got, map[string]string{"10.0.1.1": "a", "10.0.1.2": "b"}[target.Address])
			}
			compare(t, "nodes", got, c.nodes)
		})
	}
}
