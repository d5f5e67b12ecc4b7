package awscalls

import (
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"fairlead.dev/fairlead/providers/aws/client"
)

func TestCallsAreAnswered(t *testing.T) {
	sender := ec2.NewFromConfig(Config(func(in any) (any, error) {
		if len(in.(*ec2.DescribeVpcsInput).VpcIds) > 0 {
			return nil, Refused("InvalidVpcID.NotFound", "no such VPC")
		}
		return &ec2.DescribeVpcsOutput{NextToken: aws.String("more")}, nil
	}))
	out, err := sender.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{})
	if err != nil || aws.ToString(out.NextToken) != "more" {
		t.Errorf("%v, %v", out, err)
	}
	_, err = sender.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{VpcIds: []string{"vpc-1"}})
	if got := client.ErrorCode(err); got != "InvalidVpcID.NotFound" {
		t.Errorf("%q: %v", got, err)
	}
}

func TestEachOperationHasItsAnswer(t *testing.T) {
	var a Answers
	client := ec2.NewFromConfig(a.Config())
	On(&a, func(*ec2.DescribeVpcsInput) (*ec2.DescribeVpcsOutput, error) { return &ec2.DescribeVpcsOutput{}, nil })
	if _, err := client.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{}); err != nil {
		t.Error(err)
	}
	if _, err := client.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{}); err == nil {
		t.Error("an operation without an answer is answered")
	}
	if got := a.Calls(); !slices.Equal(got, []string{"DescribeVpcs", "DescribeSubnets"}) || a.Calls() != nil {
		t.Errorf("the calls are %q", got)
	}
}

// A failed comparison fails the test, which the tests of packages rely on.
func TestComparisonsFail(t *testing.T) {
	wrong := Refused("AccessDenied", "no")
	for name, c := range map[string]struct {
		compare func(testing.TB)
		fails   bool
	}{
		"equal values":     {func(t testing.TB) { Expect(t, "", []int{1}, []int{1}) }, false},
		"different values": {func(t testing.TB) { Expect(t, "", 1, 2) }, true},
		"no error":         {func(t testing.TB) { ExpectError(t, "", nil, nil) }, false},
		"its error":        {func(t testing.TB) { ExpectError(t, "", wrong, wrong) }, false},
		"a needless error": {func(t testing.TB) { ExpectError(t, "", wrong, nil) }, true},
		"a missing error":  {func(t testing.TB) { ExpectError(t, "", nil, wrong) }, true},
	} {
		r := &recorded{TB: t}
		if c.compare(r); r.failed != c.fails {
			t.Errorf("%s: it fails %v, want %v", name, r.failed, c.fails)
		}
	}
}

// recorded is a test whose failures are kept.
type recorded struct {
	testing.TB
	failed bool
}

func (r *recorded) Errorf(string, ...any) { r.failed = true }
