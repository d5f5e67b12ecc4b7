package client

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
)

// This file calls AWS for what was made a moment ago, and for what was there before.

const (
	arnOfBalancer    = "arn:aws:elasticloadbalancing:eu-west-1:1:loadbalancer/app/a/1"
	arnOfListener    = "arn:aws:elasticloadbalancing:eu-west-1:1:listener/app/a/1/2"
	arnOfRule        = "arn:aws:elasticloadbalancing:eu-west-1:1:listener-rule/app/a/1/2/3"
	arnOfGroup       = "arn:aws:elasticloadbalancing:eu-west-1:1:targetgroup/g/4"
	arnOfCertificate = "arn:aws:acm:eu-west-1:1:certificate/5"
	arnOfTrustStore  = "arn:aws:elasticloadbalancing:eu-west-1:1:truststore/t/6"
)

// ask makes a call that AWS answers with something, or with an error.
func (r *Recent) ask(operation string, in, out any, err error) error {
	ctx := awsmiddleware.SetOperationName(context.Background(), operation)
	_, _, err = r.recordCall(ctx, middleware.InitializeInput{Parameters: in}, middleware.InitializeHandlerFunc(
		func(context.Context, middleware.InitializeInput) (middleware.InitializeOutput, middleware.Metadata, error) {
			return middleware.InitializeOutput{Result: out}, middleware.Metadata{}, err
		}))
	return err
}

func missingFrom(r *Recent, operation, code string, in any) bool {
	return isTooSoon(r.ask(operation, in, nil, &smithy.GenericAPIError{Code: code}))
}

// Of an answer only what the call made counts as made a moment ago. What else it names was there
// before.
func TestOnlyWhatWasMadeIsRecent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRecent(0, func([]string) bool { return false })
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

		time.Sleep(DefaultLag - time.Second)
		makesRule()
		time.Sleep(time.Second)
		check("a target group that another rule forwards to", missingFrom(r, "ModifyTargetGroup", "TargetGroupNotFound", group), false)
		if err := r.ask("ModifyTargetGroup", group, nil, context.DeadlineExceeded); !errors.Is(err, context.DeadlineExceeded) || isTooSoon(err) {
			t.Errorf("no answer is reported as %v", err)
		}
	})
}

// never forgets nothing.
func never([]string) bool { return false }

// having returns Resources that were created a moment ago.
func having(arns ...string) *Recent {
	r := NewRecent(0, never)
	r.add(arns)
	return r
}

var errNoGroup = &smithy.GenericAPIError{Code: "TargetGroupNotFound"}

// ruleTo is a call that makes a rule of a listener for a target group.
func ruleTo(listener, group string) *elb.CreateRuleInput {
	return &elb.CreateRuleInput{ListenerArn: aws.String(listener), Actions: []types.Action{{TargetGroupArn: aws.String(group)}}}
}

// Each call that creates a resource makes it count as new.
func TestAnswersToCreationsNameWhatWasMade(t *testing.T) {
	for made, out := range map[string]any{
		arnOfBalancer:    &elb.CreateLoadBalancerOutput{LoadBalancers: []types.LoadBalancer{{LoadBalancerArn: aws.String(arnOfBalancer)}}},
		arnOfListener:    &elb.CreateListenerOutput{Listeners: []types.Listener{{ListenerArn: aws.String(arnOfListener)}}},
		arnOfRule:        &elb.CreateRuleOutput{Rules: []types.Rule{{RuleArn: aws.String(arnOfRule)}}},
		arnOfGroup:       &elb.CreateTargetGroupOutput{TargetGroups: []types.TargetGroup{{TargetGroupArn: aws.String(arnOfGroup)}}},
		arnOfCertificate: &acm.ImportCertificateOutput{CertificateArn: aws.String(arnOfCertificate)},
		"sg-1":           &ec2.CreateSecurityGroupOutput{GroupId: aws.String("sg-1")},
	} {
		if got := madeBy(&acm.ImportCertificateInput{}, out); !slices.Equal(got, []string{made}) {
			t.Errorf("%T has made %q, want %s", out, got, made)
		}
	}
	if got := madeBy(nil, &elb.ModifyRuleOutput{Rules: []types.Rule{{RuleArn: aws.String(arnOfRule)}}}); len(got) > 0 {
		t.Errorf("a change has made %q", got)
	}
}

