package balancers

import (
	"fmt"
	"maps"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/aws-sdk-go-v2/service/shield"
	shieldtypes "github.com/aws/aws-sdk-go-v2/service/shield/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/aws/account"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/providers/aws/network"
	"fairlead.dev/fairlead/test/awscalls"
)

// This file is an account with a load balancer, of which a test changes the answers. Security groups
// are left alone.

const (
	key    lb.Key = "fairlead/shop/web/internal"
	named  lb.Key = "fairlead/shop/web/internal=web"
	handle        = "arn:loadbalancer/1"
)

var denied = awscalls.Refused("AccessDenied", "no")

// A trial is a store and the account that it works in.
type trial struct {
	*Store
	aws        awscalls.Answers
	there      *elb.LoadBalancer // nil for none
	tags       map[string]string
	refuse     map[string]error // calls, by their names
	subnets    []string
	attributes map[string]string
	digest     string // with which it was created
	written    string // the subnets and the family that were written last
	ports      []int32
}

func (c *trial) PortsOf(*lb.Observed) []int32 { return c.ports }

func newTrial() *trial {
	c := &trial{tags: map[string]string{}, refuse: map[string]error{}, subnets: []string{"subnet-a", "subnet-b"}, attributes: map[string]string{}}
	api := client.API{Owner: client.Owner{Installation: "test"}, ELB: elbapi.NewFromConfig(c.aws.Config())}
	cloud := ec2.NewFromConfig(c.aws.Config())
	security := network.NewSecurityGroups(api.Owner, cloud, "vpc-1", client.NewRecent(0, nil))
	nodes := network.NewNodes(api.ELB, security, "", true, nil)
	c.Store = New(api, Network{
		Subnets: network.NewSubnets(cloud, "vpc-1", "eu-west-1"), SecurityGroups: security, Nodes: nodes,
		Firewalls: network.NewFirewalls(api.ELB, security, nodes, true, nil),
	}, c, NewShields(api, shield.NewFromConfig(c.aws.Config())), account.NewLimits(api.ELB))
	c.answerBalancers()
	c.answerSettings()
	c.answerNetwork()
	return c
}

// balancer is the load balancer, active or not.
func loadBalancer(state elb.LoadBalancerStateEnum) *elb.LoadBalancer {
	return &elb.LoadBalancer{
		LoadBalancerArn: aws.String(handle), DNSName: aws.String("Web.test"), State: &elb.LoadBalancerState{Code: state}, IpAddressType: elb.IpAddressTypeIpv4,
		AvailabilityZones: []elb.AvailabilityZone{{SubnetId: aws.String("subnet-b")}, {SubnetId: aws.String("subnet-a")}},
	}
}

// own puts a load balancer of a key into the account.
func (c *trial) owned(key lb.Key, tags map[string]string) {
	c.there = loadBalancer(elb.LoadBalancerStateEnumActive)
	c.tags = c.Owned(key, tags)
}

func (c *trial) answerBalancers() {
	awscalls.On(&c.aws, func(*elbapi.DescribeLoadBalancersInput) (*elbapi.DescribeLoadBalancersOutput, error) {
		if c.refuse["DescribeLoadBalancers"] != nil {
			return nil, c.refuse["DescribeLoadBalancers"]
		}
		if c.there == nil {
			return nil, awscalls.Refused("LoadBalancerNotFound", "no")
		}
		return &elbapi.DescribeLoadBalancersOutput{LoadBalancers: []elb.LoadBalancer{*c.there}}, nil
	})
	awscalls.On(&c.aws, func(in *elbapi.CreateLoadBalancerInput) (*elbapi.CreateLoadBalancerOutput, error) {
		if c.refuse["CreateLoadBalancer"] != nil {
			return nil, c.refuse["CreateLoadBalancer"]
		}
		made := c.there
		if made == nil {
			made = loadBalancer(elb.LoadBalancerStateEnumProvisioning)
			c.tags = map[string]string{}
			for _, tag := range in.Tags {
				c.tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
			}
			c.digest = c.tags[client.TagDigest]
			c.there = made
		}
		return &elbapi.CreateLoadBalancerOutput{LoadBalancers: []elb.LoadBalancer{*made}}, nil
	})
	awscalls.On(&c.aws, func(*elbapi.DeleteLoadBalancerInput) (*elbapi.DeleteLoadBalancerOutput, error) {
		return &elbapi.DeleteLoadBalancerOutput{}, c.refuse["DeleteLoadBalancer"]
	})
	awscalls.On(&c.aws, func(*elbapi.DescribeTagsInput) (*elbapi.DescribeTagsOutput, error) {
		return &elbapi.DescribeTagsOutput{TagDescriptions: []elb.TagDescription{{ResourceArn: aws.String(handle), Tags: client.ELBTags(c.tags)}}}, c.refuse["DescribeTags"]
	})
	awscalls.On(&c.aws, func(in *elbapi.AddTagsInput) (*elbapi.AddTagsOutput, error) {
		for _, tag := range in.Tags {
			c.tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
		}
		return &elbapi.AddTagsOutput{}, nil
	})
	awscalls.On(&c.aws, func(in *elbapi.RemoveTagsInput) (*elbapi.RemoveTagsOutput, error) {
		maps.DeleteFunc(c.tags, func(name, _ string) bool { return name == in.TagKeys[0] })
		return &elbapi.RemoveTagsOutput{}, nil
	})
}

