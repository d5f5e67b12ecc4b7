package alb

import (
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/aws-sdk-go-v2/service/wafv2"

	"fairlead.dev/fairlead/test/albsim"
)

// TestAdoptIsNotDeceived: none of these load balancers is the same as the wanted one, although it looks like it.
func TestAdoptIsNotDeceived(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(string) string
		do   func(*world, *elbapi.Client, *elb.LoadBalancer)
	}{
		"a web ACL that was attached by hand or by Firewall Manager": {nil, func(w *world, api *elbapi.Client, b *elb.LoadBalancer) {
			arn := w.sim.AddWebACL("fms")
			if _, err := wafv2.NewFromConfig(w.sim.OwnersConfig()).AssociateWebACL(w.Context(), &wafv2.AssociateWebACLInput{ResourceArn: b.LoadBalancerArn, WebACLArn: &arn}); err != nil {
				w.Fatal(err)
			}
		}},
		"ranges of ports are open to all, wanted are a few clients": {func(s string) string {
			return strings.Replace(s, "group.name: 'all'\n", "group.name: 'all'\n    alb.ingress.kubernetes.io/inbound-cidrs: 10.0.0.0/8\n", 1)
		}, func(w *world, api *elbapi.Client, b *elb.LoadBalancer) {
			n := ec2.NewFromConfig(w.sim.OwnersConfig())
			front := b.SecurityGroups[0]
			groups, err := n.DescribeSecurityGroups(w.Context(), &ec2.DescribeSecurityGroupsInput{GroupIds: b.SecurityGroups})
			if err != nil {
				w.Fatal(err)
			}
			for _, g := range groups.SecurityGroups {
				if len(g.IpPermissions) > 0 {
					front = *g.GroupId
				}
			}
			if _, err := n.RevokeSecurityGroupIngress(w.Context(), &ec2.RevokeSecurityGroupIngressInput{GroupId: &front, IpPermissions: []ec2types.IpPermission{{
				IpProtocol: sdk.String("tcp"), FromPort: sdk.Int32(80), ToPort: sdk.Int32(80), IpRanges: []ec2types.IpRange{{CidrIp: sdk.String("0.0.0.0/0")}}}}}); err != nil {
				w.Fatal(err)
			}
			if _, err := n.AuthorizeSecurityGroupIngress(w.Context(), &ec2.AuthorizeSecurityGroupIngressInput{GroupId: &front, IpPermissions: []ec2types.IpPermission{
				{IpProtocol: sdk.String("tcp"), FromPort: sdk.Int32(80), ToPort: sdk.Int32(80), IpRanges: []ec2types.IpRange{{CidrIp: sdk.String("10.0.0.0/8")}}},
				{IpProtocol: sdk.String("tcp"), FromPort: sdk.Int32(80), ToPort: sdk.Int32(443), IpRanges: []ec2types.IpRange{{CidrIp: sdk.String("0.0.0.0/0")}}},
			}}); err != nil {
				w.Fatal(err)
			}
		}},
		"no weight": {nil, func(w *world, api *elbapi.Client, b *elb.LoadBalancer) {
			w.eachRule(api, b, func(r elb.Rule) {
				if _, err := api.ModifyRule(w.Context(), &elbapi.ModifyRuleInput{RuleArn: r.RuleArn, Actions: []elb.Action{{Type: elb.ActionTypeEnumForward, ForwardConfig: &elb.ForwardActionConfig{
					TargetGroups: []elb.TargetGroupTuple{{TargetGroupArn: r.Actions[0].ForwardConfig.TargetGroups[0].TargetGroupArn, Weight: sdk.Int32(0)}}}}}}); err != nil {
					w.Fatal(err)
				}
			})
		}},
		"a wanted load balancer that is not there": {func(s string) string {
			return s + "---\n" + strings.ReplaceAll(strings.ReplaceAll(strings.Split(s, "---\n")[0], "name: a\n", "name: c\n"), "group.name: 'all'", "group.name: 'other'")
		}, func(w *world, api *elbapi.Client, b *elb.LoadBalancer) {}},
		"a load balancer that no Ingress asks for any more": {nil, func(w *world, api *elbapi.Client, b *elb.LoadBalancer) {
			tags := theirTags("LoadBalancer")
			tags["ingress.k8s.aws/stack"] = "shop/forgotten"
			var zones []string
			for _, z := range b.AvailabilityZones {
				zones = append(zones, *z.SubnetId)
			}
			if _, err := api.CreateLoadBalancer(w.Context(), &elbapi.CreateLoadBalancerInput{Name: sdk.String("k8s-forgotten"), Scheme: elb.LoadBalancerSchemeEnumInternal,
				Type: elb.LoadBalancerTypeEnumApplication, Subnets: zones, SecurityGroups: b.SecurityGroups, Tags: elbTags(tags)}); err != nil {
				w.Fatal(err)
			}
		}},
		"a query that is not read": {nil, func(w *world, api *elbapi.Client, b *elb.LoadBalancer) {
			w.block(api, b, 90, elb.RuleCondition{Field: sdk.String("query-string"), QueryStringConfig: &elb.QueryStringConditionConfig{Values: []elb.QueryStringKeyValuePair{
				{Key: sdk.String("debug"), Value: sdk.String("a=b")}, {Key: sdk.String("trace"), Value: sdk.String("1")}}}})
		}},
		"a regular expression that is searched for": {func(s string) string {
			return strings.Replace(s, "      - {path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}\n      - {path: /api",
				"      - {path: /admin, pathType: Exact, backend: {service: {name: deny, port: {name: use-annotation}}}}\n      - {path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}\n      - {path: /api", 1)
		}, func(w *world, api *elbapi.Client, b *elb.LoadBalancer) {
			w.block(api, b, 90, elb.RuleCondition{Field: sdk.String("host-header"), HostHeaderConfig: &elb.HostHeaderConditionConfig{Values: []string{"a.example.com"}}},
				elb.RuleCondition{Field: sdk.String("path-pattern"), PathPatternConfig: &elb.PathPatternConditionConfig{RegexValues: []string{"^/admin"}}})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, albsim.Options{})
			w.makeTheirs(twoIngresses())
			api := elbapi.NewFromConfig(w.sim.OwnersConfig())
			all, err := api.DescribeLoadBalancers(t.Context(), &elbapi.DescribeLoadBalancersInput{})
			if err != nil {
				t.Fatal(err)
			}
			w.shift(api, &all.LoadBalancers[0])
			c.do(w, api, &all.LoadBalancers[0])
			manifests := twoIngresses().manifests()
			if strings.HasPrefix(name, "a regular") {
				manifests = strings.Replace(manifests, "group.name: 'all'\n", "group.name: 'all'\n    alb.ingress.kubernetes.io/actions.deny: '{\"type\":\"fixed-response\",\"fixedResponseConfig\":{\"statusCode\":\"403\"}}'\n", 1)
			}
			if c.edit != nil {
				manifests = c.edit(manifests)
			}
			code, out, problems := w.adopt(manifests)
			if code < 2 {
				t.Errorf("exit code %d: %s%s", code, out, problems)
			}
		})
	}
}

