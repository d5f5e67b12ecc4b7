package ingress

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/model/routing"
)

// aNode is ready, has an internal address, and the cloud calls it by its name.
func aNode(name, address string, with ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}},
		Spec:       corev1.NodeSpec{ProviderID: "cloud:///zone/" + name},
		Status: corev1.NodeStatus{
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeHostName, Address: name}, {Type: corev1.NodeExternalIP, Address: "192.0.2.1"}, {Type: corev1.NodeInternalIP, Address: address},
			},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
	for _, w := range with {
		w(n)
	}
	return n
}

func tainted(key string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key}) }
}

func unready(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown }

func TestNodesThatRequestsAreSentTo(t *testing.T) {
	const at = " Ingress shop/web spec.defaultBackend.service"
	cordoned := func(n *corev1.Node) { n.Spec.Unschedulable = true }
	excluded := func(n *corev1.Node) { n.Labels[corev1.LabelNodeExcludeBalancers] = "" }
	deleted := func(n *corev1.Node) { n.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }
	nameless := func(n *corev1.Node) { n.Spec.ProviderID = "" }
	silent := func(n *corev1.Node) { n.Status.Conditions = nil }
	dual := func(n *corev1.Node) {
		n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "fd00::1"})
	}
	second := func(n *corev1.Node) {
		n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "10.9.9.9"})
	}
	strange := func(n *corev1.Node) { n.Status.Addresses[2].Address = "ip-10-1-0-1.internal" }

	nodePort := func(s *corev1.Service) {
		s.Spec.Type, s.Spec.Ports[0].NodePort = corev1.ServiceTypeNodePort, 30080
		s.CreationTimestamp = metav1.Unix(1, 0)
	}
	local := func(s *corev1.Service) {
		nodePort(s)
		s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
	}
	overIPv6 := func(s *corev1.Service) {
		nodePort(s)
		s.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv6Protocol}
	}
	unstored := func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeNodePort }
	balanced := func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeLoadBalancer }
	balancedDirectly := func(s *corev1.Service) {
		s.Spec.Type, s.Spec.AllocateLoadBalancerNodePorts = corev1.ServiceTypeLoadBalancer, new(false)
	}
	hosted := func(node string, ready, terminating bool) func(*discoveryv1.EndpointSlice) {
		return func(s *discoveryv1.EndpointSlice) {
			s.Endpoints[0].NodeName = &node
			s.Endpoints[0].Conditions = discoveryv1.EndpointConditions{Ready: &ready, Terminating: &terminating}
		}
	}
	endpoint := aSlice("shop/web", hosted("a", true, false), "10.0.0.1")
	a, b := aNode("a", "10.1.0.1"), aNode("b", "10.1.0.2")
	onA := routing.Target{Address: "10.1.0.1", Port: 30080, Instance: "a"}
	onB := routing.Target{Address: "10.1.0.2", Port: 30080, Instance: "b"}

	cases := map[string]struct {
		service func(*corev1.Service)
		given   []any
		want    []routing.Target
		told    []string
	}{
		"all that are ready, sorted":            {given: []any{b, a, endpoint}, want: []routing.Target{onA, onB}},
		"one that is not ready is left out":     {given: []any{a, aNode("b", "10.1.0.2", unready), endpoint}, want: []routing.Target{onA}},
		"one that has not said anything, too":   {given: []any{a, aNode("b", "10.1.0.2", silent), endpoint}, want: []routing.Target{onA}},
		"unless none is ready":                  {given: []any{aNode("a", "10.1.0.1", unready), aNode("b", "10.1.0.2", silent), endpoint}, want: []routing.Target{onA, onB}},
		"but never one that is to be left out":  {given: []any{aNode("a", "10.1.0.1", unready), aNode("b", "10.1.0.2", excluded), endpoint}, want: []routing.Target{onA}},
		"a cordoned one serves what it has":     {given: []any{aNode("a", "10.1.0.1", cordoned, tainted(corev1.TaintNodeUnschedulable)), endpoint}, want: []routing.Target{onA}},
		"one that is being deleted":             {given: []any{a, aNode("b", "10.1.0.2", deleted), endpoint}, want: []routing.Target{onA}},
		"one that the autoscaler removes":       {given: []any{a, aNode("b", "10.1.0.2", tainted("ToBeDeletedByClusterAutoscaler")), endpoint}, want: []routing.Target{onA}},
		"one that is shut down":                 {given: []any{a, aNode("b", "10.1.0.2", tainted("node.cloudprovider.kubernetes.io/shutdown")), endpoint}, want: []routing.Target{onA}},
		"one that is out of service":            {given: []any{a, aNode("b", "10.1.0.2", tainted(corev1.TaintNodeOutOfService)), endpoint}, want: []routing.Target{onA}},
		"one that the cloud does not know yet":  {given: []any{a, aNode("b", "10.1.0.2", tainted("node.cloudprovider.kubernetes.io/uninitialized")), endpoint}, want: []routing.Target{onA}},
		"one without an address but a name":     {given: []any{a, aNode("b", ""), endpoint}, want: []routing.Target{{Port: 30080, Instance: "b"}, onA}},
		"one without either":                    {given: []any{a, aNode("b", "", nameless), endpoint}, want: []routing.Target{onA}},
		"one whose address is a name":           {given: []any{a, aNode("b", "10.1.0.2", strange), endpoint}, want: []routing.Target{{Port: 30080, Instance: "b"}, onA}},
		"the first address of a family":         {given: []any{aNode("a", "10.1.0.1", dual, second), endpoint}, want: []routing.Target{onA}},
		"of the family of the Service":          {service: overIPv6, given: []any{aNode("a", "10.1.0.1", dual), b, aSlice("shop/web", func(s *discoveryv1.EndpointSlice) { s.AddressType = discoveryv1.AddressTypeIPv6 }, "fd00::9")}, want: []routing.Target{{Address: "fd00::1", Port: 30080, Instance: "a"}}},
		"one that has no name in the cloud":     {given: []any{aNode("a", "10.1.0.1", nameless), endpoint}, want: []routing.Target{{Address: "10.1.0.1", Port: 30080}}},
		"no node":                               {given: []any{endpoint}, told: []string{"warning NoNodes" + at}},
		"no node may be sent anything":          {given: []any{aNode("a", "10.1.0.1", excluded), endpoint}, told: []string{"warning NoNodes" + at}},
		"nobody serves: nodes stay":             {given: []any{a}, want: []routing.Target{onA}, told: []string{"warning NoEndpoints" + at}},
		"local: where the endpoints are":        {service: local, given: []any{a, b, endpoint}, want: []routing.Target{onA}},
		"local: none is ready":                  {service: local, given: []any{a, b, aSlice("shop/web", hosted("a", false, false), "10.0.0.1")}, told: []string{"warning NoEndpoints" + at}},
		"local: one about to go, if no other":   {service: local, given: []any{a, b, aSlice("shop/web", hosted("b", true, true), "10.0.0.1")}, want: []routing.Target{onB}},
		"local: not one about to go":            {service: local, given: []any{a, b, endpoint, aSlice("shop/web", hosted("b", true, true), "10.0.0.2")}, want: []routing.Target{onA}},
		"local: an endpoint that is nowhere":    {service: local, given: []any{a, aSlice("shop/web", nil, "10.0.0.1")}, told: []string{"warning NoNodes" + at}},
		"in a file, no node port is chosen yet": {service: unstored, given: []any{a}, told: []string{"warning NoNodes" + at}},
		"in a file without nodes, less so":      {service: unstored},
		"a Service of type LoadBalancer, too":   {service: balanced},
		"but one that wants no node ports":      {service: balancedDirectly, told: []string{"error ServiceUnusable" + at}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			service := c.service
			if service == nil {
				service = nodePort
			}
			config, found := translated(t, nil, append(c.given, aService("shop/web:80", service),
				anIngress("shop/web", annotated("target-type", "instance"), defaulted(to("web:80"))))...)
			for _, b := range config.Backends {
				compare(t, "targets", b.Targets, c.want)
			}
			compare(t, "told", told(found), c.told)
		})
	}
}

func TestNodesAreReadOnlyForInstances(t *testing.T) {
	for targetType, want := range map[string]int{"ip": 0, "instance": 1} {
		snapshots, _ := Place(objectsOf(anIngress("shop/web", annotated("target-type", targetType), defaulted(to("web:80"))), aNode("a", "10.1.0.1")), ClassOptions{AssumeClasses: []string{"fairlead"}})
		if got := len(snapshots[0].Nodes); got != want || snapshots[0].NeedsNodes() != (want > 0) {
			t.Errorf("target type %s: the snapshot has %d nodes, want %d", targetType, got, want)
		}
	}
}
