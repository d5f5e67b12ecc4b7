package alb

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
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
	gocmp "github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/albsim/iam"
	"fairlead.dev/fairlead/test/albsim/matching"
)

// This file changes load balancers that were taken over, deletes them, and keeps them for good.

// secured is the group of twoIngresses, with a listener on port 443.
func secured() theirGroup {
	g := twoIngresses()
	g.secure = "one"
	return g
}

// groupsOf are the security groups of the load balancer, by name.
func (k *takeover) groupsOf() map[string]ec2types.SecurityGroup {
	k.Helper()
	found, err := k.made.api.DescribeLoadBalancers(k.Context(), &elbapi.DescribeLoadBalancersInput{LoadBalancerArns: []string{*k.made.balancer.LoadBalancerArn}})
	k.made.must(err)
	groups, err := k.made.network.DescribeSecurityGroups(k.Context(), &ec2.DescribeSecurityGroupsInput{GroupIds: found.LoadBalancers[0].SecurityGroups})
	k.made.must(err)
	out := map[string]ec2types.SecurityGroup{}
	for _, g := range groups.SecurityGroups {
		out[*g.GroupName] = g
	}
	return out
}

// shutToIPv6 fails the test if the security group of the controller admits IPv6 addresses, which cannot reach the load balancer,
// and which the controller does not admit either (buildManagedSecurityGroupIngressPermissions in its
// pkg/ingress/model_build_managed_sg.go).
func (k *takeover) shutToIPv6(when string) {
	k.Helper()
	for _, p := range k.groupsOf()["k8s-all-0123456789"].IpPermissions {
		if len(p.Ipv6Ranges) > 0 {
			k.Errorf("%s, port %d is open to %s", when, *p.FromPort, *p.Ipv6Ranges[0].CidrIpv6)
		}
	}
}

// targetsIn are the addresses of the members of a target group that are not draining.
func (k *takeover) targetsIn(arn string) (out []string) {
	k.Helper()
	found, err := k.made.api.DescribeTargetHealth(k.Context(), &elbapi.DescribeTargetHealthInput{TargetGroupArn: &arn})
	k.made.must(err)
	for _, d := range found.TargetHealthDescriptions {
		if d.TargetHealth.State != elb.TargetHealthStateEnumDraining {
			out = append(out, fmt.Sprintf("%s:%d", *d.Target.Id, *d.Target.Port))
		}
	}
	slices.Sort(out)
	return out
}

// served looks that requests for the two hosts are answered by targets.
func (k *takeover) served(when string) {
	for _, host := range []string{"a.example.com", "b.example.com"} {
		a := k.sim.Ask(*k.made.balancer.DNSName, matching.Request{Port: 80, Host: host, Path: "/"}, matching.Reading{})
		if len(a.Forward) != 1 || len(a.Forward[0].Targets) == 0 {
			k.Errorf("%s, %s is answered %+v", when, host, a)
		}
	}
}

