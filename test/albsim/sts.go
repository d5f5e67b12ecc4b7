package albsim

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	api "github.com/aws/aws-sdk-go-v2/service/sts"
)

// This file says who is calling.

func stsCalls() map[string]handler {
	return map[string]handler{"GetCallerIdentity": on((*Sim).callerIdentity)}
}

func (s *Sim) callerIdentity(*api.GetCallerIdentityInput) (*api.GetCallerIdentityOutput, error) {
	return &api.GetCallerIdentityOutput{
		Account: aws.String(Account), UserId: aws.String("AIDSIMULATED"), Arn: aws.String("arn:aws:iam::" + Account + ":role/fairlead"),
	}, nil
}
