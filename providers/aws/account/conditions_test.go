package account

import (
	"errors"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/test/awscalls"
)

// This file has conditions refused, and taken before.

// Conditions that AWS may not take.
var (
	plain   = condition(nil, "/a", "/b", "/c")
	crowded = condition(nil, "/a", "/b", "/c", "/d")
	regular = condition([]string{"^/a$"})
	both    = condition([]string{"^/a$", "^/b$"}, "/c", "/d")
)

func condition(regex []string, values ...string) []elb.RuleCondition {
	return []elb.RuleCondition{{
		Field: aws.String("path-pattern"), PathPatternConfig: &elb.PathPatternConditionConfig{Values: values, RegexValues: regex},
	}}
}

// supporting notes the tags that are written. An endpoint is one that the settings name.
func supporting(endpoint string, tags map[string]string, denied bool) *ConditionSupport {
	return NewConditionSupport(client.API{ELB: elbapi.NewFromConfig(awscalls.Config(func(in any) (any, error) {
		for _, t := range in.(*elbapi.AddTagsInput).Tags {
			tags[aws.ToString(t.Key)] = aws.ToString(t.Value)
		}
		if denied {
			return nil, awscalls.Refused("AccessDenied", "no tags")
		}
		return &elbapi.AddTagsOutput{}, nil
	}), func(o *elbapi.Options) {
		if endpoint != "" {
			o.BaseEndpoint = aws.String(endpoint)
		}
	})})
}

// limited returns what conditions are limited to: the values, and whether expressions are refused.
func limited(s *ConditionSupport) (values int, none bool) {
	class, c := lb.Class{ValuesPerCondition: 5}, lb.Capabilities{ValuesPerCondition: 5}
	s.Limit(&class, &c)
	if class.ValuesPerCondition != c.ValuesPerCondition {
		return -1, class.NoRegularExpressions
	}
	return c.ValuesPerCondition, class.NoRegularExpressions
}

const (
	commercial = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:loadbalancer/app/fl-a/1"
	china      = "arn:aws-cn:elasticloadbalancing:cn-north-1:123456789012:loadbalancer/app/fl-a/1"
	local      = "http://localhost:4566"
)

// failing is an answer with a status and no code of AWS.
func failing(status int, err error) error {
	return &smithyhttp.ResponseError{Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status}}, Err: err}
}

