package albsim_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/test/albsim"
)

// This file goes along the limits of Elastic Load Balancing: what is just within, and what is just
// beyond.

func TestLimits(t *testing.T) {
	a := newAccount(t, albsim.Options{Limits: albsim.Limits{LoadBalancers: 2, TargetGroups: 3, ListenersPerLoadBalancer: 2, TargetsPerGroup: 2, GroupsPerAction: 2}})
	ctx := t.Context()
	one := a.group("g-one")
	two := a.group("g-two")
	balancer := func(name string, subnets ...string) func() error {
		return func() error {
			_, err := a.elb.CreateLoadBalancer(ctx, &elbv2.CreateLoadBalancerInput{Name: &name, Subnets: subnets})
			return err
		}
	}
	group := func(name string, change func(*elbv2.CreateTargetGroupInput)) func() error {
		return func() error {
			in := &elbv2.CreateTargetGroupInput{Name: &name, Port: aws.Int32(80), Protocol: elb.ProtocolEnumHttp, TargetType: elb.TargetTypeEnumIp, VpcId: aws.String(albsim.VPC)}
			if change != nil {
				change(in)
			}
			_, err := a.elb.CreateTargetGroup(ctx, in)
			return err
		}
	}
	listener := func(port int32, protocol elb.ProtocolEnum) func() error {
		return func() error {
			_, err := a.elb.CreateListener(ctx, &elbv2.CreateListenerInput{LoadBalancerArn: a.lb.LoadBalancerArn, Port: &port, Protocol: protocol, DefaultActions: fixed("404")})
			return err
		}
	}
	targets := func(addresses ...string) func() error {
		return func() error {
			in := &elbv2.RegisterTargetsInput{TargetGroupArn: &one}
			for _, address := range addresses {
				in.Targets = append(in.Targets, elb.TargetDescription{Id: aws.String(address), Port: aws.Int32(80)})
			}
			_, err := a.elb.RegisterTargets(ctx, in)
			return err
		}
	}
	rule := func(priority int32, conditions []elb.RuleCondition, actions []elb.Action) func() error {
		return func() error { _, err := a.rule(priority, conditions, actions); return err }
	}
	shared := func(weight int32, groups ...string) []elb.Action {
		config := &elb.ForwardActionConfig{}
		for _, g := range groups {
			config.TargetGroups = append(config.TargetGroups, elb.TargetGroupTuple{TargetGroupArn: aws.String(g), Weight: aws.Int32(weight)})
		}
		return []elb.Action{{Type: elb.ActionTypeEnumForward, ForwardConfig: config}}
	}
	body := func(n int) []elb.Action {
		out := fixed("200")
		out[0].FixedResponseConfig.MessageBody = aws.String(strings.Repeat("a", n))
		return out
	}
	tagged := func(n int, key, value string) func() error {
		return func() error {
			in := &elbv2.AddTagsInput{ResourceArns: []string{two}}
			for i := range n {
				in.Tags = append(in.Tags, elb.Tag{Key: aws.String(fmt.Sprintf("%s%d", key, i)), Value: aws.String(value)})
			}
			_, err := a.elb.AddTags(ctx, in)
			return err
		}
	}
	many := func(n int) []string {
		var out []string
		for range n {
			out = append(out, one)
		}
		return out
	}
	for _, c := range []struct {
		why  string
		do   func() error
		want string
	}{
		{"a name of 33 characters", balancer(strings.Repeat("a", 33), "subnet-public0", "subnet-public1"), "ValidationError"},
		{"a name that ends with a hyphen", balancer("a-", "subnet-public0", "subnet-public1"), "ValidationError"},
		{"a name that AWS keeps for itself", balancer("internal-a", "subnet-public0", "subnet-public1"), "ValidationError"},
		{"one subnet", balancer("two", "subnet-public0"), "InvalidConfigurationRequest"},
		{"two subnets of one zone", balancer("two", "subnet-public0", "subnet-private0"), "InvalidConfigurationRequest"},
		{"a name that is taken, with other subnets", balancer("one", "subnet-public0", "subnet-public2"), "DuplicateLoadBalancerName"},
		{"a second load balancer", balancer("two", "subnet-public0", "subnet-public1"), ""},
		{"one too many", balancer("three", "subnet-public0", "subnet-public1"), "TooManyLoadBalancers"},

		{"a target group called with 33 characters", group(strings.Repeat("a", 33), nil), "ValidationError"},
		{"an interval of 4 s", group("g", func(in *elbv2.CreateTargetGroupInput) { in.HealthCheckIntervalSeconds = aws.Int32(4) }), "ValidationError"},
		{"a threshold of 11", group("g", func(in *elbv2.CreateTargetGroupInput) { in.HealthyThresholdCount = aws.Int32(11) }), "ValidationError"},
		{"a status of 500 as healthy", group("g", func(in *elbv2.CreateTargetGroupInput) { in.Matcher = &elb.Matcher{HttpCode: aws.String("500")} }), "ValidationError"},
		{"the same target group again", group("g-one", nil), ""},
		{"the same name, another port", group("g-one", func(in *elbv2.CreateTargetGroupInput) { in.Port = aws.Int32(81) }), "DuplicateTargetGroupName"},
		{"a third target group", group("g-three", nil), ""},
		{"one too many target groups", group("g-four", nil), "TooManyTargetGroups"},

		{"HTTPS without a certificate", listener(443, elb.ProtocolEnumHttps), "ValidationError"},
		{"a second listener", listener(81, elb.ProtocolEnumHttp), ""},
		{"one too many listeners", listener(82, elb.ProtocolEnumHttp), "TooManyListeners"},

		{"a public address", targets("8.8.8.8"), "ValidationError"},
		{"no address", targets("pod"), "ValidationError"},
		{"as many targets as a group can have", targets("10.0.0.1", "10.0.0.2"), ""},
		{"one too many targets", targets("10.0.0.3"), "TooManyTargets"},

		{"a weight of 1000", rule(1, path("/1"), shared(1000, one, two)), "ValidationError"},
		{"three target groups in an action", rule(1, path("/1"), shared(1, one, two, one)), "TooManyActions"},
		{"two", rule(1, path("/1"), shared(999, one, two)), ""},
		{"a body of 1025 characters", rule(2, path("/2"), body(1025)), "ValidationError"},
		{"one of 1024", rule(2, path("/2"), body(1024)), ""},
		{"no condition", rule(3, []elb.RuleCondition{}, fixed("200")), "ValidationError"},

		{"a key of 129 characters", tagged(1, strings.Repeat("k", 128), "v"), "ValidationError"},
		{"a value of 257 characters", tagged(1, "k", strings.Repeat("v", 257)), "ValidationError"},
		{"a value with a character that tags cannot have", tagged(1, "k", "<"), "ValidationError"},
		{"51 tags", tagged(51, "k", "v"), "TooManyTags"},
		{"50 tags", tagged(50, "k", "v"), ""},
		{"the tags of 21 resources", func() error {
			_, err := a.elb.DescribeTags(ctx, &elbv2.DescribeTagsInput{ResourceArns: many(21)})
			return err
		}, "ValidationError"},
		{"the tags of what is not there", func() error {
			_, err := a.elb.DescribeTags(ctx, &elbv2.DescribeTagsInput{ResourceArns: []string{one + "0"}})
			return err
		}, "TargetGroupNotFound"},
		{"21 target groups at a time", func() error {
			_, err := a.elb.DescribeTargetGroups(ctx, &elbv2.DescribeTargetGroupsInput{TargetGroupArns: many(21)})
			return err
		}, "ValidationError"},
		{"a page of 401", func() error {
			_, err := a.elb.DescribeRules(ctx, &elbv2.DescribeRulesInput{ListenerArn: &a.listener, PageSize: aws.Int32(401)})
			return err
		}, "ValidationError"},
		{"a rule that is deleted twice", func() error {
			arn, err := a.rule(9, path("/9"), fixed("200"))
			for range 2 {
				if err == nil {
					_, err = a.elb.DeleteRule(ctx, &elbv2.DeleteRuleInput{RuleArn: &arn})
				}
			}
			return err
		}, "RuleNotFound"},
	} {
		t.Run(c.why, func(t *testing.T) {
			if err := c.do(); code(err) != c.want {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestPages(t *testing.T) {
	a := newAccount(t, albsim.Options{})
	for i := range int32(25) {
		must(a.rule(1+i, path(fmt.Sprintf("/%d", i)), fixed("200")))
	}
	seen := map[string]bool{}
	pages := elbv2.NewDescribeRulesPaginator(a.elb, &elbv2.DescribeRulesInput{ListenerArn: &a.listener, PageSize: aws.Int32(10)})
	calls := 0
	for pages.HasMorePages() {
		calls++
		for _, r := range must(pages.NextPage(context.WithoutCancel(t.Context()))).Rules {
			seen[*r.RuleArn] = true
		}
	}
	if calls != 3 || len(seen) != 26 {
		t.Errorf("%d pages with %d rules, of which one is the default", calls, len(seen))
	}
}
