package targets

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/test/awscalls"
)

// This file creates, reads and deletes target groups.

const created lb.GroupID = "shop/new:80"

// wanted is a target group with a health check at a port of its own.
func wanted(attributes map[string]string) lb.TargetGroup {
	return lb.TargetGroup{
		ID: created, Service: "shop/new", Port: "80", TargetType: "ip", Protocol: routing.HTTP, Version: routing.VersionHTTP1,
		Health: routing.HealthCheck{Port: "8081"}, Attributes: attributes, Digest: "v1:01",
	}
}

var seen = &lb.Observed{Key: key}

// A target group has its digest once its attributes are written: what is left of a failure is
// written again.
func TestATargetGroupHasItsDigestInTheEnd(t *testing.T) {
	for name, c := range map[string]struct {
		attributes map[string]string
		before     func(*trial)
		digest     string
		class      error
	}{
		"without attributes": {nil, func(*trial) {}, "v1:01", nil},
		"with attributes":    {map[string]string{"a.b": "c"}, func(*trial) {}, "v1:01", nil},
		"attributes that are refused": {map[string]string{"a.b": "c"}, func(c *trial) {
			awscalls.On(&c.aws, func(*elbapi.ModifyTargetGroupAttributesInput) (*elbapi.ModifyTargetGroupAttributesOutput, error) {
				return nil, awscalls.Refused("InvalidConfigurationRequest", "no")
			})
		}, "", providers.ErrRejected},
		"one that was created before": {nil, func(c *trial) {
			c.addGroup(arnOf(created), c.TargetGroupName(key, created), tagsOf(c.API, key, created))
		}, "v1:01", nil},
	} {
		c2 := newTrial(t)
		c.before(c2)
		result, err := c2.Create(t.Context(), seen, wanted(c.attributes))
		awscalls.ExpectError(t, name, err, c.class)
		awscalls.Expect(t, name+": the handle", result.Handle, arnOf(created))
		awscalls.Expect(t, name+": the digest", c2.tags[arnOf(created)][client.TagDigest], c.digest)
		awscalls.Expect(t, name+": the ports of the nodes", c2.ports, []int32{8081})
		c2.aws.Calls()
		if arn, err := c2.ARNFinder(t.Context(), key)(created); arn != arnOf(created) || err != nil || len(c2.aws.Calls()) > 0 {
			t.Errorf("%s: it is not known: %q, %v", name, arn, err)
		}
	}
}

// CreateTargetGroup returns the existing target group if one has the same name and settings. That one
// may belong to another owner, and be in use.
func TestATargetGroupThatIsThereAndInUse(t *testing.T) {
	for name, c := range map[string]struct {
		ours, used bool
		class      error
		written    bool
	}{
		"ours and in use":   {true, true, nil, true},
		"theirs and in use": {false, true, providers.ErrRejected, false},
		"new":               {false, false, nil, false},
	} {
		c2 := newTrial(t)
		var tags map[string]string
		if c.ours {
			tags = tagsOf(c2.API, key, created)
		}
		c2.addGroup(arnOf(created), c2.TargetGroupName(key, created), tags)
		awscalls.On(&c2.aws, func(*elbapi.CreateTargetGroupInput) (*elbapi.CreateTargetGroupOutput, error) {
			g := c2.groups[arnOf(created)]
			if c.used {
				g.LoadBalancerArns = []string{"arn:loadbalancer/1"}
			}
			return &elbapi.CreateTargetGroupOutput{TargetGroups: []elb.TargetGroup{g}}, nil
		})
		_, err := c2.Create(t.Context(), seen, wanted(nil))
		awscalls.ExpectError(t, name, err, c.class)
		awscalls.Expect(t, name+": it is written", slices.Contains(c2.aws.Calls(), "ModifyTargetGroup"), c.written)
	}
}

func TestATargetGroupThatCannotBeCreated(t *testing.T) {
	c := newTrial(t)
	for code, class := range map[string]error{"TooManyTargetGroups": providers.ErrNoRoom, "DuplicateTargetGroupName": nil} {
		awscalls.On(&c.aws, func(*elbapi.CreateTargetGroupInput) (*elbapi.CreateTargetGroupOutput, error) {
			return nil, awscalls.Refused(code, "no")
		})
		result, err := c.Create(t.Context(), seen, wanted(nil))
		if err == nil || class != nil && !errors.Is(err, class) || result.Handle != "" {
			t.Errorf("%s: %v, %v", code, result, err)
		}
	}
	for name, out := range map[string]*elbapi.CreateTargetGroupOutput{"nothing": {}, "no ARN": {TargetGroups: []elb.TargetGroup{{}}}} {
		awscalls.On(&c.aws, func(*elbapi.CreateTargetGroupInput) (*elbapi.CreateTargetGroupOutput, error) { return out, nil })
		if _, err := c.Create(t.Context(), seen, wanted(nil)); err == nil {
			t.Errorf("%s is answered, and there is no error", name)
		}
	}
	denied := newTrial(t)
	denied.ports = nil
	for name, do := range map[string]func() error{
		"creating": func() error { _, err := denied.Create(t.Context(), seen, wanted(nil)); return err },
		"changing": func() error { g := wanted(nil); g.ID = web; return denied.Modify(t.Context(), seen, g) },
	} {
		deny(denied)
		awscalls.ExpectError(t, name, do(), providers.ErrDenied)
		if calls := denied.aws.Calls(); slices.Contains(calls, "CreateTargetGroup") || slices.Contains(calls, "ModifyTargetGroup") {
			t.Errorf("%s goes on with closed ports: %q", name, calls)
		}
	}
}

