package aws

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/aws/awserr"
	"fairlead.dev/fairlead/providers/aws/convert"
	"fairlead.dev/fairlead/providers/aws/errorcode"
	"fairlead.dev/fairlead/providers/aws/resource"
)

// This file tries what is assumed of AWS (assumptions.go) on a load balancer that stands. Rules
// that are made for it have priorities that no plan uses, and are deleted. An answer counts for
// what it says: a refusal that names something else tells nothing, and what AWS says to have taken
// is read back.

// A trial is a load balancer that things are tried on.
type trial struct {
	*Provider
	balancer string // its ARN
	listener string
	next     int32 // priority
}

// An outcome is what a trial found out about an assumption.
type outcome struct {
	state  check.State
	detail string
}

func holds(detail string) outcome { return outcome{check.OK, detail} }
func wrong(detail string) outcome { return outcome{check.Wrong, detail} }

// notKnown is the outcome where it could not be found out.
func notKnown(err error) outcome { return outcome{check.Unknown, "not known: " + awserr.Describe(err)} }

// trials are the assumptions that can be tried without requests, by ID.
var trials = map[string]func(*trial, context.Context) outcome{
	"source-of-parking":     (*trial).source,
	"values-of-a-condition": (*trial).values,
	"regular-expressions":   (*trial).expressions,
	"priorities-at-once":    (*trial).swap,
	"read-back":             (*trial).readBack,
	"create-again":          (*trial).again,
	"reads-lag":             (*trial).lags,
	"index-of-tags":         (*trial).indexed,
	"account-limits":        (*trial).wildcards,
}

const (
	takesRequests = "it takes requests from within the VPC"
	takesTargets  = "it takes targets whose health changes"
	takesOthers   = "the account has to be otherwise for it"
	takesWAF      = "the run asks for no web ACL"
	takesQuota    = "it would use up a quota of the account"
	trueEitherWay = "nothing depends on it"
	takesNoRole   = "it takes an account without the role of Elastic Load Balancing"
)

// untried are the other ones, each with why it is not tried.
var untried = map[string]string{
	"health-needs-a-rule":        takesTargets,
	"health-of-a-released-group": takesTargets,
	"first-check":                takesRequests,
	"host-of-a-pattern":          takesRequests,
	"host-with-port":             takesRequests,
	"path-decoding":              takesRequests,
	"path-normalisation":         takesRequests,
	"waf-in-a-partition":         takesWAF,
	"targets-at-once":            "it takes targets that AWS refuses",
	"zones-of-targets":           "it takes targets outside of the subnets of the VPC",
	"names-of-zones":             takesOthers,
	"rules-of-a-security-group":  takesQuota,
	"deployment":                 takesRequests,
	"order-of-lists":             trueEitherWay,
	"role-just-made":             takesNoRole,
	"imports-count":              takesQuota,
	"renewals-count":             takesQuota,
	"import-keeps-tags":          trueEitherWay,
	"lingering":                  trueEitherWay,
	"rates":                      takesQuota,
	"canonical-ranges":           trueEitherWay,
	"policy-of-https":            trueEitherWay,
	"new-to-waf":                 takesWAF,
	"first-load-balancer":        takesNoRole,
}

// Try tries what can be tried without requests, and says of each assumption what came of it.
func (p *Provider) Try(ctx context.Context, key lb.Key) []check.Finding {
	t := &trial{Provider: p, next: 40000}
	err := t.locate(ctx, key)
	var out []check.Finding
	for _, a := range Assumptions {
		f := check.Unsure("prove/assumption/"+a.ID, strings.TrimSuffix(a.Text, "."), "not tried: "+untried[a.ID], "")
		if try := trials[a.ID]; try != nil {
			switch cut := context.Cause(ctx); {
			case err != nil:
				f.Detail = "not tried: " + awserr.Describe(err)
			case cut != nil:
				f.Detail = "not tried: " + cut.Error()
			default:
				found := try(t, ctx)
				f.State, f.Detail = found.state, found.detail
			}
			if f.State == check.Wrong {
				f.Advice = "please report it"
			}
		}
		out = append(out, f)
	}
	return out
}

