package targets

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/test/awscalls"
)

// This file changes members, with refusals.

// deny denies changes of security groups.
func deny(c *trial) {
	awscalls.On(&c.aws, func(*ec2.AuthorizeSecurityGroupIngressInput) (*ec2.AuthorizeSecurityGroupIngressOutput, error) {
		return nil, awscalls.Refused("UnauthorizedOperation", "no")
	})
}

// refusing refuses calls with one of some addresses.
func refusing(code string, addresses ...string) func([]string) error {
	return func(asked []string) error {
		for _, a := range asked {
			if address, _, _ := strings.Cut(a, " "); slices.Contains(addresses, address) {
				return awscalls.Refused(code, "no")
			}
		}
		return nil
	}
}

// room refuses calls that make more than so many members.
func (c *trial) room(most int) {
	have := 0
	c.refused = func(asked []string) error {
		if have += len(asked); have-len(flat(c.deregistered)) > most {
			have -= len(asked)
			return awscalls.Refused("TooManyTargets", "no")
		}
		return nil
	}
}

func flat(calls [][]string) []string { return slices.Concat(calls...) }

// Members that leave make room. What has none then, or is refused, is said with the number of those
// that are there.
func TestAFullTargetGroup(t *testing.T) {
	for name, c := range map[string]struct {
		before, want []string
		refused      []string
		said         string // "" where all are registered
	}{
		"room after some left":    {[]string{"10.0.0.1", "10.0.0.2"}, []string{"10.0.0.3", "10.0.0.4"}, nil, ""},
		"no room for all":         {[]string{"10.0.0.1"}, []string{"10.0.0.1", "10.0.0.2", "10.0.0.3"}, nil, "3 targets are wanted, and 2 are registered"},
		"room for one of two":     {[]string{"10.0.0.1", "10.0.0.2"}, []string{"10.0.0.2", "10.0.0.3", "10.0.0.4"}, nil, "3 targets are wanted, and 2 are registered"},
		"one that is refused":     {[]string{"10.0.0.1"}, []string{"db.example.com", "10.0.0.3"}, nil, "2 targets are wanted, and 1 are registered"},
		"one refused, no room":    {[]string{"10.0.0.1", "10.0.0.2"}, []string{"db.example.com", "10.0.0.3", "10.0.0.4", "10.0.0.5"}, nil, "4 targets are wanted, and 2 are registered"},
		"one refused, room later": {[]string{"10.0.0.1", "10.0.0.2"}, []string{"db.example.com", "10.0.0.3"}, nil, "2 targets are wanted, and 1 are registered"},
	} {
		synctest.Test(t, func(t *testing.T) {
			c2 := newTrial(t)
			c2.room(2)
			awscalls.ExpectError(t, name, c2.SetTargets(t.Context(), key, web, pods(c.before...)), nil)
			err := c2.SetTargets(t.Context(), key, web, pods(c.want...))
			if c.said == "" {
				awscalls.ExpectError(t, name, err, nil)
			} else if err == nil || !strings.HasPrefix(err.Error(), c.said) {
				t.Errorf("%s: %v, want %q", name, err, c.said)
			}
			if slices.Contains(c.want, "db.example.com") && (err == nil || !strings.Contains(err.Error(), "1 targets cannot be registered")) {
				t.Errorf("%s: %v does not name the refused one", name, err)
			}
		})
	}
}

// A target group that is full and that no member leaves is not tried twice.
func TestAFullTargetGroupIsNotTriedTwice(t *testing.T) {
	c := newTrial(t)
	c.refused = refusing("TooManyTargets", "10.0.0.1")
	awscalls.ExpectError(t, "registering", c.SetTargets(t.Context(), key, web, pods("10.0.0.1")), providers.ErrNoRoom)
	awscalls.Expect(t, "calls", c.registered, [][]string{{"10.0.0.1"}})
	c.refused = nil
	awscalls.ExpectError(t, "registering", c.SetTargets(t.Context(), key, web, pods("10.0.0.1", "10.0.0.2")), nil)
	before := len(c.registered)
	awscalls.ExpectError(t, "deregistering", c.SetTargets(t.Context(), key, web, pods("10.0.0.1")), nil)
	awscalls.Expect(t, "calls that register none", len(c.registered), before)
}

