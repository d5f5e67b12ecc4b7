package preflight

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	tagging "github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"
	taggingtypes "github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/providers/aws/network"
	"fairlead.dev/fairlead/test/awscalls"
)

// This file is a load balancer that things are tried on. It does as AWS documents, unless a test
// says otherwise.

const (
	balancerARN = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:loadbalancer/app/fl-prove/0123456789abcdef"
	listenerARN = "arn:listener"
	groupARN    = "arn:targetgroup"
	key         = lb.Key("fairlead/prove/web/internal")
	lag         = 4 * time.Second
)

var internalFailure = awscalls.Refused("InternalFailure", "no")

// A stand is a trial, and the load balancer that it is made on.
type stand struct {
	*trial
	aws    awscalls.Answers
	refuse map[string]error // calls, by their names
	rules  map[string]elb.Rule
	made   map[string]time.Time // rules, and the last tag
	tags   map[string]string    // of the load balancer

	there    *elb.LoadBalancer
	failed   error // of reading the load balancer
	listener []elb.Listener
	groups   []elb.TargetGroup

	create    func(*elbapi.CreateRuleInput) error // refuses a rule
	created   func(*elbapi.CreateRuleOutput)      // changes the answer
	described func(*elb.Rule)                     // changes how a rule is described
	others    []elb.Rule                          // that are described, too
	swapped   int                                 // how many priorities of a call are set
	again     func() (*elbapi.CreateTargetGroupOutput, error)
	shown     time.Duration // after which a rule is read
	tagged    time.Duration // after which a tag is read
	found     time.Duration // after which the load balancer is found by its tags
	began     time.Time
}

func (s *stand) Capabilities(lb.Class) lb.Capabilities { return lb.ALB() }

func (s *stand) LoadBalancer(context.Context, lb.Key) (*elb.LoadBalancer, error) {
	return s.there, s.failed
}

