package aws

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/model/lb"
)

// This file tries what is assumed of AWS and is documented nowhere, or otherwise than AWS answers, on a load balancer
// that stands. Rules that are made for it have priorities that no plan uses, and are deleted.

// A trial is a load balancer that things are tried on.
type trial struct {
	*Provider
	balancer string // its ARN
	listener string
	findings []check.Finding
	next     int32 // priority
}

// Try tries what can be tried without requests.
func (p *Provider) Try(ctx context.Context, key lb.Key) []check.Finding {
	t := &trial{Provider: p, next: 40000}
	there, _, err := p.balancerOf(ctx, key)
	if err == nil && there == nil {
		err = fmt.Errorf("load balancer %s is not there", key)
	}
	if err == nil {
		t.balancer = aws.ToString(there.LoadBalancerArn)
		var out *elbapi.DescribeListenersOutput
		if out, err = p.elb.DescribeListeners(ctx, &elbapi.DescribeListenersInput{LoadBalancerArn: there.LoadBalancerArn}); err == nil && len(out.Listeners) > 0 {
			t.listener = aws.ToString(out.Listeners[0].ListenerArn)
		}
	}
	if err != nil || t.listener == "" {
		return []check.Finding{check.Unsure("prove/assumption", "assumptions", fmt.Sprintf("not tried: %v", err), "")}
	}
	for _, try := range []func(context.Context){
		t.values, t.wildcards, t.expressions, t.sources, t.groupTwice, t.swap, t.rulesAtOnce, t.tagsAtOnce, t.indexed,
	} {
		if ctx.Err() != nil {
			break
		}
		try(ctx)
	}
	for _, untried := range []struct{ id, title string }{
		{"host-regex-case", "regular expressions of hosts are compared without regard to case"},
		{"path-normalisation", "paths are matched as they are sent"},
		{"deployment", "rules that change at once are deployed together"},
	} {
		t.note(check.Unsure("prove/assumption/"+untried.id, untried.title, "not tried: it takes requests from within the VPC", ""))
	}
	return t.findings
}

func (t *trial) note(f check.Finding) { t.findings = append(t.findings, f) }

// held notes whether an assumption held.
func (t *trial) held(id, title string, held bool, detail string) {
	f := check.Good("prove/assumption/"+id, title, detail)
	if !held {
		f.State, f.Advice = check.Wrong, "please report it"
	}
	t.note(f)
}

// untried notes that it could not be found out whether an assumption holds.
func (t *trial) untried(id, title string, err error) {
	t.note(check.Unsure("prove/assumption/"+id, title, "not tried: "+describe(err), ""))
}

// rule makes a rule that no request meets, and returns its ARN.
func (t *trial) rule(ctx context.Context, conditions ...elb.RuleCondition) (string, error) {
	t.next++
	out, err := t.elb.CreateRule(ctx, &elbapi.CreateRuleInput{
		ListenerArn: aws.String(t.listener), Priority: aws.Int32(t.next), Conditions: conditions, Tags: elbTags(map[string]string{tagInstallation: t.installation}),
		Actions: []elb.Action{{Type: elb.ActionTypeEnumFixedResponse, FixedResponseConfig: &elb.FixedResponseActionConfig{StatusCode: aws.String("410")}}},
	})
	if err != nil {
		return "", err
	}
	made, err := only(out.Rules, "CreateRule", "a rule")
	if err != nil {
		return "", err
	}
	return said(made.RuleArn, "CreateRule", "an ARN")
}

// drop deletes a rule, also when the trial is told to end. What it leaves goes with the load balancer.
func (t *trial) drop(ctx context.Context, arn string) {
	if arn != "" {
		_, _ = t.elb.DeleteRule(context.WithoutCancel(ctx), &elbapi.DeleteRuleInput{RuleArn: aws.String(arn)})
	}
}

// taken reports whether AWS takes a rule, and what it says if not.
func (t *trial) taken(ctx context.Context, conditions ...elb.RuleCondition) (taken bool, detail string, err error) {
	arn, err := t.rule(ctx, conditions...)
	defer t.drop(ctx, arn)
	switch {
	case err == nil:
		return true, "taken", nil
	case codeOf(err) == "" || is(err, "AccessDenied") || throttled(codeOf(err)) || is(err, "ServiceUnavailable", "InternalFailure"):
		return false, "", err
	}
	return false, "refused: " + describe(err), nil
}

func hosts(values ...string) elb.RuleCondition {
	return elb.RuleCondition{Field: aws.String("host-header"), HostHeaderConfig: &elb.HostHeaderConditionConfig{Values: values}}
}

