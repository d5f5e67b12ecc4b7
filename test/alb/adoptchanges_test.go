package alb

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
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

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/nightly"
)

var adoptSeed = flag.Uint64("adopt.seed", 0, "the seed of the groups of Ingresses; 0 draws one")

// drawSeed returns the seed of a test.
func drawSeed(t *testing.T) uint64 {
	if *adoptSeed == 0 {
		*adoptSeed = rand.Uint64()
	}
	t.Logf("-adopt.seed %d", *adoptSeed)
	return *adoptSeed
}

// theirs makes what the controller makes of a random group.
func theirs(t *testing.T, seed, n uint64, secure bool) *theirMade {
	w := newWorld(t, albsim.Options{})
	certificate := w.sim.Issue(time.Now().AddDate(1, 0, 0), "ISSUED", "*.example.com")
	g := drawGroup(rand.New(rand.NewPCG(seed, n)), certificate)
	if secure {
		g.secure = certificate
	}
	return w.makeTheirs(g)
}

// TestTheirsAreTheSame: what the controller makes of a group answers as is wanted, and has the settings that are wanted.
func TestTheirsAreTheSame(t *testing.T) {
	seed := drawSeed(t)
	for n := range uint64(12) {
		m := theirs(t, seed, n, false)
		if code, out, problems := m.w.adopt(m.group.manifests()); code != 0 {
			t.Fatalf("exit code %d: %s%s%s", code, out, problems, m.group.manifests())
		}
	}
}

// TestEachChangeIsTold changes one field in the cloud at a time.
func TestEachChangeIsTold(t *testing.T) {
	all, seed := theirChanges(), drawSeed(t)
	names := slices.Sorted(maps.Keys(all))
	for _, i := range nightly.Some(t, 24, numbers(len(names))) {
		name := names[i]
		t.Run(name, func(t *testing.T) {
			m := theirs(t, seed, uint64(i), true)
			all[name](m)
			if code, out, problems := m.w.adopt(m.group.manifests()); code < 2 {
				t.Errorf("exit code %d: %s%s", code, out, problems)
			}
		})
	}
}

// TestAListenerMoreIsNamed: it is no difference, unless the class has it deleted.
func TestAListenerMoreIsNamed(t *testing.T) {
	for spec, want := range map[string]struct {
		code int
		says string
	}{
		"":                           {0, "listener 8080 (HTTP, 0 rules) stays as it is: no Ingress asks for its port"},
		", unknownListeners: Remove": {2, "8080"},
	} {
		m := newWorld(t, albsim.Options{}).makeTheirs(twoIngresses())
		_, err := m.api.CreateListener(t.Context(), &elbapi.CreateListenerInput{LoadBalancerArn: m.balancer.LoadBalancerArn, Port: sdk.Int32(8080), Protocol: elb.ProtocolEnumHttp,
			DefaultActions: []elb.Action{{Type: elb.ActionTypeEnumFixedResponse, FixedResponseConfig: &elb.FixedResponseActionConfig{StatusCode: sdk.String("404")}}}})
		m.must(err)
		code, out, problems := m.w.adopt(strings.Replace(ourManifests(m.group.manifests()), "spec: {dialect: alb}",
			"spec: {dialect: alb, adoption: {from: alb, clusterName: "+albsim.Cluster+", names: [{stack: all, name: k8s-all-0123456789}]}"+spec+"}", 1))
		if code != want.code || !strings.Contains(out, want.says) {
			t.Errorf("%q: exit code %d: %s%s", spec, code, out, problems)
		}
	}
}

