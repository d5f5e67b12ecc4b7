package listeners

import (
	"context"
	"errors"
	"maps"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers/aws/account"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/providers/aws/network"
	"fairlead.dev/fairlead/test/awscalls"
)

// This file is an account with a listener for HTTPS and its rules, of which a test changes the
// answers.

const (
	key      lb.Key = "fairlead/shop/web/internal"
	balancer string = "arn:loadbalancer/1"
	listener string = "arn:listener/443"
)

// A trial is a store and the account that it works in.
type trial struct {
	*Store
	aws      awscalls.Answers
	tags     map[string]string // of the listener
	rules    []elb.Rule
	refuse   map[string]error // calls, by their names
	created  *elbapi.CreateListenerInput
	modified *elbapi.ModifyListenerInput
	rule     *elbapi.CreateRuleInput
	changed  []*elbapi.ModifyRuleInput
	attached []string
	detached []string
}

// groups finds all target groups but one that is gone.
type groups struct{}

var errGone = errors.New("the target group is gone")

func (groups) ARNFinder(context.Context, lb.Key) client.ARNs {
	return func(id lb.GroupID) (string, error) {
		if id == "gone" {
			return "", errGone
		}
		return "arn:targetgroup/" + string(id), nil
	}
}

func (groups) IDOf(_ lb.Key, arn string) lb.GroupID {
	return lb.GroupID(strings.TrimPrefix(arn, "arn:targetgroup/"))
}

func newTrial() *trial {
	c := &trial{tags: map[string]string{}, refuse: map[string]error{}}
	api := client.API{Owner: client.Owner{Installation: "test"}, ELB: elbapi.NewFromConfig(c.aws.Config())}
	security := network.NewSecurityGroups(api.Owner, nil, "vpc-1", nil)
	nodes := network.NewNodes(api.ELB, security, "", true, nil)
	c.Store = New(api, network.NewFirewalls(api.ELB, security, nodes, true, nil), groups{}, account.NewConditionSupport(api), NewReleases(1))
	c.answerListeners()
	c.answerRules()
	return c
}

func (c *trial) answerListeners() {
	there := elb.Listener{ListenerArn: aws.String(listener), Port: aws.Int32(443)}
	awscalls.On(&c.aws, func(in *elbapi.CreateListenerInput) (*elbapi.CreateListenerOutput, error) {
		c.created = in
		if c.refuse["CreateListener"] == nil {
			c.tags = map[string]string{}
			for _, tag := range in.Tags {
				c.tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
			}
		}
		return &elbapi.CreateListenerOutput{Listeners: []elb.Listener{there}}, c.refuse["CreateListener"]
	})
	awscalls.On(&c.aws, func(*elbapi.DescribeListenersInput) (*elbapi.DescribeListenersOutput, error) {
		other := elb.Listener{ListenerArn: aws.String("arn:listener/80"), Port: aws.Int32(80)}
		return &elbapi.DescribeListenersOutput{Listeners: []elb.Listener{other, there}}, c.refuse["DescribeListeners"]
	})
	awscalls.On(&c.aws, func(in *elbapi.ModifyListenerInput) (*elbapi.ModifyListenerOutput, error) {
		c.modified = in
		return &elbapi.ModifyListenerOutput{}, c.refuse["ModifyListener"]
	})
	awscalls.On(&c.aws, func(*elbapi.DeleteListenerInput) (*elbapi.DeleteListenerOutput, error) {
		return &elbapi.DeleteListenerOutput{}, c.refuse["DeleteListener"]
	})
	awscalls.On(&c.aws, func(*elbapi.ModifyListenerAttributesInput) (*elbapi.ModifyListenerAttributesOutput, error) {
		return &elbapi.ModifyListenerAttributesOutput{}, c.refuse["ModifyListenerAttributes"]
	})
	awscalls.On(&c.aws, func(in *elbapi.DescribeTagsInput) (*elbapi.DescribeTagsOutput, error) {
		out := &elbapi.DescribeTagsOutput{}
		for _, arn := range in.ResourceArns {
			out.TagDescriptions = append(out.TagDescriptions, elb.TagDescription{ResourceArn: aws.String(arn), Tags: client.ELBTags(c.tags)})
		}
		return out, c.refuse["DescribeTags"]
	})
	awscalls.On(&c.aws, func(in *elbapi.AddTagsInput) (*elbapi.AddTagsOutput, error) {
		tags := map[string]string{}
		for _, tag := range in.Tags {
			tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
		}
		maps.Copy(c.tags, tags)
		return &elbapi.AddTagsOutput{}, c.refuse["AddTags"]
	})
	awscalls.On(&c.aws, func(in *elbapi.RemoveTagsInput) (*elbapi.RemoveTagsOutput, error) {
		return &elbapi.RemoveTagsOutput{}, nil
	})
	awscalls.On(&c.aws, func(in *elbapi.AddListenerCertificatesInput) (*elbapi.AddListenerCertificatesOutput, error) {
		c.attached = append(c.attached, aws.ToString(in.Certificates[0].CertificateArn))
		return &elbapi.AddListenerCertificatesOutput{}, c.refuse["AddListenerCertificates"]
	})
	awscalls.On(&c.aws, func(in *elbapi.RemoveListenerCertificatesInput) (*elbapi.RemoveListenerCertificatesOutput, error) {
		c.detached = append(c.detached, aws.ToString(in.Certificates[0].CertificateArn))
		return &elbapi.RemoveListenerCertificatesOutput{}, c.refuse["RemoveListenerCertificates"]
	})
}

func (c *trial) answerRules() {
	awscalls.On(&c.aws, func(in *elbapi.CreateRuleInput) (*elbapi.CreateRuleOutput, error) {
		c.rule = in
		return &elbapi.CreateRuleOutput{Rules: []elb.Rule{{RuleArn: aws.String("arn:rule/new")}}}, c.refuse["CreateRule"]
	})
	awscalls.On(&c.aws, func(*elbapi.DescribeRulesInput) (*elbapi.DescribeRulesOutput, error) {
		return &elbapi.DescribeRulesOutput{Rules: c.rules}, c.refuse["DescribeRules"]
	})
	awscalls.On(&c.aws, func(in *elbapi.ModifyRuleInput) (*elbapi.ModifyRuleOutput, error) {
		c.changed = append(c.changed, in)
		return &elbapi.ModifyRuleOutput{}, c.refuse["ModifyRule"]
	})
}

// secure is a listener for HTTPS as it is wanted.
func secure(change func(*lb.Listener)) lb.Listener {
	l := lb.Listener{Port: 443, Protocol: routing.HTTPS, Default: forward("web"), Certificates: []lb.CertificateID{"arn:certificate/1"}, Digest: "v1:new"}
	change(&l)
	return l
}

// observed is a load balancer with the listener, which had a setting.
func observed() *lb.Observed {
	return &lb.Observed{Key: key, Handle: balancer, Exists: true, Listeners: []lb.ObservedListener{{
		Port: 443, Protocol: routing.HTTPS, Handle: listener, Digest: "v1:old", Default: forward("web"),
		Certificates: []lb.CertificateID{"arn:certificate/1"},
	}}}
}

func forward(ids ...lb.GroupID) lb.Action {
	a := lb.Action{Kind: "forward"}
	for _, id := range ids {
		a.Targets = append(a.Targets, lb.Weighted{Group: id, Weight: 1})
	}
	return a
}
