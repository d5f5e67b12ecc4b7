package network

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/aws/smithy-go/middleware"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/providers/aws/look"
	"fairlead.dev/fairlead/test/awscalls"
)

// This file is an account with a VPC, of which a test changes the answers.

const key lb.Key = "fairlead/shop/web/internal"

var (
	denied    = awscalls.Refused("UnauthorizedOperation", "no")
	duplicate = awscalls.Refused("InvalidPermission.Duplicate", "no")
)

// A trial is the network of an account, and what keeps it.
type trial struct {
	aws      awscalls.Answers
	refuse   map[string]error // calls, by their names
	security *SecurityGroups
	subnets  *Subnets
	nodes    *Nodes
	groups   []ec2types.SecurityGroup
	unlisted []look.Grant // rules that are there and not listed yet
	// stillListed are rules that are not there any more, and still listed.
	stillListed []look.Grant
	there       []ec2types.Subnet
	tables      []ec2types.RouteTable
	serial      int
	members     []lb.TargetHealth // of all target groups
	used        map[int32]bool    // ports
	balancer    []elb.LoadBalancer
}

func (c *trial) AllMembers(yield func(lb.TargetHealth) bool) {
	for _, m := range c.members {
		if !yield(m) {
			return
		}
	}
}

func (c *trial) PortsInUse(context.Context, string) (map[int32]bool, error) {
	return c.used, c.refuse["PortsInUse"]
}

func newTrial() *trial {
	c := &trial{refuse: map[string]error{}}
	made, config := client.NewRecent(0, nil), c.aws.Config()
	config.APIOptions = append([]func(*middleware.Stack) error{made.AddTo}, config.APIOptions...)
	cloud, api := ec2.NewFromConfig(config), elbapi.NewFromConfig(config)
	c.security = NewSecurityGroups(client.Owner{Installation: "test"}, cloud, "vpc-1", made)
	c.subnets = NewSubnets(cloud, "vpc-1", "eu-west-1")
	c.nodes = NewNodes(api, c.security, "shop", false, c)
	c.answerGroups()
	c.answerRules()
	c.answerSubnets()
	awscalls.On(&c.aws, func(in *elbapi.DescribeLoadBalancersInput) (*elbapi.DescribeLoadBalancersOutput, error) {
		return &elbapi.DescribeLoadBalancersOutput{LoadBalancers: c.balancer}, c.refuse["DescribeLoadBalancers"]
	})
	return c
}

// addGroup adds a security group with tags.
func (c *trial) addGroup(id, name string, tags map[string]string) {
	c.groups = append(c.groups, ec2types.SecurityGroup{GroupId: aws.String(id), GroupName: aws.String(name), Tags: ec2Tags(tags)})
}

// group returns a security group.
func (c *trial) group(id string) *ec2types.SecurityGroup {
	at := slices.IndexFunc(c.groups, func(g ec2types.SecurityGroup) bool { return aws.ToString(g.GroupId) == id })
	if at < 0 {
		return nil
	}
	return &c.groups[at]
}

// fits reports whether a security group passes a filter.
func fits(g ec2types.SecurityGroup, f ec2types.Filter) bool {
	switch name := aws.ToString(f.Name); {
	case name == "group-name":
		return slices.ContainsFunc(f.Values, func(v string) bool {
			fits, err := path.Match(v, aws.ToString(g.GroupName))
			return err == nil && fits
		})
	case name == "tag-key":
		return hasTag(g.Tags, f.Values[0], "")
	case strings.HasPrefix(name, "tag:"):
		return hasTag(g.Tags, strings.TrimPrefix(name, "tag:"), f.Values[0])
	}
	return true
}

func (c *trial) answerGroups() {
	awscalls.On(&c.aws, func(in *ec2.DescribeSecurityGroupsInput) (*ec2.DescribeSecurityGroupsOutput, error) {
		out := &ec2.DescribeSecurityGroupsOutput{}
		for _, g := range c.groups {
			fit := !slices.ContainsFunc(in.Filters, func(f ec2types.Filter) bool { return !fits(g, f) })
			if fit && (in.GroupIds == nil || slices.Contains(in.GroupIds, aws.ToString(g.GroupId))) {
				g.IpPermissions = slices.Clone(g.IpPermissions)
				for _, gone := range c.stillListed {
					g.IpPermissions = append(g.IpPermissions, gone.Permission())
				}
				out.SecurityGroups = append(out.SecurityGroups, g)
			}
		}
		return out, c.refuse["DescribeSecurityGroups"]
	})
	awscalls.On(&c.aws, func(in *ec2.CreateSecurityGroupInput) (*ec2.CreateSecurityGroupOutput, error) {
		if err := c.refuse["CreateSecurityGroup"]; err != nil {
			return nil, err
		}
		for _, g := range c.groups {
			if aws.ToString(g.GroupName) == aws.ToString(in.GroupName) {
				return nil, awscalls.Refused("InvalidGroup.Duplicate", "no")
			}
		}
		c.serial++
		id := fmt.Sprint("sg-new", c.serial)
		c.groups = append(c.groups, ec2types.SecurityGroup{GroupId: aws.String(id), GroupName: in.GroupName, Tags: in.TagSpecifications[0].Tags})
		return &ec2.CreateSecurityGroupOutput{GroupId: aws.String(id)}, nil
	})
	awscalls.On(&c.aws, func(in *ec2.DeleteSecurityGroupInput) (*ec2.DeleteSecurityGroupOutput, error) {
		if c.refuse["DeleteSecurityGroup"] == nil {
			c.groups = slices.DeleteFunc(c.groups, func(g ec2types.SecurityGroup) bool { return aws.ToString(g.GroupId) == aws.ToString(in.GroupId) })
		}
		return &ec2.DeleteSecurityGroupOutput{}, c.refuse["DeleteSecurityGroup"]
	})
	awscalls.On(&c.aws, func(in *ec2.CreateTagsInput) (*ec2.CreateTagsOutput, error) {
		g := c.group(in.Resources[0])
		for _, tag := range in.Tags {
			g.Tags = append(slices.DeleteFunc(g.Tags, func(t ec2types.Tag) bool { return *t.Key == *tag.Key }), tag)
		}
		return &ec2.CreateTagsOutput{}, c.refuse["CreateTags"]
	})
	awscalls.On(&c.aws, func(in *ec2.DeleteTagsInput) (*ec2.DeleteTagsOutput, error) {
		g := c.group(in.Resources[0])
		for _, tag := range in.Tags {
			g.Tags = slices.DeleteFunc(g.Tags, func(t ec2types.Tag) bool { return *t.Key == *tag.Key })
		}
		return &ec2.DeleteTagsOutput{}, c.refuse["DeleteTags"]
	})
}