// ruleTo changes the rules on port 443 that a name in annotations makes, for a.example.com.
func (m *theirMade) ruleTo(use string, change func(*elbapi.ModifyRuleInput)) {
	path := map[string]string{"deny": "/deny", "away": "/api/*", "split": "/api", "beta": "/x/*", "office": "/x/y", "debug": "/x"}[use]
	rules, err := m.api.DescribeRules(m.w.Context(), &elbapi.DescribeRulesInput{ListenerArn: m.listeners[1].ListenerArn})
	m.must(err)
	for _, r := range rules.Rules {
		host, paths := conditionOn(r.Conditions, "host-header"), conditionOn(r.Conditions, "path-pattern")
		if host == nil || host.HostHeaderConfig.Values[0] != "a.example.com" || !slices.Contains(paths.PathPatternConfig.Values, path) ||
			use == "split" && len(paths.PathPatternConfig.Values) > 1 || use == "beta" && len(paths.PathPatternConfig.Values) > 1 {
			continue
		}
		in := &elbapi.ModifyRuleInput{RuleArn: r.RuleArn, Conditions: r.Conditions, Actions: r.Actions, Transforms: r.Transforms}
		change(in)
		_, err := m.api.ModifyRule(m.w.Context(), in)
		m.must(err)
		return
	}
	m.w.Fatalf("there is no rule for %s", use)
}

func conditionOn(all []elb.RuleCondition, field string) *elb.RuleCondition {
	for i := range all {
		if *all[i].Field == field {
			return &all[i]
		}
	}
	return nil
}

// theirChanges are changes of a load balancer with the listeners 80 and 443, by the field of the SDK that they change.
func theirChanges() map[string]func(*theirMade) {
	out := map[string]func(*theirMade){}
	maps.Copy(out, changesOfBalancer())
	maps.Copy(out, changesOfListener())
	maps.Copy(out, changesOfRules())
	maps.Copy(out, changesOfGroup())
	return out
}

// another returns another value of an attribute.
func another(a lb.Attribute, usual string) string {
	for _, v := range a.Values {
		if v != usual {
			return v
		}
	}
	switch {
	case a.Most > 0:
		return fmt.Sprint(max(a.Least, 30) + 1)
	case strings.Contains(a.Form, "a-z0-9.-"):
		return "bucket"
	}
	return "other"
}

