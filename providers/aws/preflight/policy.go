package preflight

import (
	_ "embed" // the policy
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/arn"
)

// This file turns docs/iam-policy.json into questions for IAM.

// policyText is docs/iam-policy.json: test/policy writes both.
//
//go:embed policy.json
var policyText []byte

// A right is an action that a statement of the policy allows, with an example of a resource.
type right struct {
	statement string
	action    string
	resource  string
	context   map[string]string
}

// textOrList is a text or a list of texts: IAM accepts either.
type textOrList []string

// UnmarshalJSON reads a text, or a list of them.
func (t *textOrList) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*t = textOrList{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(t))
}

// policyRights returns the rights in the policy for a caller in a region, and for a cluster. It
// leaves out statements about a cluster if the cluster has no name.
func policyRights(me arn.ARN, region, cluster string) ([]right, error) {
	var policy struct {
		Statement []struct {
			Sid              string
			Action, Resource textOrList
			Condition        map[string]map[string]textOrList
		}
	}
	if err := json.Unmarshal(policyText, &policy); err != nil {
		return nil, fmt.Errorf("reading the policy: %w", err)
	}
	var out []right
	for _, s := range policy.Statement {
		if s.Sid == "ReachTargets" && cluster == "" {
			continue
		}
		known := map[string]string{}
		for _, keys := range s.Condition {
			for key, values := range keys {
				if tag, found := strings.CutSuffix(key, "/CLUSTER"); found {
					key = tag + "/" + cluster
				}
				known[key] = strings.ReplaceAll(values[0], "*", "check")
			}
		}
		for _, action := range s.Action {
			out = append(out, right{s.Sid, action, exampleResource(s.Resource, action, me, region), known})
		}
	}
	return out, nil
}

// exampleResource returns a resource on which a statement allows an action.
func exampleResource(patterns []string, action string, me arn.ARN, region string) string {
	kindOf := func(pattern string) string {
		parts := strings.SplitN(pattern, ":", 6)
		rest := strings.TrimPrefix(parts[len(parts)-1], "regional/")
		kind, _, _ := strings.Cut(rest, "/")
		return strings.ReplaceAll(kind, "-", "")
	}
	of := slices.IndexFunc(patterns, func(p string) bool {
		return strings.Contains(strings.ToLower(action), kindOf(p))
	})
	pattern := patterns[max(0, of)]
	parts := strings.SplitN(pattern, ":", 6)
	if len(parts) < 6 {
		return pattern
	}
	for at, value := range map[int]string{1: me.Partition, 3: region, 4: me.AccountID} {
		if parts[at] == "*" {
			parts[at] = value
		}
	}
	const literalStar = "${*}" // a literal star
	some := "0123456789abcdef"
	if strings.HasSuffix(parts[5], "fl-*") {
		some = "check/" + some
	}
	rest := strings.ReplaceAll(parts[5], literalStar, "\x00")
	parts[5] = strings.NewReplacer("\x00", "*", "*", some, "POOL", region+"_check").Replace(rest)
	return strings.Join(parts, ":")
}
