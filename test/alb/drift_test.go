package alb

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/aws-sdk-go-v2/service/shield"
	"github.com/aws/aws-sdk-go-v2/service/wafv2"
	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/nightly"
)

// This file changes each kind of thing that a load balancer is made of, from outside, and looks as
// the operator does when --drift-interval is over.

// A drift is a change by another hand, of a kind of thing that the page on cost lists.
type drift struct {
	kind   string
	change func(w *world, api *elbapi.Client)
	told   string // where the role of docs/iam-policy.json may not put it right, what is said of it
}

var drifts = map[string]drift{
	"the load balancer is deleted": {"Load balancer", func(w *world, api *elbapi.Client) {
		must(api.DeleteLoadBalancer(w.Context(), &elbapi.DeleteLoadBalancerInput{LoadBalancerArn: &w.seen.Handle}))
		time.Sleep(time.Minute)
	}, ""},
	"its subnets are others": {"Load balancer", func(w *world, api *elbapi.Client) {
		must(api.SetSubnets(w.Context(), &elbapi.SetSubnetsInput{LoadBalancerArn: &w.seen.Handle, Subnets: []string{"subnet-public0", "subnet-public1"}}))
	}, ""},
	"its security groups are others": {"Security groups", func(w *world, api *elbapi.Client) {
		must(api.SetSecurityGroups(w.Context(), &elbapi.SetSecurityGroupsInput{LoadBalancerArn: &w.seen.Handle, SecurityGroups: []string{albsim.NodeGroup}}))
	}, ""},
	"an attribute of it is another": {"Attributes of a load balancer", func(w *world, api *elbapi.Client) {
		must(api.ModifyLoadBalancerAttributes(w.Context(), &elbapi.ModifyLoadBalancerAttributesInput{
			LoadBalancerArn: &w.seen.Handle, Attributes: []elb.LoadBalancerAttribute{{Key: sdk.String("idle_timeout.timeout_seconds"), Value: sdk.String("5")}},
		}))
	}, ""},
	"a listener is deleted": {"Listeners", func(w *world, api *elbapi.Client) {
		must(api.DeleteListener(w.Context(), &elbapi.DeleteListenerInput{ListenerArn: &w.seen.Listener(443).Handle}))
	}, ""},
	"a listener is added": {"Listeners", func(w *world, api *elbapi.Client) {
		must(api.CreateListener(w.Context(), &elbapi.CreateListenerInput{
			LoadBalancerArn: &w.seen.Handle, Port: sdk.Int32(8443), Protocol: elb.ProtocolEnumHttp, DefaultActions: answering("200"),
		}))
	}, "is not authorized to perform: elasticloadbalancing:DeleteListener"},
	"a listener answers otherwise": {"Listeners", func(w *world, api *elbapi.Client) {
		must(api.ModifyListener(w.Context(), &elbapi.ModifyListenerInput{ListenerArn: &w.seen.Listener(443).Handle, DefaultActions: answering("200")}))
	}, ""},
	"a listener has another TLS policy": {"Listeners", func(w *world, api *elbapi.Client) {
		must(api.ModifyListener(w.Context(), &elbapi.ModifyListenerInput{ListenerArn: &w.seen.Listener(443).Handle, SslPolicy: sdk.String("ELBSecurityPolicy-2016-08")}))
	}, ""},
	"a rule is deleted": {"Rules", func(w *world, api *elbapi.Client) {
		must(api.DeleteRule(w.Context(), &elbapi.DeleteRuleInput{RuleArn: &w.seen.Listener(443).Rules[0].Handle}))
	}, ""},
	"a rule is added before the others": {"Rules", func(w *world, api *elbapi.Client) {
		must(api.CreateRule(w.Context(), &elbapi.CreateRuleInput{
			ListenerArn: &w.seen.Listener(443).Handle, Priority: sdk.Int32(1), Actions: answering("200"),
			Conditions: []elb.RuleCondition{{Field: sdk.String("path-pattern"), PathPatternConfig: &elb.PathPatternConditionConfig{Values: []string{"/*"}}}},
		}))
	}, "is not authorized to perform: elasticloadbalancing:DeleteRule"},
	"a rule answers otherwise": {"Rules", func(w *world, api *elbapi.Client) {
		must(api.ModifyRule(w.Context(), &elbapi.ModifyRuleInput{RuleArn: &w.seen.Listener(443).Rules[0].Handle, Actions: answering("200")}))
	}, ""},
	"a rule is for another path": {"Rules", func(w *world, api *elbapi.Client) {
		must(api.ModifyRule(w.Context(), &elbapi.ModifyRuleInput{
			RuleArn:    &w.seen.Listener(443).Rules[0].Handle,
			Conditions: []elb.RuleCondition{{Field: sdk.String("path-pattern"), PathPatternConfig: &elb.PathPatternConditionConfig{Values: []string{"/other"}}}},
		}))
	}, ""},
	"a certificate is taken from a listener": {"Certificates", func(w *world, api *elbapi.Client) {
		second := w.seen.Certificate(w.seen.Listener(443).Certificates[1])
		must(api.RemoveListenerCertificates(w.Context(), &elbapi.RemoveListenerCertificatesInput{
			ListenerArn: &w.seen.Listener(443).Handle, Certificates: []elb.Certificate{{CertificateArn: &second.Handle}},
		}))
	}, ""},
	"a target group is deleted": {"Target groups", func(w *world, api *elbapi.Client) {
		for _, r := range w.seen.Listener(443).Rules {
			must(api.DeleteRule(w.Context(), &elbapi.DeleteRuleInput{RuleArn: &r.Handle}))
		}
		time.Sleep(time.Minute)
		must(api.DeleteTargetGroup(w.Context(), &elbapi.DeleteTargetGroupInput{TargetGroupArn: &w.seen.TargetGroups[0].Handle}))
	}, ""},
	"a target group's health check is another": {"Target groups", func(w *world, api *elbapi.Client) {
		must(api.ModifyTargetGroup(w.Context(), &elbapi.ModifyTargetGroupInput{TargetGroupArn: &w.seen.TargetGroups[0].Handle, HealthCheckPath: sdk.String("/nowhere")}))
	}, ""},
	"an attribute of a target group is another": {"Target groups", func(w *world, api *elbapi.Client) {
		must(api.ModifyTargetGroupAttributes(w.Context(), &elbapi.ModifyTargetGroupAttributesInput{
			TargetGroupArn: &w.seen.TargetGroups[0].Handle, Attributes: []elb.TargetGroupAttribute{{Key: sdk.String("deregistration_delay.timeout_seconds"), Value: sdk.String("7")}},
		}))
	}, ""},
	"a member is taken out": {"Targets", func(w *world, api *elbapi.Client) {
		there := must(api.DescribeTargetHealth(w.Context(), &elbapi.DescribeTargetHealthInput{TargetGroupArn: &w.seen.TargetGroups[0].Handle}))
		must(api.DeregisterTargets(w.Context(), &elbapi.DeregisterTargetsInput{
			TargetGroupArn: &w.seen.TargetGroups[0].Handle, Targets: []elb.TargetDescription{*there.TargetHealthDescriptions[0].Target},
		}))
	}, ""},
	"a member is put in": {"Targets", func(w *world, api *elbapi.Client) {
		must(api.RegisterTargets(w.Context(), &elbapi.RegisterTargetsInput{
			TargetGroupArn: &w.seen.TargetGroups[0].Handle, Targets: []elb.TargetDescription{{Id: sdk.String("10.0.0.99"), Port: sdk.Int32(8080)}},
		}))
	}, ""},
	"a port is closed to clients": {"Security groups", func(w *world, _ *elbapi.Client) {
		w.revoke(w.seen.Firewall, func(p ec2types.IpPermission) bool { return *p.FromPort == 443 })
	}, ""},
	"a port is opened to clients": {"Security groups", func(w *world, _ *elbapi.Client) { w.allow(w.seen.Firewall, 22) }, ""},
	"a port is opened further":    {"Security groups", func(w *world, _ *elbapi.Client) { w.allow(w.seen.Firewall, 443) }, ""},
	"the nodes admit load balancers no more": {"Rules of the nodes' security groups", func(w *world, _ *elbapi.Client) {
		w.revoke(albsim.NodeGroup, func(ec2types.IpPermission) bool { return true })
	}, ""},
	"the web ACL is taken away": {"AWS WAF", func(w *world, _ *elbapi.Client) {
		must(wafv2.NewFromConfig(w.sim.OwnersConfig()).DisassociateWebACL(w.Context(), &wafv2.DisassociateWebACLInput{ResourceArn: &w.seen.Handle}))
	}, ""},
	"the shield is taken away": {"AWS Shield", func(w *world, _ *elbapi.Client) {
		api := shield.NewFromConfig(w.sim.OwnersConfig())
		there := must(api.DescribeProtection(w.Context(), &shield.DescribeProtectionInput{ResourceArn: &w.seen.Handle}))
		must(api.DeleteProtection(w.Context(), &shield.DeleteProtectionInput{ProtectionId: there.Protection.Id}))
	}, ""},
	"a tag is taken from the load balancer":  {"Tags", func(w *world, _ *elbapi.Client) { w.takeAway("loadbalancer", "team") }, ""},
	"a tag is taken from a listener":         {"Tags", func(w *world, _ *elbapi.Client) { w.takeAway("listener", "team") }, ""},
	"a tag is taken from a target group":     {"Tags", func(w *world, _ *elbapi.Client) { w.takeAway("targetgroup", "team") }, ""},
	"a tag is taken from a certificate":      {"Tags", func(w *world, _ *elbapi.Client) { w.takeAway("certificate", "team") }, ""},
	"a tag is taken from the security group": {"Tags", func(w *world, _ *elbapi.Client) { w.takeAway("security-group", "team") }, ""},
}

