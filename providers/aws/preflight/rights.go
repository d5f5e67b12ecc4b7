package preflight

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"
	"github.com/aws/aws-sdk-go-v2/service/shield"
	"github.com/aws/aws-sdk-go-v2/service/wafv2"
	waftypes "github.com/aws/aws-sdk-go-v2/service/wafv2/types"

	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/providers/aws/look"
	"fairlead.dev/fairlead/providers/aws/network"
)

// This file finds out which actions of docs/iam-policy.json are allowed for the caller: by the
// policy simulator of IAM, or, if the caller may not use it, by calls that change nothing, for the
// actions that have one.

// optionalStatements has the statements that only some installations need, each with its purpose.
var optionalStatements = map[string]string{
	"FirstLoadBalancer": "it is needed where the account has no role for Elastic Load Balancing yet",
	"Protect":           "it is needed for web ACLs",
	"Shield":            "it is needed for Shield Advanced",
	"SignIn":            "it is needed where users sign in at a Cognito user pool",
	"TagShields":        "it is needed for Shield Advanced",
	"Unprotect":         "it is needed for web ACLs",
	"Unshield":          "it is needed for Shield Advanced",
}

// A verdict is the result for a right, with the way it was found out, or the reason why it is
// unknown.
type verdict struct {
	known, allowed bool
	how            string
}

// checkRights adds one finding for each action.
func (i *inspection) checkRights(ctx context.Context) {
	all, err := policyRights(i.me, i.sdk.Region, i.access.Cluster)
	if err != nil {
		i.addFailure("aws/iam", "permissions", err)
		return
	}
	verdicts, err := i.simulateRights(ctx, all)
	if err != nil {
		i.note(check.Unsure("aws/iam/simulation", "iam:SimulatePrincipalPolicy",
			"IAM does not say what the role may do: "+client.Describe(err),
			"actions that no harmless call tries are not known below; run the check with credentials that "+
				"may call it, to know them"))
		verdicts = i.tryRights(ctx, all)
	}
	byAction := map[string][]int{}
	for n, r := range all {
		byAction[r.action] = append(byAction[r.action], n)
	}
	for _, action := range slices.Sorted(maps.Keys(byAction)) {
		i.note(rightFinding(action, byAction[action], all, verdicts))
	}
}

// rightFinding sums up the verdicts on an action, which several statements may allow.
func rightFinding(action string, of []int, all []right, verdicts []verdict) check.Finding {
	f := check.Good("aws/iam/"+action, action, "")
	var denied, unknown []string
	needed, refusal, why := false, "", ""
	for _, n := range of {
		v, sid := verdicts[n], all[n].statement
		switch {
		case v.allowed:
			f.Detail = "allowed, " + v.how
		case v.known:
			denied, refusal = append(denied, sid), "denied, "+v.how
			needed = needed || optionalStatements[sid] == ""
		default:
			unknown, why = append(unknown, sid), cmp.Or(why, v.how)
		}
	}
	switch {
	case needed:
		f.State, f.Detail, f.Advice = check.Wrong, refusal,
			fmt.Sprintf("allow it as docs/iam-policy.json does in %s", strings.Join(denied, ", "))
	case len(denied) > 0:
		f.State, f.Detail, f.Advice = check.Unknown, refusal,
			fmt.Sprintf("%s: docs/iam-policy.json allows it in %s", optionalStatements[denied[0]],
				strings.Join(denied, ", "))
	case len(unknown) > 0:
		f.State, f.Detail = check.Unknown,
			"not known: "+cmp.Or(why, "no harmless call tries what is allowed in "+
				strings.Join(unknown, ", "))
	}
	return f
}

// simulateRights asks the policy simulator of IAM.
func (i *inspection) simulateRights(ctx context.Context, all []right) ([]verdict, error) {
	out := make([]verdict, len(all))
	groups := map[string][]int{}
	var order []string
	for n, r := range all {
		group := r.statement + " " + r.resource
		if groups[group] == nil {
			order = append(order, group)
		}
		groups[group] = append(groups[group], n)
	}
	for _, group := range order {
		of := groups[group]
		s := simulation{
			principal: policyOwner(i.me), resource: all[of[0]].resource, context: all[of[0]].context,
		}
		for _, n := range of {
			s.actions = append(s.actions, all[n].action)
		}
		said, err := simulate(ctx, i.sdk, i.me.Partition, s)
		if err != nil {
			return nil, err
		}
		for _, n := range of {
			// https://docs.aws.amazon.com/IAM/latest/APIReference/API_EvaluationResult.html
			switch decision := said[all[n].action]; decision {
			case "allowed", "explicitDeny", "implicitDeny":
				out[n] = verdict{true, decision == "allowed", "as IAM says"}
			default:
				return nil, client.MissingError("SimulatePrincipalPolicy", "a decision on "+all[n].action)
			}
		}
	}
	return out, nil
}

