package albsim

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	api "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/test/albsim/matching"
)

// This file is rules. A listener's default rule has no priority and is not among them.

type rule struct {
	serial   int
	listener string
	priority int
	about    elb.Rule
}

func (r *rule) arn() string            { return aws.ToString(r.about.RuleArn) }
func (s *Sim) noRule(arn string) error { return refuse("RuleNotFound", "Rule '%s' not found", arn) }
func lastPriority(p int) bool          { return p >= 1 && p <= 50000 }
func byPriority(a, b *rule) int        { return a.priority - b.priority }
func (r *rule) described() elb.Rule    { return withPriority(r.about, strconv.Itoa(r.priority)) }
func withPriority(r elb.Rule, p string) elb.Rule {
	r.Priority = aws.String(p)
	r.IsDefault = aws.Bool(p == "default")
	return r
}

// rulesOf are the rules of a listener by priority.
func (s *Sim) rulesOf(listener string) []*rule {
	var out []*rule
	for _, r := range s.rules {
		if r.listener == listener {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, byPriority)
	return out
}

func (s *Sim) createRule(in *api.CreateRuleInput) (*api.CreateRuleOutput, error) {
	l := s.listeners[aws.ToString(in.ListenerArn)]
	if l == nil || s.now().Before(l.foundFrom) {
		return nil, s.noListener(aws.ToString(in.ListenerArn))
	}
	lb := s.loadBalancers[l.loadBalancer()]
	priority := int(aws.ToInt32(in.Priority))
	if !lastPriority(priority) {
		return nil, refuse("ValidationError", "Priority '%d' must be between 1 and 50000", priority)
	}
	about := elb.Rule{Conditions: in.Conditions, Transforms: in.Transforms}
	var err error
	if about.Actions, err = s.checkRule(lb, l.about.Protocol, in.Conditions, in.Actions, in.Transforms); err != nil {
		return nil, err
	}
	if len(in.Conditions) == 0 {
		return nil, refuse("ValidationError", "A condition must be specified")
	}
	for _, other := range s.rulesOf(l.arn()) {
		if other.priority == priority {
			return nil, refuse("PriorityInUse", "Priority '%d' is currently in use", priority)
		}
	}
	if s.ruleCount(lb.arn()) >= s.options.Limits.RulesPerLoadBalancer {
		return nil, refuse("TooManyRules", "The maximum number of rules has been reached on load balancer '%s'", lb.arn())
	}
	if err := s.checkRoom(lb.arn(), nil, about.Actions); err != nil {
		return nil, err
	}
	about.RuleArn = aws.String(strings.Replace(l.arn(), ":listener/", ":listener-rule/", 1) + "/" + s.nextID())
	if err := s.setTags(*about.RuleArn, in.Tags); err != nil {
		return nil, err
	}
	made := &rule{serial: s.serial, listener: l.arn(), priority: priority, about: about}
	s.rules[made.arn()] = made
	s.touch(lb.arn())
	return &api.CreateRuleOutput{Rules: []elb.Rule{s.answered(made.described())}}, nil
}

// ruleCount is the number of rules over all listeners of a load balancer, the default ones not
// counted.
func (s *Sim) ruleCount(loadBalancer string) int {
	n := 0
	for _, l := range s.listenersOf(loadBalancer) {
		n += len(s.rulesOf(l.arn()))
	}
	return n
}

// checkRule refuses what a rule cannot be, and returns its actions as they are stored.
func (s *Sim) checkRule(lb *loadBalancer, protocol elb.ProtocolEnum, conditions []elb.RuleCondition, actions []elb.Action, transforms []elb.RuleTransform) ([]elb.Action, error) {
	if err := matching.Check(conditions, s.options.Limits.ofConditions()); err != nil {
		return nil, err
	}
	if err := checkTransforms(transforms); err != nil {
		return nil, err
	}
	return s.checkActions(lb, protocol, actions)
}

func (s *Sim) describeRules(in *api.DescribeRulesInput) (*api.DescribeRulesOutput, error) {
	if (in.ListenerArn == nil) == (len(in.RuleArns) == 0) {
		return nil, refuse("ValidationError", "You must specify either listener rule ARNs or a listener ARN")
	}
	var out []elb.Rule
	if in.ListenerArn != nil {
		l := s.listeners[*in.ListenerArn]
		if l == nil {
			return nil, s.noListener(*in.ListenerArn)
		}
		rules := s.rulesOf(l.arn())
		slices.SortFunc(rules, func(a, b *rule) int { return a.serial - b.serial }) // AWS promises no order
		for _, r := range rules {
			out = append(out, s.answered(r.described()))
		}
		out = append(out, s.answered(withPriority(elb.Rule{
			RuleArn: aws.String(strings.Replace(l.arn(), ":listener/", ":listener-rule/", 1) + "/default"), Actions: l.about.DefaultActions, Conditions: []elb.RuleCondition{},
		}, "default")))
	} else {
		found, err := selected(s.rules, in.RuleArns, s.noRule, func(r *rule) int { return r.serial })
		if err != nil {
			return nil, err
		}
		for _, r := range found {
			out = append(out, s.answered(r.described()))
		}
	}
	part, next, err := page(out, in.Marker, in.PageSize, 100)
	if err != nil {
		return nil, err
	}
	return &api.DescribeRulesOutput{Rules: part, NextMarker: next}, nil
}

// answered is a rule as it is read back: secrets are not.
func (s *Sim) answered(r elb.Rule) elb.Rule {
	r.Actions = untold(r.Actions)
	return s.respelt(r)
}

func (s *Sim) modifyRule(in *api.ModifyRuleInput) (*api.ModifyRuleOutput, error) {
	r := s.rules[aws.ToString(in.RuleArn)]
	if r == nil {
		return nil, s.noRule(aws.ToString(in.RuleArn))
	}
	l := s.listeners[r.listener]
	about := r.about
	if len(in.Conditions) > 0 {
		about.Conditions = in.Conditions
	}
	if len(in.Actions) > 0 {
		about.Actions = in.Actions
	}
	switch {
	case aws.ToBool(in.ResetTransforms) && len(in.Transforms) > 0:
		return nil, refuse("ValidationError", "ResetTransforms and Transforms cannot be specified together")
	case aws.ToBool(in.ResetTransforms):
		about.Transforms = nil
	case len(in.Transforms) > 0:
		about.Transforms = in.Transforms
	}
	var err error
	about.Actions, err = s.checkRule(s.loadBalancers[l.loadBalancer()], l.about.Protocol, about.Conditions, keepSecrets(r.about.Actions, about.Actions), about.Transforms)
	if err != nil {
		return nil, err
	}
	if err := s.checkRoom(l.loadBalancer(), r.about.Actions, about.Actions); err != nil {
		return nil, err
	}
	s.released(r.about.Actions)
	r.about = about
	s.touch(l.loadBalancer())
	return &api.ModifyRuleOutput{Rules: []elb.Rule{s.answered(r.described())}}, nil
}

func (s *Sim) deleteRule(in *api.DeleteRuleInput) (*api.DeleteRuleOutput, error) {
	if strings.HasSuffix(aws.ToString(in.RuleArn), "/default") {
		return nil, refuse("OperationNotPermitted", "Default rule '%s' cannot be deleted", aws.ToString(in.RuleArn))
	}
	r := s.rules[aws.ToString(in.RuleArn)]
	if r == nil {
		return nil, s.noRule(aws.ToString(in.RuleArn))
	}
	s.released(r.about.Actions)
	delete(s.rules, r.arn())
	delete(s.tags, r.arn())
	s.touch(s.listeners[r.listener].loadBalancer())
	return &api.DeleteRuleOutput{}, nil
}

// setRulePriorities is all or nothing; rules that are not named keep theirs.
func (s *Sim) setRulePriorities(in *api.SetRulePrioritiesInput) (*api.SetRulePrioritiesOutput, error) {
	to := map[*rule]int{}
	listener := ""
	for _, p := range in.RulePriorities {
		r := s.rules[aws.ToString(p.RuleArn)]
		if r == nil {
			return nil, s.noRule(aws.ToString(p.RuleArn))
		}
		if listener != "" && listener != r.listener {
			return nil, refuse("ValidationError", "The rules must belong to one listener")
		}
		listener = r.listener
		if _, twice := to[r]; twice || !lastPriority(int(aws.ToInt32(p.Priority))) {
			return nil, refuse("ValidationError", "Priority '%d' of rule '%s' is not valid", aws.ToInt32(p.Priority), r.arn())
		}
		to[r] = int(aws.ToInt32(p.Priority))
	}
	taken := map[int]bool{}
	for _, r := range s.rulesOf(listener) {
		at, moved := to[r]
		if !moved {
			at = r.priority
		}
		if taken[at] {
			return nil, refuse("PriorityInUse", "Priority '%d' is currently in use", at)
		}
		taken[at] = true
	}
	out := &api.SetRulePrioritiesOutput{}
	for _, r := range slices.SortedFunc(maps.Keys(to), func(a, b *rule) int { return a.serial - b.serial }) {
		r.priority = to[r]
		out.Rules = append(out.Rules, s.answered(r.described()))
	}
	if listener != "" {
		s.touch(s.listeners[listener].loadBalancer())
	}
	return out, nil
}

// checkActions refuses what actions cannot be, and returns them as they are stored: a forward to
// one target group is written in both of its forms.
func (s *Sim) checkActions(lb *loadBalancer, protocol elb.ProtocolEnum, actions []elb.Action) ([]elb.Action, error) {
	if len(actions) == 0 {
		return nil, refuse("ValidationError", "An action must be specified")
	}
	out := slices.Clone(actions)
	if len(out) > 1 {
		slices.SortStableFunc(out, func(a, b elb.Action) int { return int(aws.ToInt32(a.Order)) - int(aws.ToInt32(b.Order)) })
	}
	for i := range out {
		last := i == len(out)-1
		if err := s.checkAction(lb, protocol, &out[i], last); err != nil {
			return nil, err
		}
		if out[i].Order == nil {
			out[i].Order = aws.Int32(int32(i + 1))
		}
	}
	for _, arn := range forwardsTo(out) {
		switch v := aws.ToString(s.targetGroups[arn].about.ProtocolVersion); {
		case v == "HTTP1":
		case len(out) > 1:
			return nil, refuse("InvalidConfigurationRequest", "Only forward actions are supported with protocol version %s", v)
		case protocol != elb.ProtocolEnumHttps:
			return nil, refuse("InvalidConfigurationRequest", "Listener protocol '%s' is not supported with protocol version %s", protocol, v)
		}
	}
	return out, nil
}

func (s *Sim) checkAction(lb *loadBalancer, protocol elb.ProtocolEnum, a *elb.Action, last bool) error {
	if isAuth(a.Type) {
		return checkAuth(protocol, a, last)
	}
	if !last {
		return refuse("InvalidLoadBalancerAction", "Only the last action can be a '%s' action", a.Type)
	}
	switch a.Type {
	case elb.ActionTypeEnumForward:
		return s.checkForward(lb, a)
	case elb.ActionTypeEnumFixedResponse:
		return checkFixed(a.FixedResponseConfig)
	case elb.ActionTypeEnumRedirect:
		return checkRedirect(protocol, a.RedirectConfig)
	}
	return refuse("InvalidLoadBalancerAction", "Action type '%s' is not valid", a.Type)
}

func (s *Sim) checkForward(lb *loadBalancer, a *elb.Action) error {
	if a.ForwardConfig == nil {
		a.ForwardConfig = &elb.ForwardActionConfig{TargetGroups: []elb.TargetGroupTuple{{TargetGroupArn: a.TargetGroupArn, Weight: aws.Int32(1)}}}
	}
	config := *a.ForwardConfig
	config.TargetGroups = slices.Clone(config.TargetGroups)
	groups := config.TargetGroups
	if len(groups) == 0 || len(groups) > s.options.Limits.GroupsPerAction {
		return refuse("TooManyActions", "A forward action must have between 1 and %d target groups", s.options.Limits.GroupsPerAction)
	}
	sticky := false
	for i, g := range groups {
		group := s.targetGroups[aws.ToString(g.TargetGroupArn)]
		if group == nil {
			return s.noTargetGroup(aws.ToString(g.TargetGroupArn))
		}
		// https://github.com/zalando-incubator/kube-ingress-aws-controller/issues/752
		if group.about.IpAddressType == elb.TargetGroupIpAddressTypeEnumIpv6 && lb.about.IpAddressType == elb.IpAddressTypeIpv4 {
			return refuse("InvalidConfigurationRequest", "You cannot associate an IPv6 target group with a load balancer that has an 'ipv4' IP address type")
		}
		if w := aws.ToInt32(g.Weight); w < 0 || w > 999 {
			return refuse("ValidationError", "Weight '%d' must be between 0 and 999", w)
		}
		if g.Weight == nil {
			groups[i].Weight = aws.Int32(1)
		}
		if aws.ToString(group.about.VpcId) != aws.ToString(lb.about.VpcId) {
			return refuse("InvalidConfigurationRequest", "The target group '%s' is in another VPC than the load balancer", group.arn())
		}
		for _, other := range s.usersOf(group.arn()) {
			if other != lb.arn() {
				return refuse("TargetGroupAssociationLimit", "The following target groups cannot be associated with more than one load balancer: %s", group.arn())
			}
		}
		sticky = sticky || group.attributes["stickiness.enabled"] == "true"
	}
	if config.TargetGroupStickinessConfig == nil {
		config.TargetGroupStickinessConfig = &elb.TargetGroupStickinessConfig{Enabled: aws.Bool(false)}
	}
	if st := config.TargetGroupStickinessConfig; aws.ToBool(st.Enabled) {
		if d := aws.ToInt32(st.DurationSeconds); d < 1 || d > 604800 {
			return refuse("ValidationError", "Stickiness duration '%d' must be between 1 and 604800 seconds", d)
		}
	} else if sticky && len(groups) > 1 {
		return refuse("InvalidConfigurationRequest", "You must enable group-level stickiness on a rule, if you enabled target group stickiness on one of its target groups")
	}
	a.ForwardConfig = &config
	a.TargetGroupArn = nil
	if len(groups) == 1 {
		a.TargetGroupArn = groups[0].TargetGroupArn
	}
	return nil
}

// forwardsTo are the target groups that actions name.
func forwardsTo(actions []elb.Action) []string {
	var out []string
	for _, a := range actions {
		if a.ForwardConfig != nil {
			for _, g := range a.ForwardConfig.TargetGroups {
				out = append(out, aws.ToString(g.TargetGroupArn))
			}
		}
	}
	return out
}

// released notes that actions name their target groups no more.
func (s *Sim) released(actions []elb.Action) {
	for _, arn := range forwardsTo(actions) {
		s.linger(arn)
	}
}

// usersOf are the load balancers whose rules name a target group. They are found for all groups at
// once, and kept until the next change of listeners or rules.
func (s *Sim) usersOf(group string) []string {
	if s.users == nil {
		s.users = map[string][]string{}
		uses := func(actions []elb.Action, listener *listener) {
			for _, arn := range forwardsTo(actions) {
				if lb := listener.loadBalancer(); !slices.Contains(s.users[arn], lb) {
					s.users[arn] = append(s.users[arn], lb)
				}
			}
		}
		for _, l := range s.listeners {
			uses(l.about.DefaultActions, l)
		}
		for _, r := range s.rules {
			uses(r.about.Actions, s.listeners[r.listener])
		}
		for _, users := range s.users {
			slices.Sort(users)
		}
	}
	return slices.Clone(s.users[group])
}

// checkRoom refuses actions that name more target groups than a load balancer may, once those of
// old ones are gone.
func (s *Sim) checkRoom(lb string, old, actions []elb.Action) error {
	uses := map[string]int{}
	count := func(actions []elb.Action, by int) {
		for _, arn := range forwardsTo(actions) {
			uses[arn] += by
		}
	}
	for _, l := range s.listenersOf(lb) {
		count(l.about.DefaultActions, 1)
		for _, r := range s.rulesOf(l.arn()) {
			count(r.about.Actions, 1)
		}
	}
	count(old, -1)
	count(actions, 1)
	groups, targets := 0, 0
	for arn, n := range uses {
		if n > 0 {
			groups++
			targets += len(s.targetGroups[arn].targets)
		}
	}
	if groups > s.options.Limits.TargetGroupsPerLoadBalancer {
		return refuse("TooManyUniqueTargetGroupsPerLoadBalancer", "The maximum number of unique target groups has been reached on load balancer '%s'", lb)
	}
	if targets > s.options.Limits.TargetsPerLoadBalancer {
		return refuse("TooManyTargets", "The maximum number of targets has been reached on load balancer '%s'", lb)
	}
	return nil
}

var fixedStatus = regexp.MustCompile(`^[245]\d\d$`)

func checkFixed(f *elb.FixedResponseActionConfig) error {
	status := ""
	if f != nil {
		status = aws.ToString(f.StatusCode)
	}
	switch {
	case !fixedStatus.MatchString(status):
		return refuse("ValidationError", "Fixed response status code '%s' must match ^(2|4|5)\\d\\d$", status)
	case len(aws.ToString(f.MessageBody)) > 1024:
		return refuse("ValidationError", "Fixed response message body cannot be longer than 1024 characters")
	case f.ContentType != nil && !slices.Contains([]string{"", "text/plain", "text/css", "text/html", "application/javascript", "application/json"}, *f.ContentType):
		return refuse("ValidationError", "Fixed response content type '%s' is not valid", *f.ContentType)
	}
	return nil
}

func checkRedirect(protocol elb.ProtocolEnum, r *elb.RedirectActionConfig) error {
	if r == nil {
		return refuse("ValidationError", "A redirect configuration must be specified")
	}
	for name, value := range map[string]*string{"host": r.Host, "path": r.Path, "query": r.Query} {
		if len(aws.ToString(value)) > 128 {
			return refuse("ValidationError", "Redirect %s cannot be longer than 128 characters", name)
		}
	}
	to := orUsual(aws.ToString(r.Protocol), "#{protocol}")
	same := to == "#{protocol}" || to == string(protocol)
	switch {
	case r.StatusCode != elb.RedirectActionStatusCodeEnumHttp301 && r.StatusCode != elb.RedirectActionStatusCodeEnumHttp302:
		return refuse("ValidationError", "Redirect status code '%s' is not valid", r.StatusCode)
	case protocol == elb.ProtocolEnumHttps && to == "HTTP":
		return refuse("InvalidLoadBalancerAction", "Redirecting from HTTPS to HTTP is not supported")
	case same && keeps(r.Host, "#{host}") && keeps(r.Port, "#{port}") && keeps(r.Path, "/#{path}") && keeps(r.Query, "#{query}"):
		return refuse("InvalidLoadBalancerAction", "The redirect would lead to itself: at least one of protocol, port, host and path must change")
	}
	return nil
}

func keeps(value *string, placeholder string) bool {
	return value == nil || *value == "" || *value == placeholder
}

func checkTransforms(transforms []elb.RuleTransform) error {
	seen := map[elb.TransformTypeEnum]bool{}
	for _, t := range transforms {
		if seen[t.Type] {
			return refuse("ValidationError", "Only one transform of type '%s' is possible", t.Type)
		}
		seen[t.Type] = true
		rewrites, err := rewritesOf(t)
		if err != nil {
			return err
		}
		for _, r := range rewrites {
			if len(aws.ToString(r.Regex)) > 1024 || len(aws.ToString(r.Replace)) > 1024 {
				return refuse("ValidationError", "A transform's regular expression and replacement cannot be longer than 1024 characters")
			}
			if err := matching.CheckExpression(aws.ToString(r.Regex)); err != nil {
				return err
			}
		}
	}
	return nil
}

func rewritesOf(t elb.RuleTransform) ([]elb.RewriteConfig, error) {
	var rewrites []elb.RewriteConfig
	switch {
	case t.Type == elb.TransformTypeEnumHostHeaderRewrite && t.HostHeaderRewriteConfig != nil:
		rewrites = t.HostHeaderRewriteConfig.Rewrites
	case t.Type == elb.TransformTypeEnumUrlRewrite && t.UrlRewriteConfig != nil:
		rewrites = t.UrlRewriteConfig.Rewrites
	}
	if len(rewrites) != 1 {
		return nil, refuse("ValidationError", "%s", fmt.Sprintf("A transform of type '%s' must have one rewrite", t.Type))
	}
	return rewrites, nil
}
