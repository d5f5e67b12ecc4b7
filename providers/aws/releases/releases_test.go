package releases

import (
	"testing"
	"time"
)

func TestRulesOfALoadBalancerThatIsGoneAreForgotten(t *testing.T) {
	r := New(time.Minute)
	for _, arn := range []string{"arn:one", "arn:other"} {
		r.rerouted.Wait(arn, time.Minute, time.Minute)
	}
	r.Forget("key", "arn:one")
	if r.ReroutedLately("arn:one") || !r.ReroutedLately("arn:other") || r.rerouted.Len() != 1 {
		t.Errorf("of two load balancers, one of them deleted, %d are remembered", r.rerouted.Len())
	}
}
