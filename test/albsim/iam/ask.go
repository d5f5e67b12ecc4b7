package iam

// This file is what policies are asked.

// An Ask is one action that has to be allowed. A call may take several: one that makes something
// and tags it takes two.
type Ask struct {
	Action   string            // elasticloadbalancing:CreateRule
	Resource string            // an ARN, or "*" where the action is on nothing in particular
	Context  map[string]string // what conditions can be about, by key
}

// Prefix is what the actions of a service begin with, by the SDK's package.
func Prefix(service string) string {
	switch service {
	case "elasticloadbalancingv2":
		return "elasticloadbalancing"
	case "resourcegroupstaggingapi":
		return "tag"
	}
	return service
}
