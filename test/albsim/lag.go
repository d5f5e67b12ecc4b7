package albsim

import (
	"reflect"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
)

// This file is reads that lag behind writes: for a while a thing that was made is in no list, and a
// call that names it is told that there is none. AWS's services are eventually consistent, and
// publish no bound (https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html).

// listed are the fields of answers that list things, each with the field that tells them apart.
// Calls that make something answer with the same lists.
var listed = map[string]string{
	"LoadBalancers": "LoadBalancerArn", "Listeners": "ListenerArn", "Rules": "RuleArn", "TargetGroups": "TargetGroupArn",
	"SecurityGroups": "GroupId", "CertificateSummaryList": "CertificateArn",
}

// notFound is how a service says that it does not find a thing, by what the thing's ARN or ID has
// in it.
var notFound = map[string]map[string]string{
	"elasticloadbalancing": {
		":loadbalancer/": "LoadBalancerNotFound", ":listener/": "ListenerNotFound", ":listener-rule/": "RuleNotFound",
		":targetgroup/": "TargetGroupNotFound", ":certificate/": "CertificateNotFound", "sg-": "InvalidSecurityGroup",
	},
	"ec2":    {"sg-": "InvalidGroup.NotFound"},
	"acm":    {":certificate/": "ResourceNotFoundException"},
	"wafv2":  {":loadbalancer/": "WAFNonexistentItemException"},
	"shield": {":loadbalancer/": "ResourceNotFoundException"},
}

// late reports whether a thing was made too short a while ago to be seen.
func (s *Sim) late(id string) bool {
	at, made := s.madeAt[id]
	return made && s.now().Before(at.Add(s.options.Lag))
}

// unseen refuses a call that names what cannot be seen yet.
func (s *Sim) unseen(action string, in any) error {
	if s.options.Lag == 0 {
		return nil
	}
	service, _, _ := strings.Cut(action, ":")
	for _, id := range identifiers(reflect.ValueOf(in)) {
		if !s.late(id) {
			continue
		}
		for kind, code := range notFound[service] {
			if strings.Contains(id, kind) {
				return refuse(code, "One or more of what is named was not found: '%s'", id)
			}
		}
	}
	return nil
}

// settled makes an answer what is seen at the moment: what a call made is noted, and left out of
// other lists.
func (s *Sim) settled(action string, in, out any) error {
	if s.options.Lag == 0 {
		return nil
	}
	_, call, _ := strings.Cut(action, ":")
	makes := strings.HasPrefix(call, "Create") || strings.HasPrefix(call, "Import")
	v := reflect.ValueOf(out).Elem()
	if id := v.FieldByName("GroupId"); makes && id.IsValid() {
		s.noteMade(id)
	}
	if id := v.FieldByName("CertificateArn"); makes && id.IsValid() {
		s.noteMade(id)
	}
	for field, id := range listed {
		list := v.FieldByName(field)
		if !list.IsValid() {
			continue
		}
		rest := reflect.MakeSlice(list.Type(), 0, list.Len())
		for i := range list.Len() {
			if name := list.Index(i).FieldByName(id); makes {
				s.noteMade(name)
			} else if s.late(name.Elem().String()) {
				continue
			}
			rest = reflect.Append(rest, list.Index(i))
		}
		list.Set(rest)
	}
	if asked, ok := in.(*elb.DescribeLoadBalancersInput); ok && len(asked.Names) > v.FieldByName("LoadBalancers").Len() {
		return refuse("LoadBalancerNotFound", "Load balancers '%v' not found", asked.Names)
	}
	if asked, ok := in.(*elb.DescribeTargetGroupsInput); ok && len(asked.Names) > v.FieldByName("TargetGroups").Len() {
		return refuse("TargetGroupNotFound", "One or more target groups not found")
	}
	return nil
}

func (s *Sim) noteMade(id reflect.Value) {
	name := aws.ToString(id.Interface().(*string))
	if _, known := s.madeAt[name]; known {
		return
	}
	if s.madeAt == nil {
		s.madeAt = map[string]time.Time{}
	}
	s.madeAt[name] = s.now()
}

// identifiers are the ARNs and the IDs of security groups that a call names, however deep.
func identifiers(v reflect.Value) []string {
	var out []string
	switch v.Kind() {
	case reflect.String:
		if text := v.String(); strings.HasPrefix(text, "arn:") || strings.HasPrefix(text, "sg-") {
			return []string{text}
		}
	case reflect.Pointer, reflect.Interface:
		return identifiers(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				out = append(out, identifiers(v.Field(i))...)
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return nil
		}
		for i := range v.Len() {
			out = append(out, identifiers(v.Index(i))...)
		}
	default: // holds no text
	}
	return out
}
