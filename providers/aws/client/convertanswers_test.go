package client

import (
	"errors"
	"slices"
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// This file converts what Fairlead does not write in this form, and AWS may answer.

func TestEmptyListsAreReadAsNone(t *testing.T) {
	for _, none := range []elb.RuleCondition{
		{Field: aws.String("host-header"), HostHeaderConfig: &elb.HostHeaderConditionConfig{Values: []string{}, RegexValues: []string{}}},
		{Field: aws.String("host-header"), Values: []string{}, RegexValues: []string{}},
	} {
		if diff := cmp.Diff(lb.Condition{Field: "host"}, FromCondition(none)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if got := fromTransforms([]elb.RuleTransform{
		{HostHeaderRewriteConfig: &elb.HostHeaderRewriteConfig{}}, {UrlRewriteConfig: &elb.UrlRewriteConfig{}},
	}); *got != (routing.Rewrite{}) {
		t.Errorf("transforms without a rewrite are %+v", got)
	}
}

// An action that forwards to one target group may be described by its ARN alone
// (https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_Action.html). The weight
// of the only target group decides nothing, and one of several without a weight has the default 1.
func TestForwardsAsAWSMayDescribeThem(t *testing.T) {
	group := func(arn string, weight *int32) elb.TargetGroupTuple {
		return elb.TargetGroupTuple{TargetGroupArn: aws.String(arn), Weight: weight}
	}
	sticky := func(on bool) *elb.TargetGroupStickinessConfig {
		return &elb.TargetGroupStickinessConfig{Enabled: aws.Bool(on), DurationSeconds: aws.Int32(60)}
	}
	for name, c := range map[string]struct {
		said    elb.Action
		targets []lb.Weighted
		sticky  int32
	}{
		"the ARN alone": {elb.Action{TargetGroupArn: aws.String("a")}, []lb.Weighted{{Group: "a", Weight: 1}}, 0},
		"the weight of the only one": {
			elb.Action{ForwardConfig: &elb.ForwardActionConfig{TargetGroups: []elb.TargetGroupTuple{group("a", aws.Int32(5))}}},
			[]lb.Weighted{{Group: "a", Weight: 1}}, 0,
		},
		"one of two without a weight": {
			elb.Action{ForwardConfig: &elb.ForwardActionConfig{
				TargetGroups: []elb.TargetGroupTuple{group("a", aws.Int32(5)), group("b", nil)}, TargetGroupStickinessConfig: sticky(true),
			}},
			[]lb.Weighted{{Group: "a", Weight: 5}, {Group: "b", Weight: 1}}, 60,
		},
		"stickiness that is off": {
			elb.Action{ForwardConfig: &elb.ForwardActionConfig{
				TargetGroups: []elb.TargetGroupTuple{group("a", nil)}, TargetGroupStickinessConfig: sticky(false),
			}},
			[]lb.Weighted{{Group: "a", Weight: 1}}, 0,
		},
	} {
		got := FromActions([]elb.Action{c.said}, func(arn string) lb.GroupID { return lb.GroupID(arn) })
		if got.Kind != "forward" || !slices.Equal(got.Targets, c.targets) || got.StickySeconds != c.sticky {
			t.Errorf("%s is read as %+v", name, got)
		}
	}
}

// A rule is not written with a target group that is not there, and is written without stickiness
// unless it is wanted: Elastic Load Balancing takes 1 second as the least.
func TestForwardsThatAreWritten(t *testing.T) {
	missing := errors.New("the target group is not there")
	a := lb.Action{Kind: "forward", Targets: []lb.Weighted{{Group: "a", Weight: 1}}}
	for _, auth := range []*routing.Auth{nil, {Kind: routing.Cognito}} {
		a.Auth = auth
		if _, err := ToActions(a, func(lb.GroupID) (string, error) { return "", missing }); !errors.Is(err, missing) {
			t.Errorf("with the sign-in %v it is written: %v", auth, err)
		}
	}
	a.Auth = nil
	got, err := ToActions(a, func(lb.GroupID) (string, error) { return "arn", nil })
	if err != nil || len(got) != 1 || got[0].ForwardConfig.TargetGroupStickinessConfig != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

// A secret that is known is written, and one that is not stays as AWS has it.
func TestClientSecretsAreWrittenWhereTheyAreKnown(t *testing.T) {
	for _, secret := range []string{"", "hush"} {
		got := toAuth(routing.Auth{Kind: routing.OIDC, ClientSecret: routing.Secret(secret)}).AuthenticateOidcConfig
		if aws.ToString(got.ClientSecret) != secret || (got.ClientSecret == nil) != aws.ToBool(got.UseExistingClientSecret) {
			t.Errorf("%q is written as %v, and the one before stays: %v", secret, got.ClientSecret, got.UseExistingClientSecret)
		}
	}
}

// Target groups of gRPC are healthy by codes of gRPC, others by those of HTTP
// (https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_Matcher.html).
func TestTheCodesOfHealthyAnswers(t *testing.T) {
	for _, c := range []struct {
		version           routing.Version
		codes, http, grpc string
	}{
		{routing.VersionHTTP1, "", "200", ""},
		{routing.VersionHTTP2, "200-299", "200-299", ""},
		{routing.VersionGRPC, "0", "", "0"},
	} {
		got := toMatcher(lb.TargetGroup{Version: c.version, Health: routing.HealthCheck{SuccessCodes: c.codes}})
		if aws.ToString(got.HttpCode) != c.http || aws.ToString(got.GrpcCode) != c.grpc {
			t.Errorf("%s with %q is written as %+v", c.version, c.codes, got)
		}
	}
}

func TestEachElement(t *testing.T) {
	if got := Map([]int{1, 2}, strconv.Itoa); !slices.Equal(got, []string{"1", "2"}) {
		t.Errorf("%q", got)
	}
}
