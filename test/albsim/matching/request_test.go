package matching

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

func TestQueriesWithBackslashes(t *testing.T) {
	for value, want := range map[string]map[string]bool{
		`\*`:    {"*": true, "a": false, `\a`: false, `\*`: false},
		`\?a*`:  {"?a": true, "?abc": true, "xa": false},
		`a\.\*`: {`a\.*`: true, "a.x": false, `a\.x`: false},
		"*":     {"anything": true, "": true},
	} {
		c := []elb.RuleCondition{{Field: aws.String("query-string"), QueryStringConfig: &elb.QueryStringConditionConfig{Values: []elb.QueryStringKeyValuePair{
			{Key: aws.String("v"), Value: aws.String(value)}}}}}
		for sent, fits := range want {
			if got := Match(c, Request{Query: "x=1&v=" + sent}, Reading{}); got != fits {
				t.Errorf("%s takes %s: %t, want %t", value, sent, got, fits)
			}
		}
	}
}

func TestNormalisedPaths(t *testing.T) {
	all := Reading{Decoded: true, Resolved: true, Merged: true}
	for _, c := range []struct {
		how        Reading
		path, want string
	}{
		{Reading{}, "/a//b/../c%2f.", "/a//b/../c%2f."},
		{Reading{Merged: true}, "//a///b//", "/a/b/"},
		{Reading{Resolved: true}, "/a/./b/../c", "/a/c"},
		{Reading{Resolved: true}, "/../../a", "/a"},
		{Reading{Resolved: true}, "/a/b/..", "/a/"},
		{Reading{Resolved: true}, "/a/.", "/a/"},
		{Reading{Resolved: true}, "/..", "/"},
		{Reading{Resolved: true}, "/a//../b", "/a/b"},
		{Reading{Resolved: true}, "/a/%2e%2e/b", "/a/%2e%2e/b"},
		{Reading{Decoded: true}, "/a/%2e%2e/b", "/a/../b"},
		{all, "/a/%2e%2e//b%2Fc", "/b/c"},
		{all, "/%zz/../a", "/a"},
	} {
		if got := c.how.Normalised(c.path); got != c.want {
			t.Errorf("%+v: %s is %s, want %s", c.how, c.path, got, c.want)
		}
	}
}
