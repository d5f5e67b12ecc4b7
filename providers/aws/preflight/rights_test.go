package preflight

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	tagging "github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"
	"github.com/aws/aws-sdk-go-v2/service/shield"
	"github.com/aws/aws-sdk-go-v2/service/wafv2"
	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/test/awscalls"
)

// probed answers the calls that try rights as AWS does where all is allowed, and keeps some.
type probed struct {
	testing.TB
	ports []string // the groups whose ports are to be opened or closed
}

// answer says that a call of EC2 would have succeeded, and that nothing is where there is nothing.
// A call of EC2 that is no dry run fails the test.
func (p *probed) answer(in any) (any, error) {
	service, name, _ := strings.Cut(strings.TrimSuffix(fmt.Sprintf("%T", in)[1:], "Input"), ".")
	switch in := in.(type) {
	case *ec2.AuthorizeSecurityGroupIngressInput:
		p.ports = append(p.ports, *in.GroupId)
	case *ec2.RevokeSecurityGroupIngressInput:
		p.ports = append(p.ports, *in.GroupId)
	}
	if service == "ec2" {
		if dry := reflect.ValueOf(in).Elem().FieldByName("DryRun").Interface().(*bool); !aws.ToBool(dry) {
			p.Errorf("%s is no dry run", name)
		}
		return nil, awscalls.Refused("DryRunOperation", "Request would have succeeded, but DryRun flag is set.")
	}
	service = strings.Replace(strings.TrimSuffix(service, "v2"), "resourcegroupstaggingapi", "tag", 1)
	if service == "waf" {
		service = "wafv2"
	}
	if code := notFoundCodes[service+":"+name]; code != "" {
		return nil, awscalls.Refused(code+"Exception", "no")
	}
	return map[string]any{
		"DescribeAccountLimits": &elbapi.DescribeAccountLimitsOutput{}, "DescribeLoadBalancers": &elbapi.DescribeLoadBalancersOutput{},
		"DescribeTargetGroups": &elbapi.DescribeTargetGroupsOutput{}, "DescribeTrustStores": &elbapi.DescribeTrustStoresOutput{},
		"ListCertificates": &acm.ListCertificatesOutput{}, "GetResources": &tagging.GetResourcesOutput{},
		"GetSubscriptionState": &shield.GetSubscriptionStateOutput{}, "ListWebACLs": &wafv2.ListWebACLsOutput{},
	}[name], nil
}

