package albsim

import (
	"maps"
	"net/http"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/aws-sdk-go-v2/service/shield"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/aws-sdk-go-v2/service/wafv2"

	"fairlead.dev/fairlead/test/albsim/iam"
	"fairlead.dev/fairlead/test/albsim/refusal"
)

// This file is what AWS asks the policies of a caller before it carries a call out: which actions,
// on what, and what is known of request and resource, as AWS's service authorization reference
// lists it.

// actionOf is the action of the call that has this input.
func actionOf(input reflect.Type) string {
	return iam.Prefix(path.Base(input.PkgPath())) + ":" + strings.TrimSuffix(input.Name(), "Input")
}

// authorize refuses a call that the test does not allow. What does not exist has no tags to be
// asked about: such a call goes on, to be told so. Who asks for its own name needs no permission.
func (s *Sim) authorize(action string, in any) error {
	if s.options.Authorize == nil || s.caller == ownersKey || action == "sts:GetCallerIdentity" {
		return nil
	}
	for _, a := range slices.Concat(s.asks(action, in), s.pools(reflect.ValueOf(in).Elem()), s.dependents(action)) {
		if !s.options.Authorize(a) {
			return denied(action, a)
		}
		s.roleMissing = s.roleMissing && a.Action != iam.CreateRole
	}
	return nil
}

// denied is how the service that was called says that an action is not allowed.
func denied(call string, a iam.Ask) error {
	service, _, _ := strings.Cut(call, ":")
	code := "AccessDeniedException"
	switch service {
	case "ec2":
		code = "UnauthorizedOperation"
	case "elasticloadbalancing", "iam", "sts":
		code = "AccessDenied"
	}
	return &refusal.Error{Code: code, Status: http.StatusForbidden, Message: "User: arn:aws:sts::" + Account + ":assumed-role/fairlead/session is not authorized to perform: " +
		a.Action + " on resource: " + a.Resource + " because no identity-based policy allows the " + a.Action + " action"}
}

// asks are what has to be allowed for a call.
func (s *Sim) asks(action string, in any) []iam.Ask {
	tags := brought(reflect.ValueOf(in).Elem())
	switch in := in.(type) {
	case *sts.GetCallerIdentityInput:
		return nil // everybody may ask who they are
	case *simulateInput:
		return []iam.Ask{s.ask(action, aws.ToString(in.PolicySourceArn), nil)}
	case *elb.CreateLoadBalancerInput:
		made := elbARN("loadbalancer/app/" + aws.ToString(in.Name) + "/new")
		return s.making(s.ask(action, made, tags), made, "elasticloadbalancing:AddTags", tags)
	case *elb.CreateTargetGroupInput:
		made := elbARN("targetgroup/" + aws.ToString(in.Name) + "/new")
		return s.making(s.ask(action, made, tags), made, "elasticloadbalancing:AddTags", tags)
	case *elb.CreateListenerInput:
		of := aws.ToString(in.LoadBalancerArn)
		made := strings.Replace(of, ":loadbalancer/", ":listener/", 1) + "/new"
		return s.making(s.ask(action, of, tags), made, "elasticloadbalancing:AddTags", tags)
	case *elb.CreateRuleInput:
		of := aws.ToString(in.ListenerArn)
		made := strings.Replace(of, ":listener/", ":listener-rule/", 1) + "/new"
		return s.making(s.ask(action, of, tags), made, "elasticloadbalancing:AddTags", tags)
	case *acm.ImportCertificateInput:
		if in.CertificateArn == nil {
			// A certificate that is requested is asked about by this ARN, as the error in
			// https://docs.aws.amazon.com/acm/latest/userguide/security_iam_troubleshoot.html shows. That
			// one that is imported is, too, is concluded from it.
			made := "arn:aws:acm:" + Region + ":" + Account + ":certificate/*"
			return s.making(s.ask(action, made, tags), made, "acm:AddTagsToCertificate", tags)
		}
	case *shield.CreateProtectionInput:
		// The action is on no resource. That the tags are asked about by this ARN is concluded from
		// certificates.
		return s.making(s.ask(action, "*", tags), protectionARN("*"), "shield:TagResource", tags)
	case *shield.DeleteProtectionInput:
		of := protectionARN(aws.ToString(in.ProtectionId))
		if _, there := s.tags[of]; !there {
			return nil
		}
		return []iam.Ask{s.ask(action, of, nil)}
	case *ec2.CreateSecurityGroupInput:
		made := ec2ARN("security-group/new")
		asks := s.making(s.ask(action, made, tags), made, "ec2:CreateTags", tags)
		return append(asks, s.ask(action, ec2ARN("vpc/"+aws.ToString(in.VpcId)), nil))
	case *wafv2.AssociateWebACLInput:
		of := aws.ToString(in.ResourceArn)
		return []iam.Ask{s.ask(action, of, nil), s.ask(action, aws.ToString(in.WebACLArn), nil), s.ask("elasticloadbalancing:CreateWebACLAssociation", of, nil)}
	case *wafv2.DisassociateWebACLInput:
		of := aws.ToString(in.ResourceArn)
		// AWS's reference has no required resource for the action
		// (https://docs.aws.amazon.com/service-authorization/latest/reference/list_awswafv2.html), and the
		// policies of the guide of WAF allow it on "*". So it may be asked about "*" alone.
		return []iam.Ask{s.ask(action, "*", nil), s.ask("elasticloadbalancing:DeleteWebACLAssociation", of, nil)}
	case *wafv2.GetWebACLForResourceInput:
		of := aws.ToString(in.ResourceArn)
		asks := []iam.Ask{s.ask(action, of, nil), s.ask("elasticloadbalancing:GetLoadBalancerWebACL", of, nil)}
		if acl := s.webACLs[of]; acl != "" {
			asks = append(asks, s.ask("wafv2:GetWebACL", acl, nil))
		}
		return asks
	}
	return s.plain(action, in, tags)
}

