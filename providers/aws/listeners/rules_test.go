package listeners

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/test/awscalls"
)

// This file carries out the steps about rules.

func hosts(values ...string) []lb.Condition { return []lb.Condition{{Field: "host", Values: values}} }

var (
	inUse    = awscalls.Refused("PriorityInUse", "no")
	notFound = awscalls.Refused("ListenerNotFound", "no")
	invalid  = awscalls.Refused("ValidationError", "invalid")
)

// described is a rule as AWS describes it.
func described(t *testing.T, priority string, r lb.Rule) elb.Rule {
	t.Helper()
	actions, err := client.ToActions(r.Action, groups{}.ARNFinder(t.Context(), key))
	if err != nil {
		t.Fatal(err)
	}
	return elb.Rule{
		RuleArn: aws.String("arn:rule/" + priority), Priority: aws.String(priority),
		Conditions: client.ToConditions(r.Conditions), Actions: actions,
	}
}

func TestARuleIsCreated(t *testing.T) {
	want := lb.Rule{Conditions: hosts("a.test"), Action: forward("web")}
	other := lb.Rule{Conditions: hosts("b.test"), Action: forward("web")}
	for name, c := range map[string]struct {
		rule   lb.Rule
		there  []elb.Rule
		refuse map[string]error
		handle string
		class  error
	}{
		"new":                          {rule: want, handle: "arn:rule/new"},
		"denied":                       {rule: want, refuse: map[string]error{"CreateRule": denied}, class: providers.ErrDenied},
		"created before":               {rule: want, there: []elb.Rule{described(t, "2", other), described(t, "1", want)}, refuse: map[string]error{"CreateRule": inUse}, handle: "arn:rule/1"},
		"not listed yet":               {rule: want, there: []elb.Rule{described(t, "2", want)}, refuse: map[string]error{"CreateRule": inUse}, class: providers.ErrPending},
		"another one has the priority": {rule: want, there: []elb.Rule{described(t, "1", other)}, refuse: map[string]error{"CreateRule": inUse}, class: inUse},
		"the rules cannot be read":     {rule: want, refuse: map[string]error{"CreateRule": inUse, "DescribeRules": denied}, class: providers.ErrDenied},
		"a target group that is gone":  {rule: lb.Rule{Action: forward("gone")}, class: errGone},
	} {
		synctest.Test(t, func(t *testing.T) {
			c2 := newTrial()
			c2.rules, c2.refuse = c.there, c.refuse
			result, err := c2.CreateRule(t.Context(), observed(), plan.CreateRule{Port: 443, Priority: 1, Rule: c.rule})
			awscalls.ExpectError(t, name, err, c.class)
			awscalls.Expect(t, name, result.Handle, c.handle)
		})
	}
	c := newTrial()
	if _, err := c.CreateRule(t.Context(), &lb.Observed{}, plan.CreateRule{Port: 443}); err == nil {
		t.Error("a rule of a listener that is not there is created")
	}
	awscalls.On(&c.aws, func(*elbapi.CreateRuleInput) (*elbapi.CreateRuleOutput, error) {
		return &elbapi.CreateRuleOutput{}, nil
	})
	if _, err := c.CreateRule(t.Context(), observed(), plan.CreateRule{Port: 443}); err == nil {
		t.Error("no rule is answered, and there is no error")
	}
}

// Elsewhere, a refusal may be for want of regular expressions. One of a rule that rewrites may not.
func TestARuleWithARewriteIsRefusedForAnything(t *testing.T) {
	rule := lb.Rule{Conditions: []lb.Condition{{Field: "path", Regex: []string{"^/a$"}}}, Action: forward("web")}
	rewriting := rule
	rewriting.Action.Rewrite = &routing.Rewrite{URL: "^/a$", URLReplacement: "/b"}
	for want, class := range map[*lb.Rule]error{&rule: providers.ErrPending, &rewriting: providers.ErrRejected} {
		seen := observed()
		seen.Handle = "arn:aws-cn:elasticloadbalancing:cn-north-1:123456789012:loadbalancer/app/fl-a/1"
		seen.Listeners[0].Rules = []lb.ObservedRule{{Priority: 1, Handle: "arn:rule/1", Rule: lb.Rule{Action: forward("other")}}}
		c := newTrial()
		c.refuse = map[string]error{"CreateRule": invalid, "ModifyRule": invalid}
		_, err := c.CreateRule(t.Context(), seen, plan.CreateRule{Port: 443, Priority: 2, Rule: *want})
		awscalls.ExpectError(t, "creating", err, class)
		c = newTrial()
		c.refuse = map[string]error{"ModifyRule": invalid}
		awscalls.ExpectError(t, "changing", c.ModifyRule(t.Context(), seen, plan.ModifyRule{Port: 443, Priority: 1, Rule: *want}), class)
	}
}