// Rights are known as far as there are calls that change nothing. Without a security group of ours,
// and of nodes, fewer changes are tried; without a VPC, none.
func TestRightsAreTried(t *testing.T) {
	const note = "unknown aws/iam/simulation | iam:SimulatePrincipalPolicy | IAM does not say what the role may do: asking IAM: unreachable | actions that no harmless call tries are not known below; run the check with credentials that may call it, to know them"
	reads := map[string]string{
		"as a read shows": "acm:ListCertificates elasticloadbalancing:DescribeAccountLimits elasticloadbalancing:DescribeLoadBalancers elasticloadbalancing:DescribeTargetGroups " +
			"elasticloadbalancing:DescribeTrustStores shield:GetSubscriptionState tag:GetResources wafv2:ListWebACLs",
		"as a read of a missing resource shows": "acm:DescribeCertificate elasticloadbalancing:DescribeListenerAttributes elasticloadbalancing:DescribeListenerCertificates elasticloadbalancing:DescribeListeners " +
			"elasticloadbalancing:DescribeLoadBalancerAttributes elasticloadbalancing:DescribeRules elasticloadbalancing:DescribeTags elasticloadbalancing:DescribeTargetGroupAttributes " +
			"elasticloadbalancing:DescribeTargetHealth shield:DescribeProtection wafv2:GetWebACLForResource",
	}
	const describes = " ec2:DescribeAccountAttributes ec2:DescribeAddresses ec2:DescribeInstances ec2:DescribeInternetGateways ec2:DescribeManagedPrefixLists ec2:DescribeRouteTables ec2:DescribeSecurityGroups ec2:DescribeSubnets ec2:DescribeVpcs ec2:GetSecurityGroupsForVpc"
	const changes = "ec2:AuthorizeSecurityGroupIngress ec2:CreateSecurityGroup ec2:CreateTags ec2:DeleteSecurityGroup ec2:DeleteTags" + describes + " ec2:RevokeSecurityGroupIngress"
	group := func(id string) []ec2types.SecurityGroup {
		return []ec2types.SecurityGroup{{GroupId: aws.String(id)}}
	}
	for name, c := range map[string]struct {
		nodes, ours []ec2types.SecurityGroup
		refuse      error
		dry         string // tried by dry runs
		ports       string // groups whose ports are tried
	}{
		"all groups are there":     {nodes: group("sg-nodes"), ours: group("sg-ours"), dry: changes, ports: "sg-ours sg-ours sg-nodes sg-nodes"},
		"none of ours":             {nodes: group("sg-nodes"), dry: "ec2:CreateSecurityGroup" + describes, ports: "sg-nodes sg-nodes"},
		"ours cannot be read":      {nodes: group("sg-nodes"), ours: group("sg-ours"), refuse: failure, dry: "ec2:CreateSecurityGroup" + describes, ports: "sg-nodes sg-nodes"},
		"none of nodes":            {ours: group("sg-ours"), dry: "ec2:CreateSecurityGroup ec2:CreateTags ec2:DeleteSecurityGroup ec2:DeleteTags" + describes, ports: "sg-ours sg-ours"},
		"none of nodes or of ours": {dry: "ec2:CreateSecurityGroup" + describes},
	} {
		a := located(t, client.Access{Cluster: "shop"})
		a.nodes, a.groups, a.refuse["DescribeSecurityGroups"] = c.nodes, c.ours, c.refuse
		p := &probed{TB: t}
		a.Clients = client.NewClients(awscalls.Config(p.answer), "", "vpc-1")
		a.checkRights(t.Context())
		got := map[string]string{}
		for _, f := range a.findings[1:] {
			if how, allowed := strings.CutPrefix(f.Detail, "allowed, "); allowed && f.State == check.OK {
				got[how] = strings.TrimPrefix(got[how]+" "+f.Title, " ")
			} else if f.State != check.Unknown || !strings.HasPrefix(f.Detail, "not known: no harmless call tries what is allowed in ") || f.Advice != "" {
				t.Errorf("%s: %+v", name, f)
			}
		}
		want := maps.Clone(reads)
		want["as a dry run shows"] = c.dry
		if diff := cmp.Diff(want, got); diff != "" || lines(a.findings)[0] != note {
			t.Errorf("%s: %s; what is allowed, by how that is known (-want +got):\n%s", name, lines(a.findings)[0], diff)
		}
		if ports := strings.Join(p.ports, " "); ports != c.ports {
			t.Errorf("%s: ports are opened of %s, want %s", name, ports, c.ports)
		}
	}
	a := newAccount(client.Access{})
	a.checkRights(t.Context())
	for _, f := range a.findings {
		if f.State != check.Unknown {
			t.Errorf("without a VPC, %+v", f)
		}
	}
	if calls := a.aws.Calls(); len(calls) > 0 {
		t.Errorf("without a VPC, %q are called", calls)
	}
}

// IAM is believed where it answers.
func TestRightsThatIAMTells(t *testing.T) {
	t.Setenv("AWS_ENDPOINT_URL_IAM", "")
	policy(t, `{"Statement":[{"Sid":"Read","Action":["ec2:DescribeVpcs","ec2:DescribeSubnets"],"Resource":"*"}]}`)
	a := located(t, client.Access{})
	a.sdk = (&iam{answer: func(url.Values) (int, string) {
		return http.StatusOK, decided("", "ec2:DescribeVpcs", "allowed", "ec2:DescribeSubnets", "implicitDeny")
	}}).config()
	a.checkRights(t.Context())
	a.expect(t, "IAM", "wrong aws/iam/ec2:DescribeSubnets | ec2:DescribeSubnets | denied, as IAM says | allow it as docs/iam-policy.json does in Read",
		"ok aws/iam/ec2:DescribeVpcs | ec2:DescribeVpcs | allowed, as IAM says | ")
	if calls := a.aws.Calls(); len(calls) > 0 {
		t.Errorf("%q are called", calls)
	}
}

