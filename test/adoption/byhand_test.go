package adoption

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/test/albsim"
)

// This file makes a load balancer as Terraform makes one: with names and tags of its own, and no controller.

// byHandObjects are an Ingress of Fairlead's that asks for the name of the load balancer, and for its security group.
func byHandObjects() string {
	objects := strings.NewReplacer(
		"controller: ingress.k8s.aws/alb}", "controller: fairlead.dev/ingress, parameters: {apiGroup: fairlead.dev, kind: ClusterLoadBalancerClass, name: alb, scope: Cluster}}",
		"  dialect: alb\n  adoption: {from: alb, clusterName: CLUSTER}", "  securityGroups: [terraform]").Replace(base)
	return objects + service("web", 80, 8080, 30080) + service("api", 80, 9090, 30090) +
		strings.Replace(theIngress("one", nil, "a.example.com /api Prefix api 80", "a.example.com / Prefix web 80"),
			"    made: by-hand\n", "    made: by-hand\n    fairlead.dev/load-balancer-name: shop-prod\n", 1)
}

// must returns what a call of a person returns.
func must[T any](s *site, call func() (T, error)) (out T) {
	s.Helper()
	s.asTheirs(func() (err error) { out, err = call(); return err })
	return out
}

// makeByHand makes the load balancer, with other rules than Fairlead would make.
func (s *site) makeByHand() {
	s.Helper()
	tags := []elb.Tag{{Key: aws.String("terraform"), Value: aws.String("shop")}}
	group := must(s, func() (*ec2.CreateSecurityGroupOutput, error) {
		return s.ec2.CreateSecurityGroup(s.Context(), &ec2.CreateSecurityGroupInput{GroupName: aws.String("terraform"), Description: aws.String("by hand"), VpcId: aws.String(albsim.VPC)})
	}).GroupId
	must(s, func() (*ec2.AuthorizeSecurityGroupIngressOutput, error) {
		return s.ec2.AuthorizeSecurityGroupIngress(s.Context(), &ec2.AuthorizeSecurityGroupIngressInput{GroupId: group,
			IpPermissions: []ec2types.IpPermission{{IpProtocol: aws.String("tcp"), FromPort: aws.Int32(80), ToPort: aws.Int32(80), IpRanges: []ec2types.IpRange{{CidrIp: aws.String("0.0.0.0/0")}}}}})
	})
	must(s, func() (*ec2.AuthorizeSecurityGroupIngressOutput, error) {
		return s.ec2.AuthorizeSecurityGroupIngress(s.Context(), &ec2.AuthorizeSecurityGroupIngressInput{GroupId: aws.String("sg-0de00000000000001"),
			IpPermissions: []ec2types.IpPermission{{IpProtocol: aws.String("tcp"), FromPort: aws.Int32(8080), ToPort: aws.Int32(9090), UserIdGroupPairs: []ec2types.UserIdGroupPair{{GroupId: group}}}}})
	})
	arn := must(s, func() (*elbv2.CreateLoadBalancerOutput, error) {
		return s.elb.CreateLoadBalancer(s.Context(), &elbv2.CreateLoadBalancerInput{Name: aws.String("shop-prod"), Scheme: elb.LoadBalancerSchemeEnumInternal, Type: elb.LoadBalancerTypeEnumApplication,
			Subnets: []string{"subnet-private0", "subnet-private1", "subnet-private2"}, SecurityGroups: []string{*group}, Tags: tags})
	}).LoadBalancers[0].LoadBalancerArn
	groups := map[string]*string{}
	for _, g := range []struct {
		name string
		port int32
	}{{"web", 8080}, {"api", 9090}} { // in this order, as ARNs are numbered
		name, port := g.name, g.port
		groups[name] = must(s, func() (*elbv2.CreateTargetGroupOutput, error) {
			return s.elb.CreateTargetGroup(s.Context(), &elbv2.CreateTargetGroupInput{Name: aws.String("shop-" + name), Protocol: elb.ProtocolEnumHttp, Port: aws.Int32(port),
				VpcId: aws.String(albsim.VPC), TargetType: elb.TargetTypeEnumIp, Tags: tags, HealthCheckIntervalSeconds: aws.Int32(15), HealthyThresholdCount: aws.Int32(2)})
		}).TargetGroups[0].TargetGroupArn
		must(s, func() (*elbv2.RegisterTargetsOutput, error) {
			return s.elb.RegisterTargets(s.Context(), &elbv2.RegisterTargetsInput{TargetGroupArn: groups[name], Targets: []elb.TargetDescription{
				{Id: aws.String("10.0.100.10"), Port: aws.Int32(port)}, {Id: aws.String("10.0.101.10"), Port: aws.Int32(port)}}})
		})
	}
	to := func(name string) []elb.Action {
		return []elb.Action{{Type: elb.ActionTypeEnumForward, TargetGroupArn: groups[name]}}
	}
	listener := must(s, func() (*elbv2.CreateListenerOutput, error) {
		return s.elb.CreateListener(s.Context(), &elbv2.CreateListenerInput{LoadBalancerArn: arn, Port: aws.Int32(80), Protocol: elb.ProtocolEnumHttp, Tags: tags,
			DefaultActions: []elb.Action{{Type: elb.ActionTypeEnumFixedResponse, FixedResponseConfig: &elb.FixedResponseActionConfig{StatusCode: aws.String("404"), ContentType: aws.String("text/plain")}}}})
	}).Listeners[0].ListenerArn
	for i, r := range []struct {
		path, service string
	}{{"/api", "api"}, {"/api/*", "api"}, {"/*", "web"}} {
		must(s, func() (*elbv2.CreateRuleOutput, error) {
			return s.elb.CreateRule(s.Context(), &elbv2.CreateRuleInput{ListenerArn: listener, Priority: aws.Int32(int32(10 * (i + 1))), Actions: to(r.service), Tags: tags,
				Conditions: []elb.RuleCondition{{Field: aws.String("host-header"), HostHeaderConfig: &elb.HostHeaderConditionConfig{Values: []string{"a.example.com"}}},
					{Field: aws.String("path-pattern"), PathPatternConfig: &elb.PathPatternConditionConfig{Values: []string{r.path}}}}})
		})
	}
}

