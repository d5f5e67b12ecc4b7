package preflight

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/network"
)

// This file checks the subnets of a VPC and the security groups of its nodes.

// roleTagPrefix begins the tags by which subnets are chosen.
const roleTagPrefix = "kubernetes.io/role/"

// checkSubnets reports the subnets that load balancers of each scheme would get, and wrong tags.
func (i *inspection) checkSubnets(ctx context.Context) {
	open, err := i.network.FindPublic(ctx, time.Now())
	if err != nil {
		i.addFailure("aws/route-tables", "route tables", err)
		return
	}
	for _, s := range i.subnets {
		i.checkSubnet(s, open(aws.ToString(s.SubnetId)))
	}
	for _, scheme := range []string{"internet-facing", "internal"} {
		i.checkScheme(ctx, scheme, open)
	}
}

// checkSubnet reports the errors of one subnet.
func (i *inspection) checkSubnet(s ec2types.Subnet, open bool) {
	id := aws.ToString(s.SubnetId)
	bad := func(detail, advice string) {
		i.note(check.Bad("aws/subnet/"+id, "subnet "+id, detail, advice))
	}
	chosen := false
	for _, t := range s.Tags {
		key, value := aws.ToString(t.Key), aws.ToString(t.Value)
		switch {
		case !strings.HasPrefix(key, roleTagPrefix):
		case key != network.TagPublicRole && key != network.TagPrivateRole:
			i.note(check.Unsure("aws/subnet/"+id, "subnet "+id, "the tag "+key+" chooses no subnet",
				"the tags that do are "+network.TagPublicRole+" and "+network.TagPrivateRole))
		case value != "" && value != "1":
			bad(fmt.Sprintf("the tag %s has the value %q, by which it is not chosen", key, value),
				"give the tag the value 1")
		case key == network.TagPublicRole && !open:
			bad("the tag "+key+" is on a subnet without a route to an internet gateway",
				"tag it "+network.TagPrivateRole+" instead, or give it the route")
		default:
			chosen = true
		}
	}
	// https://docs.aws.amazon.com/elasticloadbalancing/latest/application/application-load-balancers.html,
	// "Subnets for your load balancer": at least eight free addresses in each subnet.
	if free := aws.ToInt32(s.AvailableIpAddressCount); chosen && free < network.LeastFree {
		bad(fmt.Sprintf("%d addresses are free, and AWS requires %d", free, network.LeastFree),
			"free some, or tag another subnet of "+aws.ToString(s.AvailabilityZone))
	}
}

// checkScheme reports the subnets that load balancers of a scheme would get.
func (i *inspection) checkScheme(ctx context.Context, scheme string, open func(string) bool) {
	id, title := "aws/subnets/"+scheme, "subnets of "+scheme+" load balancers"
	chosen, what, err := i.network.Explain(ctx, lb.Network{Scheme: scheme}, nil)
	if errors.Is(err, providers.ErrRejected) {
		i.note(check.Bad(id, title, strings.TrimSuffix(err.Error(), ": "+providers.ErrRejected.Error()),
			"tag a subnet in each of two zones, or name subnets in the class"))
		return
	}
	if err != nil {
		i.addFailure(id, title, err)
		return
	}
	if scheme == "internet-facing" && !slices.ContainsFunc(chosen, open) {
		i.note(check.Unsure(id, title, "no subnet has a route to an internet gateway",
			"only internal load balancers can be made here: give the route to public subnets if "+
				"others are wanted"))
		return
	}
	var list []string
	for _, s := range i.subnets {
		if slices.Contains(chosen, aws.ToString(s.SubnetId)) {
			list = append(list, fmt.Sprintf("%s in %s with %d free addresses", aws.ToString(s.SubnetId),
				aws.ToString(s.AvailabilityZone), aws.ToInt32(s.AvailableIpAddressCount)))
		}
	}
	i.note(check.Good(id, title, "each "+what+": "+strings.Join(list, ", ")))
}

// checkNodeGroups reports the security groups that would admit load balancers.
func (i *inspection) checkNodeGroups(ctx context.Context) {
	const id, title = "aws/node-security-groups", "security groups of nodes"
	a := i.access
	switch {
	case a.UnmanagedGroups:
		i.note(check.Good(id, title, "left alone, as --aws-security-groups=none says"))
		return
	case a.Cluster == "":
		i.note(check.Unsure(id, title, "without --aws-cluster-name none is changed",
			"name the cluster, or admit load balancers on the ports of targets by hand"))
		return
	}
	found, err := i.security.ReadOfCluster(ctx, a.Cluster)
	if err != nil {
		i.addFailure(id, title, err)
		return
	}
	if i.nodes = found; len(found) == 0 {
		i.note(check.Bad(id, title, "none in "+i.VPC+" has the tag "+network.TagCluster+a.Cluster,
			"tag the security group of the nodes, or mend --aws-cluster-name"))
		return
	}
	// https://docs.aws.amazon.com/vpc/latest/userguide/amazon-vpc-limits.html: 60 rules a group, and
	// each source counts.
	const most = 60
	weigh, unread := i.security.Weights.Read(ctx, network.ListsIn(found...))
	if unread != nil {
		i.addFailure("aws/prefix-lists", "prefix lists", unread)
	}
	for _, g := range found {
		group := aws.ToString(g.GroupId)
		used := network.RulesIn(g, weigh)
		f := check.Good(id+"/"+group, "security group "+group,
			fmt.Sprintf("admits load balancers to nodes of %s; it has %d inbound rules of %d, unless AWS "+
				"has raised that", a.Cluster, used, most))
		if used >= most {
			f.State, f.Advice = check.Unknown,
				"ask AWS to raise the quota "+quotaName("RulesPerSecurityGroupLimitExceeded")+" if it has not"
		}
		i.note(f)
	}
}
