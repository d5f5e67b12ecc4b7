package moto

import (
	"errors"
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/smithy-go"
)

// This file lists what moto does otherwise than AWS where it matters to the tests of this package.
// Each line is looked at: one that is no longer so fails, and what was done for its sake can go.

// A deviation is something that moto does and AWS does not.
type deviation struct {
	what string
	aws  string // what AWS does
	here string // what the tests of this package do about it
	is   func(*inside) bool
}

var deviations = []deviation{
	{
		"a second load balancer gets the name of the first", "DuplicateLoadBalancerName", "mended.go refuses it",
		func(i *inside) bool { return *i.balancer("one").LoadBalancerArn != i.one },
	},
	{
		"a second listener gets the port of the first", "DuplicateListener", "mended.go refuses it",
		func(i *inside) bool {
			first, second := i.listener(), i.listener()
			return first != second
		},
	},
	{
		"a resource with ten tags takes no other one", "it takes 50", "mended.go takes them all off, and adds them with the others",
		func(i *inside) bool {
			for n := range 11 {
				_, err := i.elb.AddTags(i.Context(), &elbapi.AddTagsInput{ResourceArns: []string{i.one}, Tags: []elb.Tag{{Key: aws.String(strconv.Itoa(n)), Value: aws.String("x")}}})
				if full := (*elb.TooManyTagsException)(nil); errors.As(err, &full) {
					return true
				}
			}
			return false
		},
	},
	{
		"another default certificate drops those that are served by name", "they stay", "mended.go attaches them again",
		func(i *inside) bool {
			tls := i.secure()
			i.attach(tls, i.certificate("b.example.com"))
			_ = must(i.elb.ModifyListener(i.Context(), &elbapi.ModifyListenerInput{
				ListenerArn: &tls, Protocol: elb.ProtocolEnumHttps, DefaultActions: gone(), Certificates: i.certificate("c.example.com"),
			}))
			return len(i.served(tls)) == 1
		},
	},
	{
		"a certificate that is attached twice is served twice", "the second time changes nothing", "the provider counts it once",
		func(i *inside) bool {
			tls, more := i.secure(), i.certificate("b.example.com")
			i.attach(tls, more)
			i.attach(tls, more)
			return len(i.served(tls)) == 3
		},
	},
	{
		"regular expressions are not understood", "they are conditions like globs", "the provider lowers for globs alone",
		func(i *inside) bool {
			return i.rule(1, elb.RuleCondition{Field: aws.String("path-pattern"), PathPatternConfig: &elb.PathPatternConditionConfig{RegexValues: []string{"^/a$"}}}) != ""
		},
	},
	{
		"a target is known by its address, and has one port", "each port is a target", "each target has an address of its own",
		func(i *inside) bool {
			i.register("10.0.0.9", 80)
			i.register("10.0.0.9", 81)
			return len(i.health()) == 1
		},
	},
	{
		"a target is healthy though no rule names its group", "it is unused", "nobody waits for health in vain: test/alb does",
		func(i *inside) bool {
			i.register("10.0.0.9", 80)
			return i.health()[0].TargetHealth.State == elb.TargetHealthStateEnumHealthy
		},
	},
	{
		"a target that is deregistered is gone at once", "it drains", "draining is for test/alb",
		func(i *inside) bool {
			i.register("10.0.0.9", 80)
			_ = must(i.elb.DeregisterTargets(i.Context(), &elbapi.DeregisterTargetsInput{TargetGroupArn: &i.group, Targets: []elb.TargetDescription{{Id: aws.String("10.0.0.9")}}}))
			return len(i.health()) == 0
		},
	},
	{
		"priorities cannot be swapped", "SetRulePriorities looks at the result alone", "no story here re-spaces onto numbers in use; plans never do",
		func(i *inside) bool {
			i.rule(1, path("/a"))
			i.rule(2, path("/b"))
			var pairs []elb.RulePriorityPair
			for _, r := range i.rules() {
				if n, err := strconv.Atoi(*r.Priority); err == nil {
					pairs = append(pairs, elb.RulePriorityPair{RuleArn: r.RuleArn, Priority: aws.Int32(int32(3 - n))})
				}
			}
			_, err := i.elb.SetRulePriorities(i.Context(), &elbapi.SetRulePrioritiesInput{RulePriorities: pairs})
			return code(err) == "PriorityInUse"
		},
	},
	{
		"a rule has six values", "five at most", "limits are for test/albsim",
		func(i *inside) bool { return i.rule(1, path("/1", "/2", "/3", "/4", "/5", "/6")) == "" },
	},
	{
		"a path has characters that are not valid", "ValidationError", "characters are for test/albsim",
		func(i *inside) bool { return i.rule(1, path("/<")) == "" },
	},
	{
		"a group without load balancer is deleted twice with an error", "deleting what is not there succeeds", "the provider takes the error for success",
		func(i *inside) bool {
			for range 2 {
				_, err := i.elb.DeleteTargetGroup(i.Context(), &elbapi.DeleteTargetGroupInput{TargetGroupArn: &i.group})
				if err != nil {
					return code(err) == "TargetGroupNotFound"
				}
			}
			return false
		},
	},
	{
		"a load balancer is said to take 30 targets", "1,000, and many more limits are reported", "the provider goes by what AWS publishes",
		func(i *inside) bool {
			told := map[string]string{}
			for _, l := range must(i.elb.DescribeAccountLimits(i.Context(), &elbapi.DescribeAccountLimitsInput{})).Limits {
				told[*l.Name] = *l.Max
			}
			_, conditions := told["condition-values-per-alb-rule"]
			return told["targets-per-application-load-balancer"] == "30" && !conditions
		},
	},
	{
		"the same rules come in the order in which they were made", "the order is not documented", "the provider sorts them",
		func(i *inside) bool {
			i.rule(2, path("/b"))
			i.rule(1, path("/a"))
			return *i.rules()[0].Priority == "2"
		},
	},
}

