package network

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/look"
	"fairlead.dev/fairlead/test/awscalls"
)

// This file opens and closes ports of the nodes.

const other lb.Key = "fairlead/shop/other/internal"

// newCluster is an account with the security group of the nodes of a cluster.
func newCluster() *trial {
	c := newTrial()
	c.addGroup("sg-nodes", "nodes", map[string]string{TagCluster + "shop": "owned"})
	c.addGroup("sg-ours", "firewall", ours(TagCluster+"shop", "owned"))
	c.addGroup("sg-else", "else", map[string]string{TagCluster + "other": "owned"})
	return c
}

// open returns the ports on which the nodes admit load balancers.
func (c *trial) open() []span {
	return spansFrom(*c.group("sg-nodes"), c.nodes.knownGroup())
}

func member(port int32, state lb.HealthState) lb.TargetHealth {
	return lb.TargetHealth{Target: lb.Target{Address: "10.0.0.1", Port: port}, State: state}
}

// Ports are opened once. Those that are open cost no call.
func TestPortsAreOpenedOnce(t *testing.T) {
	c := newCluster()
	for i, w := range []struct {
		ports []int32
		want  []span
		calls []string
	}{
		{nil, nil, nil},
		{[]int32{80, 80, 8080}, []span{{80, 80}, {8080, 8080}}, []string{"DescribeSecurityGroups", "CreateSecurityGroup", "DescribeSecurityGroups", "AuthorizeSecurityGroupIngress"}},
		{[]int32{8080, 80}, []span{{80, 80}, {8080, 8080}}, nil},
		{[]int32{80, 90}, []span{{80, 80}, {8080, 8080}, {90, 90}}, []string{"DescribeSecurityGroups", "AuthorizeSecurityGroupIngress"}},
	} {
		awscalls.ExpectError(t, "opening", c.nodes.OpenPorts(t.Context(), key, w.ports), nil)
		if got := c.aws.Calls(); !slices.Equal(got, w.calls) {
			t.Errorf("opening %d takes %q", i, got)
		}
		awscalls.Expect(t, "open", c.open(), w.want)
	}
	c.nodes.ForgetOpenPorts()
	awscalls.ExpectError(t, "opening", c.nodes.OpenPorts(t.Context(), key, []int32{80}), nil)
	awscalls.Expect(t, "calls after they were forgotten", c.aws.Calls(), []string{"DescribeSecurityGroups"})
	awscalls.Expect(t, "of other groups", []int{len(c.group("sg-ours").IpPermissions), len(c.group("sg-else").IpPermissions)}, []int{0, 0})
	for name, n := range map[string]*Nodes{
		"no cluster": NewNodes(nil, c.security, "", false, c), "unfenced": NewNodes(nil, c.security, "shop", true, c),
	} {
		awscalls.ExpectError(t, name, n.OpenPorts(t.Context(), key, []int32{80}), nil)
		awscalls.Expect(t, name+": calls", len(c.aws.Calls()), 0)
	}
}

// The shared group is found, or made, by the first load balancer.
func TestTheSharedGroup(t *testing.T) {
	c := newCluster()
	c.addGroup("sg-shared", c.nodes.sharedName(), ours())
	got, err := c.nodes.sharedGroup(t.Context(), key)
	awscalls.ExpectError(t, "found", err, nil)
	awscalls.Expect(t, "found", []any{got, c.aws.Calls()}, []any{"sg-shared", []string{"DescribeSecurityGroups"}})
	got, err = c.nodes.sharedGroup(t.Context(), other)
	awscalls.ExpectError(t, "known", err, nil)
	awscalls.Expect(t, "known", []any{got, len(c.aws.Calls()), len(c.nodes.users)}, []any{"sg-shared", 0, 2})
	c.nodes.ports.open[80] = true
	awscalls.Expect(t, "others are gone", c.nodes.ForgetShared([]string{"sg-other", ""}), false)
	awscalls.Expect(t, "it is gone", c.nodes.ForgetShared([]string{"sg-other", "sg-shared"}), true)
	awscalls.Expect(t, "nothing is known", []any{c.nodes.knownGroup(), len(c.nodes.ports.open)}, []any{"", 0})
	awscalls.Expect(t, "it is gone, and was not known", c.nodes.ForgetShared([]string{"sg-shared", ""}), false)
	c.nodes.deleting = true
	_, err = c.nodes.sharedGroup(t.Context(), "a third one")
	awscalls.ExpectError(t, "being deleted", err, providers.ErrPending)
	awscalls.Expect(t, "users", len(c.nodes.users), 2)
	c.nodes.deleting = false
	c.refuse["DescribeSecurityGroups"] = denied
	_, err = c.nodes.sharedGroup(t.Context(), key)
	awscalls.ExpectError(t, "denied", err, providers.ErrDenied)
	awscalls.Expect(t, "calls", c.aws.Calls(), []string{"DescribeSecurityGroups"})
	awscalls.ExpectError(t, "opening is denied", c.nodes.OpenPorts(t.Context(), key, []int32{80}), providers.ErrDenied)
	awscalls.Expect(t, "nothing is known", c.nodes.knownGroup(), "")
}