// TestWhatWasTakenOverIsChanged: by ordinary plans, of the operator that took it over, and of another one, which the index of
// tags tells nothing.
func TestWhatWasTakenOverIsChanged(t *testing.T) {
	for name, restarts := range map[string]bool{"by the same operator": false, "by others": true} {
		t.Run(name, func(t *testing.T) {
			o := usual()
			o.Indexing = 100 * time.Hour
			inTakeover(t, o, twoIngresses(), func(k *takeover) {
				time.Sleep(time.Minute)
				k.take()
				inventory := k.sim.Inventory()
				web := []string{k.made.groups["shop/a-web:80"], k.made.groups["shop/b-web:80"]}
				step := func(what string, change func()) {
					t.Helper()
					if change(); restarts {
						k.restart()
					}
					k.settleUnder(k.served)
					time.Sleep(time.Hour)
					k.rests(what)
				}
				step("more pods", func() { k.scale(3) })
				for _, arn := range web {
					if got := k.targetsIn(arn); len(got) != 3 {
						t.Errorf("target group %s has the targets %v", arn, got)
					}
				}
				g := twoIngresses()
				g.healthPath = "/up"
				step("another health check", func() { k.write(g) })
				for _, arn := range web {
					found, err := k.made.api.DescribeTargetGroups(k.Context(), &elbapi.DescribeTargetGroupsInput{TargetGroupArns: []string{arn}})
					k.made.must(err)
					if got := *found.TargetGroups[0].HealthCheckPath; got != "/up" {
						t.Errorf("the health check of %s is on %s", arn, got)
					}
				}
				g.ingresses[1].paths["b.example.com"][0].target = &theirTarget{"api", "80"}
				step("another Service", func() { k.write(g) })
				g.ingresses[1].paths["b.example.com"][0].target = &theirTarget{"new", "80"}
				step("a new Service", func() { k.write(g) })
				if got := k.sim.Inventory(); got["target groups"] != inventory["target groups"]+1 || got["security groups"] != inventory["security groups"] {
					t.Errorf("there is %v, and was %v", got, inventory)
				}
				g.secure = k.sim.Issue(time.Now().AddDate(1, 0, 0), "ISSUED", "*.example.com")
				step("a new port", func() { k.write(g) })
				groups := k.groupsOf()
				if len(groups) != 3 || !slices.ContainsFunc(groups["k8s-all-0123456789"].IpPermissions, func(p ec2types.IpPermission) bool { return *p.FromPort == 443 }) {
					t.Errorf("the security groups are %v", groups)
				}
				if got := k.sim.Inventory()["security groups"]; got != inventory["security groups"] {
					t.Errorf("there are %d security groups, and were %d", got, inventory["security groups"])
				}
				k.shutToIPv6("with a new port")
				k.ClusterLoadBalancerClasses[0].Spec.TLSPolicy = "ELBSecurityPolicy-TLS13-1-2-2021-06"
				step("another TLS policy", func() { k.write(g) })
				k.shutToIPv6("with another TLS policy")
				g.secure = ""
				step("the port is closed", func() { k.write(g) })
			})
		})
	}
}

// TestWhatWasTakenOverIsDeleted: with all that was the load balancer's, and nothing else.
func TestWhatWasTakenOverIsDeleted(t *testing.T) {
	for name, restarts := range map[string]bool{"by the same operator": false, "by another": true} {
		t.Run(name, func(t *testing.T) {
			inTakeover(t, usual(), secured(), func(k *takeover) {
				time.Sleep(time.Minute)
				k.take()
				k.settle()
				if restarts {
					k.restart()
				}
				k.Ingresses = nil
				k.settle()
				got := k.sim.Inventory()
				for _, kind := range []string{"load balancers", "listeners", "rules", "target groups"} {
					if got[kind] != 0 {
						t.Errorf("there are %d %s", got[kind], kind)
					}
				}
				all, err := k.made.network.DescribeSecurityGroups(k.Context(), &ec2.DescribeSecurityGroupsInput{})
				k.made.must(err)
				names := map[string]bool{}
				for _, g := range all.SecurityGroups {
					names[*g.GroupName] = true
				}
				if names["k8s-all-0123456789"] || !names["k8s-traffic-0123456789"] || slices.ContainsFunc(slices.Collect(maps.Keys(names)), func(n string) bool { return strings.HasPrefix(n, "fl-") }) {
					t.Errorf("security groups: %v", names)
				}
			})
		})
	}
}

// TestADeletionIsCutOff: an operator that begins when the load balancer is gone finds its security group by the tags of that.
func TestADeletionIsCutOff(t *testing.T) {
	inTakeover(t, usual(), twoIngresses(), func(k *takeover) {
		time.Sleep(time.Minute)
		k.take()
		k.settle()
		k.Ingresses = nil
		for range 100 {
			if k.sim.Inventory()["load balancers"] == 0 {
				break
			}
			if _, err := k.try(); err != nil {
				t.Fatal(err)
			}
		}
		k.restart()
		k.settle()
		found, err := k.made.network.DescribeSecurityGroups(k.Context(), &ec2.DescribeSecurityGroupsInput{Filters: []ec2types.Filter{{Name: sdk.String("group-name"), Values: []string{"k8s-all-0123456789"}}}})
		k.made.must(err)
		if len(found.SecurityGroups) > 0 {
			t.Error("its security group is left")
		}
	})
}

