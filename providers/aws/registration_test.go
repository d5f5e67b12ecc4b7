package aws_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/test/albsim"
)

// This file registers targets that AWS does not accept, and such that are outside the subnets of
// the VPC.

// at are targets at some addresses.
func at(addresses ...string) []lb.Target {
	var out []lb.Target
	for _, a := range addresses {
		out = append(out, lb.Target{Address: a, Port: 8080})
	}
	return out
}

// members are the targets of the group, each with its zone where that was said.
func (g *group) members() []string {
	g.Helper()
	api := elbapi.NewFromConfig(g.sim.OwnersConfig())
	groups, err := api.DescribeTargetGroups(g.Context(), &elbapi.DescribeTargetGroupsInput{})
	if err != nil {
		g.Fatal(err)
	}
	health, err := api.DescribeTargetHealth(g.Context(), &elbapi.DescribeTargetHealthInput{TargetGroupArn: groups.TargetGroups[0].TargetGroupArn})
	if err != nil {
		g.Fatal(err)
	}
	var out []string
	for _, d := range health.TargetHealthDescriptions {
		if d.TargetHealth.State != elb.TargetHealthStateEnumDraining {
			out = append(out, strings.TrimSuffix(sdk.ToString(d.Target.Id)+" "+sdk.ToString(d.Target.AvailabilityZone), " "))
		}
	}
	return out
}

// calls are how often each call was made that reads or changes members.
func (g *group) calls() map[string]int {
	out := map[string]int{}
	for _, c := range g.sim.Calls() {
		out[c.Action]++
	}
	g.sim.Forget()
	return out
}

// refusal expects that some targets are refused by name, and no others.
func (g *group) refusal(err error, names ...string) {
	g.Helper()
	if !errors.Is(err, providers.ErrRejected) {
		g.Errorf("the error is %v, want a rejection", err)
		return
	}
	for _, name := range names {
		if !strings.Contains(err.Error(), name+" (") {
			g.Errorf("%q does not name %s", err, name)
		}
	}
	if got := strings.Count(err.Error(), " ("); got < len(names) {
		g.Errorf("%q names %d targets, want %d", err, got, len(names))
	}
}

func TestOneTargetThatIsRefusedLeavesTheOthersIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t)
		var want []lb.Target
		for i := range 150 {
			want = append(want, at(fmt.Sprintf("10.0.0.%d", i+1))...)
		}
		want[70] = lb.Target{Address: "8.8.8.8", Port: 8080}
		g.sim.Forget()
		g.refusal(g.cloud.SetTargets(t.Context(), key, g.ID, want), "8.8.8.8:8080")
		if got := len(g.members()); got != 149 {
			t.Errorf("%d targets are in, want 149", got)
		}
		if got := g.calls()[adds]; got > 20 {
			t.Errorf("finding the one took %d calls", got)
		}
		g.refusal(g.cloud.SetTargets(t.Context(), key, g.ID, want), "8.8.8.8:8080")
		if got := g.calls(); len(got) > 0 {
			t.Errorf("what was refused a moment ago costs %v", got)
		}
		want = append(want, at("10.0.1.1")...)
		g.refusal(g.cloud.SetTargets(t.Context(), key, g.ID, want), "8.8.8.8:8080")
		if got := g.calls(); got[adds] != 1 {
			t.Errorf("one more costs %v", got)
		}
		time.Sleep(9 * time.Minute)
		time.Sleep(2 * time.Minute)
		want = append(want, at("10.0.1.2")...)
		g.refusal(g.cloud.SetTargets(t.Context(), key, g.ID, want), "8.8.8.8:8080")
		if got := g.calls(); got[adds] > 3 {
			t.Errorf("trying again costs %v", got)
		}
		if got := len(g.members()); got != 151 {
			t.Errorf("%d targets are in, want 151", got)
		}
		g.sim.Forget()
		want = slices.Delete(want, 70, 71)
		if err := g.cloud.SetTargets(t.Context(), key, g.ID, want); err != nil {
			t.Error(err)
		}
		g.refusal(g.cloud.SetTargets(t.Context(), key, g.ID, append(want, at("8.8.8.8")...)), "8.8.8.8:8080")
		if got := g.calls(); got[adds] == 0 {
			t.Error("a target that comes back is not tried")
		}
	})
}

func TestManyTargetsThatAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t)
		var want []lb.Target
		for i := range 50 {
			want = append(want, at(fmt.Sprintf("10.0.0.%d", i+1))...)
			if i%2 == 0 {
				want = append(want, at(fmt.Sprintf("8.8.8.%d", i))...)
			}
		}
		var err error
		turns := 0
		for ; turns < 10; turns++ {
			if err = g.cloud.SetTargets(t.Context(), key, g.ID, want); !errors.Is(err, providers.ErrPending) {
				break
			}
			if got := g.calls()[adds]; got > 80 {
				t.Errorf("one turn takes %d calls", got)
			}
		}
		g.refusal(err, "8.8.8.0:8080")
		if !strings.Contains(err.Error(), "25 targets") || !strings.Contains(err.Error(), "and 20 more") {
			t.Errorf("%q does not say how many there are", err)
		}
		if got := len(g.members()); got != 50 || turns == 0 {
			t.Errorf("after %d turns %d targets are in, want 50", turns, got)
		}
	})
}

func TestATargetThatIsRefusedWhereThereIsNoRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t)
		g.sim.SetLimits(albsim.Limits{TargetsPerGroup: 3})
		g.set("ab", adds)
		err := g.cloud.SetTargets(t.Context(), key, g.ID, append(at("8.8.8.8"), targets("cdef")...))
		g.refusal(err, "8.8.8.8:8080")
		if !errors.Is(err, providers.ErrNoRoom) {
			t.Errorf("%v does not say that there is no room", err)
		}
		if got := g.members(); len(got) != 3 {
			t.Errorf("%v are in, want three", got)
		}
	})
}

// AWS limits how often a target can be registered with a load balancer. One that is at the limit
// keeps no other out.
func TestOneTargetThatIsRegisteredTooOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t)
		g.sim.Refuse(func(in any) error {
			call, ok := in.(*elbapi.RegisterTargetsInput)
			if ok && slices.ContainsFunc(call.Targets, func(d elb.TargetDescription) bool { return sdk.ToString(d.Id) == "10.0.0.5" }) {
				return albsim.Refusal("TooManyRegistrationsForTargetId", "The target has reached the limit of registrations")
			}
			return nil
		})
		g.sim.Forget()
		err := g.cloud.SetTargets(t.Context(), key, g.ID, at("10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5", "10.0.0.6", "10.0.0.7"))
		g.refusal(err, "10.0.0.5:8080")
		if got := g.calls(); got[adds] > 7 {
			t.Errorf("finding the one took %v", got)
		}
		if got := g.members(); len(got) != 6 {
			t.Errorf("%v are in, want six", got)
		}
	})
}

// A plan goes on with the targets that AWS accepts, and without those that it does not.
func TestAPlanGoesOnWithoutATargetThatIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t)
		apply(t, g.cloud, &lb.Observed{Key: key}, plan.RegisterTargets{Group: g.ID, Targets: at("8.8.8.8", "10.0.0.1")})
		if got := g.members(); !slices.Equal(got, []string{"10.0.0.1"}) {
			t.Errorf("%v are in", got)
		}
		_, err := g.cloud.Apply(t.Context(), &lb.Observed{Key: key}, plan.RegisterTargets{Group: g.ID, Targets: at("8.8.4.4")})
		g.refusal(err, "8.8.4.4:8080")
	})
}

func TestANameIsNoTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t)
		g.sim.Forget()
		g.refusal(g.cloud.SetTargets(t.Context(), key, g.ID, at("db.example.com")), "db.example.com:8080")
		if got := g.calls(); got[adds] != 0 {
			t.Errorf("AWS is told of it: %v", got)
		}
		g.refusal(g.cloud.SetTargets(t.Context(), key, g.ID, at("db.example.com", "10.0.0.1")), "db.example.com:8080")
		if got := g.members(); !slices.Equal(got, []string{"10.0.0.1"}) {
			t.Errorf("%v are in", got)
		}
	})
}

