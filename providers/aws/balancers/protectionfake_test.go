package balancers

import (
	"fmt"
	"maps"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/aws-sdk-go-v2/service/shield"
	shieldtypes "github.com/aws/aws-sdk-go-v2/service/shield/types"
	"github.com/aws/aws-sdk-go-v2/service/wafv2"
	waf "github.com/aws/aws-sdk-go-v2/service/wafv2/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/providers/aws/look"
	"fairlead.dev/fairlead/test/awscalls"
)

// This file is an account with a load balancer, of which a test changes the answers.

const (
	acl string = "arn:webacl/ours"
)

var deniedException = awscalls.Refused("AccessDeniedException", "no")

// A protectedAccount answers calls about web ACLs and Shield.
type protectedAccount struct {
	awscalls.Answers
	refuse     map[string]error // calls, by their names
	tags       map[string]string
	attached   string                  // the web ACL
	protection *shieldtypes.Protection // of Shield
	active     bool                    // the subscription
	pages      [][]string              // names of web ACLs
	rerouted   bool
}

func newAccount() *protectedAccount {
	a := &protectedAccount{refuse: map[string]error{}, tags: map[string]string{}}
	a.answerTags()
	a.answerWAF()
	a.answerShield()
	return a
}

func (a *protectedAccount) ReroutedLately(string) bool { return a.rerouted }

func (a *protectedAccount) api() client.API {
	return client.API{Owner: client.Owner{Installation: "test"}, ELB: elbapi.NewFromConfig(a.Config())}
}

func (a *protectedAccount) webACLs() *WebACLs {
	return NewWebACLs(a.api(), wafv2.NewFromConfig(a.Config()), a)
}

func (a *protectedAccount) shields() *Shields {
	return NewShields(a.api(), shield.NewFromConfig(a.Config()))
}

func (a *protectedAccount) answerTags() {
	awscalls.On(&a.Answers, func(*elbapi.DescribeTagsInput) (*elbapi.DescribeTagsOutput, error) {
		return &elbapi.DescribeTagsOutput{TagDescriptions: []elb.TagDescription{
			{ResourceArn: aws.String(handle), Tags: client.ELBTags(a.tags)},
		}}, a.refuse["DescribeTags"]
	})
	awscalls.On(&a.Answers, func(in *elbapi.AddTagsInput) (*elbapi.AddTagsOutput, error) {
		for _, tag := range in.Tags {
			a.tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
		}
		return &elbapi.AddTagsOutput{}, a.refuse["AddTags"]
	})
	awscalls.On(&a.Answers, func(in *elbapi.RemoveTagsInput) (*elbapi.RemoveTagsOutput, error) {
		maps.DeleteFunc(a.tags, func(name, _ string) bool { return name == in.TagKeys[0] })
		return &elbapi.RemoveTagsOutput{}, a.refuse["RemoveTags"]
	})
}

func (a *protectedAccount) answerWAF() {
	awscalls.On(&a.Answers, func(in *wafv2.AssociateWebACLInput) (*wafv2.AssociateWebACLOutput, error) {
		if a.refuse["AssociateWebACL"] == nil {
			a.attached = aws.ToString(in.WebACLArn)
		}
		return &wafv2.AssociateWebACLOutput{}, a.refuse["AssociateWebACL"]
	})
	awscalls.On(&a.Answers, func(*wafv2.DisassociateWebACLInput) (*wafv2.DisassociateWebACLOutput, error) {
		if a.refuse["DisassociateWebACL"] == nil {
			a.attached = ""
		}
		return &wafv2.DisassociateWebACLOutput{}, a.refuse["DisassociateWebACL"]
	})
	awscalls.On(&a.Answers, func(*wafv2.GetWebACLForResourceInput) (*wafv2.GetWebACLForResourceOutput, error) {
		out := &wafv2.GetWebACLForResourceOutput{}
		if a.attached != "" {
			out.WebACL = &waf.WebACL{ARN: aws.String(a.attached)}
		}
		return out, a.refuse["GetWebACLForResource"]
	})
	awscalls.On(&a.Answers, func(in *wafv2.ListWebACLsInput) (*wafv2.ListWebACLsOutput, error) {
		var at int
		if _, err := fmt.Sscan(aws.ToString(in.NextMarker), &at); err != nil {
			at = 0
		}
		out := &wafv2.ListWebACLsOutput{}
		if at < len(a.pages) {
			for _, name := range a.pages[at] {
				out.WebACLs = append(out.WebACLs, waf.WebACLSummary{Name: aws.String(name), ARN: aws.String("arn:webacl/" + name)})
			}
		}
		if at+1 < len(a.pages) {
			out.NextMarker = aws.String(fmt.Sprint(at + 1))
		}
		return out, a.refuse["ListWebACLs"]
	})
}

func (a *protectedAccount) answerShield() {
	awscalls.On(&a.Answers, func(*shield.GetSubscriptionStateInput) (*shield.GetSubscriptionStateOutput, error) {
		state := shieldtypes.SubscriptionStateInactive
		if a.active {
			state = shieldtypes.SubscriptionStateActive
		}
		return &shield.GetSubscriptionStateOutput{SubscriptionState: state}, a.refuse["GetSubscriptionState"]
	})
	awscalls.On(&a.Answers, func(in *shield.CreateProtectionInput) (*shield.CreateProtectionOutput, error) {
		if a.refuse["CreateProtection"] == nil {
			a.protection = &shieldtypes.Protection{Id: aws.String("1"), Name: in.Name}
		}
		return &shield.CreateProtectionOutput{}, a.refuse["CreateProtection"]
	})
	awscalls.On(&a.Answers, func(*shield.DescribeProtectionInput) (*shield.DescribeProtectionOutput, error) {
		if a.protection == nil && a.refuse["DescribeProtection"] == nil {
			return nil, awscalls.Refused("ResourceNotFoundException", "no")
		}
		return &shield.DescribeProtectionOutput{Protection: a.protection}, a.refuse["DescribeProtection"]
	})
	awscalls.On(&a.Answers, func(*shield.DeleteProtectionInput) (*shield.DeleteProtectionOutput, error) {
		if a.refuse["DeleteProtection"] == nil {
			a.protection = nil
		}
		return &shield.DeleteProtectionOutput{}, a.refuse["DeleteProtection"]
	})
}

var seen = &lb.Observed{Key: key, Handle: handle}

// lookAt is a look at the load balancer with its tags.
func (a *protectedAccount) lookAt(deep bool) *look.Look {
	return &look.Look{
		Key: key, Deep: deep, Balancer: &elb.LoadBalancer{LoadBalancerArn: aws.String(handle)}, Tags: map[string]map[string]string{handle: a.tags},
	}
}
