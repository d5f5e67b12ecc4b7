package client

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
	"github.com/aws/smithy-go/logging"
	"github.com/go-logr/logr"

	"fairlead.dev/fairlead/providers"
)

// Access has the installation, the region and the VPC of a process. Empty fields are found.
type Access struct {
	// Installation distinguishes resources of this operator from those of others.
	Installation string
	// Region is the region of the load balancers; empty: that in the SDK's settings, else that of the
	// instance.
	Region string
	// VPC is the VPC of the load balancers; empty: that of the instance, else of the nodes, else the
	// only one.
	VPC string
	// Cluster is the name in the tags of the nodes' security groups; empty: these are not changed.
	Cluster string
	// UnmanagedGroups: security groups are neither created nor changed.
	UnmanagedGroups bool
	// Nodes returns the IDs of the cluster's instances, to find their VPC.
	Nodes func(context.Context) ([]string, error)
	// Rates are the rates of calls; the published ones replace missing ones.
	Rates providers.Rates
	// OnRequest is called after each call of AWS, if it is not nil.
	OnRequest func(Request)
	// OnInFlight is called when the number of calls under way at an endpoint changes, or its limit, if
	// it is not nil.
	OnInFlight func(service, calls string, underWay, limit int)
	// Deadlines limit the time of calls.
	Deadlines Deadlines
	// Log gets the remarks of the SDK, which prints them on standard error otherwise.
	Log logr.Logger
}

// Settings reads the settings of the SDK: the environment, and the files of its profiles.
func (a Access) Settings(ctx context.Context) (aws.Config, error) {
	remarks := logging.LoggerFunc(func(of logging.Classification, format string, values ...any) {
		a.Log.V(1).Info("a remark of the AWS SDK", "severity", of, "remark", fmt.Sprintf(format, values...))
	})
	return config.LoadDefaultConfig(ctx, config.WithRegion(a.Region), config.WithLogger(remarks))
}

// metadataTimeout limits the time to read the metadata of the instance. Often, a pod has no access
// to it.
const metadataTimeout = 5 * time.Second

// ReadRegion reads the region from the metadata of the instance.
func ReadRegion(ctx context.Context, instance *imds.Client) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, metadataTimeout)
	defer cancel()
	out, err := instance.GetRegion(ctx, &imds.GetRegionInput{})
	if err != nil {
		return "", err
	}
	return out.Region, nil
}

// FindVPC returns the VPC of the instance of this process, else that of a node, else the only VPC.
func FindVPC(
	ctx context.Context, instance *imds.Client, cloud *ec2.Client,
	nodes func(context.Context) ([]string, error),
) (string, error) {
	vpc, silent := ReadVPC(ctx, instance)
	if silent == nil {
		return vpc, nil
	}
	ids, err := nodes(ctx)
	if err != nil {
		return "", err
	}
	// Nodes on Fargate are not instances.
	if at := slices.IndexFunc(ids, func(id string) bool {
		return strings.HasPrefix(id, "i-")
	}); at >= 0 {
		vpc, err = ReadVPCOfNode(ctx, cloud, ids[at])
	} else {
		vpc, err = FindOnlyVPC(ctx, cloud)
	}
	if err != nil {
		return "", fmt.Errorf("%w; %w", silent, err)
	}
	return vpc, nil
}

// ReadVPCOfNode reads the VPC of an instance.
func ReadVPCOfNode(ctx context.Context, cloud *ec2.Client, id string) (string, error) {
	out, err := cloud.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
	if err != nil {
		return "", Explain("reading instance "+id, err)
	}
	for _, r := range out.Reservations {
		for _, i := range r.Instances {
			return aws.ToString(i.VpcId), nil
		}
	}
	return "", fmt.Errorf("instance %s does not exist", id)
}

// FindOnlyVPC returns the VPC of the region, if there is exactly one.
func FindOnlyVPC(ctx context.Context, cloud *ec2.Client) (string, error) {
	out, err := cloud.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{})
	if err != nil {
		return "", Explain("no node is an instance; listing VPCs", err)
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

// ReadVPC reads the VPC of the first network interface from the metadata of the instance.
func ReadVPC(ctx context.Context, instance *imds.Client) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, metadataTimeout)
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
