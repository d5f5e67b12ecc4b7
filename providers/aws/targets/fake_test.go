package targets

import (
	"context"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/aws/account"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/providers/aws/network"
	"fairlead.dev/fairlead/test/awscalls"
)

// This file is an account with target groups, of which a test changes the answers.

const (
	key   lb.Key     = "fairlead/shop/web/internal"
	other lb.Key     = "fairlead/shop/other/internal"
	web   lb.GroupID = "shop/web:80"
	vpc              = "vpc-1"
)

// A trial is a store and the account that it works in.
type trial struct {
	*Store
	t      *testing.T
	aws    awscalls.Answers
	groups map[string]elb.TargetGroup // by ARN
	tags   map[string]map[string]string
	health map[string][]lb.TargetHealth
	ports  []int32 // that the nodes admit
	// registered and deregistered are the targets of each call; refused decides on these.
	registered, deregistered [][]string
	refused                  func(addresses []string) error
}

// newTrial returns a trial with the target group "web".
func newTrial(t *testing.T) *trial {
	c := &trial{t: t, groups: map[string]elb.TargetGroup{}, tags: map[string]map[string]string{}, health: map[string][]lb.TargetHealth{}}
	api := client.API{Owner: client.Owner{Installation: "test"}, ELB: elbapi.NewFromConfig(c.aws.Config())}
	cloud := ec2.NewFromConfig(c.aws.Config())
	security := network.NewSecurityGroups(api.Owner, cloud, vpc, client.NewRecent(0, nil))
	nets := network.NewSubnets(cloud, vpc, "eu-west-1")
	nodes := network.NewNodes(api.ELB, security, "shop", false, (*targetsOf)(c))
	c.Store = New(api, vpc, account.NewLimits(api.ELB), nets, nodes, func(_ context.Context, _ *lb.Observed, _ string, remove func() error) error {
		return remove()
	})
	c.addGroup(arnOf(web), api.TargetGroupName(key, web), tagsOf(api, key, web))
	c.answerGroups()
	c.answerMembers()
	c.answerNodes()
	return c
}

// targetsOf lets the nodes ask the store, which has the nodes.
type targetsOf trial

func (c *targetsOf) AllMembers(yield func(lb.TargetHealth) bool) { c.Store.AllMembers(yield) }
func (c *targetsOf) PortsInUse(ctx context.Context, shared string) (map[int32]bool, error) {
	return c.Store.PortsInUse(ctx, shared)
}

func arnOf(id lb.GroupID) string { return "arn:targetgroup/" + string(id) }

func tagsOf(api client.API, key lb.Key, id lb.GroupID) map[string]string {
	tags := api.Owned(key, nil)
	tags[client.TagGroup] = string(id)
	return tags
}

// addGroup adds a target group of the VPC to the account.
func (c *trial) addGroup(arn, name string, tags map[string]string) {
	c.groups[arn] = elb.TargetGroup{TargetGroupArn: aws.String(arn), TargetGroupName: aws.String(name), VpcId: aws.String(vpc)}
	c.tags[arn] = tags
}