func paths(values ...string) elb.RuleCondition {
	return elb.RuleCondition{Field: aws.String("path-pattern"), PathPatternConfig: &elb.PathPatternConditionConfig{Values: values}}
}

// values tries how many values a condition takes. The guide says three a condition, the quotas five a rule:
// https://docs.aws.amazon.com/elasticloadbalancing/latest/application/rule-condition-types.html
func (t *trial) values(ctx context.Context) {
	for _, n := range []int{3, 5} {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf("v%d.prove.invalid", i))
		}
		id, title := fmt.Sprintf("values-%d", n), fmt.Sprintf("a condition takes %d values", n)
		if taken, detail, err := t.taken(ctx, hosts(all...)); err != nil {
			t.untried(id, title, err)
		} else {
			t.held(id, title, taken, detail)
		}
	}
}

// wildcards tries how many wildcards a rule takes.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-limits.html
func (t *trial) wildcards(ctx context.Context) {
	const id, title = "wildcards-5", "a rule takes five wildcards"
	if taken, detail, err := t.taken(ctx, paths("/*a/*b/*c/*d/*")); err != nil {
		t.untried(id, title, err)
	} else {
		t.held(id, title, taken, detail)
	}
}

// expressions tries whether regular expressions are understood: not every partition has them.
func (t *trial) expressions(ctx context.Context) {
	const id, title = "expressions", "conditions take regular expressions"
	taken, detail, err := t.taken(ctx, elb.RuleCondition{Field: aws.String("path-pattern"), PathPatternConfig: &elb.PathPatternConditionConfig{RegexValues: []string{"^/prove/[0-9]+$"}}})
	switch {
	case err != nil:
		t.untried(id, title, err)
	case taken:
		t.held(id, title, true, detail)
	default:
		t.note(check.Unsure("prove/assumption/"+id, title, detail, "rules are made of globs alone in this partition"))
	}
}

// sources tries the address that parking rules have, and the one that AWS documents as forbidden.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/application/rule-condition-types.html
func (t *trial) sources(ctx context.Context) {
	from := func(cidr string) elb.RuleCondition {
		return elb.RuleCondition{Field: aws.String("source-ip"), SourceIpConfig: &elb.SourceIpConditionConfig{Values: []string{cidr}}}
	}
	for _, s := range []struct {
		id, cidr string
		want     bool
	}{{"parking-source", "192.0.2.1/32", true}, {"forbidden-source", "255.255.255.255/32", false}} {
		title := "a condition takes the source " + s.cidr
		if !s.want {
			title = "a condition refuses the source " + s.cidr
		}
		if taken, detail, err := t.taken(ctx, hosts("warm.invalid"), from(s.cidr)); err != nil {
			t.untried(s.id, title, err)
		} else {
			t.held(s.id, title, taken == s.want, detail)
		}
	}
}

// groupTwice makes a target group again that is there: AWS returns it where all is the same.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_CreateTargetGroup.html
func (t *trial) groupTwice(ctx context.Context) {
	const id, title = "group-twice", "a target group that is made twice is one"
	out, err := t.elb.DescribeTargetGroups(ctx, &elbapi.DescribeTargetGroupsInput{LoadBalancerArn: aws.String(t.balancer)})
	if err != nil || len(out.TargetGroups) == 0 {
		t.untried(id, title, fmt.Errorf("no target group is there: %w", err))
		return
	}
	g := out.TargetGroups[0]
	tags, err := t.tagsOf(ctx, []string{aws.ToString(g.TargetGroupArn)})
	if err != nil {
		t.untried(id, title, err)
		return
	}
	again, err := t.elb.CreateTargetGroup(ctx, &elbapi.CreateTargetGroupInput{
		Name: g.TargetGroupName, VpcId: g.VpcId, Port: g.Port, Protocol: g.Protocol, ProtocolVersion: g.ProtocolVersion, TargetType: g.TargetType, IpAddressType: g.IpAddressType,
		HealthCheckPath: g.HealthCheckPath, HealthCheckPort: g.HealthCheckPort, HealthCheckProtocol: g.HealthCheckProtocol,
		HealthCheckIntervalSeconds: g.HealthCheckIntervalSeconds, HealthCheckTimeoutSeconds: g.HealthCheckTimeoutSeconds,
		HealthyThresholdCount: g.HealthyThresholdCount, UnhealthyThresholdCount: g.UnhealthyThresholdCount, Matcher: g.Matcher,
		Tags: elbTags(tags[aws.ToString(g.TargetGroupArn)]),
	})
	switch {
	case is(err, "DuplicateTargetGroupName"):
		t.held(id, title, true, "AWS refuses the second one, which the provider takes for the first: "+describe(err))
	case err != nil:
		t.untried(id, title, err)
	default:
		same := len(again.TargetGroups) == 1 && aws.ToString(again.TargetGroups[0].TargetGroupArn) == aws.ToString(g.TargetGroupArn)
		t.held(id, title, same, "AWS returns the first one")
	}
}

