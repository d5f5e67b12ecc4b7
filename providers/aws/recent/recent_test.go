package recent

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"

	"fairlead.dev/fairlead/providers/aws/awserr"
)

// This file calls AWS for what was made a moment ago, and for what was there before.

const (
	arnOfListener    = "arn:aws:elasticloadbalancing:eu-west-1:1:listener/app/a/1/2"
	arnOfRule        = "arn:aws:elasticloadbalancing:eu-west-1:1:listener-rule/app/a/1/2/3"
	arnOfGroup       = "arn:aws:elasticloadbalancing:eu-west-1:1:targetgroup/g/4"
	arnOfCertificate = "arn:aws:acm:eu-west-1:1:certificate/5"
	arnOfTrustStore  = "arn:aws:elasticloadbalancing:eu-west-1:1:truststore/t/6"
)

// ask makes a call that AWS answers with something, or with an error.
func (r *Resources) ask(operation string, in, out any, err error) error {
	ctx := awsmiddleware.SetOperationName(context.Background(), operation)
	_, _, err = r.watch(ctx, middleware.InitializeInput{Parameters: in}, middleware.InitializeHandlerFunc(
		func(context.Context, middleware.InitializeInput) (middleware.InitializeOutput, middleware.Metadata, error) {
			return middleware.InitializeOutput{Result: out}, middleware.Metadata{}, err
		}))
	return err
}

func missingFrom(r *Resources, operation, code string, in any) bool {
	return awserr.IsTooSoon(r.ask(operation, in, nil, &smithy.GenericAPIError{Code: code}))
}

// Of an answer only what the call made counts as made a moment ago. What else it names was there
// before.
func TestOnlyWhatWasMadeIsRecent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(0, func([]string) bool { return false })
		made := func(operation string, in, out any) {
			if err := r.ask(operation, in, out, nil); err != nil {
				t.Error(err)
			}
		}
		forward := []types.Action{{TargetGroupArn: aws.String(arnOfGroup)}}
		made("CreateTargetGroup", &elb.CreateTargetGroupInput{}, &elb.CreateTargetGroupOutput{TargetGroups: []types.TargetGroup{{TargetGroupArn: aws.String(arnOfGroup)}}})
		makesRule := func() {
			made("CreateRule", &elb.CreateRuleInput{}, &elb.CreateRuleOutput{Rules: []types.Rule{{RuleArn: aws.String(arnOfRule), Actions: forward}}})
		}
		makesRule()
		made("CreateListener", &elb.CreateListenerInput{}, &elb.CreateListenerOutput{Listeners: []types.Listener{{
			ListenerArn: aws.String(arnOfListener), Certificates: []types.Certificate{{CertificateArn: aws.String(arnOfCertificate)}},
			MutualAuthentication: &types.MutualAuthenticationAttributes{TrustStoreArn: aws.String(arnOfTrustStore)}, DefaultActions: forward,
		}}})
		names := &elb.AddListenerCertificatesInput{Certificates: []types.Certificate{{CertificateArn: aws.String(arnOfCertificate)}}}
		check := func(what string, got, want bool) {
			t.Helper()
			if got != want {
				t.Errorf("%s counts as made a moment ago: %t, want %t", what, got, want)
			}
		}
		group := &elb.ModifyTargetGroupInput{TargetGroupArn: aws.String(arnOfGroup)}
		check("a listener", missingFrom(r, "ModifyListener", "ListenerNotFound", &elb.ModifyListenerInput{ListenerArn: aws.String(arnOfListener)}), true)
		check("a rule", missingFrom(r, "ModifyRule", "RuleNotFound", &elb.ModifyRuleInput{RuleArn: aws.String(arnOfRule)}), true)
		check("a target group", missingFrom(r, "ModifyTargetGroup", "TargetGroupNotFound", group), true)
		check("the certificate that a listener was given", missingFrom(r, "AddListenerCertificates", "CertificateNotFound", names), false)

		made("ImportCertificate", &acm.ImportCertificateInput{CertificateArn: aws.String(arnOfCertificate)}, &acm.ImportCertificateOutput{CertificateArn: aws.String(arnOfCertificate)})
		check("a certificate that was imported in place of another one", missingFrom(r, "AddListenerCertificates", "CertificateNotFound", names), false)
		made("ImportCertificate", &acm.ImportCertificateInput{}, &acm.ImportCertificateOutput{CertificateArn: aws.String(arnOfCertificate)})
		check("a certificate that was imported", missingFrom(r, "AddListenerCertificates", "CertificateNotFound", names), true)

		time.Sleep(Usual - time.Second)
		makesRule()
		time.Sleep(time.Second)
		check("a target group that another rule forwards to", missingFrom(r, "ModifyTargetGroup", "TargetGroupNotFound", group), false)
		if err := r.ask("ModifyTargetGroup", group, nil, context.DeadlineExceeded); !errors.Is(err, context.DeadlineExceeded) || awserr.IsTooSoon(err) {
			t.Errorf("no answer is told as %v", err)
		}
	})
}