// answerGroups answers about target groups and tags.
func (c *trial) answerGroups() {
	awscalls.On(&c.aws, func(in *elbapi.DescribeTargetGroupsInput) (*elbapi.DescribeTargetGroupsOutput, error) {
		out := &elbapi.DescribeTargetGroupsOutput{}
		for arn, g := range c.groups {
			named := in.Names == nil || slices.Contains(in.Names, aws.ToString(g.TargetGroupName))
			attached := in.LoadBalancerArn == nil || slices.Contains(g.LoadBalancerArns, *in.LoadBalancerArn)
			if named && attached && (in.TargetGroupArns == nil || slices.Contains(in.TargetGroupArns, arn)) {
				out.TargetGroups = append(out.TargetGroups, g)
			}
		}
		asked := len(in.Names) + len(in.TargetGroupArns)
		if asked > len(out.TargetGroups) || in.LoadBalancerArn != nil && len(out.TargetGroups) == 0 {
			return nil, awscalls.Refused("TargetGroupNotFound", "not found")
		}
		return out, nil
	})
	awscalls.On(&c.aws, func(*elbapi.DescribeLoadBalancersInput) (*elbapi.DescribeLoadBalancersOutput, error) {
		return &elbapi.DescribeLoadBalancersOutput{LoadBalancers: []elb.LoadBalancer{
			{LoadBalancerArn: aws.String("arn:loadbalancer/shares"), SecurityGroups: []string{"sg-1", "sg-shared"}},
			{LoadBalancerArn: aws.String("arn:loadbalancer/another"), SecurityGroups: []string{"sg-1"}},
		}}, nil
	})
	awscalls.On(&c.aws, func(in *elbapi.DescribeTagsInput) (*elbapi.DescribeTagsOutput, error) {
		out := &elbapi.DescribeTagsOutput{}
		for _, arn := range in.ResourceArns {
			if _, there := c.groups[arn]; !there {
				return nil, awscalls.Refused("TargetGroupNotFound", "not found")
			}
			out.TagDescriptions = append(out.TagDescriptions, elb.TagDescription{ResourceArn: aws.String(arn), Tags: client.ELBTags(c.tags[arn])})
		}
		return out, nil
	})
	awscalls.On(&c.aws, func(in *elbapi.AddTagsInput) (*elbapi.AddTagsOutput, error) {
		for _, tag := range in.Tags {
			c.tags[in.ResourceArns[0]][aws.ToString(tag.Key)] = aws.ToString(tag.Value)
		}
		return &elbapi.AddTagsOutput{}, nil
	})
	awscalls.On(&c.aws, func(in *elbapi.CreateTargetGroupInput) (*elbapi.CreateTargetGroupOutput, error) {
		tags := map[string]string{}
		for _, tag := range in.Tags {
			tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
		}
		arn := arnOf(lb.GroupID(tags[client.TagGroup]))
		if _, there := c.groups[arn]; there {
			return nil, awscalls.Refused("DuplicateTargetGroupName", "another one has the name")
		}
		c.addGroup(arn, aws.ToString(in.Name), tags)
		return &elbapi.CreateTargetGroupOutput{TargetGroups: []elb.TargetGroup{c.groups[arn]}}, nil
	})
	awscalls.On(&c.aws, func(*elbapi.ModifyTargetGroupInput) (*elbapi.ModifyTargetGroupOutput, error) {
		return &elbapi.ModifyTargetGroupOutput{}, nil
	})
	awscalls.On(&c.aws, func(*elbapi.ModifyTargetGroupAttributesInput) (*elbapi.ModifyTargetGroupAttributesOutput, error) {
		return &elbapi.ModifyTargetGroupAttributesOutput{}, nil
	})
	awscalls.On(&c.aws, func(in *elbapi.DeleteTargetGroupInput) (*elbapi.DeleteTargetGroupOutput, error) {
		delete(c.groups, aws.ToString(in.TargetGroupArn))
		return &elbapi.DeleteTargetGroupOutput{}, nil
	})
}

// answerMembers answers about the members of target groups.
func (c *trial) answerMembers() {
	awscalls.On(&c.aws, func(in *elbapi.DescribeTargetHealthInput) (*elbapi.DescribeTargetHealthOutput, error) {
		if _, there := c.groups[aws.ToString(in.TargetGroupArn)]; !there {
			return nil, awscalls.Refused("TargetGroupNotFound", "not found")
		}
		out := &elbapi.DescribeTargetHealthOutput{}
		for _, h := range c.health[aws.ToString(in.TargetGroupArn)] {
			out.TargetHealthDescriptions = append(out.TargetHealthDescriptions, elb.TargetHealthDescription{
				Target:       &elb.TargetDescription{Id: aws.String(h.Target.Address), Port: aws.Int32(h.Target.Port)},
				TargetHealth: &elb.TargetHealth{State: elb.TargetHealthStateEnum(h.State)},
			})
		}
		return out, nil
	})
	awscalls.On(&c.aws, func(in *elbapi.RegisterTargetsInput) (*elbapi.RegisterTargetsOutput, error) {
		c.registered = append(c.registered, described(in.Targets))
		if c.refused != nil {
			if err := c.refused(described(in.Targets)); err != nil {
				return nil, err
			}
		}
		c.leave(in.TargetGroupArn, in.Targets)
		for _, d := range in.Targets {
			h := lb.TargetHealth{Target: lb.Target{Address: aws.ToString(d.Id), Port: aws.ToInt32(d.Port)}, State: "initial"}
			c.health[aws.ToString(in.TargetGroupArn)] = append(c.health[aws.ToString(in.TargetGroupArn)], h)
		}
		return &elbapi.RegisterTargetsOutput{}, nil
	})
	awscalls.On(&c.aws, func(in *elbapi.DeregisterTargetsInput) (*elbapi.DeregisterTargetsOutput, error) {
		c.deregistered = append(c.deregistered, described(in.Targets))
		c.leave(in.TargetGroupArn, in.Targets)
		return &elbapi.DeregisterTargetsOutput{}, nil
	})
}