func TestTargetsOutsideTheSubnets(t *testing.T) {
	lookUp := func(g *group) {
		g.Helper()
		q := lb.Questions{Network: lb.Network{Key: key, Scheme: "internal"}}
		if _, err := g.cloud.Lookup(g.Context(), q); err != nil {
			g.Fatal(err)
		}
		g.sim.Forget()
	}
	set := func(g *group, addresses []string, want []string, calls int) {
		g.Helper()
		if err := g.cloud.SetTargets(g.Context(), key, g.ID, at(addresses...)); err != nil {
			g.Error(err)
		}
		if got := g.members(); !slices.Equal(got, want) {
			g.Errorf("%v are in, want %v", got, want)
		}
		if got := g.calls(); got[adds] != calls {
			g.Errorf("it took %v, want %d calls", got, calls)
		}
	}
	t.Run("they are in all zones", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := newGroup(t)
			lookUp(g)
			// 10.0.50.1 is in the range of the VPC and in no subnet.
			set(g, []string{"10.0.0.1", "10.0.50.1", "192.168.3.4"}, []string{"10.0.0.1", "10.0.50.1 all", "192.168.3.4 all"}, 1)
			set(g, nil, nil, 0)
		})
	})
	t.Run("the subnets are not known yet", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := newGroup(t)
			g.sim.Forget()
			set(g, []string{"10.0.0.1", "192.168.3.4"}, []string{"10.0.0.1", "192.168.3.4 all"}, 2)
		})
	})
	t.Run("a subnet is new", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := newGroup(t)
			lookUp(g)
			time.Sleep(time.Hour)
			g.sim.AddSubnet("subnet-new", albsim.Region+"a", "10.0.50.0/24", nil)
			set(g, []string{"10.0.50.1", "10.0.50.2"}, []string{"10.0.50.1", "10.0.50.2"}, 2)
		})
	})
	t.Run("a subnet cannot be read", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := newGroup(t)
			g.sim.AddSubnet("subnet-unshared", albsim.Region+"a", "10.0.50.0/24", nil)
			g.sim.ChangeSubnet("subnet-unshared", func(s *ec2types.Subnet) { s.VpcId = sdk.String("vpc-of-its-owner") }, nil)
			lookUp(g)
			set(g, []string{"10.0.50.1"}, []string{"10.0.50.1"}, 2)
			set(g, []string{"10.0.50.1", "10.0.50.2", "10.0.50.3"}, []string{"10.0.50.1", "10.0.50.2", "10.0.50.3"}, 1)
		})
	})
	t.Run("cross-zone load balancing is off", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := newGroup(t)
			apart := g.TargetGroup
			apart.ID, apart.Attributes = "shop/web:apart", map[string]string{"load_balancing.cross_zone.enabled": "false"}
			apply(t, g.cloud, &lb.Observed{Key: key}, plan.CreateTargetGroup{Group: apart})
			lookUp(g)
			err := g.cloud.SetTargets(t.Context(), key, apart.ID, at("10.0.0.1", "192.168.3.4"))
			g.refusal(err, "192.168.3.4:8080")
			if err == nil || !strings.Contains(err.Error(), "do not set load_balancing.cross_zone.enabled=false") || strings.Contains(err.Error(), "10.0.0.1") {
				t.Errorf("the target inside is refused, too: %v", err)
			}
		})
	})
	t.Run("IPv6", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := newGroup(t)
			six := g.TargetGroup
			six.ID, six.Family = "shop/web:6", "ipv6"
			apply(t, g.cloud, &lb.Observed{Key: key}, plan.CreateTargetGroup{Group: six})
			g.sim.ChangeSubnet("subnet-private0", func(s *ec2types.Subnet) {
				s.Ipv6CidrBlockAssociationSet = []ec2types.SubnetIpv6CidrBlockAssociation{{Ipv6CidrBlock: sdk.String("2001:db8:1::/64")}}
			}, nil)
			lookUp(g)
			if err := g.cloud.SetTargets(t.Context(), key, six.ID, at("2001:db8:1::5", "2001:db8:2::5")); err != nil {
				t.Error(err)
			}
			if got := g.calls(); got[adds] != 1 {
				t.Errorf("it took %v, want one call", got)
			}
		})
	})
}