func changesOfBalancer() map[string]func(*theirMade) {
	out := map[string]func(*theirMade){
		"LoadBalancer.SecurityGroups": func(m *theirMade) {
			more := m.securityGroup("by-hand", nil)
			_, err := m.api.SetSecurityGroups(m.w.Context(), &elbapi.SetSecurityGroupsInput{LoadBalancerArn: m.balancer.LoadBalancerArn, SecurityGroups: append([]string{more}, m.balancer.SecurityGroups...)})
			m.must(err)
		},
		"LoadBalancer.SecurityGroups, fewer": func(m *theirMade) {
			_, err := m.api.SetSecurityGroups(m.w.Context(), &elbapi.SetSecurityGroupsInput{LoadBalancerArn: m.balancer.LoadBalancerArn, SecurityGroups: slices.DeleteFunc(slices.Clone(m.balancer.SecurityGroups), func(g string) bool { return g == m.front })})
			m.must(err)
		},
		"LoadBalancer.IpAddressType": func(m *theirMade) {
			for _, z := range m.balancer.AvailabilityZones {
				m.w.sim.ChangeSubnet(*z.SubnetId, func(s *ec2types.Subnet) {
					s.Ipv6CidrBlockAssociationSet = []ec2types.SubnetIpv6CidrBlockAssociation{{Ipv6CidrBlock: sdk.String("2001:db8::/64")}}
				}, nil)
			}
			_, err := m.api.SetIpAddressType(m.w.Context(), &elbapi.SetIpAddressTypeInput{LoadBalancerArn: m.balancer.LoadBalancerArn, IpAddressType: elb.IpAddressTypeDualstack})
			m.must(err)
		},
		"the web ACL": func(m *theirMade) {
			arn := m.w.sim.AddWebACL("by-hand")
			_, err := wafv2.NewFromConfig(m.w.sim.OwnersConfig()).AssociateWebACL(m.w.Context(), &wafv2.AssociateWebACLInput{ResourceArn: m.balancer.LoadBalancerArn, WebACLArn: &arn})
			m.must(err)
		},
		"the shield": func(m *theirMade) {
			m.w.sim.Subscribe(true)
			_, err := shield.NewFromConfig(m.w.sim.OwnersConfig()).CreateProtection(m.w.Context(), &shield.CreateProtectionInput{Name: sdk.String("by-hand"), ResourceArn: m.balancer.LoadBalancerArn})
			m.must(err)
		},
		"rules of the security group": func(m *theirMade) {
			_, err := m.network.RevokeSecurityGroupIngress(m.w.Context(), &ec2.RevokeSecurityGroupIngressInput{GroupId: &m.front, IpPermissions: []ec2types.IpPermission{{
				IpProtocol: sdk.String("tcp"), FromPort: sdk.Int32(443), ToPort: sdk.Int32(443), IpRanges: []ec2types.IpRange{{CidrIp: sdk.String("0.0.0.0/0")}}}}})
			m.must(err)
			m.admit(400, 500, "tcp", ec2types.IpPermission{IpRanges: []ec2types.IpRange{{CidrIp: sdk.String("10.0.0.0/8")}}})
		},
	}
	for _, tag := range []string{"elbv2.k8s.aws/cluster", "ingress.k8s.aws/stack"} {
		out["tag "+tag+" of the load balancer"] = func(m *theirMade) { m.tag(*m.balancer.LoadBalancerArn, tag) }
		out["tag "+tag+" of the security group"] = func(m *theirMade) {
			_, err := m.network.CreateTags(m.w.Context(), &ec2.CreateTagsInput{Resources: []string{m.front}, Tags: []ec2types.Tag{{Key: &tag, Value: sdk.String("others")}}})
			m.must(err)
		}
	}
	for name, a := range lb.ALB().BalancerAttributes {
		if len(a.Values) == 1 {
			continue // it cannot be changed
		}
		out["attribute "+name] = func(m *theirMade) {
			m.w.sim.AddBucket("bucket")
			set := []elb.LoadBalancerAttribute{{Key: &name, Value: sdk.String(another(a, lb.ALBDefaults(true)[name]))}}
			if logs, is := strings.CutSuffix(name, ".s3.enabled"); is {
				set = append(set, elb.LoadBalancerAttribute{Key: sdk.String(logs + ".s3.bucket"), Value: sdk.String("bucket")})
			}
			_, err := m.api.ModifyLoadBalancerAttributes(m.w.Context(), &elbapi.ModifyLoadBalancerAttributesInput{LoadBalancerArn: m.balancer.LoadBalancerArn, Attributes: set})
			m.must(err)
		}
	}
	return out
}

// tag gives something to others.
func (m *theirMade) tag(arn, key string) {
	_, err := m.api.AddTags(m.w.Context(), &elbapi.AddTagsInput{ResourceArns: []string{arn}, Tags: []elb.Tag{{Key: &key, Value: sdk.String("others")}}})
	m.must(err)
}

