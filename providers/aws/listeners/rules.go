package listeners

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/client"
)

// This file applies the steps for rules.

// CreateRule may not find a new listener for a while. listenerPatience is the time for which it is
// repeated.
const (
	listenerPause    = 2 * time.Second
	listenerPatience = 20 * time.Second
)

// CreateRule creates a rule.
func (ls *Store) CreateRule(
	ctx context.Context, seen *lb.Observed, s plan.CreateRule,
) (plan.Result, error) {
	l := seen.Listener(s.Port)
	if l == nil {
		return plan.Result{}, fmt.Errorf("listener %d does not exist", s.Port)
	}
	actions, err := client.ToActions(s.Rule.Action, ls.groups.ARNFinder(ctx, seen.Key))
	if err != nil {
		return plan.Result{}, err
	}
	in := &elbapi.CreateRuleInput{
		ListenerArn: aws.String(l.Handle), Priority: aws.Int32(int32(s.Priority)),
		Conditions: client.ToConditions(s.Rule.Conditions), Actions: actions,
		Transforms: client.ToTransforms(s.Rule.Action.Rewrite),
		// The role can change only rules with the tag of the installation.
		Tags: client.ELBTags(map[string]string{client.TagInstallation: ls.Installation}),
	}
	out, err := ls.createRulePatiently(ctx, in)
	// an earlier call may have created it, and its answer was lost
	if client.HasCode(err, "PriorityInUse") {
		there, findErr := ls.findRule(ctx, l, s.Priority)
		switch {
		case findErr != nil:
			return plan.Result{}, findErr
		case there == nil:
			return plan.Result{}, fmt.Errorf("creating rule %s: AWS has a rule of this priority, and does "+
				"not list it yet: %w", s.ID(), providers.ErrPending)
		case ls.sameRule(seen.Key, *there, s.Rule):
			return plan.Result{Handle: aws.ToString(there.RuleArn)}, nil
		}
	}
	if err = ls.conditions.Adapt(ctx, seen, in.Conditions, in.Transforms != nil, err); err != nil {
		err = client.ExplainForward("creating rule "+s.ID(), s.Rule.Action, err)
		if l.Others {
			err = client.ExplainDenied(err, fmt.Sprintf("listener %d", s.Port), l.Handle, nil, ls.Owned(seen.Key, nil))
		}
		return plan.Result{}, err
	}
	made, err := client.RequireOne(out.Rules, "CreateRule", "a rule")
	if err != nil {
		return plan.Result{}, err
	}
	arn, err := client.RequireID(made.RuleArn, "CreateRule", "an ARN")
	return plan.Result{Handle: arn}, err
}

// createRulePatiently creates a rule. It repeats the call until AWS finds the listener.
func (ls *Store) createRulePatiently(
	ctx context.Context, in *elbapi.CreateRuleInput,
) (out *elbapi.CreateRuleOutput, err error) {
	listener := aws.ToString(in.ListenerArn)
	gate := ls.fresh.Get(listener, func() *client.Gate {
		return client.NewGate(0, listenerPause, listenerPause)
	})
	unfound := func(err error) bool { return client.ErrorCode(err) == "ListenerNotFound" }
	for patience := time.Now().Add(listenerPatience); ; {
		err = gate.Do(ctx, unfound, func() (err error) {
			out, err = ls.ELB.CreateRule(ctx, in)
			return err
		})
		switch {
		case !unfound(err) && !errors.Is(err, client.ErrShut):
			return out, err
		case time.Now().After(patience) && errors.Is(err, client.ErrShut):
			return nil, fmt.Errorf("listener %s is not found yet: %w", listener, providers.ErrPending)
		case time.Now().After(patience):
			return nil, err
		}
		if err := client.Pause(ctx, listenerPause/4); err != nil {
			return nil, err
		}
	}
}

// findRule returns the rule of a listener with a priority, or nil.
func (ls *Store) findRule(
	ctx context.Context, l *lb.ObservedListener, priority int,
) (*elb.Rule, error) {
	rules, err := ReadRules(ctx, ls.ELB, l.Handle)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(rules, func(r elb.Rule) bool {
		return aws.ToString(r.Priority) == strconv.Itoa(priority)
	})
	if at < 0 {
		return nil, nil
	}
	return &rules[at], nil
}

// sameRule reports whether a rule is the one that a step creates.
func (ls *Store) sameRule(key lb.Key, there elb.Rule, want lb.Rule) bool {
	return client.FromRule(there, func(arn string) lb.GroupID {
		return ls.groups.IDOf(key, arn)
	}).Key() == want.Key()
}

