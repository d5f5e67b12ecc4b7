package albsim_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"
	tagging "github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"

	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/albsim/matching"
)

// This file lets the SDK talk to the simulator, and the simulator refuse.

// An account is a simulator with clients, a load balancer and a listener.
type account struct {
	*testing.T
	sim      *albsim.Sim
	elb      *elbv2.Client
	lb       elb.LoadBalancer
	listener string
}

func newAccount(t *testing.T, o albsim.Options) *account {
	t.Helper()
	sim := albsim.New(o)
	a := &account{T: t, sim: sim, elb: elbv2.NewFromConfig(sim.Config(), func(o *elbv2.Options) { o.Retryer = aws.NopRetryer{} })}
	lb := must(a.elb.CreateLoadBalancer(t.Context(), &elbv2.CreateLoadBalancerInput{
		Name: aws.String("one"), Subnets: []string{"subnet-public0", "subnet-public1"}, Tags: []elb.Tag{{Key: aws.String("k"), Value: aws.String("v")}},
	}))
	a.lb = lb.LoadBalancers[0]
	l := must(a.elb.CreateListener(t.Context(), &elbv2.CreateListenerInput{
		LoadBalancerArn: a.lb.LoadBalancerArn, Port: aws.Int32(80), Protocol: elb.ProtocolEnumHttp, DefaultActions: fixed("404"),
	}))
	a.listener = *l.Listeners[0].ListenerArn
	return a
}

func must[T any](out T, err error) T {
	if err != nil {
		panic(err)
	}
	return out
}

func fixed(status string) []elb.Action {
	return []elb.Action{{Type: elb.ActionTypeEnumFixedResponse, FixedResponseConfig: &elb.FixedResponseActionConfig{StatusCode: aws.String(status)}}}
}

func to(group string) []elb.Action {
	return []elb.Action{{Type: elb.ActionTypeEnumForward, TargetGroupArn: aws.String(group)}}
}

func path(values ...string) []elb.RuleCondition {
	return []elb.RuleCondition{{Field: aws.String("path-pattern"), PathPatternConfig: &elb.PathPatternConditionConfig{Values: values}}}
}

func (a *account) group(name string) string {
	a.Helper()
	out := must(a.elb.CreateTargetGroup(a.Context(), &elbv2.CreateTargetGroupInput{
		Name: aws.String(name), Port: aws.Int32(80), Protocol: elb.ProtocolEnumHttp, TargetType: elb.TargetTypeEnumIp, VpcId: aws.String(albsim.VPC),
	}))
	return *out.TargetGroups[0].TargetGroupArn
}

func (a *account) rule(priority int32, conditions []elb.RuleCondition, actions []elb.Action) (string, error) {
	out, err := a.elb.CreateRule(a.Context(), &elbv2.CreateRuleInput{
		ListenerArn: aws.String(a.listener), Priority: aws.Int32(priority), Conditions: conditions, Actions: actions,
	})
	if err != nil {
		return "", err
	}
	return *out.Rules[0].RuleArn, nil
}

func (a *account) get(path string) albsim.Answer {
	return a.sim.Ask(*a.lb.DNSName, matching.Request{Port: 80, Host: "a.example.com", Path: path}, matching.Reading{})
}

func code(err error) string {
	var refused smithy.APIError
	if errors.As(err, &refused) {
		return refused.ErrorCode()
	}
	if err != nil {
		return "lost"
	}
	return ""
}

func TestRequestsAreRoutedByWhatIsDeployed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccount(t, albsim.Options{Propagation: 10 * time.Second, Health: 5 * time.Second})
		group := a.group("web")
		must(a.elb.RegisterTargets(t.Context(), &elbv2.RegisterTargetsInput{
			TargetGroupArn: aws.String(group), Targets: []elb.TargetDescription{{Id: aws.String("10.0.0.7"), Port: aws.Int32(8080)}},
		}))
		time.Sleep(4 * time.Second)
		must(a.rule(10, path("/a", "/a/*"), to(group)))
		if got := a.get("/a/b"); !got.Refused {
			t.Errorf("before the listener is deployed: %+v", got)
		}
		time.Sleep(6 * time.Second)
		got := a.get("/a/b")
		if len(got.Forward) != 1 || got.Forward[0].Group != "web" || fmt.Sprint(got.Forward[0].Targets) != "[10.0.0.7:8080]" {
			t.Errorf("the rule was made in the window that the listener opened, and is not deployed with it: %+v", got)
		}
		if got := a.get("/b"); got.Status != 404 {
			t.Errorf("the default answers %+v", got)
		}
	})
}

