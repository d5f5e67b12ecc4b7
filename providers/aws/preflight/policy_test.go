package preflight

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/providers/aws/client"
)

// policy has a policy in place of docs/iam-policy.json.
func policy(t *testing.T, text string) {
	t.Helper()
	before := policyText
	policyText = []byte(text)
	t.Cleanup(func() { policyText = before })
}

func (r right) String() string {
	out := []string{r.statement, r.action, r.resource}
	for _, key := range slices.Sorted(maps.Keys(r.context)) {
		out = append(out, key+"="+r.context[key])
	}
	return strings.Join(out, " ")
}

// Each action is asked about on a resource that its statement is about, of this account and region.
func TestRightsOfAPolicy(t *testing.T) {
	policy(t, `{"Statement":[
		{"Sid":"Read","Action":["ec2:DescribeVpcs"],"Resource":"*"},
		{"Sid":"Make","Action":["elasticloadbalancing:CreateTargetGroup","elasticloadbalancing:CreateLoadBalancer"],
			"Resource":["arn:*:elasticloadbalancing:*:*:loadbalancer/app/fl-*","arn:*:elasticloadbalancing:*:*:targetgroup/fl-*"],
			"Condition":{"StringLike":{"aws:RequestTag/fairlead.dev/installation":"*"},"StringEquals":{"elasticloadbalancing:CreateAction":["CreateListener","CreateRule"]}}},
		{"Sid":"Rules","Action":"elasticloadbalancing:DeleteRule","Resource":["arn:*:elasticloadbalancing:*:*:listener/app/fl-*","arn:*:elasticloadbalancing:*:*:listener-rule/app/fl-*"]},
		{"Sid":"Import","Action":"acm:ImportCertificate","Resource":"arn:*:acm:*:*:certificate/${*}"},
		{"Sid":"SignIn","Action":"cognito-idp:DescribeUserPoolClient","Resource":"arn:*:cognito-idp:*:*:userpool/POOL"},
		{"Sid":"Protect","Action":"wafv2:AssociateWebACL","Resource":["arn:*:elasticloadbalancing:*:*:loadbalancer/app/fl-*","arn:*:wafv2:*:*:regional/webacl/*"]},
		{"Sid":"Role","Action":"iam:CreateServiceLinkedRole","Resource":"arn:*:iam::*:role/elb"},
		{"Sid":"ReachTargets","Action":"ec2:RevokeSecurityGroupIngress","Resource":"arn:*:ec2:*:*:security-group/*","Condition":{"StringLike":{"aws:ResourceTag/kubernetes.io/cluster/CLUSTER":"*"}}}
	]}`)
	all := []string{
		"Read ec2:DescribeVpcs *",
		"Make elasticloadbalancing:CreateTargetGroup arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/fl-check/0123456789abcdef aws:RequestTag/fairlead.dev/installation=check elasticloadbalancing:CreateAction=CreateListener",
		"Make elasticloadbalancing:CreateLoadBalancer arn:aws:elasticloadbalancing:eu-west-1:123456789012:loadbalancer/app/fl-check/0123456789abcdef aws:RequestTag/fairlead.dev/installation=check elasticloadbalancing:CreateAction=CreateListener",
		"Rules elasticloadbalancing:DeleteRule arn:aws:elasticloadbalancing:eu-west-1:123456789012:listener/app/fl-check/0123456789abcdef",
		"Import acm:ImportCertificate arn:aws:acm:eu-west-1:123456789012:certificate/*",
		"SignIn cognito-idp:DescribeUserPoolClient arn:aws:cognito-idp:eu-west-1:123456789012:userpool/eu-west-1_check",
		"Protect wafv2:AssociateWebACL arn:aws:wafv2:eu-west-1:123456789012:regional/webacl/0123456789abcdef",
		"Role iam:CreateServiceLinkedRole arn:aws:iam::123456789012:role/elb",
	}
	const ofCluster = "ReachTargets ec2:RevokeSecurityGroupIngress arn:aws:ec2:eu-west-1:123456789012:security-group/0123456789abcdef aws:ResourceTag/kubernetes.io/cluster/shop=check"
	for cluster, want := range map[string][]string{"": all, "shop": append(slices.Clone(all), ofCluster)} {
		got, err := policyRights(role, "eu-west-1", cluster)
		var texts []string
		for _, r := range got {
			texts = append(texts, r.String())
		}
		if diff := cmp.Diff(want, texts); err != nil || diff != "" {
			t.Errorf("cluster %q: error %v, rights (-want +got):\n%s", cluster, err, diff)
		}
	}
}

func TestAPolicyThatCannotBeRead(t *testing.T) {
	for _, text := range []string{"", `{"Statement":[{"Action":1}]}`, `{"Statement":[{"Resource":[1]}]}`} {
		policy(t, text)
		if _, err := policyRights(role, "eu-west-1", ""); err == nil || !strings.HasPrefix(err.Error(), "reading the policy: ") {
			t.Errorf("%s: the error is %v", text, err)
		}
	}
	a := newAccount(client.Access{})
	a.checkRights(t.Context())
	if got := fmt.Sprint(lines(a.findings)); !strings.HasPrefix(got, "[unknown aws/iam | permissions | reading the policy: ") {
		t.Errorf("findings %s", got)
	}
}

// Each right of the policy itself is on a resource of the account, or on all.
func TestRightsOfThePolicy(t *testing.T) {
	all, err := policyRights(role, "eu-west-1", "shop")
	if err != nil || len(all) < 80 {
		t.Fatalf("%d rights, error %v", len(all), err)
	}
	for _, r := range all {
		placeholder := slices.ContainsFunc([]string{"CLUSTER", "POOL", "${*}", "fl-*"}, func(p string) bool { return strings.Contains(r.String(), p) })
		if placeholder || r.resource != "*" && !strings.HasPrefix(r.resource, "arn:aws:") {
			t.Errorf("%s is not on a resource", r)
		}
	}
}