func changesOfListener() map[string]func(*theirMade) {
	modify := func(change func(*theirMade, *elbapi.ModifyListenerInput)) func(*theirMade) {
		return func(m *theirMade) {
			in := &elbapi.ModifyListenerInput{ListenerArn: m.listeners[1].ListenerArn}
			change(m, in)
			_, err := m.api.ModifyListener(m.w.Context(), in)
			m.must(err)
		}
	}
	other := func(m *theirMade) string {
		return m.w.sim.Issue(time.Now().AddDate(1, 0, 0), "ISSUED", "*.example.com")
	}
	out := map[string]func(*theirMade){
		"Listener.Port": modify(func(_ *theirMade, in *elbapi.ModifyListenerInput) { in.Port = sdk.Int32(8443) }),
		"Listener.SslPolicy": modify(func(_ *theirMade, in *elbapi.ModifyListenerInput) {
			in.SslPolicy = sdk.String("ELBSecurityPolicy-TLS13-1-2-2021-06")
		}),
		"Listener.Protocol": func(m *theirMade) {
			_, err := m.api.ModifyListener(m.w.Context(), &elbapi.ModifyListenerInput{ListenerArn: m.listeners[0].ListenerArn, Protocol: elb.ProtocolEnumHttps,
				Certificates: []elb.Certificate{{CertificateArn: &m.group.secure}}, SslPolicy: sdk.String("ELBSecurityPolicy-2016-08")})
			m.must(err)
		},
		"Listener.DefaultActions": modify(func(_ *theirMade, in *elbapi.ModifyListenerInput) {
			in.DefaultActions = []elb.Action{{Type: elb.ActionTypeEnumFixedResponse, FixedResponseConfig: &elb.FixedResponseActionConfig{StatusCode: sdk.String("410")}}}
		}),
		"Listener.Certificates": modify(func(m *theirMade, in *elbapi.ModifyListenerInput) {
			in.Certificates = []elb.Certificate{{CertificateArn: sdk.String(other(m))}}
		}),
		"Listener.Certificates, more": func(m *theirMade) {
			_, err := m.api.AddListenerCertificates(m.w.Context(), &elbapi.AddListenerCertificatesInput{ListenerArn: m.listeners[1].ListenerArn, Certificates: []elb.Certificate{{CertificateArn: sdk.String(other(m))}}})
			m.must(err)
		},
		"MutualAuthenticationAttributes.Mode": modify(func(m *theirMade, in *elbapi.ModifyListenerInput) {
			in.MutualAuthentication = &elb.MutualAuthenticationAttributes{Mode: sdk.String("passthrough")}
		}),
		"MutualAuthenticationAttributes.TrustStoreArn": modify(func(m *theirMade, in *elbapi.ModifyListenerInput) {
			in.MutualAuthentication = &elb.MutualAuthenticationAttributes{Mode: sdk.String("verify"), TrustStoreArn: sdk.String(m.w.sim.AddTrustStore("theirs"))}
		}),
		"a listener that is gone": func(m *theirMade) {
			_, err := m.api.DeleteListener(m.w.Context(), &elbapi.DeleteListenerInput{ListenerArn: m.listeners[1].ListenerArn})
			m.must(err)
		},
	}
	for name, a := range lb.ALB().ListenerAttributes {
		out["attribute "+name] = func(m *theirMade) {
			_, err := m.api.ModifyListenerAttributes(m.w.Context(), &elbapi.ModifyListenerAttributesInput{ListenerArn: m.listeners[1].ListenerArn,
				Attributes: []elb.ListenerAttribute{{Key: &name, Value: sdk.String(another(a, lb.ALBListenerDefaults()[name]))}}})
			m.must(err)
		}
	}
	return out
}

