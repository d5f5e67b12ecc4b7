package client_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/providers/aws/client"
)

// TestWhatIsLeftOut: fields that are set and are not read are said.
func TestWhatIsLeftOut(t *testing.T) {
	for what, got := range map[string][]string{
		"":                             client.LeftOut(elb.LoadBalancer{LoadBalancerName: aws.String("x"), IpamPools: &elb.IpamPools{}}, "LoadBalancerName"),
		"LoadBalancerName is \"x\"":    client.LeftOut(elb.LoadBalancer{LoadBalancerName: aws.String("x")}),
		"CustomerOwnedIpv4Pool":        client.LeftOut(elb.LoadBalancer{CustomerOwnedIpv4Pool: aws.String("pool")}),
		"IpamPools is {\"Ipv4IpamPool": client.LeftOut(elb.LoadBalancer{IpamPools: &elb.IpamPools{Ipv4IpamPoolId: aws.String("pool")}}),
		"TargetControlPort is 3000":    client.LeftOut(elb.TargetGroup{TargetControlPort: aws.Int32(3000)}),
	} {
		if said := strings.Join(got, "; "); (said == "") != (what == "") || !strings.Contains(said, what) {
			t.Errorf("%s: %q", what, got)
		}
	}
}

// TestOddRules: what FromRule does not keep of a rule is said, in whatever form AWS returns the rest.
func TestOddRules(t *testing.T) {
	forward := func(groups ...elb.TargetGroupTuple) elb.Action {
		return elb.Action{Type: elb.ActionTypeEnumForward, ForwardConfig: &elb.ForwardActionConfig{TargetGroups: groups}}
	}
	group := func(arn string, weight *int32) elb.TargetGroupTuple {
		return elb.TargetGroupTuple{TargetGroupArn: &arn, Weight: weight}
	}
	signIn := elb.Action{Type: elb.ActionTypeEnumAuthenticateOidc, Order: aws.Int32(1), AuthenticateOidcConfig: &elb.AuthenticateOidcActionConfig{
		Issuer: aws.String("https://id"), ClientId: aws.String("c"), UseExistingClientSecret: aws.Bool(true)}}
	redirect := func(c elb.RedirectActionConfig) elb.Action {
		return elb.Action{Type: elb.ActionTypeEnumRedirect, RedirectConfig: &c}
	}
	condition := func(c elb.RuleCondition) elb.Rule {
		return elb.Rule{Conditions: []elb.RuleCondition{c}, Actions: []elb.Action{forward(group("a", nil))}}
	}
	acts := func(all ...elb.Action) elb.Rule { return elb.Rule{Actions: all} }
	rewrites := func(n int) elb.Rule {
		return elb.Rule{Actions: []elb.Action{forward(group("a", nil))}, Transforms: []elb.RuleTransform{
			{Type: elb.TransformTypeEnumUrlRewrite, UrlRewriteConfig: &elb.UrlRewriteConfig{Rewrites: slices.Repeat([]elb.RewriteConfig{{Regex: aws.String("^/a"), Replace: aws.String("/b")}}, n)}},
			{Type: elb.TransformTypeEnumHostHeaderRewrite, HostHeaderRewriteConfig: &elb.HostHeaderRewriteConfig{Rewrites: []elb.RewriteConfig{{Regex: aws.String("^a"), Replace: aws.String("b")}}}},
		}}
	}
	for name, c := range map[string]struct {
		rule elb.Rule
		odd  bool
	}{
		"a group by its ARN":     {acts(elb.Action{Type: elb.ActionTypeEnumForward, TargetGroupArn: aws.String("a"), Order: aws.Int32(1)}), false},
		"a group in both places": {acts(elb.Action{Type: elb.ActionTypeEnumForward, TargetGroupArn: aws.String("a"), ForwardConfig: forward(group("a", aws.Int32(1))).ForwardConfig}), false},
		"a group without weight": {acts(forward(group("a", aws.Int32(0)))), false},
		"two groups":             {acts(forward(group("a", aws.Int32(2)), group("b", nil))), false},
		"a sign-in":              {acts(forward(group("a", nil)), signIn), false},
		"two sign-ins":           {acts(signIn, signIn, forward(group("a", nil))), false}, // FromActions says so
		"an action beside": {acts(elb.Action{Type: elb.ActionTypeEnumForward, ForwardConfig: forward(group("a", nil)).ForwardConfig,
			FixedResponseConfig: &elb.FixedResponseActionConfig{StatusCode: aws.String("200")}}), true},
		"a redirect in full":           {acts(redirect(elb.RedirectActionConfig{Protocol: aws.String("HTTPS"), Host: aws.String("#{host}"), Path: aws.String("/#{path}"), Port: aws.String("443"), Query: aws.String("#{query}"), StatusCode: "HTTP_301"})), false},
		"a redirect without the query": {acts(redirect(elb.RedirectActionConfig{Query: aws.String(""), StatusCode: "HTTP_301"})), true},
		"a status that is no number":   {acts(elb.Action{Type: elb.ActionTypeEnumFixedResponse, FixedResponseConfig: &elb.FixedResponseActionConfig{StatusCode: aws.String("2xx")}}), true},
		"an empty answer":              {acts(elb.Action{Type: elb.ActionTypeEnumFixedResponse, FixedResponseConfig: &elb.FixedResponseActionConfig{StatusCode: aws.String("404"), ContentType: aws.String("text/plain")}}), false},
		"two rewrites":                 {rewrites(1), false},
		"two rewrites of the URL":      {rewrites(2), true},
		"values twice":                 {condition(elb.RuleCondition{Field: aws.String("path-pattern"), Values: []string{"/a"}, PathPatternConfig: &elb.PathPatternConditionConfig{Values: []string{"/a"}}}), false},
		"values alone":                 {condition(elb.RuleCondition{Field: aws.String("host-header"), Values: []string{"a"}}), false},
		"other values":                 {condition(elb.RuleCondition{Field: aws.String("path-pattern"), Values: []string{"/b"}, PathPatternConfig: &elb.PathPatternConditionConfig{Values: []string{"/a"}}}), true},
		"pairs of one parameter":       {condition(query("A", "1", "a", "2")), false},
		"pairs of two parameters":      {condition(query("a", "1", "b", "2")), false},
		"the configuration of another": {condition(elb.RuleCondition{Field: aws.String("path-pattern"), HostHeaderConfig: &elb.HostHeaderConditionConfig{Values: []string{"a"}}}), true},
		"addresses of one family": {condition(elb.RuleCondition{Field: aws.String("source-ip"), SourceIpConfig: &elb.SourceIpConditionConfig{
			Values: []string{"10.0.0.0/8"}, IpAddressType: "ipv4"}}), true},
	} {
		if got := client.OddInRule(c.rule); (len(got) > 0) != c.odd {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func query(pairs ...string) elb.RuleCondition {
	c := &elb.QueryStringConditionConfig{}
	for i := 0; i < len(pairs); i += 2 {
		c.Values = append(c.Values, elb.QueryStringKeyValuePair{Key: &pairs[i], Value: &pairs[i+1]})
	}
	return elb.RuleCondition{Field: aws.String("query-string"), QueryStringConfig: c}
}
