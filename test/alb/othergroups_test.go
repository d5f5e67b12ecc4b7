package alb

import (
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/test/albsim"
)

// This file forwards to target groups that others made.

// theirs makes a target group as others do.
func (w *world) theirs(name string) string {
	w.Helper()
	made, err := elbapi.NewFromConfig(w.sim.OwnersConfig()).CreateTargetGroup(w.Context(), &elbapi.CreateTargetGroupInput{
		Name: sdk.String(name), Protocol: elb.ProtocolEnumHttp, Port: sdk.Int32(80), VpcId: sdk.String(albsim.VPC), TargetType: elb.TargetTypeEnumIp,
	})
	if err != nil {
		w.Fatal(err)
	}
	return *made.TargetGroups[0].TargetGroupArn
}

// toGroups has a Backend share requests between a Service and target groups.
func (w *world) toGroups(backend, service string, arns ...string) {
	one := int32(1)
	spec := v1alpha1.BackendSpec{}
	if service != "" {
		spec.Services = []v1alpha1.WeightedService{{Name: service, Port: v1alpha1.ServicePort{Number: 80}, Weight: &one}}
	}
	for _, arn := range arns {
		spec.Services = append(spec.Services, v1alpha1.WeightedService{TargetGroupARN: arn, Weight: &one})
	}
	w.backendNamed(backend, spec)
}

// lets has the class allow target groups of others.
func (w *world) lets(globs ...string) {
	w.class(func(c *v1alpha1.LoadBalancerClassSpec) { c.AllowedTargetGroups = globs })
}

// toBackend has a path of an Ingress refer to a Backend.
func toBackend(name string, path int) func(*networkingv1.Ingress) {
	return func(ing *networkingv1.Ingress) { ing.Spec.Rules[0].HTTP.Paths[path].Backend = toResource(name) }
}

// defaultsTo has an Ingress answer all else by a Backend.
func defaultsTo(name string) func(*networkingv1.Ingress) {
	return func(ing *networkingv1.Ingress) {
		to := toResource(name)
		ing.Spec.DefaultBackend = &to
	}
}

// occupy has a load balancer of others forward to a target group.
func (w *world) occupy(group string) {
	w.Helper()
	balancer := w.take("theirs")
	if _, err := elbapi.NewFromConfig(w.sim.OwnersConfig()).CreateListener(w.Context(), &elbapi.CreateListenerInput{
		LoadBalancerArn: &balancer, Port: sdk.Int32(80), Protocol: elb.ProtocolEnumHttp,
		DefaultActions: []elb.Action{{Type: elb.ActionTypeEnumForward, TargetGroupArn: &group}},
	}); err != nil {
		w.Fatal(err)
	}
}

// actions are what the rules on port 80 do, in their order.
func (w *world) actions() (out []string) {
	for _, r := range w.seen.Listener(80).Rules {
		out = append(out, r.Action.String())
	}
	return out
}

// A rule forwards to a target group of others and a Service, as soon as it can. No call is about the
// group of others but those with the rule, and it is there when all else is gone.
func TestARuleForwardsToATargetGroupOfOthers(t *testing.T) {
	inBubble(t, albsim.Options{}, func(w *world) {
		w.lets("arn:*:targetgroup/legacy*")
		w.service("web", 1)
		w.serve("shop", map[string]string{"/": "web"})
		w.settle()
		arn := w.theirs("legacy")
		w.toGroups("both", "web", arn)
		w.toGroups("old", "", arn)
		var about []string
		w.sim.Watch(func(c albsim.Call) {
			if c.Write {
				about = append(about, c.Action)
			}
		})
		w.serve("moving", map[string]string{"/": "web", "/old": "web"})
		w.change("shop", toBackend("both", 0))
		w.change("moving", toBackend("both", 0))
		w.change("moving", toBackend("old", 1))
		w.settle()
		want := []string{"forward " + arn, "forward " + arn + "*1 shop/web:80*1", "forward " + arn + "*1 shop/web:80*1"}
		if got := slices.Sorted(slices.Values(w.actions())); !slices.Equal(got, want) {
			t.Errorf("the rules do %q, want %q", got, want)
		}
		if slices.Sort(about); strings.Join(slices.Compact(about), " ") != "CreateRule ModifyRule" {
			t.Errorf("AWS is asked to %v", about)
		}
		w.rests("it forwards to a target group of others")
		w.restart()
		w.settle()
		w.rests("a restart")
		w.lets()
		w.settle()
		if got := w.actions(); !slices.Equal(slices.Compact(got), []string{"fixed 503"}) {
			t.Errorf("when the class allows none, the rules do %q", got)
		}
		w.Ingresses = nil
		w.settle()
		time.Sleep(time.Hour)
		w.settle()
		api := elbapi.NewFromConfig(w.sim.OwnersConfig())
		left, err := api.DescribeTargetGroups(w.Context(), &elbapi.DescribeTargetGroupsInput{})
		if err != nil || len(left.TargetGroups) != 1 || *left.TargetGroups[0].TargetGroupArn != arn {
			t.Errorf("in the end there are %v, error %v", left.TargetGroups, err)
		}
		tags, err := api.DescribeTags(w.Context(), &elbapi.DescribeTagsInput{ResourceArns: []string{arn}})
		if err != nil || len(tags.TagDescriptions[0].Tags) > 0 {
			t.Errorf("the tags of theirs are %v, error %v", tags.TagDescriptions, err)
		}
	})
}

// What a load balancer cannot forward to is refused by name, in a rule and as the default, and its
// neighbours are served.
func TestATargetGroupThatCannotBeHadIsRefusedByName(t *testing.T) {
	for name, c := range map[string]struct {
		arn  func(w *world) string
		told string
	}{
		"missing": {func(*world) string {
			return "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/none/0123456789abcdef"
		}, "TargetGroupNotFound"},
		"of another load balancer": {func(w *world) string {
			arn := w.theirs("taken")
			w.occupy(arn)
			return arn
		}, "TargetGroupAssociationLimit"},
	} {
		for place, refer := range map[string]func(w *world){
			"path":    func(w *world) { w.change("bad", toBackend("other", 0)) },
			"default": func(w *world) { w.change("bad", defaultsTo("other")) },
		} {
			t.Run(name+" as "+place, func(t *testing.T) {
				inBubble(t, albsim.Options{}, func(w *world) {
					w.lets("arn:*")
					w.service("web", 1)
					w.serve("bad", map[string]string{"/": "web"})
					w.serve("good", map[string]string{"/": "web"})
					w.toGroups("other", "", c.arn(w))
					refer(w)
					w.settle()
					if got := w.refusalOf("bad"); !strings.Contains(got, c.told) {
						t.Errorf("its author reads %q, want %s", got, c.told)
					}
					if got := w.refusalOf("good"); got != "" {
						t.Errorf("the author of another Ingress reads %q", got)
					}
					if got := w.actions(); !slices.Contains(got, "forward shop/web:80") {
						t.Errorf("the rules do %q", got)
					}
				})
			})
		}
	}
}