// TestWhatWasChangedIsGivenBack: what Fairlead made since is the controller's, to be deleted by it, and its tags of before are
// there.
func TestWhatWasChangedIsGivenBack(t *testing.T) {
	inTakeover(t, usual(), twoIngresses(), func(k *takeover) {
		time.Sleep(time.Minute)
		before, groups := k.tags(), slices.Sorted(maps.Keys(k.groupsOf()))
		k.take()
		g := twoIngresses()
		g.ingresses[1].paths["b.example.com"][0].target = &theirTarget{"new", "80"}
		k.write(g)
		k.settle()
		o := k.found()
		if _, loose := o.Tags[k.made.groups["shop/b-web:80"]]; !loose {
			t.Error("a target group that no rule names is not found")
		}
		k.retag(k.cloud.Return(o))
		*k.policy = adopters(t, adoption)
		if _, err := k.cloud.Dismiss(k.Context(), k.found(), k.key); err != nil {
			t.Error(err)
		}
		after := k.tags()
		for handle, tags := range before {
			if strings.Contains(handle, ":listener-rule/") && after[handle] == nil {
				continue // it was made anew
			}
			if diff := gocmp.Diff(tags, after[handle]); diff != "" {
				t.Errorf("%s (-before +after): %s", handle, diff)
			}
		}
		for handle, tags := range after {
			if before[handle] == nil && strings.Contains(handle, ":targetgroup/") {
				if want := theirTags("fairlead.dev/shop/new:80"); !maps.Equal(tags, want) {
					t.Errorf("the target group that Fairlead made has the tags %v", tags)
				}
			}
			for name := range tags {
				if strings.HasPrefix(name, "fairlead.dev/") {
					t.Errorf("%s has the tag %s", handle, name)
				}
			}
		}
		if got := slices.Sorted(maps.Keys(k.groupsOf())); !slices.Equal(got, groups) {
			t.Errorf("its security groups are %v, and were %v", got, groups)
		}
		if fences := k.fences(); len(fences["shared"]) > 0 || slices.ContainsFunc(fences["nodes"], func(r string) bool { return strings.HasSuffix(r, " shared") }) {
			t.Errorf("what admitted it is left: %v", fences)
		}
	})
}

// TestTheIndexTellsOfWhatWasGivenBack: it lags, and the load balancer is gone by then. Nothing of the controller's is deleted.
func TestTheIndexTellsOfWhatWasGivenBack(t *testing.T) {
	o := usual()
	o.Indexing = 10 * time.Hour
	inTakeover(t, o, twoIngresses(), func(k *takeover) {
		time.Sleep(time.Minute)
		k.take()
		k.settle()
		time.Sleep(20 * time.Hour)
		*k.policy = adopters(t, adoption)
		k.retag(k.cloud.Return(k.found()))
		for _, l := range k.made.listeners {
			_, err := k.made.api.DeleteListener(k.Context(), &elbapi.DeleteListenerInput{ListenerArn: l.ListenerArn})
			k.made.must(err)
		}
		_, err := k.made.api.DeleteLoadBalancer(k.Context(), &elbapi.DeleteLoadBalancerInput{LoadBalancerArn: k.made.balancer.LoadBalancerArn})
		k.made.must(err)
		time.Sleep(time.Hour)
		k.restart()
		k.Ingresses = nil
		before := k.sim.Inventory()
		k.settle()
		if diff := gocmp.Diff(before, k.sim.Inventory()); diff != "" {
			t.Errorf("(-before +after): %s", diff)
		}
	})
}

// TestItIsNotDismissedTooEarly: the nodes admit it by the group of Fairlead alone, as the controller runs for other groups and
// does not know its targets.
func TestItIsNotDismissedTooEarly(t *testing.T) {
	inTakeover(t, usual(), twoIngresses(), func(k *takeover) {
		time.Sleep(time.Minute)
		k.take()
		k.retag(k.cloud.Return(k.found()))
		_, err := k.made.network.RevokeSecurityGroupIngress(k.Context(), &ec2.RevokeSecurityGroupIngressInput{GroupId: sdk.String(albsim.NodeGroup),
			IpPermissions: []ec2types.IpPermission{{IpProtocol: sdk.String("tcp"), FromPort: sdk.Int32(8080), ToPort: sdk.Int32(8080), UserIdGroupPairs: []ec2types.UserIdGroupPair{{GroupId: &k.back}}}}})
		k.made.must(err)
		for range 2 {
			if _, err := k.cloud.Dismiss(k.Context(), k.found(), k.key); err != nil {
				t.Error(err)
			}
			if got := len(k.groupsOf()); got != 3 {
				t.Errorf("it has %d security groups", got)
			}
			k.restart()
		}
	})
}

