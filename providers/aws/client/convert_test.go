package client

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// What is said in AWS's words and understood again is what it was.
func TestRulesAreUnderstoodAsTheyWereSaid(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 7))
	arn := func(id lb.GroupID) (string, error) { return "arn:" + string(id), nil }
	id := func(arn string) lb.GroupID { return lb.GroupID(strings.TrimPrefix(arn, "arn:")) }
	for range 5000 {
		want := lb.Rule{Conditions: randomConditions(rng), Action: randomAction(rng)}
		actions, err := ToActions(want.Action, arn)
		if err != nil {
			t.Fatal(err)
		}
		got := FromRule(elb.Rule{
			Conditions: shuffled(rng, ToConditions(want.Conditions)), Actions: shuffled(rng, actions),
			Transforms: shuffled(rng, ToTransforms(want.Action.Rewrite)),
		}, id)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("said (-) and understood (+):\n%s", diff)
		}
		if want.Key() != got.Key() {
			t.Fatalf("%s was understood as %s", want.Key(), got.Key())
		}
	}
}

func shuffled[T any](rng *rand.Rand, all []T) []T {
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// randomConditions are in canonical order, as those of rules are.
func randomConditions(rng *rand.Rand) []lb.Condition {
	some := func(values ...string) []string {
		return slices.Sorted(slices.Values(shuffled(rng, values)[:1+rng.IntN(len(values))]))
	}
	var out []lb.Condition
	add := func(c lb.Condition) {
		if rng.IntN(2) == 0 {
			out = append(out, c)
		}
	}
	add(lb.Condition{Field: "host", Values: some("a.test", "*.b.test")})
	if rng.IntN(2) == 0 {
		add(lb.Condition{Field: "path", Values: some("/a", "/b/*", "/c?d")})
	} else {
		add(lb.Condition{Field: "path", Regex: some("^/a$", "^/(b|c)(/.*)?$")})
	}
	add(lb.Condition{Field: "header", Name: "x-a", Values: some("1", "2*", "?3")})
	add(lb.Condition{Field: "header", Name: "x-b", Values: some("1", "2")})
	add(lb.Condition{Field: "method", Values: some("GET", "POST")})
	add(lb.Condition{Field: "query", Name: "v", Values: some("1", "2")})
	add(lb.Condition{Field: "query", Name: "w", Values: some("*")})
	add(lb.Condition{Field: "source", Values: some("10.0.0.0/8", "::/0")})
	return out
}

func randomAction(rng *rand.Rand) lb.Action {
	maybe := func(value string) string {
		if rng.IntN(2) == 0 {
			return ""
		}
		return value
	}
	var a routing.Action
	switch rng.IntN(3) {
	case 0:
		a.Fixed = &routing.Fixed{Status: 200 + rng.IntN(300)}
		if a.Fixed.Body = maybe("gone"); a.Fixed.Body != "" {
			a.Fixed.ContentType = "text/plain"
		}
	case 1:
		a.Redirect = &routing.Redirect{Status: 301 + rng.IntN(2), Scheme: maybe("https"), Host: maybe("b.test"), Port: maybe("8443"), Path: maybe("/new/#{path}"), Query: maybe("a=b")}
	default:
		for i := range 1 + rng.IntN(5) {
			a.Forward = append(a.Forward, routing.Weighted{Backend: routing.BackendID(fmt.Sprintf("shop/web-%d:80", i)), Weight: int32(rng.IntN(1000))})
		}
		a.StickySeconds = int32(rng.IntN(2) * 3600)
		if r := (routing.Rewrite{URL: maybe("^/a(/.*)?$"), Host: maybe("^(.*)$")}); r != (routing.Rewrite{}) {
			if r.URL != "" {
				r.URLReplacement = "/$1"
			}
			if r.Host != "" {
				r.HostReplacement = "b.$1"
			}
			a.Rewrite = &r
		}
	}
	if rng.IntN(2) == 0 {
		a.Auth = randomAuth(rng, maybe)
	}
	return lb.FromRouting(a)
}

// randomAuth has no secret: AWS tells none.
func randomAuth(rng *rand.Rand, maybe func(string) string) *routing.Auth {
	out := &routing.Auth{Kind: []string{routing.OIDC, routing.Cognito, routing.JWT}[rng.IntN(3)]}
	if out.Kind != routing.Cognito {
		out.Issuer = "https://idp.test"
	}
	if out.Kind == routing.JWT {
		out.KeysEndpoint = "https://idp.test/keys"
		for i := range rng.IntN(3) {
			out.Claims = append(out.Claims, routing.Claim{Name: fmt.Sprint("claim-", i), Format: "string-array", Values: []string{"a", "b"}})
		}
		return out
	}
	out.ClientID, out.OnMissing, out.Scope, out.Cookie, out.TimeoutSeconds = "me", "deny", "openid", "cookie", int64(1+rng.IntN(100))
	if value := maybe("x"); value != "" {
		out.Parameters = map[string]string{"prompt": value}
	}
	if out.Kind == routing.OIDC {
		out.AuthorizationEndpoint, out.TokenEndpoint, out.UserInfoEndpoint = "https://idp.test/a", "https://idp.test/t", "https://idp.test/u"
	} else {
		out.UserPool, out.UserPoolDomain = "arn:aws:cognito-idp:eu-west-1:1:userpool/a", "pool"
	}
	return out
}

func TestWhatFairleadDoesNotSayIsLikeNothingThatIsWanted(t *testing.T) {
	pair := func(key, value string) elb.QueryStringKeyValuePair {
		return elb.QueryStringKeyValuePair{Key: aws.String(key), Value: aws.String(value)}
	}
	mixed := FromConditions([]elb.RuleCondition{{Field: aws.String("query-string"), QueryStringConfig: &elb.QueryStringConditionConfig{
		Values: []elb.QueryStringKeyValuePair{pair("v", "1"), pair("w=x", "2")},
	}}})
	if slices.Contains(lb.Fields, mixed[0].Field) {
		t.Errorf("a parameter with an equals sign, beside another one, is understood as %v", mixed)
	}
}

// TestHealthChecksAreReadBackAsWritten has a different value in each field, so that a field that is
// left out or written in place of another one shows.
func TestHealthChecksAreReadBackAsWritten(t *testing.T) {
	want := routing.HealthCheck{
		Path: "/ready", Port: "8081", Protocol: "HTTPS", IntervalSeconds: 15, TimeoutSeconds: 5,
		HealthyThreshold: 2, UnhealthyThreshold: 3, SuccessCodes: "12",
	}
	for _, version := range []routing.Version{routing.VersionHTTP1, routing.VersionGRPC} {
		got := FromHealth(ToHealth(lb.TargetGroup{Version: version, Health: want}))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", version, diff)
		}
	}
}
