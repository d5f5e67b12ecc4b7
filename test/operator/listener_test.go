package operator

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// This file reads listeners and rules over the API and does with a request what AWS says that they
// do. It shares nothing with the compiler or the simulator.

// A listening is the listeners of a load balancer by port, with their rules in order, and where the
// requests for a target group go.
type listening struct {
	rules   map[int32][]elb.Rule
	targets map[string]string
}

// listening reads what the load balancer with a DNS name does.
func (w *world) listening(t *testing.T, dnsName string) listening {
	t.Helper()
	out := listening{map[int32][]elb.Rule{}, map[string]string{}}
	balancers, err := w.elb.DescribeLoadBalancers(t.Context(), &elbapi.DescribeLoadBalancersInput{})
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(balancers.LoadBalancers, func(b elb.LoadBalancer) bool { return aws.ToString(b.DNSName) == dnsName })
	if at < 0 {
		t.Fatalf("there is no load balancer %s", dnsName)
	}
	arn := balancers.LoadBalancers[at].LoadBalancerArn
	listeners, err := w.elb.DescribeListeners(t.Context(), &elbapi.DescribeListenersInput{LoadBalancerArn: arn})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range listeners.Listeners {
		rules := w.rulesOf(t, l)
		slices.SortFunc(rules, func(a, b elb.Rule) int { return cmp.Compare(priority(a), priority(b)) })
		out.rules[aws.ToInt32(l.Port)] = rules
	}
	groups, err := w.elb.DescribeTargetGroups(t.Context(), &elbapi.DescribeTargetGroupsInput{LoadBalancerArn: arn})
	if err != nil {
		return out // it has none
	}
	for _, g := range groups.TargetGroups {
		members, err := w.elb.DescribeTargetHealth(t.Context(), &elbapi.DescribeTargetHealthInput{TargetGroupArn: g.TargetGroupArn})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range members.TargetHealthDescriptions {
			out.targets[*g.TargetGroupArn] = aws.ToString(d.Target.Id)
		}
	}
	return out
}

// priority is that of a rule; the default one comes last.
func priority(r elb.Rule) int {
	if n, err := strconv.Atoi(aws.ToString(r.Priority)); err == nil {
		return n
	}
	return 1 << 20
}

// answer is what becomes of a request: the address it goes to, a status, a redirect, or that nobody
// listens.
func (l listening) answer(r request) string {
	rules, listens := l.rules[r.port]
	if !listens {
		return "refused"
	}
	for _, rule := range rules {
		if !slices.ContainsFunc(rule.Conditions, func(c elb.RuleCondition) bool { return !holds(c, r) }) {
			return l.act(rule.Actions[len(rule.Actions)-1])
		}
	}
	return "no rule"
}

func (l listening) act(a elb.Action) string {
	switch {
	case a.FixedResponseConfig != nil:
		return aws.ToString(a.FixedResponseConfig.StatusCode)
	case a.RedirectConfig != nil:
		return string(a.RedirectConfig.StatusCode) + " " + aws.ToString(a.RedirectConfig.Protocol) + " " + aws.ToString(a.RedirectConfig.Port)
	case a.TargetGroupArn != nil:
		return l.targets[*a.TargetGroupArn]
	}
	return l.targets[*a.ForwardConfig.TargetGroups[0].TargetGroupArn]
}

// holds reports whether a condition holds of a request.
func holds(c elb.RuleCondition, r request) bool {
	switch aws.ToString(c.Field) {
	case "host-header":
		host := strings.ToLower(r.host)
		return c.HostHeaderConfig != nil && (anyValue(c.HostHeaderConfig.Values, host, true) || anyRegex(c.HostHeaderConfig.RegexValues, host))
	case "path-pattern":
		return c.PathPatternConfig != nil && (anyValue(c.PathPatternConfig.Values, r.path, false) || anyRegex(c.PathPatternConfig.RegexValues, r.path))
	}
	return false // nothing else is asked for here
}

func anyValue(values []string, text string, fold bool) bool {
	return slices.ContainsFunc(values, func(v string) bool {
		if fold {
			v = strings.ToLower(v)
		}
		return wildcards(v, text)
	})
}

func anyRegex(values []string, text string) bool {
	return slices.ContainsFunc(values, func(v string) bool { return regexp.MustCompile(v).MatchString(text) })
}

// wildcards reports whether a text is a value in which a star is any text and a question mark any
// character.
func wildcards(value, text string) bool {
	switch {
	case value == "":
		return text == ""
	case value[0] == '*':
		return wildcards(value[1:], text) || text != "" && wildcards(value, text[1:])
	}
	return text != "" && (value[0] == '?' || value[0] == text[0]) && wildcards(value[1:], text[1:])
}
