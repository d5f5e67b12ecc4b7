// Package policy writes the policy that the operator's role needs in AWS.
package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/types"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"

	"fairlead.dev/fairlead/test/albsim/iam"
	"fairlead.dev/fairlead/test/page"
)

// This file writes the policy that the operator's role needs, and the page that explains it, from
// the calls that the code makes.

// The tag without which nothing is made, changed or deleted, and the name that what we make begins
// with.
const (
	ours  = "fairlead.dev/installation"
	named = "fl-*"
)

// A statement is a part of the policy: actions that are allowed for one reason, under one
// condition. Those that no code takes are left out of what is written.
type statement struct {
	sid, why  string
	actions   []string
	resources []string
	condition map[string]map[string]iam.Texts
}

// tagged is the condition that a request brings, or a resource has, the tag of an installation: of
// any.
func tagged(what string) map[string]map[string]iam.Texts {
	return map[string]map[string]iam.Texts{"StringLike": {"aws:" + what + "Tag/" + ours: {"*"}}}
}

// making is the condition that tags are given to what a call makes, and that our tag is among them.
func making(service string, calls ...string) map[string]map[string]iam.Texts {
	condition := tagged("Request")
	condition["StringEquals"] = map[string]iam.Texts{service + ":CreateAction": calls}
	return condition
}

func arn(service, resource string) string { return "arn:*:" + service + ":*:*:" + resource }

