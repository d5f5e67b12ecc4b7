package targets

import (
	"errors"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/look"
	"fairlead.dev/fairlead/test/awscalls"
)

// This file tests which target groups a store knows.

// lookAt is a look at the load balancer of a key, with target groups.
func (c *trial) lookAt(key lb.Key, arns ...string) *look.Look {
	l := &look.Look{Key: key, Tags: c.tags, Owns: func(tags map[string]string) bool { return c.Owns(key, tags) }, Health: map[string][]lb.TargetHealth{}}
	for _, arn := range arns {
		l.Groups = append(l.Groups, elb.TargetGroup{TargetGroupArn: aws.String(arn)})
	}
	return l
}

// A target group is found by its name once. One that is not ours is refused, unless it was ours
// before: the answer may lack tags.
func TestATargetGroupIsFoundByItsName(t *testing.T) {
	denied := awscalls.Refused("AccessDenied", "no")
	for name, c := range map[string]struct {
		before func(*trial)
		class  error // nil for none, and errAny for any
		calls  []string
	}{
		"ours":            {func(*trial) {}, nil, []string{"DescribeTargetGroups", "DescribeTags"}},
		"somebody else's": {func(c *trial) { c.tags[arnOf(web)] = nil }, providers.ErrRejected, nil},
		"gone":            {func(c *trial) { clear(c.groups) }, errAny, nil},
		"not told": {func(c *trial) {
			awscalls.On(&c.aws, func(*elbapi.DescribeTargetGroupsInput) (*elbapi.DescribeTargetGroupsOutput, error) {
				return &elbapi.DescribeTargetGroupsOutput{}, nil
			})
		}, errAny, nil},
		"without an ARN": {func(c *trial) {
			awscalls.On(&c.aws, func(*elbapi.DescribeTargetGroupsInput) (*elbapi.DescribeTargetGroupsOutput, error) {
				return &elbapi.DescribeTargetGroupsOutput{TargetGroups: []elb.TargetGroup{{}}}, nil
			})
		}, errAny, nil},
		"its tags are denied": {func(c *trial) {
			awscalls.On(&c.aws, func(*elbapi.DescribeTagsInput) (*elbapi.DescribeTagsOutput, error) { return nil, denied })
		}, providers.ErrDenied, nil},
	} {
		c2 := newTrial(t)
		c.before(c2)
		arn, err := c2.ARNFinder(t.Context(), key)(web)
		calls := c2.aws.Calls()
		switch {
		case c.class == nil:
			if arn != arnOf(web) || err != nil || !slices.Equal(calls, c.calls) {
				t.Errorf("%s: %q, %v, after %q", name, arn, err, calls)
			}
			if arn, err := c2.ARNFinder(t.Context(), key)(web); arn != arnOf(web) || err != nil || len(c2.aws.Calls()) > 0 {
				t.Errorf("%s: it is searched again: %q, %v", name, arn, err)
			}
		case err == nil || arn != "" || !errors.Is(c.class, errAny) && !errors.Is(err, c.class):
			t.Errorf("%s: %q, %v", name, arn, err)
		}
	}
}

// errAny stands for any error.
var errAny = errors.New("any")

// A target group that loses its tags is not used any more. Its members stay, and are not refused for
// it.
func TestATargetGroupThatLosesItsTags(t *testing.T) {
	c := newTrial(t)
	c.Learn(c.lookAt(key, arnOf(web)))
	kept := c.tags[arnOf(web)]
	c.tags[arnOf(web)] = nil
	c.Learn(c.lookAt(key, arnOf(web)))
	if _, err := c.ARNFinder(t.Context(), key)(web); err == nil || errors.Is(err, providers.ErrRejected) {
		t.Errorf("without its tags: %v", err)
	}
	for name, l := range map[string]*look.Look{"a look at another load balancer": c.lookAt(other), "one without the tags": c.lookAt(key, arnOf(web))} {
		if c.Learn(l); !c.lostTags(arnOf(web)) && name == "a look at another load balancer" {
			t.Errorf("%s finds the tags", name)
		}
	}
	c.tags[arnOf(web)] = kept
	c.Learn(c.lookAt(key, arnOf(web)))
	if _, err := c.ARNFinder(t.Context(), key)(web); err != nil || c.lostTags(arnOf(web)) {
		t.Errorf("with its tags: %v", err)
	}
	awscalls.Expect(t, "with its tags, it is known as", c.arns, map[groupName][]string{{key, web}: {arnOf(web)}})
}