// find finds the load balancer and a listener of it.
func (t *trial) locate(ctx context.Context, key lb.Key) error {
	there, _, err := t.balancers.readByKey(ctx, key)
	if err != nil {
		return err
	}
	if there == nil {
		return fmt.Errorf("load balancer %s is not there", key)
	}
	t.balancer = aws.ToString(there.LoadBalancerArn)
	out, err := t.elb.DescribeListeners(ctx, &elbapi.DescribeListenersInput{LoadBalancerArn: there.LoadBalancerArn})
	if err != nil {
		return awserr.Explain("reading listeners", err)
	}
	if len(out.Listeners) == 0 {
		return fmt.Errorf("load balancer %s has no listener", key)
	}
	t.listener = aws.ToString(out.Listeners[0].ListenerArn)
	return nil
}

// rule makes a rule that no request meets, and returns its ARN.
func (t *trial) rule(ctx context.Context, conditions ...elb.RuleCondition) (string, error) {
	t.next++
	return t.ruleAt(ctx, t.next, conditions...)
}

func (t *trial) ruleAt(ctx context.Context, priority int32, conditions ...elb.RuleCondition) (string, error) {
	out, err := t.elb.CreateRule(ctx, &elbapi.CreateRuleInput{
		ListenerArn: aws.String(t.listener), Priority: aws.Int32(priority), Conditions: conditions, Tags: resource.ELBTags(map[string]string{resource.TagInstallation: t.tags.Installation}),
		Actions: []elb.Action{{Type: elb.ActionTypeEnumFixedResponse, FixedResponseConfig: &elb.FixedResponseActionConfig{StatusCode: aws.String("410")}}},
	})
	if err != nil {
		return "", err
	}
	made, err := awserr.Only(out.Rules, "CreateRule", "a rule")
	if err != nil {
		return "", err
	}
	return awserr.Required(made.RuleArn, "CreateRule", "an ARN")
}

// drop deletes a rule, also when the trial is told to end. What it leaves goes with the load
// balancer.
func (t *trial) drop(ctx context.Context, arn string) {
	if arn != "" {
		_, _ = t.elb.DeleteRule(context.WithoutCancel(ctx), &elbapi.DeleteRuleInput{RuleArn: aws.String(arn)})
	}
}

// described reads a rule back, which may take until it can be read. It is nil where it is not found
// by then.
func (t *trial) described(ctx context.Context, arn string) (rule *elb.Rule, took time.Duration, err error) {
	took, _, err = t.until(ctx, func(ctx context.Context) (bool, error) {
		out, err := t.elb.DescribeRules(ctx, &elbapi.DescribeRulesInput{RuleArns: []string{arn}})
		if errorcode.Of(err) == "RuleNotFound" {
			return false, nil
		}
		if err != nil {
			return false, awserr.Explain("reading a rule", err)
		}
		if at := slices.IndexFunc(out.Rules, func(r elb.Rule) bool { return aws.ToString(r.RuleArn) == arn }); at >= 0 {
			rule = &out.Rules[at]
		}
		return rule != nil, nil
	})
	return rule, took, err
}

// An answer is what AWS makes of a rule. One that is neither taken nor refused is described
// otherwise than it was asked for.
type answer struct {
	taken, refused bool
	detail         string
	as             string // how one that is taken is described
}

// ask makes a rule and reads it back. AWS refuses it where its answer is one of those for what a
// rule says, and names a value of the rule or has one of some words; anything else is an error, by
// which nothing is known.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_CreateRule.html
func (t *trial) ask(ctx context.Context, words []string, conditions ...elb.RuleCondition) (answer, error) {
	arn, err := t.rule(ctx, conditions...)
	defer t.drop(ctx, arn)
	asked := convert.FromConditions(conditions)
	if err != nil {
		if awserr.Is(err, "ValidationError", "Validation", "InvalidConfigurationRequest") && names(err, words, asked) {
			return answer{refused: true, detail: "refused: " + awserr.Describe(err)}, nil
		}
		return answer{}, err
	}
	rule, took, err := t.described(ctx, arn)
	if err != nil {
		return answer{}, err
	}
	if rule == nil {
		return answer{detail: fmt.Sprintf("said to be made, and not found for %s", took.Round(time.Second))}, nil
	}
	there := convert.FromConditions(rule.Conditions)
	want, got := inWords(asked, t.next), inWords(there, number32(rule.Priority))
	if !sameConditions(asked, there) || number32(rule.Priority) != t.next {
		return answer{detail: fmt.Sprintf("asked for %s, and described as %s", want, got)}, nil
	}
	return answer{taken: true, detail: "taken", as: written(there)}, nil
}