// tryRights tests rights by calls that change nothing.
func (i *inspection) tryRights(ctx context.Context, all []right) []verdict {
	out := make([]verdict, len(all))
	probes := i.probes(ctx)
	for n, r := range all {
		if probe := probes[r.statement+" "+r.action]; probe != nil {
			out[n] = judgeAnswer(r.action, probe(ctx))
		}
	}
	return out
}

// notFoundCodes has the error code of each action for a resource that does not exist, as its API
// documents:
// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_Operations.html
// https://docs.aws.amazon.com/acm/latest/APIReference/API_DescribeCertificate.html
// https://docs.aws.amazon.com/waf/latest/DDOSAPIReference/API_DescribeProtection.html
// https://docs.aws.amazon.com/waf/latest/APIReference/API_GetWebACLForResource.html
var notFoundCodes = map[string]string{
	"elasticloadbalancing:DescribeListenerAttributes":     "ListenerNotFound",
	"elasticloadbalancing:DescribeListenerCertificates":   "ListenerNotFound",
	"elasticloadbalancing:DescribeListeners":              "LoadBalancerNotFound",
	"elasticloadbalancing:DescribeLoadBalancerAttributes": "LoadBalancerNotFound",
	"elasticloadbalancing:DescribeRules":                  "ListenerNotFound",
	"elasticloadbalancing:DescribeTags":                   "LoadBalancerNotFound",
	"elasticloadbalancing:DescribeTargetGroupAttributes":  "TargetGroupNotFound",
	"elasticloadbalancing:DescribeTargetHealth":           "TargetGroupNotFound",
	"acm:DescribeCertificate":                             "ResourceNotFound",
	"shield:DescribeProtection":                           "ResourceNotFound",
	"wafv2:GetWebACLForResource":                          "WAFNonexistentItem",
}

// judgeAnswer returns the verdict for the answer to a call. A call for a missing resource is
// allowed if the answer is the code for that; any other error is no evidence.
func judgeAnswer(action string, err error) verdict {
	code := client.ErrorCode(err)
	switch {
	case err == nil && notFoundCodes[action] != "":
		return verdict{
			how: "the endpoint does not answer " + notFoundCodes[action] +
				" for a missing resource, as AWS does",
		}
	case err == nil && strings.HasPrefix(action, "ec2:"):
		// each call of EC2 here is a dry run, which ends in an error
		return verdict{how: "the endpoint does not answer a dry run with DryRunOperation, as AWS does"}
	case err == nil:
		return verdict{true, true, "as a read shows"}
	// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateSecurityGroup.html, DryRun
	case code == "DryRunOperation":
		return verdict{true, true, "as a dry run shows"}
	case code == "AccessDenied", code == "UnauthorizedOperation":
		if said := client.RefusedAction.FindStringSubmatch(err.Error()); said != nil &&
			said[1] != action {
			return verdict{} // another action of the call is denied
		}
		return verdict{true, false, "as AWS says"}
	case code != "" && code == notFoundCodes[action]:
		return verdict{true, true, "as a read of a missing resource shows"}
	}
	return verdict{}
}

