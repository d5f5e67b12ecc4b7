package client

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
)

// Clients holds the clients of AWS's services for the resources of one installation in one VPC.
type Clients struct {
	API
	EC2         *ec2.Client
	ACM         *acm.Client
	WAF         *wafv2.Client
	Shield      *shield.Client
	Region, VPC string
}

// NewClients returns clients whose calls go through the middleware, in this order.
func NewClients(config aws.Config, installation, vpc string,
	through ...func(*middleware.Stack) error) Clients {
	config.APIOptions = append(slices.Clip(config.APIOptions), through...)
	return Clients{
		API: API{
			Owner: Owner{Installation: installation}, ELB: elbapi.NewFromConfig(config),
			Tagging: resourcegroupstaggingapi.NewFromConfig(config),
		},
		EC2: ec2.NewFromConfig(config), ACM: acm.NewFromConfig(config),
		WAF: wafv2.NewFromConfig(config), Shield: shield.NewFromConfig(config),
		Region: config.Region, VPC: vpc,
	}
}