// Only the answer that a resource is not found comes too soon, and only if the resource that it is
// about is new.
func TestOnlyANewResourceIsFoundLater(t *testing.T) {
	other := arnOfGroup + "0"
	for name, c := range map[string]struct {
		new, names, code string
		soon             bool
	}{
		"the group is new":               {arnOfGroup, arnOfGroup, "TargetGroupNotFound", true},
		"another group is new":           {other, arnOfGroup, "TargetGroupNotFound", false},
		"the listener is new":            {arnOfListener, arnOfGroup, "TargetGroupNotFound", false},
		"the call is refused":            {arnOfGroup, arnOfGroup, "AccessDenied", false},
		"the group is what is not found": {arnOfGroup, arnOfGroup, "ListenerNotFound", false},
	} {
		if got := missingFrom(having(c.new), "CreateRule", c.code, ruleTo(arnOfListener, c.names)); got != c.soon {
			t.Errorf("%s: the answer %s comes too soon: %v, want %v", name, c.code, got, c.soon)
		}
	}
}

// A resource that AWS no longer finds is forgotten if this process knew it, and the call is made
// again. Calls that read or delete do not need it.
func TestAMissingResourceIsForgotten(t *testing.T) {
	for name, c := range map[string]struct {
		operation string
		known     bool
		asked     bool
		soon      bool
	}{
		"a change of one that was known":        {"CreateRule", true, true, true},
		"a change of one that was not known":    {"CreateRule", false, true, false},
		"a read":                                {"DescribeRules", true, false, false},
		"a deletion":                            {"DeleteRule", true, false, false},
		"a deregistration, which is a deletion": {"DeregisterTargets", true, false, false},
	} {
		var asked []string
		r := NewRecent(0, func(ids []string) bool { asked = ids; return c.known })
		if got := missingFrom(r, c.operation, "TargetGroupNotFound", ruleTo(arnOfListener, arnOfGroup)); got != c.soon {
			t.Errorf("%s: the answer comes too soon: %v, want %v", name, got, c.soon)
		}
		var want []string
		if c.asked {
			want = []string{arnOfGroup}
		}
		if !slices.Equal(asked, want) {
			t.Errorf("%s: %q are forgotten, want %q", name, asked, want)
		}
	}
}

// A call that did not find a new resource is not made again for a while, each time for longer. The
// answer is the same meanwhile. A call that is under way at the same time lengthens nothing.
func TestACallThatComesTooSoonIsNotRepeatedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := having(arnOfGroup)
		call := ruleTo(arnOfListener, arnOfGroup)
		for _, wait := range []time.Duration{
			time.Second, 1500 * time.Millisecond, 2250 * time.Millisecond, 3375 * time.Millisecond,
		} {
			for range 2 { // calls at the same time
				r.wait("CreateRule", ":targetgroup/", call, errNoGroup)
			}
			time.Sleep(wait - time.Millisecond)
			if err := r.ask("CreateRule", call, nil, nil); !errors.Is(err, errNoGroup) || !r.Unfound(arnOfGroup) {
				t.Errorf("before %s have passed the answer is %v", wait, err)
			}
			time.Sleep(time.Millisecond)
			if err := r.ask("CreateRule", call, nil, nil); err != nil || r.Unfound(arnOfGroup) {
				t.Errorf("after %s the answer is %v", wait, err)
			}
		}
		for range 10 {
			r.wait("CreateRule", ":targetgroup/", call, errNoGroup)
			time.Sleep(tooSoonWaitMax)
			if r.Early("CreateRule", call) != nil {
				t.Errorf("it waits for longer than %s", tooSoonWaitMax)
			}
		}
	})
}

// Only calls like the one that was refused wait, and none once the resource does not count as new.
func TestOtherCallsDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		other := arnOfGroup + "0"
		r := having(arnOfListener, arnOfGroup, other)
		if !missingFrom(r, "CreateRule", "TargetGroupNotFound", ruleTo(arnOfListener, arnOfGroup)) {
			t.Fatal("the answer does not come too soon")
		}
		for _, c := range []struct {
			what, operation, group string
			waits                  bool
		}{
			{"the same call", "CreateRule", arnOfGroup, true},
			{"a call for another group of the listener", "CreateRule", other, false},
			{"another call for the group", "ModifyRule", arnOfGroup, false},
		} {
			if got := r.Early(c.operation, ruleTo(arnOfListener, c.group)) != nil; got != c.waits {
				t.Errorf("%s waits: %v, want %v", c.what, got, c.waits)
			}
		}
		if !r.Unfound(arnOfGroup) || r.Unfound(other) || r.Unfound(arnOfListener) {
			t.Error("one group was not found, and another resource counts as that")
		}
	})
}

