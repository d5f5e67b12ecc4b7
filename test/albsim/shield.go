package albsim

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	api "github.com/aws/aws-sdk-go-v2/service/shield"
	shield "github.com/aws/aws-sdk-go-v2/service/shield/types"
)

// This file is the protection of load balancers by Shield Advanced.

func shieldCalls() map[string]handler {
	return map[string]handler{
		"CreateProtection":     on((*Sim).createProtection),
		"DeleteProtection":     on((*Sim).deleteProtection),
		"DescribeProtection":   on((*Sim).describeProtection),
		"GetSubscriptionState": on((*Sim).subscriptionState),
	}
}

func (s *Sim) createProtection(in *api.CreateProtectionInput) (*api.CreateProtectionOutput, error) {
	arn := aws.ToString(in.ResourceArn)
	if s.loadBalancers[arn] == nil {
		return nil, refuse("InvalidResourceException", "The resource '%s' does not exist", arn)
	}
	if s.protections[arn] != "" {
		return nil, refuse("ResourceAlreadyExistsException", "The referenced protection already exists.")
	}
	s.protections[arn] = s.nextID()
	return &api.CreateProtectionOutput{ProtectionId: aws.String(s.protections[arn])}, nil
}

func (s *Sim) deleteProtection(in *api.DeleteProtectionInput) (*api.DeleteProtectionOutput, error) {
	for arn, id := range s.protections {
		if id == aws.ToString(in.ProtectionId) {
			delete(s.protections, arn)
			return &api.DeleteProtectionOutput{}, nil
		}
	}
	return nil, refuse("ResourceNotFoundException", "The referenced protection does not exist.")
}

func (s *Sim) describeProtection(in *api.DescribeProtectionInput) (*api.DescribeProtectionOutput, error) {
	arn := aws.ToString(in.ResourceArn)
	if s.protections[arn] == "" {
		return nil, refuse("ResourceNotFoundException", "The referenced protection does not exist.")
	}
	return &api.DescribeProtectionOutput{Protection: &shield.Protection{Id: aws.String(s.protections[arn]), ResourceArn: aws.String(arn)}}, nil
}

func (s *Sim) subscriptionState(*api.GetSubscriptionStateInput) (*api.GetSubscriptionStateOutput, error) {
	return &api.GetSubscriptionStateOutput{SubscriptionState: shield.SubscriptionStateActive}, nil
}