var statements = []statement{
	{
		sid: "Read", why: "Looking changes nothing, and AWS knows no resource for most of it. Certificates are looked at to find those for a host, whoever made them.",
		actions: []string{
			"acm:DescribeCertificate", "acm:ListCertificates", "acm:ListTagsForCertificate",
			"ec2:DescribeAccountAttributes", "ec2:DescribeAddresses", "ec2:DescribeInstances", "ec2:DescribeInternetGateways", "ec2:DescribeManagedPrefixLists", "ec2:DescribeRouteTables", "ec2:DescribeSecurityGroups", "ec2:DescribeSubnets", "ec2:DescribeVpcs", "ec2:GetSecurityGroupsForVpc",
			"elasticloadbalancing:DescribeAccountLimits", "elasticloadbalancing:DescribeListenerAttributes", "elasticloadbalancing:DescribeListenerCertificates",
			"elasticloadbalancing:DescribeListeners", "elasticloadbalancing:DescribeLoadBalancerAttributes", "elasticloadbalancing:DescribeLoadBalancers",
			"elasticloadbalancing:DescribeRules", "elasticloadbalancing:DescribeTags", "elasticloadbalancing:DescribeTargetGroupAttributes",
			"elasticloadbalancing:DescribeTargetGroups", "elasticloadbalancing:DescribeTargetHealth", "elasticloadbalancing:DescribeTrustStores",
			"elasticloadbalancing:GetLoadBalancerWebACL", "shield:DescribeProtection", "shield:GetSubscriptionState", "tag:GetResources", "wafv2:GetWebACL", "wafv2:GetWebACLForResource",
			"wafv2:ListWebACLs",
		},
		resources: []string{"*"},
	},
	{
		sid: "FirstLoadBalancer", why: "The first load balancer or target group of an account has AWS make a role for Elastic Load Balancing itself. Where that role is there, this can be left out.",
		actions:   []string{"iam:CreateServiceLinkedRole"},
		resources: []string{"arn:*:iam::*:role/aws-service-role/elasticloadbalancing.amazonaws.com/AWSServiceRoleForElasticLoadBalancing"},
		condition: map[string]map[string]iam.Texts{"StringEquals": {"iam:AWSServiceName": {"elasticloadbalancing.amazonaws.com"}}},
	},
	{
		sid: "Make", why: "What is made is made with the tag of the installation, or not at all.",
		actions:   []string{"elasticloadbalancing:CreateLoadBalancer", "elasticloadbalancing:CreateTargetGroup"},
		resources: []string{arn("elasticloadbalancing", "loadbalancer/app/"+named), arn("elasticloadbalancing", "targetgroup/"+named)},
		condition: tagged("Request"),
	},
	{
		sid: "TagWhatIsMade", why: "The tags of what is made come with the call that makes it.",
		actions: []string{"elasticloadbalancing:AddTags"},
		resources: []string{
			arn("elasticloadbalancing", "listener/app/"+named), arn("elasticloadbalancing", "listener-rule/app/"+named),
			arn("elasticloadbalancing", "loadbalancer/app/"+named), arn("elasticloadbalancing", "targetgroup/"+named),
		},
		condition: making("elasticloadbalancing", "CreateListener", "CreateLoadBalancer", "CreateRule", "CreateTargetGroup"),
	},
	{
		sid: "Change", why: "What has the tag is changed and deleted, and nothing else.",
		actions: []string{
			"elasticloadbalancing:AddListenerCertificates", "elasticloadbalancing:AddTags", "elasticloadbalancing:CreateListener", "elasticloadbalancing:CreateRule",
			"elasticloadbalancing:CreateWebACLAssociation", "elasticloadbalancing:DeleteListener", "elasticloadbalancing:DeleteLoadBalancer",
			"elasticloadbalancing:DeleteTargetGroup", "elasticloadbalancing:DeleteWebACLAssociation", "elasticloadbalancing:DeregisterTargets",
			"elasticloadbalancing:ModifyListener", "elasticloadbalancing:ModifyListenerAttributes", "elasticloadbalancing:ModifyLoadBalancerAttributes",
			"elasticloadbalancing:ModifyTargetGroup", "elasticloadbalancing:ModifyTargetGroupAttributes", "elasticloadbalancing:RegisterTargets",
			"elasticloadbalancing:RemoveListenerCertificates", "elasticloadbalancing:RemoveTags", "elasticloadbalancing:SetIpAddressType",
			"elasticloadbalancing:SetSecurityGroups", "elasticloadbalancing:SetSubnets",
		},
		resources: []string{"*"}, condition: tagged("Resource"),
	},
	{
		sid: "ChangeRules", why: "Rules have tags of their own, which they are made with. Those that others have put into a listener of ours have none.",
		actions:   []string{"elasticloadbalancing:DeleteRule", "elasticloadbalancing:ModifyRule", "elasticloadbalancing:SetRulePriorities"},
		resources: []string{arn("elasticloadbalancing", "listener-rule/app/"+named)}, condition: tagged("Resource"),
	},
	{
		sid: "Import", why: "Certificates of Secrets are imported with our tag. One that is not there yet has the ARN that ends in a star, which `${*}` stands for; one that is there has an ID, and is not tagged by this.",
		actions:   []string{"acm:AddTagsToCertificate", "acm:ImportCertificate"},
		resources: []string{arn("acm", "certificate/${*}")}, condition: tagged("Request"),
	},
	{
		sid: "ChangeCertificates", why: "Certificates with the tag are read, given the tags of their class, imported again when their Secret changes, and deleted when nothing needs them.",
		actions: []string{
			"acm:AddTagsToCertificate", "acm:DeleteCertificate", "acm:GetCertificate", "acm:ImportCertificate", "acm:RemoveTagsFromCertificate",
		},
		resources: []string{arn("acm", "certificate/*")}, condition: tagged("Resource"),
	},
	{
		sid: "MakeSecurityGroups", why: "Security groups are made with our tag.",
		actions:   []string{"ec2:CreateSecurityGroup"},
		resources: []string{arn("ec2", "security-group/*")}, condition: tagged("Request"),
	},
	{
		sid: "MakeSecurityGroupsInVPC", why: "Making a security group is an action on its VPC, too.",
		actions:   []string{"ec2:CreateSecurityGroup"},
		resources: []string{arn("ec2", "vpc/*")},
	},
	{
		sid: "TagSecurityGroups", why: "The first tags of a security group come with the call that makes it.",
		actions:   []string{"ec2:CreateTags"},
		resources: []string{arn("ec2", "security-group/*")}, condition: making("ec2", "CreateSecurityGroup"),
	},
	{
		sid: "ChangeSecurityGroups", why: "Security groups that have the tag are changed and deleted.",
		actions: []string{
			"ec2:AuthorizeSecurityGroupEgress", "ec2:AuthorizeSecurityGroupIngress", "ec2:CreateTags", "ec2:DeleteSecurityGroup", "ec2:DeleteTags",
			"ec2:RevokeSecurityGroupEgress", "ec2:RevokeSecurityGroupIngress",
		},
		resources: []string{arn("ec2", "security-group/*")}, condition: tagged("Resource"),
	},
	{
		sid: "SignIn", why: "Where users sign in at a Cognito user pool, AWS looks at the pool's client in the name of the operator, which could read the client's secret with the same right. Write the ID of the pool for POOL, list several, or leave this out where there is none.",
		actions:   []string{"cognito-idp:DescribeUserPoolClient"},
		resources: []string{arn("cognito-idp", "userpool/POOL")},
	},
	{
		sid: "ReachTargets", why: "The security groups of the cluster's nodes admit load balancers on the ports of targets. Write the cluster's name for CLUSTER, or leave this out where nodes are opened by hand.",
		actions:   []string{"ec2:AuthorizeSecurityGroupIngress", "ec2:RevokeSecurityGroupIngress"},
		resources: []string{arn("ec2", "security-group/*")},
		condition: map[string]map[string]iam.Texts{"StringLike": {"aws:ResourceTag/kubernetes.io/cluster/CLUSTER": {"*"}}},
	},
	{
		sid: "Protect", why: "A load balancer is joined to a web ACL. AWS WAF knows its name alone; that it has our tag is a condition of what AWS asks besides, in the statement *Change*.",
		actions:   []string{"wafv2:AssociateWebACL"},
		resources: []string{arn("elasticloadbalancing", "loadbalancer/app/"+named), arn("wafv2", "regional/webacl/*")},
	},
	{
		sid: "Unprotect", why: "A load balancer is parted from its web ACL. AWS names no resource that this action needs; that the load balancer has our tag is a condition of what AWS asks besides, in the statement *Change*.",
		actions:   []string{"wafv2:DisassociateWebACL"},
		resources: []string{"*"},
	},
	{
		sid: "Shield", why: "A load balancer is given a protection of Shield Advanced with our tag. AWS takes no resource for this action.",
		actions:   []string{"shield:CreateProtection"},
		resources: []string{"*"}, condition: tagged("Request"),
	},
	{
		sid: "TagShields", why: "The tags of a protection come with the call that makes it, when its ARN ends in a star.",
		actions:   []string{"shield:TagResource"},
		resources: []string{"arn:*:shield::*:protection/${*}"}, condition: tagged("Request"),
	},
	{
		sid: "Unshield", why: "Protections with the tag are deleted.",
		actions:   []string{"shield:DeleteProtection"},
		resources: []string{"arn:*:shield::*:protection/*"}, condition: tagged("Resource"),
	},
}

