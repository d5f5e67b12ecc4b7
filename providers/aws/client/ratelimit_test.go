package client

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"

	"fairlead.dev/fairlead/providers"
)

// This file tests which rate a call counts for, and how a rate follows the answers of AWS.

func TestTheClassOfACall(t *testing.T) {
	const elb = "Elastic Load Balancing v2"
	for _, c := range []struct{ service, operation, want string }{
		{elb, "DescribeRules", "read"},
		{elb, "CreateRule", "write"},
		{elb, "DeleteRule", "write"},
		{elb, "SetSecurityGroups", "write"},
		{elb, "AddTags", "write"},
		{elb, "ModifyRule", "modify"},
		{elb, "RegisterTargets", "targets"},
		{elb, "DeregisterTargets", "targets"},
		{"EC2", "DescribeSubnets", "ec2-read"},
		{"EC2", "GetSecurityGroupsForVpc", "ec2-read"},
		{"EC2", "AuthorizeSecurityGroupIngress", "ec2-write"},
		{"EC2", "ModifySecurityGroupRules", "ec2-write"},
		{"ACM", "ListCertificates", "acm-read"},
		{"ACM", "DeleteCertificate", "acm-write"},
		{"ACM", "ImportCertificate", "acm-import"},
		{"WAFV2", "GetWebACL", "waf-read"},
		{"WAFV2", "AssociateWebACL", "waf-write"},
		{"Shield", "CreateProtection", "other"},
	} {
		got := classOf(c.service, c.operation)
		if got != c.want {
			t.Errorf("%s of %s counts as %s, want %s", c.operation, c.service, got, c.want)
		}
		if _, published := PublishedRates()[got]; !published {
			t.Errorf("%s has no rate", got)
		}
	}
}

// A refusal halves a rate, down to a tenth. Those within a second of it count as one. A call that is
// granted gives a sixtieth back, up to all of it.
func TestARateFollowsTheAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bucket{turns: providers.NewTurns(100, 1000), rate: 100, full: 100}
		granted, refused := false, true
		for i, c := range []struct {
			after  time.Duration
			answer bool
			want   float64
		}{
			{0, granted, 100},
			{0, refused, 50},
			{0, refused, 50},
			{oneRefusal - 1, refused, 50},
			{1, refused, 25},
			{oneRefusal, refused, 12.5},
			{oneRefusal, refused, 10},
			{oneRefusal, refused, 10},
			{0, granted, 10 + 100.0/60},
			{0, granted, 10 + 200.0/60},
		} {
			time.Sleep(c.after)
			if b.record(c.answer); math.Abs(b.rate-c.want) > 1e-9 {
				t.Errorf("after answer %d the rate is %v, want %v", i, b.rate, c.want)
			}
		}
		for range recovery {
			b.record(granted)
		}
		if b.rate != b.full {
			t.Errorf("after a minute's calls the rate is %v", b.rate)
		}
	})
}

// paced makes a call of an operation through a pacer.
func paced(ctx context.Context, p *Pacer, service, operation string, answer error) error {
	named := awsmiddleware.RegisterServiceMetadata{ServiceID: service, OperationName: operation}
	_, _, err := named.HandleInitialize(ctx, middleware.InitializeInput{}, middleware.InitializeHandlerFunc(
		func(ctx context.Context, _ middleware.InitializeInput) (out middleware.InitializeOutput, m middleware.Metadata, err error) {
			_, m, err = p.pace(ctx, middleware.FinalizeInput{}, middleware.FinalizeHandlerFunc(
				func(context.Context, middleware.FinalizeInput) (out middleware.FinalizeOutput, m middleware.Metadata, err error) {
					return out, m, answer
				}))
			return out, m, err
		}))
	return err
}

// The wait for a turn, however long, is no part of the deadline of a call. What comes after it is.
func TestAPacedCallHasItsTimeAfterItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPacer(PacerOptions{Rates: providers.Rates{"ec2-read": {PerSecond: 1.0 / 3600, Burst: 1}}, Deadlines: deadlines})
		if err := paced(t.Context(), p, "EC2", "DescribeSubnets", nil); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		err := calledToRead(t.Context(), func(ctx context.Context) error {
			if err := paced(ctx, p, "EC2", "DescribeSubnets", nil); err != nil {
				t.Errorf("the attempt ends with %v", err)
			}
			<-ctx.Done()
			return ctx.Err()
		})
		if took := time.Since(began).Round(time.Second); took != time.Hour+deadlines.Call || !IsTimeout(err) {
			t.Errorf("after %s the call ends with %v", took, err)
		}
	})
}

// Each call is reported with its result, and with how long it waited for its turn. One of a class that
// has no rate waits for none.
func TestCallsAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []Request
		p := NewPacer(PacerOptions{
			Rates: providers.Rates{"ec2-read": {PerSecond: 1, Burst: 1}}, Deadlines: deadlines, OnRequest: func(r Request) { told = append(told, r) },
		})
		slow := &smithy.GenericAPIError{Code: "RequestLimitExceeded"}
		lost := errors.New("connection reset")
		for i, c := range []struct {
			service, operation string
			answer             error
			result             string
			waited             time.Duration
		}{
			{"EC2", "DescribeSubnets", nil, "ok", 0},
			{"EC2", "DescribeSubnets", lost, "lost", time.Second},
			{"EC2", "DescribeSubnets", slow, "RequestLimitExceeded", time.Second},
			{"EC2", "DescribeSubnets", nil, "ok", 2 * time.Second}, // at half the rate
			{"ACM", "ListCertificates", nil, "ok", 0},
			{"ACM", "ListCertificates", slow, "RequestLimitExceeded", 0},
		} {
			if err := paced(t.Context(), p, c.service, c.operation, c.answer); !errors.Is(err, c.answer) {
				t.Errorf("call %d ends with %v", i, err)
			}
			want := Request{c.service, c.operation, c.result, c.waited}
			if got := told[len(told)-1]; len(told) != i+1 || got.Waited.Round(time.Millisecond) != c.waited || got.Result != c.result || got.Operation != c.operation {
				t.Errorf("call %d is told as %+v, want %+v", i, got, want)
			}
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := paced(ended, p, "EC2", "DescribeSubnets", nil); !errors.Is(err, context.Canceled) || len(told) != 6 {
			t.Errorf("a call that gets no turn ends with %v, and %d calls are reported", err, len(told))
		}
		if err := paced(t.Context(), NewPacer(PacerOptions{Deadlines: deadlines}), "EC2", "DescribeSubnets", nil); err != nil {
			t.Errorf("a call that nothing is told of ends with %v", err)
		}
	})
}