// A health check has its port open as long as it is there.
func TestThePortOfAHealthCheckStaysOpen(t *testing.T) {
	for name, do := range map[string]func(c *trial) error{
		"created": func(c *trial) error { _, err := c.Create(c.t.Context(), seen, wanted(nil)); return err },
		"changed": func(c *trial) error { g := wanted(nil); g.ID = web; return c.Modify(c.t.Context(), seen, g) },
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newTrial(t)
			awscalls.ExpectError(t, name, do(c), nil)
			awscalls.ExpectError(t, name, c.nodes.ReleasePorts(t.Context(), []int32{8081}), nil)
			time.Sleep(2 * time.Hour)
			c.aws.Calls()
			awscalls.ExpectError(t, name, c.nodes.ReleasePorts(t.Context(), nil), nil)
			awscalls.Expect(t, name+": calls to close the port", c.aws.Calls(), nil)
		})
	}
}

func TestPortsInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTrial(t)
		g := c.groups[arnOf(web)]
		g.HealthCheckPort = aws.String("8081")
		c.groups[arnOf(web)] = g
		c.health[arnOf(web)] = []lb.TargetHealth{member("10.0.0.1", lb.HealthDraining)}
		const theirs, elsewhere, unnamed = "arn:targetgroup/theirs", "arn:targetgroup/elsewhere", "arn:targetgroup/unnamed"
		c.addGroup(theirs, client.NamePrefix+"theirs", map[string]string{client.TagInstallation: "another"})
		c.addGroup(elsewhere, client.NamePrefix+"elsewhere", c.tags[arnOf(web)])
		g = c.groups[elsewhere]
		g.VpcId = aws.String("vpc-2")
		c.groups[elsewhere] = g
		c.addGroup(unnamed, "theirs", c.tags[arnOf(web)])
		const taken, stranger = "arn:targetgroup/taken", "arn:targetgroup/stranger" // neither has our name
		for arn, of := range map[string]string{taken: "arn:loadbalancer/shares", stranger: "arn:loadbalancer/another"} {
			c.addGroup(arn, "k8s-web", nil)
			g = c.groups[arn]
			g.LoadBalancerArns = []string{of}
			c.groups[arn] = g
		}
		c.health[taken] = []lb.TargetHealth{{Target: lb.Target{Address: "10.0.0.1", Port: 4}}}
		c.health[stranger] = []lb.TargetHealth{{Target: lb.Target{Address: "10.0.0.1", Port: 5}}}
		for i, arn := range []string{theirs, elsewhere, unnamed} {
			c.health[arn] = []lb.TargetHealth{{Target: lb.Target{Address: "10.0.0.1", Port: int32(i + 1)}}}
		}
		used := func(about string, want map[int32]bool, class error) {
			t.Helper()
			got, err := c.PortsInUse(t.Context(), "sg-shared")
			awscalls.ExpectError(t, about, err, class)
			awscalls.Expect(t, about, got, want)
		}
		used("ours", map[int32]bool{4: true, 8080: true, 8081: true}, nil)
		refuse := func(code string) func() error {
			return func() error { return awscalls.Refused(code, "no") }
		}
		tags := func(answer func() error) {
			awscalls.On(&c.aws, func(*elbapi.DescribeTagsInput) (*elbapi.DescribeTagsOutput, error) { return nil, answer() })
		}
		tags(refuse("TargetGroupNotFound"))
		used("tags of one that is gone", map[int32]bool{1: true, 4: true, 8080: true, 8081: true}, nil)
		tags(refuse("AccessDenied"))
		used("tags that are denied", nil, providers.ErrDenied)
		c.answerGroups()
		awscalls.On(&c.aws, func(*elbapi.DescribeTargetHealthInput) (*elbapi.DescribeTargetHealthOutput, error) {
			return nil, awscalls.Refused("TargetGroupNotFound", "gone")
		})
		used("members of one that is gone", map[int32]bool{8081: true}, nil)
		awscalls.On(&c.aws, func(*elbapi.DescribeTargetHealthInput) (*elbapi.DescribeTargetHealthOutput, error) {
			return nil, awscalls.Refused("AccessDenied", "no")
		})
		used("members that are denied", nil, providers.ErrDenied)
		awscalls.On(&c.aws, func(*elbapi.DescribeTargetGroupsInput) (*elbapi.DescribeTargetGroupsOutput, error) {
			return nil, awscalls.Refused("AccessDenied", "no")
		})
		used("target groups that are denied", nil, providers.ErrDenied)
	})
}

