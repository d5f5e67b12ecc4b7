package preflight

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/test/awscalls"
)

// Each assumption has a finding: what came of its trial, or why there is none.
func TestEachAssumptionHasAFinding(t *testing.T) {
	tried := func(s *stand, ctx context.Context) map[string]check.Finding {
		found := s.Try(ctx, key)
		out := map[string]check.Finding{}
		for n, f := range found {
			a := Assumptions[n]
			if tested[a.ID] != nil {
				out[a.ID] = f
			} else if f.State != check.Unknown || f.Detail != "not tried: "+untestable[a.ID] || f.Advice != "" {
				t.Errorf("%+v", f)
			}
			if f.ID != "prove/assumption/"+a.ID || f.Title+"." != a.Text {
				t.Errorf("%s has the title %s", f.ID, f.Title)
			}
		}
		if len(found) != len(Assumptions) {
			t.Errorf("%d findings", len(found))
		}
		return out
	}
	all := func(about string, found map[string]check.Finding, state check.State, detail string) {
		t.Helper()
		for id := range tested {
			if f := found[id]; f.State != state || f.Detail != detail || f.Advice != "" {
				t.Errorf("%s: %+v", about, f)
			}
		}
	}
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t)
		s.swapped = 0
		found := tried(s, t.Context())
		for id, want := range map[string]string{
			"account-limits":     "ok|a rule with 5 wildcards: taken|",
			"priorities-at-once": "wrong|asked for 40008 and 40007, and described as 40007 and 40008 for 5s|please report it",
		} {
			if f := found[id]; fmt.Sprintf("%s|%s|%s", f.State, f.Detail, f.Advice) != want {
				t.Errorf("%s: %+v, want %s", id, f, want)
			}
		}
		s.failed = internalFailure
		all("it cannot be read", tried(s, t.Context()), check.Unknown, "not tried: InternalFailure: no")
		s.failed = nil
		ctx, stop := context.WithCancelCause(t.Context())
		stop(errors.New("told to end"))
		all("it is told to end", tried(s, ctx), check.Unknown, "not tried: told to end")
	})
}

func TestALoadBalancerIsLocated(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*stand)
		want   string
	}{
		"it is there":              {func(*stand) {}, ""},
		"it cannot be read":        {func(s *stand) { s.failed = internalFailure }, "api error InternalFailure: no"},
		"it is not there":          {func(s *stand) { s.there = nil }, "load balancer fairlead/prove/web/internal does not exist"},
		"listeners cannot be read": {func(s *stand) { s.refuse["DescribeListeners"] = internalFailure }, "reading listeners: InternalFailure: no"},
		"it has no listener":       {func(s *stand) { s.listener = nil }, "load balancer fairlead/prove/web/internal has no listener"},
	} {
		s := newStand(t)
		s.balancer, s.trial.listener = "", ""
		c.change(s)
		err := s.locate(t.Context(), key)
		if (err != nil) != (c.want != "") || err != nil && err.Error() != c.want {
			t.Errorf("%s: the error is %v, want %s", name, err, c.want)
		}
		if err == nil {
			awscalls.Expect(t, name, []string{s.balancer, s.trial.listener}, []string{balancerARN, listenerARN})
		}
	}
}

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
		if got := expressionsOutcome(c.balancer, c.got, nil); got.state != c.want {
			t.Errorf("%s, %+v: %+v, want %v", c.balancer, c.got, got, c.want)
		}
	}
}