// A look forgets what is not there any more, and what is another target group by now. What other
// load balancers have stays.
func TestWhatALookKeeps(t *testing.T) {
	const theirs = "arn:targetgroup/theirs"
	ours, moved := arnOf(web), arnOf("shop/new:80")
	for name, c := range map[string]struct {
		arns map[groupName][]string
		look []string
		want map[groupName][]string
		lost bool
	}{
		"a new one":                 {nil, []string{ours}, map[groupName][]string{{key, web}: {ours}}, false},
		"one of others that stays":  {map[groupName][]string{{key, theirs}: {theirs}}, []string{theirs}, map[groupName][]string{{key, theirs}: {theirs}}, false},
		"one of others that leaves": {map[groupName][]string{{key, theirs}: {theirs}}, nil, map[groupName][]string{}, false},
		"ours, which is not listed": {map[groupName][]string{{key, web}: {ours}}, nil, map[groupName][]string{{key, web}: {ours}}, false},
		"ours, with another ID": {
			map[groupName][]string{{key, web}: {moved}}, []string{moved}, map[groupName][]string{{key, "shop/new:80"}: {moved}}, true,
		},
		"those of another load balancer": {
			map[groupName][]string{{other, theirs}: {theirs}, {other, web}: {moved}}, []string{moved},
			map[groupName][]string{{other, theirs}: {theirs}, {other, web}: {moved}, {key, "shop/new:80"}: {moved}}, false,
		},
	} {
		c2 := newTrial(t)
		c2.tags[moved] = tagsOf(c2.API, key, "shop/new:80")
		for n, arns := range c.arns {
			c2.arns[n], c2.members[arns[0]] = arns, membership{}
		}
		c2.Learn(c2.lookAt(key, c.look...))
		awscalls.Expect(t, name, c2.arns, c.want)
		awscalls.Expect(t, name+": lost its tags", c2.lostTags(moved), c.lost)
		if known := len(c2.members); known != len(uniqueARNs(c.want)) {
			t.Errorf("%s: the members of %d target groups are known, want %d", name, known, len(c.want))
		}
	}
}

func uniqueARNs(of map[groupName][]string) map[string]bool {
	out := map[string]bool{}
	for _, arns := range of {
		for _, arn := range arns {
			out[arn] = true
		}
	}
	return out
}

// The members of a target group of others stay known as long as rules name it.
func TestMembersOfOthersStayKnown(t *testing.T) {
	const theirs = "arn:targetgroup/theirs"
	c := newTrial(t)
	c.arns[groupName{key, theirs}] = []string{theirs}
	c.members[theirs] = membership{members: []lb.TargetHealth{member("10.0.0.1", lb.HealthHealthy)}}
	c.Learn(c.lookAt(key, theirs))
	awscalls.Expect(t, "members", len(c.membersOf(theirs).members), 1)
}

// A target group that is not told any more, or has its tags back, counts no longer as one that lost
// them.
func TestHowLongTagsCountAsLost(t *testing.T) {
	for name, c := range map[string]struct {
		of   lb.Key
		look []string
		lost bool
	}{
		"it is there without them":       {key, []string{"arn:targetgroup/bare"}, true},
		"it is gone":                     {key, nil, false},
		"it has them":                    {key, []string{arnOf(web)}, false},
		"it is of another load balancer": {other, nil, true},
	} {
		c2 := newTrial(t)
		arn := "arn:targetgroup/bare"
		if name == "it has them" {
			arn = arnOf(web)
		}
		c2.untagged[arn] = c.of
		c2.Learn(c2.lookAt(key, c.look...))
		awscalls.Expect(t, name, c2.lostTags(arn), c.lost)
	}
}

