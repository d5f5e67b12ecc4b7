package alb

import (
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/aws-sdk-go-v2/service/shield"
	shieldtypes "github.com/aws/aws-sdk-go-v2/service/shield/types"
	"github.com/aws/aws-sdk-go-v2/service/wafv2"
	"github.com/aws/smithy-go"

	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/albsim/iam"
)

// This file holds the operator's role in the hands of an attacker, who tries what the policy is
// there to prevent.

// A victim is what somebody else has in the account.
type victim struct {
	*world
	api                                    clients // of the attacker
	balancer, listener, rule, group        string
	securityGroup, certificate, protection string
	webACL                                 string
	tag                                    string // what the attacker tags with
}

// clients are those of one caller.
type clients struct {
	acm    *acm.Client
	ec2    *ec2.Client
	elb    *elbapi.Client
	shield *shield.Client
	waf    *wafv2.Client
}

func clientsOf(c sdk.Config) clients {
	return clients{acm.NewFromConfig(c), ec2.NewFromConfig(c), elbapi.NewFromConfig(c), shield.NewFromConfig(c), wafv2.NewFromConfig(c)}
}

// newVictim makes one of each thing, with tags. The names are like Fairlead's.
func newVictim(w *world, tags map[string]string) *victim {
	owner := clientsOf(w.sim.OwnersConfig())
	v := &victim{world: w, api: clientsOf(w.sim.Config()), tag: "test"}
	ctx := w.Context()
	elbTags, ec2Tags, acmTags, shieldTags := []elb.Tag{}, []ec2types.Tag{}, []acmtypes.Tag{}, []shieldtypes.Tag{}
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		key, value := sdk.String(key), sdk.String(tags[key])
		elbTags, ec2Tags = append(elbTags, elb.Tag{Key: key, Value: value}), append(ec2Tags, ec2types.Tag{Key: key, Value: value})
		acmTags, shieldTags = append(acmTags, acmtypes.Tag{Key: key, Value: value}), append(shieldTags, shieldtypes.Tag{Key: key, Value: value})
	}
	group := ec2.CreateSecurityGroupInput{GroupName: sdk.String("theirs"), Description: sdk.String("theirs"), VpcId: sdk.String(albsim.VPC)}
	if len(ec2Tags) > 0 {
		group.TagSpecifications = []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeSecurityGroup, Tags: ec2Tags}}
	}
	v.securityGroup = *must(owner.ec2.CreateSecurityGroup(ctx, &group)).GroupId
	v.balancer = *must(owner.elb.CreateLoadBalancer(ctx, &elbapi.CreateLoadBalancerInput{
		Name: sdk.String("fl-theirs"), Scheme: elb.LoadBalancerSchemeEnumInternal, Subnets: private(0, 1), Tags: elbTags,
	})).LoadBalancers[0].LoadBalancerArn
	v.group = *must(owner.elb.CreateTargetGroup(ctx, &elbapi.CreateTargetGroupInput{
		Name: sdk.String("fl-theirs"), Protocol: elb.ProtocolEnumHttp, Port: sdk.Int32(80), VpcId: sdk.String(albsim.VPC), TargetType: elb.TargetTypeEnumIp, Tags: elbTags,
	})).TargetGroups[0].TargetGroupArn
	v.listener = *must(owner.elb.CreateListener(ctx, &elbapi.CreateListenerInput{
		LoadBalancerArn: &v.balancer, Port: sdk.Int32(80), Protocol: elb.ProtocolEnumHttp, DefaultActions: answers("404"), Tags: elbTags,
	})).Listeners[0].ListenerArn
	v.rule = *must(owner.elb.CreateRule(ctx, &elbapi.CreateRuleInput{
		ListenerArn: &v.listener, Priority: sdk.Int32(1), Conditions: onPath("/"), Actions: answers("200"), Tags: elbTags,
	})).Rules[0].RuleArn
	imported := pair(w, 0, []string{"their.example.net"})
	v.certificate = *must(owner.acm.ImportCertificate(ctx, &acm.ImportCertificateInput{Certificate: imported.Chain, PrivateKey: imported.Key, Tags: acmTags})).CertificateArn
	v.webACL = w.sim.AddWebACL("theirs")
	must(owner.waf.AssociateWebACL(ctx, &wafv2.AssociateWebACLInput{ResourceArn: &v.balancer, WebACLArn: &v.webACL}))
	v.protection = *must(owner.shield.CreateProtection(ctx, &shield.CreateProtectionInput{Name: sdk.String("theirs"), ResourceArn: &v.balancer, Tags: shieldTags})).ProtectionId
	return v
}

