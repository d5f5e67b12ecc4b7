package operator

import (
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// This file looks at what is in the account, past the operator and the proxy.

// balancer is the load balancer of the account, or nil.
func (w *world) balancer(t *testing.T) *elb.LoadBalancer {
	t.Helper()
	out, err := w.elb.DescribeLoadBalancers(t.Context(), &elbapi.DescribeLoadBalancersInput{})
	if err != nil {
		t.Fatal(err)
	}
	switch len(out.LoadBalancers) {
	case 0:
		return nil
	case 1:
		return &out.LoadBalancers[0]
	}
	t.Fatalf("there are %d load balancers", len(out.LoadBalancers))
	return nil
}

// balancers are how many load balancers there are.
func (w *world) balancers(t *testing.T) int {
	t.Helper()
	out, err := w.elb.DescribeLoadBalancers(t.Context(), &elbapi.DescribeLoadBalancersInput{})
	if err != nil {
		t.Fatal(err)
	}
	return len(out.LoadBalancers)
}

// rules are those of the listener on port 80, the last of them its default; none where nobody
// listens.
func (w *world) rules(t *testing.T) []elb.Rule {
	t.Helper()
	for _, l := range w.listeners(t) {
		if aws.ToInt32(l.Port) == 80 {
			return w.rulesOf(t, l)
		}
	}
	return nil
}

// listeners are those of the load balancer of the account.
func (w *world) listeners(t *testing.T) []elb.Listener {
	t.Helper()
	b := w.balancer(t)
	if b == nil {
		return nil
	}
	out, err := w.elb.DescribeListeners(t.Context(), &elbapi.DescribeListenersInput{LoadBalancerArn: b.LoadBalancerArn})
	if gone := new(elb.LoadBalancerNotFoundException); errors.As(err, &gone) {
		return nil // deleted since it was found
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Listeners
}

func (w *world) rulesOf(t *testing.T, l elb.Listener) []elb.Rule {
	t.Helper()
	out, err := w.elb.DescribeRules(t.Context(), &elbapi.DescribeRulesInput{ListenerArn: l.ListenerArn, PageSize: aws.Int32(400)})
	if gone := new(elb.ListenerNotFoundException); errors.As(err, &gone) {
		return nil // deleted since it was found
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Rules
}

// hosts are those that rules are for, "" for any.
func (w *world) hosts(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, r := range w.rules(t) {
		host := ""
		for _, c := range r.Conditions {
			if c.HostHeaderConfig != nil {
				host = strings.Join(append(c.HostHeaderConfig.Values, c.HostHeaderConfig.RegexValues...), " ")
			}
		}
		out = append(out, host)
	}
	return out
}

// targets are the members of a Service's target group; none where there is no such group.
func (w *world) targets(t *testing.T, service string) []string {
	t.Helper()
	var out []string
	for _, g := range w.groups(t) {
		if len(g.LoadBalancerArns) == 0 || w.tags(t, g)["fairlead.dev/service"] != w.namespace+"/"+service {
			continue
		}
		members, err := w.elb.DescribeTargetHealth(t.Context(), &elbapi.DescribeTargetHealthInput{TargetGroupArn: g.TargetGroupArn})
		if gone := new(elb.TargetGroupNotFoundException); errors.As(err, &gone) {
			continue // deleted since it was listed
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range members.TargetHealthDescriptions {
			out = append(out, net.JoinHostPort(*d.Target.Id, strconv.Itoa(int(*d.Target.Port))))
		}
	}
	slices.Sort(out)
	return out
}

// tags are those of a target group; none if it has been deleted.
func (w *world) tags(t *testing.T, g elb.TargetGroup) map[string]string {
	t.Helper()
	out, err := w.elb.DescribeTags(t.Context(), &elbapi.DescribeTagsInput{ResourceArns: []string{*g.TargetGroupArn}})
	if gone := new(elb.TargetGroupNotFoundException); errors.As(err, &gone) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	tags := map[string]string{}
	for _, tag := range out.TagDescriptions[0].Tags {
		tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	return tags
}

// groups are the target groups of the account.
func (w *world) groups(t *testing.T) []elb.TargetGroup {
	t.Helper()
	out, err := w.elb.DescribeTargetGroups(t.Context(), &elbapi.DescribeTargetGroupsInput{})
	if err != nil {
		t.Fatal(err)
	}
	return out.TargetGroups
}

// empty reports whether nothing that the operator makes is in the account.
func (w *world) empty(t *testing.T) bool {
	t.Helper()
	certificates, err := acm.NewFromConfig(w.config).ListCertificates(t.Context(), &acm.ListCertificatesInput{})
	if err != nil { // moto answers 500 where a certificate is deleted while it lists them; the caller asks again
		t.Logf("listing certificates: %s", err)
		return false
	}
	fences, err := ec2.NewFromConfig(w.config).DescribeSecurityGroups(t.Context(), &ec2.DescribeSecurityGroupsInput{})
	if err != nil {
		t.Fatal(err)
	}
	ours := func(g ec2types.SecurityGroup) bool { return strings.HasPrefix(aws.ToString(g.GroupName), "fl-") }
	return w.balancer(t) == nil && len(w.groups(t)) == 0 && len(certificates.CertificateSummaryList) == 0 && !slices.ContainsFunc(fences.SecurityGroups, ours)
}
