package iam

// This file is the rights that a call takes beyond the action of its own name. AWS lists few of
// them where it lists the actions, so that each has its source here.

// A Dependent is a call and the actions that have to be allowed for it besides its own.
type Dependent struct {
	Call   string
	Needs  []string
	Source string
}

const (
	APIPermissions = "https://docs.aws.amazon.com/elasticloadbalancing/latest/userguide/elb-api-permissions.html"
	LinkedRole     = "https://docs.aws.amazon.com/elasticloadbalancing/latest/userguide/elb-service-linked-roles.html"
	// GroupsForVPC is where Elastic Load Balancing's need of ec2:GetSecurityGroupsForVpc is reported: since
	// October 2024, in some accounts, CreateLoadBalancer is denied without it. The list of
	// APIPermissions does not have it.
	// https://github.com/automat-it/terraform-aws-eks-auxiliary/issues/54 has the denial.
	GroupsForVPC   = "https://github.com/kubernetes-sigs/aws-load-balancer-controller/pull/3921"
	tagsAtCreation = "https://docs.aws.amazon.com/elasticloadbalancing/latest/userguide/tagging-resources-during-creation.html"
	ec2Tagging     = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/supported-iam-actions-tagging.html"
	acmActions     = "https://docs.aws.amazon.com/service-authorization/latest/reference/list_awscertificatemanager.html"
	shieldActions  = "https://docs.aws.amazon.com/service-authorization/latest/reference/list_awsshield.html"
	wafActions     = "https://docs.aws.amazon.com/service-authorization/latest/reference/list_awswafv2.html"
	wafForResource = "https://docs.aws.amazon.com/waf/latest/APIReference/API_GetWebACLForResource.html"
	cognitoActions = "https://docs.aws.amazon.com/elasticloadbalancing/latest/application/listener-authenticate-users.html"
)

// CreateRole is asked while the account has no service-linked role for Elastic Load Balancing:
// "Elastic Load Balancing creates this role for you when you create a load balancer or a target
// group".
const CreateRole = "iam:CreateServiceLinkedRole"

// Dependents are the calls that take more than the action of their own name.
var Dependents = []Dependent{
	{"elasticloadbalancing:CreateLoadBalancer", []string{
		"ec2:DescribeAccountAttributes", "ec2:DescribeAddresses", "ec2:DescribeInternetGateways", "ec2:DescribeSecurityGroups",
		"ec2:DescribeSubnets", "ec2:DescribeVpcs",
	}, APIPermissions},
	{"elasticloadbalancing:CreateLoadBalancer", []string{"ec2:GetSecurityGroupsForVpc"}, GroupsForVPC},
	{"elasticloadbalancing:CreateLoadBalancer", []string{CreateRole}, LinkedRole},
	{"elasticloadbalancing:CreateTargetGroup", []string{"ec2:DescribeInternetGateways", "ec2:DescribeVpcs"}, APIPermissions},
	{"elasticloadbalancing:CreateTargetGroup", []string{CreateRole}, LinkedRole},
	{"elasticloadbalancing:RegisterTargets", []string{
		"ec2:DescribeInstances", "ec2:DescribeInternetGateways", "ec2:DescribeSubnets", "ec2:DescribeVpcs",
	}, APIPermissions},
	{"elasticloadbalancing:SetIpAddressType", []string{"ec2:DescribeSubnets"}, APIPermissions},
	{"elasticloadbalancing:SetSubnets", []string{"ec2:DescribeSubnets"}, APIPermissions},
	{"wafv2:GetWebACLForResource", []string{"wafv2:GetWebACL"}, wafForResource},

	// Those whose resource or conditions are particular: ask.go asks for them.
	{"elasticloadbalancing:CreateLoadBalancer", []string{"elasticloadbalancing:AddTags"}, tagsAtCreation},
	{"elasticloadbalancing:CreateListener", []string{"elasticloadbalancing:AddTags"}, tagsAtCreation},
	{"elasticloadbalancing:CreateRule", []string{"elasticloadbalancing:AddTags"}, tagsAtCreation},
	{"elasticloadbalancing:CreateTargetGroup", []string{"elasticloadbalancing:AddTags"}, tagsAtCreation},
	{"elasticloadbalancing:CreateRule", []string{"cognito-idp:DescribeUserPoolClient"}, cognitoActions},
	{"ec2:CreateSecurityGroup", []string{"ec2:CreateTags"}, ec2Tagging},
	{"acm:ImportCertificate", []string{"acm:AddTagsToCertificate"}, acmActions},
	{"shield:CreateProtection", []string{"shield:TagResource"}, shieldActions},
	{"wafv2:AssociateWebACL", []string{"elasticloadbalancing:CreateWebACLAssociation"}, wafActions},
	{"wafv2:DisassociateWebACL", []string{"elasticloadbalancing:DeleteWebACLAssociation"}, wafActions},
	{"wafv2:GetWebACLForResource", []string{"elasticloadbalancing:GetLoadBalancerWebACL"}, wafActions},
}

// Needs are the actions that have to be allowed for a call besides its own.
func Needs(call string) []string {
	var out []string
	for _, d := range Dependents {
		if d.Call == call {
			out = append(out, d.Needs...)
		}
	}
	return out
}