// TestWhatIsKeptForGood: nothing of the controller's is left, the rest stays, and nothing can be given back.
func TestWhatIsKeptForGood(t *testing.T) {
	inTakeover(t, usual(), secured(), func(k *takeover) {
		time.Sleep(time.Minute)
		k.take()
		g := secured()
		g.secure = k.made.group.secure
		g.ingresses[1].paths["b.example.com"][0].target = &theirTarget{"new", "80"}
		k.write(g)
		k.settle()
		time.Sleep(time.Hour)
		twin := k.made.groups["shop/b-web:80"]
		made, err := k.made.api.CreateTargetGroup(k.Context(), &elbapi.CreateTargetGroupInput{Name: sdk.String("k8s-left"), Protocol: elb.ProtocolEnumHttp, Port: sdk.Int32(80),
			VpcId: sdk.String(albsim.VPC), TargetType: elb.TargetTypeEnumIp, Tags: elbTags(theirTags("shop/c-web:80"))})
		k.made.must(err)
		left := *made.TargetGroups[0].TargetGroupArn
		if k.found().Tags[left] == nil {
			t.Error("a target group that the controller left is not found")
		}
		*k.policy = adopters(t, adoption)
		for range 2 {
			if err := k.cloud.Discard(k.Context(), k.key, []string{twin, left, k.made.groups["shop/a-web:80"]}); err != nil {
				t.Fatal(err)
			}
			k.rests("it is kept for good")
			k.restart()
		}
		if got := k.groupsOf(); len(got) != 2 || got["k8s-all-0123456789"].GroupId == nil {
			t.Errorf("its security groups are %v", got)
		}
		delete(k.made.groups, "shop/b-web:80")
		for handle, tags := range k.tags() {
			if _, was := tags["fairlead.dev/was/elbv2.k8s.aws/cluster"]; was || tags["fairlead.dev/kept-groups"] != "" {
				t.Errorf("%s has the tags %v", handle, tags)
			}
		}
		for _, arn := range []string{twin, left} {
			if _, err := k.made.api.DescribeTargetGroups(k.Context(), &elbapi.DescribeTargetGroupsInput{TargetGroupArns: []string{arn}}); err == nil {
				t.Errorf("target group %s is left", arn)
			}
		}
		*k.policy = adopters(t)
		k.scale(3)
		k.settle()
		k.rests("more pods")
		g.secure = ""
		k.write(g)
		k.settle()
		k.rests("a port is closed")
		k.Ingresses = nil
		k.settle()
		if got := k.sim.Inventory(); got["load balancers"]+got["target groups"] != 0 {
			t.Errorf("there is %v", got)
		}
	})
}