// same reports whether two rules are one.
func same(a, b ec2types.IpPermission) bool {
	return fmt.Sprint(aws.ToInt32(a.FromPort), aws.ToInt32(a.ToPort), sources(a)) == fmt.Sprint(aws.ToInt32(b.FromPort), aws.ToInt32(b.ToPort), sources(b))
}

func sources(p ec2types.IpPermission) (out []string) {
	for _, r := range p.IpRanges {
		out = append(out, aws.ToString(r.CidrIp))
	}
	for _, u := range p.UserIdGroupPairs {
		out = append(out, aws.ToString(u.GroupId))
	}
	return out
}

// answerRules changes rules. AWS adds none where one of them is there, and revokes none where one
// of them is not
// (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_RevokeSecurityGroupIngress.html).
func (c *trial) answerRules() {
	awscalls.On(&c.aws, func(in *ec2.AuthorizeSecurityGroupIngressInput) (*ec2.AuthorizeSecurityGroupIngressOutput, error) {
		if err := c.refuse["AuthorizeSecurityGroupIngress"]; err != nil {
			return nil, err
		}
		g := c.group(aws.ToString(in.GroupId))
		for _, p := range in.IpPermissions {
			hidden := slices.ContainsFunc(c.unlisted, func(u look.Grant) bool { return same(u.Permission(), p) })
			if hidden || slices.ContainsFunc(g.IpPermissions, func(there ec2types.IpPermission) bool { return same(there, p) }) {
				return nil, duplicate
			}
		}
		g.IpPermissions = append(g.IpPermissions, in.IpPermissions...)
		return &ec2.AuthorizeSecurityGroupIngressOutput{}, nil
	})
	awscalls.On(&c.aws, func(in *ec2.RevokeSecurityGroupIngressInput) (*ec2.RevokeSecurityGroupIngressOutput, error) {
		if err := c.refuse["RevokeSecurityGroupIngress"]; err != nil {
			return nil, err
		}
		g := c.group(aws.ToString(in.GroupId))
		for _, p := range in.IpPermissions {
			if !slices.ContainsFunc(g.IpPermissions, func(there ec2types.IpPermission) bool { return same(there, p) }) {
				return nil, awscalls.Refused("InvalidPermission.NotFound", "no")
			}
		}
		g.IpPermissions = slices.DeleteFunc(g.IpPermissions, func(there ec2types.IpPermission) bool {
			return slices.ContainsFunc(in.IpPermissions, func(p ec2types.IpPermission) bool { return same(there, p) })
		})
		return &ec2.RevokeSecurityGroupIngressOutput{}, nil
	})
}

func (c *trial) answerSubnets() {
	awscalls.On(&c.aws, func(*ec2.DescribeSubnetsInput) (*ec2.DescribeSubnetsOutput, error) {
		return &ec2.DescribeSubnetsOutput{Subnets: c.there}, c.refuse["DescribeSubnets"]
	})
	awscalls.On(&c.aws, func(*ec2.DescribeRouteTablesInput) (*ec2.DescribeRouteTablesOutput, error) {
		return &ec2.DescribeRouteTablesOutput{RouteTables: c.tables}, c.refuse["DescribeRouteTables"]
	})
}

// count returns how often a call was made since the last time.
func (c *trial) count(call string) int {
	return len(slices.DeleteFunc(c.aws.Calls(), func(made string) bool { return made != call }))
}

// awsOnce answers that rules are there the first time, and denies them then.
func awsOnce(c *trial, called func()) {
	answer := duplicate
	awscalls.On(&c.aws, func(*ec2.AuthorizeSecurityGroupIngressInput) (*ec2.AuthorizeSecurityGroupIngressOutput, error) {
		called()
		defer func() { answer = denied }()
		return nil, answer
	})
}