// Members are known for a while without reading them.
func TestHowLongMembersAreKnown(t *testing.T) {
	for after, read := range map[time.Duration]bool{membershipLife - 1: false, membershipLife: true} {
		synctest.Test(t, func(t *testing.T) {
			c := newTrial(t)
			awscalls.ExpectError(t, "registering", c.SetTargets(t.Context(), key, web, pods("10.0.0.1")), nil)
			time.Sleep(after)
			c.aws.Calls()
			awscalls.ExpectError(t, "registering", c.SetTargets(t.Context(), key, web, pods("10.0.0.1", "10.0.0.2")), nil)
			awscalls.Expect(t, after.String(), slices.Contains(c.aws.Calls(), "DescribeTargetHealth"), read)
		})
	}
}

// Zones are left out where AWS refuses them. A target that has left has its port released.
func TestTargetsThatAreDeregistered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTrial(t)
		_, err := c.subnets.ReadSince(t.Context(), time.Now())
		awscalls.ExpectError(t, "subnets", err, nil)
		awscalls.ExpectError(t, "registering", c.SetTargets(t.Context(), key, web, pods("10.0.0.1", "192.168.0.1")), nil)
		awscalls.Expect(t, "registered", c.registered, [][]string{{"10.0.0.1", "192.168.0.1 all"}})
		refusals := []error{awscalls.Refused("ValidationError", "zone"), nil}
		awscalls.On(&c.aws, func(in *elbapi.DeregisterTargetsInput) (*elbapi.DeregisterTargetsOutput, error) {
			c.deregistered = append(c.deregistered, described(in.Targets))
			refusal := refusals[0]
			if refusals = refusals[1:]; refusal == nil {
				c.leave(in.TargetGroupArn, in.Targets)
			}
			return &elbapi.DeregisterTargetsOutput{}, refusal
		})
		awscalls.ExpectError(t, "deregistering", c.SetTargets(t.Context(), key, web, nil), nil)
		awscalls.Expect(t, "deregistered", c.deregistered, [][]string{{"10.0.0.1", "192.168.0.1 all"}, {"10.0.0.1", "192.168.0.1"}})
		time.Sleep(time.Hour)
		awscalls.ExpectError(t, "releasing", c.nodes.ReleasePorts(t.Context(), nil), nil)
		awscalls.Expect(t, "open", len(c.ports), 0)

		awscalls.ExpectError(t, "registering", c.SetTargets(t.Context(), key, web, pods("10.0.0.1")), nil)
		refusals = []error{awscalls.Refused("AccessDenied", "no")}
		awscalls.ExpectError(t, "deregistering", c.SetTargets(t.Context(), key, web, nil), providers.ErrDenied)
		awscalls.Expect(t, "the members are known", c.membersOf(arnOf(web)).since.IsZero(), true)
	})
}

// The refusal of a target holds for a while. Then it is tried again, alone.
func TestHowLongARefusalHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTrial(t)
		c.refused = refusing("InvalidTarget", "10.0.0.9")
		want := pods("10.0.0.1", "10.0.0.9")
		set := func(about string, calls ...[]string) {
			t.Helper()
			c.registered = nil
			awscalls.ExpectError(t, about, c.SetTargets(t.Context(), key, web, want), providers.ErrRejected)
			awscalls.Expect(t, about, c.registered, calls)
		}
		set("first", []string{"10.0.0.1", "10.0.0.9"}, []string{"10.0.0.1", "10.0.0.9"}, []string{"10.0.0.1"}, []string{"10.0.0.9"}, []string{"10.0.0.9 all"})
		set("at once")
		time.Sleep(refusalLife - 1)
		set("before it ends")
		time.Sleep(time.Nanosecond)
		want = append(want, pods("10.0.0.2")...)
		set("after it ends", []string{"10.0.0.2"}, []string{"10.0.0.9"}, []string{"10.0.0.9 all"})
		time.Sleep(refusalLife)
		c.refused = refusing("TooManyTargets", "10.0.0.9")
		set2 := c.SetTargets(t.Context(), key, web, want)
		awscalls.ExpectError(t, "no room", set2, providers.ErrNoRoom)
		c.refused = refusing("AccessDenied", "10.0.0.9")
		awscalls.ExpectError(t, "denied", c.SetTargets(t.Context(), key, web, want), providers.ErrDenied)
	})
}