// shift makes room for rules in front.
func (w *world) shift(api *elbapi.Client, b *elb.LoadBalancer) {
	var pairs []elb.RulePriorityPair
	n := int32(100)
	w.eachRule(api, b, func(r elb.Rule) {
		n++
		pairs = append(pairs, elb.RulePriorityPair{RuleArn: r.RuleArn, Priority: &[]int32{n}[0]})
	})
	for i := range pairs {
		pairs[i].Priority = sdk.Int32(101 + int32(i))
	}
	if _, err := api.SetRulePriorities(w.Context(), &elbapi.SetRulePrioritiesInput{RulePriorities: pairs}); err != nil {
		w.Fatal(err)
	}
}

func (w *world) listener(api *elbapi.Client, b *elb.LoadBalancer) *string {
	l, err := api.DescribeListeners(w.Context(), &elbapi.DescribeListenersInput{LoadBalancerArn: b.LoadBalancerArn})
	if err != nil {
		w.Fatal(err)
	}
	return l.Listeners[0].ListenerArn
}

func (w *world) eachRule(api *elbapi.Client, b *elb.LoadBalancer, do func(elb.Rule)) {
	rules, err := api.DescribeRules(w.Context(), &elbapi.DescribeRulesInput{ListenerArn: w.listener(api, b)})
	if err != nil {
		w.Fatal(err)
	}
	for _, r := range rules.Rules {
		if !*r.IsDefault {
			do(r)
		}
	}
}

func (w *world) block(api *elbapi.Client, b *elb.LoadBalancer, priority int32, when ...elb.RuleCondition) {
	if _, err := api.CreateRule(w.Context(), &elbapi.CreateRuleInput{ListenerArn: w.listener(api, b), Priority: &priority, Conditions: when,
		Actions: []elb.Action{{Type: elb.ActionTypeEnumFixedResponse, FixedResponseConfig: &elb.FixedResponseActionConfig{StatusCode: sdk.String("403")}}}}); err != nil {
		w.Fatal(err)
	}
}
