package aws

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/client"
)

// This file finds the credentials, the endpoints, the region and the VPC of a process, and reports
// missing ones at the start. The SDK reads credentials and endpoints: IRSA and Pod Identity,
// AWS_ENDPOINT_URL and its variants for each service, AWS_USE_FIPS_ENDPOINT and
// AWS_USE_DUALSTACK_ENDPOINT work as in other programs.

// Open returns a Provider with the credentials of the process, or an error if AWS does not accept
// them.
func Open(ctx context.Context, a client.Access) (*Provider, error) {
	rates, err := client.PublishedRates().With(a.Rates)
	if err != nil {
		return nil, fmt.Errorf("reading the rates of calls: %w", err)
	}
	sdk, err := a.Settings(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the settings of AWS: %w", err)
	}
	if sdk.Region == "" {
		if sdk.Region, err = client.ReadRegion(ctx, imds.NewFromConfig(sdk)); err != nil {
			return nil, fmt.Errorf("finding the region: name it with --aws-region or AWS_REGION, for the "+
				"instance does not: %w", err)
		}
	}
	p, err := open(ctx, a, sdk, rates)
	if err != nil {
		return nil, withIdentity(ctx, sdk, err)
	}
	return p, nil
}

// open returns a Provider, or an error if the VPC has no subnets.
func open(
	ctx context.Context, a client.Access, sdk aws.Config, rates providers.Rates,
) (*Provider, error) {
	if a.VPC == "" {
		var err error
		a.VPC, err = client.FindVPC(ctx, imds.NewFromConfig(sdk), ec2.NewFromConfig(sdk), a.Nodes)
		if err != nil {
			return nil, fmt.Errorf("finding the VPC: name it with --aws-vpc-id, for neither the instance "+
				"nor a node tells, nor is there just one: %w", err)
		}
	}
	p := New(Options{
		Config: sdk, Installation: a.Installation, VPC: a.VPC, Cluster: a.Cluster,
		UnmanagedGroups: a.UnmanagedGroups,
		Rates:           rates, OnRequest: a.OnRequest, OnInFlight: a.OnInFlight, Deadlines: a.Deadlines,
	})
	subnets, err := p.subnets.ReadSince(ctx, time.Now())
	if err == nil && len(subnets) == 0 {
		err = fmt.Errorf(
			"%s has no subnets in %s: is it in another region or account?", a.VPC, sdk.Region,
		)
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// withIdentity adds the identity of the credentials to an error. If AWS does not know the
// credentials, that is the cause.
func withIdentity(ctx context.Context, sdk aws.Config, err error) error {
	me, unknown := sts.NewFromConfig(sdk).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if unknown != nil {
		return fmt.Errorf("%w; %w", client.Explain("asking AWS in "+sdk.Region+
			" whose credentials these are", unknown), err)
	}
	return fmt.Errorf("asking AWS as %s: %w", aws.ToString(me.Arn), err)
}
