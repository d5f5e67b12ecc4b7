package operator

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/test/kube"
)

// This file serves a Service whose pods have IPv6 addresses only.

// TestIPv6PodsAreServedOnceTheClassIsDualStack refuses a Service with IPv6 addresses while the load
// balancer of its class has IPv4 alone, and serves it when the class changes.
func TestIPv6PodsAreServedOnceTheClassIsDualStack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulated(t))
	for i := range 3 {
		w.sim.ChangeSubnet(fmt.Sprintf("subnet-private%d", i), func(s *ec2types.Subnet) {
			s.Ipv6CidrBlockAssociationSet = []ec2types.SubnetIpv6CidrBlockAssociation{{Ipv6CidrBlock: aws.String(fmt.Sprintf("2001:db8:%d::/64", i+1))}}
		}, nil)
	}
	w.begin(t)
	service := w.service("six")
	service.Spec.ClusterIP, service.Spec.IPFamilies = corev1.ClusterIPNone, []corev1.IPFamily{corev1.IPv6Protocol}
	service.Spec.IPFamilyPolicy = new(corev1.IPFamilyPolicySingleStack)
	w.create(t, service)
	slice := w.endpoints(t, "six")
	slice.AddressType = discoveryv1.AddressTypeIPv6
	pod := kube.Pod(t, w, w.namespace, "pod-six", "2001:db8:1::7")
	slice.Endpoints = []discoveryv1.Endpoint{{
		Addresses: []string{"2001:db8:1::7"}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)},
		TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: w.namespace, Name: pod.Name},
	}}
	w.create(t, slice)
	w.create(t, w.ingress("site", "six", "/"))
	kube.Eventually(t, "the Ingress is told", func() bool { return w.warned(t, "site") })
	if got := w.targets(t, "six"); len(got) > 0 {
		t.Errorf("targets are registered: %v", got)
	}
	edit(t, w, &v1alpha1.LoadBalancerClass{}, "class", func(c *v1alpha1.LoadBalancerClass) { c.Spec.IPFamily = "dualstack" })
	kube.Eventually(t, "the pod is a target", func() bool { return len(w.targets(t, "six")) == 1 })
	out, err := w.elb.DescribeLoadBalancers(t.Context(), &elbapi.DescribeLoadBalancersInput{})
	if err != nil || len(out.LoadBalancers) != 1 || out.LoadBalancers[0].IpAddressType != elb.IpAddressTypeDualstack {
		t.Errorf("there are %v (%v)", out, err)
	}
}