// free are calls that AWS allows everybody.
var free = []string{"sts:GetCallerIdentity"}

func TestPolicy(t *testing.T) {
	needed := map[string]bool{}
	for action := range called(t) {
		if slices.Contains(free, action) {
			continue
		}
		for _, a := range append(iam.Needs(action), action) {
			needed[a] = true
			if !slices.ContainsFunc(statements, func(s statement) bool { return slices.Contains(s.actions, a) }) {
				t.Errorf("%s is called, and no statement in this file allows it", a)
			}
		}
	}
	text := string(policy(t, needed))
	page.Check(t, "../../docs/iam-policy.json", text)
	page.Check(t, "../../providers/aws/preflight/policy.json", text) // which the binary asks AWS about
	page.Check(t, "../../docs/reference/permissions.md", string(permissionsPage(needed)))
}

// needs are the actions of a statement that are needed.
func (s statement) needs(needed map[string]bool) []string {
	return slices.DeleteFunc(slices.Clone(s.actions), func(a string) bool { return !needed[a] })
}

// policy is the document that allows what is needed.
func policy(t *testing.T, needed map[string]bool) []byte {
	t.Helper()
	p := iam.Policy{Version: "2012-10-17"}
	for _, s := range statements {
		if actions := s.needs(needed); len(actions) > 0 {
			p.Statement = append(p.Statement, iam.Statement{Sid: s.sid, Effect: "Allow", Action: actions, Resource: s.resources, Condition: s.condition})
		}
	}
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}

