package providers_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
)

// everyCall makes each call of a provider once and returns their errors.
func everyCall(ctx context.Context, p providers.Provider) []error {
	_, looked := p.Lookup(ctx, lb.Questions{})
	_, observed := p.Observe(ctx, "key", false)
	_, asked := p.Active(ctx, &lb.Observed{Key: "key"})
	_, applied := p.Apply(ctx, &lb.Observed{Key: "key"}, plan.DeleteLoadBalancer{})
	_, read := p.Targets(ctx, "key", "group")
	set := p.SetTargets(ctx, "key", "group", nil)
	_, listed := p.List(ctx)
	return []error{looked, observed, asked, applied, read, set, listed}
}

// TestAWrapperSeesEveryCall refuses each of them: a call that reached the provider behind would panic, or be answered otherwise.
func TestAWrapperSeesEveryCall(t *testing.T) {
	refused := errors.New("refused")
	var seen []providers.Call
	cloud := providers.Intercept(listsHalf{}, func(_ context.Context, c providers.Call, _ providers.Next) error {
		seen = append(seen, c)
		return refused
	})
	for i, err := range everyCall(t.Context(), cloud) {
		if !errors.Is(err, refused) {
			t.Errorf("call %d is answered %v", i, err)
		}
	}
	want := []providers.Call{
		{Method: "Lookup"},
		{Method: "Observe", Key: "key"},
		{Method: "Active", Key: "key"},
		{Method: "Apply", Key: "key", Step: plan.DeleteLoadBalancer{}},
		{Method: "Targets", Key: "key", Group: "group"},
		{Method: "SetTargets", Key: "key", Group: "group"},
		{Method: "List"},
	}
	if !slices.Equal(seen, want) {
		t.Errorf("it saw %v, not %v", seen, want)
	}
}

// listsHalf is a provider that lists some load balancers, and cannot list the others.
type listsHalf struct{ providers.Provider }

func (listsHalf) List(context.Context) ([]lb.Key, error) {
	return []lb.Key{"key"}, errors.New("half")
}

func TestAResultBesideAnErrorPassesAWrapper(t *testing.T) {
	cloud := providers.Intercept(listsHalf{}, func(ctx context.Context, _ providers.Call, next providers.Next) error {
		return next(ctx)
	})
	if keys, err := cloud.List(t.Context()); len(keys) != 1 || err == nil {
		t.Errorf("List returns %v and %v", keys, err)
	}
}