// Few target groups are read at once.
func TestPortsAreReadFewAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTrial(t)
		for i := range 2*client.ParallelReads - 1 {
			c.addGroup(fmt.Sprint("arn:targetgroup/", i), client.NamePrefix, c.tags[arnOf(web)])
		}
		awscalls.On(&c.aws, func(*elbapi.DescribeTargetHealthInput) (*elbapi.DescribeTargetHealthOutput, error) {
			time.Sleep(time.Second)
			return &elbapi.DescribeTargetHealthOutput{}, nil
		})
		began := time.Now()
		_, err := c.PortsInUse(t.Context(), "sg-shared")
		awscalls.ExpectError(t, "reading", err, nil)
		awscalls.Expect(t, "time", time.Since(began), 2*time.Second)
	})
}

// A wait for a healthy target asks less and less, until there is one or the target group is gone.
func TestTheWaitForAHealthyTarget(t *testing.T) {
	for name, end := range map[string]func(*trial) error{
		"it is healthy": func(c *trial) error {
			c.health[arnOf(web)] = []lb.TargetHealth{member("10.0.0.1", lb.HealthHealthy)}
			return c.AwaitHealthy(c.t.Context(), key, web)
		},
		"it is deleted": func(c *trial) error {
			g := c.groups[arnOf(web)]
			err := c.Delete(c.t.Context(), withGroup(), web)
			c.groups[arnOf(web)] = g
			return err
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newTrial(t)
			c.health[arnOf(web)] = []lb.TargetHealth{member("10.0.0.1", "initial")}
			asks := func() bool {
				c.aws.Calls()
				awscalls.ExpectError(t, name, c.AwaitHealthy(t.Context(), key, web), providers.ErrPending)
				return slices.Contains(c.aws.Calls(), "DescribeTargetHealth")
			}
			awscalls.Expect(t, "asked at once", asks(), true)
			awscalls.Expect(t, "asked again at once", asks(), false)
			time.Sleep(healthWait)
			awscalls.Expect(t, "asked after the first wait", asks(), true)
			time.Sleep(healthWait * 3 / 2)
			awscalls.ExpectError(t, name, end(c), nil)
			c.health[arnOf(web)] = nil
			awscalls.Expect(t, "asked in the end", asks(), true)
			time.Sleep(healthWait)
			awscalls.Expect(t, "asked after the first wait in the end", asks(), true)
		})
	}
}

// withGroup is a load balancer with the target group "web".
func withGroup() *lb.Observed {
	return &lb.Observed{Key: key, TargetGroups: []lb.ObservedTargetGroup{{TargetGroup: lb.TargetGroup{ID: web}, Handle: arnOf(web)}}}
}

// The ports of a target group that is deleted are closed an hour later.
func TestThePortsOfADeletedTargetGroupAreReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTrial(t)
		awscalls.ExpectError(t, "registering", c.SetTargets(t.Context(), key, web, pods("10.0.0.1")), nil)
		awscalls.Expect(t, "ports of its members", c.PortsOf(withGroup()), []int32{8080})
		awscalls.ExpectError(t, "deleting", c.Delete(t.Context(), withGroup(), web), nil)
		awscalls.Expect(t, "known", len(c.arns)+len(c.members), 0)
		time.Sleep(time.Hour)
		awscalls.Expect(t, "open", c.ports, []int32{8080})
		awscalls.ExpectError(t, "releasing", c.nodes.ReleasePorts(t.Context(), nil), nil)
		awscalls.Expect(t, "open later", len(c.ports), 0)
		awscalls.ExpectError(t, "deleting what is not there", c.Delete(t.Context(), seen, web), nil)
	})
}

