package aws_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/aws-sdk-go-v2/service/shield"
	"github.com/aws/aws-sdk-go-v2/service/wafv2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/aws"
	"fairlead.dev/fairlead/test/awscalls"
)

// This file asks for facts, some of which AWS does not tell.

// An oracle is a provider and the account that it asks.
type oracle struct {
	*aws.Provider
	aws    awscalls.Answers
	limits func() error // refuses to tell the account's limits
	refuse error        // of each other call
}

func newOracle() *oracle {
	o := &oracle{limits: func() error { return nil }}
	awscalls.On(&o.aws, func(*elbapi.DescribeAccountLimitsInput) (*elbapi.DescribeAccountLimitsOutput, error) {
		limit := func(name, most string) elb.Limit { return elb.Limit{Name: sdk.String(name), Max: sdk.String(most)} }
		return &elbapi.DescribeAccountLimitsOutput{Limits: []elb.Limit{limit("condition-values-per-alb-rule", "5"), limit("rules-per-application-load-balancer", "200")}}, o.limits()
	})
	awscalls.On(&o.aws, func(*wafv2.ListWebACLsInput) (*wafv2.ListWebACLsOutput, error) {
		return &wafv2.ListWebACLsOutput{}, o.refuse
	})
	awscalls.On(&o.aws, func(*shield.GetSubscriptionStateInput) (*shield.GetSubscriptionStateOutput, error) {
		return &shield.GetSubscriptionStateOutput{SubscriptionState: "INACTIVE"}, o.refuse
	})
	o.Provider = aws.New(aws.Options{Config: o.aws.Config(), Installation: "test", VPC: "vpc-1"})
	return o
}

func TestFactsThatAWSDoesNotTell(t *testing.T) {
	no := awscalls.Refused("InternalFailure", "no")
	const denied = "InternalFailure: no"
	for name, c := range map[string]struct {
		q      lb.Questions
		limits error
		refuse error
		want   lb.Facts
		calls  []string
	}{
		"nothing is asked":     {q: lb.Questions{Provider: "aws"}, limits: no, refuse: no},
		"what is asked is not": {q: lb.Questions{WebACLs: []string{"edge"}}, want: lb.Facts{WebACLs: map[string]string{}}, calls: []string{"DescribeAccountLimits", "ListWebACLs"}},
		"settings of the provider": {
			q:     lb.Questions{Settings: `{"a":1}`},
			want:  lb.Facts{SettingsRefused: map[string]string{`{"a":1}`: "AWS has no settings of its own: attributes, tags and the like have fields and annotations"}},
			calls: []string{"DescribeAccountLimits"},
		},
		"limits": {
			q: lb.Questions{Limits: true}, limits: no, want: lb.Facts{LimitsUnread: true, Stale: []string{"reading the account's limits: " + denied}},
			calls: []string{"DescribeAccountLimits"},
		},
		"web ACLs": {
			q: lb.Questions{WebACLs: []string{"edge"}}, refuse: no, want: lb.Facts{Unguarded: "listing web ACLs: " + denied},
			calls: []string{"DescribeAccountLimits", "ListWebACLs"},
		},
		"a subscription": {
			q: lb.Questions{Shield: true}, want: lb.Facts{Unshielded: "the account has no subscription to Shield Advanced"},
			calls: []string{"DescribeAccountLimits", "GetSubscriptionState"},
		},
	} {
		o := newOracle()
		o.limits, o.refuse = func() error { return c.limits }, c.refuse
		got, err := o.Lookup(t.Context(), c.q)
		if diff := cmp.Diff(c.want, got, cmpopts.IgnoreFields(lb.Facts{}, "Now"), cmpopts.EquateEmpty()); err != nil || diff != "" || got.Now.IsZero() {
			t.Errorf("%s: error %v, facts (-want +got):\n%s", name, err, diff)
		}
		if diff := cmp.Diff(c.calls, o.aws.Calls()); diff != "" {
			t.Errorf("%s: calls (-want +got):\n%s", name, diff)
		}
	}
}

// Where AWS answers no call, a lookup that knows no limits yet does not wait for the next answer as
// well. One that knows some goes on with these.
func TestLimitsThatComeTooLate(t *testing.T) {
	late := errors.New("cut off")
	wait := func() error { time.Sleep(time.Hour); return late }
	for name, known := range map[string]bool{"known": true, "unknown": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOracle()
				if known {
					if _, err := o.Lookup(t.Context(), lb.Questions{Limits: true}); err != nil {
						t.Fatal(err)
					}
					time.Sleep(time.Hour)
				}
				o.limits = wait
				o.aws.Calls()
				facts, err := o.Lookup(t.Context(), lb.Questions{Limits: true, Shield: true})
				if (err == nil) != known || facts.LimitsUnread || (len(facts.Stale) > 0) != known {
					t.Errorf("facts %+v, error %v", facts, err)
				}
				if calls := len(o.aws.Calls()); calls > 1 != known {
					t.Errorf("%d calls", calls)
				}
				if got := o.Capabilities(lb.Class{}).Rules; got != map[bool]int{true: 200, false: lb.ALB().Rules}[known] {
					t.Errorf("a load balancer takes %d rules", got)
				}
			})
		})
	}
}

// Facts that a caller does not wait for are none.
func TestALookupThatIsEnded(t *testing.T) {
	o := newOracle()
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	o.limits = func() error { cancel(stop); return stop }
	if facts, err := o.Lookup(ctx, lb.Questions{Limits: true}); !errors.Is(err, stop) || !facts.Now.IsZero() {
		t.Errorf("facts %+v, error %v", facts, err)
	}
}

func TestCapabilitiesWithoutSecurityGroups(t *testing.T) {
	for _, unfenced := range []bool{false, true} {
		if got := aws.New(aws.Options{UnmanagedGroups: unfenced}).Capabilities(lb.Class{}); got.Inbound == unfenced {
			t.Errorf("with %v, ranges of clients can be limited: %v", unfenced, got.Inbound)
		}
	}
}