func changesOfRules() map[string]func(*theirMade) {
	rule := func(use string, change func(*elbapi.ModifyRuleInput)) func(*theirMade) {
		return func(m *theirMade) { m.ruleTo(use, change) }
	}
	on := func(use, field string, change func(*elb.RuleCondition)) func(*theirMade) {
		return rule(use, func(in *elbapi.ModifyRuleInput) { change(conditionOn(in.Conditions, field)) })
	}
	does := func(use string, change func(*elb.Action)) func(*theirMade) {
		return rule(use, func(in *elbapi.ModifyRuleInput) { change(&in.Actions[0]) })
	}
	return map[string]func(*theirMade){
		"HostHeaderConditionConfig.Values": on("deny", "host-header", func(c *elb.RuleCondition) { c.Values, c.HostHeaderConfig.Values = nil, []string{"c.example.com"} }),
		"HostHeaderConditionConfig.RegexValues": on("deny", "host-header", func(c *elb.RuleCondition) {
			c.Values, c.HostHeaderConfig.Values, c.HostHeaderConfig.RegexValues = nil, nil, []string{`^a\.example`}
		}),
		"PathPatternConditionConfig.Values": on("deny", "path-pattern", func(c *elb.RuleCondition) { c.Values, c.PathPatternConfig.Values = nil, []string{"/deny"} }),
		"PathPatternConditionConfig.RegexValues": on("deny", "path-pattern", func(c *elb.RuleCondition) {
			c.Values, c.PathPatternConfig.Values, c.PathPatternConfig.RegexValues = nil, nil, []string{"^/deny"}
		}),
		"HttpHeaderConditionConfig.HttpHeaderName": on("beta", "http-header", func(c *elb.RuleCondition) { c.HttpHeaderConfig.HttpHeaderName = sdk.String("X-Alpha") }),
		"HttpHeaderConditionConfig.Values":         on("beta", "http-header", func(c *elb.RuleCondition) { c.HttpHeaderConfig.Values = []string{"yes"} }),
		"HttpHeaderConditionConfig.RegexValues": on("beta", "http-header", func(c *elb.RuleCondition) {
			c.HttpHeaderConfig.Values, c.HttpHeaderConfig.RegexValues = nil, []string{"yes"}
		}),
		"HttpRequestMethodConditionConfig.Values": on("office", "http-request-method", func(c *elb.RuleCondition) { c.HttpRequestMethodConfig.Values = []string{"GET"} }),
		"SourceIpConditionConfig.Values":          on("office", "source-ip", func(c *elb.RuleCondition) { c.SourceIpConfig.Values = []string{"10.0.0.0/9"} }),
		"QueryStringKeyValuePair.Key":             on("debug", "query-string", func(c *elb.RuleCondition) { c.QueryStringConfig.Values[0].Key = nil }),
		"QueryStringKeyValuePair.Value":           on("debug", "query-string", func(c *elb.RuleCondition) { c.QueryStringConfig.Values[0].Value = sdk.String("2") }),
		"QueryStringConditionConfig.Values": on("debug", "query-string", func(c *elb.RuleCondition) {
			c.QueryStringConfig.Values = append(c.QueryStringConfig.Values, elb.QueryStringKeyValuePair{Key: sdk.String("trace"), Value: sdk.String("a=b")})
		}),
		"Rule.Conditions": rule("debug", func(in *elbapi.ModifyRuleInput) {
			in.Conditions = slices.DeleteFunc(in.Conditions, func(c elb.RuleCondition) bool { return *c.Field == "query-string" })
		}),
		"FixedResponseActionConfig.StatusCode":  does("deny", func(a *elb.Action) { a.FixedResponseConfig.StatusCode = sdk.String("401") }),
		"FixedResponseActionConfig.MessageBody": does("deny", func(a *elb.Action) { a.FixedResponseConfig.MessageBody = sdk.String("never") }),
		"FixedResponseActionConfig.ContentType": does("deny", func(a *elb.Action) { a.FixedResponseConfig.ContentType = sdk.String("text/html") }),
		"RedirectActionConfig.Host":             does("away", func(a *elb.Action) { a.RedirectConfig.Host = sdk.String("evil.example.com") }),
		"RedirectActionConfig.Path":             does("away", func(a *elb.Action) { a.RedirectConfig.Path = sdk.String("/there") }),
		"RedirectActionConfig.Port":             does("away", func(a *elb.Action) { a.RedirectConfig.Port = sdk.String("8443") }),
		"RedirectActionConfig.Protocol": func(m *theirMade) {
			m.onPort80(func() {
				m.ruleTo("away", func(in *elbapi.ModifyRuleInput) { in.Actions[0].RedirectConfig.Protocol = sdk.String("HTTPS") })
			})
		},
		"RedirectActionConfig.Query":      does("away", func(a *elb.Action) { a.RedirectConfig.Query = sdk.String("a=b") }),
		"RedirectActionConfig.StatusCode": does("away", func(a *elb.Action) { a.RedirectConfig.StatusCode = elb.RedirectActionStatusCodeEnumHttp301 }),
		"TargetGroupTuple.Weight":         does("split", func(a *elb.Action) { a.ForwardConfig.TargetGroups[0].Weight = sdk.Int32(0) }),
		"TargetGroupTuple.Weight, of one": does("beta", func(a *elb.Action) { a.TargetGroupArn, a.ForwardConfig.TargetGroups[0].Weight = nil, sdk.Int32(0) }),
		"TargetGroupTuple.TargetGroupArn": func(m *theirMade) {
			m.ruleTo("office", func(in *elbapi.ModifyRuleInput) {
				in.Actions = []elb.Action{{Type: elb.ActionTypeEnumForward, TargetGroupArn: sdk.String(m.groups["shop/a-own:80"])}}
			})
		},
		"TargetGroupStickinessConfig.Enabled": does("split", func(a *elb.Action) {
			a.ForwardConfig.TargetGroupStickinessConfig = &elb.TargetGroupStickinessConfig{Enabled: sdk.Bool(false)}
		}),
		"TargetGroupStickinessConfig.DurationSeconds": does("split", func(a *elb.Action) { a.ForwardConfig.TargetGroupStickinessConfig.DurationSeconds = sdk.Int32(101) }),
		"Rule.Actions, a sign-in": rule("beta", func(in *elbapi.ModifyRuleInput) {
			in.Actions = append([]elb.Action{{Type: elb.ActionTypeEnumJwtValidation, Order: sdk.Int32(1), JwtValidationConfig: &elb.JwtValidationActionConfig{
				Issuer: sdk.String("https://id.example.com"), JwksEndpoint: sdk.String("https://id.example.com/keys")}}}, in.Actions...)
			in.Actions[1].Order = sdk.Int32(2)
		}),
		"Rule.Transforms": rule("debug", func(in *elbapi.ModifyRuleInput) { in.Transforms, in.ResetTransforms = nil, sdk.Bool(true) }),
		"RewriteConfig.Regex": rule("debug", func(in *elbapi.ModifyRuleInput) {
			in.Transforms[0].UrlRewriteConfig.Rewrites[0].Regex = sdk.String("^/(.*)$")
		}),
		"RewriteConfig.Replace": rule("debug", func(in *elbapi.ModifyRuleInput) {
			in.Transforms[0].UrlRewriteConfig.Rewrites[0].Replace = sdk.String("/other")
		}),
		"RuleTransform.HostHeaderRewriteConfig": rule("deny", func(in *elbapi.ModifyRuleInput) {
			in.Transforms = []elb.RuleTransform{{Type: elb.TransformTypeEnumHostHeaderRewrite, HostHeaderRewriteConfig: &elb.HostHeaderRewriteConfig{Rewrites: []elb.RewriteConfig{{Regex: sdk.String("^a"), Replace: sdk.String("b")}}}}}
		}),
		"Rule.Priority": func(m *theirMade) {
			var split, away *string
			m.ruleTo("split", func(in *elbapi.ModifyRuleInput) { split = in.RuleArn })
			m.ruleTo("away", func(in *elbapi.ModifyRuleInput) { away = in.RuleArn })
			_, err := m.api.SetRulePriorities(m.w.Context(), &elbapi.SetRulePrioritiesInput{RulePriorities: []elb.RulePriorityPair{{RuleArn: split, Priority: sdk.Int32(900)}, {RuleArn: away, Priority: sdk.Int32(800)}}})
			m.must(err)
		},
		"a rule that is gone": func(m *theirMade) {
			var arn *string
			m.ruleTo("deny", func(in *elbapi.ModifyRuleInput) { arn = in.RuleArn })
			_, err := m.api.DeleteRule(m.w.Context(), &elbapi.DeleteRuleInput{RuleArn: arn})
			m.must(err)
		},
		"a rule more": func(m *theirMade) {
			_, err := m.api.CreateRule(m.w.Context(), &elbapi.CreateRuleInput{ListenerArn: m.listeners[0].ListenerArn, Priority: sdk.Int32(900),
				Conditions: []elb.RuleCondition{{Field: sdk.String("host-header"), HostHeaderConfig: &elb.HostHeaderConditionConfig{Values: []string{"more.example.com"}}}},
				Actions:    []elb.Action{{Type: elb.ActionTypeEnumFixedResponse, FixedResponseConfig: &elb.FixedResponseActionConfig{StatusCode: sdk.String("410")}}}})
			m.must(err)
		},
	}
}

