package aws

import (
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/aws/retry"
)

// This file tests that the collaborators forget what does not exist any more.

func TestPortsToWhichNoHealthCheckGoesAreForgotten(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		p := New(Options{Installation: "test"})
		p.nodes.addCheckPorts([]int32{9000, 9001})
		time.Sleep(longestDrain)
		p.nodes.addCheckPorts([]int32{9002}) // of a target group that is being made
		p.nodes.removeCheckPorts(map[int32]bool{9001: true})
		for port, want := range map[int32]bool{9000: false, 9001: true, 9002: true} {
			if got := p.nodes.inUse(port); got != want {
				t.Errorf("port %d is needed: %t, want %t", port, got, want)
			}
		}
	})
}

func TestALoadBalancerThatIsGoneIsForgotten(t *testing.T) {
	p := New(Options{Installation: "test"})
	const key, other = lb.Key("fairlead/shop/@all/internal"), lb.Key("fairlead/shop/@other/internal")
	arn := func(key lb.Key) string {
		return "arn:aws:elasticloadbalancing:eu-west-1:123456789012:loadbalancer/app/" + p.tags.LoadBalancerName(key) + "/0123456789abcdef"
	}
	for _, k := range []lb.Key{key, other} {
		p.balancers.undeletable[arn(k)], p.firewalls.replaced[k], p.balancers.places[k] = true, true, place{}
		for _, room := range []*retry.Backoff{&p.balancers.inactive, &p.releases.rerouted, &p.webACLs.unready} {
			room.Wait(arn(k), time.Minute, time.Minute)
		}
	}
	p.forgetDeleted(key, arn(key))
	if len(p.balancers.undeletable)+len(p.firewalls.replaced)+len(p.balancers.places) != 3 || p.balancers.inactive.Len()+p.releases.rerouted.Len()+p.webACLs.unready.Len() != 3 {
		t.Errorf("of two load balancers, one of them deleted, it is remembered: %v %v %v %v %v %v",
			p.balancers.undeletable, p.firewalls.replaced, p.balancers.places, p.balancers.inactive.Len(), p.releases.rerouted.Len(), p.webACLs.unready.Len())
	}
	p.balancers.learnAbsence(other)
	if len(p.balancers.undeletable) != 0 {
		t.Errorf("a load balancer that another hand deleted would not be deleted: %v", p.balancers.undeletable)
	}
}

func TestTargetGroupsOfOthersAreForgotten(t *testing.T) {
	p := New(Options{Installation: "test"})
	const theirs, still, own = "arn:theirs", "arn:still", "arn:own"
	for id, arn := range map[lb.GroupID]string{theirs: theirs, still: still, "shop/web:80": own} {
		p.targetGroups.arns[groupName{"key", id}], p.targetGroups.members[arn] = arn, membership{}
	}
	owns := func(map[string]string) bool { return false }
	p.targetGroups.learn(&look{key: "key", owns: owns, groups: []elb.TargetGroup{{TargetGroupArn: sdk.String(still)}}, balancer: &elb.LoadBalancer{}})
	if len(p.targetGroups.arns) != 2 || len(p.targetGroups.members) != 2 || p.targetGroups.arns[groupName{"key", theirs}] != "" {
		t.Errorf("a target group of others that no rule names is remembered: %v", p.targetGroups.arns)
	}
}
