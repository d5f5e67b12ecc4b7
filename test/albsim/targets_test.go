package albsim

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	api "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/test/albsim/matching"
)

// This file registers targets inside and outside the VPC's subnets.

func TestZonesOfTargets(t *testing.T) {
	client := api.NewFromConfig(New(Options{}).Config())
	made, err := client.CreateTargetGroup(t.Context(), &api.CreateTargetGroupInput{
		Name: aws.String("web"), Port: aws.Int32(80), Protocol: elb.ProtocolEnumHttp, VpcId: aws.String(VPC), TargetType: elb.TargetTypeEnumIp,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ address, zone, want string }{
		{"10.0.0.1", "", ""},
		{"10.0.0.2", "all", "within the VPC, and cannot have its Availability Zone overridden to 'all' from '" + Region + "a'"},
		{"10.0.50.1", "", "select 'all' for all enabled Availability zones, since the IP address '10.0.50.1' is outside the VPC"},
		{"192.168.1.1", "all", ""},
		{"8.8.8.8", "all", "not within any of the VPC's ranges"},
	} {
		target := elb.TargetDescription{Id: aws.String(c.address), Port: aws.Int32(80)}
		if c.zone != "" {
			target.AvailabilityZone = aws.String(c.zone)
		}
		_, err := client.RegisterTargets(t.Context(), &api.RegisterTargetsInput{TargetGroupArn: made.TargetGroups[0].TargetGroupArn, Targets: []elb.TargetDescription{target}})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s in %q: %v, want %q", c.address, c.zone, err, c.want)
		}
	}
}

// TestCrossZoneOff: an address outside the VPC has a zone then, and cannot be in all.
func TestCrossZoneOff(t *testing.T) {
	client := api.NewFromConfig(New(Options{}).Config())
	made, err := client.CreateTargetGroup(t.Context(), &api.CreateTargetGroupInput{
		Name: aws.String("web"), Port: aws.Int32(80), Protocol: elb.ProtocolEnumHttp, VpcId: aws.String(VPC), TargetType: elb.TargetTypeEnumIp,
	})
	if err != nil {
		t.Fatal(err)
	}
	group := made.TargetGroups[0].TargetGroupArn
	register := func(address, zone string) error {
		target := elb.TargetDescription{Id: aws.String(address), Port: aws.Int32(80)}
		if zone != "" {
			target.AvailabilityZone = aws.String(zone)
		}
		_, err := client.RegisterTargets(t.Context(), &api.RegisterTargetsInput{TargetGroupArn: group, Targets: []elb.TargetDescription{target}})
		return err
	}
	turn := func(value string) error {
		_, err := client.ModifyTargetGroupAttributes(t.Context(), &api.ModifyTargetGroupAttributesInput{TargetGroupArn: group,
			Attributes: []elb.TargetGroupAttribute{{Key: aws.String(crossZone), Value: aws.String(value)}}})
		return err
	}
	want := func(what string, err error, text string) {
		t.Helper()
		if (err == nil) != (text == "") || err != nil && !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v, want %q", what, err, text)
		}
	}
	want("all zones", register("192.168.1.1", "all"), "")
	want("turning it off", turn("false"), "the Availability Zone of target '192.168.1.1' is 'all'")
	if _, err := client.DeregisterTargets(t.Context(), &api.DeregisterTargetsInput{TargetGroupArn: group, Targets: []elb.TargetDescription{{Id: aws.String("192.168.1.1"), AvailabilityZone: aws.String("all")}}}); err != nil {
		t.Fatal(err)
	}
	want("turning it off later", turn("false"), "")
	want("all zones then", register("192.168.1.2", "all"), "since it is outside of the VPC")
	want("no zone then", register("192.168.1.2", ""), "select 'all'")
	want("a zone then", register("192.168.1.2", Region+"a"), "")
	want("inside then", register("10.0.0.1", ""), "")
}

func TestATargetInAZoneWithoutASubnetIsUnused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim := New(Options{})
		client := api.NewFromConfig(sim.Config())
		group, err := client.CreateTargetGroup(t.Context(), &api.CreateTargetGroupInput{
			Name: aws.String("web"), Port: aws.Int32(80), Protocol: elb.ProtocolEnumHttp, VpcId: aws.String(VPC), TargetType: elb.TargetTypeEnumIp,
		})
		if err != nil {
			t.Fatal(err)
		}
		arn := group.TargetGroups[0].TargetGroupArn
		balancer, err := client.CreateLoadBalancer(t.Context(), &api.CreateLoadBalancerInput{
			Name: aws.String("web"), Scheme: elb.LoadBalancerSchemeEnumInternal, Subnets: []string{"subnet-private0", "subnet-private1"},
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.CreateListener(t.Context(), &api.CreateListenerInput{
			LoadBalancerArn: balancer.LoadBalancers[0].LoadBalancerArn, Port: aws.Int32(80), Protocol: elb.ProtocolEnumHttp,
			DefaultActions: []elb.Action{{Type: elb.ActionTypeEnumForward, TargetGroupArn: arn}},
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := client.RegisterTargets(t.Context(), &api.RegisterTargetsInput{TargetGroupArn: arn, Targets: []elb.TargetDescription{
			{Id: aws.String("10.0.0.1")}, {Id: aws.String("10.0.2.1")}, {Id: aws.String("192.168.1.1"), AvailabilityZone: aws.String("all")},
		}}); err != nil {
			t.Fatal(err)
		}
		health, err := client.DescribeTargetHealth(t.Context(), &api.DescribeTargetHealthInput{TargetGroupArn: arn})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range health.TargetHealthDescriptions {
			want, because := elb.TargetHealthStateEnumHealthy, elb.TargetHealthReasonEnum("")
			if aws.ToString(d.Target.Id) == "10.0.2.1" {
				want, because = elb.TargetHealthStateEnumUnused, elb.TargetHealthReasonEnumNotInUse
			}
			if d.TargetHealth.State != want || d.TargetHealth.Reason != because {
				t.Errorf("%s is %s because of %q", aws.ToString(d.Target.Id), d.TargetHealth.State, d.TargetHealth.Reason)
			}
		}
		answer := sim.Ask(aws.ToString(balancer.LoadBalancers[0].DNSName), matching.Request{Port: 80, Host: "a", Path: "/"}, matching.Reading{})
		if len(answer.Forward) != 1 || strings.Join(answer.Forward[0].Targets, " ") != "10.0.0.1:80 192.168.1.1:80" {
			t.Errorf("the requests go to %v", answer.Forward)
		}
	})
}
