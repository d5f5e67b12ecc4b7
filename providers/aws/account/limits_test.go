package account

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/test/awscalls"
)

// This file reads the limits of accounts.

// A page is an answer with limits, or a refusal.
type page struct {
	limits  map[string]string
	refusal error
}

// answering returns limits that are read page by page, and counts the calls.
func answering(calls *int, pages ...page) *Limits {
	return NewLimits(elbapi.NewFromConfig(awscalls.Config(func(any) (any, error) {
		at := *calls % len(pages)
		*calls++
		if pages[at].refusal != nil {
			return nil, pages[at].refusal
		}
		out := &elbapi.DescribeAccountLimitsOutput{}
		for name, most := range pages[at].limits {
			out.Limits = append(out.Limits, elb.Limit{Name: aws.String(name), Max: aws.String(most)})
		}
		if at < len(pages)-1 {
			out.NextMarker = aws.String("more")
		}
		return out, nil
	})))
}

func TestLimitsThatAWSAnswers(t *testing.T) {
	const rules = "rules-per-application-load-balancer"
	published := lb.Capabilities{Rules: 100, Listeners: 50}
	raised := published
	raised.Rules, raised.ValuesPerRule = 200, 5
	full := page{limits: map[string]string{limitOfAWS: "5", rules: "200", "listeners-per-application-load-balancer": "0", "other": "many"}}
	for name, c := range map[string]struct {
		pages []page
		want  lb.Capabilities
		known int
		err   error
	}{
		"one page":             {[]page{full}, raised, 3, nil},
		"two pages":            {[]page{{limits: map[string]string{rules: "200"}}, {limits: map[string]string{limitOfAWS: "5"}}}, raised, 2, nil},
		"of a simulator":       {[]page{{limits: map[string]string{rules: "30"}}}, published, 0, nil},
		"of a role without it": {[]page{{refusal: awscalls.Refused("AccessDenied", "no")}}, published, 0, nil},
		"of a call that fails": {[]page{{refusal: awscalls.Refused("Throttling", "no")}}, published, 0, providers.ErrThrottled},
	} {
		var calls int
		l := answering(&calls, c.pages...)
		err := l.Load(t.Context(), false)
		if got := l.Last().Limit(published); !errors.Is(err, c.err) || !cmp.Equal(got, c.want) || len(l.Last()) != c.known {
			t.Errorf("%s: %v; the limits %v give %+v, want %+v", name, err, l.Last(), got, c.want)
		}
	}
}

// Limits are read once. Where Ingresses wait for one, they are read again after a while, and after
// an hour with a deep observation.
func TestWhenLimitsAreReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls int
		l := answering(&calls, page{limits: map[string]string{limitOfAWS: "5"}})
		for i, c := range []struct {
			after           time.Duration
			expire, awaited bool
			want            int
		}{
			{0, false, false, 1},
			{limitsAwaited, false, false, 1},
			{0, false, true, 1},
			{1, false, true, 2},
			{0, false, true, 2},
			{limitsAge, false, false, 2},
			{0, true, false, 2},
			{1, true, false, 3},
			{0, true, false, 3},
		} {
			time.Sleep(c.after)
			if c.expire {
				l.Expire()
			}
			if err := l.Load(t.Context(), c.awaited); err != nil || calls != c.want {
				t.Errorf("after reading %d there are %d calls, want %d: %v", i, calls, c.want, err)
			}
		}
	})
}
