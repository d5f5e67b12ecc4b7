package account

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/test/awscalls"
)

// This file creates load balancers in accounts whose service-linked role is new.

var unusable = awscalls.Refused("OperationNotPermitted", "unable to assume the service linked role")

func TestRefusalsForWantOfTheRole(t *testing.T) {
	for name, c := range map[string]struct {
		old             bool
		err             error
		waits, answered bool
	}{
		"the role is named":                 {false, unusable, true, true},
		"the role is denied":                {false, awscalls.Refused("AccessDenied", "not authorized"), true, true},
		"the role is old":                   {true, unusable, false, true},
		"a right is missing":                {false, awscalls.Refused("AccessDenied", "User: a is not authorized to perform: iam:CreateServiceLinkedRole on service-linked role"), false, false},
		"the load balancer is refused":      {false, awscalls.Refused("ValidationError", "no such subnet"), false, false},
		"AWS does not answer":               {false, errors.New("no answer about the service-linked role"), false, false},
		"the role is named by its own name": {false, awscalls.Refused("InvalidRole", "AWSServiceRoleForElasticLoadBalancing"), true, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			var r LinkedRole
			err := r.Explain(!c.old, c.err)
			if errors.Is(err, providers.ErrPending) != c.waits || !c.waits && !errors.Is(err, c.err) || errors.Is(r.CheckWait(), providers.ErrPending) != c.waits {
				t.Errorf("%s: %v", name, err)
			}
			time.Sleep(client.DefaultLag)
			if r.MayBeNew() == c.answered {
				t.Errorf("%s: later the role is young: %v", name, r.MayBeNew())
			}
		})
	}
}

// A role is young until some time after the first answer.
func TestHowLongARoleIsYoung(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r LinkedRole
		time.Sleep(client.DefaultLag)
		for _, c := range []struct {
			after time.Duration
			young bool
		}{{0, true}, {client.DefaultLag - 1, true}, {1, false}} {
			time.Sleep(c.after)
			if r.MayBeNew() != c.young {
				t.Errorf("after %s the role is young: %v", c.after, !c.young)
			}
			if err := r.Explain(true, nil); err != nil {
				t.Error(err)
			}
		}
	})
}

// The waits grow until a load balancer is created.
func TestTheWaitForTheRole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r LinkedRole
		for _, wait := range []time.Duration{roleWait, roleWait * 3 / 2, roleWait} {
			if err := r.Explain(true, unusable); !errors.Is(err, providers.ErrPending) {
				t.Error(err)
			}
			time.Sleep(wait - 1)
			early := r.CheckWait()
			time.Sleep(time.Nanosecond)
			if !errors.Is(early, providers.ErrPending) || r.CheckWait() != nil {
				t.Errorf("the wait is not %s: %v, then %v", wait, early, r.CheckWait())
			}
			if wait > roleWait {
				if err := r.Explain(true, nil); err != nil {
					t.Error(err)
				}
			}
		}
	})
}
