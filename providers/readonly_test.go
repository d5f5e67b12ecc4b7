package providers_test

import (
	"errors"
	"testing"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
)

// TestReadOnlyPassesNoChangeOn would panic if one reached the provider behind.
func TestReadOnlyPassesNoChangeOn(t *testing.T) {
	cloud := providers.ReadOnly(nil)
	_, err := cloud.Apply(t.Context(), &lb.Observed{Key: "fairlead/ns/shop/internal"}, plan.DeleteLoadBalancer{})
	if !errors.Is(err, providers.ErrDenied) {
		t.Errorf("a step is answered %v", err)
	}
	if err := cloud.SetTargets(t.Context(), "fairlead/ns/shop/internal", "ns/web:80", nil); !errors.Is(err, providers.ErrDenied) {
		t.Errorf("targets are answered %v", err)
	}
}
