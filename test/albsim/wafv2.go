package albsim

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	api "github.com/aws/aws-sdk-go-v2/service/wafv2"
	waf "github.com/aws/aws-sdk-go-v2/service/wafv2/types"
)

// This file is web ACLs, and that they stand before load balancers.

func wafCalls() map[string]handler {
	return map[string]handler{
		"AssociateWebACL":      on((*Sim).associateWebACL),
		"DisassociateWebACL":   on((*Sim).disassociateWebACL),
		"GetWebACLForResource": on((*Sim).webACLOf),
		"ListWebACLs":          on((*Sim).listWebACLs),
	}
}

// AddWebACL makes a regional web ACL, and returns its ARN.
func (s *Sim) AddWebACL(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := s.nextID()
	id = fmt.Sprintf("%s-%s-4000-8000-%s", id[:8], id[8:12], id[4:])
	arn := "arn:aws:wafv2:" + Region + ":" + Account + ":regional/webacl/" + name + "/" + id
	s.acls = append(s.acls, waf.WebACLSummary{ARN: aws.String(arn), Name: aws.String(name), Id: aws.String(id), LockToken: aws.String(id)})
	return arn
}

// RemoveWebACL deletes a web ACL. One that stands before a load balancer is in use.
func (s *Sim) RemoveWebACL(arn string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, used := range s.webACLs {
		if used == arn {
			return refuse("WAFAssociatedItemException", "AWS WAF couldn't perform the operation because your resource is being used by another resource or it's associated with another resource.")
		}
	}
	s.acls = slices.DeleteFunc(s.acls, func(a waf.WebACLSummary) bool { return aws.ToString(a.ARN) == arn })
	return nil
}

// webACLARN is what the ARNs of web ACLs look like.
var webACLARN = regexp.MustCompile(`^arn:aws:wafv2:[a-z0-9-]+:[0-9]{12}:(regional|global)/webacl/[\w-]{1,128}/[0-9a-f-]{36}$`)

func noWAFItem() error {
	return refuse("WAFNonexistentItemException", "AWS WAF couldn't perform the operation because your resource doesn't exist.")
}

func badWAFParameter(what, value string) error {
	return refuse("WAFInvalidParameterException", "Error reason: The ARN isn't valid. A valid ARN begins with arn: and includes other information separated by colons or slashes., field: %s, parameter: %s", what, value)
}

// guarded is the load balancer that a call is about.
func (s *Sim) guarded(arn string) (*loadBalancer, error) {
	if !strings.HasPrefix(arn, elbARN("loadbalancer/app/")) {
		return nil, badWAFParameter("RESOURCE_ARN", arn)
	}
	l := s.loadBalancers[arn]
	if l == nil {
		return nil, noWAFItem()
	}
	return l, nil
}

func (s *Sim) associateWebACL(in *api.AssociateWebACLInput) (*api.AssociateWebACLOutput, error) {
	arn, acl := aws.ToString(in.ResourceArn), aws.ToString(in.WebACLArn)
	l, err := s.guarded(arn)
	switch {
	case err != nil:
		return nil, err
	case !webACLARN.MatchString(acl), !strings.HasPrefix(acl, "arn:aws:wafv2:"+Region+":"+Account+":regional/"):
		return nil, badWAFParameter("WEB_ACL_ARN", acl)
	case !slices.ContainsFunc(s.acls, func(a waf.WebACLSummary) bool { return aws.ToString(a.ARN) == acl }):
		return nil, noWAFItem()
	case s.now().Before(l.activeAt):
		return nil, refuse("WAFUnavailableEntityException", "AWS WAF couldn't retrieve the resource that you requested. Retry your request.")
	}
	s.webACLs[arn] = acl
	return &api.AssociateWebACLOutput{}, nil
}

func (s *Sim) disassociateWebACL(in *api.DisassociateWebACLInput) (*api.DisassociateWebACLOutput, error) {
	if _, err := s.guarded(aws.ToString(in.ResourceArn)); err != nil {
		return nil, err
	}
	delete(s.webACLs, aws.ToString(in.ResourceArn))
	return &api.DisassociateWebACLOutput{}, nil
}

func (s *Sim) webACLOf(in *api.GetWebACLForResourceInput) (*api.GetWebACLForResourceOutput, error) {
	if _, err := s.guarded(aws.ToString(in.ResourceArn)); err != nil {
		return nil, err
	}
	out := &api.GetWebACLForResourceOutput{}
	for _, a := range s.acls {
		if aws.ToString(a.ARN) == s.webACLs[aws.ToString(in.ResourceArn)] {
			out.WebACL = &waf.WebACL{ARN: a.ARN, Name: a.Name, Id: a.Id}
		}
	}
	return out, nil
}

func (s *Sim) listWebACLs(in *api.ListWebACLsInput) (*api.ListWebACLsOutput, error) {
	limit := aws.ToInt32(in.Limit)
	switch {
	case in.Scope != waf.ScopeRegional:
		return nil, refuse("WAFInvalidParameterException", "Error reason: The scope is not valid., field: SCOPE_VALUE, parameter: %s", in.Scope)
	case limit < 1 || limit > 100:
		return nil, refuse("ValidationException", "1 validation error detected: Value at 'limit' failed to satisfy constraint: Member must have value less than or equal to 100")
	}
	from := 0
	if in.NextMarker != nil {
		from = 1 + slices.IndexFunc(s.acls, func(a waf.WebACLSummary) bool { return aws.ToString(a.Name) == *in.NextMarker })
	}
	out := &api.ListWebACLsOutput{WebACLs: s.acls[from:min(from+int(limit), len(s.acls))]}
	if len(out.WebACLs) == int(limit) { // there may be no more
		out.NextMarker = out.WebACLs[limit-1].Name
	}
	return out, nil
}