// Those that rules name are read, those of ours that the index of tags lists, and those that this
// process has made. One that is gone keeps none of the others from being read.
func TestTargetGroupsThatAreRead(t *testing.T) {
	const used, gone, listed = "arn:targetgroup/used", "arn:targetgroup/gone", "arn:aws:elasticloadbalancing:eu-west-1:1:targetgroup/listed"
	balancer := &elb.LoadBalancer{LoadBalancerArn: aws.String("arn:loadbalancer/1")}
	for name, c := range map[string]struct {
		balancer *elb.LoadBalancer
		attached bool
		known    []string
		want     []string
		denied   bool
	}{
		"no load balancer":            {nil, false, nil, []string{listed}, false},
		"a load balancer without one": {balancer, false, nil, []string{listed}, false},
		"one that rules name":         {balancer, true, nil, []string{used, listed}, false},
		"one that is known":           {balancer, true, []string{arnOf(web), used}, []string{used, listed, arnOf(web)}, false},
		"one that is gone":            {balancer, true, []string{arnOf(web), gone}, []string{used, listed, arnOf(web)}, false},
		"only one that is gone":       {nil, false, []string{gone}, []string{listed}, false},
		"denied":                      {balancer, true, nil, nil, true},
		"denied, of no load balancer": {nil, true, nil, nil, true},
	} {
		c2 := newTrial(t)
		c2.addGroup(used, "used", nil)
		c2.addGroup(listed, "listed", nil)
		if g := c2.groups[used]; c.attached {
			g.LoadBalancerArns = []string{"arn:loadbalancer/1"}
			c2.groups[used] = g
		}
		for _, arn := range c.known {
			c2.arns[groupName{key, lb.GroupID(arn + "/id")}] = []string{arn}
		}
		if c.denied {
			awscalls.On(&c2.aws, func(*elbapi.DescribeTargetGroupsInput) (*elbapi.DescribeTargetGroupsOutput, error) {
				return nil, awscalls.Refused("AccessDenied", "no")
			})
		}
		l := c2.lookAt(key)
		l.Balancer = c.balancer
		err := c2.Read(t.Context(), l, map[string]map[string]string{listed: nil, "arn:aws:elasticloadbalancing:eu-west-1:1:loadbalancer/1": nil})
		var got []string
		for _, g := range l.Groups {
			got = append(got, aws.ToString(g.TargetGroupArn))
		}
		slices.Sort(got)
		awscalls.Expect(t, name, got, slices.Sorted(slices.Values(c.want)))
		if (err != nil) != c.denied {
			t.Errorf("%s: %v", name, err)
		}
		awscalls.Expect(t, name+": what is gone is known", c2.Has(key, gone), false)
	}
}

// One that is gone fails the call about it and others. Then each is asked for, and the first
// refusal ends that.
func TestARefusalWhileEachIsAskedFor(t *testing.T) {
	c := newTrial(t)
	awscalls.On(&c.aws, func(in *elbapi.DescribeTargetGroupsInput) (*elbapi.DescribeTargetGroupsOutput, error) {
		if len(in.TargetGroupArns) > 1 {
			return nil, awscalls.Refused("TargetGroupNotFound", "one of them")
		}
		return nil, awscalls.Refused("AccessDenied", "no")
	})
	_, err := c.describeExisting(t.Context(), []string{"a", "b"})
	awscalls.ExpectError(t, "asking for each", err, providers.ErrDenied)
	awscalls.Expect(t, "calls", len(c.aws.Calls()), 2)
}

// A deep look computes the digest of the live settings, where there are any.
func TestATargetGroupAsItIsObserved(t *testing.T) {
	c := newTrial(t)
	arn := arnOf(web)
	for name, w := range map[string]struct {
		deep, assumed     bool
		tag               string
		computed          bool
		health            []lb.HealthState
		registered, ready bool
	}{
		"not deep":             {tag: "v1:01"},
		"deep":                 {deep: true, tag: "v1:01", computed: true},
		"deep and not written": {deep: true},
		"deep and not read":    {deep: true, tag: "v1:01", assumed: true},
		"a draining member":    {health: []lb.HealthState{lb.HealthDraining}},
		"an unhealthy member":  {health: []lb.HealthState{"unhealthy"}, registered: true},
		"a healthy member":     {health: []lb.HealthState{lb.HealthHealthy}, registered: true, ready: true},
	} {
		c.tags[arn][client.TagDigest] = w.tag
		l := c.lookAt(key, arn)
		l.Deep, l.Assumed = w.deep, map[string]bool{arn: w.assumed}
		for _, state := range w.health {
			l.Health[arn] = append(l.Health[arn], member("10.0.0.1", state))
		}
		got := c.ToObserved(l, l.Groups[0])
		want := lb.Digest(w.tag)
		if w.computed {
			want = lb.DigestOf(SettingsOf(l, l.Groups[0]))
		}
		awscalls.Expect(t, name+": the digest", got.Digest, want)
		awscalls.Expect(t, name, []bool{got.Registered, got.Ready}, []bool{w.registered, w.ready})
	}
}
