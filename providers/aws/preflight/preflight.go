// Package preflight checks an account: before an operator uses it, without changing anything, and by trials on a load
// balancer that is made for them.
//
// The assumptions about AWS that the provider rests on are a table here. Each is tried on an account, or says why it
// is not; what trials make is found again by its tags, and deleted.
package preflight

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/transport/http"

	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/providers/aws/account"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/providers/aws/network"
)

// This file checks the credentials, the region and the VPC. The other files check the resources in
// these.

// An inspection holds the results so far.
type inspection struct {
	access client.Access
	sdk    aws.Config
	me     arn.ARN
	client.Clients
	limits   *account.Limits
	network  *network.Subnets
	security *network.SecurityGroups
	subnets  []ec2types.Subnet
	nodes    []ec2types.SecurityGroup
	findings []check.Finding
}

func (i *inspection) note(f check.Finding) { i.findings = append(i.findings, f) }

// addFailure adds a finding for a failed read.
func (i *inspection) addFailure(id, title string, err error) {
	i.note(check.Unsure(id, title, err.Error(), ""))
}

// Check checks the requirements of load balancers in an account. A failed check is a finding, too.
func Check(ctx context.Context, a client.Access) []check.Finding {
	i := &inspection{access: a}
	if !i.identify(ctx) {
		return i.findings
	}
	if i.locate(ctx) {
		i.checkSubnets(ctx)
		i.checkNodeGroups(ctx)
		i.checkQuotas(ctx)
	}
	i.checkRights(ctx)
	return i.findings
}

// identify reads the identity of the caller and its region.
func (i *inspection) identify(ctx context.Context) bool {
	sdk, err := i.access.Settings(ctx)
	if err != nil {
		i.note(check.Bad("aws/region", "region", "the settings of AWS cannot be read: "+err.Error(),
			"mend AWS_PROFILE or ~/.aws/config"))
		return false
	}
	how := "of --aws-region, AWS_REGION or the profile"
	if i.access.Region != "" {
		how = "of --aws-region"
	}
	if sdk.Region == "" {
		how = "of the instance that this process runs on"
		if sdk.Region, err = client.ReadRegion(ctx, imds.NewFromConfig(sdk)); err != nil {
			i.note(check.Bad("aws/region", "region",
				"no region is set, and this process does not run on an instance",
				"name it with --aws-region or AWS_REGION"))
			return false
		}
	}
	i.note(check.Good("aws/region", "region", sdk.Region+", "+how))
	i.sdk = sdk
	me, err := sts.NewFromConfig(sdk).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil && !isForeign(err) {
		advice := client.AdviseOnCredentials(client.ErrorCode(err))
		if isUnreached(err) {
			// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sts_vpc_endpoint_create.html
			advice = "let this process reach STS in " + sdk.Region +
				": by a route to the internet, a proxy, or a VPC endpoint"
		}
		i.note(check.Bad("aws/identity", "identity", client.Describe(err), advice))
		return false
	}
	said := ""
	if err == nil {
		said = aws.ToString(me.Arn)
		i.me, err = arn.Parse(said)
	}
	if err != nil {
		detail := fmt.Sprintf("the endpoint answers GetCallerIdentity with the ARN %q, which is none: "+
			"the answer is empty, or not of AWS", said)
		if isForeign(err) {
			detail = "the endpoint's answer to GetCallerIdentity is not of AWS: " + client.Describe(err)
		}
		i.note(check.Bad("aws/identity", "identity", detail,
			"see where AWS_ENDPOINT_URL, AWS_ENDPOINT_URL_STS and the profile lead, and whether a proxy "+
				"answers instead"))
		return false
	}
	i.note(check.Good("aws/identity", "identity", i.me.String()))
	return true
}

// isUnreached reports whether STS could not be reached. A call may also wait for credentials of the
// instance, if its metadata cannot be reached.
func isUnreached(err error) bool {
	var call *smithy.OperationError
	for errors.As(err, &call) { // find the innermost call
		err = call.Err
	}
	var unsent *http.RequestSendError
	return call != nil && call.Service() == "STS" && errors.As(err, &unsent)
}

// isForeign reports whether an answer is not from AWS: it cannot be read, or is an error without a
// code.
func isForeign(err error) bool {
	var unreadable *smithy.DeserializationError
	return errors.As(err, &unreadable) || client.ErrorCode(err) == "UnknownError"
}

// locate finds the VPC, and reports how.
func (i *inspection) locate(ctx context.Context) bool {
	vpc, how, err := i.findVPC(ctx)
	if err != nil {
		i.note(check.Bad("aws/vpc", "VPC", err.Error(), "name it with --aws-vpc-id"))
		return false
	}
	a := i.access
	deadlines := client.Deadlines{}.WithDefaults()
	pacer := client.NewPacer(client.PacerOptions{
		Rates: a.Rates, Deadlines: deadlines, OnRequest: a.OnRequest,
	})
	i.Clients = client.NewClients(i.sdk, a.Installation, vpc, pacer.AddTo, deadlines.AddTo)
	i.limits, i.network = account.NewLimits(i.ELB), network.NewSubnets(i.EC2, i.VPC, i.Region)
	i.security = network.NewSecurityGroups(i.Owner, i.EC2, i.VPC, client.NewRecent(0, nil))
	i.subnets, err = i.network.ReadSince(ctx, time.Now())
	switch {
	case err != nil:
		i.addFailure("aws/vpc", "VPC", err)
	case len(i.subnets) == 0:
		i.note(check.Bad("aws/vpc", "VPC", vpc+", "+how+", has no subnets in "+i.sdk.Region,
			"see whether it is in another region or account; --aws-vpc-id names another one"))
	default:
		i.note(check.Good(
			"aws/vpc", "VPC", fmt.Sprintf("%s, %s, with %d subnets", vpc, how, len(i.subnets)),
		))
		return true
	}
	return false
}

// findVPC returns the VPC that an operator would find here, and how it finds it.
func (i *inspection) findVPC(ctx context.Context) (vpc, how string, err error) {
	if i.access.VPC != "" {
		return i.access.VPC, "named by --aws-vpc-id", nil
	}
	if vpc, err := client.ReadVPC(ctx, imds.NewFromConfig(i.sdk)); err == nil {
		return vpc, "that of the instance that this process runs on", nil
	}
	cloud := ec2.NewFromConfig(i.sdk)
	var ids []string
	if i.access.Nodes != nil {
		if ids, err = i.access.Nodes(ctx); err != nil {
			return "", "", err
		}
	}
	if at := slices.IndexFunc(ids, func(id string) bool {
		return strings.HasPrefix(id, "i-")
	}); at >= 0 {
		vpc, err = client.ReadVPCOfNode(ctx, cloud, ids[at])
		return vpc, "that of node " + ids[at], err
	}
	vpc, err = client.FindOnlyVPC(ctx, cloud)
	return vpc, "the only one of the region", err
}
