package albsim_test

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/keypair"
)

// This file goes along the quotas of EC2 and of Certificate Manager: what is just within, and what
// is just beyond.

func TestQuotasOfOtherServices(t *testing.T) {
	sim := albsim.New(albsim.Options{Limits: albsim.Limits{SecurityGroups: 2, RulesPerSecurityGroup: 2, ImportedCertificates: 1}})
	groups, certificates := ec2.NewFromConfig(sim.Config()), acm.NewFromConfig(sim.Config())
	group := func(name string) func() error {
		return func() error {
			_, err := groups.CreateSecurityGroup(t.Context(), &ec2.CreateSecurityGroupInput{GroupName: &name, Description: &name, VpcId: aws.String(albsim.VPC)})
			return err
		}
	}
	rules := func(ports ...int32) func() error {
		return func() error {
			in := &ec2.AuthorizeSecurityGroupIngressInput{GroupId: aws.String(albsim.NodeGroup)}
			for _, port := range ports {
				in.IpPermissions = append(in.IpPermissions, ec2types.IpPermission{
					IpProtocol: aws.String("tcp"), FromPort: &port, ToPort: &port, IpRanges: []ec2types.IpRange{{CidrIp: aws.String("192.0.2.0/24")}},
				})
			}
			_, err := groups.AuthorizeSecurityGroupIngress(t.Context(), in)
			return err
		}
	}
	var imported *string
	certificate := func(again *string) func() error {
		return func() error {
			pair := keypair.For(t, "a.example.com")
			out, err := certificates.ImportCertificate(t.Context(), &acm.ImportCertificateInput{Certificate: pair.Chain, PrivateKey: pair.Key, CertificateArn: again}, func(o *acm.Options) { o.RetryMaxAttempts = 1 })
			if err == nil {
				imported = out.CertificateArn
			}
			return err
		}
	}
	for i, c := range []struct {
		why  string
		do   func() error
		want string
	}{
		{"a second security group", group("two"), ""},
		{"one too many", group("three"), "SecurityGroupLimitExceeded"},
		{"two rules", rules(80, 81), ""},
		{"one too many", rules(82), "RulesPerSecurityGroupLimitExceeded"},
		{"a certificate", certificate(nil), ""},
		{"one too many", certificate(nil), "LimitExceededException"},
		{"the same again", func() error { return certificate(imported)() }, ""},
		{"another one, once it is gone", func() error {
			if _, err := certificates.DeleteCertificate(t.Context(), &acm.DeleteCertificateInput{CertificateArn: imported}); err != nil {
				return err
			}
			return certificate(nil)()
		}, ""},
	} {
		t.Run(fmt.Sprint(i, " ", c.why), func(t *testing.T) {
			if err := c.do(); code(err) != c.want {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