// swap exchanges the priorities of two rules in one call.
func (t *trial) swap(ctx context.Context) {
	const id, title = "priorities", "priorities of rules are exchanged in one call"
	one, err := t.rule(ctx, hosts("one.prove.invalid"))
	defer t.drop(ctx, one)
	if err != nil {
		t.untried(id, title, err)
		return
	}
	at := t.next
	two, err := t.rule(ctx, hosts("two.prove.invalid"))
	defer t.drop(ctx, two)
	if err != nil {
		t.untried(id, title, err)
		return
	}
	out, err := t.elb.SetRulePriorities(ctx, &elbapi.SetRulePrioritiesInput{RulePriorities: []elb.RulePriorityPair{
		{RuleArn: aws.String(one), Priority: aws.Int32(t.next)}, {RuleArn: aws.String(two), Priority: aws.Int32(at)},
	}})
	if err != nil {
		t.held(id, title, false, "refused: "+describe(err))
		return
	}
	moved := slices.ContainsFunc(out.Rules, func(r elb.Rule) bool {
		return aws.ToString(r.RuleArn) == one && aws.ToString(r.Priority) == strconv.Itoa(int(t.next))
	})
	t.held(id, title, moved, "taken")
}

// mostLag is how long reads are asked again for what was written.
const mostLag = 90 * time.Second

// lag is how long it takes until something is seen.
func lag(ctx context.Context, most time.Duration, seen func(context.Context) (bool, error)) (time.Duration, bool, error) {
	for began := time.Now(); ; {
		found, err := seen(ctx)
		took := time.Since(began)
		if err != nil || found || took > most {
			return took, found, err
		}
		if err := pause(ctx, time.Second); err != nil {
			return took, false, err
		}
	}
}

// told notes a lag.
func (t *trial) told(id, title string, took time.Duration, found bool, err error) {
	switch {
	case err != nil:
		t.untried(id, title, err)
	case !found:
		t.held(id, title, false, fmt.Sprintf("not seen after %s", took.Round(time.Second)))
	default:
		t.held(id, title, true, fmt.Sprintf("seen after %s", took.Round(100*time.Millisecond)))
	}
}

// rulesAtOnce measures when a rule is seen that was made.
func (t *trial) rulesAtOnce(ctx context.Context) {
	const id, title = "rule-read", "a rule is read after it was made"
	arn, err := t.rule(ctx, hosts("read.prove.invalid"))
	defer t.drop(ctx, arn)
	if err != nil {
		t.untried(id, title, err)
		return
	}
	took, found, err := lag(ctx, mostLag, func(ctx context.Context) (bool, error) {
		rules, err := t.rulesOf(ctx, t.listener)
		return slices.ContainsFunc(rules, func(r elb.Rule) bool { return aws.ToString(r.RuleArn) == arn }), err
	})
	t.told(id, title, took, found, err)
}

// tagsAtOnce measures when a tag is read that was written.
func (t *trial) tagsAtOnce(ctx context.Context) {
	const id, title, name = "tag-read", "a tag is read after it was written", "fairlead.dev/prove"
	if err := t.tag(ctx, t.balancer, map[string]string{name: "1"}); err != nil {
		t.untried(id, title, err)
		return
	}
	took, found, err := lag(ctx, mostLag, func(ctx context.Context) (bool, error) {
		tags, err := t.tagsOf(ctx, []string{t.balancer})
		return tags[t.balancer][name] == "1", err
	})
	t.told(id, title, took, found, err)
	if err := t.untag(context.WithoutCancel(ctx), t.balancer, []string{name}); err != nil {
		t.untried(id+"-removed", "a tag is removed", err)
	}
}

// indexed measures when a load balancer is found by its tags.
func (t *trial) indexed(ctx context.Context) {
	const id, title = "tag-index", "a load balancer is found by its tags"
	took, found, err := lag(ctx, mostLag, func(ctx context.Context) (bool, error) {
		all, err := t.find(ctx, map[string]string{tagInstallation: t.installation}, "elasticloadbalancing:loadbalancer")
		_, found := all[t.balancer]
		return found, err
	})
	t.told(id, title, took, found, err)
}

// installationIn is the installation that tags name, or "".
func installationIn(tags map[string]string, prefix string) string {
	if id := tags[tagInstallation]; strings.HasPrefix(id, prefix) {
		return id
	}
	return ""
}