// loadBalancer is the ARN of the only one.
func (s *site) loadBalancer() string {
	s.Helper()
	return *must(s, func() (*elbv2.DescribeLoadBalancersOutput, error) {
		return s.elb.DescribeLoadBalancers(s.Context(), &elbv2.DescribeLoadBalancersInput{})
	}).LoadBalancers[0].LoadBalancerArn
}

// handGroups says of which Services the target groups are.
func (s *site) handGroups() map[string]lb.GroupID {
	s.Helper()
	out := map[string]lb.GroupID{}
	for _, g := range must(s, func() (*elbv2.DescribeTargetGroupsOutput, error) {
		return s.elb.DescribeTargetGroups(s.Context(), &elbv2.DescribeTargetGroupsInput{})
	}).TargetGroups {
		if *g.TargetGroupName == "shop-admin" { // no Ingress has its Service
			continue
		}
		out[*g.TargetGroupArn] = lb.GroupID("shop/" + strings.TrimPrefix(*g.TargetGroupName, "shop-") + ":80")
	}
	return out
}

// TestReleasedWhileAnIngressAsksForIt: the operator that runs finds the name taken, makes nothing, and says so.
func TestReleasedWhileAnIngressAsksForIt(t *testing.T) {
	s := newSite(t, byHandObjects())
	s.makeByHand()
	s.learn(someRequests...)
	before := s.inventory()
	s.mustTakeByHand(false)
	cloud := s.cloud()
	for range 2 {
		if err := s.operateWith(cloud); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := s.releaseByHand(); err != nil || !out.Done() {
		t.Fatalf("%+v %v", out, err)
	}
	s.wrote = nil
	for range 3 {
		if err := s.operateWith(cloud); err != nil && !errors.Is(err, providers.ErrPending) {
			t.Errorf("the operator: %v", err)
		}
	}
	if len(s.wrote) > 0 {
		t.Errorf("the operator wrote %q", s.wrote)
	}
	if diff := cmp.Diff(before, s.inventory()); diff != "" {
		t.Errorf("there is\n%s", diff)
	}
	s.right("at the end")
}
