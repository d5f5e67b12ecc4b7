package albsim

import (
	"regexp"

	"github.com/aws/aws-sdk-go-v2/aws"
	api "github.com/aws/aws-sdk-go-v2/service/shield"
	shield "github.com/aws/aws-sdk-go-v2/service/shield/types"
)

// This file is the protection of load balancers by Shield Advanced. It outlives what it protects.

func shieldCalls() map[string]handler {
	return map[string]handler{
		"CreateProtection":     on((*Sim).createProtection),
		"DeleteProtection":     on((*Sim).deleteProtection),
		"DescribeProtection":   on((*Sim).describeProtection),
		"TagResource":          on((*Sim).tagProtection),
		"GetSubscriptionState": on((*Sim).subscriptionState),
	}
}

// Subscribe begins or ends the subscription to Shield Advanced.
func (s *Sim) Subscribe(to bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unsubscribed = !to
}

// Shields are the names of the protections that there are.
func (s *Sim) Shields() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, p := range s.protections {
		out = append(out, aws.ToString(p.Name))
	}
	return out
}

// protectionName is what protections may be called.
var protectionName = regexp.MustCompile(`^[ a-zA-Z0-9_.-]{1,128}$`)

func (s *Sim) createProtection(in *api.CreateProtectionInput) (*api.CreateProtectionOutput, error) {
	arn := aws.ToString(in.ResourceArn)
	switch {
	case s.unsubscribed:
		return nil, refuse("ResourceNotFoundException", "The subscription does not exist.")
	case !protectionName.MatchString(aws.ToString(in.Name)):
		return nil, refuse("InvalidParameterException", "1 validation error detected: Value '%s' at 'name' failed to satisfy constraint: Member must satisfy regular expression pattern: [ a-zA-Z0-9_\\.\\-]*", aws.ToString(in.Name))
	case s.loadBalancers[arn] == nil:
		return nil, refuse("InvalidResourceException", "The resource '%s' does not exist", arn)
	case s.protections[arn].Id != nil:
		return nil, refuse("ResourceAlreadyExistsException", "The referenced protection already exists.")
	}
	made := shield.Protection{Id: aws.String(s.nextID()), Name: in.Name, ResourceArn: aws.String(arn)}
	made.ProtectionArn = aws.String(protectionARN(*made.Id))
	s.protections[arn], s.tags[*made.ProtectionArn] = made, map[string]string{}
	for _, t := range in.Tags {
		s.tags[*made.ProtectionArn][aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	return &api.CreateProtectionOutput{ProtectionId: made.Id}, nil
}

func protectionARN(id string) string { return "arn:aws:shield::" + Account + ":protection/" + id }

func (s *Sim) deleteProtection(in *api.DeleteProtectionInput) (*api.DeleteProtectionOutput, error) {
	for arn, p := range s.protections {
		if aws.ToString(p.Id) == aws.ToString(in.ProtectionId) {
			delete(s.protections, arn)
			delete(s.tags, aws.ToString(p.ProtectionArn))
			return &api.DeleteProtectionOutput{}, nil
		}
	}
	return nil, refuse("ResourceNotFoundException", "The referenced protection does not exist.")
}

func (s *Sim) tagProtection(in *api.TagResourceInput) (*api.TagResourceOutput, error) {
	tags, there := s.tags[aws.ToString(in.ResourceARN)]
	if !there {
		return nil, refuse("ResourceNotFoundException", "The referenced protection does not exist.")
	}
	for _, t := range in.Tags {
		tags[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	return &api.TagResourceOutput{}, nil
}

func (s *Sim) describeProtection(in *api.DescribeProtectionInput) (*api.DescribeProtectionOutput, error) {
	p, there := s.protections[aws.ToString(in.ResourceArn)]
	switch {
	case (in.ResourceArn == nil) == (in.ProtectionId == nil):
		return nil, refuse("InvalidParameterException", "Invalid parameter. You must provide one value, either protectionId or resourceArn, but not both.")
	case !there:
		return nil, refuse("ResourceNotFoundException", "The referenced protection does not exist.")
	}
	return &api.DescribeProtectionOutput{Protection: &p}, nil
}

func (s *Sim) subscriptionState(*api.GetSubscriptionStateInput) (*api.GetSubscriptionStateOutput, error) {
	if s.unsubscribed {
		return &api.GetSubscriptionStateOutput{SubscriptionState: shield.SubscriptionStateInactive}, nil
	}
	return &api.GetSubscriptionStateOutput{SubscriptionState: shield.SubscriptionStateActive}, nil
}
