package albsim

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	api "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// This file is what the calls of Elastic Load Balancing have in common.

func elbCalls() map[string]handler {
	return map[string]handler{
		"CreateLoadBalancer":             on((*Sim).createLoadBalancer),
		"DescribeLoadBalancers":          on((*Sim).describeLoadBalancers),
		"DeleteLoadBalancer":             on((*Sim).deleteLoadBalancer),
		"SetSecurityGroups":              on((*Sim).setSecurityGroups),
		"SetSubnets":                     on((*Sim).setSubnets),
		"SetIpAddressType":               on((*Sim).setIPAddressType),
		"DescribeLoadBalancerAttributes": on((*Sim).describeLoadBalancerAttributes),
		"ModifyLoadBalancerAttributes":   on((*Sim).modifyLoadBalancerAttributes),

		"CreateListener":               on((*Sim).createListener),
		"DescribeListeners":            on((*Sim).describeListeners),
		"ModifyListener":               on((*Sim).modifyListener),
		"DeleteListener":               on((*Sim).deleteListener),
		"AddListenerCertificates":      on((*Sim).addListenerCertificates),
		"RemoveListenerCertificates":   on((*Sim).removeListenerCertificates),
		"DescribeTrustStores":          on((*Sim).describeTrustStores),
		"DescribeListenerCertificates": on((*Sim).describeListenerCertificates),
		"DescribeListenerAttributes":   on((*Sim).describeListenerAttributes),
		"ModifyListenerAttributes":     on((*Sim).modifyListenerAttributes),

		"CreateRule":        on((*Sim).createRule),
		"DescribeRules":     on((*Sim).describeRules),
		"ModifyRule":        on((*Sim).modifyRule),
		"DeleteRule":        on((*Sim).deleteRule),
		"SetRulePriorities": on((*Sim).setRulePriorities),

		"CreateTargetGroup":             on((*Sim).createTargetGroup),
		"DescribeTargetGroups":          on((*Sim).describeTargetGroups),
		"ModifyTargetGroup":             on((*Sim).modifyTargetGroup),
		"DeleteTargetGroup":             on((*Sim).deleteTargetGroup),
		"DescribeTargetGroupAttributes": on((*Sim).describeTargetGroupAttributes),
		"ModifyTargetGroupAttributes":   on((*Sim).modifyTargetGroupAttributes),
		"RegisterTargets":               on((*Sim).registerTargets),
		"DeregisterTargets":             on((*Sim).deregisterTargets),
		"DescribeTargetHealth":          on((*Sim).describeTargetHealth),

		"AddTags":               on((*Sim).addTags),
		"RemoveTags":            on((*Sim).removeTags),
		"DescribeTags":          on((*Sim).describeTags),
		"DescribeAccountLimits": on((*Sim).describeAccountLimits),
	}
}

func elbARN(resource string) string {
	return fmt.Sprintf("arn:aws:elasticloadbalancing:%s:%s:%s", Region, Account, resource)
}

