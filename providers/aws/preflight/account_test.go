package preflight

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/test/awscalls"
)

// This file is an account whose answers a test changes.

var (
	denied  = awscalls.Refused("AccessDenied", "no")
	failure = awscalls.Refused("InternalFailure", "no")
)

var role = arn.ARN{Partition: "aws", Service: "iam", AccountID: "123456789012", Resource: "role/fairlead"}

// An accountOf is an inspection, and the account that it looks at.
type accountOf struct {
	*inspection
	aws          awscalls.Answers
	subnets      []ec2types.Subnet
	open         []string // subnets with a route to an internet gateway
	groups       []ec2types.SecurityGroup
	limits       []elb.Limit
	balancers    []elb.LoadBalancer
	targetGroups int
	certificates []acmtypes.CertificateSummary
	refuse       map[string]error // calls, by their names
}

func newAccount(a client.Access) *accountOf {
	c := &accountOf{inspection: &inspection{access: a, me: role}, refuse: map[string]error{}}
	c.sdk = (&iam{answer: func(url.Values) (int, string) { return 0, "unreachable" }}).config()
	c.sdk.APIOptions = c.aws.Config().APIOptions
	c.answerNetwork()
	c.answerQuotas()
	return c
}

// located is an account of which an inspection knows the VPC.
func located(t *testing.T, a client.Access, subnets ...ec2types.Subnet) *accountOf {
	t.Helper()
	a.VPC = "vpc-1"
	c := newAccount(a)
	if c.subnets = subnets; len(subnets) == 0 {
		c.subnets = []ec2types.Subnet{subnet("subnet-a", "eu-west-1a", 251)}
	}
	if !c.locate(t.Context()) {
		t.Fatalf("the VPC is not found: %v", lines(c.findings))
	}
	c.findings = nil
	c.aws.Calls()
	return c
}

// subnet is one with tags that are given as name and value in turn.
func subnet(id, zone string, free int32, tags ...string) ec2types.Subnet {
	s := ec2types.Subnet{SubnetId: aws.String(id), AvailabilityZone: aws.String(zone), AvailableIpAddressCount: aws.Int32(free)}
	for i := 0; i < len(tags); i += 2 {
		s.Tags = append(s.Tags, ec2types.Tag{Key: aws.String(tags[i]), Value: aws.String(tags[i+1])})
	}
	return s
}

func (c *accountOf) answerNetwork() {
	awscalls.On(&c.aws, func(in *ec2.DescribeSubnetsInput) (*ec2.DescribeSubnetsOutput, error) {
		return &ec2.DescribeSubnetsOutput{Subnets: c.subnets}, c.refuse["DescribeSubnets"]
	})
	awscalls.On(&c.aws, func(*ec2.DescribeRouteTablesInput) (*ec2.DescribeRouteTablesOutput, error) {
		table := ec2types.RouteTable{Routes: []ec2types.Route{{GatewayId: aws.String("igw-1")}}}
		for _, id := range c.open {
			table.Associations = append(table.Associations, ec2types.RouteTableAssociation{SubnetId: aws.String(id)})
		}
		return &ec2.DescribeRouteTablesOutput{RouteTables: []ec2types.RouteTable{table}}, c.refuse["DescribeRouteTables"]
	})
	awscalls.On(&c.aws, func(*ec2.DescribeSecurityGroupsInput) (*ec2.DescribeSecurityGroupsOutput, error) {
		return &ec2.DescribeSecurityGroupsOutput{SecurityGroups: c.groups}, c.refuse["DescribeSecurityGroups"]
	})
}

// answerQuotas has lists come in two pages.
func (c *accountOf) answerQuotas() {
	awscalls.On(&c.aws, func(*elbapi.DescribeAccountLimitsInput) (*elbapi.DescribeAccountLimitsOutput, error) {
		return &elbapi.DescribeAccountLimitsOutput{Limits: c.limits}, c.refuse["DescribeAccountLimits"]
	})
	awscalls.On(&c.aws, func(in *elbapi.DescribeLoadBalancersInput) (*elbapi.DescribeLoadBalancersOutput, error) {
		page, next := pageOf(c.balancers, in.Marker)
		return &elbapi.DescribeLoadBalancersOutput{LoadBalancers: page, NextMarker: next}, c.refuse["DescribeLoadBalancers"]
	})
	awscalls.On(&c.aws, func(in *elbapi.DescribeTargetGroupsInput) (*elbapi.DescribeTargetGroupsOutput, error) {
		page, next := pageOf(make([]elb.TargetGroup, c.targetGroups), in.Marker)
		return &elbapi.DescribeTargetGroupsOutput{TargetGroups: page, NextMarker: next}, c.refuse["DescribeTargetGroups"]
	})
	awscalls.On(&c.aws, func(in *acm.ListCertificatesInput) (*acm.ListCertificatesOutput, error) {
		page, next := pageOf(c.certificates, in.NextToken)
		return &acm.ListCertificatesOutput{CertificateSummaryList: page, NextToken: next}, c.refuse["ListCertificates"]
	})
}

// pageOf is the first thing of a list, or the others.
func pageOf[T any](list []T, marker *string) (page []T, next *string) {
	switch {
	case len(list) < 2:
		return list, nil
	case marker == nil:
		return list[:1], aws.String("more")
	}
	return list[1:], nil
}

// lines are findings, each on a line: its state and ID, its title, what was found and the advice.
func lines(found []check.Finding) []string {
	var out []string
	for _, f := range found {
		out = append(out, fmt.Sprintf("%s %s | %s | %s | %s", f.State, f.ID, f.Title, f.Detail, f.Advice))
	}
	return out
}

// expect compares all findings.
func (c *accountOf) expect(t *testing.T, about string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, lines(c.findings)); diff != "" {
		t.Errorf("%s: findings (-want +got):\n%s", about, diff)
	}
}