// Of several callers one asks.
func TestCallersShareTheCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		answer := c.group
		awscalls.On(&c.aws, func(in *ec2.DescribeSecurityGroupsInput) (*ec2.DescribeSecurityGroupsOutput, error) {
			time.Sleep(time.Second)
			return &ec2.DescribeSecurityGroupsOutput{SecurityGroups: []ec2types.SecurityGroup{*answer("sg-nodes")}}, nil
		})
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() { awscalls.ExpectError(t, "opening", c.nodes.OpenPorts(t.Context(), key, []int32{80}), nil) })
		}
		all.Wait()
		awscalls.Expect(t, "calls", c.count("AuthorizeSecurityGroupIngress"), 1)
	})
}

// Refusals leave ports that are not known to be open.
func TestPortsThatAreNotOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		_, err := c.nodes.sharedGroup(t.Context(), key)
		awscalls.ExpectError(t, "the shared group", err, nil)
		for _, call := range []string{"DescribeSecurityGroups", "AuthorizeSecurityGroupIngress"} {
			c.refuse = map[string]error{call: denied}
			awscalls.ExpectError(t, call, c.nodes.OpenPorts(t.Context(), key, []int32{80}), providers.ErrDenied)
		}
		c.refuse = map[string]error{}
		c.nodes.ports.closing[80] = true
		for _, ports := range [][]int32{{90, 80}, {80}} {
			awscalls.ExpectError(t, "closing", c.nodes.OpenPorts(t.Context(), key, ports), providers.ErrPending)
		}
		delete(c.nodes.ports.closing, 80)
		c.nodes.groupsLock <- struct{}{}
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("no time left")
		cancel(why)
		awscalls.ExpectError(t, "no time left", c.nodes.OpenPorts(ctx, key, []int32{80}), why)
		<-c.nodes.groupsLock
		c.refuse["AuthorizeSecurityGroupIngress"] = awscalls.Refused("InvalidGroup.NotFound", "no")
		awscalls.ExpectError(t, "the shared group is new", c.nodes.OpenPorts(t.Context(), key, []int32{80}), providers.ErrPending)
		c.aws.Calls()
		awscalls.ExpectError(t, "it is not asked again at once", c.nodes.OpenPorts(t.Context(), key, []int32{80}), providers.ErrPending)
		awscalls.Expect(t, "calls", len(c.aws.Calls()), 0)
		c.refuse = map[string]error{}
		time.Sleep(time.Minute)
		awscalls.ExpectError(t, "opening", c.nodes.OpenPorts(t.Context(), key, []int32{80}), nil)
	})
}