// probes returns calls that change nothing, by statement and action.
func (i *inspection) probes(ctx context.Context) map[string]func(context.Context) error {
	out := map[string]func(context.Context) error{}
	if i.ELB == nil {
		return out
	}
	read := func(action string, do func(context.Context) error) { out["Read "+action] = do }
	p := i.Clients
	arn := func(kind string) *string {
		return aws.String("arn:" + i.me.Partition + ":elasticloadbalancing:" + i.sdk.Region + ":" +
			i.me.AccountID + ":" + kind)
	}
	const hex = "0123456789abcdef"
	balancer, listener, group := arn("loadbalancer/app/fl-check/"+hex),
		arn("listener/app/fl-check/"+hex+"/"+hex), arn("targetgroup/fl-check/"+hex)
	certificate := aws.String("arn:" + i.me.Partition + ":acm:" + i.sdk.Region + ":" + i.me.AccountID +
		":certificate/01234567-89ab-cdef-0123-456789abcdef")

	i.readsOfEC2(read)
	read("elasticloadbalancing:DescribeAccountLimits",
		ask(p.ELB.DescribeAccountLimits, &elbapi.DescribeAccountLimitsInput{}))
	read("elasticloadbalancing:DescribeListenerAttributes",
		ask(p.ELB.DescribeListenerAttributes, &elbapi.DescribeListenerAttributesInput{ListenerArn: listener}))
	read("elasticloadbalancing:DescribeListenerCertificates",
		ask(p.ELB.DescribeListenerCertificates, &elbapi.DescribeListenerCertificatesInput{ListenerArn: listener}))
	read("elasticloadbalancing:DescribeListeners",
		ask(p.ELB.DescribeListeners, &elbapi.DescribeListenersInput{LoadBalancerArn: balancer}))
	read("elasticloadbalancing:DescribeLoadBalancerAttributes",
		ask(p.ELB.DescribeLoadBalancerAttributes, &elbapi.DescribeLoadBalancerAttributesInput{LoadBalancerArn: balancer}))
	read("elasticloadbalancing:DescribeLoadBalancers",
		ask(p.ELB.DescribeLoadBalancers, &elbapi.DescribeLoadBalancersInput{PageSize: aws.Int32(1)}))
	read("elasticloadbalancing:DescribeRules",
		ask(p.ELB.DescribeRules, &elbapi.DescribeRulesInput{ListenerArn: listener}))
	read("elasticloadbalancing:DescribeTags",
		ask(p.ELB.DescribeTags, &elbapi.DescribeTagsInput{ResourceArns: []string{*balancer}}))
	read("elasticloadbalancing:DescribeTargetGroupAttributes",
		ask(p.ELB.DescribeTargetGroupAttributes, &elbapi.DescribeTargetGroupAttributesInput{TargetGroupArn: group}))
	read("elasticloadbalancing:DescribeTargetGroups",
		ask(p.ELB.DescribeTargetGroups, &elbapi.DescribeTargetGroupsInput{PageSize: aws.Int32(1)}))
	read("elasticloadbalancing:DescribeTargetHealth",
		ask(p.ELB.DescribeTargetHealth, &elbapi.DescribeTargetHealthInput{TargetGroupArn: group}))
	read("elasticloadbalancing:DescribeTrustStores",
		ask(p.ELB.DescribeTrustStores, &elbapi.DescribeTrustStoresInput{PageSize: aws.Int32(1)}))
	read("acm:ListCertificates", ask(p.ACM.ListCertificates, &acm.ListCertificatesInput{MaxItems: aws.Int32(1)}))
	read("acm:DescribeCertificate",
		ask(p.ACM.DescribeCertificate, &acm.DescribeCertificateInput{CertificateArn: certificate}))
	read("tag:GetResources",
		ask(p.Tagging.GetResources, &resourcegroupstaggingapi.GetResourcesInput{ResourcesPerPage: aws.Int32(1)}))
	read("shield:GetSubscriptionState", ask(p.Shield.GetSubscriptionState, &shield.GetSubscriptionStateInput{}))
	read("shield:DescribeProtection",
		ask(p.Shield.DescribeProtection, &shield.DescribeProtectionInput{ResourceArn: balancer}))
	read("wafv2:ListWebACLs",
		ask(p.WAF.ListWebACLs, &wafv2.ListWebACLsInput{Scope: waftypes.ScopeRegional, Limit: aws.Int32(1)}))
	read("wafv2:GetWebACLForResource",
		ask(p.WAF.GetWebACLForResource, &wafv2.GetWebACLForResourceInput{ResourceArn: balancer}))
	i.dryRuns(ctx, out)
	return out
}