// sameConditions reports whether conditions say the same, in whatever order and case.
func sameConditions(a, b []lb.Condition) bool {
	return lb.Rule{Conditions: a}.MatchKey() == lb.Rule{Conditions: b}.MatchKey()
}

// written are conditions as they are written.
func written(conditions []lb.Condition) string {
	var parts []string
	for _, c := range conditions {
		parts = append(parts, c.String())
	}
	return strings.Join(parts, " & ")
}

// number32 is a priority; zero for the default rule.
func number32(text *string) int32 { return int32(convert.Number(aws.ToString(text))) }

// inWords is what a rule says, in one line.
func inWords(conditions []lb.Condition, priority int32) string {
	var parts []string
	for _, c := range conditions {
		values := slices.Sorted(slices.Values(c.Values))
		parts = append(parts, fmt.Sprintf("%s %q", c.Field, append(values, c.Regex...)))
	}
	return fmt.Sprintf("%s at %d", strings.Join(parts, " and "), priority)
}

// names reports whether a refusal names a value of some conditions, or has one of some words.
func names(err error, words []string, conditions []lb.Condition) bool {
	for _, c := range conditions {
		words = append(append(words[:len(words):len(words)], c.Values...), c.Regex...)
	}
	text := strings.ToLower(err.Error())
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, strings.ToLower(word)) })
}

// asItIs is the outcome of an assumption that AWS takes a rule.
func asItIs(a answer, err error) outcome {
	switch {
	case err != nil:
		return notKnown(err)
	case a.taken:
		return holds(a.detail)
	}
	return wrong(a.detail)
}

func hosts(values ...string) elb.RuleCondition {
	return elb.RuleCondition{Field: aws.String("host-header"), HostHeaderConfig: &elb.HostHeaderConditionConfig{Values: values}}
}

func paths(values ...string) elb.RuleCondition {
	return elb.RuleCondition{Field: aws.String("path-pattern"), PathPatternConfig: &elb.PathPatternConditionConfig{Values: values}}
}

// values tries how many values a condition takes. The guide says three a condition, the quotas five
// a rule:
// https://docs.aws.amazon.com/elasticloadbalancing/latest/application/rule-condition-types.html
func (t *trial) values(ctx context.Context) outcome {
	try := func(n int) (answer, error) {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf("v%d.prove.invalid", i))
		}
		return t.ask(ctx, []string{"condition value", "values in a", "evaluation"}, hosts(all...))
	}
	five, err := try(5)
	if err != nil || !five.refused {
		return asItIs(five, err)
	}
	three, err := try(fewestValues)
	if err != nil {
		three.detail = "not known: " + awserr.Describe(err)
	}
	return wrong(fmt.Sprintf("five are %s; three are %s", five.detail, three.detail))
}

// readBack tries whether a rule is described as it was sent. Where it is not, and says the same,
// nothing is written anew. https://github.com/go-to-k/cdk-real-drift/pull/330
func (t *trial) readBack(ctx context.Context) outcome {
	asked := []elb.RuleCondition{
		hosts("z.Prove.invalid", "a.prove.invalid"),
		{Field: aws.String("http-header"), HttpHeaderConfig: &elb.HttpHeaderConditionConfig{HttpHeaderName: aws.String("X-Prove"), Values: []string{"Two"}}},
		{Field: aws.String("source-ip"), SourceIpConfig: &elb.SourceIpConditionConfig{Values: []string{"2001:db8::/32", "192.0.2.1/32"}}},
	}
	got, err := t.ask(ctx, nil, asked...)
	out := asItIs(got, err)
	switch sent := written(convert.FromConditions(asked)); {
	case out.state != check.OK:
	case got.as == sent:
		out.detail = "described as it was sent"
	default:
		out.detail = fmt.Sprintf("sent as %s, and described as %s, which says the same", sent, got.as)
	}
	return out
}

// wildcards tries whether a rule takes as many wildcards as AWS says.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-limits.html
func (t *trial) wildcards(ctx context.Context) outcome {
	most := t.Capabilities(lb.Class{}).WildcardsPerRule
	out := asItIs(t.ask(ctx, []string{"wildcard"}, paths("/"+strings.Repeat("*a/", most))))
	out.detail = fmt.Sprintf("a rule with %d wildcards: %s", most, out.detail)
	return out
}