// Ports are closed an hour after the last target left them, unless they are needed.
func TestPortsAreClosed(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(*trial)
		refuse    map[string]error
		want      []span
		class     error
		later     []span // after another hour
	}{
		"nothing needs them":       {func(*trial) {}, nil, []span{{22, 22}}, nil, []span{{22, 22}}},
		"a target has one again":   {func(c *trial) { c.members = []lb.TargetHealth{member(80, "initial")} }, nil, []span{{80, 80}, {22, 22}}, nil, []span{{80, 80}, {22, 22}}},
		"a draining target has it": {func(c *trial) { c.members = []lb.TargetHealth{member(80, lb.HealthDraining)} }, nil, []span{{80, 80}, {22, 22}}, nil, []span{{80, 80}, {22, 22}}},
		"one is announced":         {func(c *trial) { c.nodes.AnnouncePorts([]int32{80}) }, nil, []span{{80, 80}, {22, 22}}, nil, []span{{80, 80}, {22, 22}}},
		"a check has one":          {func(c *trial) { c.nodes.AddCheckPorts([]int32{80}) }, nil, []span{{80, 80}, {22, 22}}, nil, []span{{22, 22}}},
		"a check had one":          {func(c *trial) { c.nodes.ports.checks[80] = time.Now().Add(-longestDrain) }, nil, []span{{22, 22}}, nil, []span{{22, 22}}},
		"another process has one":  {func(c *trial) { c.used[90] = true }, nil, []span{{90, 90}, {22, 22}}, nil, []span{{90, 90}, {22, 22}}},
		"it cannot be read":        {func(*trial) {}, map[string]error{"PortsInUse": denied}, []span{{80, 80}, {90, 90}, {22, 22}}, denied, []span{{22, 22}}},
		"groups cannot be read":    {func(*trial) {}, map[string]error{"DescribeSecurityGroups": denied}, []span{{80, 80}, {90, 90}, {22, 22}}, providers.ErrDenied, []span{{22, 22}}},
		"closing is denied":        {func(*trial) {}, map[string]error{"RevokeSecurityGroupIngress": denied}, []span{{80, 80}, {90, 90}, {22, 22}}, providers.ErrDenied, []span{{22, 22}}},
	} {
		synctest.Test(t, func(t *testing.T) {
			c2 := newCluster()
			c2.used = map[int32]bool{22: true}
			awscalls.ExpectError(t, "opening", c2.nodes.OpenPorts(t.Context(), key, []int32{80, 90, 22}), nil)
			release := func(ports ...int32) error { return c2.nodes.ReleasePorts(t.Context(), ports) }
			awscalls.ExpectError(t, "releasing", release(80, 90), nil)
			time.Sleep(longestDrain - 1)
			awscalls.ExpectError(t, "too early", release(), nil)
			awscalls.Expect(t, name+": before", len(c2.open()), 3)
			c.meanwhile(c2)
			if c.refuse != nil {
				c2.refuse = c.refuse
			}
			time.Sleep(time.Nanosecond)
			awscalls.ExpectError(t, name, release(), c.class)
			got := c2.open()
			slices.SortFunc(got, func(a, b span) int { return slices.Index(c.want, a) - slices.Index(c.want, b) })
			awscalls.Expect(t, name, got, c.want)
			awscalls.Expect(t, name+": being closed", len(c2.nodes.ports.closing), 0)
			if c.class == nil {
				c2.aws.Calls()
				awscalls.ExpectError(t, "opening one that is open", c2.nodes.OpenPorts(t.Context(), key, []int32{22}), nil)
				awscalls.Expect(t, name+": calls for one that is open", len(c2.aws.Calls()), 0)
				if name == "nothing needs them" {
					awscalls.Expect(t, "ports that targets left", len(c2.nodes.ports.left), 0)
				}
				awscalls.ExpectError(t, "opening again", c2.nodes.OpenPorts(t.Context(), key, []int32{80, 90}), nil)
				awscalls.Expect(t, name+": opened again", len(c2.open()), 3)
				return
			}
			c2.refuse = map[string]error{}
			awscalls.ExpectError(t, "at once", release(), nil)
			awscalls.Expect(t, name+": at once", len(c2.open()), 3)
			time.Sleep(longestDrain)
			awscalls.ExpectError(t, "an hour later", release(), nil)
			awscalls.Expect(t, name+": an hour later", c2.open(), c.later)
		})
	}
	c := newCluster()
	c.nodes.ports.left[80] = time.Now().Add(-longestDrain)
	awscalls.ExpectError(t, "the shared group is not known", c.nodes.ReleasePorts(t.Context(), nil), nil)
	awscalls.Expect(t, "calls", len(c.aws.Calls()), 0)
	for _, n := range []*Nodes{NewNodes(nil, c.security, "", false, c), NewNodes(nil, c.security, "shop", true, c)} {
		awscalls.ExpectError(t, "nothing to close", n.ReleasePorts(t.Context(), []int32{80}), nil)
		awscalls.Expect(t, "ports", len(n.ports.left), 0)
	}
}

// A port that is being closed is not opened until that is over.
func TestAPortThatIsBeingClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		awscalls.ExpectError(t, "opening", c.nodes.OpenPorts(t.Context(), key, []int32{80}), nil)
		awscalls.ExpectError(t, "releasing", c.nodes.ReleasePorts(t.Context(), []int32{80}), nil)
		time.Sleep(longestDrain)
		var meanwhile error
		awscalls.On(&c.aws, func(*ec2.RevokeSecurityGroupIngressInput) (*ec2.RevokeSecurityGroupIngressOutput, error) {
			meanwhile = c.nodes.OpenPorts(t.Context(), key, []int32{80})
			return &ec2.RevokeSecurityGroupIngressOutput{}, nil
		})
		awscalls.ExpectError(t, "closing", c.nodes.ReleasePorts(t.Context(), nil), nil)
		awscalls.ExpectError(t, "opening meanwhile", meanwhile, providers.ErrPending)
	})
}