// onPort80 runs a function for the rules of the first listener.
func (m *theirMade) onPort80(do func()) {
	slices.Reverse(m.listeners)
	do()
	slices.Reverse(m.listeners)
}

func changesOfGroup() map[string]func(*theirMade) {
	modify := func(change func(*elbapi.ModifyTargetGroupInput)) func(*theirMade) {
		return func(m *theirMade) {
			in := &elbapi.ModifyTargetGroupInput{TargetGroupArn: sdk.String(m.groups["shop/a-own:80"])}
			change(in)
			_, err := m.api.ModifyTargetGroup(m.w.Context(), in)
			m.must(err)
		}
	}
	out := map[string]func(*theirMade){
		"TargetGroup.HealthCheckEnabled":         modify(func(in *elbapi.ModifyTargetGroupInput) { in.HealthCheckEnabled = sdk.Bool(false) }),
		"TargetGroup.HealthCheckIntervalSeconds": modify(func(in *elbapi.ModifyTargetGroupInput) { in.HealthCheckIntervalSeconds = sdk.Int32(20) }),
		"TargetGroup.HealthCheckPath":            modify(func(in *elbapi.ModifyTargetGroupInput) { in.HealthCheckPath = sdk.String("/down") }),
		"TargetGroup.HealthCheckPort":            modify(func(in *elbapi.ModifyTargetGroupInput) { in.HealthCheckPort = sdk.String("9000") }),
		"TargetGroup.HealthCheckProtocol":        modify(func(in *elbapi.ModifyTargetGroupInput) { in.HealthCheckProtocol = elb.ProtocolEnumHttps }),
		"TargetGroup.HealthCheckTimeoutSeconds":  modify(func(in *elbapi.ModifyTargetGroupInput) { in.HealthCheckTimeoutSeconds = sdk.Int32(6) }),
		"TargetGroup.HealthyThresholdCount":      modify(func(in *elbapi.ModifyTargetGroupInput) { in.HealthyThresholdCount = sdk.Int32(3) }),
		"TargetGroup.UnhealthyThresholdCount":    modify(func(in *elbapi.ModifyTargetGroupInput) { in.UnhealthyThresholdCount = sdk.Int32(3) }),
		"Matcher.HttpCode":                       modify(func(in *elbapi.ModifyTargetGroupInput) { in.Matcher = &elb.Matcher{HttpCode: sdk.String("200-299")} }),
	}
	for _, tag := range []string{"elbv2.k8s.aws/cluster", "ingress.k8s.aws/stack", "ingress.k8s.aws/resource"} {
		out["tag "+tag+" of a target group"] = func(m *theirMade) { m.tag(m.groups["shop/a-own:80"], tag) }
	}
	for name, a := range lb.ALB().GroupAttributes {
		if len(a.Versions) > 0 {
			continue // it is for other versions of HTTP
		}
		out["attribute "+name] = func(m *theirMade) {
			set := map[string]string{name: another(a, lb.ALBGroupDefaults()[name])}
			for need, values := range a.Needs {
				if len(values) > 0 {
					set[need] = values[len(values)-1]
				}
			}
			switch name {
			case "stickiness.type", "stickiness.app_cookie.cookie_name":
				set["stickiness.app_cookie.cookie_name"] = "SESSION"
			case "load_balancing.cross_zone.enabled":
				set[name] = "true"
			}
			var list []elb.TargetGroupAttribute
			for k, v := range set {
				list = append(list, elb.TargetGroupAttribute{Key: sdk.String(k), Value: sdk.String(v)})
			}
			_, err := m.api.ModifyTargetGroupAttributes(m.w.Context(), &elbapi.ModifyTargetGroupAttributesInput{TargetGroupArn: sdk.String(m.groups["shop/a-own:80"]), Attributes: list})
			m.must(err)
		}
	}
	return out
}

