package aws

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/awserr"
	"fairlead.dev/fairlead/providers/aws/throttle"
)

// This file finds the credentials, the endpoints, the region and the VPC of a process, and reports
// what is missing before the work begins. The SDK reads credentials and endpoints: IRSA and Pod
// Identity, AWS_ENDPOINT_URL and the like for each service, AWS_USE_FIPS_ENDPOINT and
// AWS_USE_DUALSTACK_ENDPOINT work as in other programs.

// Access says where to work, and for which installation. Empty fields are found by Open.
type Access struct {
	// Installation distinguishes resources of this operator from those of others.
	Installation string
	// Region is the region of the load balancers; empty: that of the SDK's settings, else of the
	// instance.
	Region string
	// VPC is their VPC; empty: that of the instance, else of the nodes, else the only one.
	VPC string
	// Cluster is the name by which the security groups of the nodes are found; empty: none are
	// changed.
	Cluster string
	// Unfenced leaves all security groups alone.
	Unfenced bool
	// Nodes returns the instances of the cluster, to find their VPC.
	Nodes func(context.Context) ([]string, error)
	// Rates are the rates of calls; those that are missing are the published ones.
	Rates providers.Rates
	// Requested is called after each call of AWS, if it is not nil.
	Requested func(throttle.Request)
	// Deadlines are how long calls may take.
	Deadlines throttle.Deadlines
}

// askingInstance is how long the metadata of the instance may take. Often, a pod has no access to
// it.
const askingInstance = 5 * time.Second

// Open returns a Provider with the credentials of the process, if they can be used.
func Open(ctx context.Context, a Access) (*Provider, error) {
	rates, err := throttle.Published().With(a.Rates)
	if err != nil {
		return nil, fmt.Errorf("reading the rates of calls: %w", err)
	}
	sdk, err := config.LoadDefaultConfig(ctx, config.WithRegion(a.Region))
	if err != nil {
		return nil, fmt.Errorf("reading the settings of AWS: %w", err)
	}
	if sdk.Region == "" {
		if sdk.Region, err = regionOf(ctx, imds.NewFromConfig(sdk)); err != nil {
			return nil, fmt.Errorf("finding the region: name it with --aws-region or AWS_REGION, for the instance does not: %w", err)
		}
	}
	p, err := a.open(ctx, sdk, rates)
	if err != nil {
		return nil, withIdentity(ctx, sdk, err)
	}
	return p, nil
}

// open returns a Provider if the VPC has subnets.
func (a Access) open(ctx context.Context, sdk aws.Config, rates providers.Rates) (*Provider, error) {
	if a.VPC == "" {
		var err error
		if a.VPC, err = findVPC(ctx, imds.NewFromConfig(sdk), ec2.NewFromConfig(sdk), a.Nodes); err != nil {
			return nil, fmt.Errorf("finding the VPC: name it with --aws-vpc-id, for neither the instance nor a node tells, nor is there just one: %w", err)
		}
	}
	p := New(Options{
		Config: sdk, Installation: a.Installation, VPC: a.VPC, Cluster: a.Cluster, Unfenced: a.Unfenced,
		Rates: rates, Requested: a.Requested, Deadlines: a.Deadlines,
	})
	subnets, err := p.subnets.since(ctx, time.Now())
	if err == nil && len(subnets) == 0 {
		err = fmt.Errorf("%s has no subnets in %s: is it in another region or account?", a.VPC, sdk.Region)
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// withIdentity adds to an error the identity of the credentials. Where AWS does not know them, that
// is the cause.
func withIdentity(ctx context.Context, sdk aws.Config, err error) error {
	me, unknown := sts.NewFromConfig(sdk).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if unknown != nil {
		return fmt.Errorf("%w; %w", awserr.Explain("asking AWS in "+sdk.Region+" whose credentials these are", unknown), err)
	}
	return fmt.Errorf("asking AWS as %s: %w", aws.ToString(me.Arn), err)
}

// regionOf reads the region of the instance.
func regionOf(ctx context.Context, instance *imds.Client) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askingInstance)
	defer cancel()
	out, err := instance.GetRegion(ctx, &imds.GetRegionInput{})
	if err != nil {
		return "", err
	}
	return out.Region, nil
}

// findVPC returns the VPC of the instance of this process, else that of a node, else the only VPC.
func findVPC(
	ctx context.Context, instance *imds.Client, cloud *ec2.Client, nodes func(context.Context) ([]string, error),
) (string, error) {
	vpc, silent := vpcOf(ctx, instance)
	if silent == nil {
		return vpc, nil
	}
	ids, err := nodes(ctx)
	if err != nil {
		return "", err
	}
	// Nodes on Fargate are no instances.
	if at := slices.IndexFunc(ids, func(id string) bool { return strings.HasPrefix(id, "i-") }); at >= 0 {
		vpc, err = vpcOfNode(ctx, cloud, ids[at])
	} else {
		vpc, err = onlyVPC(ctx, cloud)
	}
	if err != nil {
		return "", fmt.Errorf("%w; %w", silent, err)
	}
	return vpc, nil
}

// vpcOfNode reads the VPC of an instance.
func vpcOfNode(ctx context.Context, cloud *ec2.Client, id string) (string, error) {
	out, err := cloud.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
	if err != nil {
		return "", awserr.Explain("reading instance "+id, err)
	}
	for _, r := range out.Reservations {
		for _, i := range r.Instances {
			return aws.ToString(i.VpcId), nil
		}
	}
	return "", fmt.Errorf("instance %s is not there", id)
}

// onlyVPC returns the VPC of the region, if there is one.
func onlyVPC(ctx context.Context, cloud *ec2.Client) (string, error) {
	out, err := cloud.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{})
	if err != nil {
		return "", awserr.Explain("no node is an instance; listing VPCs", err)
	}
	var ids []string
	for _, v := range out.Vpcs {
		ids = append(ids, aws.ToString(v.VpcId))
	}
	if len(ids) != 1 {
		return "", fmt.Errorf("no node is an instance; the VPCs of the region are %q", ids)
	}
	return ids[0], nil
}

// vpcOf returns the VPC of the first network interface of the instance.
func vpcOf(ctx context.Context, instance *imds.Client) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askingInstance)
	defer cancel()
	mac, err := metadata(ctx, instance, "mac")
	if err != nil {
		return "", err
	}
	return metadata(ctx, instance, "network/interfaces/macs/"+mac+"/vpc-id")
}

// metadata reads a value of the instance's metadata.
func metadata(ctx context.Context, instance *imds.Client, path string) (string, error) {
	out, err := instance.GetMetadata(ctx, &imds.GetMetadataInput{Path: path})
	if err != nil {
		return "", err
	}
	defer out.Content.Close()
	text, err := io.ReadAll(out.Content)
	if err != nil {
		return "", fmt.Errorf("reading %s of the instance: %w", path, err)
	}
	return strings.TrimSpace(string(text)), nil
}