// The hour begins again where a target had the port meanwhile.
func TestAPortThatWasUsedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		awscalls.ExpectError(t, "opening", c.nodes.OpenPorts(t.Context(), key, []int32{80}), nil)
		release := func(about string, ports []int32, calls bool) {
			t.Helper()
			c.aws.Calls()
			awscalls.ExpectError(t, about, c.nodes.ReleasePorts(t.Context(), ports), nil)
			awscalls.Expect(t, about+": ports are read", len(c.aws.Calls()) > 0, calls)
		}
		release("the last one left", []int32{80}, false)
		time.Sleep(longestDrain)
		c.members = []lb.TargetHealth{member(80, "initial")}
		release("one is there", nil, false)
		c.members = nil
		release("it is gone", nil, false)
		release("it left", []int32{80}, false)
		time.Sleep(longestDrain)
		release("an hour later", nil, true)
	})
}

// What is announced is needed until it is over.
func TestAnnouncedPorts(t *testing.T) {
	c := newCluster()
	first, second := c.nodes.AnnouncePorts([]int32{80, 90}), c.nodes.AnnouncePorts([]int32{80})
	first()
	awscalls.Expect(t, "needed", []bool{c.nodes.isInUse(80), c.nodes.isInUse(90)}, []bool{true, false})
	second()
	awscalls.Expect(t, "needed", []any{c.nodes.isInUse(80), len(c.nodes.ports.announced)}, []any{false, 0})
	c.members = []lb.TargetHealth{member(1, "initial"), member(2, lb.HealthDraining)}
	awscalls.Expect(t, "of targets", []bool{c.nodes.isInUse(1), c.nodes.isInUse(2), c.nodes.isInUse(3)}, []bool{true, false, false})
	awscalls.Expect(t, "ports that members have", PortsOfMembers(c.members), []int32{1})
	awscalls.Expect(t, "ports of targets", PortsIn([]lb.Target{{Port: 1}, {Port: 2}}), []int32{1, 2})
	awscalls.Expect(t, "ports of groups", portsOf([]lb.TargetGroup{{Health: routing.HealthCheck{Port: "8081"}, Targets: []lb.Target{{Port: 1}}}}), []int32{8081, 1})
	awscalls.Expect(t, "the port of a check", CheckPort(routing.HealthCheck{Port: "traffic-port"}), nil)
}

// A port of an unhealthy member is checked again, once in a while.
func TestPortsOfUnhealthyMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		awscalls.ExpectError(t, "opening", c.nodes.OpenPorts(t.Context(), key, []int32{80, 90}), nil)
		members := []lb.TargetHealth{member(80, "unhealthy"), member(80, "unhealthy"), member(90, lb.HealthHealthy), member(70, "unhealthy")}
		for _, w := range []struct {
			after time.Duration
			want  []int32
		}{{0, []int32{80}}, {recheckPause - 1, nil}, {1, []int32{80}}} {
			time.Sleep(w.after)
			got := c.nodes.RecheckUnhealthy(members)
			awscalls.Expect(t, "ports", got, w.want)
			c.aws.Calls()
			awscalls.ExpectError(t, "opening", c.nodes.OpenPorts(t.Context(), key, []int32{80}), nil)
			awscalls.Expect(t, "it is checked", len(c.aws.Calls()) > 0, got != nil)
		}
	})
}

// A deep look finds ports that are closed.
func TestClosedPortsAreObserved(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*look.Look)
		err    error
		closed bool
		class  error
		calls  int
	}{
		"all are open":       {func(*look.Look) {}, nil, false, nil, 1},
		"one is closed":      {func(l *look.Look) { l.Health["arn:ours"] = append(l.Health["arn:ours"], member(90, "initial")) }, nil, true, nil, 1},
		"of a health check":  {func(l *look.Look) { l.Groups[0].HealthCheckPort = aws.String("90") }, nil, true, nil, 1},
		"of one that leaves": {func(l *look.Look) { l.Health["arn:ours"] = append(l.Health["arn:ours"], member(90, lb.HealthDraining)) }, nil, false, nil, 1},
		"of somebody else":   {func(l *look.Look) { l.Health["arn:theirs"] = []lb.TargetHealth{member(90, "initial")} }, nil, false, nil, 1},
		"no ports":           {func(l *look.Look) { l.Health = nil }, nil, false, nil, 0},
		"not deep":           {func(l *look.Look) { l.Deep = false }, nil, false, nil, 0},
		"with other groups":  {func(l *look.Look) { l.GroupsRight = false }, nil, false, nil, 0},
		"no cluster":         {func(*look.Look) {}, nil, false, nil, 0},
		"groups are denied":  {func(*look.Look) {}, denied, false, providers.ErrDenied, 1},
	} {
		c2 := newCluster()
		c2.group("sg-nodes").IpPermissions = []ec2types.IpPermission{span{80, 81}.permissionFor("sg-shared")}
		c2.refuse["DescribeSecurityGroups"] = c.err
		l := &look.Look{
			Deep: true, GroupsRight: true, Shared: "sg-shared", Groups: []elb.TargetGroup{{TargetGroupArn: aws.String("arn:ours")}, {TargetGroupArn: aws.String("arn:theirs")}},
			Tags: map[string]map[string]string{"arn:ours": ours()}, Owns: func(tags map[string]string) bool { return tags != nil },
			Health: map[string][]lb.TargetHealth{"arn:ours": {member(81, "initial")}},
		}
		c.change(l)
		if name == "no cluster" {
			c2.nodes.cluster = ""
		}
		awscalls.ExpectError(t, name, c2.nodes.Observe(t.Context(), l, nil), c.class)
		awscalls.Expect(t, name, []any{l.NodesClosed, len(c2.aws.Calls())}, []any{c.closed, c.calls})
	}
}