func newStand(t *testing.T) *stand {
	t.Helper()
	s := &stand{
		refuse: map[string]error{}, rules: map[string]elb.Rule{}, made: map[string]time.Time{}, tags: map[string]string{},
		there: &elb.LoadBalancer{LoadBalancerArn: aws.String(balancerARN)}, listener: []elb.Listener{{ListenerArn: aws.String(listenerARN)}},
		groups: []elb.TargetGroup{{TargetGroupArn: aws.String(groupARN), TargetGroupName: aws.String("fl-prove")}}, swapped: 2, began: time.Now(),
	}
	c := client.NewClients(s.aws.Config(), "prove-test", "vpc-1")
	s.trial = &trial{Trials: NewTrials(c, network.NewSecurityGroups(c.Owner, c.EC2, "vpc-1", client.NewRecent(0, nil)), s, lag), next: 40000}
	s.answerRules()
	s.answerTags()
	s.answerGroups()
	if err := s.locate(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	s.aws.Calls()
	return s
}

func (s *stand) answerRules() {
	awscalls.On(&s.aws, func(*elbapi.DescribeListenersInput) (*elbapi.DescribeListenersOutput, error) {
		return &elbapi.DescribeListenersOutput{Listeners: s.listener}, s.refuse["DescribeListeners"]
	})
	awscalls.On(&s.aws, func(in *elbapi.CreateRuleInput) (*elbapi.CreateRuleOutput, error) {
		if s.create != nil {
			if err := s.create(in); err != nil {
				return nil, err
			}
		}
		arn := fmt.Sprint("arn:rule/", *in.Priority, "/", len(s.made))
		rule := elb.Rule{RuleArn: aws.String(arn), Conditions: in.Conditions, Priority: aws.String(fmt.Sprint(*in.Priority))}
		s.rules[arn], s.made[arn] = rule, time.Now()
		out := &elbapi.CreateRuleOutput{Rules: []elb.Rule{rule}}
		if s.created != nil {
			s.created(out)
		}
		return out, nil
	})
	awscalls.On(&s.aws, func(in *elbapi.DescribeRulesInput) (*elbapi.DescribeRulesOutput, error) {
		out := &elbapi.DescribeRulesOutput{Rules: slices.Clone(s.others)}
		for _, arn := range slices.Sorted(maps.Keys(s.rules)) {
			rule := s.rules[arn]
			if s.described != nil {
				s.described(&rule)
			}
			if seen := time.Since(s.made[arn]) >= s.shown; seen && (in.ListenerArn != nil || slices.Contains(in.RuleArns, arn)) {
				out.Rules = append(out.Rules, rule)
			}
		}
		if len(in.RuleArns) > 0 && len(out.Rules) == 0 {
			return nil, awscalls.Refused("RuleNotFound", "no")
		}
		return out, s.refuse["DescribeRules"]
	})
	awscalls.On(&s.aws, func(in *elbapi.DeleteRuleInput) (*elbapi.DeleteRuleOutput, error) {
		delete(s.rules, *in.RuleArn)
		return &elbapi.DeleteRuleOutput{}, nil
	})
	awscalls.On(&s.aws, func(in *elbapi.SetRulePrioritiesInput) (*elbapi.SetRulePrioritiesOutput, error) {
		if s.refuse["SetRulePriorities"] != nil {
			return nil, s.refuse["SetRulePriorities"]
		}
		pairs := in.RulePriorities
		if s.swapped < 0 { // from the end
			slices.Reverse(pairs)
		}
		for _, p := range pairs[:max(s.swapped, -s.swapped)] {
			rule := s.rules[*p.RuleArn]
			rule.Priority = aws.String(fmt.Sprint(*p.Priority))
			s.rules[*p.RuleArn] = rule
		}
		return &elbapi.SetRulePrioritiesOutput{}, nil
	})
}

func (s *stand) answerTags() {
	awscalls.On(&s.aws, func(in *elbapi.AddTagsInput) (*elbapi.AddTagsOutput, error) {
		if s.refuse["AddTags"] != nil {
			return nil, s.refuse["AddTags"]
		}
		for _, t := range in.Tags {
			s.tags[*t.Key] = *t.Value
		}
		s.made["tag"] = time.Now()
		return &elbapi.AddTagsOutput{}, nil
	})
	awscalls.On(&s.aws, func(in *elbapi.RemoveTagsInput) (*elbapi.RemoveTagsOutput, error) {
		for _, name := range in.TagKeys {
			delete(s.tags, name)
		}
		return &elbapi.RemoveTagsOutput{}, s.refuse["RemoveTags"]
	})
	awscalls.On(&s.aws, func(in *elbapi.DescribeTagsInput) (*elbapi.DescribeTagsOutput, error) {
		out := elb.TagDescription{ResourceArn: aws.String(in.ResourceArns[0])}
		if time.Since(s.made["tag"]) >= s.tagged {
			for name, value := range s.tags {
				out.Tags = append(out.Tags, elb.Tag{Key: aws.String(name), Value: aws.String(value)})
			}
		}
		return &elbapi.DescribeTagsOutput{TagDescriptions: []elb.TagDescription{out}}, s.refuse["DescribeTags"]
	})
	awscalls.On(&s.aws, func(*tagging.GetResourcesInput) (*tagging.GetResourcesOutput, error) {
		out := &tagging.GetResourcesOutput{}
		if time.Since(s.began) >= s.found {
			out.ResourceTagMappingList = []taggingtypes.ResourceTagMapping{{ResourceARN: aws.String(balancerARN)}}
		}
		return out, s.refuse["GetResources"]
	})
}

func (s *stand) answerGroups() {
	awscalls.On(&s.aws, func(*elbapi.DescribeTargetGroupsInput) (*elbapi.DescribeTargetGroupsOutput, error) {
		return &elbapi.DescribeTargetGroupsOutput{TargetGroups: s.groups}, s.refuse["DescribeTargetGroups"]
	})
	awscalls.On(&s.aws, func(*elbapi.CreateTargetGroupInput) (*elbapi.CreateTargetGroupOutput, error) {
		if s.again != nil {
			return s.again()
		}
		return &elbapi.CreateTargetGroupOutput{TargetGroups: s.groups}, nil
	})
}
