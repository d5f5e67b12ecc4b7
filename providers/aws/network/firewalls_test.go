package network

import (
	"testing"

	"fairlead.dev/fairlead/model/lb"
)

func TestTheFirewallOfALoadBalancerThatIsGoneIsForgotten(t *testing.T) {
	f := NewFirewalls(nil, &SecurityGroups{}, nil, false, nil)
	for _, key := range []lb.Key{"fairlead/shop/@all/internal", "fairlead/shop/@other/internal"} {
		f.setReplaced(key, true)
	}
	f.Forget("fairlead/shop/@all/internal", "arn")
	if f.replaced["fairlead/shop/@all/internal"] || !f.replaced["fairlead/shop/@other/internal"] {
		t.Errorf("of two load balancers, one of them deleted, it is remembered: %v", f.replaced)
	}
}