// A new listener may not be found for a while. That is waited for, and not for long.
func TestARuleOfANewListener(t *testing.T) {
	for name, c := range map[string]struct {
		found time.Duration // after the listener was created
		slow  time.Duration // how long each call takes
		class error
		ends  time.Duration
	}{
		"found at once":           {0, 0, nil, 0},
		"found later":             {3 * time.Second, 0, nil, 4 * time.Second},
		"found in the last call":  {listenerPatience, 0, nil, listenerPatience},
		"not found":               {time.Hour, 0, providers.ErrPending, listenerPatience + listenerPause/4},
		"not found, calls linger": {time.Hour, listenerPatience + 1, notFound, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			c2 := newTrial()
			began := time.Now()
			awscalls.On(&c2.aws, func(*elbapi.CreateRuleInput) (*elbapi.CreateRuleOutput, error) {
				time.Sleep(c.slow)
				if time.Since(began) < c.found {
					return nil, notFound
				}
				return &elbapi.CreateRuleOutput{Rules: []elb.Rule{{RuleArn: aws.String("arn:rule/new")}}}, nil
			})
			_, err := c2.createRulePatiently(t.Context(), &elbapi.CreateRuleInput{
				ListenerArn: aws.String(listener), Priority: aws.Int32(1), Actions: []elb.Action{}, Conditions: []elb.RuleCondition{},
			})
			if c.slow > 0 {
				awscalls.Expect(t, name+": the error is AWS's", err != nil && strings.Contains(err.Error(), "ListenerNotFound"), true)
			} else {
				awscalls.ExpectError(t, name, err, c.class)
			}
			if took := time.Since(began); c.slow == 0 && took != c.ends {
				t.Errorf("%s: it takes %s, want %s", name, took, c.ends)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		c := newTrial()
		c.refuse = map[string]error{"CreateRule": notFound}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.CreateRule(ctx, observed(), plan.CreateRule{Port: 443, Rule: lb.Rule{Conditions: hosts("a"), Action: forward("web")}})
		awscalls.ExpectError(t, "the caller gives up", err, context.DeadlineExceeded)
	})
}

// What changes of a rule is written, and nothing else.
func TestARuleIsChanged(t *testing.T) {
	rewriting := forward("web")
	rewriting.Rewrite = &routing.Rewrite{URL: "^/a$", URLReplacement: "/b"}
	another := forward("web")
	another.Rewrite = &routing.Rewrite{URL: "^/a$", URLReplacement: "/c"}
	for name, c := range map[string]struct {
		had, want lb.Rule
		written   string // the conditions, the actions and the transforms that are written
		class     error
	}{
		"nothing":         {lb.Rule{Conditions: hosts("a"), Action: forward("web")}, lb.Rule{Conditions: hosts("a"), Action: forward("web")}, "", nil},
		"the conditions":  {lb.Rule{Conditions: hosts("a"), Action: forward("web")}, lb.Rule{Conditions: hosts("b"), Action: forward("web")}, "1 0 0 false", nil},
		"the action":      {lb.Rule{Conditions: hosts("a"), Action: forward("web")}, lb.Rule{Conditions: hosts("a"), Action: forward("api")}, "0 1 0 false", nil},
		"a rewrite":       {lb.Rule{Conditions: hosts("a"), Action: forward("web")}, lb.Rule{Conditions: hosts("a"), Action: rewriting}, "0 1 1 false", nil},
		"another rewrite": {lb.Rule{Conditions: hosts("a"), Action: rewriting}, lb.Rule{Conditions: hosts("a"), Action: another}, "0 1 1 false", nil},
		"no rewrite":      {lb.Rule{Conditions: hosts("a"), Action: rewriting}, lb.Rule{Conditions: hosts("a"), Action: forward("web")}, "0 1 0 true", nil},
		"a target group":  {lb.Rule{Conditions: hosts("a"), Action: forward("web")}, lb.Rule{Conditions: hosts("a"), Action: forward("gone")}, "", errGone},
	} {
		seen := observed()
		seen.Listeners[0].Rules = []lb.ObservedRule{{Priority: 1, Handle: "arn:rule/1", Rule: c.had}}
		c2 := newTrial()
		awscalls.ExpectError(t, name, c2.ModifyRule(t.Context(), seen, plan.ModifyRule{Port: 443, Priority: 1, Rule: c.want}), c.class)
		written := ""
		for _, in := range c2.changed {
			written += fmt.Sprint(len(in.Conditions), len(in.Actions), len(in.Transforms), aws.ToBool(in.ResetTransforms))
		}
		awscalls.Expect(t, name, strings.Join(strings.Fields(written), " "), c.written)
	}
	c := newTrial()
	if err := c.ModifyRule(t.Context(), observed(), plan.ModifyRule{Port: 443, Priority: 1}); err == nil {
		t.Error("a rule that is not there is changed")
	}
	seen := observed()
	seen.Listeners[0].Rules = []lb.ObservedRule{{Priority: 1, Handle: "arn:rule/1"}}
	c.refuse = map[string]error{"ModifyRule": denied}
	err := c.ModifyRule(t.Context(), seen, plan.ModifyRule{Port: 443, Priority: 1, Rule: lb.Rule{Action: forward("web")}})
	awscalls.ExpectError(t, "denied", err, providers.ErrDenied)
	awscalls.Expect(t, "it is told of which rule", strings.Contains(err.Error(), "changing rule "), true)
}

// Rules get their priorities with one call. AWS answers with all of them.
func TestRulesAreRenumbered(t *testing.T) {
	to := func(arn, priority string) elb.Rule {
		return elb.Rule{RuleArn: aws.String(arn), Priority: aws.String(priority)}
	}
	for name, c := range map[string]struct {
		to     map[int]int
		answer []elb.Rule
		err    error
		asked  string
		said   string
	}{
		"two":                       {map[int]int{1: 10, 2: 20}, []elb.Rule{to("arn:rule/2", "20"), to("arn:rule/1", "10")}, nil, "arn:rule/1 10 arn:rule/2 20 ", ""},
		"one that is not there":     {map[int]int{1: 10, 7: 70}, []elb.Rule{to("arn:rule/1", "10")}, nil, "arn:rule/1 10 ", ""},
		"none that is there":        {map[int]int{7: 70}, nil, nil, "", ""},
		"an answer without one":     {map[int]int{1: 10, 2: 20}, []elb.Rule{to("arn:rule/1", "10")}, nil, "arn:rule/1 10 arn:rule/2 20 ", "without rule arn:rule/2 of priority 20"},
		"an answer with another":    {map[int]int{1: 10}, []elb.Rule{to("arn:rule/1", "1")}, nil, "arn:rule/1 10 ", "without rule arn:rule/1 of priority 10"},
		"an answer of another rule": {map[int]int{1: 10}, []elb.Rule{to("arn:rule/2", "10")}, nil, "arn:rule/1 10 ", "without rule arn:rule/1 of priority 10"},
		"denied":                    {map[int]int{1: 10, 2: 20}, nil, denied, "arn:rule/1 10 arn:rule/2 20 ", "renumbering the rules of listener 443"},
	} {
		c2 := newTrial()
		asked := ""
		var tagsOf []string
		awscalls.On(&c2.aws, func(in *elbapi.SetRulePrioritiesInput) (*elbapi.SetRulePrioritiesOutput, error) {
			for _, pair := range in.RulePriorities {
				asked += fmt.Sprint(aws.ToString(pair.RuleArn), " ", aws.ToInt32(pair.Priority), " ")
			}
			return &elbapi.SetRulePrioritiesOutput{Rules: c.answer}, c.err
		})
		awscalls.On(&c2.aws, func(in *elbapi.DescribeTagsInput) (*elbapi.DescribeTagsOutput, error) {
			tagsOf = in.ResourceArns
			return &elbapi.DescribeTagsOutput{}, nil
		})
		seen := observed()
		seen.Listeners[0].Rules = []lb.ObservedRule{{Priority: 1, Handle: "arn:rule/1"}, {Priority: 2, Handle: "arn:rule/2"}}
		err := c2.RespaceRules(t.Context(), seen, plan.RespaceRules{Port: 443, To: c.to})
		if (err != nil) != (c.said != "") || err != nil && !strings.Contains(err.Error(), c.said) {
			t.Errorf("%s: %v, want %q", name, err, c.said)
		}
		awscalls.Expect(t, name, asked, c.asked)
		if c.err != nil {
			awscalls.Expect(t, name+": the tags are read of", tagsOf, []string{"arn:rule/1", "arn:rule/2"})
		}
	}
}