// answering are actions that nobody asked for.
func answering(status string) []elb.Action {
	return []elb.Action{{Type: elb.ActionTypeEnumFixedResponse, FixedResponseConfig: &elb.FixedResponseActionConfig{StatusCode: sdk.String(status)}}}
}

// revoke takes rules from a security group.
func (w *world) revoke(group string, which func(ec2types.IpPermission) bool) {
	w.Helper()
	api, id := ec2.NewFromConfig(w.sim.OwnersConfig()), group[strings.LastIndex(group, "/")+1:]
	found := must(api.DescribeSecurityGroups(w.Context(), &ec2.DescribeSecurityGroupsInput{GroupIds: []string{id}}))
	gone := slices.DeleteFunc(found.SecurityGroups[0].IpPermissions, func(p ec2types.IpPermission) bool { return !which(p) })
	if len(gone) == 0 {
		w.Fatalf("security group %s has no such rule", id)
	}
	must(api.RevokeSecurityGroupIngress(w.Context(), &ec2.RevokeSecurityGroupIngressInput{GroupId: &id, IpPermissions: gone}))
}

// allow adds a rule to a security group that lets some clients through.
func (w *world) allow(group string, port int32) {
	w.Helper()
	id := group[strings.LastIndex(group, "/")+1:]
	must(ec2.NewFromConfig(w.sim.OwnersConfig()).AuthorizeSecurityGroupIngress(w.Context(), &ec2.AuthorizeSecurityGroupIngressInput{
		GroupId: &id, IpPermissions: []ec2types.IpPermission{tcp(port, "198.51.100.0/24")},
	}))
}