func answers(status string) []elb.Action {
	return []elb.Action{{Type: elb.ActionTypeEnumFixedResponse, FixedResponseConfig: &elb.FixedResponseActionConfig{StatusCode: &status}}}
}

func onPath(path string) []elb.RuleCondition {
	return []elb.RuleCondition{{Field: sdk.String("path-pattern"), PathPatternConfig: &elb.PathPatternConditionConfig{Values: []string{path}}}}
}

// attacks are what a holder of the role tries, by what it is.
var attacks = map[string]func(*victim) error{
	"tag a load balancer": func(v *victim) error { return v.tagging(v.balancer) },
	"tag a target group":  func(v *victim) error { return v.tagging(v.group) },
	"tag a listener":      func(v *victim) error { return v.tagging(v.listener) },
	"tag a rule":          func(v *victim) error { return v.tagging(v.rule) },
	"tag a certificate": func(v *victim) error {
		_, err := v.api.acm.AddTagsToCertificate(v.Context(), &acm.AddTagsToCertificateInput{
			CertificateArn: &v.certificate, Tags: []acmtypes.Tag{{Key: sdk.String(installationTag), Value: &v.tag}},
		})
		return err
	},
	"tag a security group": func(v *victim) error {
		_, err := v.api.ec2.CreateTags(v.Context(), &ec2.CreateTagsInput{
			Resources: []string{v.securityGroup}, Tags: []ec2types.Tag{{Key: sdk.String(installationTag), Value: &v.tag}},
		})
		return err
	},
	"tag a protection": func(v *victim) error {
		_, err := v.api.shield.TagResource(v.Context(), &shield.TagResourceInput{
			ResourceARN: sdk.String("arn:aws:shield::" + albsim.Account + ":protection/" + v.protection), Tags: []shieldtypes.Tag{{Key: sdk.String(installationTag), Value: &v.tag}},
		})
		return err
	},
	"take the tags of a load balancer": func(v *victim) error {
		_, err := v.api.elb.RemoveTags(v.Context(), &elbapi.RemoveTagsInput{ResourceArns: []string{v.balancer}, TagKeys: []string{installationTag}})
		return err
	},
	"take the tags of a certificate": func(v *victim) error {
		_, err := v.api.acm.RemoveTagsFromCertificate(v.Context(), &acm.RemoveTagsFromCertificateInput{CertificateArn: &v.certificate, Tags: []acmtypes.Tag{{Key: sdk.String(installationTag)}}})
		return err
	},
	"delete a certificate": func(v *victim) error {
		_, err := v.api.acm.DeleteCertificate(v.Context(), &acm.DeleteCertificateInput{CertificateArn: &v.certificate})
		return err
	},
	"overwrite a certificate": func(v *victim) error {
		mine := pair(v.world, 1, []string{"their.example.net"})
		_, err := v.api.acm.ImportCertificate(v.Context(), &acm.ImportCertificateInput{CertificateArn: &v.certificate, Certificate: mine.Chain, PrivateKey: mine.Key})
		return err
	},
	"overwrite a certificate and tag it": func(v *victim) error {
		mine := pair(v.world, 1, []string{"their.example.net"})
		_, err := v.api.acm.ImportCertificate(v.Context(), &acm.ImportCertificateInput{
			CertificateArn: &v.certificate, Certificate: mine.Chain, PrivateKey: mine.Key, Tags: []acmtypes.Tag{{Key: sdk.String(installationTag), Value: &v.tag}},
		})
		return err
	},
	"import a certificate without a tag": func(v *victim) error {
		mine := pair(v.world, 1, []string{"their.example.net"})
		_, err := v.api.acm.ImportCertificate(v.Context(), &acm.ImportCertificateInput{Certificate: mine.Chain, PrivateKey: mine.Key})
		return err
	},
	"delete a load balancer": func(v *victim) error {
		_, err := v.api.elb.DeleteLoadBalancer(v.Context(), &elbapi.DeleteLoadBalancerInput{LoadBalancerArn: &v.balancer})
		return err
	},
	"change the security groups of a load balancer": func(v *victim) error {
		_, err := v.api.elb.SetSecurityGroups(v.Context(), &elbapi.SetSecurityGroupsInput{LoadBalancerArn: &v.balancer, SecurityGroups: []string{v.securityGroup}})
		return err
	},
	"make a load balancer without a tag": func(v *victim) error {
		_, err := v.api.elb.CreateLoadBalancer(v.Context(), &elbapi.CreateLoadBalancerInput{Name: sdk.String("fl-mine"), Subnets: private(0, 1)})
		return err
	},
	"open a port of a load balancer": func(v *victim) error {
		_, err := v.api.elb.CreateListener(v.Context(), &elbapi.CreateListenerInput{LoadBalancerArn: &v.balancer, Port: sdk.Int32(81), Protocol: elb.ProtocolEnumHttp, DefaultActions: answers("200")})
		return err
	},
	"change a listener": func(v *victim) error {
		_, err := v.api.elb.ModifyListener(v.Context(), &elbapi.ModifyListenerInput{ListenerArn: &v.listener, DefaultActions: answers("200")})
		return err
	},
	"delete a listener": func(v *victim) error {
		_, err := v.api.elb.DeleteListener(v.Context(), &elbapi.DeleteListenerInput{ListenerArn: &v.listener})
		return err
	},
	"make a rule": func(v *victim) error {
		_, err := v.api.elb.CreateRule(v.Context(), &elbapi.CreateRuleInput{
			ListenerArn: &v.listener, Priority: sdk.Int32(2), Conditions: onPath("/x"), Actions: answers("200"), Tags: []elb.Tag{{Key: sdk.String(installationTag), Value: &v.tag}},
		})
		return err
	},
	"change a rule": func(v *victim) error {
		_, err := v.api.elb.ModifyRule(v.Context(), &elbapi.ModifyRuleInput{RuleArn: &v.rule, Actions: answers("500")})
		return err
	},
	"delete a rule": func(v *victim) error {
		_, err := v.api.elb.DeleteRule(v.Context(), &elbapi.DeleteRuleInput{RuleArn: &v.rule})
		return err
	},
	"renumber a rule": func(v *victim) error {
		_, err := v.api.elb.SetRulePriorities(v.Context(), &elbapi.SetRulePrioritiesInput{RulePriorities: []elb.RulePriorityPair{{RuleArn: &v.rule, Priority: sdk.Int32(9)}}})
		return err
	},
	"delete a target group": func(v *victim) error {
		_, err := v.api.elb.DeleteTargetGroup(v.Context(), &elbapi.DeleteTargetGroupInput{TargetGroupArn: &v.group})
		return err
	},
	"register a target": func(v *victim) error {
		_, err := v.api.elb.RegisterTargets(v.Context(), &elbapi.RegisterTargetsInput{TargetGroupArn: &v.group, Targets: []elb.TargetDescription{{Id: sdk.String("10.0.0.9"), Port: sdk.Int32(80)}}})
		return err
	},
	"delete a security group": func(v *victim) error {
		_, err := v.api.ec2.DeleteSecurityGroup(v.Context(), &ec2.DeleteSecurityGroupInput{GroupId: &v.securityGroup})
		return err
	},
	"open a security group": func(v *victim) error {
		_, err := v.api.ec2.AuthorizeSecurityGroupIngress(v.Context(), &ec2.AuthorizeSecurityGroupIngressInput{GroupId: &v.securityGroup, IpPermissions: []ec2types.IpPermission{tcp(22, "0.0.0.0/0")}})
		return err
	},
	"take a web ACL away": func(v *victim) error {
		_, err := v.api.waf.DisassociateWebACL(v.Context(), &wafv2.DisassociateWebACLInput{ResourceArn: &v.balancer})
		return err
	},
	"put a web ACL of another kind": func(v *victim) error {
		_, err := v.api.waf.AssociateWebACL(v.Context(), &wafv2.AssociateWebACLInput{ResourceArn: &v.balancer, WebACLArn: &v.webACL})
		return err
	},
	"take the web ACL of an API away": func(v *victim) error {
		_, err := v.api.waf.DisassociateWebACL(v.Context(), &wafv2.DisassociateWebACLInput{ResourceArn: sdk.String("arn:aws:apigateway:" + albsim.Region + "::/restapis/theirs/stages/one")})
		return err
	},
	"delete a protection": func(v *victim) error {
		_, err := v.api.shield.DeleteProtection(v.Context(), &shield.DeleteProtectionInput{ProtectionId: &v.protection})
		return err
	},
	"protect without a tag": func(v *victim) error {
		_, err := v.api.shield.CreateProtection(v.Context(), &shield.CreateProtectionInput{Name: sdk.String("mine"), ResourceArn: &v.balancer})
		return err
	},
	"read the client of a user pool that is not listed": func(v *victim) error {
		_, err := v.api.elb.CreateRule(v.Context(), &elbapi.CreateRuleInput{
			ListenerArn: &v.seen.Listeners[0].Handle, Priority: sdk.Int32(2), Conditions: onPath("/x"),
			Actions: append([]elb.Action{{Type: elb.ActionTypeEnumAuthenticateCognito, Order: sdk.Int32(1), AuthenticateCognitoConfig: &elb.AuthenticateCognitoActionConfig{
				UserPoolArn: sdk.String("arn:aws:cognito-idp:" + albsim.Region + ":" + albsim.Account + ":userpool/eu-west-1_their"), UserPoolClientId: sdk.String("x"), UserPoolDomain: sdk.String("x"),
			}}}, answers("200")...),
		})
		return err
	},
}