func TestConditionsThatAreRefused(t *testing.T) {
	invalid := awscalls.Refused("ValidationError", "invalid")
	invalidValues := awscalls.Refused("ValidationError", "too many Values")
	named := awscalls.Refused("ValidationError", "unknown parameter RegexValues")
	empty := errors.New("empty answer")
	for name, c := range map[string]struct {
		err        error
		conditions []elb.RuleCondition
		handle     string
		endpoint   string
		transforms bool
		taken      []elb.RuleCondition // before
		denied     bool                // the tag
		pending    bool
		values     int // per condition from now on; 0 for as many as before
		none       bool
	}{
		"many values":                    {err: invalidValues, conditions: crowded, pending: true, values: FewestValues},
		"evaluations":                    {err: awscalls.Refused("ValidationError", "three match evaluations"), conditions: crowded, pending: true, values: FewestValues},
		"a condition":                    {err: awscalls.Refused("InvalidRequest", "a condition is invalid"), conditions: both, pending: true, values: FewestValues},
		"the tag is denied":              {err: invalidValues, conditions: crowded, denied: true, pending: true, values: FewestValues},
		"few values":                     {err: invalidValues, conditions: plain},
		"no right":                       {err: awscalls.Refused("AccessDenied", "values"), conditions: crowded},
		"something else":                 {err: invalid, conditions: crowded},
		"many were taken":                {err: invalidValues, conditions: crowded, taken: crowded},
		"few were taken":                 {err: invalidValues, conditions: crowded, taken: plain, pending: true, values: FewestValues},
		"expressions elsewhere":          {err: invalid, conditions: regular, handle: china, pending: true, none: true},
		"expressions, the tag is denied": {err: invalid, conditions: regular, handle: china, denied: true, pending: true, none: true},
		"expressions that are named":     {err: named, conditions: regular, pending: true, none: true},
		"expressions that are not named": {err: invalid, conditions: regular},
		"no expressions elsewhere":       {err: invalid, conditions: plain, handle: china},
		"no right elsewhere":             {err: awscalls.Refused("AccessDenied", "no"), conditions: regular, handle: china},
		"a rewrite elsewhere":            {err: invalid, conditions: regular, handle: china, transforms: true},
		"expressions that were taken":    {err: invalid, conditions: regular, handle: china, taken: regular},
		"no expressions were taken":      {err: invalid, conditions: regular, handle: china, taken: plain, pending: true, none: true},
		"an endpoint fails":              {err: failing(500, empty), conditions: regular, endpoint: local, none: true},
		"an endpoint fails for AWS's reason": {
			err: failing(500, awscalls.Refused("InternalFailure", "later")), conditions: regular, endpoint: local,
		},
		"an endpoint is not there":    {err: failing(404, empty), conditions: regular, endpoint: local},
		"an endpoint does not answer": {err: errors.New("connection refused"), conditions: regular, endpoint: local},
		"AWS fails":                   {err: failing(500, empty), conditions: regular},
	} {
		t.Run(name, func(t *testing.T) {
			tags := map[string]string{}
			s := supporting(c.endpoint, tags, c.denied)
			handle := commercial
			if c.handle != "" {
				handle = c.handle
			}
			seen := &lb.Observed{Handle: handle}
			if err := s.Adapt(t.Context(), seen, c.taken, false, nil); err != nil {
				t.Fatal(err)
			}
			err := s.Adapt(t.Context(), seen, c.conditions, c.transforms, c.err)
			if errors.Is(err, providers.ErrPending) != c.pending || !c.pending && !errors.Is(err, c.err) || errors.Is(err, providers.ErrDenied) != c.denied {
				t.Errorf("the error is %v", err)
			}
			want := map[string]string{}
			values := 5
			if c.values > 0 {
				want[tagValues], values = "3", c.values
			}
			if c.none {
				want[tagExpressions] = noExpressions
			}
			if diff := cmp.Diff(want, tags); diff != "" {
				t.Errorf("tags (-want +got):\n%s", diff)
			}
			if got, none := limited(s); got != values || none != c.none {
				t.Errorf("conditions have %d values from now on, want %d; no expressions: %v", got, values, none)
			}
			// The next operator reads it in the tags.
			next := supporting("", nil, false)
			next.Learn(tags, nil)
			if got, none := limited(next); got != values || none != c.none {
				t.Errorf("conditions of the next operator have %d values, want %d; no expressions: %v", got, values, none)
			}
		})
	}
}

// A rule that exists says which conditions AWS takes.
func TestConditionsOfRulesThatExist(t *testing.T) {
	for name, c := range map[string]struct {
		conditions          []elb.RuleCondition
		values, expressions bool
	}{
		"few values":  {plain, false, false},
		"many values": {crowded, true, false},
		"both":        {both, true, true},
		"a host":      {[]elb.RuleCondition{{HostHeaderConfig: &elb.HostHeaderConditionConfig{RegexValues: []string{"^a$"}}}}, false, true},
		"a header":    {[]elb.RuleCondition{{HttpHeaderConfig: &elb.HttpHeaderConditionConfig{RegexValues: []string{"^a$"}}}}, false, true},
		"a path":      {regular, false, true},
		"no regular expressions": {[]elb.RuleCondition{
			{HostHeaderConfig: &elb.HostHeaderConditionConfig{Values: []string{"a"}}}, {HttpHeaderConfig: &elb.HttpHeaderConditionConfig{Values: []string{"a"}}},
		}, false, false},
	} {
		s := supporting("", nil, false)
		s.Learn(nil, map[string][]elb.Rule{"arn:listener": {{Conditions: c.conditions}}})
		if s.tookValues.Load() != c.values || s.tookExpressions.Load() != c.expressions {
			t.Errorf("%s: many values are taken: %v, expressions are taken: %v", name, s.tookValues.Load(), s.tookExpressions.Load())
		}
	}
}

// A class that allows fewer keeps its limits.
func TestLimitsOfAClassStay(t *testing.T) {
	s := supporting("", nil, false)
	class := lb.Class{NoRegularExpressions: true, ValuesPerCondition: 1}
	s.Limit(&class, &lb.Capabilities{})
	s.Learn(map[string]string{tagValues: "3"}, nil)
	s.Limit(&class, &lb.Capabilities{})
	if !class.NoRegularExpressions || class.ValuesPerCondition != 1 {
		t.Errorf("%+v", class)
	}
}