// A target that had no room is tried again once others have left.
func TestASuspectTargetThatHasNoRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTrial(t)
		c.refused = refusing("InvalidTarget", "10.0.0.9")
		awscalls.ExpectError(t, "refused", c.SetTargets(t.Context(), key, web, pods("10.0.0.1", "10.0.0.9")), providers.ErrRejected)
		time.Sleep(refusalLife)
		c.refused = func(asked []string) error {
			if len(c.deregistered) == 0 {
				return awscalls.Refused("TooManyTargets", "no")
			}
			return nil
		}
		awscalls.ExpectError(t, "there is room", c.SetTargets(t.Context(), key, web, pods("10.0.0.9")), nil)
		awscalls.Expect(t, "members", c.health[arnOf(web)], []lb.TargetHealth{member("10.0.0.9", "initial")})
	})
}

// A full group may be met with the other zone. There is room once others have left.
func TestTheOtherZoneOfATargetThatHasNoRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTrial(t)
		awscalls.ExpectError(t, "registering", c.SetTargets(t.Context(), key, web, pods("10.0.0.1")), nil)
		c.refused = func(asked []string) error {
			switch {
			case asked[0] == "10.0.0.9":
				return awscalls.Refused("InvalidTarget", "zone")
			case len(c.deregistered) == 0:
				return awscalls.Refused("TooManyTargets", "no")
			}
			return nil
		}
		_, err := c.subnets.ReadSince(t.Context(), time.Now())
		awscalls.ExpectError(t, "subnets", err, nil)
		awscalls.ExpectError(t, "there is room", c.SetTargets(t.Context(), key, web, pods("10.0.0.9")), nil)
	})
}

// A call that fails for another reason than its targets is not made again.
func TestARegistrationThatIsDenied(t *testing.T) {
	c := newTrial(t)
	c.refused = refusing("AccessDenied", "10.0.0.9")
	awscalls.ExpectError(t, "registering", c.SetTargets(t.Context(), key, web, pods("10.0.0.8", "10.0.0.9")), providers.ErrDenied)
	awscalls.Expect(t, "calls", c.registered, [][]string{{"10.0.0.8", "10.0.0.9"}})
}

// A plan goes on with some targets. Where none is registered, it says why.
func TestSomeTargetsAreRegistered(t *testing.T) {
	for name, c := range map[string]struct {
		want    []string
		refused func([]string) error
		class   error
	}{
		"all":            {[]string{"10.0.0.1"}, nil, nil},
		"one of two":     {[]string{"10.0.0.1", "10.0.0.9"}, refusing("InvalidTarget", "10.0.0.9"), nil},
		"none":           {[]string{"10.0.0.9"}, refusing("InvalidTarget", "10.0.0.9"), providers.ErrRejected},
		"none is wanted": {nil, nil, nil},
		"denied":         {[]string{"10.0.0.9"}, refusing("AccessDenied", "10.0.0.9"), providers.ErrDenied},
		"denied, in part": {
			append(many(targetBatch), "10.0.0.9"), refusing("AccessDenied", "10.0.0.9"), providers.ErrDenied,
		},
	} {
		c2 := newTrial(t)
		c2.refused = c.refused
		awscalls.ExpectError(t, name, c2.RegisterSome(t.Context(), key, web, pods(c.want...)), c.class)
	}
	c := newTrial(t)
	deny(c)
	awscalls.ExpectError(t, "closed ports", c.RegisterSome(t.Context(), key, web, pods("10.0.0.1")), providers.ErrDenied)
	awscalls.Expect(t, "calls", c.registered, nil)
}

func many(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprint("10.0.1.", i))
	}
	return out
}

// A message names five refused targets, and says how many more there are.
func TestRefusedTargetsAreNamed(t *testing.T) {
	for n, more := range map[int]string{mostNamed: "", mostNamed + 1: "and 1 more"} {
		var in registration
		for _, target := range pods(many(n)...) {
			in.refused = append(in.refused, refusal{target: target, why: "no"})
		}
		text := in.err().Error()
		if strings.Count(text, "(no)") != mostNamed || strings.Contains(text, "more") != (more != "") || !strings.Contains(text, more) {
			t.Errorf("%d refused targets are named %q", n, text)
		}
	}
}