// making are what is asked for a call that makes something: the call itself, and, where it brings
// tags, that they may be given to what is made.
func (s *Sim) making(itself iam.Ask, made, tag string, tags map[string]string) []iam.Ask {
	if len(tags) == 0 {
		return []iam.Ask{itself}
	}
	tagging := s.ask(tag, made, tags)
	// Others have no key for it:
	// https://docs.aws.amazon.com/service-authorization/latest/reference/list_acm.html and
	// list_shield.html.
	if service, call, _ := strings.Cut(itself.Action, ":"); service == "elasticloadbalancing" || service == "ec2" {
		tagging.Context[service+":CreateAction"] = call
	}
	return []iam.Ask{itself, tagging}
}

// plain are what is asked for a call that is about what it names, or about nothing in particular.
func (s *Sim) plain(action string, in any, tags map[string]string) []iam.Ask {
	service, call, _ := strings.Cut(action, ":")
	named := subjects(reflect.ValueOf(in).Elem())
	if len(named) == 0 || service == "elasticloadbalancing" && !writes(call) {
		return []iam.Ask{s.ask(action, "*", nil)}
	}
	var out []iam.Ask
	for _, arn := range named {
		if _, there := s.tags[idOf(arn)]; there {
			out = append(out, s.ask(action, arn, tags))
		}
	}
	return out
}

// ask is an action on a resource, with the tags that this has and those that the request brings.
func (s *Sim) ask(action, resource string, tags map[string]string) iam.Ask {
	about := map[string]string{}
	for key, value := range s.tags[idOf(resource)] {
		about["aws:ResourceTag/"+key] = value
	}
	for key, value := range tags {
		about["aws:RequestTag/"+key] = value
	}
	return iam.Ask{Action: action, Resource: resource, Context: about}
}

// pools are what is asked for about the Cognito user pools that a call has users sign in at.
func (s *Sim) pools(in reflect.Value) []iam.Ask {
	var out []iam.Ask
	for _, field := range []string{"Actions", "DefaultActions"} {
		actions := in.FieldByName(field)
		if !actions.IsValid() {
			continue
		}
		for i := range actions.Len() {
			if a, ok := actions.Index(i).Interface().(types.Action); ok && a.AuthenticateCognitoConfig != nil {
				out = append(out, s.ask("cognito-idp:DescribeUserPoolClient", aws.ToString(a.AuthenticateCognitoConfig.UserPoolArn), nil))
			}
		}
	}
	return out
}

// subjects are the ARNs of what a call names.
func subjects(in reflect.Value) []string {
	var out []string
	for _, field := range []string{"LoadBalancerArn", "ListenerArn", "RuleArn", "TargetGroupArn", "CertificateArn", "GroupId", "ResourceARN"} {
		if v := in.FieldByName(field); v.IsValid() && !v.IsNil() {
			out = append(out, arnOf(v.Elem().String()))
		}
	}
	for _, field := range []string{"ResourceArns", "Resources"} {
		if v := in.FieldByName(field); v.IsValid() {
			for i := range v.Len() {
				out = append(out, arnOf(v.Index(i).String()))
			}
		}
	}
	if pairs := in.FieldByName("RulePriorities"); pairs.IsValid() {
		for i := range pairs.Len() {
			out = append(out, pairs.Index(i).FieldByName("RuleArn").Elem().String())
		}
	}
	return out
}

// brought are the tags that a call brings.
func brought(in reflect.Value) map[string]string {
	out := map[string]string{}
	if tags := in.FieldByName("Tags"); tags.IsValid() {
		for i := range tags.Len() {
			out[text(tags.Index(i), "Key")] = text(tags.Index(i), "Value")
		}
	}
	if specs := in.FieldByName("TagSpecifications"); specs.IsValid() {
		for i := range specs.Len() {
			maps.Copy(out, brought(specs.Index(i)))
		}
	}
	return out
}

// text is a field that may be left out.
func text(in reflect.Value, field string) string {
	if v := in.FieldByName(field); !v.IsNil() {
		return v.Elem().String()
	}
	return ""
}

// arnOf is the ARN of what a call names by its ID.
func arnOf(id string) string {
	if strings.HasPrefix(id, "sg-") {
		return ec2ARN("security-group/" + id)
	}
	return id
}

// idOf is what the simulator calls the resource of an ARN.
func idOf(arn string) string {
	if at := strings.Index(arn, ":security-group/"); at >= 0 {
		return arn[at+len(":security-group/"):]
	}
	return arn
}

func ec2ARN(resource string) string { return "arn:aws:ec2:" + Region + ":" + Account + ":" + resource }

// dependents are what is asked for a call about nothing in particular, and about the role that AWS
// makes for itself at the first load balancer of an account.
func (s *Sim) dependents(call string) []iam.Ask {
	var out []iam.Ask
	for _, d := range iam.Dependents {
		if d.Call != call || !slices.Contains([]string{iam.APIPermissions, iam.GroupsForVPC, iam.LinkedRole}, d.Source) {
			continue
		}
		for _, action := range d.Needs {
			switch {
			case action != iam.CreateRole:
				out = append(out, s.ask(action, "*", nil))
			case s.roleMissing:
				a := s.ask(action, "arn:aws:iam::"+Account+":role/aws-service-role/elasticloadbalancing.amazonaws.com/AWSServiceRoleForElasticLoadBalancing", nil)
				a.Context["iam:AWSServiceName"] = "elasticloadbalancing.amazonaws.com"
				out = append(out, a)
			}
		}
	}
	return out
}