// expressions tries whether regular expressions are understood: not every partition has them, and
// rules are said without them there.
func (t *trial) expressions(ctx context.Context) outcome {
	got, err := t.ask(ctx, []string{"regex", "regular expression"}, elb.RuleCondition{
		Field: aws.String("path-pattern"), PathPatternConfig: &elb.PathPatternConditionConfig{RegexValues: []string{"^/prove/[0-9]+$"}},
	})
	return expressionsIn(t.balancer, got, err)
}

// expressionsIn is the outcome in the partition of a load balancer. One other than that of the
// documentation may have none, which is no fault.
func expressionsIn(balancer string, got answer, err error) outcome {
	if err == nil && got.refused && !commercial(balancer) {
		return outcome{check.Unknown, "absent in this partition, so rules are said without them, which takes more of them: " + got.detail}
	}
	return asItIs(got, err)
}

// source tries the address that parking rules have, and, to tell, the one that AWS documents as
// forbidden.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/application/rule-condition-types.html
func (t *trial) source(ctx context.Context) outcome {
	try := func(cidr string) (answer, error) {
		return t.ask(ctx, []string{"source-ip", "source ip", "sourceip"}, hosts("warm.invalid"),
			elb.RuleCondition{Field: aws.String("source-ip"), SourceIpConfig: &elb.SourceIpConditionConfig{Values: []string{cidr}}})
	}
	out := asItIs(try("192.0.2.1/32"))
	const forbidden = "255.255.255.255/32"
	other, err := try(forbidden)
	if err != nil {
		other.detail = "not known: " + awserr.Describe(err)
	}
	out.detail += fmt.Sprintf("; %s, which AWS documents as forbidden: %s", forbidden, other.detail)
	return out
}

// again makes a target group that is there, which AWS returns where all is the same, and a rule at
// a priority that is taken. Load balancers and listeners are made twice by a scenario.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_CreateTargetGroup.html
// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_CreateRule.html
func (t *trial) again(ctx context.Context) outcome {
	group := t.groupAgain(ctx)
	rule := t.ruleAgain(ctx)
	detail := "a target group: " + group.detail + "; a rule: " + rule.detail
	for _, state := range []check.State{check.Wrong, check.Unknown} {
		if group.state == state || rule.state == state {
			return outcome{state, detail}
		}
	}
	return holds(detail)
}

func (t *trial) groupAgain(ctx context.Context) outcome {
	out, err := t.elb.DescribeTargetGroups(ctx, &elbapi.DescribeTargetGroupsInput{LoadBalancerArn: aws.String(t.balancer)})
	if err != nil {
		return notKnown(err)
	}
	if len(out.TargetGroups) == 0 {
		return notKnown(errors.New("none is there"))
	}
	g := out.TargetGroups[0]
	tags, err := t.tags.TagsOf(ctx, []string{aws.ToString(g.TargetGroupArn)})
	if err != nil {
		return notKnown(err)
	}
	again, err := t.elb.CreateTargetGroup(ctx, createInput(g, tags[aws.ToString(g.TargetGroupArn)]))
	switch {
	case awserr.Is(err, "DuplicateTargetGroupName"):
		return holds("AWS refuses it by the code that says so: " + awserr.Describe(err))
	case err != nil:
		return notKnown(err)
	case len(again.TargetGroups) == 0:
		return notKnown(errors.New("CreateTargetGroup is answered, and without a target group"))
	case aws.ToString(again.TargetGroups[0].TargetGroupArn) != aws.ToString(g.TargetGroupArn):
		return wrong(fmt.Sprintf("AWS answers with %s, and %s is there", aws.ToString(again.TargetGroups[0].TargetGroupArn), aws.ToString(g.TargetGroupArn)))
	}
	return holds("AWS answers with the one that is there")
}

func (t *trial) ruleAgain(ctx context.Context) outcome {
	one, err := t.rule(ctx, hosts("one.prove.invalid"))
	defer t.drop(ctx, one)
	if err != nil {
		return notKnown(err)
	}
	two, err := t.ruleAt(ctx, t.next, hosts("one.prove.invalid"))
	defer t.drop(ctx, two)
	switch {
	case awserr.Is(err, "PriorityInUse"):
		return holds("refused: " + awserr.Describe(err))
	case err != nil:
		return notKnown(err)
	}
	return wrong("AWS makes a second one at the same priority")
}