// ModifyRule changes a rule.
func (ls *Store) ModifyRule(ctx context.Context, seen *lb.Observed, s plan.ModifyRule) error {
	rule := ruleAt(seen, s.Port, s.Priority)
	if rule == nil {
		return fmt.Errorf("rule %s does not exist", s.ID())
	}
	actions, err := client.ToActions(s.Rule.Action, ls.groups.ARNFinder(ctx, seen.Key))
	if err != nil {
		return err
	}
	in := &elbapi.ModifyRuleInput{RuleArn: aws.String(rule.Handle)}
	if rule.MatchKey() != s.Rule.MatchKey() {
		in.Conditions = client.ToConditions(s.Rule.Conditions)
	}
	if rule.Action.Key() != s.Rule.Action.Key() {
		in.Actions, in.Transforms = actions, client.ToTransforms(s.Rule.Action.Rewrite)
		if in.Transforms == nil && rule.Action.Rewrite != nil {
			in.ResetTransforms = aws.Bool(true) // an empty list would leave them as they are
		}
	}
	if in.Conditions == nil && in.Actions == nil {
		return nil
	}
	_, err = ls.ELB.ModifyRule(ctx, in)
	err = client.ExplainForward(
		"changing rule "+s.ID(), s.Rule.Action, ls.conditions.Adapt(ctx, seen, in.Conditions, in.Transforms != nil, err),
	)
	return ls.ExplainDeniedRules(ctx, seen.Key, err, rule.Handle)
}

// DeleteRule deletes a rule, if it exists.
func (ls *Store) DeleteRule(ctx context.Context, seen *lb.Observed, s plan.DeleteRule) error {
	rule := ruleAt(seen, s.Port, s.Priority)
	if rule == nil {
		return nil
	}
	_, err := ls.ELB.DeleteRule(ctx, &elbapi.DeleteRuleInput{RuleArn: aws.String(rule.Handle)})
	if client.HasCode(err, "RuleNotFound") {
		return nil
	}
	return ls.ExplainDeniedRules(
		ctx, seen.Key, client.Explain("deleting rule "+s.ID(), err), rule.Handle,
	)
}

// RespaceRules changes the priorities of rules with one call.
func (ls *Store) RespaceRules(ctx context.Context, seen *lb.Observed, s plan.RespaceRules) error {
	in := &elbapi.SetRulePrioritiesInput{}
	for _, from := range slices.Sorted(maps.Keys(s.To)) {
		rule := ruleAt(seen, s.Port, from)
		if rule == nil {
			continue // renumbered already
		}
		in.RulePriorities = append(in.RulePriorities, elb.RulePriorityPair{
			RuleArn: aws.String(rule.Handle), Priority: aws.Int32(int32(s.To[from])),
		})
	}
	if len(in.RulePriorities) == 0 {
		return nil
	}
	out, err := ls.ELB.SetRulePriorities(ctx, in)
	if err != nil {
		var all []string
		for _, asked := range in.RulePriorities {
			all = append(all, *asked.RuleArn)
		}
		return ls.ExplainDeniedRules(ctx, seen.Key,
			client.Explain(fmt.Sprintf("renumbering the rules of listener %d", s.Port), err), all...)
	}
	for _, asked := range in.RulePriorities {
		if !slices.ContainsFunc(out.Rules, func(r elb.Rule) bool { return hasPriority(r, asked) }) {
			return fmt.Errorf("renumbering the rules of listener %d: AWS answered SetRulePriorities "+
				"without rule %s of priority %d",
				s.Port, aws.ToString(asked.RuleArn), aws.ToInt32(asked.Priority))
		}
	}
	return nil
}

// hasPriority reports whether a rule is the one in a request, and has the requested priority.
func hasPriority(r elb.Rule, asked elb.RulePriorityPair) bool {
	return aws.ToString(r.RuleArn) == aws.ToString(asked.RuleArn) && aws.ToString(r.Priority) ==
		strconv.Itoa(int(aws.ToInt32(asked.Priority)))
}

func ruleAt(seen *lb.Observed, port int32, priority int) *lb.ObservedRule {
	if l := seen.Listener(port); l != nil {
		return l.Rule(priority)
	}
	return nil
}

// writeSecrets writes the client secrets of rules without other changes. It writes all of them,
// because AWS does not return client secrets, so they cannot be compared.
func (ls *Store) writeSecrets(
	ctx context.Context, seen *lb.Observed, l *lb.ObservedListener, want lb.Listener,
) error {
	given := map[string]lb.Rule{}
	for _, r := range want.Rules {
		if r.Action.Auth != nil && r.Action.Auth.ClientSecret != "" {
			given[r.Key()] = r
		}
	}
	for _, r := range l.Rules {
		with, ok := given[r.Key()]
		if !ok {
			continue
		}
		actions, err := client.ToActions(with.Action, ls.groups.ARNFinder(ctx, seen.Key))
		if err != nil {
			return err
		}
		if _, err := ls.ELB.ModifyRule(ctx,
			&elbapi.ModifyRuleInput{RuleArn: aws.String(r.Handle), Actions: actions}); err != nil {
			return client.Explain(
				fmt.Sprintf("changing the client secret of rule %d/%d", l.Port, r.Priority), err,
			)
		}
	}
	return nil
}