// The shared group is deleted with the last firewall, after the rules of the nodes.
func TestTheSharedGroupIsDeletedWithTheLastFirewall(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*trial)
		refuse map[string]error
		gone   bool
		class  error
	}{
		"the last one":             {func(*trial) {}, nil, true, nil},
		"another is known":         {func(c *trial) { c.nodes.AddUser(other) }, nil, false, nil},
		"another is being deleted": {func(c *trial) { c.nodes.deleting = true }, nil, false, nil},
		"another has it": {func(c *trial) {
			c.balancer = []elb.LoadBalancer{{SecurityGroups: []string{"sg-f", "sg-shared"}}, {SecurityGroups: []string{"sg-other", "sg-shared"}}}
		}, nil, false, nil},
		"it has it itself": {func(c *trial) {
			c.balancer = []elb.LoadBalancer{{SecurityGroups: []string{"sg-f", "sg-shared"}}, {SecurityGroups: []string{"sg-other"}}}
		}, nil, true, nil},
		"no cluster":              {func(c *trial) { c.nodes.cluster = "" }, nil, true, nil},
		"it is not known":         {func(c *trial) { c.nodes.shared = "" }, nil, true, nil},
		"it is not known, denied": {func(c *trial) { c.nodes.shared = "" }, map[string]error{"DescribeSecurityGroups": denied}, false, providers.ErrDenied},
		"balancers are denied":    {func(*trial) {}, map[string]error{"DescribeLoadBalancers": denied}, false, providers.ErrDenied},
		"groups are denied":       {func(*trial) {}, map[string]error{"DescribeSecurityGroups": denied}, false, providers.ErrDenied},
		"revoking is denied":      {func(*trial) {}, map[string]error{"RevokeSecurityGroupIngress": denied}, false, providers.ErrDenied},
	} {
		t.Run(name, func(t *testing.T) {
			c2 := newCluster()
			c2.addGroup("sg-shared", c2.nodes.sharedName(), ours())
			awscalls.ExpectError(t, "opening", c2.nodes.OpenPorts(t.Context(), key, []int32{80}), nil)
			c.change(c2)
			if c.refuse != nil {
				c2.refuse = c.refuse
			}
			deleting := c2.nodes.deleting
			awscalls.ExpectError(t, "deleting", c2.nodes.removeFirewall(t.Context(), key, "sg-f"), c.class)
			awscalls.Expect(t, "it is gone", c2.group("sg-shared") == nil, c.gone)
			awscalls.Expect(t, "it is being deleted", c2.nodes.deleting, deleting)
			rules := spansFrom(*c2.group("sg-nodes"), "sg-shared")
			awscalls.Expect(t, "rules of the nodes", len(rules) == 0, c.gone && name != "no cluster")
			if c.gone {
				awscalls.Expect(t, "known", []any{c2.nodes.knownGroup(), len(c2.nodes.ports.open)}, []any{"", 0})
			}
		})
	}
	c := newCluster()
	c.refuse["DescribeLoadBalancers"] = denied
	used, err := c.nodes.sharedByOthers(t.Context(), "sg-shared", "sg-f")
	awscalls.ExpectError(t, "denied", err, providers.ErrDenied)
	awscalls.Expect(t, "used by others", used, false)
	c.aws.Calls()
	awscalls.ExpectError(t, "there is none", c.nodes.removeFirewall(t.Context(), key, "sg-f"), nil)
	awscalls.Expect(t, "calls", c.aws.Calls(), []string{"DescribeSecurityGroups"})
}