// all is what there is of the load balancer, without what AWS names it.
func (w *world) all() map[string]any {
	w.Helper()
	balancer, attributes, tags := w.balancer()
	seen, err := w.cloud.Observe(w.Context(), w.key, false)
	if err != nil {
		w.Fatal(err)
	}
	out := map[string]any{
		"attributes": attributes, "tags": tags, "scheme": balancer.Scheme, "subnets": w.subnets(), "security groups": w.fences(),
		"resources": w.tagsByKind(), "groups": len(balancer.SecurityGroups), "protection": seen.Protection, "inventory": w.sim.Inventory(),
	}
	delete(out["inventory"].(map[string]int), "protections") // one outlives a load balancer that another hand deletes
	shielded, err := shield.NewFromConfig(w.sim.OwnersConfig()).DescribeProtection(w.Context(), &shield.DescribeProtectionInput{ResourceArn: balancer.LoadBalancerArn})
	out["shield"] = err == nil && shielded.Protection != nil
	acl := must(wafv2.NewFromConfig(w.sim.OwnersConfig()).GetWebACLForResource(w.Context(), &wafv2.GetWebACLForResourceInput{ResourceArn: balancer.LoadBalancerArn}))
	out["web ACL"] = acl.WebACL != nil
	api := elbapi.NewFromConfig(w.sim.OwnersConfig())
	for _, l := range seen.Listeners {
		about := must(api.DescribeListeners(w.Context(), &elbapi.DescribeListenersInput{ListenerArns: []string{l.Handle}})).Listeners[0]
		rules := []string{}
		for _, r := range l.Rules {
			rules = append(rules, r.String())
		}
		out[fmt.Sprint("listener ", l.Port)] = []any{l.Protocol, l.Digest, l.Default.String(), l.Certificates, sdk.ToString(about.SslPolicy), rules}
	}
	for _, g := range seen.TargetGroups {
		about := must(api.DescribeTargetGroups(w.Context(), &elbapi.DescribeTargetGroupsInput{TargetGroupArns: []string{g.Handle}})).TargetGroups[0]
		values := map[string]string{}
		for _, a := range must(api.DescribeTargetGroupAttributes(w.Context(), &elbapi.DescribeTargetGroupAttributesInput{TargetGroupArn: &g.Handle})).Attributes {
			values[*a.Key] = *a.Value
		}
		var members []string
		for _, d := range must(api.DescribeTargetHealth(w.Context(), &elbapi.DescribeTargetHealthInput{TargetGroupArn: &g.Handle})).TargetHealthDescriptions {
			if d.TargetHealth.State != elb.TargetHealthStateEnumDraining {
				members = append(members, fmt.Sprint(*d.Target.Id, ":", *d.Target.Port))
			}
		}
		slices.Sort(members)
		out["target group "+string(g.ID)] = []any{g.Digest, sdk.ToString(about.HealthCheckPath), values, members}
	}
	return out
}