// TestWhatCannotBeTakenOver is refused by name before anything is written.
func TestWhatCannotBeTakenOver(t *testing.T) {
	tags := func(n int) map[string]string {
		out := map[string]string{}
		for i := range n {
			out[fmt.Sprintf("team-%02d", i)] = "shop"
		}
		return out
	}
	label := func(k *takeover, arn string, tags map[string]string) {
		_, err := k.made.api.AddTags(k.Context(), &elbapi.AddTagsInput{ResourceArns: []string{arn}, Tags: elbTags(tags)})
		k.made.must(err)
	}
	for name, c := range map[string]struct {
		change func(*takeover)
		says   string
	}{
		"a load balancer with many tags": {func(k *takeover) { label(k, *k.made.balancer.LoadBalancerArn, tags(45)) }, "tags, and AWS permits 50"},
		"a target group with many tags":  {func(k *takeover) { label(k, k.made.groups["shop/a-api:80"], tags(44)) }, "targetgroup/k8s-a-api-80"},
		"a target group of another key": {func(k *takeover) {
			label(k, k.made.groups["shop/a-api:80"], map[string]string{"fairlead.dev/key": "other"})
		}, "belongs to load balancer other"},
		"a listener of another installation": {func(k *takeover) {
			label(k, *k.made.listeners[0].ListenerArn, map[string]string{"fairlead.dev/installation": "other"})
		}, "of installation other"},
		"a tag of the class is the controller's": {func(k *takeover) {
			k.ClusterLoadBalancerClasses[0].Spec.Tags = map[string]string{"elbv2.k8s.aws/cluster": "other"}
		}, "finds what is its own"},
	} {
		inTakeover(t, usual(), twoIngresses(), func(k *takeover) {
			time.Sleep(time.Minute)
			c.change(k)
			o := k.found()
			_, err := k.cloud.Claim(o, k.plan(o))
			if !errors.Is(err, providers.ErrRejected) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	inTakeover(t, usual(), twoIngresses(), func(k *takeover) {
		time.Sleep(time.Minute)
		o := k.found()
		plan := k.plan(o)
		var more []string
		for i := range 3 {
			more = append(more, k.made.securityGroup(fmt.Sprint("more-", i), nil))
		}
		_, err := k.made.api.SetSecurityGroups(k.Context(), &elbapi.SetSecurityGroupsInput{LoadBalancerArn: &o.Handle, SecurityGroups: append(more, k.made.balancer.SecurityGroups...)})
		k.made.must(err)
		k.sim.Forget()
		if err := k.cloud.Admit(k.Context(), o, plan); !errors.Is(err, providers.ErrRejected) || !strings.Contains(err.Error(), "5 security groups, and AWS permits 5") {
			t.Errorf("it has no room for a security group: %v", err)
		}
		if w := k.writes(); len(w) > 0 {
			t.Errorf("it writes %v", w)
		}
	})
}

// TestTagsOfAClassAreGivenBack: those that were there before stay, one with another value gets that again, and the others go.
func TestTagsOfAClassAreGivenBack(t *testing.T) {
	inTakeover(t, usual(), twoIngresses(), func(k *takeover) {
		time.Sleep(time.Minute)
		arns := []string{*k.made.balancer.LoadBalancerArn, k.made.groups["shop/a-web:80"]}
		_, err := k.made.api.AddTags(k.Context(), &elbapi.AddTagsInput{ResourceArns: arns, Tags: elbTags(map[string]string{"same": "1", "other": "theirs", "own": "x"})})
		k.made.must(err)
		before := k.tags()
		k.ClusterLoadBalancerClasses[0].Spec = withTags(k.ClusterLoadBalancerClasses[0].Spec, map[string]string{"same": "1", "other": "ours", "new": "2"})
		k.take()
		k.rests("it was taken over")
		for _, arn := range arns {
			if got := k.tags()[arn]; got["other"] != "ours" || got["new"] != "2" {
				t.Errorf("%s has the tags %v", arn, got)
			}
		}
		k.retag(k.cloud.Return(k.found()))
		if diff := gocmp.Diff(before, k.tags()); diff != "" {
			t.Errorf("(-before +after): %s", diff)
		}
	})
}

func withTags(s v1alpha1.LoadBalancerClassSpec, tags map[string]string) v1alpha1.LoadBalancerClassSpec {
	s.Tags = tags
	return s
}

// TestSettingsThatDifferAreChanged: by the ordinary plan, after it was taken over. Those that nothing asks for stay.
func TestSettingsThatDifferAreChanged(t *testing.T) {
	inTakeover(t, usual(), twoIngresses(), func(k *takeover) {
		time.Sleep(time.Minute)
		set := func(name, value string) {
			_, err := k.made.api.ModifyLoadBalancerAttributes(k.Context(), &elbapi.ModifyLoadBalancerAttributesInput{LoadBalancerArn: k.made.balancer.LoadBalancerArn,
				Attributes: []elb.LoadBalancerAttribute{{Key: &name, Value: &value}}})
			k.made.must(err)
		}
		set("idle_timeout.timeout_seconds", "99")
		set("routing.http2.enabled", "false")
		k.ClusterLoadBalancerClasses[0].Spec.Attributes = map[string]string{"idle_timeout.timeout_seconds": "120"}
		k.differs = true
		k.take()
		if todo := k.look(false); len(todo.Steps) != 1 || todo.Steps[0].Step.Op() != "modify load balancer" {
			t.Errorf("the plan is %s", todo.Print())
		}
		k.lookDeeply()
		k.rests("it was changed")
		k.shutToIPv6("after it was changed")
		for _, z := range k.made.balancer.AvailabilityZones {
			k.sim.ChangeSubnet(*z.SubnetId, func(s *ec2types.Subnet) {
				s.Ipv6CidrBlockAssociationSet = []ec2types.SubnetIpv6CidrBlockAssociation{{Ipv6CidrBlock: sdk.String("2001:db8::/64")}}
			}, nil)
		}
		k.ClusterLoadBalancerClasses[0].Spec.IPFamily = "dualstack"
		k.settle()
		if got := k.groupsOf()["k8s-all-0123456789"].IpPermissions; !slices.ContainsFunc(got, func(p ec2types.IpPermission) bool { return len(p.Ipv6Ranges) > 0 }) {
			t.Errorf("with IPv6 addresses, its security group has %v", got)
		}
		k.restart()
		k.lookDeeply()
		k.rests("it has IPv6 addresses")
		found, err := k.made.api.DescribeLoadBalancerAttributes(k.Context(), &elbapi.DescribeLoadBalancerAttributesInput{LoadBalancerArn: k.made.balancer.LoadBalancerArn})
		k.made.must(err)
		for _, a := range found.Attributes {
			want := map[string]string{"idle_timeout.timeout_seconds": "120", "routing.http2.enabled": "false"}[*a.Key]
			if *a.Value != cmp.Or(want, *a.Value) {
				t.Errorf("%s is %s, want %s", *a.Key, *a.Value, want)
			}
		}
	})
}

// TestProtectionStays: a web ACL and a protection of Shield that are wanted and there are not written.
func TestProtectionStays(t *testing.T) {
	inTakeover(t, usual(), twoIngresses(), func(k *takeover) {
		time.Sleep(time.Minute)
		acl := k.sim.AddWebACL("edge")
		_, err := wafv2.NewFromConfig(k.sim.OwnersConfig()).AssociateWebACL(k.Context(), &wafv2.AssociateWebACLInput{ResourceArn: k.made.balancer.LoadBalancerArn, WebACLArn: &acl})
		k.made.must(err)
		k.sim.Subscribe(true)
		_, err = shield.NewFromConfig(k.sim.OwnersConfig()).CreateProtection(k.Context(), &shield.CreateProtectionInput{Name: sdk.String("theirs"), ResourceArn: k.made.balancer.LoadBalancerArn})
		k.made.must(err)
		k.ClusterLoadBalancerClasses[0].Spec.WAFv2ACL = acl
		k.ClusterLoadBalancerClasses[0].Spec.ShieldAdvanced = sdk.Bool(true)
		k.take()
		k.rests("it was taken over")
	})
}

// TestEachStatementOfAdoptionIsNeeded: none of the actions is allowed by another statement, or not needed to take over and keep.
func TestEachStatementOfAdoptionIsNeeded(t *testing.T) {
	inTakeover(t, usual(), twoIngresses(), func(k *takeover) {
		time.Sleep(time.Minute)
		k.take()
		*k.policy = adopters(t, adoption)
		made, err := k.made.api.CreateTargetGroup(k.Context(), &elbapi.CreateTargetGroupInput{Name: sdk.String("k8s-left"), Protocol: elb.ProtocolEnumHttp, Port: sdk.Int32(80),
			VpcId: sdk.String(albsim.VPC), TargetType: elb.TargetTypeEnumIp, Tags: elbTags(theirTags("shop/c-web:80"))})
		k.made.must(err)
		if err := k.cloud.Discard(k.Context(), k.key, []string{*made.TargetGroups[0].TargetGroupArn}); err != nil {
			t.Fatal(err)
		}
		p, err := iam.ReadPolicy(adoption)
		k.made.must(err)
		for _, s := range p.Statement {
			for _, action := range s.Action {
				if !k.needed[s.Sid+" "+action] {
					t.Errorf("%s of statement %s is not needed", action, s.Sid)
				}
			}
		}
	})
}

// TestTwinsOfDifferentMembers: what one of them lacks is registered, and what is not wanted goes.
func TestTwinsOfDifferentMembers(t *testing.T) {
	inTakeover(t, usual(), twoIngresses(), func(k *takeover) {
		time.Sleep(time.Minute)
		twin := k.made.groups["shop/b-web:80"]
		first := k.targetsIn(twin)
		_, err := k.made.api.DeregisterTargets(k.Context(), &elbapi.DeregisterTargetsInput{TargetGroupArn: &twin, Targets: []elb.TargetDescription{{Id: sdk.String(strings.Split(first[0], ":")[0]), Port: sdk.Int32(8080)}}})
		k.made.must(err)
		_, err = k.made.api.RegisterTargets(k.Context(), &elbapi.RegisterTargetsInput{TargetGroupArn: &twin, Targets: []elb.TargetDescription{{Id: sdk.String("10.0.0.250"), Port: sdk.Int32(8080)}}})
		k.made.must(err)
		k.take()
		k.settle()
		if got := k.targetsIn(twin); !slices.Equal(got, first) {
			t.Errorf("its targets are %v, want %v", got, first)
		}
		healths, err := k.cloud.Targets(k.Context(), k.key, lb.GroupID("shop/web:80"))
		if err != nil || len(healths) < len(first) {
			t.Errorf("%v, %v", healths, err)
		}
	})
}
