package alb

import (
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/test/albsim"
)

// TestPublishedLimitsAreThoseOfANewAccount compares the limits of lb.ALB, which plans without an
// account use, with those that an account reports of which AWS has raised none. The simulator has
// them from
// https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-limits.html
func TestPublishedLimitsAreThoseOfANewAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, albsim.Options{})
		facts, err := w.cloud.Lookup(t.Context(), lb.Questions{Limits: true})
		if err != nil || facts.LimitsUnread {
			t.Fatalf("the limits of the account were not read: %v", err)
		}
		read := w.cloud.Capabilities(lb.Class{})
		limits := func(c lb.Capabilities) []int {
			return []int{c.Rules, c.TargetGroups, c.Listeners, c.Certificates, c.TargetsPerGroup,
				c.TargetsPerLoadBalancer, c.ValuesPerRule, c.WildcardsPerRule, c.TargetsPerForward}
		}
		if diff := cmp.Diff(limits(read), limits(lb.ALB())); diff != "" {
			t.Errorf("-account +published:\n%s", diff)
		}
	})
}