// tagsByKind are the tags of all that is ours, by kind and by what it is for.
func (w *world) tagsByKind() map[string][]map[string]string {
	out := map[string][]map[string]string{}
	all := w.tagged()
	maps.DeleteFunc(all, func(arn string, _ map[string]string) bool { return strings.Contains(arn, ":shield:") })
	for _, arn := range slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		return strings.Compare(text(all[a]), text(all[b]))
	}) {
		kind, _, _ := strings.Cut(arn, "/")
		out[kind] = append(out[kind], all[arn])
	}
	return out
}

// guardedSite is a load balancer that has something of each kind.
func guardedSite(w *world) {
	w.sim.AddWebACL("edge")
	w.sim.Subscribe(true)
	secureSite(w)
	w.service("web", 2)
	w.secret("two", 0, "two.example.com")
	w.secured(w.serve("two", map[string]string{"/": "web"}), "two")
	w.ask("site", "wafv2-acl", "edge")
	w.class(func(s *spec) {
		s.TLSPolicy, s.ShieldAdvanced = "ELBSecurityPolicy-TLS13-1-2-2021-06", sdk.Bool(true)
		s.Attributes, s.Tags = map[string]string{"idle_timeout.timeout_seconds": "30"}, map[string]string{"team": "web"}
	})
	w.ask("site", "target-group-attributes", "deregistration_delay.timeout_seconds=30")
	w.settle()
	time.Sleep(10 * time.Minute)
	w.settle()
}

// TestDriftIsMended changes something of each kind by another hand, and looks once more as the
// operator does after --drift-interval: all is as it was then, and stays.
func TestDriftIsMended(t *testing.T) {
	page, err := os.ReadFile("../../docs/explanation/cost.md")
	if err != nil {
		t.Fatal(err)
	}
	tried := map[string]bool{}
	for _, d := range drifts {
		tried[d.kind] = true
	}
	for name, d := range nightly.Cases(t, drifts) {
		t.Run(name, func(t *testing.T) {
			inBubble(t, unjudged(usual()), func(w *world) {
				guardedSite(w)
				before := w.all()
				d.change(w, elbapi.NewFromConfig(w.sim.OwnersConfig()))
				if w.sim.Inventory()["load balancers"] > 0 && cmp.Equal(before, w.all()) {
					t.Fatal("nothing was changed")
				}
				time.Sleep(10 * time.Hour)
				w.look(true)
				w.have = map[lb.GroupID][]lb.Target{}
				if err := w.rest(); d.told != "" {
					if err == nil || !strings.Contains(err.Error(), d.told) {
						t.Errorf("it is told %v, want %s", err, d.told)
					}
					return
				} else if err != nil {
					t.Fatal(err)
				}
				time.Sleep(10 * time.Minute)
				w.settle()
				if diff := cmp.Diff(before, w.all()); diff != "" {
					t.Errorf("it is not mended (-before +after):\n%s", diff)
				}
				w.rests("it was put right")
			})
		})
	}
	for _, kind := range kindsLookedAt(string(page)) {
		if !tried[kind] {
			t.Errorf("docs/explanation/cost.md says that %q are looked at, and no test changes one", kind)
		}
		delete(tried, kind)
	}
	if len(tried) > 0 {
		t.Errorf("docs/explanation/cost.md does not say that %v are looked at", tried)
	}
}

// kindsLookedAt are the first cells of the table of what is looked at.
func kindsLookedAt(page string) []string {
	var out []string
	_, table, _ := strings.Cut(page, "| Resource | Fairlead compares |")
	table, _, _ = strings.Cut(table, "\n\n")
	for _, row := range strings.Split(table, "\n")[2:] {
		out = append(out, strings.TrimSpace(strings.Split(row, "|")[1]))
	}
	return out
}