func TestDeviationsAreStillThere(t *testing.T) {
	server := Start(t)
	for _, d := range deviations {
		t.Run(d.what, func(t *testing.T) {
			if !d.is(newInside(t, server.Account(t))) {
				t.Errorf("not any more. AWS: %s. Here: %s", d.aws, d.here)
			}
		})
	}
}

// An inside is an account with a load balancer, called one, a listener and a target group, as moto
// has them.
type inside struct {
	*testing.T
	*Account
	elb              *elbapi.Client
	one, on80, group string
}

func newInside(t *testing.T, a *Account) *inside {
	i := &inside{T: t, Account: a, elb: elbapi.NewFromConfig(a.Config)}
	i.one = *i.balancer("one").LoadBalancerArn
	i.on80 = i.listener()
	made := must(i.elb.CreateTargetGroup(t.Context(), &elbapi.CreateTargetGroupInput{
		Name: aws.String("web"), VpcId: aws.String(a.VPC), Port: aws.Int32(80), Protocol: elb.ProtocolEnumHttp, TargetType: elb.TargetTypeEnumIp,
	}))
	i.group = *made.TargetGroups[0].TargetGroupArn
	return i
}

func (i *inside) balancer(name string) elb.LoadBalancer {
	return must(i.elb.CreateLoadBalancer(i.Context(), &elbapi.CreateLoadBalancerInput{Name: &name, Subnets: i.Private})).LoadBalancers[0]
}

func (i *inside) listener() string {
	return *must(i.elb.CreateListener(i.Context(), &elbapi.CreateListenerInput{
		LoadBalancerArn: &i.one, Port: aws.Int32(80), Protocol: elb.ProtocolEnumHttp, DefaultActions: gone(),
	})).Listeners[0].ListenerArn
}

// secure makes a listener with a certificate.
func (i *inside) secure() string {
	return *must(i.elb.CreateListener(i.Context(), &elbapi.CreateListenerInput{
		LoadBalancerArn: &i.one, Port: aws.Int32(443), Protocol: elb.ProtocolEnumHttps, DefaultActions: gone(), Certificates: i.certificate("a.example.com"),
	})).Listeners[0].ListenerArn
}

// certificate is a new one.
func (i *inside) certificate(host string) []elb.Certificate {
	out := must(acm.NewFromConfig(i.Config).RequestCertificate(i.Context(), &acm.RequestCertificateInput{DomainName: &host}))
	return []elb.Certificate{{CertificateArn: out.CertificateArn}}
}

func (i *inside) attach(listener string, certificates []elb.Certificate) {
	_ = must(i.elb.AddListenerCertificates(i.Context(), &elbapi.AddListenerCertificatesInput{ListenerArn: &listener, Certificates: certificates}))
}

func (i *inside) served(listener string) []elb.Certificate {
	return must(i.elb.DescribeListenerCertificates(i.Context(), &elbapi.DescribeListenerCertificatesInput{ListenerArn: &listener})).Certificates
}

// rule makes one, and returns why it is refused; "" if it is not.
func (i *inside) rule(priority int32, c elb.RuleCondition) string {
	_, err := i.elb.CreateRule(i.Context(), &elbapi.CreateRuleInput{ListenerArn: &i.on80, Priority: &priority, Conditions: []elb.RuleCondition{c}, Actions: gone()})
	return code(err)
}

func (i *inside) rules() []elb.Rule {
	return must(i.elb.DescribeRules(i.Context(), &elbapi.DescribeRulesInput{ListenerArn: &i.on80})).Rules
}

func (i *inside) register(address string, port int32) {
	_ = must(i.elb.RegisterTargets(i.Context(), &elbapi.RegisterTargetsInput{TargetGroupArn: &i.group, Targets: []elb.TargetDescription{{Id: &address, Port: &port}}}))
}

func (i *inside) health() []elb.TargetHealthDescription {
	return must(i.elb.DescribeTargetHealth(i.Context(), &elbapi.DescribeTargetHealthInput{TargetGroupArn: &i.group})).TargetHealthDescriptions
}

func path(values ...string) elb.RuleCondition {
	return elb.RuleCondition{Field: aws.String("path-pattern"), PathPatternConfig: &elb.PathPatternConditionConfig{Values: values}}
}

func gone() []elb.Action {
	return []elb.Action{{Type: elb.ActionTypeEnumFixedResponse, FixedResponseConfig: &elb.FixedResponseActionConfig{StatusCode: aws.String("410")}}}
}

func must[T any](out T, err error) T {
	if err != nil {
		panic(err)
	}
	return out
}

// code is AWS's name of an error.
func code(err error) string {
	var refused smithy.APIError
	if errors.As(err, &refused) {
		return refused.ErrorCode()
	}
	if err != nil {
		return err.Error()
	}
	return ""
}