// leave takes targets out of a target group.
func (c *trial) leave(arn *string, targets []elb.TargetDescription) {
	c.health[aws.ToString(arn)] = slices.DeleteFunc(c.health[aws.ToString(arn)], func(h lb.TargetHealth) bool {
		return slices.ContainsFunc(targets, func(d elb.TargetDescription) bool { return aws.ToString(d.Id) == h.Target.Address })
	})
}

// described returns the addresses of targets, each with its zone where it has one.
func described(targets []elb.TargetDescription) []string {
	var out []string
	for _, t := range targets {
		text := aws.ToString(t.Id)
		if t.AvailabilityZone != nil {
			text += " " + *t.AvailabilityZone
		}
		out = append(out, text)
	}
	return out
}

// answerNodes answers about subnets and the security groups of the nodes.
func (c *trial) answerNodes() {
	awscalls.On(&c.aws, func(*ec2.DescribeSubnetsInput) (*ec2.DescribeSubnetsOutput, error) {
		return &ec2.DescribeSubnetsOutput{Subnets: []ec2types.Subnet{{SubnetId: aws.String("subnet-1"), CidrBlock: aws.String("10.0.0.0/16")}}}, nil
	})
	awscalls.On(&c.aws, func(in *ec2.DescribeSecurityGroupsInput) (*ec2.DescribeSecurityGroupsOutput, error) {
		g := ec2types.SecurityGroup{GroupId: aws.String("sg-shared")}
		if slices.ContainsFunc(in.Filters, func(f ec2types.Filter) bool { return aws.ToString(f.Name) == "tag-key" }) {
			g.GroupId = aws.String("sg-nodes")
			for _, port := range c.ports {
				g.IpPermissions = append(g.IpPermissions, permission(port))
			}
		}
		return &ec2.DescribeSecurityGroupsOutput{SecurityGroups: []ec2types.SecurityGroup{g}}, nil
	})
	awscalls.On(&c.aws, func(in *ec2.AuthorizeSecurityGroupIngressInput) (*ec2.AuthorizeSecurityGroupIngressOutput, error) {
		for _, p := range in.IpPermissions {
			c.ports = append(c.ports, aws.ToInt32(p.FromPort))
		}
		return &ec2.AuthorizeSecurityGroupIngressOutput{}, nil
	})
	awscalls.On(&c.aws, func(in *ec2.RevokeSecurityGroupIngressInput) (*ec2.RevokeSecurityGroupIngressOutput, error) {
		c.ports = slices.DeleteFunc(c.ports, func(port int32) bool {
			return slices.ContainsFunc(in.IpPermissions, func(p ec2types.IpPermission) bool { return aws.ToInt32(p.FromPort) == port })
		})
		return &ec2.RevokeSecurityGroupIngressOutput{}, nil
	})
}

func permission(port int32) ec2types.IpPermission {
	return ec2types.IpPermission{
		IpProtocol: aws.String("tcp"), FromPort: aws.Int32(port), ToPort: aws.Int32(port),
		UserIdGroupPairs: []ec2types.UserIdGroupPair{{GroupId: aws.String("sg-shared")}},
	}
}

// pods returns targets at addresses, at port 8080.
func pods(addresses ...string) []lb.Target {
	var out []lb.Target
	for _, a := range addresses {
		out = append(out, lb.Target{Address: a, Port: 8080})
	}
	return out
}

func member(address string, state lb.HealthState) lb.TargetHealth {
	return lb.TargetHealth{Target: lb.Target{Address: address, Port: 8080}, State: state}
}