// page explains the policy.
func permissionsPage(needed map[string]bool) []byte {
	var b bytes.Buffer
	fmt.Fprint(&b, `# Permissions in AWS

What [iam-policy.json](../iam-policy.json) allows, and why. Both are written from the calls that the code makes.
How a role gets the policy: [IAM](../how-to/iam.md).

<!-- Generated from test/policy by "make generate". -->
`)
	for _, s := range statements {
		actions := s.needs(needed)
		if len(actions) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", s.sid, s.why)
		fmt.Fprintf(&b, "On: `%s`\n\n", strings.Join(s.resources, "`, `"))
		for _, operator := range slices.Sorted(maps.Keys(s.condition)) {
			for key, values := range s.condition[operator] {
				if operator == "StringLike" {
					fmt.Fprintf(&b, "Only where there is `%s`.\n\n", key)
					continue
				}
				fmt.Fprintf(&b, "Only where `%s` is `%s`.\n\n", key, strings.Join(values, "` or `"))
			}
		}
		for _, a := range actions {
			fmt.Fprintf(&b, "- `%s`\n", a)
		}
	}
	return b.Bytes()
}

// called are the actions of all calls of AWS that the code of the provider makes, by what its types
// say.
func called(t *testing.T) map[string]bool {
	t.Helper()
	loaded, err := packages.Load(&packages.Config{
		Dir:  "../..",
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedSyntax | packages.NeedExportFile,
	}, "./providers/aws/...")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, p := range loaded {
		for _, e := range p.Errors {
			t.Fatal(e)
		}
		for _, used := range p.TypesInfo.Uses {
			if f, ok := used.(*types.Func); ok {
				maps.Copy(out, actions(f.Signature()))
			}
		}
	}
	return out
}

// actions are those that a function takes: one where it is a call of the SDK itself, which has a
// context and an input; and where it is handed a client, as paginators and waiters are, those of
// the client.
func actions(of *types.Signature) map[string]bool {
	out := map[string]bool{}
	if of.Params().Len() > 1 {
		if pointer, ok := of.Params().At(1).Type().(*types.Pointer); ok {
			if action := actionOf(pointer.Elem()); action != "" {
				out[action] = true
			}
		}
	}
	if of.Params().Len() > 0 {
		if client, ok := of.Params().At(0).Type().Underlying().(*types.Interface); ok {
			for i := range client.NumMethods() {
				maps.Copy(out, actions(client.Method(i).Signature()))
			}
		}
	}
	return out
}

// actionOf is the action of the call that has this input; empty for a type that is none.
func actionOf(input types.Type) string {
	t, ok := input.(*types.Named)
	if !ok || t.Obj().Pkg() == nil {
		return ""
	}
	service, isService := strings.CutPrefix(t.Obj().Pkg().Path(), "github.com/aws/aws-sdk-go-v2/service/")
	call, isInput := strings.CutSuffix(t.Obj().Name(), "Input")
	if !isService || !isInput || path.Base(service) != service {
		return ""
	}
	return iam.Prefix(service) + ":" + call
}