const installationTag = "fairlead.dev/installation"

// tagging gives something of Elastic Load Balancing the attacker's tag.
func (v *victim) tagging(arn string) error {
	_, err := v.api.elb.AddTags(v.Context(), &elbapi.AddTagsInput{ResourceArns: []string{arn}, Tags: []elb.Tag{{Key: sdk.String(installationTag), Value: &v.tag}}})
	return err
}

// deniedCodes are how AWS says that a policy does not allow a call.
var deniedCodes = []string{"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"}

// TestNobodyElseIsHarmed tries every attack on what has no tag, under the policy as it is, and on
// what another installation has made, under the policy of one installation.
func TestNobodyElseIsHarmed(t *testing.T) {
	shipped, err := iam.ReadPolicy("../../docs/iam-policy.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		policy iam.Policy
		tags   map[string]string
	}{
		"somebody who has heard of no Fairlead":          {policy: shipped},
		"another installation":                           {policy: policyOf(t, "test"), tags: map[string]string{installationTag: "other"}},
		"somebody without tags, from one installation's": {policy: policyOf(t, "test")},
	} {
		for _, attack := range slices.Sorted(maps.Keys(attacks)) {
			t.Run(strings.ReplaceAll(name+"/"+attack, " ", "_"), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					armed := false // with the policy, once there is something to attack
					w := newWorld(t, albsim.Options{Authorize: func(a iam.Ask) bool { return !armed || c.policy.Allows(a) }})
					w.service("web", 1)
					w.serve("site", map[string]string{"/": "web"})
					w.settle()
					v := newVictim(w, c.tags)
					armed = true
					err := attacks[attack](v)
					var refused smithy.APIError
					if !errors.As(err, &refused) || !slices.Contains(deniedCodes, refused.ErrorCode()) {
						t.Errorf("it is answered: %v", err)
					}
				})
			})
		}
	}
}