// The members that an observation has read are returned once without reading them.
func TestMembersAreReturnedOnceAfterAnObservation(t *testing.T) {
	c := newTrial(t)
	c.health[arnOf(web)] = []lb.TargetHealth{member("10.0.0.1", lb.HealthHealthy)}
	for i, read := range []bool{true, true, false, true} {
		if i == 2 {
			c.Learn(c.lookAt(key, arnOf(web)))
		}
		c.aws.Calls()
		got, err := c.Targets(t.Context(), key, web)
		awscalls.Expect(t, "the members", got, c.health[arnOf(web)])
		awscalls.ExpectError(t, "the members", err, nil)
		awscalls.Expect(t, "they are read", slices.Contains(c.aws.Calls(), "DescribeTargetHealth"), read)
	}
}

// Members that were never read are not known after an observation without them.
func TestMembersThatWereNeverReadAreRead(t *testing.T) {
	c := newTrial(t)
	c.health[arnOf(web)] = []lb.TargetHealth{member("10.0.0.1", lb.HealthHealthy)}
	c.Learn(c.lookAt(key, arnOf(web)))
	got, err := c.Targets(t.Context(), key, web)
	awscalls.ExpectError(t, "the members", err, nil)
	awscalls.Expect(t, "the members", got, c.health[arnOf(web)])
}

func TestWhatIsKnownOfALoadBalancer(t *testing.T) {
	const theirs = "arn:targetgroup/theirs"
	c := newTrial(t)
	ours, others := arnOf(web), arnOf("shop/other:80")
	c.arns = map[groupName][]string{{key, web}: {ours}, {key, theirs}: {theirs}, {other, "shop/other:80"}: {others}}
	for _, arn := range []string{ours, theirs, others} {
		c.members[arn] = membership{members: []lb.TargetHealth{member(arn, lb.HealthHealthy), member(arn+"/2", lb.HealthHealthy)}}
	}
	awscalls.Expect(t, "known", c.knownARNs(key), []string{ours})
	for arn, has := range map[string]bool{ours: true, theirs: true, others: false, "arn:targetgroup/unknown": false} {
		awscalls.Expect(t, arn+" is had", c.Has(key, arn), has)
	}
	for arn, id := range map[string]lb.GroupID{ours: web, theirs: theirs, others: lb.GroupID(others)} {
		awscalls.Expect(t, arn+" has the ID", c.IDOf(key, arn), id)
	}
	count := 0
	for range c.AllMembers {
		if count++; count == 3 {
			break
		}
	}
	c.removeMissing(key, []string{ours, others}, []elb.TargetGroup{{TargetGroupArn: aws.String(ours)}})
	awscalls.Expect(t, "after a reading with all", len(c.arns), 3)
	c.removeMissing(key, []string{ours, others}, nil)
	awscalls.Expect(t, "after a reading without it", c.Has(key, ours), false)
	awscalls.Expect(t, "members after it", len(c.members), 2)
	awscalls.Expect(t, "of another load balancer", c.Has(other, others), true)
	awscalls.Expect(t, "one is gone", c.Remove([]string{"arn:targetgroup/unknown", theirs}), true)
	awscalls.Expect(t, "none is gone", c.Remove([]string{"arn:targetgroup/unknown", theirs}), false)
	awscalls.Expect(t, "what is known in the end", c.arns, map[groupName][]string{{other, "shop/other:80"}: {others}})
	awscalls.Expect(t, "members in the end", len(c.members), 1)
	c.setARN(other, "shop/other:80", ours)
	awscalls.Expect(t, "members of one that was made anew", len(c.members), 0)
	c.setARN(other, "shop/other:80", "")
	awscalls.Expect(t, "what is known of one that is gone", len(c.arns), 0)
}