// swap exchanges the priorities of two rules in one call, and reads them back.
func (t *trial) swap(ctx context.Context) outcome {
	one, err := t.rule(ctx, hosts("one.prove.invalid"))
	defer t.drop(ctx, one)
	if err != nil {
		return notKnown(err)
	}
	low := t.next
	two, err := t.rule(ctx, hosts("two.prove.invalid"))
	defer t.drop(ctx, two)
	if err != nil {
		return notKnown(err)
	}
	high := t.next
	_, err = t.elb.SetRulePriorities(ctx, &elbapi.SetRulePrioritiesInput{RulePriorities: []elb.RulePriorityPair{
		{RuleArn: aws.String(one), Priority: aws.Int32(high)}, {RuleArn: aws.String(two), Priority: aws.Int32(low)},
	}})
	if awserr.Is(err, "PriorityInUse") {
		return wrong("refused: " + awserr.Describe(err))
	}
	if err != nil {
		return notKnown(err)
	}
	at := map[string]int32{}
	took, moved, err := t.until(ctx, func(ctx context.Context) (bool, error) {
		rules, err := t.rulesOf(ctx, t.listener)
		for _, r := range rules {
			at[aws.ToString(r.RuleArn)] = number32(r.Priority)
		}
		return at[one] == high && at[two] == low, err
	})
	switch {
	case err != nil:
		return notKnown(err)
	case !moved:
		return wrong(fmt.Sprintf("asked for %d and %d, and described as %d and %d for %s", high, low, at[one], at[two], took.Round(time.Second)))
	}
	return holds("taken")
}

// until looks until something is seen, for as long as reads are believed to lag, and says how long
// that took.
func (t *trial) until(ctx context.Context, seen func(context.Context) (bool, error)) (time.Duration, bool, error) {
	most := t.recent.lag
	for began := time.Now(); ; {
		found, err := seen(ctx)
		took := time.Since(began)
		if err != nil || found || took > most {
			return took, found, err
		}
		if err := pause(ctx, min(time.Second, most/4)); err != nil {
			return took, false, err
		}
	}
}

// lags measures when a rule is read that was made, and a tag that was written.
func (t *trial) lags(ctx context.Context) outcome {
	arn, err := t.rule(ctx, hosts("read.prove.invalid"))
	defer t.drop(ctx, arn)
	if err != nil {
		return notKnown(err)
	}
	rule, ruleTook, err := t.described(ctx, arn)
	if err != nil {
		return notKnown(err)
	}
	const name = "fairlead.dev/prove"
	if err := t.tags.Tag(ctx, t.balancer, map[string]string{name: "1"}); err != nil {
		return notKnown(err)
	}
	tagTook, tagged, err := t.until(ctx, func(ctx context.Context) (bool, error) {
		tags, err := t.tags.TagsOf(ctx, []string{t.balancer})
		return tags[t.balancer][name] == "1", err
	})
	if gone := t.tags.Untag(context.WithoutCancel(ctx), t.balancer, []string{name}); err == nil {
		err = gone
	}
	if err != nil {
		return notKnown(err)
	}
	detail := "a rule is " + seenAfter(rule != nil, ruleTook) + ", a tag is " + seenAfter(tagged, tagTook)
	if rule == nil || !tagged {
		return wrong(detail)
	}
	return holds(detail)
}

// seenAfter says whether something was seen, and when.
func seenAfter(seen bool, took time.Duration) string {
	if !seen {
		return fmt.Sprintf("not seen for %s", took.Round(time.Second))
	}
	return fmt.Sprintf("seen after %s", took.Round(100*time.Millisecond))
}

// indexed measures when a load balancer is found by its tags. However long that takes is no fault.
func (t *trial) indexed(ctx context.Context) outcome {
	took, found, err := t.until(ctx, func(ctx context.Context) (bool, error) {
		all, err := t.tags.Find(ctx, map[string]string{resource.TagInstallation: t.tags.Installation}, "elasticloadbalancing:loadbalancer")
		_, found := all[t.balancer]
		return found, err
	})
	switch {
	case err != nil:
		return notKnown(err)
	case !found:
		return outcome{check.Unknown, "a load balancer is " + seenAfter(false, took)}
	}
	return holds("a load balancer is " + seenAfter(true, took))
}

// installationIn is the installation that tags name, or "".
func installationIn(tags map[string]string, prefix string) string {
	if id := tags[resource.TagInstallation]; strings.HasPrefix(id, prefix) {
		return id
	}
	return ""
}