func (c *trial) answerSettings() {
	awscalls.On(&c.aws, func(in *elbapi.ModifyLoadBalancerAttributesInput) (*elbapi.ModifyLoadBalancerAttributesOutput, error) {
		for _, a := range in.Attributes {
			c.attributes[aws.ToString(a.Key)] = aws.ToString(a.Value)
		}
		return &elbapi.ModifyLoadBalancerAttributesOutput{}, c.refuse["ModifyLoadBalancerAttributes"]
	})
	awscalls.On(&c.aws, func(*elbapi.DescribeLoadBalancerAttributesInput) (*elbapi.DescribeLoadBalancerAttributesOutput, error) {
		out := &elbapi.DescribeLoadBalancerAttributesOutput{}
		for name, value := range c.attributes {
			out.Attributes = append(out.Attributes, elb.LoadBalancerAttribute{Key: aws.String(name), Value: aws.String(value)})
		}
		return out, c.refuse["DescribeLoadBalancerAttributes"]
	})
	awscalls.On(&c.aws, func(in *elbapi.SetSubnetsInput) (*elbapi.SetSubnetsOutput, error) {
		c.written = strings.TrimSpace(fmt.Sprint(in.Subnets, " ", in.IpAddressType))
		return &elbapi.SetSubnetsOutput{}, c.refuse["SetSubnets"]
	})
	awscalls.On(&c.aws, func(in *elbapi.SetIpAddressTypeInput) (*elbapi.SetIpAddressTypeOutput, error) {
		c.written = string(in.IpAddressType)
		return &elbapi.SetIpAddressTypeOutput{}, c.refuse["SetIpAddressType"]
	})
	awscalls.On(&c.aws, func(*shield.DescribeProtectionInput) (*shield.DescribeProtectionOutput, error) {
		return &shield.DescribeProtectionOutput{Protection: &shieldtypes.Protection{Name: aws.String("theirs")}}, c.refuse["DescribeProtection"]
	})
}

func (c *trial) answerNetwork() {
	awscalls.On(&c.aws, func(*ec2.DescribeSubnetsInput) (*ec2.DescribeSubnetsOutput, error) {
		out := &ec2.DescribeSubnetsOutput{}
		for _, id := range c.subnets {
			out.Subnets = append(out.Subnets, ec2types.Subnet{
				SubnetId: aws.String(id), AvailabilityZone: aws.String("eu-west-1" + id[len(id)-1:]), AvailableIpAddressCount: aws.Int32(100),
				Tags: []ec2types.Tag{{Key: aws.String(network.TagPrivateRole), Value: aws.String("1")}},
			})
		}
		return out, c.refuse["DescribeSubnets"]
	})
	awscalls.On(&c.aws, func(*ec2.DescribeRouteTablesInput) (*ec2.DescribeRouteTablesOutput, error) {
		return &ec2.DescribeRouteTablesOutput{}, nil
	})
	awscalls.On(&c.aws, func(*ec2.DescribeSecurityGroupsInput) (*ec2.DescribeSecurityGroupsOutput, error) {
		return &ec2.DescribeSecurityGroupsOutput{SecurityGroups: []ec2types.SecurityGroup{{GroupId: aws.String("sg-1"), GroupName: aws.String("one")}}}, c.refuse["DescribeSecurityGroups"]
	})
}
