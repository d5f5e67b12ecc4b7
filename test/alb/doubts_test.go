package alb

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/test/albsim"
)

// A port of the nodes that this process has opened is shut by another hand. Targets of a new
// Service have the same port, and AWS finds them unhealthy: the port is looked at again, and
// opened.
func TestAPortBelievedOpenIsLookedAtWhenTargetsAreUnhealthy(t *testing.T) {
	var shut atomic.Bool
	inBubble(t, albsim.Options{Health: 20 * time.Second, Sick: func(string, elb.TargetDescription) bool { return shut.Load() }}, func(w *world) {
		w.service("web", 1)
		w.serve("site", map[string]string{"/": "web"})
		w.settle()
		time.Sleep(time.Minute)
		w.settle()

		w.revoke(albsim.NodeGroup, func(ec2types.IpPermission) bool { return true })
		shut.Store(true)
		w.sim.Watch(func(c albsim.Call) {
			if c.Action == "AuthorizeSecurityGroupIngress" {
				shut.Store(false)
			}
		})
		w.service("next", 1)
		w.point("site", "next")
		before := time.Now()
		for shut.Load() && time.Since(before) < 10*time.Minute {
			if _, _, err := w.reconcile(); err != nil && !onlyPending(err) {
				t.Fatal(err)
			}
			time.Sleep(patience)
		}
		if shut.Load() {
			t.Fatalf("after %s the nodes admit %v", time.Since(before), w.fences()["nodes"])
		}
		w.settle()
		if got := w.fences()["nodes"]; !slices.Equal(got, []string{"8080 shared"}) {
			t.Errorf("the nodes admit %v", got)
		}
	})
}

// Targets that stay unhealthy though the nodes admit load balancers do not have the port looked at
// with each question.
func TestUnhealthyTargetsHaveThePortLookedAtOnceAMinute(t *testing.T) {
	inBubble(t, albsim.Options{Sick: func(string, elb.TargetDescription) bool { return true }}, func(w *world) {
		w.service("web", 1)
		w.serve("site", map[string]string{"/": "web"})
		w.settle()
		w.service("next", 1)
		w.point("site", "next")
		looks := 0
		w.sim.Watch(func(c albsim.Call) {
			if c.Action == "DescribeSecurityGroups" {
				looks++
			}
		})
		for range 60 {
			if _, _, err := w.reconcile(); err != nil && !onlyPending(err) {
				t.Fatal(err)
			}
			time.Sleep(patience)
		}
		if looks < 3 || looks > 8 {
			t.Errorf("security groups are looked at %d times in five minutes, want about once a minute", looks)
		}
	})
}
