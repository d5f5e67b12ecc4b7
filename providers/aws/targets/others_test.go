package targets

import (
	"fmt"
	"slices"
	"testing"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/test/awscalls"
)

// This file registers targets in a target group that others made, for a TargetGroupBinding.

const theirs lb.GroupID = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/theirs/0123456789abcdef"

var bound = routing.NewBindingKey("shop", "web", "")

// newBound returns a trial with a target group of others.
func newBound(t *testing.T, tags map[string]string) *trial {
	c := newTrial(t)
	c.addGroup(string(theirs), "theirs", tags)
	g := c.groups[string(theirs)]
	g.TargetType, g.Protocol, g.IpAddressType = elb.TargetTypeEnumIp, elb.ProtocolEnumTcp, elb.TargetGroupIpAddressTypeEnumIpv6
	c.groups[string(theirs)] = g
	return c
}

// A target group of others is read as it is. One that Fairlead or the AWS Load Balancer Controller keeps is
// not theirs, and one that is missing costs no other its answer.
func TestTargetGroupsOfOthersAreRead(t *testing.T) {
	for name, c := range map[string]struct {
		tags map[string]string
		kept string
	}{
		"without tags":          {nil, ""},
		"of Fairlead":           {map[string]string{"fairlead.dev/installation": "test", "fairlead.dev/key": "a/b/c/internal"}, "the target group belongs to load balancer a/b/c/internal of Fairlead"},
		"of another Fairlead":   {map[string]string{"fairlead.dev/installation": "b", "fairlead.dev/key": "a/b/c/internal"}, "the target group belongs to load balancer a/b/c/internal of Fairlead"},
		"of an Ingress":         {map[string]string{"elbv2.k8s.aws/cluster": "a", "ingress.k8s.aws/stack": "edge"}, "the AWS Load Balancer Controller made the target group for itself"},
		"of a Gateway":          {map[string]string{"elbv2.k8s.aws/cluster": "a", "gateway.k8s.aws.nlb/stack": "edge"}, "the AWS Load Balancer Controller made the target group for itself"},
		"in a cluster's budget": {map[string]string{"elbv2.k8s.aws/cluster": "a", "team": "shop"}, ""},
	} {
		cloud := newBound(t, c.tags)
		var got lb.Facts
		missing := lb.GroupID("arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/gone/0123456789abcdef")
		awscalls.ExpectError(t, name, cloud.LookUp(t.Context(), []lb.GroupID{missing, theirs}, &got), nil)
		want := map[lb.GroupID]lb.OthersGroup{theirs: {TargetType: "ip", Protocol: "TCP", Family: "ipv6", VPC: vpc, Kept: c.kept}}
		awscalls.Expect(t, name, got.TargetGroups, want)
	}
}

// Targets of a binding open no firewall of Fairlead's: the load balancer is others'.
func TestTargetsOfABindingOpenNoFirewall(t *testing.T) {
	c := newBound(t, nil)
	awscalls.ExpectError(t, "registering", c.SetTargets(t.Context(), bound, theirs, pods("10.0.0.1")), nil)
	if len(c.ports) > 0 || len(flat(c.registered)) != 1 {
		t.Errorf("the nodes admit %v, and %v is registered", c.ports, c.registered)
	}
}

// Where others register targets in the same group, only those are removed that are the binding's own. 1,000
// targets take ten calls.
func TestTargetsOfOthersStay(t *testing.T) {
	c := newBound(t, nil)
	others := pods("10.1.0.1", "10.1.0.2")
	var own []lb.Target
	for i := range 1000 {
		own = append(own, pods(fmt.Sprintf("10.0.%d.%d", i/250, 1+i%250))...)
	}
	for _, target := range others {
		c.health[string(theirs)] = append(c.health[string(theirs)], lb.TargetHealth{Target: target, State: lb.HealthHealthy})
	}
	ctx := providers.WithOwn(t.Context(), own)
	awscalls.ExpectError(t, "registering", c.SetTargets(ctx, bound, theirs, own), nil)
	if len(c.registered) != 10 || len(flat(c.registered)) != 1000 || len(c.deregistered) > 0 {
		t.Fatalf("%d targets are registered by %d calls, and %v removed", len(flat(c.registered)), len(c.registered), c.deregistered)
	}
	awscalls.ExpectError(t, "deregistering", c.SetTargets(ctx, bound, theirs, own[:1]), nil)
	if got := flat(c.deregistered); len(got) != 999 || slices.ContainsFunc(got, func(a string) bool { return a[:4] == "10.1" }) {
		t.Errorf("%d targets are removed", len(got))
	}
	before := len(flat(c.deregistered))
	awscalls.ExpectError(t, "deregistering", c.SetTargets(t.Context(), bound, theirs, own[:1]), nil)
	if got := len(flat(c.deregistered)) - before; got != 2 {
		t.Errorf("alone, a binding removes %d targets of others, want 2", got)
	}
}
