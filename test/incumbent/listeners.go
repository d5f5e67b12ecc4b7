package incumbent

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// This file brings listeners and rules about (pkg/deploy/elbv2/listener_*.go, listener_rule_*.go). Those of a load balancer
// are all the controller's, whatever their tags: one that is not wanted is deleted.

func (c *Controller) deployListeners(ctx context.Context, s *stack) error {
	if s.balancer == nil {
		return nil
	}
	var found []elb.Listener
	pages := elbv2.NewDescribeListenersPaginator(c.ELB, &elbv2.DescribeListenersInput{LoadBalancerArn: &s.balancer.arn})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		found = append(found, page.Listeners...)
	}
	var arns []string
	for _, l := range found {
		arns = append(arns, *l.ListenerArn)
	}
	tags, err := c.tagsByARN(ctx, arns)
	if err != nil {
		return err
	}
	have := map[int32]elb.Listener{}
	for _, l := range found {
		have[*l.Port] = l
		if !slices.ContainsFunc(s.listeners, func(w *wantedListener) bool { return w.port == *l.Port }) {
			if _, err := c.ELB.DeleteListener(ctx, &elbv2.DeleteListenerInput{ListenerArn: l.ListenerArn}); err != nil {
				return err
			}
		}
	}
	for _, w := range s.listeners {
		if _, there := have[w.port]; !there {
			if err := c.createListener(ctx, s, w); err != nil {
				return err
			}
		}
	}
	for _, w := range s.listeners {
		if l, there := have[w.port]; there {
			w.arn = *l.ListenerArn
			if err := c.updateListener(ctx, s, w, l, tags[w.arn]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *wantedListener) protocol() elb.ProtocolEnum {
	if w.https {
		return elb.ProtocolEnumHttps
	}
	return elb.ProtocolEnumHttp
}

// first returns the default certificate.
func (w *wantedListener) first() (out []elb.Certificate) {
	if len(w.certificates) > 0 {
		out = []elb.Certificate{{CertificateArn: &w.certificates[0]}}
	}
	return out
}

func (w *wantedListener) policyName() *string {
	if w.policy == "" {
		return nil
	}
	return &w.policy
}

func (c *Controller) createListener(ctx context.Context, s *stack, w *wantedListener) error {
	made, err := c.ELB.CreateListener(ctx, &elbv2.CreateListenerInput{
		LoadBalancerArn: &s.balancer.arn, Port: &w.port, Protocol: w.protocol(), DefaultActions: w.fallback.actions(s.arns), Certificates: w.first(),
		SslPolicy: w.policyName(), Tags: elbTags(w.tags),
	})
	if err != nil {
		return err
	}
	w.arn = *made.Listeners[0].ListenerArn
	if err := retry(ctx, "ListenerNotFound", func() error { return c.certify(ctx, w, nil) }); err != nil {
		return err
	}
	return c.listenerAttributes(ctx, w)
}

func (c *Controller) updateListener(ctx context.Context, s *stack, w *wantedListener, l elb.Listener, tags map[string]string) error {
	if err := c.retag(ctx, w.arn, w.tags, tags); err != nil {
		return err
	}
	actions := w.fallback.actions(s.arns)
	var first []string
	for _, one := range l.Certificates {
		first = append(first, aws.ToString(one.CertificateArn))
	}
	var wanted []string
	for _, one := range w.first() {
		wanted = append(wanted, *one.CertificateArn)
	}
	// Mutual authentication and ALPN that are not asked for do not count.
	if l.Protocol != w.protocol() || !sameActions(actions, l.DefaultActions) || !slices.Equal(first, wanted) ||
		w.policy != "" && w.policy != aws.ToString(l.SslPolicy) {
		if _, err := c.ELB.ModifyListener(ctx, &elbv2.ModifyListenerInput{
			ListenerArn: &w.arn, Port: &w.port, Protocol: w.protocol(), DefaultActions: actions, Certificates: w.first(), SslPolicy: w.policyName(),
		}); err != nil {
			return err
		}
	}
	if w.https || l.SslPolicy != nil {
		var others []string
		pages := elbv2.NewDescribeListenerCertificatesPaginator(c.ELB, &elbv2.DescribeListenerCertificatesInput{ListenerArn: &w.arn})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return err
			}
			for _, one := range page.Certificates {
				if !aws.ToBool(one.IsDefault) {
					others = append(others, *one.CertificateArn)
				}
			}
		}
		if err := c.certify(ctx, w, others); err != nil {
			return err
		}
	}
	return c.listenerAttributes(ctx, w)
}