func TestAddressesThatCanBeRegistered(t *testing.T) {
	for address, want := range map[string]bool{"10.0.0.1": true, "2001:db8::1": true, "i-0123456789abcdef0": true, "fe80::1%eth0": false, "db.example.com": false} {
		awscalls.Expect(t, address, registrable(address), want)
	}
}

// A target that is registered too often is refused alone, with neither another zone nor other
// subnets.
func TestATargetThatIsRegisteredTooOften(t *testing.T) {
	c := newTrial(t)
	c.refused = refusing(crowdedTarget, "10.0.0.9")
	awscalls.ExpectError(t, "registering", c.SetTargets(t.Context(), key, web, pods("10.0.0.9")), providers.ErrRejected)
	awscalls.Expect(t, "calls", c.registered, [][]string{{"10.0.0.9"}})
	awscalls.Expect(t, "subnets are read", slices.Contains(c.aws.Calls(), "DescribeSubnets"), false)
}

// A refusal has the subnets read again, once.
func TestSubnetsAreReadAgainAfterARefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTrial(t)
		reads := 0
		awscalls.On(&c.aws, func(*ec2.DescribeSubnetsInput) (*ec2.DescribeSubnetsOutput, error) {
			reads++
			time.Sleep(2 * time.Minute)
			return &ec2.DescribeSubnetsOutput{Subnets: []ec2types.Subnet{{SubnetId: aws.String(fmt.Sprint("subnet-", reads))}}}, nil
		})
		c.refused = refusing("InvalidTarget", "10.0.0.8", "10.0.0.9")
		awscalls.ExpectError(t, "registering", c.SetTargets(t.Context(), key, web, pods("10.0.0.8", "10.0.0.9")), providers.ErrRejected)
		awscalls.Expect(t, "readings", reads, 1)
		time.Sleep(refusalLife)
		awscalls.On(&c.aws, func(*ec2.DescribeSubnetsInput) (*ec2.DescribeSubnetsOutput, error) {
			return nil, awscalls.Refused("UnauthorizedOperation", "no")
		})
		awscalls.ExpectError(t, "subnets are denied", c.SetTargets(t.Context(), key, web, pods("10.0.0.9")), providers.ErrDenied)
	})
}

// The other zone is tried for an address. What AWS answers to that counts, too.
func TestTheOtherZoneOfATarget(t *testing.T) {
	for code, class := range map[string]error{"": nil, "TooManyTargets": providers.ErrNoRoom, "AccessDenied": providers.ErrDenied, "InvalidTarget": providers.ErrRejected} {
		synctest.Test(t, func(t *testing.T) {
			c := newTrial(t)
			_, err := c.subnets.ReadSince(t.Context(), time.Now())
			awscalls.ExpectError(t, "subnets", err, nil)
			c.refused = func(asked []string) error {
				switch {
				case asked[0] == "10.0.0.9":
					return awscalls.Refused("InvalidTarget", "zone")
				case code == "":
					return nil
				}
				return awscalls.Refused(code, "no")
			}
			awscalls.ExpectError(t, code, c.SetTargets(t.Context(), key, web, pods("10.0.0.9")), class)
			if len(c.registered) < 2 || c.registered[1][0] != "10.0.0.9 all" {
				t.Errorf("%s: the calls are %q", code, c.registered)
			}
			c.registered = nil
			_ = c.SetTargets(t.Context(), key, web, pods("10.0.0.9", "10.0.0.10"))
			if code == "" && !slices.Equal(flat(c.registered), []string{"10.0.0.10 all"}) {
				t.Errorf("the zone is not known afterwards: %q", c.registered)
			}
		})
	}
	c := newTrial(t)
	const node = "i-0123456789abcdef0"
	c.refused = refusing("InvalidTarget", node)
	awscalls.ExpectError(t, "an instance", c.SetTargets(t.Context(), key, web, pods(node)), providers.ErrRejected)
	awscalls.Expect(t, "calls of an instance, before and after the subnets are read", c.registered, [][]string{{node}, {node}})
}
