package client

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"
	"github.com/aws/aws-sdk-go-v2/service/shield"
	"github.com/aws/aws-sdk-go-v2/service/wafv2"
	"github.com/aws/smithy-go/middleware"
)

// The calls of each service go through the middleware of the settings, and then of the caller.
func TestCallsGoThroughTheMiddleware(t *testing.T) {
	var went []string
	stop := errors.New("far enough")
	through := func(name string, next func(context.Context, middleware.InitializeInput, middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error)) func(*middleware.Stack) error {
		return func(s *middleware.Stack) error {
			return s.Initialize.Add(middleware.InitializeMiddlewareFunc(name, func(ctx context.Context, in middleware.InitializeInput, h middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) { //nolint:misspell // the SDK names it so
				went = append(went, name)
				return next(ctx, in, h)
			}), middleware.After)
		}
	}
	goOn := func(ctx context.Context, in middleware.InitializeInput, h middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
		return h.HandleInitialize(ctx, in)
	}
	end := func(context.Context, middleware.InitializeInput, middleware.InitializeHandler) (out middleware.InitializeOutput, m middleware.Metadata, err error) {
		return out, m, stop
	}
	config := aws.Config{Region: "eu-west-1", APIOptions: []func(*middleware.Stack) error{through("settings", goOn)}}
	c := NewClients(config, "test", "vpc-1", through("first", goOn), through("second", end))
	if c.Installation != "test" || c.VPC != "vpc-1" || c.Region != "eu-west-1" {
		t.Errorf("installation %q, VPC %q, region %q", c.Installation, c.VPC, c.Region)
	}
	for name, call := range map[string]func(context.Context) error{
		"Elastic Load Balancing": func(ctx context.Context) error {
			_, err := c.ELB.DescribeRules(ctx, &elbapi.DescribeRulesInput{})
			return err
		},
		"tags": func(ctx context.Context) error {
			_, err := c.Tagging.GetResources(ctx, &resourcegroupstaggingapi.GetResourcesInput{})
			return err
		},
		"EC2": func(ctx context.Context) error {
			_, err := c.EC2.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{})
			return err
		},
		"Certificate Manager": func(ctx context.Context) error {
			_, err := c.ACM.ListCertificates(ctx, &acm.ListCertificatesInput{})
			return err
		},
		"WAF": func(ctx context.Context) error {
			_, err := c.WAF.ListWebACLs(ctx, &wafv2.ListWebACLsInput{Scope: "REGIONAL"})
			return err
		},
		"Shield": func(ctx context.Context) error {
			_, err := c.Shield.ListProtections(ctx, &shield.ListProtectionsInput{})
			return err
		},
	} {
		went = nil
		if err := call(t.Context()); !errors.Is(err, stop) || !slices.Equal(went, []string{"settings", "first", "second"}) {
			t.Errorf("a call of %s goes through %q: %v", name, went, err)
		}
	}
}
