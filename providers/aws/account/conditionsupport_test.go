package account

import (
	"testing"

	"github.com/aws/smithy-go"
)

// This file tells partitions and refusals apart.

func TestPartitions(t *testing.T) {
	for arn, want := range map[string]bool{
		"arn:aws:elasticloadbalancing:eu-west-1:123456789012:loadbalancer/app/fl-a/1":            true,
		"arn:aws-cn:elasticloadbalancing:cn-north-1:123456789012:loadbalancer/app/fl-a/1":        false,
		"arn:aws-us-gov:elasticloadbalancing:us-gov-west-1:123456789012:loadbalancer/app/fl-a/1": false,
		"arn:aws-iso-b:elasticloadbalancing:us-isob-east-1:123456789012:loadbalancer/app/fl-a/1": false,
		"": true,
	} {
		if got := Commercial(arn); got != want {
			t.Errorf("%q: %v, want %v", arn, got, want)
		}
	}
}

func TestRefusalsThatNameExpressions(t *testing.T) {
	for said, want := range map[string]bool{
		"Unknown parameter in Conditions[0].PathPatternConfig: RegexValues": true,
		"Regular expressions are not supported for host-header conditions":  true,
		"Regular expression '(' is not valid":                               false,
		"A rule can only have '5' condition values":                         false,
		"The load balancer type is not supported":                           false,
	} {
		if got := namesExpressions(&smithy.GenericAPIError{Code: "ValidationError", Message: said}); got != want {
			t.Errorf("%q: %v, want %v", said, got, want)
		}
	}
}
