package proof

import (
	"testing"

	"fairlead.dev/fairlead/model/check"
)

// A partition of AWS that has no regular expressions is told from an answer that is not as
// documented.
func TestExpressionsMayBeAbsentFromAPartition(t *testing.T) {
	const balancer = ":elasticloadbalancing:us-gov-west-1:123456789012:loadbalancer/app/fl-prove/0123456789abcdef"
	for _, c := range []struct {
		balancer string
		got      answer
		want     check.State
	}{
		{"arn:aws" + balancer, answer{taken: true}, check.OK},
		{"arn:aws" + balancer, answer{refused: true}, check.Wrong},
		{"arn:aws-us-gov" + balancer, answer{taken: true}, check.OK},
		{"arn:aws-us-gov" + balancer, answer{refused: true}, check.Unknown},
		{"arn:aws-cn" + balancer, answer{refused: true}, check.Unknown},
		{"arn:aws-cn" + balancer, answer{}, check.Wrong}, // taken, and described otherwise
	} {
		if got := expressionsIn(c.balancer, c.got, nil); got.state != c.want {
			t.Errorf("%s, %+v: %+v, want %v", c.balancer, c.got, got, c.want)
		}
	}
}
