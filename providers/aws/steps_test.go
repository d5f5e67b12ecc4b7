package aws

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	tagging "github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"
	"github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/awscalls"
)

// This file carries out steps, and looks at what the provider keeps afterwards.

// The wait for a target group that is to be deleted begins with the step that stops using it.
func TestAStepReleasesWhatItStopsUsing(t *testing.T) {
	for _, wait := range []time.Duration{time.Second, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			s := newServed(t, albsim.Options{})
			l := s.want.Listeners[1]
			l.Default = lb.Action{Kind: "fixed", Status: 404}
			changed := plan.ModifyListener{Listener: l}
			if _, err := s.cloud.Apply(t.Context(), s.seen, changed); err != nil {
				t.Fatal(err)
			}
			changed.Do(s.seen, plan.Result{})
			time.Sleep(wait)
			_, err := s.cloud.Apply(t.Context(), s.seen, plan.DeleteTargetGroup{Group: "shop/b:80"})
			if early := wait < time.Minute; errors.Is(err, providers.ErrPending) != early || err != nil && !early {
				t.Errorf("%s later, the error is %v", wait, err)
			}
		})
	}
}

// Where a load balancer that was deleted stood is forgotten, and so is what the last lookup found.
func TestADeletedLoadBalancerIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServed(t, albsim.Options{})
		lookUp := func(asks bool) {
			t.Helper()
			s.asks()
			if _, err := s.cloud.Lookup(t.Context(), lb.Questions{Network: lb.Network{Key: key, Scheme: "internal"}}); err != nil {
				t.Error(err)
			}
			if asked := s.asks(); slices.Contains(asked, "DescribeLoadBalancers") != asks {
				t.Errorf("a lookup asks %q", asked)
			}
		}
		remove := func() error {
			_, err := s.cloud.Apply(t.Context(), s.seen, plan.DeleteLoadBalancer{Key: key})
			return err
		}
		lookUp(true)
		s.sim.Refuse(func(in any) error {
			if _, deletes := in.(*elbapi.DeleteLoadBalancerInput); deletes {
				return albsim.Refusal("AccessDenied", "no")
			}
			return nil
		})
		if err := remove(); !errors.Is(err, providers.ErrDenied) {
			t.Errorf("a deletion that is denied ends with %v", err)
		}
		lookUp(false)
		s.sim.Refuse(nil)
		if err := remove(); err != nil {
			t.Error(err)
		}
		lookUp(true)
	})
}

// A look after a step does not take what the last lookup found for what is there.
func TestAStepChangesWhatTheLastLookupFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServed(t, albsim.Options{})
		if _, err := s.cloud.Lookup(t.Context(), lb.Questions{Network: lb.Network{Key: key, Scheme: "internal"}}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.cloud.Apply(t.Context(), s.seen, plan.DeleteLoadBalancer{Key: key}); err != nil {
			t.Fatal(err)
		}
		if got := s.look(false); got.Exists {
			t.Errorf("seen is %+v", got)
		}
	})
}

// Keys are listed in order, each once.
func TestList(t *testing.T) {
	var a awscalls.Answers
	var want []lb.Key
	var resources []types.ResourceTagMapping
	p := New(Options{Config: a.Config(), Installation: "test", VPC: "vpc-1"})
	for i := range 10 {
		key := lb.Key(fmt.Sprintf("fairlead/shop/%d/internal", i))
		want = append(want, key)
		for kind := range 2 {
			m := types.ResourceTagMapping{ResourceARN: sdk.String(fmt.Sprint("arn:", i, kind))}
			for name, value := range p.clients.Owned(key, nil) {
				m.Tags = append(m.Tags, types.Tag{Key: sdk.String(name), Value: sdk.String(value)})
			}
			resources = append(resources, m)
		}
	}
	resources = append(resources, types.ResourceTagMapping{ResourceARN: sdk.String("arn:none")})
	awscalls.On(&a, func(*tagging.GetResourcesInput) (*tagging.GetResourcesOutput, error) {
		return &tagging.GetResourcesOutput{ResourceTagMappingList: resources}, nil
	})
	got, err := p.List(t.Context())
	awscalls.ExpectError(t, "listing", err, nil)
	awscalls.Expect(t, "keys", got, want)
}
