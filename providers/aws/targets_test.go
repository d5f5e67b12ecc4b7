package aws_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"
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

// AWS may fail to tell the health of a group. What is there is looked at all the same, with what
// was known of the group.
func TestHealthThatAWSCannotTell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t)
		g.set("ab", adds)
		g.sim.Refuse(func(in any) error {
			if _, health := in.(*elbapi.DescribeTargetHealthInput); health {
				return albsim.Refusal("HealthUnavailable", "The health of the specified targets could not be retrieved")
			}
			return nil
		})
		for what, cloud := range map[string]providers.Provider{"the members are known": g.cloud, "nothing is known": g.cloud.Term()} {
			seen, err := cloud.Observe(t.Context(), key, false)
			if err != nil || len(seen.TargetGroups) != 1 {
				t.Fatalf("%s: seen is %+v, error %v", what, seen, err)
			}
			if known := cloud == providers.Provider(g.cloud); seen.TargetGroups[0].Registered != known || seen.TargetGroups[0].Ready {
				t.Errorf("%s: the group is seen as %+v", what, seen.TargetGroups[0])
			}
		}
		if _, err := g.cloud.Term().Targets(t.Context(), key, g.ID); !errors.Is(err, providers.ErrPending) {
			t.Errorf("reading the members fails with %v, want one to wait for", err)
		}
		_, err := g.cloud.Apply(t.Context(), &lb.Observed{Key: key}, plan.AwaitTargets{Group: g.ID})
		if !errors.Is(err, providers.ErrPending) {
			t.Errorf("waiting for targets fails with %v, want one to wait for", err)
		}
	})
}

// A group is waited for until one of its targets is healthy: where none is, AWS sends requests to
// all of them.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/application/target-group-health-checks.html
func TestAGroupIsWaitedForUntilATargetIsHealthy(t *testing.T) {
	for name, c := range map[string]struct {
		states []elbtypes.TargetHealthStateEnum
		ends   bool
	}{
		"no target":                         {},
		"targets of a group that is unused": {states: []elbtypes.TargetHealthStateEnum{"unused", "unused"}},
		"targets that are new":              {states: []elbtypes.TargetHealthStateEnum{"initial"}},
		"targets that fail their checks":    {states: []elbtypes.TargetHealthStateEnum{"unhealthy", "unhealthy.draining"}},
		"targets that are leaving":          {states: []elbtypes.TargetHealthStateEnum{"draining"}},
		"targets that AWS does not know of": {states: []elbtypes.TargetHealthStateEnum{"unavailable"}},
		"one healthy target among others":   {states: []elbtypes.TargetHealthStateEnum{"initial", "unhealthy", "healthy"}, ends: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGroup(t)
			g.sim.Amend(func(_, out any) error {
				if health, ok := out.(*elbapi.DescribeTargetHealthOutput); ok {
					health.TargetHealthDescriptions = nil
					for i, target := range targets("abc"[:len(c.states)]) {
						health.TargetHealthDescriptions = append(health.TargetHealthDescriptions, elbtypes.TargetHealthDescription{
							Target:       &elbtypes.TargetDescription{Id: &target.Address, Port: &target.Port},
							TargetHealth: &elbtypes.TargetHealth{State: c.states[i]},
						})
					}
				}
				return nil
			})
			_, err := g.cloud.Apply(t.Context(), &lb.Observed{Key: key}, plan.AwaitTargets{Group: g.ID})
			if c.ends && err != nil || !c.ends && !errors.Is(err, providers.ErrPending) {
				t.Errorf("waiting ends with %v", err)
			}
		})
	}
}

// A target group that somebody else has deleted is gone, as it was to be.
func TestATargetGroupThatIsGoneIsDeleted(t *testing.T) {
	g := newGroup(t)
	cloud := g.cloud.Term() // for which the group was not made a moment ago
	seen, err := cloud.Observe(t.Context(), key, false)
	if err != nil {
		t.Fatal(err)
	}
	for code, gone := range map[string]bool{"TargetGroupNotFound": true, "InvalidConfigurationRequest": false} {
		g.sim.Refuse(func(in any) error {
			if _, deletes := in.(*elbapi.DeleteTargetGroupInput); deletes {
				return albsim.Refusal(code, "One or more target groups not found")
			}
			return nil
		})
		if _, err := cloud.Apply(t.Context(), seen, plan.DeleteTargetGroup{Group: g.ID}); (err == nil) != gone {
			t.Errorf("where AWS answers %s, deleting ends with %v", code, err)
		}
	}
}

func TestMembersAreReadWhereTheyAreNotKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t)
		g.set("ab", adds)
		g.set("bc", adds, removes)
		g.set("bc")
		g.set("", removes)

		time.Sleep(75 * time.Minute) // members are known for an hour
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
