package operator

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/kube"
)

// This file has somebody else use up what the account has.

func TestOthersUseUpLoadBalancers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulating(t, albsim.Options{Limits: albsim.Limits{LoadBalancers: 1}}))
	made, err := w.elb.CreateLoadBalancer(t.Context(), &elbapi.CreateLoadBalancerInput{
		Name: aws.String("theirs"), Scheme: elb.LoadBalancerSchemeEnumInternal, Subnets: []string{"subnet-private0", "subnet-private1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.begin(t)
	w.serve(t, "web", "10.0.0.10")
	w.create(t, w.ingress("site", "web", "/"))
	w.create(t, w.ingress("blog", "web", "/"))
	kube.Eventually(t, "both Ingresses are told, and their LoadBalancer says how far it is", func() bool {
		return w.warned(t, "site") && w.warned(t, "blog") && strings.Contains(w.refusal(t), "(L-53DA6B97) of 1 is used up")
	})
	kube.Eventually(t, "nobody asks AWS again and again", func() bool { return w.proxy.quiet() > rest })

	if _, err := w.elb.DeleteLoadBalancer(t.Context(), &elbapi.DeleteLoadBalancerInput{LoadBalancerArn: made.LoadBalancers[0].LoadBalancerArn}); err != nil {
		t.Fatal(err)
	}
	edit(t, w, &networkingv1.Ingress{}, "site", func(i *networkingv1.Ingress) { // or else it is found out within ten minutes
		i.Spec.Rules[0].HTTP.Paths[0].Path = "/shop"
	})
	kube.Eventually(t, "both Ingresses are served", func() bool {
		return w.hostname(t, "site") != "" && w.hostname(t, "blog") != "" && w.refusal(t) == ""
	})
}

func TestOthersUseUpTargetGroups(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulating(t, albsim.Options{Limits: albsim.Limits{TargetGroups: 2}}))
	made, err := w.elb.CreateTargetGroup(t.Context(), &elbapi.CreateTargetGroupInput{
		Name: aws.String("theirs"), Port: aws.Int32(80), Protocol: elb.ProtocolEnumHttp, TargetType: elb.TargetTypeEnumIp, VpcId: &w.vpc,
	})
	if err != nil {
		t.Fatal(err)
	}
	w.begin(t)
	w.serve(t, "web", "10.0.0.10")
	w.serve(t, "api", "10.0.0.11")
	w.create(t, w.ingress("site", "web", "/"))
	kube.Eventually(t, "the first Ingress is served", func() bool { return w.hostname(t, "site") != "" })
	w.create(t, w.ingress("late", "api", "/"))
	kube.Eventually(t, "the second one is told", func() bool { return w.warned(t, "late") })
	kube.Eventually(t, "nobody asks AWS again and again", func() bool { return w.proxy.quiet() > rest })
	if w.warned(t, "site") || len(w.targets(t, "web")) != 1 || w.hostname(t, "late") != "" {
		t.Error("the first Ingress is told, too, or not served any more")
	}

	if _, err := w.elb.DeleteTargetGroup(t.Context(), &elbapi.DeleteTargetGroupInput{TargetGroupArn: made.TargetGroups[0].TargetGroupArn}); err != nil {
		t.Fatal(err)
	}
	edit(t, w, &networkingv1.Ingress{}, "late", func(i *networkingv1.Ingress) { i.Spec.Rules[0].HTTP.Paths[0].Path = "/late" })
	kube.Eventually(t, "the second one is served, too", func() bool {
		return w.hostname(t, "late") != "" && len(w.targets(t, "api")) == 1
	})
}
