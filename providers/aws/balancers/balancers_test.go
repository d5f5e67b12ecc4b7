package balancers

import (
	"testing"
	"time"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/providers/aws/look"
	"fairlead.dev/fairlead/providers/aws/network"
	"fairlead.dev/fairlead/test/classtags"
)

func TestALoadBalancerThatIsGoneIsForgotten(t *testing.T) {
	bs := New(client.API{Owner: client.Owner{Installation: "test"}}, Network{}, nil, nil, nil)
	const key, other = lb.Key("fairlead/shop/@all/internal"), lb.Key("fairlead/shop/@other/internal")
	arn := func(key lb.Key) string {
		return "arn:aws:elasticloadbalancing:eu-west-1:123456789012:loadbalancer/app/" + bs.LoadBalancerName(key) + "/0123456789abcdef"
	}
	for _, k := range []lb.Key{key, other} {
		bs.undeletable[arn(k)], bs.places[k] = true, place{}
		bs.inactive.Wait(arn(k), time.Minute, time.Minute)
	}
	bs.Forget(key, arn(key))
	if len(bs.undeletable)+len(bs.places) != 2 || bs.inactive.Len() != 1 {
		t.Errorf("of two load balancers, one of them deleted, it is remembered: %v %v %v", bs.undeletable, bs.places, bs.inactive.Len())
	}
	bs.ForgetRefusedDeletion(other)
	if len(bs.undeletable) != 0 {
		t.Errorf("a load balancer that another hand deleted would not be deleted: %v", bs.undeletable)
	}
}

// AWS takes 50 tags of each resource.
func TestALoadBalancerHasRoomForTheTagsOfAClass(t *testing.T) {
	groups := network.NewSecurityGroups(classtags.Owner, nil, "", nil)
	bs := New(client.API{Owner: classtags.Owner}, Network{Firewalls: network.NewFirewalls(nil, groups, nil, false, nil)}, nil, nil, nil)
	tags := bs.tagsFor(lb.LoadBalancer{Key: "fairlead/shop/site/internal", Digest: "v1:0123", Settings: routing.Settings{
		Tags: classtags.All(), Subnets: []string{"subnet-1"}, IPFamily: "dualstack", SecurityGroups: []string{"sg-1"},
		Attributes: classtags.With(look.LoadBalancerDefaults, "access_logs.s3.bucket", "access_logs.s3.prefix", "connection_logs.s3.bucket",
			"connection_logs.s3.prefix", "health_check_logs.s3.bucket", "health_check_logs.s3.prefix"),
	}})
	tags[client.TagWebACL], tags[client.TagShield] = "acl", "on"
	classtags.Check(t, tags)
}