// unchanged are the fields of the SDK that no change changes, with the reason.
var unchanged = map[string]string{
	"LoadBalancer.AvailabilityZones":                                    "nothing asks for subnets, so that they stay",
	"LoadBalancer.CanonicalHostedZoneId":                                "AWS decides",
	"LoadBalancer.CreatedTime":                                          "AWS decides",
	"LoadBalancer.CustomerOwnedIpv4Pool":                                "it cannot be changed; TestWhatIsLeftOut",
	"LoadBalancer.DNSName":                                              "AWS decides",
	"LoadBalancer.EnablePrefixForIpv6SourceNat":                         "for Network Load Balancers",
	"LoadBalancer.EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic": "for Network Load Balancers",
	"LoadBalancer.IpamPools":                                            "the calls to change it are not simulated; TestWhatIsLeftOut",
	"LoadBalancer.LoadBalancerArn":                                      "AWS decides",
	"LoadBalancer.LoadBalancerName":                                     "it cannot be changed",
	"LoadBalancer.Scheme":                                               "it cannot be changed; TestWhatIsOdd",
	"LoadBalancer.State":                                                "AWS decides",
	"LoadBalancer.Type":                                                 "it cannot be changed",
	"LoadBalancer.VpcId":                                                "it cannot be changed; TestLoadBalancersThatAreNotRead",
	"Listener.AlpnPolicy":                                               "for Network Load Balancers",
	"Listener.ListenerArn":                                              "AWS decides",
	"Listener.LoadBalancerArn":                                          "AWS decides",
	"Listener.MutualAuthentication":                                     "by its fields",
	"MutualAuthenticationAttributes.AdvertiseTrustStoreCaNames":         "only with a trust store, which differs itself",
	"MutualAuthenticationAttributes.IgnoreClientCertificateExpiry":      "only with a trust store, which differs itself",
	"MutualAuthenticationAttributes.TrustStoreAssociationStatus":        "AWS decides",
	"Rule.IsDefault":                                                    "Listener.DefaultActions",
	"Rule.RuleArn":                                                      "AWS decides",
	"Rule.Actions":                                                      "by their fields",
	"TargetGroup.HealthCheckPath":                                       "",
	"TargetGroup.IpAddressType":                                         "it cannot be changed; TestWhatIsOdd",
	"TargetGroup.LoadBalancerArns":                                      "AWS decides",
	"TargetGroup.Matcher":                                               "by its fields",
	"TargetGroup.Port":                                                  "each target is registered with its own",
	"TargetGroup.Protocol":                                              "it cannot be changed; TestWhatIsOdd",
	"TargetGroup.ProtocolVersion":                                       "it cannot be changed; TestWhatIsOdd",
	"TargetGroup.TargetControlPort":                                     "it cannot be changed; TestWhatIsLeftOut",
	"TargetGroup.TargetGroupArn":                                        "AWS decides",
	"TargetGroup.TargetGroupName":                                       "it cannot be changed",
	"TargetGroup.TargetType":                                            "it cannot be changed; TestAdoptSaysWhatDiffers",
	"TargetGroup.VpcId":                                                 "it cannot be changed",
	"SourceIpConditionConfig.IpAddressType":                             "for Network Load Balancers",
	"Matcher.GrpcCode":                                                  "for another version",
}

// TestEachFieldIsChanged: each field that AWS has is changed in a test, or there is a reason.
func TestEachFieldIsChanged(t *testing.T) {
	all := theirChanges()
	for _, of := range []any{
		elb.LoadBalancer{}, elb.Listener{}, elb.MutualAuthenticationAttributes{}, elb.Rule{}, elb.TargetGroup{}, elb.Matcher{},
		elb.HostHeaderConditionConfig{}, elb.PathPatternConditionConfig{}, elb.HttpHeaderConditionConfig{}, elb.HttpRequestMethodConditionConfig{},
		elb.SourceIpConditionConfig{}, elb.QueryStringConditionConfig{}, elb.QueryStringKeyValuePair{}, elb.FixedResponseActionConfig{},
		elb.RedirectActionConfig{}, elb.TargetGroupTuple{}, elb.TargetGroupStickinessConfig{}, elb.RewriteConfig{},
	} {
		of := reflect.TypeOf(of)
		for i := range of.NumField() {
			name := of.Name() + "." + of.Field(i).Name
			if of.Field(i).IsExported() && all[name] == nil && unchanged[name] == "" {
				t.Errorf("%s is not changed, and there is no reason", name)
			}
		}
	}
}