// certify removes certificates that are not wanted, and then adds those that are, one by one, the default one too
// (listener_manager.go:195-262).
func (c *Controller) certify(ctx context.Context, w *wantedListener, have []string) error {
	for _, arn := range have {
		if !slices.Contains(w.certificates, arn) {
			if _, err := c.ELB.RemoveListenerCertificates(ctx, &elbv2.RemoveListenerCertificatesInput{ListenerArn: &w.arn, Certificates: []elb.Certificate{{CertificateArn: &arn}}}); err != nil {
				return err
			}
		}
	}
	for _, arn := range slices.Sorted(slices.Values(w.certificates)) {
		if !slices.Contains(have, arn) {
			if _, err := c.ELB.AddListenerCertificates(ctx, &elbv2.AddListenerCertificatesInput{ListenerArn: &w.arn, Certificates: []elb.Certificate{{CertificateArn: &arn}}}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *Controller) listenerAttributes(ctx context.Context, w *wantedListener) error {
	is, err := c.ELB.DescribeListenerAttributes(ctx, &elbv2.DescribeListenerAttributesInput{ListenerArn: &w.arn})
	if err != nil {
		return err
	}
	have := map[string]string{}
	for _, a := range is.Attributes {
		have[*a.Key] = aws.ToString(a.Value)
	}
	in := &elbv2.ModifyListenerAttributesInput{ListenerArn: &w.arn}
	for _, k := range missingValues(w.attributes, have) {
		in.Attributes = append(in.Attributes, elb.ListenerAttribute{Key: &k, Value: aws.String(w.attributes[k])})
	}
	if in.Attributes == nil {
		return nil
	}
	_, err = c.ELB.ModifyListenerAttributes(ctx, in)
	return err
}

// A wantedRule is a rule with its priority: those of a listener are numbered from one.
type wantedRule struct {
	rule
	priority   int32
	actions    []elb.Action
	conditions []elb.RuleCondition
	transforms []elb.RuleTransform
	tags       map[string]string
}

type foundRule struct {
	elb.Rule
	priority int32
	tags     map[string]string
}

// rulesOf returns the rules that a listener is to have.
func (c *Controller) rulesOf(s *stack, l *wantedListener) (out []*wantedRule, err error) {
	for _, r := range l.rules {
		if r.loop || r.behind {
			continue
		}
		w := &wantedRule{rule: r, priority: int32(len(out) + 1), actions: r.actions(s.arns), conditions: r.conditionsOf(), transforms: r.transformsOf()}
		more, err := r.of.tags()
		if err != nil {
			return nil, err
		}
		w.tags = c.tags(s.id, strconv.Itoa(int(l.port))+":"+strconv.Itoa(int(w.priority)), more)
		out = append(out, w)
	}
	return out, nil
}

// foundRules returns the rules that a listener has, but for its default one.
func (c *Controller) foundRules(ctx context.Context, arn string) (out []*foundRule, err error) {
	var arns []string
	pages := elbv2.NewDescribeRulesPaginator(c.ELB, &elbv2.DescribeRulesInput{ListenerArn: &arn})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, r := range page.Rules {
			arns = append(arns, *r.RuleArn)
			if !aws.ToBool(r.IsDefault) {
				priority, _ := strconv.ParseInt(aws.ToString(r.Priority), 10, 32)
				out = append(out, &foundRule{Rule: r, priority: int32(priority)})
			}
		}
	}
	tags, err := c.tagsByARN(ctx, arns)
	for _, r := range out {
		r.tags = tags[*r.RuleArn]
	}
	return out, err
}

// deployRules finds the equal rule for each that is wanted, the first one that is left; then, among those that are left,
// the one of the same priority, which is changed in its place. Equal ones are moved to their priorities at once, and those
// that are not wanted to the last ones, if something moves. Then rules are made, and then deleted; tags come last, and those
// of others are removed (listener_rule_synthesizer.go:72-255).
func (c *Controller) deployRules(ctx context.Context, s *stack, l *wantedListener) error {
	found, err := c.foundRules(ctx, l.arn)
	if err != nil {
		return err
	}
	count := len(found)
	wanted, err := c.rulesOf(s, l)
	if err != nil {
		return err
	}
	is := map[*wantedRule]*foundRule{}
	var moved []*wantedRule
	for _, w := range wanted {
		at := slices.IndexFunc(found, func(f *foundRule) bool {
			return sameActions(w.actions, f.Actions) && sameConditions(w.conditions, f.Conditions) && sameTransforms(w.transforms, f.Transforms)
		})
		if at < 0 {
			continue
		}
		if is[w] = found[at]; found[at].priority != w.priority {
			moved = append(moved, w)
		}
		found = slices.Delete(slices.Clone(found), at, at+1)
	}
	var changed, create []*wantedRule
	for _, w := range wanted {
		if is[w] != nil {
			continue
		}
		at := slices.IndexFunc(found, func(f *foundRule) bool { return f.priority == w.priority })
		if at < 0 {
			create = append(create, w)
			continue
		}
		is[w], changed = found[at], append(changed, w)
		found = slices.Delete(slices.Clone(found), at, at+1)
	}
	if err := c.move(ctx, moved, is, found); err != nil {
		return err
	}
	for _, w := range changed {
		in := &elbv2.ModifyRuleInput{RuleArn: is[w].RuleArn, Actions: w.actions, Conditions: w.conditions, Transforms: w.transforms}
		if len(w.transforms) == 0 {
			in.ResetTransforms = aws.Bool(true)
		}
		if _, err := c.ELB.ModifyRule(ctx, in); err != nil {
			return err
		}
	}
	if err := c.replace(ctx, l, count, create, found); err != nil {
		return err
	}
	for _, w := range wanted {
		if is[w] != nil {
			if err := c.retag(ctx, *is[w].RuleArn, w.tags, is[w].tags); err != nil {
				return err
			}
		}
	}
	return nil
}

// move sets priorities, with unwanted rules pushed to the end in their order (listener_rule_manager.go:212-247).
func (c *Controller) move(ctx context.Context, moved []*wantedRule, is map[*wantedRule]*foundRule, unwanted []*foundRule) error {
	if len(moved) == 0 {
		return nil
	}
	in := &elbv2.SetRulePrioritiesInput{}
	slices.SortFunc(unwanted, func(a, b *foundRule) int { return cmp.Compare(a.priority, b.priority) })
	for i, f := range unwanted {
		in.RulePriorities = append(in.RulePriorities, elb.RulePriorityPair{RuleArn: f.RuleArn, Priority: aws.Int32(50000 - int32(len(unwanted)-1-i))})
	}
	for _, w := range moved {
		in.RulePriorities = append(in.RulePriorities, elb.RulePriorityPair{RuleArn: is[w].RuleArn, Priority: &w.priority})
	}
	_, err := c.ELB.SetRulePriorities(ctx, in)
	return err
}

// replace makes rules and deletes others. At the quota one is deleted before one is made.
func (c *Controller) replace(ctx context.Context, l *wantedListener, count int, create []*wantedRule, unwanted []*foundRule) error {
	most := -1
	for len(create)+len(unwanted) > 0 {
		switch {
		case len(create) > 0 && count != most:
			w := create[0]
			err := retry(ctx, "ListenerNotFound", func() error {
				_, err := c.ELB.CreateRule(ctx, &elbv2.CreateRuleInput{ListenerArn: &l.arn, Priority: &w.priority, Actions: w.actions,
					Conditions: w.conditions, Transforms: w.transforms, Tags: elbTags(w.tags)})
				return err
			})
			if answered(err, "TooManyRules") && most < 0 {
				most = count
				continue
			}
			if err != nil {
				return err
			}
			create, count = create[1:], count+1
		case len(unwanted) > 0:
			if _, err := c.ELB.DeleteRule(ctx, &elbv2.DeleteRuleInput{RuleArn: unwanted[0].RuleArn}); err != nil {
				return err
			}
			unwanted, count = unwanted[1:], count-1
		default:
			return errors.New("there are too many rules")
		}
	}
	return nil
}
