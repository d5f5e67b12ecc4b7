package albsim_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/aws-sdk-go-v2/service/wafv2"

	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/albsim/iam"
	"fairlead.dev/fairlead/test/keypair"
)

// This file calls the account where AWS is stricter, or later, than a list of actions says.

func makeBalancer(t *testing.T, api *elbapi.Client) (string, error) {
	t.Helper()
	out, err := api.CreateLoadBalancer(t.Context(), &elbapi.CreateLoadBalancerInput{
		Name: aws.String("web"), Scheme: elb.LoadBalancerSchemeEnumInternal, Subnets: []string{"subnet-private0", "subnet-private1"},
	})
	if err != nil {
		return "", err
	}
	return *out.LoadBalancers[0].LoadBalancerArn, nil
}

// A call takes rights beyond the action of its name: without any one of them it is denied, and the
// answer says which.
func TestRightsBeyondTheActionAreAsked(t *testing.T) {
	needs := iam.Needs("elasticloadbalancing:CreateLoadBalancer")
	if len(needs) < 6 {
		t.Fatalf("CreateLoadBalancer needs %v", needs)
	}
	for _, missing := range needs {
		if missing == "elasticloadbalancing:AddTags" {
			continue // for one that is made with tags
		}
		sim := albsim.New(albsim.Options{FirstUse: true, Authorize: func(a iam.Ask) bool { return a.Action != missing }})
		if _, err := makeBalancer(t, elbapi.NewFromConfig(sim.Config())); err == nil || !strings.Contains(err.Error(), missing) {
			t.Errorf("without %s: %v", missing, err)
		}
	}
}

// What was made is not found at once, by any service, and then is.
func TestReadsLagBehindWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim := albsim.New(albsim.Options{Lag: 30 * time.Second})
		api, network, certificates, firewall := elbapi.NewFromConfig(sim.Config()), ec2.NewFromConfig(sim.Config()), acm.NewFromConfig(sim.Config()), wafv2.NewFromConfig(sim.Config())
		balancer, err := makeBalancer(t, api)
		if err != nil {
			t.Fatal(err)
		}
		group, err := api.CreateTargetGroup(t.Context(), &elbapi.CreateTargetGroupInput{Name: aws.String("web"), Port: aws.Int32(80), Protocol: elb.ProtocolEnumHttp, VpcId: aws.String(albsim.VPC)})
		if err != nil {
			t.Fatal(err)
		}
		security, err := network.CreateSecurityGroup(t.Context(), &ec2.CreateSecurityGroupInput{GroupName: aws.String("web"), Description: aws.String("web"), VpcId: aws.String(albsim.VPC)})
		if err != nil {
			t.Fatal(err)
		}
		pair := keypair.For(t, "a.example.com")
		imported, err := certificates.ImportCertificate(t.Context(), &acm.ImportCertificateInput{Certificate: pair.Chain, PrivateKey: pair.Key})
		if err != nil {
			t.Fatal(err)
		}
		look := func(want map[string]string) {
			t.Helper()
			reads := map[string]func() error{
				"a load balancer": func() error {
					_, err := api.DescribeLoadBalancers(t.Context(), &elbapi.DescribeLoadBalancersInput{LoadBalancerArns: []string{balancer}})
					return err
				},
				"a target group": func() error {
					_, err := api.DescribeTargetHealth(t.Context(), &elbapi.DescribeTargetHealthInput{TargetGroupArn: group.TargetGroups[0].TargetGroupArn})
					return err
				},
				"a security group": func() error {
					_, err := network.DescribeSecurityGroups(t.Context(), &ec2.DescribeSecurityGroupsInput{GroupIds: []string{*security.GroupId}})
					return err
				},
				"a certificate": func() error {
					_, err := certificates.DescribeCertificate(t.Context(), &acm.DescribeCertificateInput{CertificateArn: imported.CertificateArn})
					return err
				},
				"a load balancer, to WAF": func() error {
					_, err := firewall.GetWebACLForResource(t.Context(), &wafv2.GetWebACLForResourceInput{ResourceArn: aws.String(balancer)})
					return err
				},
			}
			for what, read := range reads {
				if got := code(read()); got != want[what] {
					t.Errorf("%s: %q, want %q", what, got, want[what])
				}
			}
		}
		look(map[string]string{
			"a load balancer": "LoadBalancerNotFound", "a target group": "TargetGroupNotFound", "a security group": "InvalidGroup.NotFound",
			"a certificate": "ResourceNotFoundException", "a load balancer, to WAF": "WAFNonexistentItemException",
		})
		time.Sleep(31 * time.Second)
		look(map[string]string{})
	})
}

func TestDescriptionsOfSecurityGroups(t *testing.T) {
	network := ec2.NewFromConfig(albsim.New(albsim.Options{}).Config())
	for text, want := range map[string]string{
		"web (of shop/site), #1": "", "who isn't allowed": "InvalidParameterValue", "für alle": "InvalidParameterValue",
		strings.Repeat("x", 255): "", strings.Repeat("x", 256): "InvalidParameterValue", "": "InvalidParameterValue",
	} {
		_, err := network.CreateSecurityGroup(t.Context(), &ec2.CreateSecurityGroupInput{GroupName: aws.String("g" + text[:min(len(text), 9)]), Description: aws.String(text), VpcId: aws.String(albsim.VPC)})
		if got := code(err); got != want {
			t.Errorf("%.20q: %q, want %q", text, got, want)
		}
	}
}

// A call that revokes a rule which is not there revokes none of the others, except in a default VPC,
// where it says which are unknown.
func TestRevokingWhatIsNotThere(t *testing.T) {
	for _, standard := range []bool{false, true} {
		api := ec2.NewFromConfig(albsim.New(albsim.Options{DefaultVPC: standard}).Config())
		group, err := api.CreateSecurityGroup(t.Context(), &ec2.CreateSecurityGroupInput{GroupName: aws.String("web"), Description: aws.String("web"), VpcId: aws.String(albsim.VPC)})
		if err != nil {
			t.Fatal(err)
		}
		port := func(n int32) ec2types.IpPermission {
			return ec2types.IpPermission{IpProtocol: aws.String("tcp"), FromPort: &n, ToPort: &n, IpRanges: []ec2types.IpRange{{CidrIp: aws.String("10.0.0.0/8")}}}
		}
		if _, err := api.AuthorizeSecurityGroupIngress(t.Context(), &ec2.AuthorizeSecurityGroupIngressInput{GroupId: group.GroupId, IpPermissions: []ec2types.IpPermission{port(80)}}); err != nil {
			t.Fatal(err)
		}
		out, err := api.RevokeSecurityGroupIngress(t.Context(), &ec2.RevokeSecurityGroupIngressInput{GroupId: group.GroupId, IpPermissions: []ec2types.IpPermission{port(80), port(81)}})
		if (err == nil) != standard || standard && len(out.UnknownIpPermissions) != 1 {
			t.Errorf("default VPC %t: %+v, %v", standard, out, err)
		}
		left, err := api.DescribeSecurityGroups(t.Context(), &ec2.DescribeSecurityGroupsInput{GroupIds: []string{*group.GroupId}})
		if err != nil || (len(left.SecurityGroups[0].IpPermissions) == 0) != standard {
			t.Errorf("default VPC %t: %+v, %v", standard, left, err)
		}
	}
}
