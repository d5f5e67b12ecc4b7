package albsim

import (
	"net/http"
	"reflect"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	api "github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2 "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"fairlead.dev/fairlead/test/albsim/refusal"
)

// This file is what EC2 says of an account in which there is none of it, and calls that are only to
// be tried.

func (s *Sim) describeAccountAttributes(*api.DescribeAccountAttributesInput) (*api.DescribeAccountAttributesOutput, error) {
	return &api.DescribeAccountAttributesOutput{AccountAttributes: []ec2.AccountAttribute{{
		AttributeName:   aws.String("vpc-max-security-groups-per-interface"),
		AttributeValues: []ec2.AccountAttributeValue{{AttributeValue: aws.String(strconv.Itoa(s.options.Limits.GroupsPerInterface))}},
	}}}, nil
}

func (s *Sim) describeAddresses(*api.DescribeAddressesInput) (*api.DescribeAddressesOutput, error) {
	return &api.DescribeAddressesOutput{}, nil
}

func (s *Sim) describeInternetGateways(*api.DescribeInternetGatewaysInput) (*api.DescribeInternetGatewaysOutput, error) {
	return &api.DescribeInternetGatewaysOutput{}, nil
}

// dryRun is how EC2 says that a call that was only to be tried is allowed; nil for one that is
// meant. What a call that is tried says of what does not exist comes first.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateSecurityGroup.html, DryRun
func (s *Sim) dryRun(in any) error {
	v := reflect.ValueOf(in).Elem()
	dry, is := v.FieldByName("DryRun"), v.FieldByName("DryRun").IsValid()
	if !is || dry.IsNil() || !dry.Elem().Bool() {
		return nil
	}
	if group := v.FieldByName("GroupId"); group.IsValid() && !group.IsNil() && s.net.groups[group.Elem().String()] == nil {
		return noGroup(group.Elem().String())
	}
	if vpc := v.FieldByName("VpcId"); vpc.IsValid() && !vpc.IsNil() && !s.net.hasVPC(aws.ToString(vpc.Interface().(*string))) {
		return refuse("InvalidVpcID.NotFound", "The vpc ID '%s' does not exist", vpc.Elem().String())
	}
	return &refusal.Error{Code: "DryRunOperation", Message: "Request would have succeeded, but DryRun flag is set.", Status: http.StatusPreconditionFailed}
}
