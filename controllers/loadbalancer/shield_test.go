package loadbalancer

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
)

// This file has a cloud refuse to shield load balancers.

// The Ingress that asks for a shield is told why there is none, and is served. Others hear nothing
// of it.
func TestARefusedShieldIsToldToThoseWhoAskForIt(t *testing.T) {
	for name, asks := range map[string]bool{"it asks for one": true, "it does not": false} {
		t.Run(name, func(t *testing.T) {
			ing := ask("shop.example")
			if asks {
				ing.Annotations = map[string]string{v1alpha1.Group + "/shield-advanced": "true"}
			}
			b := newBench(t, ing, service())
			b.cloud.Shields = true
			b.cloud.Refuses = func(step plan.Step) error {
				if _, shield := step.(plan.ShieldLoadBalancer); shield {
					return fmt.Errorf("LimitsExceededException: 1,000 resources are protected: %w", providers.ErrRejected)
				}
				return nil
			}
			b.place()
			for range 3 {
				if _, err := b.reconcile(); err != nil && !errors.Is(err, providers.ErrRejected) {
					t.Fatal(err)
				}
			}
			told := slices.ContainsFunc(b.Records.Get(benchKey).Diagnostics, func(d v1alpha1.Diagnostic) bool {
				return d.Reason == string(diag.Rejected) && strings.HasPrefix(d.Source, "Ingress shop/web") && strings.Contains(d.Message, "LimitsExceededException")
			})
			if told != asks {
				t.Errorf("the diagnostics are %+v", b.Records.Get(benchKey).Diagnostics)
			}
			if b.rules() != 1 {
				t.Errorf("there are %d rules, want 1", b.rules())
			}
		})
	}
}