// TestRulesThatOthersMadeAreRemovedWithAStatementMore lets the operator meet a rule of somebody
// else, without and with the statement of the guide.
func TestRulesThatOthersMadeAreRemovedWithAStatementMore(t *testing.T) {
	shipped, err := iam.ReadPolicy("../../docs/iam-policy.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		policy  iam.Policy
		removed bool
	}{
		"as it is": {shipped, false},
		"with it":  {iam.Policy{Statement: append(slices.Clone(shipped.Statement), statementOf(t, "ChangeRulesOfOthers"))}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, albsim.Options{Authorize: c.policy.Allows})
				w.service("web", 1)
				w.serve("site", map[string]string{"/": "web"})
				w.settle()
				w.stranger("/by-hand")
				w.restart()
				w.serve("more", map[string]string{"/": "web"})
				err := w.rest()
				if c.removed == (err != nil) || err != nil && !strings.Contains(err.Error(), `under "Rules from other tools"`) {
					t.Errorf("it comes to rest with: %v", err)
				}
				w.seen = must(w.cloud.Observe(t.Context(), w.key, false))
				if a := w.request("site"); len(a.Forward) == 0 {
					t.Errorf("the Ingress that was there is answered %+v", a)
				}
				if a := w.request("more"); c.removed && len(a.Forward) == 0 {
					t.Errorf("the Ingress that came meanwhile is answered %+v", a)
				}
			})
		})
	}
}

// statementOf is a statement that the guide has in a block of its own.
func statementOf(t *testing.T, sid string) iam.Statement {
	t.Helper()
	guide, err := os.ReadFile("../../docs/how-to/iam.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range strings.Split(string(guide), "```json\n")[1:] {
		text, _, _ := strings.Cut(block, "```")
		if strings.Contains(text, `"Sid": "`+sid+`"`) {
			p, err := iam.ParsePolicy([]byte(`{"Version": "2012-10-17", "Statement": [` + text + `]}`))
			if err != nil {
				t.Fatal(err)
			}
			return p.Statement[0]
		}
	}
	t.Fatalf("the guide has no statement %s", sid)
	return iam.Statement{}
}