// readsOfEC2 adds reads of EC2, which are only tried.
func (i *inspection) readsOfEC2(read func(action string, do func(context.Context) error)) {
	p, dry := i.Clients, aws.Bool(true)
	read("ec2:DescribeAccountAttributes",
		ask(p.EC2.DescribeAccountAttributes, &ec2.DescribeAccountAttributesInput{DryRun: dry}))
	read("ec2:DescribeAddresses", ask(p.EC2.DescribeAddresses, &ec2.DescribeAddressesInput{DryRun: dry}))
	read("ec2:DescribeInstances", ask(p.EC2.DescribeInstances, &ec2.DescribeInstancesInput{DryRun: dry}))
	read("ec2:DescribeInternetGateways",
		ask(p.EC2.DescribeInternetGateways, &ec2.DescribeInternetGatewaysInput{DryRun: dry}))
	read("ec2:DescribeRouteTables", ask(p.EC2.DescribeRouteTables, &ec2.DescribeRouteTablesInput{DryRun: dry}))
	read("ec2:DescribeSecurityGroups",
		ask(p.EC2.DescribeSecurityGroups, &ec2.DescribeSecurityGroupsInput{DryRun: dry}))
	read("ec2:DescribeSubnets", ask(p.EC2.DescribeSubnets, &ec2.DescribeSubnetsInput{DryRun: dry}))
	read("ec2:DescribeVpcs", ask(p.EC2.DescribeVpcs, &ec2.DescribeVpcsInput{DryRun: dry}))
	read("ec2:GetSecurityGroupsForVpc",
		ask(p.EC2.GetSecurityGroupsForVpc, &ec2.GetSecurityGroupsForVpcInput{DryRun: dry, VpcId: aws.String(p.VPC)}))
	read("ec2:DescribeManagedPrefixLists",
		ask(p.EC2.DescribeManagedPrefixLists, &ec2.DescribeManagedPrefixListsInput{DryRun: dry}))
}

// dryRuns adds changes of security groups that EC2 checks, and does not make.
func (i *inspection) dryRuns(ctx context.Context, out map[string]func(context.Context) error) {
	p, dry := i.Clients, aws.Bool(true)
	tags := []ec2types.Tag{{Key: aws.String(client.TagInstallation), Value: aws.String("check")}}
	create := ask(p.EC2.CreateSecurityGroup, &ec2.CreateSecurityGroupInput{
		DryRun: dry, GroupName: aws.String("fl-check"), Description: aws.String("never made"),
		VpcId: aws.String(p.VPC),
		TagSpecifications: []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeSecurityGroup,
			Tags: tags}},
	})
	out["MakeSecurityGroups ec2:CreateSecurityGroup"],
		out["MakeSecurityGroupsInVPC ec2:CreateSecurityGroup"] = create, create
	out["TagSecurityGroups ec2:CreateTags"] = create
	admit := []ec2types.IpPermission{look.Grant{Port: 1, Source: "192.0.2.1/32"}.Permission()}
	ports := func(statement, group string) {
		out[statement+" ec2:AuthorizeSecurityGroupIngress"] = ask(p.EC2.AuthorizeSecurityGroupIngress,
			&ec2.AuthorizeSecurityGroupIngressInput{DryRun: dry, GroupId: aws.String(group), IpPermissions: admit})
		out[statement+" ec2:RevokeSecurityGroupIngress"] = ask(p.EC2.RevokeSecurityGroupIngress,
			&ec2.RevokeSecurityGroupIngressInput{DryRun: dry, GroupId: aws.String(group), IpPermissions: admit})
	}
	if len(i.nodes) > 0 {
		ports("ReachTargets", aws.ToString(i.nodes[0].GroupId))
	}
	found, err := i.security.Describe(ctx, &ec2.DescribeSecurityGroupsInput{
		Filters: append(network.VPCFilter(p.VPC), ec2types.Filter{
			Name: aws.String("tag-key"), Values: []string{client.TagInstallation},
		}),
	})
	if err != nil || len(found) == 0 {
		return // there is no security group of ours
	}
	own := aws.ToString(found[0].GroupId)
	ports("ChangeSecurityGroups", own)
	out["ChangeSecurityGroups ec2:CreateTags"] = ask(p.EC2.CreateTags,
		&ec2.CreateTagsInput{DryRun: dry, Resources: []string{own}, Tags: tags})
	out["ChangeSecurityGroups ec2:DeleteTags"] = ask(p.EC2.DeleteTags,
		&ec2.DeleteTagsInput{DryRun: dry, Resources: []string{own}, Tags: tags})
	out["ChangeSecurityGroups ec2:DeleteSecurityGroup"] = ask(p.EC2.DeleteSecurityGroup,
		&ec2.DeleteSecurityGroupInput{DryRun: dry, GroupId: aws.String(own)})
}

// ask returns a function that makes a call, and returns its error.
func ask[In, Out, Option any](
	call func(context.Context, *In, ...func(*Option)) (*Out, error), in *In,
) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := call(ctx, in)
		return err
	}
}
