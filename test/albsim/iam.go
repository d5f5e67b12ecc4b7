package albsim

import (
	"github.com/aws/aws-sdk-go-v2/aws"

	"fairlead.dev/fairlead/test/albsim/iam"
)

// This file is the one call of IAM that is made: what the policies of a caller allow. Its types are
// written here, for no client of the SDK for IAM is linked.
//
// https://docs.aws.amazon.com/IAM/latest/APIReference/API_SimulatePrincipalPolicy.html

func iamCalls() map[string]handler {
	return map[string]handler{"SimulatePrincipalPolicy": simulatePrincipalPolicy}
}

type simulateInput struct {
	PolicySourceArn *string
	ActionNames     []string
	ResourceArns    []string
	ContextEntries  []contextEntry
}

type contextEntry struct {
	ContextKeyName, ContextKeyType *string
	ContextKeyValues               []string
}

type simulateOutput struct {
	EvaluationResults []evaluation
	IsTruncated       bool
}

type evaluation struct {
	EvalActionName, EvalResourceName, EvalDecision *string
}

func simulatePrincipalPolicy(s *Sim, decode decoder) (any, error) {
	in := new(simulateInput)
	if err := decode(in); err != nil {
		return nil, err
	}
	if err := s.authorize("iam:SimulatePrincipalPolicy", in); err != nil {
		return nil, err
	}
	if principal := "arn:aws:iam::" + Account + ":role/fairlead"; aws.ToString(in.PolicySourceArn) != principal {
		return nil, refuse("NoSuchEntity", "The entity %s cannot be found.", aws.ToString(in.PolicySourceArn))
	}
	about := map[string]string{}
	for _, e := range in.ContextEntries {
		if len(e.ContextKeyValues) > 0 {
			about[aws.ToString(e.ContextKeyName)] = e.ContextKeyValues[0]
		}
	}
	out := &simulateOutput{}
	for _, action := range in.ActionNames {
		for _, resource := range in.ResourceArns {
			decision := "allowed"
			if s.options.Authorize != nil && !s.options.Authorize(iam.Ask{Action: action, Resource: resource, Context: about}) {
				decision = "implicitDeny"
			}
			out.EvaluationResults = append(out.EvaluationResults, evaluation{aws.String(action), aws.String(resource), aws.String(decision)})
		}
	}
	return out, nil
}