func TestWhatAWSRefuses(t *testing.T) {
	a := newAccount(t, albsim.Options{Limits: albsim.Limits{RulesPerLoadBalancer: 3, TargetGroupsPerLoadBalancer: 1}})
	first := a.group("first")
	must(a.rule(1, path("/1"), fixed("200")))
	regex := func(text string) []elb.RuleCondition {
		return []elb.RuleCondition{{Field: aws.String("path-pattern"), PathPatternConfig: &elb.PathPatternConditionConfig{RegexValues: []string{text}}}}
	}
	host := func(value string) []elb.RuleCondition {
		return []elb.RuleCondition{{Field: aws.String("host-header"), HostHeaderConfig: &elb.HostHeaderConditionConfig{Values: []string{value}}}}
	}
	source := func(value string) []elb.RuleCondition {
		return []elb.RuleCondition{{Field: aws.String("source-ip"), SourceIpConfig: &elb.SourceIpConditionConfig{Values: []string{value}}}}
	}
	for _, c := range []struct {
		why        string
		priority   int32
		conditions []elb.RuleCondition
		actions    []elb.Action
		want       string
	}{
		{"a priority that is taken", 1, path("/2"), fixed("200"), "PriorityInUse"},
		{"no priority", 0, path("/2"), fixed("200"), "ValidationError"},
		{"beyond the last priority", 50001, path("/2"), fixed("200"), "ValidationError"},
		{"six values", 2, path("/1", "/2", "/3", "/4", "/5", "/6"), fixed("200"), "ValidationError"},
		{"six wildcards", 2, path("/*/*/*", "/?/?/?"), fixed("200"), "ValidationError"},
		{"129 characters", 2, path("/" + strings.Repeat("a", 128)), fixed("200"), "ValidationError"},
		{"a character that is not valid", 2, path("/a%20b"), fixed("200"), "ValidationError"},
		{"two conditions on the path", 2, append(path("/a"), path("/b")...), fixed("200"), "ValidationError"},
		{"the source that no rule may have", 2, source("255.255.255.255/32"), fixed("200"), "ValidationError"},
		{"a host without a dot", 2, host("localhost"), fixed("200"), "ValidationError"},
		{"a host with digits behind the last dot", 2, host("a.b1"), fixed("200"), "ValidationError"},
		{"look-ahead", 2, regex("^/(?=a)$"), fixed("200"), "ValidationError"},
		{"a class of characters by property", 2, regex(`^/\pL$`), fixed("200"), "ValidationError"},
		{"a fixed redirect status", 2, path("/2"), fixed("302"), "ValidationError"},
		{"a target group that is not there", 2, path("/2"), to(first + "0"), "TargetGroupNotFound"},
		{"one that fits", 2, append(host("*.example.com"), regex("^/(a|b)(/.*)?$")...), to(first), ""},
		{"a second target group where one is allowed", 3, path("/3"), to(a.group("second")), "TooManyUniqueTargetGroupsPerLoadBalancer"},
		{"one more", 3, path("/3"), to(first), ""},
		{"one too many", 4, path("/4"), fixed("200"), "TooManyRules"},
	} {
		t.Run(c.why, func(t *testing.T) {
			if _, err := a.rule(c.priority, c.conditions, c.actions); code(err) != c.want {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestPrioritiesAreSetAllOrNone(t *testing.T) {
	a := newAccount(t, albsim.Options{})
	one, two := must(a.rule(1, path("/1"), fixed("200"))), must(a.rule(2, path("/2"), fixed("200")))
	must(a.rule(3, path("/3"), fixed("200")))
	set := func(pairs ...elb.RulePriorityPair) string {
		_, err := a.elb.SetRulePriorities(t.Context(), &elbv2.SetRulePrioritiesInput{RulePriorities: pairs})
		return code(err)
	}
	pair := func(arn string, p int32) elb.RulePriorityPair {
		return elb.RulePriorityPair{RuleArn: aws.String(arn), Priority: aws.Int32(p)}
	}
	if got := set(pair(one, 5), pair(two, 3)); got != "PriorityInUse" {
		t.Errorf("onto a rule that stays: %q", got)
	}
	if got := set(pair(one, 2), pair(two, 1)); got != "" {
		t.Errorf("a swap: %q", got)
	}
	rules := must(a.elb.DescribeRules(t.Context(), &elbv2.DescribeRulesInput{ListenerArn: aws.String(a.listener)})).Rules
	var got []string
	for _, r := range rules {
		got = append(got, *r.Priority)
	}
	if fmt.Sprint(got) != "[2 1 3 default]" {
		t.Errorf("priorities in order of creation: %v", got)
	}
}

func TestWhatWasInUseLingers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccount(t, albsim.Options{Linger: 8 * time.Second})
		time.Sleep(3 * time.Second) // until the listener is found
		group := a.group("web")
		rule := must(a.rule(1, path("/1"), to(group)))
		remove := func() string {
			_, err := a.elb.DeleteTargetGroup(t.Context(), &elbv2.DeleteTargetGroupInput{TargetGroupArn: aws.String(group)})
			return code(err)
		}
		if got := remove(); got != "ResourceInUse" {
			t.Errorf("while a rule names it: %q", got)
		}
		must(a.elb.DeleteRule(t.Context(), &elbv2.DeleteRuleInput{RuleArn: aws.String(rule)}))
		if got := remove(); got != "ResourceInUse" {
			t.Errorf("just after: %q", got)
		}
		time.Sleep(8 * time.Second)
		if got := remove(); got != "" {
			t.Errorf("a while after: %q", got)
		}
	})
}

func TestFaults(t *testing.T) {
	a := newAccount(t, albsim.Options{})
	for fault, want := range map[albsim.Fault]struct {
		code  string
		rules int
	}{
		albsim.Throttled:   {"Throttling", 0},
		albsim.Unavailable: {"ServiceUnavailable", 0},
		albsim.LostBefore:  {"lost", 0},
		albsim.LostAfter:   {"lost", 1},
	} {
		a.sim.Break(func(albsim.Call) albsim.Fault { return fault })
		_, err := a.rule(int32(fault), path("/x"), fixed("200"))
		a.sim.Break(nil)
		rules := must(a.elb.DescribeRules(t.Context(), &elbv2.DescribeRulesInput{ListenerArn: aws.String(a.listener)})).Rules
		if code(err) != want.code || len(rules) != 1+want.rules {
			t.Errorf("fault %d: %v, %d rules", fault, err, len(rules)-1)
		}
		for _, r := range rules[:len(rules)-1] {
			must(a.elb.DeleteRule(t.Context(), &elbv2.DeleteRuleInput{RuleArn: r.RuleArn}))
		}
	}
}

func TestBucketsRunEmptyAndFill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccount(t, albsim.Options{Rates: albsim.Published()})
		codes := map[string]int{}
		for i := range int32(30) {
			_, err := a.rule(1+i, path("/x"), fixed("200"))
			codes[code(err)]++
		}
		if codes[""] != 18 || codes["Throttling"] != 12 { // two of the burst went into the load balancer and its listener
			t.Errorf("30 rules at once: %v", codes)
		}
		time.Sleep(time.Second)
		if _, err := a.rule(100, path("/x"), fixed("200")); err != nil {
			t.Errorf("a second later: %v", err)
		}
	})
}

