package albsim

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	api "github.com/aws/aws-sdk-go-v2/service/wafv2"
	waf "github.com/aws/aws-sdk-go-v2/service/wafv2/types"
)

// This file is the association of load balancers with web ACLs.

func wafCalls() map[string]handler {
	return map[string]handler{
		"AssociateWebACL":      on((*Sim).associateWebACL),
		"DisassociateWebACL":   on((*Sim).disassociateWebACL),
		"GetWebACLForResource": on((*Sim).webACLOf),
	}
}

func (s *Sim) associateWebACL(in *api.AssociateWebACLInput) (*api.AssociateWebACLOutput, error) {
	arn, acl := aws.ToString(in.ResourceArn), aws.ToString(in.WebACLArn)
	if s.loadBalancers[arn] == nil || !strings.HasPrefix(acl, "arn:aws:wafv2:"+Region+":") {
		return nil, refuse("WAFNonexistentItemException", "AWS WAF couldn't perform the operation because your resource doesn't exist.")
	}
	if lb := s.loadBalancers[arn]; s.now().Before(lb.activeAt) {
		return nil, refuse("WAFUnavailableEntityException", "AWS WAF couldn't retrieve the resource that you requested. Retry your request.")
	}
	s.webACLs[arn] = acl
	return &api.AssociateWebACLOutput{}, nil
}

func (s *Sim) disassociateWebACL(in *api.DisassociateWebACLInput) (*api.DisassociateWebACLOutput, error) {
	if s.loadBalancers[aws.ToString(in.ResourceArn)] == nil {
		return nil, refuse("WAFNonexistentItemException", "AWS WAF couldn't perform the operation because your resource doesn't exist.")
	}
	delete(s.webACLs, aws.ToString(in.ResourceArn))
	return &api.DisassociateWebACLOutput{}, nil
}

func (s *Sim) webACLOf(in *api.GetWebACLForResourceInput) (*api.GetWebACLForResourceOutput, error) {
	if s.loadBalancers[aws.ToString(in.ResourceArn)] == nil {
		return nil, refuse("WAFNonexistentItemException", "AWS WAF couldn't perform the operation because your resource doesn't exist.")
	}
	out := &api.GetWebACLForResourceOutput{}
	if acl := s.webACLs[aws.ToString(in.ResourceArn)]; acl != "" {
		out.WebACL = &waf.WebACL{ARN: aws.String(acl), Name: aws.String(acl[strings.LastIndexByte(acl, '/')+1:]), Id: aws.String("id")}
	}
	return out, nil
}
