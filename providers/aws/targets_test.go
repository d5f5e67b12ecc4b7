package aws_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers/aws"
	"fairlead.dev/fairlead/test/albsim"
)

// This file changes the members of target groups, and counts what that takes.

// A group is a target group that was made empty.
type group struct {
	*testing.T
	sim   *albsim.Sim
	cloud *aws.Provider
	lb.TargetGroup
}

func newGroup(t *testing.T) *group {
	t.Helper()
	g := &group{T: t, TargetGroup: lb.TargetGroup{
		ID: "shop/web:80", Service: "shop/web", Port: "80", TargetType: "ip", Protocol: "HTTP", Version: "HTTP1", Family: "ipv4",
		Health: routing.HealthCheck{Path: "/", Port: "traffic-port", Protocol: "HTTP", IntervalSeconds: 15, TimeoutSeconds: 5, HealthyThreshold: 2, UnhealthyThreshold: 2, SuccessCodes: "200"},
	}}
	g.sim, g.cloud = newCloud(albsim.Options{})
	apply(t, g.cloud, &lb.Observed{Key: key}, plan.CreateTargetGroup{Group: g.TargetGroup})
	return g
}

// set makes pods the members, and expects what that asks of AWS.
func (g *group) set(pods string, want ...string) {
	g.Helper()
	g.sim.Forget()
	if err := g.cloud.SetTargets(g.Context(), key, g.ID, targets(pods)); err != nil {
		g.Error(err)
	}
	var got []string
	for _, c := range g.sim.Calls() {
		got = append(got, c.Action)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		g.Errorf("setting %q (-want +got):\n%s", pods, diff)
	}
}

// targets are pods by one letter each.
func targets(pods string) []lb.Target {
	var out []lb.Target
	for _, p := range pods {
		out = append(out, lb.Target{Address: "10.0.0." + string('0'+p-'a'), Port: 8080})
	}
	return out
}

const reads, adds, removes = "DescribeTargetHealth", "RegisterTargets", "DeregisterTargets"

func TestMembersAreReadWhereTheyAreNotKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t)
		g.set("ab", adds)
		g.set("bc", adds, removes)
		g.set("bc")
		g.set("", removes)

		time.Sleep(15 * time.Minute) // somebody else may have changed them
		g.set("ab", reads, adds)
		g.set("abc", adds)

		g.sim.Break(func(c albsim.Call) albsim.Fault {
			if c.Action == adds {
				return albsim.LostAfter
			}
			return albsim.NoFault
		})
		if err := g.cloud.SetTargets(t.Context(), key, g.ID, targets("abcd")); err == nil {
			t.Error("an answer is lost, and nobody notices")
		}
		g.sim.Break(nil)
		g.set("abc", reads, removes)
	})
}

// Who reads the members of a group while they change may see them as they were.
func TestMembersThatChangeWhileTheyAreRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t)
		g.set("a", adds)
		read := make(chan struct{})
		g.sim.Watch(func(c albsim.Call) {
			if c.Action == reads {
				g.sim.Watch(nil)
				g.set("ab", adds)
				close(read)
			}
		})
		for range 2 { // the first time it is what was noted when the group was made
			if _, err := g.cloud.Targets(t.Context(), key, g.ID); err != nil {
				t.Fatal(err)
			}
		}
		<-read
		if err := g.cloud.SetTargets(t.Context(), key, g.ID, targets("a")); err != nil {
			t.Fatal(err)
		}
		now, err := g.cloud.Targets(t.Context(), key, g.ID)
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(now, func(h lb.TargetHealth) bool { return h.State != "draining" && h.Target != targets("a")[0] }) {
			t.Errorf("who was to go is still there: %v", now)
		}
	})
}