func TestEveryProtocol(t *testing.T) {
	a := newAccount(t, albsim.Options{})
	config := a.sim.Config()
	if out := must(sts.NewFromConfig(config).GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})); *out.Account != albsim.Account {
		t.Errorf("STS says %v", *out.Account)
	}
	network := ec2.NewFromConfig(config)
	subnets := must(network.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{Filters: []ec2types.Filter{
		{Name: aws.String("tag:kubernetes.io/role/elb"), Values: []string{"", "1"}}, {Name: aws.String("vpc-id"), Values: []string{albsim.VPC}},
	}}))
	if len(subnets.Subnets) != 3 || *subnets.Subnets[0].AvailableIpAddressCount != 251 || len(subnets.Subnets[0].Tags) != 2 {
		t.Errorf("EC2 says %+v", subnets.Subnets)
	}
	sg := must(network.CreateSecurityGroup(t.Context(), &ec2.CreateSecurityGroupInput{GroupName: aws.String("lb"), Description: aws.String("of a load balancer"), VpcId: aws.String(albsim.VPC)}))
	must(network.AuthorizeSecurityGroupIngress(t.Context(), &ec2.AuthorizeSecurityGroupIngressInput{GroupId: sg.GroupId, IpPermissions: []ec2types.IpPermission{{
		IpProtocol: aws.String("tcp"), FromPort: aws.Int32(80), ToPort: aws.Int32(80), IpRanges: []ec2types.IpRange{{CidrIp: aws.String("0.0.0.0/0")}},
		UserIdGroupPairs: []ec2types.UserIdGroupPair{{GroupId: aws.String(albsim.NodeGroup)}},
	}}}))
	groups := must(network.DescribeSecurityGroups(t.Context(), &ec2.DescribeSecurityGroupsInput{GroupIds: []string{*sg.GroupId}})).SecurityGroups
	if len(groups) != 1 || len(groups[0].IpPermissions) != 2 || *groups[0].Description != "of a load balancer" {
		t.Errorf("the security group is %+v", groups)
	}
	arn := a.sim.Issue(time.Now().Add(time.Hour), "ISSUED", "a.example.com", "*.b.example.com")
	certificates := must(acm.NewFromConfig(config).ListCertificates(t.Context(), &acm.ListCertificatesInput{})).CertificateSummaryList
	if len(certificates) != 1 || *certificates[0].CertificateArn != arn || time.Until(*certificates[0].NotAfter) < 50*time.Minute {
		t.Errorf("ACM lists %+v", certificates)
	}
	found := must(resourcegroupstaggingapi.NewFromConfig(config).GetResources(t.Context(), &resourcegroupstaggingapi.GetResourcesInput{
		TagFilters: []tagging.TagFilter{{Key: aws.String("k"), Values: []string{"v"}}},
	})).ResourceTagMappingList
	if len(found) != 1 || *found[0].ResourceARN != *a.lb.LoadBalancerArn {
		t.Errorf("by tags: %+v", found)
	}
}
