package aws

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"
	"github.com/aws/aws-sdk-go-v2/service/shield"
	"github.com/aws/aws-sdk-go-v2/service/wafv2"
	"github.com/aws/smithy-go/middleware"

	"fairlead.dev/fairlead/providers/aws/resource"
)

// This file makes the clients of AWS's services.

// clients are the clients of AWS's services for the resources of one installation in one VPC.
type clients struct {
	resource.API
	ec2         *ec2.Client
	acm         *acm.Client
	waf         *wafv2.Client
	shield      *shield.Client
	region, vpc string
}

// newClients returns clients whose calls go through the middleware, in this order.
func newClients(config aws.Config, installation, vpc string, through ...func(*middleware.Stack) error) clients {
	config.APIOptions = append(slices.Clip(config.APIOptions), through...)
	return clients{
		API: resource.API{
			Owner: resource.Owner{Installation: installation}, ELB: elbapi.NewFromConfig(config),
			Tagging: resourcegroupstaggingapi.NewFromConfig(config),
		},
		ec2: ec2.NewFromConfig(config), acm: acm.NewFromConfig(config),
		waf: wafv2.NewFromConfig(config), shield: shield.NewFromConfig(config),
		region: config.Region, vpc: vpc,
	}
}