// nameRule is what names of load balancers and target groups look like.
var nameRule = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?$`)

func checkName(kind, name string) error {
	switch {
	case name == "":
		return refuse("ValidationError", "A %s name must be specified", kind)
	case len(name) > 32:
		return refuse("ValidationError", "%s name '%s' cannot be longer than '32' characters", kind, name)
	case !nameRule.MatchString(name):
		return refuse("ValidationError", "%s name '%s' can only contain characters that are alphanumeric characters or hyphens(-) and must not begin or end with a hyphen", kind, name)
	case strings.HasPrefix(name, "internal-"):
		return refuse("ValidationError", "%s name '%s' must not begin with 'internal-'", kind, name)
	}
	return nil
}

// page is a part of a list, and the marker of the next part.
func page[T any](all []T, marker *string, size *int32, usual int) ([]T, *string, error) {
	from := 0
	if marker != nil {
		n, err := strconv.Atoi(*marker)
		if err != nil || n < 0 || n > len(all) {
			return nil, nil, refuse("ValidationError", "Invalid marker '%s'", *marker)
		}
		from = n
	}
	if size != nil && (*size < 1 || *size > 400) {
		return nil, nil, refuse("ValidationError", "Page size must be between 1 and 400")
	}
	to := from + int(cmp.Or(aws.ToInt32(size), int32(usual)))
	if to >= len(all) {
		return all[from:], nil, nil
	}
	return all[from:to], aws.String(strconv.Itoa(to)), nil
}

// setTags notes the tags of a new resource.
func (s *Sim) setTags(id string, tags []elb.Tag) error {
	if err := checkTags(nil, tags); err != nil {
		return err
	}
	s.tags[id] = map[string]string{}
	for _, t := range tags {
		s.tags[id][aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	return nil
}

var tagCharacters = regexp.MustCompile(`^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$`)

// validTag reports whether AWS takes a tag.
func validTag(key, value string) bool {
	return key != "" && utf8.RuneCountInString(key) <= 128 && utf8.RuneCountInString(value) <= 256 && !strings.HasPrefix(strings.ToLower(key), "aws:") &&
		tagCharacters.MatchString(key) && tagCharacters.MatchString(value)
}

// checkTags checks tags that are to be added to others.
func checkTags(have map[string]string, tags []elb.Tag) error {
	count := len(have)
	seen := map[string]bool{}
	for _, t := range tags {
		key, value := aws.ToString(t.Key), aws.ToString(t.Value)
		switch {
		case seen[key]:
			return refuse("DuplicateTagKeys", "Tag keys must be unique: '%s'", key)
		case !validTag(key, value):
			return refuse("ValidationError", "Tag '%s' with value '%s' is not valid", key, value)
		}
		seen[key] = true
		if _, known := have[key]; !known {
			count++
		}
	}
	if count > 50 {
		return refuse("TooManyTags", "The quota for the number of tags that can be assigned to this resource has been reached: 50")
	}
	return nil
}

// tagged refuses a resource that does not exist.
func (s *Sim) tagged(arn string) (map[string]string, error) {
	if tags, ok := s.tags[arn]; ok && strings.Contains(arn, ":elasticloadbalancing:") {
		return tags, nil
	}
	switch {
	case strings.Contains(arn, ":loadbalancer/"):
		return nil, refuse("LoadBalancerNotFound", "Load balancer '%s' not found", arn)
	case strings.Contains(arn, ":targetgroup/"):
		return nil, refuse("TargetGroupNotFound", "Target group '%s' not found", arn)
	case strings.Contains(arn, ":listener/"):
		return nil, refuse("ListenerNotFound", "Listener '%s' not found", arn)
	case s.ofDefaultRule(arn):
		return map[string]string{}, nil
	case strings.Contains(arn, ":listener-rule/"):
		return nil, refuse("RuleNotFound", "Rule '%s' not found", arn)
	}
	return nil, refuse("ValidationError", "'%s' is not a valid resource ARN", arn)
}

// ofDefaultRule reports whether an ARN is that of a listener's default rule. It is in the answers of DescribeRules, has no
// tags when the listener is made, and is one of the rules that DescribeTags answers for:
// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_DescribeTags.html.
func (s *Sim) ofDefaultRule(arn string) bool {
	listener, is := strings.CutSuffix(strings.Replace(arn, ":listener-rule/", ":listener/", 1), "/default")
	return is && s.listeners[listener] != nil
}

func (s *Sim) addTags(in *api.AddTagsInput) (*api.AddTagsOutput, error) {
	for _, arn := range in.ResourceArns {
		have, err := s.tagged(arn)
		if err != nil {
			return nil, err
		}
		if err := checkTags(have, in.Tags); err != nil {
			return nil, err
		}
	}
	for _, arn := range in.ResourceArns {
		if s.tags[arn] == nil {
			s.tags[arn] = map[string]string{}
		}
		for _, t := range in.Tags {
			s.tags[arn][aws.ToString(t.Key)] = aws.ToString(t.Value)
		}
	}
	return &api.AddTagsOutput{}, nil
}

func (s *Sim) removeTags(in *api.RemoveTagsInput) (*api.RemoveTagsOutput, error) {
	for _, arn := range in.ResourceArns {
		tags, err := s.tagged(arn)
		if err != nil {
			return nil, err
		}
		for _, key := range in.TagKeys {
			delete(tags, key)
		}
	}
	return &api.RemoveTagsOutput{}, nil
}

func (s *Sim) describeTags(in *api.DescribeTagsInput) (*api.DescribeTagsOutput, error) {
	if len(in.ResourceArns) > 20 {
		return nil, refuse("ValidationError", "You cannot describe tags of more than '20' resources at a time")
	}
	out := &api.DescribeTagsOutput{TagDescriptions: []elb.TagDescription{}}
	for _, arn := range in.ResourceArns {
		tags, err := s.tagged(arn)
		if err != nil {
			return nil, err
		}
		out.TagDescriptions = append(out.TagDescriptions, elb.TagDescription{ResourceArn: aws.String(arn), Tags: elbTags(tags)})
	}
	return out, nil
}

func elbTags(tags map[string]string) []elb.Tag {
	out := []elb.Tag{}
	for _, key := range sortedKeys(tags) {
		out = append(out, elb.Tag{Key: aws.String(key), Value: aws.String(tags[key])})
	}
	return out
}

func (s *Sim) describeAccountLimits(in *api.DescribeAccountLimitsInput) (*api.DescribeAccountLimitsOutput, error) {
	l := s.options.Limits
	var limits []elb.Limit
	for _, row := range []struct {
		name string
		most int
	}{
		{"application-load-balancers", l.LoadBalancers},
		{"rules-per-application-load-balancer", l.RulesPerLoadBalancer},
		{"target-groups-per-application-load-balancer", l.TargetGroupsPerLoadBalancer},
		{"target-groups", l.TargetGroups},
		{"listeners-per-application-load-balancer", l.ListenersPerLoadBalancer},
		{"certificates-per-application-load-balancer", l.CertificatesPerLoadBalancer},
		{"targets-per-application-load-balancer", l.TargetsPerLoadBalancer},
		{"targets-per-target-group", l.TargetsPerGroup},
		{"condition-values-per-alb-rule", l.ValuesPerRule},
		{"condition-wildcards-per-alb-rule", l.WildcardsPerRule},
		{"target-groups-per-action-on-application-load-balancer", l.GroupsPerAction},
	} {
		limits = append(limits, elb.Limit{Name: aws.String(row.name), Max: aws.String(strconv.Itoa(row.most))})
	}
	part, next, err := page(limits, in.Marker, in.PageSize, 400)
	if err != nil {
		return nil, err
	}
	return &api.DescribeAccountLimitsOutput{Limits: part, NextMarker: next}, nil
}

// selected are the resources of some ARNs, or all of them, in the order in which they were made.
func selected[T any](all map[string]T, arns []string, missing func(string) error, serial func(T) int) ([]T, error) {
	var out []T
	for _, arn := range arns {
		found, ok := all[arn]
		if !ok {
			return nil, missing(arn)
		}
		out = append(out, found)
	}
	if arns == nil {
		for _, item := range all {
			out = append(out, item)
		}
		slices.SortFunc(out, func(a, b T) int { return serial(a) - serial(b) })
	}
	return out, nil
}
