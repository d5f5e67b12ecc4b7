package albsim_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/test/albsim"
)

// This file makes calls that the provider does not make, and other controllers do.

func TestCallsOfOthers(t *testing.T) {
	sim := albsim.New(albsim.Options{})
	api, network := elbv2.NewFromConfig(sim.Config()), ec2.NewFromConfig(sim.Config())
	mappings := []elb.SubnetMapping{{SubnetId: aws.String("subnet-private0")}, {SubnetId: aws.String("subnet-private1")}}
	_, err := api.CreateLoadBalancer(t.Context(), &elbv2.CreateLoadBalancerInput{Name: aws.String("both"), SubnetMappings: mappings, Subnets: []string{"subnet-private2"}})
	if code(err) != "ValidationError" {
		t.Errorf("subnets and mappings: %v", err)
	}
	made, err := api.CreateLoadBalancer(t.Context(), &elbv2.CreateLoadBalancerInput{Name: aws.String("mapped"), SubnetMappings: mappings})
	if err != nil {
		t.Fatal(err)
	}
	arn := made.LoadBalancers[0].LoadBalancerArn
	set, err := api.SetSubnets(t.Context(), &elbv2.SetSubnetsInput{LoadBalancerArn: arn, SubnetMappings: append(mappings, elb.SubnetMapping{SubnetId: aws.String("subnet-private2")})})
	if err != nil || len(set.AvailabilityZones) != 3 {
		t.Errorf("the load balancer has %+v, %v", set, err)
	}
	listener, err := api.CreateListener(t.Context(), &elbv2.CreateListenerInput{LoadBalancerArn: arn, Port: aws.Int32(80), Protocol: elb.ProtocolEnumHttp,
		DefaultActions: []elb.Action{{Type: elb.ActionTypeEnumFixedResponse, FixedResponseConfig: &elb.FixedResponseActionConfig{StatusCode: aws.String("404")}}}})
	if err != nil {
		t.Fatal(err)
	}
	rules, err := api.DescribeRules(t.Context(), &elbv2.DescribeRulesInput{ListenerArn: listener.Listeners[0].ListenerArn})
	if err != nil {
		t.Fatal(err)
	}
	if tags, err := api.DescribeTags(t.Context(), &elbv2.DescribeTagsInput{ResourceArns: []string{*rules.Rules[0].RuleArn}}); err != nil || len(tags.TagDescriptions) != 1 {
		t.Errorf("the default rule has %+v, %v", tags, err)
	}
	zones, err := network.DescribeAvailabilityZones(t.Context(), &ec2.DescribeAvailabilityZonesInput{ZoneNames: []string{albsim.Region + "b"}})
	if err != nil || len(zones.AvailabilityZones) != 1 || *zones.AvailabilityZones[0].ZoneType != "availability-zone" || zones.AvailabilityZones[0].State != "available" {
		t.Errorf("the zone is %+v, %v", zones, err)
	}
	vpcs, err := network.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{VpcIds: []string{albsim.VPC}})
	if err != nil || len(vpcs.Vpcs) != 1 || len(vpcs.Vpcs[0].CidrBlockAssociationSet) != 1 || *vpcs.Vpcs[0].CidrBlockAssociationSet[0].CidrBlock != "10.0.0.0/16" {
		t.Errorf("the VPC is %+v, %v", vpcs, err)
	}
	sim.AddInstance("i-0123456789abcdef0", "subnet-private0", "10.0.100.10")
	instances, err := network.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{"i-0123456789abcdef0"}})
	if err != nil {
		t.Fatal(err)
	}
	if i := instances.Reservations[0].Instances[0].NetworkInterfaces[0]; *i.Attachment.DeviceIndex != 0 || *i.PrivateIpAddresses[0].PrivateIpAddress != "10.0.100.10" {
		t.Errorf("the interface is %+v", i)
	}
}