func TestWhatIsKnownOfAnAction(t *testing.T) {
	yes, no, unknown, foreign := verdict{true, true, "as IAM says"}, verdict{true, false, "as AWS says"}, verdict{}, verdict{how: "it is not AWS"}
	for _, c := range []struct {
		statements string
		verdicts   []verdict
		want       string
	}{
		{"Read", []verdict{yes}, "ok|allowed, as IAM says|"},
		{"Read Make", []verdict{yes, yes}, "ok|allowed, as IAM says|"},
		{"Read", []verdict{no}, "wrong|denied, as AWS says|allow it as docs/iam-policy.json does in Read"},
		{"Read Make", []verdict{no, yes}, "wrong|denied, as AWS says|allow it as docs/iam-policy.json does in Read"},
		{"Read Shield Make", []verdict{no, no, unknown}, "wrong|denied, as AWS says|allow it as docs/iam-policy.json does in Read, Shield"},
		{"Shield Read", []verdict{no, yes}, "unknown|denied, as AWS says|it is needed for Shield Advanced: docs/iam-policy.json allows it in Shield"},
		{"Protect Read", []verdict{no, unknown}, "unknown|denied, as AWS says|it is needed for web ACLs: docs/iam-policy.json allows it in Protect"},
		{"Read Make", []verdict{unknown, yes}, "unknown|not known: no harmless call tries what is allowed in Read|"},
		{"Read Make Change", []verdict{unknown, foreign, unknown}, "unknown|not known: it is not AWS|"},
		{"Read Make", []verdict{unknown, unknown}, "unknown|not known: no harmless call tries what is allowed in Read, Make|"},
	} {
		var all []right
		var of []int
		for n, statement := range strings.Fields(c.statements) {
			all, of = append(all, right{statement: statement}), append(of, n)
		}
		f := rightFinding("ec2:A", of, all, c.verdicts)
		if got := fmt.Sprintf("%s|%s|%s", f.State, f.Detail, f.Advice); got != c.want || f.ID != "aws/iam/ec2:A" || f.Title != "ec2:A" {
			t.Errorf("%s of %v: %s, want %s", c.statements, c.verdicts, got, c.want)
		}
	}
}

func TestWhatAnAnswerTellsOfAnAction(t *testing.T) {
	const listeners = "elasticloadbalancing:DescribeListeners"
	refused := awscalls.Refused
	for _, c := range []struct {
		action string
		err    error
		want   verdict
	}{
		{"tag:GetResources", nil, verdict{true, true, "as a read shows"}},
		{listeners, nil, verdict{how: "the endpoint does not answer LoadBalancerNotFound for a missing resource, as AWS does"}},
		{"ec2:CreateTags", nil, verdict{how: "the endpoint does not answer a dry run with DryRunOperation, as AWS does"}},
		{"ec2:CreateTags", refused("DryRunOperation", "yes"), verdict{true, true, "as a dry run shows"}},
		{"ec2:CreateTags", refused("UnauthorizedOperation", "no"), verdict{true, false, "as AWS says"}},
		{listeners, refused("AccessDeniedException", "User: a is not authorized to perform: "+listeners), verdict{true, false, "as AWS says"}},
		{listeners, refused("AccessDenied", "User: a is not authorized to perform: ec2:DescribeVpcs"), verdict{}},
		{listeners, refused("LoadBalancerNotFoundException", "none"), verdict{true, true, "as a read of a missing resource shows"}},
		{listeners, refused("ListenerNotFound", "none"), verdict{}},
		{"tag:GetResources", errors.New("cut off"), verdict{}},
		{listeners, refused("Throttling", "slow down"), verdict{}},
	} {
		if got := judgeAnswer(c.action, c.err); got != c.want {
			t.Errorf("%s, answered with %v: %+v, want %+v", c.action, c.err, got, c.want)
		}
	}
}