// A call waits for no resource that no longer counts as new.
func TestNothingWaitsForAnOldResource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := having(arnOfGroup)
		call := ruleTo(arnOfListener, arnOfGroup)
		time.Sleep(DefaultLag - time.Millisecond)
		r.wait("CreateRule", ":targetgroup/", call, errNoGroup)
		if r.Early("CreateRule", call) == nil || !r.Unfound(arnOfGroup) || !r.Knows(":targetgroup/", call) {
			t.Error("a call does not wait for a new group")
		}
		time.Sleep(time.Millisecond)
		if r.Early("CreateRule", call) != nil || r.Unfound(arnOfGroup) || r.Knows(":targetgroup/", call) {
			t.Errorf("a call waits for a group that is %s old", DefaultLag)
		}
	})
}

// A resource that is deleted is not new any more, and neither is what lies inside it.
func TestWhatIsDeletedIsNotNew(t *testing.T) {
	const otherRule = "arn:aws:elasticloadbalancing:eu-west-1:1:listener-rule/app/a/1/20/3"
	all := []string{arnOfBalancer, arnOfListener, arnOfRule, otherRule, arnOfGroup, arnOfCertificate}
	for name, c := range map[string]struct {
		call any
		gone []string
	}{
		"a load balancer": {&elb.DeleteLoadBalancerInput{LoadBalancerArn: aws.String(arnOfBalancer)}, []string{arnOfBalancer, arnOfListener, arnOfRule, otherRule}},
		"a listener":      {&elb.DeleteListenerInput{ListenerArn: aws.String(arnOfListener)}, []string{arnOfListener, arnOfRule}},
		"a rule":          {&elb.DeleteRuleInput{RuleArn: aws.String(arnOfRule)}, []string{arnOfRule}},
		"a target group":  {&elb.DeleteTargetGroupInput{TargetGroupArn: aws.String(arnOfGroup)}, []string{arnOfGroup}},
		"a certificate":   {&acm.DeleteCertificateInput{CertificateArn: aws.String(arnOfCertificate)}, []string{arnOfCertificate}},
		"a group whose name begins the paths of load balancers": {&ec2.DeleteSecurityGroupInput{GroupName: aws.String("app")}, nil},
	} {
		r := having(all...)
		if err := r.ask("Delete", c.call, nil, nil); err != nil {
			t.Error(err)
		}
		for _, arn := range all {
			if _, held := r.made[arn]; held == slices.Contains(c.gone, arn) {
				t.Errorf("after %s was deleted, %s is new: %v", name, arn, held)
			}
		}
	}
}

// What is old is not held for long.
func TestOldResourcesAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := having(arnOfGroup)
		r.wait("CreateRule", ":targetgroup/", ruleTo(arnOfListener, arnOfGroup), errNoGroup)
		time.Sleep(DefaultLag - time.Millisecond)
		r.add([]string{arnOfListener})
		if len(r.made) != 2 || len(r.waits) != 1 {
			t.Errorf("of two new resources %d are held, and of one wait %d", len(r.made), len(r.waits))
		}
		time.Sleep(time.Millisecond)
		r.add([]string{arnOfRule})
		if _, held := r.made[arnOfGroup]; held || len(r.made) != 2 || len(r.waits) != 0 {
			t.Errorf("the old group is held: %v; resources %v, waits %v", held, r.made, r.waits)
		}
	})
}

// A new load balancer, listener or rule that an observation did not find is named.
func TestWhatAnObservationDoesNotFindIsNamed(t *testing.T) {
	const arnOfApp = "arn:aws:elasticloadbalancing:eu-west-1:1:targetgroup/app/4"
	for _, kind := range []string{arnOfBalancer, arnOfListener, arnOfRule, arnOfGroup, arnOfApp} {
		for name, c := range map[string]struct {
			of    string
			found bool
			age   time.Duration
			want  bool
		}{
			"it was not found":                {"a", false, DefaultLag - time.Millisecond, kind != arnOfGroup && kind != arnOfApp},
			"it was found":                    {"a", true, 0, false},
			"it is old":                       {"a", false, DefaultLag, false},
			"another load balancer was read":  {"b", false, 0, false},
			"one with a longer name was read": {"aa", false, 0, false},
		} {
			synctest.Test(t, func(t *testing.T) {
				r := having(kind)
				time.Sleep(c.age)
				want := ""
				if c.want {
					want = kind
				}
				if got := r.Unlisted(c.of, map[string]bool{kind: c.found}); got != want {
					t.Errorf("%s: of %s, %q is named, want %q", name, kind, got, want)
				}
			})
		}
	}
}
