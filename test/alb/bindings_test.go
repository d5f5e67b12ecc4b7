package alb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/test/albsim"
)

// This file registers targets in target groups that others made, for TargetGroupBindings.

// A target group of others is found with its properties. 1,000 targets are registered and removed there, and
// those of others stay, even those that are draining. Nothing else is written, and one that is deleted is
// missing.
func TestTargetsAreRegisteredInATargetGroupOfOthers(t *testing.T) {
	policy := operator().Policy
	policy.Statement = append(slices.Clone(policy.Statement), statementOf(t, "RegisterTargetsOfOthers"))
	inBubble(t, albsim.Options{Authorize: policy.Allows}, func(w *world) {
		api := elbapi.NewFromConfig(w.sim.OwnersConfig())
		group, key := lb.GroupID(w.theirs("edge")), routing.NewBindingKey("shop", "web", "")
		if _, err := api.RegisterTargets(w.Context(), &elbapi.RegisterTargetsInput{TargetGroupArn: sdk.String(string(group)),
			Targets: []elb.TargetDescription{{Id: sdk.String("10.0.0.250"), Port: sdk.Int32(80)}}}); err != nil {
			t.Fatal(err)
		}
		look := func() lb.Facts {
			facts, err := w.cloud.Lookup(w.Context(), lb.Questions{TargetGroups: []lb.GroupID{group}})
			if err != nil {
				t.Fatal(err)
			}
			return facts
		}
		if got := look().TargetGroups[group]; got != (lb.OthersGroup{TargetType: "ip", Protocol: "HTTP", Family: "ipv4", VPC: albsim.VPC}) {
			t.Errorf("the target group is %+v", got)
		}
		var calls []string
		w.sim.Watch(func(c albsim.Call) {
			if c.Write {
				calls = append(calls, c.Action)
			}
		})
		var own []lb.Target
		for i := range 900 {
			own = append(own, lb.Target{Address: fmt.Sprintf("10.0.%d.%d", 1+i/250, 1+i%250), Port: 8080})
		}
		set := func(ctx context.Context, want []lb.Target) {
			if err := w.cloud.SetTargets(ctx, key, group, want); err != nil {
				t.Fatal(err)
			}
		}
		count := func() (n int) {
			health, err := w.cloud.Targets(w.Context(), key, group)
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range health {
				if h.State != lb.HealthDraining {
					n++
				}
			}
			return n
		}
		shared := providers.WithOwn(w.Context(), own)
		set(shared, own)
		if got := count(); got != 901 {
			t.Errorf("there are %d targets, want 901", got)
		}
		set(shared, own[:3])
		set(shared, own[1:3])
		if got := count(); got != 3 {
			t.Errorf("there are %d targets, want 3", got)
		}
		set(w.Context(), nil)
		if got := count(); got != 0 {
			t.Errorf("there are %d targets, want none", got)
		}
		slices.Sort(calls)
		if got := slices.Compact(calls); !slices.Equal(got, []string{"DeregisterTargets", "RegisterTargets"}) {
			t.Errorf("AWS is asked to %v", got)
		}
		if _, err := api.DeleteTargetGroup(w.Context(), &elbapi.DeleteTargetGroupInput{TargetGroupArn: sdk.String(string(group))}); err != nil {
			t.Fatal(err)
		}
		if _, there := look().TargetGroups[group]; there {
			t.Error("a target group that was deleted is there")
		}
		if err := w.cloud.SetTargets(w.Context(), key, group, own[:1]); err == nil {
			t.Error("targets are registered in a target group that was deleted")
		}
	})
}

// The operator's policy has no permission for target groups of others: the error says which action on which of
// them is missing, and where that is documented.
func TestThePolicyKeepsTargetsOutOfTargetGroupsOfOthers(t *testing.T) {
	inBubble(t, unjudged(albsim.Options{}), func(w *world) {
		group := lb.GroupID(w.theirs("pay"))
		there := lb.Target{Address: "10.0.0.250", Port: 80}
		if _, err := elbapi.NewFromConfig(w.sim.OwnersConfig()).RegisterTargets(w.Context(), &elbapi.RegisterTargetsInput{
			TargetGroupArn: sdk.String(string(group)), Targets: []elb.TargetDescription{{Id: &there.Address, Port: &there.Port}}}); err != nil {
			t.Fatal(err)
		}
		for action, want := range map[string][]lb.Target{"RegisterTargets": {there, {Address: "10.0.1.1", Port: 8080}}, "DeregisterTargets": nil} {
			err := w.cloud.SetTargets(w.Context(), routing.NewBindingKey("shop", "web", ""), group, want)
			for _, says := range []string{"allow the operator's role elasticloadbalancing:" + action + " on " + string(group),
				"docs/how-to/iam.md", `under "Target groups from other tools"`} {
				if !errors.Is(err, providers.ErrDenied) || !strings.Contains(err.Error(), says) {
					t.Errorf("the error is %v, want %q in it", err, says)
				}
			}
		}
	})
}
